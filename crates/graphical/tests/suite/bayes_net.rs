//! Networks: building them, drawing from them, fitting and scoring them.

use crate::common::networks::{configurations, joint, marginal, nets};
use fenchel_graphical::{
    BayesNet, Dag, Error, Evidence, OrderingOptions, Prior, StructureScore, VarId, networks,
    variable_elimination,
};
use fenchel_linalg::special::chi_squared_tail;
use fenchel_optim::Refusal;
use fenchel_optim::random::stream;
use ndarray::{Array2, Axis};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_joint_is_the_product_of_the_tables_and_sums_to_one(net in nets(5)) {
        let none = Evidence::new();
        let model = net.factor_graph().unwrap();
        let mut total = 0.0;
        for x in configurations(net.cards()) {
            let p = joint(&net, &x, &none);
            total += p;
            prop_assert!((net.log_probability(&x).unwrap().exp() - p).abs() < 1e-12);
            prop_assert!((model.log_score(&x).unwrap().exp() - p).abs() < 1e-12);
        }
        prop_assert!((total - 1.0).abs() < 1e-12);
    }

    #[test]
    fn d_separation_implies_independence_in_the_joint(net in nets(5), pick in any::<[u8; 3]>()) {
        let n = net.len() as u32;
        let (x, y) = (u32::from(pick[0]) % n, u32::from(pick[1]) % n);
        let z: Vec<u32> = (0..n).filter(|&v| pick[2] >> v & 1 == 1 && v != x && v != y).collect();
        if x != y && net.dag().d_separated(&[x], &[y], &z).unwrap() {
            let z: Vec<VarId> = z.into_iter().map(VarId).collect();
            let none = Evidence::new();
            let p = |extra: &[u32]| {
                let query: Vec<VarId> = z.iter().copied().chain(extra.iter().map(|&v| VarId(v))).collect();
                marginal(&net, &query, &none)
            };
            let (kx, ky) = (net.cards()[x as usize], net.cards()[y as usize]);
            let (pz, px, py, pxy) = (p(&[]), p(&[x]), p(&[y]), p(&[x, y]));
            for (i, pz) in pz.iter().enumerate() {
                for a in 0..kx {
                    for b in 0..ky {
                        let left = pxy[(i * kx + a) * ky + b] * pz;
                        prop_assert!((left - px[i * kx + a] * py[i * ky + b]).abs() < 1e-13);
                    }
                }
            }
        }
    }

    #[test]
    fn an_intervention_is_the_truncated_factorisation(net in nets(5), pick in any::<[u8; 2]>()) {
        let v = VarId(u32::from(pick[0]) % net.len() as u32);
        let state = usize::from(pick[1]) % net.cards()[v.index()];
        let set = net.intervene(&Evidence::new().observe(v, state)).unwrap();
        prop_assert!(set.parents_of(v).is_empty());
        let cut = net.dag().without_incoming(&[v.0]).unwrap();
        prop_assert_eq!(set.dag(), &cut);
        let none = Evidence::new();
        for x in configurations(net.cards()) {
            // P(x | do(v = s)) P(v = s | parents) = P(x) if x_v = s, and 0 otherwise.
            let done = joint(&set, &x, &none);
            if x[v.index()] == state {
                let rows = net.parents_of(v).iter().fold(0, |r, p| r * net.cards()[p.index()] + x[p.index()]);
                let own = net.cpt_of(v)[rows * net.cards()[v.index()] + state];
                prop_assert!((done * own - joint(&net, &x, &none)).abs() < 1e-14);
            } else {
                prop_assert_eq!(done, 0.0);
            }
        }
    }

    #[test]
    fn equivalent_graphs_have_equal_scores(
        rows in proptest::collection::vec((0usize..2, 0usize..3, 0usize..2), 1..40),
        size in 0.1f64..20.0,
    ) {
        let data = Array2::from_shape_fn((rows.len(), 3), |(i, j)| [rows[i].0, rows[i].1, rows[i].2][j]);
        let cards = [2, 3, 2];
        let chain = Dag::new(3, [(0, 1), (1, 2)]).unwrap();
        let fork = Dag::new(3, [(1, 0), (1, 2)]).unwrap();
        let back = Dag::new(3, [(2, 1), (1, 0)]).unwrap();
        for score in [StructureScore::LogLikelihood, StructureScore::Bic, StructureScore::Bayes(Prior::Bdeu(size))] {
            let value = |dag: &Dag| score.graph(data.view(), &cards, dag).unwrap();
            prop_assert!((value(&chain) - value(&fork)).abs() < 1e-9);
            prop_assert!((value(&chain) - value(&back)).abs() < 1e-9);
        }
        // The marginal likelihood is the product of the predictive probabilities, one row after another.
        for prior in [Prior::Bdeu(size), Prior::Dirichlet(1.0), Prior::Dirichlet(0.3)] {
            let net = BayesNet::builder()
                .variable("a", &["0", "1"]).variable("b", &["0", "1", "2"]).variable("c", &["0", "1"])
                .cpt("a", &[], &[0.5; 2]).cpt("b", &["a"], &[0.25, 0.25, 0.5].repeat(2)).cpt("c", &["b"], &[0.5; 6])
                .build().unwrap();
            // Before the first row all 12 states are alike.
            let mut sum = -(12.0_f64).ln();
            for t in 1..rows.len() {
                let before = net.fit_cpts(data.slice_axis(Axis(0), (..t).into()), prior).unwrap();
                sum += before.log_probability(&data.row(t).to_vec()).unwrap();
            }
            let score = StructureScore::Bayes(prior).graph(data.view(), &cards, &chain).unwrap();
            prop_assert!((score - sum).abs() < 1e-9 * (1.0 + sum.abs()), "{score} {sum}");
        }
        // Maximum likelihood attains the score of that name.
        let start = BayesNet::builder()
            .variable("a", &["0", "1"]).variable("b", &["0", "1", "2"]).variable("c", &["0", "1"])
            .cpt("a", &[], &[0.5; 2]).cpt("b", &["a"], &[0.25, 0.25, 0.5].repeat(2)).cpt("c", &["b"], &[0.5; 6])
            .build().unwrap();
        let fitted = start.fit_cpts(data.view(), Prior::Dirichlet(0.0)).unwrap();
        let attained = fitted.log_likelihood(data.view()).unwrap();
        let score = StructureScore::LogLikelihood.graph(data.view(), &cards, &chain).unwrap();
        prop_assert!((attained - score).abs() < 1e-9 * (1.0 + score.abs()));
    }
}

