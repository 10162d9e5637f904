//! The PC algorithm: graphs from tests of conditional independence.
//!
//! The algorithm starts from the complete graph. It removes an edge `x - y` as soon as a test finds `x` and `y` independent
//! given some set of neighbours of `x` or of `y`. The sets have 0 variables at first, then 1, and so on. The neighbours used
//! for a size are those before the first test of that size, so that the order of the columns does not matter. Then the
//! directions follow. For `x - z - y` with `x` and `y` not adjacent, `x -> z <- y` is directed if `z` is not in the set that
//! separated `x` and `y`. Meek's rules give further directions.
//!
//! If the distribution has exactly the independences of some directed graph (it is faithful) and no test errs, the result is
//! the equivalence class of that graph. With few records tests err: edges are lost, and v-structures may contradict each other.
//! In this case the one found first, in the order of `(z, x, y)`, is kept.
//!
//! Sources: Spirtes, Glymour and Scheines, Causation, Prediction, and Search (2000), section 5.4.2; Colombo and Maathuis, J.
//! Machine Learning Research 15 (2014), for the independence of the order of columns; Meek, UAI 1995.

use std::collections::BTreeMap;

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Clock, Fit, Progress, Refusal, Wall, Watch, settings};
use ndarray::ArrayView2;
use rustc_hash::FxHashSet;

use super::{Columns, IndependenceTest, refuse_weights};
use crate::dag::direct;
use crate::{Cpdag, Error, Graph};

settings! {
    /// The settings and the method itself; see the [module](crate::structure).
    pub struct Pc {
        /// Test of independence.
        test: IndependenceTest = IndependenceTest::G2,
        /// An edge is kept if the p-value is below this level.
        level: f64 = 0.01,
        /// Largest number of variables that a test conditions on.
        max_given: usize = 3,
    }
}

/// What [`Pc`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct PcFit {
    /// The graph, with arcs where the direction follows and edges where it does not. If tests contradict each other it may not
    /// be the CPDAG of any class of acyclic graphs.
    pub class: Cpdag,
    /// The graph without directions.
    pub skeleton: Graph,
    /// For every pair `a < b` that is not adjacent, the set that separated it.
    pub separators: BTreeMap<(u32, u32), Vec<u32>>,
    /// Tests that were made.
    pub tests: u64,
}

impl Pc {
    /// Finds the graph.
    ///
    /// # Errors
    /// [`Error::Cell`] for a value that is missing or no state; [`Error::Invalid`] for no records, another number of columns or
    /// a level outside (0, 1); [`Error::Refused`] for 2^64 configurations in one test or more.
    pub fn fit(&self, data: ArrayView2<'_, usize>, cards: &[usize]) -> Result<PcFit, Error> {
        self.fit_with(data, cards, Fit::new())
    }

    /// As [`fit`](Self::fit), with a closure that is called after every size of the conditioning sets: a pass is a size, and
    /// the oracle calls are the tests. After `Break` no larger sets are tried. There is nothing to start from.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Error::Refused`] for weights of the rows and for a start.
    pub fn fit_with(
        &self,
        data: ArrayView2<'_, usize>,
        cards: &[usize],
        fit: Fit<'_, PcFit>,
    ) -> Result<PcFit, Error> {
        refuse_weights("Pc", &fit)?;
        if fit.start.is_some() {
            let what = "a start: edges that are lost do not come back; HillClimbing takes one";
            return Err(Refusal::unsupported("Pc", what).into());
        }
        let columns = Columns::new(data, cards)?;
        let p_value = |x, y, given: &[u32]| Ok(self.test.run(&columns, x, y, given)?.p_value);
        self.search(cards.len(), p_value, fit.watch)
    }

    /// Does the same as [`fit`](Self::fit) with a given test: a function that returns the p-value of the independence of `x`
    /// and `y` given a set. With d-separation in a known graph (1 if separated, else 0) the result is the equivalence class of
    /// that graph.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a level outside (0, 1); those of the test.
    pub fn fit_test(
        &self,
        nodes: usize,
        p_value: impl FnMut(u32, u32, &[u32]) -> Result<f64, Error>,
    ) -> Result<PcFit, Error> {
        self.search(nodes, p_value, Watch::nobody())
    }

