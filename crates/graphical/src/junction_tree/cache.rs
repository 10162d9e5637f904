//! A cache of compiled trees.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Error, FactorGraph, OrderingOptions};

use super::JunctionTree;

/// A cache of compiled trees for the structures (cardinalities and scopes) that were used last. It serves many small models of
/// few structures, such as sequences of a few lengths. It can be shared between threads.
///
/// Finding a cached tree costs a pass over the scopes.
///
/// ```
/// use fenchel_graphical::{FactorGraph, OrderingOptions, VarId};
/// use fenchel_graphical::junction_tree::TreeCache;
///
/// let cache = TreeCache::new(OrderingOptions::default(), 100);
/// for length in [3, 5, 3, 5, 5] {
///     let mut model = FactorGraph::new(&vec![2; length])?;
///     for v in 1..length as u32 {
///         model.add(&[VarId(v - 1), VarId(v)], &[1.0, 0.0, 0.0, 1.0])?;
///     }
///     assert!(cache.tree(&model)?.fits(&model));
/// }
/// assert_eq!(cache.len(), 2);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
#[derive(Debug)]
pub struct TreeCache {
    options: OrderingOptions,
    capacity: usize,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    /// Trees by the hash of their structure, with the time of their last use. If two structures have the same hash, the later
    /// one is kept.
    trees: HashMap<u64, (Arc<JunctionTree>, u64)>,
    clock: u64,
}

impl TreeCache {
    /// A cache of at most `capacity` trees, and at least one. The least recently used tree is removed first.
    pub fn new(options: OrderingOptions, capacity: usize) -> Self {
        TreeCache { options, capacity: capacity.max(1), entries: Mutex::default() }
    }

    /// The tree of the model's structure. It is compiled if it is not in the cache.
    ///
    /// # Errors
    /// As [`JunctionTree::compile`].
    pub fn tree(&self, model: &FactorGraph) -> Result<Arc<JunctionTree>, Error> {
        let key = hash(model);
        if let Some(tree) = self.entries().find(key).filter(|tree| tree.fits(model)) {
            return Ok(tree);
        }
        // Not under the lock: others go on meanwhile, and may at worst compile the same.
        let tree = Arc::new(JunctionTree::compile(model, &self.options)?);
        self.entries().insert(key, Arc::clone(&tree), self.capacity);
        Ok(tree)
    }

    /// The number of trees.
    pub fn len(&self) -> usize {
        self.entries().trees.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, Entries> {
        // Whoever panicked left a whole map.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn find(&mut self, key: u64) -> Option<Arc<JunctionTree>> {
        self.clock += 1;
        let (tree, used) = self.trees.get_mut(&key)?;
        *used = self.clock;
        Some(Arc::clone(tree))
    }

    fn insert(&mut self, key: u64, tree: Arc<JunctionTree>, capacity: usize) {
        self.trees.insert(key, (tree, self.clock));
        if self.trees.len() > capacity {
            let others = self.trees.iter().filter(|(k, _)| **k != key);
            let oldest = others.min_by_key(|(_, (_, used))| *used).map(|(k, _)| *k);
            oldest.and_then(|k| self.trees.remove(&k));
        }
    }
}

fn hash(model: &FactorGraph) -> u64 {
    let mut hasher = DefaultHasher::new();
    model.cards().hash(&mut hasher);
    model.factors().iter().for_each(|factor| factor.scope().hash(&mut hasher));
    hasher.finish()
}
