//! The choice of the number of directions, and tests of it; [`Components`] lists the rules.

use fenchel_linalg::factor::{Triangle, solve_triangular};
use fenchel_linalg::parallel::try_map;
use fenchel_linalg::special::chi_squared_tail;
use fenchel_linalg::{Cholesky, Dense, Invalid};
use fenchel_optim::random::stream;
use fenchel_optim::{MAX_MEMORY, Refusal};
use ndarray::{Array1, Array2, ArrayView2};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::blocks::{Blocks, Picked, check_memory, gather};
use crate::components::{Components, check_level};
use crate::error::Error;
use crate::fit::Ends;
use crate::reducer::Reducer;
use crate::resampling::{check_repeats, kept, resample};
use crate::response::Response;
use crate::spectrum::{Spectrum, normalised};
use crate::subspace::orthonormal;
use crate::whitening::{Whitening, mean_of, reach};

impl Components {
    /// The number of directions. `ends` is asked at every resample whether the rest is wanted.
    pub(crate) fn choose(
        &self,
        method: &dyn Reducer,
        spectrum: &Spectrum,
        data: &dyn Blocks,
        response: &Response,
        ends: Ends,
    ) -> Result<usize, Error> {
        let d = spectrum.vectors.nrows();
        let all = spectrum.most.min(d).max(1);
        let top = all.min(d.max(2) - 1);
        match *self {
            Components::Fixed(k) => {
                spectrum.check_count(method.name(), k)?;
                Ok(k)
            }
            Components::EigenGap(most) => {
                check_most(most)?;
                Ok(largest(&spectrum.values, most.min(top), |a, b| a - b))
            }
            Components::EigenRatio(most) => {
                check_most(most)?;
                let floor = 1e-3 * spectrum.values.iter().fold(0.0, |m: f64, l| m.max(l.abs()));
                Ok(largest(&spectrum.values, most.min(top), |a, b| {
                    (a + floor) / (b + floor).max(f64::MIN_POSITIVE)
                }))
            }
            Components::ChiSquare(level) => {
                check_level(level)?;
                let tests = chi_square_tests(method, spectrum)?;
                Ok(first_accepted(&tests, level).clamp(1, all))
            }
            Components::Permutation { level, repeats, seed } => {
                check_level(level)?;
                for k in 1..all {
                    let test = permuted(method, data, response, (k, repeats, seed), ends)?;
                    if test.p_value > level || ends() {
                        return Ok(k);
                    }
                }
                Ok(all)
            }
            Components::Ladle { repeats, seed } => {
                let ladle = watched_ladle(method, spectrum, data, response, (repeats, seed), ends)?;
                let best = (1..ladle.len()).min_by(|&a, &b| ladle[a].total_cmp(&ladle[b]));
                Ok(best.unwrap_or(1).clamp(1, top))
            }
        }
    }
}

fn check_most(most: usize) -> Result<(), Invalid> {
    if most > 0 {
        return Ok(());
    }
    Err(Invalid::Parameter {
        name: "largest number of directions",
        value: 0.0,
        expected: "at least 1",
    })
}

/// The `k` in `1..=most` at which `gain(|l_k|, |l_{k+1}|)` is largest.
fn largest(values: &Array1<f64>, most: usize, gain: impl Fn(f64, f64) -> f64) -> usize {
    let at = |j: usize| values.get(j).map_or(0.0, |l| l.abs());
    let mut best = (1, f64::NEG_INFINITY);
    for k in 1..=most {
        let gained = gain(at(k - 1), at(k));
        if gained > best.1 {
            best = (k, gained);
        }
    }
    best.0
}

/// One test of "there are at most `k` directions".
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DimensionTest {
    /// Directions under the hypothesis.
    pub k: usize,
    /// The statistic.
    pub statistic: f64,
    /// Degrees of freedom; 0 for a permutation test.
    pub degrees: f64,
    /// Probability of a larger statistic under the hypothesis.
    pub p_value: f64,
}

fn first_accepted(tests: &[DimensionTest], level: f64) -> usize {
    tests.iter().find(|t| t.p_value > level).map_or(tests.len(), |t| t.k)
}

