//! Risks against independent values (25-digit quadrature), bounds on grids, identities.

use fenchel_expfam::families::*;
use fenchel_expfam::mirror::*;
use fenchel_expfam::risk::*;
use fenchel_expfam::selfconcordance::*;
use fenchel_expfam::*;
use fenchel_optim::random::stream;
use fenchel_optim::{Status, Stop};

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * expected.abs(), "{found}, expected {expected}");
}

#[test]
fn gamma_risks_agree_with_quadrature() {
    for (n, mle) in [
        (3.0, 0.815512432935),
        (4.0, 0.364818577269),
        (5.0, 0.226766287719),
        (10.0, 0.0733398779989),
        (20.0, 0.0301393035919),
        (50.0, 0.0107666773252),
        (100.0, 0.00518741563253),
    ] {
        close(gamma_mle(0.5, n), mle, 2e-12);
    }
    assert!(gamma_mle(0.5, 2.0).is_infinite());
    for (n, r, map) in [
        (1.0, 1.0, 0.0758325420609),
        (2.0, 1.0, 0.104332146271),
        (3.0, 1.0, 0.106540782106),
        (5.0, 1.0, 0.0894067027810),
        (10.0, 1.0, 0.0525031264229),
        (100.0, 1.0, 0.00507866362211),
        (1000.0, 1.0, 0.000500828816393),
        (1.0, 2.0, 0.0444181712385),
        (2.0, 2.0, 0.0427016488),
        (5.0, 2.0, 0.0459628757),
        (10.0, 2.0, 0.0361058862),
        (50.0, 2.0, 0.0095801729),
    ] {
        // Some of the values are quoted with eight digits after the point.
        assert!((gamma_map(0.5, 1.0, r, n) - map).abs() < 1e-10 + 1e-9 * map, "{n} {r}");
    }
}

#[test]
fn gamma_bounds_hold_on_a_grid() {
    for shape in [0.1, 0.5, 1.0, 3.0] {
        for n in [1.0, 2.0, 3.0, 7.0, 30.0, 1e3] {
            let (low, high) = gamma_mle_bounds(shape, n);
            let exact = gamma_mle(shape, n);
            assert!(exact.is_infinite() || (low <= exact && exact <= high), "{shape} {n}");
            for n0 in [0.03, 0.3, 1.0, 10.0, 100.0] {
                for r in [0.03, 0.5, 1.0, 2.0, 30.0] {
                    let (low, high) = mean_ratio_bounds(shape, n0, r, n);
                    let ratio = mean_ratio(shape, n0, r, n);
                    assert!(
                        low <= ratio * (1.0 + 1e-11) && ratio <= high * (1.0 + 1e-11),
                        "{shape} {n} {n0} {r}"
                    );
                    let symmetrised = gamma_map_symmetrised(shape, n0, r, n);
                    let risk = gamma_map(shape, n0, r, n);
                    let slack = 1.0 + 1e-9;
                    assert!(
                        risk <= symmetrised * slack + 1e-12 && risk >= -1e-12,
                        "{shape} {n} {n0} {r}: {risk} {symmetrised}"
                    );
                    let bound = gamma_map_bound(shape, n0, r, n);
                    assert!(
                        symmetrised <= bound * slack + 1e-12,
                        "{shape} {n} {n0} {r}: {symmetrised} {bound}"
                    );
                }
            }
        }
    }
}

