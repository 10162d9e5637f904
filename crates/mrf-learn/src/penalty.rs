//! The l1 penalty, its unpenalised parameters, and the smallest strength at which all couplings are zero.
//!
//! ```text
//! h(theta) = lambda ( u sum_i |theta_ii| + sum_{i<j} w_ij |theta_ij| )
//! ```

use fenchel_linalg::Invalid;
use fenchel_optim::prox::soft_threshold;
use fenchel_optim::{Regulariser, settings};

use crate::coordinates::{packed_length, pair_index, pairs};
use crate::{Coordinates, Error};

settings! {
    /// The l1 penalty of a pairwise model.
    pub struct Penalty {
        /// Strength, `>= 0`, on the scale of the mean log-likelihood per row.
        lambda: f64 = 0.1,
        /// Factor of the biases, `>= 0`: 1 as in Geng et al. (UAI 2018), 0 as most practitioners do.
        unary_weight: f64 = 1.0,
        /// One factor per coordinate, packed as in [`coordinates`](crate::coordinates); empty for 1 throughout.
        /// Infinity forbids an edge and is saved as `null`.
        #[serde(with = "infinite")]
        weights: Vec<f64> = Vec::new(),
    }
}

/// Formats such as JSON have no infinity.
mod infinite {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(x: &[f64], to: S) -> Result<S::Ok, S::Error> {
        let finite = |x: &f64| Some(*x).filter(|x| *x != f64::INFINITY);
        x.iter().map(finite).collect::<Vec<Option<f64>>>().serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<f64>, D::Error> {
        let list = Vec::<Option<f64>>::deserialize(from)?;
        Ok(list.into_iter().map(|x| x.unwrap_or(f64::INFINITY)).collect())
    }
}

impl Penalty {
    /// Every component penalised alike, as in Geng et al. (UAI 2018).
    pub fn l1(lambda: f64) -> Self {
        Penalty { lambda, ..Penalty::default() }
    }

    /// Couplings penalised, biases unpenalised.
    pub fn edges(lambda: f64) -> Self {
        Penalty { lambda, unary_weight: 0.0, ..Penalty::default() }
    }

    /// The strength of every coordinate, packed.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a strength or factor that is negative or NaN; [`Invalid::Length`] for weights of the wrong length.
    pub fn strengths(&self, p: usize) -> Result<Strengths, Error> {
        Invalid::check_nonnegative("lambda", self.lambda)?;
        Invalid::check_nonnegative("unary_weight", self.unary_weight)?;
        if !self.weights.is_empty() {
            Invalid::check_length("penalty weights", packed_length(p), self.weights.len())?;
        }
        let mut all = Vec::with_capacity(packed_length(p));
        for (c, (i, j)) in pairs(p).enumerate() {
            let weight = self.weights.get(c).copied().unwrap_or(1.0);
            if !(weight >= 0.0) {
                let expected = "a number >= 0, or infinity";
                return Err(Invalid::Parameter {
                    name: "penalty weights",
                    value: weight,
                    expected,
                }
                .into());
            }
            let unary = if i == j { self.unary_weight } else { 1.0 };
            all.push(if weight.is_infinite() { weight } else { self.lambda * weight * unary });
        }
        Ok(Strengths(all))
    }
}

/// One strength per coordinate: `sum_c strength_c |x_c|`, infinite where a coordinate must stay 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Strengths(pub Vec<f64>);

impl Regulariser for Strengths {
    const NAME: &'static str = "l1 of a pairwise model";

    fn check(&self, columns: usize) -> Result<(), Invalid> {
        Invalid::check_length("strengths", columns, self.0.len())
    }

    fn value(&self, x: &[f64]) -> f64 {
        // A forbidden coordinate is 0, and infinity times 0 is no number.
        x.iter().zip(&self.0).filter(|(x, _)| **x != 0.0).map(|(x, w)| w * x.abs()).sum()
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        for (x, w) in x.iter_mut().zip(&self.0) {
            *x = if w.is_infinite() { 0.0 } else { soft_threshold(*x, step * w) };
        }
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        let excess = |(&v, &w): (&f64, &f64)| (v.abs() - w * (1.0 + 4.0 * f64::EPSILON)).max(0.0);
        let excess: f64 = v.iter().zip(&self.0).map(|pair| excess(pair).powi(2)).sum();
        if excess == 0.0 { 0.0 } else { excess / (2.0 * l2) }
    }

    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        if l2 > 0.0 {
            return 1.0;
        }
        let fits = |(v, w): (&f64, &f64)| if v.abs() <= *w { 1.0 } else { w / v.abs() };
        v.iter().zip(&self.0).map(fits).fold(1.0, f64::min)
    }

    fn coercive(&self) -> bool {
        self.0.iter().all(|&w| w > 0.0)
    }
}

/// The smallest `lambda` at which all couplings are zero, from the means of the data in these coordinates.
///
/// With penalised biases, all parameters are zero there: `lambda_max = max_j |E_0 psi_j - E psi_j|`, where `E_0` is the
/// expectation under fair coins. With unpenalised biases, `E_0` is the expectation under independent variables with the
/// means of the data.
///
/// # Errors
/// As [`Penalty::strengths`]; [`Invalid::Length`] for means of the wrong length.
pub fn lambda_max(
    means: &[f64],
    coordinates: Coordinates,
    penalty: &Penalty,
    p: usize,
) -> Result<f64, Error> {
    Invalid::check_length("means", packed_length(p), means.len())?;
    let unit = Penalty { lambda: 1.0, ..penalty.clone() };
    let strengths = unit.strengths(p)?;
    let free = penalty.unary_weight == 0.0;
    let mut largest: f64 = 0.0;
    for (c, (i, j)) in pairs(p).enumerate() {
        let independent = match (free, coordinates) {
            (true, _) if i == j => continue,
            (true, _) => means[pair_index(i, i, p)] * means[pair_index(j, j, p)],
            (false, Coordinates::Spins) => 0.0,
            (false, Coordinates::Binary) if i == j => 0.5,
            (false, Coordinates::Binary) => 0.25,
        };
        let weight = strengths.0[c];
        if weight > 0.0 {
            largest = largest.max((independent - means[c]).abs() / weight);
        }
    }
    Ok(largest)
}
