//! `auto` on every kind of problem: which method it takes and why, and that it ends at the optimum.

use crate::common::multiclass::{
    codes, objective as multiclass_objective, reference as multiclass_reference,
};
use crate::common::{data, objective, reference};
use fenchel_finite_sum::general::{self, FiniteSum, Sum, SumSettings};
use fenchel_finite_sum::loss::{Absolute, Custom, Hinge, Logistic, Poisson, Squared};
use fenchel_finite_sum::multiclass::MulticlassProblem;
use fenchel_finite_sum::prelude::Refusal;
use fenchel_finite_sum::prelude::{Saved, Status, Stop};
use fenchel_finite_sum::prox::{
    FusedLasso, GroupNorm, Groups, Interval, L1, L1Ball, L1L2, L2Ball, L2Norm, NonnegativeL1,
    Simplex, SparseGroupLasso, TotalVariation, WeightedL1, Zero,
};
use fenchel_finite_sum::{
    AutoSettings, Composite, ElasticNet, Error, Lasso, LinearModel, LinearSvc, LogisticModel,
    LogisticRegression, Method, OneVsRest, Problem, Ridge, SoftmaxRegression, SvcLoss, auto,
    auto::Choice, multiclass,
};
use fenchel_linalg::{Csr, Dense};
use fenchel_optim::{Loss, Regulariser};
use ndarray::{Array2, array};

const D: usize = 6;

fn tight() -> AutoSettings {
    let stop = Stop { relative: 1e-9, absolute: 1e-9, max_passes: 1e5, ..Stop::default() };
    AutoSettings { stop, ..AutoSettings::default() }
}

/// Solves, compares with the independent solver, and returns the choice.
fn check<L: Loss + Copy, R: Composite>(loss: L, h: R, l2: f64, real: bool) -> Choice {
    let data = data(60, D, 0.7, 11);
    let y = if real { &data.reals } else { &data.signs };
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, y, loss, h.clone(), l2).unwrap().with_intercept();
    let solution = auto(&problem, &tight(), None, &mut ()).unwrap();
    let name = format!("{}, {}: {}", L::NAME, R::NAME, solution.state.choice);
    assert_eq!(solution.report.status, Status::Converged, "{name}: {}", solution.report);
    let (w, b) = reference(&data.dense, y, &loss, &h, l2, true);
    let value = |w: &[f64], b| objective(&data.dense, y, &loss, &h, l2, (w, b));
    let point = &solution.state.point;
    let off = value(&point.weights, point.intercept) - value(&w, b);
    assert!(off.abs() <= 1e-8, "{name}: {off:e}");
    // From where it ended there is nothing to do.
    let again = auto(&problem, &tight(), Some(point.clone()), &mut ()).unwrap();
    assert!(again.report.passes <= 20.0, "{name}: {}", again.report);
    solution.state.choice
}

#[test]
fn regularisers_that_tie_the_weights_together_go_to_fista() {
    let groups = || Groups::consecutive(&[2, 4]).unwrap();
    let by_fista = |choice: Choice| {
        assert_eq!(
            (choice.method, choice.reason.as_deref()),
            (Method::Fista, Some("the regulariser ties the weights together"))
        );
        assert_eq!(choice.switched, None);
        assert!(choice.to_string().ends_with("the regulariser ties the weights together"));
    };
    by_fista(check(Logistic, GroupNorm { groups: groups(), strength: 0.02 }, 0.0, false));
    let both = SparseGroupLasso { groups: groups(), l1: 0.01, group: 0.01 };
    by_fista(check(Logistic, both, 0.01, false));
    by_fista(check(Squared, L2Norm { strength: 0.02 }, 0.0, true));
    by_fista(check(Squared, L1Ball { radius: 1.0 }, 0.0, true));
    by_fista(check(Logistic, L2Ball { radius: 2.0 }, 0.0, false));
    by_fista(check(Squared, Simplex { radius: 1.0 }, 0.01, true));
    by_fista(check(Squared, TotalVariation { strength: 0.01 }, 0.02, true));
    by_fista(check(Squared, FusedLasso { l1: 0.01, tv: 0.01 }, 0.0, true));
}

