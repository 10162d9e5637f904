//! Globally adaptive integration by the 10-21 Gauss-Kronrod rule.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::Invalid;

/// When [`integrate`] is content.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Tolerance of the estimated absolute error; `>= 0`.
    pub absolute: f64,
    /// Tolerance of the estimated error relative to the value; `>= 0`. It is enough to meet one of the two tolerances.
    pub relative: f64,
    /// Largest number of evaluations of the integrand.
    pub max_evaluations: usize,
}

impl Default for Tolerance {
    /// `absolute = 0`, `relative = 1e-10`, 100,000 evaluations.
    fn default() -> Self {
        Tolerance { absolute: 0.0, relative: 1e-10, max_evaluations: 100_000 }
    }
}

/// What [`integrate`] found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Integral {
    /// The value.
    pub value: f64,
    /// The estimated absolute error, usually too large. It is infinite where the integrand was not finite at a node. It is
    /// above the tolerance if the evaluations were used up, or the precision of `f64` was reached.
    pub error: f64,
    /// Evaluations of the integrand.
    pub evaluations: usize,
}

/// Integrates `int_a^b f(x) dx` to a tolerance. `a` and `b` may be infinite, and `a > b` changes the sign.
///
/// The method bisects the piece with the largest estimated error until the sum of the errors is small enough (Piessens et al.,
/// *QUADPACK*, 1983, chapter 2.2.2). An infinite piece is mapped to `(0, 1]` by `x = a + (1 - t) / t`, and an infinite range is
/// cut at 0. The integrand is never evaluated at the end points, which may be integrable singularities. If all of the mass is
/// in a narrow peak far from the middle, pass its position to [`integrate_between`].
///
/// # Errors
/// [`Invalid::Parameter`] for an end that is NaN or a tolerance that is negative or not finite.
pub fn integrate(
    f: impl FnMut(f64) -> f64,
    a: f64,
    b: f64,
    tolerance: &Tolerance,
) -> Result<Integral, Invalid> {
    integrate_between(f, &[a, b], tolerance)
}

/// Integrates from the first of the points to the last. The points between them become end points of pieces.
///
/// # Errors
/// As [`integrate`]; [`Invalid::Empty`] for fewer than two points; [`Invalid::Parameter`] where they neither all rise nor
/// all fall.
pub fn integrate_between(
    f: impl FnMut(f64) -> f64,
    points: &[f64],
    tolerance: &Tolerance,
) -> Result<Integral, Invalid> {
    Invalid::check_nonnegative("absolute", tolerance.absolute)?;
    Invalid::check_nonnegative("relative", tolerance.relative)?;
    let [first, .., last] = *points else {
        return Err(Invalid::Empty { what: "range of integration" });
    };
    let falling = first > last;
    let mut points = points.to_vec();
    if falling {
        points.reverse();
    }
    for pair in points.windows(2) {
        if !(pair[0] <= pair[1]) {
            let expected = "points in order, none of them NaN";
            return Err(Invalid::Parameter { name: "point", value: pair[1], expected });
        }
    }
    if points[0] == f64::NEG_INFINITY
        && points[points.len() - 1] == f64::INFINITY
        && points.len() == 2
    {
        points.insert(1, 0.0);
    }
    let mut work = Adaptive { f, evaluations: 0, pieces: BinaryHeap::new() };
    for pair in points.windows(2).filter(|pair| pair[0] < pair[1]) {
        match Range::new(pair[0], pair[1]) {
            (range, Some((from, to))) => work.add(range, from, to),
            (_, None) => {
                let expected = "a finite point between two infinite ones";
                return Err(Invalid::Parameter { name: "point", value: pair[0], expected });
            }
        }
    }
    let mut result = work.refine(tolerance);
    if falling {
        result.value = -result.value;
    }
    Ok(result)
}

/// The change of variables on a piece.
#[derive(Debug, Clone, Copy)]
enum Range {
    Finite,
    /// `x = a + (1 - t) / t`.
    From(f64),
    /// `x = b - (1 - t) / t`.
    Until(f64),
}

impl Range {
    fn new(a: f64, b: f64) -> (Range, Option<(f64, f64)>) {
        match (a.is_finite(), b.is_finite()) {
            (true, true) => (Range::Finite, Some((a, b))),
            (true, false) => (Range::From(a), Some((0.0, 1.0))),
            (false, true) => (Range::Until(b), Some((0.0, 1.0))),
            (false, false) => (Range::Finite, None),
        }
    }
}

struct Piece {
    range: Range,
    from: f64,
    to: f64,
    value: f64,
    error: f64,
    /// The error by rounding alone, which bisection cannot reduce.
    floor: f64,
}

/// Pieces are ordered by the error that bisection may reduce. NaN does not occur: see [`Adaptive::add`].
impl Ord for Piece {
    fn cmp(&self, other: &Self) -> Ordering {
        let reducible = |piece: &Piece| (piece.error > piece.floor, piece.error);
        let ((a, x), (b, y)) = (reducible(self), reducible(other));
        a.cmp(&b).then(x.total_cmp(&y))
    }
}

