//! Structural causal models with linear functions and normal noise.

use fenchel_linalg::{Cholesky, Invalid};
use fenchel_optim::{MAX_MEMORY, Refusal};
use ndarray::{Array1, Array2, ArrayView2};
use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::admg::GraphError;
use crate::normal::{check_entries, deviations, factor_above_rounding};
use crate::{Admg, Error};

/// `x = W x + c + e` with independent `e_i ~ N(0, d_i)`; `W_ij` is the direct effect of j on i.
///
/// ```
/// use fenchel_causal::Admg;
/// use fenchel_causal::scm::LinearGaussianScm;
///
/// let g = Admg::parse("X -> Y")?;
/// let scm = LinearGaussianScm::new(g, &[(0, 1, 2.0)], vec![0.0, 1.0], vec![1.0, 0.5])?;
/// // X was 1, Y was 4: the noise of Y was 1. Had X been 0, Y would have been 2.
/// let law = scm.counterfactual(&[(0, 1.0), (1, 4.0)], &[(0, 0.0)])?;
/// assert!((law.mean[1] - 2.0).abs() < 1e-12 && law.covariance[(1, 1)].abs() < 1e-12);
/// # Ok::<(), fenchel_causal::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct LinearGaussianScm {
    graph: Admg,
    weights: Array2<f64>,
    intercepts: Vec<f64>,
    variances: Vec<f64>,
}

#[derive(Deserialize)]
struct Parts {
    graph: Admg,
    weights: Array2<f64>,
    intercepts: Vec<f64>,
    variances: Vec<f64>,
}

impl TryFrom<Parts> for LinearGaussianScm {
    type Error = Error;
    fn try_from(p: Parts) -> Result<LinearGaussianScm, Error> {
        let n = p.graph.len();
        Invalid::check_length("rows of the weights", n, p.weights.nrows())?;
        Invalid::check_length("columns of the weights", n, p.weights.ncols())?;
        let given = p.weights.indexed_iter().filter(|(_, w)| **w != 0.0);
        let edges: Vec<(u32, u32, f64)> =
            given.map(|((b, a), &w)| (a as u32, b as u32, w)).collect();
        LinearGaussianScm::new(p.graph, &edges, p.intercepts, p.variances)
    }
}

/// Weights, intercepts, and 0 for nodes that were set.
type Mutilated = (Array2<f64>, Array1<f64>, Array1<f64>);

/// A normal law over all nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Normal {
    /// Its mean.
    pub mean: Array1<f64>,
    /// Its covariance; zero rows for nodes that were set.
    pub covariance: Array2<f64>,
}

impl Normal {
    /// Products of large weights can overflow.
    fn checked(self) -> Result<Normal, Error> {
        Invalid::check_finite("the mean of the law", &self.mean.to_vec())?;
        let covariance: Vec<f64> = self.covariance.iter().copied().collect();
        Invalid::check_finite("the covariance of the law", &covariance)?;
        Ok(self)
    }
}

/// Refuses columns whose squares overflow, or underflow to numbers without digits: their variances are no numbers.
fn check_units(graph: &Admg, data: ArrayView2<'_, f64>) -> Result<(), Invalid> {
    for (v, column) in data.columns().into_iter().enumerate() {
        let largest = column.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let square = largest * largest;
        let digits = square >= f64::MIN_POSITIVE / f64::EPSILON;
        // A deviation is at most twice the largest entry.
        if largest > 0.0 && !(digits && (4.0 * column.len() as f64 * square).is_finite()) {
            let name = graph.name(v as u32);
            let reason = format!(
                "entries of {name} are as large as {largest:e}, whose square is beyond the range of numbers; expected a unit in which they are between 1e-145 and 1e145"
            );
            return Err(Invalid::Layout { what: "data", reason });
        }
    }
    Ok(())
}

