//! The calibration: messages from the leaves to the roots, and back.

use std::marker::PhantomData;

use fenchel_linalg::lanes;

use crate::evidence::Finding;
use crate::factor_graph::LARGEST;
use crate::stride::{Plan, larger};
use crate::{Error, Evidence, FactorGraph};

use super::{Domain, JunctionTree, Node, Scale, Workspace};
use crate::columns;
use crate::table::semiring::{Linear, LogMax, LogSum, Semiring};

/// If all logarithms are above this, products do not underflow.
const LOWEST: f64 = -690.0;
/// Largest loss of a product that underflows.
const TINY: f64 = 1e-300;
/// Largest relative loss that is accepted.
const NEGLIGIBLE: f64 = 1e-20;

pub(super) fn sums(
    tree: &JunctionTree,
    model: &FactorGraph,
    evidence: &Evidence,
    workspace: &mut Workspace,
    domain: Domain,
) -> Result<(), Error> {
    if domain != Domain::Log {
        workspace.in_logs = false;
        match lanes::run(Calibration::<Linear>::of(tree, model, evidence, workspace)) {
            Outcome::Done if workspace.log_partition < f64::INFINITY => return Ok(()),
            // A sum of logarithms that overflows looks like probability 0.
            Outcome::Impossible => {
                return Err(model.check_sums().err().unwrap_or(Error::ImpossibleEvidence));
            }
            _ => {}
        }
    }
    model.check_sums()?;
    workspace.in_logs = true;
    lanes::run(Calibration::<LogSum>::of(tree, model, evidence, workspace)).without_underflow()?;
    // Tables were divided by logarithms that may be large, with few digits behind the point.
    for node in &tree.nodes {
        normalise(&mut workspace.tables[node.table.clone()]);
        normalise(&mut workspace.separators[node.separator.clone()]);
    }
    Ok(())
}

/// The largest first: beside it the logarithm of the sum may have no digit.
fn normalise(logs: &mut [f64]) {
    lanes::dispatch(|| {
        for total in [LogMax::total, LogSum::total] {
            let total = total(logs);
            logs.iter_mut().for_each(|log| *log -= total);
        }
    });
}

pub(super) fn maxima(
    tree: &JunctionTree,
    model: &FactorGraph,
    evidence: &Evidence,
    workspace: &mut Workspace,
) -> Result<(), Error> {
    workspace.in_logs = true;
    let outcome = lanes::run(Calibration::<LogMax>::of(tree, model, evidence, workspace));
    // The lower bounds of the tables say at no cost where it is worth looking at every log-potential.
    let wide = workspace.scales.iter().any(|scale| scale.low < -LARGEST);
    if wide || !workspace.log_partition.is_finite() || !matches!(outcome, Outcome::Done) {
        model.check_sums()?;
    }
    outcome.without_underflow()
}

struct Calibration<'a, A> {
    tree: &'a JunctionTree,
    model: &'a FactorGraph,
    evidence: &'a Evidence,
    workspace: &'a mut Workspace,
    algebra: PhantomData<A>,
}

impl<'a, A> Calibration<'a, A> {
    fn of(
        tree: &'a JunctionTree,
        model: &'a FactorGraph,
        evidence: &'a Evidence,
        workspace: &'a mut Workspace,
    ) -> Self {
        Calibration { tree, model, evidence, workspace, algebra: PhantomData }
    }
}

impl<A: Semiring> lanes::Kernel for Calibration<'_, A> {
    type Output = Outcome;

    #[inline(always)]
    fn compute(self) -> Outcome {
        let outcome = up::<A>(self.tree, self.model, self.evidence, self.workspace);
        if let Outcome::Done = outcome {
            down::<A>(self.tree, self.workspace);
        }
        outcome
    }
}

pub(super) enum Outcome {
    Done,
    Impossible,
    /// Underflow may have lost a relevant amount.
    Underflow,
}

impl Outcome {
    fn without_underflow(self) -> Result<(), Error> {
        match self {
            Outcome::Done => Ok(()),
            _ => Err(Error::ImpossibleEvidence),
        }
    }
}

