//! The lazy method is the dense one.

use fenchel_linalg::AsDesign;
use fenchel_optim::random::stream;
use fenchel_optim::{Cadence, Status, StepSize, Stop};
use fenchel_saddle::methods::{MirrorDescentSettings, stochastic_mirror_descent};
use fenchel_saddle::multiclass::{
    Draw, Geometry, Multiclass, Sampler, Samples, Sampling, SublinearSettings, SublinearState,
    sublinear,
};
use fenchel_saddle::{MulticlassLoss, Primal, SaddleProblem};
use rand::RngExt;

use crate::data;

fn script(samples: &Samples, length: usize, seed: u64) -> Vec<Draw> {
    let (n, d, k) = (samples.rows(), samples.features(), samples.classes());
    let mut rng = stream(seed, 3);
    let mut draw = || Draw {
        feature: rng.random_range(0..2 * d),
        class: rng.random_range(0..k),
        row: rng.random_range(0..n),
        row_class: rng.random_range(0..k),
    };
    (0..length).map(|_| draw()).collect()
}

/// A run of exactly so many steps, looked at once.
fn lazy(problem: &Multiclass, step: f64, draws: &[Draw]) -> SublinearState {
    let s = problem.samples();
    let (n, d) = (s.rows() as f64, s.features() as f64);
    let passes = draws.len() as f64 * (n + d) / (n * d);
    let stop = Stop { check: Cadence::Every(1e9), ..Stop::after_passes(passes) };
    let (step, script) = (StepSize::Constant(step), draws.to_vec());
    let settings = SublinearSettings { step, stop, script, ..Default::default() };
    let solution = sublinear(problem, &settings, None, &mut ()).unwrap();
    assert_eq!(solution.report.oracle_calls as usize, draws.len());
    solution.state
}

/// The same steps on whole matrices, in logarithms.
fn whole(problem: &Multiclass, step: f64, draws: &[Draw]) -> (Vec<f64>, Vec<f64>, f64) {
    let mut oracle = Sampler::new(problem, Sampling::Full, 0).unwrap().scripted(draws.to_vec());
    let s = problem.samples();
    let (n, d) = (s.rows() as f64, s.features() as f64);
    let passes =
        draws.len() as f64 * (s.stored() as f64 / n + s.stored() as f64 / d) / s.stored() as f64;
    let stop = Stop { check: Cadence::Every(1e9), ..Stop::after_passes(passes - 1e-4) };
    let settings =
        MirrorDescentSettings { step: StepSize::Constant(step), stop, ..Default::default() };
    let solution =
        stochastic_mirror_descent(problem, &mut oracle, &settings, None, &mut ()).unwrap();
    assert_eq!(solution.report.oracle_calls as usize, draws.len());
    let (mut x, y) = solution.state.averages();
    let mass = x.pop().unwrap();
    (x, y, mass)
}

fn error(found: &[f64], expected: &[f64]) -> f64 {
    let size = expected.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    found.iter().zip(expected).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs())) / size
}

fn compare(problem: &Multiclass, step: f64, draws: &[Draw]) -> SublinearState {
    let state = lazy(problem, step, draws);
    let (x, y, mass) = whole(problem, step, draws);
    let k = problem.samples().classes();
    let mut weights = vec![0.0; x.len()];
    for (class, column) in state.weights() {
        column.iter().enumerate().for_each(|(i, u)| weights[i * k + class] = *u);
    }
    let worst = error(&weights, &x).max(error(&state.dual(problem), &y));
    let worst = worst.max((state.mass() - mass).abs() / mass);
    assert!(worst <= 1e-10, "relative error {worst:e}, flushes {:?}", state.flushes());
    // The certificate of few columns is that of the whole matrices.
    let certificate = state.certificate(problem);
    let dual = state.dual(problem);
    assert!((certificate.objective().unwrap() - problem.primal(&weights)).abs() < 1e-11);
    let gap = problem.primal(&weights) - problem.dual(&dual);
    assert!((certificate.value() - gap).abs() < 1e-10 * (1.0 + gap.abs()));
    let mut split = weights.clone();
    split.push(state.mass());
    assert!(
        (state.split_gap(problem) - problem.split_gap(&split, &dual)).abs() < 1e-10 * (1.0 + gap)
    );
    state
}

fn theory(problem: &Multiclass, steps: usize) -> f64 {
    let s = (2.0_f64).sqrt() * problem.noise();
    (1.0 / (10.0_f64.sqrt() * problem.scale())).min(1.0 / s) / (steps as f64).sqrt()
}

#[test]
fn lazy_steps_equal_dense_steps_under_the_same_draws() {
    for (seed, n, d, k, steps) in [(1, 9, 5, 4, 400), (2, 70, 3, 2, 300), (3, 4, 30, 6, 300)] {
        let samples = data::samples(n, d, k, seed);
        let draws = script(&samples, steps, seed);
        for lambda in [0.0, 0.02] {
            for loss in [MulticlassLoss::Hinge, MulticlassLoss::Softmax] {
                let problem = Multiclass::new(&samples, loss, 3.0, lambda).unwrap();
                for factor in [1.0, 30.0] {
                    compare(&problem, factor * theory(&problem, steps), &draws);
                }
            }
        }
    }
}

