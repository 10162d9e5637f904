//! BIF: the text format of the published Bayesian networks (bnlearn repository, pgmpy, Hugin exports).
//!
//! ```text
//! network asia {}
//! variable tub { type discrete [ 2 ] { yes, no }; }
//! probability ( tub | asia ) { (yes) 0.05, 0.95; (no) 0.01, 0.99; }
//! ```
//!
//! | part | what is accepted |
//! |---|---|
//! | names, states | anything up to the next `,`, `{`, `}`, `\|` or `)`, such as `<5`, `12+`, `Asy/Patch`; or quoted |
//! | numbers | finite decimals, with or without commas between them |
//! | rows | in any order, identified by the states of the parents; `default` fills missing rows |
//! | `table` | all numbers: the child's state varies slowest, then the parents in order, the last one fastest |
//! | `property` | ignored up to its `;` |
//! | comments | `// ...` and `/* ... */`; a `/` before anything else is a letter |
//! | order | a variable is declared before a probability names it |
//!
//! Numbers keep all their bits: [`read()`] reads back exactly what [`write()`] has written. Reading is one pass over the bytes,
//! and a look-up of the states in each row.

mod read;
mod rows;
mod tokens;
mod write;

pub use read::{BifOptions, read, read_file, read_file_with, read_with};
pub use write::{write, write_file};
