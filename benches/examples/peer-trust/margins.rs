//! Losses of margins and of scores: finite sums, their estimators, generalised linear models.

use std::error::Error;

use fenchel_expfam::glm::{
    Glm, Identity, InverseSquare, Logistic as Binomial, NegativeBinomialCanonical,
    NegativeBinomialLog, PoissonLog, Reciprocal, ScalarFamily,
};
use fenchel_expfam::maximum_entropy::maximum_entropy;
use fenchel_finite_sum::estimators::HuberRegressor;
use fenchel_finite_sum::loss::{
    Hinge, Huber, Logistic, Poisson, SmoothedHinge, Squared, SquaredHinge,
};
use fenchel_finite_sum::methods as erm;
use fenchel_finite_sum::methods::{
    CatalystSettings, CocoaSettings, CoordinateSettings, FinitoSettings, FistaSettings,
    LbfgsSettings, MisoMuSettings, MisoSettings, NewtonCgSettings, NewtonSettings,
    ProxFinitoSettings, QningSettings, SagSettings, SagaSettings, SdcaSettings, SgdSettings,
    SubsampledNewtonSettings, SvrgSettings,
};
use fenchel_finite_sum::multiclass::{self, MulticlassProblem, MulticlassSettings};
use fenchel_finite_sum::path::{Grid, PathSettings, path};
use fenchel_finite_sum::prox::{L1, Zero};
use fenchel_finite_sum::{
    AutoSettings, ElasticNet, GroupLasso, Lasso, LinearSvc, LogisticRegression, PoissonRegressor,
    Problem, Ridge, SoftmaxRegression, SvcLoss, auto,
};
use fenchel_linalg::Dense;
use fenchel_optim::random::Order;

use crate::{Answers, Request};

/// Weights, and the intercept if the problem has one.
fn margin(weights: &[f64], intercept: f64, request: &Request) -> Vec<f64> {
    let mut point = weights.to_vec();
    point.extend(request.intercept.then_some(intercept));
    point
}

macro_rules! run {
    ($answers:ident, $r:ident, $p:ident: $($name:literal $method:path, $settings:ident, $($part:ident).+;)*) => {$(
        $answers.ask($name, || {
            let settings = $settings { stop: $r.stop(), ..Default::default() };
            let found = $method($p, &settings, None, &mut ())?;
            let point = found.$($part).+;
            Ok((margin(&point.weights, point.intercept, $r), found.report))
        });
    )*};
}

macro_rules! linear {
    (dual: $a:ident, $r:ident, $p:ident) => {
        run!($a, $r, $p:
            "sdca" erm::sdca, SdcaSettings, state.point;
            "prox_finito" erm::prox_finito, ProxFinitoSettings, state.point;
            "catalyst" erm::catalyst, CatalystSettings, state.point;
            "qning" erm::qning, QningSettings, state.point;
            "miso_mu" erm::miso_mu, MisoMuSettings, state.point;
            "cocoa" erm::cocoa, CocoaSettings, state.point;
        );
        $a.ask("sdca by gaps", || {
            let s = SdcaSettings { stop: $r.stop(), order: Order::Gap, ..Default::default() };
            let found = erm::sdca($p, &s, None, &mut ())?;
            Ok((margin(&found.state.point.weights, found.state.point.intercept, $r), found.report))
        });
    };
    (second: $a:ident, $r:ident, $p:ident) => {
        run!($a, $r, $p:
            "newton" erm::newton, NewtonSettings, state;
            "auto" auto, AutoSettings, state.point;
        );
    };
    (primal: $a:ident, $r:ident, $p:ident) => {
        run!($a, $r, $p:
            "saga" erm::saga, SagaSettings, state.point;
            "svrg" erm::svrg, SvrgSettings, state.point;
            "sgd" erm::sgd, SgdSettings, state.point;
            "fista" erm::fista, FistaSettings, state.point;
            "coordinate_descent" erm::coordinate_descent, CoordinateSettings, state;
        );
    };
    (smooth: $a:ident, $r:ident, $p:ident) => {
        run!($a, $r, $p:
            "sag" erm::sag, SagSettings, state.point;
            "finito" erm::finito, FinitoSettings, state.point;
            "miso" erm::miso, MisoSettings, state.point;
            "newton_cg" erm::newton_cg, NewtonCgSettings, state;
            "subsampled_newton" erm::subsampled_newton, SubsampledNewtonSettings, state;
            "lbfgs" erm::lbfgs, LbfgsSettings, state.point;
        );
    };
    (path: $a:ident, $r:ident, $p:ident) => {
        $a.ask("path", || {
            let penalties = [4.0, 2.0, 1.0].map(|by| by * $r.l1).to_vec();
            let s = PathSettings { grid: Grid::Given(penalties), l1_ratio: 1.0, intercept: $r.intercept, stop: $r.stop(), ..Default::default() };
            let all = path($p, &s)?;
            let last = all.points.last().ok_or("no point")?;
            let point = last.dense(all.features);
            Ok((margin(&point.weights, point.intercept, $r), last.report))
        });
    };
    ($a:ident, $r:ident, $loss:expr, $prox:expr, $($kind:ident),*) => {{
        let x = $r.matrix();
        let posed = (|| {
            let problem = Problem::new(Dense::new(x.view())?, &$r.y, $loss, $prox, $r.l2)?;
            let problem = if $r.intercept { problem.with_intercept() } else { problem };
            match &$r.weights {
                Some(weights) => problem.with_weights(weights),
                None => Ok(problem),
            }
        })();
        match posed {
            Ok(problem) => {
                let p = &problem;
                $(linear!($kind: $a, $r, p);)*
            }
            Err(error) => $a.ask("problem", || Err(error.into())),
        }
    }};
}

