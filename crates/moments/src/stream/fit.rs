//! The model of sums over slices.

use fenchel_linalg::Dense;
use fenchel_optim::{Clock, Refusal, Wall};
use ndarray::{Array1, Array2, ArrayView1};

use super::SliceMoments;
use crate::components::Components;
use crate::error::Error;
use crate::fit::{Spent, finish};
use crate::reducer::Reducer;
use crate::reduction::Reduction;
use crate::response::Response;
use crate::spectrum::Spectrum;

/// The model of a spectrum that was computed from sums. Only rules for the number of directions that need no data apply.
pub(crate) fn fit_sums(
    method: &dyn Reducer,
    moments: &SliceMoments,
    spectrum: Spectrum,
    mean: Array1<f64>,
    wall: Wall,
) -> Result<Reduction, Error> {
    let components = method.components();
    if matches!(components, Components::Permutation { .. } | Components::Ladle { .. }) {
        let what =
            "permutations and the ladle on a stream: fix the number of directions".to_owned();
        return Err(Refusal::unsupported(method.name(), what).into());
    }
    if moments.weighted && matches!(components, Components::ChiSquare(_)) {
        let what = "the chi-squared test of weighted samples: fix the number of directions";
        return Err(Refusal::unsupported(method.name(), what).into());
    }
    // The other rules look at the spectrum alone.
    let none = Array2::<f64>::zeros((0, mean.len()));
    let nothing = Response::from(ArrayView1::from(&[]));
    let data = Dense::new(none.view())?;
    let k = components.choose(method, &spectrum, &data, &nothing, &|| false)?;
    let spent = Spent { passes: 1.0, seconds: moments.seconds + wall.seconds() };
    finish(method.name(), spectrum, (k, components), mean, spent)
}
