//! Compilation of an elimination order to a tree of cliques.

use fenchel_optim::Refusal;

use crate::elimination::Elimination;
use crate::stride::{Plan, cells};
use crate::{Error, FactorGraph, FactorId, VarId};

use super::{Dimension, Home, JunctionTree, Node, Placed, Reading, Turn};

/// A clique before the tree is built: its variables in the order of elimination, and the number of separator variables.
struct Clique {
    scope: Vec<Dimension>,
    shared: usize,
    /// The clique that eliminates the first variable of the separator.
    parent: usize,
    cells: usize,
}

impl Clique {
    fn separator(&self) -> &[Dimension] {
        &self.scope[self.scope.len() - self.shared..]
    }
}

pub(super) fn compile(
    model: &FactorGraph,
    elimination: &Elimination,
    max_memory: Option<u64>,
) -> Result<JunctionTree, Error> {
    let mut cliques = maximal(model, elimination, max_memory)?;
    attach_low(&mut cliques);
    let children = children(&cliques);
    let preorder = preorder(&cliques, &children);
    let mut place = vec![0; cliques.len()];
    for (k, &clique) in preorder.iter().enumerate() {
        place[clique] = k;
    }

    let mut nodes: Vec<Node> = Vec::with_capacity(cliques.len());
    let (mut clique_cells, mut separator_cells) = (0, 0);
    let mut scratch = model.cards().iter().copied().max().unwrap_or(0);
    for (k, &clique) in preorder.iter().enumerate() {
        let is_root = cliques[clique].shared == 0;
        let parent = if is_root { k } else { place[cliques[clique].parent] };
        let above = if is_root { None } else { Some(nodes[parent].scope.as_slice()) };
        let (scope, heard) = arrange(&cliques, clique, &children[clique], above);
        let Clique { shared, cells: size, .. } = cliques[clique];
        let inside = &scope[scope.len() - shared..];
        let separator: usize = inside.iter().map(|s| s.1).product();
        let of_separator = if is_root { 0 } else { separator };
        let turn = (heard != inside).then(|| Turn {
            up: Plan::between(&heard, inside),
            down: Plan::between(inside, &heard),
        });
        nodes.push(Node {
            in_parent: Plan::between(above.unwrap_or(&scope), &heard),
            turn,
            shared,
            parent,
            table: clique_cells..clique_cells + size,
            separator: separator_cells..separator_cells + of_separator,
            factors: 0..0,
            scope,
        });
        clique_cells += size;
        separator_cells += of_separator;
        scratch = scratch.max(of_separator);
    }
    let containing = containing(model.len(), &nodes);
    let home = |v: VarId| {
        let node = containing[v.index()].first().map_or(0, |&k| k as usize);
        let card = model.cards()[v.index()];
        Home { node, plan: Plan::between(&nodes[node].scope, &[(v, card)]) }
    };
    let homes = model.variables().map(home).collect();
    let readings = readings(model, &containing, &nodes);
    let constants: Vec<FactorId> = factor_ids(model).filter(|f| is_constant(model, *f)).collect();
    let largest_factor =
        model.factors().iter().map(|f| f.len()).chain(model.cards().iter().copied());
    let largest_factor = largest_factor.max().unwrap_or(0);
    let placed = place_factors(model, &containing, &mut nodes);
    Ok(JunctionTree {
        cards: model.cards().to_vec(),
        scopes: model.factors().iter().map(|f| f.scope().to_vec()).collect(),
        nodes,
        placed,
        constants,
        homes,
        readings,
        clique_cells,
        separator_cells,
        scratch,
        largest_factor,
    })
}

/// The maximal cliques. The clique of an eliminated variable is not maximal if and only if it equals the clique of a child
/// without the child's variable. It is then merged into that child.
fn maximal(
    model: &FactorGraph,
    elimination: &Elimination,
    max_memory: Option<u64>,
) -> Result<Vec<Clique>, Error> {
    let n = model.len();
    let mut position = vec![0_usize; n];
    for (k, &v) in elimination.order.iter().enumerate() {
        position[v as usize] = k;
    }
    // The step that eliminates a variable of the separator of step k first.
    let next = |k: usize| elimination.cliques[k][1..].iter().map(|&u| position[u as usize]).min();
    let mut absorbed_by = vec![usize::MAX; n];
    let mut node_of = vec![usize::MAX; n];
    let mut steps: Vec<(usize, usize)> = Vec::new(); // first and last step of a clique
    for k in 0..n {
        let node = if absorbed_by[k] == usize::MAX {
            steps.push((k, k));
            steps.len() - 1
        } else {
            absorbed_by[k]
        };
        node_of[k] = node;
        steps[node].1 = k;
        if let Some(p) = next(k)
            && absorbed_by[p] == usize::MAX
            && elimination.cliques[p].len() + 1 == elimination.cliques[k].len()
        {
            absorbed_by[p] = node;
        }
    }
    let mut total: u64 = 0;
    let mut cliques = Vec::with_capacity(steps.len());
    for (node, &(first, last)) in steps.iter().enumerate() {
        let mut variables = elimination.cliques[first].clone();
        variables.sort_unstable_by_key(|&v| position[v as usize]);
        let shared = elimination.cliques[last].len() - 1;
        let scope: Vec<Dimension> =
            variables.iter().map(|&v| (VarId(v), model.cards()[v as usize])).collect();
        let count = |part: &[Dimension]| cells(part.iter().map(|s| s.1));
        let bytes = count(&scope).zip(count(&scope[scope.len() - shared..])).and_then(
            |(clique, separator)| (clique as u64).checked_add(separator as u64 * 2)?.checked_mul(8),
        );
        total = bytes.and_then(|b| total.checked_add(b)).unwrap_or(u64::MAX);
        if total == u64::MAX {
            break;
        }
        let parent = next(last).map_or(node, |p| node_of[p]);
        let cells = scope.iter().map(|s| s.1).product();
        cliques.push(Clique { scope, shared, parent, cells });
    }
    let hint = "try another heuristic, more restarts, or approximate inference";
    Refusal::check_memory("the junction tree", total, max_memory, hint)?;
    Ok(cliques)
}

