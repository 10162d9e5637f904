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
use fenchel_linalg::parallel::try_map;
use fenchel_linalg::{AsDesign, Cholesky, Invalid};
use fenchel_optim::{
    Certificate, Clock, Fit, Progress, SharedWatch, Status, Stop, Wall, Watch, settings,
};
use ndarray::{Array1, Array2};

use crate::blocks::{Blocks, checked, leading};
use crate::components::Components;
use crate::error::Error;
use crate::fit::{Ends, Spent, fit_by, look, refuse_weights};
use crate::fits::fits;
use crate::planes::{Neighbourhood, Setting, differences, gradients, outer_product};
use crate::reducer::Reducer;
use crate::reduction::Reduction;
use crate::response::Response;
use crate::spectrum::{EigenOrder, Spectrum};
use crate::subspace::{orthonormal, trace_error};
use crate::whitening::Whitening;

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
    fits!(numbers);
}

settings! {
    /// Minimum average variance estimation, refined (rMAVE), from a start by [`Opg`].
    ///
    /// MAVE stops when a round at the smallest bandwidth moves the span by at most `stop.absolute`. It stalls when 30 rounds in a row
    /// there move it no less than the one that moved it least: what is left is rounding, or a cycle. If neither happens before a
    /// limit, the status of the report says so. The certificate is the movement of the span in the last round,
    /// in coordinates of the whitened features.
    #[derive(Copy)]
    pub struct Mave {
        /// How many directions: it has no eigenvalues to choose by.
        directions: usize = 1,
        /// Planes are fitted around so many samples.
        base_points: usize = 500,
        /// When it ends: `absolute` is the movement of the span, and a round is a pass. `relative` and `check` play no part.
        stop: Stop = Stop { absolute: 1e-4, relative: 0.0, max_passes: 50.0, ..Stop::default() },
    }
}

/// Rounds in a row at the smallest bandwidth without a smaller movement, after which a run stalls.
const IDLE: u32 = 30;

impl Mave {
    fits!(fit numbers);

    /// As [`fit`](Self::fit), with a model of as many directions to start from, in place of that of [`Opg`], and a closure that is
    /// called after every round, with the distance between the spans of the last two rounds as its certificate, and without one
    /// at every plane.
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
        let Fit { start, watch, .. } = fit;
        let watch = SharedWatch::from(watch);
        let (data, response) = (checked(x)?, y.into());
        response.check(data.count())?;
        fit_by(self, &data, &response, &watch, |data| self.solve(data, &response, start, &watch))
    }
}

impl Reducer for Opg {
    fn name(&self) -> &'static str {
        "OPG"
    }

    fn components(&self) -> Components {
        self.components
    }

    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error> {
        self.watched_spectrum(data, response, &SharedWatch::from(Watch::nobody()))
    }

    fn watched_spectrum(
        &self,
        data: &dyn Blocks,
        response: &Response,
        watch: &SharedWatch,
    ) -> Result<Spectrum, Error> {
        let wall = Wall::start();
        let setting = Setting::new("OPG", self.base_points, 0, data, response)?;
        let spent = || Spent { passes: 0.0, seconds: wall.seconds() };
        let matrix = gradients(&setting, &|| look(watch, spent()))?;
        let back = setting.whitening.back();
        let spectrum = Spectrum::of(&matrix, EigenOrder::Algebraic, Some(back))?;
        let warnings = setting.warning.into_iter().collect();
        Ok(Spectrum { samples: data.count(), passes: 1.0, warnings, ..spectrum })
    }
}