#[test]
fn normal_risks_agree_with_quadrature_and_bounds() {
    close(covariance_mle(3, 10.0), 0.661396262960414, 1e-13);
    close(covariance_mle(3, 5.0), 5.20677937704991, 1e-13);
    close(covariance_mle(1, 10.0), gamma_mle(0.5, 10.0), 1e-12);
    for d in [1, 2, 3, 5, 10, 30] {
        for n in [d as f64 + 2.0, d as f64 + 7.0, 100.0, 1e4] {
            assert!(covariance_mle(d, n) < covariance_mle_bound(d, n), "{d} {n}");
        }
    }
    close(normal_vector_mle(3, 10.0), 1.259915749, 1e-9);
    for (n, risk) in
        [(5.0, 0.7532468), (10.0, 0.17543079), (30.0, 0.039683836), (100.0, 0.010525879)]
    {
        close(normal_vector_mle(1, n), risk, 1e-7);
    }
    for (n, risk, bias, variance) in [
        (1.0, 0.465339, 0.300781, 0.164559),
        (3.0, 0.278461, 0.103375, 0.175086),
        (10.0, 0.100021, 0.013308, 0.086713),
        (100.0, 0.0100739, 0.0001486, 0.0099253),
    ] {
        // Prior mean (1, 2): m0 = 1, v0 = 1; six digits are quoted.
        let (r, b, v) = normal_map(1.0, 1.0, 1.0, n);
        close(r, risk, 1e-5);
        close(b, bias, 5e-4);
        close(v, variance, 1e-4);
    }
    close(quadratic_map(2, 1.0, 3.0, 4.0), (8.0 + 9.0) / 50.0, 1e-15);
}

#[test]
fn risks_fall_like_half_the_dimension_over_n() {
    for n in [1e3, 1e4] {
        for (d, risk) in [
            (1, gamma_mle(2.0, n)),
            (1, gamma_map(0.5, 1.0, 1.0, n)),
            (6, covariance_mle(3, n)),
            (2, normal_vector_mle(1, n)),
            (2, normal_map(1.0, 1.0, 1.0, n).0),
            (1, poisson_map(1.3, 1.0, 2.0, n)),
        ] {
            assert!((n * risk - 0.5 * f64::from(d)).abs() < 30.0 / n, "{d} {n}: {}", n * risk);
        }
        let three = categorical_map(&[0.2, 0.3, 0.5], 3.0, &[1.0 / 3.0; 3], n as u32);
        assert!((n * three - 1.0).abs() < 10.0 / n, "{}", n * three);
    }
    assert!(categorical_map(&[0.5, 0.5], 0.0, &[0.5, 0.5], 5).is_infinite());
    assert!(sample_size(-1.0, |n| 1.0 / n).is_none());
}

#[test]
fn simulations_agree_with_closed_forms() {
    let family = NormalKnownMean::default();
    let truth = family.with_variance(1.0).unwrap();
    let prior = Prior::new(family, 1.0, &[2.0]).unwrap();
    let found = monte_carlo(&truth, Some(&prior), 5, 4000, 3).unwrap();
    assert!((found.mean - 0.0459628757).abs() < 5.0 * found.standard_error && found.failures == 0);
    let found = monte_carlo(&truth, None, 12, 4000, 4).unwrap();
    assert!((found.mean - gamma_mle(0.5, 12.0)).abs() < 5.0 * found.standard_error);
    let rate = Poisson.with_rate(1.3).unwrap();
    let prior = Prior::new(Poisson, 1.0, &[2.0]).unwrap();
    let found = monte_carlo(&rate, Some(&prior), 4, 4000, 5).unwrap();
    assert!((found.mean - poisson_map(1.3, 1.0, 2.0, 4.0)).abs() < 5.0 * found.standard_error);
    assert!(found.quantile(0.05) < found.quantile(0.95));
    // Without events there is no estimate.
    assert!(monte_carlo(&Poisson.with_rate(0.1).unwrap(), None, 2, 100, 6).unwrap().failures > 50);
}

#[test]
fn bias_and_variance_add_up_on_any_set() {
    let truth = Gamma.with_shape_rate(2.0, 1.0).unwrap();
    let mut rng = stream(31, 0);
    let estimates: Vec<_> =
        (0..50).map(|_| mle(Gamma, &truth.samples(5, &mut rng)).unwrap()).collect();
    let split = bias_variance(&truth, &estimates).unwrap();
    close(split.bias + split.variance, split.risk, 1e-10);
    assert!(bias_variance(&truth, &[]).is_err());
}

