//! Sparse directions, also for more features than samples.

use fenchel_linalg::factor::svd;
use fenchel_linalg::{AsDesign, Invalid};
use fenchel_metrics::k_fold;
use fenchel_optim::fista::{FistaSettings, fista};
use fenchel_optim::lbfgs::Smooth;
use fenchel_optim::prox::L1;
use fenchel_optim::{Budget, Fit, MAX_MEMORY, Refusal, Report, SharedWatch, Stop, settings};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::blocks::{Blocks, checked, gather};
use crate::components::Components;
use crate::error::Error;
use crate::fit::refuse_weights;
use crate::fits::fits;
use crate::reduction::Reduction;
use crate::response::Response;
use crate::slicing::{Slices, Slicing};
use crate::spectrum::normalised;
use crate::subspace::orthonormal;
use crate::whitening::{CONSTANT, mean_of};

/// The weight of the l1 norm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Sparsity {
    /// A fraction of the smallest weight at which all coefficients are zero.
    Fraction(f64),
    /// The fraction of a grid from 0.9 to 0.05 under which the held-out index differs most between slices.
    CrossValidated {
        /// Parts of the samples.
        folds: usize,
    },
}

settings! {
    /// Sparse sliced inverse regression (lasso-SIR: Lin, Zhao and Liu, JASA 114, 2019).
    ///
    /// For each of the first `k` eigenvectors `eta` of the covariance of slice means, LassoSIR solves a lasso problem. Its
    /// artificial response is never formed, because only `eta` enters:
    ///
    /// ```text
    /// min_beta  (1/2) beta' Sigma beta - eta' beta + l1 ||beta||_1
    /// ```
    ///
    /// `Sigma` need not be invertible. Features are first scaled to variance 1; the loadings are returned in the units of
    /// the data.
    ///
    /// ```
    /// use fenchel_moments::{LassoSir, synthetic, trace_error};
    /// use ndarray::Array2;
    ///
    /// // 300 features, 150 samples, 3 features matter.
    /// let truth = Array2::from_shape_fn((300, 1), |(c, _)| f64::from(c < 3));
    /// let features = synthetic::StandardFeatures(300);
    /// let problem = synthetic::multi_index(&features, truth, |z| z[0].exp(), 150, 0.2, 1)?;
    /// let model = LassoSir::default().fit(&problem.x, &problem.y)?;
    /// assert!(trace_error(model.directions.view(), problem.directions.view())? < 0.2);
    /// assert!(model.loadings.iter().filter(|v| **v != 0.0).count() < 60);
    /// # Ok::<(), fenchel_moments::Error>(())
    /// ```
    pub struct LassoSir {
        /// How many directions.
        directions: usize = 1,
        /// How the responses are cut.
        slicing: Slicing = Slicing::Auto,
        /// The weight of the l1 norm.
        sparsity: Sparsity = Sparsity::CrossValidated { folds: 5 },
        /// When FISTA ends, by its residual.
        stop: Stop = Stop { absolute: 1e-6, relative: 0.0, max_passes: 5000.0, ..Stop::default() },
        /// Seed of the folds.
        seed: u64 = 0,
        /// Largest memory for copies of the data, in bytes; `None` is no limit.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}

/// `(1/2n) ||X beta||^2 - eta' beta`.
struct Quadratic<'a> {
    x: ArrayView2<'a, f64>,
    eta: ArrayView1<'a, f64>,
}

impl Smooth for Quadratic<'_> {
    fn dimension(&self) -> usize {
        self.x.ncols()
    }

    fn value_gradient(&mut self, beta: &[f64], gradient: &mut [f64]) -> f64 {
        let beta = ArrayView1::from(beta);
        let n = self.x.nrows() as f64;
        let index = self.x.dot(&beta);
        let g = self.x.t().dot(&index) / n - self.eta;
        gradient.iter_mut().zip(&g).for_each(|(out, g)| *out = *g);
        0.5 * index.dot(&index) / n - self.eta.dot(&beta)
    }
}

