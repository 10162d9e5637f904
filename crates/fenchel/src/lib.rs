//! Statistical estimation in exponential families with certified optimisation.
//!
//! Each module is a crate that can also be used alone. A fit returns a model, and the model has a report: the objective at the
//! answer, and a bound that proves how far the best possible answer can be. Nothing depends on the number of threads.
//!
//! ```
//! use fenchel::prelude::*;
//! # #[cfg(all(feature = "linear", feature = "datasets"))] {
//! use fenchel::{datasets::embedded, linear::LogisticRegression};
//!
//! let data = embedded::breast_cancer();
//! let model = LogisticRegression { l2: Some(0.1), ..Default::default() }.fit(&data.x, data.y.view())?;
//! println!("{}", model.report); // converged: objective ..., gap ... (relative ...), ... passes, ... s
//! let probabilities = model.predict_proba(&data.x)?;
//! # assert_eq!(model.report.status, Status::Converged);
//! # assert_eq!(probabilities.len(), data.y.len());
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # I have, I want
//!
//! | I have | I want | here | feature |
//! |---|---|---|---|
//! | a table and a label of two classes | a classifier, with a proof and a penalty by cross-validation | `linear::LogisticRegression`, `LogisticRegressionCv`, `LinearSvc` | `linear` |
//! | the same with several classes | probabilities of each | `linear::SoftmaxRegression`, `OneVsRest` | `linear` |
//! | many classes, and seconds | a sparse classifier | `saddle::MulticlassL1` | `saddle` |
//! | a table and a number | a regression, few features, groups of them | `linear::Ridge`, `Lasso`, `ElasticNet`, `GroupLasso` | `linear` |
//! | counts, rates, positive amounts | a GLM with R's summary | `expfam::glm::Glm` | `expfam` |
//! | draws of one variable | a family that fits, a posterior, a comparison | `expfam::mle`, `Prior`, `Em` | `expfam` |
//! | sentences with labels | a tagger | `crf::Crf` | `crf` |
//! | a BIF file | posteriors, explanations, interventions | `graphical::BayesNet` | `graphical` |
//! | rows of categories | the network behind them | `graphical::structure` | `graphical` |
//! | rows of two or more states | a sparse network without directions | `mrf::Spg`, `mrf::NodewiseLogistic` | `mrf` |
//! | an alignment of proteins | contacts | `mrf::potts` | `mrf` |
//! | measurements of genes, sensors, returns | which hang together | `ggm::GraphicalLasso`, `GraphicalLassoCv`, `ScaleFree` | `ggm` |
//! | ratings of films | recommendations | `ggm::ItemField` | `ggm` |
//! | a causal graph | whether an effect can be had from data, and how | `causal::identify` | `causal` |
//! | treatment, outcome, confounders | the effect | `causal::effect::EffectEstimator` | `causal` |
//! | many features and a response | the few combinations that matter | `moments::Sir`, `Sade`, `Mave` | `moments` |
//! | a matrix game, a small linear program | its value, with bounds | `saddle::matrix_game`, `linear_program` | `saddle` |
//! | a CSV file with texts, dates and missing cells | a design with names | `datasets::Encoder` | `datasets` |
//! | the same in a Parquet file | the same | `datasets::parquet_file` | `parquet` |
//! | a LIBSVM, IDX or CoNLL file | arrays | [`datasets`] | `datasets` |
//! | predictions | accuracy, F1, AUC, R2, folds | [`metrics`] | always |
//! | a fit, a path, a network | a picture of it | its `svg()`, `figure()` or `network()`, and `plot` | `plot` |
//! | a loss, a penalty or a method of my own | certificates, stopping rules, observers | [`optim`], `linear::Penalised` | always |
//!
//! # One way to fit
//!
//! ```text
//! let model = Estimator { field: value, ..Default::default() }.fit(&x, &y)?;      // or fit(&x)
//! let model = estimator.fit_with(&x, &y, Fit::new().weights(&w).start(&old).watch(&mut on_pass))?;
//! ```
//!
//! `x` is an `Array2` of `f64` or `f32`, a view of one, or a sparse `CsrMatrix`. Vectors are `Array1`, slices or `Vec`. Every
//! estimator is a struct with public fields and defaults; every model has a `report`, and is saved with [`Saved`](prelude::Saved).
//! An error names the argument, the row, and what was expected.
//!
//! The arrays are those of `ndarray` 0.17, which is here as [`ndarray`]. A program that names it itself needs the same version.
//!
//! # A guide
//!
//! The module `guide` (feature `full`) has eight chapters, each from data to a decision, and pages for those who come from
//! scikit-learn, statsmodels, CRFsuite, pgmpy and R.
#![forbid(unsafe_code)]

#[cfg(feature = "causal")]
#[doc(inline)]
pub use fenchel_causal as causal;
#[cfg(feature = "crf")]
#[doc(inline)]
pub use fenchel_crf as crf;
#[cfg(feature = "datasets")]
#[doc(inline)]
pub use fenchel_datasets as datasets;
#[cfg(feature = "expfam")]
#[doc(inline)]
pub use fenchel_expfam as expfam;
#[cfg(feature = "linear")]
#[doc(inline)]
pub use fenchel_finite_sum as linear;
#[cfg(feature = "ggm")]
#[doc(inline)]
pub use fenchel_ggm as ggm;
#[cfg(feature = "graphical")]
#[doc(inline)]
pub use fenchel_graphical as graphical;
#[doc(inline)]
pub use fenchel_linalg as linalg;
#[doc(inline)]
pub use fenchel_metrics as metrics;
#[cfg(feature = "moments")]
#[doc(inline)]
pub use fenchel_moments as moments;
#[cfg(feature = "mrf")]
#[doc(inline)]
pub use fenchel_mrf_learn as mrf;
#[doc(inline)]
pub use fenchel_optim as optim;
#[cfg(feature = "plot")]
#[doc(inline)]
pub use fenchel_plot as plot;
#[cfg(feature = "saddle")]
#[doc(inline)]
pub use fenchel_saddle as saddle;
pub use ndarray;

#[cfg(feature = "full")]
pub mod guide;

/// What nearly every program names: what fits, stops and saves, and arrays.
///
/// Estimators are not here. Their modules say what they are about: `linear`, `crf` and so on.
pub mod prelude {
    pub use fenchel_linalg::{AsDesign, CsrMatrix, Invalid, Named, Names};
    pub use fenchel_optim::model::Saved;
    pub use fenchel_optim::{Cadence, Fit, Progress, Report, Status, Stop};
    pub use ndarray::{Array1, Array2, ArrayView1, ArrayView2, array, s};
}

/// The example of the README, as a test.
#[cfg(all(doctest, feature = "linear", feature = "datasets"))]
#[doc = include_str!("../README.md")]
struct Readme;
