//! Integrals over a segment that say when they are not known.

use fenchel_linalg::quadrature::Rule;

/// The integrals of pairs of a value and the size of its terms over `[from, to]`. The halves of a panel have to agree with the whole; an integral that needs more than 60 panels is left out.
pub(super) fn integrate(
    rule: &Rule,
    (from, to): (f64, f64),
    size: usize,
    f: &mut dyn FnMut(f64, &mut [f64]),
) -> Option<Vec<f64>> {
    let mut panel = |from: f64, to: f64| {
        let (mut sum, mut at) = (vec![0.0; size], vec![0.0; size]);
        let half = 0.5 * (to - from);
        for (x, w) in rule.nodes.iter().zip(&rule.weights) {
            f(0.5 * (from + to) + half * x, &mut at);
            sum.iter_mut().zip(&at).for_each(|(sum, at)| *sum += half * w * at);
        }
        sum
    };
    let mut total = vec![0.0; size];
    let mut open = vec![(from, to, panel(from, to))];
    let mut left = 60;
    while let Some((from, to, whole)) = open.pop() {
        left -= 1;
        if left == 0 {
            return None;
        }
        let middle = 0.5 * (from + to);
        let parts = (panel(from, middle), panel(middle, to));
        let sum: Vec<f64> = parts.0.iter().zip(&parts.1).map(|(a, b)| a + b).collect();
        let agree =
            |(w, s): (&[f64], &[f64])| (w[0] - s[0]).abs() <= 1e-13 * s[0].abs() + 1e-14 * s[1];
        if whole.chunks(2).zip(sum.chunks(2)).all(agree) {
            total.iter_mut().zip(&sum).for_each(|(total, s)| *total += s);
        } else {
            open.extend([(from, middle, parts.0), (middle, to, parts.1)]);
        }
    }
    Some(total)
}
