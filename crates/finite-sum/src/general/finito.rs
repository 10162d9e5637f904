//! Finito with vectors for gradients.

use fenchel_linalg::Invalid;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::{Order, Visits};
use fenchel_optim::{Certificate, Iterative, Observer, Solution, run};

use super::state::{Run, SumState, Trail};
use super::{FiniteSum, Sum, SumSettings, check_memory, check_order};
use crate::Error;

const NAME: &str = "general finito";

/// Passes between two computations of the sum of the table.
const REFRESH: usize = 10;

/// Finito on a general sum: what an observer of [`finito`] sees.
pub struct GeneralFinito<'p, 't, T: FiniteSum> {
    sum: &'p Sum<'t, T, Zero>,
    w: Vec<f64>,
    /// `p_i = f_i'(phi_i) - alpha mu phi_i`, with `f_i` the term and its l2 part; `n x d`.
    table: Vec<f64>,
    total: Vec<f64>,
    /// `alpha mu`, the inverse step.
    inverse_step: f64,
    visits: Visits,
    fill: bool,
    steps: usize,
    scratch: T::Scratch,
    fresh: Vec<f64>,
    best: Option<Vec<f64>>,
    /// Whether the best point was restored, which the table does not belong to.
    restored: bool,
}

/// Finito on a general sum (Defazio's thesis, algorithm 3.1), in permuted order: [`finito`](crate::finito()) with a
/// vector a term.
///
/// ```text
/// w = -(step/n) sum_i p_i,     p_j <- f_j'(w) + (l2 - 1/step) w
/// ```
///
/// The step is `1/(alpha l2)` with the thesis's `alpha = 2` by default, for `n l2 >= 2 L`; else scale it by `n l2 / (2 L)`.
/// Memory `n d` numbers, of the state too: keep its point alone where that is all you need. A step is O(d). The first pass
/// puts every term at the start.
///
/// # Errors
/// [`Error::NeedsStrongConvexity`] for `l2 = 0` without a constant step; [`Error::MemoryLimit`]; as
/// [`saga`](super::saga) else.
pub fn finito<'p, 't, T, O>(
    sum: &'p Sum<'t, T, Zero>,
    settings: &SumSettings,
    start: Option<SumState>,
    observer: &mut O,
) -> Result<Solution<SumState>, Error>
where
    T: FiniteSum,
    O: Observer<GeneralFinito<'p, 't, T>>,
{
    settings.stop.check()?;
    let (n, d) = (sum.terms.terms(), sum.terms.dimension());
    let numbers = (n as u64).saturating_mul(d as u64);
    check_memory(NAME, numbers, settings.memory_limit, "use general::saga or general::svrg")?;
    let order = settings.order.as_ref().unwrap_or(&Order::Permuted);
    check_order(NAME, order)?;
    if !(sum.l2 > 0.0) {
        return Err(Error::NeedsStrongConvexity { method: NAME });
    }
    let step = settings.step.resolve(0.5 / sum.l2)?;
    Invalid::check_positive("step", step)?;
    let SumState { point: w, trail, .. } = start.unwrap_or_else(|| vec![0.0; d].into());
    sum.check_point(&w)?;
    let mut method = GeneralFinito {
        visits: Visits::new(order, n, settings.seed)?,
        scratch: sum.terms.scratch(),
        fresh: vec![0.0; sum.longest],
        table: vec![0.0; n * d],
        total: vec![0.0; d],
        inverse_step: 1.0 / step,
        fill: true,
        steps: 0,
        best: None,
        restored: false,
        sum,
        w,
    };
    if let Some(trail) = trail {
        method.follow(*trail);
    }
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.into_state(), report })
}

impl<T: FiniteSum> GeneralFinito<'_, '_, T> {
    /// The current point.
    pub fn point(&self) -> &[f64] {
        &self.w
    }

    /// Goes on where a run of the same settings on the same sum stood, and not at all otherwise.
    fn follow(&mut self, trail: Trail) {
        let (n, d) = (self.sum.terms.terms(), self.w.len());
        let finite = |v: &[f64]| v.iter().all(|v| v.is_finite());
        let fits = |run: &Run| match run {
            Run::Finito { table, total, steps } => {
                (table.is_empty() || table.len() == n * d)
                    && total.len() == d
                    && finite(table)
                    && finite(total)
                    && *steps < REFRESH * n
            }
            _ => false,
        };
        let step = self.inverse_step;
        let followed = trail.follow(NAME, step, self.sum, &self.w, &mut self.visits, fits);
        let Some(Run::Finito { table, total, steps }) = followed else { return };
        if !table.is_empty() {
            (self.table, self.total, self.steps, self.fill) = (table, total, steps, false);
        }
    }

    fn into_state(mut self) -> SumState {
        if self.restored {
            return self.w.into();
        }
        if self.fill {
            self.table.clear();
        }
        let run = Run::Finito { table: self.table, total: self.total, steps: self.steps };
        let trail = Trail::new(NAME, self.inverse_step, self.sum, &self.w, &self.visits, run);
        SumState { trail: Some(trail), ..self.w.into() }
    }

    /// `p_j <- f_j'(w) + (l2 - 1/step) w`, and the total with it.
    fn renew(&mut self, j: usize) {
        let d = self.w.len();
        let support = self.sum.support(j);
        let fresh = &mut self.fresh[..support.len()];
        self.sum.terms.gradient(j, &self.w, &mut self.scratch, fresh);
        let p = &mut self.table[j * d..(j + 1) * d];
        let slope = self.sum.l2 - self.inverse_step;
        self.total.iter_mut().zip(&*p).for_each(|(total, p)| *total -= p);
        p.iter_mut().zip(&self.w).for_each(|(p, w)| *p = slope * w);
        for (k, g) in fresh.iter().enumerate() {
            p[support.at(k)] += g;
        }
        self.total.iter_mut().zip(&*p).for_each(|(total, p)| *total += p);
    }

    fn read_point(&mut self) {
        let factor = -1.0 / (self.inverse_step * self.sum.terms.terms() as f64);
        self.w.iter_mut().zip(&self.total).for_each(|(w, total)| *w = factor * total);
    }
}

impl<T: FiniteSum> Iterative for GeneralFinito<'_, '_, T> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.sum.terms.terms();
        let mut done = 0;
        if std::mem::take(&mut self.fill) {
            (0..n).for_each(|j| self.renew(j));
            self.read_point();
            done = n;
        }
        let budget = ((passes * n as f64).round() as usize).max(1);
        while done < budget {
            let j = self.visits.draw();
            self.renew(j);
            self.steps += 1;
            if self.steps == REFRESH * n {
                self.steps = 0;
                self.total.fill(0.0);
                for p in self.table.chunks_exact(self.w.len()) {
                    self.total.iter_mut().zip(p).for_each(|(total, p)| *total += p);
                }
            }
            self.read_point();
            done += 1;
        }
        done as f64 / n as f64
    }

    fn certify(&mut self) -> Certificate {
        self.sum.certificate(&self.w)
    }

    fn keep(&mut self) {
        self.best.get_or_insert_default().clone_from(&self.w);
    }

    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.w = best;
            self.restored = true;
        }
    }
}
