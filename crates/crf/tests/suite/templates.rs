//! The templates on the corpora of the paper: the numbers of attributes it prints (its table 1), where the corpora are there.

use std::path::PathBuf;

use fenchel_crf::Instance;
use fenchel_crf::text::{Boundary, Template};
use fenchel_datasets::{Folder, Sentence};
use rustc_hash::FxHashMap;

fn folder() -> Folder {
    let root = std::env::var_os("FENCHEL_DATA").map(PathBuf::from).unwrap_or_else(|| {
        [env!("CARGO_MANIFEST_DIR"), "..", "..", "..", "shared", "data"].iter().collect()
    });
    Folder::new(root)
}

/// Distinct attributes that occur at least `least` times, and the most attributes of a token.
fn count(sentences: &[Sentence], template: &Template, lower: bool, least: usize) -> (usize, usize) {
    let mut counts: FxHashMap<String, usize> = FxHashMap::default();
    let mut most = 0;
    let mut instance = Instance::new();
    for sentence in sentences {
        let word = |word: &str| if lower { word.to_lowercase() } else { word.to_owned() };
        let tokens: Vec<[String; 2]> = sentence
            .column(0)
            .map(word)
            .zip(sentence.column(1).map(str::to_owned))
            .map(|(w, p)| [w, p])
            .collect();
        instance.clear();
        template.expand(&tokens, &[] as &[&str], &mut instance).unwrap();
        for t in 0..instance.len() {
            most = most.max(instance.attributes(t).len());
            for (name, _) in instance.attributes(t) {
                match counts.get_mut(name) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(name.to_owned(), 1)),
                }
            }
        }
    }
    (counts.values().filter(|&&count| count >= least).count(), most)
}

#[test]
fn chunking_has_the_attributes_of_the_paper_and_of_crfsuite() {
    let Some(train) = folder().conll2000_train().unwrap() else {
        println!("skipped: conll2000 is not in {}", folder().root().display());
        return;
    };
    let paper = Template::chunking(Boundary::Symbol("_".to_owned()));
    assert_eq!(count(&train, &paper, true, 3), (74_658, 19));
    assert_eq!(count(&train, &Template::chunking(Boundary::Omit), false, 1), (335_672, 19));
}

#[test]
fn dutch_entities_have_the_attributes_of_the_paper() {
    let Some(train) = folder().conll2002_dutch_train().unwrap() else {
        println!("skipped: conll2002-nl is not in {}", folder().root().display());
        return;
    };
    assert_eq!(count(&train, &Template::named_entities(), false, 1), (310_724, 20));
}
