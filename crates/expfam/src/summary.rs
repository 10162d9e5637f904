//! Sufficient statistics that can be streamed, merged and discounted.

use fenchel_linalg::Invalid;
use serde::{Deserialize, Serialize};

use crate::distribution::{Distribution, check_points, check_same};
use crate::error::Error;
use crate::family::{Density, Family, check_shape};

/// The sufficient statistics of a data set: its total weight and the mean of `T`, in centred coordinates.
///
/// Adding an observation costs O(dimension) and allocates nothing. Summaries of parts can be merged to the summary of
/// the whole in any order, so parts may be read in parallel. Means and variances are stored separately and updated by
/// the method of Chan, Golub and LeVeque, so a standard deviation of 1 around 10^8 keeps its digits.
///
/// ```
/// use fenchel_expfam::Summary;
/// use fenchel_expfam::families::Normal;
///
/// let mut left = Summary::of(Normal, &[1.0, 2.0])?;
/// left.merge(&Summary::of(Normal, &[3.0, 6.0])?)?;
/// let fitted = left.mle()?;
/// assert_eq!((fitted.location(), fitted.variance()), (3.0, 3.5));
/// # Ok::<(), fenchel_expfam::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked<F>", bound(deserialize = "F: Family + Deserialize<'de>"))]
pub struct Summary<F> {
    family: F,
    weight: f64,
    centred: Vec<f64>,
    /// Memory for one observation.
    #[serde(skip)]
    scratch: Vec<f64>,
}

/// Observations that are checked and summed together: while they are in the cache.
const BLOCK: usize = 1 << 14;

/// The contents of a file.
#[derive(Deserialize)]
struct Unchecked<F> {
    family: F,
    weight: f64,
    centred: Vec<f64>,
}

impl<F: Family> TryFrom<Unchecked<F>> for Summary<F> {
    type Error = Error;

    fn try_from(read: Unchecked<F>) -> Result<Self, Error> {
        Invalid::check_nonnegative("weight", read.weight)?;
        check_shape(&read.family, "centred mean", &read.centred)?;
        Ok(Summary::from_parts(read.family, read.weight, read.centred))
    }
}

impl<F: Family> Summary<F> {
    /// The summary of no observations.
    pub fn new(family: F) -> Self {
        let k = family.dimension();
        Summary { family, weight: 0.0, centred: vec![0.0; k], scratch: vec![0.0; k] }
    }

    pub(crate) fn from_parts(family: F, weight: f64, centred: Vec<f64>) -> Self {
        let scratch = vec![0.0; centred.len()];
        Summary { family, weight, centred, scratch }
    }

    /// The family.
    pub fn family(&self) -> &F {
        &self.family
    }

    /// Total weight; the number of observations where none has a weight.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The mean of `T`, or `None` before the first observation.
    pub fn mean(&self) -> Option<Vec<f64>> {
        let mut mu = vec![0.0; self.family.dimension()];
        self.family.mean_from_centred(&self.centred, &mut mu);
        (self.weight > 0.0).then_some(mu)
    }

    pub(crate) fn centred(&self) -> &[f64] {
        &self.centred
    }

    /// Adds the observations of another summary.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the fixed quantities differ: dimensions, numbers of trials, known parameters. [`Invalid::Parameter`]
    /// if the sum of the weights is not finite.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error>
    where
        F: PartialEq,
    {
        check_same(&self.family, &other.family, "the merger of summaries")?;
        Invalid::check_nonnegative("sum of the weights", self.weight + other.weight)?;
        self.add(&other.centred, other.weight);
        Ok(())
    }

    /// Adds a mean with the weight `weight`.
    pub(crate) fn add(&mut self, centred: &[f64], weight: f64) {
        if weight == 0.0 {
            return;
        }
        let total = self.weight + weight;
        if self.weight == 0.0 {
            self.centred.copy_from_slice(centred);
        } else {
            self.family.blend(&mut self.centred, weight / total, centred);
        }
        self.weight = total;
    }

