//! Which method for which problem: a cost model in passes, evaluated once before the start.

use fenchel_linalg::{Columns, Design};
use fenchel_optim::Refusal;
use fenchel_optim::{Loss, Regulariser};
use serde::{Deserialize, Serialize};

use crate::methods::hessian::{full_hessian_cost, gram_cost};
use crate::methods::newton::{ROWS_PER_VARIABLE, sample_rows};
use crate::{Error, Problem};

/// What L-BFGS is predicted to need without l2, or where rows outnumber features: 31 to 300 were measured there.
const LBFGS_PASSES: f64 = 400.0;

/// The same of Newton-CG: 45 to 283 on the four data sets at `beta = 0.004`.
const NEWTON_CG_PASSES: f64 = 150.0;

/// Below this `beta` Newton-CG replaces the accelerated dual method.
const BADLY_CONDITIONED: f64 = 0.005;

/// An operation of the Cholesky factorisation beside an entry of a batch pass: regular loops, four numbers at a time.
const REGULAR: f64 = 0.25;

/// What a Newton step evaluates for each row, in entries of a batch pass: the loss twice, its two derivatives and its
/// conjugate, at about four nanoseconds each where a pass takes two an entry.
const EVALUATIONS: f64 = 10.0;

/// Passes that subsampled Newton is predicted to need, and Hessians of the drawn rows beside them: 7 to 15, and 2 to 4, in a
/// prototype on three data sets.
const SUBSAMPLED_PASSES: f64 = 12.0;
const SUBSAMPLED_HESSIANS: f64 = 3.0;

/// What a pass of it evaluates for each row, in entries of a batch pass: value and derivative together.
const SUBSAMPLED_EVALUATIONS: f64 = 4.0;

/// Outer steps of proximal Newton with l1, times two passes each and some Gram matrices.
const SPARSE_NEWTON_PASSES: f64 = 40.0;

/// A method that [`auto`](super::auto()) can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// [`sdca`](crate::methods::sdca()) with exact steps.
    Sdca,
    /// [`catalyst`](crate::methods::catalyst()), which is SDCA where there is nothing to accelerate.
    Catalyst,
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
    /// [`saga`](crate::methods::saga()) with backtracking, or [`general::saga`](crate::general::saga).
    Saga,
    /// [`fista`](crate::methods::fista()).
    Fista,
    /// [`general::finito`](crate::general::finito).
    Finito,
    /// [`general::svrg`](crate::general::svrg).
    Svrg,
}

impl Method {
    /// Its name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Method::Sdca => "SDCA",
            Method::Catalyst => "accelerated SDCA",
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

    /// Whether its pace at the beginning is its pace at the end. Newton's methods are slow before they are fast.
    pub(super) fn keeps_pace(self) -> bool {
        !matches!(self, Method::Newton | Method::SubsampledNewton | Method::NewtonCg)
    }
}

/// Why a method was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The fewest predicted passes.
    Cost,
    /// The loss has a kink.
    Kink,
    /// The derivative of the loss has no Lipschitz constant.
    UnboundedCurvature,
    /// The conjugate of the loss is not known.
    NoConjugate,
    /// An l1 penalty, and a dual that is badly conditioned (or a quadratic loss).
    SparseAndSteep,
    /// A dual that is well enough conditioned, or can be accelerated.
    Dual,
    /// No strong convexity: a proximal centre moved by L-BFGS.
    NotStronglyConvex,
    /// Tiny strong convexity.
    BadlyConditioned,
    /// The regulariser ties the weights together.
    JointRegulariser,
    /// Far more features than rows.
    FewRows,
    /// The table of gradients fits into the memory, and the terms are well conditioned.
    WellConditionedTerms,
    /// The table of gradients fits into the memory.
    TableFits,
    /// The table of gradients does not fit into the memory.
    TableTooLarge,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Reason::Cost => "the fewest predicted passes",
            Reason::Kink => "the loss has a kink",
            Reason::UnboundedCurvature => "the loss has no curvature bound",
            Reason::NoConjugate => "the conjugate of the loss is not known",
            Reason::SparseAndSteep => {
                "l1, and a dual that is badly conditioned or a quadratic loss"
            }
            Reason::Dual => "the dual is well enough conditioned",
            Reason::NotStronglyConvex => "no strong convexity",
            Reason::BadlyConditioned => "tiny strong convexity",
            Reason::JointRegulariser => "the regulariser ties the weights together",
            Reason::FewRows => "far more features than rows",
            Reason::WellConditionedTerms => "well conditioned terms, and a table that fits",
            Reason::TableFits => "the table of gradients fits into the memory",
            Reason::TableTooLarge => "the table of gradients does not fit into the memory",
        })
    }
}

