//! Neighbourhood selection: a lasso regression of every variable on all others.
//!
//! ```text
//! min_b  (1/n) ||x_i - X_-i b||^2 + l1 ||b||_1        columns of variance 1
//! ```
//!
//! As in A. Defazio, PhD thesis 2014, section 6.3.2, the squared error has no factor 1/2, so `l1` is twice that of
//! common lasso programs. The method needs only the correlation matrix. Variables are processed in parallel; a sweep
//! over all variables costs O(p^2) if few coefficients are nonzero. Source: Meinshausen and Buehlmann, Annals of
//! Statistics 34, 2006.

use fenchel_linalg::Invalid;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::select::each;
use crate::statistics::{Scale, Statistics};
use crate::synthetic::Edges;

/// The rule that turns two regressions into an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SupportRule {
    /// One of the two regressions must select the edge.
    #[default]
    Union,
    /// Both regressions must select the edge.
    Intersection,
}

/// Coefficients of all regressions at one penalty.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbourhoods {
    /// Row `i` has the coefficients of the regression of variable `i`, with 0 on the diagonal. They refer to columns of
    /// variance 1.
    pub coefficients: Array2<f64>,
    /// Whether all regressions came to rest.
    pub converged: bool,
}

impl Neighbourhoods {
    /// Edges `(i, j)`, `i < j`, ascending.
    pub fn edges(&self, rule: SupportRule) -> Edges {
        let b = &self.coefficients;
        let p = b.nrows();
        let mut edges = Vec::new();
        for i in 0..p {
            for j in i + 1..p {
                let (one, two) = (b[[i, j]] != 0.0, b[[j, i]] != 0.0);
                if if rule == SupportRule::Union { one || two } else { one && two } {
                    edges.push((i as u32, j as u32));
                }
            }
        }
        edges
    }
}

/// All regressions at one penalty. Each stops when no coefficient changes by more than 1e-9 in a sweep, or after 5000
/// sweeps; see [`converged`](Neighbourhoods::converged).
///
/// # Errors
/// [`Invalid::Parameter`] for a negative penalty; [`Error::ZeroVariance`].
pub fn neighbourhood_selection(statistics: &Statistics, l1: f64) -> Result<Neighbourhoods, Error> {
    let c = standardised(statistics)?;
    Invalid::check_nonnegative("l1", l1)?;
    let p = c.nrows();
    let rows = each(p, |i| {
        let mut b = vec![0.0; p];
        let converged = regress(&c, i, l1, &mut b);
        Ok((b, converged))
    })?;
    let converged = rows.iter().all(|row| row.1);
    let coefficients = Array2::from_shape_fn((p, p), |(i, j)| rows[i].0[j]);
    Ok(Neighbourhoods { coefficients, converged })
}

/// A score for ranking edges: the largest penalty of a decreasing grid at which the edge is present, 0 if it never is.
///
/// # Errors
/// As [`neighbourhood_selection`].
pub fn neighbourhood_scores(
    statistics: &Statistics,
    penalties: &[f64],
    rule: SupportRule,
) -> Result<Array2<f64>, Error> {
    let c = standardised(statistics)?;
    for &l1 in penalties {
        Invalid::check_nonnegative("l1", l1)?;
    }
    let mut penalties = penalties.to_vec();
    penalties.sort_by(|a, b| b.total_cmp(a));
    let p = c.nrows();
    let rows = each(p, |i| {
        let mut b = vec![0.0; p];
        let mut entry = vec![0.0; p];
        for &l1 in &penalties {
            regress(&c, i, l1, &mut b);
            for j in 0..p {
                if b[j] != 0.0 && entry[j] == 0.0 {
                    entry[j] = l1;
                }
            }
        }
        Ok(entry)
    })?;
    Ok(Array2::from_shape_fn((p, p), |(i, j)| match rule {
        SupportRule::Union => rows[i][j].max(rows[j][i]),
        SupportRule::Intersection => rows[i][j].min(rows[j][i]),
    }))
}

fn standardised(statistics: &Statistics) -> Result<Array2<f64>, Error> {
    Ok(statistics.on(Scale::Correlation)?.0)
}

/// Coordinate descent from `b`, with sweeps over active coordinates between sweeps over all. Returns whether it converged.
fn regress(c: &Array2<f64>, i: usize, l1: f64, b: &mut [f64]) -> bool {
    let p = b.len();
    let mut rest = c.row(i).to_vec();
    for k in 0..p {
        if b[k] != 0.0 {
            rest.iter_mut().zip(c.row(k)).for_each(|(r, v)| *r -= b[k] * v);
        }
    }
    for sweep in 0..5000 {
        let all = sweep % 10 == 0;
        let mut largest = 0.0_f64;
        for k in 0..p {
            if k == i || (!all && b[k] == 0.0) {
                continue;
            }
            let z = rest[k] + b[k];
            let new = if z.abs() <= 0.5 * l1 { 0.0 } else { z - (0.5 * l1).copysign(z) };
            let change = new - b[k];
            if change != 0.0 {
                b[k] = new;
                rest.iter_mut().zip(c.row(k)).for_each(|(r, v)| *r -= change * v);
                largest = largest.max(change.abs());
            }
        }
        if all && largest <= 1e-9 {
            return true;
        }
    }
    false
}
