//! Random models, and inference by enumerating every configuration.

pub(crate) mod networks;

use fenchel_graphical::{FactorGraph, VarId};
use fenchel_linalg::special::chi_squared_tail;
use proptest::prelude::*;

/// Every configuration, last variable fastest.
pub(crate) fn configurations(cards: &[usize]) -> Vec<Vec<usize>> {
    cards.iter().fold(vec![vec![]], |prefixes, &card| {
        let extend = |prefix: Vec<usize>| {
            (0..card).map(move |state| {
                let mut longer = prefix.clone();
                longer.push(state);
                longer
            })
        };
        prefixes.into_iter().flat_map(extend).collect()
    })
}

/// `log sum exp`, written down again.
pub(crate) fn log_sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + values.iter().map(|v| (v - top).exp()).sum::<f64>().ln()
}

/// All configurations of a model with their scores.
pub(crate) struct Enumeration {
    pub(crate) cards: Vec<usize>,
    pub(crate) configurations: Vec<Vec<usize>>,
    pub(crate) scores: Vec<f64>,
    pub(crate) log_partition: f64,
}

impl Enumeration {
    pub(crate) fn of(model: &FactorGraph) -> Self {
        let configurations = configurations(model.cards());
        let scores: Vec<f64> = configurations.iter().map(|x| model.log_score(x).unwrap()).collect();
        let log_partition = log_sum(scores.iter().copied());
        Enumeration { cards: model.cards().to_vec(), configurations, scores, log_partition }
    }

    pub(crate) fn probability(&self, k: usize) -> f64 {
        (self.scores[k] - self.log_partition).exp()
    }

    /// `P(x_scope)`, scope as given, last variable fastest.
    pub(crate) fn marginal(&self, scope: &[VarId]) -> Vec<f64> {
        self.aggregate(scope, 0.0, |k| self.probability(k), |a, b| a + b)
    }

    /// `max score` for each state.
    pub(crate) fn max_marginal(&self, v: VarId) -> Vec<f64> {
        self.aggregate(&[v], f64::NEG_INFINITY, |k| self.scores[k], f64::max)
    }

    pub(crate) fn best_score(&self) -> f64 {
        self.scores.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    pub(crate) fn entropy(&self) -> f64 {
        let terms = (0..self.scores.len()).map(|k| self.probability(k));
        -terms.filter(|&p| p > 0.0).map(|p| p * p.ln()).sum::<f64>()
    }

    fn aggregate(
        &self,
        scope: &[VarId],
        start: f64,
        value: impl Fn(usize) -> f64,
        join: impl Fn(f64, f64) -> f64,
    ) -> Vec<f64> {
        let size = scope.iter().map(|v| self.cards[v.index()]).product();
        let mut out = vec![start; size];
        for (k, x) in self.configurations.iter().enumerate() {
            let at = scope.iter().fold(0, |at, v| at * self.cards[v.index()] + x[v.index()]);
            out[at] = join(out[at], value(k));
        }
        out
    }
}

/// Up to `variables` variables of 1 to 4 states, up to ten factors over 0 to 4 of them in any order, some zeros.
pub(crate) fn models(variables: usize) -> impl Strategy<Value = FactorGraph> {
    models_with(variables, 0.1)
}

/// As [`models`], with the given share of zeros.
pub(crate) fn models_with(variables: usize, zeros: f64) -> impl Strategy<Value = FactorGraph> {
    let cards = proptest::collection::vec(1..=4_usize, 1..=variables)
        .prop_filter("enumerable", |cards| cards.iter().product::<usize>() <= 3000);
    cards.prop_flat_map(move |cards| {
        let n = cards.len();
        let all: Vec<u32> = (0..n as u32).collect();
        let scope = proptest::sample::subsequence(all, 0..=n.min(4)).prop_shuffle();
        let factor = scope.prop_flat_map({
            let cards = cards.clone();
            move |scope| {
                let size: usize = scope.iter().map(|&v| cards[v as usize]).product();
                let value = prop_oneof![
                    ((1.0 - zeros) * 1000.0) as u32 => -4.0..4.0_f64,
                    (zeros * 1000.0) as u32 => Just(f64::NEG_INFINITY),
                ];
                (Just(scope), proptest::collection::vec(value, size))
            }
        });
        proptest::collection::vec(factor, 0..10).prop_map(move |factors| {
            let mut model = FactorGraph::new(&cards).unwrap();
            for (scope, values) in factors {
                let scope: Vec<VarId> = scope.into_iter().map(VarId).collect();
                model.add(&scope, &values).unwrap();
            }
            model
        })
    })
}

/// Largest absolute difference.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| if x == y { 0.0 } else { (x - y).abs() }).fold(0.0, f64::max)
}

/// The probability of a chi-square this large or larger, cells below 5 expected counts joined.
pub(crate) fn p_value(counts: &[f64], law: &[f64]) -> f64 {
    let n: f64 = counts.iter().sum();
    let (mut statistic, mut cells, mut rare) = (0.0, 0.0, (0.0, 0.0));
    for (&count, &p) in counts.iter().zip(law) {
        if n * p < 5.0 {
            rare = (rare.0 + count, rare.1 + n * p);
        } else {
            statistic += (count - n * p).powi(2) / (n * p);
            cells += 1.0;
        }
    }
    if rare.1 >= 5.0 {
        statistic += (rare.0 - rare.1).powi(2) / rare.1;
        cells += 1.0;
    } else {
        assert!(rare.0 < 40.0, "{} counts where {} are expected", rare.0, rare.1);
    }
    chi_squared_tail(statistic, cells - 1.0)
}
