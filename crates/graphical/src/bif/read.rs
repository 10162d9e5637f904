//! The BIF reader, with one function per rule of the grammar.

use std::io::BufRead;
use std::path::Path;

use fenchel_optim::{MAX_MEMORY, settings};

use crate::bayes_net::{Cpt, Names, Parts, ROW_TOLERANCE, renormalise};
use crate::text::Position;
use crate::{BayesNet, Error, VarId, files};

use super::rows::Rows;
use super::tokens::Tokens;

settings! {
    /// Options for reading a BIF file.
    #[derive(Copy)]
    pub struct BifOptions {
        /// Bytes that all tables together may take; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Largest allowed difference of the sum of a row from 1.
        tolerance: f64 = ROW_TOLERANCE,
        /// Whether every row is divided by its sum, instead of keeping the numbers of the file.
        renormalise: bool = false,
    }
}

/// Reads a network from BIF text.
///
/// ```
/// use fenchel_graphical::bif;
///
/// let text = "network n {} variable a { type discrete [ 2 ] { <5, 5+ }; }
///             probability ( a ) { table 0.25, 0.75; }";
/// let net = bif::read(text.as_bytes())?;
/// assert_eq!(net.cpt_of(net.variable("a")?), [0.25, 0.75]);
///
/// let error = bif::read("variable a { type discrete [ 2 ] { yes }; }".as_bytes()).unwrap_err();
/// assert_eq!(error.to_string(), "line 1, column 40: 1 states where 2 were announced");
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
///
/// # Errors
/// [`Error::Format`] with line and byte column for an error at a position in the text, and for an empty text. [`Error::NoCpt`]
/// and [`Error::Cycle`] for errors of the whole network. [`Error::Io`].
pub fn read(from: impl BufRead) -> Result<BayesNet, Error> {
    read_with(from, &BifOptions::default())
}

/// Reads a network from a file.
///
/// A file compressed by gzip is decompressed, whatever its name. A byte order mark at its beginning is ignored.
///
/// # Errors
/// [`Error::File`], which names the file, with the error of [`read`] inside.
pub fn read_file(path: impl AsRef<Path>) -> Result<BayesNet, Error> {
    read_file_with(path, &BifOptions::default())
}

/// Reads a network from a file, with options.
///
/// # Errors
/// [`Error::File`], which names the file, with the error of [`read_with`] inside.
pub fn read_file_with(path: impl AsRef<Path>, options: &BifOptions) -> Result<BayesNet, Error> {
    files::read(path.as_ref(), |text| read_with(text, options))
}

/// Reads a network from BIF text, with options.
///
/// # Errors
/// As [`read`]; [`Error::Invalid`] for a tolerance that is negative or not finite.
pub fn read_with(from: impl BufRead, options: &BifOptions) -> Result<BayesNet, Error> {
    fenchel_linalg::Invalid::check_nonnegative("tolerance", options.tolerance)?;
    let mut reader = Reader {
        tokens: Tokens::new(from),
        options: *options,
        name: String::new(),
        parts: Parts::default(),
        bytes: 0,
    };
    reader.document()?;
    reader.parts.build(reader.name)
}

struct Reader<R> {
    tokens: Tokens<R>,
    options: BifOptions,
    name: String,
    parts: Parts,
    /// Bytes of the tables so far.
    bytes: u64,
}

impl<R: BufRead> Reader<R> {
    fn document(&mut self) -> Result<(), Error> {
        let mut empty = true;
        loop {
            self.tokens.skip()?;
            if self.tokens.scan.peek()?.is_none() {
                return match empty {
                    true => Err(self
                        .tokens
                        .scan
                        .position()
                        .fault("the text is empty; expected a network")),
                    false => Ok(()),
                };
            }
            empty = false;
            self.tokens.keyword()?;
            match self.tokens.token.as_slice() {
                b"network" => self.network()?,
                b"variable" => self.variable()?,
                b"probability" => self.probability()?,
                _ => {
                    return Err(self
                        .tokens
                        .unexpected("\"network\", \"variable\" or \"probability\""));
                }
            }
        }
    }

    fn network(&mut self) -> Result<(), Error> {
        self.tokens.text(b"{")?;
        self.name = self.tokens.string()?.to_owned();
        self.tokens.expect(b'{')?;
        while !self.tokens.closes()? {
            self.tokens.keyword()?;
            self.tokens.property()?;
        }
        Ok(())
    }

    fn variable(&mut self) -> Result<(), Error> {
        self.tokens.text(b"{")?;
        let position = self.tokens.here();
        let name = self.tokens.nonempty("the name of a variable")?.to_owned();
        self.tokens.expect(b'{')?;
        let mut states = None;
        while !self.tokens.closes()? {
            self.tokens.keyword()?;
            if self.tokens.token == b"type" && states.is_none() {
                states = Some(self.states(&name)?);
            } else {
                self.tokens.property()?;
            }
        }
        let states =
            states.ok_or_else(|| position.fault(format!("variable {name:?} has no type")))?;
        self.parts.variable(&name, states).map_err(|error| position.fault(error.to_string()))
    }

