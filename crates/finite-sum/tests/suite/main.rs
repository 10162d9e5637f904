//! The tests of the public interface, one program: `cargo test -p fenchel-finite-sum --test suite FILE::`.

#[path = "../../../erm/tests/suite/common/mod.rs"]
mod common;

mod answers;
mod auto;
mod auto_start;
mod bad_input;
mod class_weights;
mod counts;
mod cross_validation;
mod edges;
mod estimators;
mod first_minutes;
mod fit_with;
mod general;
mod general_sdca;
mod group_path;
mod huber;
mod multiclass;
mod multiclass_weights;
mod never_worse;
mod offsets;
mod own;
mod path;
mod path_from;
mod promises;
mod scales;
mod theory;
mod warm_start;
mod weights;
