use fenchel_graphical::BinaryPairwise;
use fenchel_mrf_learn::selection::{
    EdgeBootstrap, StabilitySelection, falling_grid, held_out_scores, penalty_path,
};
use fenchel_mrf_learn::{
    Backend, Coordinates, Data, Enumeration, Error, ExactMle, MissingPolicy, NodewiseLogistic,
    Penalty, PseudoLikelihood, Spg, layout::pair_index, synthetic,
};
use fenchel_optim::Fit;
use ndarray::array;

fn chain() -> BinaryPairwise {
    BinaryPairwise::from_spins(
        &[0.1; 6],
        &[(0, 1, 0.7), (1, 2, -0.7), (2, 3, 0.7), (3, 4, 0.7), (4, 5, -0.7)],
    )
    .unwrap()
    .0
}

#[test]
fn ebic_finds_a_chain() {
    let (truth, method) =
        (chain(), ExactMle { penalty: Penalty::edges(1.0), ..ExactMle::default() });
    let data = synthetic::exact_draws(&truth, 2000, 3).unwrap();
    let grid = falling_grid(&data, &method, 12, 0.01).unwrap();
    let path = penalty_path(&data, &method, &grid).unwrap();
    // At the largest strength the last edge is on the verge of vanishing.
    assert!(path.fits[0].model.edges().iter().all(|edge| edge.2.abs() < 1e-3));
    assert!(
        path.fits.windows(2).all(|pair| pair[1].log_likelihood >= pair[0].log_likelihood - 1e-7)
    );
    // With unpenalised fits one more edge has to gain (ln n + 4 gamma ln p) / 2 = 5.6 nats. Twice the gain of a false edge is
    // nearly chi-square with one degree of freedom: the chance of any of ten to do so is below 1 %.
    let free = path.refitted(&data, &method).unwrap();
    let best = free.best_ebic(0.5).unwrap();
    let pairs = |model: &BinaryPairwise| model.edges().map(|e| (e.0, e.1)).collect::<Vec<_>>();
    assert_eq!(pairs(&best.model.binary().unwrap()), pairs(&truth));
    // The path with shrunken likelihoods keeps no fewer.
    assert!(path.best_ebic(0.5).unwrap().edges >= best.edges);
    // By hand.
    let fit = &path.fits[5];
    let expected =
        -4000.0 * fit.log_likelihood + fit.edges as f64 * (2000.0_f64.ln() + 2.0 * 6.0_f64.ln());
    assert!((path.ebic(0.5)[5] - expected).abs() < 1e-9);
    // A refit is the unpenalised likelihood of its network: its means are those of the data, on biases and edges.
    let mut means = vec![0.0; 21];
    Enumeration::new(&best.model.layout, None)
        .unwrap()
        .means(&best.model.theta, &mut means)
        .unwrap();
    let target = data.means(Coordinates::Binary).unwrap();
    for (i, j) in pairs(&truth).into_iter().chain((0..6).map(|i| (i, i))) {
        let c = pair_index(i as usize, j as usize, 6);
        assert!((means[c] - target[c]).abs() < 1e-3, "{i} {j}");
    }
    let shrunken = path.fits.iter().find(|fit| fit.strength == best.strength).unwrap();
    assert!(best.log_likelihood > shrunken.log_likelihood);
}

#[test]
fn held_out_likelihood_prefers_some_penalty_to_too_much() {
    let data = synthetic::exact_draws(&chain(), 300, 5).unwrap();
    let method = ExactMle { penalty: Penalty::l1(1.0), ..ExactMle::default() };
    let scores = held_out_scores(&data, &method, &[0.2, 0.02, 0.005], 3, 1).unwrap();
    assert_eq!(scores.iter().map(|s| s.0).collect::<Vec<_>>(), [0.2, 0.02, 0.005]);
    assert!(scores[1].1 > scores[0].1, "{scores:?}");
}

/// Every learner walks a path; the sampled one from where it stood.
#[test]
fn learners_walk_paths() {
    let data = synthetic::exact_draws(&chain(), 300, 6).unwrap();
    let spg = Spg { chains: 500, ..Spg::default() }.with_iterations(30);
    let pseudo = PseudoLikelihood::default();
    let nodewise = NodewiseLogistic::default();
    for path in [
        penalty_path(&data, &spg, &[0.1, 0.03]).unwrap(),
        penalty_path(&data, &pseudo, &[0.1, 0.03]).unwrap(),
        penalty_path(&data, &nodewise, &[0.1, 0.03]).unwrap(),
    ] {
        assert!(path.fits[1].edges >= path.fits[0].edges);
    }
    assert!(penalty_path(&data, &pseudo, &[]).is_err());
    assert!(penalty_path(&data, &pseudo, &[f64::NAN]).is_err());
    assert!(falling_grid(&data, &pseudo, 5, 1.5).is_err());
    assert!(falling_grid(&data, &pseudo, usize::MAX, 0.5).is_err());
}

