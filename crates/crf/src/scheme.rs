//! Labelling schemes: which label may follow which.

use fenchel_graphical::chain::Chain;
use fenchel_linalg::Invalid;

use crate::Error;
use crate::vocabulary::Vocabulary;

/// A labelling scheme of chunks. Decoding can be restricted to the labellings that it allows.
///
/// | scheme | allowed labellings |
/// |---|---|
/// | `Any` | all |
/// | `Bio` (IOB2) | `I-X` only directly after `B-X` or `I-X` |
/// | `Iobes` | `B-X` and `I-X` only directly before `I-X` or `E-X`, and these only directly after `B-X` or `I-X` |
///
/// `Iobes` also reads the letters of BILOU, `L` for `E` and `U` for `S`, and of BMES, `M` for `I`. A bare mark is one of chunks
/// without a type, as for `conlleval`: `B`, `I`, `O` and `B`, `M`, `E`, `S` are schemes too. Other labels are not restricted.
///
/// A scheme refuses labels of the form mark-type, with one capital letter as the mark, that it does not know; beside a bare
/// `B`, the bare marks of other schemes; and labels that no labelling can have because the model lacks another one: `I-X`
/// without `B-X`, and under `Iobes` `B-X` without `E-X`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LabelScheme {
    /// No restriction.
    #[default]
    Any,
    /// IOB2: every chunk begins with `B`.
    Bio,
    /// `S` marks chunks of one token, `E` the last token of longer chunks; or `U` and `L`.
    Iobes,
}

impl LabelScheme {
    /// Whether a label may begin a sequence.
    pub fn may_begin(self, label: &str) -> bool {
        self.may_follow("O", label)
    }

    /// Whether a label may end a sequence.
    pub fn may_end(self, label: &str) -> bool {
        self.may_follow(label, "O")
    }

    /// Whether `next` may directly follow `label`.
    pub fn may_follow(self, label: &str, next: &str) -> bool {
        let ((mark, kind), (next_mark, next_kind)) = (split(label), split(next));
        let inside = matches!(mark, "B" | "I");
        match self {
            LabelScheme::Any => true,
            LabelScheme::Bio => next_mark != "I" || (inside && kind == next_kind),
            LabelScheme::Iobes => {
                let continues = matches!(next_mark, "I" | "E");
                if inside { continues && kind == next_kind } else { !continues }
            }
        }
    }

    /// An error for a label whose mark the scheme does not know, or that no labelling has: such a scheme would erase what the
    /// model has learnt. O(K^2) for `K` labels.
    pub(crate) fn check(self, labels: &Vocabulary) -> Result<(), Invalid> {
        let (marks, scheme) = match self {
            LabelScheme::Any => return Ok(()),
            LabelScheme::Bio => ("BIO", "BIO"),
            LabelScheme::Iobes => ("BIMESLUO", "IOBES"),
        };
        let bare = labels.iter().any(|label| label == "B");
        let strange = |label: &&str| match label.split_once('-') {
            Some((mark, _)) if mark.len() == 1 => {
                mark.as_bytes()[0].is_ascii_uppercase() && !marks.contains(mark)
            }
            Some(_) => false,
            None => bare && split(label).0 != "O" && !marks.contains(*label),
        };
        let refused = |reason| Err(Invalid::Layout { what: "labels", reason });
        if let Some(label) = labels.iter().find(strange) {
            return refused(format!("the scheme {scheme} does not know the mark of {label:?}"));
        }
        let has = |mark: &str, kind: &str| labels.iter().any(|label| split(label) == (mark, kind));
        for label in labels.iter() {
            let (mark, kind) = split(label);
            let needs: &[&str] = match (self, mark) {
                (LabelScheme::Bio, "I") | (LabelScheme::Iobes, "E") => &["B"],
                (LabelScheme::Iobes, "B") => &["E"],
                (LabelScheme::Iobes, "I") => &["B", "E"],
                _ => &[],
            };
            if let Some(missing) = needs.iter().find(|mark| !has(mark, kind)) {
                let wanted = format!("{missing}{}", &label[label.len().min(1)..]);
                return refused(format!(
                    "the scheme {scheme} allows {label:?} only with a label {wanted:?}, which the model does not have"
                ));
            }
        }
        Ok(())
    }

    /// Forbids in a chain the transitions that the scheme does not allow. The chain has the states `labels` and shared pair
    /// scores.
    pub(crate) fn forbid_transitions(self, labels: &Vocabulary, chain: &mut Chain) {
        for (j, label) in labels.iter().enumerate() {
            let row = chain.pairwise_mut(0, j);
            for (k, next) in labels.iter().enumerate() {
                if !self.may_follow(label, next) {
                    row[k] = f64::NEG_INFINITY;
                }
            }
        }
    }

