//! Observers of an estimator, given as closures.

use std::ops::ControlFlow;

use fenchel_optim::{Observer, Progress};

/// An observer that passes the progress of a run to a closure.
pub(crate) struct Watch<F, const WATCHES: bool>(F);

impl<F: FnMut(&Progress) -> ControlFlow<()>> Watch<F, true> {
    pub(crate) fn new(watch: F) -> Self {
        Watch(watch)
    }
}

/// An observer that does nothing.
pub(crate) fn unwatched() -> Watch<fn(&Progress) -> ControlFlow<()>, false> {
    Watch(|_| ControlFlow::Continue(()))
}

impl<M: ?Sized, F: FnMut(&Progress) -> ControlFlow<()>, const W: bool> Observer<M> for Watch<F, W> {
    fn watches(&self) -> bool {
        W
    }

    fn observe(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        (self.0)(progress)
    }
}
