//! The models of `fit`: saved, loaded and asked.

use std::fs::File;
use std::path::Path;

use fenchel_cli::Failure;
use fenchel_cli::output::Target as Output;
use fenchel_datasets::FittedEncoder;
use fenchel_finite_sum::prelude::{AsDesign, Saved};
use fenchel_finite_sum::{
    Error, LinearModel, LogisticModel, PoissonModel, SoftmaxModel, Standardiser, SvcModel,
};
use fenchel_linalg::Names;
use fenchel_optim::Report;
use fenchel_optim::model::text_of;
use ndarray::{Array1, Array2, Axis, stack};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::data::{Target, numbers};

/// A fitted model of any kind.
pub(crate) enum Model {
    Logistic(LogisticModel<Target>),
    Softmax(SoftmaxModel<Target>),
    Svc(SvcModel<Target>),
    Linear(LinearModel),
    Poisson(PoissonModel),
}

/// The content of a model file: a model, and the encoder that makes its designs of tables, if it was fitted to one.
pub(crate) struct Fitted {
    pub(crate) encoder: Option<FittedEncoder>,
    pub(crate) model: Model,
}

/// Does the same with a model of any kind.
macro_rules! each {
    ($model:expr, $m:ident => $do:expr) => {
        match $model {
            Model::Logistic($m) => $do,
            Model::Softmax($m) => $do,
            Model::Svc($m) => $do,
            Model::Linear($m) => $do,
            Model::Poisson($m) => $do,
        }
    };
}

/// The part of a model file that says what the file holds.
#[derive(Deserialize)]
struct Kind {
    kind: String,
}

fn kind_of<M: Saved>(_: &M) -> &'static str {
    M::KIND
}

impl Fitted {
    pub(crate) fn load(path: &Path) -> Result<Fitted, Failure> {
        let file = path.display().to_string();
        let bytes = File::open(path).and_then(text_of);
        let bytes = bytes.map_err(|error| Failure::file(&file, error))?;
        // A pair is a list.
        let Ok((encoder, model)) = serde_json::from_slice::<(&RawValue, &RawValue)>(&bytes) else {
            return Ok(Fitted { encoder: None, model: Model::load(&file, &bytes)? });
        };
        let encoder = load(&file, encoder.get().as_bytes())?;
        let model = Model::load(&file, model.get().as_bytes())?;
        Ok(Fitted { encoder: Some(encoder), model })
    }

    pub(crate) fn save(&self, output: &Output) -> Result<(), Failure> {
        match &self.encoder {
            None => each!(&self.model, m => output.save(m)),
            Some(encoder) => each!(&self.model, m => output.save(&(encoder.clone(), m.clone()))),
        }
    }
}

fn load<M: Saved>(file: &str, bytes: &[u8]) -> Result<M, Failure> {
    M::load(bytes).map_err(|source| Failure::Model { file: file.to_owned(), source })
}

impl Model {
    fn load(file: &str, bytes: &[u8]) -> Result<Model, Failure> {
        let kind: Kind = serde_json::from_slice(bytes)
            .map_err(|error| Failure::file(file, format!("not a model file: {error}")))?;
        match kind.kind.as_str() {
            LogisticModel::<Target>::KIND => load(file, bytes).map(Model::Logistic),
            SoftmaxModel::<Target>::KIND => load(file, bytes).map(Model::Softmax),
            SvcModel::<Target>::KIND => load(file, bytes).map(Model::Svc),
            LinearModel::KIND => load(file, bytes).map(Model::Linear),
            PoissonModel::KIND => load(file, bytes).map(Model::Poisson),
            other => {
                let reason = format!("holds a {other}; expected a model of `fenchel fit`");
                Err(Failure::file(file, reason))
            }
        }
    }

