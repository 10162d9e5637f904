//! A claim is a sentence of a document with a threshold, a measurement and a verdict.
//!
//! The code of a claim is a chain of calls. The chain starts with the [`Source`]: the document, the section and the quoted
//! sentence. `claim` restates this sentence for the data and methods of the experiment. `rests_on` names the methods that the
//! verdict depends on. The next call states the [`Threshold`] and who fixed it. The last call takes the measurement, and
//! whether it meets the threshold ([`Judged`]).
//!
//! ```
//! use fenchel_experiments::{Reason, Source};
//!
//! const PERMUTED: Source = Source::quoted(
//!     "Defazio (2014)",
//!     "3.2",
//!     "The permuted ordering gives a striking improvement over the uniform one",
//! );
//!
//! let claim = PERMUTED
//!     .claim("w8a: permutation makes Finito faster")
//!     .rests_on(["Finito permuted", "Finito"])
//!     .document("fewer passes to 1e-8")
//!     .holds(("7.1 against 12.4", 7.1 < 12.4));
//! assert!(!claim.differs());
//!
//! // A sentence that is known not to hold names a number that the code checks.
//! let start = 1.4;
//! let claim = PERMUTED
//!     .claim("sachs: permutation makes Finito faster")
//!     .document("fewer passes to 1e-8")
//!     .known_failure(
//!         ("12.9 against 12.4", false),
//!         Reason::checked("the first pass leaves F - F* above 1", start, start > 1.0),
//!     );
//! assert_eq!(claim.outcome(), "does not reproduce");
//! ```
//!
//! | the document says | write |
//! |---|---|
//! | a number | `.document("...")`, then `.holds`; `.exact` if it was measured without random numbers |
//! | an order, "faster", "worse" | [`Sample::below`](crate::Sample::below), the medians over [`SEEDS`](crate::SEEDS) seeds, and a test that the worse method works |
//! | an order or number that fails here | `.known_failure` with a [`Reason`] |
//! | neither an order nor a number | [`Sentence::reported`] |
//! | nothing: the claim is this project's own | [`Source::OURS`] |

use std::borrow::Cow;
use std::fmt;

use fenchel_linalg::text::short;
use serde::{Deserialize, Serialize};

use crate::Failure;

/// The result of comparing a measurement with the threshold of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The claim holds in this run.
    Pass,
    /// The claim does not hold in this run.
    Fail,
    /// The measurement is reported without a verdict.
    Reported,
}

/// The verdict that the code expects for a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expectation {
    /// The claim is expected to hold.
    Holds,
    /// The claim is known not to hold.
    DoesNotReproduce {
        /// The reason, as far as it is known.
        why: Reason,
    },
    /// The document gives neither an order nor a number.
    Reported,
    /// The sentence of the document is about data that this run does not have.
    NotJudged {
        /// The data used instead, and whether the measurement would have met the threshold.
        why: String,
    },
}

impl Expectation {
    /// The verdict of a run that confirms this expectation.
    pub fn verdict(&self) -> Verdict {
        match self {
            Expectation::Holds => Verdict::Pass,
            Expectation::DoesNotReproduce { .. } => Verdict::Fail,
            Expectation::Reported | Expectation::NotJudged { .. } => Verdict::Reported,
        }
    }
}

/// The reason why a claim does not hold. If the reason is known, it includes a number that this run measures. The number would
/// differ if the reason were wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The reason in one sentence, which a reader can check.
    pub text: String,
    /// The number that supports the reason, as this run measured it; empty for an unknown reason.
    pub measured: String,
    /// Whether the number supports the sentence.
    pub checked: bool,
}

impl Reason {
    /// A reason with the number that supports it. `checked` says whether the number of this run supports it.
    pub fn checked(text: impl Into<String>, measured: impl Into<Measured>, checked: bool) -> Self {
        Reason { text: text.into(), measured: measured.into().text, checked }
    }

    /// The claim fails and the reason is not known. The text says what was examined.
    pub fn unknown(text: impl Into<String>) -> Self {
        Reason { text: text.into(), measured: String::new(), checked: true }
    }
}

