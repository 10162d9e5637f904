#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod colour;
mod figure;
mod heat_map;
mod letters;
mod network;
#[cfg(feature = "serde")]
pub mod number;
mod pen;
mod text;
mod title;

pub use colour::Colour;
pub use figure::{Axis, Figure, Scale, Series, Style};
pub use heat_map::HeatMap;
pub use letters::escaped;
pub use network::{Bar, Edge, Kind, Network, Node, Placement};
pub use text::{Span, Text};

/// What the rows or the columns of a matrix are, and the name of each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Named {
    /// What they are, such as `truth`; may be empty.
    pub what: String,
    /// Their names.
    pub names: Vec<String>,
}