#[test]
fn separable_regularisers_go_to_dual_ascent() {
    let weights = vec![0.0, 0.01, 0.02, 0.0, 0.03, 0.01];
    let nonnegative = NonnegativeL1 { strength: 0.01 };
    for h in [Interval::NONNEGATIVE, Interval { lower: -0.5, upper: 0.5 }] {
        let choice = check(Logistic, h, 0.05, false);
        assert_eq!(
            (choice.method, choice.reason.as_deref()),
            (Method::Catalyst, Some("the dual is well enough conditioned"))
        );
    }
    assert_eq!(check(Squared, nonnegative, 0.05, true).method, Method::Catalyst);
    // Without strong convexity, and with next to none.
    let choice = check(Logistic, WeightedL1 { weights: vec![0.02; D] }, 0.0, false);
    assert_eq!(
        (choice.method, choice.reason.as_deref()),
        (Method::Qning, Some("no strong convexity"))
    );
    let choice = check(Logistic, WeightedL1 { weights }, 1e-5, false);
    assert_eq!(
        (choice.method, choice.reason.as_deref()),
        (Method::Qning, Some("tiny strong convexity"))
    );
}

#[test]
fn a_loss_of_closures_goes_to_saga() {
    // Least squares, of which only values and slopes are known.
    let squared: fn(f64, f64) -> (f64, f64) = |t, y| (0.5 * (t - y) * (t - y), t - y);
    let loss = Custom::new(1.0, squared);
    let data = data(60, D, 0.7, 12);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.reals, loss, L1 { strength: 0.02 }, 0.01).unwrap();
    let solution = auto(&problem, &tight(), None, &mut ()).unwrap();
    let choice = solution.state.choice;
    assert_eq!(
        (choice.method, choice.reason.as_deref()),
        (Method::Saga, Some("the conjugate of the loss is not known"))
    );
    assert_eq!(solution.report.status, Status::Converged, "{}", solution.report);
    let h = L1 { strength: 0.02 };
    let (w, b) = reference(&data.dense, &data.reals, &Squared, &h, 0.01, false);
    let best = objective(&data.dense, &data.reals, &Squared, &h, 0.01, (&w, b));
    assert!((solution.report.certificate.objective().unwrap() - best).abs() <= 1e-8);
}

/// A loss of closures with far fewer rows than columns.
#[test]
fn a_loss_of_closures_goes_to_fista_where_rows_are_few() {
    let squared: fn(f64, f64) -> (f64, f64) = |t, y| (0.5 * (t - y) * (t - y), t - y);
    let x = Array2::from_shape_fn((4, 60), |(i, j)| ((i * 7 + j * 3) as f64).sin());
    let design = Dense::new(x.view()).unwrap();
    let loss = Custom::new(1.0, squared);
    let h = L1 { strength: 0.05 };
    let problem = Problem::new(design, &[1.0, -1.0, 0.5, 2.0], loss, h, 0.01).unwrap();
    let found = auto(&problem, &tight(), None, &mut ()).unwrap();
    let choice = found.state.choice;
    assert_eq!(
        (choice.method, choice.to_string().as_str()),
        (Method::Fista, "FISTA: more features than rows")
    );
    let same = Problem::new(design, &[1.0, -1.0, 0.5, 2.0], Squared, h, 0.01).unwrap();
    let best = auto(&same, &tight(), None, &mut ()).unwrap().report.certificate.objective();
    let objective = found.report.certificate.objective();
    assert!((objective.unwrap() - best.unwrap()).abs() <= 1e-8);
}

/// Counts that a full Newton step cannot follow: whichever method takes over, the objective is that of the one row that matters.
#[test]
fn huge_counts_end_at_the_optimum() {
    let x = array![[0.0, 1.0], [1.0, 0.5], [3.0, 0.0], [4.0, 1.0]];
    let design = Dense::new(x.view()).unwrap();
    let problem = Problem::new(design, &[0.0, 1e6, 3.0, 1e300], Poisson, Zero, 0.1).unwrap();
    let found = auto(&problem.with_intercept(), &AutoSettings::default(), None, &mut ()).unwrap();
    assert_eq!(found.report.status, Status::Converged, "{}", found.report);
    // exp(t) - y t is the least at t = ln y.
    let best = 0.25 * 1e300 * (1.0 - 1e300f64.ln());
    let objective = found.report.certificate.objective().unwrap();
    assert!((objective / best - 1.0).abs() <= 1e-6, "{objective:e} {best:e}");
}

