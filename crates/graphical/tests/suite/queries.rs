//! Exact queries against enumeration of the joint.

use crate::common::networks::{configurations, joint, marginal, nets};
use fenchel_graphical::{
    BayesNet, Error, Evidence, Finding, Heuristic, MISSING, OrderingOptions, Prior, VarId, networks,
};
use fenchel_optim::Refusal;
use proptest::prelude::*;

/// Hard evidence, soft evidence or none about every variable.
fn with_evidence() -> impl Strategy<Value = (BayesNet, Evidence, Vec<VarId>)> {
    let kinds = proptest::collection::vec((0u8..6, any::<u8>(), 0.0f64..1.0, any::<bool>()), 6);
    (nets(6), kinds).prop_map(|(net, kinds)| {
        let mut evidence = Evidence::new();
        for (v, &(kind, state, low, _)) in net.variables().zip(&kinds) {
            let card = net.cards()[v.index()];
            match kind {
                0 => evidence.set(v, Finding::State(usize::from(state) % card)),
                1 => evidence.set(v, Finding::Likelihood([0.9, low, 0.5][..card].to_vec())),
                _ => {}
            }
        }
        let query = net.variables().zip(&kinds).filter(|(_, kind)| kind.3).map(|(v, _)| v);
        let query = query.take(3).collect();
        (net, evidence, query)
    })
}

fn near(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-10)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_query_is_what_enumeration_says((net, evidence, query) in with_evidence()) {
        let total: f64 = marginal(&net, &[], &evidence)[0];
        let scores: Vec<(Vec<usize>, f64)> = configurations(net.cards())
            .into_iter().map(|x| { let p = joint(&net, &x, &evidence); (x, p) }).collect();
        if total == 0.0 {
            prop_assert_eq!(net.log_evidence(&evidence), Err(Error::ImpossibleEvidence));
            prop_assert_eq!(net.posteriors(&evidence), Err(Error::ImpossibleEvidence));
            prop_assert_eq!(net.most_probable(&evidence), Err(Error::ImpossibleEvidence));
            prop_assert_eq!(net.marginal_map(&query, &evidence), Err(Error::ImpossibleEvidence));
            return Ok(());
        }
        prop_assert!((net.log_evidence(&evidence).unwrap() - total.ln()).abs() < 1e-10);

        // The joint posterior, also with observed variables in the query.
        let expected: Vec<f64> = marginal(&net, &query, &evidence).iter().map(|p| p / total).collect();
        let table = net.posterior(&query, &evidence).unwrap();
        prop_assert_eq!(table.scope(), &query[..]);
        prop_assert!(near(&table.values(), &expected), "{:?} {:?}", table.values(), expected);

        for (v, found) in net.variables().zip(net.posteriors(&evidence).unwrap()) {
            let expected: Vec<f64> = marginal(&net, &[v], &evidence).iter().map(|p| p / total).collect();
            prop_assert!(near(&found, &expected));
        }

        let best = scores.iter().map(|s| s.1).fold(0.0, f64::max);
        let explained = net.most_probable(&evidence).unwrap();
        prop_assert!((explained.log_joint - best.ln()).abs() < 1e-10);
        prop_assert!((joint(&net, &explained.states, &evidence) / best - 1.0).abs() < 1e-10);

        // All configurations, best first, each once, with their probabilities.
        let possible = scores.iter().filter(|s| s.1 > 0.0).count();
        let ranked = net.most_probable_k(possible + 3, &evidence).unwrap();
        prop_assert_eq!(ranked.len(), possible);
        prop_assert_eq!(&ranked[0], &explained);
        let mut expected: Vec<f64> = scores.iter().map(|s| s.1).filter(|&p| p > 0.0).collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        let mut seen = std::collections::BTreeSet::new();
        for (found, p) in ranked.iter().zip(&expected) {
            prop_assert!((found.log_joint - p.ln()).abs() < 1e-10);
            prop_assert!((joint(&net, &found.states, &evidence).ln() - found.log_joint).abs() < 1e-10);
            prop_assert!(seen.insert(found.states.clone()));
        }
        prop_assert!(ranked.windows(2).all(|pair| pair[0].log_joint >= pair[1].log_joint));

        let sums = marginal(&net, &query, &evidence);
        let best = sums.iter().copied().fold(0.0, f64::max);
        let explained = net.marginal_map(&query, &evidence).unwrap();
        prop_assert!((explained.log_joint - best.ln()).abs() < 1e-10);
        let at = query.iter().zip(&explained.states).fold(0, |at, (v, s)| at * net.cards()[v.index()] + s);
        prop_assert!((sums[at] / best - 1.0).abs() < 1e-10);
    }
}

