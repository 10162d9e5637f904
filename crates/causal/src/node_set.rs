//! Sets of nodes as bits.

use std::ops::{BitAnd, BitOr, BitOrAssign, Sub};

use serde::{Deserialize, Serialize};

/// A set of nodes of one graph, each a number below [`NodeSet::CAPACITY`].
///
/// ```
/// use fenchel_causal::NodeSet;
///
/// let a = NodeSet::from_iter([0, 2, 5]);
/// let b = NodeSet::from_iter([2, 3]);
/// assert_eq!((a | b).len(), 4);
/// assert_eq!((a - b).iter().collect::<Vec<_>>(), [0, 5]);
/// assert!((a & b).contains(2));
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct NodeSet(u128);

impl NodeSet {
    /// The number of nodes that a graph may have.
    pub const CAPACITY: usize = 128;
    /// No nodes.
    pub const EMPTY: NodeSet = NodeSet(0);

    /// One node.
    ///
    /// # Panics
    /// If `node` is not below [`NodeSet::CAPACITY`].
    pub fn one(node: u32) -> NodeSet {
        assert!((node as usize) < NodeSet::CAPACITY, "node {node} is beyond the capacity of a set");
        NodeSet(1 << node)
    }

    /// The nodes `0..count`.
    ///
    /// # Panics
    /// If `count` is beyond [`NodeSet::CAPACITY`].
    pub fn first(count: usize) -> NodeSet {
        assert!(count <= NodeSet::CAPACITY, "{count} nodes are beyond the capacity of a set");
        if count == NodeSet::CAPACITY { NodeSet(u128::MAX) } else { NodeSet((1 << count) - 1) }
    }

    /// The number of nodes.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is no node.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the node is in the set; `false` for a node beyond the capacity.
    pub fn contains(self, node: u32) -> bool {
        (node as usize) < NodeSet::CAPACITY && self.0 >> node & 1 == 1
    }

    /// Whether every node of this set is in the other.
    pub fn is_subset(self, other: NodeSet) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether the two sets share a node.
    pub fn meets(self, other: NodeSet) -> bool {
        self.0 & other.0 != 0
    }

    /// The smallest node.
    pub fn smallest(self) -> Option<u32> {
        if self.is_empty() { None } else { Some(self.0.trailing_zeros()) }
    }

    /// The nodes, rising.
    pub fn iter(self) -> impl Iterator<Item = u32> + Clone {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let node = rest.trailing_zeros();
            rest &= rest - 1;
            Some(node)
        })
    }
}

impl BitOr for NodeSet {
    type Output = NodeSet;
    fn bitor(self, other: NodeSet) -> NodeSet {
        NodeSet(self.0 | other.0)
    }
}

impl BitOrAssign for NodeSet {
    fn bitor_assign(&mut self, other: NodeSet) {
        self.0 |= other.0;
    }
}

impl BitAnd for NodeSet {
    type Output = NodeSet;
    fn bitand(self, other: NodeSet) -> NodeSet {
        NodeSet(self.0 & other.0)
    }
}

impl Sub for NodeSet {
    type Output = NodeSet;
    fn sub(self, other: NodeSet) -> NodeSet {
        NodeSet(self.0 & !other.0)
    }
}

impl FromIterator<u32> for NodeSet {
    /// # Panics
    /// As [`NodeSet::one`].
    fn from_iter<I: IntoIterator<Item = u32>>(nodes: I) -> NodeSet {
        nodes.into_iter().fold(NodeSet::EMPTY, |set, node| set | NodeSet::one(node))
    }
}
