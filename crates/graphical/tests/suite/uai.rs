//! UAI files: round trips, both dialects of evidence, damaged texts.

use crate::common::networks::nets;
use fenchel_graphical::{Evidence, VarId, networks, uai};
use proptest::prelude::*;

fn text(write: impl FnOnce(&mut Vec<u8>) -> Result<(), fenchel_graphical::Error>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn networks_come_back_bit_for_bit(net in nets(5), cut in 0.0f64..1.0, change in any::<u8>()) {
        let model = uai::Model::from(&net);
        let written = text(|out| uai::write(&model, out));
        let again = uai::read(written.as_bytes()).unwrap();
        prop_assert_eq!(&again, &model);
        let same = again.bayes_net().unwrap();
        for v in net.variables() {
            prop_assert_eq!(same.cpt_of(v), net.cpt_of(v));
            prop_assert_eq!(same.parents_of(v), net.parents_of(v));
        }
        prop_assert_eq!(same.factor_graph().unwrap(), again.factor_graph().unwrap());
        // Damage is an error or another model, never a panic; a lost token is always an error.
        let at = (cut * written.len() as f64) as usize;
        let mut damaged = written.clone().into_bytes();
        damaged[at] = change;
        let _ = uai::read(&damaged[..]).map(|model| (model.factor_graph(), model.bayes_net()));
        let kept = &written.as_bytes()[..at];
        if kept.split(u8::is_ascii_whitespace).filter(|t| !t.is_empty()).count()
            < written.split_whitespace().count()
        {
            prop_assert!(uai::read(kept).is_err());
        }
    }
}

/// Every cut and many changed bytes of a real model: a model, or an error with its place.
#[test]
fn damaged_alarm_is_a_model_or_an_error_with_its_place() {
    let written = text(|out| uai::write(&uai::Model::from(&networks::alarm()), out)).into_bytes();
    let check = |text: &[u8]| {
        let Err(error) = uai::read(text) else { return false };
        let fenchel_graphical::Error::Format { line, column, .. } = error else {
            panic!("{error}");
        };
        let found = text.split(|&byte| byte == b'\n').nth(line as usize - 1);
        assert!(found.is_some_and(|l| (1..=l.len() as u64 + 1).contains(&column)), "{error}");
        true
    };
    let end = written.trim_ascii_end().len();
    for cut in (0..end).step_by(7) {
        // Half a number at the very end may be a number.
        assert!(check(&written[..cut]) || !written[cut..end].contains(&b' '), "{cut}");
    }
    let mut changed = written.clone();
    for at in (0..end).step_by(11) {
        for byte in [b' ', b'-', b'.', b'e', b'9', b'x', b'\n', 0, 0xff] {
            changed[at] = byte;
            check(&changed);
        }
        changed[at] = written[at];
    }
}

#[test]
fn evidence_is_read_in_both_dialects_and_written_in_the_newer() {
    let cards = [2, 3, 2];
    let expected = Evidence::new().observe(VarId(1), 2).observe(VarId(0), 1);
    for text in ["2 1 2 0 1", "1\n2 1 2 0 1\n"] {
        assert_eq!(uai::read_evidence(text.as_bytes(), &cards).unwrap(), expected);
    }
    for text in ["", "0", "1 0", "\n"] {
        assert!(uai::read_evidence(text.as_bytes(), &cards).unwrap().is_empty());
    }
    let one = uai::read_evidence("1 1 2".as_bytes(), &cards).unwrap();
    assert_eq!(one, Evidence::new().observe(VarId(1), 2));
    assert_eq!(text(|out| uai::write_evidence(&expected, out)), "2 0 1 1 2\n");
    assert!(
        uai::write_evidence(&Evidence::new().likelihood(VarId(0), [1.0, 0.5]), Vec::new()).is_err()
    );
    for (text, expected) in [
        ("2 1 2", "line 1, column 1: 2 numbers follow; expected 2 pairs of variable and state"),
        ("1 3 0", "line 1, column 3: variable 3 of 3, counted from 0"),
        ("1 1 3", "line 1, column 5: state 3 of variable 1, which has 3"),
        ("2 1 0 1 1", "line 1, column 7: variable 1 is observed twice"),
        (
            "1 1 -1",
            "line 1, column 5: expected a number, an integer from 0 to 18446744073709551615, found \"-1\"",
        ),
    ] {
        assert_eq!(uai::read_evidence(text.as_bytes(), &cards).unwrap_err().to_string(), expected);
    }
}

#[test]
fn results_are_in_the_units_of_the_competition() {
    assert_eq!(text(|out| uai::write_log_partition(100.0_f64.ln(), out)), "PR\n2.0\n");
    assert_eq!(
        text(|out| uai::write_marginals(&[vec![0.25, 0.75], vec![1.0]], out)),
        "MAR\n2 2 0.25 0.75 1 1.0\n"
    );
    assert_eq!(text(|out| uai::write_states(&[1, 0], out)), "MPE\n2 1 0\n");
    let graph = networks::asia().factor_graph().unwrap();
    let markov = text(|out| uai::write(&uai::Model::from(&graph), out));
    assert!(markov.starts_with("MARKOV\n8\n"));
    assert_eq!(uai::read(markov.as_bytes()).unwrap().cards, [2; 8]);
}

