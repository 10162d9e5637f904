//! This module converts numbers to text: rounded for people, exact for files.
//!
//! JSON has no NaN and no infinity, but a method that diverges produces them. [`Exact`] stores them as the strings `"NaN"`,
//! `"inf"` and `"-inf"`. So every stored outcome can be read back.

#[cfg(feature = "serde")]
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Formats a number for people. Integers below 1e7 are written in full. Other numbers have four significant digits. Numbers
/// below 1e-3 and large numbers are in scientific notation.
///
/// ```
/// use fenchel_plot::number::short;
/// assert_eq!(short(49_749.0), "49749");
/// assert_eq!(short(0.123_456), "0.1235");
/// assert_eq!(short(0.000_012_345), "1.234e-5");
/// ```
pub fn short(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        exact(value)
    } else if value.fract() == 0.0 && size < 1e7 {
        format!("{}", value as i64)
    } else if (1e-3..1e6).contains(&size) {
        let decimals = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
        trimmed(format!("{value:.decimals$}"))
    } else {
        scientific(value)
    }
}

/// A finite number in scientific notation with up to four significant digits: `1e-6`, `2.5e7`.
pub fn scientific(value: f64) -> String {
    let text = format!("{value:.3e}");
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{}e{exponent}", trimmed(digits.into())),
        None => text,
    }
}

/// Formats a number for a picture: two decimals below 10, and otherwise as [`short`].
pub fn two(value: f64) -> String {
    if value.abs() < 10.0 && value.abs() >= 0.005 && value.fract() != 0.0 {
        format!("{value:.2}")
    } else {
        short(value)
    }
}

/// Formats a number for files. The result is the shortest text that reads back as the same number, or `NaN`, `inf`, `-inf`.
///
/// ```
/// use fenchel_plot::number::exact;
/// assert_eq!(exact(0.1 + 0.2), "0.30000000000000004");
/// assert_eq!(exact(-1e-300), "-1e-300");
/// assert_eq!(exact(7.0), "7");
/// ```
pub fn exact(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn trimmed(text: String) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(feature = "serde")]
/// A number that can be stored as JSON and read back, even if it is NaN or infinite.
#[derive(Debug, Clone, Copy)]
pub struct Exact(pub f64);

#[cfg(feature = "serde")]
impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() { to.serialize_f64(self.0) } else { to.serialize_str(&exact(self.0)) }
    }
}

#[cfg(feature = "serde")]
impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Number(f64),
            Text(String),
        }
        match Stored::deserialize(from)? {
            Stored::Number(value) => Ok(Exact(value)),
            Stored::Text(text) => match text.as_str() {
                "NaN" => Ok(Exact(f64::NAN)),
                "inf" => Ok(Exact(f64::INFINITY)),
                "-inf" => Ok(Exact(f64::NEG_INFINITY)),
                _ => Err(serde::de::Error::custom(format!("`{text}` is not a number"))),
            },
        }
    }
}

/// Functions for `#[serde(with = "..")]` on a number.
#[cfg(feature = "serde")]
pub mod one {
    use super::{Deserialize, Deserializer, Exact, Serialize, Serializer};

    /// Writes the number or numbers.
    ///
    /// # Errors
    /// Those of the serialiser.
    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        Exact(*value).serialize(to)
    }

    /// Reads the number or numbers.
    ///
    /// # Errors
    /// Those of the deserialiser.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Exact::deserialize(from).map(|e| e.0)
    }
}

/// Functions for `#[serde(with = "..")]` on the points of a curve.
#[cfg(feature = "serde")]
pub mod pairs {
    use super::{Deserialize, Deserializer, Exact, Serializer};

    /// Writes the number or numbers.
    ///
    /// # Errors
    /// Those of the serialiser.
    pub fn serialize<S: Serializer>(pairs: &[(f64, f64)], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(pairs.iter().map(|&(x, y)| (Exact(x), Exact(y))))
    }

    /// Reads the number or numbers.
    ///
    /// # Errors
    /// Those of the deserialiser.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(f64, f64)>, D::Error> {
        let pairs = Vec::<(Exact, Exact)>::deserialize(from)?;
        Ok(pairs.into_iter().map(|(x, y)| (x.0, y.0)).collect())
    }
}

#[cfg(test)]
#[cfg(feature = "serde")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_numbers_keep_four_digits() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (-12.0, "-12"),
            (1_234_567.0, "1234567"),
            (12_345_678.0, "1.235e7"),
            (99.999_9, "100"),
            (1.5, "1.5"),
            (2.345_678, "2.346"),
            (1e-8, "1e-8"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (value, expected) in cases {
            assert_eq!(short(value), expected, "{value}");
        }
    }

    proptest! {
        #[test]
        fn json_returns_the_same_bits(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            let text = serde_json::to_string(&Exact(value)).unwrap();
            let Exact(back) = serde_json::from_str(&text).unwrap();
            prop_assert!(back == value || back.is_nan() && value.is_nan(), "{value} -> {text} -> {back}");
        }

        #[test]
        fn exact_text_reads_back(value in any::<f64>()) {
            prop_assert_eq!(exact(value).parse::<f64>().unwrap(), value);
        }
    }
}
