//! The meaning of each [`Order`] for the blocks of [`sdca`](fn@crate::methods::sdca) and [`oeg`](fn@crate::methods::oeg).
//!
//! The adaptive orders store the gap of every block from its last visit. With probability `1 - non_uniformity` a sequence is
//! drawn uniformly instead, so that no stored gap becomes too old.
//!
//! | order | probability of block `i` is proportional to | name in Le Priol et al. (2018) |
//! |---|---|---|
//! | plain orders, `Weighted` | see [`Order`] | Uniform |
//! | `Lipschitz` | `1 + R_i / (l2 n)` with the squared radius `R_i` of its features | Importance |
//! | `Gap` | its last gap `g_i` | Gap |
//! | `LipschitzGap` | `g_i (1 + R_i / (l2 n))` | Gap x importance |
//! | `LargestGap` | 1 for the largest `g_i`, the first of equal ones; else 0 | Max |

use fenchel_linalg::Invalid;
use fenchel_optim::random::{Generator, MaxTree, Order, SumTree, Visits, stream};
use rand::RngExt;

use crate::Error;

/// Whether the radii of the blocks are needed.
pub(crate) fn needs_radii(order: &Order) -> bool {
    matches!(order, Order::Lipschitz | Order::LipschitzGap)
}

#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    scheme: Scheme,
    generator: Generator,
    non_uniformity: f64,
    /// `1 + R_i / (l2 n)`, empty if not needed.
    importance: Vec<f64>,
    gaps: Vec<f64>,
}

#[derive(Debug, Clone)]
enum Scheme {
    Ordered(Visits),
    /// By weights, which may include gaps.
    Drawn {
        visits: Visits,
    },
    Summed(SumTree),
    Largest(MaxTree),
}

