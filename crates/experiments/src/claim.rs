//! A sentence of a document, what was measured, and the verdict.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::number;

/// What the measurement says about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The claim holds here.
    Pass,
    /// The claim does not hold here.
    Fail,
    /// A number without a threshold: shown, not judged.
    Reported,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Reported => "reported",
        })
    }
}

/// The verdict that a claim is registered with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expectation {
    /// The claim of the document is expected to hold.
    Holds,
    /// It is known not to hold, and the reason is understood.
    DoesNotReproduce {
        /// The reason, in a sentence a reader can check.
        why: String,
    },
    /// The document gives no threshold.
    Reported,
}

impl Expectation {
    /// The verdict of a run that brings no surprise.
    pub fn verdict(&self) -> Verdict {
        match self {
            Expectation::Holds => Verdict::Pass,
            Expectation::DoesNotReproduce { .. } => Verdict::Fail,
            Expectation::Reported => Verdict::Reported,
        }
    }
}

/// A judged sentence of a document.
///
/// Text between backticks is set as code in the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What the document says, in one sentence.
    pub statement: String,
    /// The threshold or the number of the document, fixed before the run.
    pub expected: String,
    /// What this run measured.
    pub measured: String,
    /// The verdict of this run.
    pub verdict: Verdict,
    /// The verdict that is registered.
    pub registered: Expectation,
}

impl Claim {
    /// A claim that is expected to hold; `holds` is this run's judgement.
    pub fn holds(
        statement: impl Into<String>,
        expected: impl Into<Measured>,
        measured: impl Into<Measured>,
        holds: bool,
    ) -> Self {
        Claim {
            statement: statement.into(),
            expected: expected.into().0,
            measured: measured.into().0,
            verdict: if holds { Verdict::Pass } else { Verdict::Fail },
            registered: Expectation::Holds,
        }
    }

    /// A claim of the document that is known not to hold, with the reason. `holds` is still this
    /// run's judgement: should the claim hold after all, the run differs and asks for attention.
    pub fn known_failure(
        statement: impl Into<String>,
        expected: impl Into<Measured>,
        measured: impl Into<Measured>,
        holds: bool,
        why: impl Into<String>,
    ) -> Self {
        let registered = Expectation::DoesNotReproduce { why: why.into() };
        Claim { registered, ..Claim::holds(statement, expected, measured, holds) }
    }

    /// A number that the document gives without a threshold, or that is of interest by itself.
    pub fn reported(
        statement: impl Into<String>,
        expected: impl Into<Measured>,
        measured: impl Into<Measured>,
    ) -> Self {
        Claim {
            verdict: Verdict::Reported,
            registered: Expectation::Reported,
            ..Claim::holds(statement, expected, measured, true)
        }
    }

    /// Whether this run says something else than what is registered.
    pub fn differs(&self) -> bool {
        self.verdict != self.registered.verdict()
    }

    /// The verdict in the words of the report, which tells a known failure from a new one.
    pub fn outcome(&self) -> &'static str {
        match (&self.registered, self.verdict) {
            (Expectation::DoesNotReproduce { .. }, Verdict::Fail) => "does not reproduce",
            (Expectation::DoesNotReproduce { .. }, Verdict::Pass) => "unexpected pass",
            (_, Verdict::Pass) => "pass",
            (_, Verdict::Fail) => "fail",
            (_, Verdict::Reported) => "reported",
        }
    }
}

/// A measured or expected value as text: made from text, or from a number (four significant digits).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured(String);

impl From<&str> for Measured {
    fn from(text: &str) -> Self {
        Measured(text.into())
    }
}

impl From<String> for Measured {
    fn from(text: String) -> Self {
        Measured(text)
    }
}

impl From<f64> for Measured {
    fn from(value: f64) -> Self {
        Measured(number::short(value))
    }
}

impl From<usize> for Measured {
    fn from(value: usize) -> Self {
        Measured(value.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_differs_exactly_when_the_verdict_is_not_the_registered_one() {
        let known = Expectation::DoesNotReproduce { why: "typo in the table".into() };
        let table = [
            (Expectation::Holds, Verdict::Pass, false, "pass"),
            (Expectation::Holds, Verdict::Fail, true, "fail"),
            (Expectation::Holds, Verdict::Reported, true, "reported"),
            (known.clone(), Verdict::Pass, true, "unexpected pass"),
            (known.clone(), Verdict::Fail, false, "does not reproduce"),
            (known, Verdict::Reported, true, "reported"),
            (Expectation::Reported, Verdict::Pass, true, "pass"),
            (Expectation::Reported, Verdict::Fail, true, "fail"),
            (Expectation::Reported, Verdict::Reported, false, "reported"),
        ];
        for (registered, verdict, differs, outcome) in table {
            let claim = Claim { verdict, registered, ..Claim::holds("s", "e", "m", true) };
            assert_eq!(claim.differs(), differs, "{claim:?}");
            assert_eq!(claim.outcome(), outcome, "{claim:?}");
        }
    }

    #[test]
    fn the_constructors_register_what_they_say() {
        assert!(!Claim::holds("s", "e", 1.0, true).differs());
        assert!(Claim::holds("s", "e", 1.0, false).differs());
        assert!(!Claim::known_failure("s", "e", "m", false, "why").differs());
        assert!(Claim::known_failure("s", "e", "m", true, "why").differs());
        assert!(!Claim::reported("s", "e", 3_usize).differs());
    }
}
