//! The start of a component: the solution if it is known in closed form, or an earlier solution.

use fenchel_linalg::factor;

use super::block::Block;
use super::solver::Solution;
use super::state::GlassoState;
use crate::penalty::soft;

/// The solution for one or two variables: the inverse of the soft-thresholded covariance matrix. Without a penalty off the diagonal
/// the solution is an inverse for any number.
pub(super) fn closed_form(block: &Block) -> Option<Solution> {
    match block.k {
        1 => Some((vec![1.0], vec![1.0], 0.0)),
        2 => {
            let s = soft(block.c[1], block.lambda.at(0, 1));
            let det = (1.0 - s) * (1.0 + s);
            if !(det > 0.0) {
                return None;
            }
            let off = -s / det;
            Some((vec![1.0 / det, off, off, 1.0 / det], vec![1.0, s, s, 1.0], -det.ln()))
        }
        k => {
            if !(0..k).all(|i| (0..i).all(|j| block.lambda.at(i, j) == 0.0)) {
                return None;
            }
            let mut w = block.c.clone();
            (0..k).for_each(|i| w[i * k + i] = 1.0);
            let factor = factor::cholesky_in_place(w.clone(), k).ok()?;
            let mut x = vec![0.0; k * k];
            factor::inverse_into(&factor, &mut x);
            let log_det = -factor.log_det();
            Some((x, w, log_det))
        }
    }
}

/// The earlier solution on the nodes of a block.
pub(super) fn warm(block: &Block, start: &GlassoState, origin: &[(u32, u32)]) -> Option<Solution> {
    let k = block.k;
    let mut x = vec![0.0; k * k];
    let mut w = vec![0.0; k * k];
    let mut used: Vec<u32> = block.nodes.iter().map(|&i| origin[i as usize].0).collect();
    for a in 0..k {
        let (c, i) = origin[block.nodes[a] as usize];
        let component = start.components.get(c as usize)?;
        let size = component.nodes.len();
        for b in 0..k {
            let (other, j) = origin[block.nodes[b] as usize];
            if other == c {
                let at = i as usize * size + j as usize;
                // An edge that is forbidden now must go; the inverse is then another.
                let scale = block.scale[a] * block.scale[b];
                x[a * k + b] = component.precision[at] / scale;
                w[a * k + b] = component.covariance[at] * scale;
            }
        }
    }
    used.sort_unstable();
    used.dedup();
    let whole: usize = used.iter().map(|&c| start.components[c as usize].nodes.len()).sum();
    let mut forbidden = false;
    for a in 0..k {
        for b in 0..k {
            if x[a * k + b] != 0.0 && block.lambda.at(a, b) == f64::INFINITY {
                x[a * k + b] = 0.0;
                forbidden = true;
            }
        }
    }
    if whole == k && !forbidden {
        let log_det: f64 = used.iter().map(|&c| start.components[c as usize].log_det).sum();
        return Some((x, w, log_det + block.shift()));
    }
    // Only a part of a former component: its principal submatrix, inverted anew.
    let factor = factor::cholesky_in_place(x.clone(), k).ok()?;
    factor::inverse_into(&factor, &mut w);
    let log_det = factor.log_det();
    Some((x, w, log_det))
}
