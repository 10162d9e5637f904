//! Gaussian belief propagation, Laplacians, and the recommender on top.

use fenchel_ggm::bethe::propagation::gaussian_belief_propagation;
use fenchel_ggm::bethe::{AscentSettings, diagonal_ascent, laplacian};
use fenchel_ggm::item_field::baselines::{
    FactorModel, NeighbourhoodModel, SgdSettings, cosine, item_means,
};
use fenchel_ggm::item_field::{
    AttributeField, AttributeFieldModel, ItemFieldModel, ItemGraph, Training,
};
use fenchel_ggm::synthetic::{barabasi_albert, diagonally_dominant};
use fenchel_ggm::{Error, ItemField, Ratings};
use fenchel_linalg::Cholesky;
use fenchel_optim::Stop;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::model::Saved;
use fenchel_optim::random::stream;
use ndarray::Array2;
use rand::RngExt;

use crate::common::{inverse, statistics};

type Listed = Vec<(u32, u32, f64)>;

fn listed(theta: &Array2<f64>, edges: &[(u32, u32)]) -> (Vec<f64>, Listed) {
    let value = |&(i, j): &(u32, u32)| (i, j, theta[[i as usize, j as usize]]);
    (theta.diag().to_vec(), edges.iter().map(value).collect())
}

#[test]
fn messages_give_means_everywhere_and_variances_on_trees() {
    for (m, seed) in [(1, 0), (2, 1), (3, 2)] {
        let edges = barabasi_albert(15, m, &mut stream(seed, 0)).unwrap();
        let theta = diagonally_dominant(15, &edges, -0.2);
        let (w, _) = inverse(&theta).unwrap();
        let b: Vec<f64> = (0..15).map(|i| f64::from(i) - 6.0).collect();
        let (diagonal, list) = listed(&theta, &edges);
        let found = gaussian_belief_propagation(&diagonal, &list, &b, 1e-14, 2000).unwrap();
        let exact = w.dot(&ndarray::Array1::from(b));
        assert!(found.mean.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-10));
        for i in 0..15 {
            let ratio = found.variance[i] / w[[i, i]];
            assert!(ratio <= 1.0 + 1e-12 && (m > 1 || ratio > 1.0 - 1e-10), "{m} {ratio}");
        }
        for (c, &(i, j)) in found.covariance.iter().zip(&edges) {
            assert!(m > 1 || (c - w[[i as usize, j as usize]]).abs() < 1e-10);
        }
    }
    let frustrated = [(0, 1, 0.9), (1, 2, 0.9), (0, 2, 0.9)];
    let result = gaussian_belief_propagation(&[1.0; 3], &frustrated, &[0.0; 3], 1e-12, 1000);
    assert!(matches!(result, Err(Error::NotWalkSummable { .. })), "{result:?}");
    assert!(gaussian_belief_propagation(&[1.0], &[(0, 0, 1.0)], &[0.0], 1e-9, 10).is_err());
    assert!(gaussian_belief_propagation(&[1.0], &[], &[0.0, 1.0], 1e-9, 10).is_err());
}

#[test]
fn without_one_node_a_connected_laplacian_is_positive_definite() {
    for seed in 0..20 {
        let mut rng = stream(seed, 0);
        let edges = barabasi_albert(9, 2, &mut rng).unwrap();
        let mut theta = Array2::<f64>::zeros((9, 9));
        for &(i, j) in &edges {
            let (i, j, w) = (i as usize, j as usize, 0.01 + rng.random::<f64>());
            theta[[i, i]] += w;
            theta[[j, j]] += w;
            theta[[i, j]] = -w;
            theta[[j, i]] = -w;
        }
        assert!(theta.sum_axis(ndarray::Axis(0)).iter().all(|s| s.abs() < 1e-12));
        let out = rng.random_range(0..9);
        let keep: Vec<usize> = (0..9).filter(|&i| i != out).collect();
        let minor = Array2::from_shape_fn((8, 8), |(a, b)| theta[[keep[a], keep[b]]]);
        assert!(Cholesky::new(minor.view()).is_ok());
    }
}

