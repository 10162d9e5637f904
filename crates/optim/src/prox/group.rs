//! Group norms, with which whole groups of weights are zero together.

use fenchel_linalg::Invalid;

use super::{Regulariser, soft_threshold};

/// Disjoint groups of coordinates, each with a weight. A coordinate outside all groups is not penalised by the group norm.
///
/// ```
/// use fenchel_optim::prox::Groups;
///
/// let one_hot = Groups::new(5, &[vec![0, 3], vec![1, 2, 4]])?; // weights sqrt(2), sqrt(3)
/// let rows = Groups::consecutive(&[2, 2, 1])?.with_weights(&[1.0, 1.0, 1.0])?;
/// assert_eq!((one_hot.len(), rows.len()), (2, 3));
/// # Ok::<(), fenchel_linalg::Invalid>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    columns: usize,
    /// Coordinates of group `g`: `members[offsets[g]..offsets[g + 1]]`.
    members: Vec<usize>,
    offsets: Vec<usize>,
    weights: Vec<f64>,
    /// Coordinates in no group.
    free: Vec<usize>,
}

impl Groups {
    /// Makes groups of `columns` coordinates, each with the weight `sqrt(size)`.
    ///
    /// # Errors
    /// [`Invalid::Empty`] for a group without members, [`Invalid::Layout`] for a coordinate beyond `columns`
    /// or in two groups.
    pub fn new(columns: usize, groups: &[Vec<usize>]) -> Result<Self, Invalid> {
        let what = "groups";
        let mut taken = vec![false; columns];
        let mut result = Groups {
            columns,
            members: Vec::new(),
            offsets: vec![0],
            weights: Vec::new(),
            free: Vec::new(),
        };
        for (g, group) in groups.iter().enumerate() {
            if group.is_empty() {
                return Err(Invalid::Empty { what: "a group" });
            }
            for &c in group {
                let taken = taken.get_mut(c).ok_or_else(|| Invalid::Layout {
                    what,
                    reason: format!("group {g} has coordinate {c}; there are {columns}"),
                })?;
                if std::mem::replace(taken, true) {
                    let reason = format!("coordinate {c} of group {g} is in a group already");
                    return Err(Invalid::Layout { what, reason });
                }
            }
            result.members.extend(group);
            result.offsets.push(result.members.len());
            result.weights.push((group.len() as f64).sqrt());
        }
        result.free = (0..columns).filter(|&c| !taken[c]).collect();
        Ok(result)
    }

    /// Makes groups of adjacent coordinates: the first `sizes[0]` coordinates, the next `sizes[1]`, and so on.
    ///
    /// # Errors
    /// [`Invalid::Empty`] for a size of 0.
    pub fn consecutive(sizes: &[usize]) -> Result<Self, Invalid> {
        let mut end = 0;
        let next = |&size: &usize| {
            end += size;
            (end - size..end).collect()
        };
        let groups: Vec<Vec<usize>> = sizes.iter().map(next).collect();
        Groups::new(sizes.iter().sum(), &groups)
    }

