//! Hill climbing with a tabu list.
//!
//! A step adds, removes or reverses the arc that raises the score most, among the changes that create no cycle. If no change
//! raises the score, the change with the least loss is made, unless it leads back to one of the last graphs (the tabu list).
//! After `patience` steps without a new best graph the search restarts near the best graph: from a graph equivalent to it, drawn
//! by turning covered arcs, with three of ten arcs removed and as many pairs changed at random. It restarts `restarts` times.
//! The result is a local optimum: no single change of an arc raises its score. For samples of large networks the local optima
//! differ much, so that restarts are worth their time. The draw of an equivalent graph gives other arcs a chance to be turned
//! without a loss.
//!
//! Sources: Glover, ORSA J. Computing 1 (1989), for the tabu list; Heckerman, Geiger and Chickering, Machine Learning 20
//! (1995); Chickering, UAI (1995), for covered arcs.

use std::collections::VecDeque;

use fenchel_linalg::{Invalid, Names, parallel};
use fenchel_optim::random::{Generator, stream};
use fenchel_optim::{Certificate, CertificateCost, Fit, Iterative, Stop, run, settings};
use ndarray::ArrayView2;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use rustc_hash::FxHashMap;

use super::{Columns, LearnedDag, refuse_weights};
use crate::graph::check_edge;
use crate::{Dag, Error, StructureScore};

/// Gains below this fraction of the score are rounding errors.
const ROUNDING: f64 = 1e-12;

settings! {
    /// The settings and the method itself; see the [module](crate::structure).
    pub struct HillClimbing {
        /// The score to be maximised.
        score: StructureScore = StructureScore::Bic,
        /// Largest number of parents of a node.
        max_parents: usize = 8,
        /// Number of last graphs to which the search does not return; 0 for plain hill climbing.
        tabu: usize = 10,
        /// Steps without a new best graph before a restart.
        patience: usize = 10,
        /// Number of restarts near the best graph.
        restarts: usize = 100,
        /// Seed of the changes at restarts.
        seed: u64 = 0,
        /// Arcs that stay.
        required: Vec<(u32, u32)> = Vec::new(),
        /// Arcs that never come.
        forbidden: Vec<(u32, u32)> = Vec::new(),
        /// Limits of the search. A pass is a step.
        stop: Stop = Stop { absolute: 0.0, relative: 0.0, max_passes: 100_000.0, ..Stop::default() },
    }
}

impl HillClimbing {
    /// Searches from the graph that has only the required arcs.
    ///
    /// # Errors
    /// [`Error::Cell`] for a value that is missing or no state; [`Error::Cycle`] for required arcs; [`Error::Invalid`] for arcs
    /// between nodes that do not exist, an arc that is required and forbidden, more required parents than `max_parents`, another
    /// number of columns, no records, a prior out of range; [`Error::Refused`] for 2^64 configurations of parents or more.
    pub fn fit(&self, data: ArrayView2<'_, usize>, cards: &[usize]) -> Result<LearnedDag, Error> {
        self.fit_with(data, cards, Fit::new())
    }

    /// As [`fit`](Self::fit), from a given graph and with a closure that watches the steps. The score of the result is at least
    /// as high as that of the start.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Error::Invalid`] for a start that breaks the settings; [`Error::Refused`] for weights of the rows.
    pub fn fit_with(
        &self,
        data: ArrayView2<'_, usize>,
        cards: &[usize],
        fit: Fit<'_, Dag>,
    ) -> Result<LearnedDag, Error> {
        refuse_weights("HillClimbing", &fit)?;
        let Fit { start, mut watch, .. } = fit;
        let start = match start {
            Some(start) => start.clone(),
            None => Dag::new(cards.len(), self.required.iter().copied())?,
        };
        let columns = Columns::new(data, cards)?;
        self.score.check()?;
        Invalid::check_length("nodes of the start", cards.len(), start.nodes())?;
        let mut search = Search::new(self, &columns, &start)?;
        let report = run(&mut search, &self.stop, &mut watch)?;
        if let Some(error) = search.failed {
            return Err(error);
        }
        let (score, parents) = search.best;
        let arcs = (0u32..).zip(&parents).flat_map(|(v, p)| p.iter().map(move |&p| (p, v)));
        Ok(LearnedDag { dag: Dag::new(cards.len(), arcs)?, names: Names::NONE, score, report })
    }
}

