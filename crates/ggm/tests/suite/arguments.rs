//! Arguments and files that do not fit are refused by name.

use std::ops::Range;

use fenchel_ggm::bethe::laplacian;
use fenchel_ggm::covariance::missing;
use fenchel_ggm::covariance::rank::{kendall_bridge, polychoric};
use fenchel_ggm::covariance::shrinkage::ledoit_wolf;
use fenchel_ggm::glasso::Problem;
use fenchel_ggm::inference::{bootstrap, debiased};
use fenchel_ggm::item_field::Training;
use fenchel_ggm::latent::LatentVariableModel;
use fenchel_ggm::model::{graph_of, partial_correlations};
use fenchel_ggm::scale_free::{NodeGroups, RowOrder, prior, row_prox};
use fenchel_ggm::select::{StarsSettings, stars};
use fenchel_ggm::shortcut::Shortcut;
use fenchel_ggm::synthetic::{chain, diagonally_dominant};
use fenchel_ggm::threshold::edges_above;
use fenchel_ggm::{
    Error, Fit, GaussianCrf, GaussianModel, GraphicalLasso, GraphicalLassoCv, ItemField,
    LatentGraphicalLasso, PartialCorrelationLasso, PenaltyWeights, Ratings, ScaleFree, Statistics,
};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::model::Saved;
use fenchel_optim::random::stream;
use fenchel_optim::{Certificate, Refusal, Status};
use ndarray::{Array2, Axis, array};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::common::data;

fn chain_data(n: usize, p: usize) -> Array2<f64> {
    data(diagonally_dominant(p, &chain(p), -0.4).view(), n, 1)
}

/// What saving says of a model, which checks what loading checks, or the model that comes back.
fn loaded<M: Saved>(model: &M) -> Result<M, String> {
    let mut file = Vec::new();
    model.save(&mut file).map_err(|e| e.to_string())?;
    M::load(&file[..]).map_err(|e| e.to_string())
}

#[test]
fn rows_without_a_proximal_point_are_refused() {
    let prox = |w: &[f64], h: &[f64], scale: f64, room: usize| {
        let mut out = vec![0.0; room];
        let result = row_prox(w, h, scale, &mut out, &mut RowOrder::default());
        result.map(|()| out).map_err(|e| e.to_string())
    };
    assert_eq!(prox(&[2.0, -1.0], &[0.5, 0.25], 1.0, 2).unwrap(), [1.5, -0.75]);
    for scale in [f64::NAN, -1.0, f64::INFINITY] {
        assert!(prox(&[2.0], &[0.5], scale, 1).unwrap_err().contains("scale"));
    }
    assert!(prox(&[f64::NAN], &[0.5], 1.0, 1).unwrap_err().contains("row"));
    assert!(prox(&[1.0, 2.0], &[0.5], 1.0, 2).unwrap_err().contains("increments"));
    assert!(prox(&[1.0, 2.0], &[0.5, 0.6], 1.0, 2).unwrap_err().contains("do not rise"));
    assert!(prox(&[1.0], &[0.5], 1.0, 2).unwrap_err().contains("output"));
}

#[test]
fn a_false_discovery_rate_is_a_share() {
    let statistics = Statistics::from_data(&chain_data(100, 5)).unwrap();
    let model = GraphicalLasso::default().fit(&statistics).unwrap();
    let found = debiased(&model, &statistics).unwrap();
    for rate in [f64::NAN, -1.0, 1.5] {
        assert!(found.edges(rate).unwrap_err().to_string().contains("rate"), "{rate}");
    }
    assert!(found.edges(0.0).unwrap().is_empty());
    assert_eq!(found.edges(1.0).unwrap().len(), 10);
}

#[test]
fn the_parts_of_a_saved_latent_model_add_up() {
    let model: LatentVariableModel =
        LatentGraphicalLasso::default().fit(&chain_data(100, 5)).unwrap();
    assert_eq!(loaded(&model).unwrap(), model);
    let mut other = model.clone();
    other.sparse[[1, 0]] += 0.1;
    other.sparse[[0, 1]] += 0.1;
    let error = loaded(&other).unwrap_err();
    assert!(error.contains("less the low-rank part"), "{error}");
    // In other units the same.
    let other = LatentGraphicalLasso::default().fit(&(chain_data(100, 5) * 1e-3)).unwrap();
    assert_eq!(loaded(&other).unwrap(), other);
}