#[test]
fn laplacians_are_told_from_other_matrices() {
    let mut rng = stream(4, 0);
    let edges = barabasi_albert(12, 2, &mut rng).unwrap();
    let w: Vec<f64> = edges.iter().map(|_| 10.0_f64.powf(rng.random_range(-3.0..3.0))).collect();
    let theta = laplacian::matrix(12, &edges, &w).unwrap();
    let mut expected: Vec<_> = edges.iter().zip(&w).map(|(&(i, j), &w)| (i, j, w)).collect();
    expected.sort_by_key(|e| (e.0, e.1));
    assert_eq!(laplacian::weights(theta.view()).unwrap(), expected);
    // x' Theta x is the weighted sum of squared differences.
    let x: Vec<f64> = (0..12).map(|i| (i as f64).sin()).collect();
    let form: f64 = theta.indexed_iter().map(|((i, j), t)| x[i] * t * x[j]).sum();
    let difference = |&(i, j): &(u32, u32)| x[i as usize] - x[j as usize];
    let sum: f64 = edges.iter().zip(&w).map(|(e, w)| w * difference(e).powi(2)).sum();
    assert!((form - sum).abs() < 1e-10 * sum);
    let message = |at: (usize, usize), value: f64| {
        let mut other = theta.clone();
        other[at] = value;
        laplacian::weights(other.view()).unwrap_err().to_string()
    };
    assert!(message((3, 3), 1e9).contains("row 3"));
    assert!(message((2, 5), 7.0).contains("(2, 5)"));
    assert!(message((0, 1), f64::NAN).contains("row 0, column 1"));
    assert!(laplacian::weights(Array2::<f64>::zeros((2, 3)).view()).is_err());
    assert!(laplacian::matrix(3, &[(0, 1)], &[-1.0]).unwrap_err().to_string().contains("weight"));
    assert!(laplacian::matrix(3, &[(0, 3)], &[1.0]).unwrap_err().to_string().contains("(0, 3)"));
    assert!(laplacian::matrix(3, &[(0, 1)], &[]).is_err());
}

fn spreads(p: usize, edges: &[(u32, u32)]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let c = statistics(diagonally_dominant(p, edges, -0.2).view(), 300, 8).covariance;
    let pairs: Vec<f64> = edges.iter().map(|&(i, j)| c[[i as usize, j as usize]]).collect();
    let spread = edges
        .iter()
        .map(|&(i, j)| {
            let (i, j) = (i as usize, j as usize);
            c[[i, i]] + c[[j, j]] - 2.0 * c[[i, j]]
        })
        .collect();
    (c.diag().to_vec(), pairs, spread)
}

fn tight() -> LbfgsSettings {
    let stop = Stop { absolute: 1e-7, relative: 0.0, max_passes: 5000.0, ..Stop::default() };
    LbfgsSettings { stop, ..LbfgsSettings::default() }
}

#[test]
fn exact_laplacians_match_resistances() {
    let tree = barabasi_albert(8, 1, &mut stream(3, 0)).unwrap();
    let (_, _, spread) = spreads(8, &tree);
    let found = laplacian::exact(8, &tree, &spread, &tight()).unwrap();
    for (w, v) in found.weights.iter().zip(&spread) {
        assert!((w * v - 1.0).abs() < 1e-6);
    }
    // With cycles: the sum of w v is the rank, and the conditions hold.
    let edges = barabasi_albert(9, 3, &mut stream(4, 0)).unwrap();
    let (_, _, spread) = spreads(9, &edges);
    let found = laplacian::exact(9, &edges, &spread, &tight()).unwrap();
    let rank: f64 = found.weights.iter().zip(&spread).map(|(w, v)| w * v).sum();
    let parts = fenchel_graphical::Graph::new(9, edges.clone()).unwrap().components().len();
    assert!((rank - (9 - parts) as f64).abs() < 1e-4, "{rank}");
    let mut matrix = Array2::from_elem((9, 9), 1.0 / 9.0);
    for (&(i, j), w) in edges.iter().zip(&found.weights) {
        let (i, j) = (i as usize, j as usize);
        matrix[[i, i]] += w;
        matrix[[j, j]] += w;
        matrix[[i, j]] -= w;
        matrix[[j, i]] -= w;
    }
    let (g, _) = inverse(&matrix).unwrap();
    for ((&(i, j), w), v) in edges.iter().zip(&found.weights).zip(&spread) {
        let (i, j) = (i as usize, j as usize);
        let resistance = g[[i, i]] + g[[j, j]] - 2.0 * g[[i, j]];
        assert!(resistance <= v * (1.0 + 1e-3), "{resistance} {v}");
        assert!(w * v < 1e-3 || (resistance / v - 1.0).abs() < 1e-3);
    }
    assert!(laplacian::exact(2, &[(0, 1)], &[0.0], &tight()).is_err());
    assert!(laplacian::exact(2, &[(0, 2)], &[1.0], &tight()).is_err());
}

