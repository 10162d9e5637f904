//! Standard errors, deviances and the summary table.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};
use std::fmt;
use std::ops::Range;

use fenchel_linalg::text::{aligned, cell, fixed, number, short};
use fenchel_linalg::{Cholesky, Design, Invalid};
use fenchel_optim::scalar::increasing_root;
use serde::{Deserialize, Serialize};

use super::ScalarFamily;
use super::objective::Objective;
use crate::error::Error;
use crate::special::{beta_tails, ln_beta, normal_tails};

/// The name of the row of the intercept.
const INTERCEPT: &str = "(intercept)";

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coefficient {
    /// The name of the column, `x0`, `x1`, ... for a design without names, or `(intercept)`.
    pub name: String,
    /// The estimate.
    pub estimate: f64,
    /// `sqrt(phi (X'WX)^-1_jj)`; NaN if the dispersion is NaN or the curvature has vanished.
    #[serde(with = "finite_or_null")]
    pub standard_error: f64,
    /// Estimate over standard error: normal where the dispersion is known, else Student's t.
    #[serde(with = "finite_or_null")]
    pub statistic: f64,
    /// Two-sided p-value of the coefficient being 0.
    #[serde(with = "finite_or_null")]
    pub p_value: f64,
}

/// The summary of a fit. With a penalty, the standard errors are those of the penalised Hessian.
///
/// A number that does not exist is NaN, and null in a file. Without residual degrees of freedom there is no dispersion,
/// so there are no standard errors and no p-values either. Nor are there a likelihood and an AIC if the dispersion is not
/// known, because the likelihood is unbounded in it. The same holds of a perfect fit: one whose means are the targets to 1e-12
/// of the largest, or to four roundings of it where the mean of the targets was taken out (see the [module](super)). In the place of a
/// likelihood that does not exist, the printed summary says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GlmSummary {
    /// Name of the family.
    pub family: String,
    /// Name of the link.
    pub link: String,
    /// The number of rows of weight above 0.
    pub rows: usize,
    /// The intercept first, if there is one.
    pub coefficients: Vec<Coefficient>,
    /// Whether the family fixes the dispersion at 1.
    pub known_dispersion: bool,
    /// `phi`: 1, or Pearson's chi-squared over the residual degrees of freedom; NaN if there are none.
    #[serde(with = "finite_or_null")]
    pub dispersion: f64,
    /// The covariances of the estimates, row by row in the order of `coefficients`; empty where there are no standard errors, where one
    /// of them is beyond the range of numbers, or if a file does not contain them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covariance: Vec<f64>,
    /// Pearson's chi-squared, `sum_i w_i (y_i - mu_i)^2 / V(mu_i)`; NaN where a variance is 0, or if a file does not contain it.
    #[serde(with = "finite_or_null", default = "missing")]
    pub pearson: f64,
    /// Deviance of the fit.
    #[serde(with = "finite_or_null")]
    pub deviance: f64,
    /// Deviance of the model with an intercept (and offset) only; without an intercept, of `eta = offset`.
    #[serde(with = "finite_or_null")]
    pub null_deviance: f64,
    /// `n` less the number of coefficients (rows of weight 0 do not count).
    pub residual_degrees: usize,
    /// `n` less 1, or `n` without an intercept.
    pub null_degrees: usize,
    /// The log-likelihood. If the dispersion is not known, it is `deviance / n`, and `phi / w_i` for a row of weight
    /// `w_i`. For weighted gamma and inverse Gaussian targets, R uses `deviance / sum_i w_i` and weights the
    /// log-densities instead, so its AIC differs.
    #[serde(with = "finite_or_null")]
    pub log_likelihood: f64,
    /// `2 k - 2 log-likelihood`. An unknown dispersion counts as one of the `k` parameters.
    #[serde(with = "finite_or_null")]
    pub aic: f64,
    /// `k ln n - 2 log-likelihood`, with the same `k`, and the rows of weight above 0 as `n`.
    #[serde(with = "finite_or_null")]
    pub bic: f64,
    /// The number of rows whose fitted mean is within 1e-8 of 0, or of 1 for shares. Separated data have such rows, and so have
    /// data with a maximum. It is 0 for families with estimated dispersion.
    pub at_border: usize,
    /// Whether the fitted point proves that the likelihood has no maximum.
    pub unbounded: bool,
    /// Whether the likelihood seems to have no maximum: the gradient is 0 up to rounding, but a Newton step would still move a
    /// linear predictor by more than 0.1, or the curvature has vanished.
    pub receding: bool,
}

