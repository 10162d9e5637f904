//! Two categorical variables, cause X and effect Y: both factorisations, their joint, and what an intervention does to them.
//!
//! ```text
//! causal      log p(x, y) = s_x + s_{y|x} - LSE(s_X) - LSE(s_{Y|x})
//! anticausal  log p(x, y) = s_y + s_{x|y} - LSE(s_Y) - LSE(s_{X|y})
//! joint       log p(x, y) = s_{xy} - LSE(s_XY)
//! ```
//!
//! Every vector of scores `s` (logits) is determined only up to an additive constant. Distances between parameters need a unique
//! choice: here every vector of scores has mean zero (R. Le Priol, PhD thesis 2021, definition 4.B.1), and the types of this module
//! keep it so. Gradients of the loss are orthogonal to constant vectors, so stochastic gradient steps keep the mean zero too.
//!
//! | task | item | cost |
//! |---|---|---|
//! | a model, from probabilities, scores, counts | [`CategoricalPair`] | O(K^2) |
//! | the other factorisation of the same joint | [`CategoricalPair::reverse`] | O(K^2) |
//! | one vector of scores for the joint | [`JointCategorical`] | O(K^2) |
//! | interventions | [`Intervention`] | O(K^2) |
//! | all three squared distances at once | [`Anova::distances`] | O(K^2) |
//!
//! All computations use logarithms, and probabilities are formed only when a function returns them. So scores of plus and minus 600 are
//! exact to rounding.
//!
//! Source: R. Le Priol, PhD thesis 2021, sections 4.3 and 4.5, appendix 4.B.

mod anova;
mod intervention;
mod joint;

use fenchel_linalg::Invalid;
use fenchel_linalg::special::log_sum_exp;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::Error;

pub use anova::{Anova, Distances};
pub use intervention::Intervention;
pub use joint::JointCategorical;

/// The direction of a factorisation: which variable has the marginal distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Direction {
    /// `p(x) p(y | x)`, X being the true cause.
    Causal,
    /// `p(y) p(x | y)`.
    Anticausal,
}

impl Direction {
    /// The other one.
    #[must_use]
    pub fn reversed(self) -> Direction {
        match self {
            Direction::Causal => Direction::Anticausal,
            Direction::Anticausal => Direction::Causal,
        }
    }
}

/// A marginal and a conditional distribution in scores of mean zero.
///
/// ```
/// use fenchel_causal::categorical::CategoricalPair;
/// use ndarray::array;
///
/// let p = CategoricalPair::from_probabilities(
///     array![0.25, 0.75].view(),
///     array![[0.5, 0.4, 0.1], [0.2, 0.2, 0.6]].view(),
/// )?;
/// let q = p.reverse(); // p(y) p(x | y): the same joint
/// assert!(p.kl(&q)?.abs() < 1e-15);
/// assert!((q.marginal_probabilities()[0] - (0.25 * 0.5 + 0.75 * 0.2)).abs() < 1e-15);
/// # Ok::<(), fenchel_causal::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct CategoricalPair {
    marginal: Array1<f64>,
    conditional: Array2<f64>,
    direction: Direction,
}

#[derive(Deserialize)]
struct Parts {
    marginal: Array1<f64>,
    conditional: Array2<f64>,
    direction: Direction,
}

impl TryFrom<Parts> for CategoricalPair {
    type Error = Error;
    fn try_from(p: Parts) -> Result<CategoricalPair, Error> {
        let pair = CategoricalPair::from_logits(p.marginal.view(), p.conditional.view())?;
        Ok(CategoricalPair { direction: p.direction, ..pair })
    }
}

/// The largest score. Squared distances of larger ones would not be numbers.
const LARGEST: f64 = 1e150;

/// Refuses scores that are not finite, or beyond [`LARGEST`].
fn check_scores<'a>(
    what: &'static str,
    scores: impl IntoIterator<Item = ((usize, usize), &'a f64)>,
) -> Result<(), Invalid> {
    for ((row, column), &value) in scores {
        if !value.is_finite() {
            return Err(Invalid::NonFinite { what, row, column, value });
        }
        if value.abs() > LARGEST {
            let expected = "scores of at most 1e150 in size";
            return Err(Invalid::Parameter { name: what, value, expected });
        }
    }
    Ok(())
}