/// Where a claim comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The document in the form of a citation; empty for a claim of this project.
    pub document: Cow<'static, str>,
    /// Chapter, section, theorem or figure.
    pub section: Cow<'static, str>,
    /// The sentence in the document's own words.
    pub quote: Cow<'static, str>,
}

impl Source {
    /// The source of a claim that this project makes and no document does.
    pub const OURS: Source = Source::quoted("", "", "");

    /// A sentence of a document, word for word.
    pub const fn quoted(
        document: &'static str,
        section: &'static str,
        quote: &'static str,
    ) -> Self {
        let (document, section, quote) =
            (Cow::Borrowed(document), Cow::Borrowed(section), Cow::Borrowed(quote));
        Source { document, section, quote }
    }

    /// Whether this project makes the claim and no document does.
    pub fn is_ours(&self) -> bool {
        self.document.is_empty()
    }

    /// Restates the sentence for the data and the methods of the experiment.
    pub fn claim(&self, statement: impl Into<String>) -> Sentence {
        Sentence(Claim {
            statement: statement.into(),
            source: self.clone(),
            threshold: Threshold { text: String::new(), origin: Origin::Ours },
            ground: Ground::Generated,
            smaller: None,
            measured: String::new(),
            unit: String::new(),
            cases: Vec::new(),
            rests_on: Vec::new(),
            verdict: Verdict::Reported,
            registered: Expectation::Reported,
        })
    }
}

/// Who fixed a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// The document gives the number or the order.
    Document,
    /// This project chose the number. No document's sentence is judged by such a number.
    Ours,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Origin::Document => "document",
            Origin::Ours => "project",
        })
    }
}

/// The condition under which a claim holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threshold {
    /// The condition in words, with its numbers.
    pub text: String,
    /// Who fixed it.
    pub origin: Origin,
}

/// What a claim was measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Ground {
    /// Data or models drawn by a generator.
    #[default]
    Generated,
    /// Real data.
    Real,
    /// No data: the value is counted or computed.
    Exact,
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Ground::Generated => "generated data",
            Ground::Real => "real data",
            Ground::Exact => "counted or computed",
        })
    }
}

/// A claim that has no threshold yet.
#[derive(Debug, Clone)]
#[must_use]
pub struct Sentence(Claim);

impl Sentence {
    /// Names the methods that the verdict depends on. If any of them is stopped at its starting point, the claim must fail
    /// ([`crate::frozen`]). The names are those passed to [`Context::is_frozen`](crate::Context::is_frozen) and
    /// [`Context::stop`](crate::Context::stop).
    pub fn rests_on<N: AsRef<str>>(mut self, methods: impl IntoIterator<Item = N>) -> Self {
        self.0.rests_on.extend(methods.into_iter().map(|name| name.as_ref().to_owned()));
        self
    }

    /// Sets the kind of data that the claim is measured on. The default is generated data.
    pub fn on(self, ground: Ground) -> Self {
        Sentence(Claim { ground, ..self.0 })
    }

    /// Says what the measured numbers are, such as `passes` or `F - F*`, for the tables of a report.
    pub fn in_unit(self, unit: &str) -> Self {
        Sentence(Claim { unit: unit.to_owned(), ..self.0 })
    }

    /// Says what is smaller than in the document in this run, in a few words; empty for nothing. Without this call,
    /// [`Experiment::quick`](crate::Experiment::quick) says so for all claims of the experiment.
    pub fn at_size(self, smaller: impl Into<String>) -> Self {
        Sentence(Claim { smaller: Some(smaller.into()), ..self.0 })
    }

    /// The document gives this threshold.
    pub fn document(self, threshold: impl Into<Measured>) -> Stated {
        self.stated(Origin::Document, threshold)
    }

    /// This project chose this threshold, for a claim of its own.
    pub fn ours(self, threshold: impl Into<Measured>) -> Stated {
        self.stated(Origin::Ours, threshold)
    }

    fn stated(self, origin: Origin, threshold: impl Into<Measured>) -> Stated {
        let threshold = Threshold { text: threshold.into().text, origin };
        Stated(Claim { threshold, ..self.0 })
    }

