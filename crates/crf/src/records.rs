//! The table in which tagging finds the weights of an attribute.

use std::ops::Range;

use fenchel_graphical::chain::stride;
use fenchel_linalg::lanes;

use crate::instance::Instance;
use crate::layout::add;
use crate::record::{Header, Kind, last_word, padded, write};
use crate::vocabulary::{self, Vocabulary};
use crate::weights::Weights;

/// The weights of attributes by name.
///
/// Tagging text means looking up names. A read of memory that is not in the cache costs as much as all other work on an
/// attribute. So an attribute needs only two such reads: a slot of a hash table, and a record with the name, for comparison,
/// and the weights.
///
/// | 8-byte words of a record | content |
/// |---|---|
/// | 1 | a [`Header`]: length of the name, and the kind of the record |
/// | as many as needed | the name, padded with zeros |
/// | 1 | the weight, if a single one is not zero; the header has its label |
/// | or 2 per weight | the label, and the bits of the weight |
/// | or [`stride`] | all weights, padded with zeros, where that is faster |
///
/// A record that fits into one cache line does not cross a line boundary. Vocabularies number names by their first appearance,
/// so that frequent names have small numbers. Their records are adjacent, and a second table of slots for them is small enough
/// for the cache.
#[derive(Debug)]
pub(crate) struct Records {
    words: Vec<u64>,
    /// The rows of bias, begin and end, of `stride` weights each.
    ends: [Vec<f64>; 3],
    /// The start of the record of each attribute.
    starts: Vec<u32>,
    /// A hash table with linear probing, at most half full, whose size is a power of two. A slot has the start of a record, and
    /// a part of the hash in the remaining bits; 0 means an empty slot.
    slots: Vec<u32>,
    /// A table like `slots` for the first names only, without probing: a name whose slot is taken is not in it.
    frequent: Vec<u32>,
    /// The bits of a slot that contain the start of a record.
    place: u32,
}

/// The start of a record without name and weights, for names that have no record.
pub(crate) const NOWHERE: u32 = 0;

/// The start of a second such record, for names whose first slot belongs to another name.
const ELSEWHERE: u32 = 1;

/// Slots of the table of frequent names: 128 KiB.
const FREQUENT: usize = 1 << 15;

/// Number of first names that may get a slot in that table.
const EARLY: usize = 1 << 14;

/// Names that are looked up together.
const BLOCK: usize = 128;

