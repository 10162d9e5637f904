//! This module maps numbers to positions on an axis, and chooses the ticks of the axis.
//!
//! All computations use *axis units*. On a linear axis, the axis unit of a value is the value. On a logarithmic axis, it is the
//! decimal logarithm of the value. The range of an axis is an interval in axis units. The position of a value is a number:
//! 0 at the lower end of the range, 1 at the upper end, and linear in axis units between them.

use fenchel_linalg::text::{fixed, scientific, short};

use crate::{Axis, Scale};

/// The largest number of decades of a logarithmic axis that is fitted to data. A sum of two `f64` cannot resolve so many decades.
/// The limit is low enough that a single value of 1e-300 does not compress all other curves.
const DECADES: f64 = 20.0;

/// A tick: its position, and its label if it is a major tick.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) place: f64,
    pub(crate) label: Option<String>,
}

/// The position of a value on an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Place {
    /// The position as a fraction of the range. It is below 0 or above 1 for a value outside of the range.
    At(f64),
    /// The value is not positive and the axis is logarithmic. The value is below every possible range.
    Floor,
    /// The value is NaN or infinite, and has no position.
    Nowhere,
}

/// The interval that an axis shows, in axis units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range<'a> {
    axis: &'a Axis,
    low: f64,
    high: f64,
    pub(crate) falling: bool,
}