#[test]
fn asia_has_the_published_posteriors() {
    // Lauritzen and Spiegelhalter, 1988, section 4: a patient with shortness of breath who was in Asia.
    let net = networks::asia();
    let first = |name: &str, evidence: &Evidence| {
        let v = net.variable(name).unwrap();
        net.posterior(&[v], evidence).unwrap().values()[0]
    };
    let none = Evidence::new();
    for (name, expected) in [
        ("tub", 0.0104),
        ("lung", 0.055),
        ("bronc", 0.45),
        ("either", 0.0648),
        ("xray", 0.1103),
        ("dysp", 0.436),
    ] {
        assert!((first(name, &none) - expected).abs() < 5e-5, "{name}: {}", first(name, &none));
    }
}

#[test]
fn queries_on_alarm_agree_with_one_another() {
    // Its rows sum to 1 up to 1e-7, by the rounding of the file: pruned and whole answers agree all the same.
    let net = networks::alarm();
    let evidence = net.evidence(&[("HRBP", "HIGH"), ("CO", "LOW"), ("BP", "LOW")]).unwrap();
    let all = net.posteriors(&evidence).unwrap();
    for v in net.variables() {
        assert!(near(&net.posterior(&[v], &evidence).unwrap().values(), &all[v.index()]));
    }
    // Without evidence nothing is below the variable: the pruned model is that of its ancestors.
    let root = net.variable("MINVOLSET").unwrap();
    assert!(near(&net.posterior(&[root], &Evidence::new()).unwrap().values(), net.cpt_of(root)));
    // P(e) is the product of conditional probabilities of its parts.
    let mut sum = 0.0;
    let mut seen = Evidence::new();
    for (v, finding) in evidence.iter() {
        let Finding::State(state) = finding else { unreachable!("hard evidence") };
        sum += net.posterior(&[v], &seen).unwrap().log_values()[*state];
        seen = seen.observe(v, *state);
    }
    assert!((net.log_evidence(&evidence).unwrap() - sum).abs() < 1e-12);
    let best = net.most_probable(&evidence).unwrap();
    assert!((net.log_probability(&best.states).unwrap() - best.log_joint).abs() < 1e-10);
}

#[test]
fn rows_off_by_rounding_give_one_answer() {
    // Rows off by 3e-4: a sum over what is left out would not be 1.
    let net = BayesNet::builder()
        .variable("a", &["x", "y"])
        .variable("b", &["x", "y", "z"])
        .variable("c", &["x", "y"])
        .cpt("a", &[], &[0.3331, 0.6666])
        .cpt("b", &["a"], &[0.333, 0.333, 0.3337, 0.5, 0.25, 0.25])
        .cpt("c", &["b"], &[0.1, 0.9, 0.3332, 0.6665, 0.5, 0.5])
        .build()
        .unwrap();
    // What was given is kept.
    assert_eq!(net.cpt_of(VarId(0)), [0.3331, 0.6666]);
    let expected = 0.3331 / (0.3331 + 0.6666);
    let none = Evidence::new();
    let pruned = net.posterior(&[VarId(0)], &none).unwrap().values()[0];
    let whole = net.posteriors(&none).unwrap()[0][0];
    assert!((pruned - expected).abs() < 1e-15 && (whole - expected).abs() < 1e-15);
    assert!(net.log_evidence(&none).unwrap().abs() < 1e-15);
    let all = Evidence::from_iter([(VarId(0), 0), (VarId(1), 2), (VarId(2), 1)]);
    let sum = net.log_evidence(&all).unwrap();
    assert!((sum - net.log_probability(&[0, 2, 1]).unwrap()).abs() < 1e-14);
    let model = net.factor_graph().unwrap();
    let scores =
        configurations(net.cards()).iter().map(|x| model.log_score(x).unwrap().exp()).sum::<f64>();
    assert!((scores - 1.0).abs() < 1e-15);
    let mut rng = fenchel_optim::random::stream(1, 0);
    let weighted = net.likelihood_weighting(&all, 1, &mut rng).unwrap();
    assert!((weighted.log_evidence() - sum).abs() < 1e-14);
}