    /// Reports a measurement without a verdict, for a document that states neither an order nor a number. `what` describes
    /// the measurement.
    pub fn reported(self, what: impl Into<Measured>, measured: impl Into<Measured>) -> Claim {
        let Measured { text: measured, cases } = measured.into();
        Claim { measured, cases, ..self.ours(what).0 }
    }
}

/// A claim with its threshold, before the measurement is given.
#[derive(Debug, Clone)]
#[must_use]
pub struct Stated(Claim);

impl Stated {
    /// A claim that is expected to hold.
    pub fn holds(self, judged: impl Into<Judged>) -> Claim {
        self.judged(judged.into(), Expectation::Holds)
    }

    /// A claim that is expected to hold, and that was measured without random numbers.
    pub fn exact(self, judged: impl Into<Judged>) -> Claim {
        Claim { ground: Ground::Exact, ..self.holds(judged) }
    }

    /// A claim that is known not to hold. It is still judged in every run. The run reports a difference if the claim holds,
    /// or if the number of the reason does not support the reason ([`Claim::differs`]).
    pub fn known_failure(self, judged: impl Into<Judged>, why: Reason) -> Claim {
        self.judged(judged.into(), Expectation::DoesNotReproduce { why })
    }

    fn judged(self, judged: Judged, registered: Expectation) -> Claim {
        let verdict = if judged.holds { Verdict::Pass } else { Verdict::Fail };
        let Measured { text: measured, cases } = judged.measured;
        Claim { measured, cases, verdict, registered, ..self.0 }
    }
}

/// A claim with its verdict. [`Source::claim`] starts the chain of calls that makes it.
///
/// The report shows text between backticks as code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What is claimed, in one sentence.
    pub statement: String,
    /// The document, the section and the quoted sentence.
    pub source: Source,
    /// The condition under which the claim holds, and who fixed it.
    pub threshold: Threshold,
    /// The kind of data that it was measured on.
    pub ground: Ground,
    /// What is smaller than in the document; empty for nothing, and `None` for a claim of this project.
    pub smaller: Option<String>,
    /// What this run measured.
    pub measured: String,
    /// The same for each data set or method, if the claim is about several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Case>,
    /// What the measured numbers are; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// The methods that the verdict depends on.
    pub rests_on: Vec<String>,
    /// The verdict of this run.
    pub verdict: Verdict,
    /// The verdict that the code expects.
    pub registered: Expectation,
}

const WOULD_FAIL: &str = "the threshold is not met";

impl Claim {
    /// The claim on the data of the document; without a verdict if these are absent and `stand_in` was used instead.
    #[must_use]
    pub fn on_real_data(self, real: bool, stand_in: &str) -> Self {
        if real { Claim { ground: Ground::Real, ..self } } else { self.not_judged(stand_in) }
    }

    /// Registers that the claim is known not to hold, if it is judged.
    pub(crate) fn known(self, why: Reason) -> Self {
        if self.registered != Expectation::Holds {
            return self;
        }
        Claim { registered: Expectation::DoesNotReproduce { why }, ..self }
    }

    /// Removes the verdict of a claim about data that are absent. `stand_in` describes the data that were used instead.
    #[must_use]
    pub fn not_judged(self, stand_in: &str) -> Self {
        if self.verdict == Verdict::Reported {
            return self;
        }
        let would = if self.verdict == Verdict::Pass { "the threshold is met" } else { WOULD_FAIL };
        let registered = Expectation::NotJudged { why: format!("{stand_in}: {would}") };
        Claim { verdict: Verdict::Reported, registered, ground: Ground::Generated, ..self }
    }

    /// Whether the claim is not judged, and fails on the data that were used instead.
    pub fn would_fail(&self) -> bool {
        matches!(&self.registered, Expectation::NotJudged { why } if why.ends_with(WOULD_FAIL))
    }

    /// Whether the document's own words judge the claim: it is shown only, or the document gives the threshold, or the claim
    /// is this project's own and passes. No other claim may fail and stay.
    pub fn is_fair(&self) -> bool {
        self.verdict == Verdict::Reported
            || match self.threshold.origin {
                Origin::Document => !self.source.is_ours(),
                Origin::Ours => self.source.is_ours() && self.registered == Expectation::Holds,
            }
    }

