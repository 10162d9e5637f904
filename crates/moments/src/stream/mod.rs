//! Sums over slices of a data stream, for data that do not fit into memory.
//!
//! SIR, SAVE, directional regression and SADE need only the counts, the sums and the sums of outer products of every
//! slice. These are `H d (d + 1)` numbers for `H` slices, however long the stream. The edges of the slices must be
//! known before; [`Slices::edges`] computes them from a first sample of the responses.
//!
//! ```
//! use fenchel_moments::slicing::{Slices, Slicing};
//! use fenchel_moments::{Components, Sir, SliceMoments};
//! use ndarray::{Array1, Array2};
//!
//! let batch = |k: usize| {
//!     let x = Array2::from_shape_fn((500, 3), |(i, c)| (((k * 500 + i) * (2 * c + 3) * 37) % 101) as f64);
//!     let y: Array1<f64> = x.rows().into_iter().map(|r| (0.02 * (r[0] + r[1])).exp()).collect();
//!     (x, y)
//! };
//! let (_, sample) = batch(0);
//! let slices = Slices::new(&sample.to_vec(), Slicing::EqualCount(10), 1)?;
//! let mut moments = SliceMoments::new(slices.edges().to_vec(), 3)?;
//! for k in 0..4 {
//!     let (x, y) = batch(k);
//!     moments.partial_fit(&x, &y)?;
//! }
//! let model = Sir { components: Components::Fixed(1), ..Sir::default() }.fit_moments(&moments)?;
//! assert_eq!(model.samples, 2000);
//! # Ok::<(), fenchel_moments::Error>(())
//! ```

mod add;
mod fit;
mod saved;

use fenchel_linalg::{AsDesign, Invalid};
use fenchel_optim::{Clock, MAX_MEMORY, Refusal, Wall};
use ndarray::{Array1, Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use crate::accumulate::{SliceSums, pair_weight};
use crate::blocks::{Blocks, checked, fold, most_parts};
use crate::error::Error;
use crate::response::Response;
use crate::score::ScoreFunction;
use crate::slicing::{Slices, Slicing, checked_weights, slice_of};
use crate::whitening::centred;

pub(crate) use fit::fit_sums;

/// The kind of rows that were summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Content {
    /// Features, around a point near the data.
    Features,
    /// Scores, around 0.
    Scores,
}

impl Content {
    fn name(self) -> &'static str {
        match self {
            Content::Features => "features",
            Content::Scores => "scores",
        }
    }
}

/// Counts, sums and sums of outer products of every slice, either of features or of scores. They can be saved, loaded,
/// and then continued. The seconds spent on adding are neither saved nor compared, so that equal data give equal files.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SliceMoments {
    edges: Vec<f64>,
    counts: Vec<usize>,
    /// Sums of weights; the counts without weights.
    masses: Vec<f64>,
    weighted: bool,
    /// Features or scores; none before the first row.
    content: Option<Content>,
    /// Seconds spent on adding, since loading.
    #[serde(skip)]
    seconds: f64,
    /// A point near the data; sums are those of differences from it.
    shift: Option<Array1<f64>>,
    sums: Array2<f64>,
    outer: Vec<Array2<f64>>,
}

impl PartialEq for SliceMoments {
    fn eq(&self, other: &Self) -> bool {
        let parts = |m: &SliceMoments| (m.weighted, m.content, m.sums.dim());
        parts(self) == parts(other)
            && (&self.edges, &self.counts, &self.masses)
                == (&other.edges, &other.counts, &other.masses)
            && (&self.shift, &self.sums, &self.outer) == (&other.shift, &other.sums, &other.outer)
    }
}

fn check_edges(edges: &[f64]) -> Result<(), Invalid> {
    Invalid::check_finite("edges of the slices", edges)?;
    if let Some(k) = edges.windows(2).position(|e| !(e[0] < e[1])) {
        let reason =
            format!("edge {} is {} after {}; edges must ascend", k + 1, edges[k + 1], edges[k]);
        return Err(Invalid::Layout { what: "edges of the slices", reason });
    }
    Ok(())
}

impl SliceMoments {
    /// Starts empty sums. Slice `h` takes responses in `(edges[h-1], edges[h]]`; there is one more slice than edges.
    /// Memory: `H d (d + 1)` numbers, and up to 16 times as many while a batch is added.
    ///
    /// # Errors
    /// [`Invalid::Empty`] without edges; [`Invalid::Parameter`] without features; [`Invalid::Layout`] unless the edges ascend; [`Error::Refused`] for more than
    /// 4 GiB, see [`with_limit`](SliceMoments::with_limit).
    pub fn new(edges: Vec<f64>, features: usize) -> Result<Self, Error> {
        SliceMoments::with_limit(edges, features, MAX_MEMORY)
    }