/// Every prefix of stochastic mirror descent with steps `1 / (n0 + n)` is the MAP estimate; with `1 / n`, the maximum likelihood one.
#[test]
fn stochastic_mirror_descent_is_map() {
    let mut rng = stream(32, 0);
    for (family, etas) in super::cases::univariate() {
        let k = family.dimension();
        let eta = &etas[1];
        let mut c0 = vec![0.0; k];
        family.centred_from_natural(eta, &mut c0);
        let mut smd = c0.clone();
        let (n0, mut sum) = (2.5, c0.clone());
        let mut one = vec![0.0; k];
        for n in 1..=20 {
            let x = family.draw(eta, &mut rng);
            family.centred(&x, &mut one);
            let step = Schedule::Map { pseudo_count: n0 }.step(n);
            family.blend(&mut smd, step, &one);
            // The batch: old total first, in means of T.
            let (mut mu, mut t) = (vec![0.0; k], vec![0.0; k]);
            family.mean_from_centred(&sum, &mut mu);
            family.mean_from_centred(&one, &mut t);
            let n = n as f64;
            for i in 0..k {
                mu[i] = ((n0 + n - 1.0) * mu[i] + t[i]) / (n0 + n);
            }
            let mut smd_mu = vec![0.0; k];
            family.mean_from_centred(&smd, &mut smd_mu);
            for i in 0..k {
                let scale = mu.iter().fold(mu[i].abs(), |a: f64, b| a.max(b.abs()));
                assert!((mu[i] - smd_mu[i]).abs() <= 1e-12 * scale, "{} {n}", family.name());
            }
            sum.copy_from_slice(&smd);
        }
    }
    let prior = Prior::around(3.0, &Gamma.with_shape_rate(2.0, 1.0).unwrap()).unwrap();
    let x = prior.map().samples(40, &mut rng);
    let mut method = StochasticMirrorDescent::from_prior(&prior).unwrap();
    let mut plain = StochasticMirrorDescent::new(prior.map(), Schedule::Mle).unwrap();
    for (i, x_i) in x.iter().enumerate() {
        method.observe(x_i).unwrap();
        plain.observe(x_i).unwrap();
        let batch = prior.posterior(&Summary::of(Gamma, &x[..=i]).unwrap()).unwrap();
        close(method.estimate().unwrap().shape(), batch.map().shape(), 1e-11);
        if i > 0 {
            close(plain.estimate().unwrap().shape(), mle(Gamma, &x[..=i]).unwrap().shape(), 1e-11);
        }
    }
    assert!(StochasticMirrorDescent::new(prior.map(), Schedule::Constant(1.5)).is_err());
    assert!(method.observe(&-1.0).is_err() && method.steps() == 40);
}

#[test]
fn mirror_descent_with_step_1_ends_in_one_step() {
    let target = Gamma.with_shape_rate(7.0, 0.2).unwrap();
    let mean = target.mean();
    let objective = NegativeLikelihood { family: &Gamma, mean: &mean };
    let start = Gamma.with_shape_rate(0.1, 50.0).unwrap();
    let settings =
        MirrorDescentSettings { stop: Stop { absolute: 1e-8, ..Stop::default() }, step: 1.0 };
    let found = descend(Gamma, objective.clone(), &settings, start.natural(), &mut ()).unwrap();
    assert_eq!(found.report.status, Status::Converged);
    assert!(found.report.passes <= 2.0);
    close(found.state[0], 6.0, 1e-10);
    // The objective is 1-smooth and 1-strongly convex relative to A, with equality.
    let gap = relative_gap(&Gamma, &objective, start.natural(), target.natural());
    assert!(gap.abs() < 1e-9 * start.kl(&target), "{gap}");
    // A step beyond the border ends as a status, at a point inside.
    let far = MirrorDescentSettings { step: 5.0, ..settings };
    let out = descend(
        Exponential,
        NegativeLikelihood { family: &Exponential, mean: &[0.1] },
        &far,
        &[-0.5],
        &mut (),
    )
    .unwrap();
    assert_eq!((out.report.status, out.state[0]), (Status::Diverged, -0.5));
}

