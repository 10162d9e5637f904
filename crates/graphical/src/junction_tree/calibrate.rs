//! The calibration: messages from the leaves to the roots, and back.

use std::marker::PhantomData;
use std::ops::Range;

use fenchel_linalg::{lanes, parallel};

use crate::evidence::Finding;
use crate::factor_graph::LARGEST;
use crate::stride::{Plan, larger};
use crate::{Error, Evidence, FactorGraph};

use super::{Domain, JunctionTree, Node, Scale, Scratch, Workspace};
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
        match calibrate::<Linear>(tree, model, evidence, workspace) {
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
    calibrate::<LogSum>(tree, model, evidence, workspace).without_underflow()
}

pub(super) fn maxima(
    tree: &JunctionTree,
    model: &FactorGraph,
    evidence: &Evidence,
    workspace: &mut Workspace,
) -> Result<(), Error> {
    workspace.in_logs = true;
    let outcome = calibrate::<LogMax>(tree, model, evidence, workspace);
    // The lower bounds of the tables say at no cost where it is worth looking at every log-potential.
    let wide = workspace.scales.iter().any(|scale| scale.low < -LARGEST);
    if wide || !workspace.log_partition.is_finite() || !matches!(outcome, Outcome::Done) {
        model.check_sums()?;
    }
    outcome.without_underflow()
}

/// Some nodes of a tree, and the memory from the first of them to the last: a subtree, or the crown, which is the rest with
/// the roots of the subtrees.
struct Part<'a> {
    nodes: &'a [usize],
    tables: &'a mut [f64],
    up: &'a mut [f64],
    separators: &'a mut [f64],
    tops: &'a mut [f64],
    scales: &'a mut [Scale],
}

impl Part<'_> {
    /// What comes before the part in the arrays of nodes, cells and separators.
    fn base(&self, tree: &JunctionTree) -> (usize, usize, usize) {
        let at = |&first: &usize| {
            (first, tree.nodes[first].table.start, tree.nodes[first].separator.start)
        };
        self.nodes.first().map_or((0, 0, 0), at)
    }
}

/// The subtrees of a tree, with disjoint memory.
fn subtrees<'a>(tree: &'a JunctionTree, workspace: &'a mut Workspace) -> Vec<Part<'a>> {
    let Workspace { tables, up, separators, tops, scales, .. } = workspace;
    let (mut tables, mut up, mut separators) = (&mut tables[..], &mut up[..], &mut separators[..]);
    let (mut tops, mut scales) = (&mut tops[..], &mut scales[..]);
    let (mut node, mut cell, mut column) = (0, 0, 0);
    let cut = |nodes: &'a Range<usize>| {
        let (first, last) = (&tree.nodes[nodes.start], &tree.nodes[nodes.end - 1]);
        let part = Part {
            nodes: &tree.numbers[nodes.clone()],
            tables: take(&mut tables, first.table.start - cell, last.table.end - cell),
            up: take(&mut up, first.separator.start - column, last.separator.end - column),
            separators: take(
                &mut separators,
                first.separator.start - column,
                last.separator.end - column,
            ),
            tops: take(&mut tops, nodes.start - node, nodes.end - node),
            scales: take(&mut scales, nodes.start - node, nodes.end - node),
        };
        (node, cell, column) = (nodes.end, last.table.end, last.separator.end);
        part
    };
    tree.subtrees.iter().map(cut).collect()
}

/// Cuts `start..end` out of a slice, which then begins at `end`.
fn take<'a, T>(slice: &mut &'a mut [T], start: usize, end: usize) -> &'a mut [T] {
    let (taken, rest) = std::mem::take(slice).split_at_mut(end);
    *slice = rest;
    &mut taken[start..]
}

fn crown<'a>(tree: &'a JunctionTree, workspace: &'a mut Workspace) -> (Part<'a>, &'a mut Scratch) {
    let Workspace { tables, up, separators, tops, scales, scratch, .. } = workspace;
    (Part { nodes: &tree.crown, tables, up, separators, tops, scales }, scratch)
}

/// The messages of the subtrees, on all cores, then those of the crown; then the way back.
fn calibrate<A: Semiring>(
    tree: &JunctionTree,
    model: &FactorGraph,
    evidence: &Evidence,
    workspace: &mut Workspace,
) -> Outcome {
    let up = |part: Part<'_>, scratch: &mut Scratch, below: &[Scale]| {
        lanes::run(Up::<A> { tree, model, evidence, part, scratch, below, algebra: PhantomData })
    };
    let down = |part: Part<'_>, scratch: &mut Scratch| {
        lanes::run(Down::<A> { tree, part, scratch, algebra: PhantomData });
    };
    let own_scratch = || {
        let mut scratch = Scratch::default();
        tree.shape_scratch(&mut scratch);
        scratch
    };
    let mut sent = Vec::with_capacity(tree.subtrees.len());
    let mut log_partition = tree.constant(model);
    for answer in parallel::map(subtrees(tree, workspace), |part| up(part, &mut own_scratch(), &[]))
    {
        match answer {
            Ok((log, scale)) => {
                log_partition += log;
                sent.push(scale);
            }
            Err(outcome) => return outcome,
        }
    }
    let (part, scratch) = crown(tree, workspace);
    match up(part, scratch, &sent) {
        Ok((log, _)) => log_partition += log,
        Err(outcome) => return outcome,
    }
    workspace.log_partition = log_partition;
    if log_partition == f64::NEG_INFINITY {
        return Outcome::Impossible;
    }
    let (part, scratch) = crown(tree, workspace);
    down(part, scratch);
    parallel::map(subtrees(tree, workspace), |part| down(part, &mut own_scratch()));
    Outcome::Done
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

