//! The registered experiments. Here and not beside the registry, so that the unit tests are a program without the experiments.

use fenchel_experiments::{data, registry};

#[test]
fn every_experiment_has_an_id_of_its_own_a_question_an_answer_and_known_data() {
    let all = registry::all();
    for (k, e) in all.iter().enumerate() {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(!e.id.is_empty() && e.id.chars().all(plain), "{}", e.id);
        assert!(all[..k].iter().all(|other| other.id != e.id), "{} twice", e.id);
        assert!(e.question.ends_with('?') && e.learnt.ends_with('.'), "{}", e.id);
        assert!(e.file.starts_with("crates/experiments/src"), "{}", e.id);
        for set in e.needs {
            assert!(data::find(set).is_some(), "{} needs unknown data set {set}", e.id);
        }
    }
    for id in registry::SMOKE {
        assert!(registry::find(&all, id).is_some(), "{id} is in SMOKE only");
    }
}

/// The words of a smaller size have a number or name what is left out: "fewer or smaller problems" says nothing. An experiment
/// that is alone in its file, and has two sizes there, has such words.
#[test]
fn a_quick_run_says_what_is_smaller() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let numbers = ["one", "two", "three", "four", "five", "six", "ten", "million"];
    let all = registry::all();
    for e in &all {
        let words: Vec<&str> = e.quick.split(|c: char| !c.is_alphanumeric()).collect();
        let number = |w: &&str| numbers.contains(w) || w.starts_with(|c: char| c.is_ascii_digit());
        let concrete = words.iter().any(number);
        assert!(concrete || e.quick.is_empty(), "{}: {}", e.id, e.quick);
        assert!(!e.quick.contains("the settings say"), "{}: {}", e.id, e.quick);
        let source = std::fs::read_to_string(root.join(e.file)).unwrap();
        let alone = all.iter().filter(|other| other.file == e.file).count() == 1;
        let two_sizes = alone && source.contains("context.pick(");
        assert!(!two_sizes || concrete, "{} has two sizes", e.id);
    }
}

#[test]
fn a_title_names_the_figure_table_or_section() {
    for e in registry::all() {
        let named = ["Figure", "Table", "Section", "Theorem", "Appendix"];
        assert!(named.iter().any(|name| e.title.starts_with(name)), "{}: {}", e.id, e.title);
    }
}
