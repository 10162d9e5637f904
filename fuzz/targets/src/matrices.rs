//! Estimators of Gaussian graphical models, of fields of ratings, and of dimension reduction.

use arbitrary::Unstructured;
use fenchel::ggm::covariance::{ledoit_wolf, missing, nonparanormal};
use fenchel::ggm::glasso::Method;
use fenchel::ggm::item_field::{ItemField, Ratings, Training};
use fenchel::ggm::joint::{Coupling, JointGraphicalLasso};
use fenchel::ggm::scale_free::{DegreePrior, NodeGroups};
use fenchel::ggm::{
    GaussianCrf, GraphicalLasso, GraphicalLassoCv, LatentGraphicalLasso, PartialCorrelationLasso,
    PenaltyWeights, Scale, ScaleFree, Statistics, chow_liu,
};
use fenchel::moments::matching::{Bandwidth, Basis, Centres, Selection};
use fenchel::moments::{
    Components, DirectSade, DirectionalRegression, IndexRegressor, LassoSir, LearnedSade, Mave,
    Opg, Phd, Response, Save, ScoreMatching, Sir, SliceMoments, Slicing,
};
use fenchel::prelude::*;

use crate::data::{Range, Rows, number};
use crate::{oracle, tree};

/// Sparse precision matrices.
pub(crate) fn ggm(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let kind = u.int_in_range(0..=9).unwrap_or(0);
    let rows = Rows::new(u);
    let p = rows.x.ncols();
    let each = PenaltyWeights::Each(Array2::from_elem((p, p), 0.2));
    macro_rules! fit {
        ($seeds:expr) => {{
            let Some(estimator) = tree::like(u, &$seeds) else { return };
            let Ok(model) = estimator.fit_with(&rows.x, rows.fit(None)) else { return };
            oracle::saved(&model);
            oracle::report(&model.report);
            if let Some(start) = tree::altered(u, &model)
                && let Ok(again) = estimator.fit_with(&rows.x, rows.fit(Some(&start)))
            {
                oracle::report(&again.report);
                if rows.range == Range::Small {
                    oracle::bounds(&[&model.report, &again.report]);
                }
            }
        }};
    }
    match kind {
        0 | 1 => fit!([
            GraphicalLasso::default(),
            GraphicalLasso { l1: each, ..GraphicalLasso::default() },
            GraphicalLasso {
                l1: PenaltyWeights::WithDiagonal(0.1),
                scale: Scale::Covariance,
                ..GraphicalLasso::default()
            },
            GraphicalLasso { method: Method::BlockCoordinate, ..GraphicalLasso::default() },
        ]),
        2 => fit!([
            ScaleFree::default(),
            ScaleFree { prior: DegreePrior::default(), strength: 0.5, ..ScaleFree::default() }
        ]),
        3 => fit!([NodeGroups::default()]),
        4 => fit!([PartialCorrelationLasso::default()]),
        5 => fit!([LatentGraphicalLasso::default()]),
        6 => {
            let seeds = [
                JointGraphicalLasso::default(),
                JointGraphicalLasso { coupling: Coupling::Fused, ..JointGraphicalLasso::default() },
            ];
            let Some(estimator) = tree::like(u, &seeds) else { return };
            let other = Rows::of(u, 2..=8, p..=p);
            let Ok(model) = estimator.fit(&[rows.x.clone(), other.x]) else { return };
            oracle::report(&model.report);
            let _ = model.common();
        }
        7 => {
            let seeds = [
                GraphicalLassoCv { folds: 2, count: 3, ..GraphicalLassoCv::default() },
                GraphicalLassoCv {
                    penalties: Some(vec![0.5, 0.1]),
                    folds: 2,
                    ..GraphicalLassoCv::default()
                },
            ];
            let Some(estimator) = tree::like(u, &seeds) else { return };
            let Ok(fitted) = estimator.fit_with(&rows.x, rows.fit(None)) else { return };
            oracle::model(&fitted.model);
        }
        8 => {
            let outputs = Rows::of(u, rows.x.nrows()..=rows.x.nrows(), 0..=3);
            let Some(estimator) = tree::like(u, &[GaussianCrf::default()]) else { return };
            let Ok(model) = estimator.fit_with(&rows.x, &outputs.x, rows.fit(None)) else { return };
            oracle::saved(&model);
            let _ = (model.predict(&rows.x), model.score(&rows.x, &outputs.x));
        }
        _ => {
            let _ = (ledoit_wolf(&rows.x), nonparanormal(&rows.x), missing::mean_imputed(&rows.x));
            let _ = missing::pairwise(&rows.x);
            let Ok(statistics) = Statistics::from_data(&rows.x) else { return };
            let _ = chow_liu(&statistics);
            let Some(altered) = tree::altered(u, &statistics) else { return };
            let Ok(model) = GraphicalLasso::default().fit(&altered) else { return };
            oracle::report(&model.report);
        }
    }
}

