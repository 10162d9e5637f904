//! How time and memory grow with the data, up to the largest that a machine of 24 GB holds.
//!
//! ```text
//! cargo run --release -p fenchel-benches --example load [NAME...] [--to SHARE]
//! ```
//!
//! Every measurement is a process of its own. The time is that of the fit, and includes the draw of the rows where these are a stream. The
//! memory is the peak of the whole process, data included. The exponent `b` of `time = a size^b` is that from the size before.
//! `--to 0.01` leaves out sizes above this share of the largest.

use std::error::Error;
use std::process::Command;
use std::time::Instant;

use fenchel_causal::{Admg, NodeSet, Query, identify};
use fenchel_crf::synthetic::{TextLike, text_like};
use fenchel_crf::{Features, methods as crf};
use fenchel_datasets::generate::{LowRank, Spgen, low_rank, spgen};
use fenchel_expfam::glm::{Glm, PoissonLog};
use fenchel_finite_sum::LogisticRegression;
use fenchel_ggm::{GraphicalLasso, PenaltyWeights};
use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_graphical::{Evidence, JunctionTree, OrderingOptions};
use fenchel_linalg::text::short;
use fenchel_moments::slicing::{Slices, Slicing};
use fenchel_moments::{Components, Sir, SliceMoments};
use fenchel_mrf_learn::potts::{Alignment, Alphabet, Gaps, PottsPseudoLikelihood};
use fenchel_mrf_learn::synthetic::ising_grid;
use fenchel_optim::Stop;
use fenchel_optim::random::stream;
use ndarray::{Array1, Array2};
use rand::RngExt;

type Failure = Box<dyn Error>;
type Fit = Box<dyn FnOnce() -> Result<(), Failure>>;

/// A fit at several sizes.
struct Job {
    name: &'static str,
    /// What a size counts.
    unit: &'static str,
    sizes: &'static [usize],
    /// Makes data of a size, and returns the fit.
    make: fn(usize) -> Result<Fit, Failure>,
}

const JOBS: [Job; 10] = [
    Job {
        name: "logistic regression, l2 = 1/n, 100 entries a row, 100,000 columns",
        unit: "entries",
        sizes: &[1_000_000, 10_000_000, 100_000_000],
        make: logistic,
    },
    Job {
        name: "CRF by dual ascent, as many attributes as tokens, 9 labels, gap 1e-3",
        unit: "tokens",
        sizes: &[10_000, 100_000, 1_000_000],
        make: tagger,
    },
    Job {
        name: "graphical lasso, twice as many rows as variables, common factors",
        unit: "variables",
        sizes: &[750, 1_500, 3_000],
        make: dense_lasso,
    },
    Job {
        name: "graphical lasso, 100 rows, small components",
        unit: "variables",
        sizes: &[5_000, 10_000, 20_000],
        make: sparse_lasso,
    },
    Job {
        name: "junction tree, square grid of spins",
        unit: "side",
        sizes: &[12, 16, 20, 24],
        make: grid,
    },
    Job {
        name: "Gibbs sampling, 4,096 chains of 32 x 32 spins",
        unit: "updates",
        sizes: &[10_000_000, 100_000_000, 1_000_000_000],
        make: gibbs,
    },
    Job {
        name: "SIR of a stream, 100 features",
        unit: "rows",
        sizes: &[100_000, 1_000_000, 10_000_000],
        make: stream_of_rows,
    },
    Job {
        name: "Potts pseudo-likelihood, 20 states and gap, three passes",
        unit: "sequences (columns: 400 of 50,000 or the like)",
        sizes: &[500, 5_000, 50_000],
        make: potts,
    },
    Job {
        name: "Poisson regression, 30 features",
        unit: "rows",
        sizes: &[100_000, 1_000_000, 10_000_000],
        make: counts,
    },
    Job {
        name: "causal effect, two edges a node, one in ten confounded",
        unit: "nodes",
        sizes: &[50, 100, 200],
        make: effect,
    },
];

