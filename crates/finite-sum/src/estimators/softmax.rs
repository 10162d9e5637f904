//! Multinomial logistic regression.

use std::fmt;

use fenchel_linalg::labels::{Classes, Label};
use fenchel_linalg::special::softmax_in_place;
use fenchel_linalg::{AsDesign, Design, Invalid, Names, Standardiser};
use fenchel_optim::model::Saved;
use fenchel_optim::prox::{L1, SparseGroupLasso, Zero};
use fenchel_optim::settings;
use fenchel_optim::{Fit, Report, Solution, Stop, Watch};
use ndarray::{Array1, Array2, ArrayView1, Axis};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::class_weights::ClassWeights;
use super::predictor::{score_labels, write_weights};
use super::solve::{check_rows_per_class, same_classes};
use crate::Error;
use crate::auto::{AutoSettings, AutoState, Choice};
use crate::methods::lag::Composite;
use crate::multiclass::{MulticlassAuto, MulticlassPoint, MulticlassProblem, auto, feature_groups};

settings! {
    /// Multinomial logistic regression with l2, l1 and group penalties. The matrix `W` of weights has one row `W_c`
    /// per feature and one column for each of the `r` classes:
    ///
    /// ```math
    /// \min_{W, b} \; \frac{1}{n} \sum_{i=1}^n -\log \mathrm{softmax}(W^\top a_i + b)_{y_i} + \frac{l_2}{2} \|W\|^2 + l_1 \|W\|_1 + \mathrm{group} \, \sqrt{r} \sum_c \|W_c\|
    /// ```
    ///
    /// The method is chosen by [`multiclass::auto`](crate::multiclass::auto). It is accelerated dual ascent with one
    /// distribution per row in most cases, Newton's method for few features and classes or very small penalties, and
    /// FISTA for `group > 0`. The field `choice` of the model says which, and why. If there are many classes with few
    /// rows each, also try [`OneVsRest`](super::OneVsRest), whose fits are independent.
    ///
    /// ```
    /// use fenchel_finite_sum::SoftmaxRegression;
    /// use ndarray::array;
    ///
    /// let x = array![[0.0, 1.0], [0.2, 1.1], [3.0, 0.0], [3.1, 0.2], [0.1, -2.0], [0.0, -2.2]];
    /// let y = ["up", "up", "right", "right", "down", "down"];
    /// let model = SoftmaxRegression::default().fit(&x, &y)?;
    /// assert_eq!(model.predict(&x)?.to_vec(), y);
    /// assert!(model.report.certificate.relative() <= 1e-4);
    /// # Ok::<(), fenchel_finite_sum::Error>(())
    /// ```
    pub struct SoftmaxRegression {
        /// Weight of `||W||^2 / 2`. The default `None` is `1/n`, which is `C = 1` in scikit-learn, or 0 if `l1 +
        /// group > 0`.
        l2: Option<f64> = None,
        /// Weight of `||W||_1`.
        l1: f64 = 0.0,
        /// Weight of the sum of the norms of the rows of `W`, each multiplied by `sqrt(r)`. It includes or excludes a
        /// feature for all classes at once.
        group: f64 = 0.0,
        /// Whether to fit an unpenalised intercept for every class.
        intercept: bool = true,
        /// The weight of each class.
        class_weights: ClassWeights = ClassWeights::Equal,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
        /// Seed of the visiting order.
        seed: u64 = 0,
    }
}

