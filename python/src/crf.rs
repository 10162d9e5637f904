//! Conditional random fields on chains.

use std::fmt::Write;

use fenchel::crf::{
    CorpusBuilder, Crf, CrfModel, Error, Features, Fit, Instance, Method, Saved, Support, Tagger,
};
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::control::{Control, pieces};
use crate::error::unknown;
use crate::report::to_dict;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Chain>()?;
    module.add_function(wrap_pyfunction!(fit_crf, module)?)?;
    Ok(())
}

/// So many sequences are labelled between two looks at signals.
const PIECE: usize = 1000;

/// Dictionaries in dictionaries go so deep at most.
const DEPTH: usize = 32;

/// A fitted model.
#[pyclass(frozen, module = "fenchel._core")]
struct Chain(CrfModel);

/// Two names and a weight.
type Named = (String, String, f64);

/// Trains a model on sequences of tokens, each a dictionary or a list of names.
#[pyfunction]
#[pyo3(signature = (x, y, control, penalty, method, all_states, all_transitions, bias, ends, min_freq, start=None))]
fn fit_crf<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    control: Control,
    penalty: (f64, f64),
    method: &str,
    all_states: bool,
    all_transitions: bool,
    bias: bool,
    ends: bool,
    min_freq: u32,
    start: Option<&Bound<'py, Chain>>,
) -> PyResult<(Chain, Bound<'py, PyDict>)> {
    let mut builder = CorpusBuilder::new();
    let mut instance = Instance::new();
    let mut labels = y.try_iter()?;
    for (number, sequence) in x.try_iter()?.enumerate() {
        let Some(labels) = labels.next() else {
            return Err(PyValueError::new_err(format!(
                "y: {number} sequences of labels; X has more"
            )));
        };
        read(&sequence?, Some(&labels?), number, &mut instance)?;
        builder.push(&instance).map_err(crate::error::Raise::raise)?;
    }
    if labels.next().is_some() {
        let found = format!("X: {} sequences; y has more", builder.len());
        return Err(PyValueError::new_err(found));
    }
    let method = method_of(method)?;
    let sequences = builder.len().max(1) as f64;
    let support = |all| if all { Support::All } else { Support::Observed };
    let crf = Crf {
        l1: penalty.0 / sequences,
        l2: Some(penalty.1 / sequences),
        features: Features {
            states: support(all_states),
            transitions: support(all_transitions),
            bias,
            ends,
        },
        method,
        stop: control.stop(),
        seed: control.seed,
        ..Crf::default()
    };
    let start = start.map(|start| &start.get().0);
    let model = control.run(py, |watch| {
        let corpus = builder.finish(min_freq)?;
        crf.fit_with(&corpus, Fit { start, ..Fit::new().watch(watch) })
    })?;
    let report = match &model.report {
        Some(report) => to_dict(py, report, None)?,
        None => PyDict::new(py),
    };
    Ok((Chain(model), report))
}

/// The method of a training.
pub(crate) fn method_of(name: &str) -> PyResult<Method> {
    match name {
        "auto" => Ok(Method::Auto),
        "sdca" => Ok(Method::Sdca),
        "lbfgs" => Ok(Method::Lbfgs),
        other => Err(unknown("algorithm", other, "'auto', 'sdca' or 'lbfgs'")),
    }
}

#[pymethods]
impl Chain {
    /// The content of a model file.
    fn dump<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = vec![];
        self.0.save(&mut bytes).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn load(bytes: &[u8]) -> PyResult<Self> {
        CrfModel::load(bytes).map(Chain).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// How the training of the file ended, if it says so.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.0.report.as_ref().map(|report| to_dict(py, report, None)).transpose()
    }

    fn labels(&self) -> Vec<String> {
        self.0.labels().iter().map(str::to_owned).collect()
    }

    fn attributes(&self) -> Vec<String> {
        self.0.attributes().iter().map(str::to_owned).collect()
    }

    /// The weights of attributes and labels that are not zero, the largest first.
    fn state_features(&self) -> Vec<Named> {
        self.0.largest_state_weights(usize::MAX).into_iter().map(named).collect()
    }

    /// The weights of successive labels that are not zero, the largest first.
    fn transition_features(&self) -> Vec<Named> {
        self.0.largest_transition_weights(usize::MAX).into_iter().map(named).collect()
    }

    /// The most probable labels of each sequence.
    fn tag(&self, py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<String>>> {
        let instances = read_all(x)?;
        let mut found = Vec::with_capacity(instances.len());
        pieces(py, instances.len(), PIECE, |piece| {
            let first = piece.start;
            let tags = self.0.tag_all(&instances[piece]).map_err(|error| placed(error, first))?;
            found
                .extend(tags.into_iter().map(|tags| tags.into_iter().map(str::to_owned).collect()));
            Ok::<_, Error>(())
        })?;
        Ok(found)
    }

    /// The probability of every label, for each sequence an array of tokens x labels.
    fn marginals<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
        let instances = read_all(x)?;
        let mut found: Vec<Array2<f64>> = Vec::with_capacity(instances.len());
        pieces(py, instances.len(), PIECE, |piece| {
            let ask = |tagger: &mut Tagger<'_>, one: &Instance| tagger.marginals(one);
            let first = piece.start;
            let marginals = self.0.tagger().for_all(&instances[piece], ask);
            found.extend(marginals.map_err(|error| placed(error, first))?);
            Ok::<_, Error>(())
        })?;
        Ok(found.into_iter().map(|one| one.into_pyarray(py)).collect())
    }
}

