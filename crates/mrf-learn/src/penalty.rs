//! The penalty, its unpenalised parameters, and the smallest strength at which all couplings are zero.
//!
//! ```text
//! h(theta) = l1 ( u sum_i w_ii ||theta_i||_1 + sum_{i<j} w_ij ||theta_ij||_1 )         or
//! h(theta) = group ( u sum_i w_ii ||theta_i||_1 + sum_{i<j} w_ij ||theta_ij||_2 )
//! ```
//!
//! `theta_i` and `theta_ij` are the blocks of a [`Layout`]: one number each in binary coordinates and spins, where both
//! penalties are the same, fields and tables with indicators.

use fenchel_linalg::Invalid;
use fenchel_optim::prox::soft_threshold;
use fenchel_optim::{Regulariser, settings};

use crate::error::Error;
use crate::layout::{Coordinates, Layout, packed_length, pair_index, pairs};

settings! {
    /// The penalty of a pairwise model. One of `l1` and `group` is 0.
    pub struct Penalty {
        /// Strength of the absolute values, `>= 0`, on the scale of the mean log-likelihood per row.
        l1: f64 = 0.1,
        /// Strength of the Frobenius norms of tables, which vanish as a whole. With `l1` entries vanish one by one, which depends
        /// on the gauge of a table.
        group: f64 = 0.0,
        /// Factor of the biases, `>= 0`, whose absolute values are penalised: 1 as in Geng et al. (UAI 2018), 0 as most
        /// practitioners do.
        unary_weight: f64 = 1.0,
        /// One factor per pair `i <= j`, in the order of [`layout`](crate::layout); empty for 1 throughout.
        /// Infinity forbids an edge and is saved as `null`.
        #[serde(with = "infinite")]
        weights: Vec<f64> = Vec::new(),
    }
}

/// Formats such as JSON have no infinity.
mod infinite {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(x: &[f64], to: S) -> Result<S::Ok, S::Error> {
        let finite = |x: &f64| Some(*x).filter(|x| *x != f64::INFINITY);
        x.iter().map(finite).collect::<Vec<Option<f64>>>().serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<f64>, D::Error> {
        let list = Vec::<Option<f64>>::deserialize(from)?;
        Ok(list.into_iter().map(|x| x.unwrap_or(f64::INFINITY)).collect())
    }
}

impl Penalty {
    /// Every parameter penalised alike, as in Geng et al. (UAI 2018).
    pub fn l1(l1: f64) -> Self {
        Penalty { l1, ..Penalty::default() }
    }

    /// Couplings penalised by their absolute values, biases unpenalised.
    pub fn edges(l1: f64) -> Self {
        Penalty { l1, unary_weight: 0.0, ..Penalty::default() }
    }

    /// Tables penalised as a whole, fields unpenalised.
    pub fn group(group: f64) -> Self {
        Penalty { l1: 0.0, group, unary_weight: 0.0, ..Penalty::default() }
    }

    /// The same penalty with another strength: of tables where they are penalised as a whole, and of absolute values otherwise.
    #[must_use]
    pub fn with_strength(&self, strength: f64) -> Self {
        let groups = self.group > 0.0;
        let (l1, group) = if groups { (self.l1, strength) } else { (strength, self.group) };
        Penalty { l1, group, ..self.clone() }
    }

    /// The strength of every pair.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a strength or factor that is negative or NaN, and for two strengths that are not 0;
    /// [`Invalid::Length`] for weights of the wrong length.
    pub fn strengths(&self, layout: &Layout) -> Result<Strengths, Error> {
        Invalid::check_nonnegative("l1", self.l1)?;
        Invalid::check_nonnegative("group", self.group)?;
        Invalid::check_nonnegative("unary_weight", self.unary_weight)?;
        if self.l1 > 0.0 && self.group > 0.0 {
            let expected = "0 where l1 is above 0";
            return Err(Invalid::Parameter { name: "group", value: self.group, expected }.into());
        }
        let p = layout.variables();
        if !self.weights.is_empty() {
            Invalid::check_length("penalty weights", packed_length(p), self.weights.len())?;
        }
        let mut all = Vec::with_capacity(packed_length(p));
        for (c, (i, j)) in pairs(p).enumerate() {
            let weight = self.weights.get(c).copied().unwrap_or(1.0);
            if !(weight >= 0.0) {
                let (name, expected) = ("penalty weights", "a number >= 0, or infinity");
                return Err(Invalid::Parameter { name, value: weight, expected }.into());
            }
            let unary = if i == j { self.unary_weight } else { 1.0 };
            let strength = self.l1.max(self.group);
            all.push(if weight.is_infinite() { weight } else { strength * weight * unary });
        }
        Ok(Strengths { layout: layout.clone(), pairs: all, groups: self.group > 0.0 })
    }

