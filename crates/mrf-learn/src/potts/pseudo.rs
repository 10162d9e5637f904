//! The settings of the pseudo-likelihood estimator of a Potts model.

use fenchel_optim::{Cadence, MAX_MEMORY, Stop, settings};

use super::alignment::Alignment;
use super::engine::{GROUP, lanes_for};

settings! {
    /// Symmetric pseudo-likelihood of a Potts model with a ridge penalty and, on request, a group penalty of the coupling
    /// tables.
    ///
    /// Without a group penalty, the method is stochastic dual coordinate ascent (SDCA). A dual variable is a distribution
    /// over the letters of one cell, and columns are visited in groups of eight, in parallel. With a group penalty, the
    /// method is FISTA. In both cases the duality gap is the certificate, computed in double precision for the parameters
    /// that are returned. Both methods store parameters in single precision, which limits the relative gap: 1e-6 can be
    /// reached, and with a tolerance far below that a run ends as `Stalled` or at its limit of passes.
    ///
    /// ```
    /// use fenchel_mrf_learn::potts::{Alignment, Alphabet, Gaps, PottsPseudoLikelihood};
    /// use ndarray::Array2;
    ///
    /// // Column 1 repeats column 0; column 2 goes its own way.
    /// let letters = Array2::from_shape_fn((60, 3), |(n, i)| b"ACGT"[if i < 2 { n % 4 } else { n / 4 % 4 }]);
    /// let alignment = Alignment::new(letters.view(), Alphabet::nucleotides(), Gaps::Missing)?;
    /// let model = PottsPseudoLikelihood::default().fit(&alignment)?;
    /// let norms = model.coupling_norms();
    /// assert!(norms[[0, 1]] > 5.0 * norms[[0, 2]]);
    /// assert!(model.report.is_some_and(|report| report.certificate.relative() <= 1e-4));
    /// # Ok::<(), fenchel_mrf_learn::Error>(())
    /// ```
    pub struct PottsPseudoLikelihood {
        /// Weight of the ridge of couplings; `None` is `0.4 (L - 1) / N`, as in CCMpred.
        l2: Option<f64> = None,
        /// Weight of the ridge of fields; `None` is `20 / N`, as in CCMpredPy; CCMpred itself has `0.02 / N`.
        l2_fields: Option<f64> = None,
        /// Weight of the group penalty: tables vanish as a whole.
        group: f64 = 0.0,
        /// Bytes that may be allocated: see [`memory`](Self::memory).
        max_memory: Option<u64> = MAX_MEMORY,
        /// When the method stops; a pass visits every cell.
        stop: Stop = Stop { check: Cadence::Adaptive, ..Stop::default() },
        /// Seed of the order of sequences.
        seed: u64 = 0,
    }
}

/// The weights in force, on the scale of the sum over sequences.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ridge {
    pub(super) couplings: f64,
    pub(super) fields: f64,
    pub(super) group: f64,
    /// `N`: the objective is divided by it.
    pub(super) effective: f64,
}

impl PottsPseudoLikelihood {
    /// Bytes that a fit allocates at most.
    pub fn memory(&self, alignment: &Alignment) -> u64 {
        let (n, columns, q) =
            (alignment.sequences() as u64, alignment.columns() as u64, alignment.states() as u64);
        let width = lanes_for(alignment.states()) as u64;
        let parameters = columns * q + columns * (columns - 1) / 2 * q * q;
        let table = (columns * q + 1) * width;
        let cells = 5 * n * columns;
        // A table in single and the sums in double precision for every column of a group.
        let work = GROUP as u64 * table * 16;
        if self.group > 0.0 {
            cells + work + parameters * (4 + 8 * 9)
        } else {
            cells + work + 4 * n * columns * width + parameters * (4 + 8)
        }
    }
}
