//! One program, so that the solvers are compiled once.

#[path = "suite/games.rs"]
mod games;
#[path = "suite/setups.rs"]
mod setups;
