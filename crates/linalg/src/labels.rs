//! Class labels: a sorted list of the distinct labels, and integer codes `0..k` for them.
//!
//! Solvers work with codes, or with -1 and +1. Estimators encode the labels of their input and decode their predictions.
//!
//! ```
//! use fenchel_linalg::labels::Classes;
//!
//! let (classes, codes) = Classes::from_labels(&["cat", "ant", "cat", "bee"])?;
//! assert_eq!(codes, [2, 0, 2, 1]);
//! assert_eq!(classes.decode(1), Some(&"bee"));
//! assert_eq!(
//!     classes.encode(&["ant", "dog"]).unwrap_err().to_string(),
//!     "label of row 1 is \"dog\"; expected one of the 3 known classes"
//! );
//! # Ok::<(), fenchel_linalg::Invalid>(())
//! ```

use std::cmp::Ordering;
use std::fmt::Debug;

use crate::Invalid;

/// A type whose values can name classes: integers, strings, `char`, `bool`, finite numbers. Any other type can implement it by
/// an ordering of its values.
///
/// ```
/// use fenchel_linalg::labels::{Classes, Label};
///
/// #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
/// enum Species { Setosa, Virginica }
///
/// impl Label for Species {
///     fn order(&self, other: &Self) -> std::cmp::Ordering {
///         self.cmp(other)
///     }
/// }
///
/// let (classes, codes) = Classes::from_labels(&[Species::Virginica, Species::Setosa])?;
/// assert_eq!(codes, [1, 0]);
/// # Ok::<(), fenchel_linalg::Invalid>(())
/// ```
pub trait Label: Clone + Debug {
    /// The order of two labels. It must be a total order on all values that [`is_label`](Label::is_label) accepts.
    fn order(&self, other: &Self) -> Ordering;

    /// Whether the value can name a class. A NaN or an infinity cannot.
    fn is_label(&self) -> bool {
        true
    }
}

macro_rules! ordered {
    ($($label:ty),*) => {$(
        impl Label for $label {
            fn order(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }
        }
    )*};
}

macro_rules! number {
    ($($label:ty),*) => {$(
        impl Label for $label {
            fn order(&self, other: &Self) -> Ordering {
                // Both zeros are one label, which `total_cmp` would deny.
                self.partial_cmp(other).unwrap_or(Ordering::Equal)
            }

            fn is_label(&self) -> bool {
                self.is_finite()
            }
        }
    )*};
}

ordered!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, bool, char, String, &str);
number!(f32, f64);

/// The distinct labels of a data set in ascending order. The code of a label is its position in this list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(transparent, bound(deserialize = "L: Label + serde::Deserialize<'de>"))
)]
pub struct Classes<L> {
    // A file is data of the user: its order is checked as well.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ascending"))]
    labels: Vec<L>,
}

impl<L: Label> Classes<L> {
    /// Collects the classes of a data set and encodes it. O(n log n).
    ///
    /// # Errors
    /// [`Invalid::Empty`] without labels; [`Invalid::Class`] for a NaN or an infinity.
    pub fn from_labels(labels: &[L]) -> Result<(Self, Vec<usize>), Invalid> {
        let classes = Classes { labels: distinct(labels)? };
        let codes = classes.encode(labels)?;
        Ok((classes, codes))
    }

    /// Returns the codes of the labels. O(n log k).
    ///
    /// # Errors
    /// [`Invalid::UnknownLabel`] with the first row whose label is not one of the classes.
    pub fn encode(&self, labels: &[L]) -> Result<Vec<usize>, Invalid> {
        let code = |(row, label): (usize, &L)| {
            self.code(label).ok_or_else(|| Invalid::UnknownLabel {
                row,
                label: format!("{label:?}"),
                classes: self.len(),
            })
        };
        labels.iter().enumerate().map(code).collect()
    }

    /// The code of one label, if it is a class.
    pub fn code(&self, label: &L) -> Option<usize> {
        self.labels.binary_search_by(|class| class.order(label)).ok().filter(|_| label.is_label())
    }
}

/// The distinct labels, ascending.
fn distinct<L: Label>(labels: &[L]) -> Result<Vec<L>, Invalid> {
    if labels.is_empty() {
        return Err(Invalid::Empty { what: "labels" });
    }
    if let Some(row) = labels.iter().position(|label| !label.is_label()) {
        let label = format!("{:?}", labels[row]);
        return Err(Invalid::Class { row, label, expected: "a finite number" });
    }
    let mut sorted: Vec<&L> = labels.iter().collect();
    sorted.sort_by(|a, b| a.order(b));
    sorted.dedup_by(|a, b| a.order(b).is_eq());
    Ok(sorted.into_iter().cloned().collect())
}

impl<L> Classes<L> {
    /// The label of a code, if the code is below [`len`](Classes::len).
    pub fn decode(&self, code: usize) -> Option<&L> {
        self.labels.get(code)
    }

    /// The labels in ascending order.
    pub fn labels(&self) -> &[L] {
        &self.labels
    }

    /// The number of classes, `k`; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "there is always a class")]
    pub fn len(&self) -> usize {
        self.labels.len()
    }
}

#[cfg(feature = "serde")]
fn ascending<'de, D, L>(from: D) -> Result<Vec<L>, D::Error>
where
    D: serde::Deserializer<'de>,
    L: Label + serde::Deserialize<'de>,
{
    let labels: Vec<L> = serde::Deserialize::deserialize(from)?;
    if labels.is_empty() || !ascend(&labels) {
        let message = "expected at least one class, ascending without repeats";
        return Err(serde::de::Error::custom(message));
    }
    Ok(labels)
}

