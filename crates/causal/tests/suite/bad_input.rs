//! Every argument that does not fit comes back as the documented error, with its message.

use fenchel_causal::{Admg, Error, NodeSet, ProbabilityTable, Query, identify};
use ndarray::array;

fn message<T: std::fmt::Debug, E: std::error::Error>(result: Result<T, E>) -> String {
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
    // Of a long text an error repeats what is near the place.
    let endless = "(".repeat(1_000_000);
    for text in [endless.clone(), format!("A -> B;{endless}"), format!("{endless} -> B")] {
        let error = Admg::parse(&text).unwrap_err();
        let (said, debug) = (error.to_string(), format!("{error:?}"));
        assert!(said.len() < 500 && debug.len() < 500, "{} {}", said.len(), debug.len());
        assert!(said.contains("(((...") && said.contains("separates names"), "{said}");
    }
    let known = Admg::parse("Ä -> B").unwrap();
    let long = format!("P({})", "é".repeat(1000));
    assert!(message(known.query(&long)).len() < 300);
    assert!(message(known.query(&long[1..])).contains("of \"(ééé"));
    let many: Vec<String> = (0..129).map(|v| v.to_string()).collect();
    assert_eq!(message(Admg::new(&many, &[], &[])), "129 nodes; a graph has at most 128");
    assert_eq!(message(Admg::new(&["A"], &[(0, 1)], &[])), "there is no node \"1\"; known: A");
    assert_eq!(message(Admg::new(&["A", "A"], &[], &[])), "node \"A\" is given twice");
}

/// What was saved is read again, and checked like what is built: no file makes a model that its constructor refuses.
#[test]
fn saved_models_are_checked() {
    use fenchel_causal::scm::{DiscreteScm, LinearGaussianScm};
    use fenchel_causal::{Estimand, LatentModel};
    use serde_json::{Value, from_value, json, to_value};

    fn altered<T>(model: &T, field: &str, to: Value) -> bool
    where
        T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        let mut value = to_value(model).unwrap();
        assert_eq!(&from_value::<T>(value.clone()).unwrap(), model);
        value[field] = to;
        from_value::<T>(value).is_err()
    }

    let g = Admg::parse("X -> Y").unwrap();
    let table = ProbabilityTable::joint(&[2, 2], &[0.1, 0.2, 0.3, 0.4]).unwrap();
    assert!(altered(&table, "scope", json!([1, 0])) && altered(&table, "cards", json!([2, 3])));
    assert!(altered(&table, "values", json!([0.1, 0.2, 0.3, -0.4])));
    let model = LatentModel::random(&g, &[2, 2], &mut crate::common::rng(1)).unwrap();
    assert!(altered(&model, "cards", json!([2, 3])) && altered(&model, "mechanisms", json!([])));
    let functions = vec![vec![0, 1], vec![0, 1, 1, 0]];
    let noise = vec![vec![0.5, 0.5]; 2];
    let scm = DiscreteScm::new(g.clone(), vec![2, 2], noise, functions).unwrap();
    assert!(altered(&scm, "functions", json!([[0, 7], [0, 1, 1, 0]])));
    let linear =
        LinearGaussianScm::new(g.clone(), &[(0, 1, 2.0)], vec![0.0; 2], vec![1.0; 2]).unwrap();
    assert!(altered(&linear, "variances", json!([1.0, -1.0])));
    let endless = linear.sample(usize::MAX, &[], &mut crate::common::rng(1)).unwrap_err();
    assert!(endless.to_string().contains("take fewer draws"), "{endless}");
    assert!(altered(
        &linear,
        "weights",
        json!({"v": 1, "dim": [2, 2], "data": [0.0, 3.0, 2.0, 0.0]})
    ));
    let effect = identify(&g, g.query("P(Y | do(X))").unwrap()).unwrap();
    assert!(altered::<Estimand>(&effect, "names", json!(["X"])));
    assert!(altered::<Estimand>(&effect, "arbitrary", to_value(g.all()).unwrap()));

    // Undefined cells stay undefined.
    let empty = ProbabilityTable::joint(&[2, 2], &[0.5, 0.5, 0.0, 0.0]).unwrap();
    let law = effect.evaluate(&empty).unwrap();
    let back: ProbabilityTable = from_value(to_value(&law).unwrap()).unwrap();
    assert!(matches!(back.at(&[(0, 1), (1, 0)]), Err(Error::Positivity { .. })));
    assert_eq!(law.distance(&back), 0.0);
}

