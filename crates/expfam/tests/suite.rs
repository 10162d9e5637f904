//! The tests of the crate, in one program.

mod suite {
    mod cases;
    mod samplers;
    mod univariate;
}
