//! Principal Hessian directions.

use fenchel_linalg::factor::cholesky;
use ndarray::{Array1, Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use crate::blocks::{Blocks, fold};
use crate::model::fit_methods;
use crate::transform::ResponseTransform;
use crate::whitening::Whitening;
use crate::{Components, EigenOrder, Error, Reducer, Response, Spectrum};

/// Principal Hessian directions (Li, JASA 87, 1992): for normal features the mean Hessian of the regression is
///
/// ```text
/// (1/n) sum_i r_i z_i z_i'     in whitened coordinates z
/// ```
///
/// with `r` the centred response, or the residuals of a linear regression.
///
/// | field | default | meaning |
/// |---|---|---|
/// | `components` | `EigenGap(10)` | how many directions |
/// | `residual` | true | takes out the linear part of the response first: less variance, and [`Components::ChiSquare`] has a theory |
/// | `order` | `Absolute` | which eigenvalues come first; negative curvature counts too |
/// | `response` | `Center` | what is done to the response |
///
/// Linear dependence has no Hessian and is not found. Cost O(n d^2).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Phd {
    /// How many directions.
    pub components: Components,
    /// Whether the linear part of the response is taken out first.
    pub residual: bool,
    /// Which eigenvalues come first.
    pub order: EigenOrder,
    /// What is done to the response.
    pub response: ResponseTransform,
}

impl Default for Phd {
    fn default() -> Self {
        Phd {
            components: Components::default(),
            residual: true,
            order: EigenOrder::Absolute,
            response: ResponseTransform::Center,
        }
    }
}

fit_methods!(Phd);

impl Reducer for Phd {
    fn name(&self) -> &'static str {
        "pHd"
    }

    fn components(&self) -> Components {
        self.components
    }

    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error> {
        let y = self.response.apply(response.as_numbers("pHd")?);
        let whitening = Whitening::of(data)?;
        let r = if self.residual { linear_residuals(data, y, &whitening)? } else { y };
        let d = data.width();
        let parts = fold(
            data,
            || Array2::<f64>::zeros((d, d)),
            |sum, first, rows| {
                let centred = &rows - &whitening.mean;
                let weights = ArrayView1::from(&r[first..first + rows.nrows()]);
                let weighted = &centred * &weights.insert_axis(Axis(1));
                ndarray::linalg::general_mat_mul(1.0, &weighted.t(), &centred, 1.0, sum);
                Ok(())
            },
        )?;
        let moment = parts.into_iter().fold(Array2::zeros((d, d)), |s, p| s + p);
        let moment = moment / data.count() as f64;
        let matrix = whitening.map.dot(&moment).dot(&whitening.back());
        let mut spectrum = Spectrum::of(&matrix, self.order, Some(whitening.back()))?;
        spectrum.samples = data.count();
        if self.residual {
            // The test divides by the variance of the residuals; it is kept where the eigenvalues are.
            let n = r.len() as f64;
            let mean = r.iter().sum::<f64>() / n;
            let variance = r.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
            spectrum.noise = Some(variance);
        }
        Ok(spectrum)
    }

    /// `n sum_{j > k} l_j^2 / (2 Var r)` is chi-squared with `(d - k)(d - k + 1) / 2` degrees of freedom for normal
    /// features and residuals.
    fn tail_test(&self, spectrum: &Spectrum, k: usize) -> Option<(f64, f64)> {
        let variance = spectrum.noise?;
        let d = spectrum.values.len();
        if k >= d || self.order != EigenOrder::Absolute {
            return None;
        }
        let squares: f64 = spectrum.values.iter().skip(k).map(|l| l * l).sum();
        let statistic = spectrum.samples as f64 * squares / (2.0 * variance);
        Some((statistic, ((d - k) * (d - k + 1)) as f64 / 2.0))
    }
}

/// What a linear regression on the features leaves of the response.
pub(crate) fn linear_residuals(
    data: &dyn Blocks,
    y: Vec<f64>,
    whitening: &Whitening,
) -> Result<Vec<f64>, Error> {
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let d = data.width();
    let parts = fold(
        data,
        || Array1::<f64>::zeros(d),
        |sum, first, rows| {
            let y: ArrayView1<f64> = ArrayView1::from(&y[first..first + rows.nrows()]);
            *sum += &(&rows - &whitening.mean).t().dot(&(&y - mean));
            Ok(())
        },
    )?;
    let cross = parts.into_iter().fold(Array1::zeros(d), |s, p| s + p) / y.len() as f64;
    let slope = cholesky(whitening.covariance.view())?.solve(cross.view())?;
    let parts = fold(data, Vec::new, |part: &mut Vec<f64>, first, rows| {
        let fitted = (&rows - &whitening.mean).dot(&slope);
        part.extend(fitted.iter().enumerate().map(|(i, f)| y[first + i] - mean - f));
        Ok(())
    })?;
    Ok(parts.concat())
}
