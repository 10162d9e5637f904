//! MISOmu: dual coordinate ascent with constant steps, which stores one number per term.

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Observer, Separable, Solution, Stop};

use super::ascent::{Ascent, Move};
use super::sdca::{Sdca, ascend};
use super::state::DualState;
use crate::{Error, Problem};
use fenchel_optim::settings;

settings! {
    /// Settings of [`miso_mu`](fn@miso_mu).
    pub struct MisoMuSettings {
        /// The step as a fraction `c` of a full step, in (0, 1]. The default `None` is `mu n / (mu n + L_j)` for term
        /// `j`.
        damping: Option<f64> = None,
        /// Visiting order.
        order: Order = Order::Permuted,
        /// Seed of the visiting order.
        seed: u64 = 0,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
    }
}

/// MISOmu (A. Defazio, PhD thesis 2014, section 3.4) for smooth losses, proximal for a separable regulariser.
///
/// A step moves the stored derivative `s_j` towards the current one:
///
/// ```text
/// s_j <- s_j + c (phi_j'(a_j.x) - s_j),     x = -(1/(mu n)) sum_i s_i a_i
/// ```
///
/// With `c = 1` it is Finito with `alpha = 1`. The stored points then cancel in the update, so that `n` numbers are
/// enough and sparse data stay sparse. Convergence of the full step is proved for `n mu >= 2 L`. It diverges for `n
/// mu` below about `L / 2`. With the default `c = mu n / (mu n + L_j)`, the dual objective increases in expectation
/// for every condition number, and the method is [`sdca`](super::sdca()) with [`Constant`](super::SdcaStep::Constant)
/// steps. A step costs O(nnz of the row).
///
/// Original papers: Mairal, "Incremental majorization-minimization optimization", SIAM Journal on Optimization 25
/// (2015); for steps with `c < 1`, Lin, Mairal and Harchaoui, "Catalyst", JMLR 18 (2018).
///
/// [An example](crate::methods#example).
///
/// # Errors
/// [`Error::Refused`] without strong convexity, or for a loss that is not smooth; [`Error::Invalid`] if the start has
/// another shape or is outside the domain, or for settings out of range.
pub fn miso_mu<'p, 'a, D: Design, L: Loss, R: Separable, O: Observer<Sdca<'p, 'a, D, L, R>>>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &MisoMuSettings,
    start: Option<DualState>,
    observer: &mut O,
) -> Result<Solution<DualState>, Error> {
    let MisoMuSettings { damping, order, seed, stop } = settings;
    let stop = &problem.stop(stop)?;
    let step = match *damping {
        None => Move::PerTerm,
        Some(c) if c > 0.0 && c <= 1.0 => Move::Fraction(c),
        Some(value) => {
            let (name, expected) = ("damping", "a number in (0, 1]");
            return Err(Invalid::Parameter { name, value, expected }.into());
        }
    };
    order.check_given("miso_mu")?;
    let cold = start.is_none();
    let ascent = Ascent::new("miso_mu", problem, 0.0, step, order, *seed, start)?;
    ascend(ascent, cold, stop, observer)
}
