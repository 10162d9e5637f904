//! Fitting generalised linear models, and predicting with them.

use fenchel_linalg::spread::{Shards, checksum_of};
use fenchel_linalg::{AsDesign, Cholesky, Csr, Dense, Design, Invalid, Names};
use fenchel_optim::newton::{
    QuasiNewtonSettings, TwiceDifferentiable, WithHessian, newton, quasi_newton,
};
use fenchel_optim::{
    Certificate, Fit, MAX_MEMORY, Placement, Refusal, Report, Solution, Status, Stop, Watch,
};
use serde::{Deserialize, Serialize};

use super::centre::{Centred, Moved, Storage, far_means, far_targets};
use super::certificate::proved;
use super::checks::{check_squares, hessian_factor, recedes};
use super::objective::Objective;
use super::summary::{Ending, null_intercept};
use super::{GlmModel, GlmSummary, ScalarFamily, Targets};
use crate::error::Error;

/// A generalised linear model:
///
/// ```text
/// minimise over beta, b:   (1/W) sum_i w_i (a(eta_i) - y_i eta_i) + (l2/2) |beta|^2,    eta_i = x_i.beta + b + offset_i
/// ```
///
/// (with the loss of the family in place of `a(eta) - y eta` where the link is not canonical).
///
/// `stop` and the certificate measure coordinate `j` of the gradient in the unit
/// `(1/W) sum_i w_i |x_ij| (|s_i| + t_i / 1000)`, computed at the model without columns: there `s_i` is the slope of the loss of a
/// row, `mu_i - y_i` with the canonical link, and `t_i` the size of its terms, `|y_i| + |mu_i|`. So the fit does not depend on the
/// units of the columns and of the targets, as long as their squares neither overflow nor underflow. (Of a column or a target far
/// from 0, the difference from its mean counts: see the [module](super).)
///
/// ```
/// use fenchel_expfam::glm::{Glm, PoissonLog, Targets};
/// use ndarray::array;
///
/// // Claims by years of exposure.
/// let x = array![[0.0], [1.0], [0.0], [1.0]];
/// let (claims, years): ([f64; 4], [f64; 4]) = ([2.0, 6.0, 4.0, 6.0], [10.0, 12.0, 20.0, 12.0]);
/// let offset: Vec<f64> = years.iter().map(|y| y.ln()).collect();
/// let fitted = Glm::new(PoissonLog).fit(&x, Targets::new(&claims).offset(&offset))?;
/// // The rates are 6 / 30 and 12 / 24.
/// assert!((fitted.intercept - 0.2f64.ln()).abs() < 1e-9);
/// assert!((fitted.coefficients[0] - 2.5f64.ln()).abs() < 1e-9);
/// println!("{}", fitted.summary());
/// # Ok::<(), fenchel_expfam::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Glm<F> {
    /// The conditional family: [`Logistic`](super::Logistic), [`PoissonLog`](super::PoissonLog), ...
    pub family: F,
    /// Whether the model has an unpenalised intercept `b`. Default: true.
    pub intercept: bool,
    /// Weight of the quadratic penalty, on the scale of the mean loss. Default: 0.
    pub l2: f64,
    /// When the method stops. Default: a gradient below 1e-10 of its unit, 1e6 passes.
    pub stop: Stop,
    /// Bytes for the Hessian, its factor and centred columns; `None`: no limit. Default: 4 GiB.
    pub max_memory: Option<u64>,
}

/// The data beside the design.
struct Rows<'a> {
    y: &'a [f64],
    weights: Option<&'a [f64]>,
    /// `w_i / W`
    shares: &'a [f64],
    offset: Option<&'a [f64]>,
    /// What was taken from the targets.
    moved: Moved,
}

impl<F: ScalarFamily + Clone> Glm<F> {
    /// The default model of a family.
    pub fn new(family: F) -> Self {
        let stop = Stop { absolute: 1e-10, relative: 0.0, max_passes: 1e6, ..Stop::default() };
        Glm { family, intercept: true, l2: 0.0, stop, max_memory: MAX_MEMORY }
    }