#[test]
fn lists_name_a_thing_once_and_laws_have_states() {
    use fenchel_causal::LatentModel;
    use fenchel_causal::latent::Mechanism;
    use fenchel_causal::scm::LinearGaussianScm;
    let g = Admg::parse("A -> B").unwrap();
    let build = |parents: Vec<u32>, hidden: Vec<u32>, table: Vec<f64>, latents: Vec<Vec<f64>>| {
        let a = Mechanism { parents: vec![], latents: vec![], table: vec![0.5, 0.5] };
        let b = Mechanism { parents, latents: hidden, table };
        LatentModel::new(g.clone(), vec![2, 2], latents, vec![a, b])
    };
    let table = vec![1.0, 0.0, 0.3, 0.7, 0.6, 0.4, 0.0, 1.0];
    assert!(message(build(vec![0, 0], vec![], table.clone(), vec![])).contains("given twice"));
    let coin = vec![vec![0.5, 0.5]];
    assert!(message(build(vec![], vec![0, 0], table, coin)).contains("given twice"));
    let copy = vec![1.0, 0.0, 0.0, 1.0];
    let empty = build(vec![0], vec![], copy.clone(), vec![vec![]]);
    assert_eq!(message(empty), "the law of a hidden cause is empty");
    let model = build(vec![0], vec![], copy, vec![]).unwrap();
    assert_eq!(model.observed().unwrap().values(), [0.5, 0.0, 0.0, 0.5]);
    let far = model.intervened(NodeSet::one(9));
    assert_eq!(message(far), "there is no node \"9\"; known: A, B");
    let edges = [(0, 1, 1.0), (0, 1, 2.0)];
    let twice = LinearGaussianScm::new(g.clone(), &edges, vec![0.0; 2], vec![1.0; 2]);
    assert!(message(twice).contains("two weights for 0 -> 1"));
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_name() {
    let error = message(Admg::parse("\u{feff}p -> q\nq -> p"));
    assert_eq!(error, "the directed edges form a cycle: p -> q -> p");
    assert_eq!(Admg::parse("\u{feff}p -> q").unwrap().names(), ["p", "q"]);
    let many: Vec<String> = (0..80_000).map(|k| format!("a{k}")).collect();
    assert_eq!(message(Admg::parse(&many.join(";"))), "129 nodes; a graph has at most 128");
}

#[test]
fn names_that_look_like_arrows_are_refused() {
    for (text, name) in [
        ("X-->Y; Y-->Z", "X-"),
        ("A→B", "A→B"),
        ("C=>D", "C=>D"),
        ("X>Y", "X>Y"),
        ("A <- B<C", "B<C"),
        ("A -> B-", "B-"),
        ("A--B; B -> C", "A--B"),
        ("A---B", "A---B"),
    ] {
        let error = message(Admg::parse(text));
        assert!(error.contains(&format!("the name {name:?} looks like an arrow")), "{error}");
    }
    for (text, name, hidden) in [
        ("A\0 -> B", "A\0", "a NUL"),
        ("A -> \u{feff}B", "\u{feff}B", "a byte order mark"),
        ("A -> B; A\u{200b} -> B", "A\u{200b}", "a zero-width space"),
        ("A -> B\u{2060}C", "B\u{2060}C", "a word joiner"),
        ("A -> B\u{ad}C", "B\u{ad}C", "a soft hyphen"),
    ] {
        let error = message(Admg::parse(text));
        assert!(error.contains(&format!("the name {name:?} holds {hidden}")), "{error}");
        assert!(message(Admg::new(&["A", name], &[], &[])).contains(hidden));
    }
    let g = Admg::parse("pre-war -> is=it -> -x").unwrap();
    assert_eq!(g.names(), ["pre-war", "is=it", "-x"]);
    assert_eq!(Admg::parse(&g.to_string()).unwrap(), g);
}

/// No graph has a name that the text of a graph or a query could not hold.
#[test]
fn names_that_no_text_can_hold_are_refused() {
    for (name, found) in [
        ("", "a node has an empty name"),
        ("lung cancer", "holds a blank"),
        ("a\tb", "holds a blank"),
        ("a,b", "holds `,`"),
        ("a;b", "holds `;`"),
        ("f(x", "holds `(`"),
        ("x)", "holds `)`"),
        ("a|b", "holds `|`"),
        ("a->b", "looks like an arrow"),
        ("a-", "looks like an arrow"),
        ("a↔b", "looks like an arrow"),
    ] {
        let error = message(Admg::new(&["A", name], &[(0, 1)], &[]));
        assert!(error.starts_with("names: ") && error.contains(found), "{error}");
        assert!(name.is_empty() || error.contains(&format!("{name:?}")), "{error}");
    }
    let error = message(Admg::parse("A -> f(x) -> B"));
    assert!(
        error.starts_with("at byte 5") && error.contains("the name \"f(x)\" holds `(`"),
        "{error}"
    );
    // A file is data of the user as well.
    let text = r#"{"names":["A","b c"],"directed":[[0,1]],"bidirected":[]}"#;
    let error = serde_json::from_str::<Admg>(text).unwrap_err().to_string();
    assert!(error.contains("\"b c\" holds a blank"), "{error}");
}

#[test]
fn queries_are_separated_by_commas() {
    let g = Admg::parse("X -> Y; Z; W").unwrap();
    assert_eq!(message(g.query("P(Y | Xdo(Z))")), "there is no node \"Xdo(Z)\"; known: X, Y, Z, W");
    let error = message(g.query("P(Y|do(X)do(X))"));
    assert!(error.contains("at byte 9") && error.contains("no comma after `do(..)`"), "{error}");
    assert!(message(g.query("P(Y | do(X) Z)")).contains("no comma"));
    for (text, at) in [
        ("P(Y|do(X),)", 10),
        ("P(Y,|do(X))", 4),
        ("P(Y|)", 4),
        ("P(Y|,Z)", 4),
        ("P(Y | do())", 9),
        ("P(Y | do(X,))", 11),
        ("P(Y | do(X),, Z)", 12),
    ] {
        let error = message(g.query(text));
        assert!(error.contains(&format!("at byte {at} ")), "{text}: {error}");
        assert!(error.contains("a name is missing"), "{text}: {error}");
    }
    for text in ["P(Y|do(X),do(X))", "P(Y|do(X,X))", "P(Y|X,X)"] {
        assert_eq!(message(g.query(text)), "node \"X\" is given twice");
    }
    assert_eq!(message(g.query("P(Y, Y | X)")), "node \"Y\" is given twice");
    let query = g.query("P(Y | do(X), Z, do(W))").unwrap();
    assert_eq!(query, g.query("P( Y |Z,do( X,W ) )").unwrap());
    assert_eq!(g.show(query.treatment), "X, W");
    assert_eq!(g.show(NodeSet::from_iter([1, 99])), "Y");
}

#[test]
fn nodes_have_one_state() {
    let table = ProbabilityTable::joint(&[2, 2], &[0.1, 0.2, 0.3, 0.4]).unwrap();
    let error = message(table.at(&[(0, 1), (1, 0), (0, 0)]));
    assert_eq!(error, "states: two states for node 0; expected one");
    let g = Admg::parse("W -> R -> X -> Y; W <-> X; W <-> Y").unwrap();
    let napkin = identify(&g, g.query("P(Y | do(X))").unwrap()).unwrap();
    let law = ProbabilityTable::joint(&[2; 4], &[1.0 / 16.0; 16]).unwrap();
    let error = message(napkin.evaluate_at(&law, &[(1, 0), (1, 1)]));
    assert_eq!(error, "arbitrary: two values for node 1; expected one");
}

/// Numbers whose sums, products or squares are no numbers any more.
#[test]
fn numbers_beyond_their_range_are_refused() {
    use fenchel_causal::categorical::{CategoricalPair, JointCategorical};
    use fenchel_causal::direction::from_counts;
    use fenchel_causal::normal::MeanPair;
    use fenchel_causal::scm::LinearGaussianScm;
    let zeros = array![[0.0, 0.0], [0.0, 0.0]];
    let far = array![1e308, -1e308];
    let error = message(CategoricalPair::from_logits(far.view(), zeros.view()));
    assert_eq!(error, "the marginal = 1e308; expected scores of at most 1e150 in size");
    let rows = array![[1e308, 1e308], [0.0, 0.0]];
    assert!(CategoricalPair::from_logits(array![0.0, 0.0].view(), rows.view()).is_err());
    assert!(JointCategorical::from_logits(rows.view()).is_err());
    // The largest scores that are accepted work throughout.
    let a =
        CategoricalPair::from_logits(array![1e150, -1e150].view(), (zeros.clone() - 1e150).view())
            .unwrap();
    let b = CategoricalPair::from_logits(array![-1e150, 1e150].view(), zeros.view()).unwrap();
    assert!(a.distance_sq(&b).unwrap().is_finite() && a.kl(&b).unwrap().is_finite());
    assert!(a.reverse().marginal().iter().chain(a.reverse().conditional()).all(|s| s.is_finite()));
    let one = array![[1.0]];
    let normal = |mean: f64| MeanPair {
        mean: array![mean],
        covariance: one.clone(),
        slope: one.clone(),
        intercept: array![0.0],
        covariance_given: one.clone(),
    };
    let (near, far) = (normal(0.0).to_cholesky().unwrap(), normal(1e200).to_cholesky().unwrap());
    assert!(message(near.kl(&far)).contains("beyond the range"));

    let chain = Admg::parse("A -> B -> C").unwrap();
    let edges = [(0, 1, 1e200), (1, 2, 1e200)];
    let scm = LinearGaussianScm::new(chain, &edges, vec![1.0; 3], vec![1.0; 3]).unwrap();
    assert!(scm.law(&[]).is_err() && scm.total_effect(0, 2).is_err());
    assert!(scm.sample(1, &[], &mut crate::common::rng(1)).is_err());
    assert!(scm.counterfactual(&[(0, 1.0)], &[(0, 2.0)]).is_err());
    assert_eq!(scm.total_effect(0, 1).unwrap(), 1e200);

    let counts = array![[1e308, 1e308], [1e308, 1e308]];
    assert!(from_counts(counts.view(), 1.0, 1.0).is_err());
    let data = array![[0_usize, 1]];
    assert!(ProbabilityTable::from_data(data.view(), &[2, 2], 1e308).is_err());
}

/// Columns that are copies up to rounding have no regression.
#[test]
fn copied_columns_are_refused_whatever_their_rounding() {
    use fenchel_causal::normal::MeanPair;
    use fenchel_causal::scm::LinearGaussianScm;
    let g = Admg::parse("A; B; A -> C <- B").unwrap();
    for unit in [1.0, 0.1, 1.0 / 3.0, 1e-9, 7e7] {
        let rows = [0.8, 0.1, 0.1, 0.5, 0.7];
        let data = ndarray::Array2::from_shape_fn((5, 3), |(i, j)| match j {
            0 => rows[i],
            1 => unit * rows[i],
            _ => rows[i] + [0.1, -0.3, 0.2, 0.0, 0.7][i],
        });
        let error = message(LinearGaussianScm::fit(g.clone(), data.view()));
        assert!(error.contains("rank 1") || error.contains("not positive definite"), "{error}");
        let (x, y) = data.view().split_at(ndarray::Axis(1), 2);
        assert!(MeanPair::fit(x, y, 0.0).is_err());
        assert!(MeanPair::fit(y, x, 0.0).is_err());
        let chain = Admg::parse("A -> B").unwrap();
        let error = message(LinearGaussianScm::fit(chain, x));
        assert_eq!(error, "data: B is constant or a function of its parents");
    }
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
    assert_eq!(error, "data: state 2 at row 0, column 1; expected 0 to 1");
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
