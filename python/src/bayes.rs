//! Bayesian networks.

use std::path::PathBuf;

use fenchel::graphical::bayes_net::{Em, Explanation};
use fenchel::graphical::structure::{
    ExactSearch, HillClimbing, IndependenceTest, LearnedDag, Pc, chow_liu,
};
use fenchel::graphical::{
    BayesNet, Error, Evidence, MISSING, Prior, StructureScore, VarId, bif, networks, uai,
};
use fenchel::optim::Stop;
use fenchel::optim::random::stream;
use ndarray::{Array2, ArrayView2, Axis};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::control::{Control, detached, pieces};
use crate::error::{Raise, unknown};
use crate::report::to_dict;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Network>()?;
    module.add_function(wrap_pyfunction!(learn_structure, module)?)?;
    Ok(())
}

/// A network with its tables.
#[pyclass(frozen, module = "fenchel._core")]
struct Network(BayesNet);

/// Variables with their states.
type Hard = Vec<(String, String)>;
/// Variables with a likelihood for each state.
type Soft = Vec<(String, Vec<(String, f64)>)>;
/// Nodes of arcs.
type Arcs = Vec<(u32, u32)>;

impl Network {
    fn evidence(&self, hard: &Hard, soft: &Soft) -> Result<Evidence, Error> {
        let pairs: Vec<(&str, &str)> = hard.iter().map(|(v, s)| (&v[..], &s[..])).collect();
        let mut evidence = self.0.evidence(&pairs)?;
        for (variable, likelihood) in soft {
            let likelihood: Vec<(&str, f64)> =
                likelihood.iter().map(|(s, p)| (&s[..], *p)).collect();
            evidence = evidence.with(&self.0.soft_evidence(variable, &likelihood)?);
        }
        Ok(evidence)
    }

    fn ids(&self, variables: &[String]) -> Result<Vec<VarId>, Error> {
        variables.iter().map(|name| self.0.variable(name)).collect()
    }

    /// An explanation by names, with `ln P(states, evidence)`.
    fn named(&self, found: &Explanation) -> (Hard, f64) {
        let pairs = found.variables.iter().zip(&found.states);
        let name = |(&v, &state): (&VarId, &usize)| {
            (self.0.name_of(v).to_owned(), self.0.states_of(v)[state].clone())
        };
        (pairs.map(name).collect(), found.log_joint)
    }
}

#[pymethods]
impl Network {
    /// From variables with their states, and children with their parents and tables (`None`: uniform).
    #[new]
    fn new(
        name: &str,
        variables: Vec<(String, Vec<String>)>,
        tables: Vec<(String, Vec<String>, Option<Vec<f64>>)>,
    ) -> PyResult<Self> {
        let mut net = BayesNet::builder().name(name);
        for (name, states) in &variables {
            net = net.variable(name, &slices(states));
        }
        for (child, parents, table) in &tables {
            net = match table {
                Some(table) => net.cpt(child, &slices(parents), table),
                None => net.arcs(child, &slices(parents)),
            };
        }
        Ok(Network(net.build().map_err(Raise::raise)?))
    }

    #[staticmethod]
    fn read_bif(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        detached(py, || bif::read_file(path)).map(Network)
    }

    #[staticmethod]
    fn parse_bif(py: Python<'_>, text: &str) -> PyResult<Self> {
        detached(py, || bif::read(text.as_bytes())).map(Network)
    }

    #[staticmethod]
    fn read_uai(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        detached(py, || uai::read_file(path)?.bayes_net()).map(Network)
    }

    /// `"asia"` or `"alarm"`.
    #[staticmethod]
    fn example(name: &str) -> PyResult<Self> {
        match name {
            "asia" => Ok(Network(networks::asia())),
            "alarm" => Ok(Network(networks::alarm())),
            other => Err(unknown("name", other, "'asia' or 'alarm'")),
        }
    }

