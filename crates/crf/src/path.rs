//! Regularisation paths: the models for a falling sequence of penalties, each of which starts at the one before.
//!
//! ```text
//! min_w  (1/n) sum_i -log p(y_i | x_i; w) + penalty (r norm(w)_1 + (1 - r)/2 norm(w)^2)      over n sequences
//! ```
//!
//! Here `r` is the `l1_ratio`: 0 penalises the squared norm alone, larger values are the elastic net, which makes weights exactly
//! 0. Use [`path`](fn@path) to choose a penalty by sequences that were held out. For a single known penalty use [`Crf`].
//!
//! A warm start takes the weights of the larger penalty. SDCA starts at their marginals: those of the larger penalty's optimum,
//! whose weights at the smaller penalty are larger in the ratio of the two: weights are sums of marginals over `l2 n`.

use std::fmt;

use fenchel_linalg::Invalid;
use fenchel_linalg::text::number;
use fenchel_optim::{Budget, Fit, Status, settings};

use crate::Error;
use crate::builder::Corpus;
use crate::instance::Instance;
use crate::model::CrfModel;
use crate::settings::Crf;

settings! {
    /// Settings of a [`path`](fn@path).
    pub struct PathSettings {
        /// The penalties, all above 0, visited from the largest to the smallest; empty for nine from `100/n` to `0.01/n`,
        /// equally spaced in the logarithm.
        penalties: Vec<f64> = vec![],
        /// Share `r` of the l1 norm, in `[0, 1)`.
        l1_ratio: f64 = 0.0,
        /// Features, method, memory and seed of each fit, and the stopping rule, whose limits are those of the whole path. Its
        /// `l1` and `l2` are not read.
        crf: Crf = Crf::default(),
    }
}

/// A model of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct PathPoint {
    /// The penalty, of which `l1_ratio` is for the l1 norm and the rest for the squared norm.
    pub penalty: f64,
    /// The model; its report has the certificate, and the passes and oracle calls of this point alone.
    pub model: CrfModel,
    /// Fraction of the held-out tokens with the true label, if there are any.
    pub score: Option<f64>,
}

/// The models of a path, from the largest penalty to the smallest. It is displayed as a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// One per penalty.
    pub points: Vec<PathPoint>,
}

/// Fits a model for every penalty, and scores it on `held_out`, which may be empty.
///
/// Every model has its own certificate, over all weights, and is as good as a fit from a cold start. The models share no memory:
/// each has a copy of the names.
///
/// ```
/// use fenchel_crf::path::{PathSettings, path};
/// use fenchel_crf::{CorpusBuilder, Instance};
///
/// let sentence = |words: [(&str, &str); 3]| {
///     let mut instance = Instance::new();
///     for (word, tag) in words {
///         instance.begin_token(tag);
///         instance.push_pair("word", word);
///         instance.push_pair("suffix", &word[word.len() - 1..]);
///     }
///     instance
/// };
/// let mut builder = CorpusBuilder::new();
/// builder.push(&sentence([("The", "D"), ("dog", "N"), ("barks", "V")]))?;
/// builder.push(&sentence([("A", "D"), ("cat", "N"), ("sleeps", "V")]))?;
/// let held_out = [sentence([("The", "D"), ("bird", "N"), ("sings", "V")])];
/// let settings = PathSettings { penalties: vec![1.0, 0.1], l1_ratio: 0.2, ..PathSettings::default() };
/// let path = path(&builder.finish(1)?, &held_out, &settings)?;
/// assert!(path.points[0].model.nonzero_weights() < path.points[1].model.nonzero_weights());
/// assert_eq!(path.best().expect("scored").score, Some(1.0));
/// println!("{path}");
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] for settings out of range; the errors of [`Crf::fit`].
pub fn path(
    corpus: &Corpus,
    held_out: &[Instance],
    settings: &PathSettings,
) -> Result<Path, Error> {
    path_with(corpus, held_out, settings, Fit::new())
}

/// As [`path`](fn@path), with a start for the largest penalty and a closure that watches all fits. `Break` ends the path with
/// the model so far.
///
/// # Errors
/// As [`path`](fn@path), and those of [`Crf::fit_with`].
pub fn path_with(
    corpus: &Corpus,
    held_out: &[Instance],
    settings: &PathSettings,
    mut fit: Fit<'_, CrfModel>,
) -> Result<Path, Error> {
    let ratio = settings.l1_ratio;
    if !(0.0..1.0).contains(&ratio) {
        let (name, expected) = ("l1_ratio", "a number in [0, 1)");
        return Err(Invalid::Parameter { name, value: ratio, expected }.into());
    }
    let mut penalties = settings.penalties.clone();
    if penalties.is_empty() {
        let n = corpus.data.sequences().max(1) as f64;
        penalties = (0..9).map(|k| 100.0 / n * 10.0_f64.powf(-0.5 * f64::from(k))).collect();
    }
    for &penalty in &penalties {
        Invalid::check_positive("penalties", penalty)?;
    }
    penalties.sort_by(|a, b| b.total_cmp(a));
    let mut budget = Budget::new(settings.crf.stop);
    let mut points: Vec<PathPoint> = Vec::with_capacity(penalties.len());
    for penalty in penalties {
        let (l1, l2) = (ratio * penalty, Some((1.0 - ratio) * penalty));
        let crf = Crf { l1, l2, stop: budget.left(), ..settings.crf.clone() };
        let start = points.last().map(|before| &before.model).or(fit.start);
        let (weights, watch) = (fit.weights, fit.watch.again());
        let model = crf.fit_with(corpus, Fit { weights, start, watch, ..Fit::new() })?;
        let report = model.report.filter(|report| report.status == Status::Stopped);
        if let Some(report) = &model.report {
            budget.spend(*report);
            fit.watch.spend(report);
        }
        let score = if held_out.is_empty() { None } else { Some(model.score(held_out)?) };
        points.push(PathPoint { penalty, model, score });
        if report.is_some() {
            break;
        }
    }
    Ok(Path { points })
}

impl Path {
    /// The point with the highest score, of equal ones that with the largest penalty; `None` without scores.
    pub fn best(&self) -> Option<&PathPoint> {
        let scored = self.points.iter().filter(|point| point.score.is_some());
        scored.reduce(|best, point| if point.score > best.score { point } else { best })
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12} {:>10} {:>8}  report", "penalty", "weights", "score")?;
        for PathPoint { penalty, model, score } in &self.points {
            write!(f, "\n{:>12} {:>10} ", number(*penalty, 4), model.nonzero_weights())?;
            match score {
                Some(score) => write!(f, "{score:>8.4}")?,
                None => write!(f, "{:>8}", "–")?,
            }
            if let Some(report) = &model.report {
                write!(f, "  {report}")?;
            }
        }
        Ok(())
    }
}
