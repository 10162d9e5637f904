//! Scores learned from data.

use fenchel_linalg::Invalid;
use fenchel_optim::model::Saved;
use fenchel_optim::{Certificate, Report, Status};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::basis::check_bandwidth;
use super::bumps::{kernel, squares};
use super::coordinate::Coordinate;
use super::select::Selected;
use crate::blocks::{Blocks, finite};
use crate::error::Error;
use crate::score::{ScoreDiagnostics, ScoreFunction, SecondOrderScore, check_columns};
use crate::spectrum::Warning;
use crate::whitening::Whitening;

/// A score learned by [`ScoreMatching`](crate::ScoreMatching).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnedScore {
    whitening: Option<Whitening>,
    offset: bool,
    dim: usize,
    form: Form,
    /// Diagnostics from the identity `E[(x - mu) S1'] = I`, on at most 5,000 of the samples.
    pub diagnostics: ScoreDiagnostics,
    /// Bandwidth and ridge that were chosen, with the risks; `None` if they were given.
    pub selected: Option<Selected>,
    /// The report of the fit, including the selection and the diagnostics. The objective is the minimised risk, without
    /// the constant part that belongs to the fixed offset.
    pub report: Report,
}

/// In the coordinates of the basis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Form {
    Affine,
    Bumps { centres: Array2<f64>, theta: Array1<f64>, bandwidth: f64, ridge: f64 },
    Separable(Vec<Coordinate>),
}

impl Saved for LearnedScore {
    const KIND: &'static str = "moments-score";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        let fits = match &self.form {
            Form::Affine => self.whitening.is_some(),
            Form::Bumps { centres, theta, bandwidth, ridge } => {
                check_bandwidth(*bandwidth).map_err(|error| error.to_string())?;
                if !centres.iter().chain(theta).chain([ridge]).all(|v| v.is_finite()) {
                    return Err("not all numbers of the bumps are finite".into());
                }
                centres.dim() == (theta.len(), self.dim)
            }
            Form::Separable(coordinates) => coordinates.len() == self.dim,
        };
        let fits = fits
            && self.dim > 0
            && self.whitening.as_ref().is_none_or(|w| w.mean.len() == self.dim);
        if fits { Ok(()) } else { Err("the parts have different dimensions".into()) }
    }
}

impl LearnedScore {
    pub(crate) fn new(
        whitening: Option<Whitening>,
        offset: bool,
        form: Form,
        objective: f64,
        selected: Option<Selected>,
        data: &dyn Blocks,
    ) -> Result<Self, Error> {
        let d = data.width();
        let empty = ScoreDiagnostics {
            mean: Array1::zeros(d),
            mean_error: Array1::zeros(d),
            moment: Array2::zeros((d, d)),
            moment_error: Array2::zeros((d, d)),
            deviation: 0.0,
            expected_deviation: 0.0,
            offset: 0.0,
        };
        let report = Report {
            status: Status::Converged,
            certificate: Certificate::Uncertified { objective: Some(objective) },
            passes: 0.0,
            oracle_calls: 0,
            seconds: 0.0,
        };
        let mut score =
            LearnedScore { whitening, offset, dim: d, form, diagnostics: empty, selected, report };
        score.diagnostics = ScoreDiagnostics::of_some(data, &score)?;
        Ok(score)
    }

    /// The bandwidth of the bumps, in the coordinates of the basis; `None` for another basis.
    pub fn bandwidth(&self) -> Option<f64> {
        match self.form {
            Form::Bumps { bandwidth, .. } => Some(bandwidth),
            _ => None,
        }
    }

    /// The ridge that was added; `None` for another basis than bumps.
    pub fn ridge(&self) -> Option<f64> {
        match self.form {
            Form::Bumps { ridge, .. } => Some(ridge),
            _ => None,
        }
    }

