//! Lists of distinct names with look-up.

use rustc_hash::FxHashMap;

use crate::Error;

/// Number of known names that an error lists.
const LISTED: usize = 8;

/// Longer names are not compared letter by letter.
const COMPARED: usize = 64;

/// For shorter lists a linear search is faster than hashing.
const SHORT: usize = 16;

/// Distinct names in the order of their addition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Names {
    list: Vec<String>,
    index: FxHashMap<String, u32>,
}

impl Names {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn list(&self) -> &[String] {
        &self.list
    }

    pub(crate) fn get(&self, i: usize) -> &str {
        &self.list[i]
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        if self.list.len() <= SHORT {
            return self.list.iter().position(|known| known == name);
        }
        self.index.get(name).map(|&i| i as usize)
    }

    /// Adds a name. `what` describes it in errors.
    pub(crate) fn add(&mut self, name: &str, what: impl FnOnce() -> String) -> Result<(), Error> {
        if self.find(name).is_some() {
            return Err(Error::Duplicate { what: what(), name: name.into() });
        }
        self.list.push(name.into());
        // The index is only filled once it is needed.
        if self.list.len() > SHORT {
            let from = if self.index.is_empty() { 0 } else { self.list.len() - 1 };
            for (i, name) in self.list.iter().enumerate().skip(from) {
                self.index.insert(name.clone(), i as u32);
            }
        }
        Ok(())
    }

    #[cold]
    pub(crate) fn unknown(&self, what: String, name: &str) -> Error {
        let mut known: Vec<&String> = self.list.iter().collect();
        known.sort_by_cached_key(|known| distance(known, name));
        let mut known: Vec<String> = known.into_iter().take(LISTED).cloned().collect();
        if self.len() > LISTED {
            known.push(format!("and {} more", self.len() - LISTED));
        }
        Error::UnknownName { what, name: name.into(), known }
    }
}

/// The edit distance of two words: the number of letters to insert, delete or exchange. A letter in another case counts one
/// half.
fn distance(a: &str, b: &str) -> usize {
    let letters = |s: &str| s.chars().take(COMPARED).collect::<Vec<_>>();
    let (a, b) = (letters(a), letters(b));
    let mut row: Vec<usize> = (0..=b.len()).map(|j| 2 * j).collect();
    for &x in &a {
        let mut diagonal = row[0];
        row[0] += 2;
        for (j, &y) in b.iter().enumerate() {
            let exchange = match x == y {
                true => 0,
                false if x.to_lowercase().eq(y.to_lowercase()) => 1,
                false => 2,
            };
            let best = (diagonal + exchange).min(row[j] + 2).min(row[j + 1] + 2);
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_letters() {
        let cases = [
            ("", "", 0),
            ("abc", "", 6),
            ("kitten", "sitting", 6),
            ("LOW", "low", 3),
            ("ab", "ba", 4),
        ];
        for (a, b, expected) in cases {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected), "{a} {b}");
        }
    }

    #[test]
    fn long_lists_are_found_through_the_index() {
        let mut names = Names::default();
        for i in 0..100 {
            names.add(&format!("x{i}"), || "variable".into()).unwrap();
        }
        assert!((0..100).all(|i| names.find(&format!("x{i}")) == Some(i)));
        assert!(names.add("x40", || "variable".into()).is_err());
        let unknown = names.unknown("variable".into(), "X7").to_string();
        assert!(unknown.contains("nearest first: x7, ") && unknown.ends_with("and 92 more"));
    }
}
