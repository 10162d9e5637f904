//! Terms that rest while they hardly move.
//!
//! Most dual variables are soon where they belong: those of terms that are fitted well. Visiting them as often as the others
//! is what a pass of coordinate ascent is mostly spent on. A term that is offered a step declines while what it would move by,
//! at the rate of its last visits, is less than the mean over all terms; it declines a few times in a row at most. That is
//! shrinking (Hsieh et al., ICML 2008), not by bounds, which smooth losses do not reach, but by the stale residues that also
//! adaptive sampling goes by (Le Priol, Piche and Lacoste-Julien, 2018), and nothing needs to be undone at the end.

/// In the place of a number of offers declined: the term has not been visited yet.
const NEVER: u8 = u8::MAX;

/// Which terms rest, and until when.
#[derive(Debug, Clone)]
pub(super) struct Rest {
    /// Offers that a term may decline in a row.
    longest: u8,
    /// How far each dual variable moved at its last visit, over the offers since the one before.
    rates: Vec<f64>,
    /// Their sum.
    total: f64,
    /// Offers that each term has declined since its last visit.
    declined: Vec<u8>,
}

impl Rest {
    pub(super) fn new(n: usize, longest: u8) -> Self {
        let longest = longest.min(NEVER - 1);
        Rest { longest, rates: vec![0.0; n], total: 0.0, declined: vec![NEVER; n] }
    }

    /// Whether term `j` declines the offer of a step.
    #[inline]
    pub(super) fn declines(&mut self, j: usize) -> bool {
        let declined = self.declined[j];
        let expected = self.rates[j] * (f64::from(declined) + 1.0);
        // No branch: nobody can guess which way it goes.
        let little = expected * (self.rates.len() as f64) < self.total;
        let rests = little & (declined < self.longest);
        self.declined[j] = declined + u8::from(rests);
        rests
    }

    /// Term `j` was visited and has moved by so much.
    #[inline]
    pub(super) fn visited(&mut self, j: usize, by: f64) {
        let offers =
            if self.declined[j] == NEVER { 1.0 } else { f64::from(self.declined[j]) + 1.0 };
        let rate = by.abs() / offers;
        self.total += rate - self.rates[j];
        self.rates[j] = rate;
        self.declined[j] = 0;
    }

    /// Sums the rates again, without the rounding of many small updates.
    pub(super) fn refresh(&mut self) {
        self.total = self.rates.iter().sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_below_the_mean_rest_until_they_would_have_moved_by_it_or_have_rested_enough() {
        let mut rest = Rest::new(4, 3);
        // Nobody rests before the first visit.
        assert!((0..4).all(|j| !rest.declines(j)));
        for (j, by) in [4.0, -1.2, 0.5, 0.1].into_iter().enumerate() {
            rest.visited(j, by);
        }
        // The mean is 1.45: the second term is due at the second offer, the third at the third, the last at none.
        let offers: Vec<Vec<bool>> =
            (0..4).map(|_| (0..4).map(|j| rest.declines(j)).collect()).collect();
        assert_eq!(offers[0], [false, true, true, true]);
        assert_eq!(offers[1], [false, false, true, true]);
        assert_eq!(offers[2], [false, false, false, true]);
        assert_eq!(offers[3], [false, false, false, false]);
        // A visit after two offers that were declined moves by the rate of three.
        rest.visited(2, 0.9);
        let expected = 4.0 + 1.2 + 0.3 + 0.1;
        assert!((rest.total - expected).abs() < 1e-12);
        rest.refresh();
        assert!((rest.total - expected).abs() < 1e-15 * expected);
    }

    #[test]
    fn where_nothing_moves_everything_is_visited() {
        let mut rest = Rest::new(2, 3);
        (0..2).for_each(|j| rest.visited(j, 0.0));
        assert!(!rest.declines(0) && !rest.declines(1));
    }
}
