//! What a caller may give an estimator besides the data.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use fenchel_linalg::spread::Shards;
use ndarray::ArrayView1;

use super::{Observer, Progress, Report};

/// What a fit may be given besides the data: weights of the rows, a model to start from, and a closure to watch it.
///
/// Every estimator has `fit(data)` and `fit_with(data, Fit)`; the first is the second with `Fit::new()`. All parts can be
/// combined. `M` is the model of the estimator, so that no type needs to be written:
///
/// ```
/// use std::ops::ControlFlow;
/// use fenchel_optim::Fit;
///
/// # struct Mean; struct Model(f64);
/// # impl Mean {
/// #     fn fit_with(&self, y: &[f64], fit: Fit<'_, Model>) -> Model {
/// #         let weight = |i: usize| fit.weights.map_or(1.0, |weights| weights[i]);
/// #         let total: f64 = (0..y.len()).map(weight).sum();
/// #         Model((0..y.len()).map(|i| weight(i) * y[i]).sum::<f64>() / total)
/// #     }
/// # }
/// # let (estimator, y, former) = (Mean, [1.0, 4.0], Model(0.0));
/// let weights = [2.0, 1.0];
/// let mut print = |progress: &fenchel_optim::Progress| {
///     println!("{:.0} passes: {}", progress.passes, progress.certificate);
///     ControlFlow::Continue(())
/// };
/// let fit = Fit::new().weights(&weights).start(&former).watch(&mut print);
/// let model = estimator.fit_with(&y, fit);
/// # assert_eq!(model.0, 2.0);
/// ```
///
/// The rows may be spread over processes, each of which holds some of them: [`spread`](Fit::spread) says which. Estimators that can be
/// fitted so take a fit with any [`Placement`]; others do not compile with it.
#[derive(Debug)]
pub struct Fit<'a, M, P = Whole> {
    /// The weight of each row, `>= 0`; a weight of 2 is as good as the row twice. `None`: all 1.
    pub weights: Option<ArrayView1<'a, f64>>,
    /// A former model, of this data or of data like it, from which an iterative method starts.
    pub start: Option<&'a M>,
    /// The closure that watches the fit.
    pub watch: Watch<'a>,
    /// Where the rows are.
    pub rows: P,
}

/// All rows are here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Whole;

/// Where the rows of a fit are: [all here](Whole), or [spread](Shards) over processes.
pub trait Placement {
    /// The shards of spread rows, for [`Design::spread`](fenchel_linalg::Design::spread).
    fn shards(&self) -> Option<&Shards<'_>>;
}

impl Placement for Whole {
    fn shards(&self) -> Option<&Shards<'_>> {
        None
    }
}

impl Placement for &Shards<'_> {
    fn shards(&self) -> Option<&Shards<'_>> {
        Some(self)
    }
}

impl<M> Default for Fit<'_, M> {
    fn default() -> Self {
        Fit { weights: None, start: None, watch: Watch::nobody(), rows: Whole }
    }
}

impl<'a, M> Fit<'a, M> {
    /// Nothing besides the data.
    pub fn new() -> Self {
        Fit::default()
    }
}

impl<'a, M, P> Fit<'a, M, P> {
    /// The rows are these shards of those of all processes, each of which calls the same fit. Weights are those of the own rows. All
    /// processes give weights or none does, and all give the same start. Any of them may watch; `Break` of one ends the fit for all.
    pub fn spread<'s>(self, shards: &'s Shards<'s>) -> Fit<'a, M, &'s Shards<'s>> {
        let Fit { weights, start, watch, .. } = self;
        Fit { weights, start, watch, rows: shards }
    }

    /// One weight a row.
    pub fn weights(self, weights: impl Into<ArrayView1<'a, f64>>) -> Self {
        Fit { weights: Some(weights.into()), ..self }
    }

    /// A model to start from.
    pub fn start(self, start: &'a M) -> Self {
        Fit { start: Some(start), ..self }
    }

    /// A closure that is called before the first pass and after every pass. `Break` ends the fit with the model so far, whose
    /// report says [`Status::Stopped`](super::Status::Stopped). The certificate that it sees is the latest one; certificates
    /// are computed when they may end the fit. (`Send`: some fits run on several cores.)
    pub fn watch(self, watch: &'a mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send)) -> Self {
        Fit { watch: Watch { eye: Some(Eye::Own(watch)), ..Watch::nobody() }, ..self }
    }
}

/// The closure that watches a fit, or nobody. It is an [`Observer`] of every method, which it does not see.
pub struct Watch<'a> {
    eye: Option<Eye<'a>>,
    /// After `Break` the closure is not called again.
    stopped: bool,
    /// The report of the methods before this one.
    spent: Option<Report>,
    /// The processes that end with this one.
    all: Option<&'a Shards<'a>>,
}

