//! A table of strings and their numbers.

use std::borrow::Cow;
use std::hash::Hasher;

use fenchel_linalg::Invalid;
use fenchel_linalg::spread::Communicator;
use rustc_hash::FxHasher;
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

/// Distinct strings, numbered from 0 in the order of their first appearance.
///
/// All strings are stored in one buffer, each once. A string takes 24 to 40 bytes beside its own bytes.
///
/// ```
/// use fenchel_crf::Vocabulary;
///
/// let mut words = Vocabulary::new();
/// assert_eq!((words.intern("to"), words.intern("be"), words.intern("to")), (0, 1, 0));
/// assert_eq!((words.get("be"), words.get("or")), (Some(1), None));
/// assert_eq!(words.name(1), "be");
/// ```
#[derive(Clone, Default)]
pub struct Vocabulary {
    /// All strings, one after the other, and the end of each.
    text: String,
    ends: Vec<usize>,
    /// A hash table with linear probing, at most half full, whose size is a power of two. A slot has the upper half of the hash
    /// and the number plus 1; 0 means an empty slot. The halves are compared first, so that few other strings are read.
    slots: Vec<u64>,
}

const UPPER: u64 = 0xffff_ffff_0000_0000;

impl Vocabulary {
    /// No string yet.
    pub fn new() -> Self {
        Vocabulary::default()
    }

    /// The number of a string. A new string gets the next number.
    ///
    /// # Panics
    /// Beyond 2^32 - 2 strings.
    pub fn intern(&mut self, name: &str) -> u32 {
        if self.slots.len() < 2 * (self.len() + 1) {
            self.grow();
        }
        let hash = hash(name.as_bytes());
        match self.find(name, hash) {
            Ok(number) => number,
            Err(free) => {
                let number = u32::try_from(self.len()).ok().filter(|number| *number < u32::MAX);
                let number = number.expect("fewer than 2^32 - 1 distinct strings");
                self.text.push_str(name);
                self.ends.push(self.text.len());
                self.slots[free] = (hash & UPPER) | (u64::from(number) + 1);
                number
            }
        }
    }

    /// The number of a string, if it has one.
    pub fn get(&self, name: &str) -> Option<u32> {
        match self.slots.is_empty() {
            true => None,
            false => self.find(name, hash(name.as_bytes())).ok(),
        }
    }

    /// The string with a given number.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn name(&self, number: u32) -> &str {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }

    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The strings in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.ends.len()).map(|number| self.name(number as u32))
    }

    /// The strings of all processes, in the order of their ranks, and for each rank the numbers of its strings among them.
    ///
    /// # Errors
    /// [`Invalid::Layout`] for strings that are none.
    pub(crate) fn merged(
        &self,
        communicator: &dyn Communicator,
    ) -> Result<(Vocabulary, Vec<Vec<u32>>), Invalid> {
        let mut bytes = Vec::with_capacity(8 * (self.len() + 1) + self.text.len());
        bytes.extend((self.len() as u64).to_le_bytes());
        self.ends.iter().for_each(|&end| bytes.extend((end as u64).to_le_bytes()));
        bytes.extend(self.text.as_bytes());
        let mut all = Vocabulary::new();
        let ranks = communicator.gather(&bytes);
        let numbers = ranks.iter().enumerate().map(|(rank, bytes)| {
            let unreadable = || {
                let reason = format!("those of rank {rank} cannot be read");
                Invalid::Layout { what: "strings", reason }
            };
            let (count, rest) = bytes.split_first_chunk().ok_or_else(unreadable)?;
            let count = u64::from_le_bytes(*count) as usize;
            let (ends, text) = rest.split_at_checked(8 * count).ok_or_else(unreadable)?;
            let text = std::str::from_utf8(text).map_err(|_| unreadable())?;
            let mut start = 0;
            let number = |end: &[u8; 8]| {
                let end = u64::from_le_bytes(*end) as usize;
                let name = text.get(start..end).ok_or_else(unreadable)?;
                start = end;
                Ok(all.intern(name))
            };
            ends.as_chunks().0.iter().map(number).collect()
        });
        let numbers = numbers.collect::<Result<_, Invalid>>()?;
        Ok((all, numbers))
    }

    /// The bytes of the string with a given number, as for [`name`](Self::name), without the check for the limits of
    /// characters.
    #[inline]
    fn bytes(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text.as_bytes()[start..self.ends[number]]
    }

    /// The number of a string, or the empty slot for it.
    fn find(&self, name: &str, hash: u64) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let slot = self.slots[place];
            if slot == 0 {
                return Err(place);
            }
            let number = (slot as u32).wrapping_sub(1);
            if (slot ^ hash) & UPPER == 0 && self.bytes(number) == name.as_bytes() {
                return Ok(number);
            }
            place = (place + 1) & mask;
        }
    }

    /// Doubles the table.
    fn grow(&mut self) {
        let size = (2 * self.slots.len()).max(16);
        let mut slots = vec![0; size];
        for number in 0..self.len() as u32 {
            let hash = hash(self.bytes(number));
            let mut place = hash as usize & (size - 1);
            while slots[place] != 0 {
                place = (place + 1) & (size - 1);
            }
            slots[place] = (hash & UPPER) | (u64::from(number) + 1);
        }
        self.slots = slots;
    }
}