pub(crate) fn linear(a: &mut Answers, r: &Request) -> Result<(), Box<dyn Error>> {
    let l1 = L1 { strength: r.l1 };
    match (r.loss.as_str(), r.l1 > 0.0) {
        ("logistic", false) => linear!(a, r, Logistic, Zero, dual, second, primal, smooth),
        ("logistic", true) => linear!(a, r, Logistic, l1, dual, second, primal),
        ("squared", false) => linear!(a, r, Squared, Zero, dual, second, primal, smooth),
        ("squared", true) => linear!(a, r, Squared, l1, dual, second, primal),
        ("huber", _) => linear!(a, r, Huber { delta: 1.0 }, Zero, dual, second),
        ("smoothed hinge", _) => linear!(a, r, SmoothedHinge { width: 1.0 }, Zero, dual, second),
        ("squared hinge", false) => {
            linear!(a, r, SquaredHinge, Zero, dual, second, primal, smooth)
        }
        ("squared hinge", true) => linear!(a, r, SquaredHinge, l1, dual, second, primal),
        ("hinge", _) => linear!(a, r, Hinge, Zero, dual, second),
        ("poisson", false) => linear!(a, r, Poisson, Zero, dual, second),
        ("poisson", true) => linear!(a, r, Poisson, l1, dual, second),
        _ => {}
    }
    if r.loss == "squared" && r.l1 > 0.0 {
        linear!(a, r, Squared, Zero, path);
    } else if r.loss == "logistic" && r.l1 > 0.0 {
        linear!(a, r, Logistic, Zero, path);
    }
    estimators(a, r);
    Ok(())
}

fn estimators(a: &mut Answers, r: &Request) {
    let (x, stop, intercept) = (r.matrix(), r.stop(), r.intercept);
    let labels: Vec<i32> = r.y.iter().map(|y| *y as i32).collect();
    macro_rules! fit {
        ($name:literal, $fit:expr, $y:expr) => {
            a.ask($name, || {
                let model = $fit.fit_with(&x, $y, r.fit())?;
                let weights = model.weights.to_vec();
                Ok((margin(&weights, model.intercept, r), model.report))
            })
        };
    }
    let (l1, l2) = (r.l1, r.l2);
    let rest = || Default::default();
    match r.loss.as_str() {
        "logistic" => {
            let fit = LogisticRegression { l1, l2: Some(l2), intercept, stop, ..rest() };
            fit!("LogisticRegression", fit, &labels);
        }
        "squared" => {
            fit!("ElasticNet", ElasticNet { l1, l2, intercept, stop, seed: 0 }, &r.y);
            if l1 == 0.0 {
                fit!("Ridge", Ridge { l2: Some(l2), intercept, stop, ..Default::default() }, &r.y);
            } else if l2 == 0.0 {
                fit!("Lasso", Lasso { l1, intercept, stop, seed: 0 }, &r.y);
            }
        }
        "hinge" | "squared hinge" if l1 == 0.0 => {
            let squared = r.loss == "squared hinge";
            let fit = LinearSvc {
                loss: if squared { SvcLoss::SquaredHinge } else { SvcLoss::Hinge },
                l2: Some(l2),
                intercept,
                stop,
                ..Default::default()
            };
            fit!("LinearSvc", fit, &labels);
        }
        "poisson" => {
            fit!("PoissonRegressor", PoissonRegressor { l1, l2, intercept, stop, seed: 0 }, &r.y);
        }
        "groups" => {
            let groups = r.groups.clone();
            fit!(
                "GroupLasso",
                GroupLasso { groups, group: l1, l1: l2, intercept, stop, ..Default::default() },
                &r.y
            );
        }
        "scaled huber" => a.ask("HuberRegressor", || {
            let fit = HuberRegressor { l2, intercept, stop, ..Default::default() };
            let model = fit.fit_with(&x, &r.y, r.fit())?;
            let weights = model.linear.weights.to_vec();
            let mut point = margin(&weights, model.linear.intercept, r);
            point.push(model.scale);
            Ok((point, model.linear.report))
        }),
        _ => {}
    }
}

