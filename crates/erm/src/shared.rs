//! What problems of one margin and of several classes share: the design, the weights of its rows, and the penalties.

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::{MAX_MEMORY, Refusal};

/// The methods of both problems that read `design`, `norms_squared`, `scales`, `regulariser` and `l2`.
macro_rules! rows_and_penalties {
    () => {
        /// The design matrix.
        pub fn design(&self) -> &D {
            &self.design
        }

        /// The regulariser.
        pub fn regulariser(&self) -> &R {
            &self.regulariser
        }

        /// Batch methods of smooth functions take no regulariser beside `l2`. `method` is the name, for the message.
        ///
        /// # Errors
        /// [`Error::Refused`] for a regulariser that is not zero.
        pub fn check_unpenalised(&self, method: &'static str) -> Result<(), Error> {
            if self.regulariser.is_zero() {
                return Ok(());
            }
            let name = R::NAME;
            let what = format!("the {name} regulariser, which is not smooth; use auto or fista");
            Err(fenchel_optim::Refusal::unsupported(method, what).into())
        }

        /// Weight of the quadratic term.
        pub fn l2(&self) -> f64 {
            self.l2
        }

        /// Number of rows, of this process where they are spread over several.
        pub fn n(&self) -> usize {
            self.norms_squared.len()
        }

        /// Number of features.
        pub fn d(&self) -> usize {
            self.design.columns()
        }

        /// `c_i = n w_i / W`, the weight of a term on a scale of mean 1; 1 in a problem without weights.
        #[inline(always)]
        pub fn term_weight(&self, i: usize) -> f64 {
            match &self.scales {
                None => 1.0,
                Some(scales) => scales[i],
            }
        }

        /// Whether the rows have weights of their own.
        pub fn weighted(&self) -> bool {
            self.scales.is_some()
        }

        /// `||a_i||^2`, without an intercept.
        #[inline]
        pub fn norm_squared(&self, i: usize) -> f64 {
            self.norms_squared[i]
        }

        /// Mean of `c_i ||a_i||^2`.
        pub fn mean_norm_squared(&self) -> f64 {
            let [total] = self.design.sum_rows(|rows| {
                let norms = &self.norms_squared[rows.clone()];
                let weighted = |scales: &Vec<f64>| {
                    norms.iter().zip(&scales[rows]).map(|(a, c)| a * c).sum::<f64>()
                };
                [self.scales.as_ref().map_or_else(|| norms.iter().sum(), weighted)]
            });
            total / self.design.all_rows() as f64
        }

        /// `mu`: the strong convexity in the weights that l2 and the regulariser provide.
        pub fn strong_convexity(&self) -> f64 {
            self.l2 + self.regulariser.strong_convexity()
        }

        /// Largest `c_i (||a_i||^2 + ones)`.
        fn largest_row(&self, ones: f64) -> f64 {
            let sizes = self.norms_squared.iter().enumerate();
            let sizes = sizes.map(|(i, norm)| self.term_weight(i) * (norm + ones));
            self.design.largest(sizes.fold(0.0, f64::max))
        }

        /// Checks that the largest row can be worked with: `n` times its size has to be a number too, and not 0 by underflow.
        fn check_rows(&self) -> Result<(), Invalid> {
            let (name, value) = ("largest squared row norm", self.largest_row(0.0));
            if !(value * self.design.all_rows() as f64).is_finite() {
                let expected = "a smaller number; scale the features down";
                return Err(Invalid::Parameter { name, value, expected });
            }
            if value == 0.0 && self.underflows() {
                let expected = "a larger number, but the squares underflow; scale the features up";
                return Err(Invalid::Parameter { name, value, expected });
            }
            Ok(())
        }

        /// Whether a row that counts has an entry that is not 0. A pass over rows whose squares are all 0.
        fn underflows(&self) -> bool {
            let mut found = false;
            for i in (0..self.n()).filter(|&i| self.term_weight(i) > 0.0) {
                self.design.row_entries(i, |_, a| found |= a != 0.0);
            }
            self.design.any(found)
        }

        /// `(l2/2) ||x||^2`
        pub(crate) fn quadratic(&self, weights: &[f64]) -> f64 {
            if self.l2 > 0.0 {
                0.5 * self.l2 * weights.iter().map(|w| w * w).sum::<f64>()
            } else {
                0.0
            }
        }
    };
}

pub(crate) use rows_and_penalties;

/// A design has rows and columns.
pub(crate) fn check_shape<D: Design>(design: &D) -> Result<(), Invalid> {
    if design.all_rows() == 0 {
        return Err(Invalid::Empty { what: "design matrix (rows)" });
    }
    if design.columns() == 0 {
        return Err(Invalid::Empty { what: "design matrix (columns)" });
    }
    Ok(())
}

/// The parts of a point have these lengths and are finite.
pub(crate) fn check_parts(
    names: [&'static str; 2],
    lengths: [usize; 2],
    parts: [&[f64]; 2],
) -> Result<(), Invalid> {
    for ((name, length), part) in names.into_iter().zip(lengths).zip(parts) {
        Invalid::check_length(name, length, part.len())?;
        Invalid::check_finite(name, part)?;
    }
    Ok(())
}

/// Weights, one a column and class, can be kept.
pub(crate) fn check_weights<D: Design>(design: &D, classes: usize) -> Result<(), Refusal> {
    let needed = (design.columns() as u64).saturating_mul(8).saturating_mul(classes as u64);
    let hint = "number the features without gaps, or hash them into fewer columns";
    Refusal::check_memory("a vector of weights", needed, MAX_MEMORY, hint)
}

/// Refuses rows that are spread over processes.
pub(crate) fn check_whole<D: Design>(design: &D) -> Result<(), Invalid> {
    let Some(shards) = design.shards() else { return Ok(()) };
    let (what, size) = ("design matrix", shards.communicator().size());
    let reason = format!(
        "its rows are spread over {size} processes, and this method needs all of them; use batch, lbfgs, fista, newton_cg or cocoa with one margin a row"
    );
    Err(Invalid::Layout { what, reason })
}
