//! Graphs as text, separations against the definition, latent projection.

use fenchel_causal::{Admg, NodeSet};
use proptest::prelude::*;

use crate::common::{pairs, random_graph, rng};

/// All simple paths, judged one by one by the definition of an open path.
fn separated_by_paths(g: &Admg, x: u32, y: u32, given: NodeSet) -> bool {
    // (next node, arrowhead at this end, arrowhead at that end)
    let edges = |v: u32| {
        let mut all: Vec<(u32, bool, bool)> = Vec::new();
        all.extend(g.children(v).iter().map(|w| (w, false, true)));
        all.extend(g.parents(v).iter().map(|w| (w, true, false)));
        all.extend(g.spouses(v).iter().map(|w| (w, true, true)));
        all
    };
    let opens = g.ancestors(given);
    fn open(
        at: u32,
        head: Option<bool>,
        seen: NodeSet,
        y: u32,
        given: NodeSet,
        opens: NodeSet,
        edges: &dyn Fn(u32) -> Vec<(u32, bool, bool)>,
    ) -> bool {
        if at == y {
            return true;
        }
        edges(at).into_iter().any(|(next, here, there)| {
            let passes = match head {
                None => true,
                Some(head) if head && here => opens.contains(at),
                Some(_) => !given.contains(at),
            };
            passes
                && !seen.contains(next)
                && open(next, Some(there), seen | NodeSet::one(next), y, given, opens, edges)
        })
    }
    !open(x, None, NodeSet::one(x), y, given, opens, &edges)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn m_separation_is_its_definition(seed in any::<u64>(), n in 3_usize..7) {
        let g = random_graph(n, 0.4, 0.3, &mut rng(seed));
        for (x, y) in pairs(n) {
            for bits in 0..1_u32 << n {
                let given: NodeSet = (0..n as u32).filter(|v| bits >> v & 1 == 1).collect();
                if given.contains(x) || given.contains(y) { continue }
                let fast = g.m_separated(NodeSet::one(x), NodeSet::one(y), given).unwrap();
                prop_assert_eq!(fast, separated_by_paths(&g, x, y, given), "{} {} {} {:?}", g, x, y, given);
            }
        }
    }

    /// Among the observed nodes, hiding nodes changes no separation.
    #[test]
    fn projection_keeps_separations(seed in any::<u64>(), n in 3_usize..8, hide in any::<u32>()) {
        let g = random_graph(n, 0.5, 0.15, &mut rng(seed));
        let hidden: NodeSet = (0..n as u32).filter(|v| hide >> v & 1 == 1).collect();
        let small = g.project(hidden).unwrap();
        let keep: Vec<u32> = (g.all() - hidden).iter().collect();
        let m = keep.len();
        for (x, y) in pairs(m) {
            for bits in 0..1_u32 << m {
                let given: NodeSet = (0..m as u32).filter(|v| bits >> v & 1 == 1).collect();
                if given.contains(x) || given.contains(y) { continue }
                let up = |s: NodeSet| -> NodeSet { s.iter().map(|v| keep[v as usize]).collect() };
                let (a, b) = (NodeSet::one(x), NodeSet::one(y));
                let below = small.m_separated(a, b, given).unwrap();
                let above = g.m_separated(up(a), up(b), up(given)).unwrap();
                prop_assert_eq!(below, above, "{} without {:?}: {}", &g, hidden, &small);
            }
        }
    }

    #[test]
    fn text_round_trip(seed in any::<u64>(), n in 1_usize..9) {
        let g = random_graph(n, 0.3, 0.3, &mut rng(seed));
        let back = Admg::parse(&g.to_string()).unwrap();
        // Numbers may change, names and edges may not.
        let edges = |g: &Admg| {
            let mut all: Vec<String> = g.to_string().split("; ").map(|e| {
                match e.split_once(" <-> ") {
                    Some((a, b)) if b < a => format!("{b} <-> {a}"),
                    _ => e.to_string(),
                }
            }).collect();
            all.sort();
            all
        };
        prop_assert_eq!(edges(&g), edges(&back));
        let json = serde_json::to_string(&g).unwrap();
        prop_assert_eq!(serde_json::from_str::<Admg>(&json).unwrap(), g);
    }
}

#[test]
fn mutilated_graphs() {
    let g = Admg::parse("Z -> X -> Y; Z -> Y; X <-> Y").unwrap();
    let x = g.set(&["X"]).unwrap();
    assert_eq!(g.without_incoming(x).unwrap().to_string(), "Z -> Y; X -> Y");
    assert_eq!(g.without_outgoing(x).unwrap().to_string(), "Z -> X; Z -> Y; X <-> Y");
    assert_eq!(g.districts().len(), 2);
}