pub(crate) fn center(v: &mut [f64]) {
    let mean = v.iter().sum::<f64>() / v.len() as f64;
    v.iter_mut().for_each(|s| *s -= mean);
}

impl CategoricalPair {
    /// Builds the pair from scores, which are determined up to a constant per vector. The direction is causal.
    ///
    /// # Errors
    /// [`Error::Invalid`] for empty arrays, a number of rows that is not the length of the marginal, and scores that are not finite or
    /// larger than 1e150 in size.
    pub fn from_logits(
        marginal: ArrayView1<'_, f64>,
        conditional: ArrayView2<'_, f64>,
    ) -> Result<CategoricalPair, Error> {
        Invalid::check_length("rows of the conditional", marginal.len(), conditional.nrows())?;
        if conditional.is_empty() {
            return Err(Invalid::Empty { what: "the conditional" }.into());
        }
        check_scores("the marginal", marginal.indexed_iter().map(|(k, s)| ((k, 0), s)))?;
        check_scores("the conditional", conditional.indexed_iter())?;
        Ok(CategoricalPair::centred(marginal.to_vec(), conditional.iter().copied().collect()))
    }

    /// Builds the pair from scores in rows, without looking at them: they must be finite, and as many in every row. The
    /// direction is causal.
    pub fn centred(mut marginal: Vec<f64>, mut conditional: Vec<f64>) -> CategoricalPair {
        let (a, b) = (marginal.len(), conditional.len() / marginal.len());
        center(&mut marginal);
        conditional.chunks_exact_mut(b).for_each(center);
        CategoricalPair {
            marginal: Array1::from_vec(marginal),
            conditional: Array2::from_shape_fn((a, b), |(i, j)| conditional[i * b + j]),
            direction: Direction::Causal,
        }
    }

    /// Builds the pair from probabilities. Rows must sum to 1 up to 1e-9 and are then divided by their sum.
    ///
    /// # Errors
    /// [`Error::Invalid`] for wrong shapes, and for numbers that are negative or not finite; [`Error::NotADistribution`];
    /// [`Error::ZeroProbability`].
    pub fn from_probabilities(
        marginal: ArrayView1<'_, f64>,
        conditional: ArrayView2<'_, f64>,
    ) -> Result<CategoricalPair, Error> {
        let row = marginal.insert_axis(ndarray::Axis(0));
        let logits = logs("the marginal", row)?;
        let conditional = logs("the conditional", conditional)?;
        CategoricalPair::from_logits(logits.row(0), conditional.view())
    }

    /// As [`from_probabilities`](Self::from_probabilities), but probabilities below `floor` are first raised to `floor`. A probability
    /// of zero has no finite score.
    ///
    /// # Errors
    /// As there; [`Error::Invalid`] for a floor that is not positive.
    pub fn from_probabilities_above(
        floor: f64,
        marginal: ArrayView1<'_, f64>,
        conditional: ArrayView2<'_, f64>,
    ) -> Result<CategoricalPair, Error> {
        Invalid::check_positive("floor", floor)?;
        let row = marginal.insert_axis(ndarray::Axis(0));
        let raised = |what, rows| -> Result<Array2<f64>, Error> {
            check_distributions(what, rows)?;
            Ok(rows.mapv(|p| p.max(floor).ln()))
        };
        let logits = raised("the marginal", row)?;
        let conditional = raised("the conditional", conditional)?;
        CategoricalPair::from_logits(logits.row(0), conditional.view())
    }

    /// Builds the pair from the logarithms of a joint distribution, up to a constant. Rows are the states of the
    /// marginal variable.
    ///
    /// # Errors
    /// As [`from_logits`](Self::from_logits).
    pub fn from_log_joint(log_joint: ArrayView2<'_, f64>) -> Result<CategoricalPair, Error> {
        let sums: Array1<f64> =
            log_joint.rows().into_iter().map(|r| log_sum_exp(&r.to_vec())).collect();
        CategoricalPair::from_logits(sums.view(), log_joint)
    }

    /// The posterior mean given counts `n(a, b)`, one row per state of the marginal variable. A pseudo-count is added to every cell of
    /// the joint table.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no cells, counts that are negative or not finite, and a pseudo-count that is not positive.
    pub fn from_counts(
        counts: ArrayView2<'_, f64>,
        pseudo_count: f64,
    ) -> Result<CategoricalPair, Error> {
        Invalid::check_positive("pseudo_count", pseudo_count)?;
        for &n in &counts {
            Invalid::check_nonnegative("count", n)?;
        }
        CategoricalPair::from_log_joint(counts.mapv(|n| (n + pseudo_count).ln()).view())
    }

