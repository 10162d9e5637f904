//! Item fields: training and prediction.

use fenchel_linalg::Invalid;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::model::Saved;
use fenchel_optim::{Certificate, Report, Status, Stop, settings};
use serde::{Deserialize, Serialize};

use super::Ratings;
use crate::bethe::{AscentSettings, diagonal_ascent, laplacian};
use crate::error::Error;
use crate::select::each;

/// How the weights of the edges are learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Training {
    /// Diagonal ascent.
    MaximumEntropy(AscentSettings),
    /// The Bethe weights of the data's own covariances.
    ClosedForm,
    /// Bethe approximation of the likelihood.
    BetheLikelihood,
    /// Exact likelihood.
    ExactLikelihood,
}

impl Default for Training {
    fn default() -> Self {
        Training::MaximumEntropy(AscentSettings::default())
    }
}

settings! {
    /// A recommender: a Gaussian field over items.
    ///
    /// ```
    /// use fenchel_ggm::item_field::{ItemField, Ratings};
    ///
    /// let liked = [(0, 0, 5.0), (0, 1, 5.0), (1, 0, 1.0), (1, 1, 2.0), (2, 0, 5.0), (3, 0, 1.0), (3, 1, 1.0)];
    /// let model = ItemField::default().fit(&Ratings::new(4, 2, liked)?)?;
    /// // Whoever likes the first likes the second.
    /// assert!(model.predict(&[(0, 5.0)])?[1] > model.predict(&[(0, 1.0)])?[1]);
    /// # Ok::<(), fenchel_ggm::Error>(())
    /// ```
    pub struct ItemField {
        /// Most similar items that every item is joined to.
        neighbours: usize = 10,
        /// How weights are learned.
        training: Training = Training::default(),
        /// Added to variances, as a fraction of their median.
        ridge: f64 = 1e-3,
    }
}

/// The input of the training: variances, edges and covariances of the centred ratings. Missing ratings count as the mean of the item.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemGraph {
    /// Item means.
    pub means: Vec<f64>,
    /// Variances with their ridge.
    pub variances: Vec<f64>,
    /// Pairs `(i, j)`, `i < j`, ascending.
    pub edges: Vec<(u32, u32)>,
    /// Covariances of the pairs.
    pub covariances: Vec<f64>,
}

impl ItemField {
    /// Learns graph and weights.
    ///
    /// # Errors
    /// [`Invalid`] for settings out of range; errors of the training.
    pub fn fit(&self, ratings: &Ratings) -> Result<ItemFieldModel, Error> {
        self.train(&self.graph(ratings)?, ratings.range())
    }

    /// The graph that joins each item to its `neighbours` most similar items, by correlation over all users. The cost is the sum over
    /// the users of their squared numbers of ratings. Items are processed in parallel.
    ///
    /// # Errors
    /// [`Invalid`] for no neighbours or a ridge that is not positive.
    pub fn graph(&self, ratings: &Ratings) -> Result<ItemGraph, Error> {
        if self.neighbours == 0 {
            let (name, value) = ("neighbours", 0.0);
            return Err(Invalid::Parameter { name, value, expected: "at least 1" }.into());
        }
        Invalid::check_positive("ridge", self.ridge)?;
        let means = ratings.item_means();
        let users = ratings.users() as f64;
        let mut variances: Vec<f64> = (0..ratings.items())
            .map(|i| {
                ratings.of_item(i).iter().map(|r| (r.1 - means[i]).powi(2)).sum::<f64>() / users
            })
            .collect();
        let mut positive: Vec<f64> = variances.iter().copied().filter(|&v| v > 0.0).collect();
        positive.sort_unstable_by(f64::total_cmp);
        let median = positive.get(positive.len() / 2).copied().unwrap_or(1.0);
        variances.iter_mut().for_each(|v| *v += self.ridge * median);
        // A few items at a time, so that the row of sums is made once a group.
        const GROUP: usize = 32;
        let lists = each(ratings.items().div_ceil(GROUP), |group| {
            let mut sums = vec![0.0; ratings.items()];
            let mut touched = Vec::new();
            let mut found = Vec::new();
            for i in group * GROUP..((group + 1) * GROUP).min(ratings.items()) {
                for &(user, r) in ratings.of_item(i) {
                    let d = r - means[i];
                    if d == 0.0 {
                        continue;
                    }
                    for &(j, s) in ratings.of_user(user as usize) {
                        if sums[j as usize] == 0.0 {
                            touched.push(j);
                        }
                        sums[j as usize] += d * (s - means[j as usize]);
                    }
                }
                let mut near: Vec<(f64, u32, f64)> = Vec::new();
                touched.sort_unstable();
                touched.dedup();
                for &j in &touched {
                    let covariance = sums[j as usize] / users;
                    sums[j as usize] = 0.0;
                    if j as usize != i && covariance > 0.0 {
                        let r = covariance / (variances[i] * variances[j as usize]).sqrt();
                        near.push((r, j, covariance));
                    }
                }
                touched.clear();
                let order = |a: &(f64, u32, f64), b: &(f64, u32, f64)| {
                    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
                };
                if near.len() > self.neighbours {
                    near.select_nth_unstable_by(self.neighbours, order);
                    near.truncate(self.neighbours);
                }
                let i = i as u32;
                found.extend(near.iter().map(|&(_, j, c)| ((i.min(j), i.max(j)), c)));
            }
            Ok(found)
        })?;
        let mut pairs: Vec<((u32, u32), f64)> = lists.concat();
        pairs.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        pairs.dedup_by_key(|pair| pair.0);
        let (edges, covariances) = pairs.into_iter().unzip();
        Ok(ItemGraph { means, variances, edges, covariances })
    }

