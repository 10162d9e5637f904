//! The line search on a block.
//!
//! Let `d = target - m` and `q = l2 n norm(v)^2`. A step `s` raises the dual by `(f(s) - f(0)) / n`, where
//!
//! ```text
//! f(s)  = H(m + s d) - l2 n / 2 norm(w + s v)^2
//! f'(s) = c - s q - slope(s),    c = <w, F d>,   f''(s) = -q - curvature(s)
//! ```
//!
//! Here `slope` and `curvature` are those of [`LineTerms`]. `f` is concave with `f'(0) >= 0 >= f'(1)`.
//!
//! With an l1 penalty, `w + s v` is `S(nu + s v)`. The terms `c - s q` and `-q` are then those of [`Bend`]. `f` stays concave with
//! the same signs at both ends, and `f''` jumps where a weight becomes 0 or leaves it.

use fenchel_graphical::chain::LineTerms;
use fenchel_linalg::Invalid;
use fenchel_optim::scalar::brent_maximum;
use serde::{Deserialize, Serialize};

use super::point::Bend;
use crate::Error;
use crate::terms::Marginals;

/// The rule for the step of a block towards the marginals of the model; see [`Sdca`](super::Sdca).
///
/// | step | passes over the marginals | the dual rises |
/// |---|---|---|
/// | `SingleNewton` | 2 | except in contrived cases |
/// | `Newton` | 3 to 5 | always |
/// | `Brent` | about 10 | always |
/// | `Armijo` | 2 to 4 | always |
/// | `Fixed` | 2 | if the step is at most that of `Safe` |
/// | `Safe` | 2 | always, by theory, and very slowly |
/// | `SkipIfImproves` | 2 to 6 | always |
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum SdcaStep {
    /// One Newton step from 1/2, inside the bracket. It is the fastest rule in time. It estimates the gap of a block by half
    /// the curvature at 1/2, which agrees with the divergence to third order, so that no logarithms are needed for gaps.
    #[default]
    SingleNewton,
    /// Newton steps inside a shrinking bracket until a step would be shorter than `tolerance`. A tolerance of 1e-3 is enough.
    Newton {
        /// Smallest move.
        tolerance: f64,
        /// The first trial.
        start: NewtonStart,
    },
    /// Brent's method on the values.
    Brent {
        /// Accuracy of the step.
        tolerance: f64,
    },
    /// The first of 1, `shrink`, `shrink^2`, .. at which the dual rises by at least `decrease` times the step times the gap of
    /// the block. The gap is a lower bound of the slope at 0.
    Armijo {
        /// Fraction of the linear prediction that must be reached, in (0, 1).
        decrease: f64,
        /// Ratio of two trials, in (0, 1).
        shrink: f64,
    },
    /// Always this step.
    Fixed(f64),
    /// The step size `1 / (1 + R_i / (l2 n))` of the theory, with an upper bound of the squared radius `R_i`.
    Safe,
    /// The last step size of the block if it raises the dual; otherwise the rule `Newton` with a tolerance of 1e-3.
    SkipIfImproves,
}

/// Where Newton's method starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NewtonStart {
    /// At 1/2.
    #[default]
    Half,
    /// Starts at the last step of the block.
    Previous,
}

impl SdcaStep {
    pub(crate) fn check(&self) -> Result<(), Error> {
        let within = |name, value: f64, range: std::ops::RangeInclusive<f64>, expected| {
            if range.contains(&value) {
                return Ok(());
            }
            Err(Invalid::Parameter { name, value, expected }.into())
        };
        match *self {
            SdcaStep::Newton { tolerance, .. } | SdcaStep::Brent { tolerance } => {
                Ok(Invalid::check_positive("step.tolerance", tolerance)?)
            }
            SdcaStep::Armijo { decrease, shrink } => {
                let open = f64::EPSILON..=1.0 - f64::EPSILON;
                within("step.decrease", decrease, open.clone(), "a number in (0, 1)")?;
                within("step.shrink", shrink, open, "a number in (0, 1)")
            }
            SdcaStep::Fixed(step) => within("step", step, 0.0..=1.0, "a number in [0, 1]"),
            SdcaStep::SingleNewton | SdcaStep::Safe | SdcaStep::SkipIfImproves => Ok(()),
        }
    }

