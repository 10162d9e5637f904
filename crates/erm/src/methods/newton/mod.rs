//! Proximal Newton: few, expensive, exact steps for small `d` or small supports.
//!
//! At the current point, with margins `t = A x + b`, the loss is replaced by its second-order model and
//! the regulariser is kept:
//!
//! ```text
//! min_d  g.d + (1/2) d' (A'HA/n + l2 I) d + l1 (||x + d||_1 - ||x||_1),    H = diag phi''(t)
//! ```
//!
//! The step `d` is followed by a line search on the margins, which reads no data. The number of
//! outer steps is 5 to 15 whatever the conditioning, where the passes of first-order methods grow without
//! bound: on badly scaled data this is the method that ends.
//!
//! | part | file | how |
//! |---|---|---|
//! | outer loop | `method.rs` | certificate, working set, model, line search |
//! | iterate | `method/iterate.rs` | point, margins, certificate, gradient; a search on the margins |
//! | working set | `method/working_set.rs` | the coordinates that violate optimality most join the support |
//! | model | `method/data.rs`, `model.rs` | coordinate descent with extrapolation ([`coordinate_descent`](fn@crate::methods::coordinate_descent) has the sweeps): on the Gram matrix of the working set where that costs a few passes, else over columns until they have cost as much (ski rental); Cholesky where `l1 = 0`, of an `n x n` matrix (`rows.rs`) for dense data with fewer rows than columns |
//! | Newton-CG, without l1 | `cg.rs`, [`fenchel_optim::newton`] | the model by products with the Hessian, for many features; memory O(n + d) |
//! | subsampled Newton, without l1 | `subsampled.rs`, [`fenchel_optim::newton`] | the problem on drawn rows, then L-BFGS on all of them that begins with the Hessian of those rows |
//! | paths | `warm.rs`, `screening.rs` | warm starts, and features that are proved to be 0 |
//!
//! What was tried and left out, because it gained less than 1.2 times in the median of the problems it was for: conjugate
//! gradients in one orthant after another, rows drawn by leverage for the models with l1, Hessians kept for later steps, forcing
//! terms, the dual point of the model as a proof, and columns that nearly violate optimality (benches/README.md has the table).
//!
//! References: the working set and the stopping rule follow liblinear's newGLMNET (Yuan, Ho and Lin, JMLR 13,
//! 2012) in spirit; the certificate is the duality gap of [`Problem::certify`](crate::Problem::certify).

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
