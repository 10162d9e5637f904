//! SAGA and SVRG for general sums, whose gradients are vectors.

use fenchel_erm::parts::REFRESH;
use fenchel_erm::parts::{round_length, saga_step};
use fenchel_linalg::Invalid;
use fenchel_optim::random::Visits;
use fenchel_optim::{Certificate, Iterative, Observer, Separable, Solution, run};

use super::state::SumState;
use super::{FiniteSum, Sum, SumSettings, check_memory};
use crate::Error;
use crate::methods::lag::{Composite, Lagged, Powers};

/// The source of the reference gradient in the correction `delta = f_j'(x) - reference`.
#[derive(Debug, Clone)]
enum Reference {
    /// The table of gradients, for SAGA.
    Table,
    /// The gradient at a snapshot, which is renewed after `inner` steps, for SVRG.
    Snapshot { point: Vec<f64>, inner: usize, since: usize },
}

/// SAGA or SVRG on a general sum, as an observer receives it.
pub struct Incremental<'p, 't, T: FiniteSum, R> {
    sum: &'p Sum<'t, T, R>,
    /// The point. All its coordinates are up to date only after [`flush`](Incremental::flush).
    x: Vec<f64>,
    /// The point that was certified last.
    certified: Vec<f64>,
    reference: Reference,
    table: Vec<f64>,
    offsets: Vec<usize>,
    /// The average of the table, or the gradient at the snapshot.
    average: Vec<f64>,
    step: f64,
    powers: Powers,
    /// The number of steps that each coordinate has received, out of `now` since the last flush.
    done: Vec<u32>,
    now: u32,
    visits: Visits,
    /// Whether the table still has to be filled.
    fill: bool,
    /// Number of steps since the average was computed from the table.
    steps: usize,
    scratch: T::Scratch,
    fresh: Vec<f64>,
    old: Vec<f64>,
    best: Option<Vec<f64>>,
    /// Whether the point was replaced by the best one, so that it does not match the other fields.
    restored: bool,
    evaluations: u64,
}

/// SAGA on a general sum (A. Defazio, PhD thesis 2014, algorithm 4.1). It is the method
/// [`saga`](crate::methods::saga()), with one stored vector per term.
///
/// The first pass fills the table. The cost of a step is O(length of the support), or O(d) under a regulariser that
/// is not separable.
///
/// # Errors
/// [`Error::Refused`] if the table needs more than `max_memory` (before anything is allocated), for weighted draws,
/// or for a `theory` that needs `l2 > 0`; [`Error::Invalid`] for a start of another shape or settings out of range.
pub fn saga<'p, 't, T: FiniteSum, R: Composite, O: Observer<Incremental<'p, 't, T, R>>>(
    sum: &'p Sum<'t, T, R>,
    settings: &SumSettings,
    start: Option<SumState>,
    observer: &mut O,
) -> Result<Solution<SumState>, Error> {
    settings.stop.check()?;
    let method = "general saga";
    check_memory(method, sum.stored as u64, settings.max_memory, "use general::svrg")?;
    let strong = sum.l2() * sum.terms().terms() as f64;
    let theory = saga_step(method, settings.theory, sum.smoothness(), strong)?;
    let step = settings.step.resolve(theory)?;
    let mut start = start.unwrap_or_else(|| vec![0.0; sum.terms().dimension()].into());
    start.table = start.gradients();
    start.finito = None;
    let warm = !start.table.is_empty();
    if !warm {
        start.table.resize(sum.stored, 0.0);
    }
    Invalid::check_length("table", sum.stored, start.table.len())?;
    Invalid::check_finite("table", &start.table)?;
    let mut method = Incremental::new(method, sum, settings, start, Reference::Table, step)?;
    method.fill = !warm;
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.into_state(), report })
}

