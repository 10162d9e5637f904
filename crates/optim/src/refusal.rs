//! The error of a method that does not support a problem, shared by all crates.

/// The default of every `max_memory` setting: 4 GiB.
pub const MAX_MEMORY: Option<u64> = Some(4 << 30);

/// The reason why a method does not support a problem whose arguments are valid. Nothing was computed or allocated.
///
/// The `Error` of a crate has it as a variant beside [`Invalid`](fenchel_linalg::Invalid), so that `?` converts both:
///
/// ```
/// use fenchel_linalg::Invalid;
/// use fenchel_optim::{MAX_MEMORY, Refusal};
///
/// #[derive(Debug, thiserror::Error)]
/// #[non_exhaustive]
/// pub enum Error {
///     #[error(transparent)]
///     Invalid(#[from] Invalid),
///     #[error(transparent)]
///     Refused(#[from] Refusal),
/// }
///
/// fn gram(columns: u64, max_memory: Option<u64>) -> Result<(), Error> {
///     let needed = columns.saturating_mul(columns).saturating_mul(8);
///     Refusal::check_memory("the Gram matrix", needed, max_memory, "keep fewer columns")?;
///     Ok(())
/// }
///
/// assert!(gram(10_000, MAX_MEMORY).is_ok());
/// assert_eq!(
///     gram(50_000, MAX_MEMORY).unwrap_err().to_string(),
///     "the Gram matrix needs 18.63 GiB, max_memory is 4 GiB: keep fewer columns"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A combination that the method does not support.
    #[error("{method} does not support {what}")]
    Unsupported {
        /// The method.
        method: &'static str,
        /// The part of the problem or of the settings, and what to use instead.
        what: String,
    },
    /// The method divides by the strong convexity constant, which is 0.
    #[error("{method} needs a strongly convex regulariser: set l2 > 0")]
    NeedsStrongConvexity {
        /// The method.
        method: &'static str,
    },
    /// A need of more memory than allowed.
    #[error("{what} needs {}, max_memory is {}: {hint}", Bytes(*needed), Bytes(*limit))]
    MemoryLimit {
        /// The method, or the object to be allocated.
        what: &'static str,
        /// Bytes that would be needed; `u64::MAX` where the number overflows.
        needed: u64,
        /// Bytes that are allowed: `max_memory`, or without one what a pointer can reach.
        limit: u64,
        /// What to do instead.
        hint: &'static str,
    },
}

impl Refusal {
    /// Shorthand for [`Refusal::Unsupported`].
    pub fn unsupported(method: &'static str, what: impl Into<String>) -> Self {
        Refusal::Unsupported { method, what: what.into() }
    }

    /// Refuses `what` if the number of bytes that it needs exceeds `max_memory`. With `None` the limit is what a pointer can
    /// reach, `isize::MAX`.
    ///
    /// Compute sizes with `saturating_mul`: a size beyond `u64` then exceeds every limit.
    ///
    /// # Errors
    /// [`Refusal::MemoryLimit`].
    pub fn check_memory(
        what: &'static str,
        needed: u64,
        max_memory: Option<u64>,
        hint: &'static str,
    ) -> Result<(), Refusal> {
        let limit = max_memory.unwrap_or(isize::MAX as u64);
        if needed > limit {
            return Err(Refusal::MemoryLimit { what, needed, limit, hint });
        }
        Ok(())
    }
}

/// A number of bytes in the largest unit that leaves at least 1, with up to four digits.
struct Bytes(u64);

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const UNITS: [&str; 7] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let unit = (u64::BITS - self.0.max(1).leading_zeros() - 1) / 10;
        let size = self.0 as f64 / (1u64 << (10 * unit)) as f64;
        let decimals = if size < 10.0 {
            3
        } else if size < 100.0 {
            2
        } else {
            1
        };
        let text = format!("{size:.decimals$}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{text} {}", UNITS[unit as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_is_refused_above_the_limit_and_only_there() {
        let check = |needed, limit| Refusal::check_memory("x", needed, limit, "ask for less");
        assert_eq!(check(100, Some(100)), Ok(()));
        assert_eq!(check(isize::MAX as u64, None), Ok(()));
        assert!(check(u64::MAX, None).is_err());
        let hint = "ask for less";
        let error = Refusal::MemoryLimit { what: "x", needed: 101, limit: 100, hint };
        assert_eq!(check(101, Some(100)), Err(error));
        assert!(check(1, Some(0)).is_err());
    }

    #[test]
    fn bytes_are_readable() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (4 << 30, "4 GiB"),
            (123_456_789, "117.7 MiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }
}
