//! Adding a batch: counts, sums and outer products, slice by slice.

use fenchel_linalg::{Gram, Invalid};
use fenchel_optim::{Clock, Wall};
use ndarray::{Array1, Array2};

use super::{Content, SliceMoments};
use crate::blocks::{Blocks, each_row, fold, rough_mean};
use crate::error::Error;

impl SliceMoments {
    pub(super) fn add(
        &mut self,
        data: &dyn Blocks,
        labels: &[u32],
        weights: Option<&[f64]>,
        content: Content,
    ) -> Result<(), Error> {
        let wall = Wall::start();
        self.check_content(content)?;
        let d = self.sums.ncols();
        Invalid::check_length("columns of the design matrix", d, data.width())?;
        if let Some(weights) = weights {
            Invalid::check_length("weights", data.count(), weights.len())?;
        }
        if data.count() == 0 {
            return Ok(());
        }
        self.weighted |= weights.is_some();
        self.content = Some(content);
        let shift = self.shift.get_or_insert_with(|| match content {
            Content::Features => rough_mean(data),
            // Scores have mean 0; sums around it are those that SADE needs.
            Content::Scores => Array1::zeros(d),
        });
        let shift = shift.to_vec();
        let h = self.counts.len();
        struct Part {
            counts: Vec<usize>,
            masses: Vec<f64>,
            /// Row after row.
            sums: Vec<f64>,
            grams: Vec<Option<Gram>>,
        }
        let make = || Part {
            counts: vec![0; h],
            masses: vec![0.0; h],
            sums: vec![0.0; h * d],
            grams: vec![None; h],
        };
        let parts = fold(data, make, |part, first, rows| {
            each_row(rows, |i, values| {
                let h = labels[first + i] as usize;
                let weight = weights.map_or(1.0, |w| w[first + i]);
                if weight == 0.0 {
                    return;
                }
                part.counts[h] += 1;
                part.masses[h] += weight;
                let row = part.grams[h].get_or_insert_with(|| Gram::new(d)).next_row();
                let root = weight.sqrt();
                for ((r, value), shift) in row.iter_mut().zip(values).zip(&shift) {
                    *r = root * (value - shift);
                }
                let sum = &mut part.sums[h * d..][..d];
                sum.iter_mut().zip(&row[..d]).for_each(|(s, r)| *s += root * r);
            });
            Ok(())
        })?;
        for part in parts {
            self.sums.iter_mut().zip(&part.sums).for_each(|(all, own)| *all += own);
            for (h, gram) in part.grams.into_iter().enumerate() {
                self.counts[h] += part.counts[h];
                self.masses[h] += part.masses[h];
                if let Some(gram) = gram {
                    let gram = Array2::from_shape_vec((d, d), gram.finish()).expect("d^2 entries");
                    self.outer[h] += &gram;
                }
            }
        }
        self.seconds += wall.seconds();
        Ok(())
    }
}
