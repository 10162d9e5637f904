//! Conditional random fields, and saddle points: programs, games, classifiers.

use std::error::Error;

use fenchel_crf::graph::{GraphProblem, graph_lbfgs, graph_sdca};
use fenchel_crf::methods as chain;
use fenchel_crf::{CliqueTemplate, GraphCrf, GraphDataset, GraphInstance};
use fenchel_finite_sum::general;
use fenchel_finite_sum::prox::Zero;
use fenchel_optim::Stop;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_saddle::methods::{MirrorDescentSettings, MirrorProxSettings, PdhgSettings};
use fenchel_saddle::{
    LinearProgram, LpOutcome, LpSettings, MatrixGame, MulticlassL1, MulticlassLoss, Primal, Solver,
    exact_game, linear_program, matrix_game, sampled_game,
};

use crate::{Answers, Request};

pub(crate) fn crf(a: &mut Answers, r: &Request) -> Result<(), Box<dyn Error>> {
    let mut data = fenchel_crf::Dataset::new(r.sizes[0], r.sizes[1]);
    for sequence in &r.sequences {
        let tokens: Vec<fenchel_crf::Token<'_>> =
            sequence.iter().map(|(a, l)| fenchel_crf::Token { attributes: a, label: *l }).collect();
        data.push(&tokens)?;
    }
    let problem = &fenchel_crf::Problem::new(&data, r.l2, fenchel_crf::Features::default())?;
    let flat = |w: &fenchel_crf::Weights| {
        w.emission.iter().chain(&w.transition).copied().collect::<Vec<f64>>()
    };
    let (l1, stop) = (r.l1, r.stop());
    let dual = chain::SdcaSettings { l1, stop, ..Default::default() };
    a.ask("crf sdca", || {
        let found = chain::sdca::<f64, _>(problem, &dual, None, &mut ())?;
        Ok((flat(&found.state.weights), found.report))
    });
    a.ask("crf sdca f32", || {
        let found = chain::sdca::<f32, _>(problem, &dual, None, &mut ())?;
        Ok((flat(&found.state.weights), found.report))
    });
    let settings = LbfgsSettings { stop, ..Default::default() };
    a.ask("crf owlqn", || {
        let found = chain::owlqn(problem, l1, &settings, None, &mut ())?;
        Ok((flat(&found.state), found.report))
    });
    if l1 > 0.0 {
        return Ok(());
    }
    a.ask("crf lbfgs", || {
        let found = chain::lbfgs(problem, &settings, None, &mut ())?;
        Ok((flat(&found.state), found.report))
    });
    a.ask("crf catalyst", || {
        let settings = chain::CatalystSettings { stop, ..Default::default() };
        let found = chain::catalyst::<f64, _>(problem, &settings, None, &mut ())?;
        Ok((flat(&found.state.weights), found.report))
    });
    a.ask("crf oeg", || {
        let settings = chain::OegSettings { stop, ..Default::default() };
        let found = chain::oeg(problem, &settings, None, &mut ())?;
        Ok((flat(&found.state.weights), found.report))
    });
    a.ask("crf sag", || {
        let settings = chain::SagSettings { stop, ..Default::default() };
        let found = chain::sag(problem, &settings, None, &mut ())?;
        Ok((flat(&found.state), found.report))
    });
    let terms = chain::CrfFiniteSum::new(problem);
    let sum = general::Sum::new(&terms, Zero, r.l2)?;
    let settings = general::SumSettings { stop, ..Default::default() };
    a.ask("general saga", || {
        let found = general::saga(&sum, &settings, None, &mut ())?;
        Ok((flat(&terms.weights(&found.state.point)), found.report))
    });
    a.ask("general svrg", || {
        let found = general::svrg(&sum, &settings, None, &mut ())?;
        Ok((flat(&terms.weights(&found.state.point)), found.report))
    });
    Ok(())
}