/// The error of a sequence of a piece that begins at `first`.
fn placed(error: Error, first: usize) -> Error {
    match error {
        Error::EmptySequence { sequence } => Error::EmptySequence { sequence: first + sequence },
        Error::InSequence { sequence, error } => {
            Error::InSequence { sequence: first + sequence, error }
        }
        other => other,
    }
}

fn named((one, two, weight): (&str, &str, f64)) -> Named {
    (one.to_owned(), two.to_owned(), weight)
}

fn read_all(x: &Bound<'_, PyAny>) -> PyResult<Vec<Instance>> {
    let one = |(number, sequence): (usize, PyResult<Bound<'_, PyAny>>)| {
        let mut instance = Instance::new();
        read(&sequence?, None, number, &mut instance)?;
        Ok(instance)
    };
    x.try_iter()?.enumerate().map(one).collect()
}

/// Reads the tokens of a sequence, and their labels.
fn read(
    tokens: &Bound<'_, PyAny>,
    labels: Option<&Bound<'_, PyAny>>,
    number: usize,
    to: &mut Instance,
) -> PyResult<()> {
    to.clear();
    if tokens.is_instance_of::<PyString>() || tokens.is_instance_of::<PyDict>() {
        return Err(PyTypeError::new_err(format!(
            "sequence {number}: expected a list of tokens, each a dictionary or a list of names"
        )));
    }
    let mut labels = labels.map(|labels| labels.try_iter()).transpose()?;
    let mut name = String::new();
    for (place, token) in tokens.try_iter()?.enumerate() {
        let token = token?;
        match &mut labels {
            None => to.begin_token(""),
            Some(labels) => {
                let Some(label) = labels.next() else {
                    return Err(PyValueError::new_err(format!(
                        "sequence {number}: {place} labels for more tokens"
                    )));
                };
                let label = label?;
                let label = label.cast::<PyString>().map_err(|_| {
                    PyTypeError::new_err(format!(
                        "label {place} of sequence {number}: expected a string"
                    ))
                })?;
                to.begin_token(label.to_str()?);
            }
        }
        let at = Place { number, place };
        if let Ok(attributes) = token.cast::<PyDict>() {
            name.clear();
            pairs(attributes, &mut name, &at, DEPTH, to)?;
        } else if token.is_instance_of::<PyString>() {
            return Err(at.refuse("a string", "a dictionary or a list of names"));
        } else {
            for attribute in token.try_iter()? {
                let attribute = attribute?;
                let attribute = attribute.cast::<PyString>();
                let attribute = attribute.map_err(|_| at.refuse("another thing", "names"))?;
                to.push(attribute.to_str()?, 1.0);
            }
        }
    }
    if let Some(mut labels) = labels
        && labels.next().is_some()
    {
        let tokens = to.len();
        return Err(PyValueError::new_err(format!(
            "sequence {number}: more labels than its {tokens} tokens"
        )));
    }
    Ok(())
}

/// A token of the data.
struct Place {
    number: usize,
    place: usize,
}

impl Place {
    fn refuse(&self, found: &str, expected: &str) -> PyErr {
        let Place { number, place } = self;
        PyTypeError::new_err(format!(
            "token {place} of sequence {number} has {found}; expected {expected}"
        ))
    }
}

/// The attributes of a dictionary, named as python-crfsuite does: a text `value` of `key` is `key:value` with the value 1, a
/// number is the value of `key`, and a dictionary, list or set has one attribute for each entry.
fn pairs(
    attributes: &Bound<'_, PyDict>,
    name: &mut String,
    at: &Place,
    depth: usize,
    to: &mut Instance,
) -> PyResult<()> {
    if depth == 0 {
        let expected = format!("at most {DEPTH} in each other");
        return Err(at.refuse("dictionaries in dictionaries", &expected));
    }
    let prefix = name.len();
    for (key, value) in attributes {
        name.truncate(prefix);
        match key.cast::<PyString>() {
            Ok(key) => name.push_str(key.to_str()?),
            Err(_) => {
                let written = write!(name, "{}", key.str()?);
                written.map_err(|_| at.refuse("a key that is no text", "text"))?;
            }
        }
        if let Ok(text) = value.cast::<PyString>() {
            name.push(':');
            name.push_str(text.to_str()?);
            to.push(name, 1.0);
        } else if let Ok(value) = value.extract::<f64>() {
            to.push(name, value);
        } else if let Ok(inner) = value.cast::<PyDict>() {
            name.push(':');
            pairs(inner, name, at, depth - 1, to)?;
        } else if let Ok(entries) = value.try_iter() {
            name.push(':');
            let key = name.len();
            for entry in entries {
                name.truncate(key);
                let entry = entry?;
                let entry = entry.cast::<PyString>();
                name.push_str(entry.map_err(|_| at.refuse("an entry", "text"))?.to_str()?);
                to.push(name, 1.0);
            }
        } else {
            let found = format!("{name:?} = {value}");
            return Err(at.refuse(&found, "text, a number, or a list of texts"));
        }
    }
    name.truncate(prefix);
    Ok(())
}
