//! Roll calls: the votes of the members of an assembly.

use std::io::BufRead;
use std::path::Path;

use fenchel_linalg::lines;
use ndarray::Array2;

use crate::error::quoted;
use crate::{Error, open};

/// Votes of a chamber.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollCalls {
    /// The members with the names of the file, such as `Chafee (R-RI)`.
    pub members: Vec<String>,
    /// One title per vote, with number and date.
    pub titles: Vec<String>,
    /// 1 for yea, 0 for nay, -1 for no vote: votes x members.
    pub votes: Array2<i8>,
}

impl RollCalls {
    /// The letter of a member's party, which follows the bracket of the name.
    pub fn party(&self, member: usize) -> Option<char> {
        let (_, rest) = self.members.get(member)?.split_once('(')?;
        rest.chars().next()
    }
}

/// Reads votes and names. A vote has two lines: a title, and one letter per member (`Y`, `N`, or any of `-?.` for no vote). The
/// names are on the first line of their file, each ended by a bracket.
///
/// # Errors
/// [`Error::Format`] for a line whose length is not the number of names, a letter that is not a vote, or a title without votes;
/// [`Error::Io`].
pub fn roll_calls(votes: impl BufRead, names: impl BufRead) -> Result<RollCalls, Error> {
    let line = lines(names).next().transpose()?.unwrap_or_default();
    let line = line.trim_start_matches('\u{feff}').trim();
    if !line.is_empty() && !line.ends_with(')') {
        let rest = line.rsplit(')').next().unwrap_or_default().trim();
        let reason = format!(
            "{} has no bracket; expected names like \"Akaka (D-HI)\"",
            quoted(rest.as_bytes())
        );
        return Err(Error::format(1, 1, format!("names: {reason}")));
    }
    let members: Vec<String> = line
        .split_inclusive(')')
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    let (mut titles, mut cells) = (Vec::new(), Vec::new());
    let mut title: Option<String> = None;
    for (at, text) in lines(votes).enumerate() {
        let (at, text) = (at as u64 + 1, text?);
        let text = text.trim_start_matches('\u{feff}');
        let Some(known) = title.take() else {
            if !text.trim().is_empty() {
                title = Some(text.trim().to_owned());
            }
            continue;
        };
        let text = text.trim();
        if text.len() != members.len() {
            let reason = format!("{} votes of {} members", text.len(), members.len());
            return Err(Error::format(at, 1, reason));
        }
        for (column, letter) in text.bytes().enumerate() {
            cells.push(match letter {
                b'Y' | b'y' => 1,
                b'N' | b'n' => 0,
                b'-' | b'?' | b'.' => -1,
                other => {
                    let reason = format!("expected Y, N or -, found {}", quoted(&[other]));
                    return Err(Error::format(at, column + 1, reason));
                }
            });
        }
        titles.push(known);
    }
    if let Some(title) = title {
        return Err(Error::format(1, 1, format!("{title:?} has no line of votes")));
    }
    if titles.is_empty() || members.is_empty() {
        return Err(Error::format(1, 1, "no votes; expected a title and a line of letters each"));
    }
    let shape = (titles.len(), members.len());
    let votes = Array2::from_shape_vec(shape, cells)
        .map_err(|error| Error::format(1, 1, error.to_string()))?;
    Ok(RollCalls { members, titles, votes })
}

/// Reads votes and names from files, compressed or not.
///
/// # Errors
/// As [`roll_calls`], with the path of the votes.
pub fn roll_calls_file(
    votes: impl AsRef<Path>,
    names: impl AsRef<Path>,
) -> Result<RollCalls, Error> {
    let path = votes.as_ref();
    roll_calls(open(path)?, open(names)?).map_err(|error| error.in_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &str = "Akaka (D-HI) Jeffords (I-VT)  Allard (R-CO) \nAkaka (D-HI)\n";

    #[test]
    fn votes_and_parties() {
        let read =
            roll_calls("1 30-Jan\nYN-\n2 31-Jan\nNNY\n".as_bytes(), NAMES.as_bytes()).unwrap();
        assert_eq!(read.members, ["Akaka (D-HI)", "Jeffords (I-VT)", "Allard (R-CO)"]);
        assert_eq!(read.votes, ndarray::array![[1, 0, -1], [0, 0, 1]]);
        assert_eq!((read.party(1), read.party(2), read.party(3)), (Some('I'), Some('R'), None));
        assert_eq!(read.titles, ["1 30-Jan", "2 31-Jan"]);
    }

    #[test]
    fn a_name_without_bracket_is_no_member() {
        let error = roll_calls("1\nYN\n".as_bytes(), "A (D) B\n".as_bytes()).unwrap_err();
        assert!(error.to_string().contains("\"B\" has no bracket"), "{error}");
        let read = roll_calls("\u{feff}1\nY\n".as_bytes(), "\u{feff}A (D)\n".as_bytes()).unwrap();
        assert_eq!((read.titles, read.members), (vec!["1".to_owned()], vec!["A (D)".to_owned()]));
    }

    #[test]
    fn mistakes_are_placed() {
        for (text, part) in
            [("1\nYN\n", "line 2"), ("1\nYNx\n", "column 3"), ("1\n", "no line"), ("", "no votes")]
        {
            let error = roll_calls(text.as_bytes(), NAMES.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
