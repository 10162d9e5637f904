//! Draws of probability vectors and of categories.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::{log_sum_exp, softmax_in_place};
use ndarray::Array2;
use rand::{Rng, RngExt};

use super::scalar::log_gamma_variable;

/// The Dirichlet distribution by its concentrations, drawn in logs.
///
/// ```
/// use fenchel_expfam::samplers::Dirichlet;
/// use fenchel_optim::random::stream;
///
/// let log_p = Dirichlet::symmetric(1e-4, 5)?.sample_log(&mut stream(1, 0));
/// assert!((log_p.iter().map(|l| l.exp()).sum::<f64>() - 1.0).abs() < 1e-14);
/// # Ok::<(), fenchel_linalg::Invalid>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dirichlet {
    concentrations: Vec<f64>,
}

impl Dirichlet {
    /// One concentration per category.
    ///
    /// # Errors
    /// [`Invalid::Empty`]; [`Invalid::Parameter`] for a concentration that is not a finite number > 0.
    pub fn new(concentrations: &[f64]) -> Result<Self, Invalid> {
        if concentrations.is_empty() {
            return Err(Invalid::Empty { what: "concentrations" });
        }
        concentrations.iter().try_for_each(|&a| Invalid::check_positive("concentration", a))?;
        Ok(Dirichlet { concentrations: concentrations.to_vec() })
    }

    /// The same concentration for each of `k` categories.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn symmetric(concentration: f64, k: usize) -> Result<Self, Invalid> {
        Dirichlet::new(&vec![concentration; k])
    }

    /// The concentrations.
    pub fn concentrations(&self) -> &[f64] {
        &self.concentrations
    }

    /// Writes the logarithms of a drawn probability vector. Every logarithm is finite, even where the probability
    /// itself would underflow.
    ///
    /// # Panics
    /// If `out` has another length than the concentrations.
    pub fn sample_log_into<R: Rng + ?Sized>(&self, out: &mut [f64], rng: &mut R) {
        assert_eq!(out.len(), self.concentrations.len(), "one entry a category");
        for (out, &a) in out.iter_mut().zip(&self.concentrations) {
            *out = log_gamma_variable(a, rng);
        }
        let total = log_sum_exp(out);
        out.iter_mut().for_each(|l| *l = (*l - total).max(f64::MIN));
    }

    /// Logarithms of a drawn probability vector.
    pub fn sample_log<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let mut out = vec![0.0; self.concentrations.len()];
        self.sample_log_into(&mut out, rng);
        out
    }

    /// A drawn probability vector; tiny entries may be 0.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let mut out = self.sample_log(rng);
        softmax_in_place(&mut out);
        out
    }

    /// `rows` independent draws of logarithms, one draw per row: a random table of conditional probabilities.
    ///
    /// # Panics
    /// For more rows than memory, as an array of so many does.
    pub fn sample_log_rows<R: Rng + ?Sized>(&self, rows: usize, rng: &mut R) -> Array2<f64> {
        let mut table = Array2::zeros((rows, self.concentrations.len()));
        for mut row in table.rows_mut() {
            self.sample_log_into(row.as_slice_mut().expect("one after another"), rng);
        }
        table
    }
}

/// A category with probability proportional to its weight. O(k); for many draws of one vector build an
/// [`Alias`](fenchel_optim::random::Alias).
///
/// # Errors
/// [`Invalid::Empty`]; [`Invalid::Layout`] for a negative or non-finite weight; [`Invalid::Parameter`] for a sum that is not positive and finite.
pub fn categorical<R: Rng + ?Sized>(weights: &[f64], rng: &mut R) -> Result<usize, Invalid> {
    if weights.is_empty() {
        return Err(Invalid::Empty { what: "weights" });
    }
    Invalid::check_weights("weights", weights.len(), weights.iter())?;
    let total = weights.iter().sum();
    Invalid::check_positive("sum of the weights", total)?;
    let mut left = rng.random::<f64>() * total;
    let mut last = 0;
    for (k, &w) in weights.iter().enumerate() {
        if w > 0.0 {
            if left < w {
                return Ok(k);
            }
            left -= w;
            last = k;
        }
    }
    // Rounding may leave a little over.
    Ok(last)
}

/// A category with probability proportional to `exp(log_weight)`, by the Gumbel-max trick, which neither overflows nor
/// underflows. O(k).
///
/// # Errors
/// [`Invalid::Empty`]; [`Invalid::Parameter`] for a log-weight that is NaN or `+inf`, or if all are `-inf`.
pub fn categorical_from_logs<R: Rng + ?Sized>(
    log_weights: &[f64],
    rng: &mut R,
) -> Result<usize, Invalid> {
    let mut best = (f64::NEG_INFINITY, None);
    for (k, &value) in log_weights.iter().enumerate() {
        if value.is_nan() || value == f64::INFINITY {
            let expected = "a number below infinity";
            return Err(Invalid::Parameter { name: "log-weight", value, expected });
        }
        let key = value - (-super::open_uniform(rng).ln()).ln();
        if key > best.0 {
            best = (key, Some(k));
        }
    }
    best.1.ok_or(Invalid::Empty { what: "log-weights above -inf" })
}
