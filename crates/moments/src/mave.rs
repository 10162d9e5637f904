//! Local linear regression for finding directions: OPG (outer product of gradients) and MAVE (minimum average variance
//! estimation).
//!
//! Both methods fit a plane around each of many base points, with weights that decrease with the distance. The slopes
//! of the planes span the wanted directions for every distribution of the features. Neither slices nor scores are
//! needed.
//!
//! | method | what it does with the planes | cost per round |
//! |---|---|---|
//! | [`Opg`] | eigenvectors of the mean outer product of their slopes | `base n d^2` |
//! | [`Mave`] | alternates planes in the indices and directions, shrinking the bandwidth | `base (n d^2 + k^2 d^2) + (k d)^3` |
//!
//! If every sample is a base point, the cost is quadratic in `n`. So these methods suit moderate `n`; this crate has
//! them for comparison. Source: Xia, Tong, Li and Zhu, JRSS B 64 (2002).

use fenchel_linalg::factor::qr;
use fenchel_linalg::{AsDesign, Cholesky, Invalid, lanes};
use fenchel_optim::{Certificate, Clock, Fit, MAX_MEMORY, Progress, Status, Wall, Watch, settings};
use ndarray::{Array1, Array2, ArrayView2, Axis};

use crate::blocks::{Blocks, check_memory, checked, gather, leading, map_parts};
use crate::components::Components;
use crate::error::Error;
use crate::fit::{fit_by, fit_with, refuse_weights};
use crate::reducer::Reducer;
use crate::reduction::Reduction;
use crate::response::{Response, dominated};
use crate::spectrum::{EigenOrder, Spectrum, Warning};
use crate::subspace::{orthonormal, trace_error};
use crate::whitening::{SQUARES, Whitening};

settings! {
    /// Outer product of gradients.
    #[derive(Copy)]
    pub struct Opg {
        /// How many directions.
        components: Components = Components::default(),
        /// Planes are fitted around so many samples, spread over the data.
        base_points: usize = 500,
    }
}

impl Opg {
    /// Fits the directions to numbers `y`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data of the wrong shape or that are not finite, and the errors of the method.
    pub fn fit<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<Response<'a>>,
    ) -> Result<Reduction, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with a closure that watches. It is called once, when the directions are found. Eigenvectors need
    /// no start.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and [`Error::Refused`] for weights.
    pub fn fit_with<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<Response<'a>>,
        fit: Fit<'_, Reduction>,
    ) -> Result<Reduction, Error> {
        fit_with(self, x, y, fit)
    }
}

settings! {
    /// Minimum average variance estimation, refined (rMAVE), from a start by [`Opg`].
    ///
    /// MAVE stops when a round at the smallest bandwidth moves the span by less than 1e-4. If that does not happen within
    /// `rounds`, the status of the report is a pass limit. The certificate is the movement of the span in the last round,
    /// in coordinates of the whitened features.
    #[derive(Copy)]
    pub struct Mave {
        /// How many directions: it has no eigenvalues to choose by.
        directions: usize = 1,
        /// Planes are fitted around so many samples.
        base_points: usize = 500,
        /// The largest number of alternations.
        rounds: usize = 50,
    }
}

impl Mave {
    /// Fits the directions to numbers `y`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data of the wrong shape or that are not finite, and the errors of the method.
    pub fn fit<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<Response<'a>>,
    ) -> Result<Reduction, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with a model of as many directions to start from, in place of that of [`Opg`], and a closure that is
    /// called after every round. Its certificate is the distance between the spans of the last two rounds.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), [`Error::Refused`] for weights, and [`Error::Invalid`] for a start of other features or another number of
    /// directions.
    pub fn fit_with<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<Response<'a>>,
        fit: Fit<'_, Reduction>,
    ) -> Result<Reduction, Error> {
        refuse_weights("MAVE", &fit)?;
        let Fit { start, mut watch, .. } = fit;
        let (data, response) = (checked(x)?, y.into());
        response.check(data.count())?;
        fit_by(self, &data, &response, |data| self.solve(data, &response, start, &mut watch))
    }
}

/// Whitened features, standardised response, base points.
struct Setting {
    whitening: Whitening,
    z: Array2<f64>,
    y: Vec<f64>,
    base: Vec<usize>,
    warning: Option<Warning>,
}

