//! Estimates of the field from a few rows and columns, with the probabilities that minimise their variance.
//!
//! | | partial sampling | full sampling |
//! |---|---|---|
//! | `X U` | column `i` of `X` times row `i` of `U` | one entry: column `i` in class `l` |
//! | `X'(V - Y)` | row `j` of `X` times row `j` of `V - Y` | one entry: row `j` in class `l` |
//! | best probabilities of `i`, `j` | `norm(X_i) norm(U_i)` | `norm(X_i) U_il`, `max(X_j) abs(V - Y)_jl` |
//! | work | O((n + d) k) | O(n + d), and the cost of the steps |
//! | losses, geometries | all | all losses, l1 ball only |
//!
//! The probabilities are given up to a factor. `U` is sampled through its positive and negative parts, as the entropy
//! stores them. Feature `i + d` is `-X_i`. Sources: D. Babichev, PhD thesis 2019, equations (Part-SS) and (Full-SS),
//! Propositions 4.2, 4.3 and 4.5. (In the proof of Proposition 4.3 squares are missing: the second moments are `(sum
//! of weights)^2`.)

use fenchel_optim::Refusal;
use fenchel_optim::random::{Generator, stream};
use rand::RngExt;

use super::problem::{Dual, Multiclass, Primal};
use super::samples::Rows;
use crate::Error;
use crate::games::pick;
use crate::methods::mirror::{At, Oracle};

/// The part of the matrices that is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// A column and a row, with all classes.
    Partial,
    /// One entry each.
    Full,
}

/// The result of one draw: entry `(feature, class)` of the split `U`, and entry `(row, row_class)` of `V - Y`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Draw {
    /// Feature, below `2d`; those from `d` on are the negative parts.
    pub feature: usize,
    /// Class of the entry of `U` (full sampling).
    pub class: usize,
    /// Row of `V - Y`.
    pub row: usize,
    /// Class of the entry of `V - Y` (full sampling).
    pub row_class: usize,
}

/// Weights of all outcomes, proportional to their probabilities.
#[derive(Debug, Clone, PartialEq)]
pub struct Law {
    /// Weights of features (`2d`, or `d` in the geometry of rows), or of `(feature, class)` by rows.
    pub features: Vec<f64>,
    /// Weights of rows (`n`), or of `(row, class)` by rows.
    pub rows: Vec<f64>,
}

/// An oracle that estimates the field by random draws.
pub struct Sampler<'a> {
    problem: &'a Multiclass<'a>,
    sampling: Sampling,
    columns: Rows,
    random: Generator,
    script: Option<std::vec::IntoIter<Draw>>,
    /// The number of draws whose mean is the estimate.
    batch: usize,
}

impl<'a> Sampler<'a> {
    /// A sampler of a problem.
    ///
    /// # Errors
    /// [`Error::Refused`] for full sampling in the geometry of rows, where no variance bound of this order holds.
    pub fn new(problem: &'a Multiclass<'a>, sampling: Sampling, seed: u64) -> Result<Self, Error> {
        if sampling == Sampling::Full && problem.geometry().primal == Primal::Rows {
            let what = "the norm of rows; use Sampling::Partial".to_owned();
            return Err(Refusal::unsupported("full sampling", what).into());
        }
        let columns = problem.samples().columns();
        Ok(Sampler { problem, sampling, columns, random: stream(seed, 0), script: None, batch: 1 })
    }

    /// Replaces random draws by given ones. After these are used up, draws are random again.
    #[must_use]
    pub fn scripted(self, draws: Vec<Draw>) -> Self {
        Sampler { script: Some(draws.into_iter()), ..self }
    }

    /// Replaces a single draw by the mean of this number of draws, at least 1.
    #[must_use]
    pub fn batched(self, batch: usize) -> Self {
        Sampler { batch: batch.max(1), ..self }
    }

    /// The split weights by rows: `2d x k`, or `d x k` in the geometry of rows.
    fn split(&self, at: &At) -> Vec<f64> {
        let entries = self.problem.samples().features() * self.problem.samples().classes();
        match self.problem.geometry().primal {
            Primal::Rows => at.x[..entries].to_vec(),
            Primal::Entries => {
                let (g, scale) = (&at.x_coordinates[..entries], at.x_coordinates[entries]);
                g.iter()
                    .map(|g| (scale + g).exp())
                    .chain(g.iter().map(|g| (scale - g).exp()))
                    .collect()
            }
        }
    }

    /// `V - Y`.
    fn shifted(&self, at: &At) -> Vec<f64> {
        let samples = self.problem.samples();
        let mut z = at.y.to_vec();
        for (row, y) in z.chunks_mut(samples.classes()).zip(&samples.labels) {
            // The label's entry from the others, where 1 - v would cancel.
            let others: f64 =
                row.iter().enumerate().filter(|(l, _)| *l != *y as usize).map(|(_, v)| v).sum();
            row[*y as usize] = -others;
        }
        z
    }

