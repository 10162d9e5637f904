//! Group penalties, joint graphs over groups of samples, shrunken covariances.

use fenchel_ggm::covariance::shrinkage::ledoit_wolf;
use fenchel_ggm::joint::{Coupling, JointGraphicalLasso, JointModel};
use fenchel_ggm::scale_free::NodeGroups;
use fenchel_ggm::synthetic::{chain, diagonally_dominant};
use fenchel_ggm::threshold::inverse_scores;
use fenchel_ggm::{Error, GraphicalLasso, Scale, Statistics};
use fenchel_optim::Stop;
use ndarray::{Array2, array};

use crate::common::{data, inverse, statistics};

fn tight() -> Stop {
    Stop { absolute: 1e-9, relative: 0.0, max_passes: 20_000.0, ..Stop::default() }
}

/// Groups of unequal size whose chains differ in strength.
fn groups(p: usize, count: usize) -> Vec<Statistics> {
    (0..count)
        .map(|k| {
            let theta = diagonally_dominant(p, &chain(p), -0.2 - 0.1 * k as f64);
            statistics(theta.view(), 60 + 20 * k, 40 + k as u64)
        })
        .collect()
}

#[test]
fn rows_meet_the_conditions_of_the_group_penalty() {
    // Two pairs that hang together, and a variable that hardly does.
    let c = array![
        [1.0, 0.6, 0.1, 0.1, 0.02],
        [0.6, 1.2, 0.1, 0.0, 0.01],
        [0.1, 0.1, 0.9, -0.5, 0.02],
        [0.1, 0.0, -0.5, 1.1, 0.0],
        [0.02, 0.01, 0.02, 0.0, 1.0]
    ];
    let statistics = Statistics::from_covariance(c.view(), 50).unwrap();
    for diagonal in [false, true] {
        let strength = 0.15;
        let fit = NodeGroups {
            strength,
            diagonal,
            scale: Scale::Covariance,
            stop: tight(),
            ..Default::default()
        };
        let model = fit.fit(&statistics).unwrap();
        assert!(model.report.certificate.value() <= 1e-9, "{}", model.report);
        let x = &model.precision;
        let (w, log_det) = inverse(x).unwrap();
        let kept = |i: usize, j: usize| i != j || diagonal;
        let norm = |x: &Array2<f64>, i: usize| {
            (0..5).filter(|&j| kept(i, j)).map(|j| x[[i, j]].powi(2)).sum::<f64>().sqrt()
        };
        // Where both rows are not 0 the gradient is -strength x_ij (1 / |x_i| + 1 / |x_j|) / 2.
        for i in 0..5 {
            for j in 0..5 {
                let (a, b) = (norm(x, i), norm(x, j));
                if kept(i, j) && a > 0.0 && b > 0.0 {
                    let gradient = c[[i, j]] - w[[i, j]];
                    let expected = -0.5 * strength * x[[i, j]] * (1.0 / a + 1.0 / b);
                    assert!((gradient - expected).abs() < 1e-3, "{diagonal} {i} {j}");
                }
            }
        }
        // The last node is independent of all others, the first two are joined. With its diagonal no row is 0, and
        // where no row is 0 the penalty is smooth: nothing else is.
        assert!(x[[0, 1]] != 0.0);
        assert_eq!((0..4).all(|i| x[[i, 4]] == 0.0), !diagonal, "{x}");
        let value = |x: &Array2<f64>, log_det: f64| {
            (&c * x).sum() - log_det + strength * (0..5).map(|i| norm(x, i)).sum::<f64>()
        };
        let objective = model.report.certificate.objective().unwrap();
        assert!((value(x, log_det) - objective).abs() < 1e-10);
        // No symmetric move is better by more than the gap.
        for i in 0..5 {
            for j in 0..=i {
                for by in [1e-3, -1e-3] {
                    let mut moved = x.clone();
                    moved[[i, j]] += by;
                    moved[[j, i]] = moved[[i, j]];
                    let (_, log_det) = inverse(&moved).unwrap();
                    assert!(value(&moved, log_det) >= objective - 1e-9);
                }
            }
        }
    }
    assert!(NodeGroups { strength: -1.0, ..Default::default() }.fit(&statistics).is_err());
}