#[test]
fn bad_models_are_errors_with_their_places() {
    for (text, expected) in [
        ("", "line 1, column 1: the text ends; expected MARKOV or BAYES"),
        ("MARKOW 1", "line 1, column 1: expected MARKOV or BAYES, found \"MARKOW\""),
        (
            "MARKOV 1 0 0",
            "line 1, column 10: expected a number of states, an integer from 1 to 4294967295, found \"0\"",
        ),
        (
            "MARKOV 2\n2 2\n1\n2 0 2",
            "line 4, column 5: expected a variable, an integer from 0 to 1, found \"2\"",
        ),
        ("MARKOV 2 2 2 1 2 1 1", "line 1, column 20: variable 1 occurs twice in a scope"),
        (
            "MARKOV 2 2 2 1 2 0 1 3 1 1 1",
            "line 1, column 22: a table of size 3; its scope has 4 cells",
        ),
        ("MARKOV 1 2 1 1 0 2 1 -1", "line 1, column 22: -1; expected a potential >= 0"),
        ("MARKOV 1 2 1 1 0 2 1 inf", "line 1, column 22: expected a finite number, found \"inf\""),
        ("MARKOV 1 2 1 1 0 2 1", "line 1, column 21: the text ends; expected a potential"),
        (
            "MARKOV 1 2 1 1 0 2 1 1 1",
            "line 1, column 24: expected the end of the text, found \"1\"",
        ),
        ("MARKOV 4294967295 2 2", "line 1, column 22: the text ends; expected a number of states"),
        (
            "MARKOV 3 4294967295 4294967295 4294967295 1 3 0 1 2 8 1",
            "line 1, column 53: a table of size 8; its scope has more than can be counted cells",
        ),
        (
            "MARKOV 1 4294967295 1 1 0 4294967295 1",
            "line 1, column 27: a table needs 32 GiB, max_memory is 4 GiB: use smaller scopes",
        ),
    ] {
        assert_eq!(uai::read(text.as_bytes()).unwrap_err().to_string(), expected, "{text}");
    }
    let twice = uai::read("BAYES 1 2 2 1 0 1 0 2 0.5 0.5 2 0.5 0.5".as_bytes()).unwrap();
    assert_eq!(
        twice.bayes_net().unwrap_err().to_string(),
        "table of variable \"x0\" is given twice"
    );
    let empty = uai::read("BAYES 0 1 0 1 0.5".as_bytes()).unwrap();
    assert_eq!(empty.bayes_net().unwrap_err().to_string(), "the scope of a table is empty");
}

/// A scope as long as the list of variables, and every variable in two scopes: no scope is compared with itself twice over.
#[test]
fn long_scopes_are_read_in_one_pass() {
    let n = 80_000;
    let numbers: Vec<String> = (0..n).map(|v| v.to_string()).collect();
    let (ones, scope) = (vec!["1"; n].join(" "), format!("{n} {}", numbers.join(" ")));
    let model =
        |last: &str| uai::read(format!("MARKOV {n} {ones} 2 {scope} {last} 1 0.5 1 2").as_bytes());
    let read = model(&scope).unwrap();
    assert_eq!(read.factors.iter().map(|factor| factor.0.len()).collect::<Vec<_>>(), [n, n]);
    let error = model("3 5 79999 5").unwrap_err().to_string();
    assert!(error.contains("variable 5 occurs twice"), "{error}");
}

/// Every reader of text skips a byte order mark, and no other.
#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    use fenchel_graphical::{BayesNet, bif};
    let marked = |text: &str| format!("\u{feff}{text}").into_bytes();
    let markov = "MARKOV 1 2 1 1 0 2 0.5 1.5";
    assert_eq!(uai::read(&marked(markov)[..]).unwrap(), uai::read(markov.as_bytes()).unwrap());
    let evidence = Evidence::new().observe(VarId(0), 1);
    assert_eq!(uai::read_evidence(&marked("1 0 1")[..], &[2]).unwrap(), evidence);
    let text = "variable a { type discrete [ 2 ] { x, y }; } probability ( a ) { table 0.2, 0.8; }";
    assert_eq!(bif::read(&marked(text)[..]).unwrap(), bif::read(text.as_bytes()).unwrap());
    let table = "rain,grass\nyes,wet\nno,dry\n";
    let (net, data) = BayesNet::from_csv(&marked(table)[..]).unwrap();
    assert!(net.variable("rain").is_ok());
    assert_eq!(net.read_csv(&marked(table)[..]).unwrap(), data);
    assert!(uai::read(&marked(&format!("\u{feff}{markov}"))[..]).is_err());
}
