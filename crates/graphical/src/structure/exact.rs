//! The graph of highest score, by dynamic programming over sets of variables.
//!
//! ```text
//! parents(v, S) = max( score(v | S),  max over s in S of parents(v, S - s) )
//! best(W)       = max over v in W of best(W - v) + parents(v, W - v)
//! ```
//!
//! Every directed acyclic graph has a node `v` without children, which the second line removes. With the set `V` of all
//! variables, `best(V)` is the score of the best graph.
//!
//! Source: Silander and Myllymäki, UAI 2006.

use fenchel_linalg::{Invalid, Names, parallel};
use fenchel_optim::{
    Certificate, CertificateCost, Fit, Iterative, MAX_MEMORY, Refusal, Status, Stop, run, settings,
};
use ndarray::ArrayView2;

use super::{Columns, LearnedDag, refuse_weights};
use crate::{Dag, Error, StructureScore};

/// With more variables there are too many sets.
const MOST: usize = 30;

settings! {
    /// The settings and the method itself; see the [module](crate::structure).
    pub struct ExactSearch {
        /// The score to be maximised.
        score: StructureScore = StructureScore::Bic,
        /// Largest number of parents of a node: the result is the best graph within this limit.
        max_parents: usize = 4,
        /// Bytes that the tables may take; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}

impl ExactSearch {
    /// Returns the graph with the highest score. Of graphs with equal scores it returns one with fewer parents, and one
    /// preferred by the order of the columns.
    ///
    /// # Errors
    /// [`Error::Cell`] for a value that is missing or no state; [`Error::Refused`] for more memory than allowed, and for more than
    /// 30 variables; [`Error::Invalid`] for no records, another number of columns and a prior out of range.
    pub fn fit(&self, data: ArrayView2<'_, usize>, cards: &[usize]) -> Result<LearnedDag, Error> {
        self.fit_with(data, cards, Fit::new())
    }

    /// As [`fit`](Self::fit), with a closure that watches the one pass. There is nothing to start from.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Error::Refused`] for weights of the rows and for a start.
    pub fn fit_with(
        &self,
        data: ArrayView2<'_, usize>,
        cards: &[usize],
        fit: Fit<'_, Dag>,
    ) -> Result<LearnedDag, Error> {
        refuse_weights("ExactSearch", &fit)?;
        if fit.start.is_some() {
            let what = "a start: the search is exhaustive; HillClimbing takes one";
            return Err(Refusal::unsupported("ExactSearch", what).into());
        }
        let mut watch = fit.watch;
        let n = cards.len();
        if n > MOST {
            let what = format!("more than {MOST} variables; take HillClimbing");
            return Err(Refusal::unsupported("ExactSearch", what).into());
        }
        let needed = ((n as u64) << n) * 4 + (9 << n);
        let hint = "take HillClimbing, or fewer variables";
        Refusal::check_memory("ExactSearch", needed, self.max_memory, hint)?;
        let columns = Columns::new(data, cards)?;
        self.score.check()?;
        // With no more parents than this, no number of configurations overflows that the columns could.
        let largest = cards.iter().max().copied().unwrap_or(1) as f64;
        if largest.powi(self.max_parents.min(n) as i32) >= 9e18 {
            let expected = "so few that their configurations can be counted";
            let value = self.max_parents as f64;
            return Err(Invalid::Parameter { name: "max_parents", value, expected }.into());
        }
        let mut search =
            Search { settings: self, columns: &columns, found: None, failed: None, families: 0 };
        let stop = Stop { absolute: 0.0, relative: 0.0, ..Stop::default() };
        let report = run(&mut search, &stop, &mut watch)?;
        match (search.found, search.failed) {
            (Some((score, parents)), _) => {
                let arcs = (0u32..).zip(&parents).flat_map(|(v, p)| p.iter().map(move |&p| (p, v)));
                Ok(LearnedDag { dag: Dag::new(n, arcs)?, names: Names::NONE, score, report })
            }
            (None, Some(error)) => Err(error),
            (None, None) => {
                Ok(LearnedDag { dag: Dag::new(n, [])?, names: Names::NONE, score: 0.0, report })
            }
        }
    }
}

struct Search<'a> {
    settings: &'a ExactSearch,
    columns: &'a Columns,
    found: Option<(f64, Vec<Vec<u32>>)>,
    failed: Option<Error>,
    families: u64,
}

impl Search<'_> {
    fn solve(&mut self) -> Result<(f64, Vec<Vec<u32>>), Error> {
        let n = self.columns.len();
        let mut parents: Vec<Vec<f64>> = Vec::with_capacity(n);
        for v in 0..n {
            parents.push(self.best_parents(v)?);
        }
        let full = (1_usize << n) - 1;
        let mut best = vec![0.0_f64; full + 1];
        let mut last = vec![0_u8; full + 1];
        for set in 1..=full {
            let mut top = (f64::NEG_INFINITY, 0);
            for v in members(set) {
                let without = set & !(1 << v);
                let score = best[without] + parents[v][squeeze(without, v)];
                if score > top.0 {
                    top = (score, v);
                }
            }
            best[set] = top.0;
            last[set] = top.1 as u8;
        }
        let mut chosen = vec![Vec::new(); n];
        let mut set = full;
        while set != 0 {
            let v = usize::from(last[set]);
            set &= !(1 << v);
            let mut own = squeeze(set, v);
            // What can be left out without loss is left out: then the set itself has that score.
            while let Some(s) =
                members(own).find(|&s| parents[v][own & !(1 << s)] == parents[v][own])
            {
                own &= !(1 << s);
            }
            chosen[v] = members(own).map(|s| if s < v { s as u32 } else { s as u32 + 1 }).collect();
        }
        Ok((best[full], chosen))
    }

    /// For every set of other variables, the best score of `v` with parents from this set.
    fn best_parents(&mut self, v: usize) -> Result<Vec<f64>, Error> {
        let sets = 1_usize << (self.columns.len() - 1);
        let few: Vec<usize> = (0..sets)
            .filter(|set| set.count_ones() as usize <= self.settings.max_parents)
            .collect();
        self.families += few.len() as u64;
        let (score, columns) = (self.settings.score, self.columns);
        let value = |&set: &usize| {
            let parents: Vec<u32> =
                members(set).map(|s| if s < v { s as u32 } else { s as u32 + 1 }).collect();
            score.of(columns, v as u32, &parents)
        };
        let values = parallel::try_map(&few, value)?;
        let mut best = vec![f64::NEG_INFINITY; sets];
        few.iter().zip(values).for_each(|(&set, value)| best[set] = value);
        for set in 0..sets {
            let fewer = members(set).map(|s| best[set & !(1 << s)]);
            best[set] = fewer.fold(best[set], f64::max);
        }
        Ok(best)
    }
}

/// The members of a set of small numbers, ascending.
fn members(set: usize) -> impl Iterator<Item = usize> {
    let mut rest = set;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let member = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            member
        })
    })
}

/// Removes `v` from a set, and lowers the numbers above `v` by one.
fn squeeze(set: usize, v: usize) -> usize {
    let low = (1 << v) - 1;
    (set & low) | ((set >> 1) & !low)
}

impl Iterative for Search<'_> {
    fn advance(&mut self, _: f64) -> f64 {
        if self.found.is_none() && self.failed.is_none() {
            match self.solve() {
                Ok(found) => self.found = Some(found),
                Err(error) => self.failed = Some(error),
            }
        }
        1.0
    }

    /// The result is the optimum, so that the gap is 0.
    fn certify(&mut self) -> Certificate {
        match &self.found {
            Some((score, _)) => Certificate::gap(-score, -score),
            None => Certificate::Uncertified { objective: None },
        }
    }

    fn verdict(&self) -> Option<Status> {
        self.failed.is_some().then_some(Status::Stalled)
    }

    fn certificate_cost(&self) -> CertificateCost {
        CertificateCost::Free
    }

    /// Number of families whose score was computed.
    fn oracle_calls(&self) -> u64 {
        self.families
    }
}
