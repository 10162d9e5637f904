//! The best lower bound, the best point, and the detection of divergence.

use super::Certificate;

/// A run may have diverged if it is worse than its best certificate by more than this many times its scale.
const FAR: f64 = 10.0;
/// It has diverged if it has also become worse this many times in a row.
const RISES: u32 = 3;
/// Relative change of an objective that rounding of a long sum may cause.
const ROUNDING: f64 = 1e-10;

/// A run stalls if this many certificates in a row contradict themselves: more steps do not make its numbers more exact.
const CONTRADICTIONS: u32 = 3;

/// The number by which certificates are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rank {
    /// Whether the number is an objective, which has no natural zero, or a bound, which has.
    objective: bool,
    /// Smaller is better. The true number is between `low` and `high`.
    low: f64,
    high: f64,
}

impl Rank {
    fn of(certificate: &Certificate) -> Option<Rank> {
        if let Some(objective) = certificate.objective() {
            let rank = Rank { objective: true, low: objective, high: objective };
            return objective.is_finite().then_some(rank);
        }
        let Certificate::Residual { norm, error, .. } = *certificate else { return None };
        let (low, high) = (norm - error, norm + error);
        high.is_finite().then_some(Rank { objective: false, low, high })
    }
}

/// The certificates of a run so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Guard {
    lower_bound: Option<f64>,
    first: Option<Rank>,
    /// The smallest upper end so far.
    best: f64,
    last: Option<Rank>,
    /// The scale of the run: the largest of the first gap, the first change and the decrease so far.
    scale: f64,
    rises: u32,
    contradictions: u32,
    lost: bool,
}

impl Guard {
    /// Records a certificate. Returns true if the point is the best so far.
    pub(super) fn see(&mut self, certificate: &Certificate) -> bool {
        let mut possible = 0.0;
        // Far from the optimum rounding may lift a bound above it: later certificates take only what is sure.
        if let Some(sure) = certificate.sure_bound() {
            self.lower_bound = Some(self.lower_bound.map_or(sure, |l| l.max(sure)));
            possible = certificate.value();
        }
        let rank = Rank::of(certificate);
        let Some(first) = self.first else {
            // Before anything is known there is nothing to lose.
            (self.first, self.last) = (rank, rank);
            let Some(rank) = rank else { return false };
            self.best = rank.high;
            self.scale = if rank.objective { possible } else { rank.high };
            return true;
        };
        let same_kind = |rank: &Rank| rank.objective == first.objective;
        let Some((rank, last)) = rank.filter(same_kind).zip(self.last) else {
            self.lost = true;
            return false;
        };
        if self.last == self.first {
            // The first change.
            self.scale = self.scale.max((rank.low - first.low).abs());
        }
        self.rises = if rank.low > last.high { self.rises + 1 } else { 0 };
        self.last = Some(rank);
        let better = rank.high < self.best;
        if better {
            self.best = rank.high;
            self.scale = self.scale.max(first.high - self.best);
        }
        better
    }

    /// The certificate with the best lower bound so far. A contradiction is no certificate.
    pub(super) fn with_lower_bound(&mut self, certificate: Certificate) -> Certificate {
        let merged = certificate.with_lower_bound(self.lower_bound.unwrap_or(f64::NEG_INFINITY));
        if !merged.contradicts() {
            self.contradictions = 0;
            return merged;
        }
        // An objective alone may belong to a point outside the domain, below any bound.
        self.contradictions += u32::from(matches!(certificate, Certificate::Gap { .. }));
        Certificate::Uncertified { objective: merged.objective() }
    }

    /// Whether the last certificates contradicted themselves, so that the run is at its working precision.
    pub(super) fn stalled(&self) -> bool {
        self.contradictions >= CONTRADICTIONS
    }

    /// Whether the last certificate showed a worse point than the best one.
    pub(super) fn worse_than_best(&self) -> bool {
        self.lost || self.last.is_some_and(|last| last.high > self.best)
    }