/// Long steps under a strong penalty: the common factor of `U` falls below 1e-30, then below 1e-130, while `V` is moved hard.
#[test]
fn factors_may_pass_any_power_of_ten() {
    let samples = data::samples(12, 6, 5, 4);
    let draws = script(&samples, 3000, 4);
    for (lambda, digits) in [(0.08, 30.0), (0.5, 130.0)] {
        let problem = Multiclass::new(&samples, MulticlassLoss::Hinge, 2.0, lambda).unwrap();
        let step = digits * 10.0_f64.ln() * 1.3
            / (3000.0 * lambda * 2.0 * problem.x_setup().radius() / 2.0);
        let state = compare(&problem, step, &draws);
        assert!(state.flushes().0 as f64 >= digits / 2.0, "{:?}", state.flushes());
    }
    // Rows are flushed too where the steps of V are long. (Longer ones drive an entry of U below 1e-308, which the reference then
    // leaves out.)
    let problem = Multiclass::new(&samples, MulticlassLoss::Hinge, 2.0, 0.0).unwrap();
    let state = compare(&problem, 60.0 * theory(&problem, 3000), &draws[..2000]);
    assert!(state.flushes().1 >= 5, "{:?}", state.flushes());
}

#[test]
fn sparse_and_weighted_data_take_the_same_steps() {
    let (csr, dense, y) = data::sparse(40, 9, 5, 5);
    let weights: Vec<f64> = (0..40).map(|j| f64::from(j % 4)).collect();
    let of_sparse = Samples::new(&csr.as_design().unwrap(), &y, 5, Some(&weights)).unwrap();
    let of_dense = Samples::new(&dense.as_design().unwrap(), &y, 5, Some(&weights)).unwrap();
    assert_eq!(of_sparse.rows(), 30, "rows of weight 0 are left out");
    let draws = script(&of_sparse, 500, 5);
    for loss in [MulticlassLoss::Hinge, MulticlassLoss::Softmax] {
        let mut states = vec![];
        for samples in [&of_sparse, &of_dense] {
            let problem = Multiclass::new(samples, loss, 3.0, 0.01).unwrap();
            states.push(compare(&problem, 20.0 * theory(&problem, 500), &draws));
        }
        let [sparse, dense] = &states[..] else { unreachable!() };
        for ((a, u), (b, v)) in sparse.weights().iter().zip(dense.weights()) {
            assert_eq!(*a, b);
            assert!(error(u, &v) < 1e-11);
        }
    }
}

/// Its own draws follow the law: the frequencies of 40,000 first draws.
#[test]
fn draws_follow_the_law() {
    for loss in [MulticlassLoss::Hinge, MulticlassLoss::Softmax] {
        draws_of_a_loss_follow_the_law(loss);
    }
}

fn draws_of_a_loss_follow_the_law(loss: MulticlassLoss) {
    let samples = data::samples(6, 3, 3, 6);
    let problem = Multiclass::new(&samples, loss, 2.0, 0.01).unwrap();
    let draws = script(&samples, 60, 6);
    let start = lazy(&problem, 20.0 * theory(&problem, 60), &draws);
    let (law_u, law_v) = start.law(&samples);
    let (total_u, total_v): (f64, f64) = (law_u.iter().sum(), law_v.iter().sum());
    let (mut of_u, mut of_v) = (vec![0.0; law_u.len()], vec![0.0; law_v.len()]);
    let mut rng = stream(6, 0);
    let count = 40_000;
    for _ in 0..count {
        let draw = start.draw(&samples, &mut rng);
        of_u[draw.feature * 3 + draw.class] += 1.0 / f64::from(count);
        of_v[draw.row * 3 + draw.row_class] += 1.0 / f64::from(count);
    }
    for (frequency, weight, total) in of_u
        .iter()
        .zip(&law_u)
        .map(|(f, w)| (f, w, total_u))
        .chain(of_v.iter().zip(&law_v).map(|(f, w)| (f, w, total_v)))
    {
        let p = weight / total;
        let deviation = (p * (1.0 - p) / f64::from(count)).sqrt();
        assert!((frequency - p).abs() < 5.0 * deviation + 1e-9, "{frequency} {p}");
    }
}

