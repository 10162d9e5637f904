//! Small graphs whose labellings can all be written down, and what enumeration says about them.

use super::{Sequence, entropy, kl, labellings, shrunk};
use fenchel_crf::graph::TreeMarginals;
use fenchel_crf::{CliqueTemplate, GraphDataset, GraphInstance};
use fenchel_graphical::{FactorGraph, JunctionTree, OrderingOptions, VarId};
use fenchel_linalg::special::log_sum_exp;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A clique as it was written down: template, variables in its order, attributes.
pub(crate) type Written = (usize, Vec<usize>, Vec<(u32, f64)>);

/// A graph with all its labellings.
pub(crate) struct Enumerated {
    pub(crate) labels: Vec<usize>,
    pub(crate) cliques: Vec<Written>,
    pub(crate) truth: Vec<usize>,
    pub(crate) all: Vec<Vec<usize>>,
    /// `F(x, y)` of each, dense.
    pub(crate) features: Vec<Vec<f64>>,
}

/// Graphs with the templates that their cliques are of.
pub(crate) struct Graphs {
    pub(crate) templates: Vec<CliqueTemplate>,
    pub(crate) graphs: Vec<Enumerated>,
    pub(crate) l2: f64,
    /// Weight of the l1 norm, for chains.
    pub(crate) l1: f64,
}

impl Graphs {
    pub(crate) fn new(templates: Vec<CliqueTemplate>, l2: f64) -> Self {
        Graphs { templates, graphs: Vec::new(), l2, l1: 0.0 }
    }

    pub(crate) fn push(&mut self, labels: Vec<usize>, cliques: Vec<Written>, truth: Vec<usize>) {
        let all = labels.iter().fold(vec![vec![]], |all: Vec<Vec<usize>>, &count| {
            let longer = |y: Vec<usize>| (0..count).map(move |k| [&y[..], &[k]].concat());
            all.into_iter().flat_map(longer).collect()
        });
        let features = all.iter().map(|y| self.features(&cliques, y)).collect();
        self.graphs.push(Enumerated { labels, cliques, truth, all, features });
    }

    pub(crate) fn dimension(&self) -> usize {
        self.templates.iter().map(|t| t.attributes * t.labels.iter().product::<usize>()).sum()
    }

    fn features(&self, cliques: &[Written], y: &[usize]) -> Vec<f64> {
        let mut f = vec![0.0; self.dimension()];
        for (template, variables, attributes) in cliques {
            let size = |t: &CliqueTemplate| t.labels.iter().product::<usize>();
            let start: usize =
                self.templates[..*template].iter().map(|t| t.attributes * size(t)).sum();
            let own = &self.templates[*template];
            let mut cell = 0;
            for (v, count) in variables.iter().zip(&own.labels) {
                cell = cell * count + y[*v];
            }
            for (a, value) in attributes {
                f[start + *a as usize * size(own) + cell] += value;
            }
        }
        f
    }

    pub(crate) fn instance(&self, i: usize) -> GraphInstance {
        let graph = &self.graphs[i];
        let mut instance = GraphInstance::new(&graph.labels);
        for (template, variables, attributes) in &graph.cliques {
            instance.clique(*template, variables, attributes);
        }
        instance
    }

    pub(crate) fn data(&self) -> GraphDataset {
        let mut data = GraphDataset::new(self.templates.clone()).unwrap();
        for (i, graph) in self.graphs.iter().enumerate() {
            data.push(self.instance(i), &graph.truth).unwrap();
        }
        data
    }

    /// `P(w)` and its gradient.
    pub(crate) fn primal(&self, w: &[f64]) -> (f64, Vec<f64>) {
        let n = self.graphs.len() as f64;
        let mut value = 0.5 * self.l2 * dot(w, w);
        let mut gradient: Vec<f64> = w.iter().map(|w| self.l2 * w).collect();
        for graph in &self.graphs {
            let (p, log_z) = graph.model(w);
            let truth = &graph.features[graph.true_labelling()];
            value += (log_z - dot(truth, w)) / n;
            let mean = graph.mean(&p);
            for ((g, m), t) in gradient.iter_mut().zip(mean).zip(truth) {
                *g += (m - t) / n;
            }
        }
        (value, gradient)
    }

