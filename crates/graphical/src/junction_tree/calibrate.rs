//! Messages up, messages down.

use fenchel_linalg::lanes;

use crate::evidence::Finding;
use crate::stride::larger;
use crate::{Error, Evidence, FactorGraph};

use super::algebra::{Algebra, Linear, LogMax, LogSum};
use super::{Domain, JunctionTree, Workspace};

/// Below this every product of numbers is normal: no underflow.
const LOWEST: f64 = -690.0;
/// What one product that underflows may lose.
const TINY: f64 = 1e-300;
/// Relative loss that is accepted.
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
        let outcome = lanes::dispatch(|| {
            let outcome = up::<Linear>(tree, model, evidence, workspace);
            if let Outcome::Done = outcome {
                down::<Linear>(tree, workspace);
            }
            outcome
        });
        match outcome {
            Outcome::Done => return Ok(()),
            Outcome::Impossible => return Err(Error::ImpossibleEvidence),
            Outcome::Underflow => {}
        }
    }
    workspace.in_logs = true;
    lanes::dispatch(|| run_in_logs::<LogSum>(tree, model, evidence, workspace))
}

pub(super) fn maxima(
    tree: &JunctionTree,
    model: &FactorGraph,
    evidence: &Evidence,
    workspace: &mut Workspace,
) -> Result<(), Error> {
    workspace.in_logs = true;
    lanes::dispatch(|| run_in_logs::<LogMax>(tree, model, evidence, workspace))
}

#[inline(always)]
fn run_in_logs<A: Algebra>(
    tree: &JunctionTree,
    model: &FactorGraph,
    evidence: &Evidence,
    workspace: &mut Workspace,
) -> Result<(), Error> {
    match up::<A>(tree, model, evidence, workspace) {
        Outcome::Done => down::<A>(tree, workspace),
        _ => return Err(Error::ImpossibleEvidence),
    }
    Ok(())
}

enum Outcome {
    Done,
    Impossible,
    /// What was lost may matter.
    Underflow,
}

/// From the leaves to the roots. Afterwards a table is the product of its factors and of the messages of its children, scaled;
/// the roots are normalised.
#[inline(always)]
fn up<A: Algebra>(
    tree: &JunctionTree,
    model: &FactorGraph,
    evidence: &Evidence,
    workspace: &mut Workspace,
) -> Outcome {
    let Workspace { tables, up, ratio, factor, scales, smallest, lost, .. } = workspace;
    let mut log_partition: f64 =
        tree.constants.iter().map(|f| model.factors()[f.index()].log_values()[0]).sum();
    smallest.fill(0.0);
    lost.fill(0.0);

    for (node, (low, _)) in tree.nodes.iter().zip(smallest.iter_mut().zip(lost.iter())) {
        let table = &mut tables[node.table.clone()];
        let placed = &tree.placed[node.factors.clone()];
        if placed.is_empty() {
            table.fill(A::ONE);
        }
        for (k, p) in placed.iter().enumerate() {
            let logs = model.factors()[p.factor.index()].log_values();
            let values = &mut factor[..logs.len()];
            let (top, bottom) = lift::<A>(logs, values);
            log_partition += top;
            *low += bottom - top;
            if k == 0 {
                p.plan.spread(table, values, |_, b| b);
            } else {
                p.plan.spread(table, values, A::times);
            }
        }
    }
    for (v, finding) in evidence.iter() {
        let home = &tree.homes[v.index()];
        let values = &mut factor[..tree.cards[v.index()]];
        match finding {
            Finding::State(state) => {
                values.fill(A::ZERO);
                values[*state] = A::ONE;
            }
            Finding::Likelihood(likelihood) => {
                let logs = &mut ratio[..likelihood.len()];
                logs.iter_mut().zip(likelihood).for_each(|(l, x)| *l = x.ln());
                let (top, bottom) = lift::<A>(logs, values);
                log_partition += top;
                smallest[home.node] += bottom - top;
            }
        }
        home.plan.spread(&mut tables[tree.nodes[home.node].table.clone()], values, A::times);
    }
    if !(log_partition > f64::NEG_INFINITY) {
        return Outcome::Impossible;
    }

    for k in (0..tree.nodes.len()).rev() {
        let node = &tree.nodes[k];
        let (before, rest) = tables.split_at_mut(node.table.start);
        let table = &mut rest[..node.table.len()];
        if A::UNDERFLOWS && smallest[k] < LOWEST {
            lost[k] += TINY;
        }
        if node.parent == k {
            let total = A::total(table);
            if !(total > A::ZERO) {
                return if lost[k] > 0.0 { Outcome::Underflow } else { Outcome::Impossible };
            }
            if A::UNDERFLOWS && lost[k] * table.len() as f64 > NEGLIGIBLE * total {
                return Outcome::Underflow;
            }
            log_partition += A::log(total);
            table.iter_mut().for_each(|cell| *cell = A::over(*cell, total));
            continue;
        }
        let message = &mut up[node.separator.clone()];
        A::project_rows(table, message);
        let top = LogMax::total(message);
        if !(top > A::ZERO) {
            return if lost[k] > 0.0 { Outcome::Underflow } else { Outcome::Impossible };
        }
        let mut bottom = top;
        for m in message.iter_mut() {
            bottom = if *m > A::ZERO && *m < bottom { *m } else { bottom };
            *m = A::over(*m, top);
        }
        scales[k] = top;
        log_partition += A::log(top);
        smallest[node.parent] += A::log(bottom) - A::log(top);
        lost[node.parent] += lost[k] * (table.len() / message.len()) as f64 / top;
        let parent = &mut before[tree.nodes[node.parent].table.clone()];
        node.in_parent.spread(parent, message, A::times);
    }
    workspace.log_partition = log_partition;
    Outcome::Done
}

/// From the roots to the leaves. Afterwards every table and separator is a marginal.
#[inline(always)]
fn down<A: Algebra>(tree: &JunctionTree, workspace: &mut Workspace) {
    let Workspace { tables, up, separators, ratio, scales, .. } = workspace;
    for (k, node) in tree.nodes.iter().enumerate() {
        if node.parent == k {
            continue;
        }
        let (before, rest) = tables.split_at_mut(node.table.start);
        let parent = &before[tree.nodes[node.parent].table.clone()];
        let message = &mut separators[node.separator.clone()];
        let ratio = &mut ratio[..message.len()];
        A::project(&node.in_parent, parent, message, ratio);
        for ((r, &new), &old) in
            ratio.iter_mut().zip(message.iter()).zip(&up[node.separator.clone()])
        {
            *r = A::over(A::over(new, old), scales[k]);
        }
        let rows = rest[..node.table.len()].chunks_exact_mut(node.table.len() / ratio.len());
        for (row, &r) in rows.zip(ratio.iter()) {
            for cell in row {
                *cell = A::times(*cell, r);
            }
        }
    }
}

/// `values = lift(logs - max logs)`; returns the maximum and the least that is not `-inf`.
#[inline(always)]
fn lift<A: Algebra>(logs: &[f64], values: &mut [f64]) -> (f64, f64) {
    let top = LogMax::total(logs);
    let mut bottom = top;
    for &x in logs {
        bottom = if x > f64::NEG_INFINITY { -larger(-x, -bottom) } else { bottom };
    }
    let shift = if top > f64::NEG_INFINITY { top } else { 0.0 };
    values.iter_mut().zip(logs).for_each(|(v, &x)| *v = A::lift(x - shift));
    (top, if bottom > f64::NEG_INFINITY { bottom } else { top })
}
