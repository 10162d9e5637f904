//! Minimisation of one convex function, as a special case of a saddle point problem.
//!
//! ```text
//! min_x f(x)   over the domain of a setup
//! ```
//!
//! | method | assumption | step | error after `T` steps |
//! |---|---|---|---|
//! | [`mirror_minimise`], Euclidean setup | subgradients of norm `B` at most | `R/(B sqrt(T))` | `R B / sqrt(T)`, Theorem 1.1 |
//! | [`mirror_minimise`] | dual norm `B` at most | `sqrt(2 Omega)/(B sqrt(T))` | `B sqrt(2 Omega/T)`, Theorem 1.4 |
//! | the same with a random [`Slope`] | second moment `B^2` at most | the same | the same in expectation, Theorem 1.5 |
//! | [`projected_gradient`] | gradients are `L`-Lipschitz | `1/L` | `4 L norm(x_1 - x*)^2 / T`, Theorem 1.2 |
//! | the same | also `mu`-strongly convex | `1/L` | `norm(x - x*)^2` falls like `e^{-T mu/L}`, Theorem 1.3 |
//!
//! The theorems are those of D. Babichev, PhD thesis 2019, chapter 1. `T` is the number of steps, `R` bounds the
//! distance of a solution from the start, and `Omega` is the radius of the setup. (The thesis prints the steps of
//! Theorems 1.1, 1.4 and 1.5 as decreasing with `t`, but its constants are those of a constant step for a known `T`.)
//! A function of one block is treated as a saddle point problem whose other block is a single point. For smooth
//! problems with penalties, `optim::fista` is faster.

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Iterative, Observer, Solution, Stop, run};

use crate::Error;
use crate::methods::mirror_descent::{
    MirrorDescent, MirrorDescentSettings, Potential, mirror_descent,
};
use crate::problem::{SaddleProblem, SaddleState};
use crate::setup::{Setup, Simplexes};

/// A convex function with exact or random subgradients.
pub trait Slope {
    /// `f(x)`.
    fn value(&self, x: &[f64]) -> f64;

    /// A subgradient at `x`, or an unbiased estimate of one.
    fn slope(&self, x: &[f64], out: &mut [f64]);

    /// A lower bound of the minimum, if one is known.
    fn lower_bound(&self) -> f64 {
        f64::NEG_INFINITY
    }
}

struct OneSided<'a> {
    function: &'a dyn Slope,
    setup: &'a dyn Setup,
    other: Simplexes,
}

impl SaddleProblem for OneSided<'_> {
    fn x_setup(&self) -> &dyn Setup {
        self.setup
    }

    fn y_setup(&self) -> &dyn Setup {
        &self.other
    }

    fn field(&self, x: &[f64], _: &[f64], gx: &mut [f64], gy: &mut [f64]) {
        self.function.slope(x, gx);
        gy.fill(0.0);
    }

    fn coupling(&self) -> f64 {
        0.0
    }

    fn objective(&self, x: &[f64]) -> f64 {
        self.function.value(x)
    }

    fn lower_bound(&self, _: &[f64]) -> f64 {
        self.function.lower_bound()
    }
}

/// Makes `steps` steps of mirror descent along subgradients whose dual norm (or its root mean square) is at most
/// `bound`. The `x` of the state is the average. The certificate is a gap if the function has a lower bound.
///
/// # Errors
/// [`Error::Invalid`] for a bound that is not positive, or limits out of range.
pub fn mirror_minimise<O>(
    function: &dyn Slope,
    setup: &dyn Setup,
    bound: f64,
    steps: u64,
    stop: &Stop,
    observer: &mut O,
) -> Result<Solution<SaddleState>, Error>
where
    O: for<'b> Observer<MirrorDescent<'b>>,
{
    let problem = OneSided { function, setup, other: Simplexes::new(1, 1) };
    let settings = MirrorDescentSettings {
        potential: Potential::Fields { x: bound, y: 1.0 },
        horizon: Some(steps),
        stop: Stop { max_passes: stop.max_passes.min(steps as f64), ..*stop },
        ..MirrorDescentSettings::default()
    };
    mirror_descent(&problem, &settings, None, observer)
}

/// The running method of [`projected_gradient`].
pub struct ProjectedGradient<'a> {
    function: &'a dyn Slope,
    setup: &'a dyn Setup,
    step: f64,
    place: Vec<f64>,
    x: Vec<f64>,
    slope: Vec<f64>,
}

impl ProjectedGradient<'_> {
    /// The point.
    pub fn point(&self) -> &[f64] {
        &self.x
    }
}

impl Iterative for ProjectedGradient<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let mut done = 0.0;
        loop {
            self.function.slope(&self.x, &mut self.slope);
            self.setup.step(&mut self.place, &self.slope, self.step);
            self.setup.point(&self.place, &mut self.x);
            self.setup.contain(&mut self.x);
            done += 1.0;
            if done >= passes - 1e-9 {
                return done;
            }
        }
    }

    fn certify(&mut self) -> Certificate {
        Certificate::gap(self.function.value(&self.x), self.function.lower_bound())
    }
}

/// Makes projected gradient steps of length `1/smoothness` from `start`. Returns the last point.
///
/// # Errors
/// [`Error::Invalid`] for a smoothness that is not positive, a start of another length, or limits out of range.
pub fn projected_gradient<'a, O>(
    function: &'a dyn Slope,
    setup: &'a dyn Setup,
    smoothness: f64,
    start: &[f64],
    stop: &Stop,
    observer: &mut O,
) -> Result<Solution<Vec<f64>>, Error>
where
    O: Observer<ProjectedGradient<'a>>,
{
    Invalid::check_positive("smoothness", smoothness)?;
    Invalid::check_length("start", setup.dimension(), start.len())?;
    Invalid::check_finite("start", start)?;
    let mut place = vec![0.0; setup.coordinates()];
    setup.place(start, &mut place);
    let (x, slope) = (start.to_vec(), vec![0.0; start.len()]);
    let mut method = ProjectedGradient { function, setup, step: 1.0 / smoothness, place, x, slope };
    let report = run(&mut method, stop, observer)?;
    Ok(Solution { state: method.x, report })
}
