//! Generators.

use fenchel_ggm::synthetic::{
    barabasi_albert, chain, diagonally_dominant, erdos_renyi, power_law, walk_summable,
};
use fenchel_linalg::factor::symmetric_eigen;
use fenchel_optim::random::stream;
use ndarray::Array2;

#[test]
fn graphs_have_the_promised_edges() {
    for (p, m) in [(60, 1), (60, 2), (100, 2)] {
        let edges = barabasi_albert(p, m, &mut stream(p as u64, m as u64)).unwrap();
        assert_eq!(edges.len(), m * (p - m));
        assert!(edges.is_sorted() && edges.iter().all(|e| e.0 < e.1 && (e.1 as usize) < p));
        assert!(edges.windows(2).all(|w| w[0] != w[1]));
        let graph = fenchel_graphical::Graph::new(p, edges).unwrap();
        assert_eq!(graph.components().len(), 1);
    }
    let count: usize =
        (0..200).map(|s| erdos_renyi(20, 0.3, &mut stream(s, 0)).unwrap().len()).sum();
    // 200 * 190 draws; five standard deviations.
    assert!((count as f64 - 11_400.0).abs() < 5.0 * (38_000.0_f64 * 0.21).sqrt());
    for seed in 0..20 {
        let edges = power_law(60, 2.0, &mut stream(seed, 0)).unwrap();
        assert!(edges.windows(2).all(|w| w[0] < w[1]) && edges.len() >= 30);
    }
    assert_eq!(chain(3), [(0, 1), (1, 2)]);
    let rng = &mut stream(0, 0);
    assert!(erdos_renyi(3, 1.5, rng).is_err() && barabasi_albert(3, 3, rng).is_err());
    assert!(barabasi_albert(3, 0, rng).is_err() && power_law(60, 0.0, rng).is_err());
    assert!(power_law(3, 2.0, rng).is_err());
}

#[test]
fn precisions_are_what_the_chapters_say() {
    let mut dominant = true;
    for seed in 0..30 {
        let edges = erdos_renyi(30, 0.1, &mut stream(seed, 1)).unwrap();
        let theta = diagonally_dominant(30, &edges, -0.2);
        let row_sums = theta.sum_axis(ndarray::Axis(1));
        assert!(row_sums.iter().all(|s| (s - 0.5).abs() < 1e-12));
        // Walk-summable: the spectral radius of |I - D^-1/2 Theta D^-1/2| is below one.
        let theta = walk_summable(30, &edges, &mut stream(seed, 2));
        let d = theta.diag().mapv(f64::sqrt);
        let r = Array2::from_shape_fn((30, 30), |(i, j)| {
            if i == j { 0.0 } else { (theta[[i, j]] / d[i] / d[j]).abs() }
        });
        assert!(symmetric_eigen(r.view()).unwrap().values[29] < 1.0);
        for i in 0..30 {
            let others: f64 = (0..30).filter(|&j| j != i).map(|j| theta[[i, j]].abs()).sum();
            dominant &= theta[[i, i]] >= others;
        }
    }
    assert!(!dominant, "not diagonally dominant in general");
}
