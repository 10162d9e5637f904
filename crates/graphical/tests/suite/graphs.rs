//! Graphs and directed graphs against their definitions, by enumeration.

use std::collections::BTreeMap;

use fenchel_graphical::graph::{maximum_spanning_forest, minimum_spanning_forest};
use fenchel_graphical::{Dag, Error, Graph};
use proptest::prelude::*;

fn graphs(nodes: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Graph> {
    nodes.prop_flat_map(|n| {
        proptest::collection::vec(any::<bool>(), n * (n - 1) / 2).prop_map(move |joined| {
            let pairs = (0..n as u32).flat_map(|b| (0..b).map(move |a| (a, b)));
            let edges = pairs.zip(joined).filter(|(_, joined)| *joined).map(|(edge, _)| edge);
            Graph::new(n, edges).unwrap()
        })
    })
}

/// A random order of the nodes and a subset of the arcs along it.
fn dags(nodes: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Dag> {
    nodes.prop_flat_map(|n| {
        let order = Just((0..n as u32).collect::<Vec<_>>()).prop_shuffle();
        let joined = proptest::collection::vec(any::<bool>(), n * (n - 1) / 2);
        (order, joined).prop_map(move |(order, joined)| {
            let pairs = (0..n).flat_map(|b| (0..b).map(move |a| (a, b)));
            let arcs = pairs.zip(joined).filter(|(_, joined)| *joined);
            Dag::new(n, arcs.map(|((a, b), _)| (order[a], order[b]))).unwrap()
        })
    })
}

fn members(set: u32, nodes: usize) -> Vec<u32> {
    (0..nodes as u32).filter(|v| set >> v & 1 == 1).collect()
}

/// All labelled DAGs of `n` nodes.
fn all_dags(n: usize) -> Vec<Dag> {
    let pairs: Vec<_> = (0..n as u32).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
    let mut found = Vec::new();
    for code in 0..3usize.pow(pairs.len() as u32) {
        let mut rest = code;
        let mut arcs = Vec::new();
        for &(a, b) in &pairs {
            match rest % 3 {
                1 => arcs.push((a, b)),
                2 => arcs.push((b, a)),
                _ => {}
            }
            rest /= 3;
        }
        found.extend(Dag::new(n, arcs).ok());
    }
    found
}

/// All simple trails from `x` to `y`, each tried for being active by the definition: every collider
/// has itself or a descendant in `z`, every other inner node is outside `z`.
fn d_separated_by_definition(dag: &Dag, x: u32, y: u32, z: &[u32]) -> bool {
    fn active(dag: &Dag, trail: &mut Vec<u32>, y: u32, z: &[u32]) -> bool {
        let end = *trail.last().unwrap();
        if end == y {
            return trail.windows(3).all(|w| {
                if dag.has_arc(w[0], w[1]) && dag.has_arc(w[2], w[1]) {
                    let below = dag.descendants(&[w[1]]).unwrap();
                    z.iter().any(|&v| below[v as usize])
                } else {
                    !z.contains(&w[1])
                }
            });
        }
        (0..dag.nodes() as u32).any(|next| {
            if trail.contains(&next) || !dag.is_adjacent(end, next) {
                return false;
            }
            trail.push(next);
            let found = active(dag, trail, y, z);
            trail.pop();
            found
        })
    }
    !active(dag, &mut vec![x], y, z)
}

/// Separation in the moral graph of the ancestors of everything named: an equivalent definition
/// (Lauritzen and Spiegelhalter).
fn separated_in_moral_ancestral_graph(dag: &Dag, x: u32, y: u32, z: &[u32]) -> bool {
    let named: Vec<u32> = [x, y].iter().chain(z).copied().collect();
    let kept = dag.ancestors(&named).unwrap();
    let inside = |a: u32, b: u32| kept[a as usize] && kept[b as usize];
    let moral =
        Dag::new(dag.nodes(), dag.arcs().filter(|&(a, b)| inside(a, b))).unwrap().moralise();
    let open = moral.edges().filter(|(a, b)| !z.contains(a) && !z.contains(b));
    let cut = Graph::new(dag.nodes(), open).unwrap();
    !cut.components().iter().any(|c| c.contains(&x) && c.contains(&y))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn maximal_cliques_are_all_complete_sets_that_cannot_grow(graph in graphs(1..=9)) {
        let n = graph.nodes();
        let complete = |set: u32| {
            let nodes = members(set, n);
            nodes.iter().all(|&a| nodes.iter().all(|&b| a == b || graph.has_edge(a, b)))
        };
        let mut expected: Vec<Vec<u32>> = (1..1u32 << n)
            .filter(|&set| complete(set))
            .filter(|&set| !(0..n).any(|v| set >> v & 1 == 0 && complete(set | 1 << v)))
            .map(|set| members(set, n))
            .collect();
        expected.sort();
        prop_assert_eq!(graph.maximal_cliques(1000).unwrap(), expected.clone());
        let limit = expected.len() - 1;
        prop_assert_eq!(
            graph.maximal_cliques(limit),
            Err(Error::TooMany { what: "maximal cliques", limit })
        );
    }

    #[test]
    fn chordal_means_no_long_cycle_without_a_chord(graph in graphs(1..=7)) {
        // An induced cycle: connected, and every node has two neighbours.
        let n = graph.nodes();
        let chordless = (0..1u32 << n).filter(|set| set.count_ones() >= 4).any(|set| {
            let nodes = members(set, n);
            let inside = |&(a, b): &(u32, u32)| nodes.contains(&a) && nodes.contains(&b);
            let part = Graph::new(n, graph.edges().filter(inside)).unwrap();
            let connected = part.components().iter().filter(|c| c.len() > 1).count() == 1;
            connected && nodes.iter().all(|&v| part.neighbours(v).len() == 2)
        });
        prop_assert_eq!(graph.is_chordal(), !chordless);
        if let Some(order) = graph.perfect_elimination_order() {
            for (i, &v) in order.iter().enumerate() {
                let later: Vec<u32> = order[i..].iter().copied().filter(|&u| graph.has_edge(u, v)).collect();
                prop_assert!(later.iter().all(|&a| later.iter().all(|&b| a == b || graph.has_edge(a, b))));
            }
        }
    }

    #[test]
    fn degeneracy_is_the_largest_least_degree_of_a_subgraph(graph in graphs(1..=8)) {
        let n = graph.nodes();
        let least = |set: u32| {
            let nodes = members(set, n);
            let degree = |&v: &u32| nodes.iter().filter(|&&u| graph.has_edge(u, v)).count();
            nodes.iter().map(degree).min().unwrap()
        };
        let (order, degeneracy) = graph.degeneracy_order();
        prop_assert_eq!(degeneracy, (1..1u32 << n).map(least).max().unwrap());
        for (i, &v) in order.iter().enumerate() {
            prop_assert!(order[i..].iter().filter(|&&u| graph.has_edge(u, v)).count() <= degeneracy);
        }
    }

    #[test]
    fn spanning_forests_are_the_best_of_all_forests(
        graph in graphs(2..=5),
        weights in proptest::collection::vec(-5i32..5, 10),
    ) {
        let edges: Vec<_> = graph.edges().zip(&weights).map(|((a, b), &w)| (a, b, f64::from(w))).collect();
        let n = graph.nodes();
        let wanted = n - graph.components().len();
        let totals: Vec<f64> = (0..1u32 << edges.len())
            .filter(|set| set.count_ones() as usize == wanted)
            .map(|set| members(set, edges.len()))
            .filter(|chosen| {
                let part = chosen.iter().map(|&e| (edges[e as usize].0, edges[e as usize].1));
                Graph::new(n, part).unwrap().is_forest()
            })
            .map(|chosen| chosen.iter().map(|&e| edges[e as usize].2).sum())
            .collect();
        let total = |chosen: Vec<usize>| {
            assert_eq!(chosen.len(), wanted);
            let part = chosen.iter().map(|&e| (edges[e].0, edges[e].1));
            assert!(Graph::new(n, part).unwrap().is_forest());
            chosen.iter().map(|&e| edges[e].2).sum::<f64>()
        };
        let least = totals.iter().copied().fold(f64::INFINITY, f64::min);
        let most = totals.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        prop_assert_eq!(total(minimum_spanning_forest(n, &edges).unwrap()), least);
        prop_assert_eq!(total(maximum_spanning_forest(n, &edges).unwrap()), most);
    }

    #[test]
    fn d_separation_is_the_absence_of_active_trails(dag in dags(2..=6)) {
        let n = dag.nodes();
        for x in 0..n as u32 {
            for y in (0..n as u32).filter(|&y| y != x) {
                for set in (0..1u32 << n).filter(|set| set >> x & 1 == 0 && set >> y & 1 == 0) {
                    let z = members(set, n);
                    let found = dag.d_separated(&[x], &[y], &z).unwrap();
                    prop_assert_eq!(found, d_separated_by_definition(&dag, x, y, &z));
                    prop_assert_eq!(found, separated_in_moral_ancestral_graph(&dag, x, y, &z));
                }
            }
        }
    }

    #[test]
    fn parents_come_first_and_graphs_survive_the_change_of_form(dag in dags(1..=9)) {
        let order = dag.topological_order();
        let place = |v: u32| order.iter().position(|&u| u == v).unwrap();
        prop_assert!(dag.arcs().all(|(a, b)| place(a) < place(b)));
        prop_assert_eq!(&Dag::new(dag.nodes(), dag.arcs()).unwrap(), &dag);
        prop_assert_eq!(dag.skeleton().edge_count(), dag.arc_count());
        // An arc against the order, along a path, closes a cycle that the error names.
        if let Some((a, b)) = dag.arcs().next() {
            let arcs = dag.arcs().map(|arc| if arc == (a, b) { (b, a) } else { arc });
            let reversed = Dag::new(dag.nodes(), arcs);
            if let Err(Error::Cycle { path }) = reversed {
                let path: Vec<u32> = path.iter().map(|v| v.parse().unwrap()).collect();
                prop_assert_eq!(path.first(), path.last());
                prop_assert!(path.windows(2).all(|w| dag.has_arc(w[0], w[1]) || (w[0], w[1]) == (b, a)));
            }
        }
    }
}

#[test]
fn classes_of_equivalent_graphs_are_those_of_enumeration() {
    // Counts of labelled DAGs and of their classes: Robinson 1977; Gillispie and Perlman 2001.
    for (n, graphs, classes) in [(2, 3, 2), (3, 25, 11), (4, 543, 185)] {
        let all = all_dags(n);
        assert_eq!(all.len(), graphs);
        let mut by_independences: BTreeMap<Vec<bool>, Vec<&Dag>> = BTreeMap::new();
        for dag in &all {
            let mut statements = Vec::new();
            for x in 0..n as u32 {
                for y in 0..x {
                    for set in (0..1u32 << n).filter(|s| s >> x & 1 == 0 && s >> y & 1 == 0) {
                        statements.push(d_separated_by_definition(dag, x, y, &members(set, n)));
                    }
                }
            }
            by_independences.entry(statements).or_default().push(dag);
        }
        assert_eq!(by_independences.len(), classes);
        let mut patterns = Vec::new();
        for class in by_independences.values() {
            // Compelled: in every member; reversible: in both directions among the members.
            let arcs = class[0].arcs();
            let (directed, reversible): (Vec<_>, Vec<_>) =
                arcs.partition(|&(a, b)| class.iter().all(|dag| dag.has_arc(a, b)));
            let mut undirected: Vec<_> =
                reversible.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
            undirected.sort_unstable();
            for dag in class {
                let pattern = dag.cpdag();
                assert_eq!((&pattern.directed, &pattern.undirected), (&directed, &undirected));
                assert!(dag.is_equivalent(class[0]));
            }
            patterns.push(class[0].cpdag());
        }
        for (i, a) in patterns.iter().enumerate() {
            assert!(patterns[..i].iter().all(|b| a != b));
        }
    }
}

#[test]
fn mutilated_graphs_lose_arcs_on_one_side() {
    let dag = Dag::new(4, [(0, 1), (1, 2), (0, 2), (2, 3)]).unwrap();
    let cut = dag.without_incoming(&[2]).unwrap();
    assert_eq!(cut.arcs().collect::<Vec<_>>(), [(0, 1), (2, 3)]);
    let cut = dag.without_outgoing(&[0]).unwrap();
    assert_eq!(cut.arcs().collect::<Vec<_>>(), [(1, 2), (2, 3)]);
    assert_eq!(dag.ancestors(&[1]).unwrap(), [true, true, false, false]);
    assert_eq!(dag.descendants(&[1]).unwrap(), [false, true, true, true]);
}

#[test]
fn long_chains_and_large_cliques_need_no_stack() {
    let n = 200_000u32;
    let chain = Dag::new(n as usize, (1..n).map(|v| (v - 1, v))).unwrap();
    assert!(!chain.d_separated(&[0], &[n - 1], &[]).unwrap());
    assert!(chain.d_separated(&[0], &[n - 1], &[77]).unwrap());
    assert_eq!(chain.skeleton().maximal_cliques(usize::MAX).unwrap().len(), n as usize - 1);
    assert!(chain.skeleton().is_chordal());
    let complete = Graph::new(300, (0..300).flat_map(|b| (0..b).map(move |a| (a, b)))).unwrap();
    assert_eq!(complete.maximal_cliques(1).unwrap()[0].len(), 300);
    let closed = Dag::new(3, [(0, 1), (1, 2), (2, 0)]).unwrap_err();
    assert_eq!(closed.to_string(), "the arcs form a cycle: 0 -> 1 -> 2 -> 0");
}

#[test]
fn arcs_and_edges_that_do_not_fit_are_named() {
    let text = |e: Error| e.to_string();
    let wrong = text(Graph::new(2, [(0, 2)]).unwrap_err());
    assert_eq!(wrong, "edges: (0, 2) in a graph of 2 nodes, which count from 0");
    let wrong = text(Graph::new(2, [(1, 1)]).unwrap_err());
    assert_eq!(wrong, "edges: (1, 1) joins a node to itself");
    let wrong = text(Dag::new(2, [(0, 1), (0, 1)]).unwrap_err());
    assert_eq!(wrong, "arc \"0 -> 1\" is given twice");
    let dag = Dag::new(2, [(0, 1)]).unwrap();
    for wrong in [
        dag.d_separated(&[0], &[5], &[]).map(|_| ()),
        dag.d_separated(&[5], &[0], &[]).map(|_| ()),
        dag.d_separated(&[0], &[1], &[5]).map(|_| ()),
        dag.ancestors(&[5]).map(|_| ()),
        dag.requisite(&[5], &[]).map(|_| ()),
        dag.without_incoming(&[5]).map(|_| ()),
    ] {
        assert_eq!(wrong.unwrap_err().to_string(), "node = 5; expected a node, counted from 0");
    }
    let nan = minimum_spanning_forest(2, &[(0, 1, f64::NAN)]).unwrap_err();
    assert_eq!(nan.to_string(), "edges: NaN at row 0, column 2; every entry must be finite");
    assert!(Graph::new(0, []).unwrap().components().is_empty());
    assert!(Graph::new(0, []).unwrap().is_chordal());
}

#[cfg(feature = "plot")]
#[test]
fn networks_have_the_names_arrows_and_bars_of_their_graphs() {
    let graph = Graph::new(3, [(2, 1), (0, 1)]).unwrap();
    let dot = graph.network(&["a", "b", "c"]).unwrap().dot();
    assert!(dot.contains("1 [label=\"b\"]") && dot.contains("  1 -- 2;"), "{dot}");
    let wrong = graph.network(&["a", "b"]).unwrap_err();
    assert_eq!(wrong.to_string(), "names: expected length 3, found 2");
    let dag = Dag::new(2, [(1, 0)]).unwrap();
    let dot = dag.network::<&str>(&[]).unwrap().dot();
    assert_eq!(dot, "digraph {\n  0;\n  1;\n  1 -> 0;\n}\n");
    let class = dag.cpdag().network::<&str>(&[]).unwrap();
    assert_eq!(class.dot(), "graph {\n  0;\n  1;\n  0 -- 1;\n}\n");
    let clinic = fenchel_graphical::networks::asia();
    let network = clinic.network_given(&[("smoke", "yes")]).unwrap();
    let smoke = network.nodes.iter().find(|node| node.name == "smoke").unwrap();
    assert!(smoke.filled && smoke.bars[0].value == 1.0);
    assert!((smoke.bars[0].before.unwrap() - 0.5).abs() < 1e-12);
    assert_eq!(network.edges.len(), 8);
    let tree = fenchel_graphical::JunctionTree::compile(
        &clinic.factor_graph().unwrap(),
        &fenchel_graphical::OrderingOptions::default(),
    );
    let names: Vec<&str> = clinic.variables().map(|v| clinic.name_of(v)).collect();
    let tree = tree.unwrap().network(&names).unwrap();
    assert_eq!(tree.edges.len() + 1, tree.nodes.len());
    assert!(tree.svg().contains("either"));
}
