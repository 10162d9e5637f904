//! SDCA for general sums, by proximal steps on single terms.

use fenchel_erm::parts::REFRESH;
use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::Visits;
use fenchel_optim::{Certificate, Iterative, Observer, Solution, run};

use super::state::SumState;
use super::{FiniteSum, Sum, SumSettings, check_memory};
use crate::Error;

const NAME: &str = "general sdca";

/// SDCA on a general sum, as an observer of [`sdca`] receives it.
pub struct GeneralSdca<'p, 't, T: FiniteSum> {
    sum: &'p Sum<'t, T, Zero>,
    x: Vec<f64>,
    /// The gradients `g_i = f_i'(phi_i)` on the supports, one after the other. The point is `x = -lambda sum_i g_i`.
    table: Vec<f64>,
    offsets: Vec<usize>,
    /// `f_i*(g_i)`, which is infinite before the first visit of term `i`.
    conjugates: Vec<f64>,
    /// `1/(mu n)`
    lambda: f64,
    visits: Visits,
    steps: usize,
    scratch: T::Scratch,
    old: Vec<f64>,
    new: Vec<f64>,
    best: Option<Best>,
}

/// Point, table and conjugates.
type Best = (Vec<f64>, Vec<f64>, Vec<f64>);

/// SDCA (stochastic dual coordinate ascent) on a general sum, in its primal form (A. Defazio, PhD thesis 2014,
/// algorithm 3.2). It needs terms whose proximal step is known ([`FiniteSum::prox_term`]). The permuted order is
/// faster than the default.
///
/// ```text
/// z = x + lambda g_j,   x <- argmin f_j + ||. - z||^2 / (2 lambda),   g_j <- (z - x) / lambda,   lambda = 1/(l2 n)
/// ```
///
/// The method has no step size. It has a certificate of its own: with `f_i*(g_i) = g_i.phi_i - f_i(phi_i)`, the dual
/// value is a lower bound of the optimum as soon as every term has been visited. This bound is the `B` of Prox-Finito
/// (algorithm 3.3 of the thesis), which is the same method if the l2 term is made a part of each term. A step costs a
/// proximal step and O(support of the term). The memory is that of [`saga`](super::saga). For terms of one margin use
/// [`sdca`](crate::methods::sdca()), which stores one number per term.
///
/// A warm start without a table begins at zero, because SDCA continues from dual variables and not from points.
///
/// # Errors
/// [`Error::Refused`] for `l2 = 0`, terms without a proximal step, weighted draws, or too little memory;
/// [`Error::Invalid`] for a start of another shape.
pub fn sdca<'p, 't, T: FiniteSum, O: Observer<GeneralSdca<'p, 't, T>>>(
    sum: &'p Sum<'t, T, Zero>,
    settings: &SumSettings,
    start: Option<SumState>,
    observer: &mut O,
) -> Result<Solution<SumState>, Error> {
    settings.stop.check()?;
    let (n, d) = (sum.terms.terms(), sum.terms.dimension());
    check_memory(NAME, sum.stored as u64, settings.max_memory, "use general::svrg")?;
    let order = &settings.order;
    order.check_plain(NAME)?;
    if !(sum.l2 > 0.0) {
        return Err(Refusal::NeedsStrongConvexity { method: NAME }.into());
    }
    let lambda = 1.0 / (sum.l2 * n as f64);
    let mut scratch = sum.terms.scratch();
    let mut trial = vec![0.0; sum.support(0).len()];
    if sum.terms.prox_term(0, &mut trial, lambda, &mut scratch).is_none() {
        let what = "terms without a proximal step; implement prox_term, or use general::saga";
        return Err(Refusal::unsupported(NAME, what).into());
    }
    let mut start = start.unwrap_or_else(|| vec![0.0; d].into());
    sum.check_point(&start.point)?;
    let mut table = start.gradients();
    if table.is_empty() {
        table.resize(sum.stored, 0.0);
    }
    Invalid::check_length("table", sum.stored, table.len())?;
    Invalid::check_finite("table", &table)?;
    let mut offsets = vec![0];
    for i in 0..n {
        offsets.push(offsets[i] + sum.support(i).len());
    }
    let mut method = GeneralSdca {
        visits: Visits::new(order, n, settings.seed)?,
        conjugates: vec![f64::INFINITY; n],
        old: vec![0.0; sum.longest],
        new: vec![0.0; sum.longest],
        x: vec![0.0; d],
        steps: 0,
        best: None,
        sum,
        table,
        offsets,
        lambda,
        scratch,
    };
    start.resume(&mut method.visits);
    method.refresh();
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.into_state(), report })
}

impl<T: FiniteSum> GeneralSdca<'_, '_, T> {
    /// The current point.
    pub fn point(&self) -> &[f64] {
        &self.x
    }

    fn into_state(self) -> SumState {
        SumState::new(self.x, self.table).visited(&self.visits)
    }

    fn step(&mut self, j: usize) {
        let support = self.sum.support(j);
        let row = &mut self.table[self.offsets[j]..self.offsets[j + 1]];
        let (z, point) = (&mut self.old[..row.len()], &mut self.new[..row.len()]);
        for (k, (z, g)) in z.iter_mut().zip(&*row).enumerate() {
            *z = self.x[support.at(k)] + self.lambda * g;
        }
        point.copy_from_slice(z);
        let Some(value) = self.sum.terms.prox_term(j, point, self.lambda, &mut self.scratch) else {
            return;
        };
        let mut product = 0.0;
        for (k, ((g, z), x)) in row.iter_mut().zip(&*z).zip(&*point).enumerate() {
            *g = (z - x) / self.lambda;
            product += *g * x;
            self.x[support.at(k)] = *x;
        }
        self.conjugates[j] = product - value;
    }

    /// `x = -lambda sum_i g_i` from the table.
    fn refresh(&mut self) {
        self.x.fill(0.0);
        for (i, ends) in self.offsets.windows(2).enumerate() {
            let support = self.sum.support(i);
            for (k, g) in self.table[ends[0]..ends[1]].iter().enumerate() {
                self.x[support.at(k)] -= self.lambda * g;
            }
        }
    }
}

impl<T: FiniteSum> Iterative for GeneralSdca<'_, '_, T> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.conjugates.len();
        let count = ((passes * n as f64).round() as usize).max(1);
        for _ in 0..count {
            let j = self.visits.draw();
            self.step(j);
            self.steps += 1;
            if self.steps == REFRESH * n {
                self.steps = 0;
                self.refresh();
            }
        }
        count as f64 / n as f64
    }

    /// The better of two lower bounds: the dual value, and the bound that strong convexity implies.
    fn certify(&mut self) -> Certificate {
        let certificate = self.sum.certificate(&self.x);
        let Some(objective) = certificate.objective() else { return certificate };
        let squares: f64 = self.x.iter().map(|x| x * x).sum();
        let conjugates: f64 = self.conjugates.iter().sum();
        let dual = -conjugates / self.conjugates.len() as f64 - 0.5 * self.sum.l2 * squares;
        Certificate::gap(objective, dual.max(objective - certificate.value()))
    }

    fn keep(&mut self) {
        let (x, table, conjugates) = self.best.get_or_insert_default();
        x.clone_from(&self.x);
        table.clone_from(&self.table);
        conjugates.clone_from(&self.conjugates);
    }

    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            (self.x, self.table, self.conjugates) = best;
        }
    }
}
