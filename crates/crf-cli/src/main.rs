//! The command-line tool `fenchel-crf`.
#![forbid(unsafe_code)]

fn main() {}