impl Mave {
    /// One alternation: planes in the indices, then directions by least squares. `None` if it is to end, which is asked at every plane.
    fn round(
        &self,
        setting: &Setting,
        b: &Array2<f64>,
        bandwidth: f64,
        ends: Ends,
    ) -> Result<Option<Array2<f64>>, Error> {
        let (d, k) = b.dim();
        let index = setting.z.dot(b);
        let parts = setting.base.len().min(16);
        let shares = try_map(0..parts, |part| {
            let (from, to) =
                (part * setting.base.len() / parts, (part + 1) * setting.base.len() / parts);
            let mut left = Array2::<f64>::zeros((d * k, d * k));
            let mut right = Array1::<f64>::zeros(d * k);
            for &base in &setting.base[from..to] {
                if ends() {
                    return Ok(None);
                }
                let near = Neighbourhood::new(setting, index.view(), base, bandwidth);
                let (level, slopes) = near.plane()?;
                let u = differences(setting.z.view(), &near.rows, base);
                let mut weighted = u.clone();
                for (row, &w) in near.weights.iter().enumerate() {
                    weighted.row_mut(row).mapv_inplace(|v| v * w);
                }
                let second = weighted.t().dot(&u);
                let rest: Array1<f64> = near.y.iter().map(|y| y - level).collect();
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
            Ok::<_, Error>(Some((left, right)))
        })?;
        let mut left = Array2::<f64>::zeros((d * k, d * k));
        let mut right = Array1::<f64>::zeros(d * k);
        for share in shares {
            let Some((l, r)) = share else { return Ok(None) };
            left += &l;
            right += &r;
        }
        let ridge = 1e-8 * left.diag().sum() / (d * k) as f64;
        left.diag_mut().mapv_inplace(|v| v + ridge);
        let solution = Cholesky::new(left.view())?.solve(right.view())?;
        let next = Array2::from_shape_fn((d, k), |(i, a)| solution[a * d + i]);
        Ok(Some(qr(next.view())?.q))
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
        self.solve(data, response, None, &SharedWatch::from(Watch::nobody()))
    }
}

impl Mave {
    fn solve(
        &self,
        data: &dyn Blocks,
        response: &Response,
        start: Option<&Reduction>,
        watch: &SharedWatch,
    ) -> Result<Spectrum, Error> {
        let wall = Wall::start();
        self.stop.check()?;
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
        let late = || self.stop.max_seconds.is_some_and(|limit| wall.seconds() >= limit);
        let seen = |passes: f64| look(watch, Spent { passes, seconds: wall.seconds() });
        let setting = Setting::new("MAVE", self.base_points, k, data, response)?;
        let mut b = match start {
            None => {
                let start = Spectrum::of(
                    &gradients(&setting, &|| seen(0.0) || late())?,
                    EigenOrder::Algebraic,
                    None,
                )?;
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
        let (mut status, mut moved, mut rounds) = (Status::PassLimit, f64::INFINITY, 0.0);
        let (mut smallest, mut idle) = (f64::INFINITY, 0);
        while rounds < self.stop.max_passes {
            let ends = || seen(rounds + 1.0) || late();
            let Some(next) = self.round(&setting, &b, bandwidth, &ends)? else {
                status = if watch.stopped() { Status::Stopped } else { Status::TimeLimit };
                break;
            };
            moved = trace_error(next.view(), b.view())?.max(0.0).sqrt();
            b = next;
            rounds += 1.0;
            if moved <= self.stop.absolute && bandwidth <= least {
                status = Status::Converged;
                break;
            }
            let (passes, seconds) = (rounds + 1.0, wall.seconds());
            let certificate = Certificate::residual(0.0, moved, 0.0);
            let progress = Progress { passes, oracle_calls: 0, seconds, certificate };
            if watch.each().show(&progress).is_break() {
                status = Status::Stopped;
                break;
            }
            if late() {
                status = Status::TimeLimit;
                break;
            }
            if bandwidth <= least {
                idle = if moved < smallest { 0 } else { idle + 1 };
                smallest = smallest.min(moved);
                if idle >= IDLE {
                    status = Status::Stalled;
                    break;
                }
            }
            bandwidth = (shrink * bandwidth).max(least);
        }
        // The indices in the order of what their slopes explain.
        let index = setting.z.dot(&b);
        let matrix = outer_product(&setting, index.view(), least, &|| seen(rounds + 1.0))?;
        let map = setting.whitening.back().dot(&orthonormal(b.view())?);
        let spectrum = Spectrum::of(&matrix, EigenOrder::Algebraic, Some(map.view()))?;
        // The start and the last slopes are a look at the data each.
        let passes = rounds + 2.0;
        let warnings = setting.warning.into_iter().collect();
        Ok(Spectrum { samples: n, most: k, residual: moved, status, passes, warnings, ..spectrum })
    }
}