    /// `discrete [ k ] { a, b };`
    fn states(&mut self, variable: &str) -> Result<Names, Error> {
        self.tokens.keyword()?;
        if self.tokens.token != b"discrete" {
            return Err(self.tokens.unexpected("\"discrete\""));
        }
        self.tokens.expect(b'[')?;
        self.tokens.text(b"]")?;
        let announced =
            std::str::from_utf8(&self.tokens.token).ok().and_then(|k| k.parse::<usize>().ok());
        let announced = announced.ok_or_else(|| self.tokens.unexpected("a number of states"))?;
        self.tokens.expect(b']')?;
        self.tokens.expect(b'{')?;
        let mut states = Names::default();
        loop {
            self.tokens.text(b",}")?;
            let position = self.tokens.here();
            let state = self.tokens.nonempty("the name of a state")?;
            states
                .add(state, || format!("state of {variable:?}"))
                .map_err(|error| position.fault(error.to_string()))?;
            self.tokens.skip()?;
            match self.tokens.scan.peek()? {
                Some(b',') => self.tokens.scan.advance(),
                // Quoted states may stand side by side.
                Some(b'"') => {}
                _ => break,
            }
        }
        let position = self.tokens.scan.position();
        self.tokens.expect(b'}')?;
        if states.len() != announced {
            let reason = format!("{} states where {announced} were announced", states.len());
            return Err(position.fault(reason));
        }
        self.tokens.expect(b';')?;
        Ok(states)
    }

    fn probability(&mut self) -> Result<(), Error> {
        self.tokens.expect(b'(')?;
        let child = self.known(b"|)")?;
        let position = self.tokens.here();
        let mut parents = Vec::new();
        self.tokens.skip()?;
        if self.tokens.scan.peek()? == Some(b'|') {
            loop {
                self.tokens.scan.advance();
                parents.push(self.known(b",)")?);
                self.tokens.skip()?;
                if self.tokens.scan.peek()? != Some(b',') {
                    break;
                }
            }
        } else {
            // JavaBayes writes parents in quotes behind the child, without a bar.
            while self.tokens.scan.peek()? == Some(b'"') {
                parents.push(self.known(b",)")?);
                self.tokens.skip()?;
            }
        }
        self.tokens.expect(b')')?;
        self.parts
            .check_parents(child, &parents)
            .map_err(|error| position.fault(error.to_string()))?;
        let table =
            Rows::new(&self.parts, child, parents, &mut self.bytes, &self.options, position)?;
        self.tokens.expect(b'{')?;
        self.rows(table, position)
    }

    /// Reads the statements between the braces to a table.
    fn rows(&mut self, mut table: Rows, position: Position) -> Result<(), Error> {
        let mut default: Option<Vec<f64>> = None;
        let mut numbers = Vec::new();
        while !self.tokens.closes()? {
            if self.tokens.scan.peek()? == Some(b'(') {
                let position = self.tokens.scan.position();
                let row = self.configuration(&table.parents)?;
                self.tokens.numbers(table.states, &mut numbers)?;
                table.set(row, &numbers, &self.parts, &self.options, position)?;
                continue;
            }
            self.tokens.keyword()?;
            let position = self.tokens.here();
            match self.tokens.token.as_slice() {
                b"table" => {
                    self.tokens.numbers(table.values.len(), &mut numbers)?;
                    let rows = table.given.len();
                    let mut values = vec![0.0; table.states];
                    for row in 0..rows {
                        for (state, value) in values.iter_mut().enumerate() {
                            *value = numbers[state * rows + row];
                        }
                        table.set(row, &values, &self.parts, &self.options, position)?;
                    }
                }
                b"default" => {
                    self.tokens.numbers(table.states, &mut numbers)?;
                    if default.replace(numbers.clone()).is_some() {
                        return Err(position.fault("a second default"));
                    }
                }
                _ => self.tokens.property()?,
            }
        }
        let missing = table.given.iter().position(|given| !given);
        if let (Some(values), Some(_)) = (&default, missing) {
            for row in 0..table.given.len() {
                if !table.given[row] {
                    table.set(row, values, &self.parts, &self.options, position)?;
                }
            }
        } else if let Some(row) = missing {
            let given: Vec<String> =
                table.describe(row, &self.parts).iter().map(|(_, state)| (*state).into()).collect();
            let name = self.parts.names.get(table.child.index());
            let reason = format!("the table of {name:?} has no row ({})", given.join(", "));
            return Err(position.fault(reason));
        }
        let Rows { child, parents, mut values, states, .. } = table;
        if self.options.renormalise {
            renormalise(&mut values, states);
        }
        self.parts.cpts[child.index()] = Some(Cpt::new(parents, values, states));
        Ok(())
    }

    /// Reads `(yes, no)` and returns the number of the row.
    fn configuration(&mut self, parents: &[VarId]) -> Result<usize, Error> {
        self.tokens.scan.advance();
        let mut row = 0;
        for (i, parent) in parents.iter().enumerate() {
            if i > 0 {
                self.tokens.expect(b',')?;
            }
            self.tokens.text(b",)")?;
            let position = self.tokens.here();
            let known = &self.parts.states[parent.index()];
            let state =
                std::str::from_utf8(&self.tokens.token).ok().and_then(|name| known.find(name));
            let Some(state) = state else {
                let what = format!("state of {:?}", self.parts.names.get(parent.index()));
                let error = known.unknown(what, &String::from_utf8_lossy(&self.tokens.token));
                return Err(position.fault(error.to_string()));
            };
            row = row * known.len() + state;
        }
        self.tokens.expect(b')')?;
        Ok(row)
    }

    /// Reads the name of a declared variable.
    fn known(&mut self, stops: &[u8]) -> Result<VarId, Error> {
        self.tokens.text(stops)?;
        let position = self.tokens.here();
        let name = self.tokens.nonempty("the name of a variable")?.to_owned();
        self.parts.find(&name).map_err(|error| position.fault(error.to_string()))
    }
}
