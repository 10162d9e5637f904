//! Digits where large terms cancel. The values are from 40 to 60 digit arithmetic.

#![allow(clippy::excessive_precision, reason = "references are quoted as they were computed")]

use fenchel_expfam::families::*;
use fenchel_expfam::special::{bessel_ratio, ln_beta, ln_gamma};
use fenchel_expfam::*;
use ndarray::{Array2, array};

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance * expected.abs(),
        "{found:e}, expected {expected:e}"
    );
}

#[test]
fn densities_of_large_shapes_and_counts_keep_their_digits() {
    for (shape, expected) in [
        (1e8, -10.1292789060142),
        (1e10, -12.4318639981832),
        (1e12, -14.7344490911690),
        (1e14, -17.0370341841630),
    ] {
        let p = Gamma.with_shape_rate(shape, 1.0).unwrap();
        close(p.log_density(&shape).unwrap(), expected, 1e-13);
        close(p.log_densities(&[shape]).unwrap()[0], expected, 1e-13);
    }
    let p = ChiSquared.with_degrees(2e12).unwrap();
    close(p.log_density(&2e12).unwrap(), -15.4275962717290, 1e-13);
    let p = InverseGamma.with_shape_scale(1e10, 1e10).unwrap();
    close(p.log_density(&1.0).unwrap(), 10.5939869317572, 1e-13);
    let family = Binomial::new(4_000_000_000).unwrap();
    close(family.with_p(0.5).unwrap().log_density(&2e9).unwrap(), -11.2805714517404, 1e-13);
    close(family.with_p(0.3).unwrap().log_density(&1.2e9).unwrap(), -11.1933947581839, 1e-13);
    for (r, expected) in [(1e9, -11.6271450420829), (1e6, -8.17326752746678)] {
        let p = NegativeBinomial::new(r).unwrap().with_p(0.5).unwrap();
        close(p.log_density(&r).unwrap(), expected, 1e-13);
    }
    let third = [1.0 / 3.0; 3];
    let p = Dirichlet::new(3).unwrap().with_concentrations(&[1e10; 3]).unwrap();
    close(p.log_density(&third).unwrap(), 23.9345045851792, 1e-13);
    let p = Multinomial::new(3_000_000_000, 3).unwrap().with_probabilities(&third).unwrap();
    close(p.log_density(&[1e9; 3]).unwrap(), -22.0118367592439, 1e-13);
    let p = VonMises.with_direction_concentration(0.0, 1e12).unwrap();
    close(p.log_density(&1e-6).unwrap(), 12.3965720247595, 1e-11);
    // Binomial(7) at 0: -7 log(1 + e^-30).
    let p = Distribution::from_natural(Binomial::new(7).unwrap(), &[-30.0]).unwrap();
    close(p.log_density(&0.0).unwrap(), -6.550336e-13, 1e-5);
}

#[test]
fn beta_tails_of_small_shapes_are_right() {
    for (a, b, x, expected) in [
        (0.1, 0.1, 0.001, 0.254241656588608),
        (0.05, 0.05, 0.05, 0.433101808019586),
        (0.1, 0.3, 0.001, 0.390643616625071),
        (0.2, 0.1, 0.999, 0.656681316006836),
    ] {
        close(Beta.with_shapes(a, b).unwrap().cdf(x), expected, 1e-12);
    }
    let shapes = Beta.between(0.001, 0.999, 0.5).unwrap().shapes();
    close(shapes.0, 0.102535731106972, 1e-9);
    let shapes = Beta.between(0.01, 0.99, 0.5).unwrap().shapes();
    close(shapes.0, 0.158033805176941, 1e-9);
}

