//! The weights `w = S(nu)` of the marginals, where `nu(m) = 1/(l2 n) sum_i [F(x_i, y_i) - E_m F(x_i, .)]`.
//!
//! `S(nu)_c = sign(nu_c) max(|nu_c| - l1 / l2, 0)` is the gradient of the conjugate `r*(nu) = 1/2 norm(S(nu))^2` of the
//! regulariser `r(w) = 1/2 norm(w)^2 + (l1 / l2) norm(w)_1`. Without an l1 penalty `w` is `nu`.
//!
//! With a proximal term `kappa/2 norm(w - y)^2` the sum in `nu` is divided by `(l2 + kappa) n`, and `kappa/(l2 + kappa) y` is added. A
//! step then moves `nu` as if the penalty were `l2 + kappa`.
//!
//! Source: Le Priol, Piche and Lacoste-Julien (2018), appendix F.1, for `r` strongly convex with constant 1.

use fenchel_linalg::lanes;

use crate::terms::{Common, Terms};

/// The current point, with `nu` beside the weights if there is an l1 penalty.
pub(super) struct Point {
    nu: Vec<f64>,
    /// `S(nu)`; empty without an l1 penalty.
    shrunk: Vec<f64>,
    l1: f64,
    /// `l1 / l2`
    pub(super) threshold: f64,
    /// `l2 + kappa`, by which a step on a block is divided.
    pub(super) curvature: f64,
    /// `kappa` and `y`, if there is a proximal term.
    centre: Option<(f64, Vec<f64>)>,
}

/// The terms of a line search that an l1 penalty makes nonlinear, on the coordinates that a block moves.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bend {
    nu: Vec<f64>,
    /// `v`
    change: Vec<f64>,
    /// `l1 / l2`
    threshold: f64,
    /// `l2 n`
    scale: f64,
}

/// `S(x)`, which is exactly 0 up to the threshold.
#[inline(always)]
fn shrink(x: f64, threshold: f64) -> f64 {
    x - x.max(-threshold).min(threshold)
}

impl Point {
    pub(super) fn new(l2: f64, l1: f64) -> Self {
        let (threshold, curvature) = (l1 / l2, l2);
        Point { nu: Vec::new(), shrunk: Vec::new(), l1, threshold, curvature, centre: None }
    }

    /// Adds the proximal term, without an l1 penalty.
    pub(super) fn with_centre(self, kappa: f64, centre: Vec<f64>) -> Self {
        Point { curvature: self.curvature + kappa, centre: Some((kappa, centre)), ..self }
    }

    /// The centre `y`; empty without one.
    pub(super) fn centre(&self) -> &[f64] {
        self.centre.as_ref().map_or(&[], |(_, centre)| centre)
    }

    /// Moves the centre, and the weights with it.
    pub(super) fn move_centre(&mut self, to: &[f64]) {
        let Some((kappa, centre)) = &mut self.centre else { return };
        let share = *kappa / self.curvature;
        for ((w, y), to) in self.nu.iter_mut().zip(centre).zip(to) {
            *w += share * (to - *y);
            *y = *to;
        }
    }

    /// The weights `w`.
    pub(super) fn weights(&self) -> &[f64] {
        if self.l1 > 0.0 { &self.shrunk } else { &self.nu }
    }

    /// Replaces the weights, for the end of a run.
    pub(super) fn put(&mut self, w: Vec<f64>) {
        *(if self.l1 > 0.0 { &mut self.shrunk } else { &mut self.nu }) = w;
    }

    /// Sets the weights of marginals, of which `nu` is that without a proximal term.
    pub(super) fn set(&mut self, mut nu: Vec<f64>) {
        if let Some((kappa, centre)) = &self.centre {
            let share = kappa / self.curvature;
            nu.iter_mut().zip(centre).for_each(|(w, y)| *w += share * (y - *w));
        }
        if self.l1 > 0.0 {
            self.shrunk = self.shrunk_of(&nu);
        }
        self.nu = nu;
    }

    /// `l1 norm(w)_1`
    pub(super) fn l1_penalty(&self) -> f64 {
        if self.l1 > 0.0 { self.l1 * self.shrunk.iter().map(|w| w.abs()).sum::<f64>() } else { 0.0 }
    }

    /// `l2 r*(nu)`, the penalty of the dual objective.
    pub(super) fn conjugate(&self, common: &Common, nu: &[f64]) -> f64 {
        if self.l1 > 0.0 { common.penalty(&self.shrunk_of(nu)) } else { common.penalty(nu) }
    }

    /// `nu + share change`
    pub(super) fn moved(&self, change: &[f64], share: f64) -> Vec<f64> {
        self.nu.iter().zip(change).map(|(nu, change)| nu + share * change).collect()
    }

    /// `S(nu)`
    pub(super) fn shrunk_of(&self, nu: &[f64]) -> Vec<f64> {
        nu.iter().map(|&x| shrink(x, self.threshold)).collect()
    }

    /// Moves `nu` by `scale` times the features of block `i`, and the weights with it.
    pub(super) fn step<P: Terms>(&mut self, problem: &P, work: &P::Work, i: usize, scale: f64) {
        problem.scatter(work, i, scale, &mut self.nu);
        if self.l1 > 0.0 {
            for range in problem.ranges(work, i) {
                let from = self.nu[range.clone()].iter();
                let to = self.shrunk[range].iter_mut();
                to.zip(from).for_each(|(w, &x)| *w = shrink(x, self.threshold));
            }
        }
    }

    /// Reads the terms of a block's line search.
    pub(super) fn bend<P: Terms>(&self, problem: &P, work: &P::Work, i: usize, bend: &mut Bend) {
        let Bend { nu, change, threshold, scale } = bend;
        (*threshold, *scale) = (self.threshold, self.curvature * problem.common().n as f64);
        nu.clear();
        problem.gather(work, i, &self.nu, nu);
        let (first, second) = problem.features(work);
        change.clear();
        change.extend(first.iter().chain(second).map(|x| -x / *scale));
        // Whole vectors: the padding has no weight and does not move.
        let length = nu.len().next_multiple_of(8);
        nu.resize(length, 0.0);
        change.resize(length, 0.0);
    }
}

impl Bend {
    /// `-l2 n / 2 (norm(S(nu + s v))^2 - norm(S(nu))^2)`
    pub(super) fn gain(&self, step: f64) -> f64 {
        let sum = self.sum(|nu, v| {
            let (to, from) = (shrink(nu + step * v, self.threshold), shrink(nu, self.threshold));
            ((to - from) * (to + from), 0.0)
        });
        -0.5 * self.scale * sum.0
    }

    /// The first derivative of [`gain`](Self::gain), and its second derivative where it has one.
    pub(super) fn derivatives(&self, step: f64) -> (f64, f64) {
        let sums = self.sum(|nu, v| {
            let to = shrink(nu + step * v, self.threshold);
            (to * v, if to == 0.0 { 0.0 } else { v * v })
        });
        (-self.scale * sums.0, -self.scale * sums.1)
    }

    #[inline(always)]
    fn sum(&self, term: impl Fn(f64, f64) -> (f64, f64)) -> (f64, f64) {
        lanes::dispatch(|| {
            let (mut first, mut second) = ([0.0; 8], [0.0; 8]);
            for (nu, v) in self.nu.as_chunks::<8>().0.iter().zip(self.change.as_chunks::<8>().0) {
                for l in 0..8 {
                    let (a, b) = term(nu[l], v[l]);
                    first[l] += a;
                    second[l] += b;
                }
            }
            (first.iter().sum(), second.iter().sum())
        })
    }
}
