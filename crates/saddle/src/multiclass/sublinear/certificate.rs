//! The gap of the averages. With the hinge it costs O(nnz) per class that was drawn, and O(nnz) for all other classes together.
//!
//! Classes that were never drawn have weights 0, and their dual variables are one common number per row. So two such
//! classes differ only in the rows that have their labels. Classes that were drawn are processed in groups, so that
//! the memory stays O(n + d). With the softmax it costs O(nnz k), because all dual variables are stored.

use fenchel_optim::Certificate;

use super::primal::UNTOUCHED;
use super::{SublinearState, Variables};
use crate::multiclass::problem::{DualParts, Multiclass};

/// The number of classes whose products are computed together.
const GROUP: usize = 32;

impl SublinearState {
    /// Computes objective and lower bound of the averages.
    pub fn certificate(&self, problem: &Multiclass) -> Certificate {
        let (objective, _) = self.objective(problem);
        problem.gap(objective, self.lower_bound(problem))
    }

    /// The gap of the problem in which the mass takes the place of the norm. The theorems are about this gap.
    pub fn split_gap(&self, problem: &Multiclass) -> f64 {
        let (objective, norm) = self.objective(problem);
        objective + problem.penalty() * (self.mass() - norm) - self.lower_bound(problem)
    }

    /// `P` of the averaged weights, and the norm of these weights.
    fn objective(&self, problem: &Multiclass) -> (f64, f64) {
        let weights = if self.steps == 0 { vec![] } else { self.weights() };
        let norm: f64 = weights.iter().flat_map(|(_, column)| column).map(|u| u.abs()).sum();
        if matches!(self.dual, Variables::Whole(_)) {
            let k = problem.samples().classes();
            let mut u = vec![0.0; problem.samples().features() * k];
            for (class, column) in &weights {
                column.iter().enumerate().for_each(|(i, v)| u[i * k + class] = *v);
            }
            return (problem.primal(&u), norm);
        }
        (sparse_loss(problem, &weights) + problem.penalty() * norm, norm)
    }

    /// `D` of the averaged dual variables. Their rows are divided by their sums.
    fn lower_bound(&self, problem: &Multiclass) -> f64 {
        self.dual_parts(problem).within(problem.radius(), problem.penalty())
    }

    pub(crate) fn dual_parts(&self, problem: &Multiclass) -> DualParts {
        let samples = problem.samples();
        let (n, d, k) = (samples.rows(), samples.features(), samples.classes());
        let dual = match &self.dual {
            Variables::Lazy(dual) => dual,
            Variables::Whole(_) => return problem.dual_parts(&self.dual(problem)),
        };
        let started = self.steps > 0;
        let sums = if started { dual.row_sums(samples) } else { vec![1.0; n] };
        let uniform = 1.0 / k as f64;
        let label: Vec<f64> = (0..n)
            .map(|j| if started { dual.label_sums()[j] / sums[j] } else { uniform })
            .collect();
        let rest: Vec<f64> =
            (0..n).map(|j| if started { dual.rest_total(j) / sums[j] } else { uniform }).collect();
        let gain: f64 = (0..n).map(|j| samples.margins[j] * (1.0 - label[j])).sum();
        let mut top = 0.0_f64;
        for group in (0..dual.columns.len()).collect::<Vec<_>>().chunks(GROUP) {
            let width = group.len();
            let mut z = vec![0.0; n * width];
            for (at, slot) in group.iter().enumerate() {
                let class = dual.columns[*slot].class;
                for j in 0..n {
                    let own = samples.labels[j] == class;
                    let v = if own {
                        label[j] - 1.0
                    } else if started {
                        dual.entry_sum(*slot, j) / sums[j]
                    } else {
                        uniform
                    };
                    z[j * width + at] = v;
                }
            }
            let mut gradient = vec![0.0; d * width];
            samples.transposed(&z, width, &mut gradient);
            top = gradient.iter().fold(top, |m, g| m.max(g.abs()));
        }
        if dual.columns.len() < k {
            let mut base = vec![0.0; d];
            samples.transposed(&rest, 1, &mut base);
            let mut rows_of = vec![vec![]; k];
            (0..n).for_each(|j| rows_of[samples.labels[j] as usize].push(j));
            let mut bare = false;
            for class in (0..k).filter(|l| dual.slots[*l] == UNTOUCHED) {
                if rows_of[class].is_empty() {
                    bare = true;
                    continue;
                }
                let mut gradient = base.clone();
                for j in &rows_of[class] {
                    samples.add_row(*j, label[*j] - 1.0 - rest[*j], &mut gradient);
                }
                top = gradient.iter().fold(top, |m, g| m.max(g.abs()));
            }
            if bare {
                top = base.iter().fold(top, |m, g| m.max(g.abs()));
            }
        }
        DualParts { gain: gain / n as f64, gradient: top / n as f64 }
    }
}

/// The mean hinge loss of weights whose columns are mostly 0.
pub(crate) fn sparse_loss(problem: &Multiclass, weights: &[(usize, Vec<f64>)]) -> f64 {
    let samples = problem.samples();
    let (n, d, k) = (samples.rows(), samples.features(), samples.classes());
    let mut present = vec![false; k];
    weights.iter().for_each(|(class, _)| present[*class] = true);
    let absent = k - weights.len();
    // The best rival of the label, and the label's score. A class without weights has score 0.
    let mut best: Vec<f64> = (0..n)
        .map(|j| {
            let own = usize::from(!present[samples.labels[j] as usize]);
            if absent > own { samples.margins[j] } else { f64::NEG_INFINITY }
        })
        .collect();
    let mut own = vec![0.0; n];
    for group in weights.chunks(GROUP) {
        let width = group.len();
        let mut u = vec![0.0; d * width];
        for (at, (_, column)) in group.iter().enumerate() {
            column.iter().enumerate().for_each(|(i, v)| u[i * width + at] = *v);
        }
        let mut scores = vec![0.0; n * width];
        samples.scores(&u, width, &mut scores);
        for j in 0..n {
            for (at, (class, _)) in group.iter().enumerate() {
                let score = scores[j * width + at];
                if samples.labels[j] as usize == *class {
                    own[j] = score;
                } else {
                    best[j] = best[j].max(score + samples.margins[j]);
                }
            }
        }
    }
    (0..n).map(|j| best[j].max(own[j]) - own[j]).sum::<f64>() / n as f64
}
