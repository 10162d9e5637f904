//! Exact means, by enumeration or by a junction tree of the tables that are not 0.

use fenchel_graphical::{Evidence, OrderingOptions, TreeCache, VarId};
use fenchel_optim::Refusal;

use super::Layout;
use super::enumeration::{DiscreteEnumeration, states};
use crate::{Error, Oracle};

/// The number of states up to which [`Oracle::Auto`] enumerates.
const FEW: u64 = 1 << 20;

pub(super) enum DiscreteOracle {
    Enumeration(DiscreteEnumeration),
    Tree { layout: Layout, trees: TreeCache, max_memory: Option<u64> },
}

impl DiscreteOracle {
    pub(super) fn new(
        which: Oracle,
        layout: &Layout,
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        let enumerate = match which {
            Oracle::Auto => states(layout) <= FEW,
            Oracle::Enumeration => true,
            Oracle::JunctionTree => false,
        };
        Ok(if enumerate {
            DiscreteOracle::Enumeration(DiscreteEnumeration::new(layout, max_memory)?)
        } else {
            let trees = TreeCache::new(OrderingOptions::default(), 16);
            DiscreteOracle::Tree { layout: layout.clone(), trees, max_memory }
        })
    }

    pub(super) fn log_partition(&mut self, theta: &[f64]) -> Result<f64, Error> {
        match self {
            DiscreteOracle::Enumeration(table) => table.log_partition(theta),
            DiscreteOracle::Tree { layout, trees, max_memory } => {
                let factors = layout.factor_graph(theta)?;
                let tree = trees.tree(&factors)?;
                check_size(tree.cells(), *max_memory)?;
                let mut workspace = tree.workspace();
                Ok(tree.calibrate(&factors, &Evidence::new(), &mut workspace)?.log_partition())
            }
        }
    }

    /// `log Z` and the means of the statistics. With a junction tree, the pair means of variable `i` take one
    /// calibration per state of `i`: `P(x_i = a, x_j = b) = P(x_i = a) P(x_j = b | x_i = a)`.
    pub(super) fn means(&mut self, theta: &[f64], out: &mut [f64]) -> Result<f64, Error> {
        let (layout, trees, max_memory) = match self {
            DiscreteOracle::Enumeration(table) => return table.means(theta, out),
            DiscreteOracle::Tree { layout, trees, max_memory } => (layout, trees, *max_memory),
        };
        let factors = layout.factor_graph(theta)?;
        let tree = trees.tree(&factors)?;
        check_size(tree.cells(), max_memory)?;
        let mut workspace = tree.workspace();
        let free = tree.calibrate(&factors, &Evidence::new(), &mut workspace)?;
        let log_partition = free.log_partition();
        let singles = free.marginals();
        let p = layout.variables();
        for i in 0..p {
            out[layout.field(i)].copy_from_slice(&singles[i]);
            for (a, &share) in singles[i].iter().enumerate() {
                if i + 1 == p {
                    continue;
                }
                let evidence = Evidence::new().observe(VarId(i as u32), a);
                let given = if share > 0.0 {
                    tree.calibrate(&factors, &evidence, &mut workspace)?.marginals()
                } else {
                    singles.clone()
                };
                for j in i + 1..p {
                    let card = layout.cards()[j];
                    let row = &mut out[layout.table_of(i, j)][a * card..(a + 1) * card];
                    row.iter_mut().zip(&given[j]).for_each(|(to, b)| *to = share * b);
                }
            }
        }
        Ok(log_partition)
    }
}

fn check_size(cells: usize, max_memory: Option<u64>) -> Result<(), Error> {
    let hint = "the graph is too dense for a junction tree; raise lambda or sample";
    Ok(Refusal::check_memory("the junction tree", 16 * cells as u64, max_memory, hint)?)
}