#[test]
fn beta_tails_of_large_shapes_are_right() {
    for s in [1e4, 1e6, 1e8, 1e10, 1e12, 1e15, 1e100] {
        close(Beta.with_shapes(s, s).unwrap().cdf(0.5), 0.5, 1e-13);
    }
    // Means far from the point, on both sides.
    assert_eq!(Beta.with_shapes(1e4, 1e206).unwrap().cdf(1e-3), 1.0);
    assert_eq!(Beta.with_shapes(1e206, 1e4).unwrap().cdf(1e-200), 0.0);
    for (a, b, x, expected) in [
        (3e8, 1e8, 0.75, 0.499992322352230949),
        (2e3, 3e3, 0.39, 0.0741505497112983274),
        (2e3, 3e3, 0.41, 0.925262126208304175),
        (1e6, 1e6, 0.499, 0.00233884940693150475),
        (1e6, 1e6, 0.501, 0.997661150593068495),
        (1e12, 2e12, 0.333333, 0.110335668131073802),
        (5e3, 1e9, 5.2e-6, 0.99741810725281073),
        (5e3, 1e9, 4e-6, 1.56692448188705901e-52),
        (1e15, 1e15, 0.5 + 0.5f64.powi(27), 0.747422328641895991),
        (1e15, 3e15, 0.25, 0.500000002427885401),
    ] {
        // A shape is the natural parameter plus 1, with an error of one unit in the last place.
        close(Beta.with_shapes(a, b).unwrap().cdf(x), expected, 1e-11);
    }
}

#[test]
fn entropies_of_concentrated_members_keep_their_digits() {
    let p = Distribution::from_natural(Gamma, &[290187.8, -1621.8]).unwrap();
    // By the series log(2 pi e a) / 2 - 1 / (3 a) - ... - log b, with two terms.
    let a = 290188.8_f64;
    let series = 0.5 * (std::f64::consts::TAU * std::f64::consts::E * a).ln() - 1.0 / (3.0 * a);
    close(p.entropy().unwrap(), series - 1621.8_f64.ln(), 1e-10);
}

#[test]
fn the_conjugate_of_a_gamma_law_of_small_shape_keeps_its_digits() {
    // By 40 digits: digamma and the logarithm of the gamma function at the natural parameters as they are stored.
    let p = Distribution::from_natural(Gamma, &[-0.9262427513903805, -0.9997894548512898]).unwrap();
    close(p.conjugate(), 10.343_244_310_145_797, 4e-15);
}

#[test]
fn divergences_of_extreme_members_end_and_are_not_wrong() {
    let p = Gamma.kl(&[1e-15 - 1.0, -1.0], &[1e300, -1.0]);
    assert!(p >= 0.0, "{p}");
    let p = InverseGamma.kl(&[-1.000001, -1.0], &[-2.03e306, -4e229]);
    assert!(p >= 0.0, "{p}");
    // Covariances V and c V in d dimensions: d (log c + 1 / c - 1) / 2.
    let v: Array2<f64> = array![[2.0, 0.7], [0.7, 2.0]];
    let family = NormalVector::new(2).unwrap();
    let zero = array![0.0, 0.0];
    let p = family.with_mean_covariance(zero.view(), v.view()).unwrap();
    for c in [1e12, 1e14, 1e16, 1e40_f64] {
        let q = family.with_mean_covariance(zero.view(), (&v * c).view()).unwrap();
        close(p.kl(&q), c.ln() + 1.0 / c - 1.0, 1e-12);
    }
    let family = Dirichlet::new(3).unwrap();
    let flat = family.with_concentrations(&[1.0; 3]).unwrap();
    for c in [1e12_f64, 1e14, 1e17, 1e20] {
        // Minus the entropy less log 2, by Stirling's formula with an error below 1 / c.
        let a = [c, 2.0 * c, 30.0 * c];
        let s = 33.0 * c;
        let logs: f64 = a.iter().map(|a| a.ln()).sum();
        let tau = std::f64::consts::TAU.ln();
        let expected = -0.5 * logs + 2.5 * s.ln() - tau - 1.0 - 2f64.ln();
        close(family.with_concentrations(&a).unwrap().kl(&flat), expected, 1e-11);
    }
    assert_eq!(Logarithmic.kl(&[-1e-300], &[-1e-300]), 0.0);
    assert_eq!(ln_gamma(1.0), 0.0);
}

#[test]
fn a_sum_of_weights_that_overflows_is_an_error() {
    let error = mle_weighted(Exponential, &[1.0, 2.0, 3.0], &[1e308; 3]).unwrap_err();
    assert!(error.to_string().contains("sum of the weights"), "{error}");
}