#[test]
fn k2_is_the_formula_of_factorials() {
    // Cooper and Herskovits, theorem 1: prod over rows of (k - 1)! / (N + k - 1)! prod_k N_k!.
    let data = Array2::from_shape_vec((6, 2), vec![0, 0, 0, 1, 0, 1, 1, 2, 1, 2, 1, 2]).unwrap();
    // Row 0: counts 1, 2, 0: 2! 1! 2! 0! / 5! = 4 / 120. Row 1: counts 0, 0, 3: 2! 3! / 5! = 12 / 120.
    let expected = (4.0 / 120.0_f64 * 12.0 / 120.0).ln();
    let k2 = StructureScore::Bayes(Prior::Dirichlet(1.0));
    let score = k2.family(data.view(), &[2, 3], VarId(1), &[VarId(0)]).unwrap();
    assert!((score - expected).abs() < 1e-13);
}

#[test]
fn draws_have_the_frequencies_of_the_joint() {
    let net = networks::asia();
    let n = 100_000;
    let draws = net.sample_many(n, &mut stream(1, 0)).unwrap();
    assert_eq!(draws, net.sample_many(n, &mut stream(1, 0)).unwrap());
    let mut counts = std::collections::HashMap::new();
    for row in draws.rows() {
        *counts.entry(row.to_vec()).or_insert(0.0) += 1.0;
    }
    let (mut statistic, mut cells, mut rest) = (0.0, 0.0, (0.0, 0.0));
    for x in configurations(net.cards()) {
        let expected = n as f64 * joint(&net, &x, &Evidence::new());
        let found = counts.get(&x).copied().unwrap_or(0.0);
        assert!(expected > 0.0 || found == 0.0);
        if expected >= 10.0 {
            statistic += (found - expected) * (found - expected) / expected;
            cells += 1.0;
        } else {
            rest = (rest.0 + found, rest.1 + expected);
        }
    }
    statistic += (rest.0 - rest.1) * (rest.0 - rest.1) / rest.1;
    assert!(chi_squared_tail(statistic, cells) > 1e-6, "{statistic} with {cells} degrees");
}

