//! The families of the tests, each with natural parameters inside of its domain, awkward ones among them.

use fenchel_expfam::families::*;
use fenchel_expfam::*;
use ndarray::array;

/// The number of random problems: `FENCHEL_PROBLEMS`, or `few`.
pub(super) fn problems(few: usize) -> usize {
    std::env::var("FENCHEL_PROBLEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(few)
}

/// A family of numbers.
pub(super) type Univariate = Box<dyn Sample<Point = f64, Owned = f64>>;

/// A family with natural parameters.
pub(super) type Members<F> = (F, Vec<Vec<f64>>);

/// Families of numbers with natural parameters.
pub(super) fn univariate() -> Vec<Members<Univariate>> {
    let one = |values: &[f64]| values.iter().map(|&v| vec![v]).collect::<Vec<_>>();
    let scale = || one(&[-1e-8, -0.3, -1.0, -7.5, -1e8]);
    let failures = || one(&[-1e-4, -0.3, -2.0, -30.0]);
    let gamma = vec![
        vec![-0.9, -1e-3],
        vec![0.0, -1.0],
        vec![1.7, -4.0],
        vec![1e8, -2.0],
        vec![50.0, -1e-6],
    ];
    let normal = vec![
        vec![0.0, -0.5],
        vec![3.0, -0.02],
        vec![1e6, -5e5],
        vec![-4.0, -100.0],
        vec![1e-3, -1e-8],
    ];
    let inverse_gamma = gamma.iter().map(|e| vec![-e[0] - 2.0, e[1]]).collect();
    vec![
        (Box::new(Bernoulli), one(&[-700.0, -40.0, -1.3, 0.0, 1e-9, 2.5, 40.0])),
        (Box::new(Binomial::new(12).unwrap()), one(&[-30.0, -1.3, 0.0, 0.4, 15.0])),
        (Box::new(Poisson), one(&[-20.0, -1.0, 0.5, 3.0, 9.0])),
        (Box::new(Geometric), failures()),
        (Box::new(NegativeBinomial::new(2.5).unwrap()), failures()),
        (Box::new(Logarithmic), one(&[-20.0, -1.0, -0.1, -1e-3])),
        (Box::new(ContinuousBernoulli), one(&[-600.0, -3.0, -1e-6, 0.0, 0.7, 5.0, 600.0])),
        (Box::new(Gamma), gamma),
        (Box::new(InverseGamma), inverse_gamma),
        (Box::new(ChiSquared), one(&[-0.9, 0.0, 3.0, 1e4])),
        (Box::new(Beta), vec![vec![-0.5, -0.7], vec![0.0, 0.0], vec![4.0, -0.5], vec![1e5, 3e5]]),
        (Box::new(Normal), normal.clone()),
        (Box::new(NormalKnownVariance::new(2.0).unwrap()), one(&[-1e4, 0.0, 0.7])),
        (Box::new(LogNormal), normal[..2].to_vec()),
        (
            Box::new(InverseGaussian),
            vec![vec![-0.5, -0.5], vec![-1e-4, -3.0], vec![-20.0, -20.0], vec![-3.0, -1e-3]],
        ),
        (
            Box::new(VonMises),
            vec![
                vec![0.0, 0.0],
                vec![1e-6, -1e-6],
                vec![1.0, 2.0],
                vec![-300.0, 50.0],
                vec![0.0, 1e6],
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

/// Families of vectors and matrices.
pub(super) fn others() -> Vec<Members<Box<dyn Family>>> {
    vec![
        (Box::new(Categorical::new(4).unwrap()), vec![vec![0.0; 3], vec![-3.0, 2.0, 5.0]]),
        (Box::new(Multinomial::new(9, 3).unwrap()), vec![vec![0.3, -4.0]]),
        (
            Box::new(Dirichlet::new(3).unwrap()),
            vec![vec![-0.99, 0.0, 3.0], vec![1e4, 2e4, 1e3], vec![0.0; 3]],
        ),
        (
            Box::new(NormalVector::new(2).unwrap()),
            vec![vec![0.3, -2.0, -1.0, 0.4, -2.0], vec![1e3, 10.0, -50.0, 3.0, -0.3]],
        ),
        (
            Box::new(NormalVector::new(3).unwrap()),
            vec![vec![0.3, -2.0, 1.0, -1.0, 0.4, -2.0, 0.1, -0.3, -0.5]],
        ),
        (
            Box::new(NormalVectorZeroMean::new(2).unwrap()),
            vec![vec![-1.0, 0.4, -2.0], vec![-50.0, 3.0, -0.3]],
        ),
        (
            Box::new(
                NormalVectorKnownCovariance::new(array![[2.0, -0.6], [-0.6, 0.5]].view()).unwrap(),
            ),
            vec![vec![0.3, -2.0], vec![1e3, 10.0], vec![0.0, 0.0]],
        ),
        (
            Box::new(NormalGamma),
            vec![
                vec![1.5, -2.0, 0.4, -0.3],
                vec![-0.3, -50.0, 3.0, -7.0],
                vec![200.0, -1e4, 0.1, -0.5],
            ],
        ),
        (
            Box::new(NormalWishart::new(2).unwrap()),
            vec![vec![0.8, -3.0, 0.4, -2.0, 0.3, -0.2, -0.6]],
        ),
        (
            Box::new(NormalWishart::new(3).unwrap()),
            vec![vec![0.8, -3.0, 0.4, -2.0, 0.1, -0.3, -1.5, 0.3, -0.2, 0.5, -0.6]],
        ),
        (Box::new(IsotropicNormal::new(3).unwrap()), vec![vec![0.3, 5.0, -1.0, -0.7]]),
        (Box::new(Independent::new(Gamma, 2).unwrap()), vec![vec![1.7, -4.0, -0.5, -3.0]]),
        (
            Box::new(Wishart::new(2).unwrap()),
            vec![vec![-1.0, 0.4, -2.0, 0.3], vec![-50.0, 3.0, -0.3, 90.0]],
        ),
        (Box::new(Wishart::new(3).unwrap()), vec![vec![-1.0, 0.4, -2.0, 0.1, -0.3, -0.5, 1.3]]),
        (Box::new(InverseWishart::new(2).unwrap()), vec![vec![-1.0, 0.4, -2.0, -3.3]]),
        (
            Box::new(VonMisesFisher::new(3).unwrap()),
            vec![vec![0.0; 3], vec![1.0, -2.0, 0.1], vec![500.0, 300.0, -5.0]],
        ),
        (Box::new(VonMisesFisher::new(12).unwrap()), vec![vec![0.3; 12], vec![40.0; 12]]),
    ]
}

/// Every family, by what does not need observations.
pub(super) fn all() -> Vec<Members<Box<dyn Family>>> {
    let mut all = others();
    all.extend(univariate().into_iter().map(|(f, etas)| (f as Box<dyn Family>, etas)));
    all
}
