//! Causal graphs.

use fenchel::causal::adjustment::{
    SetSearch, adjustment_sets, back_door_sets, front_door_sets, optimal_adjustment,
};
use fenchel::causal::effect::{EffectEstimator, EffectMethod};
use fenchel::causal::{Admg, Error, Estimand, Hedge, NodeSet, ProbabilityTable, Query, identify};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::control::{Control, detached};
use crate::error::{Raise, unknown};
use crate::report::to_dict;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CausalGraph>()?;
    module.add_class::<Formula>()?;
    module.add_class::<Refused>()?;
    module.add_function(wrap_pyfunction!(treatment_effect, module)?)?;
    Ok(())
}

/// A graph with arrows, and arcs for hidden common causes.
#[pyclass(frozen, module = "fenchel._core")]
struct CausalGraph(Admg);

/// A formula that answers a query.
#[pyclass(frozen, module = "fenchel._core")]
struct Formula(Estimand);

/// The proof that no formula answers a query.
#[pyclass(frozen, module = "fenchel._core")]
struct Refused(Hedge, Admg);

/// Names of nodes.
type Names = Vec<String>;
/// The names of a table, its numbers of states, and its values with the last variable fastest.
type Table<'py> = (Names, Vec<usize>, Bound<'py, PyArray1<f64>>);

impl CausalGraph {
    fn set(&self, names: &[String]) -> PyResult<NodeSet> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.0.set(&names).map_err(Raise::raise)
    }

    fn names_of(&self, set: NodeSet) -> Names {
        set.iter().map(|v| self.0.name(v).to_owned()).collect()
    }
}

#[pymethods]
impl CausalGraph {
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Self> {
        Admg::parse(text).map(CausalGraph).map_err(Raise::raise)
    }

    fn nodes(&self) -> Names {
        self.0.names().to_vec()
    }

    fn directed(&self) -> Vec<(String, String)> {
        let name = |v| self.0.name(v).to_owned();
        self.0.directed().map(|(a, b)| (name(a), name(b))).collect()
    }

    fn bidirected(&self) -> Vec<(String, String)> {
        let name = |v| self.0.name(v).to_owned();
        self.0.bidirected().map(|(a, b)| (name(a), name(b))).collect()
    }

    fn project(&self, hidden: Names) -> PyResult<Self> {
        let hidden = self.set(&hidden)?;
        self.0.project(hidden).map(CausalGraph).map_err(Raise::raise)
    }

    fn m_separated(&self, x: Names, y: Names, given: Names) -> PyResult<bool> {
        let (x, y, given) = (self.set(&x)?, self.set(&y)?, self.set(&given)?);
        self.0.m_separated(x, y, given).map_err(Raise::raise)
    }

    /// A formula, or the proof that there is none. The query is a text such as `P(y | do(x), z)`.
    fn identify(
        &self,
        py: Python<'_>,
        query: &str,
    ) -> PyResult<(Option<Formula>, Option<Refused>)> {
        let query: Query = self.0.query(query).map_err(Raise::raise)?;
        let found = || match identify(&self.0, query) {
            Ok(estimand) => Ok((Some(Formula(estimand)), None)),
            Err(Error::NotIdentifiable(hedge)) => Ok((None, Some(Refused(*hedge, self.0.clone())))),
            Err(error) => Err(error),
        };
        detached(py, found)
    }

    /// Sets of a kind for the effect of `x` on `y`, the smallest first.
    fn sets(
        &self,
        py: Python<'_>,
        kind: &str,
        x: Names,
        y: Names,
        forbidden: Names,
        limit: usize,
    ) -> PyResult<Vec<Names>> {
        let (x, y, forbidden) = (self.set(&x)?, self.set(&y)?, self.set(&forbidden)?);
        let search = SetSearch { forbidden, limit };
        let find = match kind {
            "back_door" => back_door_sets,
            "adjustment" => adjustment_sets,
            "front_door" => front_door_sets,
            other => return Err(unknown("kind", other, "a kind of sets")),
        };
        let sets = detached(py, || find(&self.0, x, y, &search))?;
        Ok(sets.into_iter().map(|set| self.names_of(set)).collect())
    }

    fn optimal_adjustment(&self, x: Names, y: Names) -> PyResult<Names> {
        let (x, y) = (self.set(&x)?, self.set(&y)?);
        let found = optimal_adjustment(&self.0, x, y).map_err(Raise::raise)?;
        Ok(self.names_of(found))
    }
}

#[pymethods]
impl Formula {
    fn text(&self) -> String {
        self.0.to_string()
    }

    fn latex(&self) -> String {
        self.0.latex()
    }

    /// The names of the graph, in the order of the columns of the data.
    fn names(&self) -> Names {
        self.0.names.clone()
    }