#[test]
fn without_a_shared_penalty_every_group_is_a_graphical_lasso() {
    let groups = groups(8, 3);
    let total: usize = groups.iter().map(|g| g.samples).sum();
    let fit = JointGraphicalLasso {
        l1: 0.05,
        similarity: 0.0,
        stop: tight(),
        ..JointGraphicalLasso::default()
    };
    for coupling in [Coupling::Group, Coupling::Fused] {
        let joint = JointGraphicalLasso { coupling, ..fit.clone() }.fit(&groups).unwrap();
        assert!(joint.report.certificate.value() <= 1e-9, "{}", joint.report);
        let mut sum = 0.0;
        for (group, model) in groups.iter().zip(&joint.models) {
            let share = group.samples as f64 / total as f64;
            let lasso =
                GraphicalLasso { l1: (0.05 / share).into(), stop: tight(), ..Default::default() };
            let alone = lasso.fit(group).unwrap();
            sum += share * alone.report.certificate.objective().unwrap();
            let worst = (&alone.precision - &model.precision).mapv(f64::abs);
            assert!(worst.iter().all(|&d| d < 1e-3), "{coupling:?}");
        }
        assert!((sum - joint.report.certificate.objective().unwrap()).abs() < 1e-8);
    }
    // One group: the group norm is the l1 norm, and the fusion nothing.
    for (coupling, l1) in [(Coupling::Group, 0.15), (Coupling::Fused, 0.1)] {
        let joint = JointGraphicalLasso { l1: 0.1, similarity: 0.05, coupling, ..fit.clone() };
        let found = joint.fit(&groups[..1]).unwrap();
        let lasso = GraphicalLasso { l1: l1.into(), stop: tight(), ..Default::default() };
        let alone = lasso.fit(&groups[0]).unwrap();
        let both = [found.report, alone.report].map(|r| r.certificate.objective().unwrap());
        assert!((both[0] - both[1]).abs() < 1e-8, "{both:?}");
    }
}

/// The objective from its definition.
fn objective(groups: &[Statistics], fit: &JointGraphicalLasso, x: &[Array2<f64>]) -> f64 {
    let total: usize = groups.iter().map(|g| g.samples).sum();
    let mut sum = 0.0;
    for (group, x) in groups.iter().zip(x) {
        let Some((_, log_det)) = inverse(x) else { return f64::INFINITY };
        let share = group.samples as f64 / total as f64;
        sum += share * ((&group.covariance * x).sum() - log_det);
    }
    for ((i, j), _) in x[0].indexed_iter().filter(|((i, j), _)| i != j) {
        let t: Vec<f64> = x.iter().map(|x| x[[i, j]]).collect();
        sum += fit.l1 * t.iter().map(|t| t.abs()).sum::<f64>();
        sum += fit.similarity
            * match fit.coupling {
                Coupling::Group => t.iter().map(|t| t * t).sum::<f64>().sqrt(),
                Coupling::Fused => {
                    let pairs = (0..t.len()).flat_map(|k| (0..k).map(move |l| (k, l)));
                    pairs.map(|(k, l)| (t[k] - t[l]).abs()).sum()
                }
            };
    }
    sum
}

#[test]
fn joint_optima_are_certified_and_no_move_is_better() {
    let groups = groups(6, 3);
    for coupling in [Coupling::Group, Coupling::Fused] {
        let fit = JointGraphicalLasso {
            l1: 0.02,
            similarity: 0.02,
            coupling,
            scale: Scale::Covariance,
            stop: tight(),
            ..JointGraphicalLasso::default()
        };
        let JointModel { models, report } = fit.fit(&groups).unwrap();
        let gap = report.certificate.value();
        assert!(gap <= 1e-9, "{report}");
        let x: Vec<Array2<f64>> = models.iter().map(|m| m.precision.clone()).collect();
        let value = objective(&groups, &fit, &x);
        assert!((value - report.certificate.objective().unwrap()).abs() < 1e-10);
        let better = |moved: &[Array2<f64>]| objective(&groups, &fit, moved) < value - gap - 1e-12;
        for i in 0..6 {
            for j in 0..=i {
                for by in [1e-3, -1e-3, 1e-2, -1e-2] {
                    // One group alone, and all at once.
                    for which in [vec![0], vec![1], vec![2], vec![0, 1, 2]] {
                        let mut moved = x.clone();
                        for g in which {
                            moved[g][[i, j]] += by;
                            moved[g][[j, i]] = moved[g][[i, j]];
                        }
                        assert!(!better(&moved), "{coupling:?} {i} {j} {by}");
                    }
                }
            }
        }
    }
}

