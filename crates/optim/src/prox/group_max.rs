//! The l1/linf group norm, which penalises the largest entry of each group.

use fenchel_linalg::{Invalid, project};

use super::Regulariser;
use super::group::{Groups, slack};

/// `strength * sum_g weights_g max_{c in g} |x_c|`, the l1/linf norm (Turlach, Venables and Wright, 2005).
///
/// A group is zero as a whole or not. The penalty of a group depends on its largest entry only, so the other entries may grow
/// up to that size at no cost. For a matrix of weights with one row per feature and one group per row, a feature is used by all
/// tasks or by none.
///
/// [`Groups`] have the weights `sqrt(size)` of the group lasso by default. For this norm weights of 1 are usual.
///
/// ```
/// use fenchel_optim::Regulariser;
/// use fenchel_optim::prox::{GroupMax, Groups};
///
/// let rows = Groups::consecutive(&[2, 2])?.with_weights(&[1.0, 1.0])?;
/// let mut x = [5.0, -4.0, 0.25, 0.5];
/// GroupMax { groups: rows, strength: 3.0 }.prox(&mut x, 1.0);
/// assert_eq!(x, [3.0, -3.0, 0.0, 0.0]); // 2 and 1 are cut off: 3 in all
/// # Ok::<(), fenchel_linalg::Invalid>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GroupMax {
    /// The groups and their weights.
    pub groups: Groups,
    /// Weight of the sum of maxima, `>= 0`.
    pub strength: f64,
}

/// The level `t` with `sum_c max(|v_c| - t, 0) = radius` over a group, and 0 if `||v_g||_1 <= radius`. It is infinite for a
/// group with entries that are not finite, so that a diverged iterate is not mistaken for a zero.
fn level(v: &[f64], group: &[usize], radius: f64) -> f64 {
    let sizes: Vec<f64> = group.iter().map(|&c| v[c].abs()).collect();
    let mut cut = sizes.clone();
    match project::l1_ball(&mut cut, radius) {
        Ok(()) => sizes.iter().zip(&cut).map(|(size, cut)| size - cut).fold(0.0, f64::max),
        Err(_) => f64::INFINITY,
    }
}

impl Regulariser for GroupMax {
    const NAME: &'static str = "group maximum";

    fn check(&self, columns: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("group", self.strength)?;
        self.groups.check(columns)
    }

    fn value(&self, x: &[f64]) -> f64 {
        let largest = |group: &[usize]| group.iter().fold(0.0, |m: f64, &c| m.max(x[c].abs()));
        self.strength * self.groups.iter().map(|(group, w)| w * largest(group)).sum::<f64>()
    }

    /// By Moreau's identity, the proximal point is the point minus its projection on the ball of the dual norm, the l1 norm.
    fn prox(&self, x: &mut [f64], step: f64) {
        for (group, w) in self.groups.iter() {
            let level = level(x, group, step * self.strength * w);
            for &c in group {
                x[c] = if level == 0.0 { 0.0 } else { x[c].clamp(-level, level) };
            }
        }
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        let grouped = self.groups.iter().map(|(group, w)| {
            let level = level(v, group, self.strength * w * slack(group.len()));
            group.iter().map(|&c| v[c].abs().min(level).powi(2)).sum::<f64>()
        });
        let free = self.groups.free().iter().map(|&c| v[c] * v[c]);
        let excess: f64 = grouped.chain(free).sum();
        if excess == 0.0 { 0.0 } else { excess / (2.0 * l2) }
    }

    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        if l2 > 0.0 {
            return 1.0;
        }
        let fits = |norm: f64, radius: f64| if norm <= radius { 1.0 } else { radius / norm };
        let grouped = self
            .groups
            .iter()
            .map(|(group, w)| fits(group.iter().map(|&c| v[c].abs()).sum(), self.strength * w));
        let free = self.groups.free().iter().map(|&c| fits(v[c].abs(), 0.0));
        grouped.chain(free).fold(1.0, f64::min)
    }

    fn coercive(&self) -> bool {
        self.groups.coercive(self.strength, 0.0)
    }
}
