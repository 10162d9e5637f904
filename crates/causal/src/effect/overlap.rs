//! How alike treated and untreated people are.

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

/// Whether treated and untreated people are alike enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// Smallest and largest propensity among the treated.
    pub treated: (f64, f64),
    /// The same among the others.
    pub control: (f64, f64),
    /// The effective number of treated people after weighting, `(sum w)^2 / sum w^2`.
    pub effective_treated: f64,
    /// The same of the others.
    pub effective_control: f64,
    /// The share of people with a propensity below 0.05 or above 0.95.
    pub extreme: f64,
    /// The largest standardised difference of means of a column between the arms, before weighting.
    pub imbalance: f64,
    /// The same after weighting; above 0.1 is commonly taken as a warning.
    pub imbalance_weighted: f64,
    /// The standardised difference of means of every column, treated minus others, before and after weighting; a column of one
    /// value has 0. Empty in files of former versions.
    #[serde(default)]
    pub balance: Vec<(f64, f64)>,
}

impl Overlap {
    /// What is wrong with diagnostics of so many people that were read from a file.
    pub(super) fn check(&self, people: usize) -> Result<(), String> {
        let within = |name: &str, value: f64, low: f64, high: f64| match value {
            v if v >= low && v <= high => Ok(()),
            v => Err(format!("overlap: {name} is {v}; expected a number from {low} to {high}")),
        };
        for (name, (low, high)) in [("treated", self.treated), ("control", self.control)] {
            within(name, low, 0.0, 1.0)?;
            within(name, high, low, 1.0)?;
        }
        // Equal weights of all people, up to rounding.
        let most = people as f64 * (1.0 + 1e-9);
        within("effective_treated", self.effective_treated, 1.0 - 1e-9, most)?;
        within("effective_control", self.effective_control, 1.0 - 1e-9, most)?;
        within("extreme", self.extreme, 0.0, 1.0 + 1e-9)?;
        within("imbalance", self.imbalance, 0.0, f64::MAX)?;
        within("imbalance_weighted", self.imbalance_weighted, 0.0, f64::MAX)
    }
}

pub(super) fn overlap(
    x: &Array2<f64>,
    treated: &[bool],
    propensity: &Array1<f64>,
    people: &[f64],
) -> Overlap {
    let pick = |on: bool| (0..treated.len()).filter(move |&i| treated[i] == on && people[i] > 0.0);
    let range = |on: bool| {
        pick(on).map(|i| propensity[i]).fold((1.0_f64, 0.0_f64), |(a, b), p| (a.min(p), b.max(p)))
    };
    let own = |i: usize| if treated[i] { propensity[i] } else { 1.0 - propensity[i] };
    // Only ratios of weights count. Relative to the rarest person of an arm they are at most 1, and a propensity of 0 is
    // a weight beyond all others.
    let rarest = |on: bool| pick(on).map(own).fold(1.0_f64, f64::min).max(f64::MIN_POSITIVE);
    let smallest = [rarest(false), rarest(true)];
    let weight = |i: usize| smallest[usize::from(treated[i])] / own(i).max(f64::MIN_POSITIVE);
    let effective = |on: bool| {
        let add = |(s, q): (f64, f64), i: usize| {
            let w = people[i] * weight(i);
            (s + w, q + w * w)
        };
        let (sum, square) = pick(on).fold((0.0, 0.0), add);
        sum * sum / square
    };
    let difference = |weighted: bool| {
        let mean = |j: usize, on: bool| {
            let w = |i: usize| people[i] * if weighted { weight(i) } else { 1.0 };
            let (sum, all) =
                pick(on).fold((0.0, 0.0), |(s, a), i| (s + w(i) * x[(i, j)], a + w(i)));
            sum / all
        };
        // Columns have variance 1 over everybody.
        (0..x.ncols()).map(|j| mean(j, true) - mean(j, false)).collect::<Vec<f64>>()
    };
    let (plain, weighted) = (difference(false), difference(true));
    let largest = |list: &[f64]| list.iter().fold(0.0, |m: f64, d| m.max(d.abs()));
    let outside = |p: f64| !(0.05..=0.95).contains(&p);
    let extreme: f64 =
        (0..treated.len()).filter(|&i| outside(propensity[i])).map(|i| people[i]).sum();
    Overlap {
        treated: range(true),
        control: range(false),
        effective_treated: effective(true),
        effective_control: effective(false),
        extreme: extreme / people.iter().sum::<f64>(),
        imbalance: largest(&plain),
        imbalance_weighted: largest(&weighted),
        balance: plain.into_iter().zip(weighted).collect(),
    }
}
