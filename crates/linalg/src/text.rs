//! Numbers and tables as people read them. Every report, summary and table of the workspace is written by these functions.
//!
//! | function | for | examples |
//! |---|---|---|
//! | [`number`] | a result with a number of digits | `1647.30`, `9.4e-5` |
//! | [`short`] | a number beside others: four digits, no zeros at the end | `10`, `2.5`, `0.1235` |
//! | [`fixed`] | a cell of a column with one number of decimals | `0.644`, `-0.512`, `0.000` |
//! | [`cell`] | a cell of a column of numbers of any size | `0.644100`, `12345.7`, `1.000e-9` |
//! | [`scientific`] | a number beside others that are all very large or very small | `2e6`, `1.25e-4` |
//! | [`exact`] | a number of the user in a message, and files | `0.30000000000000004`, `1e-9` |
//! | [`seconds`] | a time | `0.17 s`, `3.4 ms`, `2 min 5 s` |
//! | [`aligned`] | a table | |

/// A number with `digits` significant digits (at least 1), in scientific notation below 1e-3 and from 1e7 on. Integers below 1e7 keep
/// all their digits.
///
/// ```
/// use fenchel_linalg::text::number;
///
/// assert_eq!([1_647.297_51, 0.154_9, 9.43e-5].map(|x| number(x, 3)), ["1647", "0.155", "9.43e-5"]);
/// assert_eq!(number(1_647.297_51, 6), "1647.30");
/// assert_eq!([0.0, -0.0, f64::NAN, f64::INFINITY].map(|x| number(x, 3)), ["0", "0", "NaN", "inf"]);
/// ```
pub fn number(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return if x == 0.0 { "0".into() } else { x.to_string() };
    }
    let digits = digits.max(1);
    let scientific = format!("{x:.*e}", digits - 1);
    // Of the rounded number: 0.9999 may become 1.
    let exponent = scientific.rsplit_once('e').and_then(|(_, exponent)| exponent.parse().ok());
    match exponent {
        Some(exponent @ -3..) if x.abs() < 1e7 => {
            let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
            format!("{x:.decimals$}")
        }
        _ => scientific,
    }
}

/// A number with up to four significant digits, and no zeros at its end. Integers below 1e7 keep all their digits.
///
/// ```
/// use fenchel_linalg::text::short;
///
/// assert_eq!([10.0, 2.5, 0.123_456, 49_749.0].map(short), ["10", "2.5", "0.1235", "49749"]);
/// assert_eq!([1e-8, 12_345_678.0, 99.999_9].map(short), ["1e-8", "1.235e7", "100"]);
/// ```
pub fn short(x: f64) -> String {
    let text = number(x, 4);
    if text.contains('e') { scientific(x) } else { trimmed(&text).to_owned() }
}

/// A number in scientific notation, with up to four significant digits.
///
/// ```
/// use fenchel_linalg::text::scientific;
///
/// assert_eq!([2e6, 0.000_125, -1_234.56].map(scientific), ["2e6", "1.25e-4", "-1.235e3"]);
/// ```
pub fn scientific(x: f64) -> String {
    let text = format!("{x:.3e}");
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{}e{exponent}", trimmed(digits)),
        None => text,
    }
}

