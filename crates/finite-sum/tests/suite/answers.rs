//! What a report says is true of the model that is returned: for every estimator, path and choice of a penalty, on odd data, dense,
//! sparse, and a million times its size away from 0.
//!
//! `FENCHEL_PROBLEMS` is the number of problems; by default there are a few.

use fenchel_datasets::generate::odd;
use fenchel_finite_sum::loss::{Hinge, Huber, Logistic, Poisson, Squared, SquaredHinge};
use fenchel_finite_sum::path::{
    Grid, GroupPathSettings, Path, PathSettings, elastic_net_path, group_path, logistic_path,
};
use fenchel_finite_sum::prelude::AsDesign;
use fenchel_finite_sum::prox::{Groups, Zero};
use fenchel_finite_sum::{
    AutoSettings, ElasticNet, ElasticNetCv, GroupLasso, Lasso, LassoCv, LinearSvc, LinearSvcCv,
    LogisticRegression, LogisticRegressionCv, OneVsRest, PoissonRegressor, Problem, Ridge, RidgeCv,
    SoftmaxModel, SoftmaxRegression, SoftmaxRegressionCv, SvcLoss, auto,
    estimators::OneVsRestModel,
};
use fenchel_optim::{Certificate, Loss, Report, Status, Stop};
use ndarray::{Array2, Axis};

use super::offsets::csr;

/// A model of one margin or of several classes, on columns as they are or far from 0, and what is said of it.
struct Answer {
    name: &'static str,
    far: bool,
    weights: Array2<f64>,
    intercepts: Vec<f64>,
    report: Report,
}

/// The columns, and the same far from 0.
struct Columns {
    near: Array2<f64>,
    far: Array2<f64>,
    /// What rounding of the far columns changes of an entry.
    blur: Vec<f64>,
}

impl Columns {
    fn new(x: &Array2<f64>) -> Self {
        let size = |c: usize| x.column(c).iter().fold(0.0, |m: f64, a| m.max(a.abs()));
        let shift: Vec<f64> = (0..x.ncols()).map(|c| 1e6 * size(c)).collect();
        let far = Array2::from_shape_fn(x.dim(), |(i, c)| x[[i, c]] + shift[c]);
        Columns { near: x.clone(), far, blur: shift.iter().map(|s| s * f64::EPSILON).collect() }
    }

    /// The scores of an answer, a row each, and two bounds of the error of any of them: of the rounding of the sums, and with that of
    /// the far columns.
    fn scores(&self, answer: &Answer) -> (Array2<f64>, f64, f64) {
        let x = if answer.far { &self.far } else { &self.near };
        let scores = x.dot(&answer.weights) + &ndarray::Array1::from(answer.intercepts.clone());
        let (mut sums, mut blur) = (0.0, 0.0);
        for (c, w) in answer.weights.axis_iter(Axis(0)).enumerate() {
            let w = w.iter().fold(0.0, |m: f64, w| m.max(w.abs()));
            let largest = x.column(c).iter().fold(0.0, |m: f64, a| m.max(a.abs()));
            sums += w * largest;
            blur += w * self.blur[c];
        }
        sums += answer.intercepts.iter().fold(0.0, |m: f64, b| m.max(b.abs()));
        let sums = 4.0 * (x.ncols() as f64 + 16.0) * f64::EPSILON * sums;
        (scores, sums, sums + 4.0 * blur)
    }
}

/// The objective of scores and weights, and the mean size of the slopes of the terms.
type Objective<'o> = dyn Fn(&Array2<f64>, &Array2<f64>) -> (f64, f64) + 'o;

/// How runs ended.
#[derive(Debug, Default)]
struct Tally {
    answers: usize,
    converged: usize,
    limit: usize,
    stalled: usize,
}

