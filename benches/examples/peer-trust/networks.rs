//! Gaussian and binary networks, Potts models.

use std::error::Error;

use fenchel_ggm::glasso::{GlassoSettings, Method as Glasso, graphical_lasso};
use fenchel_ggm::joint::{Coupling, JointGraphicalLasso};
use fenchel_ggm::scale_free::{DegreePrior, NodeGroups, ScaleFree};
use fenchel_ggm::{GaussianCrf, LatentGraphicalLasso, PenaltyWeights, Scale, Statistics};
use fenchel_mrf_learn::potts::{Alignment, Alphabet, Gaps, PottsPseudoLikelihood};
use fenchel_mrf_learn::{
    Coordinates, Data, ExactMle, InteractionScreening, NodewiseLogistic, Penalty, PseudoLikelihood,
    Regression, ScreeningObjective,
};
use ndarray::{Array2, ArrayView2};

use crate::{Answers, Found, Request};

pub(crate) fn lasso(a: &mut Answers, r: &Request) -> Result<(), Box<dyn Error>> {
    let flat = |x: ArrayView2<f64>| x.iter().copied().collect::<Vec<f64>>();
    let (c, stop, scale) = (r.matrix(), r.stop(), Scale::Covariance);
    let weights = PenaltyWeights::Uniform(r.l1);
    for (name, method) in
        [("quic", Glasso::Quic), ("bcd", Glasso::BlockCoordinate), ("admm", Glasso::Admm)]
    {
        a.ask(&format!("glasso {name}"), || {
            let problem = fenchel_ggm::glasso::Problem::new(c.view(), &weights)?;
            let settings = GlassoSettings { method, stop, ..Default::default() };
            let found = graphical_lasso(&problem, &settings, None, &mut ())?;
            Ok((flat(found.state.precision().view()), found.report))
        });
    }
    let statistics = || Statistics::from_covariance(c.view(), 20);
    a.ask("NodeGroups", || {
        let fit = NodeGroups { strength: r.l1, scale, stop, ..Default::default() };
        let model = fit.fit(&statistics()?)?;
        Ok((flat(model.precision.view()), model.report))
    });
    a.ask("LatentGraphicalLasso", || {
        let fit = LatentGraphicalLasso {
            l1: r.l1.into(),
            rank_penalty: 2.0 * r.l1,
            scale,
            stop,
            ..Default::default()
        };
        let model = fit.fit(&statistics()?)?;
        let mut point = flat(model.sparse.view());
        point.extend(model.low_rank().iter());
        Ok((point, model.report))
    });
    let mut turned = c.clone();
    turned.invert_axis(ndarray::Axis(0));
    turned.invert_axis(ndarray::Axis(1));
    for (name, coupling) in [("joint group", Coupling::Group), ("joint fused", Coupling::Fused)] {
        a.ask(name, || {
            let groups = [statistics()?, Statistics::from_covariance(turned.view(), 60)?];
            let fit = JointGraphicalLasso {
                l1: r.l1,
                similarity: r.l1,
                coupling,
                scale,
                stop,
                ..Default::default()
            };
            let model = fit.fit(&groups)?;
            Ok((model.models.iter().flat_map(|m| flat(m.precision.view())).collect(), model.report))
        });
    }
    Ok(())
}

pub(crate) fn hubs(a: &mut Answers, r: &Request) -> Result<(), Box<dyn Error>> {
    let statistics = Statistics::from_covariance(r.matrix().view(), 20)?;
    a.ask("ScaleFree", || {
        let fit = ScaleFree {
            prior: DegreePrior::Custom(r.cost.clone()),
            strength: r.l1,
            scale: Scale::Covariance,
            stop: r.stop(),
            ..Default::default()
        };
        let model = fit.fit(&statistics)?;
        Ok((model.precision.iter().copied().collect(), model.report))
    });
    Ok(())
}

pub(crate) fn conditional(a: &mut Answers, r: &Request) -> Result<(), Box<dyn Error>> {
    let statistics = Statistics::from_covariance(r.matrix().view(), 20)?;
    a.ask("GaussianCrf", || {
        let (l1, input_l1, scale) = (r.l1, r.input_l1, Scale::Covariance);
        let fit = GaussianCrf { l1, input_l1, scale, stop: r.stop(), ..Default::default() };
        let model = fit.fit_statistics(&statistics, r.sizes[0], fenchel_ggm::Fit::new())?;
        Ok((model.precision.iter().chain(&model.coupling).copied().collect(), model.report))
    });
    Ok(())
}

pub(crate) fn network(a: &mut Answers, r: &Request) -> Result<(), Box<dyn Error>> {
    let states = Array2::from_shape_fn((r.x.len(), r.x[0].len()), |(i, j)| r.x[i][j] as u8);
    let (l1, stop) = (r.l1, r.stop());
    if r.loss == "potts" {
        let letters = states.mapv(|s| b"ACGT-"[usize::from(s)]);
        let data = Alignment::new(letters.view(), Alphabet::nucleotides(), Gaps::State)?;
        a.ask("Potts", || {
            let fit = PottsPseudoLikelihood {
                l2: Some(r.l2),
                l2_fields: Some(r.l2),
                group: l1,
                stop,
                ..Default::default()
            };
            let model = fit.fit(&data)?;
            let mut point: Vec<f64> = model.fields().iter().map(|&v| f64::from(v)).collect();
            for i in 0..model.columns() {
                for j in i + 1..model.columns() {
                    point.extend(model.coupling(i, j).iter().map(|&v| f64::from(v)));
                }
            }
            Ok((point, model.report.ok_or("no report")?))
        });
        return Ok(());
    }
    let data = Data::states(states.view()).and_then(|data| match &r.weights {
        Some(weights) => data.with_weights(weights),
        None => Ok(data),
    })?;
    let one = |regressions: Result<Vec<Regression>, fenchel_mrf_learn::Error>| -> Found {
        let first = regressions?.into_iter().next().ok_or("no variable")?;
        let mut point = vec![first.bias];
        point.extend(&first.couplings[1..]);
        Ok((point, first.report.ok_or("constant")?))
    };
    let (penalty, spins) = (Penalty::edges(l1), Coordinates::Spins);
    match r.loss.as_str() {
        "likelihood" => a.ask("ExactMle", || {
            let fit = ExactMle { penalty, coordinates: spins, stop, ..Default::default() };
            let model = fit.fit(&data)?;
            Ok((model.theta, model.report))
        }),
        "pseudo" => a.ask("PseudoLikelihood", || {
            let fit = PseudoLikelihood { penalty, coordinates: spins, stop, ..Default::default() };
            let model = fit.fit(&data)?;
            Ok((model.theta, model.report))
        }),
        "node" => a.ask("NodewiseLogistic", || {
            one(NodewiseLogistic { l1, stop, ..Default::default() }.regressions(&data))
        }),
        screening => a.ask(&format!("InteractionScreening {screening}"), || {
            let objective = if screening == "rise" {
                ScreeningObjective::Rise
            } else {
                ScreeningObjective::LogRise
            };
            one(InteractionScreening { l1, objective, stop, ..Default::default() }
                .regressions(&data))
        }),
    }
    Ok(())
}
