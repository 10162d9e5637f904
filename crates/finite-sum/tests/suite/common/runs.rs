//! Runs in parts.

use std::ops::ControlFlow;

use fenchel_optim::{Observer, Progress};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Ends a run after so many accepted steps.
pub(crate) struct StopAt(pub(crate) u64);

impl<M> Observer<M> for StopAt {
    fn observe(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        if progress.oracle_calls >= self.0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Ends a run after so many looks, of which there is one a step.
pub(crate) struct StepsLeft(pub(crate) usize);

impl<M> Observer<M> for StepsLeft {
    fn observe(&mut self, _: &Progress, _: &M) -> ControlFlow<()> {
        let ended = self.0 == 0;
        self.0 = self.0.saturating_sub(1);
        if ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// `run(steps, start)` for all steps at once, and in parts.
pub(crate) fn check_steps<S>(name: &str, run: impl Fn(usize, Option<S>) -> S)
where
    S: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let whole = run(17, None);
    let mut state = None;
    for steps in [1, 5, 0, 11] {
        let text = serde_json::to_string(&run(steps, state)).expect("finite numbers");
        state = Some(serde_json::from_str(&text).expect("what was written"));
    }
    assert_eq!(state.as_ref(), Some(&whole), "{name}");
}
