//! The L-BFGS approximation of the inverse Hessian, stored as pairs of vectors.

use std::collections::VecDeque;

use fenchel_linalg::Invalid;
use fenchel_linalg::vectors::{axpy, dot, in_runs};
use serde::{Deserialize, Serialize};

/// An estimate `H` of an inverse Hessian from the last few steps `s_k` and gradient differences `z_k`.
///
/// Reference: Nocedal and Wright, "Numerical Optimization" (2006), algorithm 7.4.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    capacity: usize,
    pairs: VecDeque<Pair>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Pair {
    s: Vec<f64>,
    z: Vec<f64>,
    /// `1 / (s . z)`
    rho: f64,
}

/// Refuses a memory of no pairs.
pub(crate) fn check_pairs(memory: usize) -> Result<(), Invalid> {
    let expected = "a number of correction pairs >= 1";
    match memory {
        0 => Err(Invalid::Parameter { name: "memory", value: 0.0, expected }),
        _ => Ok(()),
    }
}

impl Memory {
    /// A memory without pairs, for at most `capacity` pairs.
    pub fn new(capacity: usize) -> Self {
        Memory { capacity, pairs: VecDeque::new() }
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Whether this memory holds up to `capacity` pairs of vectors of length `d`. A state that was read from a file is checked
    /// by it.
    pub fn fits(&self, capacity: usize, d: usize) -> bool {
        let fits = |v: &[f64]| v.len() == d && v.iter().all(|v| v.is_finite());
        let mut pairs = self.pairs.iter();
        self.capacity == capacity
            && self.pairs.len() <= capacity
            && pairs.all(|p| fits(&p.s) && fits(&p.z) && p.rho.is_finite())
    }

    /// Forgets all pairs.
    pub fn clear(&mut self) {
        self.pairs.clear();
    }

    /// Replaces `r` by `H r` with the two-loop recursion. The recursion begins with the multiple `first_scale` of the identity.
    /// `None` takes `s.z / z.z` of the last pair, or 1 without a pair. O(pairs d).
    pub fn apply(&self, r: &mut [f64], first_scale: Option<f64>) {
        let of_last = |pair: &Pair| 1.0 / (pair.rho * dot(&pair.z, &pair.z));
        let scale = first_scale.or(self.pairs.back().map(of_last)).unwrap_or(1.0);
        self.apply_to(r, |r| {
            if scale != 1.0 {
                in_runs(r, |_, r| r.iter_mut().for_each(|r| *r *= scale));
            }
        });
    }

    /// Does the same as [`apply`](Memory::apply), but the recursion begins with a multiple of a positive diagonal `D`. The
    /// multiple is `z.s / z.Dz` of the last pair, or 1 without a pair.
    pub fn apply_scaled(&self, r: &mut [f64], diagonal: &[f64]) {
        let of_last = |pair: &Pair| {
            let square: f64 = pair.z.iter().zip(diagonal).map(|(z, d)| z * d * z).sum();
            1.0 / (pair.rho * square)
        };
        let scale = self.pairs.back().map_or(1.0, of_last);
        self.apply_to(r, |r| r.iter_mut().zip(diagonal).for_each(|(r, d)| *r *= scale * d));
    }

    /// Does the same as [`apply`](Memory::apply), but the recursion begins with any positive definite matrix, by which `first`
    /// multiplies.
    pub fn apply_to(&self, r: &mut [f64], first: impl FnOnce(&mut [f64])) {
        let mut alphas = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let alpha = pair.rho * dot(&pair.s, r);
            axpy(-alpha, &pair.z, r);
            alphas.push(alpha);
        }
        first(r);
        for (pair, alpha) in self.pairs.iter().zip(alphas.into_iter().rev()) {
            let beta = pair.rho * dot(&pair.z, r);
            axpy(alpha - beta, &pair.s, r);
        }
    }

    /// Applies the matrix restricted to some coordinates. Every pair is restricted to the `free` coordinates, and a pair
    /// without curvature there is left out. The recursion begins as in [`apply`](Memory::apply) or
    /// [`apply_scaled`](Memory::apply_scaled). Coordinates that are not `free` must be 0 in `r`, and stay 0.
    pub(super) fn apply_within(
        &self,
        r: &mut [f64],
        diagonal: Option<&[f64]>,
        free: impl Fn(usize) -> bool,
    ) {
        let free: Vec<usize> = (0..r.len()).filter(|&c| free(c)).collect();
        let inner = |a: &[f64], b: &[f64]| free.iter().map(|&c| a[c] * b[c]).sum::<f64>();
        let curved: Vec<(&Pair, f64)> = self
            .pairs
            .iter()
            .filter_map(|pair| {
                let curvature = inner(&pair.s, &pair.z);
                let size = (inner(&pair.s, &pair.s) * inner(&pair.z, &pair.z)).sqrt();
                (curvature > 1e-12 * size).then(|| (pair, 1.0 / curvature))
            })
            .collect();
        let mut alphas = Vec::with_capacity(curved.len());
        for (pair, rho) in curved.iter().rev() {
            let alpha = rho * inner(&pair.s, r);
            free.iter().for_each(|&c| r[c] -= alpha * pair.z[c]);
            alphas.push(alpha);
        }
        let begin = |c: usize| diagonal.map_or(1.0, |diagonal| diagonal[c]);
        let scale = curved.last().map_or(1.0, |(pair, rho)| {
            1.0 / (rho * free.iter().map(|&c| pair.z[c] * begin(c) * pair.z[c]).sum::<f64>())
        });
        free.iter().for_each(|&c| r[c] *= scale * begin(c));
        for ((pair, rho), alpha) in curved.iter().zip(alphas.into_iter().rev()) {
            let beta = rho * inner(&pair.z, r);
            free.iter().for_each(|&c| r[c] += (alpha - beta) * pair.s[c]);
        }
    }

    /// Stores the step `s` between two points and the difference `z` of their gradients. A pair without curvature (`s.z <=
    /// 1e-12 |s| |z|`) would break the positive definiteness of `H`. Such a pair is not stored, and the result is `false`.
    ///
    /// # Panics
    /// If the lengths of the slices differ from each other or from those of the earlier pairs.
    pub fn push(
        &mut self,
        from: &[f64],
        to: &[f64],
        gradient_from: &[f64],
        gradient_to: &[f64],
    ) -> bool {
        // A full memory hands over its oldest buffers.
        let mut pair = match self.pairs.len() == self.capacity {
            true => self.pairs.pop_front(),
            false => None,
        }
        .unwrap_or_else(|| {
            let d = from.len();
            Pair { s: vec![0.0; d], z: vec![0.0; d], rho: 0.0 }
        });
        difference(to, from, &mut pair.s);
        difference(gradient_to, gradient_from, &mut pair.z);
        let curvature = dot(&pair.s, &pair.z);
        let curved = curvature > 1e-12 * norm(&pair.s) * norm(&pair.z);
        if curved && self.capacity > 0 {
            pair.rho = 1.0 / curvature;
            self.pairs.push_back(pair);
        }
        curved
    }
}

fn difference(a: &[f64], b: &[f64], out: &mut [f64]) {
    assert!(a.len() == out.len() && b.len() == out.len(), "vectors of one length");
    in_runs(out, |range, out| {
        let differences = a[range.clone()].iter().zip(&b[range]).map(|(a, b)| a - b);
        out.iter_mut().zip(differences).for_each(|(out, difference)| *out = difference);
    });
}

pub(crate) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}
