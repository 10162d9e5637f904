//! Automatic choice of a method for a general sum.

use fenchel_erm::parts::Guarded;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::Order;
use fenchel_optim::{Observer, Solution};

use super::{FiniteSum, Sum, SumSettings, SumState, finito, saga, svrg};
use crate::Error;
use crate::auto::{AutoState, Choice, Method};
use crate::methods::lag::Composite;

/// Solves a general sum by a method that depends on the problem:
///
/// | case | method |
/// |---|---|
/// | no regulariser, `n l2 >= 2 L`, and `n d` numbers within the memory limit | [`finito`], permuted |
/// | a table of gradients within the memory limit | [`saga`] |
/// | else | [`svrg`] |
///
/// The observer receives the progress and the running [`Method`]. The settings `step` and `order` are passed to the
/// chosen method, so that they should keep their defaults. The choice depends on the sum and the memory limit only.
///
/// # Errors
/// Those of the methods, except for the memory limit.
pub fn auto<T: FiniteSum, R: Composite, O: Observer<Method>>(
    sum: &Sum<'_, T, R>,
    settings: &SumSettings,
    start: Option<SumState>,
    observer: &mut O,
) -> Result<Solution<AutoState<SumState>>, Error> {
    settings.stop.check()?;
    let choice = choose(sum, settings.max_memory);
    let watch = &mut Guarded::new(choice.method, observer);
    let Solution { state, report } = match choice.method {
        Method::Finito => {
            let Sum { terms, l2, smoothness, stored, longest, .. } = *sum;
            let smooth = Sum { terms, regulariser: Zero, l2, smoothness, stored, longest };
            // No slower in any order that was tried.
            let order = match &settings.order {
                Order::Uniform => Order::Permuted,
                order => order.clone(),
            };
            finito(&smooth, &SumSettings { order, ..settings.clone() }, start, watch)?
        }
        Method::Saga => saga(sum, settings, start, watch)?,
        _ => svrg(sum, settings, start, watch)?,
    };
    Ok(Solution { state: AutoState { point: state, choice }, report })
}

fn choose<T: FiniteSum, R: Composite>(sum: &Sum<'_, T, R>, max_memory: Option<u64>) -> Choice {
    let (n, d) = (sum.terms.terms() as f64, sum.terms.dimension() as f64);
    let smoothness = sum.smoothness();
    let beta = if smoothness > 0.0 { n * sum.l2 / smoothness } else { f64::INFINITY };
    let limit = max_memory.map_or(f64::INFINITY, |limit| limit as f64);
    let (method, reason) = match () {
        () if sum.regulariser.is_zero() && sum.l2 > 0.0 && beta >= 2.0 && 8.0 * n * d <= limit => {
            (Method::Finito, "well conditioned terms, and a table that fits")
        }
        () if 8.0 * sum.stored as f64 <= limit => {
            (Method::Saga, "the table of gradients fits into the memory")
        }
        () => (Method::Svrg, "the table of gradients does not fit into the memory"),
    };
    let mut choice = Choice::only(method, reason);
    choice.beta = beta;
    choice
}
