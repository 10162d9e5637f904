//! Principal Hessian directions.

use fenchel_linalg::lanes::dot;
use fenchel_linalg::{Cholesky, Gram};
use fenchel_optim::{MAX_MEMORY, settings};
use ndarray::{Array1, Array2};

use crate::blocks::{Blocks, add_grams, each_row, fold};
use crate::components::Components;
use crate::error::Error;
use crate::fits::fits;
use crate::reducer::Reducer;
use crate::response::{Response, dominated};
use crate::spectrum::{EigenOrder, Spectrum};
use crate::transform::ResponseTransform;
use crate::whitening::Whitening;

settings! {
    /// Principal Hessian directions (Li, JASA 87, 1992). For normal features, the mean Hessian of the regression function
    /// is estimated by the following matrix, with the centred response or its residual `r_i`:
    ///
    /// ```text
    /// (1/n) sum_i r_i z_i z_i'     in whitened coordinates z
    /// ```
    ///
    /// with `r` the centred response, or the residuals of a linear regression.
    ///
    /// A linear dependence has no Hessian, so this method does not find it. The cost is O(n d^2), in one pass over the
    /// data, or two with residuals.
    #[derive(Copy)]
    pub struct Phd {
        /// How many directions.
        components: Components = Components::default(),
        /// Takes out the linear part of the response first: less variance, and [`Components::ChiSquare`] has a theory.
        residual: bool = true,
        /// Which eigenvalues come first; negative curvature counts too.
        order: EigenOrder = EigenOrder::Absolute,
        /// What is done to the response.
        response: ResponseTransform = ResponseTransform::Center,
    }
}

impl Phd {
    fits!(numbers);
}

impl Reducer for Phd {
    fn name(&self) -> &'static str {
        "pHd"
    }

    fn components(&self) -> Components {
        self.components
    }

    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error> {
        let (y, unit) = self.response.apply(response.as_numbers("pHd")?);
        let (n, d) = (data.count() as f64, data.width());
        // Weights that are known go along with the covariance; residuals need it first.
        let (whitening, parts, near) = if self.residual {
            let Line { whitening, near, slope, mean } = line(data, &y)?;
            let (slope, from) = (slope.to_vec(), near.to_vec());
            let level =
                mean - slope.iter().zip(&whitening.mean - &near).map(|(s, o)| s * o).sum::<f64>();
            let parts = fold(
                data,
                || (Weighted::new(d), vec![0.0; d]),
                |(sums, u), first, rows| {
                    each_row(rows, |i, values| {
                        for ((u, value), from) in u.iter_mut().zip(values).zip(&from) {
                            *u = value - from;
                        }
                        sums.add(y[first + i] - level - dot(&slope, u), u);
                    });
                    Ok(())
                },
            )?;
            (whitening, parts.into_iter().map(|(sums, _)| sums).collect(), near)
        } else {
            Whitening::along(data, MAX_MEMORY, || Weighted::new(d), |sums, i, u| sums.add(y[i], u))?
        };
        let (moment, variance) = Weighted::around(parts, &(&whitening.mean - &near), n);
        let matrix = whitening.map.dot(&moment).dot(&whitening.back());
        let mut spectrum = Spectrum::of(&matrix, self.order, Some(whitening.back()))?;
        spectrum.in_unit(unit);
        spectrum.samples = data.count();
        spectrum.warnings.extend(dominated(&y));
        // The test divides by the variance of the residuals; it is kept where the eigenvalues are.
        spectrum.noise = self.residual.then_some(variance * unit * unit);
        spectrum.mean = Some(whitening.mean);
        Ok(spectrum)
    }

    /// For normal features and residuals, `n sum_{j > k} l_j^2 / (2 Var r)` is chi-squared with
    /// `(d - k)(d - k + 1) / 2` degrees of freedom. Here `l_j` are the eigenvalues and `r` the residuals.
    fn tail_test(&self, spectrum: &Spectrum, k: usize) -> Option<(f64, f64)> {
        // Without residuals there is nothing to compare with.
        let variance = spectrum.noise.filter(|v| v.is_normal() && *v > 0.0)?;
        let d = spectrum.values.len();
        if k >= d || self.order != EigenOrder::Absolute {
            return None;
        }
        let squares: f64 = spectrum.values.iter().skip(k).map(|l| l * l).sum();
        let statistic = spectrum.samples as f64 * squares / (2.0 * variance);
        Some((statistic, ((d - k) * (d - k + 1)) as f64 / 2.0))
    }
}