    /// Whether the entropies of the blocks are stored and updated.
    pub(crate) fn tracks(&self) -> bool {
        *self != SdcaStep::SingleNewton
    }

    /// Whether the rule works where the entropy has an infinite slope.
    pub(crate) fn starts_anywhere(&self) -> bool {
        matches!(self, SdcaStep::Fixed(_) | SdcaStep::Brent { .. })
    }
}

/// The line search problem of one block.
pub(super) struct Line<'m, M> {
    pub(crate) from: &'m M,
    pub(crate) target: &'m M,
    /// `c`
    pub(crate) linear: f64,
    /// `q`
    pub(crate) quadratic: f64,
    /// The terms in place of `c` and `q`, if there is an l1 penalty.
    pub(crate) bend: Option<&'m Bend>,
    /// The entropy `H(m)` and the gap of the block, if the method stores them.
    pub(crate) tracked: Option<(f64, f64)>,
    /// The block's last step.
    pub(crate) previous: f64,
    /// The step size of the theory.
    pub(crate) safe: f64,
}

/// A step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Move {
    pub(crate) step: f64,
    /// The entropy after the step, if the search computes it.
    pub(crate) entropy: Option<f64>,
    /// The gap of the block before the step, exact or estimated.
    pub(crate) gap: f64,
    /// Evaluations of the entropy or its derivatives.
    pub(crate) evaluations: u32,
    /// The terms at 1/2, if the rule is one Newton step from there.
    pub(crate) middle: Option<LineTerms>,
}

/// Newton's method in a bracket: the known interval, and the next trial.
struct Bracket {
    low: f64,
    high: f64,
    last_move: f64,
}

impl Bracket {
    fn unit() -> Bracket {
        Bracket { low: 0.0, high: 1.0, last_move: 1.0 }
    }

    /// The next trial after `at`, with the derivatives there: the Newton step if it stays inside and halves the last
    /// one, a bisection otherwise.
    fn next(&mut self, at: f64, (first, second): (f64, f64)) -> f64 {
        if first > 0.0 {
            self.low = at
        } else {
            self.high = at
        }
        let newton = at - first / second;
        let trusted =
            newton > self.low && newton < self.high && (newton - at).abs() <= 0.5 * self.last_move;
        let next = if trusted { newton } else { 0.5 * (self.low + self.high) };
        self.last_move = (next - at).abs();
        next
    }
}

