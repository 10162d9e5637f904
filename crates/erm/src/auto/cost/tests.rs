//! The rule, on problems of the shapes that were measured.

use super::*;
use crate::loss::{Hinge, Logistic, Poisson, Squared};
use fenchel_linalg::{Csr, CsrMatrix, Dense};
use fenchel_optim::prox::{L1, Zero};
use ndarray::Array2;

/// Unit rows with `d` features; `beta` is given by l2.
fn chosen_for<L: Loss>(loss: L, (n, d): (usize, usize), beta: f64, l1: f64) -> Choice {
    let x = Array2::from_elem((n, d), 1.0 / (d as f64).sqrt());
    let y = vec![1.0; n];
    let curvature = if loss.curvature().is_finite() { loss.curvature() } else { 1.0 };
    let l2 = curvature * beta / n as f64;
    let design = Dense::new(x.view()).unwrap();
    let limit = Some(4 << 30);
    let problem = Problem::new(design, &y, loss, L1 { strength: l1 }, l2).unwrap();
    match problem.loss().twice_differentiable() {
        true => Choice::of(&problem, 1e-6, limit).unwrap(),
        false => Choice::by_terms(&problem).unwrap(),
    }
}

fn chosen(n: usize, d: usize, beta: f64, l1: f64) -> Method {
    chosen_for(Logistic, (n, d), beta, l1).method
}

#[test]
fn small_or_badly_conditioned_problems_go_to_newton() {
    // The shape of ijcnn1: few features, most of them in every row, and many rows.
    assert_eq!(chosen(5000, 13, 4.0, 0.0), Method::SubsampledNewton);
    assert_eq!(chosen(5000, 13, 0.4, 0.0), Method::SubsampledNewton);
    assert_eq!(chosen(5000, 13, 0.04, 0.0), Method::SubsampledNewton);
    // Too few rows to draw from; a quadratic is its own model.
    assert_eq!(chosen(200, 13, 0.04, 0.0), Method::Newton);
    assert_eq!(chosen_for(Squared, (5000, 13), 0.04, 0.0).method, Method::Newton);
    // 300 features a row: a Hessian costs 35 passes.
    assert_eq!(chosen(500, 300, 0.4, 0.0), Method::Catalyst);
    assert_eq!(chosen(500, 100, 1e-9, 0.0), Method::Newton);
    // Hessians of order 600 are dearer than products with them.
    assert_eq!(chosen(700, 600, 1e-3, 0.0), Method::NewtonCg);
    // Of dense data with fewer rows than columns only a matrix of the order of the rows is factored.
    assert_eq!(chosen(100, 3000, 1e-3, 0.0), Method::Newton);
    assert_eq!(chosen(50, 20, 0.0, 0.0), Method::Newton);
}

/// Conjugate gradients may take thousands of passes, and one matrix of the order of the rows takes about 220.
#[test]
fn badly_conditioned_squares_go_to_newton_in_time() {
    let method = |beta| chosen_for(Squared, (3000, 3200), beta, 0.0).method;
    assert_eq!([0.004, 5e-4].map(method), [Method::NewtonCg, Method::Newton]);
    // Other losses are flat where the margins are large.
    assert_ne!(chosen(2600, 2400, 5e-4, 0.0), Method::Newton);
}

#[test]
fn l1_goes_to_newton_unless_the_dual_is_well_conditioned() {
    assert_eq!(chosen(500, 30, 0.0, 0.1), Method::Newton);
    assert_eq!(chosen(500, 30, 2.0, 0.1), Method::Catalyst);
    // One Gram matrix serves a quadratic loss to the end.
    assert_eq!(chosen_for(Squared, (500, 30), 2.0, 0.1).method, Method::Newton);
}

#[test]
fn many_features_without_regulariser_go_to_lbfgs() {
    // A Hessian of order 3000 is affordable, and still dearer than any number of passes over two rows.
    assert_eq!(chosen(2, 3000, 0.0, 0.0), Method::Lbfgs);
}