    /// What it is called.
    pub(crate) fn kind(&self) -> &'static str {
        each!(self, m => kind_of(m))
    }

    pub(crate) fn report(&self) -> &Report {
        each!(self, m => &m.report)
    }

    /// The method that fitted it and why, in a sentence.
    pub(crate) fn choice(&self) -> Option<String> {
        each!(self, m => m.choice.as_ref().map(ToString::to_string))
    }

    pub(crate) fn for_raw_features(self, scale: &Standardiser) -> Result<Model, Error> {
        Ok(match self {
            Model::Logistic(m) => Model::Logistic(m.for_raw_features(scale)?),
            Model::Softmax(m) => Model::Softmax(m.for_raw_features(scale)?),
            Model::Svc(m) => Model::Svc(m.for_raw_features(scale)?),
            Model::Linear(m) => Model::Linear(m.for_raw_features(scale)?),
            Model::Poisson(m) => Model::Poisson(m.for_raw_features(scale)?),
        })
    }

    /// The weights: one row per feature; one column, or one per class.
    pub(crate) fn weights(&self) -> Array2<f64> {
        let column = |w: &Array1<f64>| w.clone().insert_axis(Axis(1));
        match self {
            Model::Softmax(m) => m.weights.clone(),
            Model::Logistic(m) => column(&m.weights),
            Model::Svc(m) => column(&m.weights),
            Model::Linear(m) => column(&m.weights),
            Model::Poisson(m) => column(&m.weights),
        }
    }

    /// The intercept, or one per class.
    pub(crate) fn intercepts(&self) -> Vec<f64> {
        match self {
            Model::Softmax(m) => m.intercepts.to_vec(),
            Model::Logistic(m) => vec![m.intercept],
            Model::Svc(m) => vec![m.intercept],
            Model::Linear(m) => vec![m.intercept],
            Model::Poisson(m) => vec![m.intercept],
        }
    }

    /// The number of features.
    pub(crate) fn features(&self) -> usize {
        match self {
            Model::Softmax(m) => m.weights.nrows(),
            Model::Logistic(m) => m.weights.len(),
            Model::Svc(m) => m.weights.len(),
            Model::Linear(m) => m.weights.len(),
            Model::Poisson(m) => m.weights.len(),
        }
    }

    /// The names of the features, or none.
    pub(crate) fn names(&self) -> &Names {
        each!(self, m => &m.names)
    }

    /// The labels, ascending; none for a regression.
    pub(crate) fn classes(&self) -> &[Target] {
        match self {
            Model::Softmax(m) => m.classes.labels(),
            Model::Logistic(m) => &m.classes,
            Model::Svc(m) => &m.classes,
            Model::Linear(_) | Model::Poisson(_) => &[],
        }
    }

    /// One label, number or mean per row.
    pub(crate) fn predict<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Vec<Target>, Error> {
        Ok(match self {
            Model::Logistic(m) => m.predict(x)?.to_vec(),
            Model::Softmax(m) => m.predict(x)?.to_vec(),
            Model::Svc(m) => m.predict(x)?.to_vec(),
            Model::Linear(m) => m.predict(x)?.mapv(Target::Number).to_vec(),
            Model::Poisson(m) => m.predict(x)?.mapv(Target::Number).to_vec(),
        })
    }

    /// The probability of each class, one row per row, for models that have them.
    pub(crate) fn probabilities<X: AsDesign + ?Sized>(
        &self,
        x: &X,
    ) -> Result<Option<Array2<f64>>, Error> {
        Ok(match self {
            Model::Softmax(m) => Some(m.predict_proba(x)?),
            Model::Logistic(m) => {
                let second = m.predict_proba(x)?;
                let first = 1.0 - &second;
                // Both have one entry a row.
                stack(Axis(1), &[first.view(), second.view()]).ok()
            }
            Model::Svc(_) | Model::Linear(_) | Model::Poisson(_) => None,
        })
    }

    /// What the score of this model is called.
    pub(crate) fn score_name(&self) -> &'static str {
        match self {
            Model::Logistic(_) | Model::Softmax(_) | Model::Svc(_) => "accuracy",
            Model::Linear(_) => "R2",
            Model::Poisson(_) => "D2",
        }
    }

    pub(crate) fn score<X: AsDesign + ?Sized>(&self, x: &X, y: &[Target]) -> Result<f64, Error> {
        match self {
            Model::Logistic(m) => m.score(x, y),
            Model::Softmax(m) => m.score(x, y),
            Model::Svc(m) => m.score(x, y),
            Model::Linear(m) => m.score(x, &numbers(y)?),
            Model::Poisson(m) => m.score(x, &numbers(y)?),
        }
    }
}
