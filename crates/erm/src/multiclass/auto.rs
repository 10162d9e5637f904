//! The method that suits a problem of several classes.
//!
//! | case | method |
//! |---|---|
//! | a regulariser that ties the weights together | [`fista`](super::fista) |
//! | l1 or another separable regulariser | [`catalyst`](super::catalyst) |
//! | none, few features and classes | [`newton`](super::newton) |
//! | none, long rows and a well conditioned dual | [`catalyst`](super::catalyst), which is SDCA for `beta >= 1` |
//! | none, else | [`newton_cg`](super::newton_cg) |
//!
//! `beta = n mu / mean L_i`. Without a regulariser, the function chooses the method with the fewest predicted batch passes. The
//! prediction was fitted to measurements on four data sets: wine (178 rows, 13 features, 3 classes), handwritten digits (1,797,
//! 64, 10), handwritten letters (10,001, 128, 23) and the test images of MNIST (10,000, 784, 10). The table has the passes that
//! each method needed until its gap was 1e-6, for `beta` = 4, 0.4, 0.04 and 0.004:
//!
//! | | Newton-CG | dual ascent |
//! |---|---|---|
//! | wine | 17, 33, 58, 105 | 7, 14, 137, more than 300 |
//! | digits | 50, 139, 258, 495 | 7, 34, more than 300 twice |
//! | letters | 141, 381, 745, 1180 | 7, 30, 187, more than 300 |
//! | MNIST | 111, 278, 600, 1082 | 7, 13, 55, more than 300 |
//!
//! The passes of Newton-CG are assumed to grow with the cube root of the number of weights, from digits on. A pass of dual ascent cost 2.1 to 2.5 batch passes
//! on the sparse rows of MNIST (151 entries), 3.5 on those of digits (33), 5 to 6 on letters (28), and 8 on dense rows of digits. A
//! pass that Newton's method counts for its Hessian took 2.5 on dense rows. As in the binary case ([`auto`](mod@crate::auto)) the
//! second best method takes over once.
//!
//! The table was measured before products with dense rows took six tenths of the time. Where dense rows have 100,000 numbers or more
//! and the cheapest method is predicted to cost at least 40 batch passes, [`lbfgs`](super::lbfgs) is tried first. It is given up after
//! ten passes unless its pace promises to end within 40. On seven dense sets that were not used to choose this (180 to 300 features, 4
//! to 26 classes), the whole took 0.78 of the time in the median of eleven problems, and 0.14 to 1.5 of it.

use std::ops::Deref;

use fenchel_linalg::{Design, Nonzeros};
use fenchel_optim::fista::FistaSettings;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::newton::NewtonCgSettings;
use fenchel_optim::prox::{L1, L1L2};
use fenchel_optim::{Budget, Observer, Regulariser, Report, Separable, Solution, Stop};

use super::batch::{fista, lbfgs};
use super::newton::{hessian_bytes, hessian_cost, newton, newton_cg};
use super::problem::{CURVATURE, MulticlassPoint, MulticlassProblem};
use super::sdca::{MulticlassSettings, catalyst};
use super::state::MulticlassState;
use crate::Error;
use crate::auto::{
    Arm, AutoSettings, AutoState, Choice, Guarded, JOINT, Method, WELL_CONDITIONED, guarded,
    offers_trial,
};
use crate::methods::lag::{Call, Composite, Lagged};
use crate::methods::newton::{AsElasticNet, NewtonSettings};
use crate::on_centred;

/// A pass of exact dual steps, with its share of the certificates, in batch passes: a factor for rows in random order, and a price of
/// a row for its exponentials, in entries. One pair for dense designs, whose entries are cheap, and one for sparse ones. Measured.
const DENSE_DUAL: (f64, f64) = (1.5, 400.0);
const SPARSE_DUAL: (f64, f64) = (2.0, 75.0);

/// A pass of Newton's method, with its Hessian, in batch passes. Measured.
const NEWTON_PASS: f64 = 2.5;

