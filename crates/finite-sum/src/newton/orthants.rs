//! Newton's model one orthant after another, by products with the data.
//!
//! With the signs of `x + d` fixed the model is quadratic, and conjugate gradients need a handful of products, which read
//! the data in the order it lies in. A coordinate that would change its sign ends at 0; the next round takes the signs
//! anew: of the coordinates that are not 0, and of the descent of those that violate optimality there (the choice of
//! signs of OWL-QN: Andrew and Gao, ICML 2007). Where columns are nearly orthogonal two or three rounds find the signs
//! and no copy of the data by columns is ever made; where they are not, coordinate descent takes over.

use fenchel_linalg::{Design, Nonzeros, multiply_row_by_row, multiply_squares_transposed};

use super::conjugate::{System, conjugate_gradients};
use super::gram::RIDGE;
use super::model::{Model, violation};

/// Products in one orthant, at most.
const PRODUCTS: usize = 30;
/// Conjugate gradients end at this fraction of what the violation may be: their norm is another.
const SAFE: f64 = 0.3;
/// A round that leaves more than this fraction of the violation is the last.
const WORTH: f64 = 0.7;
/// A part of the columns is copied where it holds at most this share of the entries,
const SMALL: f64 = 0.75;
/// and serves while it holds no more than so many times those that are needed.
const LARGE: f64 = 1.5;
/// With the columns of a working set those are copied that are so near to it, as a fraction of `l1`: the next set may need them.
const REACH: f64 = 0.95;

/// Some columns of a design, row by row.
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    columns: Vec<usize>,
    pub(super) rows: Nonzeros,
}

impl Part {
    /// A copy of the columns of the model's set, which hold `stored` entries, where that saves work and there is room for it in
    /// bytes: `last` if it still serves, else one made in its place. `counts` are the entries of each column.
    pub(super) fn of<D: Design>(
        design: &D,
        model: &Model,
        (counts, stored): (&[usize], usize),
        last: Option<Part>,
        room: u64,
    ) -> Option<Part> {
        let set = model.set;
        let large = stored as f64 > SMALL * design.stored() as f64;
        if D::DENSE || large {
            return None;
        }
        let Part { columns, mut rows } = last.unwrap_or_default();
        let small = rows.view().stored() as f64 <= LARGE * stored as f64;
        if small && set.iter().all(|c| columns.binary_search(c).is_ok()) {
            return Some(Part { columns, rows });
        }
        let mut wanted = set.iter().copied().peekable();
        let columns: Vec<usize> = (0..design.columns())
            .filter(|&c| {
                wanted.next_if_eq(&c).is_some() || model.gradient[c].abs() > REACH * model.l1
            })
            .collect();
        let stored = columns.iter().map(|&c| counts[c]).sum();
        if Nonzeros::bytes(design.rows(), stored) > room {
            return None;
        }
        rows.copy_columns(design, &columns, stored);
        Some(Part { columns, rows })
    }

    /// Where the columns of `set` are in the copy.
    pub(super) fn places(&self, set: &[usize]) -> Vec<usize> {
        set.iter().filter_map(|c| self.columns.binary_search(c).ok()).collect()
    }
}

/// A point of a model, moved from orthant to orthant.
pub(super) struct Orthants<'o, 'm, E> {
    model: &'o Model<'m>,
    rows: &'o E,
    /// The columns of `rows` that are those of the set.
    places: &'o [usize],
    /// The diagonal of the Hessian; like all that follows with the intercept last, where there is one.
    curvature: Vec<f64>,
    d: Vec<f64>,
    /// The derivative of the smooth part of the model at `d`.
    slope: Vec<f64>,
    /// `A d + d_b`
    margins: Vec<f64>,
    /// Which coordinates move, with which sign: that of `x + d`.
    free: Vec<bool>,
    sign: Vec<f64>,
    /// Room for products: a weight a column, the last `A p + p_b`, and the image by columns.
    weights: Vec<f64>,
    along: Vec<f64>,
    image: Vec<f64>,
    products: usize,
}

