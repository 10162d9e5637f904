//! Random models with known parameters, and exact draws from them (Geng et al., UAI 2018, section 7.1).

use fenchel_graphical::BinaryPairwise;
use fenchel_linalg::Invalid;
use fenchel_optim::random::stream;
use fenchel_optim::{MAX_MEMORY, Refusal};
use ndarray::Array2;
use rand::RngExt;

use crate::data::{Data, MissingPolicy};
use crate::error::Error;
use crate::layout::{Coordinates, Layout};
use crate::oracle::Enumeration;

/// A random model. Every parameter, including the biases, is nonzero with probability `density`. Its absolute value is
/// uniform in `[low, high]`, and its sign is a fair coin. Geng et al. (UAI 2018) use density 0.3 and sizes 1 to 2.
///
/// # Errors
/// [`Invalid::Parameter`] for no variables, a density that is no probability, or sizes that are negative or not finite;
/// [`Error::Refused`] for more than 4 GiB.
pub fn random_network(
    p: usize,
    density: f64,
    (low, high): (f64, f64),
    seed: u64,
) -> Result<BinaryPairwise, Error> {
    Invalid::check_count("p", p)?;
    if !(0.0..=1.0).contains(&density) {
        let expected = "a probability";
        return Err(Invalid::Parameter { name: "density", value: density, expected }.into());
    }
    let pairs = 0.5 * p as f64 * p as f64;
    let bytes = 40.0 * (p as f64 + density * pairs);
    Refusal::check_memory("random_network", bytes as u64, MAX_MEMORY, "take fewer variables")?;
    Invalid::check_nonnegative("low", low)?;
    Invalid::check_nonnegative("high - low", high - low)?;
    let mut random = stream(seed, 0);
    let mut draw = || {
        if random.random::<f64>() >= density {
            return 0.0;
        }
        let size = low + (high - low) * random.random::<f64>();
        if random.random::<bool>() { size } else { -size }
    };
    let bias: Vec<f64> = (0..p).map(|_| draw()).collect();
    let mut edges = Vec::new();
    for i in 0..p as u32 {
        for j in i + 1..p as u32 {
            let coupling = draw();
            if coupling != 0.0 {
                edges.push((i, j, coupling));
            }
        }
    }
    Ok(BinaryPairwise::new(&bias, &edges)?)
}

/// A square grid of spins with the same coupling everywhere, and no fields, in states 0 and 1.
///
/// # Errors
/// [`Invalid::Parameter`] for a side of 0; [`Error::Refused`] for more than 4 GiB; the errors of
/// [`BinaryPairwise::from_spins`].
pub fn ising_grid(side: usize, coupling: f64) -> Result<BinaryPairwise, Error> {
    Invalid::check_count("side", side)?;
    let bytes = (side as u64).saturating_mul(side as u64).saturating_mul(120);
    Refusal::check_memory("ising_grid", bytes, MAX_MEMORY, "take a smaller side")?;
    let mut edges = Vec::new();
    for row in 0..side {
        for column in 0..side {
            let at = (row * side + column) as u32;
            if column + 1 < side {
                edges.push((at, at + 1, coupling));
            }
            if row + 1 < side {
                edges.push((at, at + side as u32, coupling));
            }
        }
    }
    Ok(BinaryPairwise::from_spins(&vec![0.0; side * side], &edges)?.0)
}

/// Independent exact draws by enumeration, up to 24 variables.
///
/// # Errors
/// [`Error::Refused`] for more variables, and for more than 4 GiB of rows; [`Invalid::Empty`] for no rows.
pub fn exact_draws(model: &BinaryPairwise, rows: usize, seed: u64) -> Result<Data, Error> {
    let p = model.variables();
    let bytes = (rows as u64).saturating_mul(p as u64);
    Refusal::check_memory("the rows", bytes, MAX_MEMORY, "take fewer rows")?;
    let layout = Layout::two_states(p, Coordinates::Binary)?;
    let mut table = Enumeration::new(&layout, Some(16 << 24))?;
    let mut cumulative = table.probabilities(&layout.parameters(model)?)?.to_vec();
    for s in 1..cumulative.len() {
        cumulative[s] += cumulative[s - 1];
    }
    let total = cumulative[cumulative.len() - 1];
    let mut random = stream(seed, 1);
    let mut x = Array2::from_elem((rows, p), false);
    for row in 0..rows {
        let u = total * random.random::<f64>();
        let state = cumulative.partition_point(|&c| c <= u).min(cumulative.len() - 1);
        for i in 0..p {
            x[[row, i]] = state >> i & 1 == 1;
        }
    }
    Data::binary(x.view(), MissingPolicy::Error)
}
