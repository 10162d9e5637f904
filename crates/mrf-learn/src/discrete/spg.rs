//! Stochastic proximal gradient for variables with any number of states.

use fenchel_linalg::Invalid;
use fenchel_optim::random::stream;
use fenchel_optim::{Fit, Observer, Refusal};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::{DiscreteData, DiscreteModel, DiscretePenalty, DiscreteSampler};
use crate::spg::{InitialParameters, Parameters, Spg, SpgProblem, spg};
use crate::{Coordinates, Error};

/// The stochastic proximal gradient method for networks of discrete variables. Iteration, schedules, bounds and record
/// are those of [`Spg`].
///
/// | field | default | meaning |
/// |---|---|---|
/// | `penalty` | groups, `lambda` 0.1 | the penalty that makes the graph sparse |
/// | `method` | [`Spg::default`] | chains, schedule, step and so on; its `penalty` and `exact_degree` are not used, spins are refused |
///
/// ```
/// use fenchel_mrf_learn::{DiscreteData, DiscretePenalty, DiscreteSpg};
/// use ndarray::Array2;
///
/// let x = Array2::from_shape_fn((60, 3), |(n, i)| (if i < 2 { n % 3 } else { n / 12 % 3 }) as u8);
/// let data = DiscreteData::new(x.view())?;
/// let model = DiscreteSpg { penalty: DiscretePenalty::group(0.1), ..DiscreteSpg::default() }.fit(&data)?;
/// let first = model.edges()[0];
/// assert_eq!((first.0, first.1), (0, 1));
/// # Ok::<(), fenchel_mrf_learn::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiscreteSpg {
    /// The penalty.
    pub penalty: DiscretePenalty,
    /// Chains, schedule, step and so on.
    pub method: Spg,
}

impl DiscreteSpg {
    /// Fits a model.
    ///
    /// # Errors
    /// [`Error::Invalid`] for settings out of range; [`Error::Refused`] for spins; [`Error::Uncertified`] where the schedule refuses to go on;
    /// [`Error::Graphical`] for more chains than fit into memory.
    pub fn fit(&self, data: &DiscreteData) -> Result<DiscreteModel, Error> {
        self.fit_with(data, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows in place of those of the data, a model to start from, and a closure that
    /// watches.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Error::Invalid`] for weights that are negative, all 0 or not one a row, and for a start with other
    /// variables.
    pub fn fit_with(
        &self,
        data: &DiscreteData,
        fit: Fit<'_, DiscreteModel>,
    ) -> Result<DiscreteModel, Error> {
        let Fit { weights, start, mut watch } = fit;
        spg_discrete(&*data.weighted(weights)?, self, start, &mut watch)
    }

    fn initial(&self, data: &DiscreteData, target: &[f64]) -> Result<Vec<f64>, Error> {
        let layout = data.layout();
        let length = layout.len();
        Ok(match &self.method.initial {
            InitialParameters::Zero => vec![0.0; length],
            InitialParameters::Random(scale) => {
                Invalid::check_nonnegative("initial (scale)", *scale)?;
                let mut random = stream(self.method.seed, u64::MAX);
                (0..length).map(|_| scale * (2.0 * random.random::<f64>() - 1.0)).collect()
            }
            InitialParameters::Independent => {
                let mut theta = vec![0.0; length];
                let rows = data.rows() as f64;
                for i in 0..layout.variables() {
                    let range = layout.field(i);
                    let states = range.len() as f64;
                    // The means of one more row of every state, so that none is 0.
                    let logs: Vec<f64> = target[range.clone()]
                        .iter()
                        .map(|mean| ((mean * rows + 1.0) / (rows + states)).ln())
                        .collect();
                    let centre = logs.iter().sum::<f64>() / states;
                    theta[range].iter_mut().zip(&logs).for_each(|(t, log)| *t = log - centre);
                }
                theta
            }
        })
    }
}

/// Learns a network as [`DiscreteSpg::fit_with`] does, and shows an observer the parameters.
///
/// # Errors
/// As [`DiscreteSpg::fit_with`].
pub fn spg_discrete<O: Observer<[f64]>>(
    data: &DiscreteData,
    settings: &DiscreteSpg,
    start: Option<&DiscreteModel>,
    observer: &mut O,
) -> Result<DiscreteModel, Error> {
    let method = &settings.method;
    method.check()?;
    if method.coordinates == Coordinates::Spins {
        return Err(Refusal::unsupported("DiscreteSpg", "spins").into());
    }
    let (layout, target) = (data.layout(), data.means());
    let theta = match start {
        Some(model) => model.start(layout)?,
        None => settings.initial(data, &target)?,
    };
    let problem = SpgProblem {
        sampler: DiscreteSampler::new(data, method)?,
        target,
        regulariser: settings.penalty.strengths(layout)?,
        missing: None,
        settings: method,
    };
    let done = spg(problem, theta, &mut Parameters(observer))?;
    let mut model = DiscreteModel::new(layout.clone(), done.theta, settings.penalty, done.report);
    model.average = done.average;
    model.trace = done.trace;
    model.warnings = done.warnings;
    Ok(model)
}