    /// Fits on rows `x` and targets `y`, numbers or [`Targets`] with offsets.
    ///
    /// # Errors
    /// [`Invalid`] for wrong shapes, NaN and targets outside of the mean domain; [`Invalid::RankDeficient`] where columns depend on each
    /// other; [`Refusal::MemoryLimit`]. A fit that does not converge says so in the status of its report.
    ///
    /// Without `l2`, the likelihood of logistic data has no maximum if a hyperplane separates the classes. The status
    /// is then [`NoMinimiser`](Status::NoMinimiser), the fitted point is a separating direction, and the summary ends
    /// with a warning. In two cases the fitted point is no such proof: if the hyperplane contains some of the rows, or
    /// if counts of 0 are separated from other counts. Then the status is [`Stalled`](Status::Stalled), and the summary
    /// ends with a warning as well: it is [`receding`](GlmSummary::receding).
    pub fn fit<'y, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<Targets<'y>>,
    ) -> Result<GlmModel<F>, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// Fits with weights of the rows (numbers of trials or of equal rows), a model to start from, or a closure that watches.
    ///
    /// The rows may be spread over processes ([`Fit::spread`]): `x`, targets, offsets and weights are those of the own rows. The model
    /// is then fitted by Newton's method, and every process gets all of it. Processes whose settings or starts differ, or of which some
    /// only give weights or offsets, are refused.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Invalid::Layout`] for a negative weight, [`Invalid::Parameter`] if all are 0 or for a limit of seconds
    /// with spread rows; [`Invalid::Length`] for a start with other columns.
    pub fn fit_with<'y, X: AsDesign + ?Sized, P: Placement>(
        &self,
        x: &X,
        y: impl Into<Targets<'y>>,
        fit: Fit<'_, GlmModel<F>, P>,
    ) -> Result<GlmModel<F>, Error> {
        let Fit { start, mut watch, rows, weights } = fit;
        let mut watch = watch.of_all(&rows);
        let shards = rows.shards();
        let design = x.as_design()?.spread(shards)?;
        let Targets { y, offset } = y.into();
        let (y, offset) = (y.to_vec(), offset.map(|offset| offset.to_vec()));
        let weights = weights.map(|weights| weights.to_vec());
        let (weights, offset) = (weights.as_deref(), offset.as_deref());
        let (n, d) = (design.rows(), design.columns());
        let numbers =
            |from: &GlmModel<F>| checksum_of(from.coefficients.iter().chain([&from.intercept]));
        let (name, l2, intercept) = (F::NAME, self.l2, self.intercept);
        let given = (weights.is_some(), offset.is_some(), start.map(numbers));
        self.stop.check_spread(
            shards,
            format_args!(
                "{name}, l2: {l2:?}, intercept: {intercept}, weights: {}, offset: {}, start: {:?}",
                given.0, given.1, given.2
            ),
        )?;
        self.check(&design, &y, weights, offset)?;
        if let Some(start) = start {
            Invalid::check_length("start (coefficients)", d, start.coefficients.len())?;
        }
        if d == 0 && !self.intercept {
            let (what, reason) =
                ("design matrix", "no columns, and the model has no intercept".into());
            return Err(Invalid::Layout { what, reason }.into());
        }
        Invalid::check_nonnegative("l2", self.l2)?;
        let total = weights.map_or(design.all_rows() as f64, |w| design.sum_numbers(w));
        Invalid::check_positive("sum of the weights", total)?;
        let shares: Vec<f64> = match weights {
            None => vec![1.0 / total; n],
            Some(w) => w.iter().map(|w| w / total).collect(),
        };
        self.check_memory("the Hessian of the coefficients", [d, d, 24])?;
        let squares = check_squares::<F, _>(&design, &y, &shares)?;
        let near = if self.intercept && self.family.shifts() {
            far_targets(&design, (&y, &shares), offset)
        } else {
            None
        };
        let targets = match &near {
            Some((y, moved)) => {
                check_squares::<F, _>(&design, y, &shares)?;
                Rows { y, weights, shares: &shares, offset: None, moved: *moved }
            }
            None => Rows { y: &y, weights, shares: &shares, offset, moved: Moved::default() },
        };
        let means = if self.intercept { far_means(&design, &shares, &squares) } else { None };
        let Some(means) = means else {
            let model = self.fit_design(design, &targets, None, start, &mut watch)?;
            return Ok(model.named(x.names()));
        };
        let far = means.iter().filter(|m| **m != 0.0).count();
        let entries = if <X::View<'_> as Design>::DENSE { [n, d, 8] } else { [n, far, 12] };
        self.check_memory("the copy with centred columns", entries)?;
        let Centred { centre, storage } = Centred::new(&design, &shares, means);
        let model = match &storage {
            Storage::Dense(matrix) => {
                let design = Dense::new(matrix.view())?.spread(shards)?;
                self.fit_design(design, &targets, Some(&centre), start, &mut watch)?
            }
            Storage::Sparse { offsets, columns, values } => {
                let design = Csr::from_parts(offsets, columns, values, d)?.spread(shards)?;
                self.fit_design(design, &targets, Some(&centre), start, &mut watch)?
            }
        };
        Ok(model.named(x.names()))
    }

    /// Fits to a checked design, from whose columns `centre` was subtracted.
    fn fit_design<D: Design + Copy>(
        &self,
        design: D,
        targets: &Rows<'_>,
        centre: Option<&[f64]>,
        from: Option<&GlmModel<F>>,
        watch: &mut Watch<'_>,
    ) -> Result<GlmModel<F>, Error> {
        let &Rows { y, weights, shares, offset, moved } = targets;
        let (n, d) = (design.rows(), design.columns());
        if centre.is_some() {
            check_squares::<F, _>(&design, y, shares)?;
        }
        let (l2, intercept) = (self.l2, self.intercept);
        let targets = (y, shares);
        let mut objective = Objective::new(&self.family, design, targets, offset, l2, intercept);
        let start = self.start(&mut objective, n, d)?;
        let units = objective.units(&start);
        let given = from.and_then(|from| self.start_from(&mut objective, from, centre, moved));
        let start = given.unwrap_or(start);
        let make = || {
            let mut new = Objective::new(&self.family, design, targets, offset, l2, intercept);
            new.units.clone_from(&units);
            new
        };
        objective.units.clone_from(&units);
        let (point, mut report) = if design.shards().is_none() && objective.has_many_rows() {
            self.by_some_rows(objective, start, make, watch)?
        } else {
            let solution = newton(objective, &self.stop, start, watch)?;
            (solution.state, solution.report)
        };
        report.certificate = of_given(report.certificate, moved.constant);
        let mut objective = make();
        let mut z = vec![0.0; n];
        objective.multiply(&point, &mut z);
        objective.bend_expected(&z);
        let (hessian, _) = objective.hessian();
        let factor = match hessian_factor(&hessian, point.len(), intercept) {
            Ok(factor) => Some(factor),
            Err(deficient) => {
                // Are the columns dependent, or has the curvature of the family vanished at the end of its range?
                objective.flatten();
                hessian_factor(&objective.hessian().0, point.len(), intercept)
                    .map_err(|_| deficient)?;
                None
            }
        };
        let unbounded = self.l2 == 0.0 && recedes(&self.family, &design, y, shares, &z);
        let mut receding = false;
        if unbounded {
            report.status = Status::NoMinimiser;
        } else if let Some(factor) = &factor {
            let at = (&point[..], &z[..], moved.constant);
            receding = self.judge(&mut objective, at, (&hessian, factor), &mut report)?;
        } else {
            receding = true;
        }
        if receding && report.status == Status::Converged {
            report.status = Status::Stalled;
        }
        let mut estimates = point;
        if let Some(centre) = centre {
            estimates[d] -= centre.iter().zip(&estimates).map(|(c, b)| c * b).sum::<f64>();
        }
        if intercept {
            estimates[d] += moved.mean;
        }
        let (rounding, given) = (moved.rounding, &estimates[..]);
        let ending = Ending { estimates: given, centre, factor, unbounded, receding, rounding };
        let summary = GlmSummary::new(&mut objective, &z, weights, ending)?;
        let intercept = if self.intercept { estimates.pop().unwrap_or(0.0) } else { 0.0 };
        Ok(GlmModel {
            family: self.family.clone(),
            coefficients: estimates,
            intercept,
            names: Names::NONE,
            summary,
            report,
        })
    }

    /// Puts the proved gap into the report if there is one, and returns whether the likelihood seems to have no maximum. The
    /// objective of the targets as they were given is `constant` larger.
    fn judge<D: Design>(
        &self,
        objective: &mut Objective<'_, D, F>,
        (point, z, constant): (&[f64], &[f64], f64),
        (hessian, factor): (&[f64], &Cholesky),
        report: &mut Report,
    ) -> Result<bool, Error> {
        let (mut x, mut z) = (point.to_vec(), z.to_vec());
        let mut gradient = vec![0.0; x.len()];
        let value = objective.measure(&mut x, &mut z, &mut gradient).objective();
        let mut step = gradient.clone();
        factor.solve_in_place(&mut step)?;
        let converged = report.status == Status::Converged;
        let at_point = (value.unwrap_or(f64::NAN), &gradient[..], &step[..]);
        if let Some(gap) = proved(objective, at_point, (hessian, factor)) {
            // The status is about the certificate: a norm within the tolerance stays where the gap, in the unit of the loss, is not.
            // A relative tolerance is one of the centred targets: beside those that were given, any gap is small.
            let met = self.stop.met_by(&gap);
            if let Certificate::Gap { objective, lower_bound, rounding } = gap
                && (met || !converged)
            {
                report.certificate =
                    Certificate::gap_within(objective + constant, lower_bound + constant, rounding);
            }
            if met
                && matches!(report.status, Status::PassLimit | Status::TimeLimit | Status::Stalled)
            {
                report.status = Status::Converged;
            }
            return Ok(false);
        }
        // With a larger gradient the point is not near its end: a long step means nothing.
        if !(converged && F::KNOWN_DISPERSION && report.certificate.value() <= 1e-8) {
            return Ok(false);
        }
        // On the border of the means every Newton step moves the linear predictors by 1 once more.
        objective.multiply(&step, &mut z);
        let far = (0..z.len()).any(|i| objective.shares[i] > 0.0 && z[i].abs() > 0.1);
        Ok(objective.design.any(far))
    }

    /// Refuses what needs more memory than allowed; the number of bytes is the product of the factors.
    fn check_memory(&self, what: &'static str, factors: [usize; 3]) -> Result<(), Error> {
        let bytes = factors.iter().fold(1_u64, |a, &b| a.saturating_mul(b as u64));
        Ok(Refusal::check_memory(what, bytes, self.max_memory, "keep fewer columns")?)
    }

    /// The method for many more rows than coefficients: L-BFGS, preconditioned with the Hessian of some of the rows.
    /// Each step is one pass over the data. If it stops before its tolerance, Newton's method continues.
    fn by_some_rows<'a, D: Design>(
        &self,
        objective: Objective<'a, D, F>,
        start: Vec<f64>,
        again: impl Fn() -> Objective<'a, D, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(Vec<f64>, Report), Error> {
        let stop = &self.stop;
        let settings = QuasiNewtonSettings { renewal: 4, stop: *stop, ..Default::default() };
        let first = quasi_newton(objective, &settings, start, watch)?;
        let Solution { state, report } = first;
        if report.status != Status::Stalled {
            return Ok((state, report));
        }
        let rest = Stop {
            max_passes: (stop.max_passes - report.passes).max(0.0),
            max_seconds: stop.max_seconds.map(|s| (s - report.seconds).max(0.0)),
            ..*stop
        };
        watch.spend(&report);
        let second = newton(again(), &rest, state, watch)?;
        Ok((second.state, second.report.with_spent(Some(&report))))
    }

    fn check<D: Design>(
        &self,
        design: &D,
        y: &[f64],
        weights: Option<&[f64]>,
        offset: Option<&[f64]>,
    ) -> Result<(), Error> {
        self.family.check()?;
        let n = design.rows();
        Invalid::check_length("targets", n, y.len())?;
        if design.all_rows() == 0 {
            return Err(Invalid::Empty { what: "design matrix (rows)" }.into());
        }
        if let Some((row, &value)) = y.iter().enumerate().find(|(_, y)| !self.family.accepts(**y)) {
            // Its place among all rows.
            let row = design.shards().map_or(0, Shards::before) + row;
            return Err(Invalid::Target { row, value, expected: F::TARGETS }.into());
        }
        if let Some(weights) = weights {
            Invalid::check_weights("weights", n, weights.iter())?;
        }
        if let Some(offset) = offset {
            Invalid::check_length("offset", n, offset.len())?;
            Invalid::check_finite("offset", offset)?;
        }
        Ok(())
    }

    /// The point of a former model, if it lies inside of the domain.
    fn start_from<D: Design>(
        &self,
        objective: &mut Objective<'_, D, F>,
        from: &GlmModel<F>,
        centre: Option<&[f64]>,
        moved: Moved,
    ) -> Option<Vec<f64>> {
        let mut point = from.coefficients.clone();
        if self.intercept {
            let columns: f64 =
                centre.map_or(0.0, |c| c.iter().zip(&point).map(|(c, b)| c * b).sum());
            point.push((from.intercept - moved.mean) + columns);
        }
        let mut z = vec![0.0; objective.y.len()];
        objective.multiply(&point, &mut z);
        objective.value(&point, &z).is_finite().then_some(point)
    }

    /// The start: coefficients 0, with the intercept of the model without columns. For a family with a bounded domain,
    /// a model without intercept has no such start.
    fn start<D: Design>(
        &self,
        objective: &mut Objective<'_, D, F>,
        n: usize,
        d: usize,
    ) -> Result<Vec<f64>, Error> {
        let mut start = vec![0.0; d + usize::from(self.intercept)];
        if self.intercept {
            let eta = self.family.link(objective.mean_target());
            if !eta.is_finite() {
                return Err(Error::BoundaryMean {
                    family: F::NAME,
                    reason: "all targets at one end of their range",
                    remedy: "leave the intercept out and add a penalty, or take more data",
                });
            }
            start[d] = null_intercept(objective);
        }
        let mut z = vec![0.0; n];
        objective.multiply(&start, &mut z);
        if objective.value(&start, &z).is_finite() {
            return Ok(start);
        }
        Err(Error::Unavailable {
            family: F::NAME,
            what: "a start inside of the domain",
            hint: "fit with an intercept, and with offsets that keep eta below 0",
        })
    }
}

/// The certificate of the targets as they were given, whose objective is `constant` larger.
fn of_given(certificate: Certificate, constant: f64) -> Certificate {
    let Some(objective) = certificate.objective().map(|objective| objective + constant) else {
        return certificate;
    };
    match certificate {
        Certificate::Residual { norm, error, scale, .. } => {
            Certificate::Residual { objective: Some(objective), norm, error, scale }
        }
        Certificate::Uncertified { .. } => Certificate::Uncertified { objective: Some(objective) },
        gap @ Certificate::Gap { .. } => gap,
    }
}
