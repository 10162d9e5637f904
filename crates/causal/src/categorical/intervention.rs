//! Interventions: changes of the mechanisms of a pair.

use fenchel_linalg::Invalid;
use ndarray::{Array1, Array2, ArrayView1};
use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use super::{CategoricalPair, Direction};
use crate::Error;

/// A change of the causal mechanisms `p(x)` and `p(y | x)`. Distributions are given as scores, up to an additive
/// constant. The last column names the equation or appendix of R. Le Priol, PhD thesis 2021.
///
/// | variant | does | thesis |
/// |---|---|---|
/// | `Cause` | replaces `p(x)` | (4.1) |
/// | `Effect` | replaces every row of `p(y given x)` by one: Y no longer depends on X | (4.2) |
/// | `SingleMechanism` | replaces one row | 4.B.5 |
/// | `Mechanism` | replaces all rows | published code only |
/// | `Shift` | adds to the scores of the rows | published code only |
/// | `KeepMarginal`, `Geometric`, `WeightedGeometric` | `Effect` with the marginal of Y, with the mean score, with its weighted mean | published code only |
/// | `Sequence` | one after another | |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Intervention {
    /// New scores of X.
    Cause(Array1<f64>),
    /// New scores of Y.
    Effect(Array1<f64>),
    /// New scores of Y for one state of X; `None`: the most probable one.
    SingleMechanism {
        /// The state of X.
        state: Option<usize>,
        /// The new row.
        logits: Array1<f64>,
    },
    /// New scores of Y for all states of X.
    Mechanism(Array2<f64>),
    /// Added to the scores of Y for all states of X.
    Shift(Array2<f64>),
    /// Y keeps its marginal and becomes independent of X.
    KeepMarginal,
    /// The scores of Y become `m(y) = mean_x s_{y|x}`.
    Geometric,
    /// The scores of Y become `sum_x p(x) s_{y|x}`.
    WeightedGeometric,
    /// One after another.
    Sequence(Vec<Intervention>),
}

impl Intervention {
    /// A [`Shift`](Intervention::Shift) by normal noise. If `deviation` is `None`, the noise has the standard deviation
    /// of all conditional scores of the pair.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a negative deviation.
    pub fn noise(
        pair: &CategoricalPair,
        deviation: Option<f64>,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<Intervention, Error> {
        let scores = pair.conditional();
        let deviation = deviation.unwrap_or_else(|| scores.std(0.0));
        Invalid::check_nonnegative("deviation", deviation)?;
        let mut normal = || deviation * rng.sample::<f64, _>(StandardNormal);
        Ok(Intervention::Shift(Array2::from_shape_simple_fn(pair.shape(), &mut normal)))
    }
}

impl CategoricalPair {
    /// The pair after an intervention, in the causal direction; [`reverse`](CategoricalPair::reverse) gives the optimum of the
    /// anticausal model.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an anticausal pair, scores of the wrong length or not finite; [`Error::Category`].
    pub fn intervene(&self, intervention: &Intervention) -> Result<CategoricalPair, Error> {
        if self.direction != Direction::Causal {
            let reason = "interventions act on causal mechanisms: reverse the pair first".into();
            return Err(Invalid::Layout { what: "the direction", reason }.into());
        }
        let (kx, ky) = self.shape();
        let effect = |logits: ArrayView1<'_, f64>| {
            Invalid::check_length("scores of the effect", ky, logits.len())?;
            let rows = logits.broadcast((kx, ky)).map(|rows| rows.to_owned()).unwrap_or_default();
            CategoricalPair::from_logits(self.marginal.view(), rows.view())
        };
        match intervention {
            Intervention::Cause(logits) => {
                Invalid::check_length("scores of the cause", kx, logits.len())?;
                CategoricalPair::from_logits(logits.view(), self.conditional.view())
            }
            Intervention::Effect(logits) => effect(logits.view()),
            Intervention::SingleMechanism { state, logits } => {
                Invalid::check_length("scores of the effect", ky, logits.len())?;
                let value = state.unwrap_or_else(|| self.likeliest());
                if value >= kx {
                    return Err(Error::Category { what: "the cause", value, categories: kx });
                }
                let mut rows = self.conditional.clone();
                rows.row_mut(value).assign(logits);
                CategoricalPair::from_logits(self.marginal.view(), rows.view())
            }
            Intervention::Mechanism(rows) => {
                Invalid::check_length("columns of the mechanism", ky, rows.ncols())?;
                CategoricalPair::from_logits(self.marginal.view(), rows.view())
            }
            Intervention::Shift(by) => {
                Invalid::check_length("rows of the shift", kx, by.nrows())?;
                Invalid::check_length("columns of the shift", ky, by.ncols())?;
                CategoricalPair::from_logits(self.marginal.view(), (&self.conditional + by).view())
            }
            Intervention::KeepMarginal => effect(self.reverse().marginal()),
            Intervention::Geometric => {
                effect(self.conditional.mean_axis(ndarray::Axis(0)).unwrap_or_default().view())
            }
            Intervention::WeightedGeometric => {
                effect(self.marginal_probabilities().dot(&self.conditional).view())
            }
            Intervention::Sequence(all) => {
                all.iter().try_fold(self.clone(), |pair, one| pair.intervene(one))
            }
        }
    }

    /// The most probable state of the marginal variable; of equal ones the first.
    pub(crate) fn likeliest(&self) -> usize {
        let mut best = 0;
        for (k, s) in self.marginal.iter().enumerate() {
            if *s > self.marginal[best] {
                best = k;
            }
        }
        best
    }
}