pub(crate) fn graph(a: &mut Answers, r: &Request) -> Result<(), Box<dyn Error>> {
    let templates = vec![CliqueTemplate::new(&[2], 2), CliqueTemplate::new(&[2, 2], 2)];
    let mut data = GraphDataset::new(templates)?;
    for (nodes, edges, truth) in &r.graphs {
        let mut instance = GraphInstance::new(&vec![2; truth.len()]);
        for (template, cliques) in [nodes, edges].into_iter().enumerate() {
            cliques.iter().for_each(|(v, a)| {
                instance.clique(template, v, a);
            });
        }
        data.push(instance, truth)?;
    }
    let problem = &GraphProblem::new(&data, r.l2, None)?;
    a.ask("graph_sdca", || {
        let settings = chain::SdcaSettings { stop: r.stop(), ..Default::default() };
        let found = graph_sdca(problem, &settings, None, &mut ())?;
        Ok((found.state.weights, found.report))
    });
    a.ask("graph_lbfgs", || {
        let settings = LbfgsSettings { stop: r.stop(), ..Default::default() };
        let found = graph_lbfgs(problem, &settings, None, &mut ())?;
        Ok((found.state, found.report))
    });
    a.ask("GraphCrf", || {
        let fit = GraphCrf { l2: Some(r.l2), stop: r.stop(), ..Default::default() };
        let model = fit.fit(&data)?;
        Ok((model.weights().to_vec(), model.report.ok_or("no report")?))
    });
    Ok(())
}

pub(crate) fn game(a: &mut Answers, r: &Request) -> Result<(), Box<dyn Error>> {
    let game = &MatrixGame::new(r.matrix().view())?;
    let stop = Stop { absolute: 1e-4, ..r.stop() };
    a.ask("exact_game", || {
        let found = exact_game(game, &PdhgSettings { stop, ..Default::default() }, None, &mut ())?;
        Ok((found.state.x.to_vec(), found.report))
    });
    a.ask("matrix_game", || {
        let found =
            matrix_game(game, &MirrorProxSettings { stop, ..Default::default() }, None, &mut ())?;
        Ok((found.state.x.to_vec(), found.report))
    });
    a.ask("sampled_game", || {
        let found =
            sampled_game(game, 0, &MirrorDescentSettings { stop, ..Default::default() }, &mut ())?;
        Ok((found.state.x.to_vec(), found.report))
    });
    Ok(())
}

/// `min cost'x` over `x >= 0` with the rows of `x` at least `y`.
pub(crate) fn program(a: &mut Answers, r: &Request) -> Result<(), Box<dyn Error>> {
    let (zeros, none) = (vec![0.0; r.cost.len()], vec![f64::INFINITY; r.cost.len()]);
    let program =
        LinearProgram::new(&r.cost)?.at_least(r.matrix().view(), &r.y)?.within(&zeros, &none)?;
    for polish in [true, false] {
        a.ask(if polish { "linear_program" } else { "linear_program pdhg" }, || {
            let settings = LpSettings { polish, max_passes: r.passes, ..LpSettings::default() };
            let found = linear_program(&program, &settings)?;
            match found.outcome {
                LpOutcome::Optimal { x, .. } => Ok((x, found.report)),
                other => {
                    Err(format!("{other:?}").split([' ', '{']).next().unwrap_or_default().into())
                }
            }
        });
    }
    Ok(())
}

pub(crate) fn classifier(a: &mut Answers, r: &Request) -> Result<(), Box<dyn Error>> {
    let labels: Vec<usize> = r.y.iter().map(|y| *y as usize).collect();
    let loss = if r.loss == "hinge" { MulticlassLoss::Hinge } else { MulticlassLoss::Softmax };
    for solver in
        [Solver::Auto, Solver::Pdhg, Solver::MirrorPdhg, Solver::MirrorProx, Solver::Sublinear]
    {
        a.ask(&format!("MulticlassL1 {solver:?}"), || {
            let fit = MulticlassL1 {
                loss,
                penalty: r.l1,
                norm: Primal::Entries,
                solver,
                intercept: false,
                standardise: false,
                stop: r.stop(),
                ..Default::default()
            };
            let model = fit.fit(&r.matrix(), &labels)?;
            let classes = model.intercepts.len();
            let mut point = vec![0.0; model.features * classes];
            model
                .weights
                .iter()
                .for_each(|&(i, k, w)| point[i as usize * classes + k as usize] = w);
            Ok((point, model.report))
        });
    }
    Ok(())
}
