//! One program for all targets: each would link all crates. The variable `FUZZ_TARGET` names the one to run.
#![no_main]

use std::sync::LazyLock;

use fenchel_fuzz_targets::{TARGETS, Target};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| {
        eprintln!("FUZZ_TARGET is {name:?}; expected one of {names:?}");
        std::process::exit(2)
    })
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes));
