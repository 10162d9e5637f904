//! Fits from a former model: less is left to do, at the same penalty and at the next one, and the answer is that of a cold fit.

use fenchel_ggm::joint::{Coupling, JointGraphicalLasso};
use fenchel_ggm::scale_free::NodeGroups;
use fenchel_ggm::synthetic::{barabasi_albert, diagonally_dominant};
use fenchel_ggm::{
    Error, Fit, GaussianCrf, GaussianModel, GraphicalLasso, LatentGraphicalLasso,
    PartialCorrelationLasso, ScaleFree, Statistics,
};
use fenchel_linalg::Invalid;
use fenchel_optim::{Report, Status, Stop};
use ndarray::Array2;

use crate::common::statistics;

const GAP: f64 = 1e-5;

fn stop() -> Stop {
    Stop { absolute: GAP, relative: 0.0, max_passes: 20_000.0, ..Stop::default() }
}

/// Thirty variables in units that differ by factors of up to a hundred.
fn data(seed: u64) -> Statistics {
    let edges = barabasi_albert(30, 2, &mut fenchel_optim::random::stream(seed, 1)).unwrap();
    let mut found = statistics(diagonally_dominant(30, &edges, -0.2).view(), 120, seed);
    let unit = |i: usize| [0.1, 1.0, 10.0][i % 3];
    found.covariance.indexed_iter_mut().for_each(|((i, j), c)| *c *= unit(i) * unit(j));
    found
}

/// Reports of a cold fit, of one from its model, of a cold fit at the next penalty and of one there from the first model.
fn check<M>(
    name: &str,
    objective_tolerance: f64,
    fit: impl Fn(bool, Option<&M>) -> Result<M, Error>,
    report: impl Fn(&M) -> Report,
) {
    let first = fit(false, None).unwrap();
    let again = report(&fit(false, Some(&first)).unwrap());
    let cold = report(&fit(true, None).unwrap());
    let warm = report(&fit(true, Some(&first)).unwrap());
    for report in [report(&first), again, cold, warm] {
        assert_eq!(report.status, Status::Converged, "{name}: {report}");
    }
    let passes = report(&first).passes;
    assert!(again.passes < passes, "{name}: {} of {passes}", again.passes);
    assert!(warm.passes < cold.passes, "{name}: {} against {}", warm.passes, cold.passes);
    let (a, b) = (warm.certificate.objective().unwrap(), cold.certificate.objective().unwrap());
    assert!((a - b).abs() <= objective_tolerance, "{name}: {a} {b}");
}

#[test]
fn the_answer_is_that_of_a_cold_fit_and_comes_sooner() {
    let c = data(5);
    let level = |next: bool| if next { 0.19 } else { 0.2 };
    let gaussian = |model: &GaussianModel| model.report;
    let lasso =
        |next| GraphicalLasso { l1: level(next).into(), stop: stop(), ..Default::default() };
    let fit = |next, start: Option<&GaussianModel>| match start {
        Some(start) => lasso(next).fit_with(&c, Fit::new().start(start)),
        None => lasso(next).fit(&c),
    };
    check("graphical lasso", GAP, fit, gaussian);
    let free = |next| ScaleFree { strength: level(next), stop: stop(), ..Default::default() };
    let fit = |next, start: Option<&GaussianModel>| match start {
        Some(start) => free(next).fit_with(&c, Fit::new().start(start)),
        None => free(next).fit(&c),
    };
    check("scale-free", GAP, fit, gaussian);
    let groups = |next| NodeGroups { strength: level(next), stop: stop(), ..Default::default() };
    let fit = |next, start: Option<&GaussianModel>| match start {
        Some(start) => groups(next).fit_with(&c, Fit::new().start(start)),
        None => groups(next).fit(&c),
    };
    check("node groups", GAP, fit, gaussian);
    let hidden = |next| LatentGraphicalLasso {
        l1: level(next).into(),
        rank_penalty: 0.6,
        stop: stop(),
        ..Default::default()
    };
    let fit = |next, start: Option<&_>| match start {
        Some(start) => hidden(next).fit_with(&c, Fit::new().start(start)),
        None => hidden(next).fit(&c),
    };
    check("hidden variables", GAP, fit, |model| model.report);
    let field = |next| GaussianCrf {
        l1: level(next),
        input_l1: level(next),
        stop: stop(),
        ..Default::default()
    };
    let fit = |next, start: Option<&_>| match start {
        Some(start) => field(next).fit_statistics(&c, 12, Fit::new().start(start)),
        None => field(next).fit_statistics(&c, 12, Fit::new()),
    };
    check("conditional field", GAP, fit, |model| model.report);
}