#[test]
fn strong_similarity_makes_the_groups_alike() {
    let groups = groups(6, 3);
    let total: usize = groups.iter().map(|g| g.samples).sum();
    let fit = JointGraphicalLasso {
        l1: 0.01,
        similarity: 10.0,
        coupling: Coupling::Fused,
        scale: Scale::Covariance,
        stop: tight(),
        ..JointGraphicalLasso::default()
    };
    let fused = fit.fit(&groups).unwrap();
    for i in 0..6 {
        for j in 0..i {
            let t = fused.models.iter().map(|m| m.precision[[i, j]]);
            assert!(t.clone().all(|x| x == fused.models[0].precision[[i, j]]));
        }
    }
    assert!(fused.common().edge_count() >= 5);
    // Nothing is joined above the largest shared norm of w_k C_k.
    let empty = JointGraphicalLasso { similarity: 2.0, coupling: Coupling::Group, ..fit.clone() };
    let found = empty.fit(&groups).unwrap();
    assert_eq!(found.common().edge_count(), 0);
    for (group, model) in groups.iter().zip(&found.models) {
        for i in 0..6 {
            assert!((model.precision[[i, i]] * group.covariance[[i, i]] - 1.0).abs() < 1e-12);
        }
    }
    assert!(found.report.passes <= 1.0 && total > 0, "{}", found.report);
    assert!(fit.fit::<Statistics>(&[]).is_err());
    let other = statistics(diagonally_dominant(5, &chain(5), -0.2).view(), 30, 1);
    let error = fit.fit(&[groups[0].clone(), other]).unwrap_err();
    assert!(error.to_string().contains("variables of a group"), "{error}");
    let small = JointGraphicalLasso { max_memory: Some(100), ..fit.clone() };
    assert!(matches!(small.fit(&groups), Err(Error::Refused(_))));
    assert!(JointGraphicalLasso { rho: 0.0, ..fit }.fit(&groups).is_err());
}

#[test]
fn shrinkage_is_that_of_the_definition() {
    let theta = diagonally_dominant(6, &chain(6), -0.4);
    for n in [400, 40, 4] {
        let x = data(theta.view(), n, 3);
        let found = ledoit_wolf(&x).unwrap();
        let c = Statistics::from_data(&x).unwrap().covariance;
        let mean = x.mean_axis(ndarray::Axis(0)).unwrap();
        let target = Array2::<f64>::eye(6) * (c.diag().sum() / 6.0);
        let norm = |m: &Array2<f64>| m.mapv(|v| v * v).sum();
        let mut error = 0.0;
        for row in x.rows() {
            let d = &row - &mean;
            let outer = Array2::from_shape_fn((6, 6), |(i, j)| d[i] * d[j]);
            error += norm(&(&outer - &c)) / (n * n) as f64;
        }
        let expected = (error / norm(&(&c - &target))).min(1.0);
        assert!((found.shrinkage - expected).abs() < 1e-10, "{n}");
        let matrix = &c * (1.0 - expected) + &target * expected;
        assert!((&found.statistics.covariance - &matrix).iter().all(|d| d.abs() < 1e-10));
        assert!(found.shrinkage > 0.0 && found.shrinkage <= 1.0);
        let scores = inverse_scores(&Statistics::from_data(&x).unwrap());
        assert_eq!(scores.is_err(), n < 6);
        assert!(inverse_scores(&found.statistics).is_ok());
    }
    assert!(ledoit_wolf(&array![[1.0, 2.0]]).is_err());
}
