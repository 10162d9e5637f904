//! This experiment tests the identification of effects on random graphs. If an effect is identifiable, its formula is
//! compared with the true effect. If it is not, the experiment constructs and checks two models with the same observed
//! distribution and different effects.

use fenchel_causal::{Admg, Error, LatentModel, NodeSet, Query, identify};
use fenchel_optim::random::{Generator, stream};
use rand::RngExt;

use crate::number::short;
use crate::{Cell, Context, Experiment, Failure, Ground, Outcome, Source, Table};

pub(super) const CENSUS: Experiment = Experiment {
    id: "ca-census",
    file: file!(),
    title: "Identification on random graphs with up to eight nodes",
    question: "Are the answers about identification right on random graphs?",
    learnt: "Every formula gives the effect of a random model, and every refusal comes with two models that agree on all that is seen.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    run: census,
    ..super::OF_THESIS
};

/// The results on graphs with the same number of nodes.
#[derive(Clone, Copy, Default)]
struct Tally {
    formulas: usize,
    refusals: usize,
    /// The largest error of a formula.
    error: f64,
    /// The largest difference of the observed distributions of two models. These distributions should be equal.
    law: f64,
    /// The smallest difference of the effects in two models with the same observed distribution.
    effect: f64,
}

impl Tally {
    fn new() -> Tally {
        Tally { effect: f64::INFINITY, ..Tally::default() }
    }

    fn with(self, other: Tally) -> Tally {
        Tally {
            formulas: self.formulas + other.formulas,
            refusals: self.refusals + other.refusals,
            error: self.error.max(other.error),
            law: self.law.max(other.law),
            effect: self.effect.min(other.effect),
        }
    }
}

/// A random graph whose directed edges follow the order of the nodes. Every acyclic graph has this form, up to the names of its nodes.
fn graph(n: u32, rng: &mut Generator) -> Result<Admg, Failure> {
    let names: Vec<String> = (0..n).map(|v| format!("V{v}")).collect();
    let (directed, hidden) = (rng.random_range(0.2..0.7), rng.random_range(0.1..0.4));
    let mut edges = |share: f64| -> Vec<(u32, u32)> {
        let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
        pairs.filter(|_| rng.random::<f64>() < share).collect()
    };
    let (directed, hidden) = (edges(directed), edges(hidden));
    Ok(Admg::new(&names, &directed, &hidden)?)
}

/// A random query. Half of the queries have one treatment and one outcome. The others have sets of both, and may have conditions.
fn query(n: u32, rng: &mut Generator) -> Query {
    if rng.random::<bool>() {
        let x = rng.random_range(0..n);
        let y = (x + rng.random_range(1..n)) % n;
        return Query::new(NodeSet::one(y), NodeSet::one(x));
    }
    loop {
        let mut query = Query::default();
        for v in 0..n {
            match rng.random_range(0..6) {
                0 => query.outcome |= NodeSet::one(v),
                1 => query.treatment |= NodeSet::one(v),
                2 => query.given |= NodeSet::one(v),
                _ => {}
            }
        }
        if !query.outcome.is_empty() && !query.treatment.is_empty() {
            return query;
        }
    }
}

fn judge(n: u32, rng: &mut Generator) -> Result<Tally, Failure> {
    let graph = graph(n, rng)?;
    let query = query(n, rng);
    match identify(&graph, query) {
        Ok(formula) => {
            let model = LatentModel::random(&graph, &vec![2; n as usize], rng)?;
            let found = formula.evaluate(&model.observed()?)?;
            let error = found.distance(&model.effect(query)?);
            Ok(Tally { formulas: 1, error, ..Tally::new() })
        }
        Err(Error::NotIdentifiable(hedge)) => {
            let witness = hedge.witness()?;
            let (failed, asked) = (witness.check(hedge.failed)?, witness.check(query)?);
            let effect = failed.effect.min(asked.effect);
            Ok(Tally { refusals: 1, law: failed.observed, effect, ..Tally::new() })
        }
        Err(other) => Err(other.into()),
    }
}

fn census(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let graphs = context.pick(600, 100_000);
    let mut by_size = [Tally::new(); 6];
    for k in 0..graphs {
        if k % 100 == 0 {
            context.check()?;
        }
        let n = 3 + k as u32 % 6;
        let tally = &mut by_size[n as usize - 3];
        *tally = tally.with(judge(n, &mut stream(context.seed, 8_000_000 + k as u64))?);
    }
    let mut rows = Table::new(
        "A query a graph",
        ["nodes", "formulas", "largest error", "refusals", "laws differ by", "effects differ by"],
    );
    let mut all = Tally::new();
    for (n, tally) in (3_usize..).zip(by_size) {
        let Tally { formulas, refusals, error, law, effect } = tally;
        rows.push([
            Cell::from(n),
            formulas.into(),
            error.into(),
            refusals.into(),
            law.into(),
            effect.into(),
        ]);
        all = all.with(tally);
    }
    outcome.table(rows);
    outcome.note("Laws: the largest difference of a pair of models, where 0 is wanted; effects: the smallest, where any is.");
    outcome.claim(
        Source::OURS
            .claim(format!("each of {} formulas gives the effect of a random model", all.formulas))
            .on(Ground::Exact)
            .specification("to 1e-12, for all values of outcome, treatment and conditions")
            .holds((all.error, all.formulas > 0 && all.error < 1e-12)),
    );
    outcome.claim(
        Source::OURS
            .claim(format!("each of {} refusals comes with two models", all.refusals))
            .on(Ground::Exact)
            .specification("the same observed law to 1e-12, another effect by more than 1e-3")
            .holds((
                format!("laws within {}, effects apart by {}", short(all.law), short(all.effect)),
                all.refusals > 0 && all.law < 1e-12 && all.effect > 1e-3,
            )),
    );
    Ok(outcome)
}