    /// [`new`](SliceMoments::new) with another limit of memory in bytes; `None`: no limit.
    ///
    /// # Errors
    /// As [`new`](SliceMoments::new).
    pub fn with_limit(
        edges: Vec<f64>,
        features: usize,
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        if edges.is_empty() {
            return Err(Invalid::Empty { what: "list of edges of the slices" }.into());
        }
        if features == 0 {
            let (name, expected) = ("number of features", "at least 1");
            return Err(Invalid::Parameter { name, value: 0.0, expected }.into());
        }
        check_edges(&edges)?;
        let h = edges.len() + 1;
        check_sums(h, features, max_memory)?;
        Ok(SliceMoments {
            edges,
            counts: vec![0; h],
            masses: vec![0.0; h],
            weighted: false,
            content: None,
            seconds: 0.0,
            shift: None,
            sums: Array2::zeros((h, features)),
            outer: vec![Array2::zeros((features, features)); h],
        })
    }

    /// The sums of data in memory.
    pub(crate) fn of(
        data: &dyn Blocks,
        slices: &Slices,
        weights: Option<&[f64]>,
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        let edges = slices.edges().to_vec();
        let mut moments = SliceMoments::with_limit(edges, data.width(), max_memory)?;
        moments.add(data, slices.labels(), weights, Content::Features)?;
        Ok(moments)
    }

    /// The sums of weighted data in memory.
    pub(crate) fn weighted<X: AsDesign + ?Sized>(
        x: &X,
        response: &Response,
        weights: ArrayView1<f64>,
        (slicing, components): (Slicing, usize),
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        let data = checked(x)?;
        response.check(data.count())?;
        let weights = checked_weights(weights)?;
        let slices = response.weighted_slices(&weights, slicing, components)?;
        SliceMoments::of(&data, &slices, Some(&weights), max_memory)
    }

