//! `fenchel query`: answers against sums over all states, and what is refused.

use serde_json::Value;

use crate::common::Folder;

/// The network of Lauritzen and Spiegelhalter (1988).
const ASIA: &str = "network unknown { }
variable asia { type discrete [ 2 ] { yes, no }; }
variable tub { type discrete [ 2 ] { yes, no }; }
variable smoke { type discrete [ 2 ] { yes, no }; }
variable lung { type discrete [ 2 ] { yes, no }; }
variable bronc { type discrete [ 2 ] { yes, no }; }
variable either { type discrete [ 2 ] { yes, no }; }
variable xray { type discrete [ 2 ] { yes, no }; }
variable dysp { type discrete [ 2 ] { yes, no }; }
probability ( asia ) { table 0.01, 0.99; }
probability ( tub | asia ) { (yes) 0.05, 0.95; (no) 0.01, 0.99; }
probability ( smoke ) { table 0.5, 0.5; }
probability ( lung | smoke ) { (yes) 0.1, 0.9; (no) 0.01, 0.99; }
probability ( bronc | smoke ) { (yes) 0.6, 0.4; (no) 0.3, 0.7; }
probability ( either | lung, tub ) { (yes, yes) 1, 0; (no, yes) 1, 0; (yes, no) 1, 0; (no, no) 0, 1; }
probability ( xray | either ) { (yes) 0.98, 0.02; (no) 0.05, 0.95; }
probability ( dysp | bronc, either ) { (yes, yes) 0.9, 0.1; (no, yes) 0.7, 0.3; (yes, no) 0.8, 0.2; (no, no) 0.1, 0.9; }
";

const NAMES: [&str; 8] = ["asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"];

/// `P(all states)` in the network by its numbers as they are printed; `true` is yes. A variable that is set has no table.
fn joint(s: [bool; 8], set: Option<&str>) -> f64 {
    let [asia, tub, smoke, lung, bronc, either, xray, dysp] = s;
    let of = |p: f64, state: bool| if state { p } else { 1.0 - p };
    let choose = |on: bool, a: f64, b: f64| if on { a } else { b };
    let breath = match (bronc, either) {
        (true, true) => 0.9,
        (false, true) => 0.7,
        (true, false) => 0.8,
        (false, false) => 0.1,
    };
    let factors = [
        of(0.01, asia),
        of(choose(asia, 0.05, 0.01), tub),
        of(0.5, smoke),
        of(choose(smoke, 0.1, 0.01), lung),
        of(choose(smoke, 0.6, 0.3), bronc),
        of(f64::from(u8::from(lung || tub)), either),
        of(choose(either, 0.98, 0.05), xray),
        of(breath, dysp),
    ];
    let kept = factors.iter().zip(NAMES).filter(|(_, name)| Some(*name) != set);
    kept.map(|(factor, _)| factor).product()
}

/// All states, where some variables have the given ones.
fn states(fixed: &[(&str, bool)]) -> Vec<[bool; 8]> {
    let all = (0..256u32).map(|bits| std::array::from_fn(|k| bits >> k & 1 == 1));
    let place = |name: &str| NAMES.iter().position(|known| *known == name).unwrap();
    let fits = |s: &[bool; 8]| fixed.iter().all(|(name, state)| s[place(name)] == *state);
    all.filter(fits).collect()
}

fn probability(fixed: &[(&str, bool)], set: Option<&str>) -> f64 {
    states(fixed).into_iter().map(|s| joint(s, set)).sum()
}

fn json(folder: &Folder, line: &str) -> Value {
    serde_json::from_str(&folder.ok(line)).unwrap()
}

fn asia() -> Folder {
    let folder = Folder::new();
    folder.write("asia.bif", ASIA);
    folder
}

fn near(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-12, "{found}, {expected}");
}