/// What a file of ratings may hold.
#[derive(Serialize, Deserialize)]
struct File<T> {
    ratings: T,
}

#[derive(Serialize, Deserialize)]
struct Lists {
    users: usize,
    items: usize,
    by_user: Vec<Vec<(u32, f64)>>,
    by_item: Vec<Vec<(u32, f64)>>,
    count: usize,
}

impl<T: Serialize + serde::de::DeserializeOwned> Saved for File<T> {
    const KIND: &'static str = "ratings";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn saved_ratings_are_consistent() {
    let read = |change: fn(&mut Lists)| -> Result<Ratings, String> {
        let mut ratings = Lists {
            users: 2,
            items: 2,
            by_user: vec![vec![(0, 5.0), (1, 3.0)], vec![(1, 1.0)]],
            by_item: vec![vec![(0, 5.0)], vec![(0, 3.0), (1, 1.0)]],
            count: 3,
        };
        change(&mut ratings);
        let mut file = Vec::new();
        File { ratings }.save(&mut file).unwrap();
        File::<Ratings>::load(&file[..]).map(|f| f.ratings).map_err(|e| e.to_string())
    };
    let expected = Ratings::new(2, 2, [(0, 0, 5.0), (0, 1, 3.0), (1, 1, 1.0)]).unwrap();
    assert_eq!(read(|_| {}).unwrap(), expected);
    type Change = fn(&mut Lists);
    let refused: [(Change, &str); 5] = [
        (|l| l.by_item[1][0].1 = 4.0, "must be the same"),
        (|l| l.count = 4, "must be the same"),
        (|l| l.users = 3, "3 users"),
        (|l| l.by_user[1][0].0 = 7, "item 7"),
        (|l| l.by_user[0].reverse(), "must be the same"),
    ];
    for (change, part) in refused {
        let error = read(change).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn views_of_columns_are_called_by_their_role() {
    let all = chain_data(60, 6);
    let part = |columns: Range<usize>| all.slice_axis(Axis(1), columns.into());
    let (x, y) = (part(0..3), part(3..6));
    let fit = GaussianCrf::default();
    let error = fit.fit(&x, &y.to_owned()).unwrap_err().to_string();
    assert!(error.starts_with("inputs:"), "{error}");
    let error = fit.fit(&x.to_owned(), &y).unwrap_err().to_string();
    assert!(error.starts_with("outputs:"), "{error}");
    // The way that needs no copy is the same fit.
    let copied = fit.fit(&x.to_owned(), &y.to_owned()).unwrap();
    let whole = fit.fit_statistics(&Statistics::from_data(&all).unwrap(), 3, Fit::new()).unwrap();
    assert_eq!(copied.precision, whole.precision);
}

#[test]
fn a_closed_form_has_converged() {
    let liked = [(0, 0, 5.0), (0, 1, 5.0), (1, 0, 1.0), (1, 1, 2.0), (2, 0, 5.0), (3, 1, 1.0)];
    let ratings = Ratings::new(4, 2, liked).unwrap();
    let field = ItemField { training: Training::ClosedForm, ..ItemField::default() };
    let report = field.fit(&ratings).unwrap().report;
    assert_eq!(report.status, Status::Converged);
    assert!(matches!(report.certificate, Certificate::Residual { norm: 0.0, .. }));
}

#[test]
fn a_model_comes_back_from_its_file() {
    let model: GaussianModel = GraphicalLasso::default().fit(&chain_data(100, 5)).unwrap();
    assert_eq!(loaded(&model).unwrap(), model);
}

#[test]
fn matrices_of_other_shapes_are_refused() {
    let tall = Array2::<f64>::ones((3, 2));
    let text = |error: Error| error.to_string();
    assert!(text(graph_of(tall.view()).unwrap_err()).contains("3 x 2"));
    assert!(text(partial_correlations(tall.view()).unwrap_err()).contains("3 x 2"));
    assert!(text(edges_above(tall.view(), 0.5).unwrap_err()).contains("3 x 2"));
    let flat = array![[1.0, 0.5], [0.5, 0.0]];
    assert!(text(partial_correlations(flat.view()).unwrap_err()).contains("diagonal"));
    assert!(text(edges_above(flat.view(), f64::NAN).unwrap_err()).contains("level"));
    let (c, weights) = (Array2::<f64>::eye(3), PenaltyWeights::Uniform(0.1));
    let problem = Problem::new(c.view(), &weights).unwrap();
    let small = Array2::<f64>::eye(2);
    assert_eq!(problem.dual(small.view(), small.view()), f64::NEG_INFINITY);
    assert_eq!(problem.objective(small.view()), f64::INFINITY);
    assert_eq!(problem.objective(Array2::eye(4).view()), f64::INFINITY);
}

#[test]
fn graphs_with_nodes_that_do_not_exist_have_no_prior() {
    let text = |edges: &[(u32, u32)], h: &[f64]| prior(3, edges, h).unwrap_err().to_string();
    assert!(text(&[(0, 5)], &[1.0, 0.5]).contains("(0, 5)"));
    assert!(text(&[(1, 1)], &[1.0, 0.5]).contains("(1, 1)"));
    assert!(text(&[(0, 1), (0, 2)], &[1.0]).contains("increments"));
    assert_eq!(prior(3, &[(0, 1), (0, 2)], &[1.0, 0.5]).unwrap(), 1.5 + 1.0 + 1.0);
}

#[test]
fn correlations_of_a_shortcut_are_symmetric() {
    let mut r = Array2::<f64>::eye(130);
    r[[3, 100]] = 0.4;
    let error = Shortcut::new(r.view(), None).unwrap_err().to_string();
    assert!(error.contains("entry (100, 3)"), "{error}");
    r[[100, 3]] = 0.4;
    assert_eq!(Shortcut::new(r.view(), None).unwrap().edges(0.1).unwrap(), [(3, 100, 0.4)]);
}

/// Three rows of 300,000 columns: 720 GB of covariances.
#[test]
fn covariances_beyond_the_limit_are_refused_before_they_are_allocated() {
    let x = Array2::<f64>::from_shape_fn((3, 300_000), |(i, j)| ((i * j) % 7) as f64);
    let refused = |name: &str, error: Error| {
        assert!(matches!(error, Error::Refused(Refusal::MemoryLimit { .. })), "{name}: {error}");
    };
    let small = Some(1 << 20);
    refused("statistics", Statistics::from_data(&x).unwrap_err());
    refused("weighted", Statistics::from_weighted(&x, &[1.0, 2.0, 1.0]).unwrap_err());
    refused("lasso", GraphicalLasso::default().fit(&x).unwrap_err());
    let latent = LatentGraphicalLasso { max_memory: small, ..LatentGraphicalLasso::default() };
    refused("latent", latent.fit(&x).unwrap_err());
    let partial = PartialCorrelationLasso { max_memory: small, ..Default::default() };
    refused("partial", partial.fit(&x).unwrap_err());
    refused("scale-free", ScaleFree::default().fit(&x).unwrap_err());
    refused("node groups", NodeGroups::default().fit(&x).unwrap_err());
    refused("shrinkage", ledoit_wolf(&x).unwrap_err());
    refused("cross-validation", GraphicalLassoCv::default().fit(&x).unwrap_err());
    refused("stars", stars(&x, &StarsSettings::default()).unwrap_err());
    refused("imputed", missing::mean_imputed(x.view()).unwrap_err());
    refused("pairwise", missing::pairwise(x.view()).unwrap_err());
    refused("tau", kendall_bridge(x.view()).unwrap_err());
    refused("polychoric", polychoric(x.view()).unwrap_err());
    // The limit is the caller's: two matrices of 5 x 5.
    let few = chain_data(20, 5);
    refused("within", Statistics::from_data_within(&few, Some(399)).unwrap_err());
    assert!(Statistics::from_data_within(&few, Some(400)).is_ok());
    refused("ratings", Ratings::new(4_000_000_000, 2, [(0, 0, 1.0)]).unwrap_err());
}

#[test]
fn a_missing_entry_is_told_where_to_go() {
    let mut x = chain_data(20, 3);
    x[[4, 1]] = f64::NAN;
    let error = GraphicalLasso::default().fit(&x).unwrap_err().to_string();
    assert!(error.contains("`missing`") || error.contains("row 4"), "{error}");
    let error = Statistics::from_data(&x).unwrap_err().to_string();
    assert!(error.contains("`missing`") && error.contains("row 4, column 1"), "{error}");
}

/// Twelve sets on which the objective rose at the third iteration, and the loop took it for the end.
#[test]
fn expectation_maximisation_never_rises_at_its_defaults() {
    for seed in 1..=12 {
        let (n, p) = (40 + 10 * (seed as usize % 5), 5 + seed as usize % 4);
        let mut x = data(diagonally_dominant(p, &chain(p), -0.4).view(), n, seed);
        let mut rng = stream(seed, 1);
        x.mapv_inplace(|v| if rng.random::<f64>() < 0.2 { f64::NAN } else { v });
        let found = missing::em(x.view(), &GraphicalLasso::default(), 500, 1e-8).unwrap();
        assert_eq!(found.status, Status::Converged, "{seed}: {:?}", found.objective);
        assert!(found.objective.windows(2).all(|w| w[1] <= w[0] + 1e-8), "{:?}", found.objective);
    }
}

#[test]
fn nothing_to_maximise_has_converged() {
    let settings = LbfgsSettings::default();
    let none = laplacian::exact(3, &[], &[], &settings).unwrap();
    let tree = laplacian::bethe(3, &[(0, 1), (1, 2)], &[2.0, 4.0], 1e-4, &settings).unwrap();
    assert_eq!(tree.weights, [0.5, 0.25]);
    assert_eq!((none.report.status, tree.report.status), (Status::Converged, Status::Converged));
    let equal = Ratings::new(3, 2, [(0, 0, 4.0), (1, 0, 4.0), (2, 1, 4.0)]).unwrap();
    let field = ItemField { training: Training::ExactLikelihood, ..ItemField::default() };
    assert_eq!(field.fit(&equal).unwrap().report.status, Status::Converged);
}

/// Spreads of 1e300: on a triangle of equal spreads the resistance is 2/3 of a single edge's, so that `w = 2 / (3 v)`.
#[test]
fn exact_laplacians_do_not_depend_on_units() {
    let edges = [(0, 1), (1, 2), (0, 2)];
    for v in [1e-300, 1.0, 1e300] {
        let found = laplacian::exact(3, &edges, &[v; 3], &LbfgsSettings::default()).unwrap();
        assert_eq!(found.report.status, Status::Converged);
        for w in found.weights {
            assert!((w * v - 2.0 / 3.0).abs() < 1e-3, "{v}: {}", w * v);
        }
    }
}

#[test]
fn the_covariance_of_a_saved_model_is_the_inverse() {
    let model = GraphicalLasso::default().fit(&(chain_data(100, 5) * 1e-3)).unwrap();
    assert_eq!(loaded(&model).unwrap(), model);
    let mut other = model.clone();
    for at in [[0, 1], [1, 0]] {
        other.covariance[at] *= 1.001;
    }
    let error = loaded(&other).unwrap_err();
    assert!(error.contains("inverse of the precision"), "{error}");
}

/// An instability is `2 share (1 - share)`, at most 1/2: every graph would be stable beyond.
#[test]
fn counts_and_levels_out_of_range_are_refused() {
    let x = chain_data(60, 4);
    let lasso = GraphicalLasso::default();
    for resamples in [0, 1_000_001, usize::MAX] {
        let error = bootstrap(&x, &lasso, resamples, 0.9, 0).unwrap_err().to_string();
        assert!(error.contains("resamples") && error.contains("1,000,000"), "{error}");
    }
    let with = |threshold| stars(&x, &StarsSettings { threshold, ..StarsSettings::default() });
    for threshold in [f64::NAN, -0.1, 0.0, 0.500_001, 7.0, f64::INFINITY] {
        let error = with(threshold).unwrap_err().to_string();
        assert!(error.contains("threshold") && error.contains("(0, 1/2]"), "{error}");
    }
    assert!(with(0.5).is_ok());
    let mut scores = Array2::zeros((3, 3));
    scores[[0, 2]] = f64::INFINITY;
    assert_eq!(edges_above(scores.view(), 0.5).unwrap(), [(0, 2)]);
    scores[[1, 2]] = f64::NAN;
    let error = edges_above(scores.view(), 0.5).unwrap_err().to_string();
    assert!(error.contains("scores") && error.contains("row 1, column 2"), "{error}");
}
