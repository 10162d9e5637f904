//! Ratings of items by users.

use fenchel_linalg::Invalid;
use fenchel_optim::{MAX_MEMORY, Refusal};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Ratings, by user and by item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Lists")]
pub struct Ratings {
    users: usize,
    items: usize,
    by_user: Vec<Vec<(u32, f64)>>,
    by_item: Vec<Vec<(u32, f64)>>,
    count: usize,
}

impl Ratings {
    /// From `(user, item, rating)`, counted from 0.
    ///
    /// # Errors
    /// [`Invalid`] for users or items out of range, ratings that are not finite, and pairs that occur twice; [`Error::Refused`] for so many
    /// users and items that the lists need more than 4 GiB.
    pub fn new(
        users: usize,
        items: usize,
        ratings: impl IntoIterator<Item = (u32, u32, f64)>,
    ) -> Result<Ratings, Error> {
        let lists = (users as u64).saturating_add(items as u64);
        let bytes = lists.saturating_mul(size_of::<Vec<(u32, f64)>>() as u64);
        let hint = "count users and items from 0 without gaps";
        Refusal::check_memory("the lists of ratings", bytes, MAX_MEMORY, hint)?;
        let mut by_user = vec![Vec::new(); users];
        let mut by_item = vec![Vec::new(); items];
        let mut count = 0;
        for (row, (user, item, value)) in ratings.into_iter().enumerate() {
            if user as usize >= users || item as usize >= items {
                let reason = format!(
                    "user {user}, item {item} in row {row}; expected below {users}, {items}"
                );
                return Err(Invalid::Layout { what: "ratings", reason }.into());
            }
            if !value.is_finite() {
                return Err(Invalid::NonFinite { what: "ratings", row, column: 2, value }.into());
            }
            by_user[user as usize].push((item, value));
            by_item[item as usize].push((user, value));
            count += 1;
        }
        for (user, list) in by_user.iter_mut().enumerate() {
            list.sort_unstable_by_key(|r| r.0);
            if let Some(pair) = list.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let reason = format!("user {user} rates item {} twice", pair[0].0);
                return Err(Invalid::Layout { what: "ratings", reason }.into());
            }
        }
        by_item.iter_mut().for_each(|list| list.sort_unstable_by_key(|r| r.0));
        if count == 0 {
            return Err(Invalid::Empty { what: "ratings" }.into());
        }
        Ok(Ratings { users, items, by_user, by_item, count })
    }

    /// Number of users.
    pub fn users(&self) -> usize {
        self.users
    }

    /// Number of items.
    pub fn items(&self) -> usize {
        self.items
    }

    /// Number of ratings.
    pub fn count(&self) -> usize {
        self.count
    }

    /// `(item, rating)` of a user, items ascending; nothing for a user that does not exist.
    pub fn of_user(&self, user: usize) -> &[(u32, f64)] {
        self.by_user.get(user).map_or(&[], Vec::as_slice)
    }

    /// `(user, rating)` of an item, users ascending.
    pub fn of_item(&self, item: usize) -> &[(u32, f64)] {
        self.by_item.get(item).map_or(&[], Vec::as_slice)
    }

    /// All ratings, user by user.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, f64)> {
        (0..).zip(&self.by_user).flat_map(|(u, list)| list.iter().map(move |&(i, r)| (u, i, r)))
    }

    /// Mean rating.
    pub fn mean(&self) -> f64 {
        self.iter().map(|r| r.2).sum::<f64>() / self.count as f64
    }

    /// Smallest and largest rating.
    pub fn range(&self) -> (f64, f64) {
        self.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), r| (a.min(r.2), b.max(r.2)))
    }

    /// Mean rating of every item; the mean of all for items without any.
    pub fn item_means(&self) -> Vec<f64> {
        let mean = self.mean();
        let of = |list: &Vec<(u32, f64)>| {
            if list.is_empty() {
                mean
            } else {
                list.iter().map(|r| r.1).sum::<f64>() / list.len() as f64
            }
        };
        self.by_item.iter().map(of).collect()
    }
}

/// Unchecked ratings from a file.
#[derive(Deserialize)]
struct Lists {
    users: usize,
    items: usize,
    by_user: Vec<Vec<(u32, f64)>>,
    by_item: Vec<Vec<(u32, f64)>>,
    count: usize,
}

impl TryFrom<Lists> for Ratings {
    type Error = String;

    fn try_from(lists: Lists) -> Result<Self, String> {
        let Lists { users, items, by_user, by_item, count } = lists;
        if by_user.len() != users || by_item.len() != items {
            return Err(format!("expected lists of {users} users and {items} items"));
        }
        let all =
            (0..).zip(&by_user).flat_map(|(u, list)| list.iter().map(move |&(i, r)| (u, i, r)));
        let ratings = Ratings::new(users, items, all).map_err(|e| e.to_string())?;
        if ratings.by_user != by_user || ratings.by_item != by_item || ratings.count != count {
            return Err("the ratings by user, by item and their number must be the same".into());
        }
        Ok(ratings)
    }
}