/// The best point along a direction. Without one, it is the coordinate where the gradient at 0 is largest: a fit that is
/// stopped early has a direction all the same.
fn first_point(
    z: ArrayView2<f64>,
    eta: ArrayView1<f64>,
    l1: f64,
    towards: Option<ArrayView1<f64>>,
) -> Vec<f64> {
    let mut point = Array1::<f64>::zeros(eta.len());
    match towards {
        Some(towards) => point.assign(&towards),
        None => {
            let best =
                (0..eta.len()).fold(0, |b, c| if eta[c].abs() > eta[b].abs() { c } else { b });
            point[best] = 1.0;
        }
    }
    let index = z.dot(&point);
    let slope = eta.dot(&point);
    let gain = (slope.abs() - l1 * point.iter().map(|v| v.abs()).sum::<f64>()).max(0.0);
    let step = slope.signum() * gain * z.nrows() as f64 / index.dot(&index).max(f64::MIN_POSITIVE);
    point.mapv_into(|v| v * step).to_vec()
}

/// The first eigenvectors of the covariance of slice means, and all eigenvalues.
fn slice_directions(
    x: ArrayView2<f64>,
    slices: &Slices,
    k: usize,
) -> Result<(Array2<f64>, Array1<f64>), Error> {
    let (n, d) = x.dim();
    let mean = x.sum_axis(Axis(0)) / n as f64;
    let mut means = Array2::<f64>::zeros((d, slices.len()));
    for (i, &h) in slices.labels().iter().enumerate() {
        means.column_mut(h as usize).scaled_add(1.0, &(&x.row(i) - &mean));
    }
    for (h, &c) in slices.counts().iter().enumerate() {
        means.column_mut(h).mapv_inplace(|v| v / (c.max(1) as f64 * n as f64).sqrt());
    }
    let found = svd(means.view())?;
    Ok((crate::blocks::leading(&found.u, k).to_owned(), found.values.mapv(|s| s * s)))
}

impl LassoSir {
    fits!(fit classes);

