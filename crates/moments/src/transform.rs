//! Transformations of the response before a method averages it.

use serde::{Deserialize, Serialize};

/// The transformation of the response in ADE, PHD+ and pHd, which average it; one outlier can dominate them.
///
/// The sliced methods depend on the response only through its ranks and need no transformation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResponseTransform {
    /// No transformation, as in D. Babichev, PhD thesis 2019. Scores have mean 0, so the limit is the same as with a
    /// centred response, but the variance is larger.
    None,
    /// The mean is taken off.
    #[default]
    Center,
    /// Centred ranks divided by `n`; ties have their mean rank.
    Ranks,
    /// Normal quantiles of the ranks.
    NormalScores,
}

impl ResponseTransform {
    /// The transformed response divided by a power of two, and this power: no sum or square of the numbers overflows or
    /// vanishes, and no digit changes.
    pub(crate) fn apply(self, y: &[f64]) -> (Vec<f64>, f64) {
        let unit = match self {
            ResponseTransform::None | ResponseTransform::Center => {
                let largest = y.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
                2.0_f64.powi(largest.log2().floor().clamp(-1000.0, 1000.0) as i32)
            }
            _ => 1.0,
        };
        (self.in_unit(y, unit), unit)
    }

    fn in_unit(self, y: &[f64], unit: f64) -> Vec<f64> {
        let scaled = || y.iter().map(|v| v / unit).collect::<Vec<f64>>();
        match self {
            ResponseTransform::None => scaled(),
            ResponseTransform::Center => {
                // Twice: the second mean is that of the rounding of the first.
                let mut centred = scaled();
                for _ in 0..2 {
                    let mean = centred.iter().sum::<f64>() / centred.len().max(1) as f64;
                    centred.iter_mut().for_each(|v| *v -= mean);
                }
                centred
            }
            ResponseTransform::Ranks => {
                let n = y.len() as f64;
                ranks(y).into_iter().map(|r| (r - 0.5 * (n + 1.0)) / n).collect()
            }
            ResponseTransform::NormalScores => {
                let n = y.len() as f64;
                ranks(y).into_iter().map(|r| normal_quantile(r / (n + 1.0))).collect()
            }
        }
    }
}

/// Ranks from 1; ties have their mean.
fn ranks(y: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..y.len()).collect();
    order.sort_unstable_by(|&i, &j| y[i].total_cmp(&y[j]));
    let mut ranks = vec![0.0; y.len()];
    let mut from = 0;
    while from < order.len() {
        let mut to = from + 1;
        while to < order.len() && y[order[to]] == y[order[from]] {
            to += 1;
        }
        let mean = 0.5 * (from + to + 1) as f64;
        order[from..to].iter().for_each(|&i| ranks[i] = mean);
        from = to;
    }
    ranks
}

/// The quantile of the standard normal distribution, to about 1e-15. The start is a rational approximation (Acklam's,
/// relative error 1e-9); one step of Halley's method follows.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        return if p <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    // Abramowitz and Stegun 26.2.23, error below 4.5e-4.
    let t = (-2.0 * p.ln()).sqrt();
    let top = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let bottom = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut x = top / bottom - t;
    for _ in 0..3 {
        let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let step = (normal_below(x) - p) / density;
        x -= step / (1.0 + 0.5 * x * step);
    }
    x
}

/// The distribution function of the standard normal distribution.
pub(crate) fn normal_below(x: f64) -> f64 {
    let half =
        0.5 * (-0.5 * x * x).exp() * fenchel_linalg::special::erfcx(x.abs() / 2.0_f64.sqrt());
    if x < 0.0 { half } else { 1.0 - half }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // mpmath, 20 digits
        for (p, x) in [
            (0.975, 1.959_963_984_540_054),
            (0.5, 0.0),
            (0.01, -2.326_347_874_040_841),
            (1e-10, -6.361_340_902_404_056),
        ] {
            assert!((normal_quantile(p) - x).abs() < 1e-13, "{p}: {}", normal_quantile(p));
        }
    }

    #[test]
    fn ties_share_their_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        let (scores, _) = ResponseTransform::Ranks.apply(&[3.0, 1.0, 2.0]);
        assert_eq!(scores, [1.0 / 3.0, -1.0 / 3.0, 0.0]);
    }
}
