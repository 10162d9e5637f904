//! Parts for solvers outside this crate: certificates, warm starts of paths, step lengths, checks.
//!
//! `fenchel-finite-sum` builds its estimators, its paths and its solvers of general sums from them. They are not needed to fit
//! a model.

pub use crate::auto::Guarded;
pub use crate::gap::Gap;
pub use crate::methods::REFRESH;
pub use crate::methods::incremental::{round_length, saga_step};
pub use crate::methods::newton::{Sphere, Warm, check_grid, sphere_radius};
pub use crate::multiclass::{CURVATURE, scores};
pub use crate::on_centred;
pub use crate::terms::term_scales;
pub use fenchel_linalg::{Centred, CentredView};
