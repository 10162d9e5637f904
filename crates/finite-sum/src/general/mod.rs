//! Sums of general terms: `F(x) = (1/n) sum_i f_i(x) + (l2/2) ||x||^2 + h(x)`.
//!
//! This module is for terms that are not functions of one margin `a_i.x`, for instance the sequences of a conditional
//! random field, or the entries of a matrix factorisation. The gradient of such a term is a vector, and a table of
//! old gradients is a table of vectors. Implement [`FiniteSum`] for the terms, make a [`Sum`] of them, and call a
//! method:
//!
//! | method | memory | per step | when |
//! |---|---|---|---|
//! | [`saga`] | one gradient per term | one gradient | the default |
//! | [`svrg`] | 2 vectors | two gradients, and a full one now and then | the table does not fit |
//! | [`finito`] | `n d` numbers | one gradient, O(d) | `n l2 >= 2 L`, dense gradients |
//! | [`sdca`] | as `saga` | one proximal step | terms that have one; no step size |
//! | [`auto`] | within the limit | | chooses between `finito`, `saga` and `svrg`, and says why |
//!
//! If the gradient of a term is 0 outside of a few coordinates, implement [`FiniteSum::support`]. Then `saga`, `svrg`
//! and `sdca` store and update only these coordinates; [`lag`](crate::methods::lag) explains how.
//!
//! All methods return a [`SumState`], which can be the start of another run.
//!
//! Certificates: with `l2 > 0` and no regulariser, strong convexity implies the lower bound `F* >= F(x) - ||F'(x)||^2
//! / (2 l2)`, and so a gap. In other cases the certificate is the norm of the gradient mapping at the step `1/L`. A
//! certificate costs one full gradient, which is computed on all cores.

mod auto;
mod finito;
mod incremental;
mod sdca;
mod state;

pub use auto::auto;
pub use finito::{GeneralFinito, finito};
pub use incremental::{Incremental, saga, svrg};
pub use sdca::{GeneralSdca, sdca};
pub use state::SumState;

use fenchel_linalg::{Invalid, parallel};
use fenchel_optim::MAX_MEMORY;
use fenchel_optim::Refusal;
use fenchel_optim::fista::gradient_mapping;
use fenchel_optim::random::Order;
use fenchel_optim::settings;
use fenchel_optim::{Certificate, Regulariser, StepSize, Stop};

use crate::Error;
use crate::methods::SagaTheory;

/// Differentiable, convex terms `f_1, ..., f_n` of a vector.
///
/// A method that evaluates term `i` guarantees only that the coordinates in the term's support are up to date. A term
/// must not read other coordinates.
///
/// ```
/// use fenchel_finite_sum::general::{self, FiniteSum, Sum, SumSettings};
/// use fenchel_finite_sum::prox::Zero;
///
/// /// `sqrt(1 + ||x - p_i||^2)`: the distance to a point, smoothed.
/// struct Distances(Vec<[f64; 2]>);
///
/// impl FiniteSum for Distances {
///     type Scratch = ();
///     fn scratch(&self) {}
///     fn terms(&self) -> usize {
///         self.0.len()
///     }
///     fn dimension(&self) -> usize {
///         2
///     }
///     fn gradient(&self, i: usize, x: &[f64], (): &mut (), gradient: &mut [f64]) -> f64 {
///         let value = (1.0 + (x[0] - self.0[i][0]).powi(2) + (x[1] - self.0[i][1]).powi(2)).sqrt();
///         gradient.iter_mut().zip(x).zip(&self.0[i]).for_each(|((g, x), p)| *g = (x - p) / value);
///         value
///     }
///     fn smoothness(&self, _: usize) -> f64 {
///         1.0
///     }
/// }
///
/// let points = Distances(vec![[0.0, 1.0], [2.0, 0.0], [1.0, 3.0], [9.0, 9.0]]);
/// let sum = Sum::new(&points, Zero, 0.1)?;
/// let settings = SumSettings::default();
/// let saga = general::saga(&sum, &settings, None, &mut ())?.state.point;
/// let svrg = general::svrg(&sum, &settings, None, &mut ())?.state.point;
/// // n l2 < 2 L: a smaller step.
/// let small = SumSettings { step: fenchel_finite_sum::prelude::StepSize::Scaled(0.2), ..settings.clone() };
/// let finito = general::finito(&sum, &small, None, &mut ())?.state.point;
/// for x in [&svrg, &finito] {
///     assert!((x[0] - saga[0]).abs() < 0.1 && (x[1] - saga[1]).abs() < 0.1);
/// }
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
pub trait FiniteSum: Sync {
    /// Working memory of an evaluation. The methods make one per thread.
    type Scratch: Send;

    /// Makes working memory.
    fn scratch(&self) -> Self::Scratch;

