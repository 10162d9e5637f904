//! Proximal setups: the geometry in which a block of variables moves.
//!
//! A mirror method replaces the squared distance of gradient descent by the Bregman divergence `D` of
//! a potential `phi` that suits the domain. One step is
//!
//! ```text
//! z+ = argmin_z  <g, z> + (1/eta) D(z, z_t)      over the domain
//! ```
//!
//! | setup | domain | potential | radius `Omega` | step |
//! |---|---|---|---|---|
//! | [`Simplexes`] | a probability vector a row | entropy | rows ln(columns) | softmax, O(1) an entry |
//! | [`EuclideanSimplexes`] | the same | half the squared norm | rows (1 - 1/columns) / 2 | projection, O(log) an entry |
//! | [`L1Ball`] | `sum abs(u) <= R` | entropy of positive and negative parts | R^2 ln(2 m) | closed form, O(1) an entry |
//! | [`GroupBall`] | `sum of row norms <= R` | power `1 + 1/ln d` of the row norms | about e R^2 ln d | one-dimensional search |
//! | [`Euclidean`] | everything, a ball or a box | half the squared norm | half the squared radius | projection |
//!
//! Every potential is 1-strongly convex in the norm that its file names, and `Omega` bounds
//! `D(z, centre)` over the domain. Source: Babichev's thesis, sections 1.2.2 and 4.2.

mod euclidean;
mod group_ball;
mod l1_ball;
mod simplexes;

pub use euclidean::{Domain, Euclidean};
pub use group_ball::GroupBall;
pub use l1_ball::L1Ball;
pub(crate) use simplexes::project_rows;
pub use simplexes::{EuclideanSimplexes, Simplexes};

/// A domain, a potential and the step they define.
///
/// A method keeps a point in the setup's own coordinates (logarithms for entropies), so that no entry is lost to
/// underflow; [`point`](Setup::point) gives the numbers themselves. Slices have the lengths that the setup
/// names; wrong ones panic.
pub trait Setup {
    /// Length of a point, and of a gradient.
    fn dimension(&self) -> usize;

    /// Length of the coordinates that a method keeps.
    fn coordinates(&self) -> usize;

    /// The coordinates of the prox centre, the minimiser of the potential.
    fn centre(&self, place: &mut [f64]);

    /// The point at these coordinates.
    fn point(&self, place: &[f64], point: &mut [f64]);

    /// Coordinates of a given point of the domain.
    fn place(&self, point: &[f64], place: &mut [f64]);

    /// The step `argmin_z <g, z> + D(z, z_t) / eta`, in place.
    fn step(&self, place: &mut [f64], gradient: &[f64], eta: f64);

    /// The Bregman divergence `D(z, w)` of two points, given by coordinates.
    fn divergence(&self, z: &[f64], w: &[f64]) -> f64;

    /// `Omega`: a bound on the divergence of any point of the domain from the centre.
    fn radius(&self) -> f64;

    /// The norm of a gradient that is dual to the norm in which the potential is strongly convex.
    fn dual_norm(&self, gradient: &[f64]) -> f64;
}
