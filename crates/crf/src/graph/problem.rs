//! The regularised likelihood of graphs.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use fenchel_graphical::junction_tree::TreeCache;
use fenchel_graphical::{FactorGraph, JunctionTree, OrderingOptions, Table};
use fenchel_linalg::{Invalid, lanes};
use rustc_hash::FxHashMap;

use super::data::{CliqueTemplate, GraphDataset, GraphInstance, var};
use crate::Error;
use crate::terms::Common;

/// The junction tree of a graph, and its factor graph with all scores 0. Graphs of the same shape share it.
#[derive(Debug, Clone)]
pub(super) struct Structure {
    pub(super) tree: Arc<JunctionTree>,
    pub(super) model: FactorGraph,
}

/// A graph in the form that the methods use. *Cells* are the joint labellings of its cliques, one clique after the other, each
/// in the order of its template. *Local* weights are the rows of the weights that the graph uses, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) structure: usize,
    pub(super) cells: usize,
    pub(super) places: Vec<Place>,
    entries: Vec<Entry>,
    rows: Vec<Row>,
    locals: usize,
}

/// A clique.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) cells: Range<usize>,
    entries: Range<usize>,
    /// For every cell of its factor, whose variables are sorted, the cell of the template; `None` if they are the same.
    pub(super) order: Option<Arc<[usize]>>,
}

/// An attribute of a clique.
#[derive(Debug, Clone, Copy)]
struct Entry {
    local: usize,
    value: f64,
}

/// A row of the weights.
#[derive(Debug, Clone, Copy)]
struct Row {
    global: usize,
    local: usize,
    cells: usize,
}

impl Item {
    /// The rows of the graph in the flat weights.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.rows.iter().map(|row| row.global..row.global + row.cells)
    }

    /// Appends the weights of the graph's rows to `out`.
    pub(super) fn gather(&self, w: &[f64], out: &mut Vec<f64>) {
        self.ranges().for_each(|range| out.extend_from_slice(&w[range]));
    }

    /// `w += scale sums`
    pub(super) fn scatter(&self, scale: f64, sums: &[f64], w: &mut [f64]) {
        for row in &self.rows {
            let to = &mut w[row.global..row.global + row.cells];
            to.iter_mut().zip(&sums[row.local..]).for_each(|(w, s)| *w += scale * s);
        }
    }

    /// The score of every cell.
    pub(super) fn scores(&self, local: &[f64], scores: &mut Vec<f64>) {
        scores.clear();
        scores.resize(self.cells, 0.0);
        for place in &self.places {
            let scores = &mut scores[place.cells.clone()];
            for entry in &self.entries[place.entries.clone()] {
                let weights = &local[entry.local..];
                scores.iter_mut().zip(weights).for_each(|(s, w)| *s += entry.value * w);
            }
        }
    }

    /// The feature map applied to numbers on the cells. For marginals it gives the expected features, on the local rows.
    pub(super) fn sums(&self, cells: &[f64], sums: &mut Vec<f64>) {
        sums.clear();
        sums.resize(self.locals, 0.0);
        for place in &self.places {
            let cells = &cells[place.cells.clone()];
            for entry in &self.entries[place.entries.clone()] {
                let sums = &mut sums[entry.local..];
                sums.iter_mut().zip(cells).for_each(|(s, c)| *s += entry.value * c);
            }
        }
    }

    /// An upper bound of the squared radius `R_i = max_y norm(F(x_i, y_i) - F(x_i, y))^2`, as in
    /// [`radius_upper`](crate::methods::radius_upper).
    pub(super) fn radius(&self, truth: &[f64]) -> f64 {
        let (mut totals, mut sums) = (vec![0.0; self.locals], Vec::new());
        self.entries.iter().for_each(|entry| totals[entry.local] += entry.value.abs());
        self.sums(truth, &mut sums);
        let (bound, own) = (lanes::dot(&totals, &totals), lanes::dot(&sums, &sums));
        let signed = self.entries.iter().any(|entry| entry.value < 0.0);
        if signed { (own.sqrt() + bound.sqrt()).powi(2) } else { own + bound }
    }
}

/// Converts graphs to items. Every shape is compiled once.
pub(super) struct Compiler<'t> {
    templates: &'t [CliqueTemplate],
    /// The start of the weights of each template.
    starts: Vec<usize>,
    trees: TreeCache,
    known: HashMap<*const JunctionTree, usize>,
    orders: HashMap<(usize, Vec<usize>), Arc<[usize]>>,
    pub(super) structures: Vec<Structure>,
}

impl<'t> Compiler<'t> {
    pub(super) fn new(
        templates: &'t [CliqueTemplate],
        graphs: usize,
        max_memory: Option<u64>,
    ) -> Self {
        let mut starts = vec![0];
        for template in templates {
            starts.push(starts[starts.len() - 1] + template.attributes * template.cells());
        }
        let options = OrderingOptions { max_memory, ..OrderingOptions::default() };
        Compiler {
            templates,
            starts,
            trees: TreeCache::new(options, graphs),
            known: HashMap::new(),
            orders: HashMap::new(),
            structures: Vec::new(),
        }
    }

