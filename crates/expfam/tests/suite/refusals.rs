//! What is refused: matrices, constant data, other fixed quantities, files.

use fenchel_expfam::families::*;
use fenchel_expfam::*;
use ndarray::{Array2, array};

fn constant<F: Density + Clone>(family: F, x: F::Point)
where
    F::Point: Sized + Clone,
{
    for n in [2, 3, 7, 10] {
        let name = family.name();
        let found = mle(family.clone(), &vec![x.clone(); n]);
        assert!(
            matches!(found, Err(Error::BoundaryMean { .. })),
            "{name}, {n}: {:?}",
            found.map(|p| p.natural().to_vec())
        );
        let mut streamed = Summary::new(family.clone());
        (0..n).for_each(|_| streamed.observe(&x).unwrap());
        let found = streamed.mle();
        assert!(
            matches!(found, Err(Error::BoundaryMean { .. })),
            "{name}, streamed: {:?}",
            found.map(|p| p.natural().to_vec())
        );
    }
}

#[test]
fn constant_data_have_no_maximum() {
    for x in [0.1, 0.3, 2.0, 0.7] {
        constant(Gamma, x);
        constant(InverseGamma, x);
        constant(InverseGaussian, x);
        constant(LogNormal, x);
        constant(Normal, x);
        constant(VonMises, x);
    }
    for x in [0.1, 0.3, 0.7] {
        constant(Beta, x);
    }
    let matrix = array![[0.3, 0.1], [0.1, 0.7]];
    constant(Wishart::new(2).unwrap(), matrix.clone());
    constant(InverseWishart::new(2).unwrap(), matrix);
    let each = |found: Result<Vec<f64>, Error>, name: &str| {
        assert!(matches!(found, Err(Error::BoundaryMean { .. })), "{name}: {found:?}");
    };
    let shares = [[0.1, 0.2, 0.7]; 7];
    let of = Summary::of_each(Dirichlet::new(3).unwrap(), shares.iter().map(|x| &x[..])).unwrap();
    each(of.mle().map(|p| p.natural().to_vec()), "Dirichlet");
    let points = [[0.6, 0.0, 0.8]; 7];
    let of =
        Summary::of_each(VonMisesFisher::new(3).unwrap(), points.iter().map(|x| &x[..])).unwrap();
    each(of.mle().map(|p| p.natural().to_vec()), "von Mises-Fisher");
    let points = [[0.1, 0.7]; 7];
    let rows = || points.iter().map(|x| &x[..]);
    each(
        Summary::of_each(NormalVector::new(2).unwrap(), rows())
            .unwrap()
            .mle()
            .map(|p| p.natural().to_vec()),
        "normal",
    );
    each(
        Summary::of_each(IsotropicNormal::new(2).unwrap(), rows())
            .unwrap()
            .mle()
            .map(|p| p.natural().to_vec()),
        "isotropic",
    );
    each(
        Summary::of_each(NormalGamma, rows()).unwrap().mle().map(|p| p.natural().to_vec()),
        "normal-gamma",
    );
}

#[test]
fn a_scale_that_is_not_positive_definite_is_called_a_scale() {
    let bad = array![[1.0, 2.0], [2.0, 1.0]];
    let inverse = InverseWishart::new(2).unwrap().with_scale_degrees(bad.view(), 5.0);
    let inverse = inverse.unwrap_err().to_string();
    assert!(inverse.contains("scale") && !inverse.contains("inverse scale"), "{inverse}");
}