#[test]
fn settings_of_the_order_reach_every_question() {
    let net = networks::alarm();
    let findings = [("HRBP", "HIGH"), ("CO", "LOW")];
    let tight = OrderingOptions { max_memory: Some(64), ..Default::default() };
    let refused = |result: Result<(), Error>| {
        assert!(matches!(result, Err(Error::Refused(Refusal::MemoryLimit { limit: 64, .. }))));
    };
    let asked = net.clone().with_ordering(tight);
    let lung = [net.variable("LVFAILURE").unwrap()];
    refused(asked.query(&["LVFAILURE"], &findings).map(drop));
    refused(asked.posterior(&lung, &findings).map(drop));
    refused(asked.posteriors(&findings).map(drop));
    refused(asked.log_evidence(&findings).map(drop));
    refused(asked.most_probable(&findings).map(drop));
    refused(asked.most_probable_k(2, &findings).map(drop));
    refused(asked.marginal_map(&lung, &findings).map(drop));
    let other = OrderingOptions {
        heuristic: Heuristic::MaximumCardinality,
        restarts: 1,
        seed: 3,
        max_memory: None,
    };
    let found = net.clone().with_ordering(other).posteriors(&findings).unwrap();
    for (found, expected) in found.iter().zip(net.posteriors(&findings).unwrap()) {
        assert!(near(found, &expected));
    }
    assert!(matches!(net.most_probable_k(0, &findings), Err(Error::Invalid(_))));
}

#[test]
fn soft_findings_by_names_are_those_by_numbers() {
    let net = networks::asia();
    let xray = net.variable("xray").unwrap();
    let named = net.soft_evidence("xray", &[("no", 0.2), ("yes", 0.7)]).unwrap();
    assert_eq!(named, Evidence::new().likelihood(xray, [0.7, 0.2]));
    let both = net.evidence(&[("smoke", "yes")]).unwrap().with(&named);
    assert_eq!(both.len(), 2);
    // The later finding about a variable counts.
    let hard = net.evidence(&[("xray", "no")]).unwrap();
    assert_eq!(named.clone().with(&hard), hard);
    let wrong = |likelihood: &[(&str, f64)]| net.soft_evidence("xray", likelihood).unwrap_err();
    assert!(matches!(wrong(&[("no", 0.2)]), Error::Invalid(_)));
    assert!(matches!(wrong(&[("no", 0.2), ("no", 0.2)]), Error::Duplicate { .. }));
    assert!(matches!(wrong(&[("no", -0.2), ("yes", 0.2)]), Error::Invalid(_)));
    assert!(matches!(wrong(&[("maybe", 0.2), ("yes", 0.2)]), Error::UnknownName { .. }));
    assert!(matches!(net.soft_evidence("x", &[]), Err(Error::UnknownName { .. })));
}