/// What is known of a fitted point beside its coordinates.
pub(super) struct Ending<'a> {
    /// The coefficients of the columns as they were given, the intercept last.
    pub(super) estimates: &'a [f64],
    /// What was subtracted from the columns.
    pub(super) centre: Option<&'a [f64]>,
    pub(super) factor: Option<Cholesky>,
    pub(super) unbounded: bool,
    pub(super) receding: bool,
    /// What rounding may have done to a target before targets were centred.
    pub(super) rounding: f64,
}

impl GlmSummary {
    pub(super) fn new<D: Design, F: ScalarFamily>(
        objective: &mut Objective<'_, D, F>,
        z: &[f64],
        weights: Option<&[f64]>,
        ending: Ending<'_>,
    ) -> Result<Self, Error> {
        let Ending { estimates, centre, factor, unbounded, receding, rounding } = ending;
        let (family, n, k) = (objective.family, objective.y.len(), estimates.len());
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let design = &objective.design;
        let rows = (0..n).filter(|&i| weight(i) > 0.0);
        // Over the rows of all processes that count.
        let sum = |of: &(dyn Fn(usize) -> f64 + Sync)| {
            let counted =
                |rows: Range<usize>| rows.filter(|&i| weight(i) > 0.0).map(of).sum::<f64>();
            let [sum] = design.sum_rows(|rows| [counted(rows)]);
            sum
        };
        let counted = sum(&|_| 1.0) as usize;
        let total = sum(&weight);
        let residual_degrees = counted.saturating_sub(k);
        let etas: Vec<f64> = (0..n).map(|i| objective.eta(i, z)).collect();
        let deviance = sum(&|i| weight(i) * family.deviance_at(objective.y[i], etas[i]));
        let pearson = sum(&|i| {
            let r = objective.y[i] - family.mean(etas[i]);
            weight(i) * r * r / family.variance(etas[i])
        });
        let dispersion = match residual_degrees {
            _ if F::KNOWN_DISPERSION => 1.0,
            0 => f64::NAN,
            degrees => pearson / degrees as f64,
        };
        let null = if objective.intercept { null_intercept(objective) } else { 0.0 };
        let null: Vec<f64> =
            (0..n).map(|i| null + objective.offset.map_or(0.0, |o| o[i])).collect();
        let null_deviance = sum(&|i| weight(i) * family.deviance_at(objective.y[i], null[i]));
        let largest =
            design.largest(rows.clone().fold(0.0, |a: f64, i| a.max(objective.y[i].abs())));
        let off = |i: usize| (objective.y[i] - family.mean(etas[i])).abs();
        let perfect = residual_degrees == 0
            || !design.any(rows.clone().any(|i| !(off(i) <= rounding.max(1e-12 * largest))));
        let likely = match F::KNOWN_DISPERSION {
            true => 1.0,
            false if perfect => f64::NAN,
            false => deviance / counted as f64,
        };
        let log_likelihood =
            sum(&|i| family.log_likelihood_at(objective.y[i], etas[i], weight(i), likely));
        let at_border = match F::KNOWN_DISPERSION {
            true => sum(&|i| f64::from(u8::from(family.variance(etas[i]) < 1e-8))) as usize,
            false => 0,
        };
        let mut coefficients = vec![];
        let d = k - usize::from(objective.intercept);
        // The Hessian is of the mean loss: that of the sum is `total` times as large.
        let scale = dispersion / total;
        let (mut covariance, mut errors) = (Vec::new(), vec![f64::NAN; k]);
        // The intercept first.
        let place = |j: usize| if d == k { j } else { (j + d) % k };
        if let Some(factor) = factor.filter(|_| scale.is_finite()) {
            let (mut parts, mut solved) = (Vec::with_capacity(k), Vec::with_capacity(k));
            for j in (0..k).map(place) {
                // The coefficient as a combination of those of centred columns: the intercept is b - c.beta.
                let mut part = vec![0.0; k];
                part[j] = 1.0;
                if let Some(centre) = centre.filter(|_| j == d) {
                    part.iter_mut().zip(centre).for_each(|(p, c)| *p = -c);
                }
                let mut answer = part.clone();
                factor.solve_in_place(&mut answer)?;
                parts.push(part);
                solved.push(answer);
            }
            for (at, part) in parts.iter().enumerate() {
                let of = |answer: &Vec<f64>| part.iter().zip(answer).map(|(p, s)| p * s).sum();
                let products: Vec<f64> = solved.iter().map(of).collect();
                // Apart, as the product may be beyond the range of numbers.
                errors[at] = scale.sqrt() * products[at].sqrt();
                covariance.extend(products.iter().map(|product| scale * product));
            }
        }
        for (at, j) in (0..k).map(place).enumerate() {
            let standard_error = finite(errors[at]);
            let statistic = finite(estimates[j] / standard_error);
            let p_value = if F::KNOWN_DISPERSION {
                2.0 * normal_tails(-statistic.abs()).0
            } else {
                student_tails(statistic, residual_degrees as f64)
            };
            let name = if j == d { INTERCEPT.into() } else { format!("x{j}") };
            coefficients.push(Coefficient {
                name,
                estimate: estimates[j],
                standard_error,
                statistic,
                p_value,
            });
        }
        let vanished =
            |at: usize| errors[at] > 0.0 && !(covariance[at * k + at] >= f64::MIN_POSITIVE);
        if !covariance.iter().all(|c| c.is_finite()) || (0..k).any(vanished) {
            covariance.clear();
        }
        let parameters = k + usize::from(!F::KNOWN_DISPERSION);
        Ok(GlmSummary {
            family: F::NAME.into(),
            link: F::LINK.into(),
            rows: counted,
            coefficients,
            known_dispersion: F::KNOWN_DISPERSION,
            dispersion: finite(dispersion),
            covariance,
            pearson: finite(pearson),
            deviance: finite(deviance),
            null_deviance: finite(null_deviance),
            residual_degrees,
            null_degrees: counted - usize::from(objective.intercept),
            log_likelihood: finite(log_likelihood),
            aic: finite(2.0 * parameters as f64 - 2.0 * log_likelihood),
            bic: finite((counted as f64).ln() * parameters as f64 - 2.0 * log_likelihood),
            at_border,
            unbounded,
            receding,
        })
    }
}