    /// The coefficients of the bumps; empty for another basis.
    pub fn theta(&self) -> ArrayView1<'_, f64> {
        match &self.form {
            Form::Bumps { theta, .. } => theta.view(),
            _ => ArrayView1::from(&[]),
        }
    }

    /// Warnings about the fit.
    pub fn warning(&self) -> Option<Warning> {
        self.diagnostics.warning()
    }

    fn inner(&self, x: ArrayView2<f64>) -> Array2<f64> {
        match &self.whitening {
            Some(whitening) => whitening.apply(x),
            None => x.to_owned(),
        }
    }

    /// The score in the coordinates of the basis.
    fn score_inner(&self, x: ArrayView2<f64>) -> Array2<f64> {
        match &self.form {
            Form::Affine => x.to_owned(),
            Form::Bumps { centres, theta, bandwidth, .. } => {
                bump_score(x, centres.view(), theta.view(), *bandwidth, self.offset)
            }
            Form::Separable(coordinates) => {
                let mut s = x.to_owned();
                s.indexed_iter_mut().for_each(|((_, c), v)| *v = coordinates[c].at(*v).0);
                s
            }
        }
    }
}

/// `sum_j theta_j grad k_j(x)`, and `x` more with an offset.
pub(crate) fn bump_score(
    x: ArrayView2<f64>,
    centres: ArrayView2<f64>,
    theta: ArrayView1<f64>,
    bandwidth: f64,
    offset: bool,
) -> Array2<f64> {
    let mut k = kernel(x, centres, squares(centres).view(), bandwidth);
    k *= &theta;
    let sums = k.sum_axis(Axis(1)).insert_axis(Axis(1));
    let mut s = (k.dot(&centres) - &x * &sums) / (bandwidth * bandwidth);
    if offset {
        s += &x;
    }
    s
}

impl ScoreFunction for LearnedScore {
    fn dim(&self) -> usize {
        self.dim
    }

    fn score1(&self, x: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
        check_columns(x, self.dim)?;
        let s = self.score_inner(self.inner(x).view());
        let s = match &self.whitening {
            Some(whitening) => s.dot(&whitening.map),
            None => s,
        };
        Ok(finite(s, "learned score")?)
    }
}

/// `S2 = S1 S1' - grad S1`.
impl SecondOrderScore for LearnedScore {
    fn score2_sum(
        &self,
        x: ArrayView2<f64>,
        weights: ArrayView1<f64>,
    ) -> Result<Array2<f64>, Error> {
        check_columns(x, self.dim)?;
        Invalid::check_length("weights", x.nrows(), weights.len())?;
        let z = self.inner(x);
        let s = self.score_inner(z.view());
        let mut sum = (&s * &weights.insert_axis(Axis(1))).t().dot(&s);
        let mut identity = if self.offset { weights.sum() } else { 0.0 };
        match &self.form {
            Form::Affine => identity = weights.sum(),
            Form::Bumps { centres, theta, bandwidth, .. } => {
                let h2 = bandwidth * bandwidth;
                let mut q =
                    kernel(z.view(), centres.view(), squares(centres.view()).view(), *bandwidth);
                q *= theta;
                q *= &weights.insert_axis(Axis(1));
                let (rows, columns) = (q.sum_axis(Axis(1)), q.sum_axis(Axis(0)));
                identity -= rows.sum() / h2;
                // sum_ij q_ij (x_i - z_j)(x_i - z_j)'
                let cross = z.t().dot(&q.dot(centres));
                let own = (&z * &rows.insert_axis(Axis(1))).t().dot(&z);
                let theirs = (centres * &columns.insert_axis(Axis(1))).t().dot(centres);
                sum -= &((own + theirs - &cross - cross.t()) / (h2 * h2));
            }
            Form::Separable(coordinates) => {
                identity = 0.0;
                for (c, coordinate) in coordinates.iter().enumerate() {
                    let column = z.column(c);
                    let terms = column.iter().zip(weights).map(|(&v, w)| w * coordinate.at(v).1);
                    sum[[c, c]] -= terms.sum::<f64>();
                }
            }
        }
        sum.diag_mut().mapv_inplace(|v| v - identity);
        let sum = match &self.whitening {
            Some(whitening) => whitening.back().dot(&sum).dot(&whitening.map),
            None => sum,
        };
        Ok(finite(sum, "second score that was learned")?)
    }
}