    /// Moves the mean towards another by a share of the way; all of the way is exact.
    pub(crate) fn blend_centred(&mut self, other: &[f64], share: f64) {
        if share == 1.0 {
            self.centred.copy_from_slice(other);
        } else {
            self.family.blend(&mut self.centred, share, other);
        }
    }

    /// Multiplies the total weight by a factor from 0 to 1. A factor of `1 - g` before every observation forgets old
    /// data at rate `g`. If the factor is 0, or the weight underflows, the summary becomes empty.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for another factor.
    pub fn discount(&mut self, factor: f64) -> Result<(), Error> {
        if !(0.0..=1.0).contains(&factor) {
            let (name, value) = ("factor", factor);
            return Err(Invalid::Parameter { name, value, expected: "from 0 to 1" }.into());
        }
        self.weight *= factor;
        if self.weight == 0.0 {
            self.centred.fill(0.0);
        }
        Ok(())
    }

    /// The maximum likelihood estimate `grad A*(mean of T)`: the member whose mean equals the mean of the data.
    /// Reference: R. Le Priol, PhD thesis 2021, section 5.2.
    ///
    /// # Errors
    /// [`Invalid::Empty`]; [`Error::BoundaryMean`] where the likelihood has no maximum (all coins heads, all numbers equal);
    /// [`Error::Unavailable`] where the estimate is beyond the range of numbers.
    pub fn mle(&self) -> Result<Distribution<F>, Error>
    where
        F: Clone,
    {
        if !(self.weight > 0.0) {
            return Err(Invalid::Empty { what: "data" }.into());
        }
        let fitted = Distribution::from_centred(self.family.clone(), &self.centred);
        let resolved = fitted.and_then(|p| p.family().check_resolved(p.natural()).map(|()| p));
        resolved.map_err(|error| error.of_data(self.family.name()))
    }
}

impl<F: Density> Summary<F> {
    /// The summary of observations by value.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`] with the first observation outside; none is counted then.
    pub fn of(family: F, x: &[F::Point]) -> Result<Self, Error>
    where
        F::Point: Sized,
    {
        let mut summary = Summary::new(family);
        summary.observe_all(x)?;
        Ok(summary)
    }

    /// The summary of observations given by reference, for unsized points such as slices:
    /// `Summary::of_each(family, table.chunks_exact(d))`.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_each<'x>(family: F, x: impl IntoIterator<Item = &'x F::Point>) -> Result<Self, Error>
    where
        F::Point: 'x,
    {
        let mut summary = Summary::new(family);
        x.into_iter().enumerate().try_for_each(|(i, x)| summary.observe(x).map_err(|e| e.at(i)))?;
        Ok(summary)
    }

