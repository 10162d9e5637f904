use fenchel_graphical::BinaryPairwise;
use fenchel_mrf_learn::{Coordinates, Enumeration, Error, TreeOracle, packed_length};
use fenchel_optim::Refusal;
use proptest::prelude::*;

use crate::common::{brute, random_model, random_theta};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn enumeration_and_tree_agree_with_brute_force(p in 1usize..7, scale in 0.1..6.0, seed in 0u64..1000) {
        let model = random_model(p, scale, seed);
        let (log_z, probabilities, means) = brute(&model);
        let mut table = Enumeration::new(p, None).unwrap();
        let mut found = vec![0.0; packed_length(p)];
        prop_assert!((table.means(&model, &mut found).unwrap() - log_z).abs() < 1e-11);
        prop_assert!((table.log_partition(&model).unwrap() - log_z).abs() < 1e-11);
        for (a, b) in found.iter().zip(&means) {
            prop_assert!((a - b).abs() < 1e-12);
        }
        for (a, b) in table.probabilities(&model).unwrap().iter().zip(&probabilities) {
            prop_assert!((a - b).abs() < 1e-12);
        }
        let mut tree = TreeOracle::new(None);
        prop_assert!((tree.means(&model, &mut found).unwrap() - log_z).abs() < 1e-10);
        for (a, b) in found.iter().zip(&means) {
            prop_assert!((a - b).abs() < 1e-11);
        }
    }

    /// A(eta) of spins, summed over spins directly.
    #[test]
    fn spins_are_the_same_distribution(p in 1usize..6, scale in 0.1..3.0, seed in 0u64..1000) {
        let eta = random_theta(p, scale, seed);
        let (model, constant) = Coordinates::Spins.model(&eta, p).unwrap();
        let mut table = Enumeration::new(p, None).unwrap();
        let mut means = vec![0.0; packed_length(p)];
        let log_z = table.means(&model, &mut means).unwrap() - constant;
        Coordinates::Spins.from_binary_means(&mut means, p);
        let statistics = |s: usize| {
            let spin = |i: usize| if s >> i & 1 == 1 { 1.0 } else { -1.0 };
            let mut out = vec![];
            for i in 0..p {
                for j in i..p {
                    out.push(if i == j { spin(i) } else { spin(i) * spin(j) });
                }
            }
            out
        };
        let scores: Vec<f64> = (0..1 << p)
            .map(|s| statistics(s).iter().zip(&eta).map(|(a, b)| a * b).sum())
            .collect();
        let z: f64 = scores.iter().map(|s| s.exp()).sum();
        prop_assert!((z.ln() - log_z).abs() < 1e-10);
        for c in 0..means.len() {
            let mean: f64 = (0..1 << p).map(|s| scores[s].exp() / z * statistics(s)[c]).sum();
            prop_assert!((mean - means[c]).abs() < 1e-11);
        }
    }
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    assert!(matches!(
        Enumeration::new(20, Some(1 << 20)),
        Err(Error::Refused(Refusal::MemoryLimit { needed: 16_777_216, limit: 1_048_576, .. }))
    ));
    assert!(matches!(Enumeration::new(29, None), Err(Error::Invalid(_))));
    assert!(matches!(Enumeration::new(0, None), Err(Error::Invalid(_))));
    let other = BinaryPairwise::new(&[0.0; 3], &[]).unwrap();
    assert!(Enumeration::new(2, None).unwrap().means(&other, &mut [0.0; 3]).is_err());
    let dense = random_model(14, 1.0, 3);
    let mut tree = TreeOracle::new(Some(64));
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
    let log_z = Enumeration::new(3, None).unwrap().means(&model, &mut means).unwrap();
    assert!((log_z - 800.0 - 0.5_f64.exp().ln_1p()).abs() < 1e-9);
    assert_eq!((means[0], means[1]), (1.0, 0.0));
    assert!((means[5] - 1.0 / (1.0 + (-0.5_f64).exp())).abs() < 1e-12);
}