#[test]
fn variance_notions_of_table_5_1() {
    close(gamma_gap_of_minima(0.5), 0.635181422730739, 1e-13);
    for (at, value) in [(1.0, 0.15568), (1e-2, 5.3543), (1e-4, 61.675)] {
        close(normal_variance_noise(1.0, at, 0.5), value, 2e-5);
    }
    // Like at^(-1/2).
    let ratio = normal_variance_noise(1.0, 1e-12, 0.5) / normal_variance_noise(1.0, 1e-10, 0.5);
    close(ratio, 10.0, 1e-3);
}

#[test]
fn local_bounds_hold_where_they_claim() {
    // w(t / (1 - t)) = t^2 at the radius.
    close(w(RADIUS / (1.0 - RADIUS)), RADIUS * RADIUS, 1e-8);
    let truth = Normal.with_mean_variance(0.3, 2.0).unwrap();
    let mean = truth.mean();
    for i in 0..40 {
        let angle = f64::from(i) * 0.157;
        for length in [0.02, 0.1, 0.3, 0.7] {
            let mu = [mean[0] + length * angle.cos(), mean[1] + 2.0 * length * angle.sin()];
            let Ok(member) = Distribution::from_mean(Normal, &mu) else { continue };
            let bound = local_bound(&truth, &mu).unwrap();
            let kl = truth.kl(&member);
            assert!(kl <= bound.bound * (1.0 + 1e-12), "{mu:?}: {kl} {bound:?}");
            assert!(bound.quadratic.is_none_or(|q| kl <= q), "{mu:?}: {kl} {bound:?}");
        }
    }
    // The statement without the constant fails for a gamma law of shape 0.1.
    let family = GammaKnownShape::new(0.1).unwrap();
    let truth = family.with_rate(0.1).unwrap();
    let scale = truth.fisher_information()[0].sqrt();
    let mu = truth.mean()[0] - 0.21 * scale;
    let kl = truth.kl(&Distribution::from_mean(family, &[mu]).unwrap());
    assert!(kl > 1.5 * 0.21 * 0.21, "{kl}");
    assert!(local_bound(&Bernoulli.with_p(0.3).unwrap(), &[0.3]).is_err());
    close(samples_for_quadratic_regime(2), 43.0, 0.01);
}

/// From the number of observations on the expected squared distance of MAP is within the radius; without a prior it is that of the MLE.
#[test]
fn observations_until_map_is_in_the_quadratic_regime() {
    let t = 0.215_344_436;
    for (d, strength, distance) in [(1, 0.0, 3.0), (2, 5.0, 1.0), (7, 40.0, 0.1), (3, 1.0, 20.0)] {
        let from = samples_for_quadratic_regime_map(d, strength, distance);
        for n in [from, from + 1.0, 2.0 * from + 10.0] {
            let squared = (n * d as f64 + (strength * distance).powi(2)) / (n + strength).powi(2);
            assert!(squared <= t * t * (1.0 + 1e-8), "{d} {strength} {distance} {n}: {squared}");
        }
        if strength == 0.0 {
            assert_eq!(from, samples_for_quadratic_regime(d));
        }
    }
    // 2 / t^2 + 5 (1 / t - 1), by hand.
    close(samples_for_quadratic_regime_map(2, 5.0, 1.0), 61.347, 0.001);
    for (strength, distance) in [(-1.0, 1.0), (1.0, -1.0), (f64::NAN, 1.0), (1.0, f64::NAN)] {
        assert!(samples_for_quadratic_regime_map(2, strength, distance).is_nan());
    }
    // A prior at the truth of many observations needs none.
    assert_eq!(samples_for_quadratic_regime_map(1, 30.0, 0.0), 0.0);
}

