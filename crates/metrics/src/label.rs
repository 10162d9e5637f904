//! The types of labels: labels of two classes, and numbers of classes.

use crate::Error;

/// A label of a two-class problem.
///
/// | type | positive | negative |
/// |---|---|---|
/// | `bool` | `true` | `false` |
/// | `f64`, `f32`, signed integers | 1 | -1 or 0 |
/// | unsigned integers | 1 | 0 |
///
/// A metric that receives any other value, NaN included, returns an error.
pub trait Binary: Copy {
    /// Whether the label is the positive one; `None` for a value that is not a label.
    fn is_positive(self) -> Option<bool>;

    /// The label as a number for error messages.
    fn as_number(self) -> f64;
}

impl Binary for bool {
    fn is_positive(self) -> Option<bool> {
        Some(self)
    }

    fn as_number(self) -> f64 {
        f64::from(self)
    }
}

impl Binary for f64 {
    fn is_positive(self) -> Option<bool> {
        if self == 1.0 {
            Some(true)
        } else if self == 0.0 || self == -1.0 {
            Some(false)
        } else {
            None
        }
    }

    fn as_number(self) -> f64 {
        self
    }
}

impl Binary for f32 {
    fn is_positive(self) -> Option<bool> {
        Binary::is_positive(f64::from(self))
    }

    fn as_number(self) -> f64 {
        f64::from(self)
    }
}

/// The number of a class, from 0, of any integer type.
pub trait Class: Copy {
    /// The number; `None` for a negative one.
    fn number(self) -> Option<usize>;

    /// The class as a number for error messages.
    fn as_number(self) -> f64;
}

macro_rules! integers_as_labels {
    ($($integer:ty),*) => {$(
        impl Binary for $integer {
            fn is_positive(self) -> Option<bool> {
                Binary::is_positive(self as f64)
            }

            fn as_number(self) -> f64 {
                self as f64
            }
        }

        impl Class for $integer {
            fn number(self) -> Option<usize> {
                usize::try_from(self).ok()
            }

            fn as_number(self) -> f64 {
                self as f64
            }
        }
    )*};
}

integers_as_labels!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

/// The numbers of classes, each below `classes`.
pub(crate) fn checked_classes<C: Class>(
    what: &'static str,
    labels: &[C],
    classes: usize,
) -> Result<Vec<usize>, Error> {
    let check = |(index, label): (usize, &C)| match label.number() {
        Some(class) if class < classes => Ok(class),
        Some(class) => Err(Error::Class { what, index, class, classes }),
        None => {
            let (value, expected) = (label.as_number(), "a class, numbered from 0");
            Err(Error::Value { what, index, value, expected })
        }
    };
    labels.iter().enumerate().map(check).collect()
}

/// All labels as booleans, positive or not.
pub(crate) fn positives<L: Binary>(what: &'static str, labels: &[L]) -> Result<Vec<bool>, Error> {
    let convert = |(index, label): (usize, &L)| {
        label.is_positive().ok_or(Error::Value {
            what,
            index,
            value: label.as_number(),
            expected: "a label: 1 against -1 or 0",
        })
    };
    labels.iter().enumerate().map(convert).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_label_means_the_same() {
        let expected = [true, false];
        assert_eq!(positives("y", &[true, false]).unwrap(), expected);
        assert_eq!(positives("y", &[1.0, -1.0]).unwrap(), expected);
        assert_eq!(positives("y", &[1.0, 0.0]).unwrap(), expected);
        assert_eq!(positives("y", &[1i32, -1]).unwrap(), expected);
        assert_eq!(positives("y", &[1usize, 0]).unwrap(), expected);
    }

    #[test]
    fn what_is_no_label_is_named() {
        let message = |labels: &[f64]| positives("truth", labels).unwrap_err().to_string();
        assert_eq!(message(&[1.0, 2.0]), "truth[1] = 2; expected a label: 1 against -1 or 0");
        assert!(message(&[f64::NAN]).starts_with("truth[0] = NaN"));
    }
}