#[test]
fn posteriors_are_sums_over_all_states() {
    let folder = asia();
    let given = [("smoke", true), ("xray", true)];
    let evidence = probability(&given, None);
    let answer = json(&folder, "query asia.bif 'P(lung, bronc | smoke=yes, xray = yes)' --json");
    assert_eq!(answer["variables"], serde_json::json!(["lung", "bronc"]));
    assert_eq!(answer["given"], serde_json::json!({"smoke": "yes", "xray": "yes"}));
    let table = answer["table"].as_array().unwrap();
    assert_eq!(table.len(), 4);
    for (cell, (lung, bronc)) in
        table.iter().zip([(true, true), (true, false), (false, true), (false, false)])
    {
        let word = |state: bool| if state { "yes" } else { "no" };
        assert_eq!(cell["states"], serde_json::json!([word(lung), word(bronc)]));
        let fixed = [given[0], given[1], ("lung", lung), ("bronc", bronc)];
        near(&cell["probability"], probability(&fixed, None) / evidence);
    }
    // The same by options, and as text.
    let text = folder.ok("query asia.bif P(dysp) -e smoke=yes");
    let p = probability(&[("smoke", true), ("dysp", true)], None) / 0.5;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "dysp  P(dysp | smoke = yes)");
    assert!(lines[1].starts_with("yes ") && lines[1].ends_with(&format!("{p:.6}")), "{text}");
    assert_eq!(lines.len(), 3);
    let text = folder.ok("query asia.bif 'P(dysp=yes | smoke=yes)'");
    assert_eq!(text, format!("P(dysp = yes | smoke = yes) = {p:.6}\n"));
    // The order of the query is that of the table.
    let text = folder.ok("query asia.bif 'P(dysp, asia)'");
    assert!(text.starts_with("dysp  asia  P(dysp, asia)\nyes   yes "), "{text}");
}

#[test]
fn an_intervention_cuts_the_causes() {
    let folder = asia();
    let answer = json(&folder, "query asia.bif 'P(smoke=yes | do(bronc=yes), dysp=yes)' --json");
    let fixed = [("bronc", true), ("dysp", true)];
    let both = [fixed[0], fixed[1], ("smoke", true)];
    let set = Some("bronc");
    near(&answer["probability"], probability(&both, set) / probability(&fixed, set));
    assert_eq!(answer["do"], serde_json::json!({"bronc": "yes"}));
    // Seeing is another thing than doing.
    let seen = json(&folder, "query asia.bif 'P(smoke=yes | bronc=yes)' --json");
    let done = json(&folder, "query asia.bif 'P(smoke=yes | do(bronc=yes))' --json");
    near(&seen["probability"], 0.3 / 0.45);
    near(&done["probability"], 0.5);
    let text = folder.ok("query asia.bif 'P(smoke=no | do(bronc=yes, tub = no), xray=no)'");
    assert!(text.starts_with("P(smoke = no | do(bronc = yes, tub = no), xray = no) = "), "{text}");
}

#[test]
fn without_a_query_every_variable_is_shown() {
    let folder = asia();
    let answer = json(&folder, "query asia.bif -e xray=yes --json");
    let evidence = probability(&[("xray", true)], None);
    for name in NAMES {
        let expected = if name == "xray" {
            1.0
        } else {
            probability(&[("xray", true), (name, true)], None) / evidence
        };
        near(&answer["posteriors"][name]["yes"], expected);
    }
    let text = folder.ok("query asia.bif");
    assert!(text.starts_with("variable  state  P(state)\nasia      yes    0.010000\n"), "{text}");
}