#[test]
fn a_kink_needs_strong_convexity_and_a_separable_regulariser() {
    let data = data(30, D, 0.7, 13);
    let design = Csr::new(data.sparse.view()).unwrap();
    let settings = AutoSettings::default();
    let h = Interval::NONNEGATIVE;
    let problem = Problem::new(design, &data.signs, Hinge, h, 0.1).unwrap();
    let choice = auto(&problem, &settings, None, &mut ()).unwrap().state.choice;
    assert_eq!(
        (choice.method, choice.reason.as_deref()),
        (Method::Sdca, Some("the loss has a kink"))
    );
    let flat = Problem::new(design, &data.signs, Hinge, h, 0.0).unwrap();
    let refused = auto(&flat, &settings, None, &mut ());
    assert!(matches!(
        refused,
        Err(Error::Refused(Refusal::NeedsStrongConvexity { method: "auto" }))
    ));
    let ball = L2Ball { radius: 1.0 };
    let joint = Problem::new(design, &data.reals, Absolute, ball, 0.1).unwrap();
    assert!(matches!(
        auto(&joint, &settings, None, &mut ()),
        Err(Error::Refused(Refusal::Unsupported { .. }))
    ));
    let counts: Vec<f64> = (0..30).map(|i| f64::from(i % 3)).collect();
    let problem = Problem::new(design, &counts, Poisson, h, 0.1).unwrap();
    let choice = auto(&problem, &settings, None, &mut ()).unwrap().state.choice;
    assert_eq!(
        (choice.method, choice.reason.as_deref()),
        (Method::Sdca, Some("the loss has no curvature bound"))
    );
}

/// A penalty of one's own, with neither conjugate nor dual scale: FISTA without a line of code.
#[test]
fn a_regulariser_of_ones_own_is_taken() {
    #[derive(Clone)]
    struct Bounded(Interval);
    impl Regulariser for Bounded {
        const NAME: &'static str = "bounded";
        fn check(&self, columns: usize) -> Result<(), fenchel_linalg::Invalid> {
            self.0.check(columns)
        }
        fn value(&self, x: &[f64]) -> f64 {
            self.0.value(x)
        }
        fn prox(&self, x: &mut [f64], step: f64) {
            self.0.prox(x, step);
        }
    }
    impl Composite for Bounded {}
    let choice = check(Logistic, Bounded(Interval { lower: -0.3, upper: 0.4 }), 0.05, false);
    assert_eq!(choice.method, Method::Fista);
}

#[test]
fn several_classes_go_to_newton_where_they_are_few() {
    let data = data(80, D, 0.7, 14);
    let y = codes(&data.reals, 14);
    let pose = |l2: f64| {
        let design = Dense::new(data.dense.view()).unwrap();
        MulticlassProblem::new(design, &y, 3, Zero, l2).unwrap().with_intercepts().unwrap()
    };
    for l2 in [0.1, 1e-4, 0.0] {
        let s = multiclass::auto(&pose(l2), &tight(), None, &mut ()).unwrap();
        assert_eq!(s.report.status, Status::Converged, "{}", s.report);
        assert_eq!(s.state.choice.method, Method::Newton, "{}", s.state.choice);
    }
    let (w, b) = multiclass_reference(&data.dense, &y, 3, &Zero, 0.05, true);
    let expected = multiclass_objective(&data.dense, &y, 3, &Zero, 0.05, &w, &b);
    // Whatever is allowed, the optimum is the same.
    for max_memory in [Some(0), None] {
        for l2 in [0.05, 1e-5, 0.0] {
            let settings = AutoSettings { max_memory, ..tight() };
            let s = multiclass::auto(&pose(l2), &settings, None, &mut ()).unwrap();
            let choice = s.state.choice;
            assert_eq!(s.report.status, Status::Converged, "{choice}: {}", s.report);
            if l2 == 0.05 {
                let found = s.report.certificate.objective().unwrap();
                assert!((found - expected).abs() <= 1e-8, "{found} {expected}");
            }
            let method = if max_memory.is_some() { Method::NewtonCg } else { Method::Newton };
            assert_eq!((choice.method, choice.reason.as_deref()), (method, None), "{choice}");
        }
    }
    let design = Csr::new(data.sparse.view()).unwrap();
    let sparse = MulticlassProblem::new(design, &y, 3, L1 { strength: 0.02 }, 0.0).unwrap();
    let s = multiclass::auto(&sparse, &tight(), None, &mut ()).unwrap();
    assert_eq!((s.state.choice.method, s.report.status), (Method::Catalyst, Status::Converged));
    let groups = multiclass::feature_groups(D, 3).unwrap();
    let h = GroupNorm { groups, strength: 0.02 };
    let problem = MulticlassProblem::new(design, &y, 3, h, 0.0).unwrap();
    let s = multiclass::auto(&problem, &tight(), None, &mut ()).unwrap();
    assert_eq!((s.state.choice.method, s.report.status), (Method::Fista, Status::Converged));
    let wide = fenchel_finite_sum::multiclass::MulticlassPoint::zero(D + 1, 3);
    assert!(multiclass::auto(&problem, &tight(), Some(wide), &mut ()).is_err());
}