#[test]
fn likelihood_weighting_is_within_its_own_error_of_the_posterior() {
    let net = networks::asia();
    let (lung, dysp) = (net.variable("lung").unwrap(), net.variable("dysp").unwrap());
    let evidence = net
        .evidence(&[("dysp", "yes"), ("smoke", "yes")])
        .unwrap()
        .likelihood(net.variable("xray").unwrap(), [0.8, 0.3]);
    let exact = marginal(&net, &[lung], &evidence);
    let p: f64 = exact.iter().sum();
    let sample = net.likelihood_weighting(&evidence, 50_000, &mut stream(2, 0)).unwrap();
    let size = sample.effective_size();
    assert!((1.0..=50_000.0).contains(&size));
    // Weights lie in [0, 1]: five standard errors of their mean are at most 5 sqrt(P(e) / n).
    assert!((sample.log_evidence().exp() - p).abs() < 5.0 * (p / 50_000.0).sqrt());
    let found = sample.posterior(lung, 2).unwrap();
    assert!((found[0] + found[1] - 1.0).abs() < 1e-12);
    assert!((found[0] - exact[0] / p).abs() < 5.0 * 0.5 / size.sqrt());
    assert_eq!(sample.posterior(dysp, 2).unwrap()[1], 0.0);
    // Without evidence all weights are 1.
    let free = net.likelihood_weighting(&Evidence::new(), 100, &mut stream(3, 0)).unwrap();
    assert!((free.effective_size() - 100.0).abs() < 1e-9);
    assert_eq!(free.log_evidence(), 0.0);
    let endless = net.sample_many(usize::MAX, &mut stream(3, 0));
    assert!(matches!(endless, Err(Error::Memory { .. })), "{endless:?}");
    assert_eq!(net.sample_many(0, &mut stream(3, 0)).unwrap().dim(), (0, net.len()));
    let endless = net.likelihood_weighting(&Evidence::new(), usize::MAX, &mut stream(3, 0));
    assert!(matches!(endless, Err(Error::Memory { .. })));
    // Tuberculosis or cancer without either: impossible.
    let none = net.evidence(&[("either", "no"), ("lung", "yes")]).unwrap();
    let sample = net.likelihood_weighting(&none, 100, &mut stream(4, 0)).unwrap();
    assert_eq!((sample.effective_size(), sample.log_evidence()), (0.0, f64::NEG_INFINITY));
    assert_eq!(sample.posterior(lung, 2), Err(Error::ImpossibleEvidence));
}

/// Evidence that the query does not depend on is impossible all the same.
#[test]
fn impossible_evidence_is_refused_wherever_it_stands() {
    let net = networks::asia();
    let impossible = net.evidence(&[("either", "yes"), ("tub", "no"), ("lung", "no")]).unwrap();
    for v in net.variables().filter(|&v| impossible.state(v).is_none()) {
        assert_eq!(net.posterior(&[v], &impossible), Err(Error::ImpossibleEvidence), "{v:?}");
    }
    // As a plain model: what is observed cuts `asia` off from `lung`, where nothing is left.
    let cut = net.evidence(&[("tub", "yes"), ("either", "no")]).unwrap();
    let model = net.factor_graph().unwrap();
    for v in net.variables() {
        let found = variable_elimination(&model, &[v], &cut, &OrderingOptions::default());
        assert_eq!(found, Err(Error::ImpossibleEvidence), "{v:?}");
    }
    // Everything observed: numbers are left, and one of them is 0.
    let all = net.variables().fold(cut.clone(), |e, v| match e.state(v) {
        Some(_) => e,
        None => e.observe(v, 0),
    });
    let found = variable_elimination(&model, &[], &all, &OrderingOptions::default());
    assert_eq!(found, Err(Error::ImpossibleEvidence));
    // Possible evidence changes nothing.
    let possible = net.evidence(&[("either", "yes"), ("tub", "no"), ("lung", "yes")]).unwrap();
    let asia = net.variable("asia").unwrap();
    let p: f64 = marginal(&net, &[asia], &possible).iter().sum();
    let found = net.posterior(&[asia], &possible).unwrap();
    assert!((found.values()[0] - marginal(&net, &[asia], &possible)[0] / p).abs() < 1e-14);
    // A likelihood of 0 for every state that is left.
    let tub = net.variable("tub").unwrap();
    let none = net.evidence(&[("either", "no")]).unwrap().likelihood(tub, [1.0, 0.0]);
    let smoke = net.variable("smoke").unwrap();
    assert_eq!(net.posterior(&[smoke], &none), Err(Error::ImpossibleEvidence));
}