    /// Whether the claim was measured at the document's size, in words; empty for a claim of this project.
    pub fn size(&self) -> String {
        match self.smaller.as_deref() {
            None => String::new(),
            Some("") => "at the document's size".into(),
            Some(smaller) => format!("smaller: {smaller}"),
        }
    }

    /// Whether the verdict of this run differs from the expected one, or the number of the reason does not support the reason.
    pub fn differs(&self) -> bool {
        let unborne =
            matches!(&self.registered, Expectation::DoesNotReproduce { why } if !why.checked);
        unborne || self.verdict != self.registered.verdict()
    }

    /// The verdict in the words of the report. The words for a known failure differ from those for a new one.
    pub fn outcome(&self) -> &'static str {
        match (&self.registered, self.verdict) {
            (Expectation::DoesNotReproduce { why }, Verdict::Fail) if !why.checked => {
                "reason fails"
            }
            (Expectation::DoesNotReproduce { .. }, Verdict::Fail) => "does not reproduce",
            (Expectation::DoesNotReproduce { .. }, Verdict::Pass) => "unexpected pass",
            (Expectation::NotJudged { .. }, Verdict::Reported) => "not judged",
            (_, Verdict::Pass) => "pass",
            (_, Verdict::Fail) => "fail",
            (_, Verdict::Reported) => "reported",
        }
    }
}

/// A measurement, and whether it meets the threshold. It is made from a pair, or by a comparison of two
/// [`Sample`](crate::Sample)s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// What was measured.
    pub measured: Measured,
    /// Whether the measurement meets the threshold.
    pub holds: bool,
}

/// What was measured on one data set or with one method of several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// The data set or the method.
    pub name: String,
    /// What was measured.
    pub measured: String,
    /// Whether the sentence holds here.
    pub holds: bool,
}

impl<M: Into<Measured>> From<(M, bool)> for Judged {
    fn from((measured, holds): (M, bool)) -> Self {
        Judged { measured: measured.into(), holds }
    }
}

impl Judged {
    /// Requires that both conditions hold. The text shows both measurements.
    #[must_use]
    pub fn and(self, other: impl Into<Judged>) -> Self {
        let other = other.into();
        let text = format!("{}; {}", self.measured.text, other.measured.text);
        let measured = Measured { text, ..self.measured };
        Judged { measured, holds: self.holds && other.holds }
    }

    /// Requires that all hold. The text shows all measurements.
    pub(crate) fn all(
        judged: impl IntoIterator<Item = Result<Judged, Failure>>,
    ) -> Result<Judged, Failure> {
        let all = judged.into_iter().reduce(|a, b| Ok(a?.and(b?)));
        all.unwrap_or_else(|| Err(Failure::new("nothing to judge")))
    }

    /// Requires that all hold. The text shows the last measurement.
    pub(crate) fn last_of(
        judged: impl IntoIterator<Item = Result<Judged, Failure>>,
    ) -> Result<Judged, Failure> {
        let both = |a: Judged, b: Judged| Judged { holds: a.holds && b.holds, ..b };
        let all = judged.into_iter().reduce(|a, b| Ok(both(a?, b?)));
        all.unwrap_or_else(|| Err(Failure::new("nothing to judge")))
    }

    /// Requires a condition, which is shown only if it does not hold.
    #[must_use]
    pub(crate) fn provided(self, condition: bool, otherwise: &str) -> Self {
        if condition { self } else { self.and((otherwise, false)) }
    }

    /// Puts a label in front of the measurement.
    #[must_use]
    pub fn named(self, name: impl fmt::Display) -> Self {
        Judged { measured: format!("{name}: {}", self.measured.text).into(), ..self }
    }
}

/// A measured or expected value as text. It is made from text, or from a number, which is rounded to four significant digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    pub(crate) text: String,
    /// The same for each data set or method, if there are several.
    cases: Vec<Case>,
}

impl From<(String, Vec<Case>)> for Measured {
    fn from((text, cases): (String, Vec<Case>)) -> Self {
        Measured { text, cases }
    }
}

