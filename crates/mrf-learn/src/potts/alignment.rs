//! Aligned sequences as codes of letters, and the weight of each sequence.

use std::borrow::Cow;

use fenchel_linalg::{Invalid, lanes, parallel};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The letters of an alignment, in the order of their codes. Letters are compared without case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Letters", into = "Letters")]
pub struct Alphabet {
    letters: Vec<u8>,
    gap: u8,
}

/// An alphabet in a file.
#[derive(Serialize, Deserialize)]
struct Letters {
    letters: String,
    gap: char,
}

impl TryFrom<Letters> for Alphabet {
    type Error = Error;

    fn try_from(Letters { letters, gap }: Letters) -> Result<Self, Error> {
        Alphabet::new(&letters, gap)
    }
}

impl From<Alphabet> for Letters {
    fn from(Alphabet { letters, gap }: Alphabet) -> Self {
        let letters = letters.into_iter().map(char::from).collect();
        Letters { letters, gap: char::from(gap) }
    }
}

impl Alphabet {
    /// The twenty amino acids, in the order `ARNDCQEGHILKMFPSTWYV`, and the gap `-`.
    pub fn protein() -> Self {
        Alphabet { letters: b"ARNDCQEGHILKMFPSTWYV".to_vec(), gap: b'-' }
    }

    /// Four bases `ACGT`, of which `U` counts as `T`, and the gap `-`.
    pub fn nucleotides() -> Self {
        Alphabet { letters: b"ACGT".to_vec(), gap: b'-' }
    }

    /// An alphabet of any letters and a gap.
    ///
    /// # Errors
    /// [`Invalid::Layout`] for a letter that occurs twice, the gap included, and for one that is no printable ASCII character;
    /// [`Invalid::Parameter`] for fewer than 2 letters or more than 31.
    pub fn new(letters: &str, gap: char) -> Result<Self, Error> {
        let upper = letters.to_ascii_uppercase().into_bytes();
        if let Some(other) = letters.chars().chain([gap]).find(|c| !c.is_ascii_graphic()) {
            let reason = format!("{other:?} is no printable ASCII character");
            return Err(Invalid::Layout { what: "letters", reason }.into());
        }
        if !(2..=31).contains(&upper.len()) {
            let (name, value) = ("letters", upper.len() as f64);
            return Err(Invalid::Parameter { name, value, expected: "2 to 31 letters" }.into());
        }
        let mut sorted = upper.clone();
        sorted.push(gap.to_ascii_uppercase() as u8);
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let reason = format!("{:?} occurs twice", char::from(twice[0]));
            return Err(Invalid::Layout { what: "letters", reason }.into());
        }
        Ok(Alphabet { letters: upper, gap: gap as u8 })
    }

    /// Number of letters without the gap.
    pub fn len(&self) -> usize {
        self.letters.len()
    }

    /// Always false: an alphabet has two letters.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The letter of a code; the gap for the last, and for any beyond.
    pub fn letter(&self, code: u8) -> char {
        char::from(self.letters.get(usize::from(code)).copied().unwrap_or(self.gap))
    }

    /// The code of a letter; that of the gap, [`len`](Self::len), for everything unknown.
    pub fn code(&self, letter: u8) -> u8 {
        let letter = letter.to_ascii_uppercase();
        // In a protein U is selenocysteine, which has no letter of its own among the twenty.
        let bases = self.letters.iter().all(|letter| b"ACGT".contains(letter));
        let letter = if letter == b'U' && bases { b'T' } else { letter };
        let place = self.letters.iter().position(|&l| l == letter);
        place.map_or(self.letters.len() as u8, |place| place as u8)
    }
}

/// The treatment of gaps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gaps {
    /// The gap is one more letter: the usual choice.
    #[default]
    State,
    /// Missing: a missing cell has no term in the objective and does not enter the terms of other cells.
    Missing,
}

/// Aligned sequences as codes, with weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Alignment {
    codes: Array2<u8>,
    states: usize,
    alphabet: Alphabet,
    gaps: Gaps,
    weights: Array1<f64>,
}

