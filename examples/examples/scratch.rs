//! Scratch.
use std::time::Instant;
use fenchel_datasets::generate::Spgen;
use fenchel_finite_sum::{loss::Logistic, *};
use fenchel_linalg::{AsDesign, Design};
use fenchel_optim::{prox::{Zero, L1}, *, random::Order};
fn main() {
    let data = fenchel_datasets::generate::spgen(&Spgen { rows: 20000, columns: 5000, nonzeros: 30, seed: 7, noise: 3000, normalise: true }).unwrap();
    let data = data.classification();
    let (x, y) = (data.x.clone(), data.y.to_vec());
    let design = x.as_design().unwrap();
    let n = design.rows() as f64;
    for l2 in [1.0 / n, 0.1 / n, 0.01 / n] {
        let problem = Problem::new(design, &y, Logistic, Zero, l2).unwrap();
        let reference = catalyst(&problem, &CatalystSettings { stop: Stop { relative: 1e-13, absolute: 1e-15, max_passes: 500.0, ..Stop::default() }, ..Default::default() }, None, &mut ()).unwrap();
        println!("reference {}", reference.report);
        let f = reference.report.certificate.objective().unwrap();
        let mut t = Trace::new();
        let s = sdca(&problem, &SdcaSettings { stop: Stop::after_passes(30.0), ..Default::default() }, None, &mut t).unwrap();
        let hit = t.rows.iter().find(|r| r.certificate.objective().unwrap() - f <= 1e-8).map(|r| r.passes);
        println!("l2 {l2:e} sdca hits 1e-8 at {hit:?}; {} ; Mnnz/s {}", s.report, design.stored() as f64 * 30.0 / s.report.seconds / 1e6);
        let mut t = Trace::new();
        let s = catalyst(&problem, &CatalystSettings { stop: Stop::after_passes(30.0), ..Default::default() }, None, &mut t).unwrap();
        let hit = t.rows.iter().find(|r| r.certificate.objective().unwrap() - f <= 1e-8).map(|r| r.passes);
        println!("l2 {l2:e} cat hits 1e-8 at {hit:?}; {} ; Mnnz/s {}", s.report, design.stored() as f64 * 30.0 / s.report.seconds / 1e6);
        let mut t = Trace::new();
        let s = catalyst(&problem, &CatalystSettings { step: SdcaStep::Constant, stop: Stop::after_passes(30.0), ..Default::default() }, None, &mut t).unwrap();
        let hit = t.rows.iter().find(|r| r.certificate.objective().unwrap() - f <= 1e-8).map(|r| r.passes);
        println!("l2 {l2:e} catconst hits 1e-8 at {hit:?}; {} ; Mnnz/s {}", s.report, design.stored() as f64 * 30.0 / s.report.seconds / 1e6);
        let mut t = Trace::new();
        let s = saga(&problem, &SagaSettings { stop: Stop::after_passes(30.0), ..Default::default() }, None, &mut t).unwrap();
        let hit = t.rows.iter().find(|r| r.certificate.objective().unwrap() - f <= 1e-8).map(|r| r.passes);
        println!("l2 {l2:e} saga hits 1e-8 at {hit:?}; {} ; Mnnz/s {}", s.report, design.stored() as f64 * 29.0 / s.report.seconds / 1e6);
        let start = Instant::now();
        let s = catalyst(&problem, &CatalystSettings { stop: Stop::at_relative(1e-6), ..Default::default() }, None, &mut ()).unwrap();
        println!("   to 1e-6 rel {:?} {}", start.elapsed(), s.report);
    }
    let l1 = 9.765e-6;
    let problem = Problem::new(design, &y, Logistic, L1 { strength: l1 }, 0.0).unwrap();
    let mut t = Trace::new();
    let s = saga(&problem, &SagaSettings { order: Order::Uniform, stop: Stop::after_passes(41.0), ..Default::default() }, None, &mut t).unwrap();
    println!("l1 saga {} s/epoch {}", s.report, s.report.seconds / 40.0);
    for r in t.rows.iter().step_by(10) { println!("{} {:e}", r.passes, r.certificate.objective().unwrap() - 0.2516837197); }
    let mut t = Trace::new();
    let s = catalyst(&problem, &CatalystSettings { stop: Stop::after_passes(60.0), ..Default::default() }, None, &mut t).unwrap();
    println!("l1 catalyst {}", s.report);
    for r in t.rows.iter().step_by(10) { println!("{} {:e} {}", r.passes, r.certificate.objective().unwrap() - 0.2516837197, r.certificate); }
    println!("support {}", s.state.point.support());
}
