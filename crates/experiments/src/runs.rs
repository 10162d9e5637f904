//! Methods x seeds -> rows, curves, samples and series: the runs of an experiment.
//!
//! ```text
//! let methods = [("SAGA", Method::Saga(1.0)), ("L-BFGS", Method::Lbfgs)];      // a name, and what the run depends on
//! let lines = runs::lines(context, "w8a", &methods, |m| m.seeds(), |name, method, seed| {
//!     let mut rows = vec![];                                                  // one row an observation, any type
//!     solve(method, context.stop(name, stop), seed, &mut |row| rows.push(row))?;
//!     Ok(rows)
//! })?;
//! let saga = runs::line(&lines, "SAGA")?;
//! saga.sample(|rows| rows[rows.len() - 1].gap)?;                              // one number a seed: median and range
//! saga.series(|r| r.passes, |r| r.gap);                                       // medians over the seeds, for a figure
//! ```
//!
//! Two runs take place at the same time. A run is kept as long as the process lives: two experiments that ask for the same
//! data, method and seed share it, so the key of the data names everything that a run depends on beside its method and seed.
//! Freezing belongs to the run (`context.stop(name, ..)` or `context.is_frozen(name)`); a frozen run has a key of its own. A
//! stop with Ctrl-C ends the experiment after the current runs.

use std::any::Any;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::numbers::range;
use crate::{Context, Failure, Sample, Series};

/// The runs of one method: the rows of every seed. A deterministic method has a single run.
pub(crate) struct Line<R> {
    pub(crate) name: &'static str,
    pub(crate) seeds: Vec<Arc<Vec<R>>>,
}

type Kept = Arc<Mutex<Option<Arc<dyn Any + Send + Sync>>>>;
static KEPT: LazyLock<Mutex<HashMap<String, Kept>>> = LazyLock::new(Mutex::default);

/// What was made for this key, as long as the process lives; `make` makes it the first time. Whoever asks for it meanwhile waits, so
/// that no thread of the pool may ask: it could wait for itself.
///
/// # Errors
/// The error of `make`.
pub(crate) fn kept<T: Send + Sync + 'static>(
    key: String,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<Arc<T>, Failure> {
    let place = KEPT.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
    let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Ok(kept)) = place.clone().map(Arc::downcast) {
        return Ok(kept);
    }
    let made = Arc::new(make()?);
    *place = Some(made.clone());
    Ok(made)
}

/// Runs every method with `count` seeds, the first of which is the seed of the context.
///
/// # Errors
/// The first error of a run; [`Failure::stopped`].
pub(crate) fn lines<M: Debug + Sync, R: Send + Sync + 'static>(
    context: &Context,
    data: &str,
    methods: &[(&'static str, M)],
    count: impl Fn(&M) -> u64,
    one: impl Fn(&'static str, &M, u64) -> Result<Vec<R>, Failure> + Sync,
) -> Result<Vec<Line<R>>, Failure> {
    let jobs: Vec<(usize, u64)> = methods
        .iter()
        .enumerate()
        .flat_map(|(m, (_, method))| (0..count(method)).map(move |k| (m, context.seed + k)))
        .collect();
    let done = Mutex::new(vec![None; jobs.len()]);
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), Failure> {
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(m, seed)) = jobs.get(job) else { return Ok(()) };
            let (name, method) = &methods[m];
            context.progress(job as f64 / jobs.len() as f64, &format!("{data}: {name}"))?;
            let state = (context.size, &context.data, context.is_frozen(name));
            let key = format!("{} {data} {state:?} {method:?} {seed}", std::any::type_name::<R>());
            let rows = kept(key, || one(name, method, seed))?;
            done.lock().unwrap_or_else(PoisonError::into_inner)[job] = Some(rows);
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let mine = work();
        other.join().unwrap_or_else(|_| Err(Failure::new("a run panicked"))).and(mine)
    })?;
    let mut lines: Vec<Line<R>> =
        methods.iter().map(|(name, _)| Line { name, seeds: vec![] }).collect();
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    for ((m, _), rows) in jobs.iter().zip(done) {
        lines[*m].seeds.extend(rows);
    }
    Ok(lines)
}

