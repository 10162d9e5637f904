//! The pseudo-likelihood estimator of a Potts model: the problem from data and settings.

use fenchel_linalg::Invalid;
use fenchel_optim::{Fit, Refusal};

use super::alignment::Alignment;
use super::engine::Cells;
use super::group::fit_groups;
use super::model::PottsModel;
use super::pseudo::{PottsPseudoLikelihood, Ridge};
use super::sdca::fit_ridge;
use crate::error::Error;

impl PottsPseudoLikelihood {
    /// Fits a model.
    ///
    /// # Errors
    /// [`Error::Invalid`] for settings out of range, a ridge of 0 or beyond single precision included; [`Error::Refused`] for more memory than allowed.
    pub fn fit(&self, alignment: &Alignment) -> Result<PottsModel, Error> {
        self.fit_with(alignment, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the sequences in place of those of the alignment, and a closure that watches.
    ///
    /// # Errors
    /// As [`fit`](Self::fit) and [`Alignment::with_weights`]; [`Error::Refused`] for a model to start from.
    pub fn fit_with(
        &self,
        alignment: &Alignment,
        fit: Fit<'_, PottsModel>,
    ) -> Result<PottsModel, Error> {
        let Fit { weights, start, mut watch, .. } = fit;
        if start.is_some() {
            // A start of the dual method would need dual variables, which a model does not have.
            return Err(
                Refusal::unsupported("PottsPseudoLikelihood", "a model to start from").into()
            );
        }
        let alignment = &*alignment.weighted(weights)?;
        self.stop.check()?;
        let effective = alignment.effective();
        let l2 = self.l2.unwrap_or(0.4 * (alignment.columns() - 1) as f64 / effective);
        let l2_fields = self.l2_fields.unwrap_or(20.0 / effective);
        Invalid::check_positive("l2", l2)?;
        Invalid::check_positive("l2_fields", l2_fields)?;
        Invalid::check_nonnegative("group", self.group)?;
        let hint = "take fewer sequences or columns, or raise max_memory";
        let needed = self.memory(alignment);
        Refusal::check_memory("the pseudo-likelihood fit", needed, self.max_memory, hint)?;
        // The largest weight is the unit: the objective is a mean, and single precision is for what is near 1.
        let unit = alignment.weights().iter().fold(0.0, |a: f64, w| a.max(*w));
        let effective = effective / unit;
        let ridge = Ridge {
            couplings: single("l2", l2, effective)?,
            fields: single("l2_fields", l2_fields, effective)?,
            group: self.group * effective,
            effective,
        };
        let cells = Cells::new(alignment, unit);
        let model = PottsModel::zero(alignment);
        if self.group > 0.0 {
            fit_groups(&cells, model, ridge, self, &mut watch)
        } else {
            fit_ridge(&cells, model, ridge, self, &mut watch)
        }
    }
}

/// A ridge times the effective number of sequences, whose inverse can be squared in single precision.
fn single(name: &'static str, value: f64, effective: f64) -> Result<f64, Error> {
    let product = value * effective;
    if (1e-18..=1e18).contains(&product) {
        return Ok(product);
    }
    let expected = "a number between 1e-18 and 1e18 when multiplied by the effective number of sequences, \
                    counted in units of the largest weight";
    Err(Invalid::Parameter { name, value, expected }.into())
}
