//! What is fuzzed: functions of bytes. A panic is a finding, and so is what [libFuzzer](https://llvm.org/docs/LibFuzzer.html) sees:
//! an endless loop, and memory beyond its limit.
//!
//! The program of `fuzz/` calls them with bytes that a fuzzer makes, and `tests/` with those of `fuzz/corpus`.
#![forbid(unsafe_code)]

mod data;
mod discrete;
mod families;
mod graphical;
mod linear;
mod matrices;
mod oracle;
mod readers;
mod tree;

/// A target.
pub struct Target {
    /// Its name, which is also that of its folder in `fuzz/corpus`.
    pub name: &'static str,
    /// What is fuzzed, for the list.
    pub about: &'static str,
    /// Panics if the bytes are a finding.
    pub run: fn(&[u8]),
}

macro_rules! targets {
    ($($name:ident: $about:literal => $run:path,)*) => {
        /// All targets.
        pub const TARGETS: &[Target] = &[$(Target { name: stringify!($name), about: $about, run: $run },)*];
    };
}

targets! {
    alignment: "alignments of proteins and distances of columns" => readers::sequences,
    bif: "networks as BIF" => readers::bif_text,
    binary: "binary pairwise models" => graphical::binary,
    causal: "causal models, identification and formulas" => discrete::causal,
    checkpoint: "checkpoints of taggers" => discrete::checkpoint,
    conll: "sentences as CoNLL and CoNLL-U" => readers::conll_text,
    crf: "taggers" => discrete::crf,
    crf_solvers: "methods for taggers, and their states" => discrete::crf_solvers,
    crfsuite: "sequences as CRFsuite text" => readers::crfsuite,
    csv: "tables as CSV, and encoders" => readers::csv,
    effect: "effects of a treatment" => discrete::effect,
    entropy: "probabilities of maximum entropy" => families::entropy,
    families: "exponential families of one variable" => families::one_variable,
    ggm: "Gaussian graphical models" => matrices::ggm,
    glm: "generalised linear models" => families::glm,
    graph: "causal graphs and queries" => readers::graph,
    graph_crf: "conditional random fields over graphs" => discrete::graph_crf,
    idx: "arrays as IDX" => readers::idx_bytes,
    inference: "inference in models with tables" => graphical::inference,
    item_field: "fields of ratings" => matrices::item_field,
    learning: "networks from records" => graphical::learning,
    letters: "words as letters" => readers::words,
    libsvm: "designs as LIBSVM text" => readers::libsvm_text,
    linear: "estimators of linear models" => linear::estimators,
    moments: "dimension reduction" => matrices::moments,
    mrf: "Markov random fields" => discrete::mrf,
    packed: "packed files" => readers::packed,
    potts: "models of alignments" => discrete::potts,
    ratings: "ratings" => readers::ratings,
    records: "records as CSV, and their network" => readers::records,
    roll_calls: "roll calls" => readers::votes,
    saddle: "games, linear programs and classifiers with an l1 norm" => discrete::saddle,
    solvers: "methods for finite sums, and their states" => linear::solvers,
    standardiser: "scales of features" => linear::standardiser,
    template: "templates as of CRF++" => readers::template,
    uai: "models and evidence as UAI" => readers::uai_text,
}