    /// `w(a)` of distributions over labellings.
    pub(crate) fn weights_of(&self, joints: &[Vec<f64>]) -> Vec<f64> {
        shrunk(&self.linear_weights_of(joints), self.l1 / self.l2)
    }

    /// `w(a)` without the l1 penalty.
    fn linear_weights_of(&self, joints: &[Vec<f64>]) -> Vec<f64> {
        let mut w = vec![0.0; self.dimension()];
        for (graph, joint) in self.graphs.iter().zip(joints) {
            let truth = &graph.features[graph.true_labelling()];
            let mean = graph.mean(joint);
            for ((w, t), m) in w.iter_mut().zip(truth).zip(mean) {
                *w += (t - m) / (self.l2 * self.graphs.len() as f64);
            }
        }
        w
    }

    /// `D(a)`
    pub(crate) fn dual(&self, joints: &[Vec<f64>]) -> f64 {
        let w = self.weights_of(joints);
        let entropies: f64 = joints.iter().map(|joint| entropy(joint)).sum();
        entropies / self.graphs.len() as f64 - 0.5 * self.l2 * dot(&w, &w)
    }

    /// `KL(a_i, p(. | x_i; w))` of every graph.
    pub(crate) fn gaps(&self, joints: &[Vec<f64>], w: &[f64]) -> Vec<f64> {
        let gap = |(graph, joint): (&Enumerated, &Vec<f64>)| kl(joint, &graph.model(w).0);
        self.graphs.iter().zip(joints).map(gap).collect()
    }
}

impl Enumerated {
    pub(crate) fn true_labelling(&self) -> usize {
        self.all.iter().position(|y| *y == self.truth).unwrap()
    }

    /// `p(y | x; w)` and `log Z`.
    pub(crate) fn model(&self, w: &[f64]) -> (Vec<f64>, f64) {
        let scores: Vec<f64> = self.features.iter().map(|f| dot(f, w)).collect();
        let log_z = log_sum_exp(&scores);
        (scores.iter().map(|s| (s - log_z).exp()).collect(), log_z)
    }

    pub(crate) fn mean(&self, p: &[f64]) -> Vec<f64> {
        let mut mean = vec![0.0; self.features[0].len()];
        for (f, p) in self.features.iter().zip(p) {
            mean.iter_mut().zip(f).for_each(|(m, f)| *m += p * f);
        }
        mean
    }

    /// The marginal of some variables, by adding up labellings.
    pub(crate) fn margin(&self, joint: &[f64], scope: &[usize]) -> Vec<f64> {
        let mut margin = vec![0.0; scope.iter().map(|&v| self.labels[v]).product()];
        for (y, p) in self.all.iter().zip(joint) {
            margin[self.cell(scope, y)] += p;
        }
        margin
    }

    fn cell(&self, scope: &[usize], y: &[usize]) -> usize {
        scope.iter().fold(0, |cell, &v| cell * self.labels[v] + y[v])
    }