    /// The weighted summary.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`]; [`Invalid::Length`]; [`Invalid::Layout`] for a negative or non-finite weight; [`Invalid::Parameter`] for a
    /// sum of weights that is not finite.
    pub fn of_weighted<'x>(
        family: F,
        x: impl IntoIterator<Item = &'x F::Point>,
        weights: &[f64],
    ) -> Result<Self, Error>
    where
        F::Point: 'x,
    {
        Invalid::check_weights("weights", weights.len(), weights.iter())?;
        let mut summary = Summary::new(family);
        let mut seen = 0;
        for (i, x) in x.into_iter().enumerate() {
            let Some(&weight) = weights.get(i) else {
                let (expected, found) = (i + 1, weights.len());
                return Err(Invalid::Length { what: "weights", expected, found }.into());
            };
            summary.observe_weighted(x, weight).map_err(|e| e.at(i))?;
            seen += 1;
        }
        Invalid::check_length("weights", seen, weights.len())?;
        Ok(summary)
    }

    /// Adds many observations.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn observe_all(&mut self, x: &[F::Point]) -> Result<(), Error>
    where
        F::Point: Sized,
    {
        let k = self.family.dimension();
        let (mut part, mut first, mut next) = (vec![0.0; k], vec![0.0; k], vec![0.0; k]);
        // Apart from what is there, which stays as it is where an observation is outside.
        let (mut weight, mut seen) = (0.0, vec![0.0; k]);
        for (block, x) in x.chunks(BLOCK).enumerate() {
            check_points(&self.family, x).map_err(|e| e.behind(block * BLOCK))?;
            self.family.centred(&x[0], &mut first);
            // The mean of equal numbers is that number, without the rounding of their sum.
            let constant = x.iter().all(|x| {
                self.family.centred(x, &mut next);
                first == next
            });
            if constant {
                part.copy_from_slice(&first);
            } else {
                self.family.centred_mean(x, &mut part);
            }
            weight += x.len() as f64;
            if block == 0 {
                seen.copy_from_slice(&part);
            } else {
                self.family.blend(&mut seen, x.len() as f64 / weight, &part);
            }
        }
        self.add(&seen, weight);
        Ok(())
    }

    /// Adds one observation.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`].
    pub fn observe(&mut self, x: &F::Point) -> Result<(), Error> {
        self.observe_weighted(x, 1.0)
    }

    /// Adds an observation that counts `weight` times.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`]; [`Invalid::Parameter`] for a negative or non-finite weight, or sum of weights.
    pub fn observe_weighted(&mut self, x: &F::Point, weight: f64) -> Result<(), Error> {
        Invalid::check_nonnegative("weight", weight)?;
        Invalid::check_nonnegative("sum of the weights", self.weight + weight)?;
        self.family.check_point(x)?;
        self.count(x, weight);
        Ok(())
    }

    /// Removes one observation that was added before. This is not checked, because a summary does not store
    /// observations.
    ///
    /// The rounding error is relative to the state before the removal. Removing an outlier of size `s` leaves an error
    /// of about `1e-16 s^2` in the variance: for the data 1, 2 and 1e9, removing 1e9 leaves no correct digit. A summary
    /// from which outliers or very many observations were removed should be recomputed from the observations.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`]; [`Invalid::Parameter`] if less than one observation is there.
    pub fn forget(&mut self, x: &F::Point) -> Result<(), Error> {
        self.family.check_point(x)?;
        if self.weight < 1.0 {
            let expected = "at least 1 observation to forget";
            return Err(Invalid::Parameter { name: "weight", value: self.weight, expected }.into());
        }
        self.count(x, -1.0);
        if self.weight == 0.0 {
            self.centred.fill(0.0);
        }
        Ok(())
    }

    /// Moves the mean towards an observation by a share of the way.
    pub(crate) fn blend_point(&mut self, x: &F::Point, share: f64) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(self.centred.len(), 0.0);
        self.family.centred(x, &mut scratch);
        self.blend_centred(&scratch, share);
        self.scratch = scratch;
    }

    /// The update by one observation.
    pub(crate) fn count(&mut self, x: &F::Point, weight: f64) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(self.centred.len(), 0.0);
        self.family.centred(x, &mut scratch);
        if self.weight + weight == 0.0 {
            self.weight = 0.0;
        } else {
            self.add(&scratch, weight);
        }
        self.scratch = scratch;
    }
}

/// The maximum likelihood estimate of observations by value.
///
/// # Errors
/// The errors of [`Summary::of`] and [`Summary::mle`].
pub fn mle<F: Density + Clone>(family: F, x: &[F::Point]) -> Result<Distribution<F>, Error>
where
    F::Point: Sized,
{
    Summary::of(family, x)?.mle()
}

/// The weighted maximum likelihood estimate.
///
/// # Errors
/// The errors of [`Summary::of_weighted`] and [`Summary::mle`]; [`Invalid::Parameter`] if all weights are 0.
pub fn mle_weighted<F: Density + Clone>(
    family: F,
    x: &[F::Point],
    weights: &[f64],
) -> Result<Distribution<F>, Error>
where
    F::Point: Sized,
{
    let summary = Summary::of_weighted(family, x, weights)?;
    if !x.is_empty() {
        Invalid::check_positive("sum of the weights", summary.weight())?;
    }
    summary.mle()
}
