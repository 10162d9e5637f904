//! Matrices as cells of colour.

use fenchel_linalg::text::{fixed, short};

use crate::letters::{shortened, width_of};
use crate::pen::{Anchor, Font, Pen, Stroke};
use crate::title::{self, WIDTH};
use crate::{Colour, Named};

const FONT: f64 = 12.0;

/// A matrix as cells. Numbers above 0 are blue and numbers below 0 vermilion, the more so the larger they are; a cell of NaN is
/// crossed out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeatMap {
    /// The title.
    pub title: String,
    /// What the numbers are, with their unit.
    pub unit: String,
    /// What the rows are, and their names.
    pub rows: Named,
    /// What the columns are, and their names.
    pub columns: Named,
    /// Row by row.
    pub values: Vec<f64>,
    /// The text of each cell; empty: its number, if there is room.
    pub texts: Vec<String>,
    /// What the rows of the data were and how the numbers were found. It stands below the title.
    pub note: String,
    /// Warnings, which stand below the title.
    pub warnings: Vec<String>,
}

impl HeatMap {
    /// A matrix over pairs of the same names. Missing values are NaN.
    pub fn of_pairs(
        title: impl Into<String>,
        unit: impl Into<String>,
        names: Vec<String>,
        values: Vec<f64>,
    ) -> Self {
        let names = Named { what: String::new(), names };
        let (title, unit, rows) = (title.into(), unit.into(), names.clone());
        HeatMap { title, unit, rows, columns: names, values, ..HeatMap::default() }
    }

    /// Says below the title what the numbers are about.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        HeatMap { note: note.into(), ..self }
    }

    /// The same matrix over pairs with like rows beside each other: the order of the leaves of average linkage, where two rows are as
    /// near as their entry is large in absolute value. O(p^3).
    #[must_use]
    pub fn clustered(mut self) -> Self {
        let p = self.rows.names.len();
        if self.columns.names.len() != p || self.values.len() != p * p {
            return self;
        }
        let entry = |i: usize, j: usize| {
            let v = self.values[i * p + j].abs();
            if v.is_finite() { v } else { 0.0 }
        };
        let mut groups: Vec<Vec<usize>> = (0..p).map(|i| vec![i]).collect();
        let mut likeness: Vec<Vec<f64>> =
            (0..p).map(|i| (0..p).map(|j| entry(i, j)).collect()).collect();
        while groups.len() > 1 {
            let (mut a, mut b) = (0, 1);
            for i in 0..groups.len() {
                for j in i + 1..groups.len() {
                    if likeness[i][j] > likeness[a][b] {
                        (a, b) = (i, j);
                    }
                }
            }
            let (m, n) = (groups[a].len() as f64, groups[b].len() as f64);
            for k in 0..groups.len() {
                let mean = (m * likeness[a][k] + n * likeness[b][k]) / (m + n);
                (likeness[a][k], likeness[k][a]) = (mean, mean);
            }
            let moved = groups.remove(b);
            likeness.remove(b);
            likeness.iter_mut().for_each(|row| _ = row.remove(b));
            // The ends that are most alike meet.
            let ends = |from: &[usize], to: &[usize]| entry(from[from.len() - 1], to[0]);
            let back: Vec<usize> = moved.iter().rev().copied().collect();
            let moved =
                if ends(&groups[a], &moved) >= ends(&groups[a], &back) { moved } else { back };
            groups[a].extend(moved);
        }
        let order = groups.pop().unwrap_or_default();
        let pairs = || order.iter().flat_map(|&i| order.iter().map(move |&j| i * p + j));
        self.texts = if self.texts.len() == p * p {
            pairs().map(|k| self.texts[k].clone()).collect()
        } else {
            Vec::new()
        };
        self.values = pairs().map(|k| self.values[k]).collect();
        self.rows.names = order.iter().map(|&i| self.rows.names[i].clone()).collect();
        self.columns.names = self.rows.names.clone();
        self
    }

    /// The matrix as SVG.
    pub fn svg(&self) -> String {
        let mut pen = Pen::default();
        let top = title::draw(&mut pen, &self.title, &self.note, &self.warnings);
        let (rows, columns) = (&self.rows.names, &self.columns.names);
        let widest = |names: &[String], most: f64| {
            names.iter().map(|name| width_of(name, FONT)).fold(0.0, f64::max).min(most)
        };
        let left = 22.0 + widest(rows, 170.0);
        let across = ((WIDTH - left - 30.0) / columns.len().max(1) as f64).min(56.0);
        let down = across.min(40.0).max(if rows.len() > 60 { 0.0 } else { 15.0 });
        let turned = widest(columns, 170.0) + 6.0 > across;
        // Names that would touch are left out: every second, third and so on remains.
        let every = |step: f64| ((FONT + 1.0) / step).ceil().max(1.0) as usize;
        let (above, what) = (self.columns.what.as_str(), self.rows.what.as_str());
        let mut y = top + if above.is_empty() && what.is_empty() { 6.0 } else { 24.0 };
        y += if turned { widest(columns, 170.0) } else { FONT + 4.0 };
        let font = Font::new(FONT, Anchor::Middle);
        let about = [what, above].iter().filter(|s| !s.is_empty()).copied().collect::<Vec<_>>();
        let about = match about[..] {
            [rows, columns] => format!("rows: {rows}; columns: {columns}"),
            _ => about.concat(),
        };
        pen.text(
            &about,
            (14.0, top + 8.0),
            Font { anchor: Anchor::Start, ..font }.colour(Colour::Soft),
        );
        for (j, name) in columns.iter().enumerate().step_by(every(across)) {
            let x = left + (j as f64 + 0.5) * across;
            let font = match turned {
                true => Font { turned: -90.0, anchor: Anchor::Start, ..font },
                false => font,
            };
            let place =
                if turned { (x + 0.35 * FONT, y - 6.0 - 0.35 * FONT) } else { (x, y - 10.0) };
            pen.text(&shortened(name, FONT, 170.0), place, font);
        }
        for (i, name) in rows.iter().enumerate().step_by(every(down)) {
            let place = (left - 8.0, y + (i as f64 + 0.5) * down);
            pen.text(&shortened(name, FONT, 170.0), place, Font { anchor: Anchor::End, ..font });
        }
        let largest =
            self.values.iter().filter(|v| v.is_finite()).fold(0.0_f64, |m, v| m.max(v.abs()));
        let scale = if largest > 0.0 { largest } else { 1.0 };
        for (k, &value) in self.values.iter().enumerate().take(rows.len() * columns.len()) {
            let (i, j) = ((k / columns.len()) as f64, (k % columns.len()) as f64);
            let corner = (left + j * across, y + i * down);
            let far = (corner.0 + across, corner.1 + down);
            if !value.is_finite() {
                pen.line(&[corner, far], Stroke::new(Colour::Rule, 1.0));
                continue;
            }
            let share = value.abs() / scale;
            if share > 0.0 {
                fill(&mut pen, (corner, far), value / scale);
            }
            let own = self
                .texts
                .get(k)
                .cloned()
                .unwrap_or_else(|| if value == 0.0 { String::new() } else { two(value) });
            // Long numbers are smaller; those that would be too small are left out.
            let size = (10.5 * (across - 2.0) / width_of(&own, 10.5)).min(10.5);
            if size > 7.5 && down > 12.0 {
                let ink = if share > 0.55 { Colour::Paper } else { Colour::Ink };
                let middle = (corner.0 + 0.5 * across, corner.1 + 0.5 * down);
                pen.text(&own, middle, Font { size, ..font }.colour(ink));
            }
        }
        let (right, bottom) = (left + across * columns.len() as f64, y + down * rows.len() as f64);
        let frame = [(left, y), (right, y), (right, bottom), (left, bottom), (left, y)];
        pen.line(&frame, Stroke::new(Colour::Soft, 1.0));
        // The key: from the least to the largest number.
        let low = if self.values.iter().any(|v| *v < 0.0) { -1.0 } else { 0.0 };
        let y = bottom + 20.0;
        for k in 0..40 {
            let share = low + (1.0 - low) * (f64::from(k) + 0.5) / 40.0;
            let x = left + 4.0 * f64::from(k);
            fill(&mut pen, ((x, y), (x + 4.0, y + 11.0)), share);
        }
        let font = Font { anchor: Anchor::Start, ..font };
        let blank = if self.values.contains(&0.0) { "; blank: exactly 0" } else { "" };
        pen.text(
            &format!("{} to {} {}{blank}", two(low * scale), two(scale), self.unit),
            (left + 170.0, y + 6.0),
            font,
        );
        pen.finish(&self.title, WIDTH, y + 24.0)
    }
}

