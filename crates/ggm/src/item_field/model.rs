//! Predictions of an item field.

use fenchel_linalg::Invalid;
use fenchel_optim::Report;
use fenchel_optim::model::Saved;
use serde::{Deserialize, Serialize};

use super::ratings::Ratings;
use crate::error::Error;
use crate::select::each;

/// An item that a user may like.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// The item.
    pub item: u32,
    /// The conditional mean of its rating.
    pub prediction: f64,
    /// `prediction` less one standard error of the item's mean, which is the [`deviation`](ItemFieldModel::deviation) over the root of
    /// `raters`: few raters prove little.
    pub lower: f64,
    /// The number of ratings that the item had in the fit.
    pub raters: u32,
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
    /// The number of ratings of every item.
    pub raters: Vec<u32>,
    /// The standard deviation of the ratings around the means of their items.
    pub deviation: f64,
    /// The report of the training. The default training stops after 30 iterations, because early stopping regularises. Its status is
    /// then the pass limit, and the remaining gradient does not indicate a failure. The closed form has converged by definition.
    /// Seconds are those of the whole fit, the graph of similar items included.
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
        if !self.reached(known)[item as usize] {
            return Ok(f64::INFINITY);
        }
        let mut right = vec![0.0; p];
        right[item as usize] = 1.0;
        Ok(self.solve(&given, &right)[item as usize])
    }

    /// Up to `count` unrated items, those with the highest lower bounds first. Items that no path joins to a known one are left out,
    /// because the known ratings say nothing about them.
    ///
    /// # Errors
    /// As [`predict`](ItemFieldModel::predict).
    pub fn top(&self, known: &[(u32, f64)], count: usize) -> Result<Vec<Recommendation>, Error> {
        let predictions = self.predict(known)?;
        let mut open = self.reached(known);
        known.iter().for_each(|(item, _)| open[*item as usize] = false);
        let of = |(item, prediction): (u32, f64)| {
            let raters = self.raters[item as usize];
            let lower = prediction - self.deviation / f64::from(raters.max(1)).sqrt();
            Recommendation { item, prediction, lower, raters }
        };
        let open = (0..).zip(predictions).filter(|(item, _)| open[*item as usize]);
        let mut all: Vec<Recommendation> = open.map(of).collect();
        all.sort_by(|a, b| b.lower.total_cmp(&a.lower).then(a.item.cmp(&b.item)));
        all.truncate(count);
        Ok(all)
    }

    /// Which items a path joins to a known one. The known items, which exist, are among them.
    fn reached(&self, known: &[(u32, f64)]) -> Vec<bool> {
        let mut reached = vec![false; self.means.len()];
        let mut stack: Vec<u32> = known.iter().map(|k| k.0).collect();
        while let Some(i) = stack.pop() {
            if !std::mem::replace(&mut reached[i as usize], true) {
                stack.extend(self.neighbours[i as usize].iter().map(|n| n.0));
            }
        }
        reached
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
    pub(super) fn known(&self, known: &[(u32, f64)]) -> Result<Vec<Option<f64>>, Error> {
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
        if self.raters.len() != p {
            return Err(format!("{} numbers of raters for {p} items", self.raters.len()));
        }
        if !(self.deviation >= 0.0 && self.deviation.is_finite()) {
            return Err(format!(
                "the deviation is {}; expected a finite number >= 0",
                self.deviation
            ));
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