#[test]
fn bethe_likelihood_and_diagonal_ascent_have_the_same_stationary_points() {
    let edges = barabasi_albert(10, 2, &mut stream(6, 0)).unwrap();
    let (variances, pairs, spread) = spreads(10, &edges);
    let settings = AscentSettings { iterations: 50_000, step: 1.0, ..AscentSettings::default() };
    let ascent = diagonal_ascent(&variances, &edges, &pairs, &settings).unwrap();
    assert!(ascent.gradient <= 1e-8);
    // Belief propagation on the Laplacian, with next to no ridge, finds the variances of the ascent.
    let mut diagonal = vec![1e-12; 10];
    let mut list = Vec::new();
    for (&(i, j), w) in edges.iter().zip(&ascent.weights) {
        diagonal[i as usize] += w;
        diagonal[j as usize] += w;
        list.push((i, j, -w));
    }
    let beliefs =
        gaussian_belief_propagation(&diagonal, &list, &[0.0; 10], 1e-13, 100_000).unwrap();
    for (a, b) in beliefs.variance.iter().zip(&ascent.variances) {
        assert!((a / b - 1.0).abs() < 1e-5, "{a} {b}");
    }
    let found = laplacian::bethe(10, &edges, &spread, 1e-9, &tight()).unwrap();
    for (a, b) in found.weights.iter().zip(&ascent.weights) {
        assert!((a - b).abs() < 1e-3 * b.max(0.1), "{a} {b}");
    }
}

/// Ratings with two tastes.
fn tastes(users: u32, items: u32, seed: u64) -> (Ratings, Ratings) {
    let mut rng = stream(seed, 0);
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for u in 0..users {
        let taste = 4.0 * rng.random::<f64>() - 2.0;
        for i in 0..items {
            let sign = if i < items / 2 { 1.0 } else { -1.0 };
            let noise = rng.random::<f64>() - 0.5;
            let r = (3.0 + sign * taste + noise).clamp(1.0, 5.0);
            match rng.random_range(0..10) {
                0..6 => train.push((u, i, r)),
                6..8 => test.push((u, i, r)),
                _ => {}
            }
        }
    }
    let make = |list| Ratings::new(users as usize, items as usize, list).unwrap();
    (make(train), make(test))
}

#[test]
fn every_training_beats_the_mean() {
    let (train, test) = tastes(150, 20, 1);
    let mean = item_means(&train, &test).unwrap();
    for training in [
        Training::default(),
        Training::ClosedForm,
        Training::BetheLikelihood,
        Training::ExactLikelihood,
    ] {
        let field = ItemField { training, neighbours: 5, ..ItemField::default() };
        let model = field.fit(&train).unwrap();
        let error = model.mean_absolute_error(&train, &test).unwrap();
        assert!(error < 0.6 * mean, "{:?}: {error} {mean}", field.training);
        let all = model.predict_all(&train).unwrap();
        assert_eq!(all[3], model.predict(train.of_user(3)).unwrap());
    }
    let sgd = SgdSettings { passes: 30, step: 0.02, decay: 0.95, l2: 0.02, seed: 1 };
    let near = NeighbourhoodModel::fit(&train, 5, &sgd).unwrap();
    assert!(near.mean_absolute_error(&train, &test).unwrap() < 0.6 * mean);
    let factors = FactorModel::fit(&train, 3, &sgd).unwrap();
    assert!(factors.mean_absolute_error(&train, &test).unwrap() < 0.6 * mean);
    assert!(cosine(&train, &test, 5, true).unwrap() < 0.7 * mean);
    assert!(cosine(&train, &test, 5, false).unwrap() < 0.7 * mean);
}