/// What was chosen, and by which numbers. Displays as a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The method to begin with.
    pub method: Method,
    /// Why.
    pub reason: Reason,
    /// The method that took over, if the first had not kept its promise.
    pub switched: Option<Method>,
    /// `n mu / mean L_i`: the conditioning of the dual. 0 for a loss without curvature bound.
    #[serde(with = "fenchel_optim::limit")]
    pub beta: f64,
    /// Cost of a Newton step in passes; infinite where its memory is not allowed.
    #[serde(with = "fenchel_optim::limit")]
    pub newton_step: f64,
    /// Batch passes as dear as what Newton is predicted to need.
    #[serde(with = "fenchel_optim::limit")]
    pub newton: f64,
    /// The same of subsampled Newton; infinite where the rows are too few.
    #[serde(with = "fenchel_optim::limit")]
    pub subsampled: f64,
    /// Passes that L-BFGS is predicted to need.
    #[serde(with = "fenchel_optim::limit")]
    pub lbfgs: f64,
    /// Batch passes as dear as what the (accelerated) dual method is predicted to need; infinite without strong
    /// convexity.
    #[serde(with = "fenchel_optim::limit")]
    pub dual: f64,
    /// Batch passes that Newton-CG is predicted to need; infinite where it is not considered.
    #[serde(with = "fenchel_optim::limit")]
    pub newton_cg: f64,
    /// Passes that the method to begin with is predicted to need: what it is held to.
    #[serde(with = "fenchel_optim::limit")]
    pub promised: f64,
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Choice { method, reason, switched, beta, newton, subsampled, .. } = self;
        let Choice { newton_cg, lbfgs, dual, .. } = self;
        write!(f, "{}: n mu / mean L = {beta:.2e}; ", method.name())?;
        let predictions = [
            ("Newton", newton),
            ("subsampled Newton", subsampled),
            ("Newton-CG", newton_cg),
            ("dual ascent", dual),
            ("L-BFGS", lbfgs),
        ];
        let mut open = "predicted passes: ";
        for (name, passes) in predictions.iter().filter(|(_, passes)| passes.is_finite()) {
            write!(f, "{open}{name} {passes:.0}")?;
            open = ", ";
        }
        write!(f, "{}{reason}", if open == ", " { "; " } else { "" })?;
        match switched {
            Some(second) => write!(f, "; {} took over", second.name()),
            None => Ok(()),
        }
    }
}

impl Choice {
    /// Chooses by the conditioning `beta`, the cost of a Newton step in passes and the passes that the dual method is
    /// predicted to need for a relative gap of `relative`.
    ///
    /// The thresholds were measured on web pages, census, text, engine and generated data (passes to 1e-6, certificates
    /// included): 6, 13, 30 for `beta >= 2, 0.1, 0.005`, growing like `1 / sqrt(beta)` from 60 below. A pass of dual
    /// ascent on short rows costs up to nine batch passes (4 to 9 at 12 entries a row, 2.5 to 3.5 at 30, 1.6 at 44), for
    /// its exponentials and for visiting rows in random order. L-BFGS took 12 to 19, 22 to 44 and 37 to 100 passes where
    /// features are many.
    ///
    /// # Errors
    /// [`Error::Refused`] for a loss with a kink without l2.
    pub(super) fn of<D: Design, L: Loss, R: Regulariser>(
        problem: &Problem<'_, D, L, R>,
        l1: f64,
        relative: f64,
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        let (mu, beta) = (problem.strong_convexity(), conditioning(problem));
        let smooth = problem.loss().curvature().is_finite();
        let dual = if mu > 0.0 || (l1 > 0.0 && smooth) {
            pass_cost(problem) * dual_passes(beta, relative)
        } else {
            f64::INFINITY
        };
        let lbfgs = if l1 > 0.0 { f64::INFINITY } else { lbfgs_passes(problem, beta, relative) };
        let hessians = Hessians::of(problem, l1, relative, max_memory);
        let Hessians { affordable, step: newton_step, steps, newton, subsampled } = hessians;

        let exact_or_not =
            if newton <= subsampled { Method::Newton } else { Method::SubsampledNewton };
        let (method, reason) = if !problem.loss().twice_differentiable() {
            without_second_derivatives(problem, beta)?
        } else if !smooth {
            // No step size and no acceleration without a curvature bound.
            let method = if affordable || !(mu > 0.0) { Method::Newton } else { Method::Sdca };
            (method, Reason::UnboundedCurvature)
        } else if l1 > 0.0 {
            // With a quadratic loss one Gram matrix serves all steps.
            let steep = beta < 1.0 || problem.loss().quadratic();
            match () {
                () if steep && affordable => (Method::Newton, Reason::SparseAndSteep),
                () if mu > 0.0 => (Method::Catalyst, Reason::Dual),
                () => (Method::Qning, Reason::NotStronglyConvex),
            }
        } else if mu > 0.0 && beta < BADLY_CONDITIONED {
            let cheap = newton.min(subsampled) <= NEWTON_CG_PASSES;
            (if cheap { exact_or_not } else { Method::NewtonCg }, Reason::BadlyConditioned)
        } else if newton.min(subsampled) <= dual.min(lbfgs) {
            (exact_or_not, Reason::Cost)
        } else if dual < lbfgs {
            (Method::Catalyst, Reason::Cost)
        } else {
            (Method::Lbfgs, Reason::Cost)
        };
        let newton_cg = if method == Method::NewtonCg { NEWTON_CG_PASSES } else { f64::INFINITY };
        let promised = match method {
            Method::Catalyst | Method::Qning => dual,
            Method::Newton => newton_step * steps,
            Method::SubsampledNewton => subsampled,
            Method::NewtonCg => newton_cg,
            Method::Lbfgs => lbfgs,
            _ => f64::INFINITY,
        };
        let only = Choice::only(method, reason);
        Ok(Choice {
            beta,
            newton_step,
            newton,
            subsampled,
            newton_cg,
            lbfgs,
            dual,
            promised,
            ..only
        })
    }

