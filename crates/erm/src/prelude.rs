//! What a caller, or code that is generic over problems, needs of the crates below this one: designs and penalties, the
//! stopping rule, what a run reports, and what may be wrong.

pub use fenchel_linalg::{AsDesign, Csr, CsrMatrix, Dense, Design, Invalid, Named, Names, Rows};
pub use fenchel_optim::model::Saved;
pub use fenchel_optim::random::Order;
pub use fenchel_optim::{
    Cadence, Certificate, Loss, MAX_MEMORY, Observer, Progress, Refusal, Regulariser, Report,
    Separable, Solution, Status, StepSize, Stop, Trace,
};
