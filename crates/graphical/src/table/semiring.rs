//! The three semirings of exact inference: sums of probabilities, sums in logarithms, maxima of logarithms.

use fenchel_linalg::lanes;

use crate::columns;
use crate::stride::{Plan, larger};

/// How the numbers of tables are multiplied and added up. An algorithm is written once over it.
pub(crate) trait Semiring {
    const ONE: f64;
    const ZERO: f64;
    /// Whether products can become zero by rounding.
    const UNDERFLOWS: bool;

    /// From a logarithm.
    fn lift(log_value: f64) -> f64;
    /// Converts to a logarithm.
    fn log(value: f64) -> f64;
    fn times(a: f64, b: f64) -> f64;
    /// With `0 / 0 = 0`.
    fn over(a: f64, b: f64) -> f64;
    /// The margin of `table` over the variables of `message`. `scratch` is at least as long as `message`.
    fn project(plan: &Plan, table: &[f64], message: &mut [f64], scratch: &mut [f64]);
    /// The margin of a table in which each column belongs to one cell of the message.
    fn project_columns(table: &[f64], message: &mut [f64], scratch: &mut [f64]);
    /// The sum, or maximum, of all.
    fn total(values: &[f64]) -> f64;
}

pub(crate) struct Linear;

impl Semiring for Linear {
    const ONE: f64 = 1.0;
    const ZERO: f64 = 0.0;
    const UNDERFLOWS: bool = true;

    #[inline(always)]
    fn lift(log_value: f64) -> f64 {
        lanes::exp(log_value)
    }

    #[inline(always)]
    fn log(value: f64) -> f64 {
        value.ln()
    }

    #[inline(always)]
    fn times(a: f64, b: f64) -> f64 {
        a * b
    }

    #[inline(always)]
    fn over(a: f64, b: f64) -> f64 {
        if b > 0.0 { a / b } else { 0.0 }
    }

    #[inline(always)]
    fn project(plan: &Plan, table: &[f64], message: &mut [f64], _: &mut [f64]) {
        message.fill(0.0);
        plan.gather(table, message, 0.0, |a, b| a + b);
    }

    #[inline(always)]
    fn project_columns(table: &[f64], message: &mut [f64], _: &mut [f64]) {
        columns::fold(table, message, 0.0, |a, b| a + b);
    }

    #[inline(always)]
    fn total(values: &[f64]) -> f64 {
        if values.len() < 16 { values.iter().sum() } else { lanes::sum(values) }
    }
}

pub(crate) struct LogSum;

impl Semiring for LogSum {
    const ONE: f64 = 0.0;
    const ZERO: f64 = f64::NEG_INFINITY;
    const UNDERFLOWS: bool = false;

    #[inline(always)]
    fn lift(log_value: f64) -> f64 {
        log_value
    }

    #[inline(always)]
    fn log(value: f64) -> f64 {
        value
    }

    #[inline(always)]
    fn times(a: f64, b: f64) -> f64 {
        a + b
    }

    #[inline(always)]
    fn over(a: f64, b: f64) -> f64 {
        quotient(a, b)
    }

    #[inline(always)]
    fn project(plan: &Plan, table: &[f64], message: &mut [f64], scratch: &mut [f64]) {
        let shift = &mut scratch[..message.len()];
        shift.fill(f64::NEG_INFINITY);
        plan.gather(table, shift, f64::NEG_INFINITY, larger);
        shift.iter_mut().for_each(finite);
        message.fill(0.0);
        plan.gather_map(table, message, 0.0, |a, b| a + b, |x, s| lanes::exp(x - s), shift);
        message.iter_mut().zip(shift).for_each(|(m, s)| *m = *s + m.ln());
    }

    #[inline(always)]
    fn project_columns(table: &[f64], message: &mut [f64], scratch: &mut [f64]) {
        let shift = &mut scratch[..message.len()];
        columns::fold(table, shift, f64::NEG_INFINITY, larger);
        shift.iter_mut().for_each(finite);
        columns::fold_map(table, message, 0.0, |a, b| a + b, |x, s| lanes::exp(x - s), shift);
        message.iter_mut().zip(shift).for_each(|(m, s)| *m = *s + m.ln());
    }

    #[inline(always)]
    fn total(values: &[f64]) -> f64 {
        let top = LogMax::total(values);
        if top == f64::NEG_INFINITY {
            return top;
        }
        top + values.iter().map(|&v| lanes::exp(v - top)).sum::<f64>().ln()
    }
}

/// The shift of a slice of zeros is set to 0, so that `-inf - -inf` does not occur.
#[inline(always)]
fn finite(shift: &mut f64) {
    *shift = if *shift > f64::NEG_INFINITY { *shift } else { 0.0 };
}

pub(crate) struct LogMax;

impl Semiring for LogMax {
    const ONE: f64 = 0.0;
    const ZERO: f64 = f64::NEG_INFINITY;
    const UNDERFLOWS: bool = false;

    #[inline(always)]
    fn lift(log_value: f64) -> f64 {
        log_value
    }

    #[inline(always)]
    fn log(value: f64) -> f64 {
        value
    }

    #[inline(always)]
    fn times(a: f64, b: f64) -> f64 {
        a + b
    }

    #[inline(always)]
    fn over(a: f64, b: f64) -> f64 {
        quotient(a, b)
    }

    #[inline(always)]
    fn project(plan: &Plan, table: &[f64], message: &mut [f64], _: &mut [f64]) {
        message.fill(f64::NEG_INFINITY);
        plan.gather(table, message, f64::NEG_INFINITY, larger);
    }

    #[inline(always)]
    fn project_columns(table: &[f64], message: &mut [f64], _: &mut [f64]) {
        columns::fold(table, message, f64::NEG_INFINITY, larger);
    }

    #[inline(always)]
    fn total(values: &[f64]) -> f64 {
        values.iter().fold(f64::NEG_INFINITY, |top, &v| larger(v, top))
    }
}

/// Division in logs with `0 / 0 = 0`.
#[inline(always)]
pub(crate) fn quotient(a: f64, b: f64) -> f64 {
    if a == f64::NEG_INFINITY { a } else { a - b }
}
