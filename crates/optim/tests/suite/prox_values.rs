//! Regularisers with structure: values worked out by hand, and what is wrong with bad parameters.

use fenchel_optim::Regulariser;
use fenchel_optim::prox::{
    FusedLasso, GroupMax, GroupNorm, Groups, L1Ball, L2Ball, L2Norm, NonnegativeL1, Simplex,
    SortedL1, SparseGroupLasso, TotalVariation, WeightedL1,
};

fn prox<R: Regulariser>(h: &R, v: &[f64], step: f64) -> Vec<f64> {
    let mut x = v.to_vec();
    h.prox(&mut x, step);
    x
}

#[test]
fn known_values() {
    let groups = || Groups::new(4, &[vec![0, 2], vec![1]]).unwrap().with_weights(&[1.0, 2.0]);
    let h = GroupNorm { groups: groups().unwrap(), strength: 1.0 };
    // ||(3, 4)|| = 5: four fifths stay. The second group of norm 1.5 < 2 goes, the free coordinate stays.
    assert_eq!(prox(&h, &[3.0, 1.5, 4.0, 7.0], 1.0), [3.0 * 0.8, 0.0, 4.0 * 0.8, 7.0]);
    assert_eq!(h.value(&[3.0, 1.5, 4.0, 7.0]), 8.0);
    assert!(!h.coercive());
    let h = GroupMax { groups: groups().unwrap(), strength: 1.0 };
    // 3 is cut off the first group, from 4 and 3 down to 2; the second, of size 1.5 < 6, goes; the free coordinate stays.
    assert_eq!(prox(&h, &[3.0, 1.5, -4.0, 7.0], 3.0), [2.0, 0.0, -2.0, 7.0]);
    assert_eq!(h.value(&[3.0, 1.5, -4.0, 7.0]), 7.0);
    // Rows of 1 + 2 and 4 within the dual ball of radius 2: by 2 / 4.
    let rows = Groups::consecutive(&[2, 1]).unwrap().with_weights(&[1.0, 1.0]).unwrap();
    let rows = GroupMax { groups: rows, strength: 2.0 };
    assert_eq!(rows.dual_scale(&[1.0, -2.0, 4.0], 0.0), 0.5);
    assert!(rows.coercive() && !h.coercive());
    // A diverged iterate does not pass for a zero.
    assert!(prox(&rows, &[f64::NAN, 0.0, 0.0], 1.0)[0].is_nan());
    // 4 - 1 and 3.5 - 0 are out of order: both 3.25. Equal weights are the l1 norm.
    let h = SortedL1 { weights: vec![1.0, 0.0, 0.0] };
    assert_eq!(prox(&h, &[-3.5, 4.0, 1.0], 1.0), [-3.25, 3.25, 1.0]);
    assert_eq!(prox(&h, &[0.2, -0.3, 0.4], 1.0), [0.0; 3]);
    assert_eq!((h.value(&[-3.5, 4.0, 1.0]), h.dual_scale(&[1.0, 2.0, 1.0], 0.0)), (4.0, 0.25));
    let l1 = SortedL1 { weights: vec![1.0; 3] };
    assert_eq!(prox(&l1, &[-3.5, 0.5, 2.0], 1.0), [-2.5, 0.0, 1.0]);
    assert_eq!(prox(&L2Norm { strength: 2.5 }, &[3.0, -4.0], 1.0), [1.5, -2.0]);
    assert_eq!(prox(&TotalVariation { strength: 1.0 }, &[0.0, 10.0], 1.0), [1.0, 9.0]);
    assert_eq!(prox(&TotalVariation { strength: 1.0 }, &[0.0, 1.0], 1.0), [0.5, 0.5]);
    assert_eq!(prox(&FusedLasso { l1: 2.0, tv: 1.0 }, &[0.0, 10.0], 1.0), [0.0, 7.0]);
    assert_eq!(prox(&NonnegativeL1 { strength: 1.0 }, &[-3.0, 0.5, 3.0], 1.0), [0.0, 0.0, 2.0]);
    assert_eq!(prox(&Simplex { radius: 1.0 }, &[1.0, 1.0], 3.0), [0.5, 0.5]);
    // max |v(I)| / (l1 |I| + tv e(I)): the whole line of three, 6 / 3, beats any part of it.
    assert_eq!(FusedLasso { l1: 1.0, tv: 10.0 }.dual_scale(&[2.0, 2.0, 2.0], 0.0), 0.5);
    // One spike: 2 / (1 + 2 * 0.5) against 2 / 3 and (1 + 2 + 1) / 3.
    assert_eq!(FusedLasso { l1: 1.0, tv: 0.25 }.dual_scale(&[0.0, 3.0, 0.0], 0.0), 0.5);
}

#[test]
fn bad_parameters_are_named() {
    #[track_caller]
    fn refused(h: impl Regulariser, text: &str) {
        let error = h.check(3).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    let groups = || Groups::consecutive(&[1, 2]).unwrap();
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        refused(
            WeightedL1 { weights: vec![1.0, bad, 1.0] },
            &format!("weights of the l1 norm: entry 1 is {bad}"),
        );
        refused(
            SortedL1 { weights: vec![bad, 1.0, 1.0] },
            &format!("weights of the sorted l1 norm: entry 0 is {bad}"),
        );
        refused(NonnegativeL1 { strength: bad }, &format!("l1 = {bad}"));
        refused(GroupNorm { groups: groups(), strength: bad }, &format!("group = {bad}"));
        refused(GroupMax { groups: groups(), strength: bad }, &format!("group = {bad}"));
        refused(SparseGroupLasso { groups: groups(), l1: bad, group: 1.0 }, "l1 = ");
        refused(SparseGroupLasso { groups: groups(), l1: 1.0, group: bad }, "group = ");
        refused(L2Norm { strength: bad }, "l2 norm = ");
        refused(L2Ball { radius: bad }, "radius = ");
        refused(L1Ball { radius: bad }, "radius = ");
        refused(Simplex { radius: bad }, "radius = ");
        refused(TotalVariation { strength: bad }, "tv = ");
        refused(FusedLasso { l1: bad, tv: 1.0 }, "l1 = ");
        refused(FusedLasso { l1: 1.0, tv: bad }, "tv = ");
        assert!(groups().with_weights(&[1.0, bad]).is_err());
    }
    refused(WeightedL1 { weights: vec![1.0] }, "expected length 3, found 1");
    refused(SortedL1 { weights: vec![1.0] }, "expected length 3, found 1");
    refused(SortedL1 { weights: vec![1.0, 2.0, 1.0] }, "weight = 2; expected weights that fall");
    let four = GroupNorm { groups: Groups::consecutive(&[4]).unwrap(), strength: 1.0 };
    refused(four, "expected length 4, found 3");
    let error = |groups: &[Vec<usize>]| Groups::new(3, groups).unwrap_err().to_string();
    assert_eq!(error(&[vec![0], vec![]]), "a group is empty");
    assert_eq!(error(&[vec![0], vec![3]]), "groups: group 1 has coordinate 3; there are 3");
    assert!(
        error(&[vec![0, 1], vec![1]]).contains("coordinate 1 of group 1 is in a group already")
    );
    assert!(groups().with_weights(&[1.0]).is_err());
}
