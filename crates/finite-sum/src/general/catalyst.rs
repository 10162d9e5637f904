//! Catalyst around SAGA.

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Iterative, Observer, Solution, run};

use super::incremental::{Incremental, with_table};
use super::{FiniteSum, Sum, SumSettings, SumState};
use crate::Error;
use crate::methods::dual::Momentum;
use crate::methods::lag::Composite;

/// Catalyst on a general sum: what an observer of [`catalyst`] sees.
pub struct GeneralCatalyst<'p, 't, T: FiniteSum, R> {
    /// Shows where the last inner pass ended.
    inner: Incremental<'p, 't, T, R>,
    momentum: Momentum,
    /// Scratch: the next centre.
    centre: Vec<f64>,
    best: Option<Vec<f64>>,
}

/// Accelerated SAGA on a general sum: the outer loop of Catalyst (Lin, Mairal and Harchaoui, JMLR 18, 2018) around
/// [`saga`](super::saga).
///
/// ```text
/// x+ ~ argmin F(x) + (kappa/2) ||x - y||^2,   y = x+ + b (x+ - x)
/// ```
///
/// One pass of SAGA an outer step, the table carried over; the factors `b` are those of [`catalyst`](crate::methods::catalyst()) for
/// linear models. SAGA contracts by `1 - (l2 + kappa) / (3L)` a step: with `kappa = 3 L/n - l2`, the default, by an `n`-th,
/// the most that it can. Without acceleration to be had (`kappa <= 0`) it is SAGA. For terms that are badly
/// conditioned, `n l2 < 3 L`, or not strongly convex at all.
///
/// `step` of the settings is SAGA's, by default `1/(3 (L + kappa))`. The run moves by whole outer steps.
///
/// # Errors
/// As [`saga`](super::saga); [`Error::Invalid`] for a `kappa` that is negative or not finite.
pub fn catalyst<'p, 't, T: FiniteSum, R: Composite, O: Observer<GeneralCatalyst<'p, 't, T, R>>>(
    sum: &'p Sum<'t, T, R>,
    settings: &SumSettings,
    kappa: Option<f64>,
    start: Option<SumState>,
    observer: &mut O,
) -> Result<Solution<SumState>, Error> {
    settings.stop.check()?;
    let by_default = 3.0 * sum.smoothness / sum.terms().terms() as f64 - sum.l2();
    let kappa = kappa.unwrap_or(by_default.max(0.0));
    Invalid::check_nonnegative("kappa", kappa)?;
    let step = settings.step.resolve(1.0 / (3.0 * (sum.smoothness() + kappa)))?;
    let inner = with_table("general catalyst", sum, settings, (step, 1.0), Some(kappa), start)?;
    let mu = sum.l2() + sum.regulariser().strong_convexity();
    let ratio = if kappa > 0.0 { mu / (mu + kappa) } else { 1.0 };
    let momentum = Momentum::new(ratio, inner.point().to_vec());
    let centre = inner.centre().to_vec();
    let mut method = GeneralCatalyst { inner, momentum, centre, best: None };
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.inner.into_state(), report })
}

impl<T: FiniteSum, R: Composite> GeneralCatalyst<'_, '_, T, R> {
    /// The current point.
    pub fn point(&self) -> &[f64] {
        self.inner.point()
    }
}

impl<T: FiniteSum, R: Composite> Iterative for GeneralCatalyst<'_, '_, T, R> {
    /// Whole passes.
    fn advance(&mut self, passes: f64) -> f64 {
        let mut done = 0.0;
        while done < passes {
            // Filling the table is a pass of its own.
            done += self.inner.advance_whole();
            self.momentum.extrapolate(self.inner.point(), &mut self.centre);
            self.inner.move_centre(&self.centre);
        }
        done
    }

    fn certify(&mut self) -> Certificate {
        self.inner.certify_shown()
    }

    fn oracle_calls(&self) -> u64 {
        self.inner.oracle_calls()
    }

    fn keep(&mut self) {
        self.best = Some(self.inner.point().to_vec());
    }

    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.inner.restore_to(best);
        }
    }
}
