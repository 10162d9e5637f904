//! The sequence of visits of a run.

use fenchel_linalg::Invalid;
use rand::RngExt;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::{Alias, Generator, Order, SumTree, stream};

/// The visits of one run: an endless sequence of terms.
#[derive(Debug, Clone)]
pub struct Visits {
    n: usize,
    kind: Kind,
    generator: Generator,
}

#[derive(Debug, Clone)]
enum Kind {
    Uniform,
    Permuted { order: Vec<u32>, next: usize, run: usize },
    Listed { order: Vec<usize>, next: usize },
    Cyclic { next: usize },
    Weighted(Alias),
    Scored { scores: SumTree, fade: f64 },
}

/// The position of a sequence of [`Visits`] in its random stream. A state stores it, so that a warm start does not repeat the
/// same draws.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    generator: Generator,
}

impl Visits {
    /// Starts a sequence of visits of the terms `0..n`. O(n) memory for [`Order::Permuted`], [`Order::Runs`] and
    /// [`Order::Weighted`].
    ///
    /// # Errors
    /// [`Invalid::Empty`] for `n = 0` or an empty script, [`Invalid::Length`] and
    /// [`Invalid::Parameter`] for weights that do not fit, [`Invalid::Parameter`] for a scripted term `>= n`,
    /// [`Invalid::Layout`] for an order that is not [given](Order::is_given).
    pub fn new(order: &Order, n: usize, seed: u64) -> Result<Self, Invalid> {
        if n == 0 {
            return Err(Invalid::Empty { what: "the sum" });
        }
        let kind = match order {
            Order::Uniform => Kind::Uniform,
            Order::Permuted | Order::Runs(_) => {
                let run = if let Order::Runs(run) = order { *run } else { 1 };
                Invalid::check_count("length of a run", run)?;
                let Ok(count) = u32::try_from(n) else {
                    return Err(Invalid::Parameter {
                        name: "number of terms",
                        value: n as f64,
                        expected: "at most 2^32 - 1 for a permuted order",
                    });
                };
                // There is no longer run than all.
                Kind::Permuted { order: (0..count).collect(), next: n, run: run.min(n) }
            }
            Order::Cyclic => Kind::Cyclic { next: 0 },
            Order::Weighted(weights) => {
                Invalid::check_length("order weights", n, weights.len())?;
                Kind::Weighted(Alias::new(weights)?)
            }
            Order::Scripted(script) => {
                if script.is_empty() {
                    return Err(Invalid::Empty { what: "the scripted order" });
                }
                if let Some(&term) = script.iter().find(|&&term| term >= n) {
                    return Err(Invalid::Parameter {
                        name: "scripted term",
                        value: term as f64,
                        expected: "an index below the number of terms",
                    });
                }
                Kind::Listed { order: script.clone(), next: 0 }
            }
            Order::Mixed
            | Order::Lipschitz
            | Order::Residual
            | Order::Gap
            | Order::LipschitzGap
            | Order::LargestGap => {
                let reason = format!("{} draws need weights or scores of the terms", order.name());
                return Err(Invalid::Layout { what: "order", reason });
            }
        };
        Ok(Visits { n, kind, generator: stream(seed, 0) })
    }

    /// Starts a sequence of draws with probabilities proportional to scores that may change. While all scores are 0 the draws
    /// are uniform. The score of a drawn term is multiplied by `fade`, until the term gets a new score. O(log n) per draw.
    ///
    /// # Errors
    /// [`Invalid::Empty`]; [`Invalid::Parameter`] for a score that is negative or not finite, or a `fade` outside `[0, 1]`.
    pub fn scored(scores: &[f64], fade: f64, seed: u64) -> Result<Self, Invalid> {
        if !(0.0..=1.0).contains(&fade) {
            let expected = "a number in [0, 1]";
            return Err(Invalid::Parameter { name: "fade", value: fade, expected });
        }
        let kind = Kind::Scored { scores: SumTree::new(scores)?, fade };
        Ok(Visits { n: scores.len(), kind, generator: stream(seed, 0) })
    }

