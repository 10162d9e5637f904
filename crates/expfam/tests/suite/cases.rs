//! The families of the tests, each with natural parameters inside of its domain, awkward ones among them.

use fenchel_expfam::*;

/// A family of numbers.
pub(super) type Univariate = Box<dyn Sample<Point = f64, Owned = f64>>;

/// Families of numbers with natural parameters.
pub(super) fn univariate() -> Vec<(Univariate, Vec<Vec<f64>>)> {
    let one = |values: &[f64]| values.iter().map(|&v| vec![v]).collect::<Vec<_>>();
    let scale = || one(&[-1e-8, -0.3, -1.0, -7.5, -1e8]);
    vec![
        (Box::new(Bernoulli), one(&[-700.0, -40.0, -1.3, 0.0, 1e-9, 2.5, 40.0])),
        (
            Box::new(Gamma),
            vec![
                vec![-0.999, -1e-3],
                vec![0.0, -1.0],
                vec![1.7, -4.0],
                vec![1e8, -2.0],
                vec![50.0, -1e-6],
            ],
        ),
        (
            Box::new(Normal),
            vec![
                vec![0.0, -0.5],
                vec![3.0, -0.02],
                vec![1e6, -5e5],
                vec![-4.0, -100.0],
                vec![1e-3, -1e-8],
            ],
        ),
        (Box::new(Exponential), scale()),
        (Box::new(GammaKnownShape::new(0.4).unwrap()), scale()),
        (Box::new(Rayleigh), scale()),
        (Box::new(Weibull::new(1.7).unwrap()), scale()),
        (Box::new(Pareto::new(2.0).unwrap()), one(&[-0.5, -1.0, -3.0, -1e4])),
        (Box::new(Laplace::new(1.5).unwrap()), scale()),
        (Box::new(NormalKnownMean::default()), scale()),
    ]
}
