//! The names of the five documents, as the report shows them. The list of experiments has one table per document.

pub(crate) const DEFAZIO: &str =
    "Defazio, New optimisation methods for machine learning (thesis, 2014)";
pub(crate) const ADAPTIVE_SDCA: &str = "Le Priol, Piche, Lacoste-Julien, Adaptive stochastic dual coordinate ascent for conditional \
                                        random fields (2018)";
pub(crate) const SPG_TAY: &str = "Geng, Kuang, Liu, Wright, Page, Stochastic learning for sparse discrete Markov random fields (UAI 2018)";
pub(crate) const LE_PRIOL: &str = "Le Priol, Optimization tools for non-asymptotic statistics in exponential families (thesis, 2021)";
pub(crate) const BABICHEV: &str =
    "Babichev, On efficient methods for high-dimensional statistical estimation (thesis, 2019)";
