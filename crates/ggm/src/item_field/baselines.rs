//! Other recommenders, for comparison.
//!
//! | method | prediction |
//! |---|---|
//! | [`item_means`] | the mean rating of the item |
//! | [`cosine`] with `fixed_graph` | weighted mean of the user's ratings of those of the item's `k` nearest items that the user rated; weights are similarities (A. Defazio, PhD thesis 2014, equation 9.4) |
//! | [`cosine`] without | the same over the `k` nearest among the items that the user rated |
//! | [`NeighbourhoodModel`] | learned weights of the `k` nearest items (Koren, TKDD 4, 2010, without latent factors) |
//! | [`FactorModel`] | latent factors, all learned at once by stochastic gradients |
//!
//! All functions return mean absolute errors on held-out ratings.

use fenchel_linalg::Invalid;
use fenchel_optim::random::stream;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};

use super::Ratings;
use crate::error::Error;
use crate::select::each;

fn error(test: &Ratings, mut predict: impl FnMut(usize, usize) -> f64) -> f64 {
    let total: f64 = test.iter().map(|(u, i, r)| (predict(u as usize, i as usize) - r).abs()).sum();
    total / test.count() as f64
}

/// Checks that the test set has the users and items of the training set.
fn check_test(users: usize, items: usize, test: &Ratings) -> Result<(), Error> {
    Invalid::check_length("users of the test", users, test.users())?;
    Ok(Invalid::check_length("items of the test", items, test.items())?)
}

/// Predicts the item's mean for every user.
///
/// # Errors
/// [`Invalid`] for a test with other numbers of users or items.
pub fn item_means(train: &Ratings, test: &Ratings) -> Result<f64, Error> {
    check_test(train.users(), train.items(), test)?;
    let means = train.item_means();
    Ok(error(test, |_, i| means[i]))
}

/// Positive cosine similarities of item `i` with all others, of centred ratings. The sums are over all users: a missing rating counts as
/// the mean of the item (A. Defazio, PhD thesis 2014, the formula under equation 9.4).
fn similarities(train: &Ratings, means: &[f64], norms: &[f64], i: usize) -> Vec<(f64, u32)> {
    let mut dot = vec![0.0; train.items()];
    for &(user, r) in train.of_item(i) {
        let d = r - means[i];
        for &(j, s) in train.of_user(user as usize) {
            dot[j as usize] += d * (s - means[j as usize]);
        }
    }
    (0..train.items())
        .filter(|&j| j != i && dot[j] > 0.0)
        .map(|j| (dot[j] / norms[i] / norms[j], j as u32))
        .collect()
}

/// The same with sums over the users who rated both items, as Koren has it.
fn similarities_among_co_raters(train: &Ratings, means: &[f64], i: usize) -> Vec<(f64, u32)> {
    let items = train.items();
    let (mut dot, mut own, mut other) = (vec![0.0; items], vec![0.0; items], vec![0.0; items]);
    for &(user, r) in train.of_item(i) {
        let d = r - means[i];
        for &(j, s) in train.of_user(user as usize) {
            let (j, e) = (j as usize, s - means[j as usize]);
            dot[j] += d * e;
            own[j] += d * d;
            other[j] += e * e;
        }
    }
    (0..items)
        .filter(|&j| j != i && dot[j] > 0.0)
        .map(|j| (dot[j] / (own[j] * other[j]).sqrt(), j as u32))
        .collect()
}

/// Prediction from cosine neighbourhoods. The neighbours are the `k` most similar items of each item, or the `k` most
/// similar among the items that the user rated. A. Defazio, PhD thesis 2014, uses the first.
///
/// # Errors
/// [`Invalid`] for a test with other numbers of users or items.
pub fn cosine(train: &Ratings, test: &Ratings, k: usize, fixed_graph: bool) -> Result<f64, Error> {
    check_test(train.users(), train.items(), test)?;
    let means = train.item_means();
    let norm =
        |i: usize| train.of_item(i).iter().map(|r| (r.1 - means[i]).powi(2)).sum::<f64>().sqrt();
    let norms: Vec<f64> = (0..train.items()).map(norm).collect();
    let (low, high) = train.range();
    let sums = each(train.items(), |i| {
        if test.of_item(i).is_empty() {
            return Ok(0.0);
        }
        let mut near = similarities(train, &means, &norms, i);
        near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        if fixed_graph {
            near.truncate(k);
        }
        let mut sum = 0.0;
        for &(user, r) in test.of_item(i) {
            let rated = train.of_user(user as usize);
            let (mut top, mut weight, mut count) = (0.0, 0.0, 0);
            for &(s, j) in &near {
                if let Ok(at) = rated.binary_search_by_key(&j, |r| r.0) {
                    top += s * (rated[at].1 - means[j as usize]);
                    weight += s;
                    count += 1;
                    if count == k {
                        break;
                    }
                }
            }
            let shift = if weight > 0.0 { top / weight } else { 0.0 };
            sum += ((means[i] + shift).clamp(low, high) - r).abs();
        }
        Ok(sum)
    })?;
    Ok(sums.iter().sum::<f64>() / test.count() as f64)
}