    /// Forbids the labels that the scheme does not allow at the first and the last position.
    pub(crate) fn forbid_ends(self, labels: &Vocabulary, chain: &mut Chain) -> Result<(), Error> {
        let begin: Vec<bool> = labels.iter().map(|label| self.may_begin(label)).collect();
        let end: Vec<bool> = labels.iter().map(|label| self.may_end(label)).collect();
        chain.allow(0, &begin)?;
        chain.allow(chain.length() - 1, &end)?;
        Ok(())
    }
}

/// The mark and the type of a label, which is empty beside a bare mark. A label of another form is outside.
fn split(label: &str) -> (&str, &str) {
    let (mark, kind) = label.split_once('-').unwrap_or((label, ""));
    match mark {
        "B" | "I" | "E" | "S" => (mark, kind),
        "M" => ("I", kind),
        "L" => ("E", kind),
        "U" => ("S", kind),
        _ => ("O", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_with_an_unknown_mark_is_refused() {
        let check = |scheme: LabelScheme, labels: &[&str]| {
            scheme.check(&labels.iter().copied().collect()).map_err(|error| error.to_string())
        };
        let error = check(LabelScheme::Bio, &["O", "B-X", "L-X"]).unwrap_err();
        assert!(error.contains("BIO") && error.contains("\"L-X\""), "{error}");
        assert!(check(LabelScheme::Iobes, &["B-X", "T-X"]).is_err());
        check(LabelScheme::Any, &["T-X"]).unwrap();
        // Bare marks, and labels that only look like them.
        let error = check(LabelScheme::Bio, &["O", "B", "I", "E"]).unwrap_err();
        assert_eq!(error, "labels: the scheme BIO does not know the mark of \"E\"");
        check(LabelScheme::Bio, &["O", "B-X", "E", "S"]).unwrap();
        check(LabelScheme::Iobes, &["B", "I", "E", "S", "X"]).unwrap();
        check(LabelScheme::Iobes, &["B-X", "L-X", "U-X", "O", "noun", "half-open"]).unwrap();
    }

    #[test]
    fn a_label_that_no_labelling_has_is_refused() {
        let check = |scheme: LabelScheme, labels: &[&str]| {
            scheme.check(&labels.iter().copied().collect()).map_err(|error| error.to_string())
        };
        let bio = ["O", "B-LOC", "B-PER", "I-PER"];
        check(LabelScheme::Bio, &bio).unwrap();
        let expected = "labels: the scheme IOBES allows \"B-LOC\" only with a label \"E-LOC\", which the model does not have";
        assert_eq!(check(LabelScheme::Iobes, &bio).unwrap_err(), expected);
        assert!(check(LabelScheme::Bio, &["B-X", "I-Y"]).unwrap_err().contains("\"B-Y\""));
        assert!(check(LabelScheme::Iobes, &["E-X", "S-X"]).unwrap_err().contains("\"B-X\""));
        assert!(check(LabelScheme::Iobes, &["B-X", "I-X"]).unwrap_err().contains("\"E-X\""));
        check(LabelScheme::Iobes, &["S-X", "O", "B-Y", "I-Y", "E-Y"]).unwrap();
        let expected = "labels: the scheme BIO allows \"I\" only with a label \"B\", which the model does not have";
        assert_eq!(check(LabelScheme::Bio, &["O", "B-X", "I"]).unwrap_err(), expected);
        assert!(check(LabelScheme::Iobes, &["B", "M", "S"]).unwrap_err().contains("\"E\""));
        check(LabelScheme::Iobes, &["B", "M", "E", "S"]).unwrap();
        check(LabelScheme::Any, &["I-X"]).unwrap();
    }

    #[test]
    fn what_may_follow_what() {
        let legal = |scheme: LabelScheme, labels: &str| {
            let labels: Vec<&str> = labels.split(' ').collect();
            scheme.may_begin(labels[0])
                && scheme.may_end(labels[labels.len() - 1])
                && labels.windows(2).all(|pair| scheme.may_follow(pair[0], pair[1]))
        };
        for labels in ["O B-X I-X B-X B-Y", "B-X I-X I-X O", "O noun O", "B I O B B I"] {
            assert!(legal(LabelScheme::Bio, labels), "{labels}");
        }
        for labels in ["I-X", "O I-X", "B-Y I-X", "B-X I-X I-Y", "I", "O I", "B-X I", "B I-X"] {
            assert!(!legal(LabelScheme::Bio, labels), "{labels}");
            assert!(legal(LabelScheme::Any, labels));
        }
        for labels in [
            "S-X B-X E-X O",
            "B-X I-X E-X S-Y",
            "U-X B-X L-X O",
            "B-X I-X L-X U-Y",
            "B M M E S B E",
        ] {
            assert!(legal(LabelScheme::Iobes, labels), "{labels}");
        }
        for labels in [
            "B-X",
            "O E-X",
            "B-X O",
            "B-X E-Y",
            "S-X I-X",
            "B-X I-X S-X",
            "B-X U-X",
            "O L-X",
            "S M E",
            "B M S",
        ] {
            assert!(!legal(LabelScheme::Iobes, labels), "{labels}");
        }
    }
}
