//! Identification, proved by evaluation: a formula must give the truth on a random model, a refusal must come with two models.

use fenchel_causal::{Admg, Error, LatentModel, NodeSet, Query, identify};

use crate::common::{graph_of_bits, judge, random_graph, random_query, rng};

/// All graphs with n nodes up to names, all pairs of one treatment and one outcome.
fn all_pairs(n: usize) -> (usize, usize) {
    let edges = n * (n - 1) / 2;
    let mut rng = rng(n as u64);
    let (mut yes, mut no) = (0, 0);
    for directed in 0..1 << edges {
        for bidirected in 0..1 << edges {
            let graph = graph_of_bits(n, directed, bidirected);
            let model = LatentModel::random(&graph, &vec![2; n], &mut rng).unwrap();
            for x in 0..n as u32 {
                for y in (0..n as u32).filter(|&y| y != x) {
                    if judge(&model, Query::new(NodeSet::one(y), NodeSet::one(x))) {
                        yes += 1;
                    } else {
                        no += 1;
                    }
                }
            }
        }
    }
    (yes, no)
}

#[test]
fn every_graph_with_two_nodes() {
    // X -> Y with a hidden cause is the only graph, of four, and one of two pairs, that is refused.
    assert_eq!(all_pairs(2), (7, 1));
}

#[test]
fn every_graph_with_three_nodes() {
    let (yes, no) = all_pairs(3);
    assert_eq!(yes + no, 8 * 8 * 6);
}

#[test]
fn every_graph_with_four_nodes() {
    let (yes, no) = all_pairs(4);
    assert_eq!(yes + no, 64 * 64 * 12);
}

#[test]
fn random_graphs_with_sets_and_conditions() {
    let mut rng = rng(8);
    let (mut yes, mut no) = (0, 0);
    for k in 0..400 {
        let n = 4 + k % 5;
        let graph = random_graph(n, 0.4, 0.2, &mut rng);
        let model = LatentModel::random(&graph, &vec![2; n], &mut rng).unwrap();
        if judge(&model, random_query(n, &mut rng)) {
            yes += 1;
        } else {
            no += 1;
        }
    }
    assert!(yes > 50 && no > 50, "{yes} identifiable, {no} not: both must be tried");
}

/// The parity of the hedge alone would move the law of the condition and leave the conditional as it is: random mechanisms around
/// the hedge are needed, in the last two with a second bit inside it.
#[test]
fn two_models_differ_on_the_conditional_itself() {
    for (graph, query) in [
        ("X -> Z; X <-> Z; Z <-> Y", "P(Y | do(X), Z)"),
        ("A -> B -> D; A -> C; B -> C -> D; A <-> C; B <-> C; B <-> D", "P(A | do(C), D)"),
        ("A -> B -> C -> D; A -> D; A <-> B; A <-> D; B <-> C; B <-> D", "P(B | do(A), C, D)"),
    ] {
        let g = Admg::parse(graph).unwrap();
        let query = g.query(query).unwrap();
        let Err(Error::NotIdentifiable(hedge)) = identify(&g, query) else { panic!("{graph}") };
        let witness = hedge.witness().unwrap();
        let (failed, asked) = (witness.check(hedge.failed).unwrap(), witness.check(query).unwrap());
        assert!(failed.observed < 1e-15 && failed.effect > 1e-3, "{graph}: {failed:?}");
        assert!(asked.effect > 1e-3, "{graph}: {asked:?}");
    }
}

#[test]
fn variables_with_more_states() {
    let mut rng = rng(3);
    for text in
        ["X -> M -> Y; X <-> Y", "W -> R -> X -> Y; W <-> X; W <-> Y", "Z -> X -> Y; Z -> Y"]
    {
        let graph = Admg::parse(text).unwrap();
        let cards: Vec<usize> = (0..graph.len()).map(|v| 2 + v % 3).collect();
        let model = LatentModel::random(&graph, &cards, &mut rng).unwrap();
        assert!(judge(&model, graph.query("P(Y | do(X))").unwrap()), "{text}");
    }
}

