//! The calls that a new user tries: every metric takes arrays, views, vectors, slices and labels as they come.

use fenchel_metrics::*;
use ndarray::{Array1, Array2, Axis, Slice, array};

#[test]
fn numbers_come_as_arrays_views_vectors_and_slices() {
    let (t, p) = (array![1.0, 2.0, 3.0], array![1.0, 2.0, 4.0]);
    assert_eq!(r2(&t, &p), Ok(0.5));
    assert_eq!(r2(t.view(), p.view()), Ok(0.5));
    assert_eq!(r2(&t.to_vec(), p.as_slice().unwrap()), Ok(0.5));
    assert_eq!(r2(t.slice_axis(Axis(0), Slice::from(..)), &[1.0, 2.0, 4.0]), Ok(0.5));
    // A column, backwards: whatever the memory looks like.
    let wide = array![[1.0, 1.0], [2.0, 2.0], [3.0, 4.0]];
    assert_eq!(r2(wide.column(0), wide.column(1)), Ok(0.5));
    let turn = Slice::new(0, None, -1);
    assert_eq!(r2(t.slice_axis(Axis(0), turn), p.slice_axis(Axis(0), turn)), Ok(0.5));
    for metric in [mean_absolute_error(&t, &p), mean_squared_error(&t, p.view())] {
        assert_eq!(metric, Ok(1.0 / 3.0));
    }
    assert_eq!(spearman(&t, &vec![2.0, 3.0, 9.0]), Ok(1.0));
    let wrong = r2(&t, &array![1.0]).unwrap_err().to_string();
    assert_eq!(wrong, "predicted: expected length 3, found 1");
}

#[test]
fn labels_come_in_their_own_type() {
    assert_eq!(accuracy(&array![1, 0, 2], &array![1, 0, 0]), Ok(2.0 / 3.0));
    let found: Array1<usize> = array![1, 0, 0];
    assert_eq!(accuracy(&[1, 0, 2], &found), Ok(2.0 / 3.0));
    assert_eq!(accuracy(&found, &[1, 0, 2]), Ok(2.0 / 3.0));
    let names: Vec<String> = ["a", "b"].map(str::to_owned).to_vec();
    assert_eq!(accuracy(&names, &["a", "c"]), Ok(0.5));
    assert_eq!(accuracy(&["a", "c"], &names), Ok(0.5));
    assert_eq!(accuracy(&array![true, false], &vec![true, true]), Ok(0.5));
    assert_eq!(accuracy(&array![1.0, -1.0], array![1.0, 1.0].view()), Ok(0.5));
}

#[test]
fn two_classes_come_as_numbers_of_any_type() {
    let scores = array![0.9, 0.4, 0.5, 0.1];
    assert_eq!(roc_auc(&array![1.0, 1.0, -1.0, -1.0], &scores), Ok(0.75));
    assert_eq!(roc_auc(&array![1, 1, 0, 0], scores.view()), Ok(0.75));
    assert_eq!(roc_auc(&vec![1_u32, 1, 0, 0], &scores), Ok(0.75));
    assert_eq!(roc_auc(&[1_i16, 1, -1, -1], &scores), Ok(0.75));
    assert_eq!(roc_auc(&array![1.0_f32, 1.0, 0.0, 0.0], &scores), Ok(0.75));
    assert_eq!(roc_auc(&[true, true, false, false], &scores), Ok(0.75));
    let p = array![0.75, 0.25];
    assert_eq!(log_loss(&array![1, 0], &p), log_loss(&[true, false], p.view()));
    assert_eq!(brier(&array![1.0, -1.0], &p), Ok(0.0625));
    // Labels of the data against classes of a model.
    let both = binary_scores(&array![1.0, 1.0, -1.0], &array![1, 0, 0]).unwrap();
    assert_eq!((both.precision, both.recall), (1.0, 0.5));
}

#[test]
fn classes_come_as_integers_or_names() {
    let (truth, predicted) = (array![0, 0, 1, 2], array![0_u8, 1, 1, 2]);
    let confusion = Confusion::new(&truth, predicted.view(), 3).unwrap();
    assert_eq!(confusion, Confusion::new(&[0_usize, 0, 1, 2], &[0_usize, 1, 1, 2], 3).unwrap());
    assert_eq!(confusion.accuracy(), 0.75);
    let negative = Confusion::new(&[0, -1], &[0, 0], 2).unwrap_err().to_string();
    assert_eq!(negative, "truth[1] = -1; expected a class, numbered from 0");
    let (named, names) = Confusion::of_names(&["b", "b", "c", "d"], &["b", "c", "c", "d"]).unwrap();
    assert_eq!((named, names), (confusion, vec!["b".to_owned(), "c".to_owned(), "d".to_owned()]));
    assert_eq!(
        Confusion::of_names::<str, str>([], []).unwrap_err(),
        Error::Empty { what: "truth" }
    );
    // The rows of a matrix of probabilities, in whatever order they lie in memory.
    let p: Array2<f64> = array![[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]];
    let expected = log_loss_multiclass(&[0, 2], p.as_slice().unwrap(), 3).unwrap();
    assert_eq!(log_loss_multiclass(&array![0, 2], &p, 3), Ok(expected));
    let turned = p.t().as_standard_layout().into_owned();
    assert_eq!(log_loss_multiclass(&array![0, 2], turned.t(), 3), Ok(expected));
}

#[test]
fn folds_and_chunks_take_what_labels_are_in() {
    let y = array![1.0, 1.0, -1.0, -1.0];
    let splits = stratified_k_fold(&y, 2, 1).unwrap();
    assert_eq!(splits, stratified_k_fold(&["b", "b", "a", "a"], 2, 1).unwrap());
    assert_eq!(splits, stratified_k_fold(y.view(), 2, 1).unwrap());
    let labels = ["B-X", "I-X", "O"];
    let owned: Vec<String> = labels.map(str::to_owned).to_vec();
    assert_eq!(chunks(&labels), chunks(&owned));
    assert_eq!(chunks(labels), chunks(&Array1::from(owned.clone())));
    let mut counts = ChunkCounts::new();
    counts.add(&labels, &owned).unwrap();
    counts.add(labels, owned.iter()).unwrap();
    assert_eq!(counts.totals(), (2, 2, 2));
}
