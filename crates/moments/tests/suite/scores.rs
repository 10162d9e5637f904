//! Scores against differences of log-densities, and the identities that every score satisfies.

use fenchel_moments::score::{
    Component, Gaussian, Part, ProductMixture, ScoreDiagnostics, SecondOrderScore, StudentT,
};
use fenchel_moments::{GaussianMixture, ScoreFunction};
use fenchel_optim::random::stream;
use ndarray::{Array1, Array2, ArrayView1, Axis, array};

use crate::common::{close, normal};

/// `S2 = S1 S1' - grad S1`, by central differences of `S1`.
fn second(score: &dyn SecondOrderScore, x: ArrayView1<f64>) -> Array2<f64> {
    let d = x.len();
    let at = |x: &Array1<f64>| {
        score.score1(x.view().insert_axis(Axis(0))).unwrap().index_axis_move(Axis(0), 0)
    };
    let s = at(&x.to_owned()).insert_axis(Axis(1));
    let mut matrix = s.dot(&s.t());
    for j in 0..d {
        let h = 1e-5;
        let (mut up, mut down) = (x.to_owned(), x.to_owned());
        up[j] += h;
        down[j] -= h;
        let slope = (at(&up) - at(&down)) / (2.0 * h);
        for i in 0..d {
            matrix[[i, j]] -= slope[i];
        }
    }
    matrix
}

fn check_second_order(score: &dyn SecondOrderScore) {
    let x = normal(6, score.dim(), 5);
    let weights = array![1.0, -2.0, 0.5, 3.0, 0.0, -0.25];
    let mut sum = Array2::zeros((score.dim(), score.dim()));
    let mut squares = sum.clone();
    for (row, &w) in x.rows().into_iter().zip(&weights) {
        let one = second(score, row);
        sum.scaled_add(w, &one);
        squares.scaled_add(w, &one.dot(&one));
    }
    close(score.score2_sum(x.view(), weights.view()).unwrap().view(), sum.view(), 1e-8);
    let found = score.score2_square_sum(x.view(), weights.view()).unwrap();
    close(found.view(), squares.view(), 1e-7);
}

fn mixture(isotropic: bool) -> GaussianMixture {
    let tilt = if isotropic { 0.0 } else { 0.4 };
    let part = |weight, mean: [f64; 3], scale: f64| Component {
        weight,
        mean: mean.to_vec().into(),
        covariance: array![[scale, tilt, 0.0], [tilt, scale, 0.0], [0.0, 0.0, scale]],
    };
    GaussianMixture::new(vec![
        part(0.5, [0.0, 1.0, 0.0], 1.0),
        part(0.3, [-1.0, 0.0, 2.0], 1.5),
        part(0.2, [2.0, -1.0, 0.0], 0.7),
    ])
    .unwrap()
}

#[test]
fn the_score_of_a_mixture_is_the_slope_of_its_log_density() {
    for isotropic in [true, false] {
        let density = mixture(isotropic);
        let x = normal(20, 3, 1) * 2.0;
        let s = density.score1(x.view()).unwrap();
        let h = 1e-5;
        for c in 0..3 {
            let (mut up, mut down) = (x.clone(), x.clone());
            up.column_mut(c).mapv_inplace(|v| v + h);
            down.column_mut(c).mapv_inplace(|v| v - h);
            let rise =
                density.log_density(up.view()).unwrap() - density.log_density(down.view()).unwrap();
            for i in 0..20 {
                assert!((s[[i, c]] + rise[i] / (2.0 * h)).abs() < 1e-8);
            }
        }
    }
    // ln of the standard normal density at 0 in two dimensions.
    let standard = GaussianMixture::new(vec![Component {
        weight: 1.0,
        mean: Array1::zeros(2),
        covariance: Array2::eye(2),
    }])
    .unwrap();
    let log = standard.log_density(array![[0.0, 0.0]].view()).unwrap()[0];
    assert!((log + (2.0 * std::f64::consts::PI).ln()).abs() < 1e-15);
}

#[test]
fn second_scores_are_the_slopes_of_first_ones() {
    check_second_order(&mixture(true));
    check_second_order(&mixture(false));
    let cov = array![[2.0, 0.3], [0.3, 1.0]];
    check_second_order(&Gaussian::new(array![1.0, -1.0], cov.view()).unwrap());
    check_second_order(&StudentT::new(array![0.5, -1.0], cov.view(), 5.0).unwrap());
    check_second_order(&ProductMixture::thesis(3).unwrap());
}

#[test]
fn samples_satisfy_the_identities_of_scores() {
    let density = mixture(false);
    let x = density.sample(20_000, &mut stream(4, 0));
    let diagnostics = ScoreDiagnostics::new(&x, &density).unwrap();
    for (mean, error) in diagnostics.mean.iter().zip(&diagnostics.mean_error) {
        assert!(mean.abs() < 4.5 * error);
    }
    for ((at, moment), error) in diagnostics.moment.indexed_iter().zip(&diagnostics.moment_error) {
        let expected = f64::from(at.0 == at.1);
        assert!((moment - expected).abs() < 4.5 * error, "{at:?}: {moment} +- {error}");
    }
    assert!(diagnostics.warning().is_none());
    let sum = density.score2_sum(x.view(), Array1::ones(20_000).view()).unwrap() / 20_000.0;
    assert!(sum.iter().all(|v| v.abs() < 0.1), "{sum}");
    // A wrong score is found out.
    let wrong = Gaussian::standard(3).unwrap();
    assert!(ScoreDiagnostics::new(&x, &wrong).unwrap().warning().is_some());
}

#[test]
fn bad_densities_are_refused() {
    let part = |weight: f64| Part { weight, mean: 0.0, deviation: 1.0 };
    let error = ProductMixture::new(vec![vec![part(0.5), part(0.4)]]).unwrap_err().to_string();
    assert!(error.contains("weights that add up to 1"), "{error}");
    let flat = array![[1.0, 1.0], [1.0, 1.0]];
    assert!(Gaussian::new(Array1::zeros(2), flat.view()).is_err());
    assert!(StudentT::new(Array1::zeros(2), Array2::eye(2).view(), 0.0).is_err());
    assert!(GaussianMixture::new(vec![]).is_err());
    let narrow = Gaussian::standard(2).unwrap().score1(normal(3, 4, 1).view());
    assert!(narrow.unwrap_err().to_string().contains("expected length 2, found 4"));
}
