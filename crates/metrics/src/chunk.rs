//! Chunks, which are the spans of tokens that a labelling with begin and inside marks defines, and their F1 score.
//!
//! A label is `O` (outside), or a mark, a hyphen and a type: `B-NP`, `I-NP`. The label that begins a chunk depends on the
//! scheme:
//!
//! | scheme | a chunk of two tokens, directly followed by a chunk of one token | |
//! |---|---|---|
//! | IOB1 | `I-X I-X B-X` | `B` only between adjacent chunks of the same type |
//! | IOB2 (BIO) | `B-X I-X B-X` | every chunk begins with `B` |
//! | IOBES | `B-X E-X S-X` | `E` ends a chunk, `S` is a chunk of a single token |
//! | BILOU | `B-X L-X U-X` | IOBES with the letters `L` for `E` and `U` for `S` |
//! | BMES | `B-X E-X S-X` | IOBES with the letter `M` for `I` |
//!
//! [`chunks`] reads all of these schemes without an argument for the scheme. `B` and `S` begin a chunk, and `E` and `S` end one.
//! An `I` or `E` also begins a chunk if it follows an `O`, the end of a chunk, or another type; an `M` never does, so that
//! labels such as `M-SG` alone are no chunks. For IOB1 and IOB2 these are the
//! rules of `conlleval`, the evaluation script of the CoNLL shared tasks, also for malformed labellings.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Error, Scores};

/// A labelled span of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chunk<'a> {
    /// First token, counted from 0.
    pub start: usize,
    /// One past the last token.
    pub end: usize,
    /// The type after the mark: `NP` in `B-NP`; empty for a bare `B`.
    pub kind: &'a str,
}

/// The chunks of one sequence of labels, in order. O(n).
///
/// A label counts as outside unless it is one of the marks `B`, `I`, `M`, `E`, `S`, `L`, `U`, alone or followed by a hyphen and a
/// type. So does a mark of another scheme, such as `X-NP`; [`ChunkCounts::add`] refuses it.
///
/// ```
/// use fenchel_metrics::{Chunk, chunks};
///
/// let found = chunks(&["B-NP", "I-NP", "O", "I-PP", "B-NP"]);
/// assert_eq!(found[0], Chunk { start: 0, end: 2, kind: "NP" });
/// assert_eq!(found.len(), 3);
/// ```
pub fn chunks<'a, L: AsRef<str> + ?Sized + 'a>(
    labels: impl IntoIterator<Item = &'a L>,
) -> Vec<Chunk<'a>> {
    find(&names(labels), false)
}

/// The chunks of one sequence of labels that begin with `B` or `S`, in order. An `I` or `E` that does not continue a chunk of
/// its type counts as outside. For IOB2 this is the strict reading, in which a malformed chunk is no chunk. O(n).
///
/// ```
/// use fenchel_metrics::{Chunk, strict_chunks};
///
/// let found = strict_chunks(&["B-NP", "I-NP", "O", "I-PP", "B-NP"]);
/// assert_eq!(found, [Chunk { start: 0, end: 2, kind: "NP" }, Chunk { start: 4, end: 5, kind: "NP" }]);
/// ```
pub fn strict_chunks<'a, L: AsRef<str> + ?Sized + 'a>(
    labels: impl IntoIterator<Item = &'a L>,
) -> Vec<Chunk<'a>> {
    find(&names(labels), true)
}

fn names<'a, L: AsRef<str> + ?Sized + 'a>(labels: impl IntoIterator<Item = &'a L>) -> Vec<&'a str> {
    labels.into_iter().map(AsRef::as_ref).collect()
}

fn find<'a>(labels: &[&'a str], strict: bool) -> Vec<Chunk<'a>> {
    let mut found = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    for (t, label) in labels.iter().enumerate() {
        let parsed = parse(label);
        let goes_on = match (open, parsed) {
            (Some((_, kind)), Some((Mark::Inside | Mark::Middle | Mark::End, next))) => {
                kind == next
            }
            _ => false,
        };
        if !goes_on {
            if let Some((start, kind)) = open.take() {
                found.push(Chunk { start, end: t, kind });
            }
            let begins = |mark: Mark| match mark {
                Mark::Begin | Mark::Single => true,
                Mark::Inside | Mark::End => !strict,
                Mark::Middle => false,
            };
            open = parsed.filter(|&(mark, _)| begins(mark)).map(|(_, kind)| (t, kind));
        }
        if let Some((Mark::End | Mark::Single, _)) = parsed
            && let Some((start, kind)) = open.take()
        {
            found.push(Chunk { start, end: t + 1, kind });
        }
    }
    if let Some((start, kind)) = open {
        found.push(Chunk { start, end: labels.len(), kind });
    }
    found
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Begin,
    Inside,
    /// As `Inside`, but it begins no chunk.
    Middle,
    End,
    Single,
}

