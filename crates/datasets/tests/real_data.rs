//! The readers on the real files, where they are: `FENCHEL_DATA`, or `shared/data` beside the
//! checkout. Without them each test says so and passes.
//!
//! Expected numbers were counted with other tools (awk, od) on the same files.

use std::path::PathBuf;

use fenchel_datasets::Folder;
use fenchel_datasets::folder::Found;

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