impl<'o, 'm, E: Design> Orthants<'o, 'm, E> {
    /// At the origin of the model.
    pub(super) fn new(model: &'o Model<'m>, rows: &'o E, places: &'o [usize]) -> Self {
        let (n, order) = (rows.rows(), model.order());
        let mut squares = vec![0.0; rows.columns()];
        multiply_squares_transposed(rows, model.h, &mut squares);
        let mut curvature: Vec<f64> = places.iter().map(|&c| squares[c] + model.l2).collect();
        let mut slope: Vec<f64> = model.set.iter().map(|&c| model.gradient[c]).collect();
        if let Some(intercept) = model.intercept {
            curvature.push(model.h.iter().sum::<f64>() + RIDGE);
            slope.push(intercept);
        }
        Orthants {
            model,
            rows,
            places,
            curvature,
            d: vec![0.0; order],
            slope,
            margins: vec![0.0; n],
            free: vec![false; order],
            sign: vec![0.0; order],
            weights: vec![0.0; rows.columns()],
            along: vec![0.0; n],
            image: vec![0.0; rows.columns()],
            products: 0,
        }
    }

    /// Goes to another point of the model. Costs a product.
    pub(super) fn go_to(&mut self, d: &[f64]) {
        let step: Vec<f64> = d.iter().zip(&self.d).map(|(to, from)| to - from).collect();
        self.d.copy_from_slice(d);
        self.carry(&step);
    }

    /// The point, the intercept last; `A d + d_b` there; and the entries that were looked at.
    pub(super) fn into_parts(self) -> (Vec<f64>, Vec<f64>, f64) {
        // The diagonal is a half.
        let looks = self.products as f64 + 0.5;
        (self.d, self.margins, looks * self.rows.stored() as f64)
    }

    /// Where coordinate `k` of the set stands.
    fn weight(&self, k: usize) -> f64 {
        self.model.x[self.model.set[k]] + self.d[k]
    }

    /// How much optimality is violated at the point, summed over the coordinates.
    pub(super) fn violation(&self) -> f64 {
        let set = self.model.set.len();
        let coordinates = (0..set).map(|k| violation(self.weight(k), self.slope[k], self.model.l1));
        coordinates.sum::<f64>() + self.slope.get(set).map_or(0.0, |g| g.abs())
    }

    /// Rounds until the violation is at most `tolerance`, as long as they pay. Returns what is left.
    pub(super) fn minimise(&mut self, tolerance: f64, rounds: usize) -> f64 {
        let mut left = self.violation();
        for _ in 0..rounds {
            if left <= tolerance {
                break;
            }
            self.choose_orthant();
            self.round(SAFE * tolerance / left);
            let before = std::mem::replace(&mut left, self.violation());
            if left > WORTH * before {
                break;
            }
        }
        left
    }

    fn choose_orthant(&mut self) {
        for k in 0..self.model.set.len() {
            let w = self.weight(k);
            self.free[k] = w != 0.0 || self.slope[k].abs() > self.model.l1;
            self.sign[k] = if w != 0.0 { w.signum() } else { -self.slope[k].signum() };
        }
        if let Some(free) = self.free.get_mut(self.model.set.len()) {
            *free = true;
        }
    }

    /// Conjugate gradients in the orthant until its violation has fallen to the fraction `goal`, and back to its border.
    fn round(&mut self, goal: f64) {
        let l1 = self.model.l1;
        let pull = |free: bool, sign: f64| if free { l1 * sign } else { 0.0 };
        let residual =
            (0..self.d.len()).map(|k| -self.slope[k] - pull(self.free[k], self.sign[k])).collect();
        let (step, residual, _) = conjugate_gradients(self, residual, goal, PRODUCTS);
        for (k, r) in residual.iter().enumerate() {
            self.slope[k] = -r - pull(self.free[k], self.sign[k]);
        }
        let mut back = vec![0.0; self.d.len()];
        for (k, step) in step.into_iter().enumerate() {
            let is_weight = k < self.model.set.len();
            if is_weight && self.free[k] && (self.weight(k) + step) * self.sign[k] < 0.0 {
                back[k] = -self.weight(k) - step;
                self.d[k] = -self.model.x[self.model.set[k]];
            } else {
                self.d[k] += step;
            }
        }
        if back.iter().any(|b| *b != 0.0) {
            self.carry(&back);
        }
    }

