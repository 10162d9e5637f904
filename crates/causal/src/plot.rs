//! Pictures of causal graphs and of effects.

use fenchel_linalg::Invalid;
use fenchel_linalg::text::fixed;
use fenchel_plot::{Axis, Colour, Figure, Kind, Network, Placement, Series};

use crate::admg::Admg;
use crate::effect::EffectModel;
use crate::error::Error;
use crate::node_set::NodeSet;

fn ends((a, b): (u32, u32)) -> (usize, usize) {
    (a as usize, b as usize)
}

impl Admg {
    /// The graph in layers, hidden common causes as dashed arrows with two heads: a picture by [`Network::svg`], files by
    /// [`Network::dot`] and [`Network::graphml`].
    pub fn network(&self) -> Network {
        Network::new("Causal graph", self.names().iter().map(String::as_str))
            .edges(Kind::Arrow, self.directed().map(ends))
            .edges(Kind::Both, self.bidirected().map(ends))
            .placed(Placement::Layers)
            .note(match self.bidirected().next() {
                Some(_) => "Arrows: causes. Dashed, with two heads: a hidden common cause.",
                None => "Arrows: causes.",
            })
    }

    /// The graph with treatment, outcome and a set of adjustment in colours.
    pub fn adjustment_network(&self, x: NodeSet, y: NodeSet, z: NodeSet) -> Network {
        let nodes = |set: NodeSet| set.iter().map(|v| v as usize);
        let network =
            Network { title: format!("Adjustment for {}", self.show(z)), ..self.network() };
        network
            .group(Colour::Vermilion, "treatment", nodes(x))
            .group(Colour::Blue, "outcome", nodes(y))
            .group(Colour::Green, "adjusted for", nodes(z))
    }
}

impl EffectModel {
    /// The standardised difference of the means of every column between the arms, before and after weighting (a love plot). Without
    /// names columns are numbered.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the names are not one a column.
    pub fn love_plot<S: AsRef<str>>(&self, names: &[S]) -> Result<Figure, Error> {
        let balance = &self.overlap.balance;
        if !names.is_empty() {
            Invalid::check_length("names", balance.len(), names.len())?;
        }
        let size = |k: usize| balance[k].0.abs();
        let mut order: Vec<usize> = (0..balance.len()).collect();
        order.sort_by(|&a, &b| size(b).total_cmp(&size(a)));
        let name =
            |&k: &usize| names.get(k).map_or_else(|| format!("x{k}"), |n| n.as_ref().to_owned());
        let most = balance.iter().fold(0.1, |m: f64, b| m.max(b.0.abs()).max(b.1.abs()));
        let x =
            Axis::linear("difference of means, in standard deviations").limits(0.0, 1.05 * most);
        let y = Axis::of_names("", order.iter().map(name));
        let of =
            |value: fn(&(f64, f64)) -> f64| order.iter().map(move |&k| value(&balance[k]).abs());
        let worst = |of: fn(&(f64, f64)) -> f64| {
            balance.iter().map(of).fold(0.0_f64, |m, v| m.max(v.abs()))
        };
        let title = format!(
            "Balance of the arms: the largest difference is {} before weighting, {} after",
            fixed(worst(|b| b.0), 2),
            fixed(worst(|b| b.1), 2)
        );
        Ok(Figure::new(title, x, y)
            .note("Absolute differences of the means of the treated and the untreated, for each measurement.")
            .with(Series::rows("unadjusted", of(|b| b.0), vec![]))
            .with(Series::rows("adjusted", of(|b| b.1), vec![]))
            .mark(0.1, "0.1, a common limit"))
    }

    /// Histograms of the propensity of both arms: where one is empty, the effect is an extrapolation.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `treated` is not that of the fit in length.
    pub fn overlap_figure(&self, treated: &[bool]) -> Result<Figure, Error> {
        Invalid::check_length("treated", self.propensity.len(), treated.len())?;
        let arm = |on: bool| {
            let rows = self.propensity.iter().zip(treated).filter(move |row| *row.1 == on);
            rows.map(|row| *row.0).collect::<Vec<f64>>()
        };
        let x = Axis::linear("propensity (probability of the treatment)").limits(0.0, 1.0);
        let arms = [("treated", arm(true)), ("untreated", arm(false))];
        let note = format!(
            "{} treated, {} untreated. Where one group is missing, its outcomes are extrapolated.",
            arms[0].1.len(),
            arms[1].1.len()
        );
        Ok(Figure::histogram("Overlap of the arms: how probable the treatment was", x, arms)
            .note(note))
    }
}

/// Effects by several methods in one picture, each with its interval. `unit` says what the treatment does to the outcome,
/// such as `kilograms gained by quitting, 95 % interval`.
pub fn effects_figure<'a>(
    unit: &str,
    effects: impl IntoIterator<Item = (&'a str, f64, Option<(f64, f64)>)>,
) -> Figure {
    let rows: Vec<_> = effects.into_iter().collect();
    let any = rows.iter().any(|row| row.2.is_some());
    let name = |row: &(&str, f64, Option<(f64, f64)>)| match row.2 {
        None if any => format!("{} (interval not computed)", row.0),
        _ => row.0.to_owned(),
    };
    let y = Axis::of_names("", rows.iter().map(name));
    let intervals = rows.iter().map(|row| row.2.unwrap_or((f64::NAN, f64::NAN))).collect();
    let series = Series::rows("", rows.iter().map(|row| row.1), intervals).colour(Colour::Blue);
    Figure::new("Effect of the treatment", Axis::linear(unit), y)
        .with(series)
        .mark(0.0, "")
        .note("Dashed line: no effect. Points: estimates; lines: their intervals.")
}
