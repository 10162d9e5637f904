//! Exponential families of one variable, and generalised linear models.

use std::any::Any;

use fenchel::expfam::families::{
    Bernoulli, Beta, Binomial, ChiSquared, Exponential, Gamma, Geometric, InverseGamma,
    InverseGaussian, Laplace, LogNormal, Logarithmic, NegativeBinomial, Normal, Pareto, Poisson,
    Rayleigh, VonMises, Weibull,
};
use fenchel::expfam::glm::{
    Glm, GlmSummary, Identity, InverseSquare, Logistic, NegativeBinomialLog, PoissonLog,
    Reciprocal, ScalarFamily, Targets, wald_quantile,
};
use fenchel::expfam::{
    Density, Distribution, Error, Evidence, Prior, Quantiles, Sample, Summary, mle,
};
use fenchel::optim::random::{Generator, stream};
use fenchel::optim::{Report, Stop};
use ndarray::{Array1, ArrayView1};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::control::{Control, detached, pieces};
use crate::data::{Rows, owned, with_view};
use crate::error::{Raise, unknown};
use crate::report::to_dict;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Law>()?;
    module.add_class::<Belief>()?;
    module.add_function(wrap_pyfunction!(glm, module)?)?;
    module.add_function(wrap_pyfunction!(glm_mean, module)?)?;
    module.add_function(wrap_pyfunction!(glm_quantile, module)?)?;
    Ok(())
}

/// So many numbers are computed between two looks at signals.
const PIECE: usize = 100_000;

/// A member of a family, whatever the family.
trait Member: Send + Sync {
    fn natural(&self) -> Vec<f64>;
    fn mean(&self) -> Vec<f64>;
    /// The parameters by which [`member`] makes it.
    fn parameters(&self) -> Vec<f64>;
    fn log_densities(&self, x: &[f64]) -> Result<Vec<f64>, Error>;
    fn entropy(&self) -> Result<f64, Error>;
    fn kl(&self, other: &dyn Member) -> Option<Result<f64, Error>>;
    /// The next draws.
    fn draw(&self, to: &mut [f64], rng: &mut Generator);
    /// The member of the same family with another natural parameter.
    fn with_natural(&self, eta: &[f64]) -> Result<Box<dyn Member>, Error>;
    /// A member of the same family, by maximum likelihood.
    fn fitted(&self, x: &[f64]) -> Result<Box<dyn Member>, Error>;
    /// The conjugate prior whose mode is this member.
    fn prior(&self, weight: f64) -> Result<Box<dyn Conjugate>, Error>;
    /// Distribution function, survival function, quantile, and upper quantile, where the family has them.
    fn tail(&self, of: Tail, x: f64) -> Option<Result<f64, Error>>;
    /// Itself, for a comparison of types.
    fn as_any(&self) -> &dyn Any;
}

#[derive(Clone, Copy)]
enum Tail {
    Cdf,
    Survival,
    Quantile,
    UpperQuantile,
}

/// A conjugate prior, whatever the family.
trait Conjugate: Send + Sync {
    fn weight(&self) -> f64;
    fn mean(&self) -> Vec<f64>;
    fn map(&self) -> Box<dyn Member>;
    fn posterior(&self, x: &[f64]) -> Result<Box<dyn Conjugate>, Error>;
    /// `ln` of the integral of the likelihood, where the family has a closed form.
    fn log_marginal(&self, x: &[f64]) -> Option<Result<f64, Error>>;
}

/// A family of one variable: what is on top of the common traits is chosen by macros below.
trait Family1:
    Density<Point = f64> + Sample<Owned = f64> + Clone + PartialEq + Send + Sync + 'static
{
    fn parameters(law: &Distribution<Self>) -> Vec<f64>;
    fn tail(_: &Distribution<Self>, _: Tail, _: f64) -> Option<Result<f64, Error>> {
        None
    }
    fn log_marginal(_: &Prior<Self>, _: &[f64]) -> Option<Result<f64, Error>> {
        None
    }
}

fn tail<F: Quantiles>(law: &Distribution<F>, of: Tail, x: f64) -> Result<f64, Error> {
    match of {
        Tail::Cdf => Ok(law.cdf(x)),
        Tail::Survival => Ok(law.survival(x)),
        Tail::Quantile => law.quantile(x),
        Tail::UpperQuantile => law.upper_quantile(x),
    }
}

