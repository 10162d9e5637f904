//! The methods of the thesis that no user of `fenchel-causal` needs: how fast models adapt, and the theory of it.

pub mod adapt;
pub mod meta;
pub mod theory;
