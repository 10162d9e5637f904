//! What more threads give: twelve fits on one thread and on two, and the share of each that stays serial.
//!
//! ```text
//! cargo run --release -p fenchel-benches --example threads [rounds, default 3] [NAME...]
//! ```
//!
//! Every measurement is a process of its own with `RAYON_NUM_THREADS`; one thread and two take turns, and the least times count.
//! The data are made before the clock starts. The serial share is what the fit on two threads spends outside of shared loops, divided by
//! its work `serial + 2 shared`. The last column is the speed-up that this share allows on 16 threads by Amdahl's law. The
//! answers on one thread and on two have the same bits, which is checked.

use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;
use std::time::Instant;

use fenchel_crf::synthetic::{TextLike, text_like};
use fenchel_crf::{Features, methods as crf};
use fenchel_datasets::generate::{LowRank, Spgen, Topics, low_rank, spgen, topics};
use fenchel_expfam::glm::{Glm, PoissonLog};
use fenchel_finite_sum::path::{PathSettings, elastic_net_path};
use fenchel_finite_sum::{LogisticRegression, SoftmaxRegression};
use fenchel_ggm::{GraphicalLasso, PenaltyWeights, Statistics};
use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_graphical::{Evidence, JunctionTree, OrderingOptions, VarId};
use fenchel_linalg::{CsrMatrix, parallel};
use fenchel_moments::{Components, GaussianMixture, Sade, synthetic};
use fenchel_mrf_learn::potts::{Alignment, Alphabet, Gaps, PottsPseudoLikelihood};
use fenchel_mrf_learn::synthetic::ising_grid;
use fenchel_optim::Stop;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::random::stream;
use ndarray::{Array1, Array2};
use rand::RngExt;