#[test]
fn the_most_probable_states_are_those_of_a_search() {
    let folder = asia();
    let given = [("xray", true), ("asia", true)];
    let evidence = probability(&given, None);
    let best =
        |all: Vec<([bool; 8], f64)>| all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let (expected, p) =
        best(states(&given).into_iter().map(|s| (s, joint(s, None) / evidence)).collect());
    let answer = json(&folder, "query asia.bif -e xray=yes -e asia=yes --map --json");
    for (name, state) in NAMES.iter().zip(expected) {
        assert_eq!(answer["most_probable"][name], if state { "yes" } else { "no" }, "{name}");
    }
    near(&answer["log_probability"], p.ln());
    // Of some variables, with the others summed out.
    let answer = json(&folder, "query asia.bif 'P(lung, bronc | dysp=yes)' --map --json");
    let mut all = Vec::new();
    for lung in [true, false] {
        for bronc in [true, false] {
            let p = probability(&[("dysp", true), ("lung", lung), ("bronc", bronc)], None);
            all.push(((lung, bronc), p / probability(&[("dysp", true)], None)));
        }
    }
    let ((lung, bronc), p) = all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let word = |state: bool| if state { "yes" } else { "no" };
    assert_eq!(
        answer["most_probable"],
        serde_json::json!({"lung": word(lung), "bronc": word(bronc)})
    );
    near(&answer["log_probability"], p.ln());
    let text = folder.ok("query asia.bif 'P(lung | dysp=yes)' --map");
    assert!(text.starts_with("variable  state\nlung      no\nP(these states | dysp = yes) = "));
}

/// Two factors over three variables, the second with three states.
const MARKOV: &str = "MARKOV\n3\n2 3 2\n2\n2 0 1\n2 1 2\n6\n1 2 3 4 5 6\n6\n2 1 1 3 0.5 4\n";

fn potential(x: [usize; 3]) -> f64 {
    let (a, b) = ([1., 2., 3., 4., 5., 6.], [2., 1., 1., 3., 0.5, 4.]);
    a[3 * x[0] + x[1]] * b[2 * x[1] + x[2]]
}

#[test]
fn a_uai_file_has_numbers_for_names() {
    let folder = Folder::new();
    folder.write("net.uai", MARKOV);
    let all: Vec<[usize; 3]> =
        (0..12).map(|cell| [cell / 6, cell / 2 % 3, cell % 2]).filter(|x| x[2] == 1).collect();
    let total: f64 = all.iter().map(|&x| potential(x)).sum();
    let answer = json(&folder, "query net.uai 'P(x1 | x2=1)' --json");
    for state in 0..3 {
        let p: f64 = all.iter().filter(|x| x[1] == state).map(|&x| potential(x)).sum();
        near(&answer["table"][state]["probability"], p / total);
    }
    let posteriors = json(&folder, "query net.uai -e x2=1 --json");
    for state in 0..3 {
        let p = &answer["table"][state]["probability"];
        near(&posteriors["posteriors"]["x1"][state.to_string()], p.as_f64().unwrap());
    }
    folder.write("seen.evid", "1 2 1\n");
    assert_eq!(
        folder.ok("query net.uai --evidence-file seen.evid"),
        folder.ok("query net.uai -e x2=1")
    );
    let best = json(&folder, "query net.uai -e x2=1 --map --json");
    let (states, p) =
        all.iter().map(|&x| (x, potential(x) / total)).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let named = |v: usize| states[v].to_string();
    assert_eq!(
        best["most_probable"],
        serde_json::json!({"x0": named(0), "x1": named(1), "x2": named(2)})
    );
    near(&best["log_probability"], p.ln());
    // Tables of conditional probabilities have directions.
    folder.write("bayes.uai", "BAYES\n2\n2 2\n2\n1 0\n2 0 1\n2\n0.25 0.75\n4\n0.5 0.5 0.1 0.9\n");
    let done = json(&folder, "query bayes.uai 'P(x0=0 | do(x1=0))' --json");
    near(&done["probability"], 0.25);
    let seen = json(&folder, "query bayes.uai 'P(x0=0 | x1=0)' --json");
    near(&seen["probability"], 0.125 / 0.2);
    let error = folder.error("query net.uai 'P(x0 | do(x1=0))'");
    assert!(error.starts_with("do(..) needs a network with directions"), "{error}");
    let error = folder.error("query net.uai 'P(x0 | x2=0)' --map");
    assert!(error.starts_with("--map with a query needs a network with directions"), "{error}");
    assert_eq!(
        folder.error("query net.uai P(x3)"),
        "there is no variable \"x3\"; known, nearest first: x0 to x2"
    );
    assert_eq!(
        folder.error("query net.uai 'P(x0 | x1=3)'"),
        "\"x1\" has no state \"3\"; it has 0 to 2"
    );
    folder.write("wrong.evid", "1 2 5\n");
    let error = folder.error("query net.uai --evidence-file wrong.evid");
    assert!(error.starts_with("wrong.evid:1:5: state 5"), "{error}");
}

