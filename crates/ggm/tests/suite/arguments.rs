//! Arguments and files that do not fit are refused by name.

use std::ops::Range;

use fenchel_ggm::item_field::Training;
use fenchel_ggm::scale_free::{RowOrder, row_prox};
use fenchel_ggm::synthetic::{chain, diagonally_dominant};
use fenchel_ggm::{
    GaussianCrf, GaussianModel, GraphicalLasso, ItemField, LatentGraphicalLasso, LatentModel,
    Ratings, Statistics, debiased,
};
use fenchel_optim::model::Saved;
use fenchel_optim::{Certificate, Status};
use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use crate::common::data;

fn chain_data(n: usize, p: usize) -> Array2<f64> {
    data(diagonally_dominant(p, &chain(p), -0.4).view(), n, 1)
}

/// What loading says of a model that was saved as it is.
fn loaded<M: Saved>(model: &M) -> Result<M, String> {
    let mut file = Vec::new();
    model.save(&mut file).unwrap();
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
    assert!(prox(&[1.0], &[0.5], 1.0, 2).unwrap_err().contains("room"));
}

#[test]
fn a_false_discovery_rate_is_a_share() {
    let statistics = Statistics::from_data(&chain_data(100, 5)).unwrap();
    let model = GraphicalLasso::default().fit_statistics(&statistics).unwrap();
    let found = debiased(&model, &statistics).unwrap();
    for rate in [f64::NAN, -1.0, 1.5] {
        assert!(found.edges(rate).unwrap_err().to_string().contains("rate"), "{rate}");
    }
    assert!(found.edges(0.0).unwrap().is_empty());
    assert_eq!(found.edges(1.0).unwrap().len(), 10);
}

#[test]
fn the_parts_of_a_saved_latent_model_add_up() {
    let model: LatentModel = LatentGraphicalLasso::default().fit(&chain_data(100, 5)).unwrap();
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
    let whole = fit.fit_statistics(&Statistics::from_data(&all).unwrap(), 3).unwrap();
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