/// `sum r`, `sum r^2`, `sum r u` and `sum r u u'` of weights of either sign.
struct Weighted {
    total: f64,
    squares: f64,
    first: Vec<f64>,
    above: Gram,
    below: Gram,
}

impl Weighted {
    fn new(d: usize) -> Self {
        let (above, below) = (Gram::new(d), Gram::new(d));
        Weighted { total: 0.0, squares: 0.0, first: vec![0.0; d], above, below }
    }

    fn add(&mut self, r: f64, u: &[f64]) {
        self.total += r;
        self.squares += r * r;
        self.first.iter_mut().zip(u).for_each(|(sum, u)| *sum += r * u);
        let gram = if r < 0.0 { &mut self.below } else { &mut self.above };
        let root = r.abs().sqrt();
        gram.next_row().iter_mut().zip(u).for_each(|(out, u)| *out = root * u);
    }

    /// `(1/n) sum r (u - offset)(u - offset)'` and the variance of `r`.
    fn around(parts: Vec<Weighted>, offset: &Array1<f64>, n: f64) -> (Array2<f64>, f64) {
        let d = offset.len();
        let (mut total, mut squares, mut first) = (0.0, 0.0, Array1::<f64>::zeros(d));
        let (mut above, mut below) = (vec![], vec![]);
        for part in parts {
            total += part.total;
            squares += part.squares;
            first += &Array1::from(part.first);
            above.push(part.above);
            below.push(part.below);
        }
        let mut moment = add_grams(above, d) - add_grams(below, d);
        for i in 0..d {
            for j in 0..d {
                let crossed = first[i] * offset[j] + offset[i] * first[j];
                moment[[i, j]] += total * offset[i] * offset[j] - crossed;
            }
        }
        (moment / n, squares / n - (total / n).powi(2))
    }
}

/// A linear regression on the features.
struct Line {
    whitening: Whitening,
    /// A point near the mean of the features.
    near: Array1<f64>,
    slope: Array1<f64>,
    /// Of the response.
    mean: f64,
}

/// The regression of `y` on the features, in one pass over the data.
fn line(data: &dyn Blocks, y: &[f64]) -> Result<Line, Error> {
    let (n, d) = (y.len() as f64, data.width());
    let mean = y.iter().sum::<f64>() / n;
    let add = |sum: &mut Vec<f64>, i: usize, u: &[f64]| {
        let r = y[i] - mean;
        sum.iter_mut().zip(u).for_each(|(sum, u)| *sum += r * u);
    };
    let (whitening, parts, near) = Whitening::along(data, MAX_MEMORY, || vec![0.0; d], add)?;
    let cross = parts.into_iter().fold(Array1::zeros(d), |s, p| s + Array1::from(p)) / n;
    let slope = Cholesky::new(whitening.covariance.view())?.solve(cross.view())?;
    Ok(Line { whitening, near, slope, mean })
}

/// The residuals of a linear regression of the response on the features. This takes two passes over the data.
pub(crate) fn linear_residuals(data: &dyn Blocks, y: Vec<f64>) -> Result<Vec<f64>, Error> {
    let Line { whitening, slope, mean, .. } = line(data, &y)?;
    let parts = fold(data, Vec::new, |part: &mut Vec<f64>, first, rows| {
        let fitted = (&rows - &whitening.mean).dot(&slope);
        part.extend(fitted.iter().enumerate().map(|(i, f)| y[first + i] - mean - f));
        Ok(())
    })?;
    Ok(parts.concat())
}