#[test]
fn queries_and_files_are_checked() {
    let folder = asia();
    let form = "expected `P(a, b | c=yes, do(d=no))`";
    for (query, message) in [
        ("'lung'", "at byte 0 of \"lung\": no `P(` at the beginning"),
        ("'P(lung'", "at byte 6 of \"P(lung\": no `)` at the end"),
        ("'P(lung,)'", "at byte 7 of \"P(lung,)\": a name or a state is missing"),
        ("'P( | smoke=yes)'", "a name or a state is missing"),
        ("'P(lung | smoke)'", "a condition without a name or a state"),
        ("'P(lung | do(smoke=no)'", "`do(` without `)`"),
        ("'P(lung | do(smoke=no) xray=no)'", "no comma after `do(..)`"),
    ] {
        let error = folder.error(&format!("query asia.bif {query}"));
        assert!(error.contains(message) && error.contains(form), "{query}: {error}");
    }
    for (line, message) in [
        ("'P(lunge)'", "there is no variable \"lunge\"; known, nearest first: lung, "),
        ("'P(lung | smoke=often)'", "\"smoke\" has no state \"often\""),
        ("'P(lung, lung)'", "the variable \"lung\" is given twice"),
        ("'P(lung | smoke=no, smoke=no)'", "the state of variable \"smoke\" is given twice"),
        ("'P(lung | smoke=no)' -e smoke=no", "the state of variable \"smoke\" is given twice"),
        ("'P(lung=yes, bronc)'", "gives a state to some of its variables"),
        ("'P(lung=yes)' --map", "--map finds the state of \"lung\""),
        ("P(lung) -e smoke", "--evidence \"smoke\": expected NAME=STATE"),
        ("'P(lung | either=no, tub=yes)'", "the evidence has probability zero"),
        ("'P(lung | do(smoke=maybe))'", "\"smoke\" has no state \"maybe\""),
    ] {
        let error = folder.error(&format!("query asia.bif {line}"));
        assert!(error.contains(message), "{line}: {error}");
    }
    folder.write("broken.bif", "variable a { type discrete [ 2 ] { yes }; }");
    let error = folder.error("query broken.bif P(a)");
    assert_eq!(error, "broken.bif:1:40: 1 states where 2 were announced");
    assert!(folder.error("query nowhere.bif P(a)").starts_with("nowhere.bif: "));
    assert_eq!(folder.run("query").status.code(), Some(2));
    // A network from standard input.
    let input = std::fs::File::open(folder.path("asia.bif")).unwrap();
    let output = folder.command("query - P(smoke=yes)").stdin(input).output().unwrap();
    assert_eq!(output.stdout, b"P(smoke = yes) = 0.500000\n");
}

#[test]
fn a_name_may_hold_an_equal_sign() {
    let folder = Folder::new();
    let net = "network n { } variable a=b { type discrete [ 2 ] { c=d, >=2 }; }
        probability ( a=b ) { table 0.25, 0.75; }";
    folder.write("net.bif", net);
    assert_eq!(folder.ok("query net.bif P(a=b=>=2)"), "P(a=b = >=2) = 0.750000\n");
    assert!(folder.ok("query net.bif P(a=b)").starts_with("a=b    P(a=b)\nc=d  0.250000\n"));
}