#[test]
fn kinks_go_to_sdca_and_unbounded_curvature_to_newton() {
    assert_eq!(chosen_for(Hinge, (50, 5), 1.0, 0.0).method, Method::Sdca);
    assert_eq!(chosen_for(Hinge, (50, 5), 1.0, 0.1).method, Method::Sdca);
    let counts = chosen_for(Poisson, (50, 5), 1.0, 0.0);
    assert_eq!((counts.method, counts.second), (Method::Newton, Some(Method::NewtonCg)));
    assert_eq!(counts.reason.as_deref(), Some("the loss has no curvature bound"));
    // Rows enough to draw from.
    assert_eq!(chosen_for(Poisson, (5000, 13), 1.0, 0.0).method, Method::SubsampledNewton);
    // Unit rows and counts of 1: the curvature at the minimum of each term is 1.
    assert!((counts.beta - 1.0).abs() < 1e-12, "{counts}");
    // Neither acceleration nor, without l2, dual ascent.
    assert_eq!(chosen_for(Poisson, (50, 5), 0.0, 0.1).second, None);
    assert_eq!(chosen_for(Squared, (50, 5), 0.01, 0.1).method, Method::Newton);
    let x = Array2::from_elem((3, 2), 1.0);
    let problem = Problem::new(Dense::new(x.view()).unwrap(), &[1.0; 3], Hinge, Zero, 0.0).unwrap();
    let refused = Choice::by_terms(&problem);
    assert!(matches!(refused, Err(Error::Refused(Refusal::NeedsStrongConvexity { .. }))));
}

/// Nearly as many features as rows. The dual method at every conditioning of the measured table.
#[test]
fn many_features_go_to_dual_ascent() {
    for beta in [4.0, 0.4, 0.04] {
        assert_eq!(chosen(831, 777, beta, 0.0), Method::Catalyst, "beta {beta}");
    }
}

/// Dense, with fewer rows than columns: dual ascent without acceleration where the rows are orthogonal, Newton's method of the order of
/// the rows where all of them are the same. A quadratic is one system.
#[test]
fn wide_data_goes_to_dual_ascent_where_rows_overlap_little() {
    let (n, d) = (100, 3000);
    let orthogonal = Array2::from_shape_fn((n, d), |(i, c)| if c % n == i { 1.0 } else { 0.0 });
    let y = vec![1.0; n];
    for l2 in [1.0, 1e-3, 1e-9] {
        let chosen = |x: &Array2<f64>, quadratic: bool| {
            let design = Dense::new(x.view()).unwrap();
            let none = L1 { strength: 0.0 };
            match quadratic {
                true => {
                    let problem = Problem::new(design, &y, Squared, none, l2).unwrap();
                    Choice::of(&problem, 1e-6, None).unwrap()
                }
                false => {
                    let problem = Problem::new(design, &y, Logistic, none, l2).unwrap();
                    Choice::of(&problem, 1e-6, None).unwrap()
                }
            }
        };
        let choice = chosen(&orthogonal, false);
        assert_eq!(
            (choice.method, choice.reason.as_deref()),
            (Method::Sdca, Some("more features than rows")),
            "{choice}"
        );
        assert_ne!(chosen(&orthogonal, true).method, Method::Sdca);
        if l2 < 1.0 {
            assert_eq!(chosen(&Array2::ones((n, d)), false).method, Method::Newton, "{choice}");
        }
    }
}

/// Steps on rows of a few entries are dear: Newton-CG takes their place. Without l2 only L-BFGS is
/// left.
#[test]
fn short_rows_of_many_features_go_to_conjugate_gradients() {
    use Method::{Catalyst, NewtonCg};
    for beta in [0.4, 0.04] {
        let choice = short_rows(Logistic, (4000, 2000), 3, 0.25 * beta, 0.0);
        assert_eq!((choice.method, choice.second), (NewtonCg, Some(Catalyst)), "{choice}");
        let choice = short_rows(Logistic, (4000, 2000), 30, 0.25 * beta, 0.0);
        assert_eq!((choice.method, choice.second), (Catalyst, Some(NewtonCg)), "{choice}");
    }
    assert_eq!(short_rows(Logistic, (4000, 2000), 30, 0.0, 0.0).method, Method::Lbfgs);
    // One linear system is solved in fewer passes, however badly conditioned, on sparse data.
    let ridge = short_rows(Squared, (4000, 2000), 30, 5e-4, 0.0);
    assert!(ridge.method == NewtonCg && ridge.promised < 100.0, "{ridge}");
}

fn short_rows<L: Loss>(
    loss: L,
    (n, d): (usize, usize),
    entries: usize,
    beta: f64,
    l1: f64,
) -> Choice {
    let offsets: Vec<usize> = (0..=n).map(|i| entries * i).collect();
    let columns = (0..n).flat_map(|i| {
        let mut row: Vec<u32> =
            (0..entries).map(|k| ((i * 7 + k * (d / entries)) % d) as u32).collect();
        row.sort_unstable();
        row
    });
    let columns: Vec<u32> = columns.collect();
    let values = vec![1.0 / (entries as f64).sqrt(); entries * n];
    let x = CsrMatrix::new((n, d), offsets, columns, values);
    let y = vec![1.0; n];
    let l2 = beta / n as f64;
    let design = Csr::new(x.view()).unwrap();
    let problem = Problem::new(design, &y, loss, L1 { strength: l1 }, l2).unwrap();
    Choice::of(&problem, 1e-6, Some(4 << 30)).unwrap()
}

