//! The settings of the sublinear method.

use fenchel_linalg::Invalid;
use fenchel_optim::{MAX_MEMORY, StepSize, Stop};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::multiclass::sampling::Draw;

/// Settings of [`sublinear`](fn@crate::sublinear).
///
/// | field | default | meaning |
/// |---|---|---|
/// | `step` | `Theory` | the step of Babichev's equation (4.3.6) for the horizon; `Scaled` multiples of it; `Constant` |
/// | `horizon` | `None` | number of steps for which the step is computed; `None`: the steps of `stop.max_passes` |
/// | `stop` | [`Stop::default`] | a pass is `nnz / (nnz of a mean row + of a mean column)` steps: as many entries as the data have |
/// | `seed` | 0 | seed of the draws |
/// | `script` | none | draws that replace random ones, for tests |
/// | `noisy` | false | also averages the drawn entries of `U`; see [`noisy_weights`](crate::SublinearState::noisy_weights) |
/// | `max_memory` | 4 GiB | if all classes could need more, the run is refused |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SublinearSettings {
    /// The step `gamma`.
    pub step: StepSize,
    /// The number of steps for which the theory's step is computed.
    pub horizon: Option<u64>,
    /// The stopping rule.
    pub stop: Stop,
    /// Seed of the draws.
    pub seed: u64,
    /// Draws that replace random ones.
    #[serde(skip)]
    pub script: Vec<Draw>,
    /// Whether to average the drawn entries too.
    pub noisy: bool,
    /// The largest number of bytes to use; `None` for no limit.
    pub max_memory: Option<u64>,
}

impl Default for SublinearSettings {
    fn default() -> Self {
        let (step, stop) = (StepSize::Theory, Stop::default());
        SublinearSettings {
            step,
            horizon: None,
            stop,
            seed: 0,
            script: vec![],
            noisy: false,
            max_memory: MAX_MEMORY,
        }
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