pub(crate) fn softmax(a: &mut Answers, r: &Request) -> Result<(), Box<dyn Error>> {
    let x = r.matrix();
    let labels: Vec<usize> = r.y.iter().map(|y| *y as usize).collect();
    let classes = 1 + labels.iter().max().copied().unwrap_or(0);
    macro_rules! ask {
        ($p:ident, $name:literal, $method:path, $settings:ident, $($part:ident).+) => {
            a.ask($name, || {
                let settings = $settings { stop: r.stop(), ..Default::default() };
                let found = $method($p, &settings, None, &mut ())?;
                let mut point = found.$($part).+.weights;
                point.extend(found.$($part).+.intercepts.iter().filter(|_| r.intercept));
                Ok((point, found.report))
            })
        };
    }
    macro_rules! all {
        ($prox:expr, $p:ident, $smooth:expr) => {{
            let posed = (|| {
                let problem =
                    MulticlassProblem::new(Dense::new(x.view())?, &labels, classes, $prox, r.l2)?;
                let problem = if r.intercept { problem.with_intercepts()? } else { problem };
                match &r.weights {
                    Some(weights) => problem.with_weights(weights),
                    None => Ok(problem),
                }
            })();
            match posed {
                Ok(problem) => {
                    let $p = &problem;
                    ask!($p, "multiclass sdca", multiclass::sdca, MulticlassSettings, state.point);
                    ask!(
                        $p,
                        "multiclass catalyst",
                        multiclass::catalyst,
                        MulticlassSettings,
                        state.point
                    );
                    ask!($p, "multiclass fista", multiclass::fista, FistaSettings, state.point);
                    ask!($p, "multiclass auto", multiclass::auto, AutoSettings, state.point);
                    $smooth
                }
                Err(error) => a.ask("problem", || Err(error.into())),
            }
        }};
    }
    if r.l1 > 0.0 {
        all!(L1 { strength: r.l1 }, p, ());
    } else {
        all!(Zero, p, {
            ask!(p, "multiclass newton", multiclass::newton, NewtonSettings, state);
            ask!(p, "multiclass newton_cg", multiclass::newton_cg, NewtonCgSettings, state);
            ask!(p, "multiclass lbfgs", multiclass::lbfgs, LbfgsSettings, state.point);
        });
    }
    a.ask("SoftmaxRegression", || {
        let fit = SoftmaxRegression {
            l1: r.l1,
            l2: Some(r.l2),
            intercept: r.intercept,
            stop: r.stop(),
            ..Default::default()
        };
        let model = fit.fit_with(&x, &labels, r.fit())?;
        let mut point: Vec<f64> = model.weights.iter().copied().collect();
        point.extend(model.intercepts.iter().filter(|_| r.intercept));
        Ok((point, model.report))
    });
    Ok(())
}

/// The law with given means, by its multipliers.
pub(crate) fn entropy(a: &mut Answers, r: &Request) -> Result<(), Box<dyn Error>> {
    a.ask("maximum_entropy", || {
        let law = maximum_entropy(&r.cost, r.matrix().view(), &r.y)?;
        Ok((law.multipliers, law.report))
    });
    Ok(())
}

pub(crate) fn glm(a: &mut Answers, r: &Request) -> Result<(), Box<dyn Error>> {
    fn family<F: ScalarFamily + Clone>(a: &mut Answers, r: &Request, family: F) {
        let name = format!("Glm {} {}", F::NAME, F::LINK);
        a.ask(&name, || {
            let glm = Glm { intercept: r.intercept, l2: r.l2, ..Glm::new(family) };
            let model = glm.fit_with(&r.matrix(), &r.y, r.fit())?;
            Ok((margin(&model.coefficients, model.intercept, r), model.report))
        });
    }
    match r.loss.as_str() {
        "binomial" => family(a, r, Binomial),
        "poisson" => family(a, r, PoissonLog),
        "normal" => family(a, r, Identity),
        "gamma" => family(a, r, Reciprocal),
        "inverse gaussian" => family(a, r, InverseSquare),
        "geometric" => family(a, r, NegativeBinomialCanonical { size: 1.5 }),
        _ => family(a, r, NegativeBinomialLog { size: 1.5 }),
    }
    Ok(())
}