/// Many features: Hessians are too dear, and the conditioning decides.
#[test]
fn several_classes_with_many_features_go_by_their_conditioning() {
    let x = Array2::from_shape_fn((30, 400), |(i, j)| ((i * 31 + j * 17 + i * j) as f64).sin());
    let y: Vec<usize> = (0..30).map(|i| (i * i) % 3).collect();
    let choice = |beta: f64| {
        let design = Dense::new(x.view()).unwrap();
        let problem = MulticlassProblem::new(design, &y, 2, Zero, 0.0).unwrap();
        let l2 = beta * 0.5 * problem.mean_norm_squared() / 30.0;
        let problem = problem.penalised(Zero, l2).unwrap();
        let s = multiclass::auto(&problem, &AutoSettings::default(), None, &mut ()).unwrap();
        assert_eq!(s.report.status, Status::Converged, "{}", s.report);
        s.state.choice
    };
    assert_eq!(choice(4.0).method, Method::Catalyst);
    assert_eq!(choice(0.04).method, Method::NewtonCg);
    assert_eq!(choice(1e-4).method, Method::NewtonCg);
}

/// `f_i(x) = (w_i / 2) ||x - p_i||^2`: the optimum is a weighted mean, shrunk.
struct Springs(Vec<(f64, [f64; 2])>);

impl FiniteSum for Springs {
    type Scratch = ();
    fn scratch(&self) {}
    fn terms(&self) -> usize {
        self.0.len()
    }
    fn dimension(&self) -> usize {
        2
    }
    fn gradient(&self, i: usize, x: &[f64], (): &mut (), gradient: &mut [f64]) -> f64 {
        let (w, p) = self.0[i];
        let mut value = 0.0;
        for c in 0..2 {
            gradient[c] = w * (x[c] - p[c]);
            value += 0.5 * w * (x[c] - p[c]).powi(2);
        }
        value
    }
    fn smoothness(&self, i: usize) -> f64 {
        self.0[i].0
    }
}

#[test]
fn general_sums_go_by_conditioning_and_memory() {
    let springs = Springs((0..20).map(|i| (1.0 + f64::from(i % 3), [f64::from(i), 1.0])).collect());
    let total: f64 = springs.0.iter().map(|(w, _)| w / 20.0).sum();
    let pull: f64 = springs.0.iter().map(|(w, p)| w * p[0] / 20.0).sum();
    let stop = Stop { relative: 1e-10, ..Stop::default() };
    for (l2, max_memory, method, reason) in [
        (1.0, Some(1000), Method::Finito, Some("well conditioned terms, and a table that fits")),
        (0.1, Some(1000), Method::Saga, Some("the table of gradients fits into the memory")),
        (1.0, Some(10), Method::Svrg, Some("the table of gradients does not fit into the memory")),
    ] {
        let sum = Sum::new(&springs, Zero, l2).unwrap();
        let settings = SumSettings { max_memory, stop, ..Default::default() };
        let s = general::auto(&sum, &settings, None, &mut ()).unwrap();
        assert_eq!((s.state.choice.method, s.state.choice.reason.as_deref()), (method, reason));
        assert_eq!(s.report.status, Status::Converged, "{method:?}: {}", s.report);
        let expected = [pull / (total + l2), total / (total + l2)];
        for (x, expected) in s.state.point.point.iter().zip(expected) {
            assert!((x - expected).abs() <= 1e-4, "{method:?}: {x} {expected}");
        }
        let at = |start| general::auto(&sum, &settings, Some(start), &mut ()).unwrap().report;
        let again = at(s.state.point.point.clone().into());
        assert!(again.passes <= 4.0, "{method:?}: {again}");
        assert_eq!(at(s.state.point).passes, 0.0, "{method:?}");
    }
    let sum = Sum::new(&springs, L1 { strength: 0.5 }, 1.0).unwrap();
    let settings = SumSettings { stop, ..Default::default() };
    let s = general::auto(&sum, &settings, None, &mut ()).unwrap();
    assert_eq!(s.state.choice.method, Method::Saga);
}