/// The chi-squared tests for `k` = 0, 1, ... of a method that has them.
///
/// # Errors
/// [`Error::Refused`] for the others.
pub fn chi_square_tests(
    method: &dyn Reducer,
    spectrum: &Spectrum,
) -> Result<Vec<DimensionTest>, Error> {
    let tests: Vec<DimensionTest> = (0..spectrum.values.len())
        .map_while(|k| {
            method.tail_test(spectrum, k).map(|(statistic, degrees)| (k, statistic, degrees))
        })
        .map(|(k, statistic, degrees)| DimensionTest {
            k,
            statistic,
            degrees,
            p_value: chi_squared_tail(statistic.max(0.0), degrees),
        })
        .collect();
    if tests.is_empty() {
        let what =
            "the chi-squared test: use Components::Permutation or Components::Ladle".to_owned();
        return Err(Refusal::unsupported(method.name(), what).into());
    }
    Ok(tests)
}

/// Tests "at most `k` directions" by permutation. It takes the part of the features that is uncorrelated with the first
/// `k` indices and permutes it among the samples. The statistic is the sum of the absolute values of the remaining
/// eigenvalues.
///
/// # Errors
/// The errors of the method; [`Invalid::Parameter`] unless `repeats` is 1 to 10 million and `k` at most the number of
/// directions of the method. With all directions of `d` features nothing is left to permute: the p-value is 1.
/// [`Error::Refused`] for more than 4 GiB.
pub fn permutation_test(
    method: &dyn Reducer,
    data: &dyn Blocks,
    response: &Response,
    k: usize,
    repeats: usize,
    seed: u64,
) -> Result<DimensionTest, Error> {
    permuted(method, data, response, (k, repeats, seed), &|| false)
}

/// [`permutation_test`] of the permutations until the closure wants the end.
fn permuted(
    method: &dyn Reducer,
    data: &dyn Blocks,
    response: &Response,
    (k, repeats, seed): (usize, usize, u64),
    ends: Ends,
) -> Result<DimensionTest, Error> {
    check_repeats(repeats, 1)?;
    response.check(data.count())?;
    let spectrum = method.spectrum(data, response)?;
    let directions = spectrum.leading(k)?;
    let statistic = |s: &Spectrum| s.values.iter().skip(k).map(|l| l.abs()).sum::<f64>();
    let observed = statistic(&spectrum);
    let whitening = Whitening::of(data, MAX_MEMORY)?;
    // The data, what is kept, the rest, and a shuffled copy on every core.
    check_memory("a permutation test", data, (8, 0), MAX_MEMORY)?;
    let x = gather(data);
    let (kept, rest) = split(x.view(), &whitening, directions)?;
    let larger = try_map(0..repeats, |b| {
        if ends() {
            return Ok(None);
        }
        let mut order: Vec<usize> = (0..data.count()).collect();
        order.shuffle(&mut stream(seed, b as u64));
        let shuffled = &kept + &rest.select(ndarray::Axis(0), &order);
        let found = method.spectrum(&Dense::new(shuffled.view())?, response)?;
        Ok::<_, Error>(Some(statistic(&found) >= observed))
    })?;
    let done: Vec<bool> = larger.into_iter().flatten().collect();
    let larger = done.iter().filter(|larger| **larger).count();
    let p_value = (1 + larger) as f64 / (1 + done.len()) as f64;
    Ok(DimensionTest { k, statistic: observed, degrees: 0.0, p_value })
}

/// Splits `x` into the part that its first indices predict linearly, and the residual.
fn split(
    x: ArrayView2<f64>,
    whitening: &Whitening,
    directions: ArrayView2<f64>,
) -> Result<(Array2<f64>, Array2<f64>), Error> {
    let centred = &x - &whitening.mean;
    if directions.ncols() == 0 {
        let mean = Array2::zeros(x.dim()) + &whitening.mean;
        return Ok((mean, centred));
    }
    // With Q orthonormal in the metric of the covariance, the prediction is Sigma Q Q' (x - mean).
    let inverse = solve_triangular(
        Cholesky::new(directions.t().dot(&whitening.covariance).dot(&directions).view())?.lower(),
        Triangle::Lower,
        directions.t(),
    )?;
    let q = inverse.t();
    let predicted = centred.dot(&q).dot(&q.t().dot(&whitening.covariance));
    let rest = &centred - &predicted;
    Ok((predicted + &whitening.mean, rest))
}

