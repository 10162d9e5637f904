//! Numerical tools that several rooms share.

use fenchel_optim::random::Generator;
use rand::RngExt;

/// The numbers in ascending order.
pub(crate) fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The median; of an even count the lower of the two middle numbers.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    range(values)[1]
}

/// The least number, the median and the largest.
pub(crate) fn range(values: impl IntoIterator<Item = f64>) -> [f64; 3] {
    let values = sorted(values);
    [values[0], values[(values.len() - 1) / 2], values[values.len() - 1]]
}

/// The mean.
pub(crate) fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

/// The mean, and its standard error; that of a single number is 0.
pub(crate) fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let (n, mean) = (values.len() as f64, mean(values.iter().copied()));
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, (squares / (n - 1.0).max(1.0) / n).sqrt())
}

/// A standard normal number, by the transform of Box and Muller.
pub(crate) fn normal(rng: &mut Generator) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}
