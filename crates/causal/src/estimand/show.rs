//! Estimands as text.

use std::collections::HashMap;
use std::fmt;

use super::{Estimand, Expr};
use crate::NodeSet;

/// How things are written.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    Plain,
    Latex,
}

impl Estimand {
    /// The equation in LaTeX, for mathematics mode.
    ///
    /// ```
    /// use fenchel_causal::{Admg, identify};
    ///
    /// let g = Admg::parse("Z -> X -> Y; Z -> Y")?;
    /// let e = identify(&g, g.query("P(Y | do(X))")?)?;
    /// assert_eq!(e.latex(), r"P(Y \mid \mathrm{do}(X)) = \sum_{Z} P(Z) \, P(Y \mid Z, X)");
    /// # Ok::<(), fenchel_causal::Error>(())
    /// ```
    pub fn latex(&self) -> String {
        self.write(Style::Latex)
    }

    fn write(&self, style: Style) -> String {
        let (y, x, z) = (self.query.outcome, self.query.treatment, self.query.given);
        let taken = y | x | z | self.arbitrary;
        let writer = Writer { names: &self.names, style };
        let primes: HashMap<u32, usize> = taken.iter().map(|v| (v, 0)).collect();
        let set = |s: NodeSet| writer.set(s, &primes);
        let act = match style {
            Style::Plain => format!("do({})", set(x)),
            Style::Latex => format!(r"\mathrm{{do}}({})", set(x)),
        };
        let behind: Vec<String> = [(!x.is_empty()).then_some(act), (!z.is_empty()).then(|| set(z))]
            .into_iter()
            .flatten()
            .collect();
        let behind = behind.join(", ");
        let left = if behind.is_empty() {
            format!("P({})", set(y))
        } else {
            format!("P({}{}{behind})", set(y), writer.bar())
        };
        format!("{left} = {}", writer.expr(&self.expr, &primes, false))
    }
}

impl fmt::Display for Estimand {
    /// The equation in plain text; a bound variable whose name is taken has a prime.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.write(Style::Plain))
    }
}

struct Writer<'a> {
    names: &'a [String],
    style: Style,
}

impl Writer<'_> {
    fn bar(&self) -> &'static str {
        if self.style == Style::Latex { r" \mid " } else { " | " }
    }

    fn name(&self, v: u32, primes: &HashMap<u32, usize>) -> String {
        let name = &self.names[v as usize];
        // Longer than the primes of any name, so that no bound variable looks like another node.
        let own = |name: &String| name.len() - name.trim_end_matches('\'').len();
        let mark = 1 + self.names.iter().map(own).max().unwrap_or(0);
        let marks = "'".repeat(mark * primes.get(&v).copied().unwrap_or(0));
        let letter = name.chars().count() == 1 && name.chars().all(char::is_alphanumeric);
        if self.style == Style::Plain || letter {
            return format!("{name}{marks}");
        }
        let escaped = |c: char| match c {
            '_' | '%' | '&' | '#' | '$' | '{' | '}' => format!("\\{c}"),
            '\\' => r"\textbackslash{}".into(),
            '^' | '~' => format!("\\{c}{{}}"),
            _ => c.to_string(),
        };
        let safe: String = name.chars().map(escaped).collect();
        format!(r"\text{{{safe}}}{marks}")
    }

    fn set(&self, set: NodeSet, primes: &HashMap<u32, usize>) -> String {
        set.iter().map(|v| self.name(v, primes)).collect::<Vec<_>>().join(", ")
    }

    fn expr(&self, expr: &Expr, primes: &HashMap<u32, usize>, inside: bool) -> String {
        let latex = self.style == Style::Latex;
        match expr {
            Expr::One => "1".into(),
            Expr::Probability { of, given } if given.is_empty() => {
                format!("P({})", self.set(*of, primes))
            }
            Expr::Probability { of, given } => {
                format!("P({}{}{})", self.set(*of, primes), self.bar(), self.set(*given, primes))
            }
            Expr::Product(factors) => {
                let last = factors.len().saturating_sub(1);
                let parts = factors.iter().enumerate();
                // A sum reaches as far as it can: only the last factor needs no brackets.
                let parts: Vec<String> =
                    parts.map(|(k, f)| self.expr(f, primes, inside || k < last)).collect();
                parts.join(if latex { r" \, " } else { " " })
            }
            Expr::Sum { over, body } => {
                let mut inner = primes.clone();
                for v in over.iter() {
                    inner.entry(v).and_modify(|count| *count += 1).or_insert(0);
                }
                let (over, body) = (self.set(*over, &inner), self.expr(body, &inner, false));
                match (latex, inside) {
                    (true, true) => format!(r"\left( \sum_{{{over}}} {body} \right)"),
                    (true, false) => format!(r"\sum_{{{over}}} {body}"),
                    (false, true) => format!("[sum_{{{over}}} {body}]"),
                    (false, false) => format!("sum_{{{over}}} {body}"),
                }
            }
            Expr::Quotient(a, b) if latex => {
                format!(
                    r"\frac{{{}}}{{{}}}",
                    self.expr(a, primes, false),
                    self.expr(b, primes, false)
                )
            }
            Expr::Quotient(a, b) => {
                let side = |e: &Expr| match e {
                    Expr::Product(_) | Expr::Quotient(..) => {
                        format!("[{}]", self.expr(e, primes, false))
                    }
                    _ => self.expr(e, primes, true),
                };
                format!("{} / {}", side(a), side(b))
            }
        }
    }
}