/// A fitted model says which method was chosen, and so does its file.
#[test]
fn models_say_how_they_were_fitted() {
    let data = data(80, D, 0.7, 15);
    let y = codes(&data.reals, 15);
    let signs: Vec<bool> = data.signs.iter().map(|y| *y > 0.0).collect();
    let model = LogisticRegression::default().fit(&data.dense, &signs).unwrap();
    let choice = model.choice.clone().unwrap();
    assert!(choice.to_string().contains("passes predicted"), "{choice}");
    let mut file = vec![];
    model.save(&mut file).unwrap();
    assert_eq!(LogisticModel::<bool>::load(&file[..]).unwrap().choice, Some(choice));
    // A file of a version that did not say.
    let text = String::from_utf8(file).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    json["model"].as_object_mut().unwrap().remove("choice").unwrap();
    let (kind, version) = (LogisticModel::<bool>::KIND, LogisticModel::<bool>::VERSION);
    let file = fenchel_optim::model::envelope(kind, version, &json["model"].to_string());
    let old = LogisticModel::<bool>::load(file.as_bytes()).unwrap();
    assert_eq!((old.choice, old.weights), (None, model.weights));

    let of = |model: LinearModel| model.choice.unwrap().method;
    let (x, t) = (&data.dense, &data.reals);
    assert_eq!(of(Ridge::default().fit(x, t).unwrap()), Method::Newton);
    assert_eq!(of(Lasso { l1: 0.1, ..Default::default() }.fit(x, t).unwrap()), Method::Newton);
    assert_eq!(of(ElasticNet { l1: 0.1, ..Default::default() }.fit(x, t).unwrap()), Method::Newton);
    let svc = LinearSvc { loss: SvcLoss::Hinge, ..Default::default() }.fit(x, &signs).unwrap();
    assert_eq!(svc.choice.unwrap().reason.as_deref(), Some("the loss has a kink"));
    assert_eq!(SoftmaxRegression::default().fit(x, &y).unwrap().choice.unwrap().beta.signum(), 1.0);
    let grouped = SoftmaxRegression { group: 0.01, ..Default::default() }.fit(x, &y).unwrap();
    assert_eq!(grouped.choice.unwrap().method, Method::Fista);
    let rest = OneVsRest::default().fit(x, &y).unwrap();
    assert!(rest.models.iter().all(|model| model.choice.is_some()));
    assert_eq!(check(Logistic, L1L2 { l1: 0.01, l2: 0.01 }, 0.0, false).method, Method::Catalyst);
}

/// Dense data that is mostly zeros is solved as the same data stored sparse, bit for bit.
#[test]
fn zeros_of_several_classes_are_left_out() {
    let data = data(60, 24, 0.15, 4);
    let y: Vec<usize> =
        data.reals.iter().map(|t| usize::from(*t > 0.2) + usize::from(*t > -0.2)).collect();
    for group in [0.0, 0.01] {
        let fit = SoftmaxRegression { group, stop: Stop::at_relative(1e-6), ..Default::default() };
        let (dense, sparse) =
            (fit.fit(&data.dense, &y).unwrap(), fit.fit(&data.sparse, &y).unwrap());
        assert_eq!(dense.weights, sparse.weights);
        assert_eq!(dense.intercepts, sparse.intercepts);
        assert_eq!(dense.report.without_seconds(), sparse.report.without_seconds());
    }
}
