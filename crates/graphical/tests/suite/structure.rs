//! Graphs from data: against enumeration of all graphs, against the truth, and against what d-separation says.

use crate::common::networks::nets;
use fenchel_graphical::structure::{
    ExactSearch, HillClimbing, IndependenceTest, Pc, chow_liu, shd,
};
use fenchel_graphical::{BayesNet, Dag, Error, MISSING, Prior, StructureScore, VarId, networks};
use fenchel_linalg::special::chi_squared_tail;
use fenchel_optim::{Fit, Refusal, Status, Stop, random::stream};
use ndarray::{Array2, Axis, array};
use proptest::prelude::*;

const SCORES: [StructureScore; 4] = [
    StructureScore::Bic,
    StructureScore::Bayes(Prior::Dirichlet(1.0)),
    StructureScore::Bayes(Prior::Bdeu(1.0)),
    StructureScore::Bayes(Prior::Bdeu(10.0)),
];

/// All directed graphs without cycles over so many nodes.
fn all_graphs(n: u32) -> Vec<Dag> {
    let pairs: Vec<(u32, u32)> = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect();
    let graph = |code: usize| {
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
        Dag::new(n as usize, arcs).ok()
    };
    (0..3_usize.pow(pairs.len() as u32)).filter_map(graph).collect()
}