#[test]
fn groups_start_from_groups() {
    let groups = [data(5), data(6), data(7)];
    for coupling in [Coupling::Group, Coupling::Fused] {
        let joint = |next: bool| JointGraphicalLasso {
            l1: if next { 0.0475 } else { 0.05 },
            coupling,
            stop: stop(),
            ..Default::default()
        };
        let fit = |next, start: Option<&_>| match start {
            Some(start) => joint(next).fit_with(&groups, Fit::new().start(start)),
            None => joint(next).fit(&groups),
        };
        check("joint", GAP, fit, |model| model.report);
        let mut looks = 0;
        let watched = joint(false).fit_with(
            &groups,
            Fit::new().watch(&mut |_| {
                looks += 1;
                std::ops::ControlFlow::Break(())
            }),
        );
        assert_eq!((watched.unwrap().report.status, looks), (Status::Stopped, 1));
    }
}

/// The problem is not convex: the objective of the start is what a warm fit must not exceed.
#[test]
fn partial_correlations_go_on_from_a_model() {
    let c = data(5);
    let fit = |l1| PartialCorrelationLasso { l1, ..Default::default() };
    let first = fit(0.1).fit(&c).unwrap();
    let again = fit(0.1).fit_with(&c, Fit::new().start(&first)).unwrap();
    assert!(again.report.passes <= 1.0, "{}", again.report);
    let (cold, warm) =
        (fit(0.09).fit(&c).unwrap(), fit(0.09).fit_with(&c, Fit::new().start(&first)).unwrap());
    assert_eq!(warm.report.status, Status::Converged);
    assert!(warm.report.passes < cold.report.passes);
    let (correlation, units) = c.correlation();
    let value = |model: &GaussianModel| {
        let theta =
            Array2::from_shape_fn((30, 30), |(i, j)| model.precision[[i, j]] * units[i] * units[j]);
        let (_, log_det) = crate::common::inverse(&theta).unwrap();
        let mut value = (&correlation * &theta).sum() - log_det;
        for ((i, j), t) in theta.indexed_iter().filter(|((i, j), _)| i != j) {
            value += 0.09 * t.abs() / (theta[[i, i]] * theta[[j, j]]).sqrt();
        }
        value
    };
    assert!(value(&warm) < value(&first));
    assert!((value(&warm) - warm.report.certificate.objective().unwrap()).abs() < 1e-9);
}

#[test]
fn starts_that_do_not_fit_are_refused_by_name() {
    let c = data(5);
    let mut model = GraphicalLasso::default().fit(&c).unwrap();
    let small = Statistics::from_covariance(Array2::<f64>::eye(4).view(), 10).unwrap();
    let refused = |result: Result<GaussianModel, Error>| {
        let text = result.unwrap_err().to_string();
        assert!(text.contains("start"), "{text}");
    };
    refused(GraphicalLasso::default().fit_with(&small, Fit::new().start(&model)));
    refused(ScaleFree::default().fit_with(&small, Fit::new().start(&model)));
    refused(NodeGroups::default().fit_with(&small, Fit::new().start(&model)));
    refused(PartialCorrelationLasso::default().fit_with(&small, Fit::new().start(&model)));
    model.precision[[3, 3]] = -1.0;
    refused(ScaleFree::default().fit_with(&c, Fit::new().start(&model)));
    let latent = LatentGraphicalLasso::default();
    let mut hidden = latent.fit(&c).unwrap();
    assert!(latent.fit_with(&small, Fit::new().start(&hidden)).is_err());
    hidden.sparse = Array2::zeros((30, 7));
    assert!(matches!(
        latent.fit_with(&c, Fit::new().start(&hidden)),
        Err(Error::Invalid(Invalid::Layout { .. }))
    ));
    let crf = GaussianCrf::default();
    let field = crf.fit_statistics(&c, 12, Fit::new()).unwrap();
    assert!(
        crf.fit_statistics(&c, 13, Fit::new().start(&field))
            .unwrap_err()
            .to_string()
            .contains("inputs of the start")
    );
    let joint = JointGraphicalLasso::default();
    let both = joint.fit(&[c.clone(), data(6)]).unwrap();
    let error =
        joint.fit_with(std::slice::from_ref(&c), Fit::new().start(&both)).unwrap_err().to_string();
    assert!(error.contains("groups of the start"), "{error}");
}
