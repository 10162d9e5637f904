//! The minimiser of one step's model.

use std::sync::Arc;

use fenchel_linalg::{Columns, Design};
use fenchel_optim::Loss;
use fenchel_optim::random::stream;

use super::super::model::Minimum;
use super::super::rows::{RowModel, kernel, row_bytes, row_costs};
use super::{AsElasticNet, Newton};
use crate::methods::hessian::gram_cost;

/// A Gram matrix is written down at once where it costs no more passes than this: minimising a model by its columns takes
/// about as many, whose entries cost more.
pub(crate) const GRAM_PASSES: f64 = 12.0;
/// A Gram matrix of this order is small whatever the data.
const SMALL: usize = 512;

/// Whether a Gram matrix of this order takes no more memory than the `stored` entries of its columns, or next to none.
fn is_small(order: usize, stored: usize) -> bool {
    order <= SMALL || order.saturating_mul(order) <= 2 * stored.max(1)
}

impl<D: Design, L: Loss, R: AsElasticNet> Newton<'_, '_, D, L, R> {
    /// The minimiser of the model, and whether it was found over columns; none if there can be no copy by columns.
    pub(super) fn minimise(
        &mut self,
        set: &[usize],
        slope: Option<f64>,
    ) -> Option<(Minimum, bool)> {
        let design = self.problem.design();
        if self.l1 == 0.0 && row_bytes(design, self.l2).is_some() {
            return self.minimise_by_rows().map(|minimum| (minimum, false));
        }
        let (stored, order) = (self.stored(set), set.len() + usize::from(slope.is_some()));
        let cost = gram_cost(design.rows(), order, stored as f64);
        let at_once = is_small(order, stored) && cost <= GRAM_PASSES * design.stored() as f64;
        if self.l1 > 0.0 && !at_once {
            return self.minimise_by_columns(set, slope).map(|minimum| (minimum, true));
        }
        let mut rng = stream(self.seed, self.outer);
        let model = self.model(set, slope);
        let gram = model.gram(design, stored);
        let mut minimum =
            if self.l1 > 0.0 { model.descend_on(&gram, &mut rng) } else { model.solve(&gram) };
        minimum.entries += cost;
        Some((minimum, false))
    }

    /// By a system of the order of the rows.
    fn minimise_by_rows(&mut self) -> Option<Minimum> {
        let (problem, n) = (self.problem, self.problem.n() as f64);
        let mut made = 0.0;
        if self.kernel.is_none() {
            self.kernel = kernel(problem.design()).ok();
            made = row_costs(problem.design()).0;
        }
        let mut slopes = self.gap.margins.clone();
        problem.differentiate(&mut slopes, 1.0 / n);
        let model = RowModel {
            kernel: self.kernel.as_deref()?,
            h: &self.h,
            slopes,
            margins: self.gap.margins.iter().map(|t| t - self.point.intercept).collect(),
            l2: self.l2,
            intercept: problem.intercept(),
        };
        let mut minimum = model.solve(problem.design(), &self.point.weights)?;
        minimum.entries += made;
        Some(minimum)
    }

    /// By coordinate descent over the columns of the set.
    fn minimise_by_columns(&mut self, set: &[usize], slope: Option<f64>) -> Option<Minimum> {
        self.copy_columns()?;
        let design = self.problem.design();
        let share = 1.0 / self.problem.n() as f64;
        let mut slopes: Vec<f64> = self.gap.dual.iter().map(|u| share * u).collect();
        let mut rng = stream(self.seed, self.outer);
        let columns = self.columns.as_deref()?;
        Some(self.model(set, slope).descend(design, columns, &mut slopes, &mut rng))
    }

    /// The copy of the data by columns, if there is none yet; `None` if there can be none.
    fn copy_columns(&mut self) -> Option<()> {
        let design = self.problem.design();
        if self.columns.is_none() {
            // Checked by the public function.
            let columns = match D::DENSE {
                true => Columns::new(design),
                false => Columns::counted(design, &self.counts),
            };
            self.columns = Some(Arc::new(columns.ok()?));
        }
        Some(())
    }
}
