//! Random Bayesian networks, and everything about them by enumeration.

use fenchel_graphical::{BayesNet, Evidence, Finding, VarId};
use proptest::prelude::*;

/// Up to `largest` variables of 1 to 3 states, up to 3 parents each, some probabilities 0.
pub(crate) fn nets(largest: usize) -> impl Strategy<Value = BayesNet> {
    (1..=largest).prop_flat_map(|n| {
        let cards = proptest::collection::vec(1usize..=3, n);
        let order = Just((0..n).collect::<Vec<_>>()).prop_shuffle();
        let arcs = proptest::collection::vec(any::<bool>(), n * n);
        let weights =
            proptest::collection::vec(prop_oneof![1 => Just(0.0), 4 => 0.01f64..1.0], 81 * n);
        (cards, order, arcs, weights)
            .prop_map(|(cards, order, arcs, weights)| build(&cards, &order, &arcs, &weights))
    })
}

fn build(cards: &[usize], order: &[usize], arcs: &[bool], weights: &[f64]) -> BayesNet {
    let n = cards.len();
    let names: Vec<String> = (0..n).map(|v| format!("v{v}")).collect();
    let states = ["a", "b", "c"];
    let mut net = BayesNet::builder();
    for v in 0..n {
        net = net.variable(&names[v], &states[..cards[v]]);
    }
    for (place, &v) in order.iter().enumerate() {
        let parents: Vec<usize> =
            order[..place].iter().copied().filter(|&p| arcs[v * n + p]).take(3).collect();
        let rows: usize = parents.iter().map(|&p| cards[p]).product();
        let mut table = Vec::new();
        for row in 0..rows {
            let mut row = weights[81 * v + 3 * row..][..cards[v]].to_vec();
            let sum: f64 = row.iter().sum();
            if sum > 0.0 {
                row.iter_mut().for_each(|p| *p /= sum);
            } else {
                row[0] = 1.0;
            }
            table.extend(row);
        }
        let parents: Vec<&str> = parents.iter().map(|&p| names[p].as_str()).collect();
        net = net.cpt(&names[v], &parents, &table);
    }
    net.build().unwrap()
}

/// All configurations, the last variable fastest.
#[allow(dead_code)]
pub(crate) fn configurations(cards: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &card in cards {
        all = all
            .into_iter()
            .flat_map(|x: Vec<usize>| (0..card).map(move |s| [x.as_slice(), &[s]].concat()))
            .collect();
    }
    all
}

/// `P(x, e)` by the definition, from the tables alone.
#[allow(dead_code)]
pub(crate) fn joint(net: &BayesNet, x: &[usize], evidence: &Evidence) -> f64 {
    let mut p = 1.0;
    for v in net.variables() {
        let mut at = 0;
        for &u in net.parents_of(v).iter().chain([&v]) {
            at = at * net.cards()[u.index()] + x[u.index()];
        }
        p *= net.cpt_of(v)[at];
    }
    for (v, finding) in evidence.iter() {
        p *= match finding {
            Finding::State(state) => f64::from(u8::from(x[v.index()] == *state)),
            Finding::Likelihood(values) => values[x[v.index()]],
        };
    }
    p
}

/// `P(x_query, e)` for every configuration of the query, the last one fastest.
#[allow(dead_code)]
pub(crate) fn marginal(net: &BayesNet, query: &[VarId], evidence: &Evidence) -> Vec<f64> {
    let cards: Vec<usize> = query.iter().map(|v| net.cards()[v.index()]).collect();
    let mut out = vec![0.0; cards.iter().product()];
    for x in configurations(net.cards()) {
        let at = query.iter().zip(&cards).fold(0, |at, (v, card)| at * card + x[v.index()]);
        out[at] += joint(net, &x, evidence);
    }
    out
}