fn logistic(entries: usize) -> Result<Fit, Failure> {
    let settings =
        Spgen { rows: entries / 100, columns: 100_000, nonzeros: 100, ..Spgen::default() };
    let data = spgen(&settings)?.classification();
    Ok(Box::new(move || {
        let l2 = Some(1.0 / data.y.len() as f64);
        LogisticRegression { l2, ..Default::default() }.fit(&data.x, data.y.view())?;
        Ok(())
    }))
}

fn tagger(tokens: usize) -> Result<Fit, Failure> {
    let settings = TextLike { sequences: tokens / 13, words: tokens / 12, ..TextLike::default() };
    let data = text_like(&settings)?;
    Ok(Box::new(move || {
        let problem = fenchel_crf::Problem::with_c2(&data, 1.0, Features::crfsuite())?;
        let stop = Stop { relative: 1e-3, ..Stop::default() };
        let settings = crf::SdcaSettings { stop, ..Default::default() };
        crf::sdca(&problem, &settings, None::<crf::DualState<f32>>, &mut ())?;
        Ok(())
    }))
}

fn dense_lasso(columns: usize) -> Result<Fit, Failure> {
    let data = low_rank(&LowRank { rows: 2 * columns, columns, ..LowRank::default() })?;
    let mut rng = stream(2, 0);
    lasso(data.x.mapv(|v| v + rng.random_range(-1.0..1.0)), 0.1)
}

fn sparse_lasso(columns: usize) -> Result<Fit, Failure> {
    let mut rng = stream(5, 0);
    lasso(Array2::from_shape_simple_fn((100, columns), || rng.random_range(-1.0..1.0)), 0.45)
}

fn lasso(x: Array2<f64>, l1: f64) -> Result<Fit, Failure> {
    Ok(Box::new(move || {
        let l1 = PenaltyWeights::Uniform(l1);
        GraphicalLasso { l1, max_memory: None, ..Default::default() }.fit(&x)?;
        Ok(())
    }))
}

fn grid(side: usize) -> Result<Fit, Failure> {
    let model = ising_grid(side, 0.3)?.factor_graph()?;
    Ok(Box::new(move || {
        let tree = JunctionTree::compile(&model, &OrderingOptions::default())?;
        tree.calibrate(&model, &Evidence::new(), &mut tree.workspace())?;
        Ok(())
    }))
}

fn gibbs(updates: usize) -> Result<Fit, Failure> {
    let model = ising_grid(32, 0.3)?;
    let mut chains = BinaryGibbs::new(&model, 4_096, BinaryStart::Random, Order::Cyclic, 4)?;
    Ok(Box::new(move || {
        chains.sweep(updates / (4_096 * 1_024));
        Ok(())
    }))
}

/// Each batch is drawn when it is wanted: the rows take no memory.
fn stream_of_rows(rows: usize) -> Result<Fit, Failure> {
    const BATCH: usize = 10_000;
    let batch = |number: usize| -> (Array2<f64>, Array1<f64>) {
        let mut rng = stream(6, number as u64);
        let x: Array2<f64> =
            Array2::from_shape_simple_fn((BATCH, 100), || rng.random_range(-1.0..1.0));
        let y = x.rows().into_iter().map(|row| (row[0] - row[1]).powi(3) + 0.1 * row[2]).collect();
        (x, y)
    };
    Ok(Box::new(move || {
        let slices = Slices::new(&batch(0).1.to_vec(), Slicing::EqualCount(10), 1)?;
        let mut moments = SliceMoments::new(slices.edges().to_vec(), 100)?;
        for number in 0..rows / BATCH {
            let (x, y) = batch(number);
            moments.partial_fit(&x, &y)?;
        }
        Sir { components: Components::Fixed(1), ..Sir::default() }.fit_moments(&moments)?;
        Ok(())
    }))
}

fn potts(sequences: usize) -> Result<Fit, Failure> {
    // Rows times columns grow with the size, and 50,000 sequences have 400 columns.
    let columns = (400.0 * (sequences as f64 / 50_000.0).sqrt()).round() as usize;
    let mut rng = stream(3, 0);
    let letters = *b"ACDEFGHIKLMNPQRSTVWY-";
    let table =
        Array2::from_shape_simple_fn((sequences, columns), || letters[rng.random_range(0..21)]);
    let alignment = Alignment::new(table.view(), Alphabet::protein(), Gaps::State)?;
    Ok(Box::new(move || {
        let stop = Stop::after_passes(3.0);
        PottsPseudoLikelihood { stop, ..Default::default() }.fit(&alignment)?;
        Ok(())
    }))
}

