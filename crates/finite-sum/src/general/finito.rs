//! Finito for general sums, with a table of vectors.

use fenchel_erm::parts::REFRESH;
use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::Visits;
use fenchel_optim::{Certificate, Iterative, Observer, Solution, run};

use super::state::SumState;
use super::{FiniteSum, Sum, SumSettings, check_memory};
use crate::Error;

const NAME: &str = "general finito";

/// The running method, as an observer of [`finito`] receives it.
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
    /// Whether the point was replaced by the best one, so that it does not match the table.
    restored: bool,
}

/// Finito on a general sum (A. Defazio, PhD thesis 2014, algorithm 3.1). It is the method
/// [`finito`](crate::methods::finito()), with one stored vector per term.
///
/// ```text
/// w = -(step/n) sum_i p_i,     p_j <- f_j'(w) + (l2 - 1/step) w
/// ```
///
/// The default step is `1/(alpha l2)` with `alpha = 2` as in the thesis, which is proved for `n l2 >= 2 L`. For
/// smaller `l2`, multiply it by `n l2 / (2 L)`. The memory is `n d` numbers. The returned state contains the table
/// too, so keep only its point if you do not need a warm start. A step costs O(d). In the first pass, the stored
/// point of every term is the starting point.
///
/// # Errors
/// [`Error::Refused`] for `l2 = 0`, or too little memory; otherwise as [`saga`](super::saga).
pub fn finito<'p, 't, T: FiniteSum, O: Observer<GeneralFinito<'p, 't, T>>>(
    sum: &'p Sum<'t, T, Zero>,
    settings: &SumSettings,
    start: Option<SumState>,
    observer: &mut O,
) -> Result<Solution<SumState>, Error> {
    settings.stop.check()?;
    let (n, d) = (sum.terms.terms(), sum.terms.dimension());
    let numbers = (n as u64).saturating_mul(d as u64);
    check_memory(NAME, numbers, settings.max_memory, "use general::saga or general::svrg")?;
    let order = &settings.order;
    order.check_plain(NAME)?;
    if !(sum.l2 > 0.0) {
        return Err(Refusal::NeedsStrongConvexity { method: NAME }.into());
    }
    let step = settings.step.resolve(0.5 / sum.l2)?;
    Invalid::check_positive("step", step)?;
    let mut start = start.unwrap_or_else(|| vec![0.0; d].into());
    let w = std::mem::take(&mut start.point);
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
    method.take(std::mem::take(&mut start.table), start.finito);
    start.resume(&mut method.visits);
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.into_state(), report })
}

impl<T: FiniteSum> GeneralFinito<'_, '_, T> {
    /// The current point.
    pub fn point(&self) -> &[f64] {
        &self.w
    }

    /// Uses the table of a former run, if it was made for this step and `l2`.
    fn take(&mut self, table: Vec<f64>, made_for: Option<(f64, f64)>) {
        let fits = made_for == Some((self.inverse_step, self.sum.l2))
            && table.len() == self.table.len()
            && table.iter().all(|p| p.is_finite());
        if fits {
            (self.table, self.fill) = (table, false);
            self.refresh();
        }
    }

    fn into_state(self) -> SumState {
        if self.restored || self.fill {
            return SumState::from(self.w).visited(&self.visits);
        }
        let finito = Some((self.inverse_step, self.sum.l2));
        SumState { finito, ..SumState::new(self.w, self.table) }.visited(&self.visits)
    }

    /// Recomputes the sum of the table, to remove the rounding errors of many small updates.
    fn refresh(&mut self) {
        self.total.fill(0.0);
        for p in self.table.chunks_exact(self.w.len()) {
            self.total.iter_mut().zip(p).for_each(|(total, p)| *total += p);
        }
    }

    /// Sets `p_j <- f_j'(w) + (l2 - 1/step) w`, and updates the sum of the table.
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
                self.refresh();
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
