//! The sublinear method: stochastic mirror descent with full sampling, whose steps cost O(d + n + k).
//!
//! A step draws one entry of the split weights and one of `V - Y`. Then it multiplies one column of `U` and one
//! column of `V` by exponentials, and rescales. The other columns change only by common factors, which are stored
//! separately: one for `U`, and one per row for `V`. The iterates are exactly those of
//! [`stochastic_mirror_descent`](crate::methods::stochastic_mirror_descent) with [`Sampling::Full`](super::Sampling).
//!
//! | | |
//! |---|---|
//! | geometry | l1 ball of all entries, entropies on both sides |
//! | a step with the hinge | O(d + n + k), sparse data O(nnz of a row + nnz of a column + n + k) |
//! | a step with the softmax | O(d + n k): every step changes every dual variable |
//! | memory | 16 (n + d) bytes for each class that was drawn, and the data twice; softmax: 32 n k more |
//! | guarantee | that of [`stochastic_mirror_descent`](crate::methods::stochastic_mirror_descent) |
//! | a certificate | O(n d k), so that certificates should be rare ([`Cadence::Doubling`](fenchel_optim::Cadence)) |
//!
//! Choose it if `n`, `d` and `k` are all large and a rough solution is needed early. Source: D. Babichev, PhD thesis
//! 2019, Algorithm 1, with two errors corrected (see the crate's README): both samples are drawn from the current
//! pair, and the label's entry is multiplied by `theta` only. Three measures prevent numerical failures. Factors are
//! multiplied into the columns (a *flush*) while the running sums still have all digits. A row that loses nine tenths
//! of its mass is added up again. Exponents are limited. (An entry of `V` below 1e-308 becomes 0 and stays 0, but
//! this happens only for far too large steps.)

pub(crate) mod certificate;
mod dual;
mod primal;
mod settings;
mod whole;

use std::collections::BTreeMap;

use fenchel_linalg::Invalid;
use fenchel_optim::random::{Generator, stream};
use fenchel_optim::{Certificate, Iterative, Observer, Refusal, Solution, run};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use self::dual::{Dual, DualRates};
use self::primal::{Primal, PrimalRates};
pub use self::settings::SublinearSettings;
use self::settings::check_script;
use self::whole::Whole;
use super::loss::MulticlassLoss;
use super::problem::{Geometry, Multiclass};
use super::samples::{Rows, Samples};
use super::sampling::Draw;
use crate::Error;
use crate::methods::mirror_descent::stochastic_step;
use crate::problem::SaddleProblem;

/// The dual variables: lazy for the hinge, whole for the softmax.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Variables {
    Lazy(Dual),
    Whole(Whole),
}

/// The state of the method: averages by class, and the iterates in their lazy form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SublinearState {
    primal: Primal,
    dual: Variables,
    /// The number of steps in the average.
    steps: u64,
    random: Generator,
    /// Sums of drawn entries of `U`, by class and feature.
    noisy: Option<BTreeMap<u64, f64>>,
}

impl SublinearState {
    /// The state at the centres of both blocks.
    pub(crate) fn new(problem: &Multiclass, random: Generator) -> Self {
        let samples = problem.samples();
        let primal = Primal::new(samples, problem.radius());
        let dual = match problem.loss() {
            MulticlassLoss::Hinge => Variables::Lazy(Dual::new(samples)),
            MulticlassLoss::Softmax => Variables::Whole(Whole::new(samples, problem.y_setup())),
        };
        SublinearState { primal, dual, steps: 0, random, noisy: None }
    }

    /// The number of steps in the average.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The classes whose weights have changed, and their averaged weights (`d` each). The weights of all other
    /// classes are 0.
    pub fn weights(&self) -> Vec<(usize, Vec<f64>)> {
        let steps = self.steps.max(1) as f64;
        let column = |slot: usize| {
            (self.primal.columns[slot].class as usize, self.primal.average(slot, steps))
        };
        (0..self.primal.columns.len()).map(column).collect()
    }

    /// The averaged dual variables, `n x k` by rows, each row divided by its sum. O(n k).
    pub fn dual(&self, problem: &Multiclass) -> Vec<f64> {
        let samples = problem.samples();
        let dual = match &self.dual {
            Variables::Whole(dual) => return dual.average(self.steps, problem.y_setup()),
            Variables::Lazy(dual) => dual,
        };
        let (n, k) = (samples.rows(), samples.classes());
        let sums = dual.row_sums(samples);
        let mut v = vec![0.0; n * k];
        for j in 0..n {
            let row = &mut v[j * k..][..k];
            if self.steps == 0 {
                row.fill(1.0 / k as f64);
                continue;
            }
            row.fill(dual.rest_total(j) / sums[j]);
            for (slot, column) in dual.columns.iter().enumerate() {
                row[column.class as usize] = dual.entry_sum(slot, j) / sums[j];
            }
            row[samples.labels[j] as usize] = dual.label_sums()[j] / sums[j];
        }
        v
    }

