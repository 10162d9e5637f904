//! Weights of samples: whole numbers are repeated rows.

use fenchel_moments::slicing::Slices;
use fenchel_moments::{
    Components, DirectionalRegression, Error, Fit, GaussianMixture, Reduction, Sade, Save, Sir,
    SliceMoments, Slicing, synthetic, trace_error,
};
use ndarray::{Array1, Array2, Axis, array};

use crate::common::regression;

const FIVE: Slicing = Slicing::EqualCount(5);
const TWO: Components = Components::Fixed(2);

fn sir() -> Sir {
    Sir { components: TWO, slicing: FIVE }
}

fn save() -> Save {
    Save { components: TWO, slicing: FIVE, unbiased_covariance: true, ..Save::default() }
}

fn both() -> DirectionalRegression {
    DirectionalRegression { components: TWO, slicing: FIVE, ..Default::default() }
}

fn sade() -> Sade {
    Sade { components: TWO, slicing: FIVE, ..Sade::default() }
}

#[track_caller]
fn same(a: &Reduction, b: &Reduction) {
    for (a, b) in a.eigenvalues.iter().zip(&b.eigenvalues) {
        assert!((a - b).abs() < 1e-11, "{a} {b}");
    }
    assert!(trace_error(a.directions.view(), b.directions.view()).unwrap() < 1e-18);
    assert!((&a.mean - &b.mean).iter().all(|v| v.abs() < 1e-11));
}

#[test]
fn equal_weights_are_none() {
    let (x, y) = regression(333, 4, 1);
    let density = GaussianMixture::thesis(4).unwrap();
    for weight in [1.0, 2.0] {
        let w = Array1::from_elem(333, weight);
        same(&sir().fit_with(&x, &y, Fit::new().weights(&w)).unwrap(), &sir().fit(&x, &y).unwrap());
        same(
            &both().fit_with(&x, &y, Fit::new().weights(&w)).unwrap(),
            &both().fit(&x, &y).unwrap(),
        );
    }
    let w = Array1::ones(333);
    same(&save().fit_with(&x, &y, Fit::new().weights(&w)).unwrap(), &save().fit(&x, &y).unwrap());
    let (weighted, plain) = (
        sade().fit_with(&x, &y, &density, Fit::new().weights(&w)).unwrap(),
        sade().fit(&x, &y, &density).unwrap(),
    );
    same(&weighted, &plain);
    assert_eq!(weighted.slices, plain.slices);
}

#[test]
fn whole_numbers_are_repeated_rows() {
    let density = GaussianMixture::thesis(3).unwrap();
    let problem = synthetic::quadratic(&density, 300, 1.0, 1).unwrap();
    let (x, y) = (&problem.x, &problem.y);
    let weights: Array1<f64> = (0..300).map(|i| f64::from((i * 7) % 4)).collect();
    let index: Vec<usize> = (0..300).flat_map(|i| vec![i; weights[i] as usize]).collect();
    let (more_x, more_y) = (x.select(Axis(0), &index), y.select(Axis(0), &index));
    let slices = Slices::weighted(&y.to_vec(), &weights.to_vec(), FIVE, 2).unwrap();
    let masses = |h: usize| -> f64 {
        slices.labels().iter().zip(&weights).filter(|(l, _)| **l as usize == h).map(|p| p.1).sum()
    };
    // Equal sums of weights, up to the largest weight on either side.
    for h in 0..5 {
        assert!((masses(h) - weights.sum() / 5.0).abs() <= 3.0 + 1e-9);
    }
    let empty = || SliceMoments::new(slices.edges().to_vec(), 3).unwrap();
    let (mut one, mut other) = (empty(), empty());
    one.partial_fit_weighted(x, y, &weights).unwrap();
    other.partial_fit(&more_x, &more_y).unwrap();
    assert_eq!(one.masses(), other.masses());
    for (direct, streamed, repeated) in [
        (
            sir().fit_with(x, y, Fit::new().weights(&weights)),
            sir().fit_moments(&one),
            sir().fit_moments(&other),
        ),
        (
            save().fit_with(x, y, Fit::new().weights(&weights)),
            save().fit_moments(&one),
            save().fit_moments(&other),
        ),
        (
            both().fit_with(x, y, Fit::new().weights(&weights)),
            both().fit_moments(&one),
            both().fit_moments(&other),
        ),
    ] {
        let repeated = repeated.unwrap();
        same(&direct.unwrap(), &repeated);
        same(&streamed.unwrap(), &repeated);
    }
    let mut scores = empty();
    scores.partial_fit_scores(&more_x, &more_y, &density).unwrap();
    let mean = more_x.sum_axis(Axis(0)) / more_x.nrows() as f64;
    let repeated = sade().fit_moments(&scores, mean).unwrap();
    same(&sade().fit_with(x, y, &density, Fit::new().weights(&weights)).unwrap(), &repeated);
}

#[test]
fn weights_are_checked() {
    let (x, y) = regression(60, 3, 1);
    let told = |result: Result<Reduction, Error>, expected: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let ones = Array1::<f64>::ones(60);
    let mut bad = ones.clone();
    bad[7] = -1.0;
    told(sir().fit_with(&x, &y, Fit::new().weights(&bad)), "entry 7 is -1");
    bad[7] = f64::NAN;
    told(sir().fit_with(&x, &y, Fit::new().weights(&bad)), "entry 7 is NaN");
    told(sir().fit_with(&x, &y, Fit::new().weights(&array![1.0])), "expected length 60, found 1");
    told(sir().fit_with(&x, &y, Fit::new().weights(&Array1::zeros(60))), "at least 2");
    let pairs = Sade { slicing: Slicing::Pairs, ..sade() };
    let density = GaussianMixture::thesis(3).unwrap();
    told(pairs.fit_with(&x, &y, &density, Fit::new().weights(&ones)), "counts samples");
    let tests = Sir { components: Components::ChiSquare(0.05), ..sir() };
    told(tests.fit_with(&x, &y, Fit::new().weights(&ones)), "weighted samples");
    let small = Save { max_memory: Some(1000), ..save() };
    told(small.fit(&x, &y), "max_memory is 1000");
    told(small.fit_with(&x, &y, Fit::new().weights(&ones)), "sums over slices");
    let small = DirectionalRegression { max_memory: Some(1000), ..both() };
    told(small.fit(&x, &y), "sums over slices");
    let light = Array1::from_elem(60, 0.05);
    told(
        sade().fit_with(&x, &y, &density, Fit::new().weights(&light)),
        "a slice with a single sample",
    );
    assert!(sir().fit_with(&Array2::<f64>::zeros((60, 2)), &y, Fit::new().weights(&ones)).is_err());
}