/// Counts on many sparse columns: a Hessian of their order is dear, and dual ascent slow unless rows are few.
#[test]
fn counts_with_many_features_go_to_products_with_the_hessian() {
    let chosen = |shape, beta, l1| {
        let choice = short_rows(Poisson, shape, 30, beta, l1);
        assert_eq!(choice.reason.as_deref(), Some("the loss has no curvature bound"));
        (choice.method, choice.second)
    };
    use Method::{Newton, NewtonCg, Sdca};
    for beta in [0.04, 0.4] {
        assert_eq!(chosen((4000, 2000), beta, 0.0), (NewtonCg, Some(Sdca)));
        assert_eq!(chosen((400, 2000), beta, 0.0), (Sdca, Some(NewtonCg)));
        assert_eq!(chosen((4000, 2000), beta, 0.1), (Newton, Some(Sdca)));
    }
    assert_eq!(chosen((4000, 2000), 400.0, 0.0), (Sdca, Some(NewtonCg)));
    // No dual method without l2.
    assert_eq!(chosen((4000, 2000), 0.0, 0.0), (NewtonCg, Some(Newton)));
    assert_eq!(chosen((4000, 30), 0.0, 0.0), (Newton, Some(NewtonCg)));
    assert_eq!(chosen((4000, 2000), 0.0, 0.1), (Newton, None));
}

#[test]
fn memory_that_is_not_allowed_is_not_chosen() {
    let x = Array2::from_elem((500, 30), 0.2);
    let y = vec![1.0; 500];
    let design = Dense::new(x.view()).unwrap();
    let problem = Problem::new(design, &y, Logistic, L1 { strength: 0.1 }, 0.0).unwrap();
    let choice = Choice::of(&problem, 1e-6, Some(1000)).unwrap();
    assert_eq!(
        (choice.method, choice.reason.as_deref()),
        (Method::Qning, Some("no strong convexity"))
    );
    assert_eq!(choice.second, None);
    assert!(choice.to_string().starts_with("QNing: "), "{choice}");
    assert!(choice.to_string().contains(" passes predicted"), "{choice}");
    assert!(choice.to_string().ends_with("; no strong convexity"), "{choice}");
}

/// Indicators of two features with many values: coordinate descent for the squared loss with l1, and a dual method to take over.
#[test]
fn indicators_with_l1_go_to_coordinate_descent() {
    let chosen = |(n, d): (usize, usize), l1: f64, quadratic: bool, limit: Option<u64>| {
        let (offsets, half) = ((0..=n).map(|i| 2 * i).collect::<Vec<_>>(), d / 2);
        let columns = (0..n).flat_map(|i| [i % half, half + (7 * i + i / half) % half]);
        let columns: Vec<u32> = columns.map(|c| c as u32).collect();
        let values = vec![1.0; 2 * n];
        let design = Csr::from_parts(&offsets, &columns, &values, d).unwrap();
        let (y, h) = (vec![1.0; n], L1 { strength: l1 });
        if quadratic {
            let problem = Problem::new(design, &y, Squared, h, 0.0).unwrap();
            return Choice::of(&problem, 1e-6, limit).unwrap();
        }
        Choice::of(&Problem::new(design, &y, Logistic, h, 0.0).unwrap(), 1e-6, limit).unwrap()
    };
    let choice = chosen((8000, 400), 0.1, true, None);
    assert_eq!((choice.method, choice.promised), (Method::CoordinateDescent, 15.0), "{choice}");
    assert_eq!((choice.second, choice.reason.as_deref()), (Some(Method::Qning), None), "{choice}");
    // Too few rows a feature; so few features that a Gram matrix is smaller than the data; another loss; no l1; no memory.
    assert_eq!(chosen((7900, 400), 0.1, true, None).method, Method::Newton);
    assert_eq!(chosen((8000, 120), 0.1, true, None).method, Method::Newton);
    assert_eq!(chosen((8000, 400), 0.1, false, None).method, Method::Newton);
    assert_ne!(chosen((8000, 400), 0.0, true, None).method, Method::CoordinateDescent);
    assert_ne!(chosen((8000, 400), 0.1, true, Some(1000)).method, Method::CoordinateDescent);
}
