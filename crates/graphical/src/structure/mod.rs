//! Structure learning: graphs from complete records.
//!
//! | method | gives | assumes | cost |
//! |---|---|---|---|
//! | [`HillClimbing`] | a directed graph, a local optimum of a score | | `n^2` family scores, then `2n` per step |
//! | [`ExactSearch`] | the directed graph of highest score | up to about 20 variables | `n C(n, m)` family scores, `n 2^n` steps |
//! | [`Pc`] | a class of equivalent graphs, by tests of independence | faithfulness | number of tests polynomial for bounded degree |
//! | [`chow_liu`] | the tree of maximum likelihood, undirected and directed | | `n^2` pairs of columns |
//!
//! Use the exact search for up to about 20 variables, and hill climbing for more. Use PC if the question is about independences
//! and not about a score, and the tree if there are few records. [`shd`] is a distance between graphs. Three of the methods
//! give undirected graphs: the tree, the skeleton of [`Pc`], and the moral graph of a directed graph
//! ([`Dag::moralise`](crate::Dag::moralise)).
//!
//! Data cannot distinguish equivalent graphs, so compare equivalence classes ([`Dag::cpdag`](crate::Dag::cpdag)) and not
//! graphs. [`BayesNet::from_csv_file`](crate::BayesNet::from_csv_file) makes variables from columns,
//! [`BayesNet::with_graph`](crate::BayesNet::with_graph) sets the learned graph, and
//! [`BayesNet::fit_cpts`](crate::BayesNet::fit_cpts) fits its tables:
//!
//! ```
//! use fenchel_graphical::structure::{HillClimbing, shd};
//! use fenchel_graphical::{Prior, StructureScore, networks};
//!
//! let truth = networks::asia();
//! let data = truth.sample_many(5000, &mut fenchel_optim::random::stream(0, 0))?;
//! let search = HillClimbing { score: StructureScore::Bayes(Prior::Bdeu(1.0)), ..Default::default() };
//! let found = search.fit(data.view(), truth.cards())?;
//! assert!(shd(&truth.dag().cpdag(), &found.dag.cpdag())? < 8);
//! let net = truth.with_graph(&found.dag)?.fit_cpts(data.view(), Prior::Bdeu(1.0))?;
//! println!("{}", net.query(&["lung"], &[("xray", "yes")])?);
//! # Ok::<(), fenchel_graphical::Error>(())
//! ```
//!
//! Source: R. Le Priol, PhD thesis 2021, section 2.3.2. Each method names its own sources.

mod chow_liu;
mod columns;
mod distance;
mod exact;
mod hill_climbing;
mod independence;
mod pc;

use std::fmt;

use fenchel_linalg::Names;
use fenchel_linalg::text::{number, short};
use fenchel_optim::{Certificate, Fit, Refusal, Report};

use crate::Dag;

pub use chow_liu::{ChowLiuTree, chow_liu};
pub(crate) use columns::Columns;
pub use distance::{PartiallyDirected, shd};
pub use exact::ExactSearch;
pub use hill_climbing::HillClimbing;
pub use independence::{IndependenceTest, Tested};
pub use pc::{Pc, PcFit};

/// Scores and tests are of whole counts.
fn refuse_weights<M>(method: &'static str, fit: &Fit<'_, M>) -> Result<(), Refusal> {
    let what = "weights of rows; give a row as often as it counts";
    if fit.weights.is_some() { Err(Refusal::unsupported(method, what)) } else { Ok(()) }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedDag {
    /// The graph; node `i` is column `i` of the data.
    pub dag: Dag,
    /// The names of the columns, or none.
    pub names: Names,
    /// Its score.
    pub score: f64,
    /// How the search ended. The objective is minus the score. A pass of [`HillClimbing`] is a move, which changes an arc or
    /// restarts the search; [`ExactSearch`] has one pass.
    pub report: Report,
}

impl LearnedDag {
    /// The same with names of the columns, by which it prints.
    ///
    /// ```
    /// use fenchel_graphical::networks::asia;
    /// use fenchel_graphical::structure::HillClimbing;
    /// use fenchel_optim::random::stream;
    ///
    /// let net = asia();
    /// let data = net.sample_many(2000, &mut stream(1, 0))?;
    /// let found = HillClimbing::default().fit(data.view(), net.cards())?;
    /// let found = found.named(net.variables().map(|v| net.name_of(v)));
    /// assert!(found.to_string().contains("bronc - dysp") || found.to_string().contains("bronc -> dysp"));
    /// # Ok::<(), fenchel_graphical::Error>(())
    /// ```
    pub fn named<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        LearnedDag { names: Names::new(names), ..self }
    }
}

/// Prints how the search ended and the arcs by their names. An arc that another graph with the same score turns around is written
/// as `a - b`.
impl fmt::Display for LearnedDag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LearnedDag { dag, names, score, report } = self;
        let (score, moves) = (number(*score, 8), short(report.passes));
        match report.certificate {
            Certificate::Gap { .. } => writeln!(f, "score {score}: no graph has a higher one")?,
            Certificate::Residual { .. } => {
                writeln!(f, "score {score}: a local optimum, after {moves} moves")?;
            }
            Certificate::Uncertified { .. } => {
                writeln!(f, "score {score}: {} after {moves} moves", report.status)?;
            }
        }
        let told = dag.cpdag().directed;
        let arcs: Vec<String> = dag
            .arcs()
            .map(|(p, v)| {
                let mark = if told.binary_search(&(p, v)).is_ok() { "->" } else { "-" };
                format!("{} {mark} {}", names.of(p as usize), names.of(v as usize))
            })
            .collect();
        write!(f, "{} arcs: {}", arcs.len(), arcs.join(", "))?;
        match arcs.len() - told.len() {
            0 => Ok(()),
            open => {
                write!(f, "\nthe data do not tell the direction of {open} of them (`dag.cpdag()`)")
            }
        }
    }
}
