//! The UAI writers.

use std::io::Write;
use std::path::Path;

use super::{Kind, Model};
use crate::{Error, Evidence, files};

/// Writes a model that [`read`](super::read) reads back to an equal one.
///
/// # Errors
/// [`Error::Io`].
pub fn write(model: &Model, mut to: impl Write) -> Result<(), Error> {
    let kind = if model.kind == Kind::Bayes { "BAYES" } else { "MARKOV" };
    writeln!(to, "{kind}\n{}", model.cards.len())?;
    let cards: Vec<String> = model.cards.iter().map(usize::to_string).collect();
    writeln!(to, "{}\n{}", cards.join(" "), model.factors.len())?;
    for (scope, _) in &model.factors {
        write!(to, "{}", scope.len())?;
        scope.iter().try_for_each(|v| write!(to, " {}", v.0))?;
        writeln!(to)?;
    }
    for (_, values) in &model.factors {
        write!(to, "\n{}\n", values.len())?;
        values.iter().try_for_each(|value| write!(to, " {value:?}"))?;
        writeln!(to)?;
    }
    Ok(to.flush()?)
}

/// Writes a model to a file atomically. The file is compressed by gzip if its name ends in `.gz`.
///
/// # Errors
/// [`Error::File`], which names the file.
pub fn write_file(model: &Model, path: impl AsRef<Path>) -> Result<(), Error> {
    files::write(path.as_ref(), |to| write(model, to))
}

/// Writes hard evidence to a file, as [`write_evidence`].
///
/// # Errors
/// [`Error::File`], which names the file, with the error of [`write_evidence`] inside.
pub fn write_evidence_file(evidence: &Evidence, path: impl AsRef<Path>) -> Result<(), Error> {
    files::write(path.as_ref(), |to| write_evidence(evidence, to))
}

/// Writes hard evidence. The format cannot express likelihoods.
///
/// # Errors
/// [`Error::Unwritable`] for a likelihood; [`Error::Io`].
pub fn write_evidence(evidence: &Evidence, mut to: impl Write) -> Result<(), Error> {
    write!(to, "{}", evidence.len())?;
    for (v, _) in evidence.iter() {
        let Some(state) = evidence.state(v) else {
            return Err(Error::Unwritable { format: "UAI", name: format!("likelihood of {v}") });
        };
        write!(to, " {} {state}", v.0)?;
    }
    writeln!(to)?;
    Ok(to.flush()?)
}

/// Writes `MAR`: the marginals of all variables, each with its number of states before it.
///
/// # Errors
/// [`Error::Io`].
pub fn write_marginals(marginals: &[Vec<f64>], mut to: impl Write) -> Result<(), Error> {
    write!(to, "MAR\n{}", marginals.len())?;
    for marginal in marginals {
        write!(to, " {}", marginal.len())?;
        marginal.iter().try_for_each(|p| write!(to, " {p:?}"))?;
    }
    writeln!(to)?;
    Ok(to.flush()?)
}

/// Writes `PR`: `log10 Z`, from `log_partition` in nats.
///
/// # Errors
/// [`Error::Io`].
pub fn write_log_partition(log_partition: f64, mut to: impl Write) -> Result<(), Error> {
    writeln!(to, "PR\n{:?}", log_partition / std::f64::consts::LN_10)?;
    Ok(to.flush()?)
}

/// Writes `MPE`: one state per variable.
///
/// # Errors
/// [`Error::Io`].
pub fn write_states(states: &[usize], mut to: impl Write) -> Result<(), Error> {
    write!(to, "MPE\n{}", states.len())?;
    states.iter().try_for_each(|state| write!(to, " {state}"))?;
    writeln!(to)?;
    Ok(to.flush()?)
}
