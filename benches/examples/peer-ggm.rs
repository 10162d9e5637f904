//! This project's side of `cargo xtask peers ggm`, and the measurements that have no peer.
//!
//! ```text
//! peer-ggm solve FILE P L1,L1,...     every penalty from a cold start, then all of them as a path
//! peer-ggm own [NAME...]              scale-free, prox, shortcut, slope, memory, sparse, field
//! ```
//!
//! `FILE` has `P x P` little-endian numbers, a covariance matrix. A line of JSON a measurement.

use std::error::Error;
use std::time::Instant;

use fenchel_ggm::glasso::{GlassoSettings, GlassoState, Problem, graphical_lasso};
use fenchel_ggm::path::grid;
use fenchel_ggm::reweighted::liu_ihler;
use fenchel_ggm::scale_free::competitors::{minimum_norm_point, subgradient};
use fenchel_ggm::scale_free::prox::{ProxSettings, prox_omega};
use fenchel_ggm::scale_free::{DegreePrior, ScaleFree, ScaleFreeAdmm};
use fenchel_ggm::shortcut::Shortcut;
use fenchel_ggm::synthetic::{barabasi_albert, diagonally_dominant};
use fenchel_ggm::{
    GraphicalLasso, ItemField, Method, PenaltyWeights, Ratings, Scale, Statistics, sample,
};
use fenchel_optim::random::stream;
use fenchel_optim::{Cadence, Stop, run};
use ndarray::{Array1, Array2};
use rand::RngExt;
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["solve", file, p, penalties] => solve(file, p.parse()?, penalties),
        ["own", names @ ..] => own(names),
        _ => Err("usage: peer-ggm solve FILE P L1,L1,... | own [NAME...]".into()),
    }
}