/// The intercept of the model without columns. It has a closed form without an offset, and is found by Newton's method
/// in one variable otherwise.
///
/// With offsets from `o` to `O`, the intercept lies between `link(mean) - O` and `link(mean) - o`. Steps stay in that
/// bracket, and there are at most 200.
pub(super) fn null_intercept<D: Design, F: ScalarFamily>(objective: &Objective<'_, D, F>) -> f64 {
    let (family, share, design) = (objective.family, objective.shares, &objective.design);
    let eta = family.link(objective.mean_target());
    let Some(offset) = objective.offset else { return eta };
    let rows = (0..share.len()).filter(|&i| share[i] > 0.0);
    let low = rows.clone().fold(f64::INFINITY, |low, i| low.min(offset[i]));
    let high = rows.fold(f64::NEG_INFINITY, |high, i| high.max(offset[i]));
    let (low, high) = (-design.largest(-low), design.largest(high));
    let excess = |b: f64| {
        // Outside of the domain the mean is beyond any number.
        if !family.in_domain(b + high) || !family.loss(0.0, b + high).is_finite() {
            return (f64::INFINITY, 0.0);
        }
        let [value, slope] = design.sum_rows(|rows| {
            let counted = rows.filter(|&i| share[i] > 0.0);
            counted.fold([0.0, 0.0], |[value, slope], i| {
                let (y, eta) = (objective.y[i], b + offset[i]);
                [
                    value + share[i] * family.slope(y, eta),
                    slope + share[i] * family.curvature(y, eta),
                ]
            })
        });
        (value, slope)
    };
    let [offsets] = design.sum_rows(|rows| {
        let counted = rows.filter(|&i| share[i] > 0.0);
        [counted.map(|i| share[i] * offset[i]).sum()]
    });
    let start = eta - offsets;
    increasing_root(excess, eta - high, eta - low, start, 1e-15)
}

