//! The reader: one byte of look-ahead, two at a slash.

use std::io::BufRead;

use crate::bayes_net::{Cpt, Names, Parts, ROW_TOLERANCE, Row, cells, renormalise};
use crate::text::{Place, Scanner, number, shown, shown_byte};
use crate::{BayesNet, Error, VarId};

/// How to read a BIF file.
///
/// | name | default | purpose |
/// |---|---|---|
/// | `table_bytes` | 2^30 | the most memory that one table may take |
/// | `tolerance` | 1e-3 | how far the sum of a row may be from 1 |
/// | `renormalise` | `false` | divide every row by its sum instead of keeping the numbers of the file |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BifOptions {
    /// The most memory that one table may take, in bytes.
    pub table_bytes: u64,
    /// How far the sum of a row may be from 1.
    pub tolerance: f64,
    /// Whether every row is divided by its sum.
    pub renormalise: bool,
}

impl Default for BifOptions {
    fn default() -> Self {
        BifOptions { table_bytes: 1 << 30, tolerance: ROW_TOLERANCE, renormalise: false }
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
/// [`Error::Format`] with line and byte column for everything that a place in the text can be given for;
/// [`Error::NoCpt`], [`Error::Cycle`] for what only the whole shows; [`Error::Io`].
pub fn read(from: impl BufRead) -> Result<BayesNet, Error> {
    read_with(from, &BifOptions::default())
}

/// Reads a network from BIF text, with limits and wishes.
///
/// # Errors
/// As [`read`]; [`Error::Invalid`] for a tolerance that is negative or not finite.
pub fn read_with(from: impl BufRead, options: &BifOptions) -> Result<BayesNet, Error> {
    fenchel_linalg::Invalid::check_nonnegative("tolerance", options.tolerance)?;
    let mut reader = Reader {
        scan: Scanner::new(from),
        options: *options,
        token: Vec::new(),
        place: None,
        name: String::new(),
        parts: Parts::default(),
    };
    reader.document()?;
    reader.parts.build(reader.name)
}

struct Reader<R> {
    scan: Scanner<R>,
    options: BifOptions,
    /// The last token, and where it began.
    token: Vec<u8>,
    place: Option<Place>,
    name: String,
    parts: Parts,
}

impl<R: BufRead> Reader<R> {
    fn document(&mut self) -> Result<(), Error> {
        loop {
            self.skip()?;
            if self.scan.peek()?.is_none() {
                return Ok(());
            }
            self.keyword()?;
            match self.token.as_slice() {
                b"network" => self.network()?,
                b"variable" => self.variable()?,
                b"probability" => self.probability()?,
                _ => return Err(self.unexpected("\"network\", \"variable\" or \"probability\"")),
            }
        }
    }

    fn network(&mut self) -> Result<(), Error> {
        self.text(b"{")?;
        self.name = self.string()?.to_owned();
        self.expect(b'{')?;
        while !self.closes()? {
            self.keyword()?;
            self.property()?;
        }
        Ok(())
    }

    fn variable(&mut self) -> Result<(), Error> {
        self.text(b"{")?;
        let place = self.here();
        let name = self.nonempty("the name of a variable")?.to_owned();
        self.expect(b'{')?;
        let mut states = None;
        while !self.closes()? {
            self.keyword()?;
            if self.token == b"type" && states.is_none() {
                states = Some(self.states(&name)?);
            } else {
                self.property()?;
            }
        }
        let states = states.ok_or_else(|| place.fault(format!("variable {name:?} has no type")))?;
        self.parts.variable(&name, states).map_err(|error| place.fault(error.to_string()))
    }

    /// `discrete [ k ] { a, b };`
    fn states(&mut self, variable: &str) -> Result<Names, Error> {
        self.keyword()?;
        if self.token != b"discrete" {
            return Err(self.unexpected("\"discrete\""));
        }
        self.expect(b'[')?;
        self.text(b"]")?;
        let announced = std::str::from_utf8(&self.token).ok().and_then(|k| k.parse::<usize>().ok());
        let announced = announced.ok_or_else(|| self.unexpected("a number of states"))?;
        self.expect(b']')?;
        self.expect(b'{')?;
        let mut states = Names::default();
        loop {
            self.text(b",}")?;
            let place = self.here();
            let state = self.nonempty("the name of a state")?;
            states
                .add(state, || format!("state of {variable:?}"))
                .map_err(|error| place.fault(error.to_string()))?;
            self.skip()?;
            match self.scan.peek()? {
                Some(b',') => self.scan.advance(),
                // Quoted states may stand side by side.
                Some(b'"') => {}
                _ => break,
            }
        }
        let place = self.scan.place();
        self.expect(b'}')?;
        if states.len() != announced {
            let reason = format!("{} states where {announced} were announced", states.len());
            return Err(place.fault(reason));
        }
        self.expect(b';')?;
        Ok(states)
    }

    fn probability(&mut self) -> Result<(), Error> {
        self.expect(b'(')?;
        let child = self.known(b"|)")?;
        let place = self.here();
        let mut parents = Vec::new();
        self.skip()?;
        if self.scan.peek()? == Some(b'|') {
            loop {
                self.scan.advance();
                parents.push(self.known(b",)")?);
                self.skip()?;
                if self.scan.peek()? != Some(b',') {
                    break;
                }
            }
        }
        self.expect(b')')?;
        self.parts
            .check_parents(child, &parents)
            .map_err(|error| place.fault(error.to_string()))?;
        let table = Rows::new(&self.parts, child, parents, &self.options, place)?;
        self.expect(b'{')?;
        self.rows(table, place)
    }

    /// The statements between the braces, and the table that they make.
    fn rows(&mut self, mut table: Rows, place: Place) -> Result<(), Error> {
        let mut default: Option<Vec<f64>> = None;
        let mut numbers = Vec::new();
        while !self.closes()? {
            if self.scan.peek()? == Some(b'(') {
                let place = self.scan.place();
                let row = self.configuration(&table.parents)?;
                self.numbers(table.states, &mut numbers)?;
                table.set(row, &numbers, &self.parts, &self.options, place)?;
                continue;
            }
            self.keyword()?;
            let place = self.here();
            match self.token.as_slice() {
                b"table" => {
                    self.numbers(table.values.len(), &mut numbers)?;
                    let rows = table.given.len();
                    let mut values = vec![0.0; table.states];
                    for row in 0..rows {
                        for (state, value) in values.iter_mut().enumerate() {
                            *value = numbers[state * rows + row];
                        }
                        table.set(row, &values, &self.parts, &self.options, place)?;
                    }
                }
                b"default" => {
                    self.numbers(table.states, &mut numbers)?;
                    if default.replace(numbers.clone()).is_some() {
                        return Err(place.fault("a second default"));
                    }
                }
                _ => self.property()?,
            }
        }
        let missing = table.given.iter().position(|given| !given);
        if let (Some(values), Some(_)) = (&default, missing) {
            for row in 0..table.given.len() {
                if !table.given[row] {
                    table.set(row, values, &self.parts, &self.options, place)?;
                }
            }
        } else if let Some(row) = missing {
            let given: Vec<String> =
                table.describe(row, &self.parts).iter().map(|(_, state)| (*state).into()).collect();
            let name = self.parts.names.get(table.child.index());
            let reason = format!("the table of {name:?} has no row ({})", given.join(", "));
            return Err(place.fault(reason));
        }
        let Rows { child, parents, mut values, states, .. } = table;
        if self.options.renormalise {
            renormalise(&mut values, states);
        }
        self.parts.cpts[child.index()] = Some(Cpt { parents, values });
        Ok(())
    }

    /// `(yes, no)`: the number of the row.
    fn configuration(&mut self, parents: &[VarId]) -> Result<usize, Error> {
        self.scan.advance();
        let mut row = 0;
        for (i, parent) in parents.iter().enumerate() {
            if i > 0 {
                self.expect(b',')?;
            }
            self.text(b",)")?;
            let place = self.here();
            let known = &self.parts.states[parent.index()];
            let state = std::str::from_utf8(&self.token).ok().and_then(|name| known.find(name));
            let Some(state) = state else {
                let what = format!("state of {:?}", self.parts.names.get(parent.index()));
                let error = known.unknown(what, &String::from_utf8_lossy(&self.token));
                return Err(place.fault(error.to_string()));
            };
            row = row * known.len() + state;
        }
        self.expect(b')')?;
        Ok(row)
    }

    /// Numbers up to the `;`, which is passed.
    fn numbers(&mut self, expected: usize, values: &mut Vec<f64>) -> Result<(), Error> {
        values.clear();
        loop {
            self.skip()?;
            match self.scan.peek()? {
                Some(b',') => self.scan.advance(),
                Some(b';') => break,
                None => return Err(self.ended("\";\"")),
                Some(_) => {
                    let place = self.scan.word(b",;/", &mut self.token)?;
                    if values.len() == expected {
                        let found = shown(&self.token);
                        let reason =
                            format!("expected \";\" after {expected} numbers, found {found}");
                        return Err(place.fault(reason));
                    }
                    values.push(number(&self.token, place)?);
                }
            }
        }
        if values.len() < expected {
            let reason = format!("{} numbers; expected {expected}", values.len());
            return Err(self.scan.place().fault(reason));
        }
        self.scan.advance();
        Ok(())
    }

    /// A variable that was declared.
    fn known(&mut self, stops: &[u8]) -> Result<VarId, Error> {
        self.text(stops)?;
        let place = self.here();
        let name = self.nonempty("the name of a variable")?.to_owned();
        self.parts.find(&name).map_err(|error| place.fault(error.to_string()))
    }

    /// Passes over the rest of a property; the keyword is the last token.
    fn property(&mut self) -> Result<(), Error> {
        if self.token != b"property" {
            return Err(self.unexpected("\"property\", a table or \"}\""));
        }
        loop {
            match self.scan.peek()? {
                None => return Err(self.ended("\";\" after a property")),
                Some(b';') => break,
                Some(b'"') => self.quoted()?,
                Some(_) => self.scan.advance(),
            }
        }
        self.scan.advance();
        Ok(())
    }

    /// White space and comments.
    fn skip(&mut self) -> Result<(), Error> {
        loop {
            self.scan.skip_blanks()?;
            if self.scan.peek()? != Some(b'/') || !self.comment()? {
                return Ok(());
            }
        }
    }

    /// Passes over a comment if one begins here.
    fn comment(&mut self) -> Result<bool, Error> {
        let place = self.scan.place();
        match self.scan.peek_second()? {
            Some(b'/') => {
                while self.scan.peek()?.is_some_and(|byte| byte != b'\n') {
                    self.scan.advance();
                }
            }
            Some(b'*') => {
                self.scan.advance();
                self.scan.advance();
                loop {
                    match self.scan.peek()? {
                        None => return Err(place.fault("a comment without an end")),
                        Some(b'*') if self.scan.peek_second()? == Some(b'/') => break,
                        Some(_) => self.scan.advance(),
                    }
                }
                self.scan.advance();
                self.scan.advance();
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A word of letters; empty if none is there.
    fn keyword(&mut self) -> Result<(), Error> {
        self.skip()?;
        self.token.clear();
        self.place = Some(self.scan.place());
        while let Some(byte) = self.scan.peek()?.filter(u8::is_ascii_alphabetic) {
            self.scan.take(byte, &mut self.token)?;
        }
        Ok(())
    }

    /// Everything up to one of `stops`, trimmed and without comments; or a quoted text.
    fn text(&mut self, stops: &[u8]) -> Result<(), Error> {
        self.skip()?;
        self.place = Some(self.scan.place());
        self.token.clear();
        if self.scan.peek()? == Some(b'"') {
            return self.quoted();
        }
        while let Some(byte) = self.scan.peek()? {
            if stops.contains(&byte) || matches!(byte, b';' | b'{' | b'}') {
                break;
            }
            if byte == b'/' && self.comment()? {
                continue;
            }
            self.scan.take(byte, &mut self.token)?;
        }
        self.token.truncate(self.token.trim_ascii_end().len());
        Ok(())
    }

    /// A text between quotes, which have no escape.
    fn quoted(&mut self) -> Result<(), Error> {
        let place = self.scan.place();
        self.scan.advance();
        self.token.clear();
        loop {
            match self.scan.peek()? {
                None => return Err(place.fault("a quoted text without an end")),
                Some(b'"') => break,
                Some(byte) => self.scan.take(byte, &mut self.token)?,
            }
        }
        self.scan.advance();
        Ok(())
    }

    /// Whether the block ends here; its brace, and a `;` after it, are passed.
    fn closes(&mut self) -> Result<bool, Error> {
        self.skip()?;
        match self.scan.peek()? {
            None => Err(self.ended("\"}\"")),
            Some(b'}') => {
                self.scan.advance();
                self.skip()?;
                if self.scan.peek()? == Some(b';') {
                    self.scan.advance();
                }
                Ok(true)
            }
            Some(_) => Ok(false),
        }
    }

    fn expect(&mut self, wanted: u8) -> Result<(), Error> {
        self.skip()?;
        let found = self.scan.peek()?;
        if found != Some(wanted) {
            let reason = format!("expected {}, found {}", shown(&[wanted]), shown_byte(found));
            return Err(self.scan.place().fault(reason));
        }
        self.scan.advance();
        Ok(())
    }

    fn here(&self) -> Place {
        self.place.unwrap_or_else(|| self.scan.place())
    }

    fn string(&self) -> Result<&str, Error> {
        std::str::from_utf8(&self.token)
            .map_err(|_| self.here().fault(format!("{} is not UTF-8", shown(&self.token))))
    }

    fn nonempty(&mut self, wanted: &str) -> Result<&str, Error> {
        if self.token.is_empty() {
            let found = shown_byte(self.scan.peek()?);
            return Err(self.here().fault(format!("expected {wanted}, found {found}")));
        }
        self.string()
    }

    fn unexpected(&mut self, wanted: &str) -> Error {
        let place = self.here();
        let found = match self.token.is_empty() {
            false => shown(&self.token),
            true => match self.scan.peek() {
                Ok(byte) => shown_byte(byte),
                Err(error) => return error,
            },
        };
        place.fault(format!("expected {wanted}, found {found}"))
    }

    fn ended(&self, wanted: &str) -> Error {
        self.scan.place().fault(format!("the text ends; expected {wanted}"))
    }
}

/// A table that is being filled.
struct Rows {
    child: VarId,
    parents: Vec<VarId>,
    states: usize,
    values: Vec<f64>,
    given: Vec<bool>,
}

impl Rows {
    /// All zeros, which the system hands out without touching the memory.
    fn new(
        parts: &Parts,
        child: VarId,
        parents: Vec<VarId>,
        options: &BifOptions,
        place: Place,
    ) -> Result<Rows, Error> {
        let states = parts.states[child.index()].len();
        let rows = cells(parents.iter().map(|p| parts.states[p.index()].len()));
        let size = rows.and_then(|rows| rows.checked_mul(states));
        let bytes = size.map_or(u64::MAX, |size| (size as u64).saturating_mul(8));
        let (Some(rows), true) = (rows, bytes <= options.table_bytes) else {
            let error = Error::MemoryLimit {
                what: "a conditional probability table",
                needed: bytes,
                limit: options.table_bytes,
                hint: "raise `table_bytes` if the table is meant to be that large",
            };
            return Err(place.fault(error.to_string()));
        };
        let values = vec![0.0; rows * states];
        Ok(Rows { child, parents, states, values, given: vec![false; rows] })
    }

    fn set(
        &mut self,
        row: usize,
        values: &[f64],
        parts: &Parts,
        options: &BifOptions,
        place: Place,
    ) -> Result<(), Error> {
        if std::mem::replace(&mut self.given[row], true) {
            return Err(place.fault("a row that was given before"));
        }
        let name = parts.names.get(self.child.index());
        let states = parts.states[self.child.index()].list();
        Row { variable: name, states, given: &|| self.describe(row, parts) }
            .check(values, options.tolerance)
            .map_err(|error| place.fault(error.to_string()))?;
        self.values[row * self.states..][..self.states].copy_from_slice(values);
        Ok(())
    }

    /// The parents and their states in a row.
    fn describe<'a>(&self, row: usize, parts: &'a Parts) -> Vec<(&'a str, &'a str)> {
        let mut rest = row;
        let mut pairs = Vec::new();
        for parent in self.parents.iter().rev() {
            let known = &parts.states[parent.index()];
            pairs.push((parts.names.get(parent.index()), known.get(rest % known.len())));
            rest /= known.len();
        }
        pairs.reverse();
        pairs
    }
}