#[inline]
pub(crate) fn hash(name: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(name);
    hasher.finish()
}

impl PartialEq for Vocabulary {
    fn eq(&self, other: &Self) -> bool {
        self.ends == other.ends && self.text == other.text
    }
}

impl Eq for Vocabulary {}

impl std::fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<S: AsRef<str>> FromIterator<S> for Vocabulary {
    /// Numbers the strings. A repeated string keeps its first number.
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut vocabulary = Vocabulary::new();
        for name in names {
            vocabulary.intern(name.as_ref());
        }
        vocabulary
    }
}

impl Serialize for Vocabulary {
    /// The list of the strings.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Vocabulary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Names)
    }
}

/// Reads a list of strings without a copy of each.
struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = Vocabulary;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Vocabulary, A::Error> {
        let mut vocabulary = Vocabulary::new();
        while let Some(Name(name)) = names.next_element()? {
            vocabulary.intern(&name);
        }
        Ok(vocabulary)
    }
}

/// A string that is borrowed from the text if it has no escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn numbers_as_a_map_would(names in proptest::collection::vec("[ab]{0,5}", 0..200)) {
            let mut vocabulary = Vocabulary::new();
            let mut map: HashMap<&str, u32> = HashMap::new();
            for name in &names {
                let next = map.len() as u32;
                let number = *map.entry(name).or_insert(next);
                prop_assert_eq!(vocabulary.intern(name), number);
            }
            prop_assert_eq!(vocabulary.len(), map.len());
            for (name, &number) in &map {
                prop_assert_eq!(vocabulary.get(name), Some(number));
                prop_assert_eq!(vocabulary.name(number), *name);
            }
            prop_assert_eq!(vocabulary.get("c"), None);
            let text = serde_json::to_string(&vocabulary).unwrap();
            prop_assert_eq!(serde_json::from_str::<Vocabulary>(&text).unwrap(), vocabulary);
        }
    }

    #[test]
    fn the_empty_string_is_a_string() {
        let mut vocabulary = Vocabulary::new();
        assert_eq!(vocabulary.get(""), None);
        assert_eq!(
            (vocabulary.intern(""), vocabulary.intern("a"), vocabulary.get("")),
            (0, 1, Some(0))
        );
        assert_eq!(format!("{vocabulary:?}"), r#"["", "a"]"#);
    }

    #[test]
    fn a_list_of_strings_in_files() {
        let read = serde_json::from_str::<Vocabulary>;
        let vocabulary = read(r#"["a", "\"\u00e9\t", "a"]"#).unwrap();
        assert_eq!(vocabulary.iter().collect::<Vec<_>>(), ["a", "\"é\t"]);
        assert_eq!(serde_json::to_string(&vocabulary).unwrap(), r#"["a","\"é\t"]"#);
        assert!(read(r#"{"a": 1}"#).unwrap_err().to_string().contains("a list of strings"));
    }
}
