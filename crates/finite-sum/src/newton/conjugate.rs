//! Preconditioned conjugate gradients.

/// A positive definite system `H w = s`, by products with `H`.
pub(super) trait System {
    /// `M^-1 r`, for what stands for `H`.
    fn precondition(&self, residual: &[f64]) -> Vec<f64>;

    /// `H p`
    fn product(&mut self, p: &[f64]) -> Vec<f64>;

    /// The solution has moved by so much along the last `p`.
    fn moved(&mut self, _along: f64) {}
}

/// Solves `H w = s` until the residual has fallen to the fraction `goal` in the norm of `M^-1`, by at most `limit`
/// products. Returns `w`, the residual there, and the number of products.
pub(super) fn conjugate_gradients(
    system: &mut impl System,
    s: Vec<f64>,
    goal: f64,
    limit: usize,
) -> (Vec<f64>, Vec<f64>, usize) {
    let mut residual = s;
    let mut search = system.precondition(&residual);
    let mut w = vec![0.0; residual.len()];
    let mut size = dot(&residual, &search);
    let target = goal * goal * size;
    let mut products = 0;
    while products < limit && size > target {
        let image = system.product(&search);
        products += 1;
        let bend = dot(&search, &image);
        if !(bend > 0.0) {
            break;
        }
        let along = size / bend;
        w.iter_mut().zip(&search).for_each(|(w, p)| *w += along * p);
        residual.iter_mut().zip(&image).for_each(|(s, q)| *s -= along * q);
        system.moved(along);
        let towards = system.precondition(&residual);
        let next = dot(&residual, &towards);
        search.iter_mut().zip(&towards).for_each(|(p, z)| *p = z + next / size * *p);
        size = next;
    }
    (w, residual, products)
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
