//! Graphs written as text.

use super::GraphError;
use super::error::near;
use super::{Admg, unreadable};
use crate::node_set::NodeSet;

impl Admg {
    /// Reads a graph: chains of names joined by `->`, `<-` and `<->`, separated by `;`, commas or line ends.
    /// A name alone is a node without edges. Nodes are numbered in the order of their appearance.
    ///
    /// A name is everything between blanks, separators and arrows. A byte order mark before the text is skipped. What looks like
    /// another kind of arrow is refused: a name that ends in `-` or holds `--`, `<`, `>`, `→`, `←` or `↔`. So is a name with a NUL
    /// or another invisible character: a byte order mark, a zero-width space, a word joiner, a soft hyphen. So is a name with `(`, `)` or
    /// `|`, which a [query](Admg::query) could not tell from its own.
    ///
    /// ```
    /// # use fenchel_causal::Admg;
    /// let napkin = Admg::parse("W -> R -> X -> Y; W <-> X; W <-> Y")?;
    /// assert_eq!(napkin.len(), 4);
    /// assert_eq!(napkin.bidirected().count(), 2);
    /// # Ok::<(), fenchel_causal::admg::GraphError>(())
    /// ```
    ///
    /// # Errors
    /// [`GraphError::Format`] with the position, and the errors of [`Admg::new`].
    pub fn parse(text: &str) -> Result<Admg, GraphError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut names: Vec<String> = Vec::new();
        let (mut directed, mut bidirected) = (Vec::new(), Vec::new());
        let mut last: Option<u32> = None;
        let mut arrow: Option<(&str, usize)> = None;
        let fail = |at: usize, reason: &str| {
            Err(GraphError::Format { text: near(text, at), at, reason: reason.into() })
        };
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let rest = &text[at..];
            if matches!(c, ';' | ',' | '\n') {
                if let Some((_, at)) = arrow {
                    return fail(at, "an arrow leads nowhere; expected a name after it");
                }
                last = None;
                at += 1;
            } else if c.is_whitespace() {
                at += c.len_utf8();
            } else if let Some(kind) = ["<->", "->", "<-"].into_iter().find(|a| rest.starts_with(a))
            {
                if last.is_none() || arrow.is_some() {
                    return fail(at, "an arrow comes from nowhere; expected a name before it");
                }
                arrow = Some((kind, at));
                at += kind.len();
            } else {
                let stop = |(i, c): (usize, char)| {
                    c.is_whitespace()
                        || matches!(c, ';' | ',')
                        || rest[i..].starts_with("->")
                        || rest[i..].starts_with("<-")
                };
                let end = rest.char_indices().find(|&p| stop(p)).map_or(rest.len(), |(i, _)| i);
                let name = &rest[..end];
                if let Some(reason) = unreadable(name) {
                    return fail(at, &reason);
                }
                let node = match names.iter().position(|known| known == name) {
                    Some(node) => node as u32,
                    None if names.len() == NodeSet::CAPACITY => {
                        let (found, limit) = (names.len() + 1, NodeSet::CAPACITY);
                        return Err(GraphError::TooManyNodes { found, limit });
                    }
                    None => {
                        names.push(name.into());
                        names.len() as u32 - 1
                    }
                };
                match (last, arrow.take()) {
                    (Some(from), Some(("->", _))) => directed.push((from, node)),
                    (Some(from), Some(("<-", _))) => directed.push((node, from)),
                    (Some(from), Some(_)) => bidirected.push((from, node)),
                    (Some(_), None) => return fail(at, "two names without an arrow between them"),
                    (None, _) => {}
                }
                last = Some(node);
                at += end;
            }
        }
        if let Some((_, at)) = arrow {
            return fail(at, "an arrow leads nowhere; expected a name after it");
        }
        Admg::new(&names, &directed, &bidirected)
    }
}
