//! Pictures of networks, paths, runs and contacts.

use fenchel_linalg::text::short;
use fenchel_optim::end_of_grid;
use fenchel_plot::{Axis, Colour, Figure, Network, Series, Style};
use ndarray::ArrayView2;

use crate::error::Error;
use crate::model::NetworkModel;
use crate::potts::contacts::{Structure, ranked};
use crate::selection::Path;

impl NetworkModel {
    /// The network with its couplings: a picture by [`Network::svg`], files by [`Network::dot`] and [`Network::graphml`].
    pub fn network(&self) -> Network {
        let names = (0..self.variables()).map(|i| self.names.of(i).into_owned());
        let edges = self.edges().into_iter().map(|(i, j, weight)| (i as usize, j as usize, weight));
        Network::new("Network of couplings", names)
            .weighted("coupling", edges)
            .note("A line joins two variables that depend on each other, given all the others.")
    }

    /// What the iterations of [`Spg`](crate::Spg) knew: the norm of the gradient mapping, the bound on the bias of the gradient, and its
    /// standard error. The mapping says how far the end is, as long as it is above both.
    pub fn trace_figure(&self) -> Figure {
        let curve = |of: fn(&crate::spg::SpgRecord) -> f64| {
            self.trace.iter().enumerate().map(|(k, record)| (k as f64, of(record))).collect()
        };
        Figure::new("The run", Axis::linear("iteration"), Axis::log("norm"))
            .with(Series::line("gradient mapping", curve(|r| r.mapping)))
            .with(Series::line("bound on the bias", curve(|r| r.bias_bound)).dashed())
            .with(Series::line("standard error", curve(|r| r.noise)).dashed())
    }
}

impl Path {
    /// The extended BIC of every strength. The least is marked with its number of edges; a warning says if it is at the end of the grid.
    pub fn figure(&self, gamma: f64) -> Figure {
        let values = self.ebic(gamma);
        let points = self.fits.iter().zip(&values).map(|(fit, v)| (fit.strength, *v)).collect();
        let (x, y) = (
            Axis::log("strength").falling(),
            Axis::linear(format!("EBIC, gamma = {gamma}, smaller is better")),
        );
        let note = format!("A point for each fit to {} rows.", self.rows);
        let figure = Figure::new("Choice of the strength", x, y)
            .note(note)
            .with(Series::line_points("", points));
        let Some(best) = self.best_ebic(gamma) else { return figure };
        let place = self.fits.iter().position(|fit| fit.strength == best.strength).unwrap_or(0);
        let empty = self.fits[0].edges == 0;
        Figure {
            title: format!("{}: EBIC is least at {}", figure.title, short(best.strength)),
            ..figure
        }
        .mark(best.strength, format!("least EBIC: {} edges", best.edges))
        .warning(end_of_grid(values.len(), place, empty).map(str::to_owned))
    }

    /// [`figure`](Self::figure) as SVG.
    pub fn svg(&self, gamma: f64) -> String {
        self.figure(gamma).svg()
    }
}

/// The label of both axes of a contact map. Columns without a residue take room, but have no number.
const RESIDUE: &str = "residue number (ticks are uneven where a column has no residue)";

/// A contact map with the numbers of the residues: the contacts of the structure above the diagonal, and below it the `top` pairs with
/// the highest scores, right and wrong.
///
/// # Errors
/// As [`ranked`].
pub fn contact_map(
    scores: ArrayView2<f64>,
    structure: &Structure<'_>,
    top: usize,
) -> Result<Figure, Error> {
    let pairs = ranked(scores, structure)?;
    let top = top.min(pairs.len());
    let (right, wrong): (Vec<_>, Vec<_>) =
        pairs[..top].iter().copied().partition(|&(i, j)| structure.is_contact(i, j));
    let contacts = pairs.iter().copied().filter(|&(i, j)| structure.is_contact(i, j));
    // Numbers at round residues: at most about twelve.
    let most = structure.residues.iter().filter(|r| **r >= 0).count() as i64;
    let step = [1_i64, 2, 5, 10, 20, 50, 100, 200, 500].into_iter().find(|s| most / *s <= 12);
    let step = step.unwrap_or(1000);
    let number = |&residue: &i64| match residue >= 0 && residue % step == 0 {
        true => residue.to_string(),
        false => String::new(),
    };
    let axis = |label: &str| Axis::of_names(label, structure.residues.iter().map(number));
    let cells = |name: String, cells: Vec<(f64, f64)>, colour| {
        Series { style: Style::Cells, ..Series::points(name, cells) }.colour(colour)
    };
    let place = |(i, j): (usize, usize)| (i as f64, j as f64);
    let above = contacts.map(|(i, j)| place((j, i))).collect();
    let known =
        format!("above: contacts of the structure, nearer than {} angstrom", structure.threshold);
    let found = format!("below: {} of the top {top} pairs, in contact", right.len());
    let missed = format!("below: {} of the top {top} pairs, not in contact", wrong.len());
    let figure = Figure::new("Contact map", axis(RESIDUE), axis(RESIDUE))
        .note(format!(
            "Pairs of residues whose numbers differ by {} or more.",
            structure.separation
        ))
        .with(cells(known, above, Colour::Soft))
        .with(cells(found, right.into_iter().map(place).collect(), Colour::Blue))
        .with(cells(missed, wrong.into_iter().map(place).collect(), Colour::Vermilion));
    Ok(Figure { square: true, ..figure })
}
