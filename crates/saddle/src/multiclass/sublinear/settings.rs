//! The settings of the sublinear method.

use fenchel_linalg::Invalid;
use fenchel_optim::{MAX_MEMORY, StepSize, Stop, settings};

use crate::Error;
use crate::multiclass::sampling::Draw;

settings! {
    /// Settings of [`sublinear`](fn@crate::multiclass::sublinear).
    pub struct SublinearSettings {
        /// The step `gamma`: that of Babichev's equation (4.3.6) for the horizon; `Scaled` multiples of it; `Constant`.
        step: StepSize = StepSize::Theory,
        /// Number of steps for which the step is computed; `None`: the steps of `stop.max_passes`.
        horizon: Option<u64> = None,
        /// A pass is `nnz / (nnz of a mean row + of a mean column)` steps: as many entries as the data have.
        stop: Stop = Stop::default(),
        /// Seed of the draws.
        seed: u64 = 0,
        /// Draws that replace random ones, for tests.
        #[serde(skip)]
        script: Vec<Draw> = vec![],
        /// Whether to average the drawn entries of `U` too; see [`noisy_weights`](crate::multiclass::SublinearState::noisy_weights).
        noisy: bool = false,
        /// The largest number of bytes to use; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}

pub(super) fn check_script(script: &[Draw], (n, d, k): (usize, usize, usize)) -> Result<(), Error> {
    let fits =
        |draw: &Draw| draw.feature < 2 * d && draw.class < k && draw.row < n && draw.row_class < k;
    match script.iter().position(|draw| !fits(draw)) {
        None => Ok(()),
        Some(place) => {
            let reason =
                format!("draw {place} is {:?}; expected indices below 2d, k, n, k", script[place]);
            Err(Invalid::Layout { what: "script", reason }.into())
        }
    }
}