/// The pass from the leaves to the roots. Afterwards a table is the scaled product of its factors and of the messages of its
/// children;
/// the roots are normalised.
#[inline(always)]
fn up<A: Semiring>(
    tree: &JunctionTree,
    model: &FactorGraph,
    evidence: &Evidence,
    workspace: &mut Workspace,
) -> Outcome {
    let Workspace { tables, up, ratio, turned, factor, tops, scales, .. } = workspace;
    for (node, scale) in tree.nodes.iter().zip(scales.iter_mut()) {
        *scale = multiply_factors::<A>(tree, model, node, &mut tables[node.table.clone()], factor);
    }
    for (v, finding) in evidence.iter() {
        let home = &tree.homes[v.index()];
        let table = &mut tables[tree.nodes[home.node].table.clone()];
        let values = &mut factor[..tree.cards[v.index()]];
        scales[home.node].times(enter::<A>(finding, &home.plan, table, values, ratio));
    }
    let mut log_partition = tree.constant(model);
    for k in (0..tree.nodes.len()).rev() {
        let node = &tree.nodes[k];
        let (before, rest) = tables.split_at_mut(node.table.start);
        let table = &mut rest[..node.table.len()];
        let message = &mut up[node.separator.clone()];
        let sent = match send::<A>(node, table, message, scales[k], &mut tops[k], ratio, k) {
            Ok(sent) => sent,
            Err(outcome) => return outcome,
        };
        log_partition += scales[k].log + sent.log;
        if node.parent == k {
            table.iter_mut().for_each(|cell| *cell = A::over(*cell, tops[k]));
        } else {
            let parent = &mut before[tree.nodes[node.parent].table.clone()];
            deliver::<A>(node, message, parent, turned);
            scales[node.parent].receive(sent);
        }
    }
    workspace.log_partition = log_partition;
    if log_partition > f64::NEG_INFINITY { Outcome::Done } else { Outcome::Impossible }
}

/// The pass from the roots to the leaves. Afterwards every table and separator is a marginal.
#[inline(always)]
fn down<A: Semiring>(tree: &JunctionTree, workspace: &mut Workspace) {
    let Workspace { tables, up, separators, ratio, turned, tops, .. } = workspace;
    for (k, node) in tree.nodes.iter().enumerate() {
        if node.parent == k {
            continue;
        }
        let (before, rest) = tables.split_at_mut(node.table.start);
        let parent = &before[tree.nodes[node.parent].table.clone()];
        let separator = &mut separators[node.separator.clone()];
        let ratio = &mut ratio[..separator.len()];
        let sent = &up[node.separator.clone()];
        hear::<A>(node, parent, sent, tops[k], separator, ratio, turned);
        columns::scale(&mut rest[..node.table.len()], ratio, A::times);
    }
}

/// Computes the product of the factors of a node, each divided by its [`divisor`].
#[inline(always)]
pub(super) fn multiply_factors<A: Semiring>(
    tree: &JunctionTree,
    model: &FactorGraph,
    node: &Node,
    table: &mut [f64],
    scratch: &mut [f64],
) -> Scale {
    let mut scale = Scale::default();
    let placed = &tree.placed[node.factors.clone()];
    if placed.is_empty() {
        table.fill(A::ONE);
    }
    for (k, p) in placed.iter().enumerate() {
        let logs = model.factors()[p.factor.index()].log_values();
        let values = &mut scratch[..logs.len()];
        scale.times(lift::<A>(logs, values));
        if k == 0 {
            p.plan.spread(table, values, |_, b| b);
        } else {
            p.plan.spread(table, values, A::times);
        }
    }
    scale
}

/// Multiplies a table by the finding about a variable; `values` and `logs` are working memory.
#[inline(always)]
pub(super) fn enter<A: Semiring>(
    finding: &Finding,
    plan: &Plan,
    table: &mut [f64],
    values: &mut [f64],
    logs: &mut [f64],
) -> Scale {
    let mut scale = Scale::default();
    match finding {
        Finding::State(state) => {
            values.fill(A::ZERO);
            values[*state] = A::ONE;
        }
        Finding::Likelihood(likelihood) => {
            let logs = &mut logs[..likelihood.len()];
            logs.iter_mut().zip(likelihood).for_each(|(l, x)| *l = x.ln());
            scale = lift::<A>(logs, values);
        }
    }
    plan.spread(table, values, A::times);
    scale
}