#[test]
fn matrices_that_are_not_square_or_not_symmetric_are_refused() {
    let mean = array![0.0, 0.0];
    let crooked = array![[2.0, 0.9], [0.0, 2.0]];
    let tall = array![[2.0], [1.0]];
    let wide = array![[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
    let mut rng = fenchel_optim::random::stream(1, 0);
    for bad in [&crooked, &tall, &wide] {
        let m = bad.view();
        assert!(InverseWishart::new(2).unwrap().with_scale_degrees(m, 5.0).is_err());
        assert!(Wishart::new(2).unwrap().with_scale_degrees(m, 5.0).is_err());
        assert!(NormalVector::new(2).unwrap().with_mean_covariance(mean.view(), m).is_err());
        assert!(NormalVector::new(2).unwrap().with_natural(mean.view(), m).is_err());
        assert!(NormalVectorKnownCovariance::new(m).is_err());
        assert!(samplers::NormalVector::new(mean.view(), m).is_err());
        assert!(samplers::NormalVector::from_natural(mean.view(), m).is_err());
        assert!(samplers::Wishart::new(m, 5.0).is_err());
        assert!(samplers::InverseWishart::new(m, 5.0).is_err());
        let law = Wishart::new(2).unwrap().with_scale_degrees(Array2::eye(2).view(), 5.0).unwrap();
        assert!(law.log_density(bad).is_err());
    }
    // What rounding does to a symmetric matrix is no reason.
    let near = array![[2.0, 0.9], [0.9 + 1e-15, 2.0]];
    let law = Wishart::new(2).unwrap().with_scale_degrees(near.view(), 5.0).unwrap();
    assert!(law.log_density(&law.sample(&mut rng)).is_ok());
}

#[test]
fn other_fixed_quantities_are_refused() {
    let mut left = Summary::of(NormalKnownMean::new(0.0).unwrap(), &[1.0, 2.0]).unwrap();
    let right = Summary::of(NormalKnownMean::new(100.0).unwrap(), &[99.0, 102.0]).unwrap();
    assert!(matches!(left.merge(&right), Err(Error::Unavailable { .. })));
    assert!(Prior::from_summary(left).unwrap().posterior(&right).is_err());
    let p = Binomial::new(5).unwrap().with_p(0.3).unwrap();
    let q = Binomial::new(100).unwrap().with_p(0.3).unwrap();
    assert!(p.kl(&q).is_nan() && p.try_kl(&q).is_err() && p.symmetrised_kl(&q).is_nan());
    let standard = |d: usize| {
        let mean = ndarray::Array1::zeros(d);
        NormalVector::new(d)
            .unwrap()
            .with_mean_covariance(mean.view(), Array2::eye(d).view())
            .unwrap()
    };
    assert!(standard(2).kl(&standard(3)).is_nan());
}

#[test]
fn a_damaged_summary_is_not_read() {
    let summary = Summary::of(Normal, &[1.0, 2.0]).unwrap();
    let text = serde_json::to_string(&summary).unwrap();
    assert_eq!(serde_json::from_str::<Summary<Normal>>(&text).unwrap(), summary);
    for (weight, centred) in [("-3", "[1, 1]"), ("3", "[1]"), ("1", "[null, 1]")] {
        let text = format!(r#"{{"family":null,"weight":{weight},"centred":{centred}}}"#);
        assert!(serde_json::from_str::<Summary<Normal>>(&text).is_err(), "{text}");
    }
}

/// A refusal names the argument of the caller, not a natural parameter that rounding made of it.
#[test]
fn shapes_that_vanish_beside_one_are_named() {
    let told = |found: Result<(), Error>| found.unwrap_err().to_string();
    let expected =
        " = 1e-300; expected more than 5.6e-17: the natural parameter is this number less 1";
    for (name, found) in [
        ("shape", told(Gamma.with_shape_rate(1e-300, 1.0).map(drop))),
        ("shape", told(InverseGamma.with_shape_scale(1e-300, 1.0).map(drop))),
        ("a", told(Beta.with_shapes(1e-300, 1.0).map(drop))),
        ("b", told(Beta.with_shapes(1.0, 1e-300).map(drop))),
        (
            "concentration",
            told(Dirichlet::new(2).unwrap().with_concentrations(&[1.0, 1e-300]).map(drop)),
        ),
    ] {
        assert_eq!(found, format!("{name}{expected}"));
    }
    assert!(Gamma.with_shape_rate(6e-17, 1.0).is_ok());
    let degrees = told(ChiSquared.with_degrees(1e-300).map(drop));
    assert!(degrees.starts_with("half of the degrees = 5e-301; expected more than"), "{degrees}");
}

#[test]
fn estimates_beyond_the_range_of_numbers_say_so() {
    let told = mle(Normal, &[1e300, -1e300]).unwrap_err().to_string();
    let expected = "an estimate in the range of numbers is not available for the normal family";
    assert!(told.starts_with(expected) && told.contains("divide the data"), "{told}");
}