/// Moves a clique from its parent to a smaller sibling that contains its separator, so that its message is multiplied into
/// fewer cells. The number of cells decreases with every move, so that no cycle can arise.
fn attach_low(cliques: &mut [Clique]) {
    const CROWD: usize = 64;
    let mut children = children(cliques);
    for (parent, siblings) in children.iter_mut().enumerate() {
        siblings.sort_unstable_by_key(|&k| cliques[k].cells);
        for (at, &k) in siblings.iter().enumerate() {
            let clique = &cliques[k];
            let holds = |&&j: &&usize| {
                cliques[j].cells < cliques[parent].cells
                    && clique.separator().iter().all(|s| cliques[j].separator().contains(s))
            };
            if let Some(&j) = siblings[..at].iter().take(CROWD).find(holds) {
                cliques[k].parent = j;
            }
        }
    }
}

/// For fewer cells the order of the variables of a clique is not optimised.
const SMALL: usize = 64;

/// The order of the variables of a clique, and the separator in the order of the parent.
///
/// The separator comes last. Within the separator and within the rest, variables that belong to the separators of the same
/// children are adjacent. Then operations for a child run over long contiguous ranges. The separator may have another order
/// than in the parent; converting it costs one pass over the separator only.
fn arrange(
    cliques: &[Clique],
    clique: usize,
    children: &[usize],
    above: Option<&[Dimension]>,
) -> (Vec<Dimension>, Vec<Dimension>) {
    let Clique { scope, shared, cells, .. } = &cliques[clique];
    let (own, separator) = scope.split_at(scope.len() - shared);
    let inherited = above.unwrap_or_default().iter().filter(|s| separator.contains(s));
    let heard: Vec<Dimension> = inherited.copied().collect();
    let mut scope = [own, &heard].concat();
    if *cells >= SMALL && !children.is_empty() {
        let shares = |s: &Dimension| -> Vec<bool> {
            children.iter().map(|&child| cliques[child].separator().contains(s)).collect()
        };
        let (own, separator) = scope.split_at_mut(own.len());
        let inner = gather_alike(separator, shares, Vec::new());
        gather_alike(own, shares, inner);
    }
    (scope, heard)
}

/// Sorts variables into groups of equal `shares`, from last to first. It begins with the group that makes the longest
/// contiguous range, or the one most similar to `inner`. Each next group is the one most similar to the group before. Returns
/// the `shares` of the first group.
fn gather_alike(
    variables: &mut [Dimension],
    shares: impl Fn(&Dimension) -> Vec<bool>,
    mut inner: Vec<bool>,
) -> Vec<bool> {
    let mut groups: Vec<Group> = Vec::new();
    for variable in variables.iter() {
        let shared = shares(variable);
        match groups.iter_mut().find(|group| group.shared == shared) {
            Some(group) => group.members.push(*variable),
            None => groups.push(Group { shared, members: vec![*variable] }),
        }
    }
    let mut end = variables.len();
    while !groups.is_empty() {
        let key = |group: &Group| {
            let changes = group.shared.iter().zip(&inner).filter(|(a, b)| a != b).count();
            (changes, std::cmp::Reverse(group.members.iter().map(|s| s.1).product::<usize>()))
        };
        let next = (0..groups.len()).min_by_key(|&g| key(&groups[g])).unwrap_or(0);
        let Group { shared, members } = groups.swap_remove(next);
        variables[end - members.len()..end].copy_from_slice(&members);
        end -= members.len();
        inner = shared;
    }
    inner
}

/// Variables that belong to the same children.
struct Group {
    shared: Vec<bool>,
    members: Vec<Dimension>,
}