/// A change of an arc.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    Add,
    Remove,
    Turn,
}

struct Search<'a> {
    settings: &'a HillClimbing,
    columns: &'a Columns,
    parents: Vec<Vec<u32>>,
    /// Current scores of the families.
    families: Vec<f64>,
    /// `toggle[p n + v]` is the gain in the score of `v` if `p` becomes a parent of `v`, or ceases to be one.
    toggle: Vec<f64>,
    known: FxHashMap<(u32, Vec<u32>), f64>,
    evaluated: u64,
    required: Vec<bool>,
    forbidden: Vec<bool>,
    /// One random key per arc. The key of a graph is the exclusive or of the keys of its arcs.
    keys: Vec<u64>,
    graph: u64,
    recent: VecDeque<u64>,
    best: (f64, Vec<Vec<u32>>),
    /// The best score since the last restart, and the number of steps since it was reached.
    climbed: f64,
    idle: usize,
    restarts: usize,
    random: Generator,
    ended: bool,
    failed: Option<Error>,
}

impl<'a> Search<'a> {
    fn new(settings: &'a HillClimbing, columns: &'a Columns, start: &Dag) -> Result<Self, Error> {
        let n = columns.len();
        let mask = |arcs: &[(u32, u32)]| -> Result<Vec<bool>, Error> {
            let mut mask = vec![false; n * n];
            for &(p, v) in arcs {
                check_edge(n, p, v)?;
                mask[p as usize * n + v as usize] = true;
            }
            Ok(mask)
        };
        let (required, forbidden) = (mask(&settings.required)?, mask(&settings.forbidden)?);
        let layout = |what, reason: String| Err(Invalid::Layout { what, reason }.into());
        for p in 0..n as u32 {
            for v in 0..n as u32 {
                let at = p as usize * n + v as usize;
                if required[at] && forbidden[at] {
                    return layout("required", format!("the arc {p} -> {v} is forbidden as well"));
                }
                if required[at] && !start.has_arc(p, v) || forbidden[at] && start.has_arc(p, v) {
                    let reason = format!(
                        "the arc {p} -> {v} is required or forbidden, and the start differs"
                    );
                    return layout("start", reason);
                }
            }
        }
        let parents: Vec<Vec<u32>> = (0..n as u32).map(|v| start.parents(v).to_vec()).collect();
        if let Some(v) = parents.iter().position(|list| list.len() > settings.max_parents) {
            let reason =
                format!("node {v} has more than max_parents = {} parents", settings.max_parents);
            return layout("start", reason);
        }
        let mut random = stream(0, 0);
        let keys: Vec<u64> = (0..n * n).map(|_| random.next_u64()).collect();
        let graph = start.arcs().fold(0, |graph, (p, v)| graph ^ keys[p as usize * n + v as usize]);
        let mut search = Search {
            settings,
            columns,
            best: (f64::NEG_INFINITY, parents.clone()),
            parents,
            families: vec![0.0; n],
            toggle: vec![f64::NEG_INFINITY; n * n],
            known: FxHashMap::default(),
            evaluated: 0,
            required,
            forbidden,
            keys,
            graph,
            recent: VecDeque::new(),
            climbed: 0.0,
            idle: 0,
            restarts: settings.restarts,
            random: stream(settings.seed, 1),
            ended: n < 2,
            failed: None,
        };
        search.evaluate(&(0..n as u32).collect::<Vec<_>>())?;
        search.best.0 = search.families.iter().sum();
        search.climbed = search.best.0;
        Ok(search)
    }