/// The mark and the type of a label; `None` for an outside label.
fn parse(label: &str) -> Option<(Mark, &str)> {
    let (mark, kind) = label.split_once('-').unwrap_or((label, ""));
    let mark = match mark {
        "B" => Mark::Begin,
        "I" => Mark::Inside,
        "M" => Mark::Middle,
        "E" | "L" => Mark::End,
        "S" | "U" => Mark::Single,
        _ => return None,
    };
    Some((mark, kind))
}

/// Refuses a label with the type of a chunk and an unknown mark: to count it as outside would lose a part of the chunk.
fn check_marks(truth: &[&str], predicted: &[&str]) -> Result<(), Error> {
    let all = || truth.iter().chain(predicted).copied();
    let strange = |label: &&str| {
        let parts = label.split_once('-');
        parse(label).is_none() && parts.is_some_and(|(mark, kind)| mark != "O" && !kind.is_empty())
    };
    if !all().any(|label| strange(&label)) {
        return Ok(());
    }
    let kinds: BTreeSet<&str> = all().filter_map(|label| Some(parse(label)?.1)).collect();
    let kind = |label: &str| label.split_once('-').map_or("", |(_, kind)| kind).to_owned();
    match all().filter(strange).find(|label| kinds.contains(kind(label).as_str())) {
        Some(label) => Err(Error::Mark { label: label.to_owned() }),
        None => Ok(()),
    }
}

/// Counts of chunks over many sequences, as `conlleval` reports them.
///
/// A predicted chunk is correct if start, end and type all agree with a true chunk.
///
/// ```
/// use fenchel_metrics::ChunkCounts;
///
/// let mut counts = ChunkCounts::new();
/// counts.add(&["B-NP", "I-NP", "B-VP"], &["B-NP", "I-NP", "B-NP"])?;
/// assert_eq!(counts.overall().f1, 0.5);
/// assert_eq!(counts.kind("NP").recall, 1.0);
/// assert_eq!(counts.token_accuracy(), 2.0 / 3.0);
/// # Ok::<(), fenchel_metrics::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChunkCounts {
    strict: bool,
    kinds: BTreeMap<String, Counts>,
    tokens: u64,
    right_tokens: u64,
    sequences: u64,
    right_sequences: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    truth: u64,
    predicted: u64,
    hits: u64,
}

impl Counts {
    fn scores(self) -> Scores {
        Scores::from_counts(self.hits, self.predicted - self.hits, self.truth - self.hits)
    }
}

impl ChunkCounts {
    /// No sequence yet.
    pub fn new() -> ChunkCounts {
        ChunkCounts::default()
    }

    /// Counts that read chunks by [`strict_chunks`], without any sequence yet.
    pub fn strict() -> ChunkCounts {
        ChunkCounts { strict: true, ..ChunkCounts::default() }
    }

    /// Adds one sequence. O(n).
    ///
    /// # Errors
    /// [`Error::Empty`] for a sequence without tokens, [`Error::Length`] for labellings of different lengths, [`Error::Mark`] for
    /// a label like `X-NP` beside one like `B-NP`: the type is that of a chunk, and the mark is unknown.
    pub fn add<'t, 'p, T: AsRef<str> + ?Sized + 't, P: AsRef<str> + ?Sized + 'p>(
        &mut self,
        truth: impl IntoIterator<Item = &'t T>,
        predicted: impl IntoIterator<Item = &'p P>,
    ) -> Result<(), Error> {
        let (truth, predicted) = (names(truth), names(predicted));
        crate::error::check_pair(&truth, &predicted, "predicted")?;
        check_marks(&truth, &predicted)?;
        let right = truth.iter().zip(&predicted).filter(|(t, p)| t == p).count();
        self.tokens += truth.len() as u64;
        self.right_tokens += right as u64;
        self.sequences += 1;
        self.right_sequences += u64::from(right == truth.len());
        let (truth, predicted) = (find(&truth, self.strict), find(&predicted, self.strict));
        for chunk in &truth {
            self.counts(chunk.kind).truth += 1;
        }
        for chunk in &predicted {
            self.counts(chunk.kind).predicted += 1;
            // Both lists are sorted by their disjoint spans.
            if truth.binary_search(chunk).is_ok() {
                self.counts(chunk.kind).hits += 1;
            }
        }
        Ok(())
    }

