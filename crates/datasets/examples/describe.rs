//! Describes a LIBSVM file: shape, stored entries, labels, and how fast it was read.
//!
//! `cargo run --release -p fenchel-datasets --example describe -- FILE`
use std::time::Instant;

use fenchel_datasets::{Error, LibsvmOptions, libsvm_file};

fn main() -> Result<(), Error> {
    let Some(path) = std::env::args().nth(1) else {
        println!("usage: describe FILE");
        return Ok(());
    };
    let begin = Instant::now();
    let data = libsvm_file(&path, &LibsvmOptions::default())?;
    let seconds = begin.elapsed().as_secs_f64();
    let (rows, columns) = data.x.shape();
    let mut labels = data.y.to_vec();
    labels.sort_by(f64::total_cmp);
    println!("{path}: {rows} x {columns}, {} stored entries", data.x.nnz());
    let groups = labels.chunk_by(|a, b| a == b).take(10);
    for group in groups {
        println!("  label {:>6}: {} rows", group[0], group.len());
    }
    println!("  read in {seconds:.3} s, {:.0} rows/s", rows as f64 / seconds);
    Ok(())
}
