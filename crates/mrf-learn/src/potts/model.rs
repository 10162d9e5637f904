//! A Potts model: fields, couplings, and methods for using them.

use std::io::{Read, Write};
use std::path::Path;

use fenchel_linalg::Invalid;
use fenchel_linalg::special::softmax_in_place;
use fenchel_optim::random::stream;
use fenchel_optim::{MAX_MEMORY, Refusal, Report};
use ndarray::Array2;
use rand::RngExt;

use super::{Alignment, Alphabet, Gaps};
use crate::error::Error;
use crate::parallel::for_all;

/// A Potts model of the columns of an alignment, in single precision.
///
/// Couplings are stored once, for `i < j`, as `q x q` tables `J_ij(a, b)`.
#[derive(Debug, Clone, PartialEq)]
pub struct PottsModel {
    columns: usize,
    states: usize,
    alphabet: Alphabet,
    fields: Vec<f32>,
    couplings: Vec<f32>,
    /// The report of the fit; `None` in a model from a file.
    pub report: Option<Report>,
}

/// The first bytes of a model file.
const MAGIC: &[u8; 8] = b"FNLPOTTS";
const VERSION: u32 = 1;

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
    pub(super) fn place(&self, i: usize, j: usize) -> usize {
        (i * (2 * self.columns - i - 1) / 2 + j - i - 1) * self.states * self.states
    }

    /// The table of `i < j`: `q x q`, the letter of `i` counts the rows.
    ///
    /// # Panics
    /// Unless `i < j` and `j` is a column.
    pub fn coupling(&self, i: usize, j: usize) -> &[f32] {
        assert!(i < j && j < self.columns, "columns {i} < {j} of {}", self.columns);
        let at = self.place(i, j);
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

    /// The weighted mean log pseudo-likelihood per sequence, in nats.
    ///
    /// # Errors
    /// [`Invalid::Length`] or [`Invalid::Layout`] for an alignment with other columns or letters.
    pub fn score(&self, alignment: &Alignment) -> Result<f64, Error> {
        Invalid::check_length("columns of the alignment", self.columns, alignment.columns())?;
        Invalid::check_length("letters of the alignment", self.states, alignment.states())?;
        if self.alphabet != *alignment.alphabet() {
            let reason = "its alphabet is not that of the model".to_owned();
            return Err(Invalid::Layout { what: "alignment", reason }.into());
        }
        let cells = super::engine::Cells::new(alignment, 1.0);
        let whole = super::proof::prove(&cells, self, None);
        Ok(-whole.loss / alignment.effective())
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
        let rows = for_all(draws, |draw| {
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
                let (rows, sides, mean) = means(block, q);
                let at = self.place(i, j);
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
                let (rows, sides, mean) = means(block, q);
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

    /// Writes the model in a binary format: the 8 bytes `FNLPOTTS`; then, in little-endian `u32`, version, columns, letters, and length
    /// of the alphabet; the alphabet and its gap as bytes; fields and couplings as `f32`; and a `u32` CRC-32 of everything before it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&self, mut to: impl Write) -> Result<(), Error> {
        let mut bytes = Vec::with_capacity(64 + 4 * self.parameters());
        bytes.extend_from_slice(MAGIC);
        let letters = self.alphabet.len();
        for number in [VERSION, self.columns as u32, self.states as u32, letters as u32] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend((0..=letters).map(|code| self.alphabet.letter(code as u8) as u8));
        for value in self.fields.iter().chain(&self.couplings) {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        let sum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        to.write_all(&bytes)?;
        Ok(to.flush()?)
    }

    /// Reads a model that [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// [`Error::Format`] for anything else, a damaged file included; [`Error::Refused`] for a model of more than `max_memory` bytes; [`Error::Io`].
    pub fn read(mut from: impl Read, max_memory: Option<u64>) -> Result<Self, Error> {
        let wrong = |reason: &str| Error::Format { line: 0, reason: reason.to_owned() };
        let mut head = [0; 24];
        from.read_exact(&mut head).map_err(|_| wrong("too short for a Potts model file"))?;
        if &head[..8] != MAGIC {
            return Err(wrong("not a Potts model file: it does not begin with FNLPOTTS"));
        }
        let number = |k: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&head[8 + 4 * k..12 + 4 * k]);
            u32::from_le_bytes(bytes) as usize
        };
        let (version, columns, states, letters) = (number(0), number(1), number(2), number(3));
        if version != VERSION as usize {
            return Err(wrong(&format!("version {version}; this reads version {VERSION}")));
        }
        let fits = (2..=31).contains(&letters) && (states == letters || states == letters + 1);
        if !(2..=1 << 16).contains(&columns) || !fits {
            let reason = format!("{columns} columns, {states} letters of an alphabet of {letters}");
            return Err(wrong(&reason));
        }
        let fields = columns * states;
        let couplings = columns * (columns - 1) / 2 * states * states;
        let needed = 8 * (fields + couplings) as u64;
        Refusal::check_memory("the Potts model", needed, max_memory, "raise max_memory")?;
        let mut rest = Vec::new();
        from.read_to_end(&mut rest)?;
        let expected = letters + 1 + 4 * (fields + couplings) + 4;
        if rest.len() != expected {
            let reason = format!("{} bytes after the head; expected {expected}", rest.len());
            return Err(wrong(&reason));
        }
        let (body, tail) = rest.split_at(expected - 4);
        let mut crc = crc32fast::Hasher::new();
        crc.update(&head);
        crc.update(body);
        if crc.finalize().to_le_bytes() != tail {
            return Err(wrong("the checksum does not match: the file is damaged"));
        }
        let (alphabet, numbers) = body.split_at(letters + 1);
        let text = String::from_utf8_lossy(&alphabet[..letters]).into_owned();
        let alphabet = Alphabet::new(&text, char::from(alphabet[letters]))?;
        let (numbers, _) = numbers.as_chunks::<4>();
        let mut values: Vec<f32> = numbers.iter().map(|&b| f32::from_le_bytes(b)).collect();
        if values.iter().any(|v| !v.is_finite()) {
            return Err(wrong("a parameter is not finite"));
        }
        let couplings = values.split_off(fields);
        Ok(PottsModel { columns, states, alphabet, fields: values, couplings, report: None })
    }

    /// Writes the model to a file, whole or not at all.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    pub fn save_file(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let write = |to: &mut dyn Write| self.write(to).map_err(std::io::Error::other);
        Ok(fenchel_optim::file::replace(path, write)?)
    }

    /// Reads a model from a file, up to [`MAX_MEMORY`](fenchel_optim::MAX_MEMORY).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn load_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        PottsModel::read(std::fs::File::open(path)?, fenchel_optim::MAX_MEMORY)
    }
}

/// Means of the rows, of the columns and of all of a table.
fn means(block: &[f32], q: usize) -> (Vec<f64>, Vec<f64>, f64) {
    let (mut rows, mut sides) = (vec![0.0; q], vec![0.0; q]);
    for a in 0..q {
        for b in 0..q {
            let value = f64::from(block[a * q + b]) / q as f64;
            rows[a] += value;
            sides[b] += value;
        }
    }
    let mean = rows.iter().sum::<f64>() / q as f64;
    (rows, sides, mean)
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
