//! Standard errors, deviances, and the table of them.

use std::fmt;

use fenchel_linalg::quadrature::{Tolerance, integrate};
use fenchel_linalg::special::erfcx;
use fenchel_linalg::{Cholesky, Design, Invalid};
use serde::{Deserialize, Serialize};

use super::ScalarFamily;
use super::objective::Objective;
use crate::Error;
use crate::special::ln_gamma;

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coefficient {
    /// `x0`, `x1`, ... by the columns of the design, or `(intercept)`.
    pub name: String,
    /// The estimate.
    pub estimate: f64,
    /// `sqrt(phi (X'WX)^-1_jj)`.
    pub standard_error: f64,
    /// Estimate over standard error: normal where the dispersion is known, else Student's t.
    pub statistic: f64,
    /// Two-sided p-value of the coefficient being 0.
    pub p_value: f64,
}

/// What is known about a fit. With a penalty the standard errors are those of the penalised Hessian.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GlmSummary {
    /// Name of the family.
    pub family: String,
    /// Name of the link.
    pub link: String,
    /// The intercept first, if there is one.
    pub coefficients: Vec<Coefficient>,
    /// `phi`: 1, or Pearson's chi-squared over the residual degrees of freedom.
    pub dispersion: f64,
    /// Deviance of the fit.
    pub deviance: f64,
    /// Deviance of the model with an intercept (and offset) only; without an intercept, of `eta = offset`.
    pub null_deviance: f64,
    /// `n` less the number of coefficients (rows of weight 0 do not count).
    pub residual_degrees: usize,
    /// `n` less 1, or `n` without an intercept.
    pub null_degrees: usize,
    /// Log-likelihood, at the maximum likelihood dispersion `deviance / n` where it is not known.
    pub log_likelihood: f64,
    /// `2 k - 2 log-likelihood`; a dispersion that is not known counts as a parameter.
    pub aic: f64,
}

impl GlmSummary {
    pub(super) fn new<D: Design, F: ScalarFamily>(
        objective: &mut Objective<'_, D, F>,
        point: &[f64],
        z: &[f64],
        weights: Option<&[f64]>,
        factor: Cholesky,
    ) -> Result<Self, Error> {
        let (family, n, k) = (objective.family, objective.y.len(), point.len());
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let rows = (0..n).filter(|&i| weight(i) > 0.0);
        let counted = rows.clone().count();
        let total: f64 = (0..n).map(weight).sum();
        let residual_degrees = counted.saturating_sub(k);
        let means: Vec<f64> = (0..n).map(|i| family.mean(objective.eta(i, z))).collect();
        let deviance: f64 =
            rows.clone().map(|i| weight(i) * family.deviance(objective.y[i], means[i])).sum();
        let dispersion = if F::KNOWN_DISPERSION {
            1.0
        } else {
            let pearson: f64 = rows
                .clone()
                .map(|i| {
                    let r = objective.y[i] - means[i];
                    weight(i) * r * r / family.variance(objective.eta(i, z))
                })
                .sum();
            pearson / residual_degrees as f64
        };
        let null = null_means(objective, weights)?;
        let null_deviance: f64 =
            rows.clone().map(|i| weight(i) * family.deviance(objective.y[i], null[i])).sum();
        let likely = if F::KNOWN_DISPERSION { 1.0 } else { deviance / counted as f64 };
        let log_likelihood: f64 =
            rows.map(|i| family.log_likelihood(objective.y[i], means[i], weight(i), likely)).sum();
        let mut coefficients = vec![];
        let d = k - usize::from(objective.intercept);
        for j in 0..k {
            let mut unit = vec![0.0; k];
            unit[j] = 1.0;
            factor.solve_in_place(&mut unit)?;
            // The Hessian is of the mean loss: that of the sum is `total` times as large.
            let standard_error = (dispersion * unit[j] / total).sqrt();
            let statistic = point[j] / standard_error;
            let p_value = if F::KNOWN_DISPERSION {
                normal_tails(statistic)
            } else {
                student_tails(statistic, residual_degrees as f64)
            };
            let name = if j == d { "(intercept)".into() } else { format!("x{j}") };
            coefficients.push(Coefficient {
                name,
                estimate: point[j],
                standard_error,
                statistic,
                p_value,
            });
        }
        if objective.intercept {
            coefficients.rotate_right(1);
        }
        let parameters = k + usize::from(!F::KNOWN_DISPERSION);
        Ok(GlmSummary {
            family: F::NAME.into(),
            link: F::LINK.into(),
            coefficients,
            dispersion,
            deviance,
            null_deviance,
            residual_degrees,
            null_degrees: counted - usize::from(objective.intercept),
            log_likelihood,
            aic: 2.0 * parameters as f64 - 2.0 * log_likelihood,
        })
    }
}