    /// As [`fit`](Self::fit), with a former model to start from, and a closure that is called at every pass of every lasso,
    /// those of the cross-validation included. `stop.max_seconds` holds for all of them together.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Error::TooManyComponents`]; [`Error::Constant`]; [`Error::Refused`] for weights, and beyond the
    /// memory limit; [`Error::Invalid`] for settings out of range, and for a start of other features or another number of
    /// directions.
    pub fn fit_with<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<Response<'a>>,
        fit: Fit<'_, Reduction>,
    ) -> Result<Reduction, Error> {
        refuse_weights("lasso-SIR", &fit)?;
        let (watch, budget) = (SharedWatch::from(fit.watch), Budget::new(self.stop));
        let data = checked(x)?;
        let response = y.into();
        response.check(data.count())?;
        let (n, d) = (data.count(), data.width());
        let needed = (8 * 3 * n as u64).saturating_mul(d as u64);
        Refusal::check_memory(
            "lasso-SIR",
            needed,
            self.max_memory,
            "leave features out beforehand",
        )?;
        if let Sparsity::Fraction(fraction) = self.sparsity
            && !(fraction > 0.0 && fraction < 1.0)
        {
            let expected = "between 0 and 1";
            return Err(Invalid::Parameter { name: "sparsity", value: fraction, expected }.into());
        }
        let slices = response.slices(self.slicing, self.directions)?;
        let k = self.directions;
        if k == 0 {
            let (name, expected) = ("number of directions", "at least 1");
            return Err(Invalid::Parameter { name, value: 0.0, expected }.into());
        }
        if k > d.min(slices.len() - 1) {
            let most = d.min(slices.len() - 1);
            let hint = "use more slices";
            return Err(Error::TooManyComponents { method: "lasso-SIR", asked: k, most, hint });
        }
        let mut z = gather(&data);
        let mean = mean_of(&data)?;
        Invalid::check_finite("means of the features", &mean.to_vec())?;
        z -= &mean;
        // By the largest of every column first, so that no square overflows or vanishes.
        let mut scale: Array1<f64> =
            z.columns().into_iter().map(|c| c.fold(0.0, |m: f64, v| m.max(v.abs()))).collect();
        let constant = |c: &usize| !(scale[*c] > CONSTANT * mean[*c].abs());
        let columns: Vec<usize> = (0..d).filter(constant).collect();
        if !columns.is_empty() {
            return Err(Error::Constant { what: "covariance of the features", columns });
        }
        z /= &scale;
        let spread = |c: ArrayView1<f64>| (c.dot(&c) / n as f64).sqrt();
        let spread: Array1<f64> = z.columns().into_iter().map(spread).collect();
        z /= &spread;
        scale *= &spread;
        let fraction = match self.sparsity {
            Sparsity::Fraction(fraction) => fraction,
            Sparsity::CrossValidated { folds } => {
                self.choose(z.view(), &slices, folds, &watch, &budget)?
            }
        };
        let start = match fit.start {
            None => None,
            Some(start) => {
                Invalid::check_length("features of the start", d, start.features())?;
                Invalid::check_length("directions of the start", k, start.components())?;
                Some(&start.loadings * &scale.view().insert_axis(Axis(1)))
            }
        };
        let (eta, eigenvalues) = slice_directions(z.view(), &slices, k)?;
        let (beta, reports) =
            self.solve(z.view(), &eta, fraction, start.as_ref(), &watch, &budget)?;
        let loadings = normalised(&beta / &scale.insert_axis(Axis(1)));
        // Two lassos may keep the same single feature; the span then has fewer directions.
        let directions = orthonormal(loadings.view())?;
        let worst = reports
            .into_iter()
            .reduce(|a, b| if b.certificate.value() > a.certificate.value() { b } else { a });
        let Some(report) = worst else {
            return Err(Invalid::Empty { what: "directions" }.into());
        };
        Ok(Reduction {
            directions,
            loadings,
            eigenvalues,
            rule: Components::Fixed(k),
            mean,
            names: x.names().clone(),
            method: "lasso-SIR".into(),
            samples: n,
            slices: slices.counts().to_vec(),
            warnings: vec![],
            report,
        })
    }

    fn solve(
        &self,
        z: ArrayView2<f64>,
        eta: &Array2<f64>,
        fraction: f64,
        start: Option<&Array2<f64>>,
        watch: &SharedWatch,
        budget: &Budget,
    ) -> Result<(Array2<f64>, Vec<Report>), Error> {
        let mut beta = Array2::zeros(eta.dim());
        let mut reports = vec![];
        for (k, (eta, mut out)) in eta.columns().into_iter().zip(beta.columns_mut()).enumerate() {
            let largest = eta.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            let settings = FistaSettings { stop: budget.left(), ..FistaSettings::default() };
            let l1 = L1 { strength: fraction * largest };
            let towards = start.map(|start| start.column(k));
            let start = first_point(z, eta, l1.strength, towards);
            let solution = fista(Quadratic { x: z, eta }, l1, &settings, start, &mut watch.each())?;
            out.assign(&ArrayView1::from(&solution.state.point));
            reports.push(solution.report);
        }
        Ok((beta, reports))
    }

    /// The fraction under which the held-out first index varies most between slices, relative to its variance.
    fn choose(
        &self,
        z: ArrayView2<f64>,
        slices: &Slices,
        folds: usize,
        watch: &SharedWatch,
        budget: &Budget,
    ) -> Result<f64, Error> {
        let grid = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05];
        let mut gained = [0.0; 10];
        let labels: Vec<f64> = slices.labels().iter().map(|&h| f64::from(h)).collect();
        for (fold, (train, held)) in k_fold(z.nrows(), folds, self.seed)?.into_iter().enumerate() {
            let of = |index: &[usize]| -> Vec<f64> { index.iter().map(|&i| labels[i]).collect() };
            let inner = z.select(Axis(0), &train);
            let outer = z.select(Axis(0), &held);
            let train_slices =
                Slices::of_classes(&of(&train)).map_err(Error::without(fold, folds))?;
            let (eta, _) = slice_directions(inner.view(), &train_slices, 1)?;
            for (gain, fraction) in gained.iter_mut().zip(grid) {
                let (beta, _) = self.solve(inner.view(), &eta, fraction, None, watch, budget)?;
                *gain += between_share(&outer.dot(&beta.column(0)), &of(&held));
            }
        }
        let best = (0..10).fold(0, |best, j| if gained[j] > gained[best] { j } else { best });
        Ok(grid[best])
    }
}

/// Variance of the class means over the variance, less what chance would give.
fn between_share(index: &Array1<f64>, labels: &[f64]) -> f64 {
    let n = index.len() as f64;
    let mean = index.sum() / n;
    let total: f64 = index.iter().map(|v| (v - mean).powi(2)).sum();
    if !(total > 0.0) {
        return 0.0;
    }
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by(|&i, &j| labels[i].total_cmp(&labels[j]));
    let between: f64 = order
        .chunk_by(|&i, &j| labels[i] == labels[j])
        .map(|members| {
            let sum: f64 = members.iter().map(|&i| index[i] - mean).sum();
            sum * sum / members.len() as f64
        })
        .sum();
    between / total
}