    /// Cliques and separators of the graph's junction tree, each in the order of its tables.
    pub(crate) fn scopes(&self) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
        let mut model = FactorGraph::new(&self.labels).unwrap();
        for (_, variables, _) in &self.cliques {
            let scope: Vec<VarId> = variables.iter().map(|&v| VarId(v as u32)).collect();
            let cells = variables.iter().map(|&v| self.labels[v]).product();
            model.add(&scope, &vec![0.0; cells]).unwrap();
        }
        let tree = JunctionTree::compile(&model, &OrderingOptions::default()).unwrap();
        let plain = |scope: Vec<VarId>| scope.iter().map(|v| v.index()).collect::<Vec<_>>();
        let separators = tree.separators().map(|(scope, _)| plain(scope));
        (
            tree.cliques().map(plain).collect(),
            separators.filter(|scope| !scope.is_empty()).collect(),
        )
    }

    /// The distribution `prod_C m_C / prod_S m_S`.
    pub(crate) fn joint(&self, cliques: &[Vec<f64>], separators: &[Vec<f64>]) -> Vec<f64> {
        let (c, s) = self.scopes();
        let at = |scopes: &[Vec<usize>], tables: &[Vec<f64>], y: &[usize]| -> f64 {
            scopes.iter().zip(tables).map(|(scope, t)| t[self.cell(scope, y)]).product()
        };
        let divided = |y: &Vec<usize>| {
            let above = at(&c, cliques, y);
            if above > 0.0 { above / at(&s, separators, y) } else { 0.0 }
        };
        self.all.iter().map(divided).collect()
    }

    /// The distribution that the library's marginals stand for.
    pub(crate) fn joint_of(&self, marginals: &TreeMarginals) -> Vec<f64> {
        let (cliques, separators) = self.scopes();
        let cut = |scopes: &[Vec<usize>], mut values: &[f64]| -> Vec<Vec<f64>> {
            let size = |scope: &Vec<usize>| scope.iter().map(|&v| self.labels[v]).product();
            let mut next = |scope| {
                let (own, rest) = values.split_at(size(scope));
                values = rest;
                own.to_vec()
            };
            let tables = scopes.iter().map(&mut next).collect();
            assert!(values.is_empty());
            tables
        };
        let tables = (cut(&cliques, marginals.cliques()), cut(&separators, marginals.separators()));
        self.joint(&tables.0, &tables.1)
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(crate) fn random_flat(dimension: usize, scale: f64, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..dimension).map(|_| scale * rng.random_range(-1.0..1.0)).collect()
}

/// Edges of the shapes that the tests are about.
fn shape(kind: usize, rng: &mut ChaCha8Rng) -> (usize, Vec<(usize, usize)>) {
    let grid = |rows: usize, columns: usize| {
        let at = |r: usize, c: usize| r * columns + c;
        let mut edges = Vec::new();
        for r in 0..rows {
            for c in 0..columns {
                if c + 1 < columns {
                    edges.push((at(r, c), at(r, c + 1)));
                }
                if r + 1 < rows {
                    edges.push((at(r, c), at(r + 1, c)));
                }
            }
        }
        (rows * columns, edges)
    };
    match kind % 5 {
        // A random tree, its edges in random directions.
        0 => {
            let n = rng.random_range(1..7);
            let edge = |v: usize, rng: &mut ChaCha8Rng| {
                let parent = rng.random_range(0..v);
                if rng.random() { (parent, v) } else { (v, parent) }
            };
            (n, (1..n).map(|v| edge(v, rng)).collect())
        }
        1 => {
            let n = rng.random_range(3..6);
            (n, (0..n).map(|v| (v, (v + 1) % n)).collect())
        }
        2 => grid(2, 3),
        3 => grid(3, 3),
        // Two pieces, one of them a single variable.
        _ => (4, vec![(2, 0), (0, 3)]),
    }
}

/// Random graphs of one number of labels: nodes, edges, and in each graph one triple where there is room.
pub(crate) fn random_graphs(n: usize, labels: usize, signed: bool, l2: f64, seed: u64) -> Graphs {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let template = |size: usize, attributes| CliqueTemplate::new(&vec![labels; size], attributes);
    let mut graphs = Graphs::new(vec![template(1, 4), template(2, 2), template(3, 1)], l2);
    for i in 0..n {
        // Nine variables of three labels are too many labellings.
        let kind = if labels > 2 && i % 5 == 3 { 1 } else { i };
        let (variables, edges) = shape(kind, &mut rng);
        let attributes = |most: u32, rng: &mut ChaCha8Rng| -> Vec<(u32, f64)> {
            let count = rng.random_range(0..4);
            (0..count)
                .map(|_| {
                    let value = if signed { rng.random_range(-1.5..1.5) } else { 1.0 };
                    (rng.random_range(0..most), value)
                })
                .collect()
        };
        let mut cliques: Vec<Written> =
            (0..variables).map(|v| (0, vec![v], attributes(4, &mut rng))).collect();
        cliques.extend(edges.iter().map(|&(u, v)| (1, vec![u, v], attributes(2, &mut rng))));
        if variables >= 4 {
            cliques.push((2, vec![3, 0, 2], vec![(0, 1.0)]));
        }
        let truth = (0..variables).map(|_| rng.random_range(0..labels)).collect();
        graphs.push(vec![labels; variables], cliques, truth);
    }
    graphs
}