    fn to_bif(&self) -> PyResult<String> {
        let mut text = vec![];
        bif::write(&self.0, &mut text).map_err(Raise::raise)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    /// Variables with their states.
    fn variables(&self) -> Vec<(String, Vec<String>)> {
        let of = |v| (self.0.name_of(v).to_owned(), self.0.states_of(v).to_vec());
        self.0.variables().map(of).collect()
    }

    /// Arcs by names.
    fn arcs(&self) -> Hard {
        let name = |v: u32| self.0.name_of(VarId(v)).to_owned();
        self.0.dag().arcs().map(|(from, to)| (name(from), name(to))).collect()
    }

    /// The parents of a variable, and its table with the child fastest.
    fn table(&self, variable: &str) -> PyResult<(Vec<String>, Vec<f64>)> {
        let v = self.0.variable(variable).map_err(Raise::raise)?;
        let parents = self.0.parents_of(v).iter().map(|&p| self.0.name_of(p).to_owned());
        Ok((parents.collect(), self.0.cpt_of(v).to_vec()))
    }

    /// `P(variables | evidence)`: the variables in the order of the table, and its values with the last one fastest.
    fn query(
        &self,
        py: Python<'_>,
        variables: Vec<String>,
        hard: Hard,
        soft: Soft,
    ) -> PyResult<(Vec<String>, Vec<f64>)> {
        let table = detached(py, || {
            self.0.posterior(&self.ids(&variables)?, &self.evidence(&hard, &soft)?)
        })?;
        let names = table.scope().iter().map(|&v| self.0.name_of(v).to_owned()).collect();
        Ok((names, table.values()))
    }

    /// `P(v | evidence)` for all variables in their order.
    fn posteriors(&self, py: Python<'_>, hard: Hard, soft: Soft) -> PyResult<Vec<Vec<f64>>> {
        detached(py, || self.0.posteriors(&self.evidence(&hard, &soft)?))
    }

    fn log_evidence(&self, py: Python<'_>, hard: Hard, soft: Soft) -> PyResult<f64> {
        detached(py, || self.0.log_evidence(&self.evidence(&hard, &soft)?))
    }

    /// The `k` most probable states of all variables.
    fn most_probable(
        &self,
        py: Python<'_>,
        k: usize,
        hard: Hard,
        soft: Soft,
    ) -> PyResult<Vec<(Hard, f64)>> {
        let found = detached(py, || self.0.most_probable_k(k, &self.evidence(&hard, &soft)?))?;
        Ok(found.iter().map(|one| self.named(one)).collect())
    }

    /// The most probable states of some variables, with the others summed out.
    fn marginal_map(
        &self,
        py: Python<'_>,
        variables: Vec<String>,
        hard: Hard,
        soft: Soft,
    ) -> PyResult<(Hard, f64)> {
        let found = detached(py, || {
            self.0.marginal_map(&self.ids(&variables)?, &self.evidence(&hard, &soft)?)
        })?;
        Ok(self.named(&found))
    }

    fn intervene(&self, settings: Hard) -> PyResult<Self> {
        let pairs: Vec<(&str, &str)> = settings.iter().map(|(v, s)| (&v[..], &s[..])).collect();
        Ok(Network(self.0.intervene(&pairs).map_err(Raise::raise)?))
    }

    /// Whether `x` and `y` are separated by `given` in the graph.
    fn d_separated(&self, x: Vec<String>, y: Vec<String>, given: Vec<String>) -> PyResult<bool> {
        let nodes = |names: &[String]| -> Result<Vec<u32>, Error> {
            Ok(self.ids(names)?.iter().map(|v| v.0).collect())
        };
        let separated = || self.0.dag().d_separated(&nodes(&x)?, &nodes(&y)?, &nodes(&given)?);
        separated().map_err(Raise::raise)
    }

    /// One draw a row, with codes of states.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        draws: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let mut codes = Array2::zeros((draws, self.0.len()));
        let mut rng = stream(seed, 0);
        pieces(py, draws, 5_000, |piece| {
            let rows = self.0.sample_many(piece.len(), &mut rng)?;
            codes
                .slice_axis_mut(Axis(0), piece.into())
                .zip_mut_with(&rows, |to, &state| *to = state as i64);
            Ok::<_, Error>(())
        })?;
        Ok(codes.into_pyarray(py))
    }

    /// The same graph with tables from complete records.
    fn fit_tables(
        &self,
        py: Python<'_>,
        data: PyReadonlyArray2<'_, i64>,
        prior: (String, f64),
    ) -> PyResult<Self> {
        let (data, prior) = (codes(data.as_array()), prior_of(&prior)?);
        detached(py, || self.0.fit_cpts(data.view(), prior)).map(Network)
    }