impl LinearGaussianScm {
    /// Builds the model from the weights `(cause, effect, weight)` of edges, the intercepts and the variances of the
    /// noise. An edge without a given weight has weight 0.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a graph with bidirected edges, wrong lengths, numbers that are not finite, variances that are
    /// not positive, and
    /// weights of edges that do not exist or that are given twice.
    pub fn new(
        graph: Admg,
        edges: &[(u32, u32, f64)],
        intercepts: Vec<f64>,
        variances: Vec<f64>,
    ) -> Result<LinearGaussianScm, Error> {
        let n = graph.len();
        if !graph.is_dag() {
            let reason = "bidirected edges: expected a node for every hidden cause".into();
            return Err(Invalid::Layout { what: "the graph", reason }.into());
        }
        Invalid::check_length("intercepts", n, intercepts.len())?;
        Invalid::check_length("variances", n, variances.len())?;
        Invalid::check_finite("intercepts", &intercepts)?;
        variances.iter().try_for_each(|&v| Invalid::check_positive("variance", v))?;
        let mut weights = Array2::zeros((n, n));
        for (k, &(a, b, w)) in edges.iter().enumerate() {
            if a as usize >= n || b as usize >= n || !graph.children(a).contains(b) {
                let reason = format!("a weight for {a} -> {b}, which is no edge");
                return Err(Invalid::Layout { what: "edges", reason }.into());
            }
            if edges[..k].iter().any(|&(c, d, _)| (c, d) == (a, b)) {
                let reason = format!("two weights for {a} -> {b}; expected one");
                return Err(Invalid::Layout { what: "edges", reason }.into());
            }
            Invalid::check_finite("weight", &[w])?;
            weights[(b as usize, a as usize)] = w;
        }
        Ok(LinearGaussianScm { graph, weights, intercepts, variances })
    }

    /// The least squares fit of every node on its parents: the maximum likelihood estimate. Samples in rows.
    ///
    /// # Errors
    /// [`Error::Invalid`] for wrong shapes, entries that are not finite, columns in units in which variances are beyond the range of
    /// numbers (1e200, 1e-200), parents that depend on one another linearly, and a node that is constant or a linear function of its
    /// parents.
    pub fn fit(graph: Admg, data: ArrayView2<'_, f64>) -> Result<LinearGaussianScm, Error> {
        Invalid::check_length("columns of data", graph.len(), data.ncols())?;
        check_entries("data", data)?;
        check_units(&graph, data)?;
        let Some((mean, centred, sizes)) = deviations(data) else {
            return Err(Invalid::Empty { what: "data" }.into());
        };
        let covariance = centred.t().dot(&centred) / data.nrows() as f64;
        let (mut edges, mut intercepts, mut variances) = (Vec::new(), Vec::new(), Vec::new());
        for v in 0..graph.len() as u32 {
            let i = v as usize;
            let parents: Vec<u32> = graph.parents(v).iter().collect();
            let pick = |a: u32, b: u32| covariance[(a as usize, b as usize)];
            let (mut intercept, mut variance) = (mean[i], covariance[(i, i)]);
            if !parents.is_empty() {
                let k = parents.len();
                let inner = Array2::from_shape_fn((k, k), |(a, b)| pick(parents[a], parents[b]));
                let cross = Array1::from_shape_fn(k, |a| pick(parents[a], v));
                let inner_sizes: Vec<f64> = parents.iter().map(|&p| sizes[p as usize]).collect();
                let slope =
                    factor_above_rounding("the parents of a node", inner.view(), &inner_sizes)?
                        .solve(cross.view())?;
                for (&p, &w) in parents.iter().zip(&slope) {
                    edges.push((p, v, w));
                    intercept -= w * mean[p as usize];
                }
                variance -= slope.dot(&cross);
            }
            if !(variance > 64.0 * f64::EPSILON * sizes[i]) {
                let reason = format!("{} is constant or a function of its parents", graph.name(v));
                return Err(Invalid::Layout { what: "data", reason }.into());
            }
            intercepts.push(intercept);
            variances.push(variance);
        }
        LinearGaussianScm::new(graph, &edges, intercepts, variances)
    }

    /// Weights, intercepts and variances after nodes are set.
    fn set(&self, set: &[(u32, f64)]) -> Result<Mutilated, Error> {
        let (mut w, mut c) = (self.weights.clone(), Array1::from_vec(self.intercepts.clone()));
        let mut keep = Array1::ones(self.intercepts.len());
        for (k, &(v, value)) in set.iter().enumerate() {
            self.check(v, value)?;
            if set[..k].iter().any(|(u, _)| *u == v) {
                let name = self.graph.name(v).into();
                return Err(GraphError::Duplicate { what: "an intervention on", name }.into());
            }
            let i = v as usize;
            w.row_mut(i).fill(0.0);
            c[i] = value;
            keep[i] = 0.0;
        }
        Ok((w, c, keep))
    }

    fn check(&self, v: u32, value: f64) -> Result<(), Error> {
        if v as usize >= self.graph.len() {
            return Err(self.graph.unknown(&v.to_string()).into());
        }
        Ok(Invalid::check_finite("the value of a node", &[value])?)
    }

