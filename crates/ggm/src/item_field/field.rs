//! Item fields: the graph of items and its training.

use fenchel_linalg::Invalid;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::{Certificate, Clock, Report, Status, Stop, Wall, settings};
use serde::{Deserialize, Serialize};

use super::model::ItemFieldModel;
use super::ratings::Ratings;
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
        /// Steps of expectation maximisation (EM) after the first training. With 0, missing ratings count as the mean of the item.
        expectations: usize = 0,
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
    /// The number of ratings of every item.
    pub raters: Vec<u32>,
    /// The standard deviation of the ratings around the means of their items.
    pub deviation: f64,
}

impl ItemField {
    /// Learns graph and weights, and repeats the training with the moments that the model [expects](ItemField::expect).
    ///
    /// # Errors
    /// [`Invalid`] for settings out of range; errors of the training.
    pub fn fit(&self, ratings: &Ratings) -> Result<ItemFieldModel, Error> {
        let wall = Wall::start();
        let mut graph = self.graph(ratings)?;
        let mut model = self.train(&graph, ratings.range())?;
        for _ in 0..self.expectations {
            graph = self.expect(&graph, &model, ratings)?;
            model = self.train(&graph, ratings.range())?;
        }
        model.report.seconds = wall.seconds();
        Ok(model)
    }

    /// Adds the ridge to variances.
    pub(super) fn add_ridge(&self, variances: &mut [f64]) -> Result<(), Error> {
        Invalid::check_positive("ridge", self.ridge)?;
        let mut positive: Vec<f64> = variances.iter().copied().filter(|&v| v > 0.0).collect();
        positive.sort_unstable_by(f64::total_cmp);
        let median = positive.get(positive.len() / 2).copied().unwrap_or(1.0);
        variances.iter_mut().for_each(|v| *v += self.ridge * median);
        Ok(())
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
        let means = ratings.item_means();
        let users = ratings.users() as f64;
        let mut variances: Vec<f64> = (0..ratings.items())
            .map(|i| {
                ratings.of_item(i).iter().map(|r| (r.1 - means[i]).powi(2)).sum::<f64>() / users
            })
            .collect();
        let squares = variances.iter().sum::<f64>() * users;
        let raters = (0..ratings.items()).map(|i| ratings.of_item(i).len() as u32).collect();
        let deviation = (squares / ratings.count() as f64).sqrt();
        self.add_ridge(&mut variances)?;
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
        Ok(ItemGraph { means, variances, edges, covariances, raters, deviation })
    }

    /// Learns the weights of a graph. Predictions are clipped to `range`.
    ///
    /// # Errors
    /// [`Invalid`] for a range that is not finite and in order, and for a graph whose parts do not fit, are not finite or contain an
    /// edge twice; the errors of the training.
    pub fn train(&self, graph: &ItemGraph, range: (f64, f64)) -> Result<ItemFieldModel, Error> {
        let ItemGraph { means, variances, edges, covariances, raters, deviation } = graph;
        Invalid::check_finite("range", &[range.0, range.1])?;
        if range.0 > range.1 {
            let reason = format!("({}, {}); expected the smaller end first", range.0, range.1);
            return Err(Invalid::Layout { what: "range", reason }.into());
        }
        Invalid::check_length("variances", means.len(), variances.len())?;
        Invalid::check_length("raters", means.len(), raters.len())?;
        Invalid::check_nonnegative("deviation", *deviation)?;
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
        let wall = Wall::start();
        let account = |status, norm, iterations: usize| Report {
            status,
            certificate: Certificate::residual(None, norm, 0.0),
            passes: iterations as f64,
            oracle_calls: iterations as u64,
            seconds: wall.seconds(),
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
        let (means, raters, deviation) = (means.clone(), raters.clone(), *deviation);
        Ok(ItemFieldModel { means, neighbours, range, raters, deviation, report })
    }
}
