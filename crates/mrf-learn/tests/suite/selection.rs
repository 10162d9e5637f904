use fenchel_graphical::BinaryPairwise;
use fenchel_mrf_learn::selection::{
    EdgeBootstrap, StabilitySelection, falling_grid, held_out_scores, lambda_path, refit,
};
use fenchel_mrf_learn::{
    BinaryData, Drawing, Error, ExactMle, MissingPolicy, NodewiseLogistic, Penalty,
    PseudoLikelihood, Spg, metrics, synthetic,
};
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
    let path = lambda_path(&data, &method, &grid).unwrap();
    // At the largest strength the last edge is on the verge of vanishing.
    assert!(path.fits[0].model.edges().iter().all(|edge| edge.2.abs() < 1e-3));
    assert!(
        path.fits.windows(2).all(|pair| pair[1].log_likelihood >= pair[0].log_likelihood - 1e-7)
    );
    let best = path.best_ebic(0.5).unwrap();
    // The criterion sees shrunken fits, and keeps some weak edges too many; no true one is lost, and all true ones stand out.
    let labels = metrics::edge_labels(&truth);
    let pick = |edge: bool| -> Vec<f64> {
        let scores = best.model.scores();
        labels.iter().zip(scores).filter(|(label, _)| **label == edge).map(|(_, s)| s).collect()
    };
    let weakest = pick(true).into_iter().fold(f64::INFINITY, f64::min);
    let strongest = pick(false).into_iter().fold(0.0, f64::max);
    assert!(weakest > 10.0 * strongest, "{weakest} {strongest}");
    assert!(best.edges < 15);
    // By hand.
    let fit = &path.fits[5];
    let expected =
        -4000.0 * fit.log_likelihood + fit.edges as f64 * (2000.0_f64.ln() + 2.0 * 6.0_f64.ln());
    assert!((path.ebic(0.5)[5] - expected).abs() < 1e-9);
    // Unpenalised on the right graph: nearer to the truth than with the penalty.
    let free = refit(&data, &best.model, &method).unwrap();
    let off = |model: &fenchel_mrf_learn::NetworkModel| {
        let edges: Vec<f64> = truth
            .edges()
            .map(|(i, j, c)| {
                let found = model
                    .model
                    .edges_of(i as usize)
                    .find(|edge| edge.0 == j)
                    .map_or(0.0, |edge| edge.1);
                (found - c).powi(2)
            })
            .collect();
        edges.iter().sum::<f64>()
    };
    assert!(off(&free) < 0.5 * off(&best.model), "{} {}", off(&free), off(&best.model));
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
        lambda_path(&data, &spg, &[0.1, 0.03]).unwrap(),
        lambda_path(&data, &pseudo, &[0.1, 0.03]).unwrap(),
        lambda_path(&data, &nodewise, &[0.1, 0.03]).unwrap(),
    ] {
        assert!(path.fits[1].edges >= path.fits[0].edges);
    }
    assert!(lambda_path(&data, &pseudo, &[]).is_err());
    assert!(lambda_path(&data, &pseudo, &[f64::NAN]).is_err());
    assert!(falling_grid(&data, &pseudo, 5, 1.5).is_err());
}

#[test]
fn stable_edges_are_true_and_the_bound_is_its_formula() {
    let truth = chain();
    let data = synthetic::exact_draws(&truth, 800, 7).unwrap();
    let learner = NodewiseLogistic::default();
    let settings = StabilitySelection { pairs: 10, threshold: 0.8, lambda: 0.06, seed: 2 };
    let found = settings.select(&data, &learner).unwrap();
    let mut edges: Vec<(u32, u32)> = found.edges.iter().map(|e| (e.0, e.1)).collect();
    edges.sort_unstable();
    assert_eq!(edges, truth.edges().map(|(i, j, _)| (i, j)).collect::<Vec<_>>());
    assert!((found.false_edges - found.edges_per_half.powi(2) / (0.6 * 15.0)).abs() < 1e-12);
    assert!(found.frequencies.iter().all(|f| (0.0..=1.0 + 1e-12).contains(f)));
    assert!(StabilitySelection { threshold: 0.5, ..settings }.select(&data, &learner).is_err());
}

/// A column with a single 1 would be constant in a third of ordinary resamples.
#[test]
fn intervals_cover_and_rare_columns_do_no_harm() {
    let truth = chain();
    let data = synthetic::exact_draws(&truth, 1500, 8).unwrap();
    let method = ExactMle { penalty: Penalty::edges(1.0), ..ExactMle::default() };
    let settings = EdgeBootstrap { draws: 40, lambda: 1e-3, ..EdgeBootstrap::default() };
    let intervals = settings.intervals(&data, &method).unwrap();
    assert_eq!(intervals.len(), 15);
    let covered = intervals
        .iter()
        .filter(|e| {
            let value =
                truth.edges_of(e.i as usize).find(|edge| edge.0 == e.j).map_or(0.0, |edge| edge.1);
            e.low - 0.05 <= value && value <= e.high + 0.05
        })
        .count();
    assert!(covered >= 12, "{covered} of 15");
    let x = array![[1u8, 1], [0, 0], [0, 1], [0, 0], [0, 1], [0, 0]];
    let rare = BinaryData::new(x.view(), MissingPolicy::Error).unwrap();
    let settings = EdgeBootstrap { draws: 20, lambda: 0.01, ..EdgeBootstrap::default() };
    assert!(settings.intervals(&rare, &method).unwrap()[0].low.is_finite());
    assert!(EdgeBootstrap { draws: 1, ..settings }.intervals(&rare, &method).is_err());
}

#[test]
fn pictures_are_svg_and_the_same_every_time() {
    let data = synthetic::exact_draws(&chain(), 500, 9).unwrap();
    let model = PseudoLikelihood { penalty: Penalty::l1(0.05), ..PseudoLikelihood::default() }
        .fit(&data)
        .unwrap();
    let names: Vec<String> = "a<b c d e f g".split(' ').map(str::to_owned).collect();
    let colours = vec!["red".to_owned(); 6];
    let drawing = Drawing { names: &names, colours: &colours, ..Drawing::default() };
    let draw = || {
        let mut out = vec![];
        model.write_svg(&drawing, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let picture = draw();
    assert_eq!(picture, draw());
    assert!(
        picture.contains("a&lt;b")
            && picture.matches("<circle").count() == 6
            && !picture.contains("NaN")
    );
    assert_eq!(picture.matches("<line").count(), model.edges().len());
    let wrong = Drawing { names: &names[..2], ..Drawing::default() };
    assert!(matches!(model.write_svg(&wrong, vec![]), Err(Error::Invalid(_))));
}
