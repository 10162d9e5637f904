//! What users get wrong, and what they are told.

use fenchel_moments::{Components, Error, Gaussian, Phd, Sade, Save, Sir, SliceEstimator, Slicing};
use ndarray::{Array1, Array2};

use crate::common::regression;

fn told(result: Result<fenchel_moments::Reduction, Error>, expected: &str) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains(expected), "{error}\nexpected: {expected}");
}

#[test]
fn data_are_checked() {
    let (x, y) = regression(50, 3, 1);
    let sir = Sir::default();
    let mut bad = x.clone();
    bad[[7, 2]] = f64::NAN;
    told(sir.fit(&bad, &y), "NaN at row 7, column 2");
    let mut infinite = y.clone();
    infinite[4] = f64::INFINITY;
    told(sir.fit(&x, &infinite), "row 4");
    told(sir.fit(&x, &y.to_vec()[..49]), "expected length 50, found 49");
    told(sir.fit(&Array2::<f64>::zeros((0, 3)), &Array1::zeros(0)), "at least 2");
    told(sir.fit(&Array2::<f64>::zeros((5, 0)), &Array1::zeros(5)), "empty");
    told(sir.fit(&x, &Array1::from_elem(50, 3.5)), "one unique response value (3.5)");
}

#[test]
fn numbers_of_directions_and_slices_are_checked() {
    let (x, y) = regression(50, 3, 1);
    let sir = |k, h| Sir { components: Components::Fixed(k), slicing: Slicing::EqualCount(h) };
    told(sir(0, 5).fit(&x, &y), "number of directions = 0");
    told(sir(4, 8).fit(&x, &y), "number of directions = 4");
    told(sir(2, 2).fit(&x, &y), "SIR finds at most 1 directions here, 2 were asked for");
    told(sir(1, 1).fit(&x, &y), "number of slices = 1");
    told(sir(1, 26).fit(&x, &y), "at most 25 slices");
    let gap = Sir { components: Components::EigenGap(0), ..Sir::default() };
    told(gap.fit(&x, &y), "at least 1");
    let chi = Save { components: Components::ChiSquare(0.05), ..Save::default() };
    told(chi.fit(&x, &y), "SAVE does not support the chi-squared test");
}

#[test]
fn dependent_columns_are_named() {
    let (x, y) = regression(60, 4, 2);
    let mut dependent = x.clone();
    let sum = &x.column(0) - &x.column(3);
    dependent.column_mut(1).assign(&sum);
    let error = Sir::default().fit(&dependent, &y).unwrap_err();
    match error {
        Error::Singular { columns, smallest, .. } => {
            assert_eq!(columns, [0, 1, 3]);
            assert!(smallest < 1e-12);
        }
        other => panic!("{other}"),
    }
    let mut constant = x.clone();
    constant.column_mut(2).fill(7.25);
    told(Phd::default().fit(&constant, &y), "columns [2]");
    // More features than samples: singular too.
    told(Sir::default().fit(&regression(8, 9, 3).0, &regression(8, 9, 3).1), "singular");
}

#[test]
fn scores_are_checked() {
    let (x, y) = regression(50, 3, 1);
    let score = Gaussian::standard(4).unwrap();
    told(Sade::default().fit(&x, &y, &score), "expected length 4, found 3");
    let classes: Vec<u8> = (0..50).map(|i| u8::from(i == 0)).collect();
    let score = Gaussian::standard(3).unwrap();
    told(Sade::default().fit_classes(&x, &classes, &score), "slice 1 with 1 sample");
    let means = Sade { estimator: SliceEstimator::Means, ..Sade::default() };
    assert!(means.fit_classes(&x, &classes, &score).is_ok());
    let clipped = Sade { winsorise: Some(-1.0), ..Sade::default() };
    told(clipped.fit(&x, &y, &score), "winsorise = -1");
}
