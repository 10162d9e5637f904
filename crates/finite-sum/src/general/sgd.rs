//! Stochastic gradient descent: the baseline.

use fenchel_linalg::Invalid;
use fenchel_optim::random::Visits;
use fenchel_optim::{Certificate, Iterative, Observer, Regulariser, Solution, run};

use super::state::SumState;
use super::{FiniteSum, Sum, SumSettings};
use crate::Error;

const NAME: &str = "general sgd";

/// Stochastic gradient descent on a general sum: what an observer of [`sgd`] sees.
pub struct Sgd<'p, 't, T: FiniteSum, R> {
    sum: &'p Sum<'t, T, R>,
    x: Vec<f64>,
    step: f64,
    /// That set the size of the next, since the start of the first run.
    steps: u64,
    evaluations: u64,
    visits: Visits,
    scratch: T::Scratch,
    fresh: Vec<f64>,
    best: Option<Vec<f64>>,
}

/// Proximal stochastic gradient descent, `x <- prox(x - s_k (f_j'(x) + l2 x), s_k)`, with falling steps: the method to
/// compare with in the first passes, before the others overtake it (the thesis's section 2.2).
///
/// The step is `s_k = s / (1 + s l2 k)` with `l2`, else `s / sqrt(1 + k/n)`, where `s = 1/L` unless the settings say
/// otherwise. No memory but the point; a step is O(d). Permuted order is quicker than the default.
///
/// # Errors
/// [`Error::Refused`] for weighted draws; [`Error::Invalid`] for a start of another shape or settings out of range.
pub fn sgd<'p, 't, T, R, O>(
    sum: &'p Sum<'t, T, R>,
    settings: &SumSettings,
    start: Option<SumState>,
    observer: &mut O,
) -> Result<Solution<SumState>, Error>
where
    T: FiniteSum,
    R: Regulariser,
    O: Observer<Sgd<'p, 't, T, R>>,
{
    settings.stop.check()?;
    let order = &settings.order;
    order.check_plain(NAME)?;
    let step = settings.step.resolve(1.0 / sum.smoothness())?;
    Invalid::check_positive("step", step)?;
    let mut start = start.unwrap_or_else(|| vec![0.0; sum.terms.dimension()].into());
    let mut x = std::mem::take(&mut start.point);
    sum.check_point(&x)?;
    if sum.regulariser.value(&x).is_infinite() {
        sum.regulariser.prox(&mut x, step);
    }
    let mut visits = Visits::new(order, sum.terms.terms(), settings.seed)?;
    start.resume(&mut visits);
    let mut method = Sgd {
        visits,
        evaluations: 0,
        scratch: sum.terms.scratch(),
        fresh: vec![0.0; sum.longest],
        steps: start.steps,
        best: None,
        sum,
        x,
        step,
    };
    let report = run(&mut method, &settings.stop, observer)?;
    let Sgd { x, steps, visits, .. } = method;
    Ok(Solution { state: SumState { steps, ..x.into() }.visited(&visits), report })
}

impl<T: FiniteSum, R: Regulariser> Sgd<'_, '_, T, R> {
    /// The current point.
    pub fn point(&self) -> &[f64] {
        &self.x
    }

    fn move_once(&mut self) {
        let (sum, k) = (self.sum, self.steps as f64);
        let step = if sum.l2 > 0.0 {
            self.step / (1.0 + self.step * sum.l2 * k)
        } else {
            self.step / (1.0 + k / sum.terms.terms() as f64).sqrt()
        };
        let j = self.visits.draw();
        let support = sum.support(j);
        let fresh = &mut self.fresh[..support.len()];
        sum.terms.gradient(j, &self.x, &mut self.scratch, fresh);
        if sum.l2 > 0.0 {
            let rho = 1.0 - step * sum.l2;
            self.x.iter_mut().for_each(|x| *x *= rho);
        }
        for (k, g) in fresh.iter().enumerate() {
            self.x[support.at(k)] -= step * g;
        }
        sum.regulariser.prox(&mut self.x, step);
        self.steps += 1;
        self.evaluations += 1;
    }
}

impl<T: FiniteSum, R: Regulariser> Iterative for Sgd<'_, '_, T, R> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.sum.terms.terms() as f64;
        let steps = (passes * n).round().max(1.0);
        for _ in 0..steps as u64 {
            self.move_once();
        }
        steps / n
    }

    fn certify(&mut self) -> Certificate {
        self.sum.certificate(&self.x)
    }

    fn oracle_calls(&self) -> u64 {
        self.evaluations
    }

    fn keep(&mut self) {
        self.best.get_or_insert_default().clone_from(&self.x);
    }

    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.x = best;
        }
    }
}