impl<M: Marginals> Line<'_, M> {
    fn terms(&self, step: f64) -> LineTerms {
        self.from.line_terms(self.target, step)
    }

    /// `f'` and `f''`
    fn derivatives(&self, step: f64, terms: &LineTerms) -> (f64, f64) {
        let (first, second) = match self.bend {
            None => (self.linear - step * self.quadratic, -self.quadratic),
            Some(bend) => bend.derivatives(step),
        };
        (first - terms.slope, second - terms.curvature)
    }

    /// `f(step) - f(0)`
    pub(crate) fn gain(&self, step: f64, entropy: f64) -> f64 {
        let before = self.tracked.map_or(f64::NAN, |(entropy, _)| entropy);
        let weights = match self.bend {
            None => step * (self.linear - 0.5 * step * self.quadratic),
            Some(bend) => bend.gain(step),
        };
        entropy - before + weights
    }

    pub(crate) fn search(&self, rule: SdcaStep) -> Move {
        let gap = self.tracked.map_or(0.0, |(_, gap)| gap);
        let to = |step: f64, evaluations: u32| {
            let entropy = Some(self.terms(step).entropy);
            Move { step, entropy, gap, evaluations: evaluations + 1, middle: None }
        };
        match rule {
            SdcaStep::SingleNewton => {
                let terms = self.terms(0.5);
                let gap = 0.5 * terms.curvature.max(0.0);
                let step = self.single(&terms);
                Move { step, entropy: None, gap, evaluations: 1, middle: Some(terms) }
            }
            SdcaStep::Newton { tolerance, start } => {
                let start = match start {
                    NewtonStart::Half => 0.5,
                    NewtonStart::Previous => self.previous.clamp(1e-3, 1.0 - 1e-3),
                };
                self.newton(start, tolerance, gap)
            }
            SdcaStep::Brent { tolerance } => {
                let mut evaluations = 0;
                let value = |step| {
                    evaluations += 1;
                    self.gain(step, self.terms(step).entropy)
                };
                let step = brent_maximum(value, 0.0, 1.0, tolerance);
                self.or_nothing(to(step, evaluations))
            }
            SdcaStep::Armijo { decrease, shrink } => {
                let mut trial = to(1.0, 0);
                while self.gain(trial.step, trial.entropy.unwrap_or(f64::NAN))
                    < decrease * trial.step * gap
                    && trial.step > 1e-12
                {
                    trial = to(shrink * trial.step, trial.evaluations);
                }
                self.or_nothing(trial)
            }
            SdcaStep::Fixed(step) => to(step, 0),
            SdcaStep::Safe => to(self.safe, 0),
            SdcaStep::SkipIfImproves => {
                let trial = to(self.previous, 0);
                if self.gain(trial.step, trial.entropy.unwrap_or(f64::NAN)) > 0.0 {
                    return trial;
                }
                self.newton(0.5, 1e-3, gap)
            }
        }
    }

    /// One Newton step from 1/2, where the terms are known.
    fn single(&self, terms: &LineTerms) -> f64 {
        Bracket::unit().next(0.5, self.derivatives(0.5, terms))
    }

    /// Adapts a step that was found for the linear term `before` to the current term `linear`.
    ///
    /// `f'(0)` was the sum of two divergences, which is about the curvature. If it has decreased to less than half, a Newton
    /// step is accepted only if `f` still increases at its end. Since `f` is concave, it has then increased along the whole
    /// step.
    pub(crate) fn again(&self, rule: SdcaStep, found: Move, before: f64) -> Move {
        match (rule, found.middle) {
            (SdcaStep::Fixed(_) | SdcaStep::Safe, _) => found,
            (_, Some(terms)) => {
                let mut found = Move { step: self.single(&terms), ..found };
                if self.linear - before < -0.5 * terms.curvature {
                    while found.step > 0.0
                        && self.derivatives(found.step, &self.terms(found.step)).0 < 0.0
                    {
                        found.evaluations += 1;
                        found.step = if found.step > 1e-3 { 0.5 * found.step } else { 0.0 };
                    }
                }
                found
            }
            _ if self.gain(found.step, found.entropy.unwrap_or(f64::NAN)) >= 0.0 => found,
            _ => self.search(rule),
        }
    }

    /// Stops as soon as the *next* step would be small, and returns the trial before it, whose entropy is known.
    fn newton(&self, start: f64, tolerance: f64, gap: f64) -> Move {
        let mut bracket = Bracket::unit();
        let mut step = start;
        for evaluations in 1..=100 {
            let terms = self.terms(step);
            let next = bracket.next(step, self.derivatives(step, &terms));
            if (next - step).abs() < tolerance || evaluations == 100 {
                let entropy = Some(terms.entropy);
                return self.or_nothing(Move { step, entropy, gap, evaluations, middle: None });
            }
            step = next;
        }
        let entropy = self.tracked.map(|(entropy, _)| entropy);
        Move { step: 0.0, entropy, gap, evaluations: 100, middle: None }
    }

    /// Replaces a step without gain by no step: at the optimum all gains are rounding errors.
    fn or_nothing(&self, found: Move) -> Move {
        if self.gain(found.step, found.entropy.unwrap_or(f64::NAN)) >= 0.0 {
            return found;
        }
        Move { step: 0.0, entropy: self.tracked.map(|(entropy, _)| entropy), ..found }
    }
}

#[cfg(test)]
mod tests;