    /// `(I - W)^-1`, in the order of the graph.
    fn total(&self, w: &Array2<f64>) -> Array2<f64> {
        let n = w.nrows();
        let mut t = Array2::eye(n);
        for &v in self.graph.topological_order() {
            for p in self.graph.parents(v).iter() {
                let (i, j) = (v as usize, p as usize);
                let add = t.row(j).to_owned() * w[(i, j)];
                let mut row = t.row_mut(i);
                row += &add;
            }
        }
        t
    }

    /// The law of all nodes after some are set; of the observed world if none is.
    ///
    /// # Errors
    /// [`GraphError::UnknownNode`], [`GraphError::Duplicate`]; [`Error::Invalid`] for values that are not finite, or a law that overflows.
    pub fn law(&self, set: &[(u32, f64)]) -> Result<Normal, Error> {
        let (w, c, keep) = self.set(set)?;
        let t = self.total(&w);
        let scaled =
            Array2::from_shape_fn(t.dim(), |(i, j)| t[(i, j)] * keep[j] * self.variances[j]);
        Normal { mean: t.dot(&c), covariance: scaled.dot(&t.t()) }.checked()
    }

    /// The total effect of one node on another: the sum over directed paths of the products of weights.
    ///
    /// # Errors
    /// [`GraphError::UnknownNode`]; [`Error::Invalid`] for an effect that overflows.
    pub fn total_effect(&self, cause: u32, effect: u32) -> Result<f64, Error> {
        self.check(cause, 0.0)?;
        self.check(effect, 0.0)?;
        let total = self.total(&self.weights)[(effect as usize, cause as usize)];
        Invalid::check_finite("the total effect", &[total])?;
        Ok(total)
    }

    /// The counterfactual law of all nodes: the law if `set` had been done to a unit for which `evidence` was observed without it. O(n^3).
    ///
    /// # Errors
    /// [`GraphError::UnknownNode`], [`GraphError::Duplicate`]; [`Error::Invalid`] for values that are not finite.
    pub fn counterfactual(
        &self,
        evidence: &[(u32, f64)],
        set: &[(u32, f64)],
    ) -> Result<Normal, Error> {
        for (k, &(v, value)) in evidence.iter().enumerate() {
            self.check(v, value)?;
            if evidence[..k].iter().any(|(u, _)| *u == v) {
                return Err(GraphError::Duplicate {
                    what: "evidence on",
                    name: self.graph.name(v).into(),
                }
                .into());
            }
        }
        let n = self.intercepts.len();
        let t = self.total(&self.weights);
        let c = Array1::from_vec(self.intercepts.clone());
        // Abduction: the law of the noise given the evidence.
        let (mut mean, mut covariance) =
            (Array1::zeros(n), Array2::from_diag(&Array1::from_vec(self.variances.clone())));
        if !evidence.is_empty() {
            let rows =
                Array2::from_shape_fn((evidence.len(), n), |(k, j)| t[(evidence[k].0 as usize, j)]);
            let gain = rows.dot(&covariance);
            let spread = gain.dot(&rows.t());
            let factor = Cholesky::new(spread.view())?;
            let expected = rows.dot(&c);
            let surprise: Array1<f64> =
                evidence.iter().zip(&expected).map(|((_, x), e)| x - e).collect();
            mean = gain.t().dot(&factor.solve(surprise.view())?);
            covariance = covariance - gain.t().dot(&factor.solve_matrix(gain.view())?);
        }
        // Action and prediction.
        let (w, c, keep) = self.set(set)?;
        let t = self.total(&w);
        let moved = Array2::from_shape_fn(t.dim(), |(i, j)| t[(i, j)] * keep[j]);
        let shift = c + mean * &keep;
        Normal { mean: t.dot(&shift), covariance: moved.dot(&covariance).dot(&moved.t()) }.checked()
    }

    /// Draws, one per row, after some nodes are set.
    ///
    /// # Errors
    /// As [`law`](Self::law), and [`Error::Refused`] for more draws than memory.
    pub fn sample(
        &self,
        draws: usize,
        set: &[(u32, f64)],
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<Array2<f64>, Error> {
        let (w, c, keep) = self.set(set)?;
        let bytes = (draws as u64).saturating_mul(8 * c.len() as u64);
        Refusal::check_memory("the draws", bytes, MAX_MEMORY, "take fewer draws")?;
        let t = self.total(&w);
        let mut out = Array2::zeros((draws, c.len()));
        for mut row in out.rows_mut() {
            let mut noise = c.clone();
            for (i, e) in noise.iter_mut().enumerate() {
                *e += keep[i] * self.variances[i].sqrt() * rng.sample::<f64, _>(StandardNormal);
            }
            row.assign(&t.dot(&noise));
            Invalid::check_finite("a draw", &row.to_vec())?;
        }
        Ok(out)
    }
}