#[test]
fn wishart_laws_of_many_degrees_keep_their_digits() {
    let scale: Array2<f64> = array![[2.0, 0.7], [0.7, 1.0]];
    // Degrees; entropy; log-density at the mean and at twice the mean.
    for (n, entropy, at_mean, at_twice) in [
        (1.5, 2.2762886271021051, -5.8297513282964869, -8.3694720991364049),
        (10.0, 8.7693012802655205, -7.6356959749964707, -12.783665711076854),
        (1e9, 36.653026009500496, -35.153026012917163, -306852856.67252225),
        (1e13, 50.46853656979787, -48.968536569798212, -3068528194451.5949),
    ] {
        let p = Wishart::new(2).unwrap().with_scale_degrees(scale.view(), n).unwrap();
        // The parameter n - 3 and the matrix are rounded.
        close(p.entropy().unwrap(), entropy, 1e-12);
        close(p.log_density(&(&scale * n)).unwrap(), at_mean, 1e-12);
        close(p.log_density(&(&scale * (2.0 * n))).unwrap(), at_twice, 1e-12);
    }
    // At the scale over the degrees.
    for (n, entropy, log_density) in [
        (1.5, 14.057348783230646, -3.3969606796475006),
        (10.0, -4.0745475874681395, 6.1798145829678034),
        (1e9, -87.686569003177971, 89.186569008761304),
    ] {
        let p = InverseWishart::new(2).unwrap().with_scale_degrees(scale.view(), n).unwrap();
        close(p.entropy().unwrap(), entropy, 1e-12);
        close(p.log_density(&(&scale / n)).unwrap(), log_density, 1e-12);
    }
}

#[test]
fn close_angles_and_directions_have_their_concentration() {
    // 1 - R is 2 (1 - cos s) / 3, and 1 / (2 k) + 1 / (8 k^2) + ... of the law; in three dimensions exactly 1 / k.
    for s in [1e-3, 1e-5, 1e-6, 1e-7, 1e-9_f64] {
        let missing = 4.0 / 3.0 * (0.5 * s).sin().powi(2);
        let expected = 0.5 / missing + 0.25;
        let angles = [-s, 0.0, s];
        close(mle(VonMises, &angles).unwrap().concentration(), expected, 1e-11);
        // One by one, in two parts, and with one that is taken out again.
        let mut summary = Summary::of(VonMises, &angles[..1]).unwrap();
        summary.merge(&Summary::of(VonMises, &angles[1..]).unwrap()).unwrap();
        close(summary.mle().unwrap().concentration(), expected, 1e-11);
        summary.observe(&(0.5 * s)).unwrap();
        summary.forget(&(0.5 * s)).unwrap();
        close(summary.mle().unwrap().concentration(), expected, 1e-11);
        let points = angles.map(|a| [a.cos(), a.sin(), 0.0]);
        let family = VonMisesFisher::new(3).unwrap();
        let fitted = Summary::of_each(family, points.iter().map(|x| &x[..])).unwrap().mle();
        close(fitted.unwrap().concentration(), 1.0 / missing, 1e-11);
    }
    // Around 100 whole turns the angles themselves are spaced by 1e-13.
    let turns = 200.0 * std::f64::consts::PI;
    let p = mle(VonMises, &[turns - 1e-5, turns, turns + 1e-5]).unwrap();
    close(p.concentration(), 1.5e10, 1e-7);
    // Small resultants keep their digits through a prior.
    let p = VonMises.with_direction_concentration(2.0, 1e-10).unwrap();
    let prior = Prior::around(1e6, &p).unwrap();
    close(prior.mean()[0], 0.5e-10 * 2f64.cos(), 1e-13);
    assert!(mle(VonMises, &[0.3, 0.3]).is_err());
}

#[test]
fn divergences_across_many_scales_in_one_matrix_are_right() {
    // By 50-digit arithmetic. The eigenvalues of one precision relative to the other are 4e6 and 6e-10.
    let family = NormalVector::new(2).unwrap();
    let p = [0.0, 0.0, -3.293032978868768e-07, 0.017062759461226658, -859.5430125925939];
    let q = [0.0, 0.0, -0.6851384468971807, -2.485654580181392e-08, -4.923180285140826e-07];
    close(family.kl(&p, &q), 2141766.8956492399, 1e-12);
    // Degrees of 1e9 against fewer than 2.
    let family = Wishart::new(2).unwrap();
    let p = [-24.746407709409027, 0.0029981103710508203, -485.84654373412707, 517429915.75761753];
    let q = [
        -4.836183078476103e-06,
        -1.1164037569779737e-06,
        -6.160579199245227e-05,
        -0.9984038756785494,
    ];
    close(family.kl(&p, &q), 196.08608226343962, 1e-13);
}