    /// A checked graph.
    pub(super) fn item(&mut self, graph: &GraphInstance) -> Result<Item, Error> {
        let structure = self.structure(graph)?;
        let (mut places, mut entries, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        let mut met: FxHashMap<usize, usize> = FxHashMap::default();
        let (mut cells, mut locals) = (0, 0);
        for clique in &graph.cliques {
            let size = self.templates[clique.template].cells();
            let first = entries.len();
            for &(attribute, value) in graph.attributes(clique) {
                let global = self.starts[clique.template] + attribute as usize * size;
                let local = *met.entry(global).or_insert(locals);
                if local == locals {
                    rows.push(Row { global, local, cells: size });
                    locals += size;
                }
                entries.push(Entry { local, value });
            }
            let order = self.order(clique.template, graph.variables(clique));
            places.push(Place { cells: cells..cells + size, entries: first..entries.len(), order });
            cells += size;
        }
        Ok(Item { structure, cells, places, entries, rows, locals })
    }

    fn structure(&mut self, graph: &GraphInstance) -> Result<usize, Error> {
        let mut model = FactorGraph::new(&graph.labels)?;
        for clique in &graph.cliques {
            let scope: Vec<_> = graph.variables(clique).iter().map(|&v| var(v)).collect();
            model.add_table(Table::ones(&scope, &self.templates[clique.template].labels)?)?;
        }
        let tree = self.trees.tree(&model)?;
        let next = self.structures.len();
        let structure = *self.known.entry(Arc::as_ptr(&tree)).or_insert(next);
        if structure == next {
            self.structures.push(Structure { tree, model });
        }
        Ok(structure)
    }

    /// The mapping from the cells of sorted variables to the cells of the template.
    fn order(&mut self, template: usize, variables: &[usize]) -> Option<Arc<[usize]>> {
        if variables.is_sorted() {
            return None;
        }
        let mut sorted: Vec<usize> = (0..variables.len()).collect();
        sorted.sort_unstable_by_key(|&k| variables[k]);
        let labels = &self.templates[template].labels;
        let make = |sorted: &[usize]| -> Arc<[usize]> {
            let mut strides = vec![1; labels.len()];
            for k in (1..labels.len()).rev() {
                strides[k - 1] = strides[k] * labels[k];
            }
            let mut cells = vec![0];
            for &k in sorted {
                let more = |cell: usize| (0..labels[k]).map(move |y| (cell, y));
                cells = cells.into_iter().flat_map(more).map(|(c, y)| c + y * strides[k]).collect();
            }
            cells.into()
        };
        let made = self.orders.entry((template, sorted)).or_insert_with_key(|key| make(&key.1));
        Some(Arc::clone(made))
    }
}

/// The training problem of graphs:
///
/// ```text
/// P(w) = l2/2 norm(w)^2 + 1/n sum_i [log Z_i(w) - s_w(x_i, y_i)],   s_w(x, y) = sum_C sum_a x_Ca W_t(C)[a, y_C]
/// D(m) = -l2/2 norm(w(m))^2 + 1/n sum_i H(m_i),   w(m) = 1/(l2 n) sum_i [F(x_i, y_i) - E_m F(x_i, .)]
/// ```
///
/// Here `m_i` are the marginals of the cliques and separators of the junction tree of graph `i`. All weights are regularised.
/// The flat vector of weights contains the matrices of the templates one after the other. Each has one row per attribute, and
/// in a row the last variable varies fastest.
#[derive(Debug, Clone)]
pub struct GraphProblem<'a> {
    pub(super) data: &'a GraphDataset,
    pub(super) items: Vec<Item>,
    pub(super) structures: Vec<Structure>,
    pub(super) common: Common,
}

impl<'a> GraphProblem<'a> {
    /// A problem with `l2 > 0`; a usual value is `1 / n`. The constructor compiles one junction tree for every shape of graph,
    /// each of at most `max_memory` bytes (`None` for no limit).
    ///
    /// # Errors
    /// [`Error::Invalid`] for no graphs or `l2` out of range. [`Error::InGraph`] for the first graph whose junction tree is too
    /// large, with the bytes that its tables need and the bytes allowed; no table has been allocated then.
    pub fn new(data: &'a GraphDataset, l2: f64, max_memory: Option<u64>) -> Result<Self, Error> {
        Invalid::check_positive("l2", l2)?;
        if data.is_empty() {
            return Err(Invalid::Empty { what: "data set" }.into());
        }
        let mut compiler = Compiler::new(data.templates(), data.len(), max_memory);
        let item = |(i, (graph, _)): (usize, (&GraphInstance, _))| {
            compiler.item(graph).map_err(|error| error.in_graph(i))
        };
        let items: Vec<Item> = data.iter().enumerate().map(item).collect::<Result<_, _>>()?;
        let dimension = compiler.starts[data.templates().len()];
        let structures = compiler.structures;
        let common = Common { n: data.len(), l2, counts: vec![0.0; dimension] };
        let mut problem = GraphProblem { data, items, structures, common };
        let mut sums = Vec::new();
        for i in 0..problem.items.len() {
            problem.items[i].sums(&problem.truth(i), &mut sums);
            problem.items[i].scatter(1.0, &sums, &mut problem.common.counts);
        }
        Ok(problem)
    }

    /// Number of graphs.
    pub fn n(&self) -> usize {
        self.items.len()
    }

    /// Weight of the squared norm.
    pub fn l2(&self) -> f64 {
        self.common.l2
    }

    /// Number of weights.
    pub fn weights(&self) -> usize {
        self.common.counts.len()
    }

    pub(super) fn tree(&self, item: &Item) -> &JunctionTree {
        &self.structures[item.structure].tree
    }

    /// The indicator of the true labelling on the cells.
    pub(super) fn truth(&self, i: usize) -> Vec<f64> {
        let (graph, truth) = (&self.data.graphs[i], &self.data.truths[i]);
        let mut cells = vec![0.0; self.items[i].cells];
        for (clique, place) in graph.cliques.iter().zip(&self.items[i].places) {
            let labels = &self.data.templates()[clique.template].labels;
            let scope = graph.variables(clique).iter().zip(labels);
            let cell = scope.fold(0, |cell, (&v, count)| cell * count + truth[v]);
            cells[place.cells.start + cell] = 1.0;
        }
        cells
    }
}