    fn search(
        &self,
        nodes: usize,
        mut p_value: impl FnMut(u32, u32, &[u32]) -> Result<f64, Error>,
        mut watch: Watch<'_>,
    ) -> Result<PcFit, Error> {
        if !(self.level > 0.0 && self.level < 1.0) {
            let (value, expected) = (self.level, "a number in (0, 1)");
            return Err(Invalid::Parameter { name: "level", value, expected }.into());
        }
        let n = nodes as u32;
        let mut joined: Vec<Vec<u32>> =
            (0..n).map(|v| (0..n).filter(|&u| u != v).collect()).collect();
        let mut separators = BTreeMap::new();
        let mut tests = 0;
        let wall = Wall::start();
        for size in 0..=self.max_given {
            let before = joined.clone();
            if before.iter().all(|list| list.len() <= size) {
                break;
            }
            for x in 0..n {
                for y in x + 1..n {
                    if joined[x as usize].binary_search(&y).is_err() {
                        continue;
                    }
                    let mut separator = None;
                    'search: for (near, far) in [(x, y), (y, x)] {
                        let around: Vec<u32> =
                            before[near as usize].iter().copied().filter(|&u| u != far).collect();
                        let mut chosen: Vec<usize> = (0..size).collect();
                        let mut more = around.len() >= size;
                        while more {
                            let given: Vec<u32> = chosen.iter().map(|&k| around[k]).collect();
                            tests += 1;
                            if p_value(x, y, &given)? >= self.level {
                                separator = Some(given);
                                break 'search;
                            }
                            more = next(&mut chosen, around.len());
                        }
                        if size == 0 {
                            break;
                        }
                    }
                    if let Some(given) = separator {
                        separators.insert((x, y), given);
                        joined[x as usize].retain(|&u| u != y);
                        joined[y as usize].retain(|&u| u != x);
                    }
                }
            }
            let progress = Progress {
                passes: 1.0 + size as f64,
                oracle_calls: tests,
                seconds: wall.seconds(),
                certificate: Certificate::Uncertified { objective: None },
            };
            if watch.show(&progress).is_break() {
                break;
            }
        }
        let edges = (0u32..).zip(&joined);
        let edges =
            edges.flat_map(|(a, list)| list.iter().map(move |&b| (a, b))).filter(|e| e.0 < e.1);
        let skeleton = Graph::new(nodes, edges)?;
        let class = class(&skeleton, &separators);
        Ok(PcFit { class, skeleton, separators, tests })
    }
}

/// Changes `chosen` to the next subset of `0..n` of the same size in lexicographic order. Returns false if there is none.
fn next(chosen: &mut [usize], n: usize) -> bool {
    let size = chosen.len();
    for k in (0..size).rev() {
        if chosen[k] + size - k < n {
            chosen[k] += 1;
            for later in k + 1..size {
                chosen[later] = chosen[later - 1] + 1;
            }
            return true;
        }
    }
    false
}

/// The v-structures, and the directions that follow from them.
fn class(skeleton: &Graph, separators: &BTreeMap<(u32, u32), Vec<u32>>) -> Cpdag {
    let n = skeleton.nodes() as u32;
    let mut arcs: FxHashSet<(u32, u32)> = FxHashSet::default();
    for z in 0..n {
        let around = skeleton.neighbours(z);
        for (k, &x) in around.iter().enumerate() {
            for &y in &around[k + 1..] {
                let apart = separators.get(&(x, y)).is_some_and(|set| !set.contains(&z));
                // An arc the other way was found before, and stays.
                if apart && !arcs.contains(&(z, x)) && !arcs.contains(&(z, y)) {
                    arcs.insert((x, z));
                    arcs.insert((y, z));
                }
            }
        }
    }
    let undirected = direct(skeleton, &mut arcs);
    let mut directed: Vec<(u32, u32)> = arcs.into_iter().collect();
    directed.sort_unstable();
    Cpdag { nodes: n as usize, directed, undirected }
}
