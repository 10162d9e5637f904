//! What every estimator says of odd data: the objective is that of the returned model, no lower bound is above the answer of another
//! method, and a run ends with an answer or with the word that says why not.
//!
//! The number of problems comes from `FENCHEL_PROBLEMS` (default 15).

use std::collections::BTreeMap;

use fenchel_datasets::generate::odd;
use fenchel_ggm::item_field::{ItemField, Ratings, Training};
use fenchel_ggm::joint::{Coupling, JointGraphicalLasso};
use fenchel_ggm::scale_free::{NodeGroups, omega};
use fenchel_ggm::shortcut::shortcut;
use fenchel_ggm::{
    Error, Fit, GaussianCrf, GraphicalLasso, GraphicalLassoCv, LatentGraphicalLasso, Method,
    PartialCorrelationLasso, PenaltyWeights, ScaleFree, Statistics, bethe, chow_liu, threshold,
};
use fenchel_optim::random::stream;
use fenchel_optim::{Report, Status};
use ndarray::{Array1, Array2, Axis};
use rand::RngExt;

use crate::common::{inverse, objective};

fn problems() -> u64 {
    std::env::var("FENCHEL_PROBLEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(15)
}

/// Tables of whole numbers with few and with many rows, odd problems, columns whose variances differ by 1e9, and columns that follow
/// each other. Columns that never vary are left out.
fn table(seed: u64) -> Array2<f64> {
    let mut draw = stream(seed, 39);
    let p = draw.random_range(2..8);
    let few = draw.random_range(2..6);
    let many = p + draw.random_range(1..21);
    let kind = seed % 5;
    let n = if kind == 0 { few } else { many };
    let mut x = Array2::from_shape_simple_fn((n, p), || f64::from(draw.random_range(-4..5)));
    match kind {
        2 => {
            x = odd(seed).x;
            let p = x.ncols().min(8);
            x = x.select(Axis(1), &(0..p).collect::<Vec<_>>());
        }
        3 => {
            for (j, mut column) in x.columns_mut().into_iter().enumerate() {
                column *= 10f64.powf(9.0 * j as f64 / (p - 1) as f64 - 4.5);
            }
        }
        4 => {
            let noise = [1.0, 0.1, 0.01][draw.random_range(0..3)];
            for mut row in x.rows_mut() {
                let common = row[0];
                row.iter_mut().skip(1).for_each(|v| *v = common + noise * *v);
            }
        }
        _ => {}
    }
    let varies = |j: &usize| x.nrows() > 1 && x.column(*j).iter().any(|v| *v != x[[0, *j]]);
    let kept: Vec<usize> = (0..x.ncols()).filter(varies).collect();
    x.select(Axis(1), &kept).as_standard_layout().into_owned()
}

/// How the runs of every estimator ended.
#[derive(Default)]
struct Tally(BTreeMap<&'static str, BTreeMap<String, Vec<u64>>>);

impl Tally {
    fn add(&mut self, name: &'static str, seed: u64, how: String) {
        self.0.entry(name).or_default().entry(how).or_default().push(seed);
    }

    fn of<T>(
        &mut self,
        name: &'static str,
        seed: u64,
        found: Result<T, Error>,
        report: impl Fn(&T) -> Report,
    ) -> Option<T> {
        match found {
            Ok(model) => {
                let report = report(&model);
                self.add(name, seed, format!("{:?}", report.status));
                assert_eq!(
                    report.status == Status::Converged,
                    report.certificate.value() <= 1e-6 || report.certificate.relative() <= 1e-6,
                    "{name} {seed}: {report}"
                );
                Some(model)
            }
            Err(error) => {
                let kind = format!("{error:?}");
                let kind = kind.split([' ', '(', '{']).next().unwrap_or_default();
                assert!(
                    ["Unbounded", "RankDeficient", "ZeroVariance"].contains(&kind)
                        || error.to_string().contains("overflows"),
                    "{name} {seed}: {error}"
                );
                self.add(name, seed, format!("refused: {kind}"));
                None
            }
        }
    }

    fn print(&self) {
        for (name, ends) in &self.0 {
            let counts: Vec<String> = ends
                .iter()
                .map(|(how, seeds)| {
                    format!(
                        "{how} {} {:?}",
                        seeds.len(),
                        &seeds[..seeds.len().min(
                            if how == "Converged" || how.starts_with("refused") { 0 } else { 12 }
                        )]
                    )
                })
                .collect();
            println!("{name}: {}", counts.join(", "));
        }
    }

    /// At least 95 of 100 answers have converged, and the others stalled: none ended at a limit.
    fn check(&self) {
        for (name, ends) in &self.0 {
            let count = |how: &str| ends.get(how).map_or(0, Vec::len);
            let (converged, stalled) = (count("Converged"), count("Stalled"));
            let all: usize =
                ends.iter().filter(|e| !e.0.starts_with("refused")).map(|e| e.1.len()).sum();
            assert_eq!(converged + stalled, all, "{name}: {ends:?}");
            assert!(20 * stalled <= all + 20, "{name}: {ends:?}");
        }
    }
}

/// The objective of the report is that of the model: `value`, up to rounding relative to the sizes of its terms.
fn same(name: &str, seed: u64, report: &Report, value: f64, size: f64) {
    let said = report.certificate.objective().unwrap();
    assert!((said - value).abs() <= 1e-7 * (1.0 + size), "{name} {seed}: {said} is {value}");
}

fn units(statistics: &Statistics) -> Array1<f64> {
    statistics.covariance.diag().mapv(f64::sqrt)
}

fn scaled(x: &Array2<f64>, units: &Array1<f64>) -> Array2<f64> {
    Array2::from_shape_fn(x.raw_dim(), |(i, j)| x[[i, j]] * units[i] * units[j])
}

fn log_det(x: &Array2<f64>) -> f64 {
    inverse(x).map_or(f64::NEG_INFINITY, |found| found.1)
}

/// Rounding of a log-determinant grows with the condition of the matrix.
fn size(x: &Array2<f64>) -> f64 {
    x.diag().iter().map(|v| v.abs()).sum::<f64>() * 1e-3 + x.nrows() as f64
}

#[test]
fn answers_are_what_the_reports_say() {
    let mut tally = Tally::default();
    for seed in 0..problems() {
        let x = table(seed);
        if x.nrows() < 2 || x.ncols() < 2 {
            continue;
        }
        let s = Statistics::from_data(&x).unwrap();
        let (c, u) = (s.correlation().0, units(&s));
        let p = x.ncols();
        for l1 in [0.1, 1e-3] {
            let mut reports = Vec::new();
            for (name, method) in [
                ("lasso quic", Method::Quic),
                ("lasso bcd", Method::BlockCoordinate),
                ("lasso admm", Method::Admm),
            ] {
                let lasso = GraphicalLasso { l1: l1.into(), method, ..Default::default() };
                let Some(m) = tally.of(name, seed, lasso.fit(&s), |m| m.report) else {
                    continue;
                };
                let theta = scaled(&m.precision, &u);
                let value = objective(&c, &PenaltyWeights::Uniform(l1), &theta);
                same(name, seed, &m.report, value, size(&theta));
                reports.push((name, m.report.certificate, size(&theta)));
            }
            for (a, one, _) in &reports {
                for (b, other, size) in &reports {
                    let lower = one.objective().unwrap() - one.value();
                    assert!(
                        !lower.is_finite()
                            || lower <= other.objective().unwrap() + 1e-9 * (1.0 + size),
                        "{seed} {l1}: bound of {a} {one} above {b} {other}"
                    );
                }
            }
        }
        let none = GraphicalLasso { l1: 0.0.into(), ..Default::default() };
        tally.of("lasso without penalty", seed, none.fit(&s), |m| m.report);
        if x.nrows() >= 5 {
            let cv = GraphicalLassoCv { folds: 3, ..Default::default() };
            match cv.fit(&x) {
                Ok(found) => {
                    tally.add("cross-validation", seed, format!("{:?}", found.model.report.status));
                }
                Err(error) => tally.add("cross-validation", seed, format!("refused: {error}")),
            }
        }
        if let Some(m) =
            tally.of("latent", seed, LatentGraphicalLasso::default().fit(&s), |m| m.report)
        {
            let (sparse, low) = (scaled(&m.sparse, &u), scaled(&m.low_rank(), &u));
            let r = scaled(&m.observed.precision, &u);
            let l1 = sparse.indexed_iter().filter(|((i, j), _)| i != j);
            let l1: f64 = l1.map(|(_, v)| 0.1 * v.abs()).sum();
            let value = (&c * &r).sum() - log_det(&r) + l1 + 0.5 * low.diag().sum();
            same("latent", seed, &m.report, value, size(&r));
        }
        let free = ScaleFree::default();
        if let Some(m) = tally.of("scale-free", seed, free.fit(&s), |m| m.report) {
            let theta = scaled(&m.precision, &u);
            let penalty = omega(theta.view(), &free.prior.increments(p).unwrap()).unwrap();
            let value = (&c * &theta).sum() - log_det(&theta) + 0.1 * penalty;
            same("scale-free", seed, &m.report, value, size(&theta));
        }
        if let Some(m) = tally.of("groups", seed, NodeGroups::default().fit(&s), |m| m.report) {
            let theta = scaled(&m.precision, &u);
            let row = |i: usize| {
                (0..p).filter(|&j| j != i).map(|j| theta[[i, j]].powi(2)).sum::<f64>().sqrt()
            };
            let penalty: f64 = (0..p).map(row).sum();
            let value = (&c * &theta).sum() - log_det(&theta) + 0.1 * penalty;
            same("groups", seed, &m.report, value, size(&theta));
        }
        let partial = PartialCorrelationLasso::default().fit(&s);
        tally.of("partial", seed, partial, |m| m.report);
        if x.nrows() >= 4 {
            let half = x.nrows() / 2;
            let group = |rows: std::ops::Range<usize>| {
                Statistics::from_data(&x.select(Axis(0), &rows.collect::<Vec<_>>())).unwrap()
            };
            let groups = [group(0..half), group(half..x.nrows())];
            for (name, coupling) in
                [("joint group", Coupling::Group), ("joint fused", Coupling::Fused)]
            {
                let joint = JointGraphicalLasso { coupling, ..Default::default() };
                let Some(m) = tally.of(name, seed, joint.fit(&groups), |m| m.report) else {
                    continue;
                };
                let total: f64 = groups.iter().map(|g| g.samples as f64).sum();
                let thetas: Vec<_> = m
                    .models
                    .iter()
                    .zip(&groups)
                    .map(|(m, g)| scaled(&m.precision, &units(g)))
                    .collect();
                let mut value = 0.0;
                for (theta, g) in thetas.iter().zip(&groups) {
                    let share = g.samples as f64 / total;
                    value += share * ((&g.correlation().0 * theta).sum() - log_det(theta));
                }
                for i in 0..p {
                    for j in (0..p).filter(|&j| j != i) {
                        let (a, b) = (thetas[0][[i, j]], thetas[1][[i, j]]);
                        let like =
                            if coupling == Coupling::Group { a.hypot(b) } else { (a - b).abs() };
                        value += 0.05 * (a.abs() + b.abs() + like);
                    }
                }
                same(name, seed, &m.report, value, size(&thetas[0]) + size(&thetas[1]));
            }
        }
        let inputs = 1 + (seed as usize) % (p - 1);
        let crf = GaussianCrf::default().fit_statistics(&s, inputs, Fit::new());
        if let Some(m) = tally.of("conditional", seed, crf, |m| m.report) {
            let q = p - inputs;
            let (a, b): (Vec<f64>, Vec<f64>) = (
                u.iter().take(inputs).copied().collect(),
                u.iter().skip(inputs).copied().collect(),
            );
            let l = scaled(&m.precision, &Array1::from(b.clone()));
            let t = Array2::from_shape_fn((inputs, q), |(i, j)| m.coupling[[i, j]] * a[i] * b[j]);
            let (w, log) = inverse(&l).unwrap();
            let part = |r: std::ops::Range<usize>, s: std::ops::Range<usize>| {
                c.select(Axis(0), &r.collect::<Vec<_>>()).select(Axis(1), &s.collect::<Vec<_>>())
            };
            let (xx, xy, yy) = (
                part(0..inputs, 0..inputs),
                part(0..inputs, inputs..p),
                part(inputs..p, inputs..p),
            );
            let mut value = (&yy * &l).sum() - log
                + 2.0 * (&xy * &t).sum()
                + w.dot(&t.t().dot(&xx.dot(&t))).diag().sum();
            value += 0.1 * t.iter().map(|t| t.abs()).sum::<f64>();
            value += 0.1
                * l.indexed_iter().filter(|((i, j), _)| i != j).map(|(_, l)| l.abs()).sum::<f64>();
            same(
                "conditional",
                seed,
                &m.report,
                value,
                size(&l) + t.iter().map(|t| t.abs()).sum::<f64>(),
            );
        }
        tally.of("chow-liu", seed, chow_liu(&s), |m| m.report);
        let edges: Vec<(u32, u32)> = (1..p as u32).map(|j| (j - 1, j)).collect();
        match bethe::closed_form(c.view(), &edges) {
            Ok(theta) => assert!(theta.iter().all(|v| v.is_finite())),
            Err(error) => assert!(matches!(error, Error::Unbounded { .. }), "{seed}: {error}"),
        }
        assert!(shortcut(c.view()).unwrap().iter().all(|w| w.is_finite()));
        assert!(
            threshold::conditional_mutual_information(&s, 1, false)
                .unwrap()
                .iter()
                .all(|w| !w.is_nan())
        );
        // Rows as users, columns as items.
        let marks = x.indexed_iter().map(|((i, j), v)| (i as u32, j as u32, v / u[j]));
        let ratings = Ratings::new(x.nrows(), p, marks).unwrap();
        for (name, training) in [
            ("field entropy", Training::default()),
            ("field bethe", Training::BetheLikelihood),
            ("field exact", Training::ExactLikelihood),
        ] {
            let model = ItemField { training, ..Default::default() }.fit(&ratings).unwrap();
            let found = model.predict(&[(0, ratings.of_item(0)[0].1)]).unwrap();
            assert!(found.iter().all(|r| r.is_finite()), "{name} {seed}");
        }
    }
    tally.print();
    tally.check();
}