    /// Adds a batch. O(n d^2).
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::NonFinite`]; [`Invalid::Layout`] if it holds scores.
    pub fn partial_fit<'a, X: AsDesign + ?Sized>(
        &mut self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<(), Error> {
        self.batch(x, y.into(), None, Content::Features)
    }

    /// Adds a batch of weighted samples. A weight that is a whole number has the same effect as a row repeated that
    /// often.
    ///
    /// # Errors
    /// As [`partial_fit`](SliceMoments::partial_fit), and for weights that are negative or not finite.
    pub fn partial_fit_weighted<'a, 'w, X: AsDesign + ?Sized>(
        &mut self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
        weights: impl Into<ArrayView1<'w, f64>>,
    ) -> Result<(), Error> {
        let weights = checked_weights(weights.into())?;
        self.batch(x, y.into(), Some(&weights), Content::Features)
    }

    fn batch<X: AsDesign + ?Sized>(
        &mut self,
        x: &X,
        y: ArrayView1<f64>,
        weights: Option<&[f64]>,
        content: Content,
    ) -> Result<(), Error> {
        let data = x.as_design()?;
        let response = Response::from(y);
        response.check(data.count())?;
        let labels: Vec<u32> =
            response.values().iter().map(|&y| slice_of(&self.edges, y) as u32).collect();
        self.add(&data, &labels, weights, content)
    }

    /// Adds the scores of a batch, for [`Sade::fit_moments`](crate::Sade::fit_moments).
    ///
    /// # Errors
    /// As [`partial_fit`](SliceMoments::partial_fit), the errors of the score, and [`Invalid::Layout`] if it holds features.
    pub fn partial_fit_scores<'a, X: AsDesign + ?Sized>(
        &mut self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
        score: &dyn ScoreFunction,
    ) -> Result<(), Error> {
        self.scores(x, y.into(), None, score)
    }

    pub(crate) fn scores<X: AsDesign + ?Sized>(
        &mut self,
        x: &X,
        y: ArrayView1<f64>,
        weights: Option<&[f64]>,
        score: &dyn ScoreFunction,
    ) -> Result<(), Error> {
        let wall = Wall::start();
        let data = x.as_design()?;
        self.check_content(Content::Scores)?;
        Invalid::check_length("columns of the design matrix", self.sums.ncols(), data.width())?;
        let parts = fold(&data, Vec::new, |part: &mut Vec<f64>, _, rows| {
            part.extend(score.score1(rows)?.iter());
            Ok(())
        })?;
        let scores = Array2::from_shape_vec((data.count(), self.sums.ncols()), parts.concat())
            .map_err(|_| Invalid::Length {
                what: "columns of the scores",
                expected: self.sums.ncols(),
                found: data.width(),
            })?;
        self.seconds += wall.seconds();
        self.batch(&scores, y, weights, Content::Scores)
    }

    /// Refuses to add scores to sums of features, or features to sums of scores. Empty sums accept either.
    pub(crate) fn check_content(&self, expected: Content) -> Result<(), Invalid> {
        match self.content {
            Some(found) if found != expected => {
                let (found, expected) = (found.name(), expected.name());
                let reason = format!("they hold {found}, expected {expected}");
                Err(Invalid::Layout { what: "sums over slices", reason })
            }
            _ => Ok(()),
        }
    }

    /// Refuses sums of scores where features are needed.
    pub(crate) fn check_features(&self) -> Result<(), Invalid> {
        self.check_content(Content::Features)
    }

    /// Adds what another stream over the same slices has collected.
    ///
    /// # Errors
    /// [`Invalid::Layout`] unless edges and features agree, and for sums of features and of scores.
    pub fn merge(&mut self, other: &SliceMoments) -> Result<(), Error> {
        if self.edges != other.edges || self.sums.dim() != other.sums.dim() {
            let reason = "edges or number of features differ".to_owned();
            return Err(Invalid::Layout { what: "sums over slices", reason }.into());
        }
        let (Some(theirs), Some(content)) = (&other.shift, other.content) else { return Ok(()) };
        self.check_content(content)?;
        self.content = Some(content);
        self.seconds += other.seconds;
        let ours = self.shift.get_or_insert_with(|| theirs.clone()).clone();
        let by = theirs - &ours;
        let d = by.len();
        for h in 0..self.counts.len() {
            let count = other.masses[h];
            let sum = other.sums.row(h);
            for i in 0..d {
                for j in 0..d {
                    // The order of the products keeps the matrix symmetric to the last bit.
                    let crossed = sum[i] * by[j] + by[i] * sum[j];
                    self.outer[h][[i, j]] +=
                        other.outer[h][[i, j]] + (crossed + count * (by[i] * by[j]));
                }
            }
            self.sums.row_mut(h).scaled_add(1.0, &sum);
            self.sums.row_mut(h).scaled_add(count, &by);
            self.counts[h] += other.counts[h];
            self.masses[h] += other.masses[h];
        }
        self.weighted |= other.weighted;
        Ok(())
    }

    /// The number of columns.
    pub(crate) fn width(&self) -> usize {
        self.sums.ncols()
    }

    /// The number of samples of each slice; those of weight 0 do not count.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// The sum of the weights of each slice: the counts, unless samples had weights.
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// Mean and covariance (divisor `n`) of all samples.
    pub(crate) fn total(&self) -> Result<(Array1<f64>, Array2<f64>), Error> {
        let n: usize = self.counts.iter().sum();
        let Some(shift) = self.shift.as_ref().filter(|_| n >= 2) else {
            return Err(Invalid::Parameter {
                name: "number of samples",
                value: n as f64,
                expected: "at least 2",
            }
            .into());
        };
        let mass: f64 = self.masses.iter().sum();
        let offset = self.sums.sum_axis(ndarray::Axis(0)) / mass;
        let mut outer = Array2::zeros((offset.len(), offset.len()));
        self.outer.iter().for_each(|o| outer += o);
        Ok((shift + &offset, centred(outer, &offset, mass)))
    }

    /// How far the slice means of every column go from a point near the mean: an estimate of how far the column goes.
    pub(crate) fn reach(&self) -> Array1<f64> {
        let mut reach = Array1::zeros(self.sums.ncols());
        for (sums, mass) in self.sums.rows().into_iter().zip(&self.masses).filter(|p| *p.1 > 0.0) {
            reach.zip_mut_with(&sums, |reach: &mut f64, s| *reach = reach.max((s / mass).abs()));
        }
        reach
    }

    /// Mean and covariance (divisor `c_h`) of a slice with samples.
    pub(crate) fn slice(&self, h: usize) -> (Array1<f64>, Array2<f64>) {
        let count = self.masses[h];
        let offset = &self.sums.row(h) / count;
        let mean = match &self.shift {
            Some(shift) => shift + &offset,
            None => offset.clone(),
        };
        (mean, centred(self.outer[h].clone(), &offset, count))
    }

    /// The sums in the form of the batch methods, around the point 0 for scores and the shift for samples.
    pub(crate) fn slice_sums(&self) -> SliceSums {
        let d = self.sums.ncols();
        let (mut plain, mut by_slice) = (Array2::zeros((d, d)), Array2::zeros((d, d)));
        for (outer, &c) in self.outer.iter().zip(&self.masses) {
            plain += outer;
            by_slice.scaled_add(pair_weight(c), outer);
        }
        SliceSums { masses: self.masses.clone(), sums: self.sums.clone(), plain, by_slice }
    }
}

/// Refuses sums over slices that need more memory than allowed.
pub(crate) fn check_sums(
    slices: usize,
    width: usize,
    max_memory: Option<u64>,
) -> Result<(), Error> {
    let (h, d) = (slices as u64, width as u64);
    // One matrix a slice in the sum, and in each part of it.
    let parts = most_parts(width) as u64;
    let numbers = d.saturating_mul(d.saturating_add(64)).saturating_mul(h);
    let needed = numbers.saturating_mul((parts + 1) * 8);
    let hint = "use fewer slices, or stream the data through SliceMoments";
    Ok(Refusal::check_memory("sums over slices", needed, max_memory, hint)?)
}
