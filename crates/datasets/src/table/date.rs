//! Dates of ISO 8601 as numbers of days.

/// Days since 1970-01-01 of `2024-03-01`, or of `2024-03-01T18:30`, which may have seconds with a fraction, a blank in place of the `T`,
/// and `Z` or an offset such as `+02:00` behind it. `None` for any other text, and for a day that is not in the calendar.
pub(crate) fn parse(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let (date, time) = text.split_at_checked(10)?;
    let [year, month, day] = fields(date, '-', [4, 2, 2])?;
    let days = days(year, month, day)?;
    let Some(separator) = time.chars().next() else { return Some(days) };
    let time = time.strip_prefix(['T', ' ']).filter(|_| separator.is_ascii())?;
    Some(days + seconds(time)? / 86_400.0)
}

fn days(year: u32, month: u32, day: u32) -> Option<f64> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = lengths.get(..(month as usize).checked_sub(1)?)?;
    if !(1..=*lengths.get(before.len())?).contains(&day) {
        return None;
    }
    // Years begin 365 days apart, and a day later after each leap year.
    let start = |year: i64| {
        365 * year + (year - 1).div_euclid(4) - (year - 1).div_euclid(100)
            + (year - 1).div_euclid(400)
    };
    let years = start(i64::from(year)) - start(1970);
    Some((years + i64::from(before.iter().sum::<u32>() + day - 1)) as f64)
}

/// Seconds since midnight in Greenwich.
fn seconds(time: &str) -> Option<f64> {
    let zone = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(zone);
    let offset = match zone.split_at_checked(1) {
        None | Some(("Z", "")) => 0.0,
        Some((sign, zone)) if sign != "Z" => {
            let [hours, minutes] = fields(zone, ':', [2, 2])?;
            let size = f64::from(60 * hours + minutes) * 60.0;
            if sign == "-" { -size } else { size }
        }
        Some(_) => return None,
    };
    let (minutes, seconds) = clock.split_at_checked(5)?;
    let [hours, minutes] = fields(minutes, ':', [2, 2])?;
    let seconds = match seconds.strip_prefix(':') {
        None if seconds.is_empty() => 0.0,
        Some(text) if text.starts_with(|c: char| c.is_ascii_digit()) => {
            crate::number::parse(text.as_bytes())?
        }
        _ => return None,
    };
    let valid = hours < 24 && minutes < 60 && (0.0..61.0).contains(&seconds);
    valid.then(|| f64::from(60 * hours + minutes) * 60.0 + seconds - offset)
}

/// Numbers of so many digits each.
fn fields<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[u32; N]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next()?;
        if part.len() != digits || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The days are those of `date --utc --date=... +%s`, divided by 86400.
    #[test]
    fn days_since_1970() {
        for (text, days) in [
            ("1970-01-01", 0.0),
            ("1969-12-31", -1.0),
            ("2000-02-29", 11_016.0),
            ("2000-03-01", 11_017.0),
            ("1900-03-01", -25_508.0),
            ("2024-03-01", 19_783.0),
            ("0001-01-01", -719_162.0),
            ("9999-12-31", 2_932_896.0),
            ("1970-01-02T12:00", 1.5),
            ("1970-01-01 06:00:00Z", 0.25),
            ("1970-01-01T02:00:00.5+02:00", 0.5 / 86_400.0),
            ("1970-01-01T22:00-02:00", 1.0),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(days), "{text}");
        }
    }

    #[test]
    fn what_is_no_date() {
        for text in [
            "",
            "2024",
            "2024-3-1",
            "2024-13-01",
            "2024-00-10",
            "2023-02-29",
            "1900-02-29",
            "2024-04-31",
            "2024-04-00",
            "24-01-01",
            "01.02.2024",
            "2024-01-01x",
            "2024-01-01T",
            "2024-01-01T7:00",
            "2024-01-01T24:00",
            "2024-01-01T07:60",
            "2024-01-01T07:00:nan",
            "2024-01-01T07:00Zx",
            "2024-01-01T07:00+2",
            "2024-01-01\u{fc}07:00",
            "2024-01-\u{661}1",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