impl Tally {
    /// Each report is of its model, no lower bound is above another answer, what is said to be converged is within the tolerance, and
    /// so are all of the same problem. `value` is the objective by scores and weights, and the mean size of the slopes.
    fn check(&mut self, what: &str, columns: &Columns, value: &Objective, answers: &[Answer]) {
        let stop = Stop::default();
        let found: Vec<(f64, f64, f64)> = answers
            .iter()
            .map(|answer| {
                let (scores, sums, all) = columns.scores(answer);
                let (value, slope) = value(&scores, &answer.weights);
                // The loss itself is one of a sum: of the target and the score.
                let own = 1e-12 * value.abs()
                    + 1e-15 * slope * scores.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
                // Where the slopes are 0, the error is of second order.
                (value, own + slope * sums + sums * sums, own + slope * all + all * all)
            })
            .collect();
        for (answer, &(value, error, slack)) in answers.iter().zip(&found) {
            let (report, far) = (&answer.report, if answer.far { ", far" } else { "" });
            let case = || format!("{what}, {}{far}: {report}", answer.name);
            self.answers += 1;
            self.converged += usize::from(report.status == Status::Converged);
            self.limit += usize::from(report.status == Status::PassLimit);
            self.stalled += usize::from(report.status == Status::Stalled);
            if let Some(said) = report.certificate.objective() {
                assert!((said - value).abs() <= error, "{}: {value:e} +- {error:e}", case());
            }
            if report.status == Status::Converged {
                assert!(stop.met_by(&report.certificate), "{}", case());
            }
            let Certificate::Gap { objective, lower_bound, .. } = report.certificate else {
                continue;
            };
            if !report.certificate.value().is_finite() {
                // A contradiction is no proof, and the report does not claim one.
                continue;
            }
            assert!(lower_bound <= objective, "{}", case());
            for (other, &(best, _, theirs)) in answers.iter().zip(&found) {
                let slack = slack + theirs;
                let name = (other.name, other.far);
                assert!(
                    lower_bound <= best + slack,
                    "{}: {name:?} has {best:e} +- {slack:e}",
                    case()
                );
            }
        }
    }
}

/// `F` of one margin.
fn margin<'a, L: Loss + 'a>(
    loss: L,
    y: &'a [f64],
    penalty: impl Fn(&[f64]) -> f64 + 'a,
) -> impl Fn(&Array2<f64>, &Array2<f64>) -> (f64, f64) + 'a {
    move |scores, weights| {
        let n = y.len() as f64;
        let pairs = || scores.iter().zip(y);
        let risk = pairs().map(|(&t, &y)| loss.value(t, y)).sum::<f64>() / n;
        let slopes = pairs().map(|(&t, &y)| loss.derivative(t, y).abs()).sum::<f64>() / n;
        // Beside a kink the slope may be 0 here, and 1 where rounding moves the score to.
        let slopes = if loss.twice_differentiable() { slopes } else { 1.0 };
        let weights: Vec<f64> = weights.iter().copied().collect();
        (risk + penalty(&weights), slopes)
    }
}

fn l2(strength: f64) -> impl Fn(&[f64]) -> f64 {
    move |w| 0.5 * strength * w.iter().map(|w| w * w).sum::<f64>()
}

fn l1(strength: f64) -> impl Fn(&[f64]) -> f64 {
    move |w| strength * w.iter().map(|w| w.abs()).sum::<f64>()
}

/// A model of one margin.
macro_rules! one {
    ($name:expr, $far:expr, $model:expr) => {{
        let model = $model;
        let weights = model.weights.insert_axis(Axis(1));
        Answer {
            name: $name,
            far: $far,
            weights,
            intercepts: vec![model.intercept],
            report: model.report,
        }
    }};
}

