//! What a report says of its answer, on small odd problems: the objective is that of the returned point, no lower bound is above
//! the objective of another answer, and `Converged` means that the certificate meets the tolerance.
//!
//! `FENCHEL_PROBLEMS` sets the number of problems.

use fenchel_datasets::generate::{Odd, odd};
use fenchel_expfam::families::{Categorical, Normal, Poisson};
use fenchel_expfam::glm::*;
use fenchel_expfam::maximum_entropy::maximum_entropy;
use fenchel_expfam::mirror::{MirrorDescentSettings, NegativeLikelihood, descend};
use fenchel_expfam::mixture::Em;
use fenchel_expfam::{Error, Family, Summary};
use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Fit, Report, Status, Stop};
use ndarray::Array2;

fn problems() -> impl Iterator<Item = (u64, Odd)> {
    (0..super::cases::problems(60) as u64).map(|seed| (seed, odd(seed)))
}

fn check_status(stop: &Stop, report: &Report, what: &str) {
    let certificate = &report.certificate;
    if report.status == Status::Converged {
        assert!(stop.met_by(certificate), "{what}: {report}");
    }
    if let Certificate::Gap { objective, lower_bound, .. } = *certificate {
        assert!(lower_bound <= objective, "{what}: {report}");
    }
}

/// The loss of a row, by another formula than that of the crate where there is one.
type Loss = fn(f64, f64) -> f64;

struct Data<'a> {
    x: &'a Array2<f64>,
    y: &'a [f64],
    weights: Option<&'a [f64]>,
    offset: Option<&'a [f64]>,
}

impl Data<'_> {
    /// `(1/W) sum_i w_i loss + (l2/2) |beta|^2`, and a bound on its rounding error.
    fn objective(&self, loss: Loss, l2: f64, beta: &[f64], b: f64) -> (f64, f64) {
        let (mut sum, mut error, mut total) = (0.0, 0.0, 0.0);
        for (i, row) in self.x.outer_iter().enumerate() {
            let w = self.weights.map_or(1.0, |w| w[i]);
            if w == 0.0 {
                continue;
            }
            let terms: f64 = row.iter().zip(beta).map(|(x, b)| (x * b).abs()).sum();
            let offset = self.offset.map_or(0.0, |o| o[i]);
            let eta = row.iter().zip(beta).map(|(x, b)| x * b).sum::<f64>() + b + offset;
            // Every term of eta is rounded, and so are the coefficients: a few eps of their sizes.
            let off = 64.0 * f64::EPSILON * (terms + b.abs() + offset.abs() + 1e-300);
            let value = loss(self.y[i], eta);
            let around = [loss(self.y[i], eta - off) - value, loss(self.y[i], eta + off) - value];
            sum += w * value;
            total += w;
            error += w * around
                .iter()
                .fold(1e-12 * (value.abs() + (self.y[i] * eta).abs()), |a, d| a.max(d.abs()));
        }
        let penalty = 0.5 * l2 * beta.iter().map(|b| b * b).sum::<f64>();
        (sum / total + penalty, error / total + 1e-12 * penalty)
    }
}

fn check_glm<F: ScalarFamily + Clone>(
    family: &F,
    loss: Loss,
    data: &Data<'_>,
    l2: f64,
    what: &str,
) {
    let default = Glm::new(family.clone());
    let mut bounds = vec![];
    let mut answers = vec![];
    for passes in [0.0, 2.0, 5.0, 1e5] {
        let stop = Stop { max_passes: passes, ..default.stop };
        let glm = Glm { l2, stop, ..default.clone() };
        let targets = Targets { y: data.y.into(), offset: data.offset.map(Into::into) };
        let fit = Fit { weights: data.weights.map(Into::into), ..Fit::new() };
        let model = match glm.fit_with(data.x, targets, fit) {
            Ok(model) => model,
            // What the data do not determine is refused, and so are squares that overflow.
            Err(Error::Invalid(Invalid::RankDeficient { .. } | Invalid::Layout { .. })) => return,
            Err(Error::BoundaryMean { .. }) => return,
            Err(error) => panic!("{what}: {error}"),
        };
        let what = format!("{} {} l2 {l2}, {passes} passes, {what}", F::NAME, F::LINK);
        check_status(&stop, &model.report, &what);
        let said = model.report.certificate.objective().unwrap_or(f64::NAN);
        let (found, error) = data.objective(loss, l2, &model.coefficients, model.intercept);
        assert!((said - found).abs() <= error, "{what}: {said} {found} {error:e}");
        let s = &model.summary;
        assert_eq!(s.coefficients[0].estimate, model.intercept);
        let determined = s.residual_degrees > 0 || F::KNOWN_DISPERSION;
        assert!(determined || (s.aic.is_nan() && s.log_likelihood.is_nan()), "{what}: {s:?}");
        assert!(!(s.unbounded || s.receding) || model.report.status != Status::Converged, "{what}");
        if let Certificate::Gap { lower_bound, .. } = model.report.certificate {
            bounds.push((lower_bound, what));
        }
        answers.push((found, error));
    }
    for (bound, what) in bounds {
        for (found, error) in &answers {
            assert!(
                bound <= found + error + 1e-13 * found.abs(),
                "{what}: bound {bound} above {found}"
            );
        }
    }
}