    /// `n`, the number of terms, at least 1.
    fn terms(&self) -> usize;

    /// `d`, the number of variables, at least 1.
    fn dimension(&self) -> usize;

    /// The coordinates that term `i` depends on, without repetitions and each below `d`. `None` stands for all
    /// coordinates. Every call must return the same.
    fn support(&self, _i: usize) -> Option<&[u32]> {
        None
    }

    /// Returns `f_i(x)`, and writes its gradient to `gradient`: entry `k` is the derivative with respect to the
    /// `k`-th coordinate of the support. All entries must be written. Their previous contents have no meaning.
    fn gradient(
        &self,
        i: usize,
        x: &[f64],
        scratch: &mut Self::Scratch,
        gradient: &mut [f64],
    ) -> f64;

    /// `L_i`, a Lipschitz constant of the gradient of `f_i`. It may be 0 for a linear term, but not for all terms unless
    /// `l2 > 0`.
    fn smoothness(&self, i: usize) -> f64;

    /// Replaces `point`, which contains the coordinates of the term's support, by `argmin_x f_i(x) + ||x - point||^2
    /// / (2 step)`, and returns `f_i` at the new point. It returns `None` if this proximal step is not known, and
    /// then for all terms. Only [`sdca`] calls it.
    fn prox_term(
        &self,
        _i: usize,
        _point: &mut [f64],
        _step: f64,
        _scratch: &mut Self::Scratch,
    ) -> Option<f64> {
        None
    }
}

/// A sum of terms with its penalties, checked once.
#[derive(Debug, Clone)]
pub struct Sum<'t, T, R> {
    terms: &'t T,
    regulariser: R,
    l2: f64,
    smoothness: f64,
    /// The sum of the lengths of all gradients, each on its support.
    stored: usize,
    longest: usize,
}

settings! {
    /// Settings of the methods for general sums.
    pub struct SumSettings {
        /// Step size. `Theory` is the step that `theory` names for `saga`, `1/(4L)` for `svrg`, and `1/(2 l2)` for
        /// `finito`. For `finito` it has to be reduced if `n l2 < 2 L`.
        step: StepSize = StepSize::Theory,
        /// Which step of the theory `saga` takes: `1/(3L)`, or one of the two that need `l2 > 0`.
        theory: SagaTheory = SagaTheory::Adaptive,
        /// Number of steps of `svrg` between two snapshots, as a multiple of the number of terms. With `None` the
        /// number `m` solves `(1 - step l2)^m = 1/2`.
        inner: Option<f64> = Some(2.0),
        /// Visiting order. `Permuted` is faster for `finito` and `sdca`.
        order: Order = Order::Uniform,
        /// Largest size of the table, in bytes.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Seed of the visiting order.
        seed: u64 = 0,
        /// The stopping rule. A pass is `n` term gradients.
        stop: Stop = Stop::default(),
    }
}

/// The largest number of blocks for a full gradient. Each block adds up a vector of its own. By judgement.
const MAX_BLOCKS: usize = 8;
/// The least amount of work, in numbers, for which a second thread is used. Less takes less time than a thread takes to start.
const NUMBERS_PER_BLOCK: usize = 1 << 14;

impl<'t, T: FiniteSum, R: Regulariser> Sum<'t, T, R> {
    /// Checks the terms and the penalties. O(n).
    ///
    /// # Errors
    /// [`Invalid::Empty`] if there are no terms or variables; [`Invalid::Layout`] if a support contains a coordinate
    /// that does not exist; [`Invalid::Parameter`] for a smoothness that is not a finite number `>= 0`, if all are 0
    /// and `l2` too, or for penalties out of range.
    pub fn new(terms: &'t T, regulariser: R, l2: f64) -> Result<Self, Error> {
        let (n, d) = (terms.terms(), terms.dimension());
        if n == 0 {
            return Err(Invalid::Empty { what: "the sum" }.into());
        }
        if d == 0 {
            return Err(Invalid::Empty { what: "vector of variables" }.into());
        }
        Invalid::check_nonnegative("l2", l2)?;
        regulariser.check(d)?;
        let (mut stored, mut longest, mut smoothness) = (0usize, 0, 0.0f64);
        for i in 0..n {
            let constant = terms.smoothness(i);
            Invalid::check_nonnegative("smoothness of a term", constant)?;
            smoothness = smoothness.max(constant);
            let length = match terms.support(i) {
                None => d,
                Some(support) => {
                    if let Some(c) = support.iter().find(|&&c| c as usize >= d) {
                        let reason = format!("term {i} depends on variable {c}; there are {d}");
                        return Err(Invalid::Layout { what: "support", reason }.into());
                    }
                    support.len()
                }
            };
            stored = stored.saturating_add(length);
            longest = longest.max(length);
        }
        if !(1.0 / (smoothness + l2)).is_finite() {
            let (name, value) = ("largest smoothness of a term", smoothness);
            let expected = "a number > 0 whose inverse is a step size (finite), or l2 > 0";
            return Err(Invalid::Parameter { name, value, expected }.into());
        }
        Ok(Sum { terms, regulariser, l2, smoothness, stored, longest })
    }