/// Chains as graphs: the attributes of a token with those of bias, begin and end, and edges with a constant one.
pub(crate) fn chains(attributes: usize, labels: usize, sequences: &[Sequence], l2: f64) -> Graphs {
    let node = CliqueTemplate::new(&[labels], attributes + 3);
    let mut graphs = Graphs::new(vec![node, CliqueTemplate::new(&[labels, labels], 1)], l2);
    for sequence in sequences {
        let mut cliques: Vec<Written> = Vec::new();
        for (t, (own, _)) in sequence.iter().enumerate() {
            let mut own = own.clone();
            own.push((attributes as u32, 1.0));
            if t == 0 {
                own.push((attributes as u32 + 1, 1.0));
            }
            if t + 1 == sequence.len() {
                own.push((attributes as u32 + 2, 1.0));
            }
            cliques.push((0, vec![t], own));
        }
        cliques.extend((1..sequence.len()).map(|t| (1, vec![t - 1, t], vec![(0, 1.0)])));
        let truth = sequence.iter().map(|token| token.1 as usize).collect();
        graphs.push(vec![labels; sequence.len()], cliques, truth);
    }
    for graph in &graphs.graphs {
        assert_eq!(graph.all, labellings(labels, graph.labels.len()));
    }
    graphs
}

/// A visit of the reference: joint distributions alone.
///
/// The library mixes marginals; the distribution that they stand for is their completion `prod_C m_C / prod_S m_S`. The entropy
/// of the completion `q_s` has the derivative `-sum_y d(y) log q_s(y)` for any `d` whose marginals are the direction, such as the
/// difference of the two joints: `log q_s` is a sum over cliques.
pub(crate) fn visit(graphs: &Graphs, joints: &mut [Vec<f64>], i: usize, single: bool) -> f64 {
    let nu = graphs.linear_weights_of(joints);
    let threshold = graphs.l1 / graphs.l2;
    let w = shrunk(&nu, threshold);
    let graph = &graphs.graphs[i];
    let scale = 1.0 / (graphs.l2 * graphs.graphs.len() as f64);
    let target = graph.model(&w).0;
    let from = joints[i].clone();
    let d: Vec<f64> = target.iter().zip(&from).map(|(p, m)| p - m).collect();
    let change = graph.mean(&d);
    // `<S(nu + s v), F d>` and its derivative, where `v = -scale F d`.
    let weights = |step: f64| {
        let moved: Vec<f64> = nu.iter().zip(&change).map(|(x, f)| x - step * scale * f).collect();
        let w = shrunk(&moved, threshold);
        let active = w.iter().zip(&change).filter(|(w, _)| **w != 0.0);
        (dot(&w, &change), -scale * active.map(|(_, f)| f * f).sum::<f64>())
    };
    let (c, s) = graph.scopes();
    let completion = |step: f64| {
        let mixed: Vec<f64> = from.iter().zip(&d).map(|(m, d)| m + step * d).collect();
        let tables = |scopes: &[Vec<usize>]| -> Vec<Vec<f64>> {
            scopes.iter().map(|scope| graph.margin(&mixed, scope)).collect()
        };
        graph.joint(&tables(&c), &tables(&s))
    };
    let entropy =
        |step: f64| -completion(step).iter().zip(&d).map(|(q, d)| d * q.ln()).sum::<f64>();
    let slope = |step: f64| weights(step).0 + entropy(step);
    let step = if single {
        // One Newton step from 1/2, the second derivative of the entropy by a difference of order h^4.
        let h = 1e-3;
        let curvature = (8.0 * (entropy(0.5 + h) - entropy(0.5 - h))
            - (entropy(0.5 + 2.0 * h) - entropy(0.5 - 2.0 * h)))
            / (12.0 * h);
        let second = weights(0.5).1 + curvature;
        let newton = 0.5 - slope(0.5) / second;
        let (low, high) = if slope(0.5) > 0.0 { (0.5, 1.0) } else { (0.0, 0.5) };
        if newton > low && newton < high { newton } else { 0.5 * (low + high) }
    } else {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if slope(middle) > 0.0 { low = middle } else { high = middle }
        }
        low
    };
    joints[i] = completion(step);
    step
}