/// L-BFGS is tried where the cheapest method is predicted to cost at least so many batch passes, and given up where its pace does not
/// promise to end within as many.
const TRIAL: f64 = 40.0;

/// The predicted number of Newton steps. Measured.
const NEWTON_STEPS: f64 = 6.0;

/// Where [`auto`] ended.
pub type MulticlassAuto = AutoState<MulticlassPoint>;

/// Solves a problem of several classes by the method that suits it, as [`auto`](crate::auto()) does for one margin.
///
/// Dense data of which at most a quarter is not 0 is copied without its zeros, 12 bytes an entry; columns far from 0 are centred
/// in a copy as for one margin. The observer sees the progress and the [`Method`] at work.
///
/// # Errors
/// [`Error::Invalid`] for a start of another shape or settings out of range.
pub fn auto<D: Design + Copy, R: Composite>(
    problem: &MulticlassProblem<'_, D, R>,
    settings: &AutoSettings,
    start: Option<MulticlassPoint>,
    observer: &mut dyn Observer<Method>,
) -> Result<Solution<MulticlassAuto>, Error> {
    let settings = settings.clone();
    settings.stop.check()?;
    if let Some(start) = &start {
        problem.check_start(start)?;
    }
    let budget = Budget::new(settings.stop);
    let Some(centred) = problem.centred(settings.max_memory) else {
        return on_nonzeros(problem, settings, budget, start, observer);
    };
    let start = start.map(|start| problem.into_centred(&centred, start));
    let stop = settings.stop;
    on_centred!(centred, design => {
        let on = problem.seen_through(design)?;
        let Solution { state, report } = on_nonzeros(&on, settings, budget, start, observer)?;
        let (point, report) = problem.out_of_centred(&centred, &stop, (state.point, report));
        Ok(Solution { state: AutoState { point, ..state }, report })
    })
}

/// Solves the problem on a copy without zeros, if that is worth it.
fn on_nonzeros<D: Design + Copy, R: Composite>(
    problem: &MulticlassProblem<'_, D, R>,
    mut settings: AutoSettings,
    budget: Budget,
    start: Option<MulticlassPoint>,
    observer: &mut dyn Observer<Method>,
) -> Result<Solution<MulticlassAuto>, Error> {
    let copy = Nonzeros::if_worth(problem.design(), settings.max_memory);
    settings.stop = budget.left();
    let settings = &settings;
    match copy {
        Some(copy) => {
            let problem = &problem.stored_as(copy.view());
            R::dispatch(Classes { problem, settings, start, observer })
        }
        None => R::dispatch(Classes { problem, settings, start, observer }),
    }
}

/// A problem of several classes.
struct Classes<'c, 'a, D, R> {
    problem: &'c MulticlassProblem<'a, D, R>,
    settings: &'c AutoSettings,
    start: Option<MulticlassPoint>,
    observer: &'c mut dyn Observer<Method>,
}

impl<D: Design + Copy, R: Regulariser + Clone> Call<R> for Classes<'_, '_, D, R> {
    type Solved = Result<Solution<MulticlassAuto>, Error>;

    fn elastic_net(self) -> Self::Solved
    where
        R: AsElasticNet + Lagged,
    {
        let Classes { problem, settings, start, observer } = self;
        let L1L2 { l1, l2 } = problem.regulariser().weights();
        let problem = &problem.clone().penalised(L1 { strength: l1 }, problem.l2() + l2)?;
        if l1 > 0.0 {
            by_coordinates(problem, settings, start, observer)
        } else {
            smooth(problem, settings, start, observer)
        }
    }

