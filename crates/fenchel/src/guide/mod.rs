//! Eight chapters, each from data to a decision, and five pages for those who come from another tool.
//!
//! Every chapter is one program. Its data are embedded or drawn, its numbers are computed when the documentation is tested, and its
//! `assert!` lines say what the text claims. To run one, copy it into a `main` that returns `Result<(), Box<dyn std::error::Error>>`,
//! with `fenchel = { features = ["full"], .. }`.
//!
//! | chapter | data | decision |
//! |---|---|---|
//! | [A classifier with a proof, and its path](classifier) | 569 biopsies | who gets a second look |
//! | [Counts by exposure](counts) | claims of 10,000 policies, drawn | what a policy should cost |
//! | [Labelling a text](labelling) | orders for journeys | which orders a person must read |
//! | [Ask a network, and learn it](network) | chest clinics, 5,000 records | whether an X-ray is worth its cost |
//! | [Which genes or sensors hang together](hang_together) | 178 wines; hubs and a hidden cause, drawn | which measurement the others tell |
//! | [Contacts of a protein](contacts) | an alignment, drawn | which positions touch |
//! | [Is it causal?](causal_effect) | 700 patients with kidney stones | which treatment |
//! | [Reduce the dimension](reduce) | 800 rows of ten features, drawn | how many combinations to keep |
//!
//! | coming from | page |
//! |---|---|
//! | scikit-learn | [`from_scikit_learn`] |
//! | statsmodels | [`from_statsmodels`] |
//! | CRFsuite | [`from_crfsuite`] |
//! | pgmpy | [`from_pgmpy`] |
//! | R: glmnet, glm, glasso, huge, bootnet, dr | [`from_r`] |

#[doc = include_str!("causal_effect.md")]
#[doc = ""]
#[doc = include_str!("../../figures/causal_effect.svg")]
pub mod causal_effect {}
#[doc = include_str!("classifier.md")]
#[doc = ""]
#[doc = include_str!("../../figures/classifier.svg")]
pub mod classifier {}
#[doc = include_str!("contacts.md")]
#[doc = ""]
#[doc = include_str!("../../figures/contacts.svg")]
pub mod contacts {}
#[doc = include_str!("counts.md")]
#[doc = ""]
#[doc = include_str!("../../figures/counts.svg")]
pub mod counts {}
#[doc = include_str!("from_crfsuite.md")]
pub mod from_crfsuite {}
#[doc = include_str!("from_pgmpy.md")]
pub mod from_pgmpy {}
#[doc = include_str!("from_r.md")]
pub mod from_r {}
#[doc = include_str!("from_scikit_learn.md")]
pub mod from_scikit_learn {}
#[doc = include_str!("from_statsmodels.md")]
pub mod from_statsmodels {}
#[doc = include_str!("hang_together.md")]
#[doc = ""]
#[doc = include_str!("../../figures/hang_together.svg")]
pub mod hang_together {}
#[doc = include_str!("labelling.md")]
#[doc = ""]
#[doc = include_str!("../../figures/labelling.svg")]
pub mod labelling {}
#[doc = include_str!("network.md")]
#[doc = ""]
#[doc = include_str!("../../figures/network.svg")]
pub mod network {}
#[doc = include_str!("reduce.md")]
#[doc = ""]
#[doc = include_str!("../../figures/reduce.svg")]
pub mod reduce {}