/// Means of the model with the intercept alone: in closed form without an offset, else by Newton's method in one variable.
fn null_means<D: Design, F: ScalarFamily>(
    objective: &Objective<'_, D, F>,
    weights: Option<&[f64]>,
) -> Result<Vec<f64>, Invalid> {
    let (family, n) = (objective.family, objective.y.len());
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let offset = |i: usize| objective.offset.map_or(0.0, |o| o[i]);
    if !objective.intercept {
        return Ok((0..n).map(|i| family.mean(offset(i))).collect());
    }
    let total: f64 = (0..n).map(weight).sum();
    let mean = (0..n).map(|i| weight(i) * objective.y[i]).sum::<f64>() / total;
    if objective.offset.is_none() {
        return Ok(vec![mean; n]);
    }
    let mut b = family.link(mean) - (0..n).map(|i| weight(i) * offset(i)).sum::<f64>() / total;
    for _ in 0..100 {
        let slope: f64 =
            (0..n).map(|i| weight(i) * (family.mean(b + offset(i)) - objective.y[i])).sum();
        let curvature: f64 = (0..n).map(|i| weight(i) * family.variance(b + offset(i))).sum();
        let mut step = slope / curvature;
        while !(0..n).all(|i| family.log_partition(b - step + offset(i)).is_finite()) {
            step *= 0.5;
        }
        b -= step;
        if !(step.abs() > 1e-14 * (1.0 + b.abs())) {
            break;
        }
    }
    Ok((0..n).map(|i| family.mean(b + offset(i))).collect())
}

/// `P(|Z| > |z|)`.
fn normal_tails(z: f64) -> f64 {
    let x = z.abs() * std::f64::consts::FRAC_1_SQRT_2;
    erfcx(x) * (-x * x).exp()
}

/// `P(|T| > |t|)` of Student's t, by the integral of the density in `u = atan(t / sqrt(nu))`, where it is a power of the cosine.
fn student_tails(t: f64, degrees: f64) -> f64 {
    if !(degrees > 0.0) || t.is_nan() {
        return f64::NAN;
    }
    let from = (t.abs() / degrees.sqrt()).atan();
    let log = ln_gamma(0.5 * (degrees + 1.0)) - ln_gamma(0.5 * degrees);
    let constant = log.exp() / std::f64::consts::PI.sqrt();
    // From the top: v = pi/2 - u, the density is sin(v)^(nu - 1).
    let end = std::f64::consts::FRAC_PI_2 - from;
    let peak = end.sin().powf(degrees - 1.0).max(f64::MIN_POSITIVE);
    let tolerance =
        Tolerance { absolute: 1e-14 * peak * end, relative: 1e-13, ..Tolerance::default() };
    let tail = integrate(|v| v.sin().powf(degrees - 1.0), 0.0, end, &tolerance);
    tail.map_or(f64::NAN, |tail| (2.0 * constant * tail.value).min(1.0))
}

impl fmt::Display for GlmSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.dispersion == 1.0;
        let (t, p) = if known { ("z value", "Pr(>|z|)") } else { ("t value", "Pr(>|t|)") };
        writeln!(f, "family: {}, link: {}\n", self.family, self.link)?;
        writeln!(f, "{:14} {:>12} {:>12} {:>9} {:>10}", "", "estimate", "std. error", t, p)?;
        for c in &self.coefficients {
            let stars = match c.p_value {
                p if p < 0.001 => "***",
                p if p < 0.01 => "**",
                p if p < 0.05 => "*",
                p if p < 0.1 => ".",
                _ => "",
            };
            let Coefficient { name, estimate, standard_error, statistic, p_value } = c;
            let row = format!(
                "{name:14} {estimate:12.6} {standard_error:12.6} {statistic:9.3} {p_value:10.3e} {stars}"
            );
            writeln!(f, "{}", row.trim_end())?;
        }
        writeln!(f, "\ndispersion: {:.6}", self.dispersion)?;
        writeln!(
            f,
            "null deviance:     {:.4} on {} degrees of freedom",
            self.null_deviance, self.null_degrees
        )?;
        writeln!(
            f,
            "residual deviance: {:.4} on {} degrees of freedom",
            self.deviance, self.residual_degrees
        )?;
        write!(f, "AIC: {:.4}", self.aic)
    }
}