impl PartialOrd for Piece {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Piece {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Piece {}

struct Adaptive<F> {
    f: F,
    evaluations: usize,
    pieces: BinaryHeap<Piece>,
}

impl<F: FnMut(f64) -> f64> Adaptive<F> {
    fn at(&mut self, range: Range, t: f64) -> f64 {
        let (x, weight) = match range {
            Range::Finite => return (self.f)(t),
            Range::From(a) => (a + (1.0 - t) / t, 1.0 / (t * t)),
            Range::Until(b) => (b - (1.0 - t) / t, 1.0 / (t * t)),
        };
        let value = (self.f)(x);
        // Far out the weight overflows, where an integrable integrand is 0.
        if value == 0.0 { 0.0 } else { value * weight }
    }

    /// Applies the rule to one piece. The error estimate is that of QUADPACK: `|G - K|`, which is far too large for a smooth
    /// integrand, is replaced by `spread (200 |G - K| / spread)^(3/2)`, where `spread` is `int |f - mean|`.
    fn add(&mut self, range: Range, from: f64, to: f64) {
        let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
        let mut values = [(0.0, 0.0); NODES.len()];
        for (value, [x, ..]) in values.iter_mut().zip(NODES) {
            *value = (self.at(range, middle - half * x), self.at(range, middle + half * x));
        }
        self.evaluations += 2 * NODES.len();
        // The middle was evaluated twice; one half of each counts.
        let (mut kronrod, mut gauss, mut size) = (0.0, 0.0, 0.0);
        for ((left, right), [x, k, g]) in values.iter().zip(NODES) {
            let share = if x == 0.0 { 0.5 } else { 1.0 };
            kronrod += share * k * (left + right);
            gauss += share * g * (left + right);
            size += share * k * (left.abs() + right.abs());
        }
        let mean = 0.5 * kronrod;
        let spread: f64 = values
            .iter()
            .zip(NODES)
            .map(|((l, r), [x, k, _])| {
                (if x == 0.0 { 0.5 } else { 1.0 }) * k * ((l - mean).abs() + (r - mean).abs())
            })
            .sum();
        let (spread, size) = (spread * half, size * half);
        let mut error = ((kronrod - gauss) * half).abs();
        if spread != 0.0 && error != 0.0 {
            error = spread * (200.0 * error / spread).powf(1.5).min(1.0);
        }
        // Where a value is not finite, halves may be: a singularity in the middle of a piece.
        let floor = if size.is_finite() { 50.0 * f64::EPSILON * size } else { 0.0 };
        if size > f64::MIN_POSITIVE / f64::EPSILON {
            error = error.max(floor);
        }
        let value = kronrod * half;
        let error = if error.is_nan() || !value.is_finite() { f64::INFINITY } else { error };
        self.pieces.push(Piece { range, from, to, value, error, floor });
    }

    fn refine(mut self, tolerance: &Tolerance) -> Integral {
        loop {
            let value: f64 = self.pieces.iter().map(|piece| piece.value).sum();
            let error: f64 = self.pieces.iter().map(|piece| piece.error).sum();
            let enough = error <= tolerance.absolute.max(tolerance.relative * value.abs());
            let done = Integral { value, error, evaluations: self.evaluations };
            if enough || self.evaluations + 4 * NODES.len() > tolerance.max_evaluations {
                return done;
            }
            let Some(Piece { range, from, to, error, floor, .. }) = self.pieces.peek() else {
                return done;
            };
            let (range, from, to) = (*range, *from, *to);
            let middle = 0.5 * (from + to);
            // Nothing left to bisect: only rounding, or no number between the ends.
            if error <= floor || !(from < middle && middle < to) {
                return done;
            }
            self.pieces.pop();
            self.add(range, from, middle);
            self.add(range, middle, to);
        }
    }
}

/// Each row has a node in `[0, 1)`, its weight in the rule of 21 nodes, and its weight in the rule of 10 nodes (0 if it is not
/// one of those).
/// Made by `tests/reference/kronrod.py`.
#[allow(clippy::excessive_precision)]
const NODES: [[f64; 3]; 11] = [
    [0.0, 0.1494455540029169056649365, 0.0],
    [0.148874338981631210884826, 0.1477391049013384913748415, 0.295524224714752870173893],
    [0.2943928627014601981311266, 0.1427759385770600807970943, 0.0],
    [0.4333953941292471907992659, 0.134709217311473325928054, 0.2692667193099963550912269],
    [0.5627571346686046833390001, 0.1234919762620658510779581, 0.0],
    [0.6794095682990244062343274, 0.1093871588022976418992106, 0.2190863625159820439955349],
    [0.7808177265864168970637176, 0.09312545458369760553506547, 0.0],
    [0.8650633666889845107320967, 0.07503967481091995276704314, 0.1494513491505805931457763],
    [0.9301574913557082260012072, 0.0547558965743519960313813, 0.0],
    [0.973906528517171720077964, 0.03255816230796472747881897, 0.06667134430868813759356881],
    [0.9956571630258080807355273, 0.0116946388673718742780644, 0.0],
];