/// Numbers of a file: null where there is no finite value, read back as NaN.
mod finite_or_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
    pub(super) fn serialize<S: Serializer>(x: &f64, to: S) -> Result<S::Ok, S::Error> {
        x.is_finite().then_some(*x).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
    }
}

/// What a file does not contain.
fn missing() -> f64 {
    f64::NAN
}

/// NaN for what is not finite.
fn finite(x: f64) -> f64 {
    if x.is_finite() { x } else { f64::NAN }
}

/// `P(|T| > |t|)` for Student's t: `nu / (nu + T^2)` has a beta law.
fn student_tails(t: f64, degrees: f64) -> f64 {
    if !(degrees > 0.0) || t.is_nan() {
        return f64::NAN;
    }
    let ratio = t * t / degrees;
    // From the nearer end, which has the digits.
    if ratio < 1.0 {
        beta_tails(0.5, 0.5 * degrees, ratio / (1.0 + ratio)).1
    } else {
        beta_tails(0.5 * degrees, 0.5, 1.0 / (1.0 + ratio)).0
    }
}

/// The `t` with `P(|T| > t) = outside`, for Student's t; for infinite `degrees` the normal one.
fn two_sided_quantile(outside: f64, degrees: f64) -> f64 {
    let inside = |t: f64| {
        if degrees.is_infinite() {
            let density = (-0.5 * t * t).exp() * FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
            return (outside - 2.0 * normal_tails(-t).0, density);
        }
        let log_density = -0.5 * degrees.ln()
            - ln_beta(0.5, 0.5 * degrees)
            - 0.5 * (degrees + 1.0) * (t * t / degrees).ln_1p();
        (outside - student_tails(t, degrees), 2.0 * log_density.exp())
    };
    let mut high = 1.0;
    while high < 1e150 && inside(high).0 < 0.0 {
        high *= 2.0;
    }
    increasing_root(inside, 0.0, high, high, 1e-14)
}

/// The number of standard errors on each side of an estimate that make an interval of this level: the quantile of the normal
/// distribution, or of Student's t with some degrees of freedom (NaN for 0).
///
/// # Errors
/// [`Invalid::Parameter`] unless `0 < level < 1`.
pub fn wald_quantile(level: f64, degrees: Option<usize>) -> Result<f64, Error> {
    if !(level > 0.0 && level < 1.0) {
        let (name, expected) = ("level", "a number between 0 and 1");
        return Err(Invalid::Parameter { name, value: level, expected }.into());
    }
    Ok(match degrees {
        None => two_sided_quantile(1.0 - level, f64::INFINITY),
        Some(0) => f64::NAN,
        Some(degrees) => two_sided_quantile(1.0 - level, degrees as f64),
    })
}

impl GlmSummary {
    /// Wald's confidence interval of each coefficient, `estimate -+ q standard error`, in the order of `coefficients`. The quantile
    /// `q` is that of the normal distribution where the dispersion is known, else of Student's t. NaN where there is no standard error.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless `0 < level < 1`.
    pub fn intervals(&self, level: f64) -> Result<Vec<(f64, f64)>, Error> {
        let degrees = (!self.known_dispersion).then_some(self.residual_degrees);
        let q = wald_quantile(level, degrees)?;
        let around = |c: &Coefficient| {
            let half = q * c.standard_error;
            (c.estimate - half, c.estimate + half)
        };
        Ok(self.coefficients.iter().map(around).collect())
    }

    /// What the exponential of a coefficient is, for the links of which it is something.
    fn ratio(&self) -> Option<&'static str> {
        match self.link.as_str() {
            "log" => Some("rate ratio"),
            "logit" => Some("odds ratio"),
            _ => None,
        }
    }
}