/// Settings of the two models that are trained by stochastic gradients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SgdSettings {
    /// Passes over the ratings.
    pub passes: usize,
    /// First step.
    pub step: f64,
    /// Factor of the step from pass to pass.
    pub decay: f64,
    /// Weight of half the squared norm.
    pub l2: f64,
    /// Seed of the order and of the start.
    pub seed: u64,
}

impl SgdSettings {
    fn check(&self) -> Result<(), Error> {
        Invalid::check_positive("step", self.step)?;
        Invalid::check_positive("decay", self.decay)?;
        Ok(Invalid::check_nonnegative("l2", self.l2)?)
    }

    /// Checks that the weights are finite; they are not if the steps were too large.
    fn check_end(&self, biases: &Biases) -> Result<(), Error> {
        if biases.user.iter().chain(&biases.item).all(|b| b.is_finite()) {
            return Ok(());
        }
        let (name, value) = ("step", self.step);
        let expected = "a smaller number: the weights grew beyond all bounds";
        Err(Invalid::Parameter { name, value, expected }.into())
    }
}

/// The neighbourhood model `r = b_ui + |R|^-1/2 sum_(j in R) (r_uj - b_uj) w_ij`, where `R` are the rated items among
/// the `k` most similar ones. The weights `w_ij` are learned by least squares.
#[derive(Debug, Clone)]
pub struct NeighbourhoodModel {
    near: Vec<Vec<u32>>,
    weights: Vec<Vec<f64>>,
    biases: Biases,
    /// Baselines `b_uj` are fixed.
    fixed: Biases,
}

#[derive(Debug, Clone)]
struct Biases {
    mean: f64,
    user: Vec<f64>,
    item: Vec<f64>,
}

impl Biases {
    /// Means of deviations, shrunk.
    fn new(train: &Ratings) -> Biases {
        let mean = train.mean();
        let item: Vec<f64> = (0..train.items())
            .map(|i| {
                let list = train.of_item(i);
                list.iter().map(|r| r.1 - mean).sum::<f64>() / (list.len() as f64 + 10.0)
            })
            .collect();
        let user = (0..train.users())
            .map(|u| {
                let list = train.of_user(u);
                let sum: f64 = list.iter().map(|r| r.1 - mean - item[r.0 as usize]).sum();
                sum / (list.len() as f64 + 15.0)
            })
            .collect();
        Biases { mean, user, item }
    }

    fn at(&self, u: usize, i: usize) -> f64 {
        self.mean + self.user[u] + self.item[i]
    }
}

impl NeighbourhoodModel {
    /// Trains the model. The scale of the `settings` in A. Defazio, PhD thesis 2014, is step 0.005 and l2 0.002.
    ///
    /// # Errors
    /// [`Invalid`] for settings out of range, or steps with which the weights diverge.
    pub fn fit(train: &Ratings, k: usize, settings: &SgdSettings) -> Result<Self, Error> {
        settings.check()?;
        let means = train.item_means();
        let near = each(train.items(), |i| {
            let mut near = similarities_among_co_raters(train, &means, i);
            // Similarities of few ratings are shrunk, as in the source.
            for s in &mut near {
                let count = train.of_item(s.1 as usize).len().min(train.of_item(i).len()) as f64;
                s.0 *= count / (count + 100.0);
            }
            near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            Ok(near.iter().take(k).map(|s| s.1).collect::<Vec<u32>>())
        })?;
        let weights = near.iter().map(|list| vec![0.0; list.len()]).collect();
        let fixed = Biases::new(train);
        let mut model = NeighbourhoodModel { near, weights, biases: fixed.clone(), fixed };
        let mut order: Vec<(u32, u32, f64)> = train.iter().collect();
        let mut step = settings.step;
        let mut rated = Vec::new();
        for pass in 0..settings.passes {
            order.shuffle(&mut stream(settings.seed, pass as u64));
            for &(u, i, r) in &order {
                let (u, i) = (u as usize, i as usize);
                model.rated(train, u, i, &mut rated);
                let norm = if rated.is_empty() { 0.0 } else { 1.0 / (rated.len() as f64).sqrt() };
                let e = r - model.value(u, i, &rated, norm);
                model.biases.user[u] += step * (e - settings.l2 * model.biases.user[u]);
                model.biases.item[i] += step * (e - settings.l2 * model.biases.item[i]);
                for &(at, d) in &rated {
                    let w = &mut model.weights[i][at];
                    *w += step * (e * norm * d - settings.l2 * *w);
                }
            }
            step *= settings.decay;
        }
        settings.check_end(&model.biases)?;
        Ok(model)
    }