    /// Learns the weights of a graph. Predictions are clipped to `range`.
    ///
    /// # Errors
    /// [`Invalid`] for a range that is not finite and in order, and for a graph whose parts do not fit, are not finite or contain an
    /// edge twice; the errors of the training.
    pub fn train(&self, graph: &ItemGraph, range: (f64, f64)) -> Result<ItemFieldModel, Error> {
        let ItemGraph { means, variances, edges, covariances } = graph;
        Invalid::check_finite("range", &[range.0, range.1])?;
        if range.0 > range.1 {
            let reason = format!("({}, {}); expected the smaller end first", range.0, range.1);
            return Err(Invalid::Layout { what: "range", reason }.into());
        }
        Invalid::check_length("variances", means.len(), variances.len())?;
        Invalid::check_finite("means", means)?;
        crate::bethe::check_pairs(variances, edges, covariances)?;
        let spread = || -> Vec<f64> {
            let of = |(&(i, j), c): (&(u32, u32), &f64)| {
                variances[i as usize] + variances[j as usize] - 2.0 * c
            };
            edges.iter().zip(covariances).map(of).collect()
        };
        let settings = LbfgsSettings {
            stop: Stop { absolute: 1e-3, relative: 0.0, max_passes: 100.0, ..Stop::default() },
            ..LbfgsSettings::default()
        };
        let account = |status, norm, iterations: usize| Report {
            status,
            certificate: Certificate::Residual { objective: None, norm, error: 0.0, scale: None },
            passes: iterations as f64,
            oracle_calls: iterations as u64,
            seconds: 0.0,
        };
        let (weights, report) = match &self.training {
            Training::MaximumEntropy(settings) => {
                let found = diagonal_ascent(variances, edges, covariances, settings)?;
                let stationary = found.gradient <= settings.tolerance;
                let status = if stationary { Status::Converged } else { Status::PassLimit };
                (found.weights, account(status, found.gradient, found.iterations))
            }
            Training::ClosedForm => {
                let none = AscentSettings { iterations: 0, ..AscentSettings::default() };
                let found = diagonal_ascent(variances, edges, covariances, &none)?;
                // Nothing is iterated: the weights are what was asked for.
                (found.weights, account(Status::Converged, 0.0, 1))
            }
            Training::BetheLikelihood => {
                let fit = laplacian::bethe(means.len(), edges, &spread(), 1e-4, &settings)?;
                (fit.weights, fit.report)
            }
            Training::ExactLikelihood => {
                let fit = laplacian::exact(means.len(), edges, &spread(), &settings)?;
                (fit.weights, fit.report)
            }
        };
        let mut neighbours = vec![Vec::new(); means.len()];
        for (&(i, j), &w) in edges.iter().zip(&weights) {
            if w > 0.0 {
                neighbours[i as usize].push((j, w));
                neighbours[j as usize].push((i, w));
            }
        }
        neighbours.iter_mut().for_each(|list| list.sort_unstable_by_key(|n| n.0));
        Ok(ItemFieldModel { means: means.clone(), neighbours, range, report })
    }
}