/// A cell whose number has this ratio to the largest.
fn fill(pen: &mut Pen, cell: ((f64, f64), (f64, f64)), share: f64) {
    let colour = if share < 0.0 { Colour::Vermilion } else { Colour::Blue };
    pen.rectangle(cell, colour, (0.06 + 0.94 * share.abs()).min(0.99));
}

/// A number for little room: with two decimals from 0.005 to 10.
pub(crate) fn two(value: f64) -> String {
    let fits = (0.005..10.0).contains(&value.abs()) && value.fract() != 0.0;
    if fits { fixed(value, 2) } else { short(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_stand_together() {
        // 0 and 2 belong together, 1 and 3 too.
        let values: Vec<f64> =
            (0..16).map(|k| if k / 4 % 2 == k % 4 % 2 { 0.9 } else { 0.1 }).collect();
        let names = ["a", "b", "c", "d"].map(String::from).to_vec();
        let map = HeatMap::of_pairs("T", "r", names, values).clustered();
        assert_eq!(map.rows.names, ["a", "c", "b", "d"]);
        assert_eq!(map.values[..4], [0.9, 0.9, 0.1, 0.1]);
    }

    #[test]
    fn odd_matrices_are_drawn() {
        let names = vec!["a<".to_owned(), "b".into()];
        let svg = |v: f64| HeatMap::of_pairs("T", "r", names.clone(), vec![v; 4]).svg();
        assert!(svg(0.0).contains("blank: exactly 0") && !svg(1.0).contains("blank"));
        for values in
            [vec![], vec![f64::NAN; 4], vec![0.0; 4], vec![-1e308, 1e308, f64::INFINITY, 5e-324]]
        {
            let svg = HeatMap::of_pairs("T", "r", names.clone(), values).clustered().svg();
            assert!(svg.contains("a&lt;") && !svg.contains("NaN"), "{svg}");
        }
        assert!(HeatMap::default().svg().ends_with("</svg>\n"));
    }
}
