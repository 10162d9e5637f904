//! Newton's methods go on bit for bit from their saved states.

use crate::common::data;
use crate::common::runs::{StepsLeft, StopAt, check_steps};
use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::{
    Globalisation, NewtonCgSettings, NewtonCgState, Problem, SubsampledNewtonSettings,
    SubsampledNewtonState, newton_cg, subsampled_newton,
};
use fenchel_linalg::Csr;
use fenchel_optim::Stop;
use fenchel_optim::prox::Zero;

#[test]
fn newton_cg_resumes() {
    let data = data(30, 6, 0.6, 8);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 1e-4).unwrap();
    for globalisation in [Globalisation::LineSearch, Globalisation::TrustRegion] {
        let settings =
            NewtonCgSettings { globalisation, stop: Stop::after_passes(1e3), ..Default::default() };
        let run = |steps, start: Option<NewtonCgState>| {
            newton_cg(&problem, &settings, start, &mut StopAt(steps)).unwrap().state
        };
        let whole = run(5, None);
        let text = serde_json::to_string(&run(2, None)).unwrap();
        let resumed = run(3, Some(serde_json::from_str(&text).unwrap()));
        assert_eq!(resumed, whole, "{globalisation:?}");
    }
}

/// With a sample of the rows and without, whose Hessians are made again.
#[test]
fn subsampled_newton_resumes() {
    let data = data(300, 6, 0.6, 8);
    let design = Csr::new(data.sparse.view()).unwrap();
    let smooth = Problem::new(design, &data.signs, Logistic, Zero, 1e-7).unwrap();
    for problem in [smooth.clone(), smooth.clone().with_intercept()] {
        for rows_per_variable in [1.0, 3.0, 40.0] {
            let stop = Stop { absolute: 0.0, ..Stop::after_passes(1e3) };
            let settings =
                SubsampledNewtonSettings { rows_per_variable, stop, ..Default::default() };
            check_steps(&format!("subsampled newton {rows_per_variable}"), |steps, start| {
                subsampled_newton(&problem, &settings, start, &mut StepsLeft(steps)).unwrap().state
            });
            // Nobody looks on, and the parts are passes, few enough for a gap beyond 0.
            let parts = [0.0, 2.0, 3.0, 0.0, 4.0, 1.0];
            let (mut state, mut whole) = (None, 0);
            for max_passes in parts {
                let stop = Stop { max_passes, ..stop };
                let settings = SubsampledNewtonSettings { stop, ..settings.clone() };
                let part = subsampled_newton(&problem, &settings, state, &mut ()).unwrap();
                let text = serde_json::to_string(&part.state).unwrap();
                state = Some(serde_json::from_str(&text).unwrap());
                whole += part.report.oracle_calls;
            }
            let once = subsampled_newton(&problem, &settings, None, &mut StopAt(whole));
            assert_eq!(state.as_ref(), Some(&once.unwrap().state), "{rows_per_variable}");
            // Another seed: a start at the point.
            let start = state.unwrap();
            let bare: SubsampledNewtonState = start.point.clone().into();
            let seed = SubsampledNewtonSettings { seed: 1, ..settings.clone() };
            let go = |settings: &SubsampledNewtonSettings, start: &SubsampledNewtonState| {
                subsampled_newton(&problem, settings, Some(start.clone()), &mut StepsLeft(3))
                    .unwrap()
                    .state
            };
            if rows_per_variable < 40.0 {
                assert_eq!(go(&seed, &start), go(&seed, &bare), "{rows_per_variable}");
            }
        }
    }
}