fn log_marginal<F: Evidence + Density<Point = f64> + Clone>(
    prior: &Prior<F>,
    x: &[f64],
) -> Result<f64, Error> {
    prior.log_marginal_likelihood(x)
}

macro_rules! families {
    ($($family:ty: $law:ident => [$($parameter:expr),+] $($method:ident)*;)*) => {$(
        impl Family1 for $family {
            fn parameters($law: &Distribution<Self>) -> Vec<f64> {
                vec![$($parameter),+]
            }
            $(families!(@ $method);)*
        }
    )*};
    (@ tail) => {
        fn tail(law: &Distribution<Self>, of: Tail, x: f64) -> Option<Result<f64, Error>> {
            Some(tail(law, of, x))
        }
    };
    (@ log_marginal) => {
        fn log_marginal(prior: &Prior<Self>, x: &[f64]) -> Option<Result<f64, Error>> {
            Some(log_marginal(prior, x))
        }
    };
}

families! {
    Normal: law => [law.location(), law.variance()] tail log_marginal;
    LogNormal: law => [law.log_moments().0, law.log_moments().1] tail log_marginal;
    Gamma: law => [law.shape(), law.rate()] tail;
    InverseGamma: law => [law.shape(), law.scale()] tail;
    Beta: law => [law.shapes().0, law.shapes().1] tail;
    Bernoulli: law => [law.p()] log_marginal;
    Binomial: law => [law.family().trials(), law.p()] log_marginal;
    Poisson: law => [law.rate()] log_marginal;
    ChiSquared: law => [law.degrees()];
    Exponential: law => [law.rate()] log_marginal;
    Geometric: law => [law.p()] log_marginal;
    InverseGaussian: law => [law.location(), law.shape()];
    Laplace: law => [law.family().location(), law.scale()] log_marginal;
    Logarithmic: law => [law.q()];
    NegativeBinomial: law => [law.family().successes(), law.p()] log_marginal;
    Pareto: law => [law.family().minimum(), law.index()] log_marginal;
    Rayleigh: law => [law.scale()] log_marginal;
    VonMises: law => [law.direction(), law.concentration()];
    Weibull: law => [law.family().shape(), law.scale()] log_marginal;
}