type Failure = Box<dyn Error>;
/// What a fit answers, as numbers.
type Answer = Vec<f64>;
/// A name, and what makes the data and returns the fit.
type Job = (&'static str, fn() -> Result<Box<dyn FnOnce() -> Result<Answer, Failure>>, Failure>);

const JOBS: [Job; 12] = [
    ("logistic l2, 1,000,000 x 100,000 sparse", || logistic(0.0)),
    ("logistic l1, 1,000,000 x 100,000 sparse", || logistic(1e-4)),
    ("lasso path, 20,000 x 384 dense", lasso),
    ("softmax, 20,000 documents, 100 topics", softmax),
    ("Poisson regression, 500,000 x 40", counts),
    ("CRF by SDCA, 8,000 sentences", || tagger(true)),
    ("CRF by L-BFGS, 8,000 sentences", || tagger(false)),
    ("graphical lasso, 500 variables", glasso),
    ("Potts pseudo-likelihood, 4,000 x 60", potts),
    ("SADE, 400,000 x 30", sade),
    ("junction tree, grid 16 x 16, eight times", grid),
    ("Gibbs, 4,096 chains of 32 x 32", gibbs),
];

fn logistic(l1: f64) -> Result<Box<dyn FnOnce() -> Result<Answer, Failure>>, Failure> {
    let settings = Spgen { rows: 1_000_000, columns: 100_000, ..Spgen::default() };
    let data = spgen(&settings)?.classification();
    Ok(Box::new(move || {
        let l2 = Some(if l1 > 0.0 { 0.0 } else { 1e-6 });
        let model = LogisticRegression { l1, l2, ..Default::default() };
        Ok(model.fit(&data.x, data.y.view())?.weights.to_vec())
    }))
}

fn lasso() -> Result<Box<dyn FnOnce() -> Result<Answer, Failure>>, Failure> {
    let data = low_rank(&LowRank { rows: 20_000, ..LowRank::default() })?.regression();
    Ok(Box::new(move || {
        let path = elastic_net_path(&data.x, data.y.view(), &PathSettings::default())?;
        Ok(path.points.iter().flat_map(|point| point.weights.clone()).collect())
    }))
}

fn softmax() -> Result<Box<dyn FnOnce() -> Result<Answer, Failure>>, Failure> {
    let data = topics(&Topics { rows: 20_000, ..Topics::default() });
    let x =
        CsrMatrix::new((data.labels.len(), data.columns), data.offsets, data.places, data.values);
    let y = Array1::from(data.labels);
    Ok(Box::new(move || {
        Ok(SoftmaxRegression::default().fit(&x, y.view())?.weights.iter().copied().collect())
    }))
}

fn counts() -> Result<Box<dyn FnOnce() -> Result<Answer, Failure>>, Failure> {
    let mut rng = stream(1, 0);
    let x = Array2::from_shape_fn((500_000, 40), |_| rng.random_range(-1.0..1.0));
    let y: Array1<f64> =
        x.rows().into_iter().map(|row| (3.0 * f64::exp(0.3 * row.sum())).floor()).collect();
    Ok(Box::new(move || Ok(Glm::new(PoissonLog).fit(&x, y.view())?.coefficients.to_vec())))
}

fn tagger(dual: bool) -> Result<Box<dyn FnOnce() -> Result<Answer, Failure>>, Failure> {
    let data = text_like(&TextLike { sequences: 8_000, ..TextLike::default() })?;
    Ok(Box::new(move || {
        let problem = fenchel_crf::Problem::with_c2(&data, 1.0, Features::crfsuite())?;
        let stop = Stop { relative: 1e-3, ..Stop::default() };
        let weights = if dual {
            let settings = crf::SdcaSettings { stop, ..Default::default() };
            let start = None::<crf::DualState<f32>>;
            crf::sdca(&problem, &settings, start, &mut ())?.state.weights
        } else {
            let settings = LbfgsSettings { memory: 20, stop };
            crf::lbfgs(&problem, &settings, None, &mut ())?.state
        };
        Ok(weights.emission.iter().copied().collect())
    }))
}

fn glasso() -> Result<Box<dyn FnOnce() -> Result<Answer, Failure>>, Failure> {
    let data = low_rank(&LowRank { rows: 1_500, columns: 500, ..LowRank::default() })?;
    let mut rng = stream(2, 0);
    let x = data.x.mapv(|v| v + rng.random_range(-1.0..1.0));
    let statistics = Statistics::from_data(&x)?;
    Ok(Box::new(move || {
        let model = GraphicalLasso { l1: PenaltyWeights::Uniform(0.1), ..Default::default() }
            .fit(&statistics)?;
        Ok(model.precision.iter().copied().collect())
    }))
}

fn potts() -> Result<Box<dyn FnOnce() -> Result<Answer, Failure>>, Failure> {
    let mut rng = stream(3, 0);
    let letters = *b"ACDEFGHIKLMNPQRSTVWY-";
    let mut table = Array2::from_elem((4_000, 60), b'A');
    for mut row in table.rows_mut() {
        let mut last = 0;
        for cell in &mut row {
            let stays = rng.random_range(0.0..1.0) < 0.4;
            last = if stays { last } else { rng.random_range(0..letters.len()) };
            *cell = letters[last];
        }
    }
    let alignment = Alignment::new(table.view(), Alphabet::protein(), Gaps::State)?;
    Ok(Box::new(move || {
        let model = PottsPseudoLikelihood::default().fit(&alignment)?;
        Ok(model.contact_scores().iter().copied().collect())
    }))
}

fn sade() -> Result<Box<dyn FnOnce() -> Result<Answer, Failure>>, Failure> {
    let density = GaussianMixture::thesis(30)?;
    let problem = synthetic::rational(&density, 400_000, 0.25, 1)?;
    Ok(Box::new(move || {
        let estimator = Sade { components: Components::Fixed(2), ..Sade::default() };
        let model = estimator.fit(&problem.x, &problem.y, &density)?;
        Ok(model.loadings.iter().copied().collect())
    }))
}

fn grid() -> Result<Box<dyn FnOnce() -> Result<Answer, Failure>>, Failure> {
    let model = ising_grid(16, 0.3)?.factor_graph()?;
    let tree = JunctionTree::compile(&model, &OrderingOptions::default())?;
    let mut workspace = tree.workspace();
    Ok(Box::new(move || {
        let calibrate = |v| -> Result<f64, Failure> {
            let evidence = Evidence::new().observe(VarId(v), 1);
            Ok(tree.calibrate(&model, &evidence, &mut workspace)?.log_partition())
        };
        (0..8).map(calibrate).collect()
    }))
}

fn gibbs() -> Result<Box<dyn FnOnce() -> Result<Answer, Failure>>, Failure> {
    let model = ising_grid(32, 0.3)?;
    let mut chains = BinaryGibbs::new(&model, 4_096, BinaryStart::Random, Order::Cyclic, 4)?;
    Ok(Box::new(move || {
        chains.sweep(200);
        Ok(chains.statistics().iter().copied().collect())
    }))
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = &arguments[..]
        && flag == "one"
    {
        return one(name);
    }
    let rounds: usize = arguments.first().map_or(Ok(3), |text| text.parse())?;
    println!("| fit | one thread, s | two threads, s | ratio | serial share | 16 threads allow |");
    println!("|---|---|---|---|---|---|");
    for (name, _) in JOBS {
        if arguments.len() > 1 && !arguments[1..].iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        let (mut least, mut serial) = ([f64::INFINITY; 2], 0.0);
        let mut answer: Option<String> = None;
        for _ in 0..rounds {
            for threads in [1, 2] {
                let [seconds, shared, bits] = &run(name, threads)?;
                let (seconds, shared): (f64, f64) = (seconds.parse()?, shared.parse()?);
                if seconds < least[threads - 1] {
                    least[threads - 1] = seconds;
                    // With one thread nothing is shared.
                    serial = if threads == 2 { seconds - shared } else { serial };
                }
                if *answer.get_or_insert_with(|| bits.clone()) != *bits {
                    return Err(
                        format!("{name}: the answer depends on the number of threads").into()
                    );
                }
            }
        }
        let work = serial + 2.0 * (least[1] - serial);
        let share = serial / work;
        println!(
            "| {name} | {:.3} | {:.3} | {:.2} | {share:.3} | {:.1} |",
            least[0],
            least[1],
            least[0] / least[1],
            1.0 / (share + (1.0 - share) / 16.0)
        );
    }
    Ok(())
}

/// Seconds, seconds in shared loops, a hash of the answer.
fn run(name: &str, threads: usize) -> Result<[String; 3], Failure> {
    let output = Command::new(std::env::current_exe()?)
        .args(["one", name])
        .env("RAYON_NUM_THREADS", threads.to_string())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let words: Vec<String> = text.split_whitespace().map(String::from).collect();
    words
        .try_into()
        .map_err(|_| format!("{name}: {}", String::from_utf8_lossy(&output.stderr)).into())
}

fn one(name: &str) -> Result<(), Failure> {
    let (_, job) = JOBS.iter().find(|job| job.0 == name).ok_or("no such job")?;
    let fit = job()?;
    let (clock, before) = (Instant::now(), parallel::shared_seconds());
    let answer = fit()?;
    let (seconds, shared) = (clock.elapsed().as_secs_f64(), parallel::shared_seconds() - before);
    let mut hasher = DefaultHasher::new();
    answer.iter().for_each(|x| x.to_bits().hash(&mut hasher));
    println!("{seconds} {shared} {:x}", hasher.finish());
    Ok(())
}
