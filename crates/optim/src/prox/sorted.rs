//! The sorted l1 norm (SLOPE), in which larger entries have larger weights.

use fenchel_linalg::{Invalid, project};

use super::Regulariser;
use super::conjugate_by_prox;
use super::group::slack;

/// `sum_k weights_k |x|_(k)`, where `|x|_(1) >= |x|_(2) >= ...` (Bogdan et al., *SLOPE: adaptive variable selection via convex
/// optimization*, 2015).
///
/// The weights do not increase with `k`. Equal weights give the l1 norm, and a single positive weight gives the maximum norm.
/// Entries of nearly equal size become equal, so that correlated columns get one weight.
///
/// The proximal operator sorts the entries, subtracts the weights, pools neighbours until the result is non-increasing, and
/// cuts it at 0. O(d log d).
///
/// ```
/// use fenchel_optim::Regulariser;
/// use fenchel_optim::prox::SortedL1;
///
/// let slope = SortedL1 { weights: vec![3.0, 1.0, 0.5] };
/// let mut x = [-4.0, 0.25, 5.0];
/// slope.prox(&mut x, 1.0);
/// assert_eq!(x, [-2.5, 0.0, 2.5]); // 5 - 3 and 4 - 1 are out of order: their mean is 2.5
/// # Ok::<(), fenchel_linalg::Invalid>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SortedL1 {
    /// The weights of the largest entry, the second largest, and so on: one per coordinate, `>= 0`, non-increasing.
    pub weights: Vec<f64>,
}

/// Coordinates by falling size.
fn by_size(x: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|&a, &b| x[b].abs().total_cmp(&x[a].abs()));
    order
}

impl Regulariser for SortedL1 {
    const NAME: &'static str = "sorted l1";

    fn check(&self, columns: usize) -> Result<(), Invalid> {
        Invalid::check_weights("weights of the sorted l1 norm", columns, self.weights.iter())?;
        match self.weights.windows(2).find(|pair| pair[0] < pair[1]) {
            Some(pair) => {
                let expected = "weights that fall or stay";
                Err(Invalid::Parameter { name: "weight", value: pair[1], expected })
            }
            None => Ok(()),
        }
    }

    fn value(&self, x: &[f64]) -> f64 {
        by_size(x).iter().zip(&self.weights).map(|(&c, w)| w * x[c].abs()).sum()
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        let order = by_size(x);
        // Rising, as the pooling wants it: the smallest entry first.
        let mut left: Vec<f64> =
            order.iter().zip(&self.weights).rev().map(|(&c, w)| x[c].abs() - step * w).collect();
        if project::isotonic(&mut left).is_err() {
            // Not finite: a diverged iterate must not pass for a zero.
            x.fill(f64::NAN);
            return;
        }
        for (&c, left) in order.iter().rev().zip(left) {
            x[c] = if left > 0.0 { left.copysign(x[c]) } else { 0.0 };
        }
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        if l2 > 0.0 {
            return conjugate_by_prox(self, v, l2);
        }
        let radius = slack(v.len());
        let (mut size, mut allowed) = (0.0, 0.0);
        for (&c, w) in by_size(v).iter().zip(&self.weights) {
            size += v[c].abs();
            allowed += w;
            if !(size <= allowed * radius) {
                return f64::INFINITY;
            }
        }
        0.0
    }

    /// The dual norm is `max_k sum_(i <= k) |v|_(i) / sum_(i <= k) weights_i`.
    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        if l2 > 0.0 {
            return 1.0;
        }
        let (mut size, mut allowed, mut scale) = (0.0, 0.0, 1.0f64);
        for (&c, w) in by_size(v).iter().zip(&self.weights) {
            size += v[c].abs();
            allowed += w;
            if size > allowed {
                scale = scale.min(allowed / size);
            }
        }
        scale
    }

    fn coercive(&self) -> bool {
        self.weights.first().is_some_and(|&w| w > 0.0)
    }
}
