//! What a grid of penalties did not reach.

/// The warning that the best of a number of falling penalties is at an end of their grid. The largest is no reason for a warning where its
/// model is empty, because larger ones have the same model.
pub fn end_of_grid(penalties: usize, best: usize, largest_is_empty: bool) -> Option<&'static str> {
    match best {
        _ if penalties < 2 || best >= penalties => None,
        0 if largest_is_empty => None,
        0 => Some("the best penalty is the largest of the grid: a larger one may be better"),
        _ if best + 1 == penalties => {
            Some("the best penalty is the smallest of the grid: a smaller one may be better")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_noticed() {
        assert!(end_of_grid(3, 2, true).is_some_and(|text| text.contains("smaller")));
        assert!(end_of_grid(3, 0, false).is_some_and(|text| text.contains("larger")));
        for (count, best, empty) in [(3, 1, false), (3, 0, true), (1, 0, false), (0, 0, false)] {
            assert_eq!(end_of_grid(count, best, empty), None);
        }
    }
}