#[test]
fn arguments_that_are_no_such_thing_give_no_number() {
    for bad in [f64::NAN, -1.0, f64::INFINITY] {
        assert!(gamma_mle(bad, 5.0).is_nan() && gamma_mle(0.5, bad).is_nan());
        assert!(gamma_mle_bounds(bad, 5.0).0.is_nan() && mean_ratio(0.5, bad, 1.0, 3.0).is_nan());
        assert!(gamma_map(bad, 1.0, 1.0, 3.0).is_nan() && gamma_map(0.5, bad, 1.0, 3.0).is_nan());
        assert!(gamma_map(0.5, 1.0, bad, 3.0).is_nan() && gamma_map(0.5, 1.0, 1.0, bad).is_nan());
        assert!(gamma_map_bound(0.5, 1.0, bad, 3.0).is_nan());
        assert!(gamma_map_symmetrised(0.5, bad, 1.0, 3.0).is_nan());
        assert!(covariance_mle(3, bad).is_nan() && covariance_mle_bound(3, bad).is_nan());
        assert!(normal_vector_mle(3, bad).is_nan() && normal_map(1.0, 0.0, bad, 3.0).0.is_nan());
        assert!(
            quadratic_map(2, 1.0, bad, 3.0).is_nan() && poisson_map(bad, 1.0, 1.0, 3.0).is_nan()
        );
        assert!(categorical_map(&[0.5, 0.5], bad, &[0.5, 0.5], 3).is_nan());
    }
    assert!(covariance_mle(0, 9.0).is_nan() && normal_vector_mle(0, 9.0).is_nan());
    // Lengths that differ, and what is no law.
    assert!(categorical_map(&[0.5, 0.5], 1.0, &[1.0], 3).is_nan());
    assert!(categorical_map(&[0.5, 0.2], 1.0, &[0.5, 0.5], 3).is_nan());
    assert!(categorical_map(&[0.5, 0.5], 1.0, &[0.0, 1.0], 3).is_nan());
    assert_eq!(categorical_map(&[0.5, 0.5], 0.0, &[0.5, 0.5], 3), f64::INFINITY);
}

/// Coins of probability 1/100 seldom show a head in two throws: without an estimate nothing is known of its risk.
#[test]
fn a_simulation_with_only_failures_has_no_mean() {
    let coin = Bernoulli.with_p(0.01).unwrap();
    let found = monte_carlo(&coin, None, 2, 5, 0).unwrap();
    assert_eq!(found.failures, 5);
    assert!(found.mean.is_nan() && found.standard_error.is_nan(), "{found:?}");
    assert!(monte_carlo(&coin, None, 200, 1, 1).unwrap().standard_error.is_nan());
    assert!(matches!(monte_carlo(&coin, None, 2, usize::MAX, 0), Err(Error::Refused(_))));
}

/// Weights whose sum overflows are refused, however they arrive.
#[test]
fn weights_with_an_infinite_sum_are_refused() {
    let message = |e: Error| e.to_string();
    let refused = message(mle_weighted(Exponential, &[1.0, 2.0, 3.0], &[1e308; 3]).unwrap_err());
    assert!(refused.contains("sum of the weights"), "{refused}");
    let refused = message(mle_weighted(Normal, &[1.0, 2.0, 3.0], &[1e308; 3]).unwrap_err());
    assert!(refused.contains("sum of the weights"), "{refused}");
    let half = mle_weighted(Exponential, &[1.0, 2.0, 3.0], &[5e307; 3]).unwrap();
    close(half.rate(), 0.5, 1e-15);
    let mut one = Summary::of_weighted(Exponential, &[1.0], &[1e308]).unwrap();
    let other = one.clone();
    assert!(message(one.merge(&other).unwrap_err()).contains("sum of the weights"));
}