#[test]
fn records_travel_through_files() {
    let net = BayesNet::builder()
        .variable("rain", &["yes", "no, never", ""])
        .variable("grass", &["wet", "dry"])
        .arcs("rain", &[])
        .arcs("grass", &["rain"])
        .build()
        .unwrap();
    let text = "day,grass,rain\n1,wet,yes\n2, dry ,\"no, never\"\n3,?,\n4,NA,?\n";
    let data = net.read_csv(text.as_bytes()).unwrap();
    let rows: Vec<Vec<usize>> = data.rows().into_iter().map(|row| row.to_vec()).collect();
    assert_eq!(rows, [[0, 0], [1, 1], [2, MISSING], [MISSING, MISSING]]);
    let place =
        |name: &str| std::env::temp_dir().join(format!("fenchel-{}-{name}", std::process::id()));
    for name in ["records.csv", "records.csv.gz"] {
        net.write_csv_file(data.view(), place(name)).unwrap();
        let read = net.read_csv_file(place(name));
        let fitted = net.fit_csv_file(place(name), Prior::Dirichlet(1.0));
        let packed = std::fs::read(place(name)).unwrap().starts_with(&[0x1F, 0x8B]);
        std::fs::remove_file(place(name)).unwrap();
        assert_eq!((read.unwrap(), packed), (data.clone(), name.ends_with("gz")));
        // Missing cells are named by file, row and column.
        let error = fitted.unwrap_err().to_string();
        let expected = format!(
            "{}: row 2, column \"grass\": the value is missing; leave the record out, or use Em, which takes such records",
            place(name).display()
        );
        assert_eq!(error, expected);
    }
    let complete = net
        .fit_cpts(data.slice_axis(ndarray::Axis(0), (..2).into()), Prior::Dirichlet(0.0))
        .unwrap();
    assert_eq!(complete.cpt_of(VarId(0)), [0.5, 0.5, 0.0]);
    let refused = |text: &str| net.read_csv(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        refused("grass,rain\nwet,yes\nwet,yess\n"),
        "row 1, column \"rain\": \"rain\" has no state \"yess\"; it has yes, , no, never"
    );
    assert_eq!(
        refused("grass\nwet\n"),
        "there is no column for variable \"rain\"; known, nearest first: grass"
    );
    assert_eq!(
        refused("grass,rain\nwet\n"),
        "line 2, column 1: 1 cells; expected 2, as in the header"
    );
    let open =
        |line| format!("line {line}, column 1: a cell begins with a quote that does not end");
    for (text, line) in [
        ("grass,rain\nwet,\"yes\n", 2),
        ("grass,rain\nwet,yes\n\"wet,no\nwet,yes\n", 3),
        ("grass,\"rain\nwet,yes\n", 1),
    ] {
        assert_eq!(refused(text), open(line));
        let error = BayesNet::from_csv(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(error, open(line));
    }
}

#[test]
fn answers_by_names_are_those_by_numbers() {
    let net = networks::asia();
    let findings = [("xray", "yes"), ("asia", "no")];
    // Not in the order of the network: the order of the question counts.
    let answer = net.query(&["smoke", "bronc", "lung"], &findings).unwrap();
    let [smoke, bronc, lung] = ["smoke", "bronc", "lung"].map(|name| net.variable(name).unwrap());
    let table = net.posterior(&[lung, bronc, smoke], &net.evidence(&findings).unwrap()).unwrap();
    for (s, b, l) in [(0, 0, 1), (1, 0, 0), (0, 1, 1), (1, 1, 0)] {
        let names = [(smoke, s), (bronc, b), (lung, l)].map(|(v, k)| net.states_of(v)[k].as_str());
        let at = |v| [(smoke, s), (bronc, b), (lung, l)].iter().find(|p| p.0 == v).unwrap().1;
        let states: Vec<usize> = table.scope().iter().map(|&v| at(v)).collect();
        let expected = table.log_value(&states).unwrap().exp();
        assert!((answer.probability(&names).unwrap() - expected).abs() < 1e-15);
    }
    let printed = answer.to_string();
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 9);
    let title = "smoke  bronc  lung  P(smoke, bronc, lung | xray = yes, asia = no)";
    assert_eq!(lines[0], title);
    let words: Vec<&str> = lines[2].split_whitespace().collect();
    let expected = answer.probability(&["yes", "yes", "no"]).unwrap();
    assert_eq!(words[..], ["yes", "yes", "no", &format!("{expected:.6}")]);
    assert!(matches!(answer.probability(&["yes"]), Err(Error::Invalid(_))));
    assert!(matches!(answer.probability(&["yes", "no", "maybe"]), Err(Error::UnknownName { .. })));
    assert!(matches!(net.query(&["lungs"], &[]), Err(Error::UnknownName { .. })));
    let error = |variables: &[&str], findings: &[(&str, &str)]| {
        net.query(variables, findings).unwrap_err().to_string()
    };
    assert_eq!(error(&["lung", "lung"], &[]), "variable of the query \"lung\" is given twice");
    assert_eq!(
        error(&["lung"], &[("smoke", "Yes")]),
        "\"smoke\" has no state \"Yes\"; it has yes, no"
    );
    let error = net.most_probable_k(0, &[("smoke", "yes")]).unwrap_err().to_string();
    assert_eq!(error, "k = 0; expected at least 1");
    assert!(matches!(net.query(&["lung"], &[("xray", "x")]), Err(Error::UnknownName { .. })));
    assert!(
        net.cpt_text("either").unwrap().starts_with("P(either | lung, tub)\nlung  tub  yes  no\n")
    );
    let best = net.marginal_map(&[smoke, lung], &net.evidence(&findings).unwrap()).unwrap();
    let names: Vec<&str> = best.named(&net).unwrap().iter().map(|pair| pair.0).collect();
    assert_eq!(names, ["smoke", "lung"]);
}

