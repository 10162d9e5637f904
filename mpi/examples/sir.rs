//! Which combinations of features matter, from a stream that no process holds?
//!
//! ```text
//! mpirun -n 4 sir [ROWS]
//! ```
//!
//! Each process adds up the slices of its shards, a batch at a time. The sums of the shards merge in a fixed tree, and every process fits
//! sliced inverse regression to the whole: the directions have the same bits for any number of processes.

use std::process::ExitCode;

use fenchel_linalg::text::fixed;
use fenchel_moments::slicing::{Slices, Slicing};
use fenchel_moments::{Components, Saved, Sir, SliceMoments};
use fenchel_mpi::Mpi;
use fenchel_optim::random::stream;
use fenchel_optim::spread::{Communicator, Shards, share};
use ndarray::{Array1, Array2};
use rand::RngExt;

const FEATURES: usize = 20;
const SHARDS: usize = 64;
const BATCH: usize = 10_000;

fn main() -> ExitCode {
    Mpi::run(directions)
}

/// Rows of a shard, drawn when they are wanted: the response depends on the first feature less the second.
fn batch(shard: usize, from: usize, rows: usize) -> (Array2<f64>, Array1<f64>) {
    let mut rng = stream(shard as u64, from as u64);
    let x: Array2<f64> =
        Array2::from_shape_simple_fn((rows, FEATURES), || rng.random_range(-1.0..1.0));
    let y = x.rows().into_iter().map(|row| (row[0] - row[1]).powi(3) + 0.1 * row[2]).collect();
    (x, y)
}

fn directions(ranks: &Mpi) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let rows: usize = std::env::args().nth(1).map_or(Ok(1_000_000), |word| word.parse())?;
    // All processes draw the first batch, and so have the same slices.
    let (_, sample) = batch(0, 0, share(rows, 0, SHARDS).len().min(BATCH));
    let slices = Slices::new(&sample.to_vec(), Slicing::EqualCount(10), 1)?;
    let own = share(SHARDS, ranks.rank(), ranks.size());
    let sizes: Vec<usize> = own.clone().map(|shard| share(rows, shard, SHARDS).len()).collect();
    let shards = Shards::new(ranks, &sizes)?;
    let mut sums = Vec::new();
    for (shard, rows) in own.zip(sizes) {
        let mut sum = SliceMoments::new(slices.edges().to_vec(), FEATURES)?;
        for from in (0..rows).step_by(BATCH) {
            let (x, y) = batch(shard, from, BATCH.min(rows - from));
            sum.partial_fit(&x, &y)?;
        }
        sums.push(sum);
    }
    let bytes = |sum: &SliceMoments| {
        let mut bytes = Vec::new();
        sum.save(&mut bytes).expect("memory takes what is written");
        bytes
    };
    let read = |bytes: &[u8]| Ok::<_, Box<dyn std::error::Error>>(SliceMoments::load(bytes)?);
    let whole = shards.merge(sums, bytes, read, |mut left, right| {
        left.merge(&right)?;
        Ok(left)
    })?;
    let model = Sir { components: Components::Fixed(1), ..Sir::default() }.fit_moments(&whole)?;
    if ranks.rank() == 0 {
        let weights = model.directions.column(0);
        let shown: Vec<String> = weights.iter().take(4).map(|w| fixed(*w, 3)).collect();
        println!("{} rows of {} processes", model.samples, ranks.size());
        println!("the direction begins with {}", shown.join(", "));
        println!("{} MB were sent", fixed(shards.traffic().sent as f64 / 1e6, 1));
    }
    Ok(ExitCode::SUCCESS)
}
