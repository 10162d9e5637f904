//! The data of a fit, prepared once for every `lambda`.

use fenchel_linalg::factor::{Triangle, solve_triangular};
use fenchel_optim::Refusal;
use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::norm::KSupport;
use super::reduced::Reduced;
use super::settings::DirectSade;
use crate::blocks::Blocks;
use crate::error::Error;
use crate::matching::bumps::{kernel, squares};
use crate::response::Response;
use crate::slicing::Slices;

/// The data of a fit.
pub(super) struct Setting {
    pub(super) reduced: Reduced,
    /// `C_a^{-1} T'`, `m x (H d)`, and `theta0`.
    pub(super) lift: Array2<f64>,
    pub(super) theta0: Array1<f64>,
    /// The features in the coordinates of the basis. `back` maps directions from there to the coordinates of the data.
    pub(super) x: Array2<f64>,
    pub(super) back: Option<Array2<f64>>,
    pub(super) centres: Array2<f64>,
    pub(super) bandwidth: f64,
    pub(super) slices: Slices,
}

impl DirectSade {
    pub(super) fn prepare(&self, data: &dyn Blocks, response: &Response) -> Result<Setting, Error> {
        self.stop.check()?;
        let slices = response.slices(self.slicing, self.components.hint())?;
        let (d, h) = (data.width(), slices.len());
        let size = (d as u64).saturating_mul(h as u64);
        let needed = size.saturating_mul(size.saturating_add(1000)).saturating_mul(32);
        let hint = "use fewer slices";
        Refusal::check_memory("the direct method", needed, self.score.max_memory, hint)?;
        let prepared = self.score.prepare(data)?;
        let (mut t, mut a0) = slice_means(
            prepared.x.view(),
            prepared.centres.view(),
            prepared.bandwidth,
            self.score.offset,
            &slices,
        );
        if self.centre {
            let n = slices.labels().len() as f64;
            let roots: Vec<f64> = slices.counts().iter().map(|&c| (c as f64 / n).sqrt()).collect();
            let m = t.ncols();
            let mut mean = Array2::<f64>::zeros((d, m));
            let mut mean0 = Array1::<f64>::zeros(d);
            for h in 0..roots.len() {
                for i in 0..d {
                    mean.row_mut(i).scaled_add(roots[h], &t.row(h * d + i));
                    mean0[i] += roots[h] * a0[h * d + i];
                }
            }
            for h in 0..roots.len() {
                for i in 0..d {
                    t.row_mut(h * d + i).scaled_add(-roots[h], &mean.row(i));
                    a0[h * d + i] -= roots[h] * mean0[i];
                }
            }
        }
        let half = solve_triangular(prepared.factor.lower(), Triangle::Lower, t.t())?;
        let m = half.t().dot(&half);
        let lift = solve_triangular(prepared.factor.lower().t(), Triangle::Upper, half.view())?;
        let t0 = &a0 + &t.dot(&prepared.theta);
        Ok(Setting {
            reduced: Reduced {
                d,
                h,
                t0,
                m: (&m + &m.t()) * 0.5,
                norm: KSupport(self.support.min(d.min(h))),
            },
            lift,
            theta0: prepared.theta,
            x: prepared.x,
            back: prepared.whitening.map(|w| w.back().to_owned()),
            centres: prepared.centres,
            bandwidth: prepared.bandwidth,
            slices,
        })
    }
}

impl Setting {
    /// What the directions need, in the coordinates of the basis.
    pub(super) fn in_basis(&self) -> Setting {
        Setting {
            reduced: Reduced { m: Array2::zeros((0, 0)), ..self.reduced.clone() },
            lift: Array2::zeros((0, 0)),
            theta0: self.theta0.clone(),
            x: self.x.clone(),
            back: None,
            centres: self.centres.clone(),
            bandwidth: self.bandwidth,
            slices: self.slices.clone(),
        }
    }
}

/// `T` (`H d x m`, slice-major) and `a0`: `vec A = a0 + T theta`.
///
/// Block `h`, column `j`: `-(sqrt(p_h) / (h^2 c_h)) sum_{i in h} k_ij (x_i - z_j)`.
fn slice_means(
    x: ArrayView2<f64>,
    centres: ArrayView2<f64>,
    bandwidth: f64,
    offset: bool,
    slices: &Slices,
) -> (Array2<f64>, Array1<f64>) {
    let ((n, d), m) = (x.dim(), centres.nrows());
    let h2 = bandwidth * bandwidth;
    let zz = squares(centres);
    let mut t = Array2::zeros((slices.len() * d, m));
    let mut a0 = Array1::zeros(slices.len() * d);
    for (h, members) in slices.members().into_iter().enumerate() {
        let c = members.len() as f64;
        let scale = (c / n as f64).sqrt() / c;
        let rows = x.select(Axis(0), &members);
        let k = kernel(rows.view(), centres, zz.view(), bandwidth);
        let sums = k.sum_axis(Axis(0));
        let mut block = rows.t().dot(&k);
        block -= &(&centres.t() * &sums);
        block *= -scale / h2;
        for i in 0..d {
            t.row_mut(h * d + i).assign(&block.row(i));
            if offset {
                a0[h * d + i] = scale * rows.column(i).sum();
            }
        }
    }
    (t, a0)
}
