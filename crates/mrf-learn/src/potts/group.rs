//! FISTA for the group penalty, which sets whole coupling tables to zero.
//!
//! Let `a` be the conditional probabilities and `S` the sums of the residuals. The dual value of `a` is
//! `sum w H(a) - ||S_h||^2 / (2 l2_fields) - sum_{i<j} max(0, ||S_ij|| - group)^2 / (2 l2)`. Every `a` is feasible
//! because the objective contains a ridge.

use fenchel_optim::fista::{FistaSettings, fista};
use fenchel_optim::lbfgs::Smooth;
use fenchel_optim::prox::{GroupNorm, Groups};
use fenchel_optim::{Certificate, Watch};

use super::engine::{Cells, evaluate};
use super::model::PottsModel;
use super::proof::prove;
use super::pseudo::{PottsPseudoLikelihood, Ridge};
use crate::error::Error;

pub(super) fn fit_groups(
    cells: &Cells,
    model: PottsModel,
    ridge: Ridge,
    settings: &PottsPseudoLikelihood,
    watch: &mut Watch<'_>,
) -> Result<PottsModel, Error> {
    let (q, columns) = (cells.states, cells.columns);
    let parameters = model.parameters();
    let mut sizes = vec![q; columns];
    sizes.resize(columns + columns * (columns - 1) / 2, q * q);
    let mut weights = vec![0.0; columns];
    weights.resize(sizes.len(), 1.0);
    let groups = Groups::consecutive(&sizes)?.with_weights(&weights)?;
    let penalty = GroupNorm { strength: ridge.group / ridge.effective, groups };
    let mut result = Ridged { cells, model: model.clone(), ridge };
    let function = Ridged { cells, model, ridge };
    let fista_settings = FistaSettings { stop: settings.stop, ..FistaSettings::default() };
    let start = vec![0.0; parameters];
    let solved = fista(function, penalty, &fista_settings, start, watch)?;
    result.set(&solved.state.point);
    let mut model = result.model;
    model.report = Some(solved.report);
    Ok(model)
}

/// The pseudo-likelihood with its ridge.
pub(super) struct Ridged<'a> {
    cells: &'a Cells,
    model: PottsModel,
    ridge: Ridge,
}

impl Ridged<'_> {
    fn set(&mut self, x: &[f64]) {
        let (fields, couplings) = self.model.parts();
        let (h, j) = x.split_at(fields.len());
        fields.iter_mut().zip(h).for_each(|(to, from)| *to = *from as f32);
        couplings.iter_mut().zip(j).for_each(|(to, from)| *to = *from as f32);
    }

    /// The weight of the ridge of a coordinate.
    fn weights(&self) -> impl Fn(usize) -> f64 {
        let split = self.cells.columns * self.cells.states;
        let Ridge { fields, couplings, .. } = self.ridge;
        move |c| if c < split { fields } else { couplings }
    }

    fn ridge_value(&self, x: &[f64]) -> f64 {
        let weight = self.weights();
        0.5 * x.iter().enumerate().map(|(c, x)| weight(c) * x * x).sum::<f64>()
    }
}

impl Smooth for Ridged<'_> {
    fn dimension(&self) -> usize {
        self.model.parameters()
    }

    fn value_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        self.set(x);
        let whole = evaluate(self.cells, &self.model, true);
        let weight = self.weights();
        let scale = 1.0 / self.ridge.effective;
        for (c, g) in gradient.iter_mut().enumerate() {
            *g = scale * (weight(c) * x[c] - whole.sums[c]);
        }
        scale * (whole.loss + self.ridge_value(x))
    }

    fn value_only(&mut self, x: &[f64]) -> f64 {
        self.set(x);
        let whole = evaluate(self.cells, &self.model, false);
        (whole.loss + self.ridge_value(x)) / self.ridge.effective
    }

    /// All values are those of the model in single precision, which is what is returned.
    fn certify_composite(&mut self, x: &[f64], _: f64) -> Option<Certificate> {
        self.set(x);
        let whole = prove(self.cells, &self.model, None);
        let Ridge { fields, couplings, group, effective } = self.ridge;
        let table = self.cells.states * self.cells.states;
        let (of_fields, of_couplings) = whole.sums.split_at(self.model.fields().len());
        let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        let excess = |block: &[f64]| (square(block).sqrt() - group).max(0.0).powi(2);
        let penalty: f64 = of_couplings.chunks(table).map(excess).sum();
        let dual = whole.entropy - 0.5 * square(of_fields) / fields - 0.5 * penalty / couplings;
        let (h, j) = self.model.parts();
        let norm = |x: &[f32]| x.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
        let groups: f64 = j.chunks(table).map(|block| norm(block).sqrt()).sum();
        let ridge = 0.5 * fields * norm(h) + 0.5 * couplings * norm(j);
        let primal = whole.loss + ridge + group * groups;
        Some(Certificate::gap(primal / effective, dual / effective))
    }
}