/// The sum over a common cause joins all its effects: nothing is allocated for what cannot be.
#[test]
fn marginal_map_refuses_before_it_builds() {
    let names: Vec<String> = (0..40).map(|k| format!("x{k}")).collect();
    let mut net = BayesNet::builder().variable("cause", &["a", "b"]).cpt("cause", &[], &[0.5, 0.5]);
    for name in &names {
        let rows = [0.25, 0.75, 0.5, 0.5];
        net = net.variable(name, &["0", "1"]).cpt(name, &["cause"], &rows);
    }
    let net = net.build().unwrap();
    let query: Vec<VarId> = names.iter().map(|name| net.variable(name).unwrap()).collect();
    let refused = net.marginal_map(&query, &Evidence::new()).unwrap_err();
    assert!(
        matches!(refused, Error::Refused(Refusal::MemoryLimit { needed, .. }) if needed == 8 << 41),
        "{refused}"
    );
    let few = net.marginal_map(&query[..10], &Evidence::new()).unwrap();
    // ln P(x = 1 ten times) = ln (0.5 0.75^10 + 0.5 0.5^10)
    let expected = (0.5 * 0.75_f64.powi(10) + 0.5 * 0.5_f64.powi(10)).ln();
    assert!((few.log_joint - expected).abs() < 1e-12 && few.states == [1; 10]);
}

/// Kidney stones (Charig et al., 1986): treatment A helps more in both groups and less in all.
fn kidney_stones() -> BayesNet {
    BayesNet::builder()
        .variable("size", &["small", "large"])
        .variable("treatment", &["A", "B"])
        .variable("success", &["yes", "no"])
        .cpt("size", &[], &[357.0 / 700.0, 343.0 / 700.0])
        .cpt("treatment", &["size"], &[87.0 / 357.0, 270.0 / 357.0, 263.0 / 343.0, 80.0 / 343.0])
        .cpt(
            "success",
            &["size", "treatment"],
            &[
                81.0 / 87.0,
                6.0 / 87.0,
                234.0 / 270.0,
                36.0 / 270.0,
                192.0 / 263.0,
                71.0 / 263.0,
                55.0 / 80.0,
                25.0 / 80.0,
            ],
        )
        .build()
        .unwrap()
}

#[test]
fn seeing_and_doing_disagree_about_the_kidney_stones() {
    let net = kidney_stones();
    let (treatment, success) =
        (net.variable("treatment").unwrap(), net.variable("success").unwrap());
    for (state, seen, done) in [(0, 0.7800, 0.8325), (1, 0.8257, 0.7789)] {
        let p = marginal(&net, &[success], &Evidence::new().observe(treatment, state));
        assert!((p[0] / (p[0] + p[1]) - seen).abs() < 5e-5);
        let name = net.states_of(treatment)[state].as_str();
        let set = net.intervene(&[("treatment", name)]).unwrap();
        let p = marginal(&set, &[success], &Evidence::new());
        assert!((p[0] - done).abs() < 5e-5);
    }
}