impl Setting {
    fn new(
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
        let whitening = Whitening::of(data)?;
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

/// Rows with weight, relative to the base point.
fn around(index: ArrayView2<f64>, base: usize, weights: &[f64]) -> (Vec<usize>, Array2<f64>) {
    let near: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
    let mut u = Array2::zeros((near.len(), index.ncols()));
    for (row, &i) in near.iter().enumerate() {
        u.row_mut(row).assign(&(&index.row(i) - &index.row(base)));
    }
    (near, u)
}

/// The mean outer product of slopes in whitened coordinates.
fn outer_product(setting: &Setting) -> Result<Array2<f64>, Error> {
    let (n, d) = setting.z.dim();
    // 2.34 is the constant of the paper; distances in d dimensions concentrate around sqrt(2 d).
    let bandwidth =
        2.34 * (n as f64).powf(-1.0 / (d.max(3) as f64 + 6.0)) * (d as f64 / 3.0).sqrt().max(1.0);
    let slopes = map_parts(setting.base.len(), |j| {
        let weights = setting.weights(setting.z.view(), setting.base[j], bandwidth);
        let (near, u) = around(setting.z.view(), setting.base[j], &weights);
        let y: Vec<f64> = near.iter().map(|&i| setting.y[i]).collect();
        let w: Vec<f64> = near.iter().map(|&i| weights[i]).collect();
        Ok(plane(&u, &y, &w)?.1)
    })?;
    let mut sum = Array2::<f64>::zeros((d, d));
    for slope in &slopes {
        let column = slope.view().insert_axis(Axis(1));
        sum += &column.dot(&column.t());
    }
    Ok(sum / slopes.len() as f64)
}

impl Reducer for Opg {
    fn name(&self) -> &'static str {
        "OPG"
    }

    fn components(&self) -> Components {
        self.components
    }

    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error> {
        let setting = Setting::new("OPG", self.base_points, 0, data, response)?;
        let matrix = outer_product(&setting)?;
        let back = setting.whitening.back();
        let spectrum = Spectrum::of(&matrix, EigenOrder::Algebraic, Some(back))?;
        let warnings = setting.warning.into_iter().collect();
        Ok(Spectrum { samples: data.count(), passes: 1.0, warnings, ..spectrum })
    }
}

impl Mave {
    /// One alternation: planes in the indices, then directions by least squares.
    fn round(
        &self,
        setting: &Setting,
        b: &Array2<f64>,
        bandwidth: f64,
    ) -> Result<Array2<f64>, Error> {
        let (d, k) = b.dim();
        let index = setting.z.dot(b);
        let parts = setting.base.len().min(16);
        let shares = map_parts(parts, |part| {
            let (from, to) =
                (part * setting.base.len() / parts, (part + 1) * setting.base.len() / parts);
            let mut left = Array2::<f64>::zeros((d * k, d * k));
            let mut right = Array1::<f64>::zeros(d * k);
            for &base in &setting.base[from..to] {
                let weights = setting.weights(index.view(), base, bandwidth);
                let (near, v) = around(index.view(), base, &weights);
                let y: Vec<f64> = near.iter().map(|&i| setting.y[i]).collect();
                let w: Vec<f64> = near.iter().map(|&i| weights[i]).collect();
                let (level, slopes) = plane(&v, &y, &w)?;
                let mut u = Array2::zeros((near.len(), d));
                for (row, &i) in near.iter().enumerate() {
                    u.row_mut(row).assign(&(&setting.z.row(i) - &setting.z.row(base)));
                }
                let mut weighted = u.clone();
                for (row, &w) in w.iter().enumerate() {
                    weighted.row_mut(row).mapv_inplace(|v| v * w);
                }
                let second = weighted.t().dot(&u);
                let rest: Array1<f64> = y.iter().map(|y| y - level).collect();
                let cross = weighted.t().dot(&rest);
                for a in 0..k {
                    for i in 0..d {
                        right[a * d + i] += slopes[a] * cross[i];
                    }
                    for c in 0..k {
                        let scale = slopes[a] * slopes[c];
                        for i in 0..d {
                            for j in 0..d {
                                left[[a * d + i, c * d + j]] += scale * second[[i, j]];
                            }
                        }
                    }
                }
            }
            Ok((left, right))
        })?;
        let mut left = Array2::<f64>::zeros((d * k, d * k));
        let mut right = Array1::<f64>::zeros(d * k);
        for (l, r) in shares {
            left += &l;
            right += &r;
        }
        let ridge = 1e-8 * left.diag().sum() / (d * k) as f64;
        left.diag_mut().mapv_inplace(|v| v + ridge);
        let solution = Cholesky::new(left.view())?.solve(right.view())?;
        let next = Array2::from_shape_fn((d, k), |(i, a)| solution[a * d + i]);
        Ok(qr(next.view())?.q)
    }
}

impl Reducer for Mave {
    fn name(&self) -> &'static str {
        "MAVE"
    }