/// The pass from the leaves of a part to its roots. Afterwards a table is the scaled product of its factors and of the messages of its
/// children; the roots of the tree are normalised. Returns the logarithms of all divisors, and the scale of what a subtree sends.
struct Up<'a, A> {
    tree: &'a JunctionTree,
    model: &'a FactorGraph,
    evidence: &'a Evidence,
    part: Part<'a>,
    scratch: &'a mut Scratch,
    /// The scales of the messages of the subtrees, for the crown.
    below: &'a [Scale],
    algebra: PhantomData<A>,
}

impl<A: Semiring> lanes::Kernel for Up<'_, A> {
    type Output = Result<(f64, Scale), Outcome>;

    #[inline(always)]
    fn compute(self) -> Self::Output {
        let Up { tree, model, evidence, part, scratch, mut below, .. } = self;
        let (first, cell, column) = part.base(tree);
        let Part { nodes, tables, up, tops, scales, .. } = part;
        let Scratch { ratio, turned, factor } = scratch;
        let heads = if below.is_empty() { &[][..] } else { &tree.subtrees[..] };
        let is_head = |k: usize| heads.binary_search_by_key(&k, |nodes| nodes.start).is_ok();
        for &k in nodes.iter().filter(|k| !is_head(**k)) {
            let node = &tree.nodes[k];
            let table = &mut tables[node.table.start - cell..node.table.end - cell];
            scales[k - first] = multiply_factors::<A>(tree, model, node, table, factor);
        }
        for (v, finding) in evidence.iter() {
            let home = &tree.homes[v.index()];
            if nodes.binary_search(&home.node).is_ok() && !is_head(home.node) {
                let node = &tree.nodes[home.node];
                let table = &mut tables[node.table.start - cell..node.table.end - cell];
                let values = &mut factor[..tree.cards[v.index()]];
                let scale = enter::<A>(finding, &home.plan, table, values, ratio);
                scales[home.node - first].times(scale);
            }
        }
        let mut total = 0.0;
        for &k in nodes.iter().rev() {
            let node = &tree.nodes[k];
            let (before, rest) = tables.split_at_mut(node.table.start - cell);
            let table = &mut rest[..node.table.len()];
            let message = &mut up[node.separator.start - column..node.separator.end - column];
            let sent = if is_head(k) {
                let (scale, others) = below.split_last().ok_or(Outcome::Impossible)?;
                below = others;
                *scale
            } else {
                let (scale, top) = (scales[k - first], &mut tops[k - first]);
                let sent = send::<A>(node, table, message, scale, top, ratio, k)?;
                total += scale.log + sent.log;
                sent
            };
            if node.parent == k {
                let top = tops[k - first];
                table.iter_mut().for_each(|cell| *cell = A::over(*cell, top));
            } else if node.parent < first {
                return Ok((total, sent));
            } else {
                let above = &tree.nodes[node.parent].table;
                let parent = &mut before[above.start - cell..above.end - cell];
                deliver::<A>(node, message, parent, turned);
                scales[node.parent - first].receive(sent);
            }
        }
        Ok((total, Scale::default()))
    }
}

/// The pass from the roots of a part to its leaves. Afterwards every table and separator is a marginal.
struct Down<'a, A> {
    tree: &'a JunctionTree,
    part: Part<'a>,
    scratch: &'a mut Scratch,
    algebra: PhantomData<A>,
}

impl<A: Semiring> lanes::Kernel for Down<'_, A> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let Down { tree, part, scratch, .. } = self;
        let (first, cell, column) = part.base(tree);
        let Part { nodes, tables, up, separators, tops, .. } = part;
        let Scratch { ratio, turned, .. } = scratch;
        for &k in nodes {
            let node = &tree.nodes[k];
            // The head of a subtree has heard its parent in the crown.
            if node.parent == k || node.parent < first {
                continue;
            }
            let (before, rest) = tables.split_at_mut(node.table.start - cell);
            let above = &tree.nodes[node.parent].table;
            let parent = &before[above.start - cell..above.end - cell];
            let columns = node.separator.start - column..node.separator.end - column;
            let (sent, separator) = (&up[columns.clone()], &mut separators[columns]);
            let ratio = &mut ratio[..separator.len()];
            hear::<A>(node, parent, sent, tops[k - first], separator, ratio, turned);
            columns::scale(&mut rest[..node.table.len()], ratio, A::times);
        }
    }
}

/// Computes the product of the factors of a node, each divided by its largest value.
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

/// Computes the message of node `k` to its parent, divided by its largest value `top`. For a root `top` is the sum of the
/// table.
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
    *top = LogMax::total(message);
    if !(*top > A::ZERO) {
        return Err(nothing);
    }
    let mut bottom = *top;
    for m in message.iter_mut() {
        bottom = if *m > A::ZERO && *m < bottom { *m } else { bottom };
        *m = A::over(*m, *top);
    }
    let log = A::log(*top);
    let width = (table.len() / message.len()) as f64;
    Ok(Scale { log, low: A::log(bottom) - log, lost: scale.lost * width / *top })
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

/// `values = lift(logs - max logs)`.
#[inline(always)]
fn lift<A: Semiring>(logs: &[f64], values: &mut [f64]) -> Scale {
    let top = LogMax::total(logs);
    let mut bottom = top;
    for &x in logs {
        bottom = if x > f64::NEG_INFINITY { -larger(-x, -bottom) } else { bottom };
    }
    let shift = if top > f64::NEG_INFINITY { top } else { 0.0 };
    values.iter_mut().zip(logs).for_each(|(v, &x)| *v = A::lift(x - shift));
    let low = if bottom > f64::NEG_INFINITY { bottom - top } else { 0.0 };
    Scale { log: top, low, lost: 0.0 }
}
