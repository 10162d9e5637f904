//! Adaptation: a model fitted to a reference distribution receives samples of a transfer distribution, one at a time.
//!
//! ```text
//! theta <- theta - step grad(-log p_theta)(sample),     judged by KL(p* || p_average)
//! ```
//!
//! | learner | for | a step costs |
//! |---|---|---|
//! | [`CategoricalSgd`] | a factorisation of two categorical variables | O(K): one sample touches the marginal and one row |
//! | [`CategoricalSgd::joint`] | the joint vector of scores | O(K^2) |
//! | [`ProximalSgd`] | two normal vectors in Cholesky parameters | O(K^2) |
//!
//! [`sweep`] runs every model with every step size on many tasks. A task is a pair of a reference and a transfer
//! distribution. On a task, all models receive the same samples. For each model, [`sweep`] selects the step size with
//! the smallest divergence `KL(p* || p_average)` after a given number of samples, averaged over the tasks. Task `k` has its
//! own random generator: stream `k` of the seed. So the result does not depend on the number of threads.
//!
//! The model that adapts fastest is the factorisation whose parameters start *closer* to their optimum. It need not be
//! the causal one: after an intervention on the effect, the anticausal model adapts faster (experiment `ca-ex2`).
//!
//! Source: R. Le Priol, PhD thesis 2021, section 4.4, appendices 4.A.1 and 4.D.2.

mod categorical;
mod gradient;
mod kernels;
mod normal;
mod sweep;
mod task;

use serde::{Deserialize, Serialize};

pub use categorical::{CategoricalSgd, Momentum};
pub use gradient::mean_gradient_step;
pub use normal::{NormalTask, ProximalSgd};
pub use sweep::{Curve, Summary, Sweep, SweepSettings, Task, sweep};
pub use task::CategoricalTask;

/// The iterates that are averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Average {
    /// The last iterate alone.
    Last,
    /// All iterates before the last step, the start included. This is the average in Le Priol, PhD thesis 2021, theorem
    /// 4.A.1.
    #[default]
    Uniform,
    /// The iterates from this step on, as deep learning libraries average. Before that step the average is the last
    /// iterate.
    Tail {
        /// The first step that counts.
        from: usize,
    },
}

/// Refuses steps whose sums over many samples would not be numbers.
pub(crate) fn check_step(value: f64) -> Result<(), fenchel_linalg::Invalid> {
    if value > 0.0 && value <= 1e100 {
        return Ok(());
    }
    let expected = "a positive number of at most 1e100";
    Err(fenchel_linalg::Invalid::Parameter { name: "step", value, expected })
}

impl Average {
    /// The number of iterates after so many steps; 0 for the last iterate alone.
    fn count(self, now: usize) -> usize {
        match self {
            Average::Last => 0,
            Average::Uniform => now,
            Average::Tail { from } => now.saturating_sub(from),
        }
    }
}