    /// The same groups with other weights, one per group.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::Layout`] for a weight that is negative or not finite.
    pub fn with_weights(self, weights: &[f64]) -> Result<Self, Invalid> {
        Invalid::check_weights("weights of the groups", self.len(), weights.iter())?;
        Ok(Groups { weights: weights.to_vec(), ..self })
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Members and weight of every group.
    pub fn iter(&self) -> impl Iterator<Item = (&[usize], f64)> {
        let members = self.offsets.windows(2).map(|ends| &self.members[ends[0]..ends[1]]);
        members.zip(self.weights.iter().copied())
    }

    /// Coordinates in no group.
    pub(super) fn free(&self) -> &[usize] {
        &self.free
    }

    pub(super) fn check(&self, columns: usize) -> Result<(), Invalid> {
        Invalid::check_length("coordinates of the groups", self.columns, columns)
    }

    /// `strength sum_g w_g ||x_g|| + l1 ||x||_1`
    fn value(&self, x: &[f64], strength: f64, l1: f64) -> f64 {
        let norms: f64 = self.iter().map(|(group, w)| w * soft_norm(x, group, 0.0)).sum();
        let absolute = if l1 > 0.0 { x.iter().map(|x| x.abs()).sum::<f64>() } else { 0.0 };
        strength * norms + l1 * absolute
    }

    /// Soft thresholding comes first, then the shrinkage of the groups. The other order would be another operator.
    fn prox(&self, x: &mut [f64], strength: f64, l1: f64) {
        if l1 > 0.0 {
            x.iter_mut().for_each(|x| *x = soft_threshold(*x, l1));
        }
        for (group, w) in self.iter() {
            let (norm, threshold) = (soft_norm(x, group, 0.0), strength * w);
            if norm <= threshold {
                group.iter().for_each(|&c| x[c] = 0.0);
            } else {
                let keep = 1.0 - threshold / norm;
                group.iter().for_each(|&c| x[c] *= keep);
            }
        }
    }

    /// The squared distance of `v` to the domain of the conjugate without l2, up to rounding. It is
    /// `sum_g max(||soft(v_g, l1)|| - strength w_g, 0)^2`, plus `soft(v_c, l1)^2` for the coordinates `c` outside all groups.
    fn excess_squared(&self, v: &[f64], strength: f64, l1: f64) -> f64 {
        let grouped = self.iter().map(|(group, w)| {
            let slack = slack(group.len());
            let excess = soft_norm(v, group, l1 * slack) - strength * w * slack;
            if excess <= 0.0 { 0.0 } else { excess * excess }
        });
        let free = self.free.iter().map(|&c| soft_threshold(v[c], l1 * slack(1)).powi(2));
        grouped.sum::<f64>() + free.sum::<f64>()
    }

    fn conjugate(&self, v: &[f64], l2: f64, strength: f64, l1: f64) -> f64 {
        let excess = self.excess_squared(v, strength, l1);
        if excess == 0.0 { 0.0 } else { excess / (2.0 * l2) }
    }

    fn dual_scale(&self, v: &[f64], l2: f64, strength: f64, l1: f64) -> f64 {
        if l2 > 0.0 {
            return 1.0;
        }
        let grouped = self.iter().map(|(group, w)| group_scale(v, group, strength * w, l1));
        let free = self.free.iter().map(|&c| if v[c].abs() <= l1 { 1.0 } else { l1 / v[c].abs() });
        grouped.chain(free).fold(1.0, f64::min)
    }

    pub(super) fn coercive(&self, strength: f64, l1: f64) -> bool {
        let groups = strength > 0.0 && self.weights.iter().all(|&w| w > 0.0);
        l1 > 0.0 || (groups && self.free.is_empty())
    }
}

/// A vector of this many entries that was scaled to have a given norm may exceed that norm by this factor.
pub(super) fn slack(entries: usize) -> f64 {
    1.0 + (4.0 + entries as f64) * f64::EPSILON
}

/// `||soft(v_g, threshold)||`
fn soft_norm(v: &[f64], group: &[usize], threshold: f64) -> f64 {
    group.iter().map(|&c| soft_threshold(v[c], threshold).powi(2)).sum::<f64>().sqrt()
}

/// The largest `c` in `[0, 1]` with `||soft(c v_g, l1)|| <= radius`. The norm is convex and increasing in `c`, so that Newton's
/// method from 1 decreases to the root. It ends where rounding stops it.
fn group_scale(v: &[f64], group: &[usize], radius: f64, l1: f64) -> f64 {
    if l1 == 0.0 {
        let norm = soft_norm(v, group, 0.0);
        return if norm <= radius { 1.0 } else { radius / norm };
    }
    let mut scale = 1.0;
    loop {
        let (mut squares, mut rise) = (0.0, 0.0);
        for &c in group {
            let excess = soft_threshold(scale * v[c], l1);
            squares += excess * excess;
            rise += excess * v[c];
        }
        let norm = squares.sqrt();
        let next = scale - (norm - radius) * norm / rise;
        if !(norm > radius && next < scale) {
            return scale;
        }
        scale = next;
    }
}

/// `strength * sum_g weights_g ||x_g||`. Each group is zero as a whole or not (Yuan and Lin, 2006).
#[derive(Debug, Clone, PartialEq)]
pub struct GroupNorm {
    /// The groups and their weights.
    pub groups: Groups,
    /// Weight of the sum of norms, `>= 0`.
    pub strength: f64,
}

impl Regulariser for GroupNorm {
    const NAME: &'static str = "group lasso";

    fn check(&self, columns: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("group", self.strength)?;
        self.groups.check(columns)
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.groups.value(x, self.strength, 0.0)
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        self.groups.prox(x, step * self.strength, 0.0);
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        self.groups.conjugate(v, l2, self.strength, 0.0)
    }

    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        self.groups.dual_scale(v, l2, self.strength, 0.0)
    }

    fn coercive(&self) -> bool {
        self.groups.coercive(self.strength, 0.0)
    }
}

/// `l1 ||x||_1 + group * sum_g weights_g ||x_g||`. Whole groups are zero, and groups that are not are sparse (Simon, Friedman,
/// Hastie and Tibshirani, 2013).
#[derive(Debug, Clone, PartialEq)]
pub struct SparseGroupLasso {
    /// The groups and their weights.
    pub groups: Groups,
    /// Weight of the l1 norm, `>= 0`.
    pub l1: f64,
    /// Weight of the sum of norms, `>= 0`.
    pub group: f64,
}

impl Regulariser for SparseGroupLasso {
    const NAME: &'static str = "sparse group lasso";

    fn check(&self, columns: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("l1", self.l1)?;
        Invalid::check_nonnegative("group", self.group)?;
        self.groups.check(columns)
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.groups.value(x, self.group, self.l1)
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        self.groups.prox(x, step * self.group, step * self.l1);
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        self.groups.conjugate(v, l2, self.group, self.l1)
    }

    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        self.groups.dual_scale(v, l2, self.group, self.l1)
    }

    fn coercive(&self) -> bool {
        self.groups.coercive(self.group, self.l1)
    }
}
