//! Strings and their numbers.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Distinct strings, numbered from 0 in the order of their first appearance.
///
/// ```
/// use fenchel_crf::Vocabulary;
///
/// let mut words = Vocabulary::new();
/// assert_eq!((words.intern("to"), words.intern("be"), words.intern("to")), (0, 1, 0));
/// assert_eq!((words.get("be"), words.get("or")), (Some(1), None));
/// assert_eq!(words.name(1), "be");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<String>", from = "Vec<String>")]
pub struct Vocabulary {
    names: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, u32>,
}

impl Vocabulary {
    /// No string yet.
    pub fn new() -> Self {
        Vocabulary::default()
    }

    /// The number of a string, a new one if it has none.
    ///
    /// # Panics
    /// Beyond 2^32 - 1 strings.
    pub fn intern(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).expect("fewer than 2^32 distinct strings");
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    /// The number of a string, if it has one.
    pub fn get(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The string of a number.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn name(&self, number: u32) -> &str {
        &self.names[number as usize]
    }

    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The strings in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }
}

impl<S: AsRef<str>> FromIterator<S> for Vocabulary {
    /// Numbers the strings; those that come again keep their first number.
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut vocabulary = Vocabulary::new();
        for name in names {
            vocabulary.intern(name.as_ref());
        }
        vocabulary
    }
}

impl From<Vec<String>> for Vocabulary {
    fn from(names: Vec<String>) -> Self {
        names.into_iter().collect()
    }
}

impl From<Vocabulary> for Vec<String> {
    fn from(vocabulary: Vocabulary) -> Self {
        vocabulary.names.into_iter().map(String::from).collect()
    }
}