    /// For a separable regulariser that is no elastic net: bounds, weights of their own.
    ///
    /// # Errors
    /// As [`of`](Choice::of).
    pub(super) fn separable<D: Design, L: Loss, R: Regulariser>(
        problem: &Problem<'_, D, L, R>,
        relative: f64,
    ) -> Result<Self, Error> {
        let beta = conditioning(problem);
        let loss = problem.loss();
        let (method, reason) = if loss.twice_differentiable() && !loss.curvature().is_finite() {
            if !(problem.strong_convexity() > 0.0) {
                return Err(Refusal::NeedsStrongConvexity { method: "auto" }.into());
            }
            (Method::Sdca, Reason::UnboundedCurvature)
        } else if loss.curvature().is_finite() && 10 * problem.n() < problem.d() {
            (Method::Fista, Reason::FewRows)
        } else {
            without_second_derivatives(problem, beta)?
        };
        let dual = pass_cost(problem) * dual_passes(beta, relative);
        let ascends = matches!(method, Method::Catalyst | Method::Qning);
        let promised = if ascends { dual } else { f64::INFINITY };
        Ok(Choice { beta, dual, promised, ..Choice::only(method, reason) })
    }

    /// For a regulariser that ties the weights together.
    pub(super) fn joint<D: Design, L: Loss, R: Regulariser>(
        problem: &Problem<'_, D, L, R>,
    ) -> Self {
        let beta = conditioning(problem);
        Choice { beta, ..Choice::only(Method::Fista, Reason::JointRegulariser) }
    }

    /// The only method there is.
    pub(crate) fn only(method: Method, reason: Reason) -> Self {
        let none = f64::INFINITY;
        Choice {
            method,
            reason,
            switched: None,
            beta: 0.0,
            newton_step: none,
            newton: none,
            subsampled: none,
            lbfgs: none,
            dual: none,
            newton_cg: none,
            promised: none,
        }
    }

    /// Who takes over when the first method needs three times that.
    pub(crate) fn second(&self) -> Option<Method> {
        let newton = self.newton_step.is_finite().then_some(Method::Newton);
        let products = self.newton_cg.is_finite().then_some(Method::NewtonCg);
        let ascent = match self.reason {
            // The only one without acceleration.
            Reason::UnboundedCurvature => Method::Sdca,
            _ if self.beta > 0.0 => Method::Catalyst,
            _ => Method::Qning,
        };
        match self.method {
            Method::Catalyst | Method::Qning => products.or(newton),
            Method::Newton if self.dual.is_finite() => Some(ascent),
            // A smooth loss without curvature where the margins are: that of Huber, far out.
            Method::Newton => self.lbfgs.is_finite().then_some(Method::Lbfgs),
            Method::SubsampledNewton => newton,
            Method::NewtonCg => newton.or(Some(Method::Lbfgs)),
            Method::Lbfgs if self.dual.is_finite() => Some(Method::Catalyst),
            Method::Lbfgs => newton,
            _ => None,
        }
    }
}

/// What the methods that write a Hessian down are predicted to need.
struct Hessians {
    /// Whether the loss has second derivatives, and the memory is allowed.
    affordable: bool,
    /// Cost of a Newton step in passes.
    step: f64,
    /// Newton steps.
    steps: f64,
    /// Batch passes as dear as those steps.
    newton: f64,
    /// The same of subsampled Newton.
    subsampled: f64,
}

