//! The Nystrom method: finite features whose inner products approximate a kernel, from a subset of the points.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use super::{check_entries, symmetric_eigen};
use crate::Invalid;

/// Number of rows whose kernel values are in memory at the same time.
const BLOCK: usize = 256;

/// The feature map `Phi(x) = L^(-1/2) V' k(x)`, where `k(x)_i = kernel(z_i, x)` for `m` landmarks `z_i`, and `L` and `V` are
/// the eigenvalues and eigenvectors of the kernel matrix of the landmarks.
///
/// `Phi(x).Phi(y)` is the best approximation of `kernel(x, y)` in the span of the landmarks. It is exact at the landmarks, and
/// `Phi(x).Phi(x)` is never above `kernel(x, x)`.
///
/// Source: Williams and Seeger, *Using the Nystrom method to speed up kernel machines* (2001). The construction costs `m^2`
/// kernel values and about `9 m^3` operations. The features of `n` points cost `n m` kernel values and `n m rank` operations.
///
/// ```
/// use fenchel_linalg::factor::Nystrom;
/// use ndarray::{ArrayView1, array};
///
/// let laplacian = |a: ArrayView1<f64>, b: ArrayView1<f64>| (-(&a - &b).mapv(f64::abs).sum()).exp();
/// let map = Nystrom::new(array![[0.0], [1.0], [1.0]], laplacian)?;
/// assert_eq!(map.rank(), 2); // a landmark that is there twice adds nothing
/// let phi = map.features(array![[0.0], [1.0]].view())?;
/// assert!((phi.row(0).dot(&phi.row(1)) - (-1.0_f64).exp()).abs() < 1e-14);
/// # Ok::<(), fenchel_linalg::Invalid>(())
/// ```
#[derive(Debug, Clone)]
pub struct Nystrom<K> {
    landmarks: Array2<f64>,
    kernel: K,
    /// `V L^(-1/2)`, `m x rank`.
    map: Array2<f64>,
}

impl<K: Fn(ArrayView1<f64>, ArrayView1<f64>) -> f64> Nystrom<K> {
    /// Directions whose eigenvalue is below this fraction of the largest are dropped. They come from repeated landmarks.
    pub const DROPPED: f64 = 1e-10;

    /// Builds the feature map of a positive semidefinite kernel. Each row of `landmarks` is one landmark.
    ///
    /// # Errors
    /// [`Invalid::Empty`] and [`Invalid::NonFinite`] for the landmarks, and the errors of [`symmetric_eigen`] for the kernel
    /// matrix. [`Invalid::NotPositiveDefinite`] if an eigenvalue of the kernel matrix is below
    /// `-sqrt(DROPPED)` = -1e-5 times the largest.
    pub fn new(landmarks: Array2<f64>, kernel: K) -> Result<Self, Invalid> {
        check_entries("landmarks", landmarks.view())?;
        let m = landmarks.nrows();
        let values =
            Array2::from_shape_fn((m, m), |(i, j)| kernel(landmarks.row(i), landmarks.row(j)));
        let eigen = symmetric_eigen(values.view())?;
        let largest = eigen.values[m - 1];
        let least = eigen.values[0];
        if !(largest > 0.0) || least < -Self::DROPPED.sqrt() * largest {
            let what = "kernel matrix of the landmarks";
            return Err(Invalid::NotPositiveDefinite { what, pivot: 0, value: least });
        }
        let kept: Vec<usize> =
            (0..m).filter(|&j| eigen.values[j] > Self::DROPPED * largest).rev().collect();
        let mut map = eigen.vectors.select(Axis(1), &kept);
        for (mut column, &j) in map.columns_mut().into_iter().zip(&kept) {
            column /= eigen.values[j].sqrt();
        }
        Ok(Nystrom { landmarks, kernel, map })
    }

    /// The number of features.
    pub fn rank(&self) -> usize {
        self.map.ncols()
    }

