//! Missing ratings as random variables: the moments that a model expects, which is the E step of expectation maximisation.

use fenchel_linalg::Invalid;

use super::field::{ItemField, ItemGraph};
use super::model::ItemFieldModel;
use super::ratings::Ratings;
use crate::bethe::propagation::gaussian_belief_propagation;
use crate::error::Error;
use crate::select::each;

/// Users whose moments are added up in one row of sums.
const GROUP: usize = 64;
/// Messages that change by less than this are at their limit.
const TOLERANCE: f64 = 1e-6;
const ROUNDS: usize = 1000;

impl ItemField {
    /// The graph with the variances and covariances that a model expects. A missing rating counts as its distribution given the
    /// user's ratings, by belief propagation, instead of the mean of the item. Items that no known rating reaches keep the moments
    /// of `graph`. One step costs a propagation for each user.
    ///
    /// # Errors
    /// [`Invalid`] for a graph, a model and ratings of different items; the errors of
    /// [`gaussian_belief_propagation`].
    pub fn expect(
        &self,
        graph: &ItemGraph,
        model: &ItemFieldModel,
        ratings: &Ratings,
    ) -> Result<ItemGraph, Error> {
        let p = graph.means.len();
        Invalid::check_length("items of the model", p, model.means.len())?;
        Invalid::check_length("items of the ratings", p, ratings.items())?;
        Invalid::check_length("variances", p, graph.variances.len())?;
        crate::bethe::check_pairs(&graph.variances, &graph.edges, &graph.covariances)?;
        let users = ratings.users();
        let parts = each(users.div_ceil(GROUP), |group| {
            let mut sums = (vec![0.0; p], vec![0.0; graph.edges.len()]);
            for user in group * GROUP..((group + 1) * GROUP).min(users) {
                add_user(graph, model, ratings.of_user(user), &mut sums)?;
            }
            Ok(sums)
        })?;
        let mut variances = vec![0.0; p];
        let mut covariances = vec![0.0; graph.edges.len()];
        for (v, c) in parts {
            variances.iter_mut().zip(v).for_each(|(sum, v)| *sum += v / users as f64);
            covariances.iter_mut().zip(c).for_each(|(sum, c)| *sum += c / users as f64);
        }
        self.add_ridge(&mut variances)?;
        Ok(ItemGraph { variances, covariances, ..graph.clone() })
    }
}

/// Adds the second moments of a user's ratings, known or not, around the means of the items.
fn add_user(
    graph: &ItemGraph,
    model: &ItemFieldModel,
    known: &[(u32, f64)],
    sums: &mut (Vec<f64>, Vec<f64>),
) -> Result<(), Error> {
    let given = model.known(known)?;
    let p = given.len();
    let mut reached: Vec<bool> = given.iter().map(Option::is_some).collect();
    let mut stack: Vec<u32> = known.iter().map(|k| k.0).collect();
    while let Some(i) = stack.pop() {
        for &(j, _) in &model.neighbours[i as usize] {
            if !std::mem::replace(&mut reached[j as usize], true) {
                stack.push(j);
            }
        }
    }
    let (mut diagonal, mut potential, mut edges) = (vec![1.0; p], vec![0.0; p], Vec::new());
    for i in (0..p).filter(|&i| reached[i] && given[i].is_none()) {
        diagonal[i] = model.neighbours[i].iter().map(|n| n.1).sum();
        for &(j, w) in &model.neighbours[i] {
            match given[j as usize] {
                Some(d) => potential[i] += w * d,
                None if i < j as usize => edges.push((i as u32, j, -w)),
                None => {}
            }
        }
    }
    let beliefs = gaussian_belief_propagation(&diagonal, &edges, &potential, TOLERANCE, ROUNDS)?;
    for i in 0..p {
        sums.0[i] += match given[i] {
            Some(d) => d * d,
            None if reached[i] => beliefs.mean[i].powi(2) + beliefs.variance[i],
            None => graph.variances[i],
        };
    }
    let mean = |i: u32| given[i as usize].unwrap_or(beliefs.mean[i as usize]);
    for (sum, (&(i, j), &covariance)) in
        sums.1.iter_mut().zip(graph.edges.iter().zip(&graph.covariances))
    {
        *sum += if !reached[i as usize] && !reached[j as usize] {
            covariance
        } else if reached[i as usize] && reached[j as usize] {
            // Ascending, as the lists of neighbours are. A pair that the model does not join is independent given all others.
            let joined = edges.binary_search_by_key(&(i, j), |e| (e.0, e.1));
            mean(i) * mean(j) + joined.map_or(0.0, |e| beliefs.covariance[e])
        } else {
            0.0
        };
    }
    Ok(())
}