    /// The terms.
    pub fn terms(&self) -> &'t T {
        self.terms
    }

    /// The regulariser.
    pub fn regulariser(&self) -> &R {
        &self.regulariser
    }

    /// Weight of the quadratic term.
    pub fn l2(&self) -> f64 {
        self.l2
    }

    /// `L`: the largest Lipschitz constant of a term with its l2 part.
    pub fn smoothness(&self) -> f64 {
        self.smoothness + self.l2
    }

    /// Returns the mean of the terms at `x`, and writes its gradient to `gradient`, both without l2 and regulariser.
    /// It costs one pass on all cores. The order of additions is fixed.
    ///
    /// # Panics
    /// If a slice has another length than the variables.
    pub fn mean_gradient(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let (n, d) = (self.terms.terms(), self.terms.dimension());
        assert_eq!((x.len(), gradient.len()), (d, d));
        let blocks = (self.stored / NUMBERS_PER_BLOCK.max(d)).clamp(1, MAX_BLOCKS);
        let size = n.div_ceil(blocks);
        let block = |b: usize| {
            let mut sum = vec![0.0; d];
            let mut part = vec![0.0; self.longest];
            let mut scratch = self.terms.scratch();
            let mut value = 0.0;
            for i in (b * size).min(n)..((b + 1) * size).min(n) {
                let support = self.support(i);
                let part = &mut part[..support.len()];
                value += self.terms.gradient(i, x, &mut scratch, part);
                for (k, g) in part.iter().enumerate() {
                    sum[support.at(k)] += g;
                }
            }
            (value, sum)
        };
        gradient.fill(0.0);
        let mut total = 0.0;
        for (value, sum) in parallel::map(0..blocks, block) {
            total += value;
            gradient.iter_mut().zip(&sum).for_each(|(g, s)| *g += s);
        }
        gradient.iter_mut().for_each(|g| *g /= n as f64);
        total / n as f64
    }

    /// Computes a certificate at a point; see the [module](self). One pass.
    ///
    /// # Errors
    /// [`Invalid`] for a point of the wrong length or with non-finite entries.
    pub fn certify(&self, x: &[f64]) -> Result<Certificate, Error> {
        self.check_point(x)?;
        Ok(self.certificate(x))
    }

    fn certificate(&self, x: &[f64]) -> Certificate {
        let mut gradient = vec![0.0; x.len()];
        let risk = self.mean_gradient(x, &mut gradient);
        let squares: f64 = x.iter().map(|x| x * x).sum();
        let objective = risk + 0.5 * self.l2 * squares + self.regulariser.value(x);
        gradient.iter_mut().zip(x).for_each(|(g, x)| *g += self.l2 * x);
        let step = 1.0 / self.smoothness();
        let step = if step.is_finite() { step } else { 1.0 };
        let norm = gradient_mapping(&self.regulariser, x, &gradient, step);
        if self.regulariser.is_zero() && self.l2 > 0.0 {
            Certificate::gap(objective, objective - norm * norm / (2.0 * self.l2))
        } else {
            Certificate::residual(objective, norm, 0.0)
        }
    }

    fn check_point(&self, x: &[f64]) -> Result<(), Invalid> {
        Invalid::check_length("point", self.terms.dimension(), x.len())?;
        Invalid::check_finite("point", x)
    }

    #[inline(always)]
    fn support(&self, i: usize) -> Support<'t> {
        match self.terms.support(i) {
            None => Support::All(self.terms.dimension()),
            Some(list) => Support::Some(list),
        }
    }
}

/// The coordinates of a term.
#[derive(Clone, Copy)]
enum Support<'t> {
    All(usize),
    Some(&'t [u32]),
}

impl Support<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        match self {
            Support::All(d) => *d,
            Support::Some(list) => list.len(),
        }
    }

    #[inline(always)]
    fn at(&self, k: usize) -> usize {
        match self {
            Support::All(_) => k,
            Support::Some(list) => list[k] as usize,
        }
    }
}

/// Refuses a table that needs more than the allowed memory, before it is allocated.
fn check_memory(
    method: &'static str,
    numbers: u64,
    max_memory: Option<u64>,
    hint: &'static str,
) -> Result<(), Error> {
    Ok(Refusal::check_memory(method, numbers.saturating_mul(8), max_memory, hint)?)
}