    /// Computes the gains of all changes of the parents of the given nodes.
    fn evaluate(&mut self, nodes: &[u32]) -> Result<(), Error> {
        let n = self.columns.len() as u32;
        let mut wanted: Vec<(u32, Vec<u32>)> = Vec::new();
        for &v in nodes {
            let own = &self.parents[v as usize];
            wanted.push((v, own.clone()));
            for p in (0..n).filter(|&p| p != v) {
                let changed = toggled(own, p);
                if changed.len() <= self.settings.max_parents {
                    wanted.push((v, changed));
                }
            }
        }
        let missing: Vec<&(u32, Vec<u32>)> =
            wanted.iter().filter(|family| !self.known.contains_key(*family)).collect();
        self.evaluated += missing.len() as u64;
        let (score, columns) = (self.settings.score, self.columns);
        let value = |family: &&(u32, Vec<u32>)| score.of(columns, family.0, &family.1);
        let values = parallel::try_map(&missing, value)?;
        let fresh: Vec<(u32, Vec<u32>)> = missing.into_iter().cloned().collect();
        self.known.extend(fresh.into_iter().zip(values));
        for &v in nodes {
            let own = &self.parents[v as usize];
            let now = self.known[&(v, own.clone())];
            for p in (0..n).filter(|&p| p != v) {
                let changed = self.known.get(&(v, toggled(own, p)));
                self.toggle[(p * n + v) as usize] = changed.map_or(f64::NEG_INFINITY, |s| s - now);
            }
            self.families[v as usize] = now;
        }
        Ok(())
    }

    /// Returns the best allowed change, with its gain and the key of the new graph.
    fn choose(&self) -> Option<(f64, Change, u32, u32, u64)> {
        let n = self.columns.len();
        let below = self.below();
        let reaches = |a: usize, b: usize| below[a * n + b];
        let mut best: Option<(f64, Change, u32, u32, u64)> = None;
        for p in 0..n {
            for v in (0..n).filter(|&v| v != p) {
                let (arc, back) = (p * n + v, v * n + p);
                let is_there = self.parents[v].binary_search(&(p as u32)).is_ok();
                let mut offer = |gain: f64, change, graph| {
                    if gain > best.map_or(f64::NEG_INFINITY, |best| best.0)
                        && !self.recent.contains(&graph)
                    {
                        best = Some((gain, change, p as u32, v as u32, graph));
                    }
                };
                if !is_there {
                    if !self.forbidden[arc] && !reaches(v, p) {
                        offer(self.toggle[arc], Change::Add, self.graph ^ self.keys[arc]);
                    }
                    continue;
                }
                if self.required[arc] {
                    continue;
                }
                offer(self.toggle[arc], Change::Remove, self.graph ^ self.keys[arc]);
                // Another way from p to v would become a cycle.
                let other = |c: usize| {
                    c != v && self.parents[c].binary_search(&(p as u32)).is_ok() && reaches(c, v)
                };
                if !self.forbidden[back] && !(0..n).any(other) {
                    let graph = self.graph ^ self.keys[arc] ^ self.keys[back];
                    offer(self.toggle[arc] + self.toggle[back], Change::Turn, graph);
                }
            }
        }
        best
    }

    /// Entry `a n + b` says whether there is a path from `a` to `b`. Every node reaches itself.
    fn below(&self) -> Vec<bool> {
        let n = self.columns.len();
        let mut children = vec![Vec::new(); n];
        for (v, list) in self.parents.iter().enumerate() {
            list.iter().for_each(|&p| children[p as usize].push(v));
        }
        let mut below = vec![false; n * n];
        for a in 0..n {
            let mut stack = vec![a];
            while let Some(b) = stack.pop() {
                if !std::mem::replace(&mut below[a * n + b], true) {
                    stack.extend(&children[b]);
                }
            }
        }
        below
    }

    fn step(&mut self) -> Result<(), Error> {
        let Some((_, change, p, v, graph)) = self.choose().filter(|c| c.0 > f64::NEG_INFINITY)
        else {
            return self.restart();
        };
        if self.settings.tabu > 0 {
            self.recent.push_back(self.graph);
            if self.recent.len() > self.settings.tabu {
                self.recent.pop_front();
            }
        }
        self.graph = graph;
        self.parents[v as usize] = toggled(&self.parents[v as usize], p);
        if change == Change::Turn {
            self.parents[p as usize] = toggled(&self.parents[p as usize], v);
            self.evaluate(&[v, p])?;
        } else {
            self.evaluate(&[v])?;
        }
        let score: f64 = self.families.iter().sum();
        if score > self.best.0 + ROUNDING * self.best.0.abs() {
            self.best = (score, self.parents.clone());
        }
        if score > self.climbed + ROUNDING * self.climbed.abs() {
            self.climbed = score;
            self.idle = 0;
        } else {
            self.idle += 1;
            // Without a list the next step would lead back.
            if self.idle > self.settings.patience || self.settings.tabu == 0 {
                return self.restart();
            }
        }
        Ok(())
    }

