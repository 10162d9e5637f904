//! Diagnostics: whether a score fits the data.

use fenchel_linalg::{AsDesign, Invalid};
use fenchel_optim::MAX_MEMORY;
use ndarray::{Array1, Array2, Axis};
use serde::{Deserialize, Serialize};

use super::traits::ScoreFunction;
use crate::blocks::{Blocks, Picked, check_memory, checked, fold};
use crate::error::Error;
use crate::spectrum::Warning;
use crate::whitening::{SQUARES, mean_of};

/// Sample versions of what every score satisfies: `E S1 = 0` and `E[(x - mu) S1'] = I`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoreDiagnostics {
    /// Mean of `S1`.
    pub mean: Array1<f64>,
    /// Standard errors of `mean`.
    pub mean_error: Array1<f64>,
    /// Mean of `(x - mean(x)) S1'`.
    pub moment: Array2<f64>,
    /// Standard errors of `moment`.
    pub moment_error: Array2<f64>,
    /// Frobenius norm of `moment - I` over that of `I`.
    pub deviation: f64,
    /// What `deviation` would be by chance for the true score.
    pub expected_deviation: f64,
    /// The largest absolute entry of `mean`, in standard deviations of its column of `S1`. For the true score it is 0
    /// up to sampling error.
    #[serde(default)]
    pub offset: f64,
}

impl ScoreDiagnostics {
    /// Measures a score on data. O(n d^2).
    ///
    /// # Errors
    /// The errors of the score; [`Invalid::Length`].
    pub fn new<X: AsDesign + ?Sized>(x: &X, score: &dyn ScoreFunction) -> Result<Self, Error> {
        ScoreDiagnostics::of(&checked(x)?, score)
    }

    pub(crate) fn of(data: &dyn Blocks, score: &dyn ScoreFunction) -> Result<Self, Error> {
        let (n, d) = (data.count() as f64, data.width());
        Invalid::check_length("dimension of the score", d, score.dim())?;
        check_memory("a diagnosis of a score", data, (0, SQUARES), MAX_MEMORY)?;
        let centre = mean_of(data)?;
        let zero = || {
            (
                Array2::<f64>::zeros((2, d)),
                Array2::<f64>::zeros((d, d)),
                Array2::<f64>::zeros((d, d)),
            )
        };
        let parts = fold(data, zero, |(sums, first, second), _, rows| {
            let s = score.score1(rows)?;
            let squares = s.mapv(|v| v * v);
            let centred = &rows - &centre;
            let mut sum = sums.row_mut(0);
            sum += &s.sum_axis(Axis(0));
            let mut sum = sums.row_mut(1);
            sum += &squares.sum_axis(Axis(0));
            *first += &centred.t().dot(&s);
            *second += &centred.mapv(|v| v * v).t().dot(&squares);
            Ok(())
        })?;
        let (mut sums, mut first, mut second) = zero();
        for part in parts {
            sums += &part.0;
            first += &part.1;
            second += &part.2;
        }
        let error = |square: f64, mean: f64| ((square - mean * mean).max(0.0) / n).sqrt();
        let mean = &sums.row(0) / n;
        let mean_error: Array1<f64> = (0..d).map(|c| error(sums[[1, c]] / n, mean[c])).collect();
        let offset = |c: usize| {
            let spread = (mean_error[c] * n.sqrt()).max(f64::MIN_POSITIVE);
            (mean[c].abs() / spread).min(f64::MAX)
        };
        let offset = (0..d).map(offset).fold(0.0, f64::max);
        let moment = first / n;
        let moment_error = Array2::from_shape_fn((d, d), |at| error(second[at] / n, moment[at]));
        let rest = &moment - &Array2::<f64>::eye(d);
        let norm = |a: &Array2<f64>| (a.iter().map(|v| v * v).sum::<f64>() / d as f64).sqrt();
        let (deviation, expected_deviation) = (norm(&rest), norm(&moment_error));
        Ok(ScoreDiagnostics {
            mean,
            mean_error,
            moment,
            moment_error,
            deviation,
            expected_deviation,
            offset,
        })
    }

    /// The same on at most 5,000 of the samples.
    pub(crate) fn of_some(data: &dyn Blocks, score: &dyn ScoreFunction) -> Result<Self, Error> {
        let n = data.count();
        let sampled = n.min(5000);
        let index: Vec<usize> = (0..sampled).map(|k| k * n / sampled).collect();
        ScoreDiagnostics::of(&Picked { data, index: &index }, score)
    }

    /// A warning in two cases. First, the mean of the score is more than 0.2 of its standard deviations and more than
    /// five standard errors from 0. Second, the moment `E[(x - mu) S1']` differs from the identity by more than 20 %
    /// and by more than sampling error explains. Sampling error is estimated from the score itself and grows with the
    /// error of the score, so a density with a wrong location is detected only by the mean.
    pub fn warning(&self) -> Option<Warning> {
        let far = |(mean, error): (&f64, &f64)| mean.abs() > 5.0 * error;
        if self.offset > 0.2 && self.mean.iter().zip(&self.mean_error).any(far) {
            return Some(Warning::ScoreOffset { offset: self.offset });
        }
        let poor = self.deviation > 0.2 && self.deviation > 3.0 * self.expected_deviation;
        poor.then_some(Warning::PoorScore { deviation: self.deviation })
    }
}