    /// The mean of the drawn entries `(feature, class, weight)`. It is an unbiased estimate of the averaged weights
    /// with at most one non-zero entry per step, and costs O(1) per step. It is empty unless
    /// [`SublinearSettings::noisy`] was set.
    ///
    /// It may lie outside the ball, because an entry is `sum sigma (p + q)` divided by `sigma_i`. There is a
    /// guarantee for its primal objective only. This objective and the lower bound of the averaged `V` make a
    /// certificate. Source: D. Babichev, PhD thesis 2019, Remark 6.
    pub fn noisy_weights(&self) -> Vec<(usize, usize, f64)> {
        let steps = self.steps.max(1) as f64;
        let entry = |(at, sum): (&u64, &f64)| {
            ((at & 0xffff_ffff) as usize, (at >> 32) as usize, sum / steps)
        };
        self.noisy.iter().flatten().map(entry).filter(|e| e.2 != 0.0).collect()
    }

    /// The mean of `sum p + sum q` over the iterates. It is at least the norm of the averaged weights.
    pub fn mass(&self) -> f64 {
        self.primal.average_mass(self.steps.max(1) as f64)
    }

    /// The weights of the outcomes of the next draw, proportional to their probabilities: those of `(split feature,
    /// class)` and those of `(row, class)`, both by rows.
    pub fn law(&self, samples: &Samples) -> (Vec<f64>, Vec<f64>) {
        let of_v = match &self.dual {
            Variables::Lazy(dual) => dual.law(samples),
            Variables::Whole(dual) => dual.law(samples),
        };
        (self.primal.law(&samples.column_norms), of_v)
    }

    /// Draws the next entries.
    pub fn draw(&self, samples: &Samples, rng: &mut (impl rand::Rng + ?Sized)) -> Draw {
        let [u1, u2, u3, u4, u5]: [f64; 5] = rng.random();
        let sigmas = samples.column_norms.iter().sum();
        let (feature, class) = self.primal.draw(&samples.column_norms, sigmas, u1, u2);
        let (row, row_class) = self.draw_dual(samples, [u3, u4, u5]);
        Draw { feature, class, row, row_class }
    }

    fn draw_dual(&self, samples: &Samples, [u, coin, within]: [f64; 3]) -> (usize, usize) {
        match &self.dual {
            Variables::Lazy(dual) => dual.draw(samples, u, coin, within),
            Variables::Whole(dual) => dual.draw(samples, u, coin, within),
        }
    }

    /// The numbers of flushes of the columns of `U`, and of rows of `V`.
    pub fn flushes(&self) -> (u64, u64) {
        let of_v = if let Variables::Lazy(dual) = &self.dual { dual.flushes } else { 0 };
        (self.primal.flushes, of_v)
    }

    /// The number of steps whose exponents were limited. If it is above 0, the step size is far too large.
    pub fn clamps(&self) -> u64 {
        if let Variables::Lazy(dual) = &self.dual { dual.clamps } else { 0 }
    }

    /// Resets the average and keeps the iterate, to continue with another step size.
    #[must_use]
    pub fn restarted(mut self) -> Self {
        self.primal.forget();
        match &mut self.dual {
            Variables::Lazy(dual) => dual.forget(),
            Variables::Whole(dual) => dual.forget(),
        }
        self.noisy = self.noisy.map(|_| BTreeMap::new());
        self.steps = 0;
        self
    }
}

/// The running method, as an observer receives it.
pub struct Sublinear<'a> {
    problem: &'a Multiclass<'a>,
    columns: Rows,
    state: SublinearState,
    primal_rates: PrimalRates,
    dual_rates: DualRates,
    sigmas: f64,
    xi: Vec<f64>,
    script: std::vec::IntoIter<Draw>,
    steps_a_pass: f64,
    steps: u64,
    operations: u64,
    best: Option<SublinearState>,
}

/// The constants of a step that follow from problem and step size.
fn rates(problem: &Multiclass, gamma: f64) -> (PrimalRates, DualRates) {
    let n = problem.samples().rows() as f64;
    let c = 2.0 * gamma * problem.x_setup().radius() / problem.radius();
    let rate = 2.0 * gamma * problem.y_setup().radius() / n;
    let theta = problem.samples().margins.iter().map(|w| (-rate * w).exp()).collect();
    let shrink = (-c * problem.penalty()).exp();
    (PrimalRates { rate: c / n, shrink }, DualRates { rate, theta })
}

