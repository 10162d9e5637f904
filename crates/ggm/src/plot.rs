//! Pictures of models, paths and choices of a penalty.

use fenchel_linalg::text::short;
use fenchel_optim::end_of_grid;
use fenchel_plot::{Axis, Figure, HeatMap, Network, Series};

use crate::cross_validation::CrossValidated;
use crate::error::Error;
use crate::model::GaussianModel;
use crate::path::Path;
use crate::select::Stars;

impl GaussianModel {
    fn all_names(&self) -> Vec<String> {
        (0..self.variables()).map(|i| self.names.of(i).into_owned()).collect()
    }

    /// The graph with its partial correlations: a picture by [`Network::svg`], files by [`Network::dot`] and [`Network::graphml`].
    pub fn network(&self) -> Network {
        let (edges, p) = (self.edges(), self.variables());
        let pairs = p * p.saturating_sub(1) / 2;
        Network::new(
            format!("Partial correlations: {} of {pairs} pairs", edges.len()),
            self.all_names(),
        )
        .weighted("partial correlation", edges)
        .note("A line joins two variables that depend on each other, given all the others.")
    }

    /// The partial correlations as a matrix, with variables that belong together beside each other. The diagonal is
    /// crossed out.
    pub fn heat_map(&self) -> HeatMap {
        let mut partial = self.partial_correlations();
        partial.diag_mut().fill(f64::NAN);
        let values = partial.iter().copied().collect();
        let (title, unit) = ("Partial correlations, ordered by clusters", "partial correlation");
        HeatMap::of_pairs(title, unit, self.all_names(), values).clustered().note(
            "Of two variables given all the others. Variables that belong together are neighbours.",
        )
    }
}

impl Path {
    /// The extended BIC of every penalty. The least is marked with its number of edges; a warning says if it is at the end of the grid.
    ///
    /// # Errors
    /// As [`Path::ebic`].
    pub fn figure(&self, gamma: f64) -> Result<Figure, Error> {
        let best = self.ebic(gamma)?;
        let points = self.points.iter().map(|p| (p.l1, p.ebic(self.samples, gamma))).collect();
        let (x, y) = (
            Axis::log("penalty").falling(),
            Axis::linear(format!("EBIC, gamma = {gamma}, smaller is better")),
        );
        let title = format!("Choice of the penalty: EBIC is least at {}", short(best.l1));
        Ok(Figure::new(title, x, y)
            .note(format!("A point for each graph, estimated from {} rows.", self.samples))
            .with(Series::line_points("", points))
            .mark(best.l1, format!("least EBIC: {} edges", best.edges()))
            .warning(self.ebic_warning(gamma)?.map(str::to_owned)))
    }

    /// [`figure`](Self::figure) as SVG.
    ///
    /// # Errors
    /// As [`Path::ebic`].
    pub fn svg(&self, gamma: f64) -> Result<String, Error> {
        Ok(self.figure(gamma)?.svg())
    }
}

impl CrossValidated {
    /// The mean loss of held-out rows for every penalty, with one standard error on either side, and the chosen penalty.
    pub fn figure(&self) -> Figure {
        let points: Vec<(f64, f64)> =
            self.penalties.iter().copied().zip(self.loss.iter().copied()).collect();
        let band =
            self.loss.iter().zip(&self.standard_error).map(|(m, s)| (m - s, m + s)).collect();
        let y = Axis::linear("loss of held-out rows (nats), smaller is better");
        let best =
            (0..points.len()).min_by(|&a, &b| self.loss[a].total_cmp(&self.loss[b])).unwrap_or(0);
        let warning = end_of_grid(points.len(), best, true).map(str::to_owned);
        let title = format!("Cross-validation: the chosen penalty is {}", short(self.l1));
        Figure::new(title, Axis::log("penalty").falling(), y)
            .note("Points: means over the folds. Around them: one standard error of the mean.")
            .with(Series::line_points("", points).band(band))
            .mark(self.l1, "chosen")
            .warning(warning)
    }

    /// [`figure`](Self::figure) as SVG.
    pub fn svg(&self) -> String {
        self.figure().svg()
    }
}

impl Stars {
    /// The instability of every penalty, and the chosen one.
    pub fn figure(&self) -> Figure {
        let points = self.penalties.iter().copied().zip(self.instability.iter().copied()).collect();
        let (x, y) = (Axis::log("penalty").falling(), Axis::linear("instability of the edges"));
        let (edges, p) = (self.model.edges().len(), self.model.variables());
        let pairs = p * p.saturating_sub(1) / 2;
        let title = format!("Graphs of subsamples agree on {edges} of {pairs} pairs");
        Figure::new(title, x, y)
            .note(
                "Instability: how often two subsamples differ in an edge, the mean over all pairs.",
            )
            .with(Series::line_points("", points))
            .mark(self.l1, format!("chosen: {edges} edges"))
    }

    /// [`figure`](Self::figure) as SVG.
    pub fn svg(&self) -> String {
        self.figure().svg()
    }
}