    /// Replaces all scores. It has no effect on a sequence without scores. O(n).
    ///
    /// # Errors
    /// [`Invalid`] for another number of scores, or one that is negative or not finite.
    pub fn set_scores(&mut self, fresh: &[f64]) -> Result<(), Invalid> {
        match &mut self.kind {
            Kind::Scored { scores, .. } => scores.set_all(fresh),
            _ => Ok(()),
        }
    }

    /// The current state of the generator.
    pub fn place(&self) -> Place {
        Place { generator: self.generator.clone() }
    }

    /// Continues from a position of a sequence with the same seed; a permutation begins anew. Any other position is ignored,
    /// and the result is `false`.
    pub fn go_to(&mut self, place: &Place) -> bool {
        let same = place.generator.get_seed() == self.generator.get_seed()
            && place.generator.get_stream() == self.generator.get_stream();
        if same {
            self.generator = place.generator.clone();
        }
        same
    }

    /// The next term.
    #[inline]
    pub fn draw(&mut self) -> usize {
        match &mut self.kind {
            Kind::Uniform => self.generator.random_range(0..self.n),
            Kind::Permuted { order, next, run } => {
                if *next == order.len() {
                    match *run {
                        1 => order.shuffle(&mut self.generator),
                        run => shuffle_runs(order, run, &mut self.generator),
                    }
                    *next = 0;
                }
                *next += 1;
                order[*next - 1] as usize
            }
            Kind::Listed { order, next } => {
                let term = order[*next];
                *next = (*next + 1) % order.len();
                term
            }
            Kind::Cyclic { next } => {
                let term = *next;
                *next = (*next + 1) % self.n;
                term
            }
            Kind::Weighted(alias) => alias.draw(&mut self.generator),
            Kind::Scored { scores, fade } => {
                let term = scores.draw(&mut self.generator);
                // A number in [0, 1] times a score is a score.
                let _ = scores.set(term, *fade * scores.get(term));
                term
            }
        }
    }
}