/// SVRG on a general sum (A. Defazio, PhD thesis 2014, algorithm 2.3). The last inner point is the next snapshot. It
/// needs no table, but two term gradients per step, and a full gradient every `inner n` steps.
///
/// # Errors
/// The errors of [`saga`], except for the memory limit; [`Error::Refused`] for `inner: None` without l2.
pub fn svrg<'p, 't, T: FiniteSum, R: Composite, O: Observer<Incremental<'p, 't, T, R>>>(
    sum: &'p Sum<'t, T, R>,
    settings: &SumSettings,
    start: Option<SumState>,
    observer: &mut O,
) -> Result<Solution<SumState>, Error> {
    settings.stop.check()?;
    let step = settings.step.resolve(0.25 / sum.smoothness())?;
    let inner = round_length(
        "general::svrg without a given `inner`",
        settings.inner,
        sum.terms().terms(),
        step * sum.l2(),
    )?;
    let start = start.unwrap_or_else(|| vec![0.0; sum.terms().dimension()].into());
    let start = SumState { table: Vec::new(), ..start };
    let reference = Reference::Snapshot { point: start.point.clone(), inner, since: inner };
    let mut method = Incremental::new("general svrg", sum, settings, start, reference, step)?;
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.into_state(), report })
}

impl<'p, 't, T: FiniteSum, R: Composite> Incremental<'p, 't, T, R> {
    fn new(
        method: &'static str,
        sum: &'p Sum<'t, T, R>,
        settings: &SumSettings,
        mut start: SumState,
        reference: Reference,
        step: f64,
    ) -> Result<Self, Error> {
        let table = start.gradients();
        let mut x = std::mem::take(&mut start.point);
        let order = &settings.order;
        order.check_plain(method)?;
        sum.check_point(&x)?;
        Invalid::check_positive("step", step)?;
        if sum.regulariser.value(&x).is_infinite() {
            sum.regulariser.prox(&mut x, step);
        }
        let (n, d) = (sum.terms.terms(), sum.terms.dimension());
        let capacity = n.min(u32::MAX as usize - 1) as u32;
        let shrink = sum.regulariser.coordinates().map_or(1.0, |h| h.shrink(step));
        let mut offsets = vec![0];
        if !table.is_empty() {
            offsets.extend((0..n).scan(0, |end, i| {
                *end += sum.support(i).len();
                Some(*end)
            }));
        }
        let mut result = Incremental {
            powers: Powers::new(step, sum.l2, shrink, capacity),
            visits: Visits::new(order, n, settings.seed)?,
            scratch: sum.terms.scratch(),
            fresh: vec![0.0; sum.longest],
            old: vec![0.0; sum.longest],
            average: vec![0.0; d],
            done: vec![0; d],
            now: 0,
            fill: false,
            best: None,
            restored: false,
            evaluations: 0,
            steps: 0,
            certified: x.clone(),
            sum,
            x,
            reference,
            table,
            offsets,
            step,
        };
        result.average_table();
        start.resume(&mut result.visits);
        Ok(result)
    }

    /// The point of the last certificate.
    pub fn point(&self) -> &[f64] {
        &self.certified
    }

    /// The state to return. Its point is the one that was certified last.
    fn into_state(mut self) -> SumState {
        // What is not filled yet, or belongs to another point, is computed anew.
        if self.fill || self.restored {
            self.table.clear();
        }
        SumState::new(self.certified, self.table).visited(&self.visits)
    }

    /// Sets the average to that of the table.
    fn average_table(&mut self) {
        self.average.fill(0.0);
        let n = self.sum.terms.terms();
        for (i, ends) in self.offsets.windows(2).enumerate() {
            let support = self.sum.support(i);
            for (k, g) in self.table[ends[0]..ends[1]].iter().enumerate() {
                self.average[support.at(k)] += g / n as f64;
            }
        }
    }

    /// Fills the table at the current point. One pass.
    fn fill_table(&mut self) {
        for (i, ends) in self.offsets.windows(2).enumerate() {
            let place = &mut self.table[ends[0]..ends[1]];
            self.sum.terms.gradient(i, &self.x, &mut self.scratch, place);
            self.evaluations += 1;
        }
        self.average_table();
    }

    /// Recomputes the average from the table every [`REFRESH`] passes, to remove rounding errors of many small
    /// updates.
    fn refresh_average(&mut self) {
        if let Reference::Table = self.reference {
            self.steps += 1;
            if self.steps == REFRESH * self.sum.terms.terms() {
                self.steps = 0;
                self.flush();
                self.average_table();
            }
        }
    }

