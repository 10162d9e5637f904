//! The response of a regression: numbers, or classes.

use std::borrow::Cow;

use fenchel_linalg::Invalid;
use fenchel_linalg::labels::{Classes, Label};
use fenchel_optim::Refusal;
use ndarray::ArrayView1;

use crate::error::Error;
use crate::slicing::{Slices, Slicing};
use crate::spectrum::Warning;

/// A warning if one row makes up more than half of the variance of the response: means over responses are then about this
/// row. (Of 300 cubes of normal numbers the largest makes up a quarter.)
pub(crate) fn dominated(y: &[f64]) -> Option<Warning> {
    // Relative to the largest, so that no square overflows or vanishes.
    let largest = y.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
    let n = y.len() as f64;
    let mean = y.iter().map(|v| v / largest / n).sum::<f64>();
    let squares: Vec<f64> = y.iter().map(|v| (v / largest - mean).powi(2)).collect();
    let row = (0..y.len()).max_by(|&i, &j| squares[i].total_cmp(&squares[j]))?;
    let share = squares[row] / squares.iter().sum::<f64>();
    // Among four samples any is large.
    (y.len() > 4 && share > 0.5).then_some(Warning::Dominated { row, share })
}

/// The response of every sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Response<'a> {
    values: Cow<'a, [f64]>,
    classes: bool,
}

/// Numbers. A fit checks that there is one per sample, and that they are finite.
impl<'a, Y: Into<ArrayView1<'a, f64>>> From<Y> for Response<'a> {
    fn from(y: Y) -> Self {
        let y: ArrayView1<'a, f64> = y.into();
        let values = match y.to_slice() {
            Some(values) => Cow::Borrowed(values),
            None => Cow::Owned(y.to_vec()),
        };
        Response { values, classes: false }
    }
}

impl<'a> Response<'a> {
    /// Classes of any label type, coded in their order.
    ///
    /// # Errors
    /// [`Invalid::Class`] for labels that are not valid, and for a single class.
    pub fn classes<L: Label>(y: &[L]) -> Result<Self, Error> {
        let (_, codes) = Classes::from_labels(y)?;
        if let (Some(label), true) = (y.first(), codes.iter().all(|&c| c == 0)) {
            let (label, expected) =
                (format!("{label:?}"), "at least two classes; all rows have this one");
            return Err(Invalid::Class { row: 0, label, expected }.into());
        }
        let values = codes.into_iter().map(|c| c as f64).collect();
        Ok(Response { values, classes: true })
    }

    /// Refuses responses that are not one a sample, or not finite.
    pub(crate) fn check(&self, samples: usize) -> Result<(), Invalid> {
        Invalid::check_length("response", samples, self.values.len())?;
        Invalid::check_finite("response", &self.values)
    }

    /// The numbers, or the codes of the classes.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Whether the response is a class.
    pub fn is_classes(&self) -> bool {
        self.classes
    }

    /// The responses of some of the samples.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for an index that is not below the number of samples.
    pub fn pick(&self, index: &[usize]) -> Result<Response<'static>, Error> {
        let one = |&i: &usize| {
            let (name, expected) = ("index of a sample", "less than the number of samples");
            let missing = Invalid::Parameter { name, value: i as f64, expected };
            self.values.get(i).copied().ok_or(missing)
        };
        let values = index.iter().map(one).collect::<Result<_, _>>()?;
        Ok(Response { values, classes: self.classes })
    }

    /// The slices: one per class, or by the slicing rule for numbers.
    ///
    /// # Errors
    /// The errors of [`Slices::new`].
    pub fn slices(&self, slicing: Slicing, components: usize) -> Result<Slices, Error> {
        if self.classes {
            Slices::of_classes(&self.values)
        } else {
            Slices::new(&self.values, slicing, components)
        }
    }

    /// [`slices`](Self::slices) of weighted samples.
    pub(crate) fn weighted_slices(
        &self,
        weights: &[f64],
        slicing: Slicing,
        components: usize,
    ) -> Result<Slices, Error> {
        if self.classes {
            Invalid::check_length("weights", self.values.len(), weights.len())?;
            return Slices::of_classes(&self.values);
        }
        Slices::weighted(&self.values, weights, slicing, components)
    }

    /// The numbers, not all equal, for methods that average them.
    pub(crate) fn as_numbers(&self, method: &'static str) -> Result<&[f64], Error> {
        if self.classes {
            let what = "classes: it averages responses; use SADE, SPHD, SIR or SAVE".to_owned();
            return Err(Refusal::unsupported(method, what).into());
        }
        if let Some(&value) = self.values.first().filter(|v| self.values.iter().all(|w| w == *v)) {
            return Err(Error::ConstantResponse { value });
        }
        Ok(&self.values)
    }
}