/// A random permutation of `0..order.len()` in runs. The first run may have any length up to `run`.
fn shuffle_runs(order: &mut Vec<u32>, run: usize, generator: &mut Generator) {
    let n = order.len();
    let cut = generator.random_range(0..run);
    let mut runs: Vec<usize> = (0..(n + cut).div_ceil(run)).collect();
    runs.shuffle(generator);
    order.clear();
    for k in runs {
        let (from, to) = ((k * run).saturating_sub(cut), (k + 1) * run - cut);
        order.extend(from as u32..to.min(n) as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_takes_the_generator_along() {
        let mut first = Visits::new(&Order::Uniform, 7, 5).unwrap();
        assert!((0..23).all(|_| first.draw() < 7));
        let mut second = Visits::new(&Order::Uniform, 7, 5).unwrap();
        assert!(second.go_to(&first.place()));
        assert!((0..30).all(|_| first.draw() == second.draw()));
        assert!(!Visits::new(&Order::Uniform, 7, 6).unwrap().go_to(&first.place()), "another seed");
        // The next permutation is another one.
        let mut first = Visits::new(&Order::Permuted, 50, 5).unwrap();
        let begun: Vec<usize> = (0..50).map(|_| first.draw()).collect();
        let mut second = Visits::new(&Order::Permuted, 50, 5).unwrap();
        assert!(second.go_to(&first.place()));
        assert_ne!((0..50).map(|_| second.draw()).collect::<Vec<_>>(), begun);
    }

    #[test]
    fn scores_are_followed() {
        let scores = [0.0, 1.0, 5.0, 2.0];
        // Without fading: frequencies are the scores, 2 degrees of freedom (13.8 is exceeded with probability 1e-3).
        let mut visits = Visits::scored(&scores, 1.0, 3).unwrap();
        let mut seen = [0.0; 4];
        (0..8000).for_each(|_| seen[visits.draw()] += 1.0);
        assert_eq!(seen[0], 0.0);
        let off = |i: usize| (seen[i] - 1000.0 * scores[i]).powi(2) / (1000.0 * scores[i]);
        assert!((1..4).map(off).sum::<f64>() < 13.8, "{seen:?}");
        // What fades to nothing is drawn once; with nothing left, draws are uniform.
        let mut once = Visits::scored(&scores, 0.0, 3).unwrap();
        let mut first: Vec<usize> = (0..3).map(|_| once.draw()).collect();
        first.sort_unstable();
        assert_eq!(first, [1, 2, 3]);
        assert!((0..100).any(|_| once.draw() == 0));
        let mut half = Visits::scored(&scores, 0.5, 3).unwrap();
        half.set_scores(&[0.0, 0.0, 0.0, 1.0]).unwrap();
        assert_eq!(half.draw(), 3);
        assert!(half.set_scores(&[1.0; 3]).is_err());
        assert!(Visits::scored(&[], 1.0, 0).is_err());
        assert!(Visits::scored(&[f64::NAN], 1.0, 0).is_err());
        assert!(Visits::scored(&[1.0], 1.5, 0).is_err());
    }

    fn visits(order: Order, n: usize, count: usize) -> Vec<usize> {
        let mut visits = Visits::new(&order, n, 7).unwrap();
        (0..count).map(|_| visits.draw()).collect()
    }

    #[test]
    fn runs_visit_each_term_once_a_pass_and_mostly_after_its_neighbour() {
        for (n, run) in [(50, 1), (50, 4), (51, 7), (3, 8), (5, usize::MAX)] {
            let mut starts = std::collections::BTreeSet::new();
            let order = Order::Runs(run);
            let run = run.min(n);
            for pass in visits(order, n, 40 * n).chunks(n) {
                let mut sorted = pass.to_vec();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..n).collect::<Vec<_>>());
                let breaks = pass.windows(2).filter(|w| w[1] != w[0] + 1).count();
                assert!(breaks <= (n + run - 1).div_ceil(run), "{breaks} of {n} by {run}");
                starts.extend(pass.windows(2).filter(|w| w[1] != w[0] + 1).map(|w| w[1]));
            }
            // Every term begins a run some time.
            assert!(n == run || starts.len() == n, "{} of {n} by {run}", starts.len());
        }
        assert!(Visits::new(&Order::Runs(0), 5, 1).is_err());
    }

    #[test]
    fn permuted_visits_each_term_once_a_pass() {
        let all = visits(Order::Permuted, 50, 150);
        let mut orders = vec![];
        for pass in all.chunks(50) {
            let mut sorted = pass.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..50).collect::<Vec<_>>());
            orders.push(pass.to_vec());
        }
        assert_ne!(orders[0], orders[1]);
    }

    #[test]
    fn cyclic_and_scripted_repeat() {
        assert_eq!(visits(Order::Cyclic, 3, 7), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(visits(Order::Scripted(vec![2, 0, 0]), 3, 7), [2, 0, 0, 2, 0, 0, 2]);
    }

    #[test]
    fn uniform_draws_pass_a_chi_squared_test() {
        // 10 cells, 9 degrees of freedom: 27.9 is exceeded with probability 1e-3.
        let (n, count) = (10, 20_000);
        let mut seen = [0.0; 10];
        for term in visits(Order::Uniform, n, count) {
            seen[term] += 1.0;
        }
        let expected = count as f64 / n as f64;
        let statistic: f64 = seen.iter().map(|s| (s - expected) * (s - expected) / expected).sum();
        assert!(statistic < 27.9, "{statistic}");
    }

    #[test]
    fn bad_orders_are_refused() {
        assert!(Visits::new(&Order::Uniform, 0, 0).is_err());
        assert!(Visits::new(&Order::Scripted(vec![]), 3, 0).is_err());
        assert!(Visits::new(&Order::Scripted(vec![3]), 3, 0).is_err());
        assert!(Visits::new(&Order::Weighted(vec![1.0]), 2, 0).is_err());
        assert!(Visits::new(&Order::Weighted(vec![1.0, -1.0]), 2, 0).is_err());
        assert!(Visits::new(&Order::Weighted(vec![0.0, 0.0]), 2, 0).is_err());
        assert!(Visits::new(&Order::Gap, 2, 0).is_err());
    }
}
