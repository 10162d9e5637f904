//! The tests of the crate, in one program.

mod suite {
    mod cases;
    mod digits;
    mod estimation;
    mod extremes;
    mod glm;
    mod practitioner;
    mod random;
    mod reference;
    mod refusals;
    mod risk;
    mod samplers;
    mod special;
    mod univariate;
}
