//! Fitted models: predictions and files.

use fenchel_linalg::{AsDesign, Design, Invalid, Names, multiply};
use fenchel_optim::Report;
use fenchel_optim::model::Saved;
use ndarray::Array1;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{GlmSummary, ScalarFamily};
use crate::error::Error;

/// A fitted generalised linear model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked<F>", bound(deserialize = "F: ScalarFamily + Deserialize<'de>"))]
pub struct GlmModel<F> {
    /// The conditional family.
    pub family: F,
    /// `beta`.
    pub coefficients: Vec<f64>,
    /// `b`; 0 without.
    pub intercept: f64,
    /// The names of the columns, if the design had them.
    #[serde(skip_serializing_if = "Names::is_empty")]
    pub names: Names,
    /// Standard errors, deviances and the like.
    pub summary: GlmSummary,
    /// How the run ended. Its certificate is a proved bound on the suboptimality if there is one (see the
    /// [module](super)), and the norm of the gradient otherwise.
    pub report: Report,
}

impl<F: ScalarFamily> GlmModel<F> {
    /// `eta` without offset, one number per row. It may lie outside the domain of the family.
    ///
    /// # Errors
    /// [`Invalid::Length`] for a wrong number of columns; [`Invalid::Layout`] for columns of other names; [`Invalid::NonFinite`].
    pub fn predict_natural<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<f64>, Error> {
        let design = x.as_design()?;
        Invalid::check_length("columns of the design", self.coefficients.len(), design.columns())?;
        self.names.check_design(x.names())?;
        let mut eta = vec![0.0; design.rows()];
        multiply(&design, &self.coefficients, &mut eta);
        Ok(eta.into_iter().map(|e| e + self.intercept).collect())
    }

    /// `E[y | x]` without offset, one number per row.
    ///
    /// # Errors
    /// As [`predict_natural`](Self::predict_natural); [`Error::OutsideNaturalDomain`] with the first row whose `eta` no member of
    /// the family has: a linear predictor of [`Reciprocal`](super::Reciprocal) that is not negative, say.
    pub fn predict<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<f64>, Error> {
        self.means(self.predict_natural(x)?)
    }

    /// `E[y | x]` at `eta = x.beta + b + offset`, one number per row. In a model with log link and
    /// `offset = log(exposure)`, these are expected numbers of events.
    ///
    /// # Errors
    /// As [`predict`](Self::predict); [`Invalid::Length`] and [`Invalid::NonFinite`] for the offset.
    pub fn predict_with_offset<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        offset: &[f64],
    ) -> Result<Array1<f64>, Error> {
        let mut eta = self.predict_natural(x)?;
        Invalid::check_length("offset", eta.len(), offset.len())?;
        Invalid::check_finite("offset", offset)?;
        eta.iter_mut().zip(offset).for_each(|(e, o)| *e += o);
        self.means(eta)
    }

    fn means(&self, eta: Array1<f64>) -> Result<Array1<f64>, Error> {
        if let Some((index, &value)) =
            eta.iter().enumerate().find(|(_, e)| !self.family.in_domain(**e))
        {
            let (family, expected) = (F::NAME, F::PREDICTORS);
            return Err(Error::OutsideNaturalDomain { family, index, value, expected });
        }
        Ok(eta.mapv_into(|eta| self.family.mean(eta)))
    }

    /// The same model with the names of its design, which its summary prints.
    pub(super) fn named(mut self, names: &Names) -> Self {
        let intercept = self.summary.coefficients.len() - self.coefficients.len();
        for (row, name) in self.summary.coefficients[intercept..].iter_mut().zip(names.iter()) {
            row.name.clone_from(name);
        }
        self.names = names.clone();
        self
    }

    /// Prints the summary in the form of R's `summary(glm(...))`.
    pub fn summary(&self) -> &GlmSummary {
        &self.summary
    }
}

/// The contents of a file.
#[derive(Deserialize)]
struct Unchecked<F> {
    family: F,
    coefficients: Vec<f64>,
    intercept: f64,
    #[serde(default)]
    names: Names,
    summary: GlmSummary,
    report: Report,
}

impl<F: ScalarFamily> TryFrom<Unchecked<F>> for GlmModel<F> {
    type Error = String;

    fn try_from(read: Unchecked<F>) -> Result<Self, String> {
        let Unchecked { family, coefficients, intercept, names, summary, report } = read;
        names.check(coefficients.len()).map_err(|error| error.to_string())?;
        if (summary.family.as_str(), summary.link.as_str()) != (F::NAME, F::LINK) {
            let (family, link, name, other) = (&summary.family, &summary.link, F::NAME, F::LINK);
            return Err(format!(
                "family {family} with link {link}; expected {name} with link {other}"
            ));
        }
        family.check().map_err(|e| e.to_string())?;
        check_finite(&coefficients, intercept)?;
        // The summary has the estimates again, the intercept first.
        let rows: Vec<f64> = summary.coefficients.iter().map(|c| c.estimate).collect();
        let same = match rows.len().checked_sub(coefficients.len()) {
            Some(1) => rows[0] == intercept && rows[1..] == coefficients,
            Some(0) => intercept == 0.0 && rows == coefficients,
            _ => false,
        };
        if !same {
            let (found, expected) = (rows.len(), coefficients.len());
            return Err(format!(
                "the {found} estimates of the summary are not the {expected} coefficients and the intercept"
            ));
        }
        Ok(GlmModel { family, coefficients, intercept, names, summary, report })
    }
}

fn check_finite(coefficients: &[f64], intercept: f64) -> Result<(), String> {
    match coefficients.iter().chain([&intercept]).all(|c| c.is_finite()) {
        true => Ok(()),
        false => Err("coefficients must be finite".into()),
    }
}

impl<F: ScalarFamily + Serialize + DeserializeOwned> Saved for GlmModel<F> {
    const KIND: &'static str = "generalised linear model";
    const VERSION: u32 = 1;

    /// The rest is done by the type.
    fn check(&self) -> Result<(), String> {
        check_finite(&self.coefficients, self.intercept)
    }
}
