//! The data as the models need it, and the minimiser of a model.

use std::sync::Arc;

use fenchel_linalg::{Columns, Design, nonzeros_by_column};
use fenchel_optim::random::Generator;
use fenchel_optim::{Loss, Regulariser};

use super::iterate::Iterate;
use crate::Problem;
use crate::methods::hessian::gram_cost;
use crate::methods::newton::model::{Model, Step};
use crate::methods::newton::rows::{RowModel, kernel, row_bytes, row_costs};

/// A Gram matrix is computed at once where it costs at most this many passes. Minimising a model by its columns takes about as
/// many sweeps, and their entries cost more.
pub(crate) const GRAM_PASSES: f64 = 12.0;
/// A Gram matrix of at most this order is computed whatever the data: it takes 2 MiB, which fit into a cache.
const SMALL: usize = 512;

/// Whether a Gram matrix of this order takes no more memory than the `stored` entries of its columns, or next to none.
fn is_small(order: usize, stored: usize) -> bool {
    order <= SMALL || order.saturating_mul(order) <= 2 * stored.max(1)
}

/// What all models share. Each part is computed by the first model that needs it.
#[derive(Debug, Clone, Default)]
pub(super) struct ModelData {
    /// For coordinate descent.
    pub(super) columns: Option<Arc<Columns>>,
    /// With l1: entries of each column that are not 0.
    counts: Vec<usize>,
    /// `A A'`, where steps go through the rows.
    kernel: Option<Vec<f64>>,
}

impl ModelData {
    /// The step to the minimiser of a model, with its direction in the margins; `None` if there can be no copy by columns.
    pub(super) fn minimise<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        iterate: &Iterate,
        model: &Model<'_>,
        rng: &mut Generator,
    ) -> Option<Step> {
        let design = problem.design();
        let mut step = if model.l1 == 0.0 && row_bytes(design, model.l2).is_some() {
            self.minimise_by_rows(problem, iterate, model)?
        } else {
            let stored = self.stored(design, model);
            let cost = gram_cost(design.rows(), model.order(), stored as f64);
            let at_once =
                is_small(model.order(), stored) && cost <= GRAM_PASSES * design.stored() as f64;
            if model.l1 > 0.0 && !at_once {
                let share = 1.0 / problem.n() as f64;
                let mut slopes: Vec<f64> = iterate.gap.dual.iter().map(|u| share * u).collect();
                model.descend(design, self.copied_columns(design)?, &mut slopes, rng)
            } else {
                let gram = model.gram(design, stored);
                let step =
                    if model.l1 > 0.0 { model.descend_on(&gram, rng) } else { model.solve(&gram) };
                Step { entries: step.entries + cost, ..step }
            }
        };
        self.find_direction(problem, iterate, model.set, &mut step);
        Some(step)
    }

    /// By a system of the order of the rows.
    fn minimise_by_rows<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        iterate: &Iterate,
        model: &Model<'_>,
    ) -> Option<Step> {
        let mut made = 0.0;
        if self.kernel.is_none() {
            self.kernel = Some(kernel(problem.design()));
            made = row_costs(problem.design()).0;
        }
        let margins = &iterate.gap.margins;
        let mut slopes = margins.clone();
        problem.differentiate(&mut slopes, 1.0 / problem.n() as f64);
        let rows = RowModel {
            kernel: self.kernel.as_deref()?,
            h: model.h,
            slopes,
            margins: margins.iter().map(|t| t - iterate.point.intercept).collect(),
            l2: model.l2,
            intercept: problem.intercept(),
        };
        let step = rows.solve(problem.design(), model.x)?;
        Some(Step { entries: step.entries + made, ..step })
    }

    /// Adds the direction `A d + d_b` and its cost: by the columns of the set, or as the difference of the margins at the end
    /// of the step, read anew, and those at its start.
    fn find_direction<D: Design, L: Loss, R: Regulariser>(
        &self,
        problem: &Problem<'_, D, L, R>,
        iterate: &Iterate,
        set: &[usize],
        step: &mut Step,
    ) {
        let moves = set.iter().zip(&step.d);
        if let Some(columns) = self.columns.as_ref().filter(|_| step.by_columns) {
            step.direction = vec![step.intercept; problem.n()];
            let mut entries = 0;
            for (&c, &d) in moves.filter(|(_, d)| **d != 0.0) {
                columns.axpy(c, d, &mut step.direction);
                entries += columns.stored(c);
            }
            step.entries += 0.5 * entries as f64;
            return;
        }
        let mut end = iterate.point.clone();
        end.intercept += step.intercept;
        moves.for_each(|(&c, &d)| end.weights[c] += d);
        step.direction = vec![0.0; problem.n()];
        problem.margins(&end, &mut step.direction);
        step.direction.iter_mut().zip(&iterate.gap.margins).for_each(|(a, t)| *a -= t);
        step.entries += 0.5 * problem.design().stored() as f64;
    }

    /// Entries of the design that belong to a working set.
    fn stored<D: Design>(&mut self, design: &D, model: &Model<'_>) -> usize {
        if model.l1 == 0.0 {
            return design.stored();
        }
        if self.counts.is_empty() {
            self.counts = match &self.columns {
                Some(columns) => (0..design.columns()).map(|c| columns.stored(c)).collect(),
                None => nonzeros_by_column(design),
            };
        }
        model.set.iter().map(|&c| self.counts[c]).sum()
    }

    /// The copy of the data by columns; `None` if there can be none.
    fn copied_columns<D: Design>(&mut self, design: &D) -> Option<&Columns> {
        if self.columns.is_none() {
            // Checked by the public function.
            let columns = match D::DENSE {
                true => Columns::new(design),
                false => Columns::counted(design, &self.counts),
            };
            self.columns = Some(Arc::new(columns.ok()?));
        }
        self.columns.as_deref()
    }
}