    fn rated(&self, train: &Ratings, u: usize, i: usize, out: &mut Vec<(usize, f64)>) {
        out.clear();
        let list = train.of_user(u);
        for (at, &j) in self.near[i].iter().enumerate() {
            if let Ok(found) = list.binary_search_by_key(&j, |r| r.0) {
                out.push((at, list[found].1 - self.fixed.at(u, j as usize)));
            }
        }
    }

    fn value(&self, u: usize, i: usize, rated: &[(usize, f64)], norm: f64) -> f64 {
        let sum: f64 = rated.iter().map(|&(at, d)| self.weights[i][at] * d).sum();
        self.biases.at(u, i) + norm * sum
    }

    /// Mean absolute error on held-out ratings.
    ///
    /// # Errors
    /// [`Invalid`] for ratings with other numbers of users or items.
    pub fn mean_absolute_error(&self, train: &Ratings, test: &Ratings) -> Result<f64, Error> {
        let (users, items) = (self.fixed.user.len(), self.fixed.item.len());
        Invalid::check_length("users of the training", users, train.users())?;
        Invalid::check_length("items of the training", items, train.items())?;
        check_test(users, items, test)?;
        let (low, high) = train.range();
        let mut rated = Vec::new();
        Ok(error(test, |u, i| {
            self.rated(train, u, i, &mut rated);
            let norm = if rated.is_empty() { 0.0 } else { 1.0 / (rated.len() as f64).sqrt() };
            self.value(u, i, &rated, norm).clamp(low, high)
        }))
    }
}

/// `r = mu + b_u + b_i + p_u . q_i`.
#[derive(Debug, Clone)]
pub struct FactorModel {
    biases: Biases,
    users: Vec<Vec<f64>>,
    items: Vec<Vec<f64>>,
}

impl FactorModel {
    /// Trains the model. Usual settings are step 0.01, decay 0.9 per pass and l2 0.05.
    ///
    /// # Errors
    /// As [`NeighbourhoodModel::fit`].
    pub fn fit(train: &Ratings, factors: usize, settings: &SgdSettings) -> Result<Self, Error> {
        settings.check()?;
        let mut rng = stream(settings.seed, u64::MAX);
        let mut table = |n: usize| -> Vec<Vec<f64>> {
            let mut draw = || {
                let z: f64 = StandardNormal.sample(&mut rng);
                0.1 * z
            };
            (0..n).map(|_| (0..factors).map(|_| draw()).collect()).collect()
        };
        let (users, items) = (table(train.users()), table(train.items()));
        let mut model = FactorModel { biases: Biases::new(train), users, items };
        let mut order: Vec<(u32, u32, f64)> = train.iter().collect();
        let mut step = settings.step;
        for pass in 0..settings.passes {
            order.shuffle(&mut stream(settings.seed, pass as u64));
            for &(u, i, r) in &order {
                let (u, i) = (u as usize, i as usize);
                let e = r - model.value(u, i);
                model.biases.user[u] += step * (e - settings.l2 * model.biases.user[u]);
                model.biases.item[i] += step * (e - settings.l2 * model.biases.item[i]);
                for (p, q) in model.users[u].iter_mut().zip(&mut model.items[i]) {
                    let old = *p;
                    *p += step * (e * *q - settings.l2 * *p);
                    *q += step * (e * old - settings.l2 * *q);
                }
            }
            step *= settings.decay;
        }
        settings.check_end(&model.biases)?;
        Ok(model)
    }

    fn value(&self, u: usize, i: usize) -> f64 {
        let product: f64 = self.users[u].iter().zip(&self.items[i]).map(|(p, q)| p * q).sum();
        self.biases.at(u, i) + product
    }

    /// Mean absolute error on held-out ratings.
    ///
    /// # Errors
    /// [`Invalid`] for a test with other numbers of users or items.
    pub fn mean_absolute_error(&self, train: &Ratings, test: &Ratings) -> Result<f64, Error> {
        check_test(self.users.len(), self.items.len(), test)?;
        let (low, high) = train.range();
        Ok(error(test, |u, i| self.value(u, i).clamp(low, high)))
    }
}
