//! How a fit scales: what is measured on the processes of this machine, and what a model of a network makes of it.
//!
//! `mpirun -n 2 scale [ROWS] [COLUMNS] [ENTRIES A ROW]` prints the seconds, the traffic and the memory of an l2 logistic regression by L-BFGS
//! on generated rows, and tables for up to 1,024 workers: of these rows, and of so many more that a file of them has 1,024 pieces. The
//! tables are a model, and say so: computation that divides by the number of workers, of which those beyond the pieces are idle, and for
//! each sum `2 ceil(log2 K)` messages one after the other, each with a latency and its bytes through a line.

use std::process::ExitCode;
use std::time::Instant;

use fenchel_erm::Problem;
use fenchel_erm::loss::Logistic;
use fenchel_erm::methods::{LbfgsSettings, lbfgs};
use fenchel_erm::prox::Zero;
use fenchel_linalg::{AsDesign, CsrMatrix, Design};
use fenchel_mpi::text::number;
use fenchel_mpi::{Error, Mpi};
use fenchel_optim::Stop;
use fenchel_optim::random::stream;
use fenchel_optim::spread::{Communicator, Shards, Traffic, share};
use rand::RngExt;

/// Networks: a name, seconds of latency, and bytes a second.
const NETWORKS: [(&str, f64, f64); 2] =
    [("1 GbE, 50 us", 50e-6, 0.125e9), ("10 GbE, 20 us", 20e-6, 1.25e9)];

/// Bytes of an entry in a file: a blank, an index of five digits, a colon, and a number of six characters.
const ENTRY: usize = 13;

/// Bytes of a file that has as many pieces as the most workers of the model.
const LARGE: u64 = 1 << 36;

fn main() -> ExitCode {
    Mpi::run(measure)
}

fn argument(place: usize, default: usize) -> Result<usize, Error> {
    let Some(word) = std::env::args().nth(place) else { return Ok(default) };
    word.parse().map_err(|_| Error::Usage(format!("{word:?}: expected a whole number")))
}

fn measure(ranks: &Mpi) -> Result<ExitCode, Error> {
    let (n, d, entries) = (argument(1, 100_000)?, argument(2, 20_000)?, argument(3, 100)?);
    fenchel_linalg::parallel::start(1).map_err(Error::Usage)?;
    let bytes = (n * entries * ENTRY) as u64;
    let count = number(bytes) as usize;
    let own = share(count, ranks.rank(), ranks.size());
    let sizes: Vec<usize> = own.clone().map(|shard| share(n, shard, count).len()).collect();
    let rows: usize = sizes.iter().sum();
    let mut columns = Vec::with_capacity(rows * entries);
    let mut values = Vec::with_capacity(rows * entries);
    let (mut offsets, mut y) = (vec![0], Vec::with_capacity(rows));
    offsets.reserve_exact(rows);
    for shard in own {
        let mut rng = stream(1, shard as u64);
        for _ in share(n, shard, count) {
            let mut row: Vec<u32> = (0..entries).map(|_| rng.random_range(0..d as u32)).collect();
            row.sort_unstable();
            row.dedup();
            let mut score = rng.random_range(-1.0..1.0);
            for &column in &row {
                // The true weights are a wave.
                let value: f64 = rng.random_range(-1.0..1.0);
                score += 3.0 * value * f64::from(column).sin();
                values.push(value);
            }
            columns.extend(row);
            offsets.push(values.len());
            y.push(if score > 0.0 { 1.0 } else { -1.0 });
        }
    }
    let x = CsrMatrix::try_new((y.len(), d), offsets, columns, values);
    let x = x.map_err(|(.., error)| Error::Usage(error.to_string()))?;
    let shards = Shards::new(ranks, &sizes)?;
    let problem =
        Problem::new(x.as_design()?.spread(&shards)?, &y, Logistic, Zero, 1.0 / n as f64)?;
    let before = shards.traffic();
    let settings = LbfgsSettings { stop: Stop::at_relative(1e-8), ..LbfgsSettings::default() };
    ranks.barrier();
    let start = Instant::now();
    let report = lbfgs(&problem, &settings, None, &mut ())?.report;
    ranks.barrier();
    let seconds = start.elapsed().as_secs_f64();
    let Traffic { rounds, sent, .. } = shards.traffic();
    let (rounds, sent) = ((rounds - before.rounds) as f64, (sent - before.sent) as f64);
    let peaks = ranks.gather_numbers(&[peak_memory().to_bits()]).concat();
    if ranks.rank() > 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let k = ranks.size();
    let memory: f64 = peaks.into_iter().map(f64::from_bits).sum();
    println!("{n} rows, {d} columns, {entries} entries a row; {k} processes of a thread each");
    println!("{report}");
    println!(
        "measured: {seconds:.3} s, {:.1} ms a pass, {rounds} sums, {:.1} MB sent by rank 0; {memory:.0} MB of memory at most, all together",
        1e3 * seconds / report.passes,
        sent / 1e6
    );
    if k == 1 {
        return Ok(ExitCode::SUCCESS);
    }
    let work = seconds * k as f64;
    println!(
        "\nA model of {rounds} sums of {:.1} MB each, from these seconds times {k} as the work of one process.",
        sent / rounds / 1e6
    );
    let times = LARGE.div_ceil(bytes.max(1)).max(1);
    for times in [1, times] {
        let (pieces, work) = (number(times * bytes), work * times as f64);
        println!("\n{times} times the rows: {pieces} pieces, {work:.1} s on one process");
        println!("{:>8}  {:>22}  {:>22}", "workers", NETWORKS[0].0, NETWORKS[1].0);
        for workers in (0..=10).map(|power| 1_u64 << power) {
            let busy = workers.min(pieces) as f64;
            let cell = |(_, latency, bandwidth): (&str, f64, f64)| {
                // Rank 0 gives each sum away once.
                let hops = 2.0 * (workers as f64).log2().ceil();
                let time = work / busy + hops * (rounds * latency + sent / bandwidth);
                format!("{time:>10.3} s {:>8.1} x", work / time)
            };
            println!("{workers:>8}  {:>22}  {:>22}", cell(NETWORKS[0]), cell(NETWORKS[1]));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The most memory that this process had, in MB; 0 where the system does not say.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kibibytes.map_or(0.0, |kibibytes| kibibytes * 1024.0 / 1e6)
}
