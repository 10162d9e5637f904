//! The tests of the public interface, one program: `cargo test -p fenchel-ggm --test suite FILE::`.

mod acceleration;
mod answers;
mod arguments;
mod bethe;
mod common;
mod conditional;
mod determined;
mod estimator;
mod extensions;
mod glasso;
mod groups;
mod item_field;
mod latent;
mod limits;
mod path;
mod saved;
mod scale_free;
mod shortcut;
mod spread;
mod synthetic;
mod warm;