/// Masks for the first bytes of a short name, by its length.
const SHORT: [u128; 17] = {
    let mut masks = [u128::MAX; 17];
    let mut length = 0;
    while length < 16 {
        masks[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    masks
};

/// Number of words in a cache line.
const LINE: usize = 8;

impl Records {
    /// # Panics
    /// Beyond 2^32 words.
    pub(crate) fn new(names: &Vocabulary, weights: &Weights) -> Self {
        let stride = stride(weights.labels());
        let rows = || names.iter().zip(weights.emission.outer_iter());
        let mut starts = Vec::with_capacity(names.len());
        let mut end = LINE;
        for (name, row) in rows() {
            let size = Header::new(name, row, stride).size();
            if size <= LINE && end % LINE + size > LINE {
                end = end.next_multiple_of(LINE);
            }
            starts.push(end as u32);
            end += size;
        }
        // Two more words, as a short name is compared with two.
        let mut words: Vec<u64> = Vec::with_capacity(LINE + end + 2);
        let first = words.as_ptr().align_offset(8 * LINE).min(LINE);
        let last = u32::try_from(LINE + end).expect("records of fewer than 2^32 words");
        let place = u32::MAX >> last.leading_zeros();
        starts.iter_mut().for_each(|start| *start += first as u32);
        let mut slots = vec![0; (2 * names.len()).next_power_of_two()];
        let mut frequent = vec![0; FREQUENT];
        for (number, ((name, row), &start)) in rows().zip(&starts).enumerate() {
            words.resize(start as usize, Header::NONE.0);
            write(name, row, stride, &mut words);
            let hash = vocabulary::hash(name.as_bytes());
            let mut at = hash as usize & (slots.len() - 1);
            while slots[at] != 0 {
                at = (at + 1) & (slots.len() - 1);
            }
            slots[at] = upper(hash) & !place | start;
            let early = &mut frequent[hash as usize & (FREQUENT - 1)];
            if number < EARLY && *early == 0 {
                *early = slots[at];
            }
        }
        words.resize(first + end + 2, Header::NONE.0);
        let ends = [weights.bias(), weights.begin(), weights.end()];
        let ends = ends.map(|row| padded(weights.emission.row(row), stride).collect());
        Records { words, ends, starts, slots, frequent, place }
    }

    /// Finds the records of all attributes of an instance. Each stage runs over many names, so that the waits for
    /// memory overlap.
    pub(crate) fn find_all(&self, instance: &Instance, found: &mut Found) {
        let (mut hashes, mut headers) = ([0; BLOCK], [0; BLOCK]);
        found.clear();
        found.ends.extend((0..instance.len()).map(|t| instance.numbers(t).end));
        let text = instance.text();
        for block in instance.all_attributes().chunks(BLOCK) {
            let name = |(range, _): &(Range<usize>, f64)| &text[range.clone()];
            let (hashes, headers) = (&mut hashes[..block.len()], &mut headers[..block.len()]);
            hashes.iter_mut().zip(block).for_each(|(h, item)| *h = vocabulary::hash(name(item)));
            let first = found.attributes.len();
            found.attributes.extend(block.iter().map(|(_, value)| (NOWHERE, *value)));
            let places = &mut found.attributes[first..];
            self.guess(hashes, places);
            headers.iter_mut().zip(&*places).for_each(|(h, at)| *h = self.words[at.0 as usize]);
            for ((((place, _), item), &hash), &header) in
                places.iter_mut().zip(block).zip(&*hashes).zip(&*headers)
            {
                if !self.is(*place, header, text, &item.0) && *place != NOWHERE {
                    *place = self.find(name(item), hash);
                }
            }
        }
    }

    /// Finds the starts of records from the first slots of at most [`BLOCK`] names, without reading the records.
    #[inline(always)]
    fn guess(&self, hashes: &[u64], places: &mut [(u32, f64)]) {
        let frequent: &[u32; FREQUENT] = self.frequent[..].try_into().expect("of this size");
        let fits = |slot: u32, hash: u64| (slot ^ upper(hash)) & !self.place == 0;
        let (mut rare, mut count) = ([0; BLOCK], 0);
        for (at, ((place, _), &hash)) in places.iter_mut().zip(hashes).enumerate() {
            let slot = frequent[hash as usize & (FREQUENT - 1)];
            *place = slot & self.place;
            rare[count] = at as u8;
            count += usize::from(slot == 0 || !fits(slot, hash));
        }
        let mask = self.slots.len() - 1;
        for &at in &rare[..count] {
            let hash = hashes[at as usize];
            let slot = self.slots[hash as usize & mask];
            let known = slot == 0 || fits(slot, hash);
            places[at as usize].0 = if known { slot & self.place } else { ELSEWHERE };
        }
    }

    /// Finds the record of a name by linear probing.
    #[inline(never)]
    fn find(&self, name: &[u8], hash: u64) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            let place = slot & self.place;
            let fits = (slot ^ upper(hash)) & !self.place == 0;
            if slot == 0 || (fits && self.is_name(place, self.words[place as usize], name)) {
                return place;
            }
            at = (at + 1) & mask;
        }
    }

    /// Whether the record at `place`, with the header word `header`, belongs to the name in the range `part` of a text. Most
    /// names are short, and are compared without a branch.
    #[inline(always)]
    fn is(&self, place: u32, header: u64, text: &[u8], part: &Range<usize>) -> bool {
        let length = part.end - part.start;
        let ahead = text[part.start..].first_chunk::<16>();
        let (Some(ahead), true) = (ahead, length <= 16) else {
            return self.is_name(place, header, &text[part.clone()]);
        };
        let record = &self.words[place as usize + 1..][..2];
        let name = u128::from_le_bytes(*ahead);
        let kept = u128::from(record[0]) | u128::from(record[1]) << 64;
        let differ = (name ^ kept) & SHORT[length];
        differ == 0 && Header(header).length() == length
    }

    /// As [`is`](Self::is), for any name.
    fn is_name(&self, place: u32, header: u64, name: &[u8]) -> bool {
        if Header(header).length() != name.len() {
            return false;
        }
        let record = &self.words[place as usize + 1..];
        let (whole, rest) = name.as_chunks::<8>();
        whole.iter().zip(record).all(|(word, found)| u64::from_le_bytes(*word) == *found)
            && (rest.is_empty() || last_word(name) == record[whole.len()])
    }

    /// Computes `scores_t = sum_a x_ta W(a, .)`, with the weights of both ends, in rows of `stride` scores. The padding does
    /// not change.
    pub(crate) fn scores(&self, found: &Found, scores: &mut [f64]) {
        lanes::run(Scores { records: self, found, scores });
    }

    /// The start of the record of an attribute, given by its number.
    pub(crate) fn place(&self, number: u32) -> u32 {
        self.starts.get(number as usize).copied().unwrap_or(NOWHERE)
    }
}

/// The upper half of a hash.
#[inline(always)]
fn upper(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// The attributes of the tokens of a sequence.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    /// The starts of their records, and their values.
    attributes: Vec<(u32, f64)>,
    /// The end of each token among the attributes.
    ends: Vec<usize>,
}

impl Found {
    pub(crate) fn clear(&mut self) {
        self.attributes.clear();
        self.ends.clear();
    }

    /// Appends a token.
    pub(crate) fn push(&mut self, attributes: impl Iterator<Item = (u32, f64)>) {
        self.attributes.extend(attributes);
        self.ends.push(self.attributes.len());
    }
}

