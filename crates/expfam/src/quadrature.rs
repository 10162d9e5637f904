//! Quadrature on an interval: Gauss-Legendre with 16 points, and an adaptive rule on top of it.

/// Positive nodes of the rule of 16 points on `[-1, 1]`, with their weights.
#[allow(clippy::excessive_precision)]
const LEGENDRE: [(f64, f64); 8] = [
    (0.0950125098376374402, 0.189450610455068496),
    (0.281603550779258913, 0.182603415044923589),
    (0.458016777657227386, 0.169156519395002538),
    (0.617876244402643748, 0.149595988816576732),
    (0.755404408355003034, 0.124628971255533872),
    (0.865631202387831744, 0.0951585116824927848),
    (0.944575023073232576, 0.0622535239386478929),
    (0.989400934991649933, 0.0271524594117540949),
];

/// `int_from^to f`, exact for polynomials of degree 31.
pub(crate) fn legendre(from: f64, to: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
    let sum: f64 =
        LEGENDRE.iter().map(|&(x, w)| w * (f(middle - half * x) + f(middle + half * x))).sum();
    half * sum
}

/// `int_from^to f` by halving until both halves agree with the whole to `tolerance` (absolute), or to
/// 1e-13 of themselves, at most 12 times.
pub(crate) fn adaptive(from: f64, to: f64, tolerance: f64, f: &mut impl FnMut(f64) -> f64) -> f64 {
    let whole = legendre(from, to, &mut *f);
    refine(from, to, whole, tolerance, 12, f)
}

fn refine(
    from: f64,
    to: f64,
    whole: f64,
    tolerance: f64,
    depth: u32,
    f: &mut impl FnMut(f64) -> f64,
) -> f64 {
    let middle = 0.5 * (from + to);
    let (left, right) = (legendre(from, middle, &mut *f), legendre(middle, to, &mut *f));
    let sum = left + right;
    if depth == 0 || !((sum - whole).abs() > tolerance.max(1e-13 * sum.abs())) {
        return sum;
    }
    refine(from, middle, left, tolerance, depth - 1, f)
        + refine(middle, to, right, tolerance, depth - 1, f)
}

/// `int_0^inf f` for a function that varies on the scale `scale`: panels that widen, then a tail in `1/t`.
pub(crate) fn half_line(scale: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    const PANELS: [f64; 9] = [0.0, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 2.0, 8.0, 30.0];
    let mut sum = 0.0;
    for ends in PANELS.windows(2) {
        sum += adaptive(ends[0] * scale, ends[1] * scale, 1e-13 * scale, &mut f);
    }
    // t = last / u, dt = -last / u^2 du.
    let last = PANELS[8] * scale;
    sum + adaptive(0.0, 1.0, 1e-13 * scale, &mut |u: f64| {
        if u < 1e-150 { 0.0 } else { f(last / u) * (last / u) / u }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_integrate_known_functions() {
        assert!(
            (legendre(-1.0, 2.0, |x| x.powi(31)) / (2f64.powi(32) - 1.0) * 32.0 - 1.0).abs()
                < 1e-14
        );
        // After 12 halvings the root is wrong on [0, 2^-12] only, whose integral is 3e-6.
        assert!((adaptive(0.0, 1.0, 1e-13, &mut |x: f64| x.sqrt()) - 2.0 / 3.0).abs() < 1e-9);
        for scale in [1e-3, 1.0, 50.0] {
            let found = half_line(scale, |t| (-t / scale).exp());
            assert!((found / scale - 1.0).abs() < 1e-12, "{found}");
        }
        let found = half_line(1.0, |t| 1.0 / (1.0 + t * t));
        assert!((found - std::f64::consts::FRAC_PI_2).abs() < 1e-12);
    }
}
