//! Small problems that are hard on a solver.

use ndarray::{Array1, Array2};

use super::SplitMix64;

/// A problem of [`odd`].
#[derive(Debug, Clone, PartialEq)]
pub struct Odd {
    /// Rows of features.
    pub x: Array2<f64>,
    /// A real target a row, of the same size as 1.
    pub y: Array1<f64>,
    /// What is odd about the columns, for the message of a test.
    pub what: String,
}

/// A small problem with odd columns, determined by its seed: a source of cases for properties that hold for all data.
///
/// It has 1 to 200 rows and 1 to 40 columns; small sizes are as frequent as large ones. The entries are normal, or whole numbers
/// from -4 to 4, so that rows and values repeat. By chance
///
/// - all columns are in one unit from 1e-9 to 1e9, or each in its own;
/// - one column or all have an offset of up to a million times their size;
/// - some columns are copies of others, or multiples of them;
/// - a column is constant.
///
/// The target is a combination of the columns in their natural unit, plus noise. Its labels are the signs, its counts the
/// rounded absolute values. O(rows * columns).
pub fn odd(seed: u64) -> Odd {
    let mut draw = SplitMix64::new(seed ^ 0x0DD0_0DD0_0DD0_0DD0);
    // Log-uniform: as many problems of 1 to 14 rows as of 15 to 200.
    let mut size = |largest: f64| (largest.powf(draw.unit()) + 0.5) as usize;
    let (n, d) = (size(200.0).max(1), size(40.0).max(1));
    let mut chance = |of: u64| draw.next() % of;

    let whole = chance(2) == 0;
    let units = chance(4);
    let offsets = chance(4);
    let copies = chance(3) == 0 && d > 1;
    let constant = chance(8) == 0;
    let steady = 10f64.powi(chance(19) as i32 - 9);
    let far = 10f64.powi(chance(7) as i32);
    let at = chance(d as u64) as usize;
    let other = chance(d as u64) as usize;

    let normals = draw.normals(n * d + n + d);
    let entry =
        |k: usize| if whole { (2.0 * normals[k]).round().clamp(-4.0, 4.0) } else { normals[k] };
    let mut x = Array2::from_shape_fn((n, d), |(i, j)| entry(i * d + j));
    if copies {
        for j in (1..d).step_by(2) {
            let multiple = if j % 4 == 1 { 1.0 } else { -3.0 };
            let column = x.column(j - 1).mapv(|v| multiple * v);
            x.column_mut(j).assign(&column);
        }
    }
    if constant {
        x.column_mut(other).fill(1.0);
    }
    let weights = &normals[n * d..n * d + d];
    let scale = (d as f64).sqrt();
    let y = Array1::from_shape_fn(n, |i| {
        let signal: f64 = (0..d).map(|j| x[[i, j]] * weights[j]).sum();
        let value = signal / scale + 0.5 * normals[n * d + d + i];
        if whole { value.round() } else { value }
    });
    for j in 0..d {
        let unit = match units {
            0 => steady,
            1 => 10f64.powi((draw.next() % 19) as i32 - 9),
            _ => 1.0,
        };
        let offset = match offsets {
            0 => far,
            1 if j == at => far,
            _ => 0.0,
        };
        x.column_mut(j).mapv_inplace(|v| (v + offset) * unit);
    }
    let of = |k: u64, words: [&'static str; 3]| words[k.min(2) as usize];
    let what = format!(
        "{n} x {d}, {}, {}, {}{}{}",
        if whole { "whole numbers" } else { "normal" },
        of(units, ["one unit", "units of their own", "unit 1"]),
        of(offsets, ["all offset", "one offset", "no offset"]),
        if copies { ", copied columns" } else { "" },
        if constant { ", a constant column" } else { "" },
    );
    Odd { x, y, what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_problems_are_as_promised() {
        let mut seen = [0; 5];
        for seed in 0..400 {
            let Odd { x, y, what } = odd(seed);
            let (n, d) = x.dim();
            assert!((1..=200).contains(&n) && (1..=40).contains(&d) && y.len() == n, "{what}");
            assert!(x.iter().chain(&y).all(|v| v.is_finite()), "{what}");
            assert_eq!(odd(seed), Odd { x, y, what: what.clone() });
            let signs = ["all offset", "own", "copied", "constant", "whole"];
            signs
                .iter()
                .zip(&mut seen)
                .for_each(|(word, count)| *count += i32::from(what.contains(word)));
        }
        assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
    }
}
