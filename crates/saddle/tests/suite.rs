//! One program, so that the solvers are compiled once.

#[path = "suite/answers.rs"]
mod answers;
#[path = "suite/basics.rs"]
mod basics;
#[path = "suite/bounds.rs"]
mod bounds;
#[path = "suite/choices.rs"]
mod choices;
#[path = "suite/data.rs"]
mod data;
#[path = "suite/estimator.rs"]
mod estimator;
#[path = "suite/extremes.rs"]
mod extremes;
#[path = "suite/files.rs"]
mod files;
#[path = "suite/games.rs"]
mod games;
#[path = "suite/invariance.rs"]
mod invariance;
#[path = "suite/programs.rs"]
mod programs;
#[path = "suite/setups.rs"]
mod setups;
#[path = "suite/sublinear.rs"]
mod sublinear;
#[path = "suite/vertices.rs"]
mod vertices;