/// Verdicts of the literature, and the formulas where there is one way to write them.
#[test]
fn textbook_graphs() {
    let table = [
        // Back door, front door, napkin (Pearl and Mackenzie, The Book of Why, 2018).
        ("Z -> X -> Y; Z -> Y", "P(Y | do(X))", Some("P(Y | do(X)) = sum_{Z} P(Z) P(Y | Z, X)")),
        (
            "X -> M -> Y; X <-> Y",
            "P(Y | do(X))",
            Some("P(Y | do(X)) = sum_{M} P(M | X) sum_{X'} P(X') P(Y | X', M)"),
        ),
        (
            "W -> R -> X -> Y; W <-> X; W <-> Y",
            "P(Y | do(X))",
            Some("P(Y | do(X)) = [sum_{W} P(W) P(X, Y | W, R)] / [sum_{W} P(W) P(X | W, R)]"),
        ),
        // The M-graph: nothing to adjust for, and conditioning on Z would do harm.
        ("X -> Y; X <-> Z; Z <-> Y", "P(Y | do(X))", Some("P(Y | do(X)) = P(Y | X)")),
        // An effect of an effect on its cause is none.
        ("X -> Y", "P(X | do(Y))", Some("P(X | do(Y)) = P(X)")),
        // An ordinary conditional.
        ("X -> Y; X <-> Y", "P(Y | X)", Some("P(Y | X) = P(Y | X)")),
        // The bow, the instrument, and two more of figure 3.9 of Pearl (2009).
        ("X -> Y; X <-> Y", "P(Y | do(X))", None),
        ("Z -> X -> Y; X <-> Y", "P(Y | do(X))", None),
        ("X -> Z -> Y; X <-> Z", "P(Y | do(X))", None),
        ("X -> Z -> Y; X <-> Y; Z <-> Y", "P(Y | do(X))", None),
        // Rule 2: seeing is doing.
        ("X -> Y", "P(Y | X)", Some("P(Y | X) = P(Y | X)")),
    ];
    for (graph, query, expected) in table {
        let g = Admg::parse(graph).unwrap();
        let found = identify(&g, g.query(query).unwrap());
        match (found, expected) {
            (Ok(estimand), Some(text)) => assert_eq!(estimand.to_string(), text, "{graph}"),
            (Err(Error::NotIdentifiable(_)), None) => {}
            (found, _) => panic!("{graph}: {query}: {found:?}"),
        }
    }
}

/// A node may be called X': the primes of bound variables are longer then. LaTeX's own signs are escaped.
#[test]
fn names_that_look_like_bound_variables() {
    let g = Admg::parse("X -> M -> Y; X <-> Y; X' -> Y").unwrap();
    let e = identify(&g, g.query("P(Y | do(X), X')").unwrap()).unwrap().to_string();
    assert!(e.contains("sum_{X''}") && !e.contains("sum_{X'}"), "{e}");
    let g = Admg::new(&["%", "a^b"], &[(0, 1)], &[]).unwrap();
    let query = Query::new(NodeSet::one(1), NodeSet::one(0));
    let latex = identify(&g, query).unwrap().latex();
    assert!(latex.ends_with(r"P(\text{a\^{}b} \mid \text{\%})"), "{latex}");
}

#[test]
fn the_hedge_names_its_sets() {
    let g = Admg::parse("X -> Y; X <-> Y").unwrap();
    let error = identify(&g, g.query("P(Y | do(X))").unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not identifiable: P(Y | do(X)): what is seen may come from hidden causes that join {X, Y}, which setting X cuts, or \
         from hidden causes within {Y}, which it does not (hedge {X, Y} over {Y} with roots {Y})"
    );
    let g = Admg::parse("X -> Z; X <-> Z; Z <-> Y").unwrap();
    let error = identify(&g, g.query("P(Y | do(X), Z)").unwrap()).unwrap_err().to_string();
    let start =
        "not identifiable: P(Y | do(X), Z) needs P(Z, Y | do(X)): what is seen may come from";
    assert!(error.starts_with(start) && error.contains("which setting X cuts"), "{error}");
}

#[test]
fn latex_of_the_napkin_and_of_long_names() {
    let g = Admg::parse("W -> R -> X -> Y; W <-> X; W <-> Y").unwrap();
    let e = identify(&g, g.query("P(Y | do(X))").unwrap()).unwrap();
    let expected = r"P(Y \mid \mathrm{do}(X)) = \frac{\sum_{W} P(W) \, P(X, Y \mid W, R)}{\sum_{W} P(W) \, P(X \mid W, R)}";
    assert_eq!(e.latex(), expected);
    assert_eq!(g.show(e.arbitrary), "R");
    let g = Admg::parse("tar_level -> X").unwrap();
    let e = identify(&g, g.query("P(X | do(tar_level))").unwrap()).unwrap();
    assert_eq!(
        e.latex(),
        r"P(X \mid \mathrm{do}(\text{tar\_level})) = P(X \mid \text{tar\_level})"
    );
}
