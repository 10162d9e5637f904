//! Planes around base points, by local linear regression.

use fenchel_linalg::parallel::try_map;
use fenchel_linalg::{Cholesky, Invalid, lanes};
use fenchel_optim::MAX_MEMORY;
use ndarray::{Array1, Array2, ArrayView2, Axis};

use crate::blocks::{Blocks, check_memory, gather};
use crate::error::Error;
use crate::fit::Ends;
use crate::response::{Response, dominated};
use crate::spectrum::Warning;
use crate::whitening::{SQUARES, Whitening};

/// Whitened features, standardised response, base points.
pub(crate) struct Setting {
    pub(crate) whitening: Whitening,
    pub(crate) z: Array2<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) base: Vec<usize>,
    pub(crate) warning: Option<Warning>,
}

impl Setting {
    pub(crate) fn new(
        method: &'static str,
        base_points: usize,
        directions: usize,
        data: &dyn Blocks,
        response: &Response,
    ) -> Result<Self, Error> {
        if base_points == 0 {
            let expected = "at least 1";
            return Err(Invalid::Parameter { name: "base points", value: 0.0, expected }.into());
        }
        let y = response.as_numbers(method)?;
        // The data whitened, before, and their neighbourhoods; the normal equations of all directions, in up to 16 parts.
        let equations = (directions as u64).saturating_pow(2).saturating_mul(17);
        let counts = (4, SQUARES.max(equations));
        check_memory(method, data, counts, MAX_MEMORY)?;
        let n = data.count();
        // Relative to the largest, so that no square overflows or vanishes.
        let largest = y.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let y: Vec<f64> = y.iter().map(|v| v / largest).collect();
        let mean = y.iter().sum::<f64>() / n as f64;
        let spread = (y.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
        let y: Vec<f64> = y.iter().map(|v| (v - mean) / spread).collect();
        let warning = dominated(&y);
        let whitening = Whitening::of(data, MAX_MEMORY)?;
        let z = whitening.apply(gather(data).view());
        let count = base_points.min(n);
        let base = (0..count).map(|k| k * n / count).collect();
        Ok(Setting { whitening, z, y, base, warning })
    }

    /// Kernel weights of all samples around a base point, in the coordinates `index`; they add up to 1.
    fn weights(&self, index: ArrayView2<f64>, base: usize, bandwidth: f64) -> Vec<f64> {
        let scale = -0.5 / (bandwidth * bandwidth);
        let centre = index.row(base);
        let mut weights: Vec<f64> = index
            .rows()
            .into_iter()
            .map(|row| {
                let distance: f64 = row.iter().zip(centre).map(|(a, b)| (a - b) * (a - b)).sum();
                lanes::exp((scale * distance).max(-700.0))
            })
            .collect();
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w = if *w > 1e-8 * total { *w / total } else { 0.0 });
        weights
    }
}

/// Level and slopes of the plane around a point, by least squares with a ridge against flat neighbourhoods.
fn plane(u: &Array2<f64>, y: &[f64], weights: &[f64]) -> Result<(f64, Array1<f64>), Error> {
    let (n, k) = u.dim();
    let mut left = Array2::<f64>::zeros((k + 1, k + 1));
    let mut right = Array1::<f64>::zeros(k + 1);
    let mut weighted = u.clone();
    for i in 0..n {
        weighted.row_mut(i).mapv_inplace(|v| v * weights[i]);
        left[[0, 0]] += weights[i];
        right[0] += weights[i] * y[i];
    }
    let second = weighted.t().dot(u);
    let cross = weighted.t().dot(&ndarray::ArrayView1::from(y));
    let sums = weighted.sum_axis(Axis(0));
    for a in 0..k {
        left[[0, a + 1]] = sums[a];
        left[[a + 1, 0]] = sums[a];
        right[a + 1] = cross[a];
        for b in 0..k {
            left[[a + 1, b + 1]] = 0.5 * (second[[a, b]] + second[[b, a]]);
        }
    }
    let ridge = 1e-6 * left.diag().sum() / (k + 1) as f64;
    left.diag_mut().mapv_inplace(|v| v + ridge);
    let solution = Cholesky::new(left.view())?.solve(right.view())?;
    Ok((solution[0], solution.iter().skip(1).copied().collect()))
}

/// The samples around a base point, in the coordinates `index`.
pub(crate) struct Neighbourhood {
    pub(crate) rows: Vec<usize>,
    /// Differences from the base point.
    u: Array2<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) weights: Vec<f64>,
}

impl Neighbourhood {
    pub(crate) fn new(
        setting: &Setting,
        index: ArrayView2<f64>,
        base: usize,
        bandwidth: f64,
    ) -> Self {
        let all = setting.weights(index, base, bandwidth);
        let rows: Vec<usize> = (0..all.len()).filter(|&i| all[i] > 0.0).collect();
        let u = differences(index, &rows, base);
        let y = rows.iter().map(|&i| setting.y[i]).collect();
        let weights = rows.iter().map(|&i| all[i]).collect();
        Neighbourhood { rows, u, y, weights }
    }

    pub(crate) fn plane(&self) -> Result<(f64, Array1<f64>), Error> {
        plane(&self.u, &self.y, &self.weights)
    }
}

/// Some rows less that of the base point.
pub(crate) fn differences(points: ArrayView2<f64>, rows: &[usize], base: usize) -> Array2<f64> {
    let mut u = Array2::zeros((rows.len(), points.ncols()));
    for (mut out, &i) in u.rows_mut().into_iter().zip(rows) {
        out.assign(&(&points.row(i) - &points.row(base)));
    }
    u
}

/// The mean outer product of the slopes around all base points, in the coordinates `index`.
pub(crate) fn outer_product(
    setting: &Setting,
    index: ArrayView2<f64>,
    bandwidth: f64,
    ends: Ends,
) -> Result<Array2<f64>, Error> {
    let slopes = try_map(0..setting.base.len(), |j| {
        // If it is to end, the planes so far are the answer.
        if j > 0 && ends() {
            return Ok(None);
        }
        let near = Neighbourhood::new(setting, index, setting.base[j], bandwidth);
        Ok::<_, Error>(Some(near.plane()?.1))
    })?;
    let mut sum = Array2::<f64>::zeros((index.ncols(), index.ncols()));
    let mut count = 0.0;
    for slope in slopes.iter().flatten() {
        let column = slope.view().insert_axis(Axis(1));
        sum += &column.dot(&column.t());
        count += 1.0;
    }
    Ok(sum / count)
}

/// [`outer_product`] in whitened coordinates.
pub(crate) fn gradients(setting: &Setting, ends: Ends) -> Result<Array2<f64>, Error> {
    let (n, d) = setting.z.dim();
    // 2.34 is the constant of the paper; distances in d dimensions concentrate around sqrt(2 d).
    let bandwidth =
        2.34 * (n as f64).powf(-1.0 / (d.max(3) as f64 + 6.0)) * (d as f64 / 3.0).sqrt().max(1.0);
    outer_product(setting, setting.z.view(), bandwidth, ends)
}