/// [`Records::scores`] as a kernel.
struct Scores<'a> {
    records: &'a Records,
    found: &'a Found,
    scores: &'a mut [f64],
}

impl lanes::Kernel for Scores<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let Scores { records, found, scores } = self;
        let words = &records.words[..];
        let [bias, begin, end] = &records.ends;
        let (stride, length) = (bias.len(), found.ends.len());
        let mut rows = [(0, 0.0); ROWS];
        let mut start = 0;
        for (t, scores) in scores.chunks_exact_mut(stride).enumerate() {
            add(1.0, bias, scores);
            if t == 0 {
                add(1.0, begin, scores);
            }
            if t + 1 == length {
                add(1.0, end, scores);
            }
            let mut waiting = 0;
            for &(place, value) in &found.attributes[start..found.ends[t]] {
                let place = place as usize;
                let header = Header(words[place]);
                if header.kind() == Kind::None {
                    continue;
                }
                let weights = &words[place + 1 + header.length().div_ceil(8)..];
                match header.kind() {
                    Kind::One => scores[header.number()] += value * f64::from_bits(weights[0]),
                    Kind::Pairs => {
                        for [label, bits] in weights[..2 * header.number()].as_chunks::<2>().0 {
                            scores[*label as usize] += value * f64::from_bits(*bits);
                        }
                    }
                    _ => {
                        // Whole rows are added together: what is written one by one and read by eights at once makes a processor wait.
                        rows[waiting] = (words.len() - weights.len(), value);
                        waiting += 1;
                        if waiting == ROWS {
                            add_rows(words, &rows, scores);
                            waiting = 0;
                        }
                    }
                }
            }
            add_rows(words, &rows[..waiting], scores);
            start = found.ends[t];
        }
    }
}

/// Number of rows that are added together.
const ROWS: usize = 32;

/// Adds `value * row` to `scores`, for rows that start anywhere in `words`.
#[inline(always)]
fn add_rows(words: &[u64], rows: &[(usize, f64)], scores: &mut [f64]) {
    let (wide, rest) = scores.as_chunks_mut::<16>();
    let narrow = 16 * wide.len();
    for (block, scores) in wide.iter_mut().enumerate() {
        add_columns(words, rows, 16 * block, scores);
    }
    for scores in rest.as_chunks_mut::<8>().0 {
        add_columns(words, rows, narrow, scores);
    }
}

/// Does the same as [`add_rows`] for `W` columns from a given one on.
#[inline(always)]
fn add_columns<const W: usize>(
    words: &[u64],
    rows: &[(usize, f64)],
    column: usize,
    scores: &mut [f64; W],
) {
    let mut sums = *scores;
    for &(start, value) in rows {
        let row = &words[start + column..][..W];
        for l in 0..W {
            sums[l] += value * f64::from_bits(row[l]);
        }
    }
    *scores = sums;
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
            (0..3 * 7).for_each(|c| weights.emission[[names.len() + c / 7, c % 7]] = c as f64);
            for a in 0..names.len() {
                // Rows of 0 to 7 weights: up to 4 are written down as pairs.
                (0..a % 8).for_each(|c| weights.emission[[a, (a + 3 * c) % 7]] = (a + c + 1) as f64);
            }
            let records = Records::new(&names, &weights);
            let all: Vec<&str> = known.iter().chain(&asked).map(String::as_str).collect();
            let mut found = Found::default();
            found.push([(7, 0.0)].into_iter());
            // A token an attribute.
            let tokens: Vec<[&str; 1]> = all.iter().map(|name| [*name]).collect();
            records.find_all(&Instance::from_lists(&tokens), &mut found);
            prop_assert_eq!(found.ends.clone(), (1..=all.len()).collect::<Vec<_>>());
            found.attributes.iter_mut().for_each(|(_, value)| *value = 0.5);
            let mut scores = vec![1.0; 8 * all.len()];
            records.scores(&found, &mut scores);
            let last = all.len().saturating_sub(1);
            for (t, (name, scores)) in all.iter().zip(scores.chunks_exact(8)).enumerate() {
                let place = found.attributes[t].0;
                let number = names.get(name);
                prop_assert_eq!(place, number.map_or(NOWHERE, |number| records.place(number)));
                for k in 0..7 {
                    let w = |row: usize| weights.emission[[row, k]];
                    let mut expected = 1.0 + w(weights.bias()) + number.map_or(0.0, |a| 0.5 * w(a as usize));
                    expected += if t == 0 { w(weights.begin()) } else { 0.0 };
                    expected += if t == last { w(weights.end()) } else { 0.0 };
                    prop_assert_eq!(scores[k], expected);
                }
                prop_assert_eq!(scores[7], 1.0);
            }
            prop_assert_eq!(records.place(names.len() as u32), NOWHERE);
        }
    }
}