impl<'a> Sublinear<'a> {
    pub(crate) fn new(problem: &'a Multiclass<'a>, state: SublinearState, gamma: f64) -> Self {
        let samples = problem.samples();
        let (primal_rates, dual_rates) = rates(problem, gamma);
        Sublinear {
            problem,
            columns: samples.columns(),
            state,
            primal_rates,
            dual_rates,
            sigmas: samples.column_norms.iter().sum(),
            xi: vec![0.0; samples.rows()],
            script: vec![].into_iter(),
            steps_a_pass: steps_a_pass(samples),
            steps: 0,
            operations: 0,
            best: None,
        }
    }

    /// Replaces the state, to continue with another step size.
    pub(crate) fn exchange(&mut self, state: SublinearState, gamma: f64) -> SublinearState {
        (self.primal_rates, self.dual_rates) = rates(self.problem, gamma);
        std::mem::replace(&mut self.state, state)
    }

    pub(crate) fn steps(&mut self, steps: u64) {
        (0..steps).for_each(|_| self.iterate());
    }
}

impl Sublinear<'_> {
    /// The state so far.
    pub fn state(&self) -> &SublinearState {
        &self.state
    }

    /// The number of entries of matrices and vectors that all steps have read.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// One step.
    fn iterate(&mut self) {
        let samples = self.problem.samples();
        let d = samples.features();
        let of_v = match &self.state.dual {
            Variables::Lazy(dual) => dual.importance(),
            Variables::Whole(dual) => dual.importance(),
        };
        let given = self.script.next();
        // The same number of random numbers whatever is drawn.
        let [u1, u2, u3, u4, u5]: [f64; 5] = self.state.random.random();
        let mut primal_entry = None;
        if of_v > 0.0 {
            let (row, class) = given.map_or_else(
                || self.state.draw_dual(samples, [u3, u4, u5]),
                |d| (d.row, d.row_class),
            );
            let sign = if samples.labels[row] as usize == class { -1.0 } else { 1.0 };
            let tau = samples.row_tops[row];
            if tau > 0.0 {
                primal_entry = Some((row, class, sign * of_v / tau));
            }
        }
        let SublinearState { primal, dual, noisy, .. } = &mut self.state;
        let of_u = primal.importance(self.sigmas);
        let mut dual_entry = None;
        if of_u > 0.0 {
            let (feature, class) = given.map_or_else(
                || primal.draw(&samples.column_norms, self.sigmas, u1, u2),
                |d| (d.feature, d.class),
            );
            let (i, sign) = if feature < d { (feature, 1.0) } else { (feature - d, -1.0) };
            let sigma = samples.column_norms[i];
            if sigma > 0.0 {
                let scale = sign * of_u / sigma;
                self.operations += fill(&self.columns, i, scale, &mut self.xi);
                dual_entry = Some((i, class, scale.abs()));
                if let Some(noisy) = noisy {
                    *noisy.entry((class as u64) << 32 | i as u64).or_default() += scale;
                }
            }
        }
        primal.count();
        self.operations += primal.step(samples, &self.primal_rates, primal_entry);
        // Draws look at a column and at a row of the classes that were touched.
        self.operations += (d + primal.columns.len()) as u64;
        self.operations += match dual {
            Variables::Lazy(dual) => {
                let entry = dual_entry
                    .map(|(_, class, top)| (class, &self.xi[..], top * samples.largest_column()));
                dual.step(samples, &self.dual_rates, entry)
            }
            Variables::Whole(dual) => {
                let entry = dual_entry.map(|(_, class, _)| (class, &self.xi[..]));
                let eta = self.dual_rates.rate * samples.rows() as f64;
                dual.step(samples, self.problem.y_setup(), eta, entry)
            }
        };
        if let Some((i, ..)) = dual_entry {
            clear(&self.columns, i, &mut self.xi);
        }
        self.state.steps += 1;
        self.steps += 1;
    }
}

/// Computes `xi = scale X_i`. If the column is sparse, `xi` must be 0 before.
fn fill(columns: &Rows, i: usize, scale: f64, xi: &mut [f64]) -> u64 {
    match columns {
        Rows::Dense(x) => {
            let x = x.row(i);
            let x = x.to_slice().expect("standard layout");
            for j in 0..x.len() {
                xi[j] = scale * x[j];
            }
            x.len() as u64
        }
        Rows::Sparse(x) => {
            let (places, values) = x.part(i);
            places.iter().zip(values).for_each(|(j, a)| xi[*j as usize] = scale * a);
            places.len() as u64
        }
    }
}

