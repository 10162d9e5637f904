//! Class labels: sorted distinct labels on one side, codes `0..k` on the other.
//!
//! Solvers see codes, or -1 and +1; estimators encode on the way in and decode on the way out.
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

use std::fmt::Debug;

use crate::Invalid;

/// The distinct labels of a data set in ascending order; the code of a label is its place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(transparent, bound(deserialize = "L: Ord + serde::Deserialize<'de>"))
)]
pub struct Classes<L> {
    // A file is data of the user: its order is checked as well.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "ascending"))]
    labels: Vec<L>,
}

impl<L: Ord + Clone + Debug> Classes<L> {
    /// Collects the classes of a data set and encodes it. O(n log k).
    ///
    /// # Errors
    /// [`Invalid::Empty`] without labels.
    pub fn from_labels(labels: &[L]) -> Result<(Self, Vec<usize>), Invalid> {
        if labels.is_empty() {
            return Err(Invalid::Empty { what: "labels" });
        }
        let distinct: std::collections::BTreeSet<&L> = labels.iter().collect();
        let classes = Classes { labels: distinct.into_iter().cloned().collect() };
        let codes = classes.encode(labels)?;
        Ok((classes, codes))
    }

    /// The codes of labels. O(n log k).
    ///
    /// # Errors
    /// [`Invalid::UnknownLabel`] with the first row whose label is not a class.
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
}

impl<L: Ord> Classes<L> {
    /// The code of one label, if it is a class.
    pub fn code(&self, label: &L) -> Option<usize> {
        self.labels.binary_search(label).ok()
    }
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
    L: Ord + serde::Deserialize<'de>,
{
    let labels: Vec<L> = serde::Deserialize::deserialize(from)?;
    if labels.is_empty() || labels.windows(2).any(|pair| pair[0] >= pair[1]) {
        let message = "expected at least one class, ascending without repeats";
        return Err(serde::de::Error::custom(message));
    }
    Ok(labels)
}

/// The two classes of numeric labels, ascending, and every label as -1 or +1: the larger is +1.
///
/// ```
/// let (classes, signs) = fenchel_linalg::labels::binary_signs(&[2.0, 0.0, 2.0])?;
/// assert_eq!((classes, signs), ([0.0, 2.0], vec![1.0, -1.0, 1.0]));
/// # Ok::<(), fenchel_linalg::Invalid>(())
/// ```
///
/// # Errors
/// [`Invalid::Empty`]; [`Invalid::NonFinite`]; [`Invalid::Label`] with the first row that has a
/// third value, or with row 0 if all labels are the same.
pub fn binary_signs(labels: &[f64]) -> Result<([f64; 2], Vec<f64>), Invalid> {
    Invalid::check_finite("labels", labels)?;
    let &first = labels.first().ok_or(Invalid::Empty { what: "labels" })?;
    let Some(&second) = labels.iter().find(|&&label| label != first) else {
        let expected = "two distinct labels, but all rows have this one";
        return Err(Invalid::Label { row: 0, value: first, expected });
    };
    if let Some(row) = labels.iter().position(|&label| label != first && label != second) {
        let expected = "two distinct labels, but this is a third";
        return Err(Invalid::Label { row, value: labels[row], expected });
    }
    let classes = [first.min(second), first.max(second)];
    let signs = labels.iter().map(|&label| if label == classes[1] { 1.0 } else { -1.0 });
    Ok((classes, signs.collect()))
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
        assert!(error(&[3.0, 3.0]).contains("label of row 0 is 3; expected two distinct"));
        assert!(error(&[0.0, 1.0, 1.0, 2.0]).contains("label of row 3 is 2"));
        assert!(error(&[0.0, f64::NAN]).contains("NaN at row 1"));
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
