//! Joint updates of several variables.

use rand::Rng;

use super::program::Program;
use crate::junction_tree::Workspace;
use crate::{Error, Evidence, FactorGraph, JunctionTree, OrderingOptions, VarId};

/// Variables that are drawn jointly, by a junction tree of these variables only.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// The variables, ascending. Their positions are the variables of `local`.
    variables: Vec<u32>,
    local: FactorGraph,
    /// For every factor of `local`, the source of its numbers.
    sources: Vec<Source>,
    tree: JunctionTree,
}

#[derive(Debug, Clone)]
struct Source {
    factor: usize,
    /// The variables outside with their strides.
    outside: Vec<(u32, usize)>,
    /// For every cell of the local table, its position in the full table when all variables outside are in state 0.
    cells: Vec<usize>,
}

/// Working memory for drawing blocks.
#[derive(Debug)]
pub(super) struct Scratch {
    local: FactorGraph,
    workspace: Workspace,
    values: Vec<f64>,
}

impl Block {
    /// `free` are the unobserved variables. Only these are drawn.
    pub(super) fn compile(
        model: &FactorGraph,
        lists: &[Vec<VarId>],
        free: &[u32],
    ) -> Result<Vec<Self>, Error> {
        let mut seen = vec![false; model.len()];
        let mut blocks = Vec::with_capacity(lists.len());
        for list in lists {
            for &variable in list {
                let Some(seen) = seen.get_mut(variable.index()) else {
                    return Err(Error::UnknownVariable { variable, variables: model.len() });
                };
                if std::mem::replace(seen, true) {
                    return Err(Error::RepeatedVariable { variable });
                }
            }
            let mut variables: Vec<u32> =
                list.iter().map(|v| v.0).filter(|v| free.binary_search(v).is_ok()).collect();
            variables.sort_unstable();
            blocks.push(Block::new(model, variables)?);
        }
        Ok(blocks)
    }

    fn new(model: &FactorGraph, variables: Vec<u32>) -> Result<Self, Error> {
        let cards: Vec<usize> = variables.iter().map(|&v| model.cards()[v as usize]).collect();
        let mut local = FactorGraph::new(&cards)?;
        let mut sources = Vec::new();
        for (factor, table) in model.factors().iter().enumerate() {
            let (mut scope, mut outside, mut cells) = (Vec::new(), Vec::new(), vec![0]);
            for (at, v) in table.scope().iter().enumerate() {
                let stride: usize = table.cards()[at + 1..].iter().product();
                match variables.binary_search(&v.0) {
                    Ok(place) => {
                        scope.push(VarId(place as u32));
                        let states = 0..table.cards()[at];
                        cells = cells
                            .into_iter()
                            .flat_map(|cell| states.clone().map(move |s| cell + s * stride))
                            .collect();
                    }
                    Err(_) => outside.push((v.0, stride)),
                }
            }
            if !scope.is_empty() {
                local.add(&scope, &vec![0.0; cells.len()])?;
                sources.push(Source { factor, outside, cells });
            }
        }
        let tree = JunctionTree::compile(&local, &OrderingOptions::default())?;
        Ok(Block { variables, local, sources, tree })
    }

    pub(super) fn scratch(&self) -> Scratch {
        Scratch { local: self.local.clone(), workspace: self.tree.workspace(), values: Vec::new() }
    }

    /// Draws all variables of the block given the others. If no configuration is possible, they do not change.
    pub(super) fn draw(
        &self,
        program: &Program,
        scratch: &mut Scratch,
        states: &mut [u32],
        random: &mut impl Rng,
    ) {
        for (k, source) in self.sources.iter().enumerate() {
            let at =
                source.outside.iter().fold(program.starts[source.factor], |at, &(v, stride)| {
                    at + states[v as usize] as usize * stride
                });
            scratch.values.clear();
            scratch.values.extend(source.cells.iter().map(|cell| program.values[at + cell]));
            scratch
                .local
                .set(crate::FactorId(k as u32), &scratch.values)
                .expect("the cells of its scope");
        }
        let calibrated =
            self.tree.calibrate(&scratch.local, &Evidence::new(), &mut scratch.workspace);
        if let Ok(calibrated) = calibrated {
            for (&v, state) in self.variables.iter().zip(calibrated.sample(random)) {
                states[v as usize] = state as u32;
            }
        }
    }
}

/// Partitions the variables into blocks whose induced graphs have no cycles. Drawing such a block jointly costs about as much
/// as drawing its variables one by one. The method is greedy: each block grows from the first variable that is not yet in a
/// block, nearest variables first. O(blocks (variables + edges)).
///
/// Source: Hamze and de Freitas, UAI 2004.
pub fn tree_blocks(model: &FactorGraph) -> Vec<Vec<VarId>> {
    let neighbours = model.neighbours();
    let n = model.len();
    let mut left: Vec<bool> = vec![true; n];
    let mut blocks = Vec::new();
    while left.contains(&true) {
        // Which tree of the block a variable belongs to.
        let mut tree: Vec<Option<usize>> = vec![None; n];
        let mut members: Vec<Vec<usize>> = Vec::new();
        let mut seen = vec![false; n];
        let mut block = Vec::new();
        for root in 0..n {
            let mut queue = vec![root];
            let mut next = 0;
            while let Some(&v) = queue.get(next) {
                next += 1;
                if !left[v] || std::mem::replace(&mut seen[v], true) {
                    continue;
                }
                let mut around: Vec<usize> =
                    neighbours[v].iter().filter_map(|w| tree[w.index()]).collect();
                let touched = around.len();
                around.sort_unstable();
                around.dedup();
                if around.len() < touched {
                    // Two neighbours in one tree: it would close a cycle.
                    continue;
                }
                let label = members.len();
                let mut all = vec![v];
                for t in around {
                    all.append(&mut members[t]);
                }
                all.iter().for_each(|&u| tree[u] = Some(label));
                members.push(all);
                block.push(VarId(v as u32));
                queue.extend(neighbours[v].iter().map(|w| w.index()));
            }
        }
        block.iter().for_each(|v| left[v.index()] = false);
        block.sort_unstable();
        blocks.push(block);
    }
    blocks
}