/// The shortest text that reads back as the same number, or `NaN`, `inf`, `-inf`.
///
/// ```
/// use fenchel_linalg::text::exact;
///
/// assert_eq!([0.1 + 0.2, -1e-300, 7.0].map(exact), ["0.30000000000000004", "-1e-300", "7"]);
/// assert_eq!([f64::NAN, f64::NEG_INFINITY].map(exact), ["NaN", "-inf"]);
/// ```
pub fn exact(x: f64) -> String {
    let text = format!("{x:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A decimal fraction without the zeros at its end.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// A number with `decimals` digits behind the point, and no sign before zeros alone.
///
/// ```
/// use fenchel_linalg::text::fixed;
///
/// assert_eq!([0.644_1, -0.512, -0.000_4].map(|x| fixed(x, 3)), ["0.644", "-0.512", "0.000"]);
/// ```
pub fn fixed(x: f64, decimals: usize) -> String {
    let text = format!("{x:.decimals$}");
    match text.strip_prefix('-') {
        Some(zeros) if zeros.bytes().all(|byte| matches!(byte, b'0' | b'.')) => zeros.to_owned(),
        _ => text,
    }
}

/// A number of any size in a column: six digits behind the point, or where these are too few or too many, four or six in all.
///
/// ```
/// use fenchel_linalg::text::cell;
///
/// assert_eq!([0.644_1, -12.0, 12_345.678].map(cell), ["0.644100", "-12.000000", "12345.7"]);
/// assert_eq!([1e-9, 0.0].map(cell), ["1.000e-9", "0.000000"]);
/// ```
pub fn cell(x: f64) -> String {
    match x.abs() {
        size if size == 0.0 || (1e-3..1e3).contains(&size) => fixed(x, 6),
        size => number(x, if size < 1.0 { 4 } else { 6 }),
    }
}

/// A time, with two significant digits up to 10 seconds, and in minutes and hours from 100 seconds on.
///
/// ```
/// use fenchel_linalg::text::seconds;
///
/// assert_eq!([0.173, 0.003_4, 2e-7, 12.3].map(seconds), ["0.17 s", "3.4 ms", "0.20 µs", "12 s"]);
/// assert_eq!([99.6, 125.0, 4805.0, 0.0].map(seconds), ["1 min 40 s", "2 min 5 s", "1 h 20 min", "0 s"]);
/// ```
pub fn seconds(seconds: f64) -> String {
    if !(seconds > 0.0) || !seconds.is_finite() {
        return format!("{} s", number(seconds, 2));
    }
    // What would be rounded up to the next unit has it.
    let whole = seconds.round();
    match seconds {
        s if s < 9.95e-4 => format!("{} µs", number(s * 1e6, 2)),
        s if s < 9.95e-2 => format!("{} ms", number(s * 1e3, 2)),
        s if s < 99.5 => format!("{} s", number(s, 2)),
        _ if whole < 3600.0 => format!("{} min {} s", (whole / 60.0).floor(), whole % 60.0),
        _ => {
            let minutes = (seconds / 60.0).round();
            format!("{} h {} min", (minutes / 60.0).floor(), minutes % 60.0)
        }
    }
}

/// Lines of aligned cells, the first `left` columns flush left, the others flush right, with two blanks between. A line ends
/// with its last character that is no blank. O(characters).
pub fn aligned(rows: &[Vec<String>], left: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |k: usize| {
        rows.iter().filter_map(|row| row.get(k)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        // Widths of `format!` end at 65,535, and names may be longer.
        let cells = row.iter().zip(&widths).enumerate().map(|(k, (cell, &width))| {
            let gap = " ".repeat(width - cell.chars().count());
            if k < left { format!("{cell}{gap}") } else { format!("{gap}{cell}") }
        });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits_where_they_change_their_length() {
        let shown = |x: f64| number(x, 3);
        assert_eq!(
            [9.996, 9.994, 999.6, 0.000_999_96].map(shown),
            ["10.0", "9.99", "1000", "0.00100"]
        );
        assert_eq!(
            [9_999_999.0, 99_999_999.0, -1e-300].map(shown),
            ["9999999", "1.00e8", "-1.00e-300"]
        );
        assert_eq!([-12.0, -0.0, 1_234_567.0].map(short), ["-12", "0", "1234567"]);
        assert_eq!([f64::NAN, f64::NEG_INFINITY].map(short), ["NaN", "-inf"]);
        assert_eq!(number(5.4, 0), "5");
    }

    #[test]
    fn no_time_is_shown_as_nothing() {
        let shown = [1e-9, 9.96e-4, 0.0996, 9.96, 99.4, 3599.6].map(seconds);
        assert_eq!(shown, ["0.0010 µs", "1.0 ms", "0.10 s", "10 s", "99 s", "1 h 0 min"]);
    }

    #[test]
    fn zeros_have_no_sign() {
        assert_eq!([-1e-9, -0.0, -0.06].map(|x| fixed(x, 1)), ["0.0", "0.0", "-0.1"]);
        assert_eq!(fixed(f64::NEG_INFINITY, 1), "-inf");
    }
}
