//! The names of the five documents, as the report shows them. The list of experiments has one table per document.

use crate::Source;

pub(crate) const DEFAZIO: &str =
    "Defazio, New optimisation methods for machine learning (thesis, 2014)";
pub(crate) const ADAPTIVE_SDCA: &str = "Le Priol, Piche, Lacoste-Julien, Adaptive stochastic dual coordinate ascent for conditional \
                                        random fields (2018)";
pub(crate) const SPG_TAY: &str = "Geng, Kuang, Liu, Wright, Page, Stochastic learning for sparse discrete Markov random fields (UAI 2018)";
pub(crate) const LE_PRIOL: &str = "Le Priol, Optimization tools for non-asymptotic statistics in exponential families (thesis, 2021)";
pub(crate) const BABICHEV: &str =
    "Babichev, On efficient methods for high-dimensional statistical estimation (thesis, 2019)";

/// A sentence of Defazio's thesis.
pub(crate) const fn defazio(section: &'static str, quote: &'static str) -> Source {
    Source::quoted(DEFAZIO, section, quote)
}

/// A sentence of the paper on adaptive SDCA.
pub(crate) const fn adaptive_sdca(section: &'static str, quote: &'static str) -> Source {
    Source::quoted(ADAPTIVE_SDCA, section, quote)
}

/// A sentence of the paper on SPG.
pub(crate) const fn spg_tay(section: &'static str, quote: &'static str) -> Source {
    Source::quoted(SPG_TAY, section, quote)
}

/// A sentence of Le Priol's thesis.
pub(crate) const fn le_priol(section: &'static str, quote: &'static str) -> Source {
    Source::quoted(LE_PRIOL, section, quote)
}

/// A sentence of Babichev's thesis.
pub(crate) const fn babichev(section: &'static str, quote: &'static str) -> Source {
    Source::quoted(BABICHEV, section, quote)
}
