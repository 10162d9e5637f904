//! CRFs on graphs against enumeration and against the chains of this crate: objective, gradient, predictions, errors.

use crate::common::graphs::*;
use crate::common::*;
use fenchel_crf::graph::{GraphLikelihood, GraphProblem, graph_lbfgs, graph_sdca};
use fenchel_crf::methods::{Init, SdcaSettings, lbfgs};
use fenchel_crf::{
    CliqueTemplate, Error, Fit, GraphCrf, GraphDataset, GraphInstance, GraphModel, MAX_MEMORY,
    Method, Refusal, Saved, Stop,
};
use fenchel_linalg::Invalid;
use fenchel_optim::Status;
use fenchel_optim::lbfgs::{LbfgsSettings, Smooth};

fn sets() -> Vec<Graphs> {
    vec![
        random_graphs(10, 2, false, 0.1, 1),
        random_graphs(10, 2, true, 0.02, 2),
        random_graphs(9, 3, true, 0.2, 3),
    ]
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + b.abs())
}

fn exactly() -> LbfgsSettings {
    let stop = Stop { absolute: 1e-13, relative: 0.0, ..Stop::default() };
    LbfgsSettings { stop, ..LbfgsSettings::default() }
}

#[test]
fn objective_and_gradient_are_those_of_enumeration() {
    for (k, graphs) in sets().iter().enumerate() {
        let data = graphs.data();
        let problem = GraphProblem::new(&data, graphs.l2, MAX_MEMORY).unwrap();
        assert_eq!(problem.weights(), graphs.dimension());
        for scale in [0.0, 1.0, 30.0] {
            let w = random_flat(graphs.dimension(), scale, 7 + k as u64);
            let (value, gradient) = graphs.primal(&w);
            assert!(close(problem.objective(&w).unwrap(), value, 1e-11));
            let mut likelihood = GraphLikelihood::new(&problem);
            let mut found = vec![0.0; w.len()];
            assert!(close(likelihood.value_gradient(&w, &mut found), value, 1e-11));
            assert!(found.iter().zip(&gradient).all(|(a, b)| close(*a, *b, 1e-10)), "{k} {scale}");
        }
    }
}

#[test]
fn predictions_are_those_of_enumeration() {
    for (k, graphs) in sets().iter().enumerate() {
        let w = random_flat(graphs.dimension(), 2.0, 17 + k as u64);
        let model = GraphModel::new(graphs.templates.clone(), w.clone(), None).unwrap();
        let mut right = 0;
        for (i, graph) in graphs.graphs.iter().enumerate() {
            let instance = graphs.instance(i);
            let (p, _) = graph.model(&w);
            let marginals = model.marginals(&instance).unwrap();
            for (v, found) in marginals.iter().enumerate() {
                let exact = graph.margin(&p, &[v]);
                assert!(found.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-11));
            }
            let best = p.iter().copied().fold(0.0, f64::max);
            let predicted = model.predict(&instance).unwrap();
            // The graphs without attributes on a variable have several best labellings.
            let at = graph.all.iter().position(|y| *y == predicted).unwrap();
            assert!((p[at] - best).abs() <= 1e-12 * best, "{i}: {} of {best}", p[at]);
            right += predicted.iter().zip(&graph.truth).filter(|(a, b)| a == b).count();
            for (y, p) in graph.all.iter().zip(&p) {
                assert!(close(model.log_probability(&instance, y).unwrap(), p.ln(), 1e-11));
            }
        }
        let all: usize = graphs.graphs.iter().map(|graph| graph.truth.len()).sum();
        assert_eq!(model.score(&graphs.data()).unwrap(), right as f64 / all as f64);
    }
}

/// Variables of different numbers of labels, and cliques whose variables fall.
#[test]
fn templates_keep_the_order_of_their_variables() {
    let templates = vec![CliqueTemplate::new(&[2, 3], 1), CliqueTemplate::new(&[4, 2, 3], 2)];
    let mut graphs = Graphs::new(templates, 0.3);
    let cliques = vec![
        (0, vec![4, 0], vec![(0, 1.0)]),
        (0, vec![1, 3], vec![(0, -0.5)]),
        (1, vec![2, 4, 3], vec![(1, 0.7), (0, 1.0), (1, 0.3)]),
    ];
    graphs.push(vec![3, 2, 4, 3, 2], cliques, vec![2, 0, 3, 1, 1]);
    let data = graphs.data();
    let problem = GraphProblem::new(&data, graphs.l2, None).unwrap();
    let w = random_flat(graphs.dimension(), 1.5, 4);
    let (value, gradient) = graphs.primal(&w);
    let mut found = vec![0.0; w.len()];
    assert!(close(GraphLikelihood::new(&problem).value_gradient(&w, &mut found), value, 1e-12));
    assert!(found.iter().zip(&gradient).all(|(a, b)| close(*a, *b, 1e-11)));
    let model = GraphModel::new(graphs.templates.clone(), w.clone(), None).unwrap();
    assert_eq!(model.weights_of(0).unwrap().dim(), (1, 6));
    let block = model.weights_of(1).unwrap();
    assert_eq!((block.dim(), block[[1, 5]]), ((2, 24), w[6 + 24 + 5]));
    assert!(model.weights_of(2).is_none());
}