    /// Slopes and margins follow a step.
    fn carry(&mut self, step: &[f64]) {
        let change = self.product(step);
        self.moved(1.0);
        self.slope.iter_mut().zip(&change).for_each(|(g, c)| *g += c);
    }
}

impl<E: Design> System for Orthants<'_, '_, E> {
    /// Division by the diagonal of the Hessian; coordinates that are not free stay.
    fn precondition(&self, residual: &[f64]) -> Vec<f64> {
        let free = self.free.iter().zip(residual).zip(&self.curvature);
        free.map(|((free, r), c)| if *free { r / c } else { 0.0 }).collect()
    }

    fn product(&mut self, p: &[f64]) -> Vec<f64> {
        let model = self.model;
        for (&c, p) in self.places.iter().zip(p) {
            self.weights[c] = *p;
        }
        let intercept = model.intercept.map_or(0.0, |_| p[model.set.len()]);
        let Orthants { rows, weights, along, image, .. } = self;
        let curved = |i: usize, t: f64| model.h[i] * (t + intercept);
        let sum = multiply_row_by_row(*rows, weights, along, image, curved);
        if intercept != 0.0 {
            along.iter_mut().for_each(|t| *t += intercept);
        }
        self.products += 1;
        let coordinates = self.places.iter().zip(p).map(|(&c, p)| self.image[c] + model.l2 * p);
        coordinates.chain(model.intercept.map(|_| sum + RIDGE * intercept)).collect()
    }

    fn moved(&mut self, by: f64) {
        self.margins.iter_mut().zip(&self.along).for_each(|(t, p)| *t += by * p);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::newton::forcing::Tolerances;
    use fenchel_linalg::Csr;
    use fenchel_optim::prox::soft_threshold;
    use fenchel_optim::random::{Generator, stream};
    use ndarray::Array2;
    use rand::RngExt;

    const L2: f64 = 0.02;

    /// Rows of about a third of 12 columns.
    struct Sparse {
        offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f64>,
    }

    fn sparse(n: usize, rng: &mut Generator) -> Sparse {
        let mut a = Sparse { offsets: vec![0], columns: Vec::new(), values: Vec::new() };
        for _ in 0..n {
            for c in (0..12).filter(|_| rng.random_range(0.0..1.0) < 0.35).collect::<Vec<_>>() {
                a.columns.push(c);
                a.values.push(rng.random_range(-1.0..1.5));
            }
            a.offsets.push(a.columns.len());
        }
        a
    }

    impl Sparse {
        fn view(&self) -> Csr<'_, f64> {
            Csr::from_parts(&self.offsets, &self.columns, &self.values, 12).unwrap()
        }

        /// `A'HA + l2 I` with a column of ones last, where there is an intercept, and without l2 for it.
        fn hessian(&self, h: &[f64], intercept: bool) -> Array2<f64> {
            let order = 12 + usize::from(intercept);
            let mut hessian = Array2::zeros((order, order));
            for (i, h) in h.iter().enumerate() {
                let mut row = vec![0.0; order];
                self.view().row_entries(i, |c, a| row[c] = a);
                row[12..].fill(1.0);
                for j in 0..order {
                    for k in 0..order {
                        hessian[[j, k]] += h * row[j] * row[k];
                    }
                }
            }
            (0..12).for_each(|k| hessian[[k, k]] += L2);
            hessian
        }
    }

    /// Coordinate descent on the whole Hessian until nothing moves.
    fn by_coordinates(hessian: &Array2<f64>, gradient: &[f64], x: &[f64], l1: f64) -> Vec<f64> {
        let mut d = vec![0.0; gradient.len()];
        for _ in 0..20_000 {
            for k in 0..d.len() {
                let q = gradient[k] + (0..d.len()).map(|j| hessian[[k, j]] * d[j]).sum::<f64>();
                let (x, l1) = if k < x.len() { (x[k], l1) } else { (0.0, 0.0) };
                let w = x + d[k] - q / hessian[[k, k]];
                d[k] = soft_threshold(w, l1 / hessian[[k, k]]) - x;
            }
        }
        d
    }