    /// Whether the number by which points are compared is no longer finite, or has exceeded its scale over several
    /// certificates.
    pub(super) fn diverged(&self) -> bool {
        let Some(last) = self.last else { return self.lost };
        let visible = ROUNDING * if last.objective { self.best.abs() } else { 0.0 };
        let far = last.low - self.best > FAR * self.scale.max(visible);
        self.lost || (far && self.rises >= RISES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The certificate at which a run is called diverged.
    fn ends(certificates: impl IntoIterator<Item = Certificate>) -> Option<usize> {
        let mut guard = Guard::default();
        certificates.into_iter().position(|certificate| {
            guard.see(&certificate);
            guard.diverged()
        })
    }

    fn known(values: &[f64], shift: f64) -> Option<usize> {
        ends(values.iter().map(|v| Certificate::Uncertified { objective: Some(v + shift) }))
    }

    fn residual(norm: f64, error: f64) -> Certificate {
        Certificate::Residual { objective: None, norm, error, scale: None }
    }

    #[test]
    fn growth_without_end_is_divergence_wherever_zero_is() {
        for shift in [0.0, -1.0, 5.0, -1e4, 1e4] {
            // From the start, and after a descent.
            let growth: Vec<f64> = (0..40).map(|k| 2f64.powi(k) - 1.0).collect();
            assert_eq!(known(&growth, shift), Some(4), "{shift}");
            let later: Vec<f64> = [2.0, 1.0].into_iter().chain(growth).collect();
            assert_eq!(known(&later, shift), Some(7), "{shift}");
            // A tenth more from one to the next.
            let slow: Vec<f64> = (0..100).map(|k| 1.1f64.powi(k)).collect();
            assert_eq!(known(&slow, shift), Some(8), "{shift}");
        }
    }

    #[test]
    fn no_other_run_is_called_diverged() {
        for shift in [0.0, -1.0, 5.0, -1e4] {
            // A log-det objective falls from 0 to below.
            assert_eq!(known(&[0.0, -3.0, -7.0, -9.0, -9.5], shift), None);
            // One that begins at almost nothing rises to what it must be, as that of a method that begins outside.
            assert_eq!(known(&[1e-3, 0.5, 0.8, 0.9, 0.95, 0.97, 0.98], shift), None);
            // Ups and downs about the optimum, where a warm start began.
            assert_eq!(known(&[0.0, 1e-4, 2e-4, 3e-4, 2e-4, 3e-4, 4e-4, 5e-4], shift), None);
            // Much higher, but not for good.
            assert_eq!(known(&[1.0, 0.5, 20.0, 30.0, 15.0, 20.0, 30.0, 5.0], shift), None);
            // What an objective of this size cannot show.
            assert_eq!(known(&[1.0, 1.0, 1.0 + 1e-13, 1.0 + 2e-13, 1.0 + 9e-13], shift), None);
        }
    }

    /// The first gap bounds the possible decrease, so that an increase below it is not divergence.
    #[test]
    fn a_gap_gives_the_scale() {
        let gaps = |first: f64| {
            let rows = [0.0, 0.01, 3.0, 5.0, 7.0, 11.0].map(|v| v - 100.0);
            let bound = -100.0 - first;
            ends(rows.map(|objective| Certificate::gap(objective, bound)))
        };
        assert_eq!(gaps(0.0), Some(3));
        assert_eq!(gaps(1.0), Some(5));
        assert_eq!(gaps(2.0), None);
    }

    /// Without objectives, points are compared by their proved bounds. An increase within the error of the bounds is not
    /// divergence.
    #[test]
    fn residuals_are_compared_up_to_their_error() {
        let norms = [1.0, 4.0, 8.0, 12.0, 16.0];
        assert_eq!(ends(norms.map(|norm| residual(norm, 0.0))), None);
        let norms = [1.0, 2.0, 8.0, 12.0, 16.0];
        assert_eq!(ends(norms.map(|norm| residual(norm, 0.0))), Some(3));
        assert_eq!(ends(norms.map(|norm| residual(norm, 2.5))), None);
        let mut guard = Guard::default();
        // The smallest bound is the best, not the smallest norm.
        let certificates = [residual(2.0, 0.0), residual(1.0, 2.0), residual(1.5, 0.1)];
        assert_eq!(certificates.map(|certificate| guard.see(&certificate)), [true, false, true]);
        assert!(!guard.worse_than_best());
        guard.see(&residual(1.55, 0.1));
        assert!(guard.worse_than_best());
        assert_eq!(ends([residual(1.0, 0.0), residual(f64::INFINITY, 0.0)]), Some(1));
    }

    proptest! {
        /// A constant added to an objective changes nothing.
        #[test]
        fn where_zero_is_does_not_matter(
            steps in proptest::collection::vec((-8i32..9, 0u32..2), 1..30),
            shift in -100i32..100,
        ) {
            // Whole numbers, so that the shift is exact.
            let mut value = 0.0;
            let values: Vec<f64> = steps.iter().map(|(step, grow)| {
                value += f64::from(*step) * if *grow == 1 { 16.0 } else { 1.0 };
                value
            }).collect();
            prop_assert_eq!(known(&values, 0.0), known(&values, f64::from(shift)));
        }
    }
}