/// The line of this name.
///
/// # Errors
/// A [`Failure`] if there is none.
pub(crate) fn line<'l, R>(lines: &'l [Line<R>], name: &str) -> Result<&'l Line<R>, Failure> {
    let found = lines.iter().find(|line| line.name == name);
    found.ok_or_else(|| Failure::new(format!("no line is called {name}")))
}

impl<R> Line<R> {
    /// One number from the rows of every seed.
    ///
    /// # Errors
    /// A [`Failure`] for more than one and fewer than [`SEEDS`](crate::SEEDS) seeds.
    pub(crate) fn sample(&self, number: impl Fn(&[R]) -> f64) -> Result<Sample, Failure> {
        Sample::of(&self.seeds, |rows| number(rows))
    }

    /// The medians over the seeds, row by row, with the range as a band. The line ends with the shortest run.
    pub(crate) fn series(&self, x: impl Fn(&R) -> f64, y: impl Fn(&R) -> f64) -> Series {
        let shortest = self.seeds.iter().map(|rows| rows.len()).min().unwrap_or(0);
        let ranked =
            |k: usize, of: &dyn Fn(&R) -> f64| range(self.seeds.iter().map(|rows| of(&rows[k])));
        let (points, band) = (0..shortest)
            .map(|k| {
                let [low, middle, high] = ranked(k, &y);
                ((ranked(k, &x)[1], middle), (low, high))
            })
            .unzip();
        let series = Series::line(self.name, points);
        if self.seeds.len() > 1 { series.band(band) } else { series }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_kept_by_data_method_seed_and_freezing() {
        let context = Context::new(3);
        let calls = AtomicUsize::new(0);
        let run = |context: &Context| {
            let methods = [("a", 0.5), ("b", 0.25)];
            let one = |name: &'static str, factor: &f64, seed: u64| {
                calls.fetch_add(1, Ordering::Relaxed);
                let rows = if context.is_frozen(name) { 0 } else { 3 };
                let start = seed as f64;
                Ok((0..=rows).map(|k| (k, start * factor.powi(k))).collect::<Vec<_>>())
            };
            lines(context, "kept", &methods, |f| if *f == 0.5 { 5 } else { 1 }, one).unwrap()
        };
        let all = std::thread::scope(|scope| {
            let other = scope.spawn(|| run(&context));
            let mine = run(&context);
            other.join().unwrap();
            mine
        });
        assert_eq!(calls.load(Ordering::Relaxed), 6, "whoever comes second waits");
        let a = line(&all, "a").unwrap();
        assert_eq!(a.sample(|rows| rows[3].1).unwrap().median(), 5.0 / 8.0);
        assert_eq!(line(&all, "b").unwrap().sample(|rows| rows[1].1).unwrap(), Sample::exact(0.75));
        let series = a.series(|r| f64::from(r.0), |r| r.1);
        assert_eq!(series.points, [(0.0, 5.0), (1.0, 2.5), (2.0, 1.25), (3.0, 0.625)]);
        assert_eq!(series.band[1], (1.5, 3.5));
        run(&context);
        assert_eq!(calls.load(Ordering::Relaxed), 6, "the second time nothing runs");
        let frozen = run(&context.with_frozen("a"));
        assert_eq!(line(&frozen, "a").unwrap().seeds[0].len(), 1);
        assert_eq!(calls.load(Ordering::Relaxed), 11);
        assert!(line(&all, "c").is_err());
    }

    #[test]
    fn a_stop_ends_the_runs() {
        let context = Context { stopped: &|| true, ..Context::new(0) };
        let one = |_: &'static str, _: &(), _: u64| Ok(vec![0.0]);
        assert!(lines(&context, "stop", &[("a", ())], |()| 1, one).err().unwrap().is_stopped());
    }
}
