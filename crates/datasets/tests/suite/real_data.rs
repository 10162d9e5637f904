//! The readers on the real files, where they are: `FENCHEL_DATA`, or `shared/data` beside the
//! checkout. Without them each test says so and passes.
//!
//! Expected numbers were counted with other tools (awk, od) on the same files.

use std::collections::HashSet;
use std::path::PathBuf;

use fenchel_datasets::folder::Found;
use fenchel_datasets::{Folder, Sentence};

fn folder() -> Folder {
    let root = std::env::var_os("FENCHEL_DATA").map(PathBuf::from).unwrap_or_else(|| {
        [env!("CARGO_MANIFEST_DIR"), "..", "..", "..", "shared", "data"].iter().collect()
    });
    Folder::new(root)
}

/// Checks shape, number of stored entries, and how many labels are positive.
fn check(name: &str, found: Found, shape: (usize, usize), stored: usize, positive: usize) {
    let Some(data) = found else {
        println!("skipped: {name} is not in {}", folder().root().display());
        return;
    };
    assert_eq!(data.x.shape(), shape, "{name}");
    assert_eq!(data.x.nnz(), stored, "{name}");
    assert_eq!(data.y.len(), shape.0, "{name}");
    assert_eq!(data.y.iter().filter(|&&y| y == 1.0).count(), positive, "{name}");
    assert_eq!(data.y.iter().filter(|&&y| y == -1.0).count(), shape.0 - positive, "{name}");
}

#[test]
fn w8a() {
    check("w8a", folder().w8a().unwrap(), (49_749, 300), 579_586, 1_479);
}

#[test]
fn census_income() {
    let folder = folder();
    check("a8a", folder.a8a().unwrap(), (22_696, 123), 314_815, 5_506);
    check("a9a.t", folder.a9a_test().unwrap(), (16_281, 123), 225_731, 3_846);
    check("adult.trn", folder.adult().unwrap(), (32_561, 123), 451_592, 7_841);
    check("adult.tst", folder.adult_test().unwrap(), (16_281, 123), 225_732, 3_846);
}

#[test]
fn ijcnn1() {
    check("ijcnn1", folder().ijcnn1().unwrap(), (49_990, 22), 649_870, 4_853);
}

#[test]
fn reuters() {
    let folder = folder();
    check("reuters.trn", folder.reuters().unwrap(), (7_770, 8_315), 339_837, 538);
    check("reuters.tst", folder.reuters_test().unwrap(), (3_299, 8_315), 136_821, 179);
}

#[test]
fn abalone() {
    let Some(data) = folder().abalone().unwrap() else {
        println!("skipped: abalone is not in {}", folder().root().display());
        return;
    };
    assert_eq!((data.x.shape(), data.x.nnz()), ((4_177, 8), 32_080));
    assert_eq!(data.y[0], 15.0);
    assert_eq!(data.y.iter().filter(|&&y| y == 10.0).count(), 634);
    assert_eq!(data.x.get(0, 7), Some(&-0.704036));
    assert!(data.y.iter().all(|y| (1.0..=29.0).contains(y)));
}

#[test]
fn mnist_test_images() {
    let Some(data) = folder().mnist_test().unwrap() else {
        println!("skipped: MNIST is not in {}", folder().root().display());
        return;
    };
    assert_eq!((data.x.dim(), data.y.len()), ((10_000, 784), 10_000));
    assert_eq!(data.y.iter().take(5).copied().collect::<Vec<_>>(), [7, 2, 1, 0, 4]);
    let counts: Vec<usize> =
        (0..10).map(|digit| data.y.iter().filter(|&&y| y == digit).count()).collect();
    assert_eq!(counts, [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]);
    let sum: u64 = data.x.iter().map(|&pixel| u64::from(pixel)).sum();
    assert_eq!(sum, 264_923_200);
}

/// Checks the numbers of sentences, tokens and labels.
fn check_sentences(name: &str, found: Option<Vec<Sentence>>, expected: (usize, usize, usize)) {
    let Some(sentences) = found else {
        println!("skipped: {name} is not in {}", folder().root().display());
        return;
    };
    let labels: HashSet<&str> = sentences.iter().flat_map(|s| s.column(2)).collect();
    let tokens = sentences.iter().map(Sentence::len).sum::<usize>();
    assert_eq!((sentences.len(), tokens, labels.len()), expected, "{name}");
}

#[test]
fn conll_2000() {
    let folder = folder();
    check_sentences("conll2000 train", folder.conll2000_train().unwrap(), (8_936, 211_727, 22));
    check_sentences("conll2000 test", folder.conll2000_test().unwrap(), (2_012, 47_377, 19));
}

#[test]
fn conll_2002_dutch() {
    let folder = folder();
    check_sentences("ned.train", folder.conll2002_dutch_train().unwrap(), (15_806, 202_931, 9));
    check_sentences("ned.testb", folder.conll2002_dutch_test().unwrap(), (5_195, 68_994, 9));
}

#[test]
fn handwritten_words() {
    let Some(words) = folder().ocr().unwrap() else {
        println!("skipped: ocr is not in {}", folder().root().display());
        return;
    };
    assert_eq!(words.len(), 6_877);
    assert_eq!(words.iter().map(|w| w.letters.len()).sum::<usize>(), 52_152);
    let train: Vec<_> = words.iter().filter(|w| w.fold != 9).collect();
    assert_eq!(train.len(), 6_202);
    assert_eq!(train.iter().map(|w| w.letters.len()).sum::<usize>(), 47_010);
    let ones = train.iter().flat_map(|w| w.pixels.iter()).map(|&p| u64::from(p)).sum::<u64>();
    assert_eq!(ones, 1_322_348);
}
