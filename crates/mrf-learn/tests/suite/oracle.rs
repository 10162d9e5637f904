use fenchel_graphical::BinaryPairwise;
use fenchel_mrf_learn::{
    Backend, Coordinates, Enumeration, Error, Layout, TreeOracle, layout::packed_length,
};
use fenchel_optim::Refusal;
use proptest::prelude::*;

use crate::common::{brute, brute_states, random_model, random_theta, two_states};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn enumeration_and_tree_agree_with_brute_force(p in 1usize..7, scale in 0.1..6.0, seed in 0u64..1000) {
        let model = random_model(p, scale, seed);
        let (log_z, probabilities, means) = brute(&model);
        let layout = two_states(p);
        let theta = layout.parameters(&model).unwrap();
        let mut table = Enumeration::new(&layout, None).unwrap();
        let mut found = vec![0.0; packed_length(p)];
        prop_assert!((table.means(&theta, &mut found).unwrap() - log_z).abs() < 1e-11);
        prop_assert!((table.log_partition(&theta).unwrap() - log_z).abs() < 1e-11);
        for (a, b) in found.iter().zip(&means) {
            prop_assert!((a - b).abs() < 1e-12);
        }
        for (a, b) in table.probabilities(&theta).unwrap().iter().zip(&probabilities) {
            prop_assert!((a - b).abs() < 1e-12);
        }
        let mut tree = TreeOracle::new(&layout, None).unwrap();
        prop_assert!((tree.means(&theta, &mut found).unwrap() - log_z).abs() < 1e-10);
        for (a, b) in found.iter().zip(&means) {
            prop_assert!((a - b).abs() < 1e-11);
        }
    }

    /// A(eta) of spins, summed over spins directly.
    #[test]
    fn spins_are_the_same_distribution(p in 1usize..6, scale in 0.1..3.0, seed in 0u64..1000) {
        let eta = random_theta(p, scale, seed);
        let layout = Layout::two_states(p, Coordinates::Spins).unwrap();
        let mut table = Enumeration::new(&layout, None).unwrap();
        let mut means = vec![0.0; packed_length(p)];
        let log_z = table.means(&eta, &mut means).unwrap();
        let (model, constant) = layout.binary(&eta).unwrap();
        prop_assert!((brute(&model).0 - constant - log_z).abs() < 1e-10);
        let (log_partition, _, expected) = brute_states(Coordinates::Spins, &vec![2; p], &eta);
        prop_assert!((log_partition - log_z).abs() < 1e-10);
        for (mean, expected) in means.iter().zip(&expected) {
            prop_assert!((mean - expected).abs() < 1e-11);
        }
    }
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    assert!(matches!(
        Enumeration::new(&two_states(20), Some(1 << 20)),
        Err(Error::Refused(Refusal::MemoryLimit { needed: 16_777_216, limit: 1_048_576, .. }))
    ));
    assert!(matches!(Enumeration::new(&two_states(29), None), Err(Error::Invalid(_))));
    assert!(Layout::new(&[], Coordinates::Indicators).is_err());
    let mut table = Enumeration::new(&two_states(2), None).unwrap();
    assert!(table.means(&[0.0; 6], &mut [0.0; 3]).is_err());
    assert!(table.means(&[0.0; 3], &mut [0.0; 6]).is_err());
    let dense = random_model(14, 1.0, 3);
    let layout = two_states(14);
    let dense = layout.parameters(&dense).unwrap();
    let mut tree = TreeOracle::new(&layout, Some(64)).unwrap();
    assert!(matches!(
        tree.log_partition(&dense),
        Err(Error::Refused(Refusal::MemoryLimit { limit: 64, .. }))
    ));
}

/// A large bias neither overflows nor loses the others.
#[test]
fn extreme_parameters_stay_finite() {
    let model = BinaryPairwise::new(&[800.0, -800.0, 0.5], &[(0, 1, 20.0)]).unwrap();
    let mut means = vec![0.0; 6];
    let layout = two_states(3);
    let theta = layout.parameters(&model).unwrap();
    let log_z = Enumeration::new(&layout, None).unwrap().means(&theta, &mut means).unwrap();
    assert!((log_z - 800.0 - 0.5_f64.exp().ln_1p()).abs() < 1e-9);
    assert_eq!((means[0], means[1]), (1.0, 0.0));
    assert!((means[5] - 1.0 / (1.0 + (-0.5_f64).exp())).abs() < 1e-12);
}