#[test]
fn chains_have_the_objective_and_the_optimum_of_the_chain_crf() {
    for (seed, signed, l2) in [(1, false, 0.2), (2, true, 0.25), (3, true, 0.02)] {
        let sequences = random_sequences((6, 5, 5, 3), signed, seed);
        let chain_data = dataset(5, 3, &sequences);
        let chain = problem(&chain_data, l2);
        let graphs = chains(5, 3, &sequences, l2);
        let data = graphs.data();
        let graph = GraphProblem::new(&data, l2, MAX_MEMORY).unwrap();
        let weights = random_weights(&chain_data, 1.0, seed);
        let (a, b) = (chain.objective(&weights).unwrap(), flat(&weights));
        assert!(close(graph.objective(b.as_slice().unwrap()).unwrap(), a, 1e-12));
        let chain = lbfgs(&chain, &exactly(), None, &mut ()).unwrap();
        let found = graph_lbfgs(&graph, &exactly(), None, &mut ()).unwrap();
        let value = |report: fenchel_crf::Report| report.certificate.objective().unwrap();
        assert!((value(chain.report) - value(found.report)).abs() < 1e-11);
        // P is l2-strongly convex: gaps of 1e-13 leave weights within sqrt(2e-13 / l2) of each other.
        let w = flat(&chain.state);
        let apart: f64 = w.iter().zip(&found.state).map(|(a, b)| (a - b).powi(2)).sum();
        assert!(apart.sqrt() < 2.0 * (2e-13 / l2).sqrt(), "{apart:e}");
    }
}

/// Whatever the method and however short, a fit from a model is never worse, and ends where a fit from zero ends.
#[test]
fn a_start_is_the_least_that_a_fit_returns() {
    let data = sets()[0].data();
    let problem = GraphProblem::new(&data, 1.0 / data.len() as f64, None).unwrap();
    let objective = |model: &GraphModel| problem.objective(model.weights()).unwrap();
    let rough = GraphCrf { stop: Stop::at_relative(1e-2), ..GraphCrf::default() };
    let start = rough.fit(&data).unwrap();
    let best = graph_lbfgs(&problem, &exactly(), None, &mut ()).unwrap();
    let best = best.report.certificate.objective().unwrap();
    for method in [Method::Auto, Method::Sdca, Method::Lbfgs] {
        for passes in [0.0, 1.0, 1e4] {
            let stop =
                Stop { max_passes: passes, absolute: 1e-9, relative: 0.0, ..Stop::default() };
            let crf = GraphCrf { method, stop, ..GraphCrf::default() };
            let model = crf.fit_with(&data, Fit::new().start(&start)).unwrap();
            let (now, report) = (objective(&model), model.report.unwrap());
            assert!(now <= objective(&start) + 1e-12, "{method:?} {passes}: {now}");
            assert!((report.certificate.objective().unwrap() - now).abs() < 1e-9);
            assert!(passes < 10.0 || now <= best + 1e-9, "{method:?}: {now} {best}");
        }
    }
    let other = sets()[2].data();
    let error = rough.fit_with(&other, Fit::new().start(&start)).unwrap_err().to_string();
    assert!(error.contains("start: expected the templates of the data"), "{error}");
}

#[test]
fn estimators_of_every_method_agree_and_are_saved() {
    let graphs = &sets()[0];
    let data = graphs.data();
    let stop = Stop { absolute: 1e-9, relative: 0.0, ..GraphCrf::default().stop };
    let fit = |method, l2| GraphCrf { method, l2, stop, ..GraphCrf::default() }.fit(&data).unwrap();
    let problem = GraphProblem::new(&data, 1.0 / data.len() as f64, None).unwrap();
    let best = graph_lbfgs(&problem, &exactly(), None, &mut ()).unwrap();
    let best = best.report.certificate.objective().unwrap();
    for method in [Method::Auto, Method::Sdca, Method::Lbfgs] {
        let model = fit(method, None);
        let report = model.report.unwrap();
        assert_eq!(report.status, Status::Converged, "{method:?} {report}");
        let above = problem.objective(model.weights()).unwrap() - best;
        assert!((-1e-12..=1e-9).contains(&above), "{method:?} {above:e}");
        let mut file = Vec::new();
        model.save(&mut file).unwrap();
        assert_eq!(GraphModel::load(&file[..]).unwrap(), model);
        assert!(model.score(&data).unwrap() > 0.5);
    }
    // A weak penalty: 50 passes of dual ascent are not enough, and L-BFGS goes on with their lower bound.
    let weak = fit(Method::Auto, Some(1e-5)).report.unwrap();
    assert_eq!(weak.status, Status::Converged, "{weak}");
    assert!(weak.passes > 50.0, "{weak}");
}

