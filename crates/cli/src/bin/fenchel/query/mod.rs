//! `fenchel query`

mod net;
mod text;

use fenchel_cli::Failure;
use fenchel_cli::files::{file_name, open_text};
use fenchel_graphical::{Error, Evidence, Table, VarId, uai};
use fenchel_linalg::text::number;
use serde_json::{Map, Value, json};

use crate::aligned::{aligned, write_json, write_text};
use net::{Best, Net};
use text::{Asked, Named, finding};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    fenchel query asia.bif \"P(dysp | smoke=yes)\"              a table\n  \
    fenchel query asia.bif \"P(dysp=yes | smoke=yes)\"          a number\n  \
    fenchel query asia.bif \"P(lung, bronc | do(smoke=no))\"    an intervention\n  \
    fenchel query asia.bif -e xray=yes                        every variable\n  \
    fenchel query asia.bif -e xray=yes --map                  the most probable states\n\n\
    A UAI file has no names: its variables are x0, x1, ..., and their states 0, 1, ...")]
pub(crate) struct Arguments {
    /// The network, in BIF or UAI; - is standard input
    file: String,
    /// What is asked: P(a, b | c=yes, do(d=no)); without it every variable by itself
    query: Option<String>,
    /// Something that is seen, as in the query after the bar; may be given several times
    #[arg(short, long, value_name = "NAME=STATE")]
    evidence: Vec<String>,
    /// A file of evidence in the format of UAI: the number of pairs, then variable and state of each
    #[arg(long, value_name = "FILE")]
    evidence_file: Option<String>,
    /// The most probable joint states of the variables that are asked for, the others summed out
    #[arg(long)]
    map: bool,
    /// Write one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    fenchel_cli::use_threads(None)?;
    if arguments.file == "-" && arguments.evidence_file.as_deref() == Some("-") {
        let reason = "--evidence-file -: the network is read from standard input too";
        return Err(Failure::Usage(reason.to_owned()));
    }
    let net = Net::read(&arguments.file)?;
    let known = |name: &str| net.variable(name).is_ok();
    let mut asked = match &arguments.query {
        Some(query) => Asked::read(query, &known)?,
        None => Asked::default(),
    };
    for given in &arguments.evidence {
        asked.seen.push(finding("--evidence", given, &known)?);
    }
    let net = net.intervene(&asked.set)?;
    let evidence = evidence(arguments, &net, &asked)?;
    let question =
        Question { condition: condition(&net, &asked.set, &evidence), net, evidence, asked };
    if arguments.map {
        question.most_probable(arguments.json)
    } else if question.asked.outcomes.is_empty() {
        question.all(arguments.json)
    } else {
        question.posterior(arguments.json)
    }
}

/// All that is seen: in the query, in options and in a file.
fn evidence(arguments: &Arguments, net: &Net, asked: &Asked) -> Result<Evidence, Failure> {
    let mut evidence = match &arguments.evidence_file {
        None => Evidence::new(),
        Some(file) => uai::read_evidence(open_text(file)?, net.cards())
            .map_err(|error| Failure::network(&file_name(file), error))?,
    };
    for (name, state) in &asked.seen {
        let variable = net.variable(name)?;
        if evidence.get(variable).is_some() {
            let what = "the state of variable".to_owned();
            return Err(Error::Duplicate { what, name: name.clone() }.into());
        }
        evidence = evidence.observe(variable, net.state(variable, state)?);
    }
    Ok(evidence)
}

/// What stands behind the bar: ` | do(a = x), b = y`, or nothing.
fn condition(net: &Net, set: &[(String, String)], evidence: &Evidence) -> String {
    let mut parts = Vec::new();
    if !set.is_empty() {
        let set: Vec<String> =
            set.iter().map(|(name, state)| format!("{name} = {state}")).collect();
        parts.push(format!("do({})", set.join(", ")));
    }
    parts.extend(
        evidence.states().map(|(v, s)| format!("{} = {}", net.name(v), net.state_name(v, s))),
    );
    if parts.is_empty() { String::new() } else { format!(" | {}", parts.join(", ")) }
}

/// A network, what is known, and what is asked.
struct Question {
    net: Net,
    evidence: Evidence,
    asked: Asked,
    condition: String,
}

impl Question {
    /// The beginning of each answer in JSON.
    fn json(&self) -> Map<String, Value> {
        let seen = self.evidence.states();
        let seen: Map<String, Value> =
            seen.map(|(v, s)| (self.net.name(v), self.net.state_name(v, s).into())).collect();
        let set: Map<String, Value> =
            self.asked.set.iter().map(|(name, s)| (name.clone(), s.as_str().into())).collect();
        Map::from_iter([("given".to_owned(), seen.into()), ("do".to_owned(), set.into())])
    }

    /// The variables that are asked for.
    fn variables(&self) -> Result<Vec<VarId>, Failure> {
        let mut found: Vec<VarId> = Vec::new();
        for Named { variable, .. } in &self.asked.outcomes {
            let id = self.net.variable(variable)?;
            if found.contains(&id) {
                let what = "the variable".to_owned();
                return Err(Error::Duplicate { what, name: variable.clone() }.into());
            }
            found.push(id);
        }
        Ok(found)
    }