    /// Replaces the graph by an equivalent one. An arc is covered if its ends have the same other parents. Two graphs are
    /// equivalent exactly if turning covered arcs leads from one to the other.
    fn turn_covered_arcs(&mut self) {
        let n = self.columns.len();
        for _ in 0..2 {
            let arcs = |(v, list): (usize, &Vec<u32>)| {
                list.iter().map(move |&p| (p, v as u32)).collect::<Vec<_>>()
            };
            let mut arcs: Vec<(u32, u32)> =
                self.parents.iter().enumerate().flat_map(arcs).collect();
            arcs.shuffle(&mut self.random);
            for (p, v) in arcs {
                let (arc, back) = (p as usize * n + v as usize, v as usize * n + p as usize);
                let covered = toggled(&self.parents[v as usize], p) == self.parents[p as usize];
                if covered
                    && !self.required[arc]
                    && !self.forbidden[back]
                    && self.random.random_bool(0.5)
                {
                    let others = self.parents[p as usize].clone();
                    self.parents[p as usize] = toggled(&others, v);
                    self.parents[v as usize] = others;
                }
            }
        }
    }

    /// Restarts from the best graph with some arcs changed at random, or ends the search.
    fn restart(&mut self) -> Result<(), Error> {
        if self.restarts == 0 {
            self.ended = true;
            return Ok(());
        }
        self.restarts -= 1;
        self.idle = 0;
        self.recent.clear();
        self.parents.clone_from(&self.best.1);
        self.turn_covered_arcs();
        let n = self.columns.len();
        let arcs: usize = self.parents.iter().map(Vec::len).sum();
        for _ in 0..=arcs / 3 {
            let (p, v) = (self.random.random_range(0..n), self.random.random_range(0..n));
            let is_there = self.parents[v].binary_search(&(p as u32)).is_ok();
            let allowed = if is_there {
                !self.required[p * n + v]
            } else {
                p != v
                    && !self.forbidden[p * n + v]
                    && self.parents[v].len() < self.settings.max_parents
                    && !self.below()[v * n + p]
            };
            if allowed {
                self.parents[v] = toggled(&self.parents[v], p as u32);
            }
        }
        // Removals at random too: most pairs are not joined.
        for v in 0..n {
            let required = &self.required;
            let random = &mut self.random;
            self.parents[v].retain(|&p| required[p as usize * n + v] || !random.random_bool(0.3));
        }
        let arc = |(v, list): (usize, &Vec<u32>)| {
            list.iter().fold(0, |graph, &p| graph ^ self.keys[p as usize * n + v])
        };
        self.graph = self.parents.iter().enumerate().map(arc).fold(0, |a, b| a ^ b);
        self.evaluate(&(0..n as u32).collect::<Vec<_>>())?;
        self.climbed = self.families.iter().sum();
        Ok(())
    }
}

/// The sorted list with `p` added, or removed if it was there.
fn toggled(list: &[u32], p: u32) -> Vec<u32> {
    let mut list = list.to_vec();
    match list.binary_search(&p) {
        Ok(at) => {
            list.remove(at);
        }
        Err(at) => list.insert(at, p),
    }
    list
}

impl Iterative for Search<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let mut done = 0.0;
        while done < passes.round().max(1.0) {
            done += 1.0;
            if !self.ended
                && let Err(error) = self.step()
            {
                self.failed = Some(error);
                self.ended = true;
            }
            if self.ended {
                break;
            }
        }
        done
    }

    /// At the end of the search no single change gains anything, so that the certificate is 0.
    fn certify(&mut self) -> Certificate {
        let objective = -self.best.0;
        if self.ended {
            Certificate::residual(objective, 0.0, 0.0)
        } else {
            Certificate::Uncertified { objective: Some(objective) }
        }
    }

    fn certificate_cost(&self) -> CertificateCost {
        CertificateCost::Free
    }

    /// Number of families whose score was computed.
    fn oracle_calls(&self) -> u64 {
        self.evaluated
    }
}