/// The answers of an estimator on dense, sparse and far columns.
macro_rules! fits {
    ($columns:ident, $fit:expr, $y:expr) => {{
        let (fit, sparse) = ($fit, csr(&$columns.near));
        [
            fit.fit(&$columns.near, $y).ok().map(|model| one!("dense", false, model)),
            fit.fit(&sparse, $y).ok().map(|model| one!("sparse", false, model)),
            fit.fit(&$columns.far, $y).ok().map(|model| one!("dense", true, model)),
            fit.fit(&csr(&$columns.far), $y).ok().map(|model| one!("sparse", true, model)),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<Answer>>()
    }};
}

/// The points of paths on near and far columns, which have the same penalties.
fn points(near: &Path, far: &Path) -> Vec<(f64, Vec<Answer>)> {
    let answer = |far, path: &Path, k: usize| {
        let (point, at) = (path.points[k].dense(path.features), &path.points[k]);
        let weights = Array2::from_shape_vec((path.features, 1), point.weights).unwrap();
        Answer { name: "path", far, weights, intercepts: vec![point.intercept], report: at.report }
    };
    let both = |k: usize| vec![answer(false, near, k), answer(true, far, k)];
    (0..near.points.len()).map(|k| (near.points[k].penalty, both(k))).collect()
}

fn problems() -> u64 {
    std::env::var("FENCHEL_PROBLEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(16)
}

#[test]
fn reports_are_about_the_models() {
    let mut tallies: Vec<(&str, Tally)> = Vec::new();
    for seed in 0..problems() {
        let data = odd(seed);
        let columns = &Columns::new(&data.x);
        let (n, d) = data.x.dim();
        // Targets have units too.
        let unit = 10f64.powi((seed % 7) as i32 * 3 - 9);
        let y: Vec<f64> = data.y.iter().map(|y| y * unit).collect();
        let labels: Vec<i32> = data.y.iter().map(|y| i32::from(*y > 0.0)).collect();
        let signs: Vec<f64> = labels.iter().map(|l| f64::from(2 * l - 1)).collect();
        let counts: Vec<f64> = data.y.iter().map(|y| y.abs().round()).collect();
        let classes: Vec<i32> =
            data.y.iter().map(|y| i32::from(*y > -0.5) + i32::from(*y > 0.5)).collect();
        let mean = data.x.mean_axis(Axis(0)).unwrap();
        let square = (&data.x - &mean).iter().map(|v| v * v).sum::<f64>() / n as f64;
        let square = if square > 0.0 { square } else { 1.0 };
        let ridge = square * 10f64.powi(-(seed as i32 % 5));
        let lasso = square.sqrt() * 10f64.powi(-1 - (seed as i32 % 3));
        let what = |name: &str| format!("seed {seed}, {name}: {}, targets {unit:e}", data.what);
        macro_rules! check {
            ($name:literal, $answers:expr, $value:expr) => {{
                let place = tallies.iter().position(|(name, _)| *name == $name);
                let place = place.unwrap_or_else(|| {
                    tallies.push(($name, Tally::default()));
                    tallies.len() - 1
                });
                tallies[place].1.check(&what($name), columns, &$value, &$answers);
            }};
        }
        let fit = Ridge { l2: Some(ridge), ..Ridge::default() };
        check!("ridge", fits!(columns, fit, &y), margin(Squared, &y, l2(ridge)));
        let fit = Ridge { l2: Some(0.0), ..Ridge::default() };
        check!("least squares", fits!(columns, fit, &y), margin(Squared, &y, l2(0.0)));
        let fit = Lasso { l1: lasso * unit, ..Lasso::default() };
        check!("lasso", fits!(columns, fit, &y), margin(Squared, &y, l1(lasso * unit)));
        let fit = ElasticNet { l1: lasso * unit, l2: ridge, ..ElasticNet::default() };
        let penalty = |w: &[f64]| l1(lasso * unit)(w) + l2(ridge)(w);
        check!("elastic net", fits!(columns, fit, &y), margin(Squared, &y, penalty));
        let groups: Vec<Vec<usize>> =
            (0..d.div_ceil(3)).map(|g| (3 * g..d.min(3 * g + 3)).collect()).collect();
        let of_groups = |strength: f64| {
            let groups = groups.clone();
            move |w: &[f64]| {
                let norm = |g: &Vec<usize>| {
                    (g.len() as f64).sqrt() * g.iter().map(|&c| w[c] * w[c]).sum::<f64>().sqrt()
                };
                strength * groups.iter().map(norm).sum::<f64>()
            }
        };
        let fit =
            GroupLasso { groups: groups.clone(), group: lasso * unit, ..GroupLasso::default() };
        check!(
            "group lasso",
            fits!(columns, fit, &y),
            margin(Squared, &y, of_groups(lasso * unit))
        );
        let fit = PoissonRegressor { l2: ridge, ..PoissonRegressor::default() };
        check!("Poisson", fits!(columns, fit, &counts), margin(Poisson, &counts, l2(ridge)));
        let loss = Huber { delta: unit };
        let solve = |far| {
            let x = if far { &columns.far } else { &columns.near };
            let problem = Problem::new(x.as_design()?, &y, loss, Zero, ridge)?.with_intercept();
            let s = auto(&problem, &AutoSettings::default(), None, &mut ())?;
            let weights = Array2::from_shape_vec((d, 1), s.state.point.weights).unwrap();
            let intercepts = vec![s.state.point.intercept];
            Ok::<_, fenchel_finite_sum::Error>(Answer {
                name: "auto",
                far,
                weights,
                intercepts,
                report: s.report,
            })
        };
        let answers: Vec<Answer> = [false, true].into_iter().flat_map(solve).collect();
        check!("Huber", answers, margin(loss, &y, l2(ridge)));
        let grid = Grid::Given([1.0, 0.1, 0.01].map(|g| g * 0.5 * square.sqrt() * unit).to_vec());
        let settings = PathSettings { grid: grid.clone(), ..PathSettings::default() };
        let path = |x| elastic_net_path(x, &y, &settings);
        if let (Ok(a), Ok(b)) = (path(&columns.near), path(&columns.far)) {
            for (penalty, answers) in points(&a, &b) {
                check!("path", answers, margin(Squared, &y, l1(penalty)));
            }
        }
        let settings = GroupPathSettings { grid, ..GroupPathSettings::default() };
        let path = |x: &Array2<f64>| {
            let problem = Problem::new(x.as_design()?, &y, Squared, Zero, 0.0)?.with_intercept();
            group_path(&problem, &Groups::new(d, &groups)?, &settings)
        };
        if let (Ok(a), Ok(b)) = (path(&columns.near), path(&columns.far)) {
            for (penalty, answers) in points(&a, &b) {
                check!("group path", answers, margin(Squared, &y, of_groups(penalty)));
            }
        }
        let mut known: Vec<i32> = classes.clone();
        known.sort_unstable();
        known.dedup();
        let codes: Vec<usize> =
            classes.iter().map(|c| known.iter().position(|k| k == c).unwrap()).collect();
        let softmax = |strength: f64, scores: &Array2<f64>, weights: &Array2<f64>| {
            let risk: f64 = scores
                .axis_iter(Axis(0))
                .zip(&codes)
                .map(|(s, &code)| {
                    let top = s.iter().fold(f64::NEG_INFINITY, |m, s| m.max(*s));
                    s.iter().map(|s| (s - top).exp()).sum::<f64>().ln() + top - s[code]
                })
                .sum();
            (risk / n as f64 + 0.5 * strength * weights.iter().map(|w| w * w).sum::<f64>(), 1.0)
        };
        if n >= 10 {
            for x in [&columns.near, &columns.far] {
                let far = std::ptr::eq(x, &columns.far);
                if let Ok(cv) = (LassoCv { folds: 3, ..LassoCv::default() }).fit(x, &y) {
                    let penalty = cv.scores[cv.chosen].penalty;
                    let answers = [one!("chosen", far, cv.model)];
                    check!("lasso cv", answers, margin(Squared, &y, l1(penalty)));
                }
                if let Ok(cv) = (RidgeCv { folds: 3, ..RidgeCv::default() }).fit(x, &y) {
                    let penalty = cv.scores[cv.chosen].penalty;
                    let answers = [one!("chosen", far, cv.model)];
                    check!("ridge cv", answers, margin(Squared, &y, l2(penalty)));
                }
                if let Ok(cv) = (ElasticNetCv { folds: 3, ..ElasticNetCv::default() }).fit(x, &y) {
                    let (lasso, ridge) = (cv.scores[cv.chosen].l1(), cv.scores[cv.chosen].l2());
                    let answers = [one!("chosen", far, cv.model)];
                    let penalty = |w: &[f64]| l1(lasso)(w) + l2(ridge)(w);
                    check!("elastic net cv", answers, margin(Squared, &y, penalty));
                }
                if let Ok(cv) = (LinearSvcCv { folds: 3, ..LinearSvcCv::default() }).fit(x, &labels)
                {
                    let penalty = l2(cv.scores[cv.chosen].penalty);
                    let answers = [one!("chosen", far, cv.model)];
                    check!("SVM cv", answers, margin(SquaredHinge, &signs, penalty));
                }
                let fit = LinearSvcCv { folds: 3, loss: SvcLoss::Hinge, ..LinearSvcCv::default() };
                if let Ok(cv) = fit.fit(x, &labels) {
                    let penalty = l2(cv.scores[cv.chosen].penalty);
                    let answers = [one!("chosen", far, cv.model)];
                    check!("hinge cv", answers, margin(Hinge, &signs, penalty));
                }
                let fit = SoftmaxRegressionCv { folds: 3, ..SoftmaxRegressionCv::default() };
                if let Ok(cv) = fit.fit(x, &classes) {
                    let penalty = cv.scores[cv.chosen].penalty;
                    let SoftmaxModel { weights, intercepts, report, .. } = cv.model;
                    let intercepts = intercepts.to_vec();
                    let answers = [Answer { name: "chosen", far, weights, intercepts, report }];
                    check!("softmax cv", answers, |s: &_, w: &_| softmax(penalty, s, w));
                }
                let fit = LogisticRegressionCv { folds: 3, ..LogisticRegressionCv::default() };
                if let Ok(cv) = fit.fit(x, &labels) {
                    let penalty = cv.scores[cv.chosen].penalty;
                    let answers = [one!("chosen", far, cv.model)];
                    check!("logistic cv", answers, margin(Logistic, &signs, l2(penalty)));
                }
            }
        }
        // Labels of one class are refused.
        let fit = LogisticRegression { l2: Some(ridge), ..LogisticRegression::default() };
        check!("logistic", fits!(columns, fit, &labels), margin(Logistic, &signs, l2(ridge)));
        let fit = LogisticRegression { l1: lasso, ..LogisticRegression::default() };
        check!("logistic l1", fits!(columns, fit, &labels), margin(Logistic, &signs, l1(lasso)));
        let fit = LinearSvc { l2: Some(ridge), ..LinearSvc::default() };
        check!("SVM", fits!(columns, fit, &labels), margin(SquaredHinge, &signs, l2(ridge)));
        let fit = LinearSvc { loss: SvcLoss::Hinge, l2: Some(ridge), ..LinearSvc::default() };
        check!("hinge", fits!(columns, fit, &labels), margin(Hinge, &signs, l2(ridge)));
        let grid = Grid::Given([1.0, 0.1, 0.01].map(|g| g * 0.5 * square.sqrt()).to_vec());
        let settings = PathSettings { grid, ..PathSettings::default() };
        let path = |x| logistic_path(x, &labels, &settings);
        if let (Ok(a), Ok(b)) = (path(&columns.near), path(&columns.far)) {
            for (penalty, answers) in points(&a, &b) {
                check!("logistic path", answers, margin(Logistic, &signs, l1(penalty)));
            }
        }
        let fit = SoftmaxRegression { l2: Some(ridge), ..SoftmaxRegression::default() };
        let answers: Vec<Answer> = [
            ("dense", false, fit.fit(&columns.near, &classes)),
            ("sparse", false, fit.fit(&csr(&columns.near), &classes)),
            ("dense", true, fit.fit(&columns.far, &classes)),
        ]
        .into_iter()
        .filter_map(|(name, far, model)| {
            let model = model.ok()?;
            let (weights, intercepts) = (model.weights, model.intercepts.to_vec());
            Some(Answer { name, far, weights, intercepts, report: model.report })
        })
        .collect();
        let binary = LogisticRegression { l2: Some(ridge), ..LogisticRegression::default() };
        let fit = OneVsRest { binary };
        let all =
            [(false, fit.fit(&columns.near, &classes)), (true, fit.fit(&columns.far, &classes))];
        for class in 0..known.len() {
            let is_class: Vec<f64> =
                codes.iter().map(|&code| if code == class { 1.0 } else { -1.0 }).collect();
            let of_class = |(far, fitted): &(bool, Result<OneVsRestModel<i32>, _>)| {
                let model = fitted.as_ref().ok()?.models[class].clone();
                Some(one!("a class", *far, model))
            };
            let answers: Vec<Answer> = all.iter().filter_map(of_class).collect();
            check!("one against the rest", answers, margin(Logistic, &is_class, l2(ridge)));
        }
        check!("softmax", answers, |s: &_, w: &_| softmax(ridge, s, w));
    }
    for (name, tally) in &tallies {
        println!("{name}: {tally:?}");
        assert!(tally.answers > 0, "{name}");
    }
}
