//! What tagging reads of an attribute, in one place.

use std::ops::Range;

use fenchel_graphical::chain::stride;
use fenchel_linalg::lanes;

use crate::layout::add;
use crate::vocabulary::{self, Vocabulary};
use crate::{Instance, Weights};

/// The weights of attributes by name.
///
/// Tagging text is looking up names, and a look at memory that is not in the cache costs as much as all the rest of an attribute.
/// Hence two looks an attribute: a slot of the hash table, and a record with the name, to compare, and the weights.
///
/// | record, in words of 8 bytes | |
/// |---|---|
/// | 1 | a [`Header`]: bytes of the name, and what follows |
/// | as many as it takes | the name, zeros behind |
/// | 1 | the weight, if one is not zero; the header has its label |
/// | or 2 a weight | the label, the bits of the weight |
/// | or [`stride`] | all weights, where that is shorter, zeros behind |
#[derive(Debug)]
pub(crate) struct Records {
    words: Vec<u64>,
    /// The rows of bias, begin and end, of `stride` weights each.
    ends: [Vec<f64>; 3],
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

/// The bits of a slot that say where.
const PLACE: u64 = (1 << 40) - 1;

/// Names that are looked up together.
const BLOCK: usize = 128;

impl Records {
    pub(crate) fn new(names: &Vocabulary, weights: &Weights) -> Self {
        let stride = stride(weights.labels());
        let padded = |row: usize| {
            let zeros = std::iter::repeat_n(0.0, stride - weights.labels());
            weights.emission.row(row).into_iter().copied().chain(zeros)
        };
        let ends = [weights.bias(), weights.begin(), weights.end()];
        let mut words = vec![Header::NONE.0; 2];
        let mut starts = Vec::with_capacity(names.len());
        let mut slots = vec![0; (2 * names.len()).next_power_of_two()];
        for (number, (name, row)) in names.iter().zip(weights.emission.outer_iter()).enumerate() {
            let start = words.len() as u64;
            starts.push(start);
            let nonzero = || row.iter().enumerate().filter(|(_, w)| **w != 0.0);
            let header = match (nonzero().count(), nonzero().next()) {
                (1, Some((label, _))) => Header::new(name, Kind::One, label),
                (count, _) if 2 * count <= stride => Header::new(name, Kind::Pairs, count),
                _ => Header::new(name, Kind::Row, stride),
            };
            words.push(header.0);
            let (whole, rest) = name.as_bytes().as_chunks::<8>();
            words.extend(whole.iter().map(|word| u64::from_le_bytes(*word)));
            words.extend((!rest.is_empty()).then(|| last_word(name.as_bytes())));
            match header.kind() {
                Kind::One => words.extend(nonzero().map(|(_, w)| w.to_bits())),
                Kind::None => {}
                Kind::Pairs => words.extend(nonzero().flat_map(|(k, w)| [k as u64, w.to_bits()])),
                Kind::Row => words.extend(padded(number).map(f64::to_bits)),
            }
            let hash = vocabulary::hash(name.as_bytes());
            let mut place = hash as usize & (slots.len() - 1);
            while slots[place] != 0 {
                place = (place + 1) & (slots.len() - 1);
            }
            slots[place] = (hash & !PLACE) | start;
        }
        Records { words, ends: ends.map(|row| padded(row).collect()), starts, slots }
    }

    /// Finds the records of all attributes of an instance. One step for many names after the other, so that the waits for
    /// memory overlap.
    pub(crate) fn find_all(&self, instance: &Instance, found: &mut Found) {
        let (mut hashes, mut headers) = ([0; BLOCK], [0; BLOCK]);
        let mask = self.slots.len() - 1;
        found.clear();
        found.ends.extend((0..instance.len()).map(|t| instance.numbers(t).end));
        for block in instance.all_attributes().chunks(BLOCK) {
            let name = |(range, _): &(Range<usize>, f64)| &instance.text()[range.clone()];
            let (hashes, headers) = (&mut hashes[..block.len()], &mut headers[..block.len()]);
            hashes.iter_mut().zip(block).for_each(|(h, item)| *h = vocabulary::hash(name(item)));
            let first = found.attributes.len();
            found.attributes.extend(hashes.iter().zip(block).map(|(&hash, &(_, value))| {
                let slot = self.slots[hash as usize & mask];
                let fits = slot == 0 || (slot ^ hash) & !PLACE == 0;
                (if fits { slot & PLACE } else { ELSEWHERE }, value)
            }));
            let places = &mut found.attributes[first..];
            headers.iter_mut().zip(&*places).for_each(|(h, at)| *h = self.words[at.0 as usize]);
            for ((((place, _), item), &hash), &header) in
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
        if Header(header).length() != name.len() {
            return false;
        }
        let record = &self.words[place as usize + 1..];
        let (whole, rest) = name.as_chunks::<8>();
        whole.iter().zip(record).all(|(word, found)| u64::from_le_bytes(*word) == *found)
            && (rest.is_empty() || last_word(name) == record[whole.len()])
    }

    /// `scores_t = sum_a x_ta W(a, .)`, the ends included; rows of `stride` scores, whose padding stays as it is.
    pub(crate) fn scores(&self, found: &Found, scores: &mut [f64]) {
        lanes::run(Scores { records: self, found, scores });
    }

    /// Where the record of the attribute of a number begins.
    pub(crate) fn place(&self, number: u32) -> u64 {
        self.starts.get(number as usize).copied().unwrap_or(NOWHERE)
    }
}

/// The attributes of the tokens of a sequence.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    /// Where their records begin, and their values.
    attributes: Vec<(u64, f64)>,
    /// Where the attributes of a token end.
    ends: Vec<usize>,
}

impl Found {
    pub(crate) fn clear(&mut self) {
        self.attributes.clear();
        self.ends.clear();
    }

    /// Appends a token.
    pub(crate) fn push(&mut self, attributes: impl Iterator<Item = (u64, f64)>) {
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

/// Rows that are added together.
const ROWS: usize = 32;

/// `scores += value * row` for rows that begin somewhere in `words`.
#[inline(always)]
fn add_rows(words: &[u64], rows: &[(usize, f64)], scores: &mut [f64]) {
    for (block, scores) in scores.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let mut sums = *scores;
        for &(start, value) in rows {
            let row = &words[start + 8 * block..][..8];
            for l in 0..8 {
                sums[l] += value * f64::from_bits(row[l]);
            }
        }
        *scores = sums;
    }
}

/// How weights are written down.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    None,
    One,
    Pairs,
    Row,
}

/// The first word of a record: from bit 34 on the bytes of the name, from bit 2 on the only label, the number of pairs or
/// that of labels, below it the kind.
#[derive(Debug, Clone, Copy)]
struct Header(u64);

impl Header {
    /// No weights, and the length of no name.
    const NONE: Header = Header(u64::MAX << 34 | Kind::None as u64);

    fn new(name: &str, kind: Kind, number: usize) -> Header {
        Header((name.len() as u64) << 34 | (number as u64) << 2 | kind as u64)
    }

    #[inline(always)]
    fn length(self) -> usize {
        (self.0 >> 34) as usize
    }

    #[inline(always)]
    fn number(self) -> usize {
        (self.0 >> 2) as u32 as usize
    }

    #[inline(always)]
    fn kind(self) -> Kind {
        match self.0 & 3 {
            0 => Kind::None,
            1 => Kind::One,
            2 => Kind::Pairs,
            _ => Kind::Row,
        }
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
