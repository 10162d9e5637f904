//! Consistency checks for sums that are loaded from a file.

use fenchel_optim::model::Saved;

use super::{Content, SliceMoments, check_edges};

impl Saved for SliceMoments {
    const KIND: &'static str = "moments-slice-sums";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        check_edges(&self.edges).map_err(|error| error.to_string())?;
        let (h, d) = (self.edges.len() + 1, self.sums.ncols());
        let sizes = h > 1
            && d > 0
            && self.counts.len() == h
            && self.masses.len() == h
            && self.sums.nrows() == h
            && self.outer.len() == h
            && self.outer.iter().all(|outer| outer.dim() == (d, d))
            && self.shift.as_ref().is_none_or(|shift| shift.len() == d);
        if !sizes {
            return Err(format!("the parts do not fit {h} slices and {d} columns"));
        }
        let numbers = self.sums.iter().chain(self.outer.iter().flatten());
        let numbers = numbers.chain(self.shift.iter().flatten()).chain(&self.masses);
        if !numbers.into_iter().all(|v| v.is_finite()) {
            return Err("not all numbers are finite".into());
        }
        // Larger numbers have no exact mass, and their sum might overflow.
        const MOST: usize = 1 << 53;
        let total = self.counts.iter().fold(0, |sum: usize, &count| sum.saturating_add(count));
        if total > MOST {
            return Err(format!("{total} samples; expected at most 2^53"));
        }
        for (h, (&count, &mass)) in self.counts.iter().zip(&self.masses).enumerate() {
            let fits = if self.weighted { mass >= 0.0 } else { mass == count as f64 };
            if !fits || (count == 0) != (mass == 0.0) {
                return Err(format!("slice {h} has {count} samples of mass {mass}"));
            }
        }
        if self.content.is_some() != self.shift.is_some()
            || (self.content.is_none() && self.counts.iter().any(|&c| c > 0))
        {
            return Err("it is not said whether these are features or scores".into());
        }
        if self.content == Some(Content::Scores) && self.shift.iter().flatten().any(|&s| s != 0.0) {
            return Err("sums of scores must be around 0".into());
        }
        Ok(())
    }
}