fn draws(net: &BayesNet, n: usize, seed: u64) -> Array2<usize> {
    net.sample_many(n, &mut stream(seed, 0)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_exact_search_finds_the_best_of_all_graphs(net in nets(4), seed in 0u64..1000) {
        let data = draws(&net, 60, seed);
        let n = net.len();
        for score in SCORES {
            let value = |dag: &Dag| score.graph(data.view(), net.cards(), dag).unwrap();
            for most in [n, 1] {
                let narrow = |dag: &&Dag| (0..n as u32).all(|v| dag.parents(v).len() <= most);
                let best = all_graphs(n as u32).iter().filter(narrow).map(value).fold(f64::NEG_INFINITY, f64::max);
                let search = ExactSearch { score, max_parents: most, ..ExactSearch::default() };
                let found = search.fit(data.view(), net.cards()).unwrap();
                prop_assert!((found.score - best).abs() < 1e-9 * (1.0 + best.abs()));
                prop_assert!((value(&found.dag) - found.score).abs() < 1e-9 * (1.0 + best.abs()));
                prop_assert!(narrow(&&found.dag));
                prop_assert_eq!(found.report.status, Status::Converged);
                // Hill climbing is never better, and ends where no single change of an arc is.
                let climb = HillClimbing { score, max_parents: most, ..HillClimbing::default() };
                let local = climb.fit(data.view(), net.cards()).unwrap();
                prop_assert!(local.score <= best + 1e-9 * (1.0 + best.abs()));
                prop_assert!((value(&local.dag) - local.score).abs() < 1e-9 * (1.0 + best.abs()));
                prop_assert_eq!(local.report.status, Status::Converged);
                for near in neighbours(&local.dag).iter().filter(|dag| narrow(dag)) {
                    prop_assert!(value(near) <= local.score + 1e-9 * (1.0 + best.abs()));
                }
            }
        }
    }

    #[test]
    fn with_a_test_that_never_errs_pc_finds_the_class(net in nets(7)) {
        let truth = net.dag();
        let pc = Pc { max_given: 7, ..Pc::default() };
        let oracle = |x, y, z: &[u32]| Ok(f64::from(u8::from(truth.d_separated(&[x], &[y], z)?)));
        let found = pc.fit_test(net.len(), oracle).unwrap();
        prop_assert_eq!(&found.class, &truth.cpdag());
        prop_assert_eq!(&found.skeleton, &truth.skeleton());
        for (&(a, b), given) in &found.separators {
            prop_assert!(truth.d_separated(&[a], &[b], given).unwrap());
        }
    }

    #[test]
    fn the_tree_is_the_most_likely_of_all_trees(net in nets(5), seed in 0u64..1000) {
        let data = draws(&net, 50, seed);
        let n = net.len();
        let value = |dag: &Dag| StructureScore::LogLikelihood.graph(data.view(), net.cards(), dag).unwrap();
        let found = chow_liu(data.view(), net.cards(), 0).unwrap();
        prop_assert_eq!(&found.dag.skeleton(), &found.graph);
        // All forests with one parent at most.
        let mut best = f64::NEG_INFINITY;
        for code in 0..(n + 1).pow(n as u32) {
            let mut rest = code;
            let arcs: Vec<(u32, u32)> = (0..n as u32).filter_map(|v| {
                let parent = (rest % (n + 1)) as u32;
                rest /= n + 1;
                (parent < n as u32).then_some((parent, v))
            }).filter(|(p, v)| p != v).collect();
            if let Ok(dag) = Dag::new(n, arcs) {
                best = best.max(value(&dag));
            }
        }
        prop_assert!((value(&found.dag) - best).abs() < 1e-9 * (1.0 + best.abs()));
        // The likelihood of the tree is that of the empty graph and the informations along its edges.
        let gain: f64 = found.edges.iter().map(|edge| edge.2).sum::<f64>() * data.nrows() as f64;
        let empty = value(&Dag::new(n, []).unwrap());
        prop_assert!((empty + gain - best).abs() < 1e-8 * (1.0 + best.abs()));
    }
}

/// The graphs that differ in one arc: added, removed, turned.
fn neighbours(dag: &Dag) -> Vec<Dag> {
    let n = dag.nodes() as u32;
    let arcs: Vec<(u32, u32)> = dag.arcs().collect();
    let mut found = Vec::new();
    for a in 0..n {
        for b in (0..n).filter(|&b| b != a) {
            let without = || arcs.iter().copied().filter(|&arc| arc != (a, b));
            if dag.has_arc(a, b) {
                found.push(Dag::new(dag.nodes(), without()).unwrap());
                found.extend(Dag::new(dag.nodes(), without().chain([(b, a)])).ok());
            } else {
                found.extend(Dag::new(dag.nodes(), without().chain([(a, b)])).ok());
            }
        }
    }
    found
}

#[test]
fn asia_is_found_up_to_its_weak_arc() {
    // asia -> tub shows in one record of two hundred and is beyond 10,000 records for BIC.
    let truth = networks::asia();
    let class = truth.dag().cpdag();
    let data = draws(&truth, 10_000, 1);
    let learned = |dag: &Dag| shd(&class, &dag.cpdag()).unwrap();
    for score in [
        StructureScore::Bic,
        StructureScore::Bayes(Prior::Bdeu(1.0)),
        StructureScore::Bayes(Prior::Dirichlet(1.0)),
    ] {
        let exact = ExactSearch { score, ..Default::default() };
        let exact = exact.fit(data.view(), truth.cards()).unwrap();
        assert!(learned(&exact.dag) <= 3, "{score:?}: {}", learned(&exact.dag));
        let climb = HillClimbing { score, ..Default::default() };
        let local = climb.fit(data.view(), truth.cards()).unwrap();
        assert!(local.score <= exact.score + 1e-6);
        assert!(learned(&local.dag) <= 4, "{score:?}: {}", learned(&local.dag));
    }
    let pc = Pc::default().fit(data.view(), truth.cards()).unwrap();
    let distance = shd(&class, &pc.class).unwrap();
    // The deterministic or of asia is not faithful: either hides its causes from what follows.
    assert!(distance <= 6, "{distance}");
}

/// Ten restarts from the best graph itself, without a draw of an equivalent one, miss more than one of these samples.
#[test]
fn hill_climbing_finds_the_best_graph_of_nearly_all_samples_of_asia() {
    let net = networks::asia();
    let samples = [500, 1000, 2000, 5000].into_iter().flat_map(|n| (100..106).map(move |s| (n, s)));
    let missed = samples.filter(|&(records, seed)| {
        let data = draws(&net, records, seed);
        let best = ExactSearch::default().fit(data.view(), net.cards()).unwrap().score;
        let found = HillClimbing::default().fit(data.view(), net.cards()).unwrap();
        assert_eq!(found.report.status, Status::Converged);
        found.score < best - 1e-9 * best.abs()
    });
    assert!(missed.count() <= 1);
}

#[test]
fn alarm_is_nearly_found() {
    let truth = networks::alarm();
    let class = truth.dag().cpdag();
    let data = draws(&truth, 3000, 1);
    let search =
        HillClimbing { score: StructureScore::Bayes(Prior::Bdeu(1.0)), ..Default::default() };
    let found = search.fit(data.view(), truth.cards()).unwrap();
    let of_truth = search.score.graph(data.view(), truth.cards(), truth.dag()).unwrap();
    let distance = shd(&class, &found.dag.cpdag()).unwrap();
    assert!(found.score > of_truth - 100.0, "{} {of_truth}", found.score);
    assert!(distance <= 15, "{distance}");
    let empty = shd(&class, &Dag::new(37, []).unwrap().cpdag()).unwrap();
    assert_eq!(empty, 46);
    let pc = Pc { max_given: 2, ..Default::default() };
    let found = pc.fit(data.view(), truth.cards()).unwrap();
    let distance = shd(&class, &found.class).unwrap();
    assert!(distance <= 20, "{distance}");
    // The order of the columns does not matter to the skeleton.
    let back: Vec<usize> = (0..37).rev().collect();
    let turned = pc
        .fit(
            data.select(Axis(1), &back).view(),
            &back.iter().map(|&v| truth.cards()[v]).collect::<Vec<_>>(),
        )
        .unwrap();
    let edges: std::collections::BTreeSet<(u32, u32)> =
        turned.skeleton.edges().map(|(a, b)| (36 - b, 36 - a)).collect();
    assert_eq!(edges, found.skeleton.edges().collect());
}

#[test]
fn wishes_about_arcs_are_kept() {
    let truth = networks::asia();
    let data = draws(&truth, 2000, 3);
    let ids = |name: &str| truth.variable(name).unwrap().0;
    let (lung, smoke, either) = (ids("lung"), ids("smoke"), ids("either"));
    let search = HillClimbing {
        required: vec![(lung, smoke)],
        forbidden: vec![(lung, either), (either, lung)],
        max_parents: 2,
        ..Default::default()
    };
    let found = search.fit(data.view(), truth.cards()).unwrap();
    assert!(found.dag.has_arc(lung, smoke) && !found.dag.is_adjacent(lung, either));
    assert!((0..8).all(|v| found.dag.parents(v).len() <= 2));
    // A start is never left for something worse; at the optimum nothing is left to do.
    let again = search.fit_with(data.view(), truth.cards(), Fit::new().start(&found.dag)).unwrap();
    assert!(again.score >= found.score);
    // Plain hill climbing ends at the first local optimum.
    let plain = HillClimbing { tabu: 0, ..Default::default() };
    let tabu = HillClimbing::default().fit(data.view(), truth.cards()).unwrap();
    assert!(tabu.score >= plain.fit(data.view(), truth.cards()).unwrap().score - 1e-9);
    let refused = |search: &HillClimbing, start: &Dag| {
        search
            .fit_with(data.view(), truth.cards(), Fit::new().start(start))
            .unwrap_err()
            .to_string()
    };
    let empty = Dag::new(8, []).unwrap();
    assert!(refused(&search, &empty).contains("required or forbidden"));
    let contrary =
        HillClimbing { required: vec![(0, 1)], forbidden: vec![(0, 1)], ..Default::default() };
    assert!(refused(&contrary, &empty).contains("forbidden as well"));
    let circle = HillClimbing { required: vec![(0, 1), (1, 0)], ..Default::default() };
    assert!(matches!(circle.fit(data.view(), truth.cards()), Err(Error::Cycle { .. })));
}

#[test]
fn tests_of_independence_are_textbook() {
    // Two tables of Bishop, Fienberg and Holland's kind, by hand.
    let mut rows = Vec::new();
    for (z, x, y, n) in
        [(0, 0, 0, 10), (0, 0, 1, 20), (0, 1, 0, 30), (0, 1, 1, 40), (1, 0, 0, 7), (1, 1, 0, 9)]
    {
        rows.extend(std::iter::repeat_n([z, x, y], n));
    }
    let data = Array2::from_shape_fn((rows.len(), 3), |(i, j)| rows[i][j]);
    let cards = [2, 2, 2];
    let run = |test: IndependenceTest| {
        test.test(data.view(), &cards, VarId(1), VarId(2), &[VarId(0)]).unwrap()
    };
    // z = 0: expected 12, 18, 28, 42; z = 1: y does not vary, nothing to count.
    let expected = [12.0_f64, 18.0, 28.0, 42.0];
    let seen = [10.0_f64, 20.0, 30.0, 40.0];
    let pearson: f64 = seen.iter().zip(&expected).map(|(n, e)| (n - e).powi(2) / e).sum();
    let ratio: f64 = seen.iter().zip(&expected).map(|(n, e)| 2.0 * n * (n / e).ln()).sum();
    for (test, statistic) in
        [(IndependenceTest::ChiSquared, pearson), (IndependenceTest::G2, ratio)]
    {
        let found = run(test);
        assert!((found.statistic - statistic).abs() < 1e-12 && found.degrees == 1.0);
        assert!((found.p_value - chi_squared_tail(statistic, 1.0)).abs() < 1e-14);
    }
    let constant =
        IndependenceTest::G2.test(array![[0, 0], [1, 0]].view(), &[2, 2], VarId(0), VarId(1), &[]);
    assert_eq!(constant.unwrap().p_value, 1.0);
    // Under independence p-values are uniform: Kolmogorov's distance over 400 samples, at the level 1e-4.
    let net = BayesNet::builder()
        .variable("z", &["0", "1"])
        .variable("x", &["0", "1", "2"])
        .variable("y", &["0", "1"])
        .cpt("z", &[], &[0.4, 0.6])
        .cpt("x", &["z"], &[0.2, 0.3, 0.5, 0.5, 0.25, 0.25])
        .cpt("y", &["z"], &[0.3, 0.7, 0.6, 0.4])
        .build()
        .unwrap();
    let mut levels: Vec<f64> = (0..400)
        .map(|seed| {
            let data = draws(&net, 500, seed);
            IndependenceTest::G2
                .test(data.view(), net.cards(), VarId(1), VarId(2), &[VarId(0)])
                .unwrap()
                .p_value
        })
        .collect();
    levels.sort_by(f64::total_cmp);
    let farthest = levels
        .iter()
        .enumerate()
        .map(|(k, p)| (p - (k as f64 + 0.5) / 400.0).abs())
        .fold(0.0, f64::max);
    assert!(farthest < 2.23 / 20.0, "{farthest}");
    let dependent =
        IndependenceTest::G2.test(draws(&net, 500, 1).view(), net.cards(), VarId(0), VarId(2), &[]);
    assert!(dependent.unwrap().p_value < 1e-4);
}

#[test]
fn searches_refuse_what_does_not_fit() {
    let data = array![[0, 1], [1, MISSING]];
    let missing = "row 1, column variable 1: the value is missing";
    let cards = [2, 2];
    let text = |error: Error| error.to_string();
    assert!(
        text(HillClimbing::default().fit(data.view(), &cards).unwrap_err()).starts_with(missing)
    );
    assert!(
        text(ExactSearch::default().fit(data.view(), &cards).unwrap_err()).starts_with(missing)
    );
    assert!(text(Pc::default().fit(data.view(), &cards).unwrap_err()).starts_with(missing));
    assert!(text(chow_liu(data.view(), &cards, 0).unwrap_err()).starts_with(missing));
    let wide = Array2::<usize>::zeros((2, 25));
    let refused =
        |max_memory| ExactSearch { max_memory, ..Default::default() }.fit(wide.view(), &[1; 25]);
    assert!(matches!(refused(Some(1 << 20)), Err(Error::Refused(Refusal::MemoryLimit { .. }))));
    let wider = Array2::<usize>::zeros((2, 31));
    let beyond = ExactSearch { max_memory: None, ..Default::default() }.fit(wider.view(), &[1; 31]);
    assert!(matches!(beyond, Err(Error::Refused(Refusal::Unsupported { .. }))));
    let narrow = Array2::<usize>::zeros((2, 2));
    assert!(Pc { level: 0.0, ..Default::default() }.fit(narrow.view(), &cards).is_err());
    assert!(chow_liu(narrow.view(), &cards, 2).is_err());
    let flat =
        HillClimbing { score: StructureScore::Bayes(Prior::Bdeu(0.0)), ..Default::default() };
    assert!(matches!(flat.fit(narrow.view(), &cards), Err(Error::Invalid(_))));
    assert!(matches!(HillClimbing::default().fit(narrow.view(), &[2]), Err(Error::Invalid(_))));
    // Nothing to join.
    for n in 0..2 {
        let none = Array2::<usize>::zeros((3, n));
        assert_eq!(
            HillClimbing::default().fit(none.view(), &vec![2; n]).unwrap().dag.arc_count(),
            0
        );
        assert_eq!(ExactSearch::default().fit(none.view(), &vec![2; n]).unwrap().dag.nodes(), n);
        assert_eq!(Pc::default().fit(none.view(), &vec![2; n]).unwrap().skeleton.edge_count(), 0);
        assert_eq!(chow_liu(none.view(), &vec![2; n], 0).unwrap().edges.len(), 0);
    }
}

#[test]
fn columns_become_a_network() {
    let text = "b,a\nx,1\ny,2\nx,\n";
    let (net, data) = BayesNet::from_csv(text.as_bytes()).unwrap();
    assert_eq!(net.cards(), [2, 2]);
    assert_eq!(data, array![[0, 0], [1, 1], [0, MISSING]]);
    assert_eq!(net.cpt_of(VarId(0)), [2.0 / 3.0, 1.0 / 3.0]);
    let joined = net.with_graph(&Dag::new(2, [(1, 0)]).unwrap()).unwrap();
    assert_eq!(
        (joined.parents_of(VarId(0)), joined.cpt_of(VarId(0))),
        (&[VarId(1)][..], &[0.5; 4][..])
    );
    assert!(net.with_graph(&Dag::new(3, []).unwrap()).is_err());
    assert!(matches!(BayesNet::from_csv("a,a\n1,2\n".as_bytes()), Err(Error::Duplicate { .. })));
    assert!(matches!(
        BayesNet::from_csv("a,b\n1\n".as_bytes()),
        Err(Error::Format { line: 2, .. })
    ));
}

/// Every search is watched, and says what it cannot use.
#[test]
fn searches_share_one_contract() {
    use std::ops::ControlFlow;
    let net = networks::asia();
    let (data, cards) = (net.sample_many(300, &mut stream(1, 0)).unwrap(), net.cards());
    let mut sizes = Vec::new();
    let mut stop_after_one = |progress: &fenchel_optim::Progress| {
        sizes.push((progress.passes, progress.oracle_calls));
        ControlFlow::Break(())
    };
    let fit = Fit::new().watch(&mut stop_after_one);
    let first = Pc::default().fit_with(data.view(), cards, fit).unwrap();
    // Without conditioning there is one test a pair.
    assert_eq!((sizes, first.tests), (vec![(1.0, 28)], 28));
    let mut calls = 0;
    let mut count = |_: &fenchel_optim::Progress| {
        calls += 1;
        ControlFlow::Continue(())
    };
    let fit = Fit::new().watch(&mut count);
    let found = ExactSearch::default().fit_with(data.view(), cards, fit).unwrap();
    assert_eq!(found.dag, ExactSearch::default().fit(data.view(), cards).unwrap().dag);
    assert!(calls > 0);
    let weights = vec![1.0; 300];
    for refused in [
        Pc::default().fit_with(data.view(), cards, Fit::new().weights(&weights)).map(drop),
        Pc::default().fit_with(data.view(), cards, Fit::new().start(&first)).map(drop),
        ExactSearch::default().fit_with(data.view(), cards, Fit::new().weights(&weights)).map(drop),
        ExactSearch::default().fit_with(data.view(), cards, Fit::new().start(&found.dag)).map(drop),
    ] {
        assert!(matches!(refused, Err(Error::Refused(Refusal::Unsupported { .. }))), "{refused:?}");
    }
}

/// What is printed says how the search ended, and that other graphs may be as good.
#[test]
fn a_learned_graph_is_printed_in_words() {
    let net = networks::asia();
    let (data, cards) = (net.sample_many(300, &mut stream(1, 0)).unwrap(), net.cards());
    let climb = HillClimbing::default();
    let stopped = |max_passes| Stop { max_passes, max_seconds: None, ..climb.stop };
    let found = climb.fit(data.view(), cards).unwrap();
    let text = found.to_string();
    assert!(
        text.contains(&format!("a local optimum, after {} moves", found.report.passes)),
        "{text}"
    );
    let told = found.dag.cpdag().directed;
    for (p, v) in found.dag.arcs() {
        let mark = if told.contains(&(p, v)) { "->" } else { "-" };
        assert!(text.contains(&format!("x{p} {mark} x{v}")), "{text}");
    }
    let open = found.dag.arcs().count() - told.len();
    let last = format!("the direction of {open} of them (`dag.cpdag()`)");
    assert_eq!(open > 0, text.ends_with(&last), "{text}");
    let named = found.clone().named(net.variables().map(|v| net.name_of(v))).to_string();
    assert!(named.contains("bronc") && !named.contains("x0"), "{named}");
    let short = HillClimbing { stop: stopped(2.0), ..climb.clone() };
    let text = short.fit(data.view(), cards).unwrap().to_string();
    assert!(text.contains("pass limit reached after 2 moves"), "{text}");
    let stop = Stop { max_seconds: Some(0.0), ..climb.stop };
    let late = HillClimbing { stop, ..climb }.fit(data.view(), cards).unwrap();
    assert_eq!(late.report.status, Status::TimeLimit);
    let best = ExactSearch::default().fit(data.view(), cards).unwrap().to_string();
    assert!(best.contains("no graph has a higher one") && !best.contains("moves"), "{best}");
}

/// Nothing can be learnt from nothing, and a graph without arcs is an answer.
#[test]
fn no_records_are_refused() {
    for text in ["", "a,b\n"] {
        let error = BayesNet::from_csv(text.as_bytes()).unwrap_err().to_string();
        let expected =
            "line 1, column 1: no records; expected a line of names, and a line for each record";
        assert_eq!(error, expected);
    }
    let (none, cards) = (Array2::<usize>::zeros((0, 8)), networks::asia().cards().to_vec());
    let (data, net) = (none.view(), networks::asia());
    let graph = net.dag();
    let errors = [
        HillClimbing::default().fit(data, &cards).map(drop),
        ExactSearch::default().fit(data, &cards).map(drop),
        Pc::default().fit(data, &cards).map(drop),
        chow_liu(data, &cards, 0).map(drop),
        StructureScore::Bic.graph(data, &cards, graph).map(drop),
    ];
    for error in errors {
        assert_eq!(error.unwrap_err().to_string(), "data (rows) is empty");
    }
}