    /// The scores of the marginal, of mean zero.
    pub fn marginal(&self) -> ArrayView1<'_, f64> {
        self.marginal.view()
    }

    /// The scores of the conditional: one row of mean zero per state of the marginal variable.
    pub fn conditional(&self) -> ArrayView2<'_, f64> {
        self.conditional.view()
    }

    /// Which variable has the marginal.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The numbers of states of the marginal and of the conditional variable.
    pub fn shape(&self) -> (usize, usize) {
        self.conditional.dim()
    }

    /// The probabilities of the marginal variable.
    pub fn marginal_probabilities(&self) -> Array1<f64> {
        let mut p = self.marginal.to_vec();
        fenchel_linalg::special::softmax_in_place(&mut p);
        Array1::from_vec(p)
    }

    /// `A(a) = LSE_b s_{b|a}` for every row.
    pub fn partitions(&self) -> Vec<f64> {
        self.conditional.rows().into_iter().map(|r| log_sum_exp(&r.to_vec())).collect()
    }

    /// `log p`, one row per state of the marginal variable. O(K^2).
    pub fn log_joint_rows(&self) -> Array2<f64> {
        let total = log_sum_exp(&self.marginal.to_vec());
        let a = self.partitions();
        Array2::from_shape_fn(self.shape(), |(i, j)| {
            self.marginal[i] - total + self.conditional[(i, j)] - a[i]
        })
    }

    /// `log p(x, y)`, one row per state of X, whatever the direction. O(K^2).
    pub fn log_joint(&self) -> Array2<f64> {
        let rows = self.log_joint_rows();
        match self.direction {
            Direction::Causal => rows,
            Direction::Anticausal => rows.reversed_axes().as_standard_layout().into_owned(),
        }
    }

    /// The other factorisation of the same joint. O(K^2).
    ///
    /// With `A(a) = LSE_b s_{b|a}`, where LSE is the log-sum-exp, the new scores are `s_{a|b} = s_a + s_{b|a} - A(a)` and
    /// `s_b = LSE_a(s_a + s_{b|a} - A(a))`, both centred.
    ///
    /// Source: R. Le Priol, PhD thesis 2021, lemma 4.B.4.
    #[must_use]
    pub fn reverse(&self) -> CategoricalPair {
        let a = self.partitions();
        let (rows, columns) = self.shape();
        let mut marginal = Vec::with_capacity(columns);
        let mut conditional = Vec::with_capacity(rows * columns);
        for j in 0..columns {
            let start = conditional.len();
            conditional
                .extend((0..rows).map(|i| self.marginal[i] + self.conditional[(i, j)] - a[i]));
            marginal.push(log_sum_exp(&conditional[start..]));
        }
        let direction = self.direction.reversed();
        CategoricalPair { direction, ..CategoricalPair::centred(marginal, conditional) }
    }

    /// `KL(self || other)` in nats, between joint distributions: the directions may differ. O(K^2).
    ///
    /// The result is never negative. Its relative error is about 1e-8 even if the two are very close (see [`kl_of_logs`]).
    ///
    /// # Errors
    /// [`Error::Invalid`] for different numbers of states.
    pub fn kl(&self, other: &CategoricalPair) -> Result<f64, Error> {
        let (p, q) = (self.log_joint(), other.log_joint());
        check_shape(p.dim(), q.dim())?;
        Ok(kl_of_logs(p.iter().copied(), q.iter().copied()))
    }

    /// The squared Euclidean distance of the parameters: `delta` in R. Le Priol, PhD thesis 2021, equations (4.11) and (4.12).
    ///
    /// # Errors
    /// [`Error::Invalid`] for different numbers of states or different directions.
    pub fn distance_sq(&self, other: &CategoricalPair) -> Result<f64, Error> {
        check_shape(self.shape(), other.shape())?;
        if self.direction != other.direction {
            let reason =
                format!("{:?} against {:?}: reverse one of them", self.direction, other.direction);
            return Err(Invalid::Layout { what: "the directions", reason }.into());
        }
        let square = |a: &f64, b: &f64| (a - b) * (a - b);
        let marginal: f64 =
            self.marginal.iter().zip(&other.marginal).map(|(a, b)| square(a, b)).sum();
        let rows = self.conditional.iter().zip(&other.conditional);
        Ok(marginal + rows.map(|(a, b)| square(a, b)).sum::<f64>())
    }

    /// Draws `(x, y)`, the cause first whatever the direction. O(K) each.
    ///
    /// # Panics
    /// For more draws than memory, as a vector of so many does.
    pub fn sample(&self, draws: usize, rng: &mut (impl Rng + ?Sized)) -> Vec<(usize, usize)> {
        let cumulate = |logits: &[f64]| {
            let mut p = logits.to_vec();
            fenchel_linalg::special::softmax_in_place(&mut p);
            let mut sum = 0.0;
            p.iter_mut().for_each(|p| {
                sum += *p;
                *p = sum;
            });
            p
        };
        let first = cumulate(&self.marginal.to_vec());
        let rows: Vec<Vec<f64>> =
            self.conditional.rows().into_iter().map(|r| cumulate(&r.to_vec())).collect();
        let draw = |p: &[f64], u: f64| {
            let last = p.len() - 1;
            p[..last].partition_point(|c| *c <= u * p[last])
        };
        let one = |_| {
            let a = draw(&first, rng.random());
            let b = draw(&rows[a], rng.random());
            match self.direction {
                Direction::Causal => (a, b),
                Direction::Anticausal => (b, a),
            }
        };
        (0..draws).map(one).collect()
    }
}