impl Hessians {
    fn of<D: Design, L: Loss, R: Regulariser>(
        problem: &Problem<'_, D, L, R>,
        l1: f64,
        relative: f64,
        max_memory: Option<u64>,
    ) -> Self {
        let design = problem.design();
        let (n, d) = (problem.n() as f64, problem.d() as f64);
        let stored = design.stored().max(1) as f64;
        let order = problem.d() as u64 + 1;
        let bytes = match l1 {
            0.0 => order.saturating_mul(order).saturating_mul(16),
            _ => Columns::bytes(design),
        };
        let affordable =
            problem.loss().twice_differentiable() && max_memory.is_none_or(|limit| bytes <= limit);
        // Without l1 the gradient and the Gram matrix, and its factor.
        let (products, factor) = if !affordable {
            (f64::INFINITY, 0.0)
        } else if l1 > 0.0 {
            (2.0, 0.0)
        } else {
            (1.0 + full_hessian_cost(design), d * d * d / (6.0 * stored))
        };
        // A quadratic loss is its own model.
        let steps = match () {
            () if problem.loss().quadratic() => 2.0,
            () if l1 > 0.0 => SPARSE_NEWTON_PASSES / 2.0,
            () => 7.0,
        };
        // The margins of a step are half a pass.
        let beside = 0.5 + EVALUATIONS * n / stored;
        let newton = (products + beside + REGULAR * factor) * steps;
        let drawn = sample_rows(problem.n(), problem.d() + 1, ROWS_PER_VARIABLE);
        let draws = affordable && l1 == 0.0 && problem.strong_convexity() > 0.0;
        let subsampled = match drawn.filter(|_| draws) {
            None => f64::INFINITY,
            Some(rows) => {
                let share = rows / n;
                let gram = gram_cost(rows as usize + 1, problem.d(), share * stored) / stored;
                let passes = SUBSAMPLED_PASSES * decades(relative) / 6.0;
                passes * (1.0 + SUBSAMPLED_EVALUATIONS * n / stored)
                    + SUBSAMPLED_HESSIANS * (gram + REGULAR * factor)
            }
        };
        Hessians { affordable, step: products + factor, steps, newton, subsampled }
    }
}

/// Passes that L-BFGS is predicted to need without l1.
fn lbfgs_passes<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    beta: f64,
    relative: f64,
) -> f64 {
    if beta < BADLY_CONDITIONED || problem.n() as f64 >= 50.0 * problem.d() as f64 {
        return LBFGS_PASSES;
    }
    // Few rows a feature: a spectrum that falls slowly from a small largest value.
    let six_digits = match beta {
        b if b >= 2.0 => 16.0,
        b if b >= 0.1 => 40.0,
        _ => 80.0,
    };
    six_digits * decades(relative) / 6.0
}

/// `beta = n mu / mean L_i`
fn conditioning<D: Design, L: Loss, R: Regulariser>(problem: &Problem<'_, D, L, R>) -> f64 {
    let mean = problem.loss().curvature() * problem.mean_norm_squared();
    let mu = problem.strong_convexity();
    if mean > 0.0 { problem.n() as f64 * mu / mean } else { f64::INFINITY }
}

/// Passes that dual ascent is predicted to need.
fn dual_passes(beta: f64, relative: f64) -> f64 {
    decades(relative) / 6.0
        * match beta {
            b if b >= 2.0 => 6.0,
            b if b >= 0.1 => 13.0,
            b if b >= 0.005 => 30.0,
            b if b > 0.0 => 60.0 * (0.005 / b).sqrt(),
            // l1 alone: 20 to 59 on text and census data.
            _ => 60.0,
        }
}

fn decades(relative: f64) -> f64 {
    if relative > 0.0 { -relative.log10() } else { 12.0 }
}

/// What a pass of dual ascent costs, in batch passes.
fn pass_cost<D: Design, L: Loss, R: Regulariser>(problem: &Problem<'_, D, L, R>) -> f64 {
    match problem.design().stored().max(1) as f64 / problem.n() as f64 {
        entries if entries < 20.0 => 7.0,
        entries if entries < 36.0 => 3.5,
        _ => 1.5,
    }
}

/// Dual ascent for a kink, accelerated for a smooth loss, SAGA where the conjugate is not known.
fn without_second_derivatives<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    beta: f64,
) -> Result<(Method, Reason), Error> {
    let smooth = problem.loss().curvature().is_finite();
    let strong = problem.strong_convexity() > 0.0;
    Ok(match () {
        () if smooth && !L::HAS_DUAL => (Method::Saga, Reason::NoConjugate),
        () if !smooth && strong => (Method::Sdca, Reason::Kink),
        () if !smooth => return Err(Refusal::NeedsStrongConvexity { method: "auto" }.into()),
        () if !strong => (Method::Qning, Reason::NotStronglyConvex),
        () if beta < BADLY_CONDITIONED => (Method::Qning, Reason::BadlyConditioned),
        () => (Method::Catalyst, Reason::Dual),
    })
}

#[cfg(test)]
mod tests;