    fn general(self) -> Self::Solved
    where
        R: Composite,
    {
        let Classes { problem, settings, start, observer } = self;
        if let Some(sum) = problem.regulariser().coordinates() {
            let problem = &problem.clone().penalised(sum.clone(), problem.l2())?;
            return by_coordinates(problem, settings, start, observer);
        }
        let beta = conditioning(problem);
        let choice = Choice { beta, ..Choice::only(Method::Fista, JOINT) };
        let by = |_, start: Option<MulticlassPoint>, stop, watch: &mut Guarded<'_>| {
            let settings = FistaSettings { stop, ..FistaSettings::default() };
            let start = start.map(MulticlassPoint::into);
            fista(problem, &settings, start, watch).map(|s| (s.state.point, s.report))
        };
        guarded(choice, Budget::new(settings.stop), start, observer, by)
    }

    fn owned<S: Composite>(self) -> Self::Solved
    where
        R: Deref<Target = S>,
    {
        let Classes { problem, settings, start, observer } = self;
        let own = S::clone(problem.regulariser());
        let problem = &problem.clone().penalised(own, problem.l2())?;
        S::dispatch(Classes { problem, settings, start, observer })
    }
}

/// With a regulariser that is a sum over coordinates.
fn by_coordinates<D: Design, R: Separable>(
    problem: &MulticlassProblem<'_, D, R>,
    settings: &AutoSettings,
    start: Option<MulticlassPoint>,
    observer: &mut dyn Observer<Method>,
) -> Result<Solution<MulticlassAuto>, Error> {
    let AutoSettings { seed, stop, .. } = *settings;
    let choice =
        Choice { beta: conditioning(problem), ..Choice::only(Method::Catalyst, WELL_CONDITIONED) };
    let by = |_, start, stop, watch: &mut Guarded<'_>| ascend(problem, seed, start, stop, watch);
    guarded(choice, Budget::new(stop), start, observer, by)
}

/// Without regulariser.
fn smooth<D: Design + Copy>(
    problem: &MulticlassProblem<'_, D, L1>,
    settings: &AutoSettings,
    start: Option<MulticlassPoint>,
    observer: &mut dyn Observer<Method>,
) -> Result<Solution<MulticlassAuto>, Error> {
    let AutoSettings { max_memory, seed, stop } = *settings;
    let choice = choose(problem, stop.relative, max_memory);
    let by = |method, start, stop, watch: &mut Guarded<'_>| match method {
        Method::Newton => {
            let settings = NewtonSettings { max_memory, seed, stop };
            newton(problem, &settings, start, watch).map(|s| (s.state, s.report))
        }
        Method::NewtonCg => {
            let settings = NewtonCgSettings { stop, ..NewtonCgSettings::default() };
            newton_cg(problem, &settings, start, watch).map(|s| (s.state, s.report))
        }
        Method::Lbfgs => {
            let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
            let start = start.map(MulticlassPoint::into);
            lbfgs(problem, &settings, start, watch).map(|s| (s.state.point, s.report))
        }
        _ => ascend(problem, seed, start, stop, watch),
    };
    guarded(choice, Budget::new(stop), start, observer, by)
}

fn ascend<D: Design, R: Separable>(
    problem: &MulticlassProblem<'_, D, R>,
    seed: u64,
    start: Option<MulticlassPoint>,
    stop: Stop,
    watch: &mut Guarded<'_>,
) -> Result<(MulticlassPoint, Report), Error> {
    let settings = MulticlassSettings { seed, stop, ..MulticlassSettings::default() };
    let start = start.map(|point| MulticlassState::at(problem, point));
    catalyst(problem, &settings, start, watch).map(|s| (s.state.point, s.report))
}

/// `beta = n mu / mean L_i`
fn conditioning<D: Design, R: Regulariser>(problem: &MulticlassProblem<'_, D, R>) -> f64 {
    let mean = CURVATURE * problem.mean_norm_squared();
    let mu = problem.strong_convexity();
    if mean > 0.0 { problem.n() as f64 * mu / mean } else { f64::INFINITY }
}