/// `KL(p || q)` from logarithms that need not be normalised further, in nats.
///
/// Let `d = log p - log q`. A cell with small `|d|` contributes `p (d + e^-d - 1)`, every other cell `p d + q - p`. Both expressions
/// equal `p d` plus `q - p`, and `q - p` sums to zero over all cells. In this form no digits are lost by cancellation. Cells with
/// `log p = -inf` contribute `q`.
pub fn kl_of_logs(p: impl Iterator<Item = f64>, q: impl Iterator<Item = f64>) -> f64 {
    let cell = |(lp, lq): (f64, f64)| {
        if lp == f64::NEG_INFINITY {
            return lq.exp();
        }
        let (p, d) = (lp.exp(), lp - lq);
        if d.abs() < 1e-2 {
            // d + e^-d - 1 by its series: the sum of the two would cancel.
            let series =
                1.0 / 6.0 - d * (1.0 / 24.0 - d * (1.0 / 120.0 - d * (1.0 / 720.0 - d / 5040.0)));
            p * d * d * (0.5 - d * series)
        } else if d.abs() < 0.5 {
            p * (d + (-d).exp_m1())
        } else {
            p * d + lq.exp() - p
        }
    };
    p.zip(q).map(cell).sum::<f64>().max(0.0)
}

fn check_shape(expected: (usize, usize), found: (usize, usize)) -> Result<(), Invalid> {
    Invalid::check_length("states of X", expected.0, found.0)?;
    Invalid::check_length("states of Y", expected.1, found.1)
}

/// Logarithms of rows that must be distributions without zeros.
fn logs(what: &'static str, rows: ArrayView2<'_, f64>) -> Result<Array2<f64>, Error> {
    check_distributions(what, rows)?;
    match rows.indexed_iter().find(|(_, p)| **p == 0.0) {
        Some(((row, column), _)) => Err(Error::ZeroProbability { what, row, column }),
        None => Ok(rows.mapv(f64::ln)),
    }
}

fn check_distributions(what: &'static str, rows: ArrayView2<'_, f64>) -> Result<(), Error> {
    for ((row, column), &value) in rows.indexed_iter() {
        if !value.is_finite() {
            return Err(Invalid::NonFinite { what, row, column, value }.into());
        }
        if value < 0.0 {
            let expected = "a probability";
            return Err(Invalid::Parameter { name: what, value, expected }.into());
        }
    }
    for (row, cells) in rows.rows().into_iter().enumerate() {
        let sum = cells.sum();
        if (sum - 1.0).abs() > 1e-9 {
            return Err(Error::NotADistribution { what, row, sum });
        }
    }
    Ok(())
}

impl CategoricalPair {
    /// The same numbers, read as a factorisation in another direction.
    #[must_use]
    pub fn with_direction(self, direction: Direction) -> CategoricalPair {
        CategoricalPair { direction, ..self }
    }
}