fn children(cliques: &[Clique]) -> Vec<Vec<usize>> {
    let mut children = vec![Vec::new(); cliques.len()];
    for (k, clique) in cliques.iter().enumerate() {
        if clique.shared > 0 {
            children[clique.parent].push(k);
        }
    }
    children
}

fn preorder(cliques: &[Clique], children: &[Vec<usize>]) -> Vec<usize> {
    let mut stack: Vec<usize> =
        (0..cliques.len()).rev().filter(|&k| cliques[k].shared == 0).collect();
    let mut order = Vec::with_capacity(cliques.len());
    while let Some(k) = stack.pop() {
        order.push(k);
        stack.extend(children[k].iter().rev().copied());
    }
    order
}

/// For every variable, the nodes that contain it, smallest first.
fn containing(variables: usize, nodes: &[Node]) -> Vec<Vec<u32>> {
    let mut containing = vec![Vec::new(); variables];
    for (k, node) in nodes.iter().enumerate() {
        node.scope.iter().for_each(|(v, _)| containing[v.index()].push(k as u32));
    }
    for list in &mut containing {
        list.sort_by_key(|&k| nodes[k as usize].table.len());
    }
    containing
}

/// For every variable, the smallest table (of a clique or a separator) that contains it.
fn readings(model: &FactorGraph, containing: &[Vec<u32>], nodes: &[Node]) -> Vec<Reading> {
    let reading = |v: VarId| {
        let own = [(v, model.cards()[v.index()])];
        let among = |&k: &u32| nodes[k as usize].parts().1.contains(&own[0]);
        let separators = containing[v.index()].iter().copied().filter(among);
        match separators.min_by_key(|&k| nodes[k as usize].separator.len()) {
            Some(k) => {
                let node = &nodes[k as usize];
                let plan = Plan::between(node.parts().1, &own);
                Reading { of_separator: true, cells: node.separator.clone(), plan }
            }
            None => {
                let node = &nodes[containing[v.index()][0] as usize];
                let plan = Plan::between(&node.scope, &own);
                Reading { of_separator: false, cells: node.table.clone(), plan }
            }
        }
    };
    model.variables().map(reading).collect()
}

/// Assigns every factor to the smallest clique that contains it. In a clique the largest factors come first.
fn place_factors(model: &FactorGraph, containing: &[Vec<u32>], nodes: &mut [Node]) -> Vec<Placed> {
    let mut of_node: Vec<Vec<FactorId>> = vec![Vec::new(); nodes.len()];
    for f in factor_ids(model) {
        let scope = model.factors()[f.index()].scope();
        let Some(rarest) = scope.iter().min_by_key(|v| containing[v.index()].len()) else {
            continue;
        };
        let holds = |&&k: &&u32| {
            let clique = &nodes[k as usize].scope;
            scope.iter().all(|v| clique.iter().any(|(w, _)| w == v))
        };
        // The family of the variable of a factor that is eliminated first contains the factor.
        if let Some(&k) = containing[rarest.index()].iter().find(holds) {
            of_node[k as usize].push(f);
        }
    }
    let mut placed = Vec::with_capacity(model.factors().len());
    for (node, mut factors) in nodes.iter_mut().zip(of_node) {
        factors.sort_by_key(|f| std::cmp::Reverse(model.factors()[f.index()].len()));
        let start = placed.len();
        placed.extend(factors.into_iter().map(|factor| {
            let plan = Plan::between(&node.scope, &model.factors()[factor.index()].dimensions());
            Placed { factor, plan }
        }));
        node.factors = start..placed.len();
    }
    placed
}

fn factor_ids(model: &FactorGraph) -> impl Iterator<Item = FactorId> + use<> {
    (0..model.factors().len() as u32).map(FactorId)
}

fn is_constant(model: &FactorGraph, factor: FactorId) -> bool {
    model.factors()[factor.index()].scope().is_empty()
}

/// An elimination order of a forest that adds no edge.
pub(super) fn leaves_first(model: &FactorGraph) -> Result<Vec<VarId>, Error> {
    if let Some(wide) = model.factors().iter().find(|f| f.scope().len() > 2) {
        return Err(Error::NotATree { variable: wide.scope()[0] });
    }
    let neighbours = model.neighbours();
    let mut degrees: Vec<usize> = neighbours.iter().map(Vec::len).collect();
    let mut gone = vec![false; model.len()];
    let mut order: Vec<VarId> = model.variables().filter(|v| degrees[v.index()] <= 1).collect();
    let mut next = 0;
    while next < order.len() {
        let v = order[next];
        gone[v.index()] = true;
        for &u in &neighbours[v.index()] {
            if !gone[u.index()] {
                degrees[u.index()] -= 1;
                if degrees[u.index()] == 1 {
                    order.push(u);
                }
            }
        }
        next += 1;
    }
    match model.variables().find(|v| !gone[v.index()]) {
        Some(variable) => Err(Error::NotATree { variable }),
        None => Ok(order),
    }
}
