//! Item fields whose means depend on attributes of the user, such as age, gender or occupation.
//!
//! ```text
//! r_u | a_u  ~  N(mu + B a_u, Theta^-1)
//!
//! B_i = argmin_b  sum_(u rated i) (r_ui - m_i - b . (a_u - c_i))^2 + ridge ||b||^2
//! ```
//!
//! Here `r_ui` is the rating of item `i` by user `u`, `a_u` are the user's attributes, and `B_i` is row `i` of `B`.
//! `m_i` and `c_i` are the means of the ratings and of the attributes over the users who rated item `i`, so the
//! regression does not change the mean of an item. The graph and `Theta` are those of the [item field](super) that is
//! fitted to the residual ratings `r_ui - B_i . a_u`. Given `B`, conditioning on known ratings is exact, because the
//! attributes change only the means. There is one regression with `d` coefficients per item, so the cost is O(ratings
//! d^2 + items d^3).
//!
//! Source: A. Defazio, PhD thesis 2014, section 9.10.2.

use fenchel_linalg::factor;
use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::model::Saved;
use fenchel_optim::settings;
use ndarray::{Array1, Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use super::{ItemField, ItemFieldModel, Ratings};
use crate::error::Error;
use crate::select::each;

settings! {
    /// A recommender that also uses attributes of the users.
    ///
    /// ```
    /// use fenchel_ggm::item_field::{AttributeField, Ratings};
    /// use ndarray::array;
    ///
    /// // Users with the attribute like the first item, the others do not.
    /// let ratings = [(0, 0, 5.0), (1, 0, 1.0), (2, 0, 5.0), (3, 0, 1.0), (0, 1, 3.0), (1, 1, 3.5)];
    /// let ratings = Ratings::new(4, 2, ratings)?;
    /// let attributes = array![[1.0], [0.0], [1.0], [0.0]];
    /// let model = AttributeField { ridge: 0.1, ..AttributeField::default() }.fit(&ratings, &attributes)?;
    /// // Of somebody who rated nothing.
    /// assert!(model.predict(&[1.0], &[])?[0] > model.predict(&[0.0], &[])?[0] + 3.0);
    /// # Ok::<(), fenchel_ggm::Error>(())
    /// ```
    pub struct AttributeField {
        /// How the graph and its weights are learned.
        field: ItemField = ItemField::default(),
        /// The ridge penalty, `> 0`; it halves a coefficient if the squared deviations of its attribute, summed over the
        /// item's raters, equal it.
        ridge: f64 = 10.0,
    }
}

/// A trained item field with attributes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttributeFieldModel {
    /// `B`, `items x d`.
    pub effects: Array2<f64>,
    /// The item field of the residual ratings.
    pub rest: ItemFieldModel,
    /// Smallest and largest rating.
    pub range: (f64, f64),
}

impl AttributeField {
    /// Learns effects, graph and weights. `attributes` has one row per user.
    ///
    /// # Errors
    /// [`Invalid`] for attributes of another number of users or not finite and for settings out of range; errors of the training.
    pub fn fit<A: AsDesign + ?Sized>(
        &self,
        ratings: &Ratings,
        attributes: &A,
    ) -> Result<AttributeFieldModel, Error> {
        let attributes = attributes.as_design()?;
        Invalid::check_length("rows of the attributes", ratings.users(), attributes.rows())?;
        Invalid::check_positive("ridge", self.ridge)?;
        let d = attributes.columns();
        let mut rows = Array2::zeros((ratings.users(), d));
        for (u, mut row) in rows.rows_mut().into_iter().enumerate() {
            attributes.row_axpy(u, 1.0, row.as_slice_mut().expect("standard layout"));
        }
        let mut effects = Array2::zeros((ratings.items(), d));
        let found = each(ratings.items(), |item| self.effect(ratings.of_item(item), &rows))?;
        for (mut row, effect) in effects.rows_mut().into_iter().zip(found) {
            row.assign(&effect);
        }
        let shift = |user: u32, item: u32| effects.row(item as usize).dot(&rows.row(user as usize));
        let left = ratings.iter().map(|(user, item, r)| (user, item, r - shift(user, item)));
        let left = Ratings::new(ratings.users(), ratings.items(), left)?;
        let graph = self.field.graph(&left)?;
        // What is left has no bounds; those of the ratings hold for sums.
        let rest = self.field.train(&graph, (f64::MIN, f64::MAX))?;
        Ok(AttributeFieldModel { effects, rest, range: ratings.range() })
    }

    /// The ridge regression of one item's ratings.
    fn effect(&self, list: &[(u32, f64)], rows: &Array2<f64>) -> Result<Array1<f64>, Error> {
        let d = rows.ncols();
        if list.len() < 2 || d == 0 {
            return Ok(Array1::zeros(d));
        }
        let n = list.len() as f64;
        let mean = list.iter().map(|r| r.1 / n).sum::<f64>();
        let mut centre = Array1::zeros(d);
        list.iter().for_each(|r| centre.scaled_add(1.0 / n, &rows.row(r.0 as usize)));
        let mut gram = Array2::from_diag(&Array1::from_elem(d, self.ridge));
        let mut right = Array1::zeros(d);
        for &(user, r) in list {
            let a = &rows.row(user as usize) - &centre;
            for i in 0..d {
                right[i] += a[i] * (r - mean);
                for j in 0..d {
                    gram[[i, j]] += a[i] * a[j];
                }
            }
        }
        Ok(factor::cholesky(gram.view())?.solve(right.view())?)
    }
}

impl AttributeFieldModel {
    /// As [`ItemFieldModel::predict`], for a user with these attributes.
    ///
    /// # Errors
    /// As there, and [`Invalid`] for a wrong number of attributes or ones that are not finite.
    pub fn predict<'a>(
        &self,
        attributes: impl Into<ArrayView1<'a, f64>>,
        known: &[(u32, f64)],
    ) -> Result<Vec<f64>, Error> {
        let attributes = attributes.into();
        Invalid::check_length("attributes", self.effects.ncols(), attributes.len())?;
        Invalid::check_finite("attributes", &attributes.to_vec())?;
        let shift = self.effects.dot(&attributes);
        let moved: Vec<(u32, f64)> = known
            .iter()
            .map(|&(i, r)| (i, r - shift.get(i as usize).copied().unwrap_or(0.0)))
            .collect();
        let mut found = self.rest.predict(&moved)?;
        for (r, s) in found.iter_mut().zip(&shift) {
            *r = (*r + s).clamp(self.range.0, self.range.1);
        }
        known.iter().for_each(|&(i, r)| found[i as usize] = r);
        Ok(found)
    }
}

impl Saved for AttributeFieldModel {
    const KIND: &'static str = "item field with attributes";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        let items = self.rest.means.len();
        if self.effects.nrows() != items {
            return Err(format!("{} rows of effects for {items} items", self.effects.nrows()));
        }
        if !self.effects.iter().all(|e| e.is_finite()) || !(self.range.0 <= self.range.1) {
            return Err("effects must be finite and the range in order".into());
        }
        self.rest.check()
    }
}
