//! The extrapolation of Catalyst.

/// Computes `y = x + b (x - x_old)` with the factors of Catalyst:
///
/// ```text
/// alpha^2 = (1 - alpha) a^2 + q alpha,     b = a (1 - a) / (a^2 + alpha),     a the alpha before
/// ```
///
/// where `a` is the previous `alpha` and the first `alpha` is 1. It restarts whenever the step from the centre to the
/// point goes uphill.
#[derive(Debug, Clone)]
pub(crate) struct Momentum {
    /// `q = mu / (mu + kappa)`
    ratio: f64,
    alpha: f64,
    /// `x_old`
    previous: Vec<f64>,
}

impl Momentum {
    /// The state before the first step, with `x_old = x`.
    pub(crate) fn new(ratio: f64, x: Vec<f64>) -> Self {
        Momentum { ratio, alpha: 1.0, previous: x }
    }

    /// Replaces the centre `y`, from which the point `x` was computed, by the next one.
    pub(crate) fn extrapolate(&mut self, x: &[f64], centre: &mut [f64]) {
        let moves = centre.iter().zip(x).zip(&self.previous);
        let uphill: f64 = moves.map(|((y, x), old)| (y - x) * (x - old)).sum();
        let (a, q) = (self.alpha, self.ratio);
        let mut push = 0.0;
        if uphill > 0.0 {
            self.alpha = 1.0;
        } else {
            let square = a * a;
            self.alpha = 0.5 * (q - square + ((square - q).powi(2) + 4.0 * square).sqrt());
            push = a * (1.0 - a) / (square + self.alpha);
        }
        for ((y, x), old) in centre.iter_mut().zip(x).zip(&mut self.previous) {
            *y = x + push * (x - *old);
            *old = *x;
        }
    }
}

#[cfg(test)]
mod tests;