#[test]
fn files_that_do_not_fit_together_are_refused() {
    let templates = vec![CliqueTemplate::new(&[2], 2)];
    assert!(GraphModel::new(templates.clone(), vec![0.0; 3], None).is_err());
    assert!(GraphModel::new(templates.clone(), vec![0.0, 0.0, 0.0, f64::NAN], None).is_err());
    let text = r#"{"templates":[{"labels":[2],"attributes":2}],"weights":[0.0],"report":null}"#;
    let kind = GraphModel::KIND;
    let file = fenchel_optim::model::envelope(kind, 1, text);
    let error = GraphModel::load(file.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("expected length 4, found 1"), "{error}");
}

/// Two variables, and what is pushed with them.
fn pushed(graph: impl FnOnce(&mut GraphInstance), truth: &[usize]) -> String {
    let templates = vec![CliqueTemplate::new(&[2], 3), CliqueTemplate::new(&[2, 2], 1)];
    let mut data = GraphDataset::new(templates).unwrap();
    data.push(GraphInstance::new(&[2]), &[1]).unwrap();
    let mut instance = GraphInstance::new(&[2, 2]);
    graph(&mut instance);
    let before = data.clone();
    let error = data.push(instance, truth).unwrap_err().to_string();
    assert_eq!(data, before);
    error
}

#[test]
fn graphs_that_do_not_fit_are_named() {
    let none = |_: &mut GraphInstance| ();
    for (error, expected) in [
        (pushed(none, &[0]), "graph 1: labels of the variables: expected length 2, found 1"),
        (
            pushed(none, &[0, 2]),
            "graph 1: label of row 1 is 2; expected less than its number of labels",
        ),
        (
            pushed(|g| _ = g.clique(0, &[0], &[]).clique(1, &[0, 2], &[]), &[0, 0]),
            "graph 1: clique 1: variable 2 is unknown; expected one of 2",
        ),
        (
            pushed(|g| _ = g.clique(2, &[0], &[]), &[0, 0]),
            "graph 1: clique 0: template 2 is unknown; expected one of 2",
        ),
        (
            pushed(|g| _ = g.clique(1, &[0], &[]), &[0, 0]),
            "graph 1: clique 0: has 1 variables; its template has 2",
        ),
        (
            pushed(|g| _ = g.clique(1, &[1, 1], &[]), &[0, 0]),
            "graph 1: clique 0: variable 1 occurs twice",
        ),
        (
            pushed(|g| _ = g.clique(0, &[1], &[(3, 1.0)]), &[0, 0]),
            "graph 1: clique 0: attribute 3 is unknown; expected one of 3",
        ),
        (
            pushed(|g| _ = g.clique(0, &[1], &[(0, 1.0), (2, f64::NAN)]), &[0, 0]),
            "graph 1: clique 0: attribute 2 is NaN; expected a finite number",
        ),
        (
            pushed(|g| *g = GraphInstance::new(&[3]).clique(0, &[0], &[]).clone(), &[0]),
            "graph 1: clique 0: variable 0 has 3 labels; its template expects 2",
        ),
        (pushed(|g| *g = GraphInstance::new(&[]), &[]), "graph 1: graph is empty"),
        (
            pushed(|g| *g = GraphInstance::new(&[2, 0]), &[0, 0]),
            "graph 1: number of labels = 0; expected at least 1",
        ),
    ] {
        assert_eq!(error, expected);
    }
    for bad in [vec![], vec![CliqueTemplate::new(&[], 1)], vec![CliqueTemplate::new(&[2], 0)]] {
        assert!(matches!(GraphDataset::new(bad), Err(Error::Invalid(Invalid::Empty { .. }))));
    }
    let many = vec![CliqueTemplate::new(&[1 << 20, 1 << 20], 1 << 30)];
    assert!(matches!(GraphDataset::new(many), Err(Error::Refused(_))));
    let unknown = GraphInstance::new(&[2]).clique(0, &[0, 1], &[]).elimination();
    assert!(matches!(unknown, Err(Error::Chain(_))), "{unknown:?}");
}