impl SoftmaxRegression {
    /// Fits a model to an `n x d` design and `n` labels of at least two distinct values: any [`Label`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that is empty, not finite or of another shape, labels of one value only, or penalties that are negative.
    pub fn fit<'a, X: AsDesign + ?Sized, L: Label + 'a>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, L>>,
    ) -> Result<SoftmaxModel<L>, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows, a former model to start from, and a closure that watches. Only the
    /// proportions of the weights matter; the mean loss becomes the weighted mean.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and [`Error::Invalid`] for weights that are negative, all 0, all 0 in a class that is to have an intercept, or not one a row, and for a
    /// start of other features or classes.
    pub fn fit_with<'a, X: AsDesign + ?Sized, L: Label + 'a>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, L>>,
        fit: Fit<'_, SoftmaxModel<L>>,
    ) -> Result<SoftmaxModel<L>, Error> {
        let (y, Fit { weights, start, mut watch, .. }) = (y.into(), fit);
        let design = x.as_design()?;
        Invalid::check_length("labels", design.rows(), y.len())?;
        Invalid::check_nonnegative("l1", self.l1)?;
        Invalid::check_nonnegative("group", self.group)?;
        let (classes, codes) = Classes::from_labels(&y.to_vec())?;
        let own = self.class_weights.times(y, weights)?;
        let weights = own.as_deref().map(ArrayView1::from).or(weights);
        if self.intercept {
            check_rows_per_class(classes.labels(), codes.iter().copied(), weights, 1)?;
        }
        let start = start.map(|start| {
            same_classes(start.classes.labels(), classes.labels())?;
            let weights = start.weights.iter().copied().collect();
            Ok::<_, Error>(MulticlassPoint { weights, intercepts: start.intercepts.to_vec() })
        });
        let start = start.transpose()?;
        let r = classes.len();
        let problem = self.posed(design, &codes, r, weights)?;
        let Solution { state, report } = if self.group > 0.0 {
            let groups = feature_groups(design.columns(), r)?;
            let h = SparseGroupLasso { groups, l1: self.l1, group: self.group };
            self.run(problem, h, start, &mut watch)?
        } else {
            self.run(problem, L1 { strength: self.l1 }, start, &mut watch)?
        };
        let AutoState { point, choice, .. } = state;
        let shape = (design.columns(), r);
        let weights = Array2::from_shape_vec(shape, point.weights).expect("d r weights");
        let (intercepts, choice) = (point.intercepts.into(), Some(choice));
        let names = x.names().clone();
        Ok(SoftmaxModel { weights, intercepts, classes, names, report, choice })
    }
}

impl SoftmaxRegression {
    fn posed<'a, D: Design>(
        &self,
        design: D,
        codes: &'a [usize],
        classes: usize,
        weights: Option<ArrayView1<f64>>,
    ) -> Result<MulticlassProblem<'a, D, Zero>, Error> {
        let other = self.l1 + self.group > 0.0;
        let l2 = self.l2.unwrap_or(if other { 0.0 } else { 1.0 / codes.len().max(1) as f64 });
        let problem = MulticlassProblem::new(design, codes, classes, Zero, l2)?;
        let problem = match weights {
            None => problem,
            Some(weights) => problem.with_weights(&weights.to_vec())?,
        };
        if self.intercept { problem.with_intercepts() } else { Ok(problem) }
    }

    fn run<D: Design + Copy, R: Composite>(
        &self,
        problem: MulticlassProblem<'_, D, Zero>,
        regulariser: R,
        start: Option<MulticlassPoint>,
        watch: &mut Watch<'_>,
    ) -> Result<Solution<MulticlassAuto>, Error> {
        let l2 = problem.l2();
        let problem = problem.penalised(regulariser, l2)?;
        let settings = AutoSettings { seed: self.seed, stop: self.stop, ..AutoSettings::default() };
        auto(&problem, &settings, start, watch)
    }
}

/// A fitted multinomial logistic regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "L: Label + Deserialize<'de>"))]
pub struct SoftmaxModel<L = f64> {
    /// The weights, with one row per feature and one column per class. (In scikit-learn, `coef_` is the transpose.)
    pub weights: Array2<f64>,
    /// One intercept per class.
    pub intercepts: Array1<f64>,
    /// The labels, ascending, in the order of the columns.
    pub classes: Classes<L>,
    /// The names of the features, if the design had them.
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub names: Names,
    /// The report of the fit, with its certificate.
    pub report: Report,
    /// The method that was chosen, and the reason. It is `None` if a file does not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
}