/// A trained item field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ItemFieldModel {
    /// Item means.
    pub means: Vec<f64>,
    /// `(neighbour, weight)` of every item.
    pub neighbours: Vec<Vec<(u32, f64)>>,
    /// Smallest and largest rating.
    pub range: (f64, f64),
    /// The report of the training. The default training stops after 30 iterations, because early stopping regularises. Its status is
    /// then the pass limit, and the remaining gradient does not indicate a failure. The closed form has converged by definition.
    /// Seconds are measured only if the likelihood is maximised, and 0 otherwise.
    pub report: Report,
}

impl ItemFieldModel {
    /// The conditional mean of every item's rating given the known ones, which are returned unchanged. Items that are not connected to
    /// a known one get their mean. The method is conjugate gradients, with O(E) per iteration.
    ///
    /// # Errors
    /// [`Invalid`] for an item that does not exist or is there twice, or a rating that is not finite; for a model whose fields were
    /// changed so that they do not fit.
    pub fn predict(&self, known: &[(u32, f64)]) -> Result<Vec<f64>, Error> {
        let given = self.known(known)?;
        let p = self.means.len();
        let mut right = vec![0.0; p];
        for (i, list) in self.neighbours.iter().enumerate() {
            if given[i].is_none() {
                let pull = |&(j, w): &(u32, f64)| given[j as usize].map(|d| w * d);
                right[i] = list.iter().filter_map(pull).sum();
            }
        }
        let moved = self.solve(&given, &right);
        Ok((0..p)
            .map(|i| match given[i] {
                Some(d) => self.means[i] + d,
                None => (self.means[i] + moved[i]).clamp(self.range.0, self.range.1),
            })
            .collect())
    }

    /// [`predict`](ItemFieldModel::predict) for every user of a set of ratings, in parallel.
    ///
    /// # Errors
    /// As `predict`.
    pub fn predict_all(&self, ratings: &Ratings) -> Result<Vec<Vec<f64>>, Error> {
        each(ratings.users(), |user| self.predict(ratings.of_user(user)))
    }

    /// The conditional variance of one item's rating. Its unit is that of the training variances, in which missing ratings count as the
    /// mean. The variance is infinite if the item is connected to no known item, and 0 for a known item.
    ///
    /// # Errors
    /// As [`predict`](ItemFieldModel::predict).
    pub fn variance(&self, item: u32, known: &[(u32, f64)]) -> Result<f64, Error> {
        let given = self.known(known)?;
        let p = self.means.len();
        if item as usize >= p {
            let (name, value) = ("item", f64::from(item));
            return Err(Invalid::Parameter { name, value, expected: "an item of the model" }.into());
        }
        if given[item as usize].is_some() {
            return Ok(0.0);
        }
        // Whether a known item can be reached.
        let mut seen = vec![false; p];
        let mut stack = vec![item];
        let mut reached = false;
        while let Some(i) = stack.pop() {
            if std::mem::replace(&mut seen[i as usize], true) {
                continue;
            }
            if given[i as usize].is_some() {
                reached = true;
                break;
            }
            stack.extend(self.neighbours[i as usize].iter().map(|n| n.0));
        }
        if !reached {
            return Ok(f64::INFINITY);
        }
        let mut right = vec![0.0; p];
        right[item as usize] = 1.0;
        Ok(self.solve(&given, &right)[item as usize])
    }

    /// The unrated items with the highest predictions, best first.
    ///
    /// # Errors
    /// As [`predict`](ItemFieldModel::predict).
    pub fn top(&self, known: &[(u32, f64)], count: usize) -> Result<Vec<(u32, f64)>, Error> {
        let predictions = self.predict(known)?;
        let rated = |i: u32| known.iter().any(|k| k.0 == i);
        let mut all: Vec<(u32, f64)> = (0..).zip(predictions).filter(|&(i, _)| !rated(i)).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(count);
        Ok(all)
    }

