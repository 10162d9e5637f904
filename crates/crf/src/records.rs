//! What tagging reads of an attribute, in one place.

use crate::Weights;
use crate::vocabulary::{self, Vocabulary};

/// The weights of attributes by name.
///
/// Tagging text is looking up names, and a look at memory that is not in the cache costs as much as all the rest of an attribute.
/// Hence two looks an attribute: a slot of the hash table, and a record with the name, to compare, and the weights.
///
/// | record, in words of 8 bytes | |
/// |---|---|
/// | 1 | bytes of the name, and from bit 40 on the number of weights that are not zero, or [`MANY`] |
/// | 2 a weight | the label, the bits of the weight |
/// | or, with `MANY`, 1 | the number of the attribute: its weights stay where they are |
/// | as many as it takes | the name, zeros behind |
#[derive(Debug)]
pub(crate) struct Records {
    words: Vec<u64>,
    /// Where the record of an attribute begins.
    starts: Vec<u64>,
    /// Linear probing, at most half full, the size a power of two: from bit 40 on a part of the hash, below it where the record
    /// begins; [`FREE`] for none.
    slots: Vec<u64>,
}

/// A place of no record.
pub(crate) const NOWHERE: u64 = PLACE;

const FREE: u64 = u64::MAX;

/// The bits of a slot that say where, and those of a header that say how long.
const PLACE: u64 = (1 << 40) - 1;

/// More weights than it pays to write down again: a third of the labels.
const MANY: u64 = (1 << 24) - 1;

impl Records {
    pub(crate) fn new(names: &Vocabulary, weights: &Weights) -> Self {
        let mut words = Vec::new();
        let mut starts = Vec::with_capacity(names.len());
        let mut slots = vec![FREE; (2 * names.len()).next_power_of_two()];
        for ((number, name), row) in names.iter().enumerate().zip(weights.emission.outer_iter()) {
            let start = words.len() as u64;
            starts.push(start);
            let nonzero = row.iter().filter(|w| **w != 0.0).count() as u64;
            let many = 3 * nonzero > weights.labels() as u64;
            words.push(name.len() as u64 | if many { MANY } else { nonzero } << 40);
            if many {
                words.push(number as u64);
            } else {
                for (k, w) in row.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                    words.extend([k as u64, w.to_bits()]);
                }
            }
            words.extend(packed(name.as_bytes()));
            let hash = vocabulary::hash(name);
            let mut place = hash as usize & (slots.len() - 1);
            while slots[place] != FREE {
                place = (place + 1) & (slots.len() - 1);
            }
            slots[place] = (hash & !PLACE) | start;
        }
        Records { words, starts, slots }
    }

    /// Where the records of several names begin, [`NOWHERE`] for those without one. One step for all names after the other,
    /// so that the waits for memory overlap.
    pub(crate) fn find_all<'n, N: Iterator<Item = &'n str>>(
        &self,
        names: impl Fn() -> N,
        hashes: &mut Vec<u64>,
        places: &mut Vec<u64>,
    ) {
        hashes.clear();
        hashes.extend(names().map(vocabulary::hash));
        let mask = self.slots.len() - 1;
        places.clear();
        places.extend(hashes.iter().map(|&hash| {
            let slot = self.slots[hash as usize & mask];
            let fits = slot != FREE && (slot ^ hash) & !PLACE == 0;
            if fits { slot & PLACE } else { NOWHERE }
        }));
        for ((name, &hash), place) in names().zip(&*hashes).zip(places) {
            if *place == NOWHERE || !self.is(*place, name.as_bytes()) {
                *place = self.find(name, hash);
            }
        }
    }

    fn find(&self, name: &str, hash: u64) -> u64 {
        let mask = self.slots.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let slot = self.slots[place];
            if slot == FREE {
                return NOWHERE;
            }
            if (slot ^ hash) & !PLACE == 0 && self.is(slot & PLACE, name.as_bytes()) {
                return slot & PLACE;
            }
            place = (place + 1) & mask;
        }
    }

    /// Whether the record at `place` is that of a name.
    #[inline]
    fn is(&self, place: u64, name: &[u8]) -> bool {
        let record = &self.words[place as usize..];
        let count = record[0] >> 40;
        let weights = if count == MANY { 1 } else { 2 * count as usize };
        (record[0] & PLACE) as usize == name.len()
            && packed(name).zip(&record[1 + weights..]).all(|(a, b)| a == *b)
    }

    /// `scores += value * W(a, .)` for the attribute whose record is at `place`, with the weights that the records are of.
    #[inline]
    pub(crate) fn add(&self, place: u64, value: f64, weights: &Weights, scores: &mut [f64]) {
        let record = &self.words[place as usize..];
        let count = record[0] >> 40;
        if count == MANY {
            let row = weights.emission.row(record[1] as usize);
            // A slice, so that the loop vectorises.
            let row = row.as_slice().expect("rows are in one piece");
            scores.iter_mut().zip(row).for_each(|(score, w)| *score += value * w);
            return;
        }
        for [label, bits] in record[1..=2 * count as usize].as_chunks::<2>().0 {
            scores[*label as usize] += value * f64::from_bits(*bits);
        }
    }

    /// Where the record of the attribute of a number begins.
    pub(crate) fn place(&self, number: u32) -> u64 {
        self.starts.get(number as usize).copied().unwrap_or(NOWHERE)
    }
}

/// Bytes in words, zeros behind.
#[inline]
fn packed(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let (whole, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let last = (!rest.is_empty()).then(|| u64::from_le_bytes(last));
    whole.iter().map(|word| u64::from_le_bytes(*word)).chain(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn names_and_weights_come_back(
            known in proptest::collection::vec("[ab]{0,20}", 0..80),
            asked in proptest::collection::vec("[ab]{0,20}", 0..80),
        ) {
            let names: Vocabulary = known.iter().collect();
            let mut weights = Weights::zeros(names.len(), 7);
            for a in 0..names.len() {
                // Rows of 0 to 7 weights: up to 2 are written down.
                (0..a % 8).for_each(|c| weights.emission[[a, (a + 3 * c) % 7]] = (a + c + 1) as f64);
            }
            let records = Records::new(&names, &weights);
            let all: Vec<&str> = known.iter().chain(&asked).map(String::as_str).collect();
            let (mut hashes, mut places) = (Vec::new(), Vec::new());
            records.find_all(|| all.iter().copied(), &mut hashes, &mut places);
            for (name, &place) in all.iter().zip(&places) {
                let Some(number) = names.get(name) else {
                    prop_assert_eq!(place, NOWHERE);
                    continue;
                };
                prop_assert_eq!(place, records.place(number));
                let mut scores = [1.0; 7];
                records.add(place, 0.5, &weights, &mut scores);
                let row = weights.emission.row(number as usize);
                prop_assert!(scores.iter().zip(row).all(|(s, w)| *s == 1.0 + 0.5 * w));
            }
            prop_assert_eq!(records.place(names.len() as u32), NOWHERE);
        }
    }
}