impl<F: Family1> Member for Distribution<F> {
    fn natural(&self) -> Vec<f64> {
        Distribution::natural(self).to_vec()
    }
    fn mean(&self) -> Vec<f64> {
        Distribution::mean(self)
    }
    fn parameters(&self) -> Vec<f64> {
        F::parameters(self)
    }
    /// Outside of the support the density is 0.
    fn log_densities(&self, x: &[f64]) -> Result<Vec<f64>, Error> {
        let outside = |error: &Error| matches!(error, Error::OutsideSupport { .. });
        match Distribution::log_densities(self, x) {
            Err(error) if outside(&error) => {}
            found => return found,
        }
        let each = |x: &f64| match Distribution::log_densities(self, std::slice::from_ref(x)) {
            Err(error) if outside(&error) => {
                Ok(if x.is_nan() { f64::NAN } else { f64::NEG_INFINITY })
            }
            found => found.map(|one| one[0]),
        };
        x.iter().map(each).collect()
    }
    fn entropy(&self) -> Result<f64, Error> {
        Distribution::entropy(self)
    }
    fn kl(&self, other: &dyn Member) -> Option<Result<f64, Error>> {
        let other = other.as_any().downcast_ref::<Self>()?;
        Some(self.try_kl(other))
    }
    fn draw(&self, to: &mut [f64], rng: &mut Generator) {
        to.iter_mut().for_each(|to| *to = self.sample(rng));
    }
    fn with_natural(&self, eta: &[f64]) -> Result<Box<dyn Member>, Error> {
        boxed(Distribution::from_natural(self.family().clone(), eta))
    }
    fn fitted(&self, x: &[f64]) -> Result<Box<dyn Member>, Error> {
        Ok(Box::new(mle(self.family().clone(), x)?))
    }
    fn prior(&self, weight: f64) -> Result<Box<dyn Conjugate>, Error> {
        Ok(Box::new(Prior::around(weight, self)?))
    }
    fn tail(&self, of: Tail, x: f64) -> Option<Result<f64, Error>> {
        F::tail(self, of, x)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<F: Family1> Conjugate for Prior<F> {
    fn weight(&self) -> f64 {
        Prior::weight(self)
    }
    fn mean(&self) -> Vec<f64> {
        Prior::mean(self)
    }
    fn map(&self) -> Box<dyn Member> {
        Box::new(Prior::map(self).clone())
    }
    fn posterior(&self, x: &[f64]) -> Result<Box<dyn Conjugate>, Error> {
        let data = Summary::of(self.family().clone(), x)?;
        Ok(Box::new(Prior::posterior(self, &data)?))
    }
    fn log_marginal(&self, x: &[f64]) -> Option<Result<f64, Error>> {
        F::log_marginal(self, x)
    }
}

/// A member of a family.
#[pyclass(frozen, module = "fenchel._core")]
struct Law {
    family: String,
    member: Box<dyn Member>,
}

/// A conjugate prior.
#[pyclass(frozen, module = "fenchel._core")]
struct Belief {
    family: String,
    prior: Box<dyn Conjugate>,
}

fn boxed<F: Family1>(law: Result<Distribution<F>, Error>) -> Result<Box<dyn Member>, Error> {
    Ok(Box::new(law?))
}

/// The member with these parameters, the fixed quantities of the family first.
fn member(family: &str, p: &[f64]) -> Option<Result<Box<dyn Member>, Error>> {
    let trials = |n: f64| if n >= 0.0 && n.fract() == 0.0 { n as u32 } else { 0 };
    Some(match (family, p) {
        ("normal", &[mean, variance]) => boxed(Normal.with_mean_variance(mean, variance)),
        ("log_normal", &[mean, variance]) => {
            boxed(LogNormal.with_mean_variance_of_log(mean, variance))
        }
        ("gamma", &[shape, rate]) => boxed(Gamma.with_shape_rate(shape, rate)),
        ("inverse_gamma", &[shape, scale]) => boxed(InverseGamma.with_shape_scale(shape, scale)),
        ("inverse_gaussian", &[mean, shape]) => boxed(InverseGaussian.with_mean_shape(mean, shape)),
        ("beta", &[a, b]) => boxed(Beta.with_shapes(a, b)),
        ("exponential", &[rate]) => boxed(Exponential.with_rate(rate)),
        ("chi_squared", &[degrees]) => boxed(ChiSquared.with_degrees(degrees)),
        ("rayleigh", &[scale]) => boxed(Rayleigh.with_scale(scale)),
        ("von_mises", &[direction, concentration]) => {
            boxed(VonMises.with_direction_concentration(direction, concentration))
        }
        ("bernoulli", &[p]) => boxed(Bernoulli.with_p(p)),
        ("poisson", &[rate]) => boxed(Poisson.with_rate(rate)),
        ("geometric", &[p]) => boxed(Geometric.with_p(p)),
        ("logarithmic", &[q]) => boxed(Logarithmic.with_q(q)),
        ("binomial", &[n, p]) => boxed(Binomial::new(trials(n)).and_then(|f| f.with_p(p))),
        ("negative_binomial", &[r, p]) => boxed(NegativeBinomial::new(r).and_then(|f| f.with_p(p))),
        ("laplace", &[location, scale]) => {
            boxed(Laplace::new(location).and_then(|f| f.with_scale(scale)))
        }
        ("weibull", &[shape, scale]) => {
            boxed(Weibull::new(shape).and_then(|f| f.with_scale(scale)))
        }
        ("pareto", &[minimum, index]) => {
            boxed(Pareto::new(minimum).and_then(|f| f.with_index(index)))
        }
        _ => return None,
    })
}

#[pymethods]
impl Law {
    #[new]
    fn new(family: &str, parameters: Vec<f64>) -> PyResult<Self> {
        let Some(member) = member(family, &parameters) else {
            return Err(unknown("family", family, "a family with so many parameters"));
        };
        Ok(Law { family: family.to_owned(), member: member.map_err(Raise::raise)? })
    }

    fn family(&self) -> &str {
        &self.family
    }

    fn natural(&self) -> Vec<f64> {
        self.member.natural()
    }

    fn mean(&self) -> Vec<f64> {
        self.member.mean()
    }

    /// The parameters by which [`new`](Self::new) makes it.
    fn parameters(&self) -> Vec<f64> {
        self.member.parameters()
    }

    fn logpdf<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let x = owned(&x).to_vec();
        Ok(detached(py, || self.member.log_densities(&x))?.into_pyarray(py))
    }

    fn entropy(&self) -> PyResult<f64> {
        self.member.entropy().map_err(Raise::raise)
    }

    fn kl(&self, other: &Law) -> PyResult<f64> {
        match self.member.kl(&*other.member) {
            Some(found) => found.map_err(Raise::raise),
            None => Err(unknown("other", &other.family, "a member of the same family")),
        }
    }

    fn rvs<'py>(
        &self,
        py: Python<'py>,
        n: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (mut draws, mut rng) = (vec![0.0; n], stream(seed, 0));
        pieces(py, n, PIECE, |piece| {
            self.member.draw(&mut draws[piece], &mut rng);
            Ok::<_, Error>(())
        })?;
        Ok(draws.into_pyarray(py))
    }

