//! What must not matter to an optimum, or must change it in a known way.

use crate::common::*;
use fenchel_crf::methods::{SdcaSettings, lbfgs, sdca};
use fenchel_crf::{Problem, Stop};
use fenchel_optim::lbfgs::LbfgsSettings;
use ndarray::Array1;
use proptest::prelude::*;

const ATTRIBUTES: usize = 4;
const LABELS: usize = 3;
const L2: f64 = 0.3;

/// The optimum, by the one or the other method, to a gap of 1e-12: weights within 3e-6 of the best.
fn optimum(problem: &Problem<'_>, dual: bool) -> Array1<f64> {
    let stop = Stop { absolute: 1e-12, relative: 0.0, max_passes: 20_000.0, ..Stop::default() };
    let (weights, report) = if dual {
        let settings = SdcaSettings { stop, ..SdcaSettings::default() };
        let found = sdca::<f64, _>(problem, &settings, None, &mut ()).unwrap();
        (found.state.weights, found.report)
    } else {
        let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
        let found = lbfgs(problem, &settings, None, &mut ()).unwrap();
        (found.state, found.report)
    };
    assert!(report.certificate.value() <= 1e-12, "{report}");
    flat(&weights)
}

fn close(a: &Array1<f64>, b: &Array1<f64>) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 2e-5)
}

fn sequences(seed: u64, signed: bool) -> Vec<Sequence> {
    random_sequences((5, 4, ATTRIBUTES, LABELS), signed, seed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_names_of_the_labels_do_not_matter(
        seed: u64, signed: bool, dual: bool,
        order in Just([0_u32, 1, 2]).prop_shuffle(),
    ) {
        let plain = sequences(seed, signed);
        let mut renamed = plain.clone();
        renamed.iter_mut().flatten().for_each(|(_, label)| *label = order[*label as usize]);
        let (data, other) =
            (dataset(ATTRIBUTES, LABELS, &plain), dataset(ATTRIBUTES, LABELS, &renamed));
        let found = unflat(&data, &optimum(&problem(&data, L2), dual));
        let mut expected = found.clone();
        for j in 0..LABELS {
            let to = order[j] as usize;
            expected.emission.column_mut(to).assign(&found.emission.column(j));
            for k in 0..LABELS {
                expected.transition[[to, order[k] as usize]] = found.transition[[j, k]];
            }
        }
        prop_assert!(close(&optimum(&problem(&other, L2), dual), &flat(&expected)));
    }

    #[test]
    fn data_seen_twice_say_the_same(seed: u64, signed: bool, dual: bool) {
        let once = sequences(seed, signed);
        let twice = [once.clone(), once.clone()].concat();
        let (data, other) = (dataset(ATTRIBUTES, LABELS, &once), dataset(ATTRIBUTES, LABELS, &twice));
        let found = optimum(&problem(&data, L2), dual);
        prop_assert!(close(&found, &optimum(&problem(&other, L2), dual)));
        prop_assert!(found.iter().any(|w| w.abs() > 1e-3));
    }

    /// Two copies of an attribute share its weight `v`: `w^2 + w^2 = v^2` and `2 w x = v (sqrt(2) x)` for `w = v / sqrt 2`.
    #[test]
    fn an_attribute_with_a_copy_is_one_scaled_by_root_2(seed: u64, signed: bool, dual: bool) {
        let plain = sequences(seed, signed);
        let (mut copied, mut scaled) = (plain.clone(), plain);
        for (attributes, _) in copied.iter_mut().flatten() {
            let copies: Vec<(u32, f64)> = attributes.iter().filter(|(a, _)| *a == 0).copied().collect();
            attributes.extend(copies.into_iter().map(|(_, value)| (ATTRIBUTES as u32, value)));
        }
        let root = std::f64::consts::SQRT_2;
        for (attributes, _) in scaled.iter_mut().flatten() {
            attributes.iter_mut().filter(|(a, _)| *a == 0).for_each(|(_, value)| *value *= root);
        }
        let (copied, scaled) =
            (dataset(ATTRIBUTES + 1, LABELS, &copied), dataset(ATTRIBUTES, LABELS, &scaled));
        let two = unflat(&copied, &optimum(&problem(&copied, L2), dual));
        let mut expected = unflat(&scaled, &optimum(&problem(&scaled, L2), dual));
        expected.emission.row_mut(0).mapv_inplace(|w| w / root);
        for k in 0..LABELS {
            prop_assert!((two.emission[[ATTRIBUTES, k]] - two.emission[[0, k]]).abs() < 2e-5);
        }
        let mut rest = expected.clone();
        for row in 0..ATTRIBUTES + 3 {
            let from = if row < ATTRIBUTES { row } else { row + 1 };
            rest.emission.row_mut(row).assign(&two.emission.row(from));
        }
        rest.transition.assign(&two.transition);
        prop_assert!(close(&flat(&rest), &flat(&expected)));
    }
}