/// Whether labels are in strictly ascending order, as a list of classes in a file must be.
pub fn ascend<L: Label>(labels: &[L]) -> bool {
    labels.iter().all(Label::is_label)
        && labels.windows(2).all(|pair| pair[0].order(&pair[1]).is_lt())
}

/// Returns the two classes of binary labels in ascending order, and every label as -1 or +1, where +1 is the larger class.
///
/// ```
/// use fenchel_linalg::labels::binary_signs;
///
/// let (classes, signs) = binary_signs(&["spam", "ham", "spam"])?;
/// assert_eq!((classes, signs), (["ham", "spam"], vec![1.0, -1.0, 1.0]));
/// # Ok::<(), fenchel_linalg::Invalid>(())
/// ```
///
/// # Errors
/// [`Invalid::Empty`]; [`Invalid::Class`] for a NaN or an infinity, for the first row that has a third label, or for row 0 if
/// all labels are the same.
pub fn binary_signs<L: Label>(labels: &[L]) -> Result<([L; 2], Vec<f64>), Invalid> {
    let refused = |row: usize, expected| {
        Err(Invalid::Class { row, label: format!("{:?}", labels[row]), expected })
    };
    if let Some(row) = labels.iter().position(|label| !label.is_label()) {
        return refused(row, "a finite number");
    }
    let Some(first) = labels.first() else { return Err(Invalid::Empty { what: "labels" }) };
    let Some(second) = labels.iter().find(|label| label.order(first).is_ne()) else {
        return refused(0, "two distinct labels, but all rows have this one");
    };
    let third = |label: &L| label.order(first).is_ne() && label.order(second).is_ne();
    if let Some(row) = labels.iter().position(third) {
        return refused(
            row,
            "two distinct labels, but this is a third; several classes need a model of several classes, such as SoftmaxRegression",
        );
    }
    let (low, high) = if first.order(second).is_lt() { (first, second) } else { (second, first) };
    let sign = |label: &L| if label.order(high).is_eq() { 1.0 } else { -1.0 };
    Ok(([low.clone(), high.clone()], labels.iter().map(sign).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_follow_the_order_of_the_labels() {
        let (classes, codes) = Classes::from_labels(&[30, -1, 7, 7, 30]).unwrap();
        assert_eq!(classes.labels(), [-1, 7, 30]);
        assert_eq!(codes, [2, 0, 1, 1, 2]);
        assert_eq!(classes.len(), 3);
        assert_eq!((classes.decode(0), classes.decode(3)), (Some(&-1), None));
        assert_eq!((classes.code(&7), classes.code(&8)), (Some(1), None));
    }

    #[test]
    fn numbers_are_labels_and_both_zeros_are_one() {
        let (classes, codes) = Classes::from_labels(&[0.5, -0.0, 0.0, -2.5]).unwrap();
        assert_eq!((classes.labels(), codes), (&[-2.5, -0.0, 0.5][..], vec![2, 1, 1, 0]));
        assert_eq!(classes.code(&f64::NAN), None);
    }

    #[test]
    fn unknown_label_is_named_with_its_row() {
        let (classes, _) = Classes::from_labels(&["b", "a"]).unwrap();
        assert_eq!(classes.encode(&["a", "b", "a"]), Ok(vec![0, 1, 0]));
        let expected = Invalid::UnknownLabel { row: 2, label: "\"c\"".into(), classes: 2 };
        assert_eq!(classes.encode(&["a", "b", "c", "d"]), Err(expected));
        assert_eq!(Classes::<u8>::from_labels(&[]), Err(Invalid::Empty { what: "labels" }));
    }

    #[test]
    fn larger_of_two_numbers_is_positive() {
        let signs = |labels: &[f64]| binary_signs(labels).unwrap();
        assert_eq!(signs(&[1.0, -1.0]), ([-1.0, 1.0], vec![1.0, -1.0]));
        assert_eq!(signs(&[1.0, 2.0, 2.0]), ([1.0, 2.0], vec![-1.0, 1.0, 1.0]));
        // Both zeros are one label.
        assert_eq!(signs(&[0.0, -0.0, 1.0]).1, [-1.0, -1.0, 1.0]);
    }

    #[test]
    fn other_than_two_labels_are_refused() {
        let error = |labels: &[f64]| binary_signs(labels).unwrap_err().to_string();
        assert_eq!(error(&[]), "labels is empty");
        assert!(error(&[3.0, 3.0]).contains("label of row 0 is 3.0; expected two distinct"));
        assert!(error(&[0.0, 1.0, 1.0, 2.0]).contains("label of row 3 is 2.0"));
        assert!(error(&[0.0, f64::NAN]).contains("label of row 1 is NaN; expected a finite"));
        let text = binary_signs(&["a", "b", "c"]).unwrap_err().to_string();
        assert!(text.contains("label of row 2 is \"c\""), "{text}");
        assert!(matches!(
            Classes::from_labels(&[f32::INFINITY]),
            Err(Invalid::Class { row: 0, .. })
        ));
    }

    #[cfg(feature = "serde")]
    #[test]
    fn a_file_out_of_order_is_refused() {
        let (classes, _) = Classes::from_labels(&["b".to_string(), "a".to_string()]).unwrap();
        let text = serde_json::to_string(&classes).unwrap();
        assert_eq!(text, r#"["a","b"]"#);
        assert_eq!(serde_json::from_str::<Classes<String>>(&text).unwrap(), classes);
        for bad in [r#"["b","a"]"#, r#"["a","a"]"#, "[]"] {
            let error = serde_json::from_str::<Classes<String>>(bad).unwrap_err();
            assert!(error.to_string().contains("ascending"), "{error}");
        }
    }
}
