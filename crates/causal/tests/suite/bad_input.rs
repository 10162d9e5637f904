//! Every argument that does not fit comes back as the documented error, with its message.

use fenchel_causal::{Admg, Error, NodeSet, ProbabilityTable, Query, identify};
use ndarray::array;

fn message<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn graphs() {
    let parse = |text: &str| message(Admg::parse(text));
    assert_eq!(parse("A -> B -> C -> A"), "the directed edges form a cycle: A -> B -> C -> A");
    assert_eq!(parse("A -> A"), "an edge joins \"A\" to itself");
    assert_eq!(parse("A -> B; A -> B"), "edge \"A -> B\" is given twice");
    assert_eq!(parse("A <-> B <-> A"), "edge \"B <-> A\" is given twice");
    assert_eq!(
        parse("A -> ; B"),
        "at byte 2 of \"A -> ; B\": an arrow leads nowhere; expected a name after it"
    );
    assert_eq!(
        parse("-> B"),
        "at byte 0 of \"-> B\": an arrow comes from nowhere; expected a name before it"
    );
    assert_eq!(parse("A B"), "at byte 2 of \"A B\": two names without an arrow between them");
    let many: Vec<String> = (0..129).map(|v| v.to_string()).collect();
    assert_eq!(message(Admg::new(&many, &[], &[])), "129 nodes; a graph has at most 128");
    assert_eq!(message(Admg::new(&["A"], &[(0, 1)], &[])), "there is no node \"1\"; known: A");
    assert_eq!(message(Admg::new(&["A", "A"], &[], &[])), "node \"A\" is given twice");
}

#[test]
fn queries() {
    let g = Admg::parse("X -> Y").unwrap();
    assert_eq!(message(g.query("P(Q | do(X))")), "there is no node \"Q\"; known: X, Y");
    assert_eq!(message(g.query("P(Y | do(Y))")), "\"Y\" is both outcome and treatment");
    assert_eq!(message(g.query("P(Y | do(X), X)")), "\"X\" is both treatment and given");
    assert_eq!(message(g.query("P(| do(X))")), "the outcome of the query is empty");
    assert!(message(g.query("Y | do(X)")).contains("expected `P(Y | do(X), Z)`"));
    let far = Query::new(NodeSet::one(7), NodeSet::one(0));
    assert_eq!(message(identify(&g, far)), "there is no node \"7\"; known: X, Y");
}

#[test]
fn tables() {
    let joint = |values: &[f64]| message(ProbabilityTable::joint(&[2, 2], values));
    assert_eq!(joint(&[0.5, 0.5]), "the joint distribution: expected length 4, found 2");
    assert_eq!(
        joint(&[0.5, 0.5, 0.5, 0.0]),
        "the joint distribution, row 0, sums to 1.5; expected 1 up to 1e-9"
    );
    assert_eq!(joint(&[1.5, -0.5, 0.0, 0.0]), "probability = -0.5; expected a finite number >= 0");
    assert!(joint(&[f64::NAN, 1.0, 0.0, 0.0]).starts_with("probability = NaN"));
    assert!(matches!(ProbabilityTable::joint(&[1 << 20, 1 << 20], &[]), Err(Error::Refused(_))));
    let data = array![[0_usize, 2]];
    let error = message(ProbabilityTable::from_data(data.view(), &[2, 2], 0.0));
    assert_eq!(error, "category 2 of a column of data: there are 2, counted from 0");
}

/// A treatment that never happens has no effect that data could tell; the other one has.
#[test]
fn positivity() {
    let g = Admg::parse("Z -> X -> Y; Z -> Y").unwrap();
    let (z, x, y) = (0, 1, 2);
    // Z fair; X = 0 always where Z = 0; Y a fair coin.
    let joint = [0.25, 0.25, 0.0, 0.0, 0.125, 0.125, 0.125, 0.125];
    let joint = ProbabilityTable::joint(&[2, 2, 2], &joint).unwrap();
    let effect = identify(&g, g.query("P(Y | do(X))").unwrap()).unwrap().evaluate(&joint).unwrap();
    assert!((effect.at(&[(x, 0), (y, 1)]).unwrap() - 0.5).abs() < 1e-15);
    assert!(matches!(effect.at(&[(x, 1), (y, 1)]), Err(Error::Positivity { .. })));
    // A stratum that is empty altogether does not matter.
    let joint = [0.0, 0.0, 0.0, 0.0, 0.25, 0.25, 0.25, 0.25];
    let joint = ProbabilityTable::joint(&[2, 2, 2], &joint).unwrap();
    let effect = identify(&g, g.query("P(Y | do(X))").unwrap()).unwrap().evaluate(&joint).unwrap();
    assert!((effect.at(&[(x, 1), (y, 1), (z, 0)]).unwrap() - 0.5).abs() < 1e-15);
}