    fn counts(&mut self, kind: &str) -> &mut Counts {
        if !self.kinds.contains_key(kind) {
            self.kinds.insert(kind.to_owned(), Counts::default());
        }
        self.kinds.get_mut(kind).expect("inserted above")
    }

    /// Precision, recall and F1 over all chunks (the micro average); zeros if there are none.
    pub fn overall(&self) -> Scores {
        let mut sum = Counts::default();
        for counts in self.kinds.values() {
            sum.truth += counts.truth;
            sum.predicted += counts.predicted;
            sum.hits += counts.hits;
        }
        sum.scores()
    }

    /// The mean of the scores over the types that occur (macro average); zeros if there are none.
    pub fn macro_average(&self) -> Scores {
        let count = self.kinds.len().max(1) as f64;
        let mut mean = Scores { precision: 0.0, recall: 0.0, f1: 0.0 };
        for counts in self.kinds.values() {
            let scores = counts.scores();
            mean.precision += scores.precision / count;
            mean.recall += scores.recall / count;
            mean.f1 += scores.f1 / count;
        }
        mean
    }

    /// Precision, recall and F1 of one type; zeros for a type that does not occur.
    pub fn kind(&self, kind: &str) -> Scores {
        self.kinds.get(kind).copied().unwrap_or_default().scores()
    }

