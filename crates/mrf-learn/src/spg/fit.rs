//! The estimator: a problem for the method from data and settings.

use fenchel_linalg::Invalid;
use fenchel_optim::random::stream;
use fenchel_optim::{Fit, Observer};
use rand::RngExt;

use super::binary::BinarySampler;
use super::missing::Missing;
use super::problem::{Parameters, SpgProblem, SpgSolution, spg};
use super::settings::{InitialParameters, Spg};
use super::states::StateSampler;
use crate::data::Data;
use crate::error::Error;
use crate::layout::{Coordinates, Layout};
use crate::model::NetworkModel;

impl Spg {
    /// Fits a model.
    ///
    /// # Errors
    /// [`Error::Invalid`] for settings out of range; [`Error::Uncertified`] where the schedule refuses to go on; [`Error::Graphical`] for more
    /// chains than fit into memory; [`Error::Invalid`] for binary coordinates or spins of variables with more than two states.
    pub fn fit(&self, data: &Data) -> Result<NetworkModel, Error> {
        self.fit_with(data, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows in place of those of the data, a model to start from, and a closure that
    /// watches.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Error::Invalid`] for weights that are negative, all 0 or not one a row, and for a start with other
    /// variables.
    pub fn fit_with(&self, data: &Data, fit: Fit<'_, NetworkModel>) -> Result<NetworkModel, Error> {
        let Fit { weights, start, mut watch, .. } = fit;
        spg_network(&*data.weighted(weights)?, self, start, &mut watch)
    }

    fn initial(&self, data: &Data, layout: &Layout, target: &[f64]) -> Result<Vec<f64>, Error> {
        let mut theta = vec![0.0; layout.len()];
        match &self.initial {
            InitialParameters::Zero => {}
            InitialParameters::Random(scale) => {
                Invalid::check_nonnegative("initial (scale)", *scale)?;
                let mut random = stream(self.seed, u64::MAX);
                theta.fill_with(|| scale * (2.0 * random.random::<f64>() - 1.0));
            }
            InitialParameters::Independent => {
                let rows = data.rows() as f64;
                for i in 0..layout.variables() {
                    let mut shares = layout.shares(target, i);
                    let states = shares.len() as f64;
                    if shares.iter().any(|&share| share <= 0.0) {
                        let more =
                            |share: &mut f64| *share = (*share * rows + 1.0) / (rows + states);
                        shares.iter_mut().for_each(more);
                    }
                    let logs: Vec<f64> = shares.iter().map(|share| share.ln()).collect();
                    let field = &mut theta[layout.field(i)];
                    match layout.coordinates() {
                        Coordinates::Binary => field[0] = logs[1] - logs[0],
                        Coordinates::Spins => field[0] = 0.5 * (logs[1] - logs[0]),
                        Coordinates::Indicators => {
                            let centre = logs.iter().sum::<f64>() / states;
                            field.iter_mut().zip(&logs).for_each(|(t, log)| *t = log - centre);
                        }
                    }
                }
            }
        }
        Ok(theta)
    }
}

/// Learns a network as [`Spg::fit_with`] does, and shows an observer the parameters.
///
/// # Errors
/// As [`Spg::fit_with`].
pub fn spg_network<O: Observer<[f64]>>(
    data: &Data,
    settings: &Spg,
    start: Option<&NetworkModel>,
    observer: &mut O,
) -> Result<NetworkModel, Error> {
    settings.check()?;
    let (layout, penalty) = (data.layout(settings.coordinates)?, &settings.penalty);
    let (target, regulariser) = (data.means_of(&layout), penalty.strengths(&layout)?);
    let theta = match start {
        Some(model) => model.start(&layout)?,
        None => settings.initial(data, &layout, &target)?,
    };
    let observer = &mut Parameters(observer);
    // Two states are one bit per chain; other chains have tables.
    if settings.coordinates == Coordinates::Indicators {
        data.check_complete("Spg with indicators")?;
        let sampler = StateSampler::new(data, settings)?;
        let problem = SpgProblem { sampler, target, regulariser, missing: None, settings };
        return Ok(network(data, layout, settings, spg(problem, theta, observer)?));
    }
    let sampler = BinarySampler::new(data, settings)?;
    let missing = Missing::new(data, &layout, settings.seed);
    let problem = SpgProblem { sampler, target, regulariser, missing, settings };
    Ok(network(data, layout, settings, spg(problem, theta, observer)?))
}

fn network<S>(data: &Data, layout: Layout, settings: &Spg, done: SpgSolution<S>) -> NetworkModel {
    let SpgSolution { theta, average, trace, warnings, report, .. } = done;
    let mut model = NetworkModel::new(layout, theta, &settings.penalty, report).learned_from(data);
    model.warnings.extend(warnings);
    NetworkModel { average, trace, ..model }
}