/// Fields of ratings.
pub(crate) fn item_field(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let (users, items) = (u.int_in_range(1..=6).unwrap_or(4), u.int_in_range(1..=5).unwrap_or(3));
    let any = u.ratio(1, 8).unwrap_or(false);
    let ratings: Vec<(u32, u32, f64)> = (0..users * items)
        .filter_map(|k| {
            let value = u.arbitrary::<u8>().unwrap_or(0);
            let rating = if any { number(u) } else { f64::from(value % 5) + 1.0 };
            (value > 80).then_some(((k / items) as u32, (k % items) as u32, rating))
        })
        .collect();
    let Ok(ratings) = Ratings::new(users, items, ratings) else { return };
    let Some(ratings) = tree::altered(u, &ratings) else { return };
    let seeds = [
        ItemField::default(),
        ItemField { training: Training::ClosedForm, expectations: 1, ..ItemField::default() },
        ItemField { training: Training::BetheLikelihood, neighbours: 2, ..ItemField::default() },
        ItemField { training: Training::ExactLikelihood, ..ItemField::default() },
    ];
    let Some(field) = tree::like(u, &seeds) else { return };
    let Ok(model) = field.fit(&ratings) else { return };
    oracle::saved(&model);
    oracle::report(&model.report);
    let Some(altered) = tree::altered(u, &model) else { return };
    for model in [Some(&model), Some(&altered).filter(|altered| altered.check().is_ok())]
        .into_iter()
        .flatten()
    {
        for user in 0..=ratings.users() {
            let _ = (
                model.top(ratings.of_user(user), 3),
                model.predict(ratings.of_user(user)),
                model.variance(0, ratings.of_user(user)),
            );
        }
    }
}