    /// The member of the same family with another natural parameter.
    fn with_natural(&self, eta: Vec<f64>) -> PyResult<Self> {
        let member = self.member.with_natural(&eta).map_err(Raise::raise)?;
        Ok(Law { family: self.family.clone(), member })
    }

    /// `"cdf"`, `"sf"`, `"ppf"` or `"isf"` of each number.
    fn tail<'py>(
        &self,
        py: Python<'py>,
        of: &str,
        x: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let tail = match of {
            "cdf" => Tail::Cdf,
            "sf" => Tail::Survival,
            "ppf" => Tail::Quantile,
            _ => Tail::UpperQuantile,
        };
        let mut found = owned(&x).to_vec();
        pieces(py, found.len(), PIECE, |piece| {
            for x in &mut found[piece] {
                *x = match self.member.tail(tail, *x) {
                    Some(found) => found.map_err(Raise::raise)?,
                    None => {
                        let known = "one with a distribution function here: normal, log_normal, gamma, inverse_gamma or beta";
                        return Err(unknown(&format!("{of}: the family"), &self.family, known));
                    }
                };
            }
            Ok(())
        })?;
        Ok(found.into_pyarray(py))
    }

    /// The member of the family with the largest likelihood.
    fn fitted(&self, py: Python<'_>, x: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let x = owned(&x).to_vec();
        let member = detached(py, || self.member.fitted(&x))?;
        Ok(Law { family: self.family.clone(), member })
    }

    fn prior(&self, weight: f64) -> PyResult<Belief> {
        let prior = self.member.prior(weight).map_err(Raise::raise)?;
        Ok(Belief { family: self.family.clone(), prior })
    }
}

#[pymethods]
impl Belief {
    fn weight(&self) -> f64 {
        self.prior.weight()
    }

    fn mean(&self) -> Vec<f64> {
        self.prior.mean()
    }

    fn map(&self) -> Law {
        Law { family: self.family.clone(), member: self.prior.map() }
    }

    fn posterior(&self, x: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let prior = self.prior.posterior(&owned(&x).to_vec()).map_err(Raise::raise)?;
        Ok(Belief { family: self.family.clone(), prior })
    }

    fn log_marginal(&self, x: PyReadonlyArray1<'_, f64>) -> PyResult<f64> {
        match self.prior.log_marginal(&owned(&x).to_vec()) {
            Some(found) => found.map_err(Raise::raise),
            None => Err(unknown("family", &self.family, "one whose evidence has a closed form")),
        }
    }
}

/// Coefficients, the intercept, the summary, and the report.
type Fitted = (Vec<f64>, f64, GlmSummary, Report);
/// The same for Python.
type FittedFor<'py> = (Bound<'py, PyArray1<f64>>, f64, Bound<'py, PyDict>, Bound<'py, PyDict>);