    /// The types that occur, sorted, with the number of true chunks of each.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, u64)> {
        self.kinds.iter().map(|(kind, counts)| (kind.as_str(), counts.truth))
    }

    /// True, predicted and correct chunks.
    pub fn totals(&self) -> (u64, u64, u64) {
        self.kinds.values().fold((0, 0, 0), |(t, p, h), counts| {
            (t + counts.truth, p + counts.predicted, h + counts.hits)
        })
    }

    /// Number of tokens.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Number of sequences.
    pub fn sequences(&self) -> u64 {
        self.sequences
    }

    /// The fraction of tokens with the right label; 0 before the first sequence.
    pub fn token_accuracy(&self) -> f64 {
        self.right_tokens as f64 / self.tokens.max(1) as f64
    }

    /// The fraction of sequences in which every label is right; 0 before the first sequence.
    pub fn sequence_accuracy(&self) -> f64 {
        self.right_sequences as f64 / self.sequences.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(labels: &str) -> Vec<(usize, usize, String)> {
        let labels: Vec<&str> = labels.split(' ').collect();
        chunks(&labels).iter().map(|c| (c.start, c.end, c.kind.to_owned())).collect()
    }

    fn expected(list: &[(usize, usize, &str)]) -> Vec<(usize, usize, String)> {
        list.iter().map(|&(start, end, kind)| (start, end, kind.to_owned())).collect()
    }

    #[test]
    fn four_schemes_say_the_same() {
        let same = expected(&[(0, 2, "X"), (2, 3, "X"), (4, 5, "Y")]);
        assert_eq!(spans("I-X I-X B-X O I-Y"), same);
        assert_eq!(spans("B-X I-X B-X O B-Y"), same);
        assert_eq!(spans("B-X E-X S-X O S-Y"), same);
        assert_eq!(spans("B-X L-X U-X O U-Y"), same);
    }

    #[test]
    fn malformed_labellings_follow_conlleval() {
        assert_eq!(spans("O I-X I-X"), expected(&[(1, 3, "X")]));
        assert_eq!(spans("B-X I-Y I-Y"), expected(&[(0, 1, "X"), (1, 3, "Y")]));
        assert_eq!(spans("I-X I-Y I-X"), expected(&[(0, 1, "X"), (1, 2, "Y"), (2, 3, "X")]));
        assert_eq!(spans("E-X E-X"), expected(&[(0, 1, "X"), (1, 2, "X")]));
        assert_eq!(spans("S-X I-X"), expected(&[(0, 1, "X"), (1, 2, "X")]));
        assert_eq!(spans("B I O"), expected(&[(0, 2, "")]));
        assert_eq!(spans("noun verb O"), expected(&[]));
        assert_eq!(spans("B-NP-SBJ I-NP-SBJ"), expected(&[(0, 2, "NP-SBJ")]));
        assert!(chunks::<&str>(&[]).is_empty());
    }

    #[test]
    fn counts_by_hand() {
        let mut counts = ChunkCounts::new();
        // The same span with another type, and a span cut short: no hits.
        counts.add(&["B-A", "I-A", "O", "B-B"], &["B-A", "O", "O", "B-A"]).unwrap();
        counts.add(&["B-A", "O"], &["B-A", "O"]).unwrap();
        assert_eq!(counts.totals(), (3, 3, 1));
        let scores = counts.overall();
        assert!((scores.f1 - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!(counts.kind("B").recall, 0.0);
        assert!((counts.kind("A").f1 - 2.0 / 5.0).abs() < 1e-15);
        assert!((counts.macro_average().f1 - 0.2).abs() < 1e-15);
        assert_eq!(counts.kinds().collect::<Vec<_>>(), [("A", 2), ("B", 1)]);
        assert_eq!(counts.token_accuracy(), 4.0 / 6.0);
        assert_eq!((counts.sequence_accuracy(), counts.sequences(), counts.tokens()), (0.5, 2, 6));
        assert_eq!(counts.kind("nowhere").f1, 0.0);
        assert_eq!(ChunkCounts::new().overall().f1, 0.0);
    }

    #[test]
    fn bilou_by_hand() {
        let bilou = expected(&[(0, 2, "X"), (3, 4, "Y"), (4, 5, "Y")]);
        assert_eq!(spans("B-X L-X O U-Y U-Y"), bilou);
        let mut counts = ChunkCounts::new();
        counts.add(&["U-X", "B-X", "L-X"], &["U-X", "B-X", "O"]).unwrap();
        assert_eq!((counts.totals(), counts.overall().f1), ((2, 2, 1), 0.5));
    }

    #[test]
    fn bmes_by_hand() {
        let bmes = expected(&[(0, 4, "X"), (4, 5, "X"), (5, 7, "Y")]);
        assert_eq!(spans("B-X M-X M-X E-X S-X B-Y E-Y"), bmes);
        // Words of a text, without types.
        assert_eq!(spans("B M E S"), expected(&[(0, 3, ""), (3, 4, "")]));
        let mut counts = ChunkCounts::new();
        counts.add(&["B-X", "M-X", "E-X"], &["B-X", "I-X", "E-X"]).unwrap();
        assert_eq!(counts.totals(), (1, 1, 1));
        counts.add(&["B-X", "M-X", "E-X"], &["B-X", "E-X", "S-X"]).unwrap();
        assert_eq!(counts.totals(), (2, 3, 1));
        // Masculine and feminine singular.
        assert_eq!(spans("M-SG F-SG M-SG"), []);
        assert_eq!(spans("B-X M-Y M-X"), expected(&[(0, 1, "X")]));
    }

    #[test]
    fn an_unknown_mark_beside_chunks_of_its_type_is_refused() {
        let mut counts = ChunkCounts::new();
        let error = counts.add(&["B-X", "W-X", "E-X"], &["B-X", "I-X", "E-X"]).unwrap_err();
        assert!(error.to_string().contains("\"W-X\""), "{error}");
        assert_eq!(counts, ChunkCounts::new());
        // These are no chunks.
        counts.add(&["N-SG", "V-PST", "O-X", "B-X"], &["N-SG", "N-SG", "O", "B-X"]).unwrap();
    }

    #[test]
    fn lengths_are_checked() {
        let mut counts = ChunkCounts::new();
        let error = counts.add(&["O", "O"], &["O"]).unwrap_err();
        assert_eq!(error.to_string(), "predicted: expected length 2, found 1");
        assert!(counts.add::<&str, &str>(&[], &[]).is_err());
    }
}