    fn components(&self) -> Components {
        Components::Fixed(self.directions)
    }

    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error> {
        self.solve(data, response, None, &mut Watch::nobody())
    }
}

impl Mave {
    fn solve(
        &self,
        data: &dyn Blocks,
        response: &Response,
        start: Option<&Reduction>,
        watch: &mut Watch,
    ) -> Result<Spectrum, Error> {
        let wall = Wall::start();
        if self.rounds == 0 {
            let (name, expected) = ("rounds", "at least 1");
            return Err(Invalid::Parameter { name, value: 0.0, expected }.into());
        }
        let (n, d) = (data.count(), data.width());
        let k = self.directions;
        if k == 0 || k > d {
            return Err(Invalid::Parameter {
                name: "number of directions",
                value: k as f64,
                expected: "at least 1, at most the number of features",
            }
            .into());
        }
        let setting = Setting::new("MAVE", self.base_points, k, data, response)?;
        let mut b = match start {
            None => {
                let start = Spectrum::of(&outer_product(&setting)?, EigenOrder::Algebraic, None)?;
                leading(&start.vectors, k).to_owned()
            }
            Some(start) => {
                Invalid::check_length("features of the start", d, start.features())?;
                Invalid::check_length("directions of the start", k, start.components())?;
                // W'b = w where W Sigma W' = I.
                let Whitening { map, covariance, .. } = &setting.whitening;
                orthonormal(map.dot(covariance).dot(&start.directions).view())?
            }
        };
        let n_f = n as f64;
        let shrink = n_f.powf(-1.0 / (2.0 * (d.max(3) as f64 + 6.0)));
        let least = 2.34 * n_f.powf(-1.0 / (k as f64 + 4.0));
        let mut bandwidth = 2.34 * n_f.powf(-1.0 / (d.max(3) as f64 + 6.0));
        let (mut status, mut moved, mut rounds) = (Status::PassLimit, f64::INFINITY, 0_u32);
        while (rounds as usize) < self.rounds {
            let next = self.round(&setting, &b, bandwidth)?;
            moved = trace_error(next.view(), b.view())?.max(0.0).sqrt();
            b = next;
            rounds += 1;
            if moved < 1e-4 && bandwidth <= least {
                status = Status::Converged;
                break;
            }
            let passes = f64::from(rounds) + 1.0;
            let certificate = Certificate::residual(0.0, moved, 0.0);
            let progress =
                Progress { passes, oracle_calls: 0, seconds: wall.seconds(), certificate };
            if watch.show(&progress).is_break() {
                status = Status::Stopped;
                break;
            }
            bandwidth = (shrink * bandwidth).max(least);
        }
        // The indices in the order of what their slopes explain.
        let index = setting.z.dot(&b);
        let slopes = map_parts(setting.base.len(), |j| {
            let weights = setting.weights(index.view(), setting.base[j], least);
            let (near, v) = around(index.view(), setting.base[j], &weights);
            let y: Vec<f64> = near.iter().map(|&i| setting.y[i]).collect();
            let w: Vec<f64> = near.iter().map(|&i| weights[i]).collect();
            Ok(plane(&v, &y, &w)?.1)
        })?;
        let mut matrix = Array2::<f64>::zeros((k, k));
        for slope in &slopes {
            let column = slope.view().insert_axis(Axis(1));
            matrix += &column.dot(&column.t());
        }
        matrix /= slopes.len() as f64;
        let map = setting.whitening.back().dot(&orthonormal(b.view())?);
        let spectrum = Spectrum::of(&matrix, EigenOrder::Algebraic, Some(map.view()))?;
        // The start and the last slopes are a look at the data each.
        let passes = f64::from(rounds) + 2.0;
        let warnings = setting.warning.into_iter().collect();
        Ok(Spectrum { samples: n, most: k, residual: moved, status, passes, warnings, ..spectrum })
    }
}
