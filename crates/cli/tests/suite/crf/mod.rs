//! `fenchel-crf`.

mod faults;
mod formats;
mod safety;
mod texts;
mod training;
