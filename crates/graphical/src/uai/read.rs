//! The UAI readers. They allocate memory for what a file contains, not for sizes that it announces.

use std::io::BufRead;
use std::path::Path;

use fenchel_optim::{MAX_MEMORY, Refusal};

use super::{Kind, Model};
use crate::table::table_bytes;
use crate::text::{Position, Scanner, number, quoted};
use crate::{Error, Evidence, VarId, files};

/// Reads a model.
///
/// ```
/// use fenchel_graphical::uai;
///
/// let model = uai::read("MARKOV 2  2 2  1  2 1 0  4  1 2 3 4".as_bytes())?;
/// assert_eq!(model.factor_graph()?.log_score(&[1, 0])?, 2.0_f64.ln());
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
///
/// # Errors
/// [`Error::Format`] with line and byte column for a token that does not fit, a size that disagrees with the scope or exceeds
/// [`MAX_MEMORY`], a potential that is negative or not finite, and a text that is too short or too long; [`Error::Io`].
pub fn read(from: impl BufRead) -> Result<Model, Error> {
    let mut tokens = Tokens::new(from);
    let position = tokens.next("MARKOV or BAYES")?;
    let kind = match tokens.token.as_slice() {
        b"MARKOV" => Kind::Markov,
        b"BAYES" => Kind::Bayes,
        other => {
            return Err(
                position.fault(format!("expected MARKOV or BAYES, found {}", quoted(other)))
            );
        }
    };
    let (variables, _) = tokens.integer("the number of variables", 0, u32::MAX as usize)?;
    let mut cards = Vec::new();
    for _ in 0..variables {
        cards.push(tokens.integer("a number of states", 1, u32::MAX as usize)?.0);
    }
    let (count, _) = tokens.integer("the number of factors", 0, u32::MAX as usize)?;
    let mut scopes = Vec::new();
    // The last scope that had the variable.
    let mut last = vec![0; variables];
    for at in 1..=count {
        let (size, _) = tokens.integer("the size of a scope", 0, variables)?;
        let mut scope = Vec::new();
        for _ in 0..size {
            let (v, position) = tokens.variable(variables)?;
            if std::mem::replace(&mut last[v.index()], at) == at {
                return Err(position.fault(format!("{v} occurs twice in a scope")));
            }
            scope.push(v);
        }
        scopes.push(scope);
    }
    let mut factors = Vec::new();
    for scope in scopes {
        let (size, position) = tokens.integer("the size of a table", 1, usize::MAX)?;
        let cells = scope.iter().try_fold(1usize, |n, v: &VarId| n.checked_mul(cards[v.index()]));
        if cells != Some(size) {
            let expected = cells.map_or("more than can be counted".into(), |n| n.to_string());
            return Err(
                position.fault(format!("a table of size {size}; its scope has {expected} cells"))
            );
        }
        Refusal::check_memory("a table", table_bytes(Some(size)), MAX_MEMORY, "use smaller scopes")
            .map_err(|refusal| position.fault(refusal.to_string()))?;
        let mut values = Vec::new();
        for _ in 0..size {
            let position = tokens.next("a potential")?;
            let value = number(&tokens.token, position)?;
            if value < 0.0 {
                return Err(position.fault(format!("{value}; expected a potential >= 0")));
            }
            values.push(value);
        }
        factors.push((scope, values));
    }
    tokens.end()?;
    Ok(Model { kind, cards, factors })
}

/// Reads hard evidence about a model with these numbers of states.
///
/// It reads both dialects: `n v_1 x_1 ...`, and the same after a number of samples, which must be 1, or 0 for no evidence.
///
/// # Errors
/// As [`read`], and the same error for a variable or a state that the model does not have.
pub fn read_evidence(from: impl BufRead, cards: &[usize]) -> Result<Evidence, Error> {
    let mut tokens = Tokens::new(from);
    let mut numbers = Vec::new();
    while !tokens.at_end()? {
        numbers.push(tokens.integer("a number", 0, usize::MAX)?);
    }
    // The lengths of the two dialects differ in parity.
    let body = match numbers.as_slice() {
        [] | [(0, _)] => return Ok(Evidence::new()),
        [(1, _), rest @ ..] if rest.len() % 2 == 1 => rest,
        all => all,
    };
    let (count, position) = body[0];
    if body.len() - 1 != count.saturating_mul(2) {
        let found = body.len() - 1;
        let reason =
            format!("{found} numbers follow; expected {count} pairs of variable and state");
        return Err(position.fault(reason));
    }
    let mut evidence = Evidence::new();
    for pair in body[1..].chunks_exact(2) {
        let ((v, v_position), (state, position)) = (pair[0], pair[1]);
        let Some(&card) = cards.get(v) else {
            return Err(
                v_position.fault(format!("variable {v} of {}, counted from 0", cards.len()))
            );
        };
        let id = VarId(v as u32);
        if state >= card {
            return Err(position.fault(format!("state {state} of {id}, which has {card}")));
        }
        if evidence.get(id).is_some() {
            return Err(v_position.fault(format!("{id} is observed twice")));
        }
        evidence = evidence.observe(id, state);
    }
    Ok(evidence)
}

/// Reads a model from a file, packed by gzip or not.
///
/// # Errors
/// [`Error::File`], which names the file, with the error of [`read`] inside.
pub fn read_file(path: impl AsRef<Path>) -> Result<Model, Error> {
    files::read(path.as_ref(), read)
}

/// Reads hard evidence from a file, packed by gzip or not.
///
/// # Errors
/// [`Error::File`], which names the file, with the error of [`read_evidence`] inside.
pub fn read_evidence_file(path: impl AsRef<Path>, cards: &[usize]) -> Result<Evidence, Error> {
    files::read(path.as_ref(), |text| read_evidence(text, cards))
}

struct Tokens<R> {
    scan: Scanner<R>,
    token: Vec<u8>,
}

impl<R: BufRead> Tokens<R> {
    fn new(from: R) -> Tokens<R> {
        Tokens { scan: Scanner::new(from), token: Vec::new() }
    }

    fn at_end(&mut self) -> Result<bool, Error> {
        self.scan.skip_blanks()?;
        Ok(self.scan.peek()?.is_none())
    }

    fn next(&mut self, wanted: &str) -> Result<Position, Error> {
        if self.at_end()? {
            return Err(self.scan.position().fault(format!("the text ends; expected {wanted}")));
        }
        self.scan.word(b"", &mut self.token)
    }

    fn integer(
        &mut self,
        what: &str,
        least: usize,
        most: usize,
    ) -> Result<(usize, Position), Error> {
        let position = self.next(what)?;
        let value = std::str::from_utf8(&self.token).ok().and_then(|t| t.parse::<usize>().ok());
        match value.filter(|value| (least..=most).contains(value)) {
            Some(value) => Ok((value, position)),
            None => {
                let found = quoted(&self.token);
                let range = format!("an integer from {least} to {most}");
                Err(position.fault(format!("expected {what}, {range}, found {found}")))
            }
        }
    }

    fn variable(&mut self, variables: usize) -> Result<(VarId, Position), Error> {
        // A scope is not longer than the list of variables, so there is at least one.
        let (v, position) = self.integer("a variable", 0, variables.saturating_sub(1))?;
        Ok((VarId(v as u32), position))
    }

    fn end(&mut self) -> Result<(), Error> {
        if self.at_end()? {
            return Ok(());
        }
        let position = self.next("nothing")?;
        Err(position.fault(format!("expected the end of the text, found {}", quoted(&self.token))))
    }
}