    /// One step on the next term.
    fn move_once(&mut self) {
        if self.now == self.powers.capacity() {
            self.flush();
        }
        let j = self.visits.draw();
        let (sum, now, step) = (self.sum, self.now, self.step);
        let (coordinates, support) = (sum.regulariser.coordinates(), sum.support(j));
        let n = sum.terms.terms() as f64;
        if let Some(regulariser) = coordinates {
            for k in 0..support.len() {
                let c = support.at(k);
                let missed = now - self.done[c];
                if missed > 0 {
                    let (x, g) = (self.x[c], self.average[c]);
                    self.x[c] = regulariser.catch_up(c, x, g, missed, &self.powers);
                }
            }
        }
        let fresh = &mut self.fresh[..support.len()];
        sum.terms.gradient(j, &self.x, &mut self.scratch, fresh);
        self.evaluations += 1;
        let (old, share) = match &mut self.reference {
            Reference::Table => {
                let start = self.offsets[j];
                (&mut self.table[start..start + support.len()], 1.0 / n)
            }
            Reference::Snapshot { point, since, .. } => {
                let old = &mut self.old[..support.len()];
                sum.terms.gradient(j, point, &mut self.scratch, old);
                self.evaluations += 1;
                *since += 1;
                (old, 0.0)
            }
        };
        let rho = 1.0 - step * sum.l2;
        if coordinates.is_none() {
            for (x, g) in self.x.iter_mut().zip(&self.average) {
                *x = rho * *x - step * g;
            }
        }
        for (k, (fresh, old)) in fresh.iter().zip(old).enumerate() {
            let c = support.at(k);
            let delta = fresh - *old;
            match coordinates {
                Some(regulariser) => {
                    let forward = rho * self.x[c] - step * (delta + self.average[c]);
                    self.x[c] = regulariser.prox_coordinate(c, forward, step);
                    self.done[c] = now + 1;
                }
                None => self.x[c] -= step * delta,
            }
            self.average[c] += share * delta;
            *old = *fresh;
        }
        match coordinates {
            Some(_) => self.now += 1,
            None => sum.regulariser.prox(&mut self.x, step),
        }
    }

    /// Writes the point to certify, with all coordinates up to date. It changes nothing else. O(d).
    fn write_point(&mut self) {
        self.certified.copy_from_slice(&self.x);
        let Some(regulariser) = self.sum.regulariser.coordinates() else { return };
        for (c, (done, x)) in self.done.iter().zip(&mut self.certified).enumerate() {
            let missed = self.now - done;
            if missed > 0 {
                *x = regulariser.catch_up(c, *x, self.average[c], missed, &self.powers);
            }
        }
    }

    /// Applies all delayed steps, so that every coordinate is up to date. O(d).
    fn flush(&mut self) {
        let Some(regulariser) = self.sum.regulariser.coordinates() else { return };
        for (c, done) in self.done.iter_mut().enumerate() {
            let missed = self.now - *done;
            if missed > 0 {
                let (x, g) = (self.x[c], self.average[c]);
                self.x[c] = regulariser.catch_up(c, x, g, missed, &self.powers);
            }
            *done = 0;
        }
        self.now = 0;
    }

    /// Takes a snapshot with its gradient, if enough steps have been made. One pass.
    fn renew_snapshot(&mut self) {
        if let Reference::Snapshot { since, inner, .. } = self.reference
            && since >= inner
        {
            self.flush();
            self.sum.mean_gradient(&self.x, &mut self.average);
            self.evaluations += self.sum.terms.terms() as u64;
            if let Reference::Snapshot { point, since, .. } = &mut self.reference {
                point.copy_from_slice(&self.x);
                *since = 0;
            }
        }
    }
}

impl<T: FiniteSum, R: Composite> Iterative for Incremental<'_, '_, T, R> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.sum.terms.terms() as f64;
        let before = self.evaluations;
        if std::mem::take(&mut self.fill) {
            self.fill_table();
        }
        let budget = ((passes * n).round() as u64).max(1);
        while self.evaluations - before < budget {
            self.renew_snapshot();
            if self.evaluations - before < budget {
                self.move_once();
                self.refresh_average();
            }
        }
        (self.evaluations - before) as f64 / n
    }

    fn certify(&mut self) -> Certificate {
        self.write_point();
        self.sum.certificate(&self.certified)
    }

    fn oracle_calls(&self) -> u64 {
        self.evaluations
    }

    fn keep(&mut self) {
        self.best.get_or_insert_default().clone_from(&self.certified);
    }

    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.flush();
            self.certified.clone_from(&best);
            self.x = best;
            self.restored = true;
        }
    }
}
