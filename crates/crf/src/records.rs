//! What tagging reads of an attribute, in one place.

use std::ops::Range;

use crate::vocabulary::{self, Vocabulary};
use crate::{Instance, Weights};

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
    /// begins; 0 for none.
    slots: Vec<u64>,
}

/// The place of a record without a name and without weights: that of names that have none.
pub(crate) const NOWHERE: u64 = 0;

/// The place of another one: that of names whose first slot belongs to another name.
const ELSEWHERE: u64 = 1;

/// The bits of a slot that say where, and those of a header that say how long.
const PLACE: u64 = (1 << 40) - 1;

/// More weights than it pays to write down again: a third of the labels.
const MANY: u64 = (1 << 24) - 1;

/// Names that are looked up together.
const BLOCK: usize = 128;

impl Records {
    pub(crate) fn new(names: &Vocabulary, weights: &Weights) -> Self {
        // No name has the length of the records at `NOWHERE` and `ELSEWHERE`.
        let mut words = vec![PLACE; 2];
        let mut starts = Vec::with_capacity(names.len());
        let mut slots = vec![0; (2 * names.len()).next_power_of_two()];
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
            let (whole, rest) = name.as_bytes().as_chunks::<8>();
            words.extend(whole.iter().map(|word| u64::from_le_bytes(*word)));
            words.extend((!rest.is_empty()).then(|| last_word(name.as_bytes())));
            let hash = vocabulary::hash(name.as_bytes());
            let mut place = hash as usize & (slots.len() - 1);
            while slots[place] != 0 {
                place = (place + 1) & (slots.len() - 1);
            }
            slots[place] = (hash & !PLACE) | start;
        }
        Records { words, starts, slots }
    }

    /// Where the records of all attributes of an instance begin, [`NOWHERE`] for those without one. One step for many names
    /// after the other, so that the waits for memory overlap.
    pub(crate) fn find_all(&self, instance: &Instance, places: &mut Vec<u64>) {
        let (mut hashes, mut headers) = ([0; BLOCK], [0; BLOCK]);
        let mask = self.slots.len() - 1;
        places.clear();
        for block in instance.all_attributes().chunks(BLOCK) {
            let name = |(range, _): &(Range<usize>, f64)| &instance.text()[range.clone()];
            let hashes = &mut hashes[..block.len()];
            hashes.iter_mut().zip(block).for_each(|(h, item)| *h = vocabulary::hash(name(item)));
            let first = places.len();
            places.extend(hashes.iter().map(|&hash| {
                let slot = self.slots[hash as usize & mask];
                let fits = slot == 0 || (slot ^ hash) & !PLACE == 0;
                if fits { slot & PLACE } else { ELSEWHERE }
            }));
            let places = &mut places[first..];
            let headers = &mut headers[..block.len()];
            headers.iter_mut().zip(&*places).for_each(|(h, &p)| *h = self.words[p as usize]);
            for (((place, item), &hash), &header) in
                places.iter_mut().zip(block).zip(&*hashes).zip(&*headers)
            {
                if *place != NOWHERE && !self.is(*place, header, name(item)) {
                    *place = self.find(name(item), hash);
                }
            }
        }
    }

    #[inline(never)]
    fn find(&self, name: &[u8], hash: u64) -> u64 {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            let place = slot & PLACE;
            let fits = (slot ^ hash) & !PLACE == 0;
            if slot == 0 || (fits && self.is(place, self.words[place as usize], name)) {
                return place;
            }
            at = (at + 1) & mask;
        }
    }

    /// Whether the record at `place`, with the word `header`, is that of a name.
    #[inline(always)]
    fn is(&self, place: u64, header: u64, name: &[u8]) -> bool {
        if (header & PLACE) as usize != name.len() {
            return false;
        }
        let record = &self.words[place as usize + 1 + weight_words(header)..];
        let (whole, rest) = name.as_chunks::<8>();
        whole.iter().zip(record).all(|(word, found)| u64::from_le_bytes(*word) == *found)
            && (rest.is_empty() || last_word(name) == record[whole.len()])
    }

    /// `scores += value * W(a, .)` for the attribute whose record is at `place`, with the weights that the records are of.
    #[inline(always)]
    pub(crate) fn add(&self, place: u64, value: f64, weights: &Weights, scores: &mut [f64]) {
        let record = &self.words[place as usize..];
        if record[0] >> 40 == MANY {
            let row = weights.emission.row(record[1] as usize);
            // A slice, so that the loop vectorises.
            let row = row.as_slice().expect("rows are in one piece");
            scores.iter_mut().zip(row).for_each(|(score, w)| *score += value * w);
            return;
        }
        for [label, bits] in record[1..=weight_words(record[0])].as_chunks::<2>().0 {
            scores[*label as usize] += value * f64::from_bits(*bits);
        }
    }

    /// Where the record of the attribute of a number begins.
    pub(crate) fn place(&self, number: u32) -> u64 {
        self.starts.get(number as usize).copied().unwrap_or(NOWHERE)
    }
}

/// The words between the header of a record and its name.
#[inline(always)]
fn weight_words(header: u64) -> usize {
    match header >> 40 {
        MANY => 1,
        count => 2 * count as usize,
    }
}

/// The bytes behind the last whole word of a string, of which there are some, in one word with zeros behind. Read in pieces that
/// overlap: a copy of a length that varies would be a call.
#[inline(always)]
fn last_word(bytes: &[u8]) -> u64 {
    let rest = bytes.len() % 8;
    if let Some(last) = bytes.last_chunk::<8>() {
        return u64::from_le_bytes(*last) >> (64 - 8 * rest);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) | u64::from(last) << (8 * (rest - 4));
    }
    let byte = |at: usize| u64::from(bytes[at]) << (8 * at);
    byte(0) | byte(rest / 2) | byte(rest - 1)
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
            let mut places = vec![7; 3];
            records.find_all(&Instance::from_lists(&[&all]), &mut places);
            prop_assert_eq!(places.len(), all.len());
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
