//! The method of moments in general: solves `g(theta) = mu`, where `mu` is the sample mean of the moments.
//!
//! | function | equations | solver |
//! |---|---|---|
//! | [`method_of_moments`] | as many as parameters | damped Newton |
//! | [`generalised_method_of_moments`] | more (Hansen, Econometrica 50, 1982) | two steps of Gauss-Newton, weights from the first |
//! | [`uniform_from_moments`] | two, closed form | |
//! | [`gaussian_single_index`] | `E[y (x - mu)] = Sigma w`, normal features | a linear system |
//!
//! Source: D. Babichev, PhD thesis 2019, section 1.1.1. If the last row of the table is read as `E[x x'] w = E[x y]`,
//! it gives the normal equations of linear regression.

use fenchel_linalg::factor::{Triangle, inverse, least_squares, solve_triangular};
use fenchel_linalg::{AsDesign, Cholesky, Invalid};
use fenchel_optim::MAX_MEMORY;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

use crate::blocks::{Blocks, checked, fold};
use crate::error::Error;
use crate::response::Response;
use crate::transform::ResponseTransform;
use crate::whitening::Whitening;

/// Moments as a function of parameters.
pub trait Moments {
    /// The number of parameters.
    fn parameters(&self) -> usize;

    /// The number of moments, at least that of the parameters.
    fn moments(&self) -> usize;

    /// `g(theta)`; not finite outside the domain.
    fn value(&self, theta: ArrayView1<f64>) -> Array1<f64>;

    /// The derivative of `g`, moments x parameters.
    fn jacobian(&self, theta: ArrayView1<f64>) -> Array2<f64>;
}

/// Iterations after which Newton's method gives up.
const ITERATIONS: usize = 50;

/// What a difference may be at most, relative to the terms of its moment.
const SOLVED: f64 = 1e-10;

/// Solves `g(theta) = observed`, as far as rounding allows. In every moment the difference is at most 1e-10 of
/// `|g| + |observed| + sum_j |dg/dtheta_j theta_j|`, whatever the units.
///
/// ```
/// use fenchel_moments::gmm::{Moments, method_of_moments};
/// use ndarray::{Array1, Array2, ArrayView1, array};
///
/// /// Mean and second moment of a normal distribution.
/// struct Normal;
///
/// impl Moments for Normal {
///     fn parameters(&self) -> usize { 2 }
///     fn moments(&self) -> usize { 2 }
///     fn value(&self, t: ArrayView1<f64>) -> Array1<f64> { array![t[0], t[0] * t[0] + t[1]] }
///     fn jacobian(&self, t: ArrayView1<f64>) -> Array2<f64> { array![[1.0, 0.0], [2.0 * t[0], 1.0]] }
/// }
///
/// let theta = method_of_moments(&Normal, array![3.0, 13.0].view(), array![0.0, 1.0].view())?;
/// assert!((theta[1] - 4.0).abs() < 1e-9);
/// # Ok::<(), fenchel_moments::Error>(())
/// ```
///
/// # Errors
/// [`Invalid::Length`]; [`Invalid::RankDeficient`] where the Jacobian cannot be inverted; [`Error::NoSolution`].
pub fn method_of_moments(
    problem: &dyn Moments,
    observed: ArrayView1<f64>,
    start: ArrayView1<f64>,
) -> Result<Array1<f64>, Error> {
    let (p, q) = (problem.parameters(), problem.moments());
    Invalid::check_length("observed moments", q, observed.len())?;
    Invalid::check_length("start", p, start.len())?;
    Invalid::check_length("moments (one a parameter)", p, q)?;
    Invalid::check_finite("observed moments", &observed.to_vec())?;
    Invalid::check_finite("start", &start.to_vec())?;
    check_shapes(problem, start)?;
    // Differences, the size of the terms of each moment, and the largest difference in units of these.
    let distance = |theta: &Array1<f64>| {
        let value = problem.value(theta.view());
        let terms = problem.jacobian(theta.view()).mapv(f64::abs).dot(&theta.mapv(f64::abs));
        let rest = &value - &observed;
        let units = value.mapv(f64::abs) + observed.mapv(f64::abs) + terms;
        let units = units.mapv(|u| if u > 0.0 { u } else { 1.0 });
        let far = (&rest / &units)
            .iter()
            .fold(0.0, |m: f64, v| if v.is_nan() { f64::INFINITY } else { m.max(v.abs()) });
        (rest, units, far)
    };
    // In these units, and with columns of largest entry 1, a Jacobian has full rank whatever the units of the parameters.
    let newton = |theta: &Array1<f64>, rest: &Array1<f64>, units: &Array1<f64>| {
        let rows = units.view().insert_axis(Axis(1));
        let scaled = problem.jacobian(theta.view()) / rows;
        let largest = scaled.map_axis(Axis(0), |c| c.fold(0.0, |m: f64, v| m.max(v.abs())));
        let largest = largest.mapv(|v| if v > 0.0 { v } else { 1.0 });
        let step = least_squares((scaled / &largest).view(), (rest / units).view())?;
        Ok::<_, Error>(step / largest)
    };
    let size = |rest: &Array1<f64>| {
        rest.iter().fold(0.0, |m: f64, v| if v.is_nan() { f64::INFINITY } else { m.max(v.abs()) })
    };
    let mut theta = start.to_owned();
    let (mut rest, mut units, mut far) = distance(&theta);
    // On until rounding stops it: the moments determine small parameters by their last digits.
    'newton: for _ in 0..ITERATIONS {
        if far == 0.0 {
            break;
        }
        let step = match newton(&theta, &rest, &units) {
            Err(_) if far <= SOLVED => break,
            found => found?,
        };
        let mut length = 1.0;
        loop {
            let next = &theta - &(&step * length);
            let (next_rest, next_units, next_far) = distance(&next);
            let falls = |new: f64, old: f64| new < old * (1.0 - 1e-4 * length);
            // Far from the solution the differences themselves fall; near it, in units of their moments.
            if next_far.is_finite()
                && (falls(size(&next_rest), size(&rest)) || (far < 0.1 && falls(next_far, far)))
            {
                (theta, rest, units, far) = (next, next_rest, next_units, next_far);
                break;
            }
            length *= 0.5;
            if length < 1e-10 {
                break 'newton;
            }
        }
    }
    if far <= SOLVED {
        return Ok(theta);
    }
    Err(Error::NoSolution { iterations: ITERATIONS, residual: size(&rest) })
}