/// Drawn entries are unbiased estimates of the iterates: their mean differs from the average by a martingale over `T`, whose entries
/// are at most `R max(sigma) / sigma_i` and hence have a variance of at most that times `R` over `T`.
#[test]
fn drawn_entries_average_to_the_weights() {
    let samples = data::samples(40, 6, 3, 8);
    let (radius, steps) = (3.0, 200_000_u64);
    let problem = Multiclass::new(&samples, MulticlassLoss::Hinge, radius, 0.01).unwrap();
    let stop = Stop {
        check: Cadence::Every(1e9),
        ..Stop::after_passes(steps as f64 * (40.0 + 6.0) / 240.0)
    };
    let settings = SublinearSettings {
        step: StepSize::Scaled(30.0),
        horizon: Some(steps),
        stop,
        noisy: true,
        ..Default::default()
    };
    let state = sublinear(&problem, &settings, None, &mut ()).unwrap().state;
    let mut noisy = [[0.0; 3]; 6];
    state.noisy_weights().into_iter().for_each(|(i, l, v)| noisy[i][l] = v);
    let norms: Vec<f64> =
        data::dense(40, 6, 3, 8).0.columns().into_iter().map(|c| c.dot(&c).sqrt()).collect();
    let top = norms.iter().copied().fold(0.0, f64::max);
    let mut seen = 0.0_f64;
    for (class, column) in state.weights() {
        for i in 0..6 {
            let room = 5.0 * radius * (top / norms[i] / steps as f64).sqrt();
            assert!((noisy[i][class] - column[i]).abs() <= room, "{noisy:?} {column:?}");
            seen = seen.max(column[i].abs() / room);
        }
    }
    assert!(seen > 5.0, "the weights are below the noise: {seen}");
    let without =
        sublinear(&problem, &SublinearSettings { noisy: false, ..settings }, None, &mut ());
    let without = without.unwrap().state;
    assert!(without.noisy_weights().is_empty() && without.weights() == state.weights());
}

#[test]
fn runs_repeat_resume_and_report() {
    let samples = data::samples(50, 20, 6, 7);
    for loss in [MulticlassLoss::Hinge, MulticlassLoss::Softmax] {
        let problem = Multiclass::new(&samples, loss, 5.0, 0.01).unwrap();
        runs_of_a_problem_repeat_resume_and_report(&problem);
    }
    let [hinge, softmax] = [MulticlassLoss::Hinge, MulticlassLoss::Softmax]
        .map(|loss| Multiclass::new(&samples, loss, 5.0, 0.01).unwrap());
    let state = sublinear(&hinge, &Default::default(), None, &mut ()).unwrap().state;
    let other = sublinear(&softmax, &Default::default(), Some(state), &mut ()).unwrap_err();
    assert!(other.to_string().contains("a state of another problem"), "{other}");
}

fn runs_of_a_problem_repeat_resume_and_report(problem: &Multiclass) {
    let run = |passes: f64, start: Option<SublinearState>| {
        let stop = Stop { check: Cadence::Doubling(7.0), ..Stop::after_passes(passes) };
        let step = StepSize::Scaled(30.0);
        let settings =
            SublinearSettings { step, horizon: Some(20_000), stop, seed: 3, ..Default::default() };
        sublinear(problem, &settings, start, &mut ()).unwrap()
    };
    let whole = run(1400.0, None);
    assert_eq!(whole.state, run(1400.0, None).state);
    let half = run(700.0, None);
    let file = serde_json::to_string(&half.state).unwrap();
    let resumed = run(700.0, Some(serde_json::from_str(&file).unwrap()));
    assert_eq!(resumed.state, whole.state);
    assert_eq!(whole.report.status, Status::PassLimit);
    let first = half.state.certificate(problem).value();
    let last = whole.state.certificate(problem).value();
    assert!(last < first && last < 0.5, "{first} {last}");
}

#[test]
fn what_the_method_cannot_treat_is_refused() {
    let samples = data::samples(5, 4, 3, 8);
    let refused = |problem: &Multiclass, settings: &SublinearSettings| {
        sublinear(problem, settings, None, &mut ()).unwrap_err().to_string()
    };
    let plain = SublinearSettings::default();
    // The dual variables of the softmax alone need 32 n k bytes.
    let softmax = Multiclass::new(&samples, MulticlassLoss::Softmax, 1.0, 0.0).unwrap();
    let some = SublinearSettings { max_memory: Some(32 * 15), ..plain.clone() };
    assert!(refused(&softmax, &some).contains("max_memory is"));
    let rows = Geometry { primal: Primal::Rows, ..Default::default() };
    let groups =
        Multiclass::with_geometry(&samples, MulticlassLoss::Hinge, 1.0, 0.0, rows).unwrap();
    assert!(refused(&groups, &plain).contains("geometries"));
    assert!(Sampler::new(&groups, Sampling::Full, 0).is_err());
    let hinge = Multiclass::new(&samples, MulticlassLoss::Hinge, 1.0, 0.0).unwrap();
    let small = SublinearSettings { max_memory: Some(10), ..plain.clone() };
    assert!(refused(&hinge, &small).contains("max_memory is"));
    let script = vec![Draw { feature: 8, ..Draw::default() }];
    assert!(refused(&hinge, &SublinearSettings { script, ..plain }).contains("draw 0"));
}
