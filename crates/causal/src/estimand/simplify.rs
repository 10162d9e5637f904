//! Shorter formulas with the same value.

use super::Expr;
use crate::NodeSet;

impl Expr {
    /// An expression with the same value wherever both are defined, by these rules until none applies:
    ///
    /// | rule | |
    /// |---|---|
    /// | chain | `P(a given b, c) P(b given c) = P(a, b given c)` |
    /// | a sum over what appears once | `sum_a P(a, b given c) = P(b given c)` |
    /// | constants leave a sum | `sum_a f g(a) = f sum_a g(a)` |
    /// | conditionals | `P(a, b given c) / P(b given c) = P(a given b, c)` |
    /// | cancelling | `f g / (f h) = g / h` |
    #[must_use]
    pub fn simplify(&self) -> Expr {
        match self {
            Expr::One | Expr::Probability { .. } => self.clone(),
            Expr::Product(factors) => product(factors.iter().map(Expr::simplify).collect()),
            Expr::Sum { over, body } => sum(*over, body.simplify()),
            Expr::Quotient(a, b) => quotient(a.simplify(), b.simplify()),
        }
    }

    fn into_factors(self) -> Vec<Expr> {
        match self {
            Expr::One => Vec::new(),
            Expr::Product(factors) => factors,
            other => vec![other],
        }
    }
}

/// Of simplified factors.
fn product(factors: Vec<Expr>) -> Expr {
    let mut factors: Vec<Expr> = factors.into_iter().flat_map(Expr::into_factors).collect();
    while chain(&mut factors) {}
    if factors.len() == 1 {
        return factors.swap_remove(0);
    }
    if factors.is_empty() { Expr::One } else { Expr::Product(factors) }
}

/// Merges the first pair `P(a | b, c) P(b | c)`.
fn chain(factors: &mut Vec<Expr>) -> bool {
    for i in 0..factors.len() {
        let Expr::Probability { of: a, given: condition } = factors[i] else { continue };
        let merges = |f: &Expr| match f {
            Expr::Probability { of: b, given: c } => (*b | *c) == condition,
            _ => false,
        };
        let Some(j) = (0..factors.len()).find(|&j| j != i && merges(&factors[j])) else { continue };
        if let Expr::Probability { of: b, given: c } = factors[j] {
            factors[j] = Expr::Probability { of: a | b, given: c };
            factors.remove(i);
            return true;
        }
    }
    false
}

/// Of a simplified body.
fn sum(over: NodeSet, body: Expr) -> Expr {
    let (over, body) = match body {
        Expr::Sum { over: inner, body } if !inner.meets(over) => (over | inner, *body),
        other => (over, other),
    };
    // A quotient whose denominator is constant here.
    if let Expr::Quotient(a, b) = body {
        if !b.free().meets(over) {
            return quotient(sum(over, *a), *b);
        }
        return Expr::sum(over, Expr::Quotient(a, b));
    }
    let (mut inside, outside): (Vec<Expr>, Vec<Expr>) =
        body.into_factors().into_iter().partition(|f| f.free().meets(over));
    let mut over = over;
    // A variable that is in the head of one factor and nowhere else sums to nothing.
    loop {
        let alone = over.iter().find_map(|v| {
            let mut having = (0..inside.len()).filter(|&k| inside[k].free().contains(v));
            let (k, second) = (having.next()?, having.next());
            match &inside[k] {
                Expr::Probability { of, .. } if second.is_none() && of.contains(v) => Some((v, k)),
                _ => None,
            }
        });
        let Some((v, k)) = alone else { break };
        if let Expr::Probability { of, given } = inside[k] {
            over = over - NodeSet::one(v);
            let rest = of - NodeSet::one(v);
            if rest.is_empty() {
                inside.remove(k);
            } else {
                inside[k] = Expr::Probability { of: rest, given };
            }
            while chain(&mut inside) {}
        }
    }
    if over.is_empty() {
        return product(outside.into_iter().chain(inside).collect());
    }
    let (inside, constant): (Vec<Expr>, Vec<Expr>) =
        inside.into_iter().partition(|f| f.free().meets(over));
    let inner = Expr::sum(over, product(inside));
    product(outside.into_iter().chain(constant).chain([inner]).collect())
}

/// Of simplified sides.
fn quotient(a: Expr, b: Expr) -> Expr {
    if let Expr::Quotient(top, bottom) = a {
        return quotient(*top, product(vec![*bottom, b]));
    }
    if let Expr::Quotient(top, bottom) = b {
        return quotient(product(vec![a, *bottom]), *top);
    }
    let (mut above, mut below) = (a.into_factors(), b.into_factors());
    below.retain(|f| match above.iter().position(|g| g == f) {
        Some(k) => {
            above.remove(k);
            false
        }
        None => true,
    });
    // P(a, b | c) over P(b | c).
    below.retain(|f| {
        let Expr::Probability { of: b, given: c } = f else { return true };
        let fits = |g: &Expr| match g {
            Expr::Probability { of, given } => given == c && b.is_subset(*of) && of != b,
            _ => false,
        };
        match above.iter().position(fits) {
            Some(k) => {
                if let Expr::Probability { of, .. } = above[k] {
                    above[k] = Expr::Probability { of: of - *b, given: *b | *c };
                }
                false
            }
            None => true,
        }
    });
    let (above, below) = (product(above), product(below));
    match below {
        Expr::One => above,
        below if below == above => Expr::One,
        below => Expr::quotient(above, below),
    }
}