#[test]
fn faults_of_a_network_are_named() {
    let two = || BayesNet::builder().variable("a", &["y", "n"]).variable("b", &["1", "2", "3"]);
    let full = || two().cpt("a", &[], &[0.5, 0.5]);
    let third = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    for (net, expected) in [
        (full(), "variable \"b\" has no conditional probability table"),
        (
            full().cpt("b", &["a"], &[1.0, 0.0]),
            "the table of \"b\" has 2 numbers; expected 6 (2 x 3)",
        ),
        (
            full().cpt("b", &["a"], &[1.0, 0.0, 0.0, 0.5, 0.4, 0.0]),
            "P(\"b\" | a = n) sums to 0.9; expected 1 up to 0.001",
        ),
        (
            full().cpt("b", &[], &[f64::NAN, 0.5, 0.5]),
            "P(\"b\" = 1 | no parents) is NaN; expected a number >= 0",
        ),
        (
            full().cpt("b", &["a"], &[1.0, 0.0, 0.0, 2.0, -1.0, 0.0]),
            "P(\"b\" = 2 | a = n) is -1; expected a number >= 0",
        ),
        (full().cpt("b", &["c"], &third), "there is no variable \"c\"; known, nearest first: a, b"),
        (full().cpt("B", &["a"], &third), "there is no variable \"B\"; known, nearest first: b, a"),
        (full().cpt("b", &["a", "a"], &third), "parent of \"b\" \"a\" is given twice"),
        (full().cpt("a", &[], &[1.0, 0.0]), "table of variable \"a\" is given twice"),
        (full().variable("a", &["x"]), "variable \"a\" is given twice"),
        (full().variable("c", &["x", "x"]), "state of \"c\" \"x\" is given twice"),
        (full().variable("c", &[]), "the list of states is empty"),
        (
            two().cpt("a", &["b"], &[0.5; 6]).cpt("b", &["a"], &third),
            "the arcs form a cycle: a -> b -> a",
        ),
    ] {
        assert_eq!(net.build().unwrap_err().to_string(), expected);
    }
    let scaled = full().cpt("b", &[], &[0.3333, 0.3333, 0.3333]).renormalise().build().unwrap();
    assert_eq!(scaled.cpt_of(VarId(1)), [0.3333 / (3.0 * 0.3333); 3]);

    let net = networks::alarm();
    let text = |e: Error| e.to_string();
    let wrong = text(net.evidence(&[("HRB", "LOW")]).unwrap_err());
    assert!(
        wrong.starts_with("there is no variable \"HRB\"; known, nearest first: HRBP, HR, "),
        "{wrong}"
    );
    assert!(wrong.ends_with(", and 29 more"), "{wrong}");
    let wrong = text(net.evidence(&[("HRBP", "low")]).unwrap_err());
    assert!(wrong.starts_with("\"HRBP\" has no state \"low\"; it has LOW, "), "{wrong}");
    let twice = text(net.evidence(&[("HRBP", "LOW"), ("HRBP", "LOW")]).unwrap_err());
    assert_eq!(twice, "the state of variable \"HRBP\" is given twice");
    let set = |v, state| net.intervene(&Evidence::new().observe(VarId(v), state));
    assert!(matches!(set(99, 0), Err(Error::UnknownVariable { .. })));
    assert!(matches!(set(0, 2), Err(Error::State { .. })));
    let again = net.intervene(&[("HRBP", "LOW"), ("HRBP", "LOW")]);
    assert!(matches!(again, Err(Error::Duplicate { .. })));
    let soft = net.intervene(&Evidence::new().likelihood(VarId(0), [0.5, 0.5]));
    assert!(matches!(soft, Err(Error::Refused(Refusal::Unsupported { .. }))));
    assert!(matches!(net.log_probability(&[0]), Err(Error::Invalid(_))));
    assert!(matches!(net.log_probability(&[9; 37]), Err(Error::State { .. })));
    assert!(matches!(net.with_cpt(VarId(0), &[1.0]), Err(Error::CptLength { .. })));
    let data = Array2::from_elem((2, 2), 5);
    let family = |score: StructureScore, child, parents: &[VarId]| {
        score.family(data.view(), &[2, 2], VarId(child), parents)
    };
    assert_eq!(
        family(StructureScore::Bic, 0, &[]).unwrap_err().to_string(),
        "row 0, column variable 0: state 5 of variable 0 does not exist: it has 2 states"
    );
    assert!(matches!(family(StructureScore::Bic, 3, &[]), Err(Error::UnknownVariable { .. })));
    assert!(matches!(
        family(StructureScore::Bic, 0, &[VarId(0)]),
        Err(Error::RepeatedVariable { .. })
    ));
    assert!(matches!(
        family(StructureScore::Bayes(Prior::Bdeu(0.0)), 0, &[]),
        Err(Error::Invalid(_))
    ));
    assert!(matches!(
        family(StructureScore::Bayes(Prior::Dirichlet(-1.0)), 0, &[]),
        Err(Error::Invalid(_))
    ));
}
