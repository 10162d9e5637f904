//! One row of the proximal problem, exactly.

/// The order of a row's entries, kept from one call to the next: it changes little between iterations, so that
/// putting it right costs O(p) instead of a sort.
#[derive(Debug, Clone, Default)]
pub struct RowOrder {
    order: Vec<u32>,
    sums: Vec<(f64, u32)>,
}

/// `argmin_x scale sum_k h'(k) |x|_(k) + ||x - w||^2 / 2` for falling increments `h'`; writes `x` to `out`.
///
/// Sort by size, subtract `scale h'`, pool adjacent violators of the falling order, cut at 0, give the signs back (algorithm
/// 7.2; GG-23). It is the proximal operator of the sorted l1 norm. O(p log p), or O(p) where the order is nearly that of the
/// last call. More entries than increments or room is the caller's mistake: only the common length is used.
pub fn row_prox(w: &[f64], increments: &[f64], scale: f64, out: &mut [f64], order: &mut RowOrder) {
    let n = w.len().min(increments.len()).min(out.len());
    let RowOrder { order, sums } = order;
    if order.len() != n {
        order.clear();
        order.extend(0..n as u32);
    }
    sort(order, w);
    sums.clear();
    for (&k, h) in order.iter().zip(increments) {
        let mut block = (w[k as usize].abs() - scale * h, 1_u32);
        // While the block before is not larger in the mean.
        while let Some(&(sum, count)) = sums.last() {
            if sum * f64::from(block.1) > block.0 * f64::from(count) {
                break;
            }
            sums.pop();
            block = (sum + block.0, count + block.1);
        }
        // Whatever follows a block of mean 0 or less is pooled with it or below it: all zeros.
        sums.push(block);
    }
    let mut at = 0;
    for &(sum, count) in sums.iter() {
        let mean = (sum / f64::from(count)).max(0.0);
        for &k in &order[at..at + count as usize] {
            out[k as usize] = if mean > 0.0 { mean.copysign(w[k as usize]) } else { 0.0 };
        }
        at += count as usize;
    }
}

/// By falling size: insertions while they are few, then a sort.
fn sort(order: &mut [u32], w: &[f64]) {
    let size = |k: u32| w[k as usize].abs();
    let mut budget = 4 * order.len();
    for i in 1..order.len() {
        let moving = order[i];
        let value = size(moving);
        let mut j = i;
        while j > 0 && size(order[j - 1]) < value {
            order[j] = order[j - 1];
            j -= 1;
        }
        order[j] = moving;
        budget = budget.saturating_sub(i - j);
        if budget == 0 {
            order.sort_unstable_by(|&a, &b| size(b).total_cmp(&size(a)).then(a.cmp(&b)));
            return;
        }
    }
}
