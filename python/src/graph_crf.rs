//! Conditional random fields on graphs whose nodes have the same labels.

use fenchel::crf::{
    CliqueTemplate, Error, Fit, GraphCrf, GraphDataset, GraphInstance, GraphModel, Saved,
};
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rayon::prelude::*;

use crate::control::{Control, detached};
use crate::crf::method_of;
use crate::data::Matrix;
use crate::error::Raise;
use crate::report::to_dict;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Field>()?;
    module.add_function(wrap_pyfunction!(fit_graph_crf, module)?)?;
    Ok(())
}

/// A fitted model.
#[pyclass(frozen, module = "fenchel._core")]
struct Field(GraphModel);

/// The features of nodes, pairs of nodes, and features of the pairs. Without these each pair has one feature, which is 1.
type Graph<'py> = (Bound<'py, PyAny>, PyReadonlyArray2<'py, i64>, Option<Bound<'py, PyAny>>);

/// The template of nodes and that of edges.
const NODES: usize = 0;
const EDGES: usize = 1;

/// The graph, the number of features of its nodes, and that of its edges.
fn read(graph: &Graph<'_>, number: usize, classes: usize) -> PyResult<(GraphInstance, [usize; 2])> {
    let (nodes, pairs, features) = graph;
    let (nodes, columns) = Matrix::read(nodes)?.view()?.entries().map_err(Raise::raise)?;
    let pairs = pairs.as_array();
    let (features, edge_columns) = match features {
        None => (vec![vec![(0, 1.0)]; pairs.nrows()], 1),
        Some(features) => Matrix::read(features)?.view()?.entries().map_err(Raise::raise)?,
    };
    if pairs.ncols() != 2 || features.len() != pairs.nrows() {
        return Err(PyValueError::new_err(format!(
            "graph {number}: {} x {} numbers of nodes and features of {} edges; expected two nodes and one row an edge",
            pairs.nrows(),
            pairs.ncols(),
            features.len()
        )));
    }
    let mut instance = GraphInstance::new(&vec![classes; nodes.len()]);
    for (node, features) in nodes.iter().enumerate() {
        instance.clique(NODES, &[node], features);
    }
    for (pair, features) in pairs.rows().into_iter().zip(&features) {
        // A negative number becomes one that no node has, which is refused with its clique.
        let node = |k: usize| usize::try_from(pair[k]).unwrap_or(usize::MAX);
        instance.clique(EDGES, &[node(0), node(1)], features);
    }
    Ok((instance, [columns, edge_columns]))
}

/// Trains a model on graphs with a code a node. `l2` is the weight of the squared norm beside the sum of the losses.
#[pyfunction]
#[pyo3(signature = (graphs, codes, classes, control, l2, method, start=None))]
fn fit_graph_crf<'py>(
    py: Python<'py>,
    graphs: Vec<Graph<'py>>,
    codes: Vec<PyReadonlyArray1<'py, i64>>,
    classes: usize,
    control: Control,
    l2: f64,
    method: &str,
    start: Option<&Bound<'py, Field>>,
) -> PyResult<(Field, Bound<'py, PyDict>)> {
    let mut data: Option<(GraphDataset, [usize; 2])> = None;
    for (number, (graph, codes)) in graphs.iter().zip(&codes).enumerate() {
        let (instance, columns) = read(graph, number, classes)?;
        let (data, first) = match &mut data {
            Some(data) => data,
            None => {
                let templates = [vec![classes], vec![classes; 2]];
                let templates = templates.iter().zip(columns);
                let templates = templates.map(|(labels, count)| CliqueTemplate::new(labels, count));
                let empty = GraphDataset::new(templates.collect()).map_err(Raise::raise)?;
                data.insert((empty, columns))
            }
        };
        if columns != *first {
            return Err(PyValueError::new_err(format!(
                "graph {number} has {} features a node and {} an edge, graph 0 has {} and {}",
                columns[0], columns[1], first[0], first[1]
            )));
        }
        let codes = codes.as_array().mapv(|code| usize::try_from(code).unwrap_or(usize::MAX));
        data.push(instance, &codes.to_vec()).map_err(Raise::raise)?;
    }
    let Some((data, _)) = data else {
        return Err(PyValueError::new_err("X has no graphs; expected one or more"));
    };
    let l2 = Some(l2 / data.len() as f64);
    let (method, stop, seed) = (method_of(method)?, control.stop(), control.seed);
    let estimator = GraphCrf { l2, method, stop, seed, ..GraphCrf::default() };
    let start = start.map(|start| &start.get().0);
    let model = control
        .run(py, |watch| estimator.fit_with(&data, Fit { start, ..Fit::new().watch(watch) }))?;
    let report = match &model.report {
        Some(report) => to_dict(py, report, None)?,
        None => PyDict::new(py),
    };
    Ok((Field(model), report))
}

#[pymethods]
impl Field {
    /// The content of a model file.
    fn dump<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = vec![];
        self.0.save(&mut bytes).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn load(bytes: &[u8]) -> PyResult<Self> {
        GraphModel::load(bytes).map(Field).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The weights of nodes, or of edges: a row a feature, and a column a labelling with the last node fastest.
    fn weights<'py>(&self, py: Python<'py>, edges: bool) -> Option<Bound<'py, PyArray2<f64>>> {
        let weights = self.0.weights_of(if edges { EDGES } else { NODES })?;
        Some(weights.to_owned().into_pyarray(py))
    }

    /// The most probable joint labelling of each graph.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        graphs: Vec<Graph<'py>>,
    ) -> PyResult<Vec<Bound<'py, PyArray1<i64>>>> {
        let found = self.of_each(py, &graphs, |graph| self.0.predict(graph))?;
        let array = |codes: Vec<usize>| -> Bound<'py, PyArray1<i64>> {
            codes.into_iter().map(|code| code as i64).collect::<Vec<_>>().into_pyarray(py)
        };
        Ok(found.into_iter().map(array).collect())
    }

    /// The probability of each label of each node, for each graph an array of nodes x labels.
    fn marginals<'py>(
        &self,
        py: Python<'py>,
        graphs: Vec<Graph<'py>>,
    ) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
        let classes = self.classes();
        let found = self.of_each(py, &graphs, |graph| self.0.marginals(graph))?;
        let array = |rows: Vec<Vec<f64>>| {
            let mut table = Array2::zeros((rows.len(), classes));
            for (mut to, from) in table.rows_mut().into_iter().zip(rows) {
                to.iter_mut().zip(from).for_each(|(to, p)| *to = p);
            }
            table.into_pyarray(py)
        };
        Ok(found.into_iter().map(array).collect())
    }
}

impl Field {
    fn classes(&self) -> usize {
        self.0.templates()[NODES].labels[0]
    }

    /// Asks something about each graph, on all cores.
    fn of_each<A: Send>(
        &self,
        py: Python<'_>,
        graphs: &[Graph<'_>],
        ask: impl Fn(&GraphInstance) -> Result<A, Error> + Send + Sync,
    ) -> PyResult<Vec<A>> {
        let graphs = graphs.iter().enumerate();
        let read = |(number, graph)| Ok(read(graph, number, self.classes())?.0);
        let instances = graphs.map(read).collect::<PyResult<Vec<GraphInstance>>>()?;
        detached(py, || instances.par_iter().map(ask).collect())
    }
}
