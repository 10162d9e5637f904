//! The response of a regression: numbers, or classes.

use fenchel_optim::Refusal;
use std::borrow::Cow;

use fenchel_linalg::Invalid;
use fenchel_linalg::labels::{Classes, Label};
use ndarray::ArrayView1;

use crate::{Error, Slices, Slicing};

/// The response of every sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Response<'a> {
    values: Cow<'a, [f64]>,
    classes: bool,
}

impl<'a> Response<'a> {
    /// Numbers, checked.
    ///
    /// # Errors
    /// [`Invalid::Length`] unless there is one response per sample; [`Invalid::NonFinite`].
    pub fn numbers(y: ArrayView1<'a, f64>, samples: usize) -> Result<Self, Error> {
        Invalid::check_length("response", samples, y.len())?;
        let values = match y.to_slice() {
            Some(values) => Cow::Borrowed(values),
            None => Cow::Owned(y.to_vec()),
        };
        Invalid::check_finite("response", &values)?;
        Ok(Response { values, classes: false })
    }

    /// Classes of any label type, coded in their order.
    ///
    /// # Errors
    /// [`Invalid::Length`] unless there is one response per sample; [`Invalid::Class`], for a single class too.
    pub fn classes<L: Label>(y: &[L], samples: usize) -> Result<Self, Error> {
        Invalid::check_length("response", samples, y.len())?;
        let (_, codes) = Classes::from_labels(y)?;
        if let (Some(label), true) = (y.first(), codes.iter().all(|&c| c == 0)) {
            let (label, expected) =
                (format!("{label:?}"), "at least two classes; all rows have this one");
            return Err(Invalid::Class { row: 0, label, expected }.into());
        }
        let values = codes.into_iter().map(|c| c as f64).collect();
        Ok(Response { values, classes: true })
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
    #[must_use]
    pub fn pick(&self, index: &[usize]) -> Response<'static> {
        let values = index.iter().map(|&i| self.values[i]).collect();
        Response { values, classes: self.classes }
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