#[test]
fn predictions_are_conditional_means() {
    let (train, _) = tastes(80, 12, 2);
    let field = ItemField { neighbours: 3, ..ItemField::default() };
    let model = field.fit(&train).unwrap();
    let known = [(0_u32, 5.0), (7, 2.0)];
    let found = model.predict(&known).unwrap();
    assert_eq!((found[0], found[7]), (5.0, 2.0));
    // The dense system, with a tiny ridge for what is not connected.
    let free: Vec<usize> = (0..12).filter(|i| *i != 0 && *i != 7).collect();
    let weight = |i: usize, j: usize| {
        model.neighbours[i].iter().find(|n| n.0 as usize == j).map_or(0.0, |n| n.1)
    };
    let within = Array2::from_shape_fn((10, 10), |(a, b)| {
        let (i, j) = (free[a], free[b]);
        if i == j {
            model.neighbours[i].iter().map(|n| n.1).sum::<f64>() + 1e-12
        } else {
            -weight(i, j)
        }
    });
    let (w, _) = inverse(&within).unwrap();
    let pull: ndarray::Array1<f64> = free
        .iter()
        .map(|&i| weight(i, 0) * (5.0 - model.means[0]) + weight(i, 7) * (2.0 - model.means[7]))
        .collect();
    let moved = w.dot(&pull);
    for (a, &i) in free.iter().enumerate() {
        let expected = (model.means[i] + moved[a]).clamp(model.range.0, model.range.1);
        assert!((found[i] - expected).abs() < 1e-5, "{i}");
        let variance = model.variance(i as u32, &known).unwrap();
        assert!(variance == f64::INFINITY || (variance / w[[a, a]] - 1.0).abs() < 1e-4);
    }
    assert_eq!(model.variance(0, &known).unwrap(), 0.0);
    let top = model.top(&known, 4).unwrap();
    assert!(top.len() == 4 && top.is_sorted_by(|a, b| a.lower >= b.lower));
    for of in &top {
        assert!(of.item != 0 && of.item != 7 && of.prediction == found[of.item as usize]);
        assert_eq!(of.raters as usize, train.of_item(of.item as usize).len());
        let error = model.deviation / f64::from(of.raters).sqrt();
        assert!((of.prediction - of.lower - error).abs() < 1e-12);
    }
    assert_eq!(model.predict(&[]).unwrap(), model.means);
    assert!(model.predict(&[(99, 1.0)]).is_err() && model.predict(&[(0, f64::NAN)]).is_err());
    let mut file = Vec::new();
    model.save(&mut file).unwrap();
    assert_eq!(ItemFieldModel::load(&file[..]).unwrap(), model);
}

/// A film that one person rated with 5 has the mean 5 and no edge: nothing is known of it, and it is not recommended. Of two films with
/// equal predictions, the one that more people rated comes first.
#[test]
fn what_is_recommended_is_connected_and_well_known() {
    let mut all = Vec::new();
    for user in 0..40 {
        let liked = if user % 2 == 0 { 5.0 } else { 2.0 };
        all.extend([(user, 0, liked), (user, 1, liked)]);
        if user < 4 {
            all.push((user, 2, liked));
        }
    }
    all.push((39, 3, 5.0));
    let ratings = Ratings::new(40, 4, all).unwrap();
    let model = ItemField::default().fit(&ratings).unwrap();
    assert!((model.deviation - (84.0_f64 * 2.25 / 85.0).sqrt()).abs() < 1e-12);
    let top = model.top(&[(0, 5.0)], 10).unwrap();
    assert_eq!(top.iter().map(|of| (of.item, of.raters)).collect::<Vec<_>>(), [(1, 40), (2, 4)]);
    assert!(model.variance(3, &[(0, 5.0)]).unwrap().is_infinite());
    assert!(model.top(&[], 10).unwrap().is_empty());
    assert!(model.report.seconds > 0.0);
    let broken = ItemFieldModel { raters: vec![1], ..model.clone() };
    assert!(broken.check().unwrap_err().contains("raters") && broken.top(&[], 1).is_err());
    assert!(ItemFieldModel { deviation: f64::NAN, ..model }.check().is_err());
}