    /// The smallest strength at which all couplings are zero, from the means of the data in these coordinates.
    ///
    /// With penalised biases, all parameters are zero there, and the strength is the largest dual norm of
    /// `E_0 psi - E psi`, where `E_0` is the expectation under fair coins. With unpenalised biases, `E_0` is the expectation
    /// under independent variables with the means of the data.
    ///
    /// # Errors
    /// As [`strengths`](Self::strengths); [`Invalid::Length`] for means of the wrong length.
    pub fn largest_strength(&self, means: &[f64], layout: &Layout) -> Result<f64, Error> {
        Invalid::check_length("means", layout.len(), means.len())?;
        let strengths = self.with_strength(1.0).strengths(layout)?;
        let free = self.unary_weight == 0.0;
        let single = |i: usize| -> Vec<f64> {
            let field = layout.field(i);
            let fair = match layout.coordinates() {
                Coordinates::Binary => 0.5,
                Coordinates::Spins => 0.0,
                Coordinates::Indicators => 1.0 / field.len() as f64,
            };
            if free { means[field].to_vec() } else { vec![fair; field.len()] }
        };
        let singles: Vec<Vec<f64>> = (0..layout.variables()).map(single).collect();
        let mut largest: f64 = 0.0;
        for (((i, j), block), &strength) in layout.blocks().zip(&strengths.pairs) {
            if strength == 0.0 || (free && i == j) {
                continue;
            }
            let (one, two) = (&singles[i], &singles[j]);
            let off = means[block].iter().enumerate().map(|(k, mean)| {
                let other = if i == j { one[k] } else { one[k / two.len()] * two[k % two.len()] };
                other - mean
            });
            largest = largest.max(strengths.dual_norm(off, i == j) / strength);
        }
        Ok(largest)
    }
}

/// A penalty of the blocks of a layout, infinite where a block must stay 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Strengths {
    layout: Layout,
    pub(crate) pairs: Vec<f64>,
    /// Whether tables have their Frobenius norm.
    groups: bool,
}

impl Strengths {
    /// The strength of every pair `i <= j`, in order.
    pub fn pairs(&self) -> &[f64] {
        &self.pairs
    }

    fn norm(&self, block: &[f64], field: bool) -> f64 {
        if self.groups && !field {
            block.iter().map(|x| x * x).sum::<f64>().sqrt()
        } else {
            block.iter().map(|x| x.abs()).sum()
        }
    }

    pub(crate) fn dual_norm(&self, block: impl Iterator<Item = f64>, field: bool) -> f64 {
        if self.groups && !field {
            block.map(|x| x * x).sum::<f64>().sqrt()
        } else {
            block.fold(0.0, |a: f64, x| a.max(x.abs()))
        }
    }

    /// The strength of a pair.
    pub(crate) fn of(&self, i: usize, j: usize) -> f64 {
        self.pairs[pair_index(i, j, self.layout.variables())]
    }

    /// Whether a bias, and whether a coupling is unpenalised.
    pub(crate) fn free(&self) -> (bool, bool) {
        let free = |field: bool| {
            let mut all = pairs(self.layout.variables()).zip(&self.pairs);
            all.any(|((i, j), &strength)| (i == j) == field && strength == 0.0)
        };
        (free(true), free(false))
    }

    /// The largest `c` in [0, 1] for which `c` times these deviations from the means lies within the dual balls.
    /// Unpenalised biases are not checked.
    pub(crate) fn share(&self, off: &[f64]) -> f64 {
        let mut share: f64 = 1.0;
        for (((i, j), block), &limit) in self.layout.blocks().zip(&self.pairs) {
            if i == j && limit == 0.0 {
                continue;
            }
            let size = self.dual_norm(off[block].iter().copied(), i == j);
            if !(size <= limit) {
                share = share.min(limit / size);
            }
        }
        share
    }

    /// The largest entry of the proximal step of length 1 from a point with this gradient of the loss: 0 at the optimum.
    pub(crate) fn residual(&self, theta: &[f64], gradient: &[f64]) -> f64 {
        let mut moved: Vec<f64> = theta.iter().zip(gradient).map(|(x, g)| x - g).collect();
        self.prox(&mut moved, 1.0);
        moved.iter().zip(theta).fold(0.0, |r: f64, (a, b)| r.max((a - b).abs()))
    }

    /// Sets the blocks to 0 that must stay there.
    pub(crate) fn confine(&self, theta: &mut [f64]) {
        for ((_, block), _) in
            self.layout.blocks().zip(&self.pairs).filter(|(_, s)| s.is_infinite())
        {
            theta[block].fill(0.0);
        }
    }
}

impl Regulariser for Strengths {
    const NAME: &'static str = "norms of the blocks of a pairwise model";

    fn check(&self, columns: usize) -> Result<(), Invalid> {
        Invalid::check_length("parameters", columns, self.layout.len())
    }

    fn value(&self, x: &[f64]) -> f64 {
        let mut value = 0.0;
        for (((i, j), block), &strength) in self.layout.blocks().zip(&self.pairs) {
            let norm = self.norm(&x[block], i == j);
            // A forbidden coordinate is 0, and infinity times 0 is no number.
            value += if norm == 0.0 { 0.0 } else { strength * norm };
        }
        value
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        if x.len() == self.pairs.len() {
            // Every block is one number.
            for (x, strength) in x.iter_mut().zip(&self.pairs) {
                let allowed = strength.is_finite();
                *x = if allowed { soft_threshold(*x, step * strength) } else { 0.0 };
            }
            return;
        }
        for (((i, j), block), &strength) in self.layout.blocks().zip(&self.pairs) {
            let (block, threshold) = (&mut x[block], step * strength);
            if threshold.is_infinite() {
                block.fill(0.0);
            } else if self.groups && i != j {
                let norm = self.norm(block, false);
                let scale = if norm <= threshold { 0.0 } else { 1.0 - threshold / norm };
                block.iter_mut().for_each(|x| *x *= scale);
            } else {
                block.iter_mut().for_each(|x| *x = soft_threshold(*x, threshold));
            }
        }
    }
}
