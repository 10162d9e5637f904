//! A Potts model: fields, couplings, and methods for using them.

use fenchel_linalg::special::softmax_in_place;
use fenchel_linalg::{Invalid, parallel};
use fenchel_optim::model::Saved;
use fenchel_optim::random::stream;
use fenchel_optim::{MAX_MEMORY, Refusal, Report};
use ndarray::Array2;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::alignment::{Alignment, Alphabet, Gaps};
use crate::error::Error;
use crate::layout::table_means;

/// A Potts model of the columns of an alignment, in single precision.
///
/// Couplings are stored once, for `i < j`, as `q x q` tables `J_ij(a, b)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PottsModel {
    columns: usize,
    states: usize,
    alphabet: Alphabet,
    fields: Vec<f32>,
    couplings: Vec<f32>,
    /// The report of the fit; `None` in a model without parameters.
    pub report: Option<Report>,
}

impl PottsModel {
    /// A model without fields and couplings.
    pub(super) fn zero(alignment: &Alignment) -> Self {
        let (columns, states) = (alignment.columns(), alignment.states());
        PottsModel {
            columns,
            states,
            alphabet: alignment.alphabet().clone(),
            fields: vec![0.0; columns * states],
            couplings: vec![0.0; columns * (columns - 1) / 2 * states * states],
            report: None,
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of letters, `q`.
    pub fn states(&self) -> usize {
        self.states
    }

    /// The alphabet.
    pub fn alphabet(&self) -> &Alphabet {
        &self.alphabet
    }

    /// Whether the gap is one of the letters.
    pub fn gaps(&self) -> Gaps {
        if self.states > self.alphabet.len() { Gaps::State } else { Gaps::Missing }
    }

    /// Number of fields and couplings.
    pub fn parameters(&self) -> usize {
        self.fields.len() + self.couplings.len()
    }

    /// The fields, column by column.
    pub fn fields(&self) -> &[f32] {
        &self.fields
    }

    /// Where the table of `i < j` begins.
    pub(super) fn index_of(&self, i: usize, j: usize) -> usize {
        (i * (2 * self.columns - i - 1) / 2 + j - i - 1) * self.states * self.states
    }

    /// The table of `i < j`: `q x q`, the letter of `i` counts the rows.
    ///
    /// # Panics
    /// Unless `i < j` and `j` is a column.
    pub fn coupling(&self, i: usize, j: usize) -> &[f32] {
        assert!(i < j && j < self.columns, "columns {i} < {j} of {}", self.columns);
        let at = self.index_of(i, j);
        &self.couplings[at..at + self.states * self.states]
    }

    pub(super) fn parts(&mut self) -> (&mut [f32], &mut [f32]) {
        (&mut self.fields, &mut self.couplings)
    }

    /// Checks that codes are those of [`Alphabet::code`]: of letters, or of the gap.
    fn check_codes(&self, codes: &[u8]) -> Result<(), Error> {
        Invalid::check_length("codes", self.columns, codes.len())?;
        if let Some(&code) = codes.iter().find(|&&c| usize::from(c) > self.alphabet.len()) {
            let expected = "the code of a letter or of the gap, as Alphabet::code has it";
            return Err(
                Invalid::Parameter { name: "code", value: f64::from(code), expected }.into()
            );
        }
        Ok(())
    }

    /// `sum_i h_i(x_i) + sum_{i<j} J_ij(x_i, x_j)`: `log P(x) + log Z`. Missing cells count 0.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::Parameter`] for a code that the alphabet does not have: a letter as a byte, say.
    pub fn log_score(&self, codes: &[u8]) -> Result<f64, Error> {
        self.check_codes(codes)?;
        let q = self.states;
        let known = |i: usize| Some(usize::from(codes[i])).filter(|&a| a < q);
        let mut score = 0.0;
        for i in 0..self.columns {
            let Some(a) = known(i) else { continue };
            score += f64::from(self.fields[i * q + a]);
            for j in i + 1..self.columns {
                if let Some(b) = known(j) {
                    score += f64::from(self.coupling(i, j)[a * q + b]);
                }
            }
        }
        Ok(score)
    }

    /// The logits of the letters of column `i` given the other cells.
    ///
    /// # Errors
    /// As [`log_score`](Self::log_score); [`Invalid::Parameter`] for a column that does not exist.
    pub fn logits(&self, codes: &[u8], i: usize) -> Result<Vec<f64>, Error> {
        self.check_codes(codes)?;
        if i >= self.columns {
            let expected = "a column of the model";
            return Err(Invalid::Parameter { name: "column", value: i as f64, expected }.into());
        }
        let q = self.states;
        let mut logits: Vec<f64> =
            self.fields[i * q..(i + 1) * q].iter().map(|&h| f64::from(h)).collect();
        for j in (0..self.columns).filter(|&j| j != i) {
            let b = usize::from(codes[j]);
            if b >= q {
                continue;
            }
            let block = self.coupling(i.min(j), i.max(j));
            for (a, logit) in logits.iter_mut().enumerate() {
                *logit += f64::from(block[if j < i { b * q + a } else { a * q + b }]);
            }
        }
        Ok(logits)
    }

    /// The change of `log P` by every single mutation of a sequence, in the shape columns x letters. The entry of the present letter is
    /// 0. These numbers predict the effects of mutations.
    ///
    /// # Errors
    /// As [`logits`](Self::logits).
    pub fn mutation_effects(&self, codes: &[u8]) -> Result<Array2<f64>, Error> {
        let mut effects = Array2::zeros((self.columns, self.states));
        for i in 0..self.columns {
            let logits = self.logits(codes, i)?;
            let here = logits.get(usize::from(codes[i])).copied().unwrap_or(0.0);
            for (a, logit) in logits.iter().enumerate() {
                effects[[i, a]] = logit - here;
            }
        }
        Ok(effects)
    }

    /// Draws by Gibbs sampling from random sequences, as codes in the shape draws x columns. Every draw has its own chain.
    ///
    /// # Errors
    /// [`Error::Refused`] for more than 4 GiB of draws.
    pub fn sample(&self, draws: usize, sweeps: usize, seed: u64) -> Result<Array2<u8>, Error> {
        let (columns, q) = (self.columns, self.states);
        // Each is held twice, the first time with a pointer of its own.
        let bytes = (draws as u64).saturating_mul(2 * columns as u64 + 24);
        Refusal::check_memory("the draws", bytes, MAX_MEMORY, "take fewer draws")?;
        let rows = parallel::map(0..draws, |draw| {
            let mut random = stream(seed, draw as u64);
            let mut codes: Vec<u8> =
                (0..columns).map(|_| random.random_range(0..q) as u8).collect();
            for _ in 0..sweeps {
                for i in 0..columns {
                    let Ok(mut p) = self.logits(&codes, i) else { continue };
                    softmax_in_place(&mut p);
                    let mut left = random.random::<f64>();
                    let mut letter = 0;
                    while letter + 1 < q && left >= p[letter] {
                        left -= p[letter];
                        letter += 1;
                    }
                    codes[i] = letter as u8;
                }
            }
            codes
        });
        Ok(Array2::from_shape_fn((draws, columns), |(draw, i)| rows[draw][i]))
    }

    /// The same distribution in the zero-sum gauge: fields, and rows and columns of every coupling table, sum to 0. Among all
    /// parameters of this distribution, its couplings have the smallest Frobenius norm.
    #[must_use]
    pub fn zero_sum(&self) -> Self {
        let (columns, q) = (self.columns, self.states);
        let mut out = self.clone();
        let mut fields: Vec<f64> = self.fields.iter().map(|&h| f64::from(h)).collect();
        for i in 0..columns {
            for j in i + 1..columns {
                let block = self.coupling(i, j);
                let (rows, sides, mean) = table_means(block.iter().map(|&x| f64::from(x)), q, q);
                let at = self.index_of(i, j);
                for a in 0..q {
                    for b in 0..q {
                        let value = f64::from(block[a * q + b]) - rows[a] - sides[b] + mean;
                        out.couplings[at + a * q + b] = value as f32;
                    }
                    fields[i * q + a] += rows[a] - mean;
                    fields[j * q + a] += sides[a] - mean;
                }
            }
        }
        for (i, row) in fields.chunks(q).enumerate() {
            let mean = row.iter().sum::<f64>() / q as f64;
            for (a, value) in row.iter().enumerate() {
                out.fields[i * q + a] = (value - mean) as f32;
            }
        }
        out
    }

    /// Contact scores of all pairs, symmetric, with 0 on the diagonal. A score starts as the Frobenius norm of the coupling table in
    /// the zero-sum gauge, over the letters without the gap. The average product correction then subtracts the product of its row mean
    /// and its column mean, divided by the mean of all scores.
    pub fn contact_scores(&self) -> Array2<f64> {
        average_product_correction(&self.coupling_norms())
    }

    /// Contact scores without the average product correction.
    pub fn coupling_norms(&self) -> Array2<f64> {
        let (columns, q) = (self.columns, self.states);
        let letters = self.alphabet.len().min(q);
        let mut norms = Array2::zeros((columns, columns));
        for i in 0..columns {
            for j in i + 1..columns {
                let block = self.coupling(i, j);
                let (rows, sides, mean) = table_means(block.iter().map(|&x| f64::from(x)), q, q);
                let mut sum = 0.0;
                for a in 0..letters {
                    for b in 0..letters {
                        sum += (f64::from(block[a * q + b]) - rows[a] - sides[b] + mean).powi(2);
                    }
                }
                norms[[i, j]] = sum.sqrt();
                norms[[j, i]] = norms[[i, j]];
            }
        }
        norms
    }
}

/// `S_ij - mean_k S_ik mean_k S_kj / mean S`, the means over pairs of different columns (Dunn, Wahl and Gloor 2008).
fn average_product_correction(norms: &Array2<f64>) -> Array2<f64> {
    let columns = norms.nrows();
    let others = (columns - 1) as f64;
    let means: Vec<f64> = norms.rows().into_iter().map(|row| row.sum() / others).collect();
    let mean = means.iter().sum::<f64>() / columns as f64;
    Array2::from_shape_fn(norms.dim(), |(i, j)| {
        if i == j || mean == 0.0 { 0.0 } else { norms[[i, j]] - means[i] * means[j] / mean }
    })
}

impl Saved for PottsModel {
    const KIND: &'static str = "Potts model of an alignment";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        let (columns, q, letters) = (self.columns, self.states, self.alphabet.len());
        if !(2..=1 << 16).contains(&columns) || !(letters..=letters + 1).contains(&q) {
            return Err(format!("{columns} columns, {q} states of an alphabet of {letters}"));
        }
        let couplings = columns * (columns - 1) / 2 * q * q;
        for (name, list, length) in
            [("fields", &self.fields, columns * q), ("couplings", &self.couplings, couplings)]
        {
            if list.len() != length || list.iter().any(|v| !v.is_finite()) {
                return Err(format!("{name}: expected {length} finite numbers"));
            }
        }
        Ok(())
    }
}
