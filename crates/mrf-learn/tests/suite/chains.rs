//! Chains that are doubled, and that go on.

use std::sync::{Arc, Mutex};

use fenchel_graphical::Influence;
use fenchel_mrf_learn::spg::{BinarySampler, Sampler, SpgProblem, SpgSolution, spg};
use fenchel_mrf_learn::{
    Coordinates, Data, Error, NonAsymptotic, Penalty, Schedule, Spg, bounds, synthetic,
};
use fenchel_optim::StepSize;

use crate::common::two_states;

fn data(p: usize, rows: usize, seed: u64) -> Data {
    let truth = synthetic::random_network(p, 0.3, (1.0, 2.0), seed).unwrap();
    synthetic::exact_draws(&truth, rows, seed).unwrap()
}

/// Copies of chains go their own ways: after a second doubling in one iteration too, draws are new. At zero parameters two sweeps are
/// independent fair coins, of which 64 chains have the same means of 12 variables with a probability below 2^-30.
#[test]
fn doubled_chains_draw_anew() {
    let data = data(12, 50, 3);
    let settings = Spg { chains: 64, ..Spg::default() };
    let mut sampler = BinarySampler::new(&data, &settings).unwrap();
    let mut halves = vec![];
    for _ in 0..3 {
        sampler.double(0).unwrap();
        sampler.sweep();
        let (mut first, mut second) = (vec![0.0; 78], vec![0.0; 78]);
        sampler.half_means(&mut first, &mut second);
        halves.push(first);
        halves.push(second);
    }
    for (at, a) in halves.iter().enumerate() {
        assert!(halves[at + 1..].iter().all(|b| a != b));
    }
}

/// Chains that are doubled begin as copies: the bound counts their sweeps from there. A sampler of one variable pair with a constant influence
/// tells the sweeps from the bound.
#[test]
fn doubled_chains_begin_anew_for_the_bound() {
    /// What happened, in order: `true` for a doubling, `false` for a look at the bound, with `d`.
    type Events = Arc<Mutex<Vec<(bool, f64)>>>;
    #[derive(Clone)]
    struct Watched(BinarySampler, Influence, Events);
    impl Sampler for Watched {
        fn dimension(&self) -> usize {
            self.0.dimension()
        }
        fn variables(&self) -> usize {
            self.0.variables()
        }
        fn chains(&self) -> usize {
            self.0.chains()
        }
        fn set(&mut self, theta: &[f64]) -> Result<(), Error> {
            self.0.set(theta)
        }
        fn begin(&mut self, round: u64) -> Result<(), Error> {
            self.0.begin(round)
        }
        fn double(&mut self, round: u64) -> Result<(), Error> {
            self.2.lock().unwrap().push((true, 0.0));
            self.0.double(round)
        }
        fn sweep(&mut self) {
            self.0.sweep();
        }
        fn means(&self, out: &mut [f64]) {
            self.0.means(out);
        }
        fn half_means(&self, first: &mut [f64], second: &mut [f64]) {
            self.0.half_means(first, second);
        }
        fn influence(&self) -> Influence {
            self.1.clone()
        }
        fn bias(&self, _: bounds::BoundKind, d: &[f64]) -> f64 {
            self.2.lock().unwrap().push((false, d[0]));
            0.0
        }
        fn curvature(&self) -> f64 {
            self.0.curvature()
        }
        fn log_partition(
            &self,
            settings: &fenchel_graphical::ais::AisSettings,
        ) -> Result<(f64, f64), Error> {
            self.0.log_partition(settings)
        }
        fn edges(&self, theta: &[f64]) -> usize {
            self.0.edges(theta)
        }
    }

    let data = data(3, 50, 3);
    let rule = NonAsymptotic { most_chains: 1600, ..NonAsymptotic::default() };
    let settings = Spg { schedule: Schedule::NonAsymptotic(rule), chains: 100, ..Spg::default() };
    let settings = settings.with_iterations(1);
    let pair = two_states(3).binary(&[0.0, 1.0, 1.0, 0.0, 1.0, 0.0]).unwrap().0;
    let influence = Influence::bound(&pair);
    let mut once = vec![1.0; 3];
    influence.sweep(&mut once);
    let events = Events::default();
    let sampler = Watched(BinarySampler::new(&data, &settings).unwrap(), influence, events.clone());
    let penalty = Penalty::l1(0.4);
    let problem = SpgProblem {
        sampler,
        target: data.means(Coordinates::Binary).unwrap(),
        regulariser: penalty.strengths(&two_states(3)).unwrap(),
        missing: None,
        settings: &settings,
    };
    spg(problem, vec![0.0; 6], &mut ()).unwrap();
    let events = events.lock().unwrap();
    assert!(events.iter().filter(|event| event.0).count() >= 2, "{events:?}");
    for pair in events.windows(2).filter(|pair| pair[0].0) {
        assert_eq!(pair[1], (false, once[0]));
    }
}

/// A run in two halves, the second from the parameters and the chains of the first, is the run in one.
#[test]
fn a_run_goes_on_with_its_chains() {
    let data = data(5, 300, 3);
    let settings = |iterations| {
        let schedule = Schedule::Fixed(2);
        let step = StepSize::Constant(0.3);
        let spg = Spg { schedule, step, chains: 200, noise_floor: None, ..Spg::default() };
        spg.with_iterations(iterations)
    };
    let run = |settings: &Spg, from: Option<SpgSolution<BinarySampler>>| {
        let (sampler, theta) = match from {
            Some(done) => (done.sampler, done.theta),
            None => (BinarySampler::new(&data, settings).unwrap(), vec![0.0; 15]),
        };
        let target = data.means(Coordinates::Binary).unwrap();
        let regulariser = Penalty::l1(0.02).strengths(&two_states(5)).unwrap();
        let problem = SpgProblem { sampler, target, regulariser, missing: None, settings };
        spg(problem, theta, &mut ()).unwrap()
    };
    let (half, whole) = (settings(4), settings(8));
    let first = run(&half, None);
    let middle = first.theta.clone();
    let two = run(&half, Some(first));
    let one = run(&whole, None);
    assert_eq!(one.theta, two.theta);
    assert_ne!(one.theta, middle);
}
