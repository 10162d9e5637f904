//! Some rows of a design.

/// Rows of a design, in an order: [`subset`](super::Design::subset) makes it, and [`part`](super::Design::part) shows them.
#[derive(Debug, Clone)]
pub struct Subset {
    /// Numbers of rows in the matrix that is viewed.
    at: Vec<usize>,
    stored: usize,
}

impl Subset {
    pub(super) fn new(at: Vec<usize>, stored: usize) -> Self {
        Subset { at, stored }
    }

    pub(super) fn rows(&self) -> usize {
        self.at.len()
    }

    pub(super) fn stored(&self) -> usize {
        self.stored
    }

    #[inline(always)]
    pub(super) fn stored_at(subset: Option<&Self>, i: usize) -> usize {
        subset.map_or(i, |subset| subset.at[i])
    }
}