impl Alignment {
    /// Codes of letters, in the shape sequences x columns. Letters outside the alphabet, including all ambiguous ones,
    /// count as gaps.
    ///
    /// # Errors
    /// [`Invalid::Empty`] without sequences; [`Invalid::Parameter`] for fewer than two columns; [`Error::Entry`] for bytes that are no printable
    /// characters.
    pub fn new(letters: ArrayView2<u8>, alphabet: Alphabet, gaps: Gaps) -> Result<Self, Error> {
        if letters.nrows() == 0 {
            return Err(Invalid::Empty { what: "alignment (sequences)" }.into());
        }
        if letters.ncols() < 2 {
            let (name, value) = ("columns of the alignment", letters.ncols() as f64);
            return Err(Invalid::Parameter { name, value, expected: "at least 2" }.into());
        }
        for ((row, column), letter) in letters.indexed_iter() {
            if !letter.is_ascii_graphic() {
                let expected = "a printable ASCII character: letters, not codes";
                return Err(Error::Entry { row, column, value: letter.to_string(), expected });
            }
        }
        let table: Vec<u8> = (0..=255).map(|letter| alphabet.code(letter)).collect();
        let codes = letters.mapv(|letter| table[usize::from(letter)]);
        let states = alphabet.len() + usize::from(gaps == Gaps::State);
        let weights = Array1::ones(codes.nrows());
        Ok(Alignment { codes, states, alphabet, gaps, weights })
    }

    /// Weights the sequences by similarity. The weight is one over the number of sequences, itself included, that agree
    /// with the sequence in at least this share of the columns; gaps agree with gaps. The usual share is 0.8. The cost
    /// is O(n^2 columns), with 32 to 64 cells per instruction.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a share outside (0, 1].
    pub fn identity_weights(mut self, share: f64) -> Result<Self, Error> {
        if !(share > 0.0 && share <= 1.0) {
            let expected = "a share in (0, 1]";
            return Err(Invalid::Parameter { name: "identity", value: share, expected }.into());
        }
        let (n, columns) = self.codes.dim();
        let codes = self.codes.as_standard_layout();
        let codes = codes.as_slice().unwrap_or_default();
        let least = (share * columns as f64 - 1e-9).ceil() as u32;
        let counts = parallel::map(0..n, |i| {
            let own = &codes[i * columns..(i + 1) * columns];
            lanes::run(Similar { codes, own, least })
        });
        self.weights = counts.into_iter().map(|count| 1.0 / f64::from(count)).collect();
        Ok(self)
    }

    /// Gives every sequence a weight.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::Layout`] for a weight that is negative or not finite; [`Invalid::Parameter`] for a sum of 0.
    pub fn with_weights<'a>(
        mut self,
        weights: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<Self, Error> {
        let weights = weights.into();
        Invalid::check_weights("weights", self.sequences(), weights.iter())?;
        Invalid::check_positive("weights (sum)", weights.sum())?;
        // They are kept in single precision while fitting.
        if let Some(&value) = weights.iter().find(|&&w| w > 0.0 && !(1e-30..=1e30).contains(&w)) {
            let expected = "0, or between 1e-30 and 1e30";
            return Err(Invalid::Parameter { name: "weights", value, expected }.into());
        }
        self.weights = weights.to_owned();
        Ok(self)
    }

    /// The alignment with the weights of a fit, if it has any, in place of its own.
    pub(super) fn weighted(
        &self,
        fit: Option<ArrayView1<'_, f64>>,
    ) -> Result<Cow<'_, Self>, Error> {
        fit.map_or(Ok(Cow::Borrowed(self)), |weights| {
            Ok(Cow::Owned(self.clone().with_weights(weights)?))
        })
    }

    /// Number of sequences.
    pub fn sequences(&self) -> usize {
        self.codes.nrows()
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.codes.ncols()
    }

    /// The number of letters per column in the model, `q`. It includes the gap if the gap is a letter.
    pub fn states(&self) -> usize {
        self.states
    }

    /// The codes; [`states`](Self::states) and above is missing.
    pub fn codes(&self) -> &Array2<u8> {
        &self.codes
    }

    /// The alphabet.
    pub fn alphabet(&self) -> &Alphabet {
        &self.alphabet
    }

    /// The treatment of gaps.
    pub fn gaps(&self) -> Gaps {
        self.gaps
    }

    /// The weights of the sequences.
    pub fn weights(&self) -> &Array1<f64> {
        &self.weights
    }

    /// The effective number of sequences: the sum of the weights.
    pub fn effective(&self) -> f64 {
        self.weights.sum()
    }
}

/// The number of sequences that agree with the given one in at least `least` columns.
struct Similar<'a> {
    codes: &'a [u8],
    own: &'a [u8],
    least: u32,
}

impl lanes::Kernel for Similar<'_> {
    type Output = u32;

    #[inline(always)]
    fn compute(self) -> u32 {
        let columns = self.own.len();
        let mut count = 0;
        for other in self.codes.chunks_exact(columns) {
            let mut same = 0_u32;
            // 240 agreements fit into a byte.
            let mut at = 0;
            while at < columns {
                let end = (at + 240).min(columns);
                let (a, b) = (&self.own[at..end], &other[at..end]);
                let mut bytes = 0_u8;
                for k in 0..a.len() {
                    bytes += u8::from(a[k] == b[k]);
                }
                same += u32::from(bytes);
                at = end;
            }
            count += u32::from(same >= self.least);
        }
        count
    }
}