fn solve(file: &str, p: usize, penalties: &str) -> Result<(), Box<dyn Error>> {
    let bytes = std::fs::read(file)?;
    let numbers: Vec<f64> = bytes
        .chunks_exact(8)
        .map(|b| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
        .collect();
    let c = Array2::from_shape_vec((p, p), numbers)?;
    let penalties: Vec<f64> = penalties.split(',').map(str::parse).collect::<Result<_, _>>()?;
    // A gap of 1e-6, absolute, for every side.
    let stop = Stop { absolute: 1e-6, relative: 0.0, ..Stop::default() };
    let settings = GlassoSettings { stop, max_memory: None, ..GlassoSettings::default() };
    let one = |l1: f64, start: Option<GlassoState>| {
        let weights = PenaltyWeights::Uniform(l1);
        let problem = Problem::new(c.view(), &weights)?;
        graphical_lasso(&problem, &settings, start, &mut ())
    };
    for &l1 in &penalties {
        let clock = Instant::now();
        let solution = one(l1, None)?;
        let seconds = clock.elapsed().as_secs_f64();
        let report = solution.report;
        println!(
            "{}",
            json!({ "l1": l1, "seconds": seconds, "gap": report.certificate.value(), "passes": report.passes,
                    "objective": report.certificate.objective(), "edges": solution.state.sparse().edges.len() })
        );
    }
    let mut falling = penalties;
    falling.sort_by(|a, b| b.total_cmp(a));
    let clock = Instant::now();
    let mut state = None;
    let mut worst = 0.0_f64;
    for &l1 in &falling {
        let solution = one(l1, state.take())?;
        worst = worst.max(solution.report.certificate.value());
        state = Some(solution.state);
    }
    println!("{}", json!({ "path": clock.elapsed().as_secs_f64(), "worst_gap": worst }));
    Ok(())
}

fn own(names: &[&str]) -> Result<(), Box<dyn Error>> {
    let asked = |name: &str| names.is_empty() || names.contains(&name);
    if asked("scale-free") {
        scale_free()?;
    }
    if asked("prox") {
        prox()?;
    }
    if asked("shortcut") {
        shortcut(4000, true)?;
    }
    if asked("slope") {
        for p in [1000, 2000, 4000, 8000] {
            shortcut(p, p <= 4000)?;
        }
    }
    if asked("memory") {
        shortcut(20_000, false)?;
    }
    if asked("sparse") {
        sparse()?;
    }
    if asked("field") {
        field()?;
    }
    Ok(())
}

/// 100 nodes, 196 edges: the submodular penalty, the l1 norm by QUIC, and l1 and reweighted l1 by ADMM, each to a gap of 1e-4. An edge at a node with
/// ten others costs 0.12 everywhere, as in the experiment gg-30.
fn scale_free() -> Result<(), Box<dyn Error>> {
    for seed in 0..10 {
        let edges = barabasi_albert(100, 2, &mut stream(seed, 0))?;
        let theta = diagonally_dominant(100, &edges, -0.2);
        let x = sample(theta.view(), &Array1::zeros(100), 500, &mut stream(seed, 1))?;
        let statistics = Statistics::from_data(&x)?;
        let stop = Stop { absolute: 1e-4, relative: 0.0, ..Stop::default() };
        let level = 0.12;
        let strength = level / DegreePrior::default().increments(100)?[10];
        let clock = Instant::now();
        let free = ScaleFree { strength, stop, ..ScaleFree::default() }.fit(&statistics)?;
        let seconds = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let lasso = GraphicalLasso { l1: level.into(), stop, ..GraphicalLasso::default() }
            .fit(&statistics)?;
        let l1 = clock.elapsed().as_secs_f64();
        let (c, _) = statistics.correlation();
        let settings = GlassoSettings {
            method: Method::Admm,
            screening: false,
            stop,
            ..GlassoSettings::default()
        };
        let clock = Instant::now();
        let weights = PenaltyWeights::Uniform(level);
        graphical_lasso(&Problem::new(c.view(), &weights)?, &settings, None, &mut ())?;
        let l1_admm = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        liu_ihler(&statistics, Scale::Correlation, 2.0 * level, 0.0, 1.0, 10, &settings)?;
        println!(
            "{}",
            json!({ "submodular": seconds, "gap": free.report.certificate.value(), "passes": free.report.passes,
                    "edges": free.graph().edge_count(), "l1": l1, "l1_gap": lasso.report.certificate.value(),
                    "l1_admm": l1_admm, "reweighted_admm": clock.elapsed().as_secs_f64() })
        );
    }
    Ok(())
}

/// Milliseconds an iteration of three methods for one proximal problem of 60 nodes, that of the experiment gg-29.
fn prox() -> Result<(), Box<dyn Error>> {
    let p = 60;
    let edges = barabasi_albert(p, 2, &mut stream(701, 0))?;
    let theta = diagonally_dominant(p, &edges, -0.2);
    let x = sample(theta.view(), &Array1::zeros(p), 500, &mut stream(701, 1))?;
    let (c, _) = Statistics::from_data(&x)?.correlation();
    let increments = DegreePrior::default().increments(p)?;
    let mut method = ScaleFreeAdmm::new(c.view(), &increments, 0.12 / increments[10], 0.5);
    run(&mut method, &Stop { absolute: 1e-6, relative: 0.0, ..Stop::default() }, &mut ())?;
    let (z, scale) = method.last_prox();
    let z = Array2::from_shape_fn((p, p), |(i, j)| 0.5 * (z[i * p + j] + z[j * p + i]));
    let rounds = 200;
    let stop = Stop { check: Cadence::Every(1e9), ..Stop::after_passes(f64::from(rounds)) };
    let settings = ProxSettings { accelerated: false, stop, ..ProxSettings::default() };
    let each = |clock: Instant| 1e3 * clock.elapsed().as_secs_f64() / f64::from(rounds);
    let clock = Instant::now();
    prox_omega(z.view(), &increments, scale, &settings, None, &mut ())?;
    let decomposition = each(clock);
    let clock = Instant::now();
    subgradient(z.view(), &increments, scale, 0.1, rounds as usize)?;
    let subgradients = each(clock);
    let clock = Instant::now();
    let cycles = minimum_norm_point(z.view(), &increments, scale, rounds as usize)?.history.len();
    println!(
        "{}",
        json!({ "prox_ms_dual_decomposition": decomposition, "subgradient": subgradients,
                "minimum_norm_point": 1e3 * clock.elapsed().as_secs_f64() / cycles.max(1) as f64, "cycles": cycles })
    );
    Ok(())
}

/// Correlations of noise with a quarter as many samples as variables.
fn noise(p: usize) -> Array2<f32> {
    let n = p / 4;
    let mut x = Array2::<f32>::zeros((p, n));
    let mut rng = stream(p as u64, 0);
    for mut row in x.rows_mut() {
        let mut norm = 0.0;
        for v in &mut row {
            *v = (0..6).map(|_| rng.random::<f32>() - 0.5).sum();
            norm += *v * *v;
        }
        row.mapv_inplace(|v| v / norm.sqrt());
    }
    x.dot(&x.t())
}

fn shortcut(p: usize, opponents: bool) -> Result<(), Box<dyn Error>> {
    let c = noise(p);
    let clock = Instant::now();
    let lists = Shortcut::new(c.view(), None)?;
    let sorting = clock.elapsed().as_secs_f64();
    let found = if p <= 8000 {
        let clock = Instant::now();
        let weights = lists.weights();
        Some((weights.sum(), clock.elapsed().as_secs_f64()))
    } else {
        None
    };
    let clock = Instant::now();
    let edges = lists.edges(0.05)?.len();
    let threshold = clock.elapsed().as_secs_f64();
    let mut line = json!({ "p": p, "sorting": sorting, "weights": found.map(|f| f.1), "threshold": threshold, "edges": edges });
    drop(lists);
    if opponents {
        let clock = Instant::now();
        // The first rows of the scalar triple loop, scaled to all pairs.
        let rows = (200_000_000 / (p * p)).clamp(1, p);
        let mut sum = 0.0_f64;
        for i in 0..rows {
            for j in 0..p {
                let mut best = c[[i, j]].abs();
                for k in 0..p {
                    if k != i && k != j {
                        best = best.min((c[[i, j]] - c[[i, k]] * c[[k, j]]).abs());
                    }
                }
                sum += f64::from(best);
            }
        }
        let scalar = clock.elapsed().as_secs_f64() * p as f64 / rows as f64 / 2.0;
        let wide = Statistics::from_covariance(c.mapv(f64::from).view(), p / 4 + 2);
        let blocked = match wide {
            Ok(statistics) => {
                let clock = Instant::now();
                let scores = fenchel_ggm::threshold::conditional_covariance(&statistics, 1, false)?;
                sum += scores.sum();
                Some(clock.elapsed().as_secs_f64())
            }
            Err(_) => None,
        };
        line["scalar_cct_one_core"] = json!(scalar);
        line["blocked_cct"] = json!(blocked);
        line["check"] = json!(sum);
    }
    println!("{line}");
    Ok(())
}

/// 10,000 variables in hubs of 10, 2,000 samples, 20 penalties.
fn sparse() -> Result<(), Box<dyn Error>> {
    let (p, n, size) = (10_000, 2000, 10);
    let clock = Instant::now();
    let mut x = Array2::<f64>::zeros((n, p));
    for block in 0..p / size {
        let edges = barabasi_albert(size, 1, &mut stream(block as u64, 0))?;
        let theta = diagonally_dominant(size, &edges, -0.2);
        let part = sample(theta.view(), &Array1::zeros(size), n, &mut stream(block as u64, 1))?;
        for (k, column) in part.columns().into_iter().enumerate() {
            x.column_mut(block * size + k).assign(&column);
        }
    }
    let drawn = clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    let statistics = Statistics::from_data(&x)?;
    drop(x);
    let moments = clock.elapsed().as_secs_f64();
    let stop = Stop { absolute: 1e-6, relative: 0.0, ..Stop::default() };
    let lasso = GraphicalLasso {
        l1: PenaltyWeights::Uniform(1.0),
        scale: Scale::Correlation,
        stop,
        max_memory: Some(12 << 30),
        ..GraphicalLasso::default()
    };
    let clock = Instant::now();
    let path = lasso.fit_path(&statistics, &grid(0.5, 0.2, 20)?)?;
    let seconds = clock.elapsed().as_secs_f64();
    let worst = path.points.iter().map(|p| p.report.certificate.value()).fold(0.0, f64::max);
    let edges: Vec<usize> = path.points.iter().map(|p| p.edges()).collect();
    println!(
        "{}",
        json!({ "drawing": drawn, "statistics": moments, "path": seconds, "worst_gap": worst, "edges": edges })
    );
    Ok(())
}

/// MovieLens 100K where it is found, k = 10.
fn field() -> Result<(), Box<dyn Error>> {
    let Some(folder) = std::env::var_os("FENCHEL_DATA") else { return Ok(()) };
    let folder = std::path::Path::new(&folder).join("movielens-100k");
    for fold in 1..=5 {
        let read = |name: &str| -> Result<Ratings, Box<dyn Error>> {
            let text = std::fs::read_to_string(folder.join(format!("u{fold}.{name}")))?;
            let mut list = Vec::new();
            for line in text.lines() {
                let mut fields = line.split('\t');
                let mut next = || fields.next().ok_or("three columns");
                let (user, item): (u32, u32) = (next()?.parse()?, next()?.parse()?);
                list.push((user - 1, item - 1, next()?.parse()?));
            }
            Ok(Ratings::new(943, 1682, list)?)
        };
        let (train, test) = (read("base")?, read("test")?);
        let field = ItemField::default();
        let clock = Instant::now();
        let graph = field.graph(&train)?;
        let precomputation = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let model = field.train(&graph, train.range())?;
        let training = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let mae = model.mean_absolute_error(&train, &test)?;
        println!(
            "{}",
            json!({ "fold": fold, "precomputation": precomputation, "training": training,
                    "prediction": clock.elapsed().as_secs_f64(), "mae": mae, "edges": graph.edges.len() })
        );
    }
    Ok(())
}