/// Fits a generalised linear model, and summarises it as R does.
#[pyfunction]
#[pyo3(signature = (data, control, family, size, l2, intercept, offset=None, names=None))]
fn glm<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    control: Control,
    family: &str,
    size: f64,
    l2: f64,
    intercept: bool,
    offset: Option<PyReadonlyArray1<'py, f64>>,
    names: Option<Vec<String>>,
) -> PyResult<FittedFor<'py>> {
    let rows = Rows::read(data)?;
    let offset = offset.as_ref().map(owned);
    let offset = offset.as_ref().map(|offset| offset.as_slice().unwrap_or(&[]));
    let job = Job { rows: &rows, control: &control, l2, intercept, offset };
    let (coefficients, constant, mut summary, report) = match family {
        "binomial" => job.fit(py, Logistic),
        "poisson" => job.fit(py, PoissonLog),
        "gaussian" => job.fit(py, Identity),
        "gamma" => job.fit(py, Reciprocal),
        "inverse_gaussian" => job.fit(py, InverseSquare),
        "negative_binomial" => job.fit(py, NegativeBinomialLog { size }),
        other => {
            let expected = "'gaussian', 'binomial', 'poisson', 'gamma', 'inverse_gaussian' or 'negative_binomial'";
            Err(unknown("family", other, expected))
        }
    }?;
    let rows = summary.coefficients.iter_mut().skip(usize::from(intercept));
    rows.zip(names.unwrap_or_default()).for_each(|(row, name)| row.name = name);
    let dict = PyDict::new(py);
    let column = |of: fn(&fenchel::expfam::glm::Coefficient) -> f64| -> Vec<f64> {
        summary.coefficients.iter().map(of).collect()
    };
    dict.set_item("text", summary.to_string())?;
    dict.set_item(
        "names",
        summary.coefficients.iter().map(|c| c.name.clone()).collect::<Vec<_>>(),
    )?;
    dict.set_item("estimates", column(|c| c.estimate))?;
    dict.set_item("standard_errors", column(|c| c.standard_error))?;
    dict.set_item("statistics", column(|c| c.statistic))?;
    dict.set_item("p_values", column(|c| c.p_value))?;
    dict.set_item("dispersion", summary.dispersion)?;
    dict.set_item("known_dispersion", summary.known_dispersion)?;
    dict.set_item("covariance", summary.covariance)?;
    dict.set_item("pearson", summary.pearson)?;
    dict.set_item("bic", summary.bic)?;
    dict.set_item("rows", summary.rows)?;
    dict.set_item("deviance", summary.deviance)?;
    dict.set_item("null_deviance", summary.null_deviance)?;
    dict.set_item("df_resid", summary.residual_degrees)?;
    dict.set_item("df_null", summary.null_degrees)?;
    dict.set_item("llf", summary.log_likelihood)?;
    dict.set_item("aic", summary.aic)?;
    dict.set_item("link", summary.link)?;
    Ok((coefficients.into_pyarray(py), constant, dict, to_dict(py, &report, None)?))
}

/// The mean at each linear predictor.
#[pyfunction]
fn glm_mean<'py>(
    py: Python<'py>,
    family: &str,
    size: f64,
    eta: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    fn of(family: impl ScalarFamily, eta: ArrayView1<'_, f64>) -> Array1<f64> {
        eta.mapv(|eta| if family.in_domain(eta) { family.mean(eta) } else { f64::NAN })
    }
    let eta = eta.as_array();
    let mean = match family {
        "binomial" => of(Logistic, eta),
        "poisson" => of(PoissonLog, eta),
        "gaussian" => of(Identity, eta),
        "gamma" => of(Reciprocal, eta),
        "inverse_gaussian" => of(InverseSquare, eta),
        _ => of(NegativeBinomialLog { size }, eta),
    };
    Ok(mean.into_pyarray(py))
}

/// How many standard errors are on each side of an estimate; `degrees` of freedom, or `None` for the normal law.
#[pyfunction]
#[pyo3(signature = (level, degrees=None))]
fn glm_quantile(level: f64, degrees: Option<usize>) -> PyResult<f64> {
    wald_quantile(level, degrees).map_err(Raise::raise)
}

/// The arguments of a fit, whatever the family.
struct Job<'a, 'py> {
    rows: &'a Rows<'py>,
    control: &'a Control,
    l2: f64,
    intercept: bool,
    offset: Option<&'a [f64]>,
}

impl Job<'_, '_> {
    fn fit<F: ScalarFamily + Clone + Send + Sync>(
        &self,
        py: Python<'_>,
        family: F,
    ) -> PyResult<Fitted> {
        let Job { rows, control, l2, intercept, offset } = *self;
        let view = rows.view()?;
        let stop = Stop { absolute: control.stop().relative, relative: 0.0, ..control.stop() };
        let glm = Glm { l2, intercept, stop, ..Glm::new(family) };
        let model = control.run(py, |watch| {
            let targets = Targets::new(view.y);
            let targets = match offset {
                Some(offset) => targets.offset(offset),
                None => targets,
            };
            with_view!(view.x, x => glm.fit_with(&x, targets, view.fit(None, watch)))
        })?;
        Ok((model.coefficients, model.intercept, model.summary, model.report))
    }
}