fn clear(columns: &Rows, i: usize, xi: &mut [f64]) {
    if let Rows::Sparse(x) = columns {
        x.part(i).0.iter().for_each(|j| xi[*j as usize] = 0.0);
    }
}

impl Iterative for Sublinear<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let steps = (passes * self.steps_a_pass).round().max(1.0);
        let mut done = 0.0;
        while done < steps {
            self.iterate();
            done += 1.0;
        }
        (done / self.steps_a_pass)
            .max(passes.min(done / self.steps_a_pass + 0.5 / self.steps_a_pass))
    }

    fn certify(&mut self) -> Certificate {
        self.state.certificate(self.problem)
    }

    fn oracle_calls(&self) -> u64 {
        self.steps
    }

    fn keep(&mut self) {
        self.best = Some(self.state.clone());
    }

    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.state = best;
        }
    }
}

/// The step of equation (4.3.6) of the thesis.
pub(crate) fn theory(problem: &Multiclass, horizon: f64) -> f64 {
    let step = stochastic_step(problem.scale(), problem.noise()) / horizon.sqrt();
    // Data that are all 0 allow any step.
    if step.is_finite() { step } else { 1.0 }
}

/// The number of steps that count as a pass, because they read as many entries as the data have.
pub(crate) fn steps_a_pass(samples: &Samples) -> f64 {
    let (n, d) = (samples.rows() as f64, samples.features() as f64);
    (n * d / (n + d)).max(1.0)
}

/// Runs the sublinear method. The certificate is that of the averages, as in the theorems.
///
/// # Errors
/// [`Error::Refused`] for another geometry than the default one, or if more than `max_memory` is needed;
/// [`Error::Invalid`] for a step or limit out of range, invalid scripted draws, or a start of another problem.
pub fn sublinear<'a, O>(
    problem: &'a Multiclass<'a>,
    settings: &SublinearSettings,
    start: Option<SublinearState>,
    observer: &mut O,
) -> Result<Solution<SublinearState>, Error>
where
    O: Observer<Sublinear<'a>>,
{
    let method = "the sublinear method";
    if problem.geometry() != Geometry::default() {
        let what = "geometries other than 1x1 and 2x1; use mirror_prox".to_owned();
        return Err(Refusal::unsupported(method, what).into());
    }
    let samples = problem.samples();
    let shape = (samples.rows(), samples.features(), samples.classes());
    check_script(&settings.script, shape)?;
    let steps_a_pass = steps_a_pass(samples);
    let limit = (settings.stop.max_passes * steps_a_pass).clamp(1.0, 1e12);
    let horizon = settings.horizon.map_or(limit, |steps| steps.max(1) as f64);
    let whole = if problem.loss() == MulticlassLoss::Softmax { 32 } else { 0 };
    let needed = bytes(samples, horizon) + whole * (samples.rows() * samples.classes()) as u64;
    let hint = "a shorter horizon touches fewer classes; or raise max_memory";
    Refusal::check_memory(method, needed, settings.max_memory, hint)?;
    let gamma = settings.step.resolve(theory(problem, horizon))?;
    let state = match start {
        None => SublinearState::new(problem, stream(settings.seed, 0)),
        Some(state) => {
            let fits = match (&state.dual, problem.loss()) {
                (Variables::Lazy(dual), MulticlassLoss::Hinge) => dual.fits(samples),
                (Variables::Whole(dual), MulticlassLoss::Softmax) => dual.fits(samples),
                _ => false,
            };
            if !(state.primal.fits(samples, problem.radius()) && fits) {
                let (what, reason) = ("start", "a state of another problem".to_owned());
                return Err(Invalid::Layout { what, reason }.into());
            }
            state
        }
    };
    let mut method = Sublinear::new(problem, state, gamma);
    let began = method.state.noisy.take().filter(|_| settings.noisy);
    method.state.noisy = settings.noisy.then(|| began.unwrap_or_default());
    method.script = settings.script.clone().into_iter();
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.state, report })
}

/// The memory of the method in addition to the samples: a copy by columns, and two vectors for every class that may
/// be drawn.
pub(crate) fn bytes(samples: &Samples, horizon: f64) -> u64 {
    let entry = if matches!(samples.rows, Rows::Dense(_)) { 8 } else { 12 };
    let touched = horizon.min(samples.classes() as f64) as u64;
    let (n, d) = (samples.rows() as u64, samples.features() as u64);
    samples.stored() as u64 * entry + 16 * (n + d) * touched + 80 * n
}