#[test]
fn records_that_do_not_fit_are_errors() {
    let graph = BayesNet::builder()
        .variable("a", &["x", "y"])
        .variable("b", &["x", "y"])
        .arcs("a", &["b"])
        .arcs("b", &[])
        .build()
        .unwrap();
    assert_eq!(graph.cpt_of(VarId(0)), [0.5; 4]);
    let header = ["b", "a"];
    assert_eq!(graph.encode(&header, &[["x", "y"]]).unwrap().row(0).to_vec(), [1, 0]);
    let none: [[&str; 2]; 0] = [];
    assert_eq!(graph.encode(&header, &none).unwrap().dim(), (0, 2));
    let refused = |header: &[&str], record: &[&str]| graph.encode(header, &[record]).unwrap_err();
    assert!(matches!(refused(&["a"], &["x"]), Error::UnknownName { .. }));
    assert!(matches!(refused(&["a", "b", "a"], &["x", "x", "x"]), Error::Duplicate { .. }));
    assert_eq!(
        refused(&header, &["x", "z"]).to_string(),
        "row 0, column \"a\": \"a\" has no state \"z\"; it has x, y"
    );
    assert!(matches!(refused(&header, &["x"]), Error::Invalid(_)));
    // 2^40 cells are refused, not allocated.
    let names: Vec<String> = (0..40).map(|v| format!("v{v}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let wide = names.iter().fold(BayesNet::builder(), |net, name| net.variable(name, &["x", "y"]));
    assert!(matches!(wide.arcs("v0", &names[1..]).build(), Err(Error::Refused(_))));
}

#[test]
fn questions_that_do_not_fit_are_errors() {
    let net = networks::asia();
    let none = Evidence::new();
    let beyond = [VarId(8)];
    assert!(matches!(net.posterior(&beyond, &none), Err(Error::UnknownVariable { .. })));
    assert!(matches!(net.marginal_map(&beyond, &none), Err(Error::UnknownVariable { .. })));
    let twice = [VarId(1), VarId(1)];
    assert!(matches!(net.posterior(&twice, &none), Err(Error::RepeatedVariable { .. })));
    assert!(matches!(net.marginal_map(&twice, &none), Err(Error::RepeatedVariable { .. })));
    let wrong = Evidence::new().observe(VarId(0), 2);
    assert!(matches!(net.posteriors(&wrong), Err(Error::State { .. })));
    assert!(matches!(net.log_evidence(&wrong), Err(Error::State { .. })));
    let negative = Evidence::new().likelihood(VarId(0), [-1.0, 1.0]);
    assert!(matches!(net.posterior(&[VarId(1)], &negative), Err(Error::Invalid(_))));
}

#[test]
fn answers_about_long_names_are_printed() {
    let name = "x".repeat(65_536);
    let csv = format!("{name}\nyes\nno\n");
    let (net, _) = BayesNet::from_csv(csv.as_bytes()).unwrap();
    let none: [(&str, &str); 0] = [];
    let text = net.query(&[name.as_str()], &none).unwrap().to_string();
    assert!(text.contains(&name) && text.contains("yes"));
}