/// Chooses for a problem without regulariser.
fn choose<D: Design>(
    problem: &MulticlassProblem<'_, D, L1>,
    relative: f64,
    max_memory: Option<u64>,
) -> Choice {
    let beta = conditioning(problem);
    let newton_step = if max_memory.is_none_or(|limit| hessian_bytes(problem) <= limit) {
        1.5 + hessian_cost(problem)
    } else {
        f64::INFINITY
    };
    let scale = if relative > 0.0 { -relative.log10() } else { 12.0 } / 6.0;
    let weights = (problem.d() * problem.classes()) as f64;
    // As many as digits has: below, a handful of passes is nothing to choose by.
    let spread = (weights / 640.0).cbrt().max(1.0);
    let (ascent, newton_cg) = match beta {
        b if b >= 2.0 => (8.0, 50.0),
        b if b >= 0.1 => (22.0, 139.0),
        b if b >= 0.005 => (150.0, 258.0),
        b => (600.0 * (0.005 / b.max(1e-300)).sqrt(), 495.0),
    };
    let (ascent, newton_cg) = (scale * ascent, scale * spread * newton_cg);
    let entries = problem.design().stored().max(1) as f64 / problem.n() as f64;
    let (pass, row) = if D::DENSE { DENSE_DUAL } else { SPARSE_DUAL };
    let pass = pass + row / entries;
    let dual = if problem.l2() > 0.0 { pass * ascent } else { f64::INFINITY };
    let arm = |method, cost, passes| Arm { method, cost, passes };
    let steps = NEWTON_STEPS * newton_step;
    let arms = [
        arm(Method::Newton, NEWTON_PASS * steps, steps),
        arm(Method::NewtonCg, newton_cg, newton_cg),
        arm(Method::Catalyst, dual, ascent),
    ];
    let first = arms.iter().fold(arms[0], |best, &a| if a.cost < best.cost { a } else { best });
    let (choice, least) = (Choice::of_arms(first.method, &arms, None), first.cost);
    let trial = (least >= TRIAL && offers_trial(problem.design())).then_some(TRIAL);
    Choice { beta, second: choice.second.or(Some(Method::Lbfgs)), trial, ..choice }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fenchel_linalg::{Csr, CsrMatrix};

    /// The choice for rows of unit norm with so many entries.
    fn chosen(columns: usize, classes: usize, entries: usize, beta: f64) -> Method {
        const N: usize = 60;
        let offsets = (0..=N).map(|i| i * entries).collect();
        let of_row = |i: usize| {
            let mut row: Vec<u32> =
                (0..entries).map(|k| ((i + k * (columns / entries)) % columns) as u32).collect();
            row.sort_unstable();
            row
        };
        let values = vec![(entries as f64).sqrt().recip(); N * entries];
        let x =
            CsrMatrix::try_new((N, columns), offsets, (0..N).flat_map(of_row).collect(), values);
        let (x, y) = (x.unwrap(), (0..N).map(|i| i % classes).collect::<Vec<_>>());
        let design = Csr::new(x.view()).unwrap();
        let l2 = beta * CURVATURE / N as f64;
        let problem =
            MulticlassProblem::new(design, &y, classes, L1 { strength: 0.0 }, l2).unwrap();
        assert!((conditioning(&problem) - beta).abs() < 1e-12 * beta);
        choose(&problem, 1e-6, Some(1 << 30)).method
    }

    /// What was the quicker on the data sets that the model was made from.
    #[test]
    fn the_choices_are_those_that_were_measured() {
        use Method::{Catalyst, NewtonCg};
        let of = |columns, classes, entries| {
            [4.0, 0.4, 0.04].map(|beta| chosen(columns, classes, entries, beta))
        };
        assert_eq!(of(784, 10, 151), [Catalyst; 3], "MNIST");
        assert_eq!(of(128, 23, 28), [Catalyst, Catalyst, NewtonCg], "letters");
        assert_eq!(of(64, 10, 33), [Catalyst, Catalyst, NewtonCg], "digits");
    }
}