    /// The minimiser of the model is that of coordinate descent on the Hessian, coordinates at 0 exactly there; the margins
    /// are those of the point; a copy of some columns gives the same as the whole design.
    #[test]
    fn orthant_after_orthant_ends_at_the_minimiser() {
        let mut rng = stream(5, 0);
        for (case, l1) in [0.02, 0.1, 0.3].into_iter().cycle().take(12).enumerate() {
            let a = sparse(80, &mut rng);
            let design = a.view();
            let h: Vec<f64> = (0..80).map(|_| rng.random_range(0.1..0.3) / 80.0).collect();
            let x: Vec<f64> = (0..12).map(|k| f64::from(k % 3) * 0.3 - 0.3).collect();
            let gradient: Vec<f64> = (0..13).map(|_| rng.random_range(-0.4..0.4)).collect();
            let intercept = (case % 2 == 1).then_some(gradient[12]);
            let order = 12 + usize::from(intercept.is_some());
            let hessian = a.hessian(&h, intercept.is_some());
            let expected = by_coordinates(&hessian, &gradient[..order], &x, l1);
            let set: Vec<usize> = (0..12).collect();
            let model = Model {
                h: &h,
                x: &x,
                gradient: &gradient[..12],
                intercept,
                l1,
                l2: L2,
                set: &set,
                tolerances: Tolerances::default(),
            };
            let part = Nonzeros::of_columns(&design, &set, a.values.len());
            let view = part.view();
            for rows in [&design, &view] {
                let mut orthants = Orthants::new(&model, rows, &set);
                assert!(orthants.minimise(1e-11, 40) <= 1e-11, "case {case}");
                let (d, margins, entries) = orthants.into_parts();
                assert!(entries > 0.0);
                for k in 0..order {
                    assert!((d[k] - expected[k]).abs() <= 1e-8, "case {case}, {k}");
                    if k < 12 && x[k] + expected[k] == 0.0 {
                        assert_eq!(x[k] + d[k], 0.0, "case {case}, {k}");
                    }
                }
                for (i, t) in margins.iter().enumerate() {
                    let margin = design.row_dot(i, &d[..12]) + d[12..].iter().sum::<f64>();
                    assert!((margin - t).abs() <= 1e-12, "case {case}");
                }
            }
        }
    }

    #[test]
    fn a_part_serves_its_subsets_while_it_is_not_too_large() {
        let mut rng = stream(6, 0);
        let a = sparse(200, &mut rng);
        let design = a.view();
        let counts: Vec<usize> =
            (0..12).map(|k| a.columns.iter().filter(|c| **c == k).count()).collect();
        // Column 5 is not in the set, but nearly violates optimality.
        let mut gradient = [0.0; 12];
        gradient[5] = -0.97;
        let of = |set: &[usize], last: Option<Part>| {
            let model = Model {
                h: &[],
                x: &[0.0; 12],
                gradient: &gradient,
                intercept: None,
                l1: 1.0,
                l2: 0.0,
                set,
                tolerances: Tolerances::default(),
            };
            let stored = set.iter().map(|&c| counts[c]).sum();
            Part::of(&design, &model, (&counts, stored), last, u64::MAX)
        };
        let set = [1, 4, 5, 7, 8];
        let part = of(&[1, 4, 7, 8], None).unwrap();
        assert_eq!(part.places(&[4, 8]), [1, 4]);
        for i in 0..200 {
            let mut row = [0.0; 12];
            design.row_entries(i, |c, v| row[c] = v);
            part.rows.view().row_entries(i, |k, v| assert_eq!(v, row[set[k]]));
        }
        let kept = of(&set[1..], Some(part.clone())).unwrap();
        assert_eq!(kept.columns, set);
        let smaller = of(&set[..2], Some(part.clone())).unwrap();
        assert_eq!(smaller.columns, [1, 4, 5]);
        let other = of(&[1, 2], Some(part)).unwrap();
        assert_eq!(other.columns, [1, 2, 5]);
        let most: Vec<usize> = (0..11).collect();
        assert!(of(&most, None).is_none());
    }
}
