//! Pictures of classifiers.

use fenchel_plot::{Axis, Figure, HeatMap, Named, Series};

use crate::{Binary, Confusion, Error, calibration, precision_recall, roc_auc, roc_curve};

fn unit(label: &str) -> Axis {
    Axis::linear(label).limits(0.0, 1.0)
}

/// How many rows are positive.
fn rows<L: Binary>(truth: &[L]) -> String {
    let positive = truth.iter().filter(|label| label.is_positive() == Some(true)).count();
    format!(
        "{} rows, {positive} positive; a point of the curve for each limit of the score.",
        truth.len()
    )
}

/// The ROC curve, with the area under it. Arguments and errors are those of [`roc_auc`].
///
/// # Errors
/// As [`roc_auc`].
pub fn roc_figure<L: Binary>(truth: &[L], scores: &[f64]) -> Result<Figure, Error> {
    let title = format!("ROC curve: area {:.3}", roc_auc(truth, scores)?);
    let curve = Series::line("scores", roc_curve(truth, scores)?);
    let (x, y) =
        (unit("false positives, share of negatives"), unit("true positives, share of positives"));
    let figure = Figure::new(title, x, y).note(rows(truth));
    let chance = Series::line("chance", vec![(0.0, 0.0), (1.0, 1.0)]).dashed();
    Ok(Figure { square: true, ..figure.with(curve).with(chance) })
}

/// Precision against recall.
///
/// # Errors
/// As [`precision_recall`].
pub fn precision_recall_figure<L: Binary>(truth: &[L], scores: &[f64]) -> Result<Figure, Error> {
    let curve = precision_recall(truth, scores)?;
    let share = curve.last().map_or(0.0, |point| point.1);
    let (x, y) = (
        unit("recall: found, share of positives"),
        unit("precision: right, share of what is found"),
    );
    let figure = Figure::new("Precision and recall", x, y).note(rows(truth));
    let chance = Series::line("chance", vec![(0.0, share), (1.0, share)]).dashed();
    Ok(figure.with(Series::line("scores", curve)).with(chance))
}

/// The share of positives among rows of about the same predicted probability, in ten groups of equal size, with the 95 %
/// interval of each share (Wilson 1927), which has a length also where all rows of a group are alike.
///
/// # Errors
/// As [`calibration`].
pub fn calibration_figure<L: Binary>(truth: &[L], probability: &[f64]) -> Result<Figure, Error> {
    let groups = calibration(truth, probability, 10)?;
    let band = groups.iter().map(|&(_, share, n)| wilson(share, n)).collect();
    let points = groups.iter().map(|&(p, s, _)| (p, s)).collect();
    let figure = Figure::new(
        "Calibration",
        unit("mean predicted probability of a group"),
        unit("share of positives"),
    );
    let perfect = Series::line("perfect", vec![(0.0, 0.0), (1.0, 1.0)]).dashed();
    let rows = truth.len() as f64 / groups.len().max(1) as f64;
    let name = format!("{} groups of about {rows:.0} rows, with 95 % intervals", groups.len());
    let figure = figure.with(perfect).with(Series::line_points(name, points).band(band));
    Ok(Figure { square: true, ..figure })
}

/// The 95 % interval of a probability that was a share of `n` trials, by the score test.
fn wilson(share: f64, n: usize) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    let n = n as f64;
    let middle = (share + 0.5 * Z * Z / n) / (1.0 + Z * Z / n);
    let half = Z * (share * (1.0 - share) / n + 0.25 * Z * Z / (n * n)).sqrt() / (1.0 + Z * Z / n);
    (middle - half, middle + half)
}

impl Confusion {
    /// The matrix of counts, coloured by the share of each true class.
    ///
    /// # Errors
    /// [`Error::Length`] if the names are not one a class.
    pub fn heat_map<S: AsRef<str>>(&self, names: &[S]) -> Result<HeatMap, Error> {
        let k = self.classes();
        if names.len() != k {
            return Err(Error::Length { what: "names", expected: k, found: names.len() });
        }
        let all: Vec<u64> = (0..k).map(|t| (0..k).map(|p| self.count(t, p)).sum()).collect();
        let cells = || (0..k).flat_map(|t| (0..k).map(move |p| (t, p)));
        let share = |(t, p)| self.count(t, p) as f64 / (all[t].max(1)) as f64;
        let text = |(t, p)| match self.count(t, p) {
            0 => String::new(),
            count => count.to_string(),
        };
        let named = |what: &str| Named {
            what: what.into(),
            names: names.iter().map(|name| name.as_ref().to_owned()).collect(),
        };
        Ok(HeatMap {
            title: format!("Confusion: {:.1} % right", 100.0 * self.accuracy()),
            unit: "of the true class".into(),
            rows: named("truth"),
            columns: named("prediction"),
            values: cells().map(share).collect(),
            texts: cells().map(text).collect(),
            note: format!(
                "{} rows. Numbers: counts; colours: their shares of the true class.",
                all.iter().sum::<u64>()
            ),
            ..HeatMap::default()
        })
    }
}