/// The ladle estimator of Luo and Li (2016). For `k` = 0, 1, ... it adds the bootstrap variability of the first `k`
/// directions and the share of the next eigenvalue. The `k` with the smallest sum is the estimate. Degenerate resamples
/// are left out.
///
/// # Errors
/// [`Invalid::Parameter`] unless `repeats` is 1 to 10 million; [`Invalid::Length`] for a spectrum of other features;
/// [`Error::TooFewResamples`] if less than half of them can be fitted.
pub fn ladle(
    method: &dyn Reducer,
    spectrum: &Spectrum,
    data: &dyn Blocks,
    response: &Response,
    repeats: usize,
    seed: u64,
) -> Result<Vec<f64>, Error> {
    watched_ladle(method, spectrum, data, response, (repeats, seed), &|| false)
}

/// [`ladle`] of the resamples until the closure wants the end.
fn watched_ladle(
    method: &dyn Reducer,
    spectrum: &Spectrum,
    data: &dyn Blocks,
    response: &Response,
    (repeats, seed): (usize, u64),
    ends: Ends,
) -> Result<Vec<f64>, Error> {
    check_repeats(repeats, 1)?;
    response.check(data.count())?;
    let (n, d) = (data.count(), data.width());
    if d < 2 {
        // There is nothing to choose: the share of no direction is all.
        let found = spectrum.values.iter().map(|l| l.abs()).sum::<f64>();
        return Ok(vec![found / (1.0 + found)]);
    }
    // Among many features the variability is flat; the paper stops at d / ln d.
    let most = if d > 10 { (d as f64 / (d as f64).ln()) as usize } else { d - 1 };
    let most = most.min(spectrum.most);
    Invalid::check_length("rows of the directions", d, spectrum.vectors.nrows())?;
    // In units of how far each feature goes: directions of features in units of their own are all but parallel.
    let far = reach(data, &mean_of(data)?)?.mapv(|v| if v > 0.0 { v } else { 1.0 });
    let far = far.insert_axis(ndarray::Axis(1));
    let bases =
        |spectrum: &Spectrum| orthonormal(normalised(&spectrum.leading(most)? * &far).view());
    let base = bases(spectrum)?;
    let rows = try_map(0..repeats, |b| {
        // The first one is done in any case, so that there is an answer.
        if ends() && b > 0 {
            return Ok(None);
        }
        let index = resample(n, seed, b);
        let found = || -> Result<_, Error> {
            let found =
                method.spectrum(&Picked { data, index: &index }, &response.pick(&index)?)?;
            let inner = base.t().dot(&bases(&found)?);
            Ok((1..=most).map(|k| 1.0 - determinant(&inner, k).abs()).collect::<Vec<_>>())
        };
        Ok::<_, Error>(Some(found()))
    })?;
    let (rows, _) = kept(rows.into_iter().flatten().collect(), 1)?;
    let repeats = rows.len();
    let mut variability = vec![0.0; most + 1];
    for row in rows {
        variability[1..].iter_mut().zip(row).for_each(|(v, r)| *v += r / repeats as f64);
    }
    let scale = 1.0 + variability.iter().sum::<f64>();
    let values: Vec<f64> = spectrum.values.iter().take(most + 1).map(|l| l.abs()).collect();
    let total = 1.0 + values.iter().sum::<f64>();
    let next = |k: usize| values.get(k).copied().unwrap_or(0.0) / total;
    Ok((0..=most).map(|k| variability[k] / scale + next(k)).collect())
}

/// The determinant of the leading `n x n` block, by elimination with row pivots. `n` is a number of directions, so the
/// matrices are small.
fn determinant(a: &Array2<f64>, n: usize) -> f64 {
    let mut a = a.clone();
    let mut product = 1.0;
    for j in 0..n {
        let pivot = (j..n).fold(j, |p, i| if a[[i, j]].abs() > a[[p, j]].abs() { i } else { p });
        if a[[pivot, j]] == 0.0 {
            return 0.0;
        }
        if pivot != j {
            (0..n).for_each(|c| a.swap([j, c], [pivot, c]));
            product = -product;
        }
        product *= a[[j, j]];
        for i in j + 1..n {
            let factor = a[[i, j]] / a[[j, j]];
            (j..n).for_each(|c| a[[i, c]] -= factor * a[[j, c]]);
        }
    }
    product
}
