//! Comparison of predicted contacts with a structure.

use fenchel_linalg::Invalid;
use ndarray::ArrayView2;

use crate::error::Error;

/// Distances of a structure, column by column of the alignment.
#[derive(Debug, Clone, Copy)]
pub struct Structure<'a> {
    /// Angstrom between two columns; NaN where one of them has no residue.
    pub distances: ArrayView2<'a, f64>,
    /// The number of the residue of a column in the structure; negative for none.
    pub residues: &'a [i64],
    /// Pairs below it are contacts; 8 between C-beta atoms is usual.
    pub threshold: f64,
    /// Pairs whose residue numbers differ by less than this are left out; 6 is usual.
    pub separation: i64,
}

impl<'a> Structure<'a> {
    /// Contacts below 8 angstrom, at least 6 residues apart.
    pub fn new(distances: ArrayView2<'a, f64>, residues: &'a [i64]) -> Self {
        Structure { distances, residues, threshold: 8.0, separation: 6 }
    }

    /// Whether a pair is evaluated.
    fn judged(&self, i: usize, j: usize) -> bool {
        let (a, b) = (self.residues[i], self.residues[j]);
        a >= 0 && b >= 0 && (a - b).abs() >= self.separation && !self.distances[[i, j]].is_nan()
    }

    pub(crate) fn is_contact(&self, i: usize, j: usize) -> bool {
        self.distances[[i, j]] < self.threshold
    }

    fn check(&self, columns: usize) -> Result<(), Error> {
        Invalid::check_length("residues", columns, self.residues.len())?;
        Invalid::check_length("distances (rows)", columns, self.distances.nrows())?;
        Invalid::check_length("distances (columns)", columns, self.distances.ncols())?;
        Ok(Invalid::check_positive("threshold", self.threshold)?)
    }
}

/// The evaluated pairs, highest score first. Ties are ordered by column.
///
/// # Errors
/// [`Invalid::Length`] where structure and scores do not fit; [`Invalid::Parameter`] for a score that is NaN.
pub fn ranked(
    scores: ArrayView2<f64>,
    structure: &Structure<'_>,
) -> Result<Vec<(usize, usize)>, Error> {
    let columns = scores.nrows();
    Invalid::check_length("scores (columns)", columns, scores.ncols())?;
    structure.check(columns)?;
    for &score in scores {
        if score.is_nan() {
            let expected = "a number for every pair";
            return Err(Invalid::Parameter { name: "scores", value: score, expected }.into());
        }
    }
    let mut pairs: Vec<(usize, usize)> = (0..columns)
        .flat_map(|i| (i + 1..columns).map(move |j| (i, j)))
        .filter(|&(i, j)| structure.judged(i, j))
        .collect();
    pairs.sort_by(|a, b| scores[[b.0, b.1]].total_cmp(&scores[[a.0, a.1]]).then(a.cmp(b)));
    Ok(pairs)
}

/// The share of true contacts among the `top` evaluated pairs with the highest scores.
///
/// # Errors
/// [`Invalid::Length`] where structure and scores do not fit; [`Invalid::Empty`] for no pair.
pub fn precision(
    scores: ArrayView2<f64>,
    structure: &Structure<'_>,
    top: usize,
) -> Result<f64, Error> {
    let pairs = ranked(scores, structure)?;
    let top = top.min(pairs.len());
    if top == 0 {
        return Err(Invalid::Empty { what: "judged pairs" }.into());
    }
    let hits = pairs[..top].iter().filter(|&&(i, j)| structure.is_contact(i, j)).count();
    Ok(hits as f64 / top as f64)
}