#[test]
fn entropies_of_counts_are_means_of_what_they_tell() {
    let member = |eta: f64| Distribution::from_natural(Binomial::new(7).unwrap(), &[eta]).unwrap();
    close(member(51.0).entropy().unwrap(), 2.4861025087783854e-20, 1e-12);
    close(member(-51.0).entropy().unwrap(), 2.4861025087783854e-20, 1e-12);
    // By the series log(2 pi e m) / 2 - 1 / (12 m); the sum of 1e7 terms is an integral.
    close(Poisson.with_rate(1e12).unwrap().entropy().unwrap(), 15.234449091168864, 1e-12);
    let half = Binomial::new(4_000_000_000).unwrap().with_p(0.5).unwrap();
    close(half.entropy().unwrap(), 11.780571451677878, 1e-9);
}

#[test]
fn risks_of_many_observations_keep_their_digits() {
    use fenchel_expfam::risk;
    close(risk::covariance_mle(5, 1e10), 7.5000000076666667e-10, 1e-13);
    close(risk::covariance_mle(2, 7.0), 0.51020751937648717, 1e-13);
    close(risk::normal_vector_mle(3, 1e10), 4.5000000038e-10, 1e-13);
    close(risk::normal_vector_mle(3, 9.0), 1.6349132269233443, 1e-13);
    // n / (2 (n + n0)^2) and relative corrections of 1 / (n rate).
    let n = 1e6_f64;
    close(risk::poisson_map(1e3, 1.0, 1e3, n), 0.5 * n / (n + 1.0).powi(2), 1e-8);
}

#[test]
fn likelihoods_of_regressions_on_large_counts_keep_their_digits() {
    use fenchel_expfam::glm::*;
    // At the double next to log 1e12.
    let eta = 1e12_f64.ln();
    close(PoissonLog.log_likelihood_at(1e12, eta, 1.0, 1.0), -14.73444909116903, 1e-9);
    close(PoissonLog.log_likelihood(1e12, 1e12, 2.0, 1.0), -29.46889818233806, 1e-13);
    close(PoissonLog.log_likelihood(3.0, 2.0, 1.0, 1.0), -1.7123179275482191, 1e-14);
    close(Logistic.log_likelihood_at(0.5, 0.0, 4e9, 1.0), -11.280571451740378, 1e-13);
    close(Logistic.log_likelihood_at(0.25, -1.0, 8.0, 1.0), -1.1738889899705787, 1e-14);
    close(Reciprocal.log_likelihood(2.0, 2.0, 1.0, 1e-10), 9.900839751197277, 1e-13);
    let family = NegativeBinomialLog { size: 1e9 };
    close(family.log_likelihood(1e9, 1e9, 1.0, 1.0), -11.627145042082851, 1e-13);
    let family = NegativeBinomialLog { size: 2.5 };
    close(family.log_likelihood(4.0, 3.0, 1.0, 1.0), -2.1958612561556608, 1e-13);
}

#[test]
fn laws_that_are_nearly_certain_or_uniform_keep_their_digits() {
    let rare = Distribution::from_natural(Logarithmic, &[-20.0]).unwrap();
    close(rare.log_density(&1.0).unwrap(), -1.0305768121043527e-9, 1e-14);
    close(rare.entropy().unwrap(), 2.2356454483759566e-8, 1e-14);
    let rare = Distribution::from_natural(Logarithmic, &[-191.0]).unwrap();
    close(rare.entropy().unwrap(), 1.0804140687309100e-81, 1e-13);
    let flat = Distribution::from_natural(ContinuousBernoulli, &[-3e-8]).unwrap();
    close(flat.conjugate(), 3.75e-17, 1e-14);
    let sure = Distribution::from_natural(Categorical::new(3).unwrap(), &[-1.0, 112.0]).unwrap();
    close(sure.entropy().unwrap(), 3.5414139269197144e-47, 1e-14);
    close(sure.log_density(&1).unwrap(), -3.126553389199036e-49, 1e-14);
    close(sure.log_densities(&[1]).unwrap()[0], -3.126553389199036e-49, 1e-14);
    let sure = Distribution::from_natural(Multinomial::new(1, 3).unwrap(), &[-1.0, 112.0]).unwrap();
    close(sure.log_density(&[0.0, 1.0, 0.0]).unwrap(), -3.126553389199036e-49, 1e-14);
}