impl Sampler {
    /// `first` is the assumed gap of every block before its first visit.
    pub(crate) fn new(
        order: &Order,
        n: usize,
        non_uniformity: f64,
        importance: Vec<f64>,
        first: f64,
        seed: u64,
    ) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&non_uniformity) {
            let (name, expected) = ("non_uniformity", "a number in [0, 1]");
            return Err(Invalid::Parameter { name, value: non_uniformity, expected }.into());
        }
        let gaps = vec![first; n];
        let scheme = match order {
            Order::Lipschitz => {
                let visits = Visits::new(&Order::Weighted(importance.clone()), n, seed)?;
                Scheme::Drawn { visits }
            }
            Order::Gap => Scheme::Summed(SumTree::new(&gaps)?),
            Order::LipschitzGap => {
                let weights: Vec<f64> = importance.iter().map(|c| first * c).collect();
                Scheme::Summed(SumTree::new(&weights)?)
            }
            Order::LargestGap => Scheme::Largest(MaxTree::new(&gaps)?),
            given => {
                let expected = "a given order, Lipschitz, Gap, LipschitzGap or LargestGap";
                given.check("dual ascent", given.is_given(), expected)?;
                Scheme::Ordered(Visits::new(given, n, seed)?)
            }
        };
        let importance = if *order == Order::LipschitzGap { importance } else { Vec::new() };
        Ok(Sampler { scheme, generator: stream(seed, 1), non_uniformity, importance, gaps })
    }

    pub(crate) fn draw(&mut self) -> usize {
        if let Scheme::Ordered(visits) = &mut self.scheme {
            return visits.draw();
        }
        let toss: f64 = self.generator.random();
        if toss >= self.non_uniformity {
            return self.generator.random_range(0..self.gaps.len());
        }
        match &mut self.scheme {
            Scheme::Ordered(visits) | Scheme::Drawn { visits } => visits.draw(),
            Scheme::Summed(tree) => tree.draw(&mut self.generator),
            Scheme::Largest(tree) => tree.largest(),
        }
    }

    /// Excludes block `i` from draws by gaps until the next [`record`](Self::record).
    pub(crate) fn hold(&mut self, i: usize) {
        let _ = match &mut self.scheme {
            Scheme::Summed(tree) => tree.set(i, 0.0),
            Scheme::Largest(tree) => tree.set(i, 0.0),
            Scheme::Ordered(_) | Scheme::Drawn { .. } => Ok(()),
        };
    }

    /// Whether draws depend on gaps.
    pub(crate) fn adapts(&self) -> bool {
        matches!(self.scheme, Scheme::Summed(_) | Scheme::Largest(_))
    }

    /// Stores the gap of block `i`.
    pub(crate) fn record(&mut self, i: usize, gap: f64) {
        let gap = gap.clamp(0.0, 1e100);
        self.gaps[i] = gap;
        // Gaps are finite and not negative, which is all that the trees ask for.
        let _ = match &mut self.scheme {
            Scheme::Summed(tree) => tree.set(i, gap * self.importance.get(i).unwrap_or(&1.0)),
            Scheme::Largest(tree) => tree.set(i, gap),
            Scheme::Ordered(_) | Scheme::Drawn { .. } => Ok(()),
        };
    }

    /// The last known gaps.
    pub(crate) fn gaps(&self) -> &[f64] {
        &self.gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fenchel_linalg::special::chi_squared_tail;

    const GAPS: [f64; 7] = [0.5, 3.0, 0.0, 1.0, 0.25, 7.25, 0.0];
    const RADII: [f64; 7] = [1.0, 2.0, 9.0, 4.0, 1.5, 3.0, 1.0];

    fn sampler(order: &Order, n: usize, share: f64) -> Sampler {
        let radii = if needs_radii(order) { RADII[..n].to_vec() } else { Vec::new() };
        Sampler::new(order, n, share, radii, 100.0, 5).unwrap()
    }

    /// The p-value of observed frequencies under draws by `weights` mixed with uniform draws.
    fn tail(sampler: &mut Sampler, weights: &[f64], share: f64) -> f64 {
        let draws = 40_000;
        let mut seen = vec![0.0; weights.len()];
        (0..draws).for_each(|_| seen[sampler.draw()] += 1.0);
        let total: f64 = weights.iter().sum();
        let (mut statistic, mut possible) = (0.0, 0);
        for (seen, weight) in seen.iter().zip(weights) {
            let p = share * weight / total + (1.0 - share) / weights.len() as f64;
            if p == 0.0 {
                assert_eq!(*seen, 0.0, "an impossible draw");
                continue;
            }
            let expected = p * f64::from(draws);
            statistic += (seen - expected) * (seen - expected) / expected;
            possible += 1;
        }
        chi_squared_tail(statistic, f64::from(possible - 1))
    }

    #[test]
    fn draws_follow_the_last_gaps_mixed_with_uniform_ones() {
        for share in [0.0, 0.5, 0.8, 1.0] {
            let mut gap = sampler(&Order::Gap, 7, share);
            assert!(tail(&mut gap, &[100.0; 7], share) > 1e-3);
            let mut both = sampler(&Order::LipschitzGap, 7, share);
            assert!(tail(&mut both, &RADII, share) > 1e-3);
            let mut importance = sampler(&Order::Lipschitz, 7, share);
            // Recorded twice: only the last one counts.
            for gaps in [[1.0; 7], GAPS] {
                for (i, gap_i) in gaps.into_iter().enumerate() {
                    for sampler in [&mut gap, &mut both, &mut importance] {
                        sampler.record(i, gap_i);
                    }
                }
            }
            assert_eq!(gap.gaps(), GAPS);
            assert!(tail(&mut gap, &GAPS, share) > 1e-3);
            let products: Vec<f64> = GAPS.iter().zip(RADII).map(|(g, c)| g * c).collect();
            assert!(tail(&mut both, &products, share) > 1e-3);
            assert!(tail(&mut importance, &RADII, share) > 1e-3);
        }
    }

    #[test]
    fn a_held_block_is_drawn_uniformly_only_until_its_gap_is_known() {
        let mut gap = sampler(&Order::Gap, 7, 1.0);
        (0..7).for_each(|i| gap.record(i, GAPS[i]));
        gap.hold(5);
        let mut without = GAPS;
        without[5] = 0.0;
        assert!(tail(&mut gap, &without, 1.0) > 1e-3);
        gap.record(5, GAPS[5]);
        assert!(tail(&mut gap, &GAPS, 1.0) > 1e-3);
        // Nothing to go by: uniform.
        (0..7).for_each(|i| gap.record(i, 0.0));
        assert!(tail(&mut gap, &[1.0; 7], 1.0) > 1e-3);
    }

    #[test]
    fn the_largest_gap_is_the_first_of_equal_ones() {
        let mut max = sampler(&Order::LargestGap, 7, 1.0);
        assert_eq!(max.draw(), 0);
        (0..7).for_each(|i| max.record(i, GAPS[i]));
        assert_eq!((max.draw(), max.draw()), (5, 5));
        max.record(5, 3.0);
        assert_eq!(max.draw(), 1);
        max.hold(1);
        assert_eq!(max.draw(), 5);
    }

    #[test]
    fn a_single_block_is_always_next() {
        for sampling in [Order::Uniform, Order::Lipschitz, Order::Gap, Order::LargestGap] {
            let mut one = sampler(&sampling, 1, 0.8);
            one.record(0, 0.0);
            assert!((0..50).all(|_| one.draw() == 0), "{sampling:?}");
        }
    }

    #[test]
    fn gaps_that_are_no_weights_do_no_harm() {
        let mut gap = sampler(&Order::Gap, 2, 1.0);
        gap.record(0, -1e-13);
        gap.record(1, f64::INFINITY);
        assert_eq!(gap.gaps(), [0.0, 1e100]);
        assert!((0..50).all(|_| gap.draw() == 1));
    }
}
