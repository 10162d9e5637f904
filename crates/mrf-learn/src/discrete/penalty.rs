//! Penalties of tables.

use fenchel_linalg::Invalid;
use fenchel_optim::prox::soft_threshold;
use fenchel_optim::{Regulariser, settings};
use serde::{Deserialize, Serialize};

use super::{DiscreteData, Layout};
use crate::Error;

/// The size of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableNorm {
    /// The Frobenius norm: tables vanish as a whole.
    #[default]
    Group,
    /// The sum of absolute values: entries vanish one by one, which depends on the gauge.
    Entries,
}

settings! {
    /// The penalty of a network of discrete variables.
    #[derive(Copy)]
    pub struct DiscretePenalty {
        /// Strength, `>= 0`, on the scale of the mean log-likelihood per row.
        lambda: f64 = 0.1,
        /// Factor of the fields, `>= 0`, whose absolute values are penalised.
        unary_weight: f64 = 0.0,
        /// The size of a table.
        norm: TableNorm = TableNorm::Group,
    }
}

impl DiscretePenalty {
    /// The group penalty of tables; fields are unpenalised.
    pub fn group(lambda: f64) -> Self {
        DiscretePenalty { lambda, ..DiscretePenalty::default() }
    }

    /// The penalty for a layout.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a strength or factor that is negative or not finite.
    pub fn strengths(&self, layout: &Layout) -> Result<TableStrengths, Error> {
        Invalid::check_nonnegative("lambda", self.lambda)?;
        Invalid::check_nonnegative("unary_weight", self.unary_weight)?;
        Ok(TableStrengths {
            layout: layout.clone(),
            field: self.lambda * self.unary_weight,
            table: self.lambda,
            norm: self.norm,
        })
    }

    /// The smallest `lambda` at which all tables are zero, with unpenalised fields. It is the largest dual norm of
    /// `mean(x_i = a, x_j = b) - mean(x_i = a) mean(x_j = b)`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for penalised fields.
    pub fn lambda_max(&self, data: &DiscreteData) -> Result<f64, Error> {
        if self.unary_weight != 0.0 {
            let (name, value) = ("unary_weight", self.unary_weight);
            return Err(Invalid::Parameter { name, value, expected: "0" }.into());
        }
        let (layout, means) = (data.layout(), data.means());
        let mut largest: f64 = 0.0;
        for (i, j) in layout.pairs() {
            let (a, b) = (&means[layout.field(i)], &means[layout.field(j)]);
            let product = a.iter().flat_map(|a| b.iter().map(move |b| a * b));
            let off: Vec<f64> =
                means[layout.table_of(i, j)].iter().zip(product).map(|(x, y)| x - y).collect();
            largest = largest.max(self.norm.dual(&off));
        }
        Ok(largest)
    }
}

impl TableNorm {
    fn value(self, table: &[f64]) -> f64 {
        match self {
            TableNorm::Group => table.iter().map(|x| x * x).sum::<f64>().sqrt(),
            TableNorm::Entries => table.iter().map(|x| x.abs()).sum(),
        }
    }

    /// The dual norm.
    fn dual(self, table: &[f64]) -> f64 {
        match self {
            TableNorm::Group => self.value(table),
            TableNorm::Entries => table.iter().fold(0.0, |a: f64, x| a.max(x.abs())),
        }
    }
}

/// `field sum_i ||h_i||_1 + table sum_{i<j} ||J_ij||`.
#[derive(Debug, Clone, PartialEq)]
pub struct TableStrengths {
    layout: Layout,
    field: f64,
    table: f64,
    norm: TableNorm,
}

impl TableStrengths {
    /// Whether fields are unpenalised.
    pub(super) fn free_fields(&self) -> bool {
        self.field == 0.0
    }

    /// Whether anything but fields is free.
    pub(super) fn free_tables(&self) -> bool {
        self.table == 0.0
    }

    /// The largest `c` in [0, 1] for which `c` times these deviations from the means lies within the dual balls.
    /// Unpenalised fields are not checked.
    pub(super) fn share(&self, off: &[f64]) -> f64 {
        let fit = |size: f64, limit: f64| if size <= limit { 1.0 } else { limit / size };
        let split = self.layout.table_start();
        let mut share: f64 = 1.0;
        if self.field > 0.0 {
            share = off[..split].iter().fold(share, |s, x| s.min(fit(x.abs(), self.field)));
        }
        for (i, j) in self.layout.pairs() {
            share = share.min(fit(self.norm.dual(&off[self.layout.table_of(i, j)]), self.table));
        }
        share
    }
}

impl Regulariser for TableStrengths {
    const NAME: &'static str = "norms of tables";

    fn check(&self, columns: usize) -> Result<(), Invalid> {
        Invalid::check_length("parameters", columns, self.layout.len())
    }

    fn value(&self, x: &[f64]) -> f64 {
        let fields: f64 = x[..self.layout.table_start()].iter().map(|x| x.abs()).sum();
        let tables =
            self.layout.pairs().map(|(i, j)| self.norm.value(&x[self.layout.table_of(i, j)]));
        self.field * fields + self.table * tables.sum::<f64>()
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        let (fields, tables) = x.split_at_mut(self.layout.table_start());
        fields.iter_mut().for_each(|x| *x = soft_threshold(*x, step * self.field));
        let threshold = step * self.table;
        match self.norm {
            TableNorm::Entries => {
                tables.iter_mut().for_each(|x| *x = soft_threshold(*x, threshold));
            }
            TableNorm::Group => {
                for (i, j) in self.layout.pairs() {
                    let table = &mut x[self.layout.table_of(i, j)];
                    let norm = self.norm.value(table);
                    let scale = if norm <= threshold { 0.0 } else { 1.0 - threshold / norm };
                    table.iter_mut().for_each(|x| *x *= scale);
                }
            }
        }
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        if l2 > 0.0 {
            let mut x: Vec<f64> = v.iter().map(|v| v / l2).collect();
            self.prox(&mut x, 1.0 / l2);
            let along: f64 = v.iter().zip(&x).map(|(v, x)| v * x - 0.5 * l2 * x * x).sum();
            return along - self.value(&x);
        }
        if self.dual_scale(v, 0.0) >= 1.0 - 4.0 * f64::EPSILON { 0.0 } else { f64::INFINITY }
    }

    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        if l2 > 0.0 {
            return 1.0;
        }
        let split = self.layout.table_start();
        if self.field == 0.0 && v[..split].iter().any(|v| *v != 0.0) {
            return 0.0;
        }
        self.share(v)
    }

    fn coercive(&self) -> bool {
        self.field > 0.0 && self.table > 0.0
    }
}