/// The table of the coefficients with intervals of 95 %, the ratios where the link has some, and the numbers of the whole fit.
impl fmt::Display for GlmSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (t, p) =
            if self.known_dispersion { ("z value", "Pr(>|z|)") } else { ("t value", "Pr(>|t|)") };
        let intervals = self.intervals(0.95).map_err(|_| fmt::Error)?;
        let head = ["", "estimate", "std. error", t, p, "2.5 %", "97.5 %", ""];
        let mut table = vec![head.map(String::from).to_vec()];
        for (c, (low, high)) in self.coefficients.iter().zip(&intervals) {
            let stars = match c.p_value {
                p if p < 0.001 => "***",
                p if p < 0.01 => "**",
                p if p < 0.05 => "*",
                p if p < 0.1 => ".",
                _ => "",
            };
            let p = if c.p_value < 1e-16 { "<1e-16".into() } else { number(c.p_value, 3) };
            let (estimate, error) = (cell(c.estimate), cell(c.standard_error));
            let (statistic, low, high) = (fixed(c.statistic, 3), cell(*low), cell(*high));
            table.push(vec![
                c.name.clone(),
                estimate,
                error,
                statistic,
                p,
                low,
                high,
                format!("{stars:<3}"),
            ]);
        }
        let Self { family, link, rows, .. } = self;
        writeln!(f, "family: {family}, link: {link}, {rows} rows\n\n{}", aligned(&table, 1))?;
        if let Some(ratio) = self.ratio() {
            let mut table = vec![["", ratio, "2.5 %", "97.5 %"].map(String::from).to_vec()];
            let columns = self.coefficients.iter().zip(&intervals);
            for (c, (low, high)) in columns.filter(|(c, _)| c.name != INTERCEPT) {
                let cells = [c.estimate, *low, *high].map(|x| cell(x.exp()));
                table.push(std::iter::once(c.name.clone()).chain(cells).collect());
            }
            if table.len() > 1 {
                writeln!(f, "{}", aligned(&table, 1))?;
            }
        }
        let known = if self.known_dispersion { ", fixed by the family" } else { "" };
        writeln!(f, "dispersion: {}{known}", short(self.dispersion))?;
        let (null, residual) = (number(self.null_deviance, 8), number(self.deviance, 8));
        writeln!(f, "null deviance:     {null} on {} degrees of freedom", self.null_degrees)?;
        write!(f, "residual deviance: {residual} on {} degrees of freedom", self.residual_degrees)?;
        if self.null_deviance > 0.0 {
            let share = 100.0 * (1.0 - self.deviance / self.null_deviance);
            write!(f, ", {} % less", fixed(share, 1))?;
        }
        if self.log_likelihood.is_finite() {
            let [likelihood, aic, bic] =
                [self.log_likelihood, self.aic, self.bic].map(|x| number(x, 8));
            write!(f, "\nlog-likelihood: {likelihood}, AIC: {aic}, BIC: {bic}")?;
        } else if self.known_dispersion {
            write!(f, "\nno log-likelihood, AIC and BIC: they are beyond the range of numbers")?;
        } else if self.residual_degrees == 0 {
            write!(
                f,
                "\nno log-likelihood, AIC and BIC: no degrees of freedom are left for the dispersion"
            )?;
        } else {
            write!(
                f,
                "\nno log-likelihood, AIC and BIC: the fit is perfect, and the likelihood unbounded in the dispersion"
            )?;
        }
        if self.unbounded {
            write!(
                f,
                "\nwarning: the likelihood has no maximum, a hyperplane separates the targets; set l2 > 0"
            )?;
        } else if self.receding {
            write!(
                f,
                "\nwarning: the likelihood seems to have no maximum, {} fitted means are at the border of their range; set l2 > 0",
                self.at_border
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of R's `qt` and `qnorm`.
    #[test]
    fn quantiles_are_those_of_tables() {
        for (outside, degrees, expected) in [
            (0.05, 1.0, 12.706_204_736_174_7),
            (0.05, 21.0, 2.079_613_844_727_66),
            (0.01, 5.0, 4.032_142_983_557_54),
            (0.05, f64::INFINITY, 1.959_963_984_540_05),
            (1e-6, f64::INFINITY, 4.891_638_475_698_59),
        ] {
            let found = two_sided_quantile(outside, degrees);
            assert!((found - expected).abs() <= 1e-9 * expected, "{found}, not {expected}");
        }
    }
}