/// Integrals over the law of the data in 60 digits, for as many observations that the terms of size 1 would leave few digits.
#[test]
fn risks_of_very_many_observations_keep_their_digits() {
    close(gamma_map(2.0, 3.0, 1.5, 1e10), 4.999_999_996_708_333e-11, 1e-10);
    close(gamma_map_symmetrised(2.0, 3.0, 1.5, 1e10), 9.9999999945e-11, 1e-10);
    close(gamma_map(0.5, 0.125, 1.0, 1e13), 5.0000000000017083e-14, 1e-10);
    close(gamma_map_symmetrised(0.5, 0.125, 1.0, 1e13), 1.000000000000175e-13, 1e-10);
    close(normal_map(2.0, 0.5, 1.5, 1e10).0, 9.999_999_997_645_833e-11, 1e-10);
}

/// Theorem 5.4.2 by hand, and above the symmetrised risk, which the other bound divides differently.
#[test]
fn the_bound_of_theorem_5_4_2_has_its_values_and_holds() {
    close(normal_variance_map_bound(1.0, 2.0, 10.0), 0.1, 1e-15);
    close(normal_variance_map_bound(10.0, 0.5, 5.0), 0.125 + 0.15, 1e-15);
    close(normal_variance_map_bound(2.0, 3.0, 1.0), 1.0 / 6.0 + 0.25, 1e-15);
    for n in [1.0, 2.0, 3.0, 5.0, 10.0, 100.0, 1e4] {
        for n0 in [0.03, 0.3, 1.0, 10.0, 100.0] {
            for r in [0.03, 0.5, 1.0, 2.0, 30.0] {
                let symmetrised = gamma_map_symmetrised(0.5, n0, r, n);
                let bound = normal_variance_map_bound(n0, r, n);
                assert!(
                    symmetrised <= bound * (1.0 + 1e-12),
                    "{n} {n0} {r}: {symmetrised} {bound}"
                );
            }
        }
    }
    assert!(normal_variance_map_bound(1.0, 2.0, 0.0).is_nan());
    assert!(normal_variance_map_bound(1.0, f64::NAN, 3.0).is_nan());
}

/// `n` times the mean symmetrised divergence of the estimate from its mean over the last observation, by two nested quadratures.
#[test]
fn the_variance_of_map_is_below_n_times_that_of_one_step() {
    close(gamma_map_variance_bound(0.5, 1.0, 2.0, 5.0), 0.101_701_697_663, 1e-9);
    close(gamma_map_variance_bound(1.0, 2.0, 0.5, 3.0), 0.192_694_724_646, 1e-9);
    close(gamma_map_variance_bound(0.5, 4.0, 1.0, 9.0), 0.053_135_226_359, 1e-9);
    for n in [1.0, 2.0, 5.0, 30.0, 1e3] {
        for (shape, n0, r) in [(0.5, 1.0, 2.0), (1.0, 0.1, 5.0), (3.0, 10.0, 0.2)] {
            let (bias, variance) = gamma_map_parts(shape, n0, r, n);
            let bound = gamma_map_variance_bound(shape, n0, r, n);
            assert!(bias >= 0.0 && variance >= 0.0 && variance <= bound, "{shape} {n0} {r} {n}");
        }
    }
}

/// `A*(x) = sqrt(1 + x^2)`, whose slopes and curvatures are at most 1, with normal observations: risks by quadrature.
#[test]
fn smooth_and_lipschitz_conjugates_have_the_bounds_of_a_quadratic_one() {
    for (n0, distance, n, risk) in
        [(2.0, 1.7, 4.0, 0.098_974_614_482), (1.0, 2.0, 10.0, 0.032_748_719_798)]
    {
        let (smooth, lipschitz) = (
            smooth_map_bound(1.0, 1, n0, distance, n),
            lipschitz_map_bound(1.0, 1, n0, distance, n),
        );
        assert!(risk <= smooth && smooth <= lipschitz, "{risk} {smooth} {lipschitz}");
    }
    close(smooth_map_bound(1.0, 1, 2.0, 1.7, 4.0), 0.216_111_111_111, 1e-11);
    close(lipschitz_map_bound(1.0, 1, 2.0, 1.7, 4.0), 1.314_872_194_888, 1e-11);
}