#[test]
fn stable_edges_are_true_and_the_bound_is_its_formula() {
    let truth = chain();
    let data = synthetic::exact_draws(&truth, 800, 7).unwrap();
    let learner = NodewiseLogistic::default();
    let settings = StabilitySelection { pairs: 10, threshold: 0.8, strength: 0.06, seed: 2 };
    let found = settings.select(&data, &learner).unwrap();
    let mut edges: Vec<(u32, u32)> = found.edges.iter().map(|e| (e.0, e.1)).collect();
    edges.sort_unstable();
    assert_eq!(edges, truth.edges().map(|(i, j, _)| (i, j)).collect::<Vec<_>>());
    assert!((found.false_edges - found.edges_per_half.powi(2) / (0.6 * 15.0)).abs() < 1e-12);
    assert!(found.frequencies.iter().all(|f| (0.0..=1.0 + 1e-12).contains(f)));
    assert!(StabilitySelection { threshold: 0.5, ..settings }.select(&data, &learner).is_err());
    let endless = StabilitySelection { pairs: usize::MAX, ..settings }.select(&data, &learner);
    assert!(matches!(endless, Err(Error::Refused(_))));
}

/// The intervals cover, and are as wide as the Fisher information says: 3.92 times the root of the diagonal of its inverse over n. A column with a
/// single 1 would be constant in a third of ordinary resamples.
#[test]
fn intervals_cover_and_rare_columns_do_no_harm() {
    let truth = chain();
    let rows = 1500;
    let method = ExactMle { penalty: Penalty::edges(1.0), ..ExactMle::default() };
    let settings = EdgeBootstrap { draws: 60, strength: 1e-4, ..EdgeBootstrap::default() };
    let variances = inverse_information(&truth);
    let (mut covered, mut ratios) = (0, vec![]);
    for seed in 0..5 {
        let data = synthetic::exact_draws(&truth, rows, 80 + seed).unwrap();
        let intervals = settings.intervals(&data, &method).unwrap();
        assert_eq!(intervals.len(), 15);
        for e in intervals {
            let value =
                truth.edges_of(e.i as usize).find(|edge| edge.0 == e.j).map_or(0.0, |edge| edge.1);
            covered += usize::from(e.low <= value && value <= e.high);
            let variance = variances[pair_index(e.i as usize, e.j as usize, 6)];
            ratios.push((e.high - e.low) / (3.92 * (variance / rows as f64).sqrt()));
        }
    }
    // 60 draws leave a level of about 92 %: 69 of 75 with a standard deviation of 2.4, more where intervals of one data set go together.
    assert!(covered >= 60, "{covered} of 75");
    ratios.sort_by(f64::total_cmp);
    assert!((0.8..1.2).contains(&ratios[37]), "{ratios:?}");
    let x = array![[1u8, 1], [0, 0], [0, 1], [0, 0], [0, 1], [0, 0]];
    let rare = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let settings = EdgeBootstrap { draws: 20, strength: 0.01, ..EdgeBootstrap::default() };
    assert!(settings.intervals(&rare, &method).unwrap()[0].low.is_finite());
    assert!(EdgeBootstrap { draws: 1, ..settings }.intervals(&rare, &method).is_err());
    let endless = EdgeBootstrap { draws: usize::MAX, ..settings }.intervals(&rare, &method);
    assert!(matches!(endless, Err(Error::Refused(_))));
}

#[cfg(feature = "plot")]
#[test]
fn pictures_are_svg_and_the_same_every_time() {
    let data = synthetic::exact_draws(&chain(), 500, 9).unwrap();
    let method = PseudoLikelihood { penalty: Penalty::l1(0.05), ..PseudoLikelihood::default() };
    let network = method.fit(&data).unwrap().network().named("a<b c d e f g".split(' '));
    let picture = network.svg();
    assert_eq!(picture, network.svg());
    assert!(picture.contains("a&lt;b") && !picture.contains("NaN"));
    // A disc and its rim for each node.
    assert_eq!(picture.matches("<circle").count(), 12);
    let path = penalty_path(&data, &method, &[0.2, 0.1]).unwrap();
    assert!(path.svg(0.5).contains("least EBIC"));
    assert_eq!(path.figure(0.5).warnings.len(), 1);
}

