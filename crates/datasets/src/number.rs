//! A parser of decimal numbers that is fast for short ones.

/// The powers of ten that are exact in `f64` and that [`short`] can meet.
const POWERS_OF_TEN: [f64; 17] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16];

/// The number nearest to a decimal text, or `None` if the text is not a number. Rust's parser also accepts the names of NaN and
/// infinity; the caller has to handle these.
#[inline]
pub(crate) fn parse(token: &[u8]) -> Option<f64> {
    short(token).or_else(|| std::str::from_utf8(token).ok()?.parse().ok())
}

/// Parses numbers without exponent and with at most 15 or 16 digits, which are the usual ones in data files. The digits and the
/// power of ten are both exact in `f64`, so that one division rounds once and gives the nearest number.
#[inline]
fn short(token: &[u8]) -> Option<f64> {
    let (negative, digits) = match token.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, token),
    };
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let mut mantissa = 0u64;
    let mut point = None;
    for (k, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => mantissa = 10 * mantissa + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(k),
            _ => return None,
        }
    }
    if mantissa > 1 << 53 {
        return None;
    }
    let mut value = mantissa as f64;
    if let Some(point) = point {
        if digits.len() == 1 {
            return None;
        }
        value /= POWERS_OF_TEN[digits.len() - 1 - point];
    }
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_and_what_is_not_a_number() {
        for (text, value) in [
            ("1", 1.0),
            ("+1", 1.0),
            ("-0.5", -0.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("6.25E-02", 0.0625),
            ("9007199254740993", 9007199254740992.0),
            ("0.1234567890123456789", 0.123_456_789_012_345_68),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(value), "{text}");
        }
        assert!(parse(b"-0").unwrap().is_sign_negative());
        for text in ["", ".", "+", "-.", "1.2.3", "1,5", "0x10", "1e", " 1", "1 ", "--1", "\u{661}"]
        {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(b"\xff"), None);
    }

    proptest! {
        #[test]
        fn the_short_way_rounds_like_the_standard_library(text in "[+-]?[0-9]{0,16}\\.?[0-9]{0,16}") {
            prop_assert_eq!(parse(text.as_bytes()).map(f64::to_bits), text.parse::<f64>().ok().map(f64::to_bits));
        }

        #[test]
        fn shortest_decimals_come_back(value in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO) {
            prop_assert_eq!(parse(format!("{value}").as_bytes()).unwrap().to_bits(), value.to_bits());
            prop_assert_eq!(parse(format!("{value:e}").as_bytes()).unwrap().to_bits(), value.to_bits());
        }
    }
}