/// Refuses functions whose values have other shapes than they say.
fn check_shapes(problem: &dyn Moments, theta: ArrayView1<f64>) -> Result<(), Invalid> {
    let (p, q) = (problem.parameters(), problem.moments());
    Invalid::check_length("value of the moments", q, problem.value(theta).len())?;
    let (rows, columns) = problem.jacobian(theta).dim();
    Invalid::check_length("rows of the Jacobian", q, rows)?;
    Invalid::check_length("columns of the Jacobian", p, columns)
}

/// An estimate from more moments than parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct GmmFit {
    /// The parameters.
    pub theta: Array1<f64>,
    /// Their covariance.
    pub covariance: Array2<f64>,
    /// Hansen's statistic, chi-squared with `moments - parameters` degrees of freedom if all moments are right.
    pub statistic: f64,
}

/// Minimises `(mean - g)' W (mean - g)` over `theta`, given samples of the moments (one sample per row). The first step
/// divides every moment by its standard deviation. The second step takes for `W` the inverse of the covariance of the
/// moments.
///
/// # Errors
/// As [`method_of_moments`]; [`Invalid::NotPositiveDefinite`] if the moments depend on one another.
pub fn generalised_method_of_moments(
    problem: &dyn Moments,
    samples: ArrayView2<f64>,
    start: ArrayView1<f64>,
) -> Result<GmmFit, Error> {
    let (p, q) = (problem.parameters(), problem.moments());
    Invalid::check_length("columns of the samples of moments", q, samples.ncols())?;
    Invalid::check_length("start", p, start.len())?;
    check_shapes(problem, start)?;
    let n = samples.nrows();
    if n < 2 || q < p {
        let expected = "at least 2 samples, at least as many moments as parameters";
        return Err(Invalid::Parameter { name: "moments", value: q as f64, expected }.into());
    }
    let mean = samples.sum_axis(Axis(0)) / n as f64;
    let centred = &samples - &mean;
    let covariance = centred.t().dot(&centred) / n as f64;
    let scale = covariance.diag().mapv(|v| 1.0 / v.sqrt().max(f64::MIN_POSITIVE.sqrt()));
    let first = gauss_newton(problem, &mean, &Array2::from_diag(&scale), start.to_owned())?;
    // Rows of L^{-1}: W = L^{-T} L^{-1}.
    let factor = Cholesky::new(covariance.view())?;
    let root = solve_triangular(factor.lower(), Triangle::Lower, Array2::eye(q).view())?;
    let theta = gauss_newton(problem, &mean, &root, first)?;
    let rest = root.dot(&(&mean - &problem.value(theta.view())));
    let slope = root.dot(&problem.jacobian(theta.view()));
    let information = slope.t().dot(&slope) * n as f64;
    let covariance = inverse(&Cholesky::new(information.view())?);
    Ok(GmmFit { theta, covariance, statistic: n as f64 * rest.dot(&rest) })
}