#[test]
fn reports_of_linear_models_are_about_their_answers() {
    for (seed, Odd { x, y, what }) in problems() {
        let n = y.len();
        let size = y.iter().fold(1.0, |a: f64, y| a.max(y.abs()));
        let real = y.to_vec();
        let labels: Vec<f64> = y.iter().map(|y| f64::from(u8::from(*y > 0.0))).collect();
        let counts: Vec<f64> = y.iter().map(|y| y.abs().round()).collect();
        let positive: Vec<f64> = y.iter().map(|y| 0.5 + y.abs()).collect();
        let weights: Vec<f64> = (0..n).map(|i| ((i + 1) % 3) as f64).collect();
        let offset: Vec<f64> = (0..n).map(|i| -0.05 * (i % 4) as f64).collect();
        let weights = (seed % 2 == 1).then_some(&weights[..]);
        let offset = (seed % 3 == 1).then_some(&offset[..]);
        let what = format!("seed {seed}, {what}");
        for l2 in [0.0, 0.1 / (size * size)] {
            let of = |y| Data { x: &x, y, weights, offset };
            fn softplus(u: f64) -> f64 {
                if u > 0.0 { u + (-u).exp().ln_1p() } else { u.exp().ln_1p() }
            }
            check_glm(
                &Logistic,
                |y, t| softplus(if y == 1.0 { -t } else { t }),
                &of(&labels),
                l2,
                &what,
            );
            check_glm(&PoissonLog, |y, t| t.exp() - y * t, &of(&counts), l2, &what);
            check_glm(&Identity, |y, t| 0.5 * t * t - y * t, &of(&real), l2, &what);
            check_glm(&Reciprocal, |y, t| -(-t).ln() - y * t, &of(&positive), l2, &what);
            check_glm(&InverseSquare, |y, t| -(-2.0 * t).sqrt() - y * t, &of(&positive), l2, &what);
            let log = NegativeBinomialLog { size: 2.0 };
            let loss: Loss = |y, t| (y + 2.0) * softplus(t - 2f64.ln()) - y * t;
            check_glm(&log, loss, &of(&counts), l2, &what);
            let canonical = NegativeBinomialCanonical { size: 2.0 };
            let loss: Loss = |y, t| -2.0 * (-t.exp_m1()).ln() - y * t;
            check_glm(&canonical, loss, &of(&counts), l2, &what);
        }
    }
}

