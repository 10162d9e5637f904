//! The interface and the outer loop of every iterative method of Fenchel.
//!
//! A solver is a function `method(&problem, &settings, start, &mut observer) -> Solution`. Internally it constructs an
//! [`Iterative`], which holds the checked problem and the state of the method, and passes it to [`run`]. This outer loop
//! measures time, applies the stopping rule [`Stop`], detects divergence and calls the [`Observer`]. A run returns a
//! [`Certificate`], the proved bound at its point, and a [`Status`], the way it ended. Ending without convergence is not an
//! error.
//!
//! ```
//! use std::ops::ControlFlow;
//! use fenchel_optim::{Certificate, Iterative, Progress, Stop, Trace, run};
//!
//! /// Newton's iteration for the square root of 2, with the objective |x^2 - 2|.
//! struct SquareRoot(f64);
//!
//! impl Iterative for SquareRoot {
//!     fn advance(&mut self, _passes: f64) -> f64 {
//!         self.0 = 0.5 * (self.0 + 2.0 / self.0);
//!         1.0
//!     }
//!     fn certify(&mut self) -> Certificate {
//!         Certificate::gap((self.0 * self.0 - 2.0).abs(), 0.0)
//!     }
//! }
//!
//! let mut method = SquareRoot(1.0);
//! let mut trace = Trace::new();
//! let report = run(&mut method, &Stop::default(), &mut trace)?;
//! assert!(report.certificate.value() <= 1e-12);
//! println!("{report}");
//! # Ok::<(), fenchel_linalg::Invalid>(())
//! ```
//!
//! | module | content |
//! |---|---|
//! | (root) | [`run`], [`Iterative`], [`CertificateCost`], [`Stop`], [`Certificate`], [`Report`], [`Observer`], [`Trace`], [`Budget`], [`Fit`], [`Placement`], [`Whole`], [`settings!`], [`Average`], [`StepSize`], [`Refusal`], [`MAX_MEMORY`], [`end_of_grid`] |
//! | [`loss`] | losses as functions of the margin, with conjugates and exact dual steps |
//! | [`prox`] | regularisers and proximal operators |
//! | [`random`] | seeds, streams, visiting orders, alias tables, sum trees |
//! | [`scalar`] | equations of one unknown |
//! | [`lbfgs`](mod@lbfgs), [`line_search`] | minimisation of smooth functions, also with an l1 penalty (OWL-QN) or with bounds |
//! | [`fista`](mod@fista) | a smooth function plus a regulariser, separable or not |
//! | [`newton`](mod@newton) | twice differentiable functions: Newton-CG, and Newton with a Cholesky factorisation |
//! | [`spread`] | rows that are spread over processes: communicators, shards, sums over all of them |
//! | [`model`] | saving and loading, versioned and checked |
//! | [`file`](mod@file) | atomic replacement of files, and reading them whole |
#![forbid(unsafe_code)]

pub mod file;
pub mod fista;
mod grid;
pub mod lbfgs;
pub mod line_search;
pub mod loss;
pub mod model;
pub mod newton;
#[cfg(feature = "plot")]
mod plot;
mod protocol;
pub mod prox;
pub mod random;
mod refusal;
pub mod scalar;
mod settings;
mod step;

pub use fenchel_linalg::spread;
pub use grid::end_of_grid;
pub use loss::Loss;
pub use protocol::{
    Average, Budget, Cadence, Certificate, CertificateCost, Clock, Fit, Iterative, Observer,
    Placement, Progress, Report, RunningMean, SharedWatch, Solution, Status, Stop, Trace, Wall,
    Watch, Whole, limit, run, run_by,
};
pub use prox::{Regulariser, Separable};
pub use refusal::{MAX_MEMORY, Refusal};
pub use step::StepSize;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
