//! The estimator: a sparse linear classifier of several classes, with its certificate.

mod choice;
mod fitting;
mod method;
mod model;
mod phases;
mod posed;
mod race;
mod radius;
mod settings;
mod weights;

use fenchel_linalg::labels::Label;
use fenchel_linalg::{AsDesign, Invalid};
use fenchel_optim::{Budget, Fit, Status};
use ndarray::ArrayView1;

pub use self::model::MulticlassL1Model;
use self::posed::Posed;
pub use self::settings::{ClassWeights, MulticlassL1, Radius, SaddleStep, Solver};
use self::weights::{Start, by_classes};
use crate::Error;
use crate::multiclass::{Dual, Geometry, Multiclass, Samples};

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
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](MulticlassL1::fit), with weights of the rows, a former model to start from, and a closure that
    /// watches. The weights are divided by their mean. PDHG continues from the weights of a start. The other methods begin
    /// anew; if they find nothing better, the weights of the start
    /// are returned, without those that hardly matter.
    ///
    /// # Errors
    /// The errors of [`fit`](MulticlassL1::fit), and [`Error::Invalid`] if weights are negative, not finite or all 0, or
    /// if the start has other features or labels.
    pub fn fit_with<'y, X, L>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
        fit: Fit<'_, MulticlassL1Model<L>>,
    ) -> Result<MulticlassL1Model<L>, Error>
    where
        X: AsDesign + ?Sized,
        L: Label + 'y,
    {
        let budget = Budget::new(self.stop);
        let (posed, start) = self.posed(x, y.into(), &fit)?;
        let at_zero = self.loss.at_zero(posed.samples.classes());
        let radius = match self.radius {
            Radius::At(radius) => {
                Invalid::check_positive("radius", radius)?;
                radius
            }
            Radius::FromPenalty => {
                Invalid::check_positive("penalty (or set radius)", self.penalty)?;
                at_zero / self.penalty
            }
            Radius::Search => return self.search(&posed, at_zero, start, fit.watch, budget),
        };
        Ok(self.at_radius(&posed, radius, &budget.left(), start, fit.watch)?.0)
    }

    /// Fits one model per radius, in the given order, which shows how accuracy depends on the number of non-zero
    /// weights. PDHG uses the previous model as a warm start. The radii replace the field `radius`. The limits of
    /// `stop` apply to all radii together. After `max_seconds` the path ends with the last model that was finished in time,
    /// or with the first one.
    ///
    /// # Errors
    /// The errors of [`fit`](MulticlassL1::fit), and [`Error::Invalid`] without radii.
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
        self.path_with(x, y, radii, Fit::new())
    }

    /// As [`path`](MulticlassL1::path), with what [`fit_with`](MulticlassL1::fit_with) may be given. The path ends with
    /// the model at which the closure answers `Break`.
    ///
    /// # Errors
    /// The errors of [`fit_with`](MulticlassL1::fit_with).
    pub fn path_with<'y, X, L>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
        radii: &[f64],
        mut fit: Fit<'_, MulticlassL1Model<L>>,
    ) -> Result<Vec<MulticlassL1Model<L>>, Error>
    where
        X: AsDesign + ?Sized,
        L: Label + 'y,
    {
        if radii.is_empty() {
            return Err(Invalid::Empty { what: "radii" }.into());
        }
        let mut budget = Budget::new(self.stop);
        let (posed, mut start) = self.posed(x, y.into(), &fit)?;
        let mut models = vec![];
        for radius in radii {
            Invalid::check_positive("radius", *radius)?;
            let watch = fit.watch.again();
            let (model, state) = self.at_radius(&posed, *radius, &budget.left(), start, watch)?;
            start = state;
            budget.spend(model.report);
            fit.watch.spend(&model.report);
            let status = model.report.status;
            if status == Status::TimeLimit && !models.is_empty() {
                break;
            }
            models.push(model);
            if status == Status::Stopped {
                break;
            }
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

    /// Checks the settings and everything that a fit is given.
    fn posed<X, L>(
        &self,
        x: &X,
        y: ArrayView1<L>,
        fit: &Fit<'_, MulticlassL1Model<L>>,
    ) -> Result<(Posed<L>, Option<Start>), Error>
    where
        X: AsDesign + ?Sized,
        L: Label,
    {
        self.stop.check()?;
        Invalid::check_nonnegative("penalty", self.penalty)?;
        let posed = Posed::new(self, x, y, fit.weights)?;
        let start = match fit.start {
            None => None,
            Some(model) => {
                let (weights, _) = model.scaled_weights(&posed, "start")?;
                let columns = by_classes(&weights, posed.classes.len());
                Some(Start { columns, exact: model.solver == Solver::Pdhg, duals: None })
            }
        };
        Ok((posed, start))
    }
}
