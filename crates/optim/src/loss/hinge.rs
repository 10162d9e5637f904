//! The hinge loss of support vector machines, plain, squared and smoothed.

use fenchel_linalg::Invalid;

use super::{DOMAIN_SLACK, Loss, check_sign, onto_domain};

/// `max(0, 1 - yt)` with `y` in {-1, +1}. It is not smooth, so that only dual methods accept it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hinge;

impl Loss for Hinge {
    const NAME: &'static str = "hinge";

    #[inline]
    fn value(&self, t: f64, y: f64) -> f64 {
        (1.0 - y * t).max(0.0)
    }

    #[inline]
    fn derivative(&self, t: f64, y: f64) -> f64 {
        if y * t < 1.0 { -y } else { 0.0 }
    }

    piecewise_linear!();

    #[inline]
    fn conjugate(&self, u: f64, y: f64) -> f64 {
        let p = -y * u;
        if !(-DOMAIN_SLACK..=1.0 + DOMAIN_SLACK).contains(&p) {
            return f64::INFINITY;
        }
        -p.clamp(0.0, 1.0)
    }

    #[inline]
    fn conjugate_derivative(&self, _: f64, y: f64) -> f64 {
        y
    }

    #[inline]
    fn dual_step(&self, m: f64, q: f64, y: f64, _: f64) -> f64 {
        let excess = 1.0 - y * m;
        let p = if excess >= q {
            1.0
        } else if excess <= 0.0 {
            0.0
        } else {
            excess / q
        };
        -y * p
    }

    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid> {
        check_sign(row, y)
    }
}

/// `max(0, 1 - yt)^2 / 2` with `y` in {-1, +1}.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SquaredHinge;

impl Loss for SquaredHinge {
    const NAME: &'static str = "squared hinge";

    #[inline]
    fn value(&self, t: f64, y: f64) -> f64 {
        let excess = (1.0 - y * t).max(0.0);
        0.5 * excess * excess
    }

    #[inline]
    fn derivative(&self, t: f64, y: f64) -> f64 {
        -y * (1.0 - y * t).max(0.0)
    }

    #[inline]
    fn second(&self, t: f64, y: f64) -> f64 {
        if y * t < 1.0 { 1.0 } else { 0.0 }
    }

    #[inline]
    fn curvature(&self) -> f64 {
        1.0
    }

    #[inline]
    fn conjugate(&self, u: f64, y: f64) -> f64 {
        let p = -y * u;
        if p < -DOMAIN_SLACK {
            return f64::INFINITY;
        }
        let p = p.max(0.0);
        p * (0.5 * p - 1.0)
    }

    #[inline]
    fn conjugate_derivative(&self, u: f64, y: f64) -> f64 {
        u + y
    }

    #[inline]
    fn dual_step(&self, m: f64, q: f64, y: f64, _: f64) -> f64 {
        -y * ((1.0 - y * m) / (1.0 + q)).max(0.0)
    }

    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid> {
        check_sign(row, y)
    }
}

/// The hinge with its kink smoothed over a width `g`, for `y` in {-1, +1}. With `e = 1 - yt`, it is 0 for `e <= 0`,
/// `e^2 / (2g)` for `0 <= e <= g`, and `e - g/2` for `e >= g`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmoothedHinge {
    /// The width `g > 0`. The loss is below the plain hinge by at most `g/2`.
    pub width: f64,
}

impl Loss for SmoothedHinge {
    const NAME: &'static str = "smoothed hinge";

    #[inline]
    fn value(&self, t: f64, y: f64) -> f64 {
        let excess = (1.0 - y * t).max(0.0);
        if excess < self.width {
            0.5 * excess * (excess / self.width)
        } else {
            excess - 0.5 * self.width
        }
    }

    #[inline]
    fn derivative(&self, t: f64, y: f64) -> f64 {
        -y * ((1.0 - y * t) / self.width).clamp(0.0, 1.0)
    }

    #[inline]
    fn second(&self, t: f64, y: f64) -> f64 {
        let excess = 1.0 - y * t;
        if excess > 0.0 && excess < self.width { 1.0 / self.width } else { 0.0 }
    }

    #[inline]
    fn curvature(&self) -> f64 {
        1.0 / self.width
    }

    #[inline]
    fn conjugate(&self, u: f64, y: f64) -> f64 {
        let Some(p) = onto_domain(-y * u, 0.0, 1.0) else { return f64::INFINITY };
        p * (0.5 * self.width * p - 1.0)
    }

    #[inline]
    fn conjugate_derivative(&self, u: f64, y: f64) -> f64 {
        self.width * u + y
    }

    #[inline]
    fn dual_step(&self, m: f64, q: f64, y: f64, _: f64) -> f64 {
        -y * ((1.0 - y * m) / (self.width + q)).clamp(0.0, 1.0)
    }

    fn check(&self) -> Result<(), Invalid> {
        Invalid::check_positive("smoothed_hinge.width", self.width)
    }

    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid> {
        check_sign(row, y)
    }
}
