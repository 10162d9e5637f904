//! Time of a pass against the size of the data: linear in the entries, from 1e5 of them to 1e8.
//!
//! ```text
//! cargo run --release -p fenchel-benches --example scaling [largest number of entries, default 1e7]
//! ```
//!
//! Generated sparse classification, 30 entries a row, 5,000 columns; logistic loss, `l2 = 1/n`. 1e8 entries take
//! 1.2 GB. SDCA visits single rows, and four rows at a time (`Order::Runs(4)`). A time is the method's own for 4 passes, divided by 4; memory is the peak of the process.

use std::error::Error;
use std::time::Instant;

use fenchel_datasets::generate::{Spgen, spgen};
use fenchel_finite_sum::Problem;
use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::methods::{SagaSettings, SdcaSettings, SvrgSettings, saga, sdca, svrg};
use fenchel_linalg::AsDesign;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::Order;
use fenchel_optim::{Cadence, Stop, Trace};

const PASSES: f64 = 4.0;
const PER_ROW: usize = 30;

fn main() -> Result<(), Box<dyn Error>> {
    let largest: f64 = std::env::args().nth(1).map_or(Ok(1e7), |text| text.parse())?;
    println!(
        "  entries        rows  generated  ns an entry: sdca by fours    saga    svrg   peak memory"
    );
    let mut entries = 1e5;
    while entries <= 1.001 * largest {
        row((entries / PER_ROW as f64) as usize)?;
        entries *= 10.0;
    }
    Ok(())
}

fn row(rows: usize) -> Result<(), Box<dyn Error>> {
    let settings = Spgen { rows, columns: 5_000, nonzeros: PER_ROW, ..Spgen::default() };
    let clock = Instant::now();
    let data = spgen(&settings)?.classification();
    let generated = clock.elapsed().as_secs_f64();
    let targets = data.y.as_slice().ok_or("targets in one piece")?;
    let problem = Problem::new(data.x.as_design()?, targets, Logistic, Zero, 1.0 / rows as f64)?;
    let stop = Stop { check: Cadence::Every(PASSES), ..Stop::after_passes(PASSES) };
    let per_entry = |seconds: f64| 1e9 * seconds / (PASSES * data.x.nnz() as f64);
    let settings = SdcaSettings { stop, ..SdcaSettings::default() };
    let single = sdca(&problem, &settings, None, &mut Trace::new())?.report.seconds;
    let settings = SdcaSettings { order: Order::Runs(4), ..settings };
    let fours = sdca(&problem, &settings, None, &mut Trace::new())?.report.seconds;
    let settings = SagaSettings { stop, ..SagaSettings::default() };
    let saga = saga(&problem, &settings, None, &mut Trace::new())?.report.seconds;
    let settings = SvrgSettings { stop, ..SvrgSettings::default() };
    let svrg = svrg(&problem, &settings, None, &mut Trace::new())?.report.seconds;
    println!(
        "{:9.0e} {rows:11} {generated:8.2} s {:18.2} {:8.2} {:7.2} {:7.2}   {}",
        data.x.nnz() as f64,
        per_entry(single),
        per_entry(fours),
        per_entry(saga),
        per_entry(svrg),
        peak_memory(),
    );
    Ok(())
}

/// Where the system tells it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("not known".into(), |text| text.trim().into())
}