/// The diagonal of the inverse of the covariance of the statistics, by brute force and Gauss-Jordan elimination.
fn inverse_information(model: &BinaryPairwise) -> Vec<f64> {
    use crate::common::{bits, brute, statistics};
    let (_, law, means) = brute(model);
    let m = means.len();
    let mut table = vec![vec![0.0; 2 * m]; m];
    for (s, weight) in law.iter().enumerate() {
        let psi = statistics(&bits(s, model.variables()));
        for (a, row) in table.iter_mut().enumerate() {
            for b in 0..m {
                row[b] += weight * (psi[a] - means[a]) * (psi[b] - means[b]);
            }
        }
    }
    (0..m).for_each(|a| table[a][m + a] = 1.0);
    for a in 0..m {
        let pivot = table[a][a];
        table[a].iter_mut().for_each(|x| *x /= pivot);
        let row = table[a].clone();
        for b in (0..m).filter(|&b| b != a) {
            let factor = table[b][a];
            table[b].iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
        }
    }
    (0..m).map(|a| table[a][m + a]).collect()
}

/// At the largest strength of a grid no coupling is left, a little below there is one: for every method, in both coordinates.
#[test]
fn grids_begin_where_the_first_edge_appears() {
    use fenchel_mrf_learn::{EdgeWeight, selection::Learner};
    let data = synthetic::exact_draws(&chain(), 400, 11).unwrap();
    let check = |learner: &dyn Fn(f64) -> usize, most: f64| {
        assert_eq!((learner(1.001 * most), learner(0.97 * most) > 0), (0, true));
    };
    for coordinates in [Coordinates::Binary, Coordinates::Spins] {
        for penalty in [Penalty::edges(1.0), Penalty::l1(1.0)] {
            // With penalised biases the largest strength may be a bias's: then only that nothing is left above it.
            let all = penalty.unary_weight == 0.0;
            let mut exact =
                ExactMle { penalty: penalty.clone(), coordinates, ..Default::default() };
            exact.stop.absolute = 1e-12;
            let edges = |model: fenchel_mrf_learn::NetworkModel| {
                model.edges().iter().filter(|edge| edge.2.abs() > 1e-5).count()
            };
            let stop = exact.stop;
            let most = exact.largest_strength(&data).unwrap();
            let fit = |lambda: f64| edges(exact.learn(&data, lambda, stop, Fit::new()).unwrap());
            if all {
                check(&fit, most)
            } else {
                assert_eq!(fit(1.001 * most), 0)
            }
            for edge_weight in [EdgeWeight::One, EdgeWeight::Two] {
                let penalty = penalty.clone();
                let mut pseudo =
                    PseudoLikelihood { penalty, coordinates, edge_weight, ..Default::default() };
                pseudo.stop.absolute = 1e-12;
                let stop = pseudo.stop;
                let most = Learner::largest_strength(&pseudo, &data).unwrap();
                let fit =
                    |lambda: f64| edges(pseudo.learn(&data, lambda, stop, Fit::new()).unwrap());
                if all { check(&fit, most) } else { assert_eq!(fit(1.001 * most), 0) }
            }
        }
    }
    use fenchel_mrf_learn::{InteractionScreening, ScreeningObjective};
    for objective in [ScreeningObjective::Rise, ScreeningObjective::LogRise] {
        let mut screening = InteractionScreening { objective, ..Default::default() };
        screening.stop.absolute = 1e-10;
        let stop = screening.stop;
        let most = Learner::largest_strength(&screening, &data).unwrap();
        let fit = |lambda: f64| {
            let model = screening.learn(&data, lambda, stop, Fit::new()).unwrap();
            model.edges().iter().filter(|edge| edge.2.abs() > 1e-4).count()
        };
        check(&fit, most);
    }
    let nodewise = NodewiseLogistic::default();
    let stop = nodewise.stop;
    let most = nodewise.largest_strength(&data).unwrap();
    let fit = |lambda: f64| nodewise.learn(&data, lambda, stop, Fit::new()).unwrap().edges().len();
    assert_eq!(fit(1.01 * most), 0);
}