fn counts(rows: usize) -> Result<Fit, Failure> {
    let mut rng = stream(1, 0);
    let x = Array2::from_shape_simple_fn((rows, 30), || rng.random_range(-1.0..1.0));
    let y: Array1<f64> =
        x.rows().into_iter().map(|row| (3.0 * f64::exp(0.3 * row.sum())).floor()).collect();
    Ok(Box::new(move || {
        Glm::new(PoissonLog).fit(&x, y.view())?;
        Ok(())
    }))
}

/// The effects of ten causes on the last node.
fn effect(nodes: usize) -> Result<Fit, Failure> {
    let mut rng = stream(8, 0);
    let n = u32::try_from(nodes)?;
    let names: Vec<String> = (0..n).map(|v| format!("V{v}")).collect();
    let mut edge = |v: u32| (rng.random_range(v.saturating_sub(20)..v), v);
    let mut directed: Vec<(u32, u32)> = (1..n).flat_map(|v| [edge(v), edge(v)]).collect();
    directed.sort_unstable();
    directed.dedup();
    let mut bidirected: Vec<(u32, u32)> = (1..n).step_by(10).map(&mut edge).collect();
    bidirected.sort_unstable();
    let graph = Admg::new(&names, &directed, &bidirected)?;
    Ok(Box::new(move || {
        for x in (0..n - 1).step_by(nodes / 10) {
            match identify(&graph, Query::new(NodeSet::one(n - 1), NodeSet::one(x))) {
                Ok(_) | Err(fenchel_causal::Error::NotIdentifiable(_)) => {}
                Err(other) => return Err(other.into()),
            }
        }
        Ok(())
    }))
}

fn main() -> Result<(), Failure> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name, size] = &arguments[..]
        && flag == "one"
    {
        return one(name, size.parse()?);
    }
    let mut share = 1.0;
    if let Some(at) = arguments.iter().position(|word| word == "--to") {
        share = arguments.get(at + 1).ok_or("--to needs a number")?.parse()?;
        arguments.drain(at..at + 2);
    }
    println!("| fit | size | seconds | peak memory, MB | exponent |");
    println!("|---|---|---|---|---|");
    for job in &JOBS {
        if !arguments.is_empty() && !arguments.iter().any(|part| job.name.contains(part.as_str())) {
            continue;
        }
        let largest = job.sizes[job.sizes.len() - 1] as f64;
        let mut before: Option<(usize, f64)> = None;
        for &size in job.sizes.iter().filter(|&&size| size as f64 <= share * largest) {
            let (shown, unit) = (short(size as f64), job.unit);
            let output = Command::new(std::env::current_exe()?)
                .args(["one", job.name, &size.to_string()])
                .output()?;
            if !output.status.success() {
                let words = String::from_utf8_lossy(&output.stderr);
                println!("| {} | {shown} {unit} | {} | | |", job.name, words.trim());
                continue;
            }
            let text = String::from_utf8(output.stdout)?;
            let (seconds, peak) = text.trim().split_once(' ').ok_or("no seconds")?;
            let seconds: f64 = seconds.parse()?;
            let exponent = before.map_or(String::new(), |(least, time)| {
                format!("{:.2}", (seconds / time).ln() / (size as f64 / least as f64).ln())
            });
            println!("| {} | {shown} {unit} | {seconds:.2} | {peak} | {exponent} |", job.name);
            before = Some((size, seconds));
        }
    }
    Ok(())
}

fn one(name: &str, size: usize) -> Result<(), Failure> {
    let job = JOBS.iter().find(|job| job.name == name).ok_or("no such job")?;
    let fit = (job.make)(size)?;
    let clock = Instant::now();
    fit()?;
    println!("{} {}", clock.elapsed().as_secs_f64(), peak_memory());
    Ok(())
}

/// In MB, where the system tells it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes =
        line.and_then(|text| text.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    kilobytes.map_or("not known".into(), |kb| format!("{:.0}", kb / 1024.0))
}
