//! Proximal Newton: few, expensive, exact steps for small `d` or small supports.
//!
//! At the current point, with margins `t = A x + b`, the loss is replaced by its second-order model and
//! the regulariser is kept:
//!
//! ```text
//! min_d  g.d + (1/2) d' (A'HA/n + l2 I) d + l1 (||x + d||_1 - ||x||_1),    H = diag phi''(t)
//! ```
//!
//! The step `d` is followed by a line search on the margins, which needs no look at the data. The number of
//! outer steps is 5 to 15 whatever the conditioning, where the passes of first-order methods grow without
//! bound: on badly scaled data this is the method that ends.
//!
//! | part | file | how |
//! |---|---|---|
//! | outer loop, working set, line search | `method.rs` | the coordinates that violate optimality most join the support |
//! | Newton-CG, without l1: the model by products with the Hessian | `cg.rs`, [`fenchel_optim::newton`] | for many features; memory O(n + d) |
//! | the model | `model.rs` | where the Gram matrix of the working set costs a few passes, coordinate descent on it; else coordinate descent on columns until that has cost as much (ski rental); Cholesky where `l1 = 0`. A Gram matrix is kept while the second derivatives hardly change and every step with it still gains a digit |
//! | Hessians of many rows | `gram.rs`, `sample.rs`, `cost.rs` | rows drawn by their leverage stand for all where that saves work, with l1; of a larger sample every step |
//! | subsampled Newton, without l1 | `subsampled.rs`, [`fenchel_optim::newton`] | the problem on drawn rows, then L-BFGS on all of them that begins with the Hessian of those rows |
//! | large working sets | `orthants.rs`, `conjugate.rs`, `scaled.rs` | conjugate gradients in one orthant after another, by products with the columns of the set, copied row by row; coordinate descent between them where the signs do not settle |
//! | how far | `forcing.rs` | a large model is minimised as far as it is right |
//! | the proof | `method/step.rs` | the dual point at the end of a model, `u + H A d`, is feasible as far as the model is minimised, and proves what `phi'` at the margins proves a step later |
//! | paths | `warm.rs` | warm starts, and features that are proved to be 0 |
//!
//! A sampled Hessian of `8 m` rows, for a working set of `m`, takes a violation to about a third a step however many rows
//! there are. It serves the first steps, whose second derivatives change
//! by as much anyway; as the pace rises the sample grows until it is all rows.
//!
//! References: the working set and the stopping rule follow liblinear's newGLMNET (Yuan, Ho and Lin, JMLR 13,
//! 2012) in spirit; the certificate is the duality gap of [`Problem::certify`](crate::Problem::certify).

mod cg;
mod conjugate;
mod cost;
mod forcing;
mod gram;
mod method;
mod model;
mod orthants;
mod sample;
mod scaled;
mod subsampled;
mod warm;

pub(crate) use cost::{full_hessian_cost, gram_cost};
pub(crate) use gram::{RIDGE, Variables};
pub(crate) use sample::Sample;
pub(crate) use subsampled::{ROWS_PER_VARIABLE, sample_rows};
pub(crate) use warm::{Warm, check_grid, sphere_radius};

pub use cg::newton_cg;
pub use method::{ElasticNetForm, Newton, NewtonSettings, newton};
pub use subsampled::{SubsampledNewton, SubsampledNewtonSettings, subsampled_newton};
pub use warm::Screening;