enum Eye<'a> {
    Own(&'a mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send)),
    Whole(&'a mut (dyn ShowMut + Send)),
    Shared(&'a (dyn Show + Sync)),
}

/// A [`Watch`] of any lifetime.
trait ShowMut {
    fn show(&mut self, progress: &Progress) -> ControlFlow<()>;
}

/// A [`SharedWatch`] of any lifetime.
trait Show {
    fn show(&self, progress: &Progress) -> ControlFlow<()>;
}

impl<'a> Watch<'a> {
    /// Nobody watches.
    pub fn nobody() -> Self {
        Watch { eye: None, stopped: false, spent: None, all: None }
    }

    /// The same closure; `Break` of one process ends the fit for all that hold some of the rows, whether they watch or not. All of them
    /// call it together.
    pub fn of_all<'s>(&'s mut self, rows: &'s impl Placement) -> Watch<'s> {
        let mut some = [f64::from(u8::from(self.looks()))];
        if let Some(shards) = rows.shards() {
            shards.largest(&mut some);
        }
        Watch { all: rows.shards().filter(|_| some[0] > 0.0), ..self.again() }
    }

    /// Whether somebody watches, here or in another process.
    fn looks(&self) -> bool {
        self.eye.is_some() || self.all.is_some()
    }

    /// The same closure for one of several fits. After `Break` in one of them, the others end too.
    pub fn again(&mut self) -> Watch<'_> {
        let stopped = self.stopped;
        let eye = self.looks().then_some(Eye::Whole(self));
        Watch { eye, stopped, ..Watch::nobody() }
    }

    /// Whether the closure has answered `Break`.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// Adds the report of a method to what the closure sees of the next one.
    pub fn spend(&mut self, report: &Report) {
        self.spent = Some(report.with_spent(self.spent.as_ref()));
    }

    /// Shows the closure the progress of a loop that is not [`run`](super::run()).
    pub fn show(&mut self, progress: &Progress) -> ControlFlow<()> {
        if self.stopped {
            return ControlFlow::Break(());
        }
        let progress = progress.with_spent(self.spent.as_ref());
        let answer = match &mut self.eye {
            None => ControlFlow::Continue(()),
            Some(Eye::Own(watch)) => watch(&progress),
            Some(Eye::Whole(watch)) => watch.show(&progress),
            Some(Eye::Shared(watch)) => watch.show(&progress),
        };
        let mut stopped = [f64::from(u8::from(answer.is_break()))];
        if let Some(shards) = self.all {
            shards.largest(&mut stopped);
        }
        self.stopped = stopped[0] > 0.0;
        if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl ShowMut for Watch<'_> {
    fn show(&mut self, progress: &Progress) -> ControlFlow<()> {
        Watch::show(self, progress)
    }
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.eye.is_some() { "Watch(closure)" } else { "Watch(nobody)" })
    }
}

impl<M: ?Sized> Observer<M> for Watch<'_> {
    fn watches(&self) -> bool {
        self.looks()
    }

    fn polls(&self) -> bool {
        self.looks()
    }

    fn observe(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        self.show(progress)
    }

    fn poll(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        self.show(progress)
    }
}

/// The closure that watches a fit which consists of several fits, perhaps on several cores. After `Break` each of them ends.
#[derive(Debug)]
pub struct SharedWatch<'a> {
    watches: bool,
    watch: Mutex<Watch<'a>>,
}

impl<'a> From<Watch<'a>> for SharedWatch<'a> {
    fn from(watch: Watch<'a>) -> Self {
        let watches = watch.looks();
        SharedWatch { watches, watch: Mutex::new(watch) }
    }
}

impl SharedWatch<'_> {
    /// The watch of one of the fits.
    pub fn each(&self) -> Watch<'_> {
        Watch { eye: self.watches.then_some(Eye::Shared(self)), ..Watch::nobody() }
    }

    /// Whether the closure has answered `Break`.
    pub fn stopped(&self) -> bool {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).stopped
    }
}

impl Show for SharedWatch<'_> {
    fn show(&self, progress: &Progress) -> ControlFlow<()> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).show(progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Certificate, Status};

    #[test]
    fn several_fits_are_one_to_the_closure() {
        let certificate = Certificate::Uncertified { objective: None };
        let at = |passes| Progress { passes, oracle_calls: 1, seconds: 0.5, certificate };
        let (status, oracle_calls, seconds) = (Status::PassLimit, 10, 2.0);
        let report = Report { status, certificate, passes: 3.0, oracle_calls, seconds };
        let mut seen = vec![];
        let mut closure = |progress: &Progress| {
            seen.push((progress.passes, progress.oracle_calls, progress.seconds));
            if progress.passes < 8.0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let mut watch = Fit::<()>::new().watch(&mut closure).watch;
        assert!(watch.again().show(&at(1.0)).is_continue());
        watch.spend(&report);
        let mut second = watch.again();
        assert!(second.show(&at(2.0)).is_continue() && !second.stopped());
        second.spend(&report);
        assert!(second.again().show(&at(2.0)).is_break() && second.stopped());
        assert!(watch.stopped() && watch.again().show(&at(0.0)).is_break());
        assert!(Watch::nobody().again().show(&at(1.0)).is_continue());
        assert_eq!(seen, [(1.0, 1, 0.5), (5.0, 11, 2.5), (8.0, 21, 4.5)]);
    }
}
