//! The BIF writer. Every number is written as the shortest decimal that is read back to the same bits.

use std::io::Write;
use std::path::Path;

use crate::{BayesNet, Error, files};

/// Writes a network as BIF text that [`read`](super::read) reads back to an equal network.
///
/// # Errors
/// [`Error::Unwritable`] for a name that BIF has no way to write: an empty one, or one with
/// quotes; [`Error::Io`].
pub fn write(net: &BayesNet, mut to: impl Write) -> Result<(), Error> {
    let name = if net.name().is_empty() { String::new() } else { word(net.name())? };
    writeln!(to, "network {name} {{\n}}")?;
    for v in net.variables() {
        let states = net.states_of(v);
        writeln!(to, "variable {} {{", word(net.name_of(v))?)?;
        writeln!(to, "  type discrete [ {} ] {{ {} }};\n}}", states.len(), words(states)?)?;
    }
    for v in net.variables() {
        let parents = net.parents_of(v);
        let states = net.states_of(v).len();
        write!(to, "probability ( {}", word(net.name_of(v))?)?;
        for (i, &p) in parents.iter().enumerate() {
            write!(to, "{} {}", if i == 0 { " |" } else { "," }, word(net.name_of(p))?)?;
        }
        writeln!(to, " ) {{")?;
        let names: Vec<Vec<String>> = parents
            .iter()
            .map(|&p| net.states_of(p).iter().map(|state| word(state)).collect())
            .collect::<Result<_, _>>()?;
        let mut configuration = vec![0; parents.len()];
        for row in net.cpt_of(v).chunks_exact(states) {
            if parents.is_empty() {
                write!(to, "  table ")?;
            } else {
                let given: Vec<&str> =
                    names.iter().zip(&configuration).map(|(list, &s)| &*list[s]).collect();
                write!(to, "  ({}) ", given.join(", "))?;
            }
            for (i, value) in row.iter().enumerate() {
                write!(to, "{}{value:?}", if i == 0 { "" } else { ", " })?;
            }
            writeln!(to, ";")?;
            for (state, list) in configuration.iter_mut().zip(&names).rev() {
                *state += 1;
                if *state < list.len() {
                    break;
                }
                *state = 0;
            }
        }
        writeln!(to, "}}")?;
    }
    Ok(to.flush()?)
}

/// Writes a network to a file atomically. The file is compressed by gzip if its name ends in `.gz`.
///
/// # Errors
/// [`Error::File`], which names the file, with the error of [`write()`] inside.
pub fn write_file(net: &BayesNet, path: impl AsRef<Path>) -> Result<(), Error> {
    files::write(path.as_ref(), |to| write(net, to))
}

fn words(names: &[String]) -> Result<String, Error> {
    Ok(names.iter().map(|name| word(name)).collect::<Result<Vec<_>, _>>()?.join(", "))
}

/// A name, in quotes if the reader needs them.
fn word(name: &str) -> Result<String, Error> {
    let special = |c: char| c.is_whitespace() || c.is_control() || ",;{}()|\"".contains(c);
    let bare =
        !name.is_empty() && !name.contains(special) && !name.contains("//") && !name.contains("/*");
    if bare {
        return Ok(name.into());
    }
    if name.is_empty() || name.contains('"') {
        return Err(Error::Unwritable { format: "BIF", name: name.into() });
    }
    Ok(format!("\"{name}\""))
}
