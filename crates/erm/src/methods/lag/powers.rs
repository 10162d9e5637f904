//! The powers of a step that is delayed.

/// The powers `rho^m` and the sums `S_m = 1 + rho + ... + rho^{m-1}` of the affine step `rho x - step g`. If the step
/// size changes, it contains the products and sums since the last flush instead.
#[derive(Debug, Clone)]
pub struct Powers {
    pub(super) single: Single,
    l2: f64,
    /// `(rho^m, S_m)` for `m <= capacity`; empty if `rho = 1`, where they are `(1, m)`.
    table: Vec<(f64, f64)>,
    capacity: u32,
    /// The steps since the last flush, if they are not all the same.
    pub(super) list: Option<List>,
}

/// One step `prox(rho x - pull g, step)`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Single {
    /// Step of the method.
    pub(crate) step: f64,
    /// `shrink * (1 - step l2)`
    pub(super) rho: f64,
    /// `shrink * step`
    pub(super) drift: f64,
    /// The factor of the averaged gradient. It is the drift, except in a first pass over terms that are introduced
    /// one by one.
    pub(super) pull: f64,
}

impl Single {
    fn new(step: f64, l2: f64, shrink: f64, scale: f64) -> Self {
        let drift = shrink * step;
        Single { step, rho: shrink * (1.0 - step * l2), drift, pull: drift * scale }
    }
}

/// Steps that differ from each other. From step `a` to step `b`, the coordinate becomes `x_b = (C_b / C_a) x_a - g
/// C_b (S_b - S_a)`.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    steps: Vec<Single>,
    /// `C_k`, the product of the first `k` factors `rho`, and `S_k = sum_{i<k} pull_i / C_{i+1}`.
    marks: Vec<(f64, f64)>,
    /// Whether some step multiplies the averaged gradient by another factor than the regulariser's.
    uneven: bool,
}

impl List {
    fn clear(&mut self) {
        self.steps.clear();
        self.marks.clear();
        self.marks.push((1.0, 0.0));
        self.uneven = false;
    }
}

/// A list ends when the product of its factors is below this, because its inverse would lose digits: three of sixteen, by judgement.
const SMALLEST: f64 = 1e-3;

impl Powers {
    /// Tables for up to `capacity` delayed steps. `shrink` is the factor by which the regulariser multiplies every
    /// step.
    pub fn new(step: f64, l2: f64, shrink: f64, capacity: u32) -> Self {
        let single = Single::new(step, l2, shrink, 1.0);
        let rho = single.rho;
        let mut table = Vec::new();
        if rho != 1.0 {
            // ln_1p and exp_m1 keep 1 - rho^m accurate when step * l2 is tiny.
            let decay = shrink.ln() + (-step * l2).ln_1p();
            table = if rho > 0.0 {
                let at = |m| {
                    let exponent = f64::from(m) * decay;
                    (exponent.exp(), exponent.exp_m1() / decay.exp_m1())
                };
                (0..=capacity).map(at).collect()
            } else {
                let next = |&(power, sum): &(f64, f64)| Some((power * rho, sum + power));
                std::iter::successors(Some((1.0, 0.0)), next).take(capacity as usize + 1).collect()
            };
        }
        Powers { single, l2, table, capacity, list: None }
    }

    /// A list of steps that are reported one by one, up to `capacity` of them between two flushes.
    pub(crate) fn listed(l2: f64, capacity: u32) -> Self {
        let single = Single { step: f64::NAN, rho: 0.5, drift: 0.0, pull: 0.0 };
        let mut list = List::default();
        list.clear();
        Powers { single, l2, table: Vec::new(), capacity, list: Some(list) }
    }

    /// Records the step that was just made. It does nothing if all steps are the same. Requires `step l2 < 1`.
    #[inline(always)]
    pub(crate) fn push(&mut self, step: f64, shrink: f64, scale: f64) {
        if let Some(list) = &mut self.list {
            let single = Single::new(step, self.l2, shrink, scale);
            let (power, sum) = list.marks[list.steps.len()];
            let power = power * single.rho;
            list.marks.push((power, sum + single.pull / power));
            list.uneven |= scale != 1.0;
            list.steps.push(single);
        }
    }

    /// Clears the list, after all coordinates are up to date.
    pub(crate) fn clear(&mut self) {
        if let Some(list) = &mut self.list {
            list.clear();
        }
    }

    /// Whether all coordinates have to be brought up to date before the next step.
    #[inline(always)]
    pub(crate) fn full(&self, now: u32) -> bool {
        now >= self.capacity
            || self.list.as_ref().is_some_and(|list| list.marks[list.steps.len()].0 < SMALLEST)
    }

    /// The index of the first of the last `m` steps.
    #[inline(always)]
    pub(super) fn first_of(&self, m: u32) -> Single {
        match &self.list {
            None => self.single,
            Some(list) => list.steps[list.steps.len() - m as usize],
        }
    }

    /// Applies the last `m` steps one by one.
    pub(crate) fn follow(&self, m: u32, x: f64, step: impl Fn(f64, Single) -> f64) -> f64 {
        (0..m).fold(x, |x, k| step(x, self.first_of(m - k)))
    }

    /// Whether the closed forms of regularisers are valid. They are not for steps with different factors of the
    /// averaged gradient, nor for `rho <= 0` (a step size of at least `1 / l2`), where the path alternates in sign.
    #[inline(always)]
    pub(super) fn smooth(&self) -> bool {
        self.single.rho > 0.0 && !self.list.as_ref().is_some_and(|list| list.uneven)
    }

    /// Largest number of delayed steps.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// `(rho^m, S_m)`
    #[inline(always)]
    fn at(&self, m: u32) -> (f64, f64) {
        if self.single.rho == 1.0 { (1.0, f64::from(m)) } else { self.table[m as usize] }
    }

    /// `rho^m x - step g S_m`: `m` steps without a regulariser.
    #[inline(always)]
    pub(super) fn affine(&self, x: f64, g: f64, m: u32) -> f64 {
        self.affine_first(x, g, m, m)
    }

    /// Applies the first `k` of the last `m` steps, without a regulariser.
    #[inline(always)]
    pub(super) fn affine_first(&self, x: f64, g: f64, m: u32, k: u32) -> f64 {
        if let Some(list) = &self.list {
            let from = list.steps.len() - m as usize;
            let ((power, sum), (end, total)) = (list.marks[from], list.marks[from + k as usize]);
            return end / power * x - g * (end * (total - sum));
        }
        let (power, sum) = self.at(k);
        power * x - self.single.drift * g * sum
    }
}