/// The means of a law with known probabilities can be had: its divergence is above the minimum, and every multiplier gives a
/// bound below.
#[test]
fn reports_of_maximum_entropy_are_about_their_answers() {
    for (seed, Odd { x, what, .. }) in problems() {
        let (n, k) = (x.nrows(), x.ncols().min(4));
        let t = x.select(ndarray::Axis(1), &(0..k).collect::<Vec<_>>());
        let law: Vec<f64> = (0..n).map(|i| 1.0 + ((7 * i) % 5) as f64).collect();
        let total: f64 = law.iter().sum();
        let law: Vec<f64> = law.iter().map(|p| p / total).collect();
        let means: Vec<f64> = (0..k).map(|j| (0..n).map(|i| law[i] * t[[i, j]]).sum()).collect();
        let base = vec![1.0; n];
        let what = format!("seed {seed}, {what}");
        let found = maximum_entropy(&base, t.view(), &means).unwrap();
        let p = &found.probabilities;
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{what}");
        assert!(p.iter().all(|p| (0.0..=1.0).contains(p)), "{what}");
        if found.report.status != Status::Converged {
            continue;
        }
        for j in 0..k {
            let mean: f64 = (0..n).map(|i| p[i] * t[[i, j]]).sum();
            let column = t.column(j);
            let spread = column.iter().fold(0.0, |a: f64, t| a.max((t - means[j]).abs()));
            let size = column.iter().fold(0.0, |a: f64, t| a.max(t.abs()));
            let allowed = 1e-10 * spread + 16.0 * f64::EPSILON * n as f64 * size;
            assert!((mean - means[j]).abs() <= allowed, "{what}: {mean} {}", means[j]);
        }
        let divergence = |p: &[f64]| -> f64 {
            p.iter().filter(|p| **p > 0.0).map(|p| p * (p * n as f64).ln()).sum()
        };
        let rounding = 1e-14 * (n as f64).ln().max(1.0);
        assert!((found.divergence - divergence(p)).abs() <= rounding, "{what}");
        assert!(found.divergence >= 0.0 && found.divergence <= divergence(&law) + 1e-9, "{what}");
    }
}

#[test]
fn reports_of_mixtures_are_about_their_answers() {
    for (seed, Odd { x, y, what }) in problems().step_by(4) {
        let what = format!("seed {seed}, {what}");
        let sample = x.column(0).to_vec();
        let counts: Vec<f64> = y.iter().map(|y| y.abs().round()).collect();
        let em = Em {
            starts: 2,
            stop: Stop { max_passes: 200.0, ..Em::default().stop },
            ..Em::default()
        };
        let n = y.len() as f64;
        if let Ok(fit) = em.fit(Normal, &sample) {
            check_status(&em.stop, &fit.report, &what);
            let said = fit.report.certificate.objective().unwrap();
            assert!((said + fit.objective / n).abs() <= 1e-12 * (1.0 + said.abs()), "{what}");
            assert!((fit.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{what}");
        }
        if let Ok(fit) = em.fit(Poisson, &counts) {
            check_status(&em.stop, &fit.report, &what);
            // L without the crate: a sum of two Poisson laws, and the pseudo-observations.
            let mean = counts.iter().sum::<f64>() / n;
            let mut objective = 0.0;
            for y in &counts {
                let gamma: f64 = (1..=*y as u64).map(|k| (k as f64).ln()).sum();
                let terms = fit.weights.iter().zip(&fit.components);
                let p: f64 =
                    terms.map(|(w, c)| w * (y * c.rate().ln() - c.rate() - gamma).exp()).sum();
                objective += p.ln();
            }
            objective +=
                fit.components.iter().map(|c| mean * c.rate().ln() - c.rate()).sum::<f64>();
            assert!((fit.objective - objective).abs() <= 1e-9 * (1.0 + objective.abs()), "{what}");
        }
    }
}

/// With step 1 mirror descent on the likelihood is at the optimum after one pass; smaller steps end there as well.
#[test]
fn reports_of_mirror_descent_are_about_their_answers() {
    for (seed, Odd { y, what, .. }) in problems() {
        let what = format!("seed {seed}, {what}");
        let family = Categorical::new(3).unwrap();
        let classes: Vec<usize> = y.iter().map(|y| y.abs().round() as usize % 3).collect();
        let summary = Summary::of(family, &classes).unwrap();
        let Ok(exact) = summary.mle() else { continue };
        let mean = summary.mean().unwrap();
        let objective = NegativeLikelihood { family: &family, mean: &mean };
        for step in [1.0, 0.3] {
            let stop = Stop { absolute: 1e-10, relative: 0.0, ..Stop::default() };
            let settings = MirrorDescentSettings { step, stop };
            let start = vec![0.0; family.dimension()];
            let found = descend(family, objective.clone(), &settings, &start, &mut ()).unwrap();
            check_status(&stop, &found.report, &what);
            assert_eq!(found.report.status, Status::Converged, "{what}");
            for (a, b) in found.state.iter().zip(exact.natural()) {
                assert!((a - b).abs() < 1e-7, "{what}: {a} {b}");
            }
        }
    }
}
