//! One program, so that the solvers are compiled once.

mod answers;
mod basics;
mod bounds;
mod choices;
mod data;
mod estimator;
mod extremes;
mod files;
mod games;
mod invariance;
mod programs;
mod setups;
mod sublinear;
mod vertices;