    /// The value of the formula at the relative frequencies of the data; NaN where it is undefined.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        data: PyReadonlyArray2<'py, i64>,
        cards: Vec<usize>,
        pseudo_count: f64,
    ) -> PyResult<Table<'py>> {
        let joint = joint(&data, &cards, pseudo_count)?;
        let table = detached(py, || self.0.evaluate(&joint))?;
        let names = table.scope().iter().map(|&v| self.0.names[v as usize].clone()).collect();
        Ok((names, table.cards().to_vec(), table.values().to_vec().into_pyarray(py)))
    }

    /// The mean of an outcome under one state of the treatment, minus that under another.
    fn average_effect(
        &self,
        data: PyReadonlyArray2<'_, i64>,
        cards: Vec<usize>,
        pseudo_count: f64,
        values: Vec<f64>,
        change: (usize, usize),
    ) -> PyResult<f64> {
        let joint = joint(&data, &cards, pseudo_count)?;
        self.0.average_effect(&joint, &values, change.0, change.1).map_err(Raise::raise)
    }
}

fn joint(
    data: &PyReadonlyArray2<'_, i64>,
    cards: &[usize],
    pseudo_count: f64,
) -> PyResult<ProbabilityTable> {
    // A negative code becomes one that no column has, which is refused with its row.
    let data = data.as_array().mapv(|code| usize::try_from(code).unwrap_or(usize::MAX));
    ProbabilityTable::from_data(data.view(), cards, pseudo_count).map_err(Raise::raise)
}

#[pymethods]
impl Refused {
    fn text(&self) -> String {
        self.0.to_string()
    }

    /// The larger set, the smaller one, and its roots.
    fn parts(&self) -> (Names, Names, Names) {
        let of = |set: NodeSet| set.iter().map(|v| self.1.name(v).to_owned()).collect();
        (of(self.0.outer), of(self.0.inner), of(self.0.roots))
    }

    /// Two models of the graph: for each the observed law and the effect; then how far they are apart on both.
    fn witness<'py>(&self, py: Python<'py>) -> PyResult<(Vec<(Table<'py>, Table<'py>)>, f64, f64)> {
        let query = self.0.failed;
        let (laws, apart) = detached(py, || {
            let witness = self.0.witness()?;
            let law = |model: &fenchel::causal::LatentModel| {
                Ok::<_, Error>((model.observed()?, model.effect(query)?))
            };
            Ok::<_, Error>(([law(&witness.first)?, law(&witness.second)?], witness.check(query)?))
        })?;
        let named = |table: &ProbabilityTable| {
            let names = table.scope().iter().map(|&v| self.1.name(v).to_owned()).collect();
            (names, table.cards().to_vec(), table.values().to_vec().into_pyarray(py))
        };
        let models = laws.iter().map(|(seen, effect)| (named(seen), named(effect))).collect();
        Ok((models, apart.observed, apart.effect))
    }
}

/// The average effect of a binary treatment, adjusted for the columns of `x`, as a dictionary.
#[pyfunction]
fn treatment_effect<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    treated: Vec<bool>,
    y: PyReadonlyArray1<'py, f64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    control: Control,
    method: &str,
    interactions: Vec<usize>,
    bootstrap: usize,
    level: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let method = match method {
        "standardization" => EffectMethod::Standardisation,
        "weighting" => EffectMethod::Weighting,
        "doubly_robust" => EffectMethod::DoublyRobust,
        other => {
            let expected = "'standardization', 'weighting' or 'doubly_robust'";
            return Err(unknown("method", other, expected));
        }
    };
    let (stop, seed) = (control.stop(), control.seed);
    let estimator = EffectEstimator { method, interactions, bootstrap, level, stop, seed };
    let (x, y) = (x.as_array(), y.as_array());
    let weights = weights.as_ref().map(|weights| weights.as_array());
    let model = control.run(py, |watch| {
        let weights = weights.as_ref().map(|weights| weights.view());
        let fit = fenchel::optim::Fit::new().watch(watch);
        estimator.fit_with(x, &treated, y, fenchel::optim::Fit { weights, ..fit })
    })?;
    let dict = PyDict::new(py);
    dict.set_item("effect", model.effect)?;
    dict.set_item("mean_treated", model.mean_treated)?;
    dict.set_item("mean_control", model.mean_control)?;
    dict.set_item("standard_error", model.standard_error)?;
    dict.set_item("interval", model.interval)?;
    dict.set_item("failed_resamples", model.failed_resamples)?;
    dict.set_item("propensity", model.propensity.into_pyarray(py))?;
    let overlap = PyDict::new(py);
    overlap.set_item("treated", model.overlap.treated)?;
    overlap.set_item("control", model.overlap.control)?;
    overlap.set_item("effective_treated", model.overlap.effective_treated)?;
    overlap.set_item("effective_control", model.overlap.effective_control)?;
    overlap.set_item("extreme", model.overlap.extreme)?;
    overlap.set_item("imbalance", model.overlap.imbalance)?;
    overlap.set_item("imbalance_weighted", model.overlap.imbalance_weighted)?;
    dict.set_item("overlap", overlap)?;
    dict.set_item("report", to_dict(py, &model.report, None)?)?;
    Ok(dict)
}
