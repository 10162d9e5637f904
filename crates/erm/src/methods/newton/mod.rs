//! Proximal Newton: a few expensive steps, for few features or small supports.
//!
//! At the current point, with margins `t = A x + b`, the loss is replaced by its second-order model and
//! the regulariser is kept:
//!
//! ```text
//! min_d  g.d + (1/2) d' (A'HA/n + l2 I) d + l1 (||x + d||_1 - ||x||_1),    H = diag phi''(t)
//! ```
//!
//! A line search along the step `d` follows. It works on the margins and reads no data. The method needs 5 to 15 outer steps for
//! any conditioning, whereas the passes of first-order methods grow without bound. So it is the method for badly scaled data.
//!
//! | part | file | how |
//! |---|---|---|
//! | outer loop | `method.rs` | certificate, working set, model, line search |
//! | iterate | `method/iterate.rs` | point, margins, certificate, gradient; a search on the margins |
//! | working set | `method/working_set.rs` | the support, and the coordinates that violate optimality most |
//! | model | `method/data.rs`, `model.rs` | with l1: coordinate descent with extrapolation (the sweeps of [`coordinate_descent`](fn@crate::methods::coordinate_descent)), on the Gram matrix of the working set if that costs a few passes, otherwise over columns until they have cost as much; without l1: a Cholesky factorisation, of an `n x n` matrix (`rows.rs`) for dense data with fewer rows than columns |
//! | Newton-CG, without l1 | `cg.rs`, [`fenchel_optim::newton`] | conjugate gradients, which need only products with the Hessian, for many features; memory O(n + d) |
//! | subsampled Newton, without l1 | `subsampled.rs`, [`fenchel_optim::newton`] | Newton's method on a sample of the rows, then L-BFGS on all rows with the Hessian of the sample |
//! | paths | `warm.rs`, `screening.rs` | warm starts, and features that are proved to be 0 |
//!
//! The following were tried and left out, because they gained less than 1.2 times in the median of the problems they were for:
//! conjugate gradients in one orthant after another, rows drawn by leverage for the models with l1, Hessians kept for later steps,
//! forcing terms, the dual point of the model as a proof, and columns that nearly violate optimality. `benches/README.md` has the
//! measurements.
//!
//! References: the working set and the stopping rule follow liblinear's newGLMNET (Yuan, Ho and Lin, JMLR 13,
//! 2012); the certificate is the duality gap of [`Problem::certify`](crate::Problem::certify).

mod cg;
mod method;
mod model;
mod rows;
mod screening;
mod subsampled;
mod warm;

pub(crate) use method::GRAM_PASSES;
pub(crate) use rows::{row_bytes, row_costs};
pub use screening::{Sphere, sphere_radius};
pub(crate) use subsampled::{ROWS_PER_VARIABLE, sample_rows};
pub use warm::{Warm, check_grid};

pub use cg::newton_cg;
pub use method::{AsElasticNet, Newton, NewtonSettings, newton};
pub use screening::Screening;
pub use subsampled::{SubsampledNewton, SubsampledNewtonSettings, subsampled_newton};
