//! The experiments of R. Le Priol, PhD thesis 2021, chapter 5, on the risk of maximum likelihood (MLE) and maximum a
//! posteriori (MAP) estimates, and of D. Babichev, PhD thesis 2019, chapter 3, on stochastic gradient descent with
//! constant step sizes.
//!
//! | id | figure | what |
//! |---|---|---|
//! | `ef-1` | Le Priol, Figure 5.1 | risk of the variance of a normal law against `n` |
//! | `ef-2` | Le Priol, Figure 5.5 | which priors are best |
//! | `ef-3` | Le Priol, Figure 5.3 | bias and variance of MAP for mean and variance |
//! | `ef-4` | Le Priol, Figures 5.2, 5.8 | clouds and paths of MLE and MAP |
//! | `ef-5` | Le Priol, Figures 5.4, 5.6, 5.7, 5.9 | barriers, the mirror map, the radius of the quadratic bound |
//! | `ef-6` | Le Priol, Table 5.1 | three notions of variance for stochastic mirror descent |
//! | `ef-7` | Le Priol, section 5.5.1 | n times the risk |
//! | `cs-1`, `cs-2` | Babichev, Figures 3-5, 3-6 | averaged parameters against averaged predictions |
//! | `cs-3` | Babichev, Figure 3-7 | the same with a Laplacian kernel |
//! | `cs-4` | Babichev, Figures 3-8 to 3-11 | the same on real data |

mod asymptotics;
mod averages;
mod bias;
mod kernel;
mod notions;
mod one_pass;
mod paths;
mod priors;
mod real;
mod shapes;
mod variance;

use crate::Experiment;
use crate::documents::{BABICHEV, LE_PRIOL, babichev, le_priol};

/// Chapter 5 of the first thesis.
pub(crate) const RISKS: &[Experiment] = &[
    variance::EXPERIMENT,
    priors::EXPERIMENT,
    bias::EXPERIMENT,
    paths::EXPERIMENT,
    shapes::EXPERIMENT,
    notions::EXPERIMENT,
    asymptotics::EXPERIMENT,
];

/// Chapter 3 of the second.
pub(crate) const AVERAGES: &[Experiment] =
    &[averages::FIRST, averages::SECOND, kernel::EXPERIMENT, real::EXPERIMENT];