/// Every pair of so many variables is an edge: the only clique is all of them.
fn complete(variables: usize) -> GraphDataset {
    let mut data = GraphDataset::new(vec![CliqueTemplate::new(&[2, 2], 1)]).unwrap();
    data.push(GraphInstance::new(&[2]), &[0]).unwrap();
    let mut graph = GraphInstance::new(&vec![2; variables]);
    for v in 0..variables {
        (0..v).for_each(|u| _ = graph.clique(0, &[u, v], &[(0, 1.0)]));
    }
    assert_eq!(graph.elimination().unwrap().induced_width, variables - 1);
    data.push(graph, &vec![0; variables]).unwrap();
    data
}

#[test]
fn graphs_that_are_too_wide_are_refused_before_anything_is_allocated() {
    // 2^40 cells would be 8 TiB.
    let wide = complete(40);
    let Err(Error::InGraph { graph: 1, error }) = GraphProblem::new(&wide, 1.0, MAX_MEMORY) else {
        panic!("a table of 8 TiB")
    };
    let text = error.to_string();
    assert!(text.contains("8 TiB") && text.contains("4 GiB"), "{text}");
    assert!(matches!(GraphCrf::default().fit(&wide), Err(Error::InGraph { graph: 1, .. })));
    let (graph, _) = wide.iter().nth(1).unwrap();
    let model = GraphModel::new(wide.templates().to_vec(), vec![0.0; 4], None).unwrap();
    assert!(model.predict(graph).unwrap_err().to_string().contains("8 TiB"));
    // What a limit refuses it takes one byte above; the marginals of all graphs have a limit of their own.
    let narrow = complete(10);
    let needed = match GraphProblem::new(&narrow, 1.0, Some(100)) {
        Err(Error::InGraph { error, .. }) => match *error {
            Error::Chain(fenchel_graphical::Error::Refused(Refusal::MemoryLimit {
                needed,
                ..
            })) => needed,
            other => panic!("{other}"),
        },
        other => panic!("{other:?}"),
    };
    assert!(needed >= 8 << 10);
    assert!(GraphProblem::new(&narrow, 1.0, Some(needed - 1)).is_err());
    let problem = GraphProblem::new(&narrow, 1.0, Some(needed)).unwrap();
    let limit = problem.memory() - 1;
    let settings = SdcaSettings { max_memory: Some(limit), ..SdcaSettings::default() };
    let refused = graph_sdca(&problem, &settings, None, &mut ()).unwrap_err();
    let Error::Refused(Refusal::MemoryLimit { needed, limit: found, .. }) = refused else {
        panic!("{refused}")
    };
    assert_eq!((needed, found), (limit + 1, limit));
    // Auto falls back to L-BFGS there.
    let crf = GraphCrf { max_memory: Some(limit), ..GraphCrf::default() };
    let sdca = GraphCrf { method: Method::Sdca, ..crf.clone() };
    assert!(matches!(sdca.fit(&narrow), Err(Error::Refused(_))));
    assert_eq!(crf.fit(&narrow).unwrap().report.unwrap().status, Status::Converged);
}

#[test]
fn parameters_out_of_range_are_refused() {
    let data = complete(3);
    let empty = GraphDataset::new(vec![CliqueTemplate::new(&[2], 1)]).unwrap();
    assert!(
        GraphProblem::new(&empty, 1.0, None).is_err() && GraphCrf::default().fit(&empty).is_err()
    );
    for l2 in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(GraphProblem::new(&data, l2, None).is_err());
    }
    let problem = GraphProblem::new(&data, 1.0, None).unwrap();
    assert!(problem.objective(&[0.0; 3]).is_err());
    assert!(problem.objective(&[0.0, 0.0, 0.0, f64::NAN]).is_err());
    assert!(problem.objective(&[1e308; 4]).is_err());
    for smoothing in [0.0, -0.1, 1.1, f64::NAN] {
        let init = Init::Smoothed { smoothing };
        let settings = SdcaSettings { init, ..SdcaSettings::default() };
        assert!(graph_sdca(&problem, &settings, None, &mut ()).is_err());
    }
    assert!(graph_lbfgs(&problem, &exactly(), Some(vec![0.0; 3]), &mut ()).is_err());
    let model = GraphModel::new(data.templates().to_vec(), vec![0.0; 4], None).unwrap();
    let (graph, truth) = data.iter().nth(1).unwrap();
    assert!(model.log_probability(graph, &truth[1..]).is_err());
    assert!(model.score(&empty).is_err());
    let other = GraphInstance::new(&[3, 2]).clique(0, &[0, 1], &[]).clone();
    assert!(model.predict(&other).unwrap_err().to_string().contains("variable 0 has 3 labels"));
}
