//! A record of the [table of attributes](crate::records): its header, its name and its weights, in 8-byte words.

use ndarray::ArrayView1;

/// The storage form of the weights of a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    None,
    One,
    Pairs,
    Row,
}

/// The first word of a record. The bits from 34 on are the length of the name. The bits from 2 on are the only label, the
/// number of pairs, or the number of labels. The lowest two bits are the kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header(pub(crate) u64);

impl Header {
    /// A header without weights, and with a length that no name has.
    pub(crate) const NONE: Header = Header(u64::MAX << 34 | Kind::None as u64);

    pub(crate) fn new(name: &str, weights: ArrayView1<f64>, stride: usize) -> Header {
        let mut labels = weights.iter().enumerate().filter(|(_, w)| **w != 0.0).map(|(k, _)| k);
        let (kind, number) = match (labels.clone().count(), labels.next()) {
            (1, Some(label)) => (Kind::One, label),
            // A pair costs as much time as eight weights of a row.
            (count, _) if 8 * count <= stride => (Kind::Pairs, count),
            _ => (Kind::Row, stride),
        };
        Header((name.len() as u64) << 34 | (number as u64) << 2 | kind as u64)
    }

    /// Words of the record.
    pub(crate) fn size(self) -> usize {
        let weights = match self.kind() {
            Kind::None => 0,
            Kind::One => 1,
            Kind::Pairs => 2 * self.number(),
            Kind::Row => self.number(),
        };
        1 + self.length().div_ceil(8) + weights
    }

    #[inline(always)]
    pub(crate) fn length(self) -> usize {
        (self.0 >> 34) as usize
    }

    #[inline(always)]
    pub(crate) fn number(self) -> usize {
        (self.0 >> 2) as u32 as usize
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> Kind {
        match self.0 & 3 {
            0 => Kind::None,
            1 => Kind::One,
            2 => Kind::Pairs,
            _ => Kind::Row,
        }
    }
}

/// The bytes after the last whole word of a string, at least one, in one word padded with zeros. They are read in overlapping
/// pieces, because a copy of variable length would be a function call.
#[inline(always)]
pub(crate) fn last_word(bytes: &[u8]) -> u64 {
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

/// Appends a record.
pub(crate) fn write(name: &str, weights: ArrayView1<f64>, stride: usize, words: &mut Vec<u64>) {
    let header = Header::new(name, weights, stride);
    words.push(header.0);
    let (whole, rest) = name.as_bytes().as_chunks::<8>();
    words.extend(whole.iter().map(|word| u64::from_le_bytes(*word)));
    words.extend((!rest.is_empty()).then(|| last_word(name.as_bytes())));
    let nonzero = weights.iter().enumerate().filter(|(_, w)| **w != 0.0);
    match header.kind() {
        Kind::None => {}
        Kind::One => words.extend(nonzero.map(|(_, w)| w.to_bits())),
        Kind::Pairs => words.extend(nonzero.flat_map(|(k, w)| [k as u64, w.to_bits()])),
        Kind::Row => words.extend(padded(weights, stride).map(f64::to_bits)),
    }
}

/// A row of weights, padded with zeros.
pub(crate) fn padded(weights: ArrayView1<f64>, stride: usize) -> impl Iterator<Item = f64> {
    weights.into_iter().copied().chain(std::iter::repeat_n(0.0, stride - weights.len()))
}
