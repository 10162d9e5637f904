//! Conditional random fields with certified training, on linear chains and on graphs of small treewidth.
//!
//! A sequence of `T` tokens with attributes `x` has the labelling `y` with probability
//!
//! ```math
//! p(y \mid x; w) = \frac{\exp \langle w, F(x, y) \rangle}{Z(x; w)}, \qquad F(x, y) = \sum_t [\text{attribute} \times \text{label}] + \sum_t [\text{label} \times \text{next label}]
//! ```
//!
//! Training minimises the mean of `-log p(y_i | x_i; w)` over `n` sequences plus `(l2/2) ||w||^2 + l1 ||w||_1`. The dual
//! problem has one distribution per sequence, represented by its marginals of single labels and of neighbouring pairs. These
//! variables of one sequence are called a block. One call of the oracle, which is the forward-backward algorithm at the current
//! weights, gives an ascent direction for a block *and* its part of the duality gap. So a run knows at any time how far it is
//! from the optimum.
//!
//! | question | use |
//! |---|---|
//! | train a model on labelled sentences | [`CorpusBuilder`] or [`text`], then [`Crf`] |
//! | labels, the k best labellings, marginals and spans of new sentences | [`CrfModel`], [`Tagger`] |
//! | only labellings that a scheme such as BIO allows | [`LabelScheme`], [`Tagger::with_scheme`] |
//! | choose a training method and observe it | [`Problem`] and [`sdca`](fn@methods::sdca), [`lbfgs`](fn@methods::lbfgs), [`owlqn`](fn@methods::owlqn), [`catalyst`](fn@methods::catalyst), [`oeg`](fn@methods::oeg), [`sag`](fn@methods::sag) |
//! | labels on trees, skip chains, narrow grids | [`GraphCrf`], [`graph_sdca`](fn@graph::graph_sdca), [`graph_lbfgs`](fn@graph::graph_lbfgs) |
//! | observe a long training, save checkpoints | [`training`](mod@training) |
//! | choose a penalty by held-out sequences | [`path`](mod@path) |
//! | the same objective for any incremental method | [`CrfFiniteSum`](methods::CrfFiniteSum) |
//! | memory of the marginals, before anything is allocated | [`memory`](fn@methods::memory) |
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | `n`, `N`, `K` | sequences, tokens, labels | |
//! | pass | `n` oracle calls | one forward-backward per sequence |
//! | `g_i` | gap of a block, `KL(m_i, p(. \| x_i; w))` | nats |
//!
//! On sparse text [`sdca`](fn@methods::sdca) needs about a tenth of the passes of L-BFGS, and stores `K^2 N` numbers.
//! [`lbfgs`](fn@methods::lbfgs) needs little memory and uses all cores. [`Crf`] uses `sdca` if its memory is within the limit.
#![forbid(unsafe_code)]

mod builder;
mod checkpoint;
mod checkpoints;
mod dataset;
mod error;
mod estimator;
mod feature;
pub mod graph;
mod instance;
mod layout;
mod likelihood;
pub mod methods;
mod model;
pub mod path;
#[cfg(feature = "plot")]
mod plot;
mod problem;
mod record;
mod records;
mod scheme;
mod sequences;
mod settings;
mod support;
pub mod synthetic;
mod tagger;
mod terms;
pub mod text;
pub mod training;
mod vocabulary;
mod watch;
mod weights;

pub use builder::{Corpus, CorpusBuilder};
pub use dataset::{Dataset, Sequence, Token};
pub use error::Error;
pub use feature::Feature;
pub use graph::{CliqueTemplate, GraphCrf, GraphDataset, GraphInstance, GraphModel};
pub use instance::Instance;
pub use model::CrfModel;
pub use problem::Problem;
pub use scheme::LabelScheme;
pub use settings::{Crf, Method};
pub use support::{Features, Support};
pub use tagger::Tagger;
pub use vocabulary::Vocabulary;
pub use weights::Weights;

// What a caller needs of the crates below.
pub use fenchel_optim::model::Saved;
pub use fenchel_optim::random::Order;
pub use fenchel_optim::{Fit, MAX_MEMORY, Observer, Progress, Refusal, Report, Status, Stop};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
