//! Two models that demonstrate a hedge.

use fenchel_optim::random::stream;

use super::Hedge;
use super::parity::Parity;
use crate::latent::LatentModel;
use crate::{Error, NodeSet, ProbabilityTable, Query};

/// The search for models ends when two conditionals differ by this much. With this value, eight nodes take milliseconds.
const ENOUGH: f64 = 0.002;
/// The number of further pairs of models to try if the first pair does not differ on a conditional.
const ATTEMPTS: u64 = 48;

/// Two models of one graph that agree on the observed law and differ on an effect.
#[derive(Debug, Clone)]
pub struct Witness {
    /// The model in which the outer forest is at work.
    pub first: LatentModel,
    /// The model in which the inner forest is at work.
    pub second: LatentModel,
}

/// What [`Witness::check`] measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disagreement {
    /// The largest difference of the two observed laws: 0 up to rounding.
    pub observed: f64,
    /// The largest difference of the two effects.
    pub effect: f64,
}

impl Hedge {
    /// Two models of the graph with the same observed distribution and different effects. The observed distribution is
    /// strictly positive on the states that its variables have. The models differ on the query that
    /// [`failed`](Self::failed), and on the conditional query that was [asked](Self::query).
    ///
    /// Each variable of the hedge is the parity of its hidden causes and its parents. The roots have a little noise.
    /// The variables on the way from the roots to the outcome pass the parity of the roots on in a second bit. All
    /// other variables are constant.
    ///
    /// Such a pair of models may differ only in the distribution of the conditions, so that the conditional query has
    /// the same answer in both. Then the noise of the roots and all variables outside the hedge get random mechanisms.
    /// These mechanisms are the same in both models and may use all edges of the graph. They depend on the hedge only
    /// through observed variables, so the observed distributions stay equal. A few such pairs are tried until the
    /// conditionals differ by 0.002. Dense random graphs with up to eight nodes need this for a third of the
    /// conditional queries.
    ///
    /// # Errors
    /// None for a hedge that [`identify`](super::identify) returned; [`Error::Invalid`] for one with altered sets.
    pub fn witness(&self) -> Result<Witness, Error> {
        let graph = self.graph();
        for q in [self.failed, self.query] {
            graph.check_set(q.outcome | q.treatment | q.given)?;
        }
        graph.check_set(self.outer | self.inner | self.roots)?;
        let (whole, inner) = (Parity::new(self, false), Parity::new(self, true));
        let road = road(self);
        let mut best = Witness { first: whole.model(&road)?, second: inner.model(&road)? };
        if self.query.given.is_empty() {
            return Ok(best);
        }
        // A graph whose joint table would be too large is left with the first pair.
        let Ok(Disagreement { effect: mut apart, .. }) = best.check(self.query) else {
            return Ok(best);
        };
        for attempt in 0..ATTEMPTS {
            if apart >= ENOUGH {
                break;
            }
            // First with binary variables, which is cheap; then with second bits at some, at last at all inner nodes.
            let some = |v: &u32| attempt >= 4 && attempt >> (v % 4) & 1 == 1;
            let all = attempt + 1 == ATTEMPTS;
            let two_bits = (0..graph.len() as u32).filter(|v| all || some(v)).collect();
            let model = |parity: &Parity<'_>| parity.noisy_model(two_bits, &mut stream(1, attempt));
            // Tables that would be too large are passed over.
            let (Ok(first), Ok(second)) = (model(&whole), model(&inner)) else { continue };
            let witness = Witness { first, second };
            match witness.check(self.query) {
                Ok(found) if found.effect > apart && found.effect.is_finite() => {
                    (best, apart) = (witness, found.effect);
                }
                _ => {}
            }
        }
        Ok(best)
    }
}

/// From every root the next node on a shortest directed path to the outcome that avoids the treatment.
fn road(hedge: &Hedge) -> Vec<Option<u32>> {
    let view = hedge.graph().view().cut_in(hedge.failed.treatment);
    let mut next = vec![None; hedge.graph().len()];
    let mut reached = hedge.failed.outcome;
    let mut front = reached;
    while !front.is_empty() {
        let mut wider = NodeSet::EMPTY;
        for v in front.iter() {
            for p in (view.parents(v) - reached).iter() {
                next[p as usize] = Some(v);
                reached |= NodeSet::one(p);
                wider |= NodeSet::one(p);
            }
        }
        front = wider;
    }
    next
}

impl Witness {
    /// How far the two models are apart on the observed law, and on the effect `P(outcome | do(treatment))` of a query.
    ///
    /// # Errors
    /// [`Error::Refused`]; the errors of [`LatentModel::effect`].
    pub fn check(&self, query: Query) -> Result<Disagreement, Error> {
        let law = |m: &LatentModel| -> Result<(ProbabilityTable, ProbabilityTable), Error> {
            Ok((m.observed()?, m.effect(query)?))
        };
        let ((first, one), (second, two)) = (law(&self.first)?, law(&self.second)?);
        Ok(Disagreement { observed: first.distance(&second), effect: one.distance(&two) })
    }
}
