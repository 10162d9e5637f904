//! The same seed gives the same bits, on any number of threads, watched or not.

use fenchel_datasets::generate::{Spgen, spgen};
use fenchel_erm::loss::Logistic;
use fenchel_erm::methods::{
    CatalystSettings, NewtonCgSettings, QningSettings, SagaSettings, SdcaSettings, SvrgSettings,
    catalyst, newton_cg, qning, saga, sdca, svrg,
};
use fenchel_erm::{Point, Problem};
use fenchel_linalg::AsDesign;
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::{Cadence, Stop, Trace};

/// Large enough for the products to be split: 150,000 entries.
fn weights(seed: u64) -> Vec<Point> {
    let settings =
        Spgen { rows: 5000, columns: 400, nonzeros: 30, seed: 7, noise: 3000, normalise: true };
    let data = spgen(&settings).unwrap().classification();
    let y = data.y.to_vec();
    let design = data.x.as_design().unwrap();
    let problem = Problem::new(design, &y, Logistic, L1 { strength: 1e-4 }, 1e-4).unwrap();
    let problem = problem.with_intercept();
    let smooth = Problem::new(design, &y, Logistic, Zero, 1e-6).unwrap().with_intercept();
    let stop = Stop::after_passes(4.0);
    vec![
        qning(&problem, &QningSettings { seed, stop, ..Default::default() }, None, &mut ())
            .unwrap()
            .state
            .point,
        newton_cg(&smooth, &NewtonCgSettings { stop, ..Default::default() }, None, &mut ())
            .unwrap()
            .state,
        sdca(&problem, &SdcaSettings { seed, stop, ..Default::default() }, None, &mut ())
            .unwrap()
            .state
            .point,
        catalyst(&problem, &CatalystSettings { seed, stop, ..Default::default() }, None, &mut ())
            .unwrap()
            .state
            .point,
        saga(&problem, &SagaSettings { seed, stop, ..Default::default() }, None, &mut ())
            .unwrap()
            .state
            .point,
        svrg(&problem, &SvrgSettings { seed, stop, ..Default::default() }, None, &mut ())
            .unwrap()
            .state
            .point,
    ]
}

#[cfg(feature = "parallel")]
#[test]
fn threads_do_not_change_a_bit() {
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| weights(5))
    };
    let one = on(1);
    assert_eq!(one, on(2));
    assert_eq!(one, on(3));
    assert_ne!(one, weights(6));
}

#[test]
fn watching_does_not_change_a_bit() {
    let data =
        spgen(&Spgen { rows: 300, columns: 50, nonzeros: 5, seed: 1, noise: 500, normalise: true });
    let data = data.unwrap().classification();
    let y = data.y.to_vec();
    let problem =
        Problem::new(data.x.as_design().unwrap(), &y, Logistic, L1 { strength: 1e-3 }, 1e-3)
            .unwrap();
    let mut trace = Trace::new();
    for problem in [problem.clone(), problem.with_intercept()] {
        for stop in [Stop::after_passes(7.0), Stop::at_relative(1e-6)] {
            let settings = SagaSettings { stop, ..Default::default() };
            let watched = saga(&problem, &settings, None, &mut trace).unwrap();
            let unwatched = saga(&problem, &settings, None, &mut ()).unwrap();
            assert_eq!(watched.state, unwatched.state);
            assert!(unwatched.report.seconds > 0.0);
            let settings = SdcaSettings { stop, ..Default::default() };
            let watched = sdca(&problem, &settings, None, &mut trace).unwrap();
            let unwatched = sdca(&problem, &settings, None, &mut ()).unwrap();
            assert_eq!(watched.state, unwatched.state);
        }
    }
}

/// How often a run is certified has no influence on where it goes.
#[test]
fn looking_does_not_change_a_bit() {
    let data =
        spgen(&Spgen { rows: 300, columns: 50, nonzeros: 5, seed: 1, noise: 500, normalise: true });
    let data = data.unwrap().classification();
    let y = data.y.to_vec();
    let problem =
        Problem::new(data.x.as_design().unwrap(), &y, Logistic, L1 { strength: 1e-3 }, 1e-3);
    let problem = problem.unwrap().with_intercept();
    let often = Stop::after_passes(24.0);
    let once = Stop { check: Cadence::Every(24.0), ..often };
    let of = |stop| {
        let a =
            sdca(&problem, &SdcaSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
        let b = catalyst(&problem, &CatalystSettings { stop, ..Default::default() }, None, &mut ())
            .unwrap();
        (a.state, b.state)
    };
    assert_eq!(of(often), of(once));
}