    /// The probabilities of the next draw at a pair, up to a factor.
    pub fn law(&self, at: &At) -> Law {
        let samples = self.problem.samples();
        let (k, d) = (samples.classes(), samples.features());
        let (split, shifted) = (self.split(at), self.shifted(at));
        let sigma = |i: usize| samples.column_norms[i % d];
        match self.sampling {
            Sampling::Full => Law {
                features: split.iter().enumerate().map(|(e, u)| sigma(e / k) * u).collect(),
                rows: shifted
                    .iter()
                    .enumerate()
                    .map(|(e, z)| samples.row_tops[e / k] * z.abs())
                    .collect(),
            },
            Sampling::Partial => {
                let top = |row: &[f64]| row.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                let norm = |row: &[f64]| row.iter().map(|v| v * v).sum::<f64>().sqrt();
                // Conjugate exponents: of 2x1 that is infinity, of 2x2 two; of 1x1 infinity, of 1x2 two.
                let geometry = self.problem.geometry();
                let of_u =
                    |row: &[f64]| if geometry.dual == Dual::Entropy { top(row) } else { norm(row) };
                let of_v = |row: &[f64]| {
                    if geometry.primal == Primal::Entries { top(row) } else { norm(row) }
                };
                Law {
                    features: split
                        .chunks(k)
                        .enumerate()
                        .map(|(i, row)| sigma(i) * of_u(row))
                        .collect(),
                    rows: shifted
                        .chunks(k)
                        .zip(&samples.row_tops)
                        .map(|(row, t)| t * of_v(row))
                        .collect(),
                }
            }
        }
    }

    /// Adds the estimate of a draw, times `scale`: that of `X U` to `scores`, and that of `X'(V - Y)` to `gradient`.
    pub fn estimate(
        &self,
        at: &At,
        law: &Law,
        draw: Draw,
        scale: f64,
        scores: &mut [f64],
        gradient: &mut [f64],
    ) {
        let samples = self.problem.samples();
        let (k, d) = (samples.classes(), samples.features());
        let (split, shifted) = (self.split(at), self.shifted(at));
        let (of_features, of_rows): (f64, f64) = (law.features.iter().sum(), law.rows.iter().sum());
        let (i, j) = (draw.feature, draw.row);
        let classes = |chosen: usize| match self.sampling {
            Sampling::Partial => 0..k,
            Sampling::Full => chosen..chosen + 1,
        };
        let weight = |weights: &[f64], at: usize, class: usize| match self.sampling {
            Sampling::Partial => weights[at],
            Sampling::Full => weights[at * k + class],
        };
        let of = weight(&law.features, i, draw.class);
        if of > 0.0 {
            let sign = if i < d { 1.0 } else { -1.0 };
            for l in classes(draw.class) {
                let factor = scale * sign * split[i * k + l] * of_features / of;
                self.column(i % d, |row, a| scores[row * k + l] += factor * a);
            }
        }
        let of = weight(&law.rows, j, draw.row_class);
        if of > 0.0 {
            for l in classes(draw.row_class) {
                let factor = scale * shifted[j * k + l] * of_rows / of;
                match &samples.rows {
                    Rows::Dense(x) => {
                        x.row(j)
                            .iter()
                            .enumerate()
                            .for_each(|(c, a)| gradient[c * k + l] += factor * a);
                    }
                    Rows::Sparse(x) => {
                        let (places, values) = x.part(j);
                        places
                            .iter()
                            .zip(values)
                            .for_each(|(c, a)| gradient[*c as usize * k + l] += factor * a);
                    }
                }
            }
        }
    }

    fn column(&self, i: usize, mut f: impl FnMut(usize, f64)) {
        match &self.columns {
            Rows::Dense(x) => x.row(i).iter().enumerate().for_each(|(j, a)| f(j, *a)),
            Rows::Sparse(x) => {
                let (places, values) = x.part(i);
                places.iter().zip(values).for_each(|(j, a)| f(*j as usize, *a));
            }
        }
    }

    fn next(&mut self, law: &Law) -> Draw {
        if let Some(draw) = self.script.as_mut().and_then(Iterator::next) {
            return draw;
        }
        let k = self.problem.samples().classes();
        let feature = pick(&law.features, self.random.random());
        let row = pick(&law.rows, self.random.random());
        match self.sampling {
            Sampling::Partial => Draw { feature, row, ..Draw::default() },
            Sampling::Full => {
                Draw { feature: feature / k, class: feature % k, row: row / k, row_class: row % k }
            }
        }
    }
}

impl Oracle for Sampler<'_> {
    fn draw(&mut self, at: &At, gx: &mut [f64], gy: &mut [f64]) {
        let law = self.law(at);
        let entries = gx.len() - 1;
        gx.fill(0.0);
        gy.fill(0.0);
        let scale = 1.0 / self.batch as f64;
        for _ in 0..self.batch {
            let draw = self.next(&law);
            self.estimate(at, &law, draw, scale, gy, &mut gx[..entries]);
        }
        let scale = 1.0 / self.problem.samples().rows() as f64;
        gx[..entries].iter_mut().for_each(|g| *g *= scale);
        gx[entries] = self.problem.penalty();
        self.problem.linear(gy);
        gy.iter_mut().for_each(|g| *g *= -scale);
    }

    fn noise(&self) -> f64 {
        self.problem.noise() / (self.batch as f64).sqrt()
    }

    /// The cost of a draw as the share of the data's entries that it reads.
    fn passes(&self) -> f64 {
        let s = self.problem.samples();
        let looked = s.stored() as f64 / s.rows() as f64 + s.stored() as f64 / s.features() as f64;
        (self.batch as f64 * looked / s.stored().max(1) as f64).max(1e-6)
    }
}