    /// Computes the features of points (one per row): an `n x rank` matrix, whose columns have descending eigenvalues.
    ///
    /// # Errors
    /// [`Invalid::Length`] for points of another dimension than the landmarks'; [`Invalid::Empty`], [`Invalid::NonFinite`].
    pub fn features(&self, points: ArrayView2<f64>) -> Result<Array2<f64>, Invalid> {
        Invalid::check_length("columns of the points", self.landmarks.ncols(), points.ncols())?;
        check_entries("points", points)?;
        let (n, m) = (points.nrows(), self.landmarks.nrows());
        let mut features = Array2::zeros((n, self.rank()));
        let chunks = features.axis_chunks_iter_mut(Axis(0), BLOCK);
        for (mut out, points) in chunks.zip(points.axis_chunks_iter(Axis(0), BLOCK)) {
            let values = Array2::from_shape_fn((points.nrows(), m), |(i, j)| {
                (self.kernel)(self.landmarks.row(j), points.row(i))
            });
            out.assign(&values.dot(&self.map));
        }
        Ok(features)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(n: usize) -> Array2<f64> {
        Array2::from_shape_fn((n, 3), |(i, j)| ((i * 3 + j) as f64 * 1.618).sin())
    }

    fn gaussian(a: ArrayView1<f64>, b: ArrayView1<f64>) -> f64 {
        (-0.5 * (&a - &b).mapv(|v| v * v).sum()).exp()
    }

    #[test]
    fn all_points_as_landmarks_give_the_kernel_back() {
        let x = points(40);
        let map = Nystrom::new(x.clone(), |a: ArrayView1<f64>, b: ArrayView1<f64>| {
            (-(&a - &b).mapv(f64::abs).sum()).exp()
        });
        let phi = map.unwrap().features(x.view()).unwrap();
        for i in 0..40 {
            for j in 0..40 {
                let exact = (-(&x.row(i) - &x.row(j)).mapv(f64::abs).sum()).exp();
                assert!((phi.row(i).dot(&phi.row(j)) - exact).abs() <= 1e-12, "{i} {j}");
            }
        }
    }

    /// The remainder `K - Phi Phi'` is positive semidefinite, and vanishes at the landmarks. More points than a block.
    #[test]
    fn some_points_leave_a_positive_remainder() {
        let x = points(300);
        let map = Nystrom::new(x.select(Axis(0), &(0..12).collect::<Vec<_>>()), gaussian).unwrap();
        let phi = map.features(x.view()).unwrap();
        let rest = Array2::from_shape_fn((300, 300), |(i, j)| {
            gaussian(x.row(i), x.row(j)) - phi.row(i).dot(&phi.row(j))
        });
        assert!((0..12).all(|i| rest[[i, i]].abs() <= 1e-8));
        let symmetric = (&rest + &rest.t()) / 2.0;
        let least = symmetric_eigen(symmetric.view()).unwrap().values[0];
        assert!(least >= -1e-8, "{least}");
        assert!(rest.diag().iter().any(|&v| v > 1e-3), "twelve landmarks are not enough");
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        let minus = |a: ArrayView1<f64>, b: ArrayView1<f64>| -gaussian(a, b);
        let error = Nystrom::new(points(5), minus).err().unwrap();
        assert!(matches!(error, Invalid::NotPositiveDefinite { .. }), "{error}");
        let distance = |a: ArrayView1<f64>, b: ArrayView1<f64>| (&a - &b).mapv(f64::abs).sum();
        assert!(Nystrom::new(points(5), distance).is_err());
        assert!(Nystrom::new(Array2::zeros((0, 3)), gaussian).is_err());
        let map = Nystrom::new(points(5), gaussian).unwrap();
        assert!(map.features(Array2::zeros((2, 4)).view()).is_err());
        assert!(map.features(Array2::from_elem((2, 3), f64::NAN).view()).is_err());
    }
}