/// Minimises `||root (mean - g(theta))||`.
fn gauss_newton(
    problem: &dyn Moments,
    mean: &Array1<f64>,
    root: &Array2<f64>,
    mut theta: Array1<f64>,
) -> Result<Array1<f64>, Error> {
    let rest = |theta: &Array1<f64>| root.dot(&(mean - &problem.value(theta.view())));
    let mut r = rest(&theta);
    for _ in 0..ITERATIONS {
        let slope = root.dot(&problem.jacobian(theta.view()));
        let step = least_squares(slope.view(), r.view())?;
        let slope_along = slope.dot(&step);
        // What the linear model would gain.
        let gain = slope_along.dot(&slope_along);
        if gain <= 1e-20 * (1.0 + r.dot(&r)) {
            return Ok(theta);
        }
        let mut length = 1.0;
        loop {
            let next = &theta + &(&step * length);
            let next_r = rest(&next);
            if next_r.dot(&next_r) < r.dot(&r) {
                (theta, r) = (next, next_r);
                break;
            }
            length *= 0.5;
            if length < 1e-10 {
                // No descent in floating point: this is the minimum.
                return Ok(theta);
            }
        }
    }
    Err(Error::NoSolution { iterations: ITERATIONS, residual: r.dot(&r).sqrt() })
}

/// The uniform distribution with these first two moments: `mean -+ sqrt(3 (second - mean^2))`.
///
/// It takes moments, not a sample, and the interval need not contain all observed points: `{0, 0, 0, 0, 10}` has mean 2 and variance 16, so the upper end
/// is `2 + sqrt 48 = 8.93`.
///
/// ```
/// # use fenchel_moments::gmm::uniform_from_moments;
/// // Of {0, 1, 2, 3, 4}.
/// let (a, b) = uniform_from_moments(2.0, 6.0)?;
/// assert!((a - (2.0 - 6_f64.sqrt())).abs() < 1e-15 && (b - (2.0 + 6_f64.sqrt())).abs() < 1e-15);
/// # Ok::<(), fenchel_moments::Error>(())
/// ```
///
/// # Errors
/// [`Invalid::Parameter`] unless `second > mean^2`.
pub fn uniform_from_moments(mean: f64, second: f64) -> Result<(f64, f64), Error> {
    let variance = second - mean * mean;
    if !(variance > 0.0 && variance.is_finite()) {
        let expected = "more than the square of the mean";
        return Err(Invalid::Parameter { name: "second moment", value: second, expected }.into());
    }
    let half = (3.0 * variance).sqrt();
    Ok((mean - half, mean + half))
}

/// `Sigma^{-1} (1/n) sum_i (y_i - mean)(x_i - mean)`, without normalisation. For normal features this vector is
/// proportional to the direction of a single-index model (Brillinger's theorem). It is also the vector of slopes of
/// linear regression.
///
/// # Errors
/// [`Error::Singular`]; [`Error::Invalid`] for data of the wrong shape or that are not finite.
pub fn gaussian_single_index<'a, X: AsDesign + ?Sized>(
    x: &X,
    y: impl Into<ArrayView1<'a, f64>>,
) -> Result<Array1<f64>, Error> {
    let data = checked(x)?;
    let response = Response::from(y.into());
    response.check(data.count())?;
    let (y, unit) = ResponseTransform::Center.apply(response.values());
    let whitening = Whitening::of(&data, MAX_MEMORY)?;
    let n = data.count();
    let d = data.width();
    let parts = fold(
        &data,
        || Array1::<f64>::zeros(d),
        |sum, first, rows| {
            for (i, row) in rows.rows().into_iter().enumerate() {
                sum.scaled_add(y[first + i], &(&row - &whitening.mean));
            }
            Ok(())
        },
    )?;
    let cross = parts.into_iter().fold(Array1::<f64>::zeros(d), |s, p| s + p) / n as f64;
    let slopes = whitening.back().dot(&whitening.map.dot(&cross)) * unit;
    Invalid::check_finite("slopes", &slopes.to_vec())?;
    Ok(slopes)
}
