//! Proximal setups, which define the geometry of a block of variables.
//!
//! A mirror method replaces the squared distance of gradient descent by a Bregman divergence `D`. It belongs to a
//! potential `phi` that suits the domain. One step from `z_t` along the gradient `g` is
//!
//! ```text
//! z+ = argmin_z  <g, z> + (1/eta) D(z, z_t)      over the domain
//! ```
//!
//! | setup | domain | potential | radius `Omega` | step |
//! |---|---|---|---|---|
//! | [`Simplexes`] | one probability vector per row | entropy | rows ln(columns) | softmax, O(1) per entry |
//! | [`EuclideanSimplexes`] | the same | half the squared norm | rows (1 - 1/columns) / 2 | projection, O(log) per entry |
//! | [`L1Ball`] | `sum abs(u) <= R` | entropy of positive and negative parts | R^2 ln(2 m) | closed form, O(1) per entry |
//! | [`GroupBall`] | `sum of row norms <= R` | power `1 + 1/ln d` of the row norms | about e R^2 ln d | one-dimensional search |
//! | [`Euclidean`] | everything, a ball or a box | half the squared norm | half the squared radius | projection |
//!
//! Every potential is 1-strongly convex with respect to the norm that its module names. `Omega` bounds `D(z, centre)`
//! over the domain. Source: D. Babichev, PhD thesis 2019, sections 1.2.2 and 4.2.

use fenchel_linalg::lanes;

mod euclidean;
mod group_ball;
mod l1_ball;
mod simplexes;

pub use euclidean::{Domain, Euclidean};
pub use group_ball::GroupBall;
pub use l1_ball::L1Ball;
pub use simplexes::{EuclideanSimplexes, Simplexes};
pub(crate) use simplexes::{project_row, project_rows};

/// Divides every row by its sum, after negative entries are set to 0.
fn contain_rows(point: &mut [f64], columns: usize) {
    for row in point.chunks_mut(columns) {
        row.iter_mut().for_each(|v| *v = if *v < 0.0 { 0.0 } else { *v });
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|v| *v /= sum);
    }
}

/// Shrinks a point until its norm is at most the bound; rounding may need a second factor. Returns the norm.
fn contain_ball(point: &mut [f64], bound: f64, norm: impl Fn(&[f64]) -> f64) -> f64 {
    let mut size = norm(point);
    let mut factor = bound / size;
    while size > bound && factor > 0.0 {
        point.iter_mut().for_each(|u| *u *= factor);
        (size, factor) = (norm(point), 1.0 - f64::EPSILON);
    }
    size
}

/// `sum z ln(z/w) - z + w` for numbers that are given by their logarithms `shift + sign a`.
pub(crate) struct Divergence<'a> {
    pub(crate) z: &'a [f64],
    pub(crate) w: &'a [f64],
    pub(crate) sign: f64,
    pub(crate) shifts: (f64, f64),
}

/// `e^z (z - w) - e^z + e^w`. It is a function because closures may not be inlined, and calls do not vectorise.
#[inline(always)]
fn divergence_term(z: f64, w: f64) -> f64 {
    let t = z - w;
    let (of_z, of_w) = (lanes::exp(z), lanes::exp(w));
    // Near z = w the series of t + e^-t - 1: the sum would cancel.
    let near =
        t * t * (1.0 / 2.0 - t * (1.0 / 6.0 - t * (1.0 / 24.0 - t * (1.0 / 120.0 - t / 720.0))));
    if t.abs() < 0.03 { of_z * near } else { of_z * (t - 1.0) + of_w }
}

impl lanes::Kernel for Divergence<'_> {
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        let Divergence { z, w, sign, shifts } = self;
        let w = &w[..z.len()];
        let (a, b) = shifts;
        let mut sums = [0.0; 8];
        let ((bz, rz), (bw, rw)) = (z.as_chunks::<8>(), w.as_chunks::<8>());
        for (z, w) in bz.iter().zip(bw) {
            for l in 0..8 {
                sums[l] += divergence_term(a + sign * z[l], b + sign * w[l]);
            }
        }
        for (l, (z, w)) in rz.iter().zip(rw).enumerate() {
            sums[l] += divergence_term(a + sign * z, b + sign * w);
        }
        lanes::sum(&sums)
    }
}

/// A domain, a potential and the step they define.
///
/// A method stores a point in the setup's own coordinates (logarithms for entropies), so that no entry is lost to
/// underflow. [`point`](Setup::point) converts coordinates to the point. Slices must have the lengths that the setup
/// states; other lengths panic.
pub trait Setup {
    /// Length of a point, and of a gradient.
    fn dimension(&self) -> usize;

    /// Length of the coordinates that a method stores.
    fn coordinates(&self) -> usize;

    /// The coordinates of the prox centre, the minimiser of the potential.
    fn centre(&self, place: &mut [f64]);

    /// The point at these coordinates.
    fn point(&self, place: &[f64], point: &mut [f64]);

    /// Moves a point back into the domain if rounding has put it outside, as it does with averages. A certificate is
    /// about a point of the domain: outside, an objective may be below the optimum. The default changes nothing.
    fn contain(&self, _point: &mut [f64]) {}

    /// Coordinates of a given point of the domain.
    fn place(&self, point: &[f64], place: &mut [f64]);

    /// The step `argmin_z <g, z> + D(z, z_t) / eta`, in place.
    fn step(&self, place: &mut [f64], gradient: &[f64], eta: f64);

    /// The Bregman divergence `D(z, w)` of two points, given by coordinates.
    fn divergence(&self, z: &[f64], w: &[f64]) -> f64;

    /// `Omega`: a bound on the divergence of any point of the domain from the centre.
    fn radius(&self) -> f64;

    /// The dual norm of a gradient. It is dual to the norm in which the potential is strongly convex.
    fn dual_norm(&self, gradient: &[f64]) -> f64;
}
