//! Markov random fields from data.

use fenchel::mrf::potts::{Alignment, Alphabet, Gaps, PottsPseudoLikelihood};
use fenchel::mrf::{
    Coordinates, Data, MissingPolicy, NetworkModel, NodewiseLogistic, Penalty, PseudoLikelihood,
    Rule, Spg,
};
use fenchel::optim::{Fit, Stop};
use ndarray::Array1;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::control::{Control, Watcher};
use crate::error::{Raise, unknown};
use crate::report::to_dict;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(ising, module)?)?;
    module.add_function(wrap_pyfunction!(potts, module)?)?;
    Ok(())
}

/// Biases, couplings as a symmetric matrix with a diagonal of 0, warnings, and the report.
type Ising<'py> =
    (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>, Vec<String>, Bound<'py, PyDict>);

/// Learns a model of binary variables in the coordinates 0 and 1.
#[pyfunction]
fn ising<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    control: Control,
    method: &str,
    l1: f64,
    penalise_bias: bool,
    rule: &str,
    chains: usize,
) -> PyResult<Ising<'py>> {
    let data = Data::binary(x.as_array(), MissingPolicy::Error).map_err(Raise::raise)?;
    let weights: Option<Array1<f64>> = weights.map(|weights| weights.as_array().to_owned());
    let rule = match rule {
        "and" => Rule::And,
        "or" => Rule::Or,
        other => return Err(unknown("rule", other, "'and' or 'or'")),
    };
    let (own, seed) = (control.stop(), control.seed);
    let penalty = if penalise_bias { Penalty::l1(l1) } else { Penalty::edges(l1) };
    let absolute = Stop { absolute: own.relative, relative: 0.0, ..own };
    let model = match method {
        "nodewise" => {
            let learner = NodewiseLogistic { l1, rule, stop: own, seed };
            control.run(py, |watch| learner.fit_with(&data, given(&weights, watch)))
        }
        "pseudo_likelihood" => {
            let base = PseudoLikelihood::default();
            let learner = PseudoLikelihood { penalty, stop: absolute, ..base };
            control.run(py, |watch| learner.fit_with(&data, given(&weights, watch)))
        }
        "spg" => {
            let base = Spg::default();
            let stop = Stop { max_seconds: own.max_seconds, ..base.stop };
            let coordinates = Coordinates::Binary;
            let learner = Spg { penalty, coordinates, chains, stop, seed, ..base };
            control.run(py, |watch| learner.fit_with(&data, given(&weights, watch)))
        }
        other => Err(unknown("method", other, "'nodewise', 'pseudo_likelihood' or 'spg'")),
    }?;
    let pairs = model.binary().map_err(Raise::raise)?;
    let p = pairs.variables();
    let mut couplings = ndarray::Array2::zeros((p, p));
    for (i, j, weight) in pairs.edges() {
        couplings[[i as usize, j as usize]] = weight;
        couplings[[j as usize, i as usize]] = weight;
    }
    let bias = Array1::from(pairs.bias().to_vec());
    let warnings = model.warnings.iter().map(|warning| format!("{warning:?}")).collect();
    let report = to_dict(py, &model.report, None)?;
    Ok((bias.into_pyarray(py), couplings.into_pyarray(py), warnings, report))
}

/// What a fit is given besides the data.
fn given<'a>(weights: &'a Option<Array1<f64>>, watch: Watcher<'a>) -> Fit<'a, NetworkModel> {
    let weights = weights.as_ref().map(|weights| weights.view());
    Fit { weights, ..Fit::new().watch(watch) }
}

/// Contact scores and norms of couplings, fields with a row a column of the alignment, the weights of the sequences, and the
/// report.
type Potts<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray1<f64>>,
    Option<Bound<'py, PyDict>>,
);

/// Learns a model of aligned sequences of one length.
#[pyfunction]
fn potts<'py>(
    py: Python<'py>,
    sequences: Vec<Vec<u8>>,
    control: Control,
    alphabet: &str,
    gaps_missing: bool,
    identity: Option<f64>,
    l2: Option<f64>,
    group: f64,
) -> PyResult<Potts<'py>> {
    let columns = sequences.first().map_or(0, Vec::len);
    let flat: Vec<u8> = sequences.iter().flatten().copied().collect();
    let letters = ndarray::Array2::from_shape_vec((sequences.len(), columns), flat);
    let letters = letters.map_err(|_| {
        let row = sequences.iter().position(|row| row.len() != columns).unwrap_or(0);
        let found = format!("row {row} has another length than row 0, which has {columns} columns");
        unknown("sequences", &found, "aligned sequences of one length")
    })?;
    let alphabet = match alphabet {
        "protein" => Alphabet::protein(),
        "nucleotides" => Alphabet::nucleotides(),
        other => return Err(unknown("alphabet", other, "'protein' or 'nucleotides'")),
    };
    let gaps = if gaps_missing { Gaps::Missing } else { Gaps::State };
    let (stop, seed) = (control.stop(), control.seed);
    let learner = PottsPseudoLikelihood { l2, group, stop, seed, ..Default::default() };
    let (model, weights) = control.run(py, |watch| {
        let alignment = Alignment::new(letters.view(), alphabet, gaps)?;
        let alignment = match identity {
            Some(share) => alignment.identity_weights(share)?,
            None => alignment,
        };
        let model = learner.fit_with(&alignment, Fit::new().watch(watch))?;
        Ok::<_, fenchel::mrf::Error>((model, alignment.weights().clone()))
    })?;
    let fields = model.fields().to_vec();
    let shape = (model.columns(), model.states());
    let fields = ndarray::Array2::from_shape_vec(shape, fields);
    let fields = fields.map_err(|error| unknown("fields", &error.to_string(), "one a letter"))?;
    let report = model.report.as_ref().map(|report| to_dict(py, report, None)).transpose()?;
    Ok((
        model.contact_scores().into_pyarray(py),
        model.coupling_norms().into_pyarray(py),
        fields.into_pyarray(py),
        weights.into_pyarray(py),
        report,
    ))
}
