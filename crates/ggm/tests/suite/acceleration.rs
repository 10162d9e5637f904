//! ADMM with acceleration: passes where the plain iteration is slow.

use fenchel_datasets::generate::odd;
use fenchel_ggm::glasso::default_stop;
use fenchel_ggm::joint::{Coupling, JointGraphicalLasso};
use fenchel_ggm::scale_free::NodeGroups;
use fenchel_ggm::{
    GraphicalLasso, LatentGraphicalLasso, Method, ScaleFree, Statistics, Status, Stop,
};
use fenchel_optim::Report;
use ndarray::Axis;

/// Copied columns and small penalties. Without acceleration each of these fits takes between 2,700 and more
/// than 5,000 passes; with it, 30 to 381.
#[test]
fn small_penalties_on_singular_covariances_take_few_passes() {
    let stop = Stop { max_passes: 1000.0, ..default_stop() };
    for seed in [14, 20, 36] {
        let x = odd(seed).x;
        let varies: Vec<usize> =
            (0..x.ncols()).filter(|&j| x.column(j).iter().any(|v| *v != x[[0, j]])).collect();
        let statistics = |rows: std::ops::Range<usize>| {
            let rows = x.select(Axis(0), &rows.collect::<Vec<_>>());
            let kept = rows.select(Axis(1), &varies).as_standard_layout().into_owned();
            Statistics::from_data(&kept).unwrap()
        };
        let (n, half) = (x.nrows(), x.nrows() / 2);
        let (s, groups) = (statistics(0..n), [statistics(0..half), statistics(half..n)]);
        let joint = |coupling| {
            let (l1, similarity) = (5e-4, 5e-4);
            let fit = JointGraphicalLasso { l1, similarity, coupling, stop, ..Default::default() };
            fit.fit(&groups).unwrap().report
        };
        let (l1, method) = (1e-3.into(), Method::Admm);
        let lasso = GraphicalLasso { l1, method, stop, ..Default::default() };
        let (l1, rank_penalty) = (1e-3.into(), 5e-3);
        let latent = LatentGraphicalLasso { l1, rank_penalty, stop, ..Default::default() };
        let free = ScaleFree { strength: 1e-3, stop, ..Default::default() };
        let nodes = NodeGroups { strength: 1e-3, stop, ..Default::default() };
        let reports: [(&str, Report); 6] = [
            ("lasso", lasso.fit(&s).unwrap().report),
            ("latent", latent.fit(&s).unwrap().report),
            ("scale-free", free.fit(&s).unwrap().report),
            ("node groups", nodes.fit(&s).unwrap().report),
            ("joint group", joint(Coupling::Group)),
            ("joint fused", joint(Coupling::Fused)),
        ];
        for (name, report) in reports {
            assert_eq!(report.status, Status::Converged, "{name} {seed}: {report}");
        }
        // Another method, with the same problem.
        let quic = GraphicalLasso { method: Method::Quic, ..lasso }.fit(&s).unwrap().report;
        let (a, b) = (reports[0].1.certificate, quic.certificate);
        let differ = (a.objective().unwrap() - b.objective().unwrap()).abs();
        assert!(differ <= a.value().max(b.value()) + 1e-9, "{seed}: {a} {b}");
    }
}
