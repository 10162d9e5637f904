//! The minimiser of one step's model.

use std::sync::Arc;

use fenchel_linalg::{Columns, Design};
use fenchel_optim::Loss;

use super::super::model::{Hessian, Minimum};
use super::super::orthants::Part;
use super::{ElasticNetForm, Newton};

/// Where products with the columns of a large working set replace sweeps over it, it holds this share of the data or more.
const MUCH: f64 = 1.0 / 3.0;

impl<D: Design, L: Loss, R: ElasticNetForm> Newton<'_, '_, D, L, R> {
    /// The minimiser of the model, on a Hessian or without; none if there can be no copy by columns.
    pub(super) fn minimise(
        &mut self,
        set: &[usize],
        slope: Option<f64>,
        hessian: Option<&mut Hessian>,
    ) -> Option<Minimum> {
        let mut rng = self.rng.clone();
        let minimum = match hessian {
            Some(hessian) if self.l1 > 0.0 => self.model(set, slope).descend_on(hessian, &mut rng),
            Some(hessian) => self.model(set, slope).solve(hessian),
            None => {
                let stored = self.stored(set);
                let design = self.problem.design();
                let much = stored as f64 >= MUCH * design.stored() as f64;
                if much && !self.model(set, slope).is_small(stored) {
                    return self.minimise_much(set, slope, stored);
                }
                return self.minimise_by_columns(set, slope, None, None::<(&D, _)>);
            }
        };
        self.rng = rng;
        Some(minimum)
    }

    /// On a working set that is too large for a Gram matrix and holds much of the data: by products with its columns.
    fn minimise_much(
        &mut self,
        set: &[usize],
        slope: Option<f64>,
        stored: usize,
    ) -> Option<Minimum> {
        let design = self.problem.design();
        let room = self.settings.memory_limit.saturating_sub(Columns::bytes(design));
        let last = self.part.take();
        let counts = (&self.counts[..], stored);
        let Some(part) = Part::of(design, &self.model(set, slope), counts, last, room) else {
            return self.minimise_by_products(set, slope, (design, set));
        };
        let places = part.places(set);
        let minimum = self.minimise_by_products(set, slope, (&part.rows.view(), &places));
        self.part = Some(part);
        minimum
    }

    /// With the columns of the set as these columns of some rows: one orthant after another; and by coordinate descent once
    /// the signs have not settled.
    fn minimise_by_products<E: Design>(
        &mut self,
        set: &[usize],
        slope: Option<f64>,
        (rows, places): (&E, &[usize]),
    ) -> Option<Minimum> {
        let mut start = None;
        if !self.by_columns {
            let minimum = self.model(set, slope).descend_by_products(rows, places);
            if minimum.left <= self.forcing.tolerances.large {
                return Some(minimum);
            }
            self.by_columns = true;
            start = Some(minimum);
        }
        self.minimise_by_columns(set, slope, start, Some((rows, places)))
    }

    /// The copy of the data by columns, if there is none yet; `None` if there can be none.
    pub(super) fn copy_columns(&mut self) -> Option<()> {
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

    /// By coordinate descent, from a point of the model; between the sweeps by products, where there are rows for them.
    fn minimise_by_columns<E: Design>(
        &mut self,
        set: &[usize],
        slope: Option<f64>,
        start: Option<Minimum>,
        rows: Option<(&E, &[usize])>,
    ) -> Option<Minimum> {
        self.copy_columns()?;
        let design = self.problem.design();
        let (mut rng, mut room) = (self.rng.clone(), std::mem::take(&mut self.room));
        let columns = self.columns.as_deref()?;
        let minimum =
            self.model(set, slope).descend(design, columns, start, rows, &mut rng, &mut room);
        (self.rng, self.room) = (rng, room);
        Some(minimum)
    }
}
