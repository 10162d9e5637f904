//! Queries as text: `P(a, b | c=yes, do(d=no))`.

use fenchel_cli::Failure;

/// A variable, perhaps with a state, as it stands in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) variable: String,
    pub(super) state: Option<String>,
}

/// A query: what is asked for, what is seen, what is set from outside.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) outcomes: Vec<Named>,
    pub(super) seen: Vec<(String, String)>,
    pub(super) set: Vec<(String, String)>,
}

/// Splits `name=state`. A name may contain `=` itself: the first part that is known as a name is taken.
fn named(text: &str, known: &dyn Fn(&str) -> bool) -> Named {
    let text = text.trim();
    let splits = || {
        text.match_indices('=').map(|(at, _)| (text[..at].trim_end(), text[at + 1..].trim_start()))
    };
    let whole = (!known(text)).then(|| splits().find(|(name, _)| known(name)).or(splits().next()));
    match whole.flatten() {
        Some((name, state)) => Named { variable: name.into(), state: Some(state.into()) },
        None => Named { variable: text.into(), state: None },
    }
}

/// Reads `NAME=STATE` of an option.
pub(super) fn finding(
    option: &str,
    text: &str,
    known: &dyn Fn(&str) -> bool,
) -> Result<(String, String), Failure> {
    match named(text, known) {
        Named { variable, state: Some(state) } if !variable.is_empty() && !state.is_empty() => {
            Ok((variable, state))
        }
        _ => Err(Failure::Usage(format!("{option} {text:?}: expected NAME=STATE"))),
    }
}

impl Asked {
    /// Reads a query. `known` tells the names of variables.
    pub(super) fn read(text: &str, known: &dyn Fn(&str) -> bool) -> Result<Asked, Failure> {
        let place = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
        let fail = |at: usize, reason: &str| {
            Failure::Usage(format!(
                "at byte {at} of {text:?}: {reason}; expected `P(a, b | c=yes, do(d=no))`"
            ))
        };
        let body = text.trim();
        let open = body.strip_prefix('P').map(str::trim_start).and_then(|s| s.strip_prefix('('));
        let open = open.ok_or_else(|| fail(0, "no `P(` at the beginning"))?;
        let inner = open.strip_suffix(')').ok_or_else(|| fail(text.len(), "no `)` at the end"))?;
        let (outcomes, mut rest) = match inner.split_once('|') {
            Some((outcomes, conditions)) => (outcomes, Some(conditions)),
            None => (inner, None),
        };
        let mut asked = Asked::default();
        for part in outcomes.split(',') {
            let found = named(part, known);
            if found.variable.is_empty() || found.state.as_deref() == Some("") {
                return Err(fail(place(part), "a name or a state is missing"));
            }
            asked.outcomes.push(found);
        }
        let pairs = |list: &str, to: &mut Vec<(String, String)>| {
            for part in list.split(',') {
                match named(part, known) {
                    Named { variable, state: Some(state) }
                        if !variable.is_empty() && !state.is_empty() =>
                    {
                        to.push((variable, state));
                    }
                    _ => return Err(fail(place(part), "a condition without a name or a state")),
                }
            }
            Ok(())
        };
        while let Some(part) = rest {
            let part = part.trim_start();
            let after = if let Some(inside) = part.strip_prefix("do(") {
                let (list, after) =
                    inside.split_once(')').ok_or_else(|| fail(place(part), "`do(` without `)`"))?;
                pairs(list, &mut asked.set)?;
                after.trim_start()
            } else {
                let end = part.find(',').unwrap_or(part.len());
                pairs(&part[..end], &mut asked.seen)?;
                &part[end..]
            };
            rest = after.strip_prefix(',');
            if rest.is_none() && !after.is_empty() {
                return Err(fail(place(after), "no comma after `do(..)`"));
            }
        }
        Ok(asked)
    }
}