    /// The mean absolute error on held-out ratings, with each user's training ratings as known.
    ///
    /// # Errors
    /// As `predict`; [`Invalid`] for a wrong number of items.
    pub fn mean_absolute_error(&self, train: &Ratings, test: &Ratings) -> Result<f64, Error> {
        Invalid::check_length("items of the test", self.means.len(), test.items())?;
        let sums = each(test.users(), |user| {
            if test.of_user(user).is_empty() {
                return Ok(0.0);
            }
            let found = self.predict(train.of_user(user))?;
            Ok(test.of_user(user).iter().map(|&(i, r)| (found[i as usize] - r).abs()).sum())
        })?;
        Ok(sums.iter().sum::<f64>() / test.count() as f64)
    }

    /// Deviations of known items from their means.
    fn known(&self, known: &[(u32, f64)]) -> Result<Vec<Option<f64>>, Error> {
        // The fields are public.
        self.check().map_err(|reason| Invalid::Layout { what: "item field", reason })?;
        let mut given = vec![None; self.means.len()];
        for &(item, value) in known {
            let Some(mean) = self.means.get(item as usize) else {
                let (name, value) = ("known item", f64::from(item));
                let expected = "an item of the model";
                return Err(Invalid::Parameter { name, value, expected }.into());
            };
            Invalid::check_finite("known rating", &[value])?;
            if given[item as usize].is_some() {
                let reason = format!("item {item} is rated twice");
                return Err(Invalid::Layout { what: "known ratings", reason }.into());
            }
            given[item as usize] = Some(value - mean);
        }
        Ok(given)
    }

    /// `Theta_UU x = right` by conjugate gradients with the diagonal as preconditioner.
    fn solve(&self, given: &[Option<f64>], right: &[f64]) -> Vec<f64> {
        let p = self.means.len();
        let free: Vec<usize> =
            (0..p).filter(|&i| given[i].is_none() && !self.neighbours[i].is_empty()).collect();
        let diagonal: Vec<f64> =
            self.neighbours.iter().map(|list| list.iter().map(|n| n.1).sum()).collect();
        let mut x = vec![0.0; p];
        let mut r = right.to_vec();
        let mut z = vec![0.0; p];
        let mut d = vec![0.0; p];
        let mut q = vec![0.0; p];
        let mut size = 0.0;
        for &i in &free {
            z[i] = r[i] / diagonal[i];
            d[i] = z[i];
            size += r[i] * z[i];
        }
        let first: f64 = size;
        for _ in 0..1000 {
            if !(size > 1e-14 * first) {
                break;
            }
            let mut curvature = 0.0;
            for &i in &free {
                // Known items have d = 0.
                let pulled: f64 = self.neighbours[i].iter().map(|&(j, w)| w * d[j as usize]).sum();
                q[i] = diagonal[i] * d[i] - pulled;
                curvature += d[i] * q[i];
            }
            if !(curvature > 0.0) {
                break;
            }
            let step = size / curvature;
            let mut next = 0.0;
            for &i in &free {
                x[i] += step * d[i];
                r[i] -= step * q[i];
                z[i] = r[i] / diagonal[i];
                next += r[i] * z[i];
            }
            let share = next / size;
            size = next;
            for &i in &free {
                d[i] = z[i] + share * d[i];
            }
        }
        x
    }
}

impl Saved for ItemFieldModel {
    const KIND: &'static str = "item field";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        let p = self.means.len();
        if self.neighbours.len() != p {
            return Err(format!("{} lists of neighbours for {p} items", self.neighbours.len()));
        }
        if !self.means.iter().all(|m| m.is_finite()) || !(self.range.0 <= self.range.1) {
            return Err("means must be finite and the range in order".into());
        }
        for (i, list) in self.neighbours.iter().enumerate() {
            for (at, &(j, w)) in list.iter().enumerate() {
                if j as usize >= p || j as usize == i || !(w > 0.0 && w.is_finite()) {
                    return Err(format!(
                        "neighbour {j} of item {i} with weight {w}; expected another of the {p} items and a positive weight"
                    ));
                }
                if at > 0 && list[at - 1].0 >= j {
                    return Err(format!("the neighbours of item {i} must ascend without repeats"));
                }
                let back = &self.neighbours[j as usize];
                let mirror = back.binary_search_by_key(&(i as u32), |n| n.0);
                if mirror.map_or(true, |at| back[at].1 != w) {
                    return Err(format!("items {i} and {j} must be neighbours with one weight"));
                }
            }
        }
        Ok(())
    }
}