    /// A table, or a number if every variable has a state.
    fn posterior(&self, json: bool) -> Result<(), Failure> {
        let variables = self.variables()?;
        let names: Vec<String> = variables.iter().map(|&v| self.net.name(v)).collect();
        let states = self.asked.outcomes.iter().zip(&variables);
        let states: Vec<Option<usize>> = states
            .map(|(named, &v)| named.state.as_ref().map(|s| self.net.state(v, s)).transpose())
            .collect::<Result<_, _>>()?;
        let fixed: Option<Vec<usize>> = states.iter().copied().collect();
        if fixed.is_none() && states.iter().any(Option::is_some) {
            let reason = "the query gives a state to some of its variables; expected one for each, or for none";
            return Err(Failure::Usage(reason.to_owned()));
        }
        let table = self.net.posterior(&variables, &self.evidence)?;
        let mut answer = self.json();
        if let Some(states) = fixed {
            let probability = at(&table, &variables, &states)?;
            if json {
                answer.insert("probability".into(), probability.into());
                return write_json(&answer.into());
            }
            let event: Vec<String> = (names.iter().zip(&variables).zip(&states))
                .map(|((name, &v), &s)| format!("{name} = {}", self.net.state_name(v, s)))
                .collect();
            let line = format!("P({}{}) = {probability:.6}\n", event.join(", "), self.condition);
            return write_text(&line);
        }
        let cards: Vec<usize> = variables.iter().map(|v| self.net.cards()[v.index()]).collect();
        let mut head = names.clone();
        head.push(format!("P({}{})", names.join(", "), self.condition));
        let (mut rows, mut cells) = (vec![head], Vec::new());
        for cell in 0..table.len() {
            let states = states_of(cell, &cards);
            let probability = at(&table, &variables, &states)?;
            let words: Vec<String> =
                variables.iter().zip(&states).map(|(&v, &s)| self.net.state_name(v, s)).collect();
            cells.push(json!({ "states": words, "probability": probability }));
            rows.push(words.into_iter().chain([format!("{probability:.6}")]).collect());
        }
        if json {
            answer.insert("variables".into(), names.into());
            answer.insert("table".into(), cells.into());
            return write_json(&answer.into());
        }
        write_text(&aligned(&rows, variables.len()))
    }

    /// Every variable by itself.
    fn all(&self, json: bool) -> Result<(), Failure> {
        let posteriors = self.net.posteriors(&self.evidence)?;
        let mut rows = vec![vec![
            "variable".to_owned(),
            "state".to_owned(),
            format!("P(state{})", self.condition),
        ]];
        let mut all = Map::new();
        for (v, posterior) in self.net.variables().into_iter().zip(posteriors) {
            let name = self.net.name(v);
            let mut of = Map::new();
            for (s, p) in posterior.into_iter().enumerate() {
                let state = self.net.state_name(v, s);
                rows.push(vec![name.clone(), state.clone(), format!("{p:.6}")]);
                of.insert(state, p.into());
            }
            all.insert(name, of.into());
        }
        if json {
            let mut answer = self.json();
            answer.insert("posteriors".into(), all.into());
            return write_json(&answer.into());
        }
        write_text(&aligned(&rows, 2))
    }

    fn most_probable(&self, json: bool) -> Result<(), Failure> {
        if let Some(Named { variable, .. }) = self.asked.outcomes.iter().find(|o| o.state.is_some())
        {
            let reason =
                format!("--map finds the state of {variable:?}; the query gives one already");
            return Err(Failure::Usage(reason));
        }
        let Best { states, log_probability } =
            self.net.most_probable(&self.variables()?, &self.evidence)?;
        let states = states.into_iter();
        let named: Vec<(String, String)> =
            states.map(|(v, s)| (self.net.name(v), self.net.state_name(v, s))).collect();
        if json {
            let mut answer = self.json();
            let states: Map<String, Value> =
                named.into_iter().map(|(name, state)| (name, state.into())).collect();
            answer.insert("most_probable".into(), states.into());
            answer.insert("log_probability".into(), log_probability.into());
            return write_json(&answer.into());
        }
        let mut rows = vec![vec!["variable".to_owned(), "state".to_owned()]];
        rows.extend(named.into_iter().map(|(name, state)| vec![name, state]));
        let all = format!("P(these states{})", self.condition);
        write_text(&format!("{}{all} = {}\n", aligned(&rows, 2), number(log_probability.exp(), 6)))
    }
}

/// The states of a cell; the last variable runs fastest.
fn states_of(cell: usize, cards: &[usize]) -> Vec<usize> {
    let mut states = vec![0; cards.len()];
    let mut rest = cell;
    for (state, card) in states.iter_mut().zip(cards).rev() {
        *state = rest % card;
        rest /= card;
    }
    states
}

/// The number at states in the order of the query; the table is sorted.
fn at(table: &Table, variables: &[VarId], states: &[usize]) -> Result<f64, Error> {
    let of = |v: &VarId| variables.iter().position(|w| w == v).map_or(0, |at| states[at]);
    let sorted: Vec<usize> = table.scope().iter().map(of).collect();
    Ok(table.log_value(&sorted)?.exp())
}