#[test]
fn bad_ratings_are_refused() {
    let text = |list: Vec<(u32, u32, f64)>| Ratings::new(2, 2, list).unwrap_err().to_string();
    assert!(text(vec![(2, 0, 1.0)]).contains("user 2"));
    assert!(text(vec![(0, 0, f64::NAN)]).contains("NaN"));
    assert!(text(vec![(0, 1, 1.0), (0, 1, 2.0)]).contains("twice"));
    assert!(text(vec![]).contains("empty"));
    let one = Ratings::new(2, 2, vec![(0, 0, 1.0)]).unwrap();
    assert!(ItemField { neighbours: 0, ..ItemField::default() }.fit(&one).is_err());
    // One rating: no variance, no edge, the means.
    let model = ItemField::default().fit(&one).unwrap();
    assert_eq!(model.predict(&[]).unwrap(), [1.0, 1.0]);
}

type Rated = Vec<(u32, u32, f64)>;

/// Ratings of `300 x 12`, about two thirds known: a field on a chain of items around means that depend on two attributes.
fn with_attributes(seed: u64) -> (Rated, Array2<f64>, Array2<f64>) {
    let mut rng = stream(seed, 7);
    let attributes = Array2::from_shape_fn((300, 2), |_| f64::from(rng.random::<bool>()));
    let effects = Array2::from_shape_fn((12, 2), |_| 2.0 * rng.random::<f64>() - 1.0);
    let mut ratings = Vec::new();
    for user in 0..300 {
        let mut level = 0.5 * (rng.random::<f64>() - 0.5);
        for item in 0..12 {
            level += 0.3 * (rng.random::<f64>() - 0.5);
            let shift = effects.row(item).dot(&attributes.row(user));
            if rng.random::<f64>() < 0.67 {
                ratings.push((user as u32, item as u32, 3.0 + shift + level));
            }
        }
    }
    (ratings, attributes, effects)
}

#[test]
fn attributes_move_means_and_nothing_else() {
    let (all, attributes, effects) = with_attributes(3);
    let ratings = Ratings::new(300, 12, all.iter().copied()).unwrap();
    let fit = AttributeField { ridge: 1e-6, ..AttributeField::default() };
    let model = fit.fit(&ratings, &attributes).unwrap();
    // 200 ratings with a standard deviation of about 0.3 an item, attributes of variance 1/4: standard errors below 0.05.
    let worst = (&model.effects - &effects).iter().fold(0.0_f64, |m, d| m.max(d.abs()));
    assert!(worst < 0.2, "{worst}");
    // Once the shifts are taken off it is an item field.
    let left = all.iter().map(|&(u, i, r)| {
        (u, i, r - model.effects.row(i as usize).dot(&attributes.row(u as usize)))
    });
    let left = Ratings::new(300, 12, left).unwrap();
    let graph = fit.field.graph(&left).unwrap();
    let plain = fit.field.train(&graph, (-100.0, 100.0)).unwrap();
    let (a, known) = ([1.0, 0.0], [(2, 4.0), (7, 2.5)]);
    let shift = model.effects.dot(&ndarray::aview1(&a));
    let moved = known.map(|(i, r): (u32, f64)| (i, r - shift[i as usize]));
    let expected = plain.predict(&moved).unwrap();
    let found = model.predict(&a, &known).unwrap();
    for i in 0..12 {
        let value = (expected[i] + shift[i]).clamp(model.range.0, model.range.1);
        assert!((found[i] - value).abs() < 1e-9, "{i}");
    }
    assert_eq!((found[2], found[7]), (4.0, 2.5));
    let mut file = Vec::new();
    model.save(&mut file).unwrap();
    assert_eq!(AttributeFieldModel::load(&file[..]).unwrap(), model);
}