/// Computes the message of node `k` to its parent, divided by `top`, its [`divisor`]. For a root `top` is the sum of the table.
#[inline(always)]
pub(super) fn send<A: Semiring>(
    node: &Node,
    table: &[f64],
    message: &mut [f64],
    mut scale: Scale,
    top: &mut f64,
    scratch: &mut [f64],
    k: usize,
) -> Result<Scale, Outcome> {
    if A::UNDERFLOWS && scale.low < LOWEST {
        scale.lost += TINY;
    }
    let nothing = if scale.lost > 0.0 { Outcome::Underflow } else { Outcome::Impossible };
    if node.parent == k {
        *top = A::total(table);
        if !(*top > A::ZERO) {
            return Err(nothing);
        }
        if A::UNDERFLOWS && scale.lost * table.len() as f64 > NEGLIGIBLE * *top {
            return Err(Outcome::Underflow);
        }
        return Ok(Scale { log: A::log(*top), ..Scale::default() });
    }
    A::project_columns(table, message, scratch);
    let largest = LogMax::total(message);
    if !(largest > A::ZERO) {
        return Err(nothing);
    }
    *top = divisor::<A>(message, largest);
    let mut bottom = largest;
    for m in message.iter_mut() {
        bottom = if *m > A::ZERO && *m < bottom { *m } else { bottom };
        *m = A::over(*m, *top);
    }
    let width = (table.len() / message.len()) as f64;
    let low = A::log(bottom) - A::log(largest);
    Ok(Scale { log: A::log(*top), low, lost: scale.lost * width / largest })
}

/// Multiplies the table of the parent by a message; `turned` is working memory.
#[inline(always)]
pub(super) fn deliver<A: Semiring>(
    node: &Node,
    message: &[f64],
    parent: &mut [f64],
    turned: &mut [f64],
) {
    // One call for both cases: a spread is inlined where it is called, and each is thousands of instructions.
    let message = match &node.turn {
        Some(turn) => {
            let turned = &mut turned[..message.len()];
            turn.up.spread(turned, message, |_, b| b);
            turned
        }
        None => message,
    };
    node.in_parent.spread(parent, message, A::times);
}

/// Computes the marginal of a node's separator in the calibrated table of its parent, and divides it by the message that the
/// node has sent.
#[inline(always)]
pub(super) fn hear<A: Semiring>(
    node: &Node,
    parent: &[f64],
    sent: &[f64],
    top: f64,
    separator: &mut [f64],
    ratio: &mut [f64],
    turned: &mut [f64],
) {
    let marginal = match node.turn {
        Some(_) => &mut turned[..separator.len()],
        None => &mut *separator,
    };
    A::project(&node.in_parent, parent, marginal, ratio);
    if let Some(turn) = &node.turn {
        turn.down.spread(separator, &turned[..separator.len()], |_, b| b);
    }
    let inverse = A::over(A::ONE, top);
    for ((r, &new), &old) in ratio.iter_mut().zip(separator.iter()).zip(sent) {
        *r = A::times(A::over(new, old), inverse);
    }
}

/// `values = lift(logs - divisor)`.
#[inline(always)]
fn lift<A: Semiring>(logs: &[f64], values: &mut [f64]) -> Scale {
    let top = LogMax::total(logs);
    let mut bottom = top;
    for &x in logs {
        bottom = if x > f64::NEG_INFINITY { -larger(-x, -bottom) } else { bottom };
    }
    let by = if top > f64::NEG_INFINITY { divisor::<A>(logs, top) } else { 0.0 };
    values.iter_mut().zip(logs).for_each(|(v, &x)| *v = A::lift(x - by));
    let low = if bottom > f64::NEG_INFINITY { bottom - top } else { 0.0 };
    Scale { log: if A::UNDERFLOWS { top } else { by }, low, lost: 0.0 }
}

/// What a table is divided by: its largest value. Where values stay logarithms it is the smallest in size: the largest may be
/// impossible by another factor, and so large that the difference has no digit of the others, which need theirs where all are large.
#[inline(always)]
fn divisor<A: Semiring>(values: &[f64], top: f64) -> f64 {
    let smallest = |found: f64, &x: &f64| if x.abs() < found.abs() { x } else { found };
    if A::UNDERFLOWS { top } else { values.iter().fold(top, smallest) }
}