impl<'a> Range<'a> {
    /// The range given by the axis. If there is none, the range of the values with a small margin.
    pub(crate) fn fit(axis: &'a Axis, values: impl Iterator<Item = f64>) -> Range<'a> {
        let (scale, falling) = (axis.scale, axis.falling);
        if !axis.names.is_empty() {
            return Range { axis, low: -0.5, high: axis.names.len() as f64 - 0.5, falling };
        }
        let usable = |v: &f64| v.is_finite() && (scale == Scale::Linear || *v > 0.0);
        if let Some((a, b)) = axis.limits
            && usable(&a)
            && usable(&b)
            && a != b
        {
            return Range {
                axis,
                low: unit(scale, a.min(b)),
                high: unit(scale, a.max(b)),
                falling,
            };
        }
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for v in values.filter(usable).map(|v| unit(scale, v)) {
            low = low.min(v);
            high = high.max(v);
        }
        if low > high {
            // Nothing to show: any range will do.
            (low, high) = (0.0, 1.0);
        }
        match scale {
            Scale::Log => {
                low = low.max(high - DECADES);
                if high - low > 2.5 {
                    // To whole decades where they are near.
                    let (down, up) = ((low + 1e-9).floor(), (high - 1e-9).ceil());
                    let air = 0.02 * (high - low);
                    low = if low - down < 0.35 { down } else { low - air };
                    high = if up - high < 0.35 { up } else { high + air };
                } else {
                    let air = (0.05 * (high - low)).max(0.05);
                    (low, high) = (low - air, high + air);
                }
            }
            Scale::Linear if low == high => {
                let air = if low == 0.0 { 1.0 } else { 0.1 * low.abs() };
                (low, high) = (low - air, high + air);
            }
            Scale::Linear => {
                // An axis that starts at 0 (passes, errors) should show that it does.
                let air = 0.03 * high - 0.03 * low;
                low = if low == 0.0 { 0.0 } else { (low - air).max(f64::MIN) };
                high = if high == 0.0 { 0.0 } else { (high + air).min(f64::MAX) };
            }
        }
        Range { axis, low, high, falling }
    }

    /// The position of a value.
    pub(crate) fn place(&self, value: f64) -> Place {
        if !value.is_finite() {
            Place::Nowhere
        } else if self.axis.scale == Scale::Log && value <= 0.0 {
            Place::Floor
        } else {
            Place::At(self.fraction(unit(self.axis.scale, value)))
        }
    }

    /// Half the length of the axis, in axis units.
    pub(crate) fn half_length(&self) -> f64 {
        // Halves first: the difference of two huge numbers may overflow.
        0.5 * self.high - 0.5 * self.low
    }

    fn fraction(&self, units: f64) -> f64 {
        let share = (0.5 * units - 0.5 * self.low) / self.half_length();
        if self.falling { 1.0 - share } else { share }
    }

    /// The ticks of an axis of a length in pixels whose labels do not touch. `extent` is the length that a label needs.
    pub(crate) fn ticks_within(&self, length: f64, extent: impl Fn(&str) -> f64) -> Vec<Tick> {
        // Two labels are apart if half of each and some air fit between them.
        let apart = |a: &Tick, b: &Tick| match (&a.label, &b.label) {
            (Some(s), Some(t)) => {
                (a.place - b.place).abs() * length >= 0.5 * (extent(s) + extent(t)) + 8.0
            }
            _ => true,
        };
        let most = ((length / 55.0) as usize).clamp(2, 8);
        for wanted in (3..=most).rev() {
            let ticks = self.ticks(wanted);
            let labelled: Vec<&Tick> = ticks.iter().filter(|t| t.label.is_some()).collect();
            if labelled.windows(2).all(|pair| apart(pair[0], pair[1])) {
                return ticks;
            }
        }
        let mut ticks = self.ticks(2);
        let mut last: Option<usize> = None;
        for k in 0..ticks.len() {
            if ticks[k].label.is_some() {
                match last {
                    Some(l) if !apart(&ticks[l], &ticks[k]) => ticks[k].label = None,
                    _ => last = Some(k),
                }
            }
        }
        ticks
    }

    /// The ticks of the axis: about `wanted` major ticks with labels, and minor ticks without labels.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<Tick> {
        match self.axis.scale {
            _ if !self.axis.names.is_empty() => {
                let tick = |(k, name): (usize, &String)| Tick {
                    place: self.fraction(k as f64),
                    label: (!name.is_empty()).then(|| name.clone()),
                };
                self.axis.names.iter().enumerate().map(tick).collect()
            }
            Scale::Linear => self.linear_ticks(wanted),
            Scale::Log if self.high - self.low >= 2.5 => self.decade_ticks(wanted),
            Scale::Log => self.ticks_within_decades(wanted),
        }
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<Tick> {
        let values = round_values(self.low, self.high, wanted);
        let labels = linear_labels(&values);
        let places = values.into_iter().map(|v| self.fraction(v));
        places.zip(labels).map(|(place, label)| Tick { place, label: Some(label) }).collect()
    }

    fn decade_ticks(&self, wanted: usize) -> Vec<Tick> {
        let (first, last) = ((self.low - 1e-9).ceil() as i32, (self.high + 1e-9).floor() as i32);
        let every = ((last - first + 1) as usize).div_ceil(wanted.max(2)) as i32;
        // Few decades around 1 read better as plain numbers.
        let plain = first >= -3 && last <= 5;
        (first..=last)
            .map(|k| {
                let label = match k {
                    _ if k.rem_euclid(every) != 0 => None,
                    _ if plain => Some(plain_number(10_f64.powi(k))),
                    0 => Some("1".into()),
                    _ => Some(format!("1e{k}")),
                };
                Tick { place: self.fraction(f64::from(k)), label }
            })
            .collect()
    }

    /// The ticks of a range of less than two and a half decades: 1, 2 and 5 times each power of ten, or equally spaced ticks if
    /// these would be too few.
    fn ticks_within_decades(&self, wanted: usize) -> Vec<Tick> {
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let inside = |v: &f64| (self.low..=self.high).contains(&v.log10());
        let dense = 3.0 * (self.high - self.low) <= wanted as f64 + 1.0;
        let multiples: &[f64] = if dense { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let mut values: Vec<f64> = (first..=last)
            .flat_map(|k| multiples.iter().map(move |m| m * 10_f64.powi(k)))
            .filter(inside)
            .collect();
        if values.len() < 2 || dense && values.len() < 3 {
            values = round_values(10_f64.powf(self.low), 10_f64.powf(self.high), wanted);
            values.retain(|v| *v > 0.0 && inside(v));
        }
        let plain = values.iter().all(|v| (1e-4 * (1.0 - 1e-9)..=1e6).contains(v));
        let label = |v: f64| if plain { plain_number(v) } else { short(v) };
        let tick = |v: &f64| Tick { place: self.fraction(v.log10()), label: Some(label(*v)) };
        values.iter().map(tick).collect()
    }
}

/// A number without an exponent, with as many decimals as three digits need.
fn plain_number(value: f64) -> String {
    let decimals = (2.0 - value.log10().floor()).clamp(0.0, 8.0) as usize;
    let text = fixed(value, decimals);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn unit(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Linear => value,
        Scale::Log => value.log10(),
    }
}

/// About `wanted` ticks within `[low, high]`. They are the multiples of a step of 1, 2 or 5 times a power of ten.
fn round_values(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let rough = (high - low) / wanted.max(1) as f64;
    let power = 10_f64.powf(rough.log10().floor());
    if !(power > 0.0 && power.is_finite()) {
        return Vec::new();
    }
    // The multiple that is nearest in ratio.
    let multiple = match rough / power {
        m if m < 2.0_f64.sqrt() => 1.0,
        m if m < 10.0_f64.sqrt() => 2.0,
        m if m < 50.0_f64.sqrt() => 5.0,
        _ => 10.0,
    };
    let step = multiple * power;
    let tolerance = 1e-9 * step;
    let first = ((low - tolerance) / step).ceil();
    (0..=2 * wanted.max(2))
        .map(|k| (first + k as f64) * step)
        .take_while(|v| *v <= high + tolerance)
        .collect()
}

/// The labels of equally spaced values, with as many decimals as the spacing needs.
fn linear_labels(values: &[f64]) -> Vec<String> {
    let largest = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let step = if values.len() > 1 { values[1] - values[0] } else { largest };
    if !(1e-3..1e6).contains(&largest) {
        let label = |v: &f64| if *v == 0.0 { short(*v) } else { scientific(*v) };
        return values.iter().map(label).collect();
    }
    let decimals = (-(step.log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize;
    values.iter().map(|v| fixed((v / step).round() * step, decimals)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_a_log_axis_do_not_touch() {
        for (low, high) in [(2500.0, 41_000.0), (0.0011, 0.3), (1.0, 9.0), (1e-9, 1e9)] {
            for length in [120.0, 240.0, 520.0] {
                let axis = Axis::log("n").limits(low, high);
                let range = Range::fit(&axis, std::iter::empty());
                let ticks = range.ticks_within(length, |text| 7.0 * text.len() as f64);
                let shown: Vec<&Tick> = ticks.iter().filter(|t| t.label.is_some()).collect();
                for pair in shown.windows(2) {
                    let half = |t: &Tick| 3.5 * t.label.as_ref().map_or(0.0, |l| l.len() as f64);
                    let apart = (pair[1].place - pair[0].place) * length;
                    assert!(apart >= half(pair[0]) + half(pair[1]), "{low} to {high}: {ticks:?}");
                }
                assert!(!shown.is_empty());
            }
        }
    }

    fn labels(axis: &Axis, values: &[f64], wanted: usize) -> Vec<String> {
        let range = Range::fit(axis, values.iter().copied());
        range.ticks(wanted).into_iter().filter_map(|t| t.label).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        let (linear, log) = (Axis::linear("x"), Axis::log("y"));
        assert_eq!(labels(&linear, &[0.0, 30.0], 6), ["0", "5", "10", "15", "20", "25", "30"]);
        assert_eq!(labels(&linear, &[-0.2, 0.25], 5), ["-0.2", "-0.1", "0.0", "0.1", "0.2"]);
        assert_eq!(labels(&linear, &[0.0, 4e6], 4), ["0", "1e6", "2e6", "3e6", "4e6"]);
        assert_eq!(labels(&log, &[1e-6, 1.0], 4), ["1e-6", "1e-4", "1e-2", "1"]);
        assert_eq!(labels(&log, &[0.1, 900.0], 8), ["0.1", "1", "10", "100", "1000"]);
        assert_eq!(labels(&log, &[1e-3, 1.0], 8), ["0.001", "0.01", "0.1", "1"]);
        assert_eq!(labels(&log, &[4e-4, 0.003], 8), ["0.0005", "0.001", "0.002"]);
        assert_eq!(labels(&log, &[1.0, 9.0], 6), ["1", "2", "5", "10"]);
        assert_eq!(labels(&log, &[0.24, 5.0], 7), ["0.5", "1", "2", "5"]);
        let two = Axis::log("y").limits(0.1, 10.0);
        assert_eq!(labels(&two, &[], 7), ["0.1", "0.2", "0.5", "1", "2", "5", "10"]);
        assert_eq!(labels(&log, &[0.31, 0.33], 4), ["0.28", "0.3", "0.32", "0.34", "0.36"]);
    }

    #[test]
    fn zeros_and_negatives_do_not_reach_the_range_of_a_log_axis() {
        let values = [1.0, 1e-3, 0.0, -4.0, f64::NAN, f64::INFINITY];
        let axis = Axis::log("gap");
        let range = Range::fit(&axis, values.into_iter());
        assert_eq!((range.low, range.high), (-3.0, 0.0));
        assert_eq!(range.place(0.0), Place::Floor);
        assert_eq!(range.place(-4.0), Place::Floor);
        assert_eq!(range.place(f64::NAN), Place::Nowhere);
        assert_eq!(range.place(1.0), Place::At(1.0));
    }

    #[test]
    fn a_stray_tiny_value_does_not_flatten_the_rest() {
        let axis = Axis::log("gap");
        let range = Range::fit(&axis, [1.0, 1e-300].into_iter());
        assert_eq!((range.low, range.high), (-20.0, 0.0));
    }

    #[test]
    fn every_axis_has_a_range_of_positive_width() {
        let cases: [&[f64]; 7] = [
            &[],
            &[0.0],
            &[3.0, 3.0],
            &[f64::NAN],
            &[-1.0],
            &[1e308, -1e308],
            &[5e-324, f64::MIN_POSITIVE],
        ];
        for axis in [Axis::linear("x"), Axis::log("x"), Axis::log("x").limits(0.0, 1.0)] {
            for values in cases {
                let range = Range::fit(&axis, values.iter().copied());
                assert!(range.high > range.low, "{values:?}: {range:?}");
                let ticks = range.ticks(6);
                assert!(ticks.iter().all(|t| t.place.is_finite()), "{values:?}: {ticks:?}");
                assert!(ticks.len() < 40, "{values:?}: {ticks:?}");
            }
        }
    }
}
