//! Comparison of predicted contacts with a structure.

use std::io::Write;

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

    fn is_contact(&self, i: usize, j: usize) -> bool {
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

/// Draws a contact map as SVG. The contacts of the structure are above the diagonal and the `top` predicted pairs below
/// it. Correct predictions are dark, wrong ones red.
///
/// # Errors
/// [`Invalid::Length`] where structure and scores do not fit; [`Error::Io`].
pub fn write_map(
    scores: ArrayView2<f64>,
    structure: &Structure<'_>,
    top: usize,
    mut to: impl Write,
) -> Result<(), Error> {
    let pairs = ranked(scores, structure)?;
    let top = top.min(pairs.len());
    let columns = scores.nrows();
    let (cell, edge) = (4, 36);
    let size = cell * columns + 2 * edge;
    let xmlns = "http://www.w3.org/2000/svg";
    writeln!(
        to,
        "<svg xmlns=\"{xmlns}\" width=\"{size}\" height=\"{size}\" viewBox=\"0 0 {size} {size}\">"
    )?;
    writeln!(to, "<rect width=\"{size}\" height=\"{size}\" fill=\"white\"/>")?;
    let side = cell * columns;
    let frame = "fill=\"none\" stroke=\"#888\"";
    writeln!(to, "<rect x=\"{edge}\" y=\"{edge}\" width=\"{side}\" height=\"{side}\" {frame}/>")?;
    let mut square = |row: usize, column: usize, colour: &str| {
        let (x, y) = (edge + cell * column, edge + cell * row);
        writeln!(
            to,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{cell}\" height=\"{cell}\" fill=\"{colour}\"/>"
        )
    };
    for &(i, j) in pairs.iter().filter(|&&(i, j)| structure.is_contact(i, j)) {
        square(i, j, "#9aa5b1")?;
    }
    for &(i, j) in &pairs[..top] {
        square(j, i, if structure.is_contact(i, j) { "#1f4e79" } else { "#c0392b" })?;
    }
    let hits = pairs[..top].iter().filter(|&&(i, j)| structure.is_contact(i, j)).count();
    let style = "font-family=\"sans-serif\" font-size=\"12\"";
    let (low, far) = (size - 12, edge);
    writeln!(
        to,
        "<text x=\"{far}\" y=\"22\" {style}>above: contacts of the structure below {} angstrom</text>",
        structure.threshold
    )?;
    writeln!(
        to,
        "<text x=\"{far}\" y=\"{low}\" {style}>below: {top} pairs with the highest scores, {hits} of them contacts</text>"
    )?;
    writeln!(to, "</svg>")?;
    Ok(to.flush()?)
}
