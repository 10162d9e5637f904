//! The model with hidden variables.

use fenchel_graphical::Graph;
use fenchel_linalg::text::short;
use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::Report;
use fenchel_optim::model::Saved;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::model::{GaussianModel, support};

/// The distribution of the observed variables, split into a graph and hidden variables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatentVariableModel {
    /// The observed variables by themselves: precision `S - F F'`, which need not be sparse.
    pub observed: GaussianModel,
    /// `S`, the precision of the observed variables given the hidden ones, with exact zeros.
    pub sparse: Array2<f64>,
    /// `F`, `p x h`: the low-rank part is `F F'`. Columns by falling length, each determined up to its sign.
    pub loadings: Array2<f64>,
    /// The report of the fit.
    pub report: Report,
}

impl LatentVariableModel {
    /// Number of hidden variables: the rank of the low-rank part.
    pub fn hidden(&self) -> usize {
        self.loadings.ncols()
    }

    /// The graph of the observed variables given the hidden ones.
    pub fn graph(&self) -> Graph {
        support(self.sparse.view())
    }

    /// `L = F F'`.
    pub fn low_rank(&self) -> Array2<f64> {
        self.loadings.dot(&self.loadings.t())
    }

    /// The means of the hidden variables given each row: `(x - mu) F`, in the shape `n x h`, up to the sign of each
    /// column. Given the observed variables, each hidden variable has variance 1.
    ///
    /// # Errors
    /// [`Invalid`] for data of the wrong width.
    pub fn transform<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array2<f64>, Error> {
        let x = x.as_design()?;
        let p = self.observed.variables();
        Invalid::check_length("columns of the data", p, x.columns())?;
        let mut out = Array2::zeros((x.rows(), self.hidden()));
        let mut row = vec![0.0; p];
        for i in 0..x.rows() {
            row.iter_mut().zip(&self.observed.mean).for_each(|(r, m)| *r = -m);
            x.row_axpy(i, 1.0, &mut row);
            for (out, f) in out.row_mut(i).iter_mut().zip(self.loadings.columns()) {
                *out = f.iter().zip(&row).map(|(f, r)| f * r).sum();
            }
        }
        Ok(out)
    }

    /// The mean log-density of the rows, in nats: that of the observed variables.
    ///
    /// # Errors
    /// As [`GaussianModel::score`].
    pub fn score<X: AsDesign + ?Sized>(&self, x: &X) -> Result<f64, Error> {
        self.observed.score(x)
    }
}

impl Saved for LatentVariableModel {
    const KIND: &'static str = "graphical model with hidden variables";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        self.observed.check()?;
        let p = self.observed.variables();
        if self.sparse.dim() != (p, p) || self.loadings.nrows() != p {
            return Err(format!("the sparse part must be {p} x {p}, with {p} rows of loadings"));
        }
        if !self.sparse.iter().chain(&self.loadings).all(|v| v.is_finite()) {
            return Err("the sparse part and the loadings must be finite".into());
        }
        let size = |i: usize| self.sparse[[i, i]].abs().sqrt();
        let difference = &self.sparse - &self.low_rank() - &self.observed.precision;
        if let Some(((i, j), d)) =
            difference.indexed_iter().find(|((i, j), d)| !(d.abs() <= 1e-6 * size(*i) * size(*j)))
        {
            return Err(format!(
                "the sparse part less the low-rank part must be the precision; entry ({i}, {j}) differs by {}",
                short(*d)
            ));
        }
        Ok(())
    }
}
