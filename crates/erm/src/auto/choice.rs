//! What can be chosen, why, and what was.

use fenchel_linalg::text::short;
use serde::{Deserialize, Serialize};

use crate::Point;

/// A method that [`auto`](super::auto()) can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// [`sdca`](crate::methods::sdca()) with exact steps.
    Sdca,
    /// [`catalyst`](crate::methods::catalyst()), which is SDCA where there is nothing to accelerate.
    Catalyst,
    /// [`coordinate_descent`](crate::methods::coordinate_descent()) over all columns.
    CoordinateDescent,
    /// [`newton`](crate::methods::newton()).
    Newton,
    /// [`subsampled_newton`](crate::methods::subsampled_newton()).
    SubsampledNewton,
    /// [`newton_cg`](crate::methods::newton_cg()).
    NewtonCg,
    /// [`lbfgs`](crate::methods::lbfgs()).
    Lbfgs,
    /// [`qning`](crate::methods::qning()).
    Qning,
    /// [`saga`](crate::methods::saga()) with backtracking, or `general::saga` of `fenchel-finite-sum`.
    Saga,
    /// [`fista`](crate::methods::fista()).
    Fista,
    /// `general::finito` of `fenchel-finite-sum`.
    Finito,
    /// `general::svrg` of `fenchel-finite-sum`.
    Svrg,
}

impl Method {
    /// Its name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Method::Sdca => "SDCA",
            Method::Catalyst => "accelerated SDCA",
            Method::CoordinateDescent => "coordinate descent",
            Method::Newton => "proximal Newton",
            Method::SubsampledNewton => "subsampled Newton",
            Method::NewtonCg => "Newton-CG",
            Method::Lbfgs => "L-BFGS",
            Method::Qning => "QNing",
            Method::Saga => "SAGA",
            Method::Fista => "FISTA",
            Method::Finito => "Finito",
            Method::Svrg => "SVRG",
        }
    }

    /// Whether it converges at the same rate from beginning to end. Newton's methods are slow at first and fast in the end.
    pub(super) fn keeps_pace(self) -> bool {
        use Method::{Newton, NewtonCg, SubsampledNewton};
        !matches!(self, Newton | NewtonCg | SubsampledNewton)
    }
}

/// Why FISTA.
pub(crate) const JOINT: &str = "the regulariser ties the weights together";
/// Why dual ascent.
pub(crate) const WELL_CONDITIONED: &str = "the dual is well enough conditioned";

/// What was chosen, and by which predictions. Displays as a sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The method to begin with.
    pub method: Method,
    /// Why, where it was not for the predictions.
    pub reason: Option<String>,
    /// The method that took over, if the first one needed more passes than it may.
    pub switched: Option<Method>,
    /// The predicted cost of each method that was considered, in batch passes.
    #[serde(default)]
    pub predictions: Vec<(Method, f64)>,
    /// `n mu / mean L_i`, the conditioning of the dual. For a loss without a curvature bound, `L_i` is the curvature of the term at its
    /// minimum.
    #[serde(with = "fenchel_optim::limit")]
    pub beta: f64,
    /// The predicted passes of the first method. It is given up after three times as many.
    #[serde(with = "fenchel_optim::limit")]
    pub(crate) promised: f64,
    /// The method that takes over then.
    #[serde(default)]
    pub(crate) second: Option<Method>,
    /// L-BFGS runs first, and goes on while its pace promises to end within so many passes.
    #[serde(default)]
    pub(crate) trial: Option<f64>,
}

/// In words: `proximal Newton: 12 passes predicted, SDCA 40`. A reason other than the predictions follows.
impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Choice { method, reason, switched, predictions, .. } = self;
        write!(f, "{}: ", method.name())?;
        let own = predictions.iter().find(|(of, _)| of == method).map(|(_, passes)| *passes);
        if let Some(passes) = own {
            write!(f, "{} passes predicted", short(passes.round()))?;
            let mut others: Vec<_> = predictions.iter().filter(|(of, _)| of != method).collect();
            others.sort_by(|a, b| a.1.total_cmp(&b.1));
            for (other, passes) in others {
                write!(f, ", {} {}", other.name(), short(passes.round()))?;
            }
        }
        if let Some(reason) = reason {
            write!(f, "{}{reason}", if own.is_some() { "; " } else { "" })?;
        }
        match switched {
            Some(second) => write!(f, "; {} took over", second.name()),
            None => Ok(()),
        }
    }
}

/// A method that can solve a problem, with its predicted cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Arm {
    pub(crate) method: Method,
    /// Predicted cost, as a number of batch passes; infinite where it cannot be used.
    pub(crate) cost: f64,
    /// The predicted number of its own passes.
    pub(crate) passes: f64,
}

impl Choice {
    /// A method that was chosen without predictions, and with no second one to take over.
    pub fn only(method: Method, reason: impl Into<Option<&'static str>>) -> Self {
        let reason = reason.into().map(str::to_owned);
        let (beta, promised) = (0.0, f64::INFINITY);
        let predictions = Vec::new();
        let (switched, second, trial) = (None, None, None);
        Choice { method, reason, switched, predictions, beta, promised, second, trial }
    }

    /// This method, whatever it costs, and the cheapest of the other arms to take over.
    pub(crate) fn of_arms(method: Method, arms: &[Arm], reason: Option<&'static str>) -> Self {
        let usable = arms.iter().filter(|arm| arm.cost.is_finite());
        let predictions = usable.clone().map(|arm| (arm.method, arm.cost)).collect();
        let others = usable.filter(|arm| arm.method != method);
        let second = others.min_by(|a, b| a.cost.total_cmp(&b.cost)).map(|arm| arm.method);
        let own = arms.iter().find(|arm| arm.method == method);
        let promised = own.map_or(f64::INFINITY, |arm| arm.passes);
        Choice { predictions, promised, second, ..Choice::only(method, reason) }
    }
}

/// Where [`auto`](super::auto()) ended, and what it chose. Its point is a warm start of another run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AutoState<P = Point> {
    /// The point; of a general sum with what its method goes on from.
    pub point: P,
    /// What was chosen and why.
    pub choice: Choice,
}
