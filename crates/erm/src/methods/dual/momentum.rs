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
mod tests {
    use super::*;

    /// Without strong convexity the factors of Nesterov: `b -> 1`. With it, `b -> (1 - sqrt q) / (1 + sqrt q)`.
    #[test]
    fn the_factor_tends_to_its_limit() {
        for (ratio, limit) in [(0.0, 1.0), (0.04, 0.8 / 1.2)] {
            let mut momentum = Momentum::new(ratio, vec![0.0]);
            let mut centre = vec![0.0];
            let mut push = 0.0;
            for k in 1..20_000 {
                let x = [f64::from(k)];
                // A centre ahead of nothing: never uphill.
                centre[0] = x[0] - 1.0;
                momentum.extrapolate(&x, &mut centre);
                push = centre[0] - x[0];
            }
            assert!(f64::abs(push - limit) < 1e-3, "{push} {limit}");
        }
    }

    #[test]
    fn it_starts_again_when_it_points_uphill() {
        let mut momentum = Momentum::new(0.1, vec![0.0]);
        let mut centre = vec![0.0];
        momentum.extrapolate(&[1.0], &mut centre);
        assert!(momentum.alpha < 1.0);
        centre[0] = 3.0;
        momentum.extrapolate(&[2.0], &mut centre);
        assert_eq!((momentum.alpha, centre[0]), (1.0, 2.0));
    }
}
