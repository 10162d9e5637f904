//! Bounds on the distance of Gibbs sampling from its model, by influence matrices.
//!
//! ```text
//! C_ij = max over x, y that differ in j alone of  TV( P(X_i | x), P(X_i | y) )         (Dobrushin)
//! d_i <- sum_j U_ij d_j, variable by variable in the order of the scan,  U >= C, d = 1 at the start
//! TV( law after t sweeps from any state, P ) <= sum_i d_i(t)
//! ```
//!
//! The bound costs O(nonzeros) per sweep and needs no samples. It tends to 0 if and only if the spectral radius of `U` is
//! below 1. In this case the chains forget their start, and [`Influence::sweeps_needed`] gives a sufficient number of sweeps. If the
//! spectral radius is 1 or more, nothing is proved. Use the [`crate::diagnostics`] then, which need samples and give no proof.
//!
//! | model | constructor | entries |
//! |---|---|---|
//! | binary pairwise, also spins by [`BinaryPairwise::from_spins`](crate::BinaryPairwise::from_spins) | [`Influence::bound`] | equation 11 of Geng et al. (2018) |
//! | the same with few neighbours | [`Influence::exact`] | `C` itself, by enumeration |
//! | any discrete model | [`Influence::of_factors`] | `tanh` of a quarter of the oscillation of the factors |
//!
//! For spins the bound of Geng et al. (2018) is the same number in other coordinates: `tanh |J_ij|`, unless the maximiser is
//! at an end of its interval. Factors of higher order are used directly by [`Influence::of_factors`]. Reducing them to pairs
//! with auxiliary variables would make single-site sampling reducible, and give `U = 1`.
//!
//! Sources: Geng, Kuang, Liu, Wright and Page, UAI 2018, definitions 1-2, equation 11, lemma 2, section 5.2; Dobrushin, Theory
//! Probab. Appl. 13 (1968); Mitliagkas and Mackey, "Improving Gibbs sampler scan quality with DoGS", ICML 2017, theorem 9.

mod binary;
mod factors;

use fenchel_linalg::Invalid;
use fenchel_linalg::spectral::spectral_radius;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::{Error, VarId};

/// An upper bound of the Dobrushin influence matrix. Entry `(i, j)` bounds the change of the conditional distribution of `X_i`,
/// in total variation, when only `X_j` changes. The matrix is sparse and non-negative, has a zero diagonal, and is not
/// symmetric.
///
/// ```
/// use fenchel_graphical::{BinaryPairwise, Influence};
///
/// let model = BinaryPairwise::new(&[-0.5, 0.0, 0.2], &[(0, 1, 1.0), (1, 2, -0.8)])?;
/// let influence = Influence::bound(&model);
/// assert!(influence.spectral_radius()? < 1.0);
/// let sweeps = influence.sweeps_needed(0.01, 1000).expect("the radius is below 1");
/// assert!(influence.total_variation_bound(sweeps) <= 0.01);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Lists")]
pub struct Influence {
    /// The entries of row `i` are `starts[i]..starts[i + 1]`.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

/// An [`Influence`] as a file holds it, before it is checked.
#[derive(Deserialize)]
struct Lists {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl TryFrom<Lists> for Influence {
    type Error = Error;

    fn try_from(Lists { starts, columns, values }: Lists) -> Result<Self, Error> {
        let ends = (starts.first().copied(), starts.last().copied());
        let shaped = ends == (Some(0), Some(columns.len()))
            && columns.len() == values.len()
            && starts.is_sorted();
        let row = |range: &[usize]| {
            let row = &columns[range[0]..range[1]];
            row.is_sorted_by(|a, b| a < b)
                && row.last().is_none_or(|&j| (j as usize) < starts.len() - 1)
        };
        if shaped && starts.windows(2).all(row) && values.iter().all(|v| *v > 0.0 && v.is_finite())
        {
            return Ok(Influence { starts, columns, values });
        }
        let reason = "expected ascending columns of variables in every row, and positive values";
        Err(Invalid::Layout { what: "influence", reason: reason.into() }.into())
    }
}

impl Influence {
    /// From rows of (column, value); zeros are left out.
    fn from_rows(rows: impl Iterator<Item = Vec<(u32, f64)>>) -> Self {
        let mut influence = Influence { starts: vec![0], columns: Vec::new(), values: Vec::new() };
        for row in rows {
            for (j, value) in row.into_iter().filter(|&(_, value)| value > 0.0) {
                influence.columns.push(j);
                influence.values.push(value);
            }
            influence.starts.push(influence.columns.len());
        }
        influence
    }

