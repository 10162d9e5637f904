//! Numbers in files. JSON has no NaN and no infinity, but a method that diverges produces them. [`Exact`] stores them as the strings
//! `"NaN"`, `"inf"` and `"-inf"`. So every stored picture can be read back.

use fenchel_linalg::text::exact;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number that can be stored as JSON and read back, even if it is NaN or infinite.
#[derive(Debug, Clone, Copy)]
pub struct Exact(pub f64);

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() { to.serialize_f64(self.0) } else { to.serialize_str(&exact(self.0)) }
    }
}

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
mod tests {
    use proptest::prelude::*;

    use super::*;

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
