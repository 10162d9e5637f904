//! The estimator: a sparse linear classifier of several classes, with its certificate.

mod choice;
mod engine;
mod exact;
mod fitting;
mod model;
mod posed;
mod race;
mod radius;
mod settings;
mod work;

use std::ops::ControlFlow;

use fenchel_linalg::labels::Label;
use fenchel_linalg::{AsDesign, Invalid};
use fenchel_optim::Progress;
use ndarray::ArrayView1;

use self::engine::check_radius;
pub use self::model::MulticlassL1Model;
use self::posed::Posed;
pub use self::settings::{ClassWeights, MulticlassL1, Radius, SaddleStep, Solver};
use crate::Error;
use crate::multiclass::{Dual, Geometry, Multiclass, Samples};

type Watch<'w> = Option<&'w mut dyn FnMut(&Progress) -> ControlFlow<()>>;

impl MulticlassL1 {
    /// Fits a model.
    ///
    /// # Errors
    /// [`Error::Invalid`] if data are empty, not finite or of inconsistent shapes, if there are fewer than two
    /// classes, or if parameters are out of range; [`Error::Refused`] if the solver does not support the loss or the
    /// norm, or if it needs more memory than `max_memory`.
    pub fn fit<'y, X, L>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
    ) -> Result<MulticlassL1Model<L>, Error>
    where
        X: AsDesign + ?Sized,
        L: Label + 'y,
    {
        self.solve(x, y.into(), None, None)
    }

    /// Does the same as [`fit`](MulticlassL1::fit), with one weight per row. The weights are divided by their mean.
    ///
    /// # Errors
    /// The errors of [`fit`](MulticlassL1::fit), and [`Error::Invalid`] if weights are negative, not finite or all 0.
    pub fn fit_weighted<'y, 'w, X, L>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
        weights: impl Into<ArrayView1<'w, f64>>,
    ) -> Result<MulticlassL1Model<L>, Error>
    where
        X: AsDesign + ?Sized,
        L: Label + 'y,
    {
        self.solve(x, y.into(), Some(weights.into()), None)
    }

    /// Does the same as [`fit`](MulticlassL1::fit), with an observer. `watch` is called at every certificate, and
    /// ends the fit if it returns `Break`.
    ///
    /// # Errors
    /// The errors of [`fit`](MulticlassL1::fit).
    pub fn fit_watched<'y, X, L>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
        mut watch: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<MulticlassL1Model<L>, Error>
    where
        X: AsDesign + ?Sized,
        L: Label + 'y,
    {
        self.solve(x, y.into(), None, Some(&mut watch))
    }

    /// Fits one model per radius, in the given order, which shows how accuracy depends on the number of non-zero
    /// weights. PDHG uses the previous model as a warm start. The radii replace the field `radius`. The limits of
    /// `stop` apply to each fit.
    ///
    /// # Errors
    /// The errors of [`fit`](MulticlassL1::fit).
    pub fn path<'y, X, L>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
        radii: &[f64],
    ) -> Result<Vec<MulticlassL1Model<L>>, Error>
    where
        X: AsDesign + ?Sized,
        L: Label + 'y,
    {
        let y = y.into();
        self.stop.check()?;
        let design = x.as_design()?;
        let posed = Posed::new(self, &design, y, None)?;
        let mut start = None;
        let mut models = vec![];
        for radius in radii {
            check_radius(*radius)?;
            let (model, state) = self.at_radius(&posed, *radius, &self.stop, start, &mut None)?;
            start = state;
            models.push(model);
        }
        Ok(models)
    }

    /// The problem at a radius, for samples whose weights are those of the data times `unit`.
    fn problem<'a>(
        &self,
        samples: &'a Samples,
        unit: f64,
        radius: f64,
    ) -> Result<Multiclass<'a>, Error> {
        let geometry = Geometry { primal: self.norm, dual: Dual::Entropy };
        let penalty = self.penalty / unit;
        Multiclass::with_geometry(samples, self.loss, radius * unit, penalty, geometry)
    }

    fn solve<X, L>(
        &self,
        x: &X,
        y: ArrayView1<L>,
        weights: Option<ArrayView1<f64>>,
        mut watch: Watch,
    ) -> Result<MulticlassL1Model<L>, Error>
    where
        X: AsDesign + ?Sized,
        L: Label,
    {
        self.stop.check()?;
        Invalid::check_nonnegative("penalty", self.penalty)?;
        let design = x.as_design()?;
        let posed = Posed::new(self, &design, y, weights)?;
        let at_zero = self.loss.at_zero(posed.samples.classes());
        match self.radius {
            Radius::At(radius) => {
                Ok(self.at_radius(&posed, check_radius(radius)?, &self.stop, None, &mut watch)?.0)
            }
            Radius::FromPenalty => {
                Invalid::check_positive("penalty (or set radius)", self.penalty)?;
                Ok(self.at_radius(&posed, at_zero / self.penalty, &self.stop, None, &mut watch)?.0)
            }
            Radius::Search => self.search(&posed, at_zero, &mut watch),
        }
    }
}
