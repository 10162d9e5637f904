//! Counts of comparisons in the sweeps.

use std::collections::BTreeMap;

/// How often a function was compared, and how far it was off at worst, relative to the value and beyond the rounding of what it was
/// given.
#[derive(Default)]
struct Count {
    members: u64,
    worst: f64,
    off: u64,
    example: String,
}

#[derive(Default)]
pub(super) struct Counts(BTreeMap<(String, &'static str), Count>);

impl Counts {
    /// Judges `found` by a second value that is known up to `allowed`.
    pub(super) fn judge(
        &mut self,
        family: &str,
        what: &'static str,
        (found, expected, allowed): (f64, f64, f64),
        member: &dyn std::fmt::Debug,
    ) {
        let count = self.0.entry((family.to_owned(), what)).or_default();
        count.members += 1;
        // Below 1e-290 numbers have fewer digits.
        let beyond = (found - expected).abs() - allowed - 1e-300;
        let error = if found == expected || beyond <= 0.0 { 0.0 } else { beyond / expected.abs() };
        if error > count.worst || error.is_nan() {
            count.worst = error;
            count.example =
                format!("{member:?}: {found:e}, not {expected:e} (allowed {allowed:e})");
        }
        count.off += u64::from(!(error <= 1e-10));
    }

    pub(super) fn close(self, print: bool) {
        let mut off = String::new();
        for ((family, what), count) in self.0 {
            let Count { members, worst, off: wrong, example } = count;
            if print {
                println!("{family:44} {what:12} {members:8} worst {worst:.1e}, off {wrong}");
            }
            if wrong > 0 {
                off += &format!("{family} {what}: {wrong} of {members}, {example}\n");
            }
        }
        assert!(off.is_empty(), "{off}");
    }
}
