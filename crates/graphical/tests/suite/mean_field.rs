//! Mean field against enumeration.

use crate::bp::{add_random, random_tree};
use crate::common::{Enumeration, distance};
use fenchel_graphical::mean_field::{MeanFieldSettings, mean_field};
use fenchel_graphical::{FactorGraph, VarId};
use fenchel_optim::random::stream;
use fenchel_optim::{Cadence, Certificate, Status, Stop, Trace};

#[test]
fn mean_field_rises_and_is_stationary() {
    for seed in 0..10 {
        let model = random_tree(7, 1.5, 0.0, 50 + seed);
        let stop = Stop { check: Cadence::Every(1.0), ..MeanFieldSettings::default().stop };
        let settings = MeanFieldSettings { seed, stop };
        let mut trace = Trace::new();
        let solution = mean_field(&model, &settings, None, &mut trace).unwrap();
        let values: Vec<f64> =
            trace.rows.iter().filter_map(|row| row.certificate.objective()).collect();
        assert!(values.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12), "{values:?}");
        assert_eq!(solution.report.status, Status::Converged);
        // By the definition: E_q[score] + H(q) over all configurations.
        let exact = Enumeration::of(&model);
        let q = solution.state.marginals();
        let mut free = 0.0;
        for (x, score) in exact.configurations.iter().zip(&exact.scores) {
            let p: f64 = x.iter().zip(q).map(|(&state, q)| q[state]).product();
            free += p * (score - p.ln());
        }
        assert!((free - solution.state.log_partition()).abs() < 1e-10);
        assert!(free <= exact.log_partition + 1e-12);
        let Certificate::Residual { objective, norm, .. } = solution.report.certificate else {
            panic!()
        };
        assert!((objective.unwrap() + free).abs() < 1e-10);
        assert!(norm <= 1e-8);
        let again = mean_field(&model, &settings, Some(solution.state), &mut ()).unwrap();
        assert_eq!(again.report.passes, 0.0);
    }
}

#[test]
fn independent_variables_are_exact_in_mean_field() {
    let mut rng = stream(9, 0);
    let mut model = FactorGraph::new(&[2, 3, 4]).unwrap();
    for v in 0..3 {
        add_random(&mut model, &[v], 2.0, 0.0, &mut rng);
    }
    let solution = mean_field(&model, &MeanFieldSettings::default(), None, &mut ()).unwrap();
    let exact = Enumeration::of(&model);
    assert!((solution.state.log_partition() - exact.log_partition).abs() < 1e-12);
    assert!(
        distance(solution.state.marginal(VarId(2)).unwrap(), &exact.marginal(&[VarId(2)])) < 1e-12
    );
}