    /// The same graph with tables from records of which -1 is missing.
    fn fit_em<'py>(
        &self,
        py: Python<'py>,
        data: PyReadonlyArray2<'py, i64>,
        prior: (String, f64),
        control: Control,
    ) -> PyResult<(Self, f64, Bound<'py, PyDict>)> {
        let (data, prior) = (codes(data.as_array()), prior_of(&prior)?);
        let stop = Stop { absolute: control.stop().relative, relative: 0.0, ..control.stop() };
        let em = Em { prior, seed: control.seed, stop, ..Em::default() };
        let fitted = control.run(py, |watch| em.fit_with(&self.0, data.view(), watched(watch)))?;
        let report = to_dict(py, &fitted.report, None)?;
        Ok((Network(fitted.net), fitted.log_likelihood, report))
    }

    fn log_likelihood(&self, py: Python<'_>, data: PyReadonlyArray2<'_, i64>) -> PyResult<f64> {
        let data = codes(data.as_array());
        detached(py, || self.0.log_likelihood(data.view()))
    }
}

/// What a fit is given besides the data: the closure that watches.
fn watched<'a, M>(watch: crate::control::Watcher<'a>) -> fenchel::optim::Fit<'a, M> {
    fenchel::optim::Fit::new().watch(watch)
}

/// A graph from records: arcs, edges without a direction, the score if there is one, and the report.
#[pyfunction]
#[pyo3(signature = (data, cards, control, method, score, max_parents, level, required, forbidden))]
fn learn_structure<'py>(
    py: Python<'py>,
    data: PyReadonlyArray2<'py, i64>,
    cards: Vec<usize>,
    control: Control,
    method: &str,
    score: (String, f64),
    max_parents: usize,
    level: f64,
    required: Arcs,
    forbidden: Arcs,
) -> PyResult<(Arcs, Arcs, Option<f64>, Option<Bound<'py, PyDict>>)> {
    let data = codes(data.as_array());
    let data = data.view();
    let scored = |learned: LearnedDag| {
        let report = to_dict(py, &learned.report, None)?;
        Ok((learned.dag.arcs().collect(), vec![], Some(learned.score), Some(report)))
    };
    match method {
        "hill_climbing" => {
            let base = HillClimbing::default();
            let stop = Stop { max_seconds: control.stop().max_seconds, ..base.stop };
            let (score, seed) = (score_of(&score)?, control.seed);
            let search =
                HillClimbing { score, max_parents, seed, required, forbidden, stop, ..base };
            scored(control.run(py, |watch| search.fit_with(data, &cards, watched(watch)))?)
        }
        "exact" => {
            let search =
                ExactSearch { score: score_of(&score)?, max_parents, ..ExactSearch::default() };
            scored(control.run(py, |watch| search.fit_with(data, &cards, watched(watch)))?)
        }
        "pc" => {
            let search = Pc { test: IndependenceTest::G2, level, ..Pc::default() };
            let found = control.run(py, |watch| search.fit_with(data, &cards, watched(watch)))?;
            Ok((found.class.directed, found.class.undirected, None, None))
        }
        "chow_liu" => {
            let tree = detached(py, || chow_liu(data, &cards, 0))?;
            Ok((tree.dag.arcs().collect(), vec![], None, None))
        }
        other => Err(unknown("method", other, "'hill_climbing', 'exact', 'pc' or 'chow_liu'")),
    }
}

fn slices(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// Codes of states; a negative one is missing.
fn codes(data: ArrayView2<'_, i64>) -> Array2<usize> {
    data.mapv(|code| usize::try_from(code).unwrap_or(MISSING))
}

fn prior_of((name, size): &(String, f64)) -> PyResult<Prior> {
    match name.as_str() {
        "dirichlet" => Ok(Prior::Dirichlet(*size)),
        "bdeu" => Ok(Prior::Bdeu(*size)),
        other => Err(unknown("prior", other, "'dirichlet' or 'bdeu'")),
    }
}

fn score_of((name, size): &(String, f64)) -> PyResult<StructureScore> {
    match name.as_str() {
        "bic" => Ok(StructureScore::Bic),
        "k2" => Ok(StructureScore::Bayes(Prior::Dirichlet(1.0))),
        "bdeu" => Ok(StructureScore::Bayes(Prior::Bdeu(*size))),
        "log_likelihood" => Ok(StructureScore::LogLikelihood),
        other => Err(unknown("score", other, "'bic', 'k2', 'bdeu' or 'log_likelihood'")),
    }
}