/// By sums over the binomial counts in 40 digits.
#[test]
fn entropies_of_multinomials_of_many_trials_keep_their_digits() {
    for (trials, eta, expected) in [
        (1_000_000, [0.3, -4.0], 13.5101980147770269),
        (4_000_000, [-1.0, 2.0], 15.2849123989518073),
    ] {
        let p = Distribution::from_natural(Multinomial::new(trials, 3).unwrap(), &eta).unwrap();
        close(p.entropy().unwrap(), expected, 1e-13);
    }
}

#[test]
fn gamma_and_bessel_functions_at_their_limits_are_finished_values() {
    close(ln_beta(1e12, 3e5), -4805850.4405169744, 1e-15);
    close(ln_beta(1e306, 3e305), -7.0226538510551914e305, 1e-14);
    close(bessel_ratio(3000, 8e6), 0.9998125800546954, 1e-14);
    let large = Distribution::from_natural(Beta, &[1e306, 3e305]).unwrap();
    assert!(large.log_partition().is_finite());
    assert!(large.fisher_information().iter().all(|i| !i.is_nan()));
}

/// The roots of the likelihood equations by Newton's method with 60 digits.
#[test]
fn concentrated_beta_and_dirichlet_laws_are_fitted_to_their_last_digits() {
    for (x, a, b) in [
        ([0.78310855, 0.78299545, 0.7829634], 34316558.855506315, 9509206.4530938116),
        ([0.3, 0.3 + 1e-6, 0.3 - 2e-6], 40499904796.279709, 94499927857.800058),
        ([2e-8, 2.1e-8, 1.9e-8], 599.41629543055883, 29970814172.112132),
        ([1e-3, 2e-3, 1.7e-3], 12.335360473013463, 7861.3572140763395),
        ([1e-9, 1.00001e-9, 0.99999e-9], 14999999984.469502, 1.4999999969469502e19),
    ] {
        // At once, and in parts of which one is taken out again.
        let mut parts = Summary::of(Beta, &x[..1]).unwrap();
        parts.merge(&Summary::of(Beta, &x[1..]).unwrap()).unwrap();
        parts.observe(&x[0]).unwrap();
        parts.forget(&x[0]).unwrap();
        for found in [mle(Beta, &x).unwrap(), parts.mle().unwrap()] {
            // What the rounding of the points moves, seen beside their spread.
            let tolerance = 1e-14 * x[0] / (x[0] - x[1]).abs();
            close(found.shapes().0, a, tolerance);
            close(found.shapes().1, b, tolerance);
        }
    }
    let points = [[0.2, 0.3, 0.5], [0.2 + 1e-5, 0.3, 0.5 - 1e-5], [0.2, 0.3 - 1e-5, 0.5 + 1e-5]];
    let family = Dirichlet::new(3).unwrap();
    let found = Summary::of_each(family, points.iter().map(|x| &x[..])).unwrap().mle().unwrap();
    for (found, expected) in found.concentrations().iter().zip([
        1255841643.758923,
        1883710139.8160121,
        3139551783.2377212,
    ]) {
        close(*found, expected, 1e-10);
    }
    assert!(mle(Beta, &[0.3, 0.1 + 0.2]).is_err());
}

/// By 80-digit arithmetic. The weight of the location falls by a factor of 1e6.
#[test]
fn divergences_of_far_normal_gamma_and_wishart_laws_keep_their_digits() {
    let p = [157190.3339699483, -10001.544159336909, 102.35767174683724, -0.5734669735826966];
    let q = [148362.13585533537, -6756.255060353409, 0.004623447944774135, -8.575177905958756e-7];
    close(NormalGamma.kl(&p, &q), 6319.9829364446907, 1e-12);
    let p = [
        93.24947564787203,
        -2.9975255909996905,
        0.4002487456890165,
        -2.000276677386496,
        0.3000928922274231,
        -0.00024277194987848427,
        -0.019379929339277728,
    ];
    let q = [
        111.70959571166907,
        -2.997525922403348,
        1.528539886792308e-6,
        -2.4167053249397283,
        2.8048544671483643e-6,
        -0.0002702144760015039,
        -1.9028106502529888e-8,
    ];
    close(NormalWishart::new(2).unwrap().kl(&p, &q), 79.431701894124391, 1e-12);
}
