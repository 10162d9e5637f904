//! Primal and dual value of a model in double precision, for certificates.
//!
//! A dual point is a distribution for every cell. Distributions in single precision do not sum to 1, so they are divided
//! by their sums first: then they are feasible, and the dual value is a lower bound up to the rounding of doubles.

use fenchel_linalg::special::xlogx;
use fenchel_linalg::{Invalid, lanes, parallel};

use super::alignment::Alignment;
use super::engine::{Cells, GROUP, add_share, gather, lanes_for};
use super::model::PottsModel;
use crate::error::Error;

/// The sums over all columns.
pub(super) struct Proof {
    /// `sum_n w_n (-log P(x_ni | rest))`.
    pub(super) loss: f64,
    /// `sum_n w_n H(a_n)` of the dual points.
    pub(super) entropy: f64,
    /// `sum_n w_n (e_x - a_n)` for every field and coupling, fields first. Here `a_n` are the dual variables if they are
    /// given, and the conditional probabilities otherwise.
    pub(super) sums: Vec<f64>,
}

/// The sums of a model, and of dual variables in the shape `sequences x lanes` for every column.
pub(super) fn prove(cells: &Cells, model: &PottsModel, duals: Option<&[Vec<f32>]>) -> Proof {
    let mut sums = vec![0.0; model.parameters()];
    let (mut loss, mut entropy) = (0.0, 0.0);
    let all: Vec<usize> = (0..cells.columns).collect();
    for group in all.chunks(GROUP) {
        let shares = parallel::map(0..group.len(), |at| {
            let i = group[at];
            let duals = duals.map(|duals| &duals[i][..]);
            match lanes_for(cells.states) {
                8 => lanes::run(Pass::<8> { cells, model, i, duals }),
                24 => lanes::run(Pass::<24> { cells, model, i, duals }),
                _ => lanes::run(Pass::<32> { cells, model, i, duals }),
            }
        });
        for (&i, share) in group.iter().zip(&shares) {
            loss += share.loss;
            entropy += share.entropy;
            add_share(model, i, lanes_for(cells.states), &share.sums, &mut sums);
        }
    }
    Proof { loss, entropy, sums }
}

/// The sums of one column, by rows of its table.
struct Pass<'a, const W: usize> {
    cells: &'a Cells,
    model: &'a PottsModel,
    i: usize,
    duals: Option<&'a [f32]>,
}

impl<const W: usize> lanes::Kernel for Pass<'_, W> {
    type Output = Proof;

    #[inline(always)]
    fn compute(self) -> Proof {
        let Pass { cells, model, i, duals } = self;
        let (q, columns) = (cells.states, cells.columns);
        let mut table = vec![0.0_f64; cells.table_rows() * W];
        gather(model, i, W, &mut table);
        let mut sums = vec![0.0_f64; table.len()];
        let (mut loss, mut entropy) = (0.0, 0.0);
        for n in 0..cells.sequences {
            let rows = &cells.rows[n * columns..(n + 1) * columns];
            let Some(letter) = cells.letter(n, i) else { continue };
            let weight = cells.exact[n];
            // The field is in the first row of the column itself.
            let own = i * q;
            let at = |j: usize| if j == i { own } else { rows[j] as usize };
            let mut z = [0.0; W];
            for j in 0..columns {
                let row = &table[at(j) * W..][..W];
                for l in 0..W {
                    z[l] += row[l];
                }
            }
            let largest = z[..q].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut a = [0.0; W];
            for l in 0..W {
                a[l] = if l < q { lanes::exp(z[l] - largest) } else { 0.0 };
            }
            let log_sum = largest + a.iter().sum::<f64>().ln();
            loss += weight * (log_sum - z[letter]);
            if let Some(duals) = duals {
                for l in 0..W {
                    a[l] = f64::from(duals[n * W + l]);
                }
            }
            let scale = 1.0 / a.iter().sum::<f64>();
            for l in 0..W {
                a[l] *= scale;
            }
            entropy -= weight * a[..q].iter().map(|&a| xlogx(a)).sum::<f64>();
            for l in 0..W {
                a[l] *= -weight;
            }
            a[letter] += weight;
            for j in 0..columns {
                let row = &mut sums[at(j) * W..][..W];
                for l in 0..W {
                    row[l] += a[l];
                }
            }
        }
        Proof { loss, entropy, sums }
    }
}

impl PottsModel {
    /// The weighted mean log pseudo-likelihood per sequence, in nats.
    ///
    /// # Errors
    /// [`Invalid::Length`] or [`Invalid::Layout`] for an alignment with other columns or letters.
    pub fn score(&self, alignment: &Alignment) -> Result<f64, Error> {
        Invalid::check_length("columns of the alignment", self.columns(), alignment.columns())?;
        Invalid::check_length("letters of the alignment", self.states(), alignment.states())?;
        if self.alphabet() != alignment.alphabet() {
            let reason = "its alphabet is not that of the model".to_owned();
            return Err(Invalid::Layout { what: "alignment", reason }.into());
        }
        let cells = Cells::new(alignment, 1.0);
        let whole = prove(&cells, self, None);
        Ok(-whole.loss / alignment.effective())
    }
}