    /// Number of variables, `p`.
    pub fn variables(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of entries that are not 0.
    pub fn nonzeros(&self) -> usize {
        self.values.len()
    }

    /// The influences on variable `i`: pairs of the influencing variable and the bound, with ascending variables.
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn row(&self, i: usize) -> impl ExactSizeIterator<Item = (u32, f64)> {
        let range = self.starts[i]..self.starts[i + 1];
        self.columns[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }

    /// The matrix, `p x p`.
    pub fn to_dense(&self) -> Array2<f64> {
        let p = self.variables();
        let mut dense = Array2::zeros((p, p));
        for i in 0..p {
            for (j, value) in self.row(i) {
                dense[[i, j as usize]] = value;
            }
        }
        dense
    }

    /// The spectral radius of the matrix. The bounds tend to 0 if and only if it is below 1. O(p^3), because the dense matrix
    /// is used.
    ///
    /// # Errors
    /// [`Invalid::Empty`] for a model without variables.
    pub fn spectral_radius(&self) -> Result<f64, Error> {
        Ok(spectral_radius(self.to_dense().view())?)
    }

    /// Applies one systematic sweep to the bounds `d`, in place: `d_i <- sum_j U_ij d_j` for `i = 0, ..., p - 1`. From `d =
    /// 1`, `t` sweeps give `B^t 1` with the matrix `B = B_p ... B_1` of Geng et al. (2018), and the sum of the entries is
    /// their `G(B^t)`. O(nonzeros).
    ///
    /// # Panics
    /// If `bounds` does not have `p` entries.
    pub fn sweep(&self, bounds: &mut [f64]) {
        self.sweep_along(0..self.variables(), bounds);
    }

    /// Does the same as [`sweep`](Self::sweep) in any order of the variables, which may repeat or omit some.
    ///
    /// # Panics
    /// If `bounds` does not have `p` entries, or a variable does not exist.
    pub fn sweep_along(&self, order: impl IntoIterator<Item = usize>, bounds: &mut [f64]) {
        assert_eq!(bounds.len(), self.variables(), "a bound for every variable");
        for i in order {
            bounds[i] = self.row(i).map(|(j, value)| value * bounds[j as usize]).sum();
        }
    }

    /// The bounds `d` after `sweeps` systematic sweeps from any state. There is a coupling of the chain with a draw from the
    /// model in which `X_i` differs with probability at most `d_i`. So the sum of `d_i` over a set of variables bounds the
    /// total variation of their joint distribution.
    pub fn scan_bound(&self, sweeps: usize) -> Vec<f64> {
        let mut bounds = vec![1.0; self.variables()];
        (0..sweeps).for_each(|_| self.sweep(&mut bounds));
        bounds
    }

    /// The bounds for a scan of uniform draws: each of `updates` single updates maps `d` to `(1 - 1/p) d + U d / p`.
    pub fn random_scan_bound(&self, updates: usize) -> Vec<f64> {
        let share = 1.0 / self.variables() as f64;
        let mut bounds = vec![1.0; self.variables()];
        let mut next = bounds.clone();
        for _ in 0..updates {
            for (i, next) in next.iter_mut().enumerate() {
                let drawn: f64 = self.row(i).map(|(j, value)| value * bounds[j as usize]).sum();
                *next = bounds[i] + share * (drawn - bounds[i]);
            }
            std::mem::swap(&mut bounds, &mut next);
        }
        bounds
    }

    /// A bound of the total variation distance between the model and the distribution after `sweeps` systematic sweeps, from
    /// any state.
    pub fn total_variation_bound(&self, sweeps: usize) -> f64 {
        self.scan_bound(sweeps).iter().sum::<f64>().min(1.0)
    }

    /// The same bound for the joint distribution of some variables.
    ///
    /// # Errors
    /// [`Error::UnknownVariable`].
    pub fn subset_bound(&self, variables: &[VarId], sweeps: usize) -> Result<f64, Error> {
        let bounds = self.scan_bound(sweeps);
        let mut asked = variables.to_vec();
        asked.sort_unstable();
        asked.dedup();
        let mut sum = 0.0;
        for variable in asked {
            let Some(bound) = bounds.get(variable.index()) else {
                return Err(Error::UnknownVariable { variable, variables: bounds.len() });
            };
            sum += bound;
        }
        Ok(sum.min(1.0))
    }

    /// The least number of systematic sweeps after which the total variation is proved to be at most `epsilon`. It is `None` if
    /// `most` sweeps are not enough, which is always so for `epsilon < 1` if the spectral radius is 1 or more.
    pub fn sweeps_needed(&self, epsilon: f64, most: usize) -> Option<usize> {
        let mut bounds = vec![1.0; self.variables()];
        let mut before = bounds.clone();
        for sweeps in 0..=most {
            if bounds.iter().sum::<f64>().min(1.0) <= epsilon {
                return Some(sweeps);
            }
            before.copy_from_slice(&bounds);
            self.sweep(&mut bounds);
            // B d >= d implies B^t d >= d for every t: it never falls.
            if bounds.iter().zip(&before).all(|(after, before)| after >= before) {
                return None;
            }
        }
        None
    }
}