/// Few combinations of many features.
pub(crate) fn moments(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let kind = u.int_in_range(0..=12).unwrap_or(0);
    let rows = Rows::new(u);
    let response = || match rows.labels.len() % 3 {
        0 => Response::classes(&rows.labels).unwrap_or_else(|_| Response::from(&rows.y)),
        _ => Response::from(&rows.y),
    };
    let components = [
        Components::default(),
        Components::Fixed(2),
        Components::EigenRatio(3),
        Components::ChiSquare(0.05),
        Components::Permutation { level: 0.05, repeats: 3, seed: 0 },
    ];
    let components = *u.choose(&components).unwrap_or(&components[0]);
    let slicing = [Slicing::Auto, Slicing::EqualCount(3), Slicing::EqualWidth(3), Slicing::Pairs];
    let slicing = *u.choose(&slicing).unwrap_or(&slicing[0]);
    macro_rules! fit {
        ($seeds:expr) => {{
            let Some(reducer) = tree::like(u, &$seeds) else { return };
            let Ok(model) = reducer.fit_with(&rows.x, response(), rows.fit(None)) else { return };
            oracle::model(&model);
            let reduced = model.transform(&rows.x).expect("fitted to these features");
            if rows.range == Range::Small {
                oracle::finite("transformed", reduced.iter());
            }
            let _ = (model.projector(), model.explained());
            let Some(altered) = tree::altered(u, &model) else { return };
            if altered.check().is_ok() {
                let _ = (
                    altered.transform(&rows.x),
                    altered.projector(),
                    altered.explained(),
                    altered.to_string(),
                );
            }
        }};
    }
    match kind {
        0 => fit!([Sir { components, slicing }]),
        1 => fit!([Save { components, slicing, ..Save::default() }]),
        2 => fit!([DirectionalRegression {
            components,
            slicing,
            ..DirectionalRegression::default()
        }]),
        3 => fit!([Phd { components, ..Phd::default() }]),
        4 => fit!([Opg { components, base_points: 6 }]),
        5 => fit!([Mave { base_points: 6, ..Mave::default() }]),
        6 => fit!([LassoSir { slicing, ..LassoSir::default() }]),
        7 | 8 => {
            let seeds = [
                ScoreMatching {
                    basis: Basis::Bumps(Centres::Landmarks(5)),
                    ..ScoreMatching::default()
                },
                ScoreMatching {
                    basis: Basis::Bumps(Centres::AllSamples),
                    bandwidth: Bandwidth::Absolute(1.0),
                    ..ScoreMatching::default()
                },
                ScoreMatching { basis: Basis::Separable(3), ..ScoreMatching::default() },
                ScoreMatching { basis: Basis::Affine, ..ScoreMatching::default() },
                ScoreMatching {
                    select: Some(Selection {
                        folds: 2,
                        bandwidths: vec![1.0],
                        ridges: vec![0.1, 1.0],
                    }),
                    ..ScoreMatching::default()
                },
            ];
            if kind == 8 {
                let seeds =
                    seeds.map(|score| LearnedSade { components, slicing, score, cross_fit: None });
                fit!(seeds);
                return;
            }
            let Some(matching) = tree::like(u, &seeds) else { return };
            let Ok(score) = matching.fit(&rows.x) else { return };
            oracle::saved(&score);
            let Some(altered) = tree::altered(u, &score) else { return };
            if altered.check().is_ok() {
                let _ = fenchel::moments::Sade::default().fit(&rows.x, response(), &altered);
            }
        }
        9 => {
            let Some(sade) = tree::like(u, &[DirectSade { slicing, ..DirectSade::default() }])
            else {
                return;
            };
            let Ok(fitted) = sade.fit_with(&rows.x, response(), rows.fit(None)) else { return };
            oracle::model(&fitted.model);
        }
        10 | 11 => {
            let Some(sir) = tree::like(u, &[Sir { components, slicing }]) else {
                return;
            };
            let regressor = IndexRegressor::new(sir);
            let Ok(model) = regressor.fit_with(&rows.x, &rows.y, rows.fit(None)) else { return };
            oracle::saved(&model);
            let Some(altered) = tree::altered(u, &model) else { return };
            if altered.check().is_ok() {
                let _ = altered.predict(&rows.x);
            }
        }
        _ => {
            let edges: Vec<f64> =
                (0..u.int_in_range(0..=3).unwrap_or(1)).map(|_| number(u)).collect();
            let Ok(mut sums) = SliceMoments::with_limit(edges, rows.x.ncols(), Some(1 << 20))
            else {
                return;
            };
            let _ = sums.partial_fit(&rows.x, &rows.y);
            oracle::saved(&sums);
            let Some(mut altered) = tree::altered(u, &sums) else { return };
            if altered.check().is_ok() {
                let _ = altered.merge(&sums);
                let _ = altered.partial_fit(&rows.x, &rows.y);
                let _ =
                    (Sir::default().fit_moments(&altered), Save::default().fit_moments(&altered));
            }
        }
    }
}