score_labels!(SoftmaxModel);

impl<L: Label> SoftmaxModel<L> {
    /// The scores `W'a + b`, with one row per row of `x` and one column per class. The softmax of a row contains the
    /// probabilities.
    ///
    /// # Errors
    /// [`Error::Invalid`] if rows are not finite or do not have the length of the weights.
    pub fn decision_function<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array2<f64>, Error> {
        let design = x.as_design()?;
        let what = "columns of the design matrix";
        Invalid::check_length(what, self.weights.nrows(), design.columns())?;
        self.names.check_design(x.names())?;
        let (w, b): (Vec<f64>, Vec<f64>) =
            (self.weights.iter().copied().collect(), self.intercepts.to_vec());
        let mut scores = vec![0.0; design.rows() * b.len()];
        fenchel_erm::parts::scores(&design, &w, &b, &mut scores);
        Ok(Array2::from_shape_vec((design.rows(), b.len()), scores).expect("n r scores"))
    }

    /// The probabilities of the classes, one row per row of `x`.
    ///
    /// # Errors
    /// The errors of [`decision_function`](SoftmaxModel::decision_function).
    pub fn predict_proba<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array2<f64>, Error> {
        let mut scores = self.decision_function(x)?;
        for mut row in scores.rows_mut() {
            softmax_in_place(row.as_slice_mut().expect("rows are contiguous"));
        }
        Ok(scores)
    }

    /// Predicts one label per row: the most probable one.
    ///
    /// # Errors
    /// The errors of [`decision_function`](SoftmaxModel::decision_function).
    pub fn predict<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<L>, Error> {
        Ok(likeliest(&self.decision_function(x)?, &self.classes))
    }

    /// Returns the same classifier for raw features. Fit on `scale.transform(&x)`, call this, then predict on `x` itself.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the number of features differs.
    pub fn for_raw_features(mut self, scale: &Standardiser) -> Result<Self, Error> {
        for (weights, intercept) in self.weights.columns_mut().into_iter().zip(&mut self.intercepts)
        {
            scale.unscale(weights, intercept)?;
        }
        Ok(self)
    }
}

/// The intercepts and the weights that are not 0, a line for each feature and a column for each class.
impl<L: Label> fmt::Display for SoftmaxModel<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self.classes.labels().iter().map(|label| format!("{label:?}")).collect();
        let columns = (labels, self.intercepts.to_vec());
        write_weights(f, "softmax regression", &self.names, columns, self.weights.view())
    }
}

/// Returns the label with the largest score of every row, and the first of them if several scores are equal.
pub(super) fn likeliest<L: Label>(scores: &Array2<f64>, classes: &Classes<L>) -> Array1<L> {
    let best = |row: ArrayView1<f64>| {
        let largest = |best: usize, k: usize| if row[k] > row[best] { k } else { best };
        classes.labels()[(1..row.len()).fold(0, largest)].clone()
    };
    scores.axis_iter(Axis(0)).map(best).collect()
}

impl<L: Label + Serialize + DeserializeOwned> Saved for SoftmaxModel<L> {
    const KIND: &'static str = "softmax regression";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        let (r, shape) = (self.classes.len(), self.weights.dim());
        if shape.0 == 0 || shape.1 != r || self.intercepts.len() != r {
            let found = self.intercepts.len();
            return Err(format!(
                "weights of {} x {} and {found} intercepts; expected one column a class, {r}",
                shape.0, shape.1
            ));
        }
        self.names.check(shape.0).map_err(|error| error.to_string())?;
        match self.weights.iter().chain(&self.intercepts).position(|w| !w.is_finite()) {
            None => Ok(()),
            Some(place) => Err(format!("weight {place} is not finite")),
        }
    }
}
