//! Small data of every kind: whole numbers and fractions, columns that repeat or are constant, huge, tiny and infinite entries.

use arbitrary::Unstructured;
use fenchel::prelude::*;

/// A number, often one at the end of a range.
pub(crate) fn number(u: &mut Unstructured<'_>) -> f64 {
    const ODD: [f64; 24] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        1e-3,
        1e3,
        1e-9,
        1e9,
        1e-30,
        1e30,
        1e-155,
        1e155,
        1e-300,
        1e300,
        5e-324,
        f64::MIN_POSITIVE,
        f64::MAX,
        -f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e16,
    ];
    let kind = u.arbitrary::<u8>().unwrap_or(0);
    match kind {
        0..24 => ODD[usize::from(kind)],
        24..48 => f64::from(u.arbitrary::<i8>().unwrap_or(0)) / 16.0,
        48..52 => u.arbitrary().unwrap_or(0.0),
        _ => f64::from(kind as i8) / 32.0,
    }
}

/// How far the entries of a problem go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    /// Sixteenths from -8 to 8: sums of them are exact.
    Small,
    /// Columns in units from 1e-9 to 1e9.
    Units,
    /// Anything, NaN among it.
    Any,
}

/// A design, what may be wanted of its rows, and their weights.
pub(crate) struct Rows {
    pub(crate) x: Array2<f64>,
    pub(crate) sparse: Option<CsrMatrix<f64>>,
    pub(crate) y: Array1<f64>,
    pub(crate) labels: Vec<u8>,
    pub(crate) counts: Array1<f64>,
    pub(crate) weights: Option<Array1<f64>>,
    pub(crate) range: Range,
}

impl Rows {
    pub(crate) fn new(u: &mut Unstructured<'_>) -> Rows {
        Rows::of(u, 0..=24, 0..=6)
    }

    pub(crate) fn of(
        u: &mut Unstructured<'_>,
        rows: std::ops::RangeInclusive<usize>,
        columns: std::ops::RangeInclusive<usize>,
    ) -> Rows {
        let (n, d) = (u.int_in_range(rows).unwrap_or(8), u.int_in_range(columns).unwrap_or(2));
        let range = match u.int_in_range(0..=7).unwrap_or(0) {
            0 => Range::Any,
            1 | 2 => Range::Units,
            _ => Range::Small,
        };
        let mut x = Array2::from_shape_simple_fn((n, d), || entry(u, range));
        for c in 0..d {
            match u.int_in_range(0..=11).unwrap_or(0) {
                0 => x.column_mut(c).fill(entry(u, range)),
                1 if c > 0 => {
                    let before = x.column(c - 1).to_owned();
                    x.column_mut(c).assign(&before);
                }
                2 => x.column_mut(c).fill(0.0),
                _ => {}
            }
            if range == Range::Units {
                let unit = 10f64.powi(u.int_in_range(-9..=9).unwrap_or(0));
                x.column_mut(c).mapv_inplace(|v| v * unit);
            }
        }
        // Mostly one a row, now and then one too few.
        let targets = if u.ratio(1, 50).unwrap_or(false) { n.saturating_sub(1) } else { n };
        let y = Array1::from_shape_simple_fn(targets, || entry(u, range));
        let classes = u.int_in_range(1..=4).unwrap_or(2);
        let labels = (0..targets).map(|_| u.arbitrary::<u8>().unwrap_or(0) % classes).collect();
        let counts = Array1::from_shape_simple_fn(targets, || {
            f64::from(u.arbitrary::<u8>().unwrap_or(0) % 5)
        });
        let weights = u.ratio(1, 4).unwrap_or(false).then(|| {
            let kind = u.int_in_range(0..=5).unwrap_or(0);
            Array1::from_shape_simple_fn(n, || match kind {
                0 => number(u),
                1 => f64::from(u.arbitrary::<u8>().unwrap_or(0) % 2),
                _ => f64::from(u.arbitrary::<u8>().unwrap_or(0)) / 64.0,
            })
        });
        let sparse = u.ratio(1, 3).unwrap_or(false).then(|| csr(&x));
        Rows { x, sparse, y, labels, counts, weights, range }
    }

    pub(crate) fn fit<'a, M>(&'a self, start: Option<&'a M>) -> Fit<'a, M> {
        let fit = Fit::new();
        let fit = match &self.weights {
            Some(weights) => fit.weights(weights),
            None => fit,
        };
        match start {
            Some(start) => fit.start(start),
            None => fit,
        }
    }
}

fn entry(u: &mut Unstructured<'_>, range: Range) -> f64 {
    match range {
        Range::Any => number(u),
        _ => f64::from(u.arbitrary::<i8>().unwrap_or(0)) / 16.0,
    }
}

/// The nonzeros of a matrix.
fn csr(x: &Array2<f64>) -> CsrMatrix<f64> {
    let (mut ends, mut columns, mut values) = (vec![0usize], Vec::new(), Vec::new());
    for row in x.rows() {
        for (c, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            columns.push(c as u32);
            values.push(value);
        }
        ends.push(columns.len());
    }
    CsrMatrix::new(x.dim(), ends, columns, values)
}