#[test]
fn attributes_help_where_ratings_depend_on_them() {
    let (all, attributes, _) = with_attributes(4);
    let (test, train): (Vec<_>, Vec<_>) = all.iter().enumerate().partition(|(k, _)| k % 5 == 0);
    let train = Ratings::new(300, 12, train.into_iter().map(|(_, &r)| r)).unwrap();
    let with = AttributeField::default().fit(&train, &attributes).unwrap();
    let without = ItemField::default().fit(&train).unwrap();
    let (mut errors, mut plain) = (0.0, 0.0);
    for &(_, &(u, i, r)) in &test {
        let known = train.of_user(u as usize);
        let a = attributes.row(u as usize);
        errors += (with.predict(a, known).unwrap()[i as usize] - r).abs();
        plain += (without.predict(known).unwrap()[i as usize] - r).abs();
    }
    assert!(errors < 0.8 * plain, "{errors} {plain}");
}

#[test]
fn attributes_that_do_not_fit_are_refused() {
    let (all, attributes, _) = with_attributes(5);
    let ratings = Ratings::new(300, 12, all).unwrap();
    let fit = AttributeField::default();
    let text = |error: Error| error.to_string();
    let short = Array2::<f64>::zeros((299, 2));
    assert!(text(fit.fit(&ratings, &short).unwrap_err()).contains("rows of the attributes"));
    let none = AttributeField { ridge: 0.0, ..fit.clone() };
    assert!(text(none.fit(&ratings, &attributes).unwrap_err()).contains("ridge"));
    let model = fit.fit(&ratings, &attributes).unwrap();
    assert!(text(model.predict(&[1.0], &[]).unwrap_err()).contains("attributes"));
    assert!(text(model.predict(&[1.0, f64::NAN], &[]).unwrap_err()).contains("attributes"));
    assert!(model.predict(&[1.0, 0.0], &[(12, 3.0)]).is_err());
    assert!(model.predict(&[1.0, 0.0], &[(1, f64::NAN)]).is_err());
}

#[test]
fn expected_moments_on_a_chain_are_those_of_resistors() {
    // Items in a chain with resistances 1 / w. The first user knows item 0, the second items 1 and 3, the third nothing.
    let w = [2.0, 0.5, 4.0];
    let means = vec![3.0; 4];
    let neighbours = vec![
        vec![(1, w[0])],
        vec![(0, w[0]), (2, w[1])],
        vec![(1, w[1]), (3, w[2])],
        vec![(2, w[2])],
    ];
    let edges = vec![(0, 1), (1, 2), (2, 3)];
    let prior = ItemGraph {
        means: means.clone(),
        variances: vec![0.9, 0.8, 0.7, 0.6],
        edges: edges.clone(),
        covariances: vec![0.3, 0.2, 0.1],
        raters: vec![3; 4],
        deviation: 1.0,
    };
    let field = ItemField { ridge: 1e-14, training: Training::ClosedForm, ..ItemField::default() };
    let mut model = field.train(&prior, (1.0, 5.0)).unwrap();
    model.neighbours = neighbours;
    let (d, a, b) = (2.0, -1.0, 0.5);
    let ratings = Ratings::new(3, 4, [(0, 0, 3.0 + d), (1, 1, 3.0 + a), (1, 3, 3.0 + b)]).unwrap();
    let found = field.expect(&prior, &model, &ratings).unwrap();
    let r: Vec<f64> = w.iter().map(|w| 1.0 / w).collect();
    let between = (w[1] * a + w[2] * b) / (w[1] + w[2]);
    let variances = [
        d * d + (a * a + r[0]) + 0.9,
        (d * d + r[0]) + a * a + 0.8,
        (d * d + r[0] + r[1]) + (between * between + 1.0 / (w[1] + w[2])) + 0.7,
        (d * d + r[0] + r[1] + r[2]) + b * b + 0.6,
    ];
    let covariances = [
        d * d + a * a + 0.3,
        (d * d + r[0]) + a * between + 0.2,
        (d * d + r[0] + r[1]) + between * b + 0.1,
    ];
    for (found, sum) in found.variances.iter().zip(variances) {
        assert!((found - sum / 3.0).abs() < 1e-9, "{found} {}", sum / 3.0);
    }
    for (found, sum) in found.covariances.iter().zip(covariances) {
        assert!((found - sum / 3.0).abs() < 1e-9, "{found} {}", sum / 3.0);
    }
    assert_eq!((found.means, found.edges), (means, edges));
    let fewer = Ratings::new(1, 3, [(0, 0, 1.0)]).unwrap();
    assert!(field.expect(&prior, &model, &fewer).is_err());
}