impl From<&str> for Measured {
    fn from(text: &str) -> Self {
        Measured::from(text.to_owned())
    }
}

impl From<String> for Measured {
    fn from(text: String) -> Self {
        Measured { text, cases: Vec::new() }
    }
}

impl From<f64> for Measured {
    fn from(value: f64) -> Self {
        Measured::from(short(value))
    }
}

impl From<usize> for Measured {
    fn from(value: usize) -> Self {
        Measured::from(value.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated() -> Stated {
        Source::OURS.claim("s").ours("e")
    }

    #[test]
    fn a_claim_differs_exactly_when_the_verdict_is_not_the_registered_one() {
        let known = |checked| {
            let why = Reason::checked("typo in the table", 2.0, checked);
            Expectation::DoesNotReproduce { why }
        };
        let absent = || Expectation::NotJudged { why: "generated".into() };
        let table = [
            (Expectation::Holds, Verdict::Pass, false, "pass"),
            (Expectation::Holds, Verdict::Fail, true, "fail"),
            (Expectation::Holds, Verdict::Reported, true, "reported"),
            (known(true), Verdict::Pass, true, "unexpected pass"),
            (known(true), Verdict::Fail, false, "does not reproduce"),
            (known(false), Verdict::Fail, true, "reason fails"),
            (known(false), Verdict::Pass, true, "unexpected pass"),
            (known(true), Verdict::Reported, true, "reported"),
            (Expectation::Reported, Verdict::Pass, true, "pass"),
            (Expectation::Reported, Verdict::Fail, true, "fail"),
            (Expectation::Reported, Verdict::Reported, false, "reported"),
            (absent(), Verdict::Reported, false, "not judged"),
            (absent(), Verdict::Pass, true, "pass"),
        ];
        for (registered, verdict, differs, outcome) in table {
            let claim = Claim { verdict, registered, ..stated().holds(("m", true)) };
            assert_eq!(claim.differs(), differs, "{claim:?}");
            assert_eq!(claim.outcome(), outcome, "{claim:?}");
        }
    }

    #[test]
    fn the_constructors_register_what_they_say() {
        let why = || Reason::checked("why", 1.0, true);
        assert!(!stated().holds((1.0, true)).differs());
        assert!(stated().holds((1.0, false)).differs());
        assert!(!stated().known_failure(("m", false), why()).differs());
        assert!(stated().known_failure(("m", true), why()).differs());
        assert!(!stated().known_failure(("m", false), Reason::unknown("?")).differs());
        assert!(!Source::OURS.claim("s").reported("e", 3_usize).differs());
        let quoted = Source::quoted("D", "1.2", "q").claim("s").document("e").holds((1.0, true));
        assert_eq!(quoted.threshold.origin, Origin::Document);
        assert_eq!((quoted.source.section.as_ref(), quoted.source.is_ours()), ("1.2", false));
    }

    #[test]
    fn on_other_data_a_verdict_is_told_not_given() {
        let fails = stated().holds((2.0, false)).not_judged("generated data");
        assert!(!fails.differs());
        let Expectation::NotJudged { why } = &fails.registered else { panic!("{fails:?}") };
        assert_eq!(why, "generated data: the threshold is not met");
    }

    #[test]
    fn a_failure_stays_only_if_a_document_gives_its_threshold() {
        let quoted = || Source::quoted("D", "1.2", "q").claim("s");
        let why = || Reason::checked("why", 1.0, true);
        assert!(quoted().document("e").holds((1.0, true)).is_fair());
        assert!(quoted().document("e").known_failure((1.0, false), why()).is_fair());
        assert!(!quoted().ours("e").holds((1.0, true)).is_fair());
        assert!(quoted().reported("e", 1.0).is_fair());
        assert!(stated().holds((1.0, true)).is_fair());
        assert!(!stated().known_failure((1.0, false), why()).is_fair());
    }

    #[test]
    fn judgements_add_up() {
        let both = Judged::from((1.0, true)).named("a").and((2.0, false));
        assert_eq!((both.measured.text.as_str(), both.holds), ("a: 1; 2", false));
        assert!(Judged::from((1.0, true)).and((2.0, true)).holds);
    }
}
