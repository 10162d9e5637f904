"""Laws against scipy.stats, posteriors against closed forms, GLMs against statsmodels."""

import copy
import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln

import fenchel.families as ff

PAIRS = [
    (ff.Normal(1.0, 4.0), stats.norm(1.0, 2.0)),
    (ff.LogNormal(0.5, 0.25), stats.lognorm(0.5, scale=np.exp(0.5))),
    (ff.Gamma(2.5, 3.0), stats.gamma(2.5, scale=1 / 3.0)),
    (ff.InverseGamma(3.5, 2.0), stats.invgamma(3.5, scale=2.0)),
    (ff.InverseGaussian(2.0, 3.0), stats.invgauss(2.0 / 3.0, scale=3.0)),
    (ff.Beta(2.0, 3.5), stats.beta(2.0, 3.5)),
    (ff.Exponential(2.5), stats.expon(scale=1 / 2.5)),
    (ff.ChiSquared(5.0), stats.chi2(5.0)),
    (ff.Rayleigh(1.5), stats.rayleigh(scale=1.5)),
    (ff.VonMises(0.7, 2.0), stats.vonmises(2.0, loc=0.7)),
    (ff.Bernoulli(0.3), stats.bernoulli(0.3)),
    (ff.Poisson(3.5), stats.poisson(3.5)),
    (ff.Geometric(0.4), stats.geom(0.4, loc=-1)),
    (ff.Logarithmic(0.6), stats.logser(0.6)),
    (ff.Binomial(7, 0.3), stats.binom(7, 0.3)),
    (ff.NegativeBinomial(2.5, 0.4), stats.nbinom(2.5, 0.4)),
    (ff.Laplace(1.0, 2.0), stats.laplace(1.0, 2.0)),
    (ff.Weibull(1.7, 2.0), stats.weibull_min(1.7, scale=2.0)),
    (ff.Pareto(1.5, 3.0), stats.pareto(3.0, scale=1.5)),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda law: type(law).__name__)
def test_laws_equal_those_of_scipy(ours, theirs):
    x = np.asarray(theirs.rvs(size=50, random_state=1), dtype=float)
    density = getattr(theirs, "logpdf", None) if hasattr(theirs.dist, "pdf") else theirs.logpmf
    np.testing.assert_allclose(ours.logpdf(x), density(x), rtol=1e-10, atol=1e-10)
    draws = ours.rvs(40_000, random_state=2)
    assert (draws == ours.rvs(40_000, random_state=2)).all()
    if not isinstance(ours, ff.VonMises):
        error = 6 * theirs.std() / np.sqrt(40_000)
        assert abs(draws.mean() - theirs.mean()) < error
        if not isinstance(ours, ff.Logarithmic):
            assert abs(ours.entropy() - float(theirs.entropy())) < 1e-6
    assert abs(ours.kl(ours)) < 1e-12


@pytest.mark.parametrize(
    ("ours", "theirs"), PAIRS[:4] + PAIRS[5:6], ids=lambda law: type(law).__name__
)
def test_quantiles_equal_those_of_scipy(ours, theirs):
    p = np.array([1e-8, 0.01, 0.3, 0.5, 0.9, 0.999])
    np.testing.assert_allclose(ours.ppf(p), theirs.ppf(p), rtol=1e-8)
    np.testing.assert_allclose(ours.isf(p), theirs.isf(p), rtol=1e-8)
    x = theirs.ppf([0.01, 0.5, 0.99])
    np.testing.assert_allclose(ours.cdf(x), theirs.cdf(x), rtol=1e-10)
    np.testing.assert_allclose(ours.sf(x), theirs.sf(x), rtol=1e-10)
    assert isinstance(ours.cdf(float(x[1])), float)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda law: type(law).__name__)
def test_moments_and_quantiles_equal_those_of_scipy(ours, theirs):
    np.testing.assert_allclose([ours.mean(), ours.std()], [theirs.mean(), theirs.std()], rtol=1e-9)
    assert abs(ours.var() - ours.std() ** 2) < 1e-9 * ours.var()
    p = np.array([0.1, 0.5, 0.9])
    x = theirs.ppf(p)
    np.testing.assert_allclose(ours.ppf(p), x, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.isf(p), theirs.isf(p), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.cdf(x), theirs.cdf(x), rtol=1e-9)
    np.testing.assert_allclose(ours.sf(x), theirs.sf(x), rtol=1e-9)
    np.testing.assert_allclose(ours.interval(0.8), theirs.interval(0.8), rtol=1e-7, atol=1e-9)
    assert ours.median() == ours.ppf(0.5)
    np.testing.assert_allclose(ours.stats("mv"), theirs.stats("mv"), rtol=1e-9)


@pytest.mark.parametrize("ours", [pair[0] for pair in PAIRS], ids=lambda law: type(law).__name__)
def test_a_fitted_law_has_parameters(ours):
    draws = ours.rvs(20_000, random_state=5)
    if isinstance(ours, ff.Rayleigh):
        draws = np.abs(draws)
    fitted = ours.refit(draws)
    assert fitted.parameters.keys() == ours.parameters.keys()
    for name, value in ours.parameters.items():
        assert abs(fitted.parameters[name] - value) < 0.1 * max(1.0, abs(value)), name
    assert repr(fitted).startswith(type(ours).__name__ + "(")
    again = type(ours)(**fitted.parameters)
    np.testing.assert_allclose(again.natural, fitted.natural, rtol=1e-6, atol=1e-9)
    for law in (ours, fitted):
        assert pickle.loads(pickle.dumps(law)) == law == copy.deepcopy(law)


def test_parameters_are_attributes_and_have_defaults():
    law = ff.Gamma(2)
    assert (law.shape, law.rate) == (2.0, 1.0) and law.pdf(-1.0) == 0.0
    assert ff.Normal() == ff.Normal(0, 1) and ff.Exponential().rate == 1.0
    np.testing.assert_array_equal(law.logpdf([1.0, -1.0, np.nan])[1:], [-np.inf, np.nan])
    assert ff.Poisson(2).pmf([0.5, -1, 2]).tolist()[:2] == [0.0, 0.0]
    assert ff.Binomial(5.0, 0.5) == ff.Binomial(5, 0.5)
    with pytest.raises(AttributeError, match="'Gamma' object has no attribute 'scale'"):
        _ = law.scale


def test_fits_and_divergences():
    x = stats.gamma(2.5, scale=0.5).rvs(size=5000, random_state=3)
    shape, _, scale = stats.gamma.fit(x, floc=0)
    law = ff.Gamma.fit(x)
    assert (
        abs(law.mean_parameter @ [1, 0] - x.mean()) < 1e-9
        or abs(law.mean_parameter[1] - x.mean()) < 1e-9
    )
    np.testing.assert_allclose(
        law.logpdf(x[:9]), stats.gamma(shape, scale=scale).logpdf(x[:9]), atol=1e-4
    )
    a, b = ff.Normal(0, 1), ff.Normal(1, 4)
    assert abs(a.kl(b) - (np.log(2) + (1 + 1) / 8 - 0.5)) < 1e-12
    counts = ff.Binomial.fit([1, 2, 3], 5)
    np.testing.assert_allclose(counts.logpdf(2.0), stats.binom(5, 0.4).logpmf(2))


def test_posteriors_are_conjugate():
    prior = ff.Bernoulli(0.5).prior(2.0)
    data = [1, 1, 0, 1, 0]
    truth = betaln(1 + 3, 1 + 2) - betaln(1, 1)
    assert abs(prior.log_marginal_likelihood(data) - truth) < 1e-12
    after = prior.posterior(data)
    assert abs(after.weight - 7) < 1e-12 and abs(after.mean[0] - 4 / 7) < 1e-12
    assert abs(np.exp(after.log_predictive(1)) - 4 / 7) < 1e-12
    assert abs(after.mode().pdf(1) - 4 / 7) < 1e-12


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson", "gamma"])
def test_glms_equal_those_of_statsmodels(family):
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    eta = 0.3 + X @ [0.5, -0.3, 0.1]
    y = {
        "gaussian": eta + rng.normal(size=300),
        "binomial": (rng.random(300) < 1 / (1 + np.exp(-eta))).astype(float),
        "poisson": rng.poisson(np.exp(eta)).astype(float),
        "gamma": rng.gamma(2.0, 0.5 / (3 + 0.2 * eta)),
    }[family]
    theirs = {
        "gaussian": sm.families.Gaussian(),
        "binomial": sm.families.Binomial(),
        "poisson": sm.families.Poisson(),
        "gamma": sm.families.Gamma(sm.families.links.InversePower()),
    }[family]
    truth = sm.GLM(y, sm.add_constant(X), theirs).fit(tol=1e-12, maxiter=200)
    ours = ff.glm(X, y, family)
    sign = -1.0 if family == "gamma" else 1.0
    np.testing.assert_allclose(sign * ours.params, truth.params, atol=1e-6)
    np.testing.assert_allclose(ours.bse, truth.bse, rtol=1e-4)
    assert abs(ours.deviance - truth.deviance) < 1e-6 * truth.deviance
    assert ours.df_resid == truth.df_resid and ours.names[0] == "(intercept)"
    assert "Coefficients" in ours.summary() or "estimate" in ours.summary().lower()


def test_the_results_of_statsmodels_have_their_names():
    sm = pytest.importorskip("statsmodels.api")
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    frame = pandas.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    counts = pandas.Series(rng.poisson(np.exp(0.2 + frame["a"])))
    with_one = sm.add_constant(frame)
    for family in (sm.families.Poisson(), sm.families.Gaussian()):
        theirs = sm.GLM(counts, with_one, family=family).fit(tol=1e-12)
        ours = ff.GLM(counts, with_one, family=family).fit()
        assert list(ours.params.index) == ["const", "a", "b"]
        np.testing.assert_allclose(ours.params["a"], theirs.params["a"], atol=1e-6)
        np.testing.assert_allclose(ours.cov_params(), theirs.cov_params(), rtol=1e-4, atol=1e-9)
        np.testing.assert_allclose(ours.pearson_chi2, theirs.pearson_chi2, rtol=1e-5)
        np.testing.assert_allclose(ours.fittedvalues, theirs.fittedvalues, rtol=1e-5)
        np.testing.assert_allclose(ours.resid_response, theirs.resid_response, atol=1e-5)
        assert ours.nobs == theirs.nobs
        if isinstance(family, sm.families.Poisson):
            # With an estimated dispersion ours are Student's intervals, as in R.
            np.testing.assert_allclose(ours.bic, theirs.bic_llf, rtol=1e-6)
            for alpha in (0.05, 0.3):
                np.testing.assert_allclose(
                    ours.conf_int(alpha=alpha), theirs.conf_int(alpha=alpha), atol=1e-4
                )
        np.testing.assert_allclose(ours.predict(with_one), ours.fittedvalues, rtol=1e-12)
    with pytest.raises(ValueError, match="family = "):
        ff.GLM(counts, with_one, sm.families.Gamma()).fit()
    assert pickle.loads(pickle.dumps(ours)).params["a"] == ours.params["a"]


def test_successes_and_failures_are_two_columns():
    rng = np.random.default_rng(2)
    X, trials = rng.normal(size=(50, 2)), rng.integers(0, 9, size=50)
    wins = rng.binomial(trials, 1 / (1 + np.exp(-X[:, 0])))
    pairs = ff.glm(X, np.column_stack([wins, trials - wins]), "binomial")
    shares = ff.glm(X, wins / np.maximum(trials, 1), "binomial", sample_weight=trials)
    np.testing.assert_allclose(pairs.params, shares.params, rtol=1e-12)
    rows = np.repeat(np.arange(50), trials)
    single = np.concatenate([np.arange(t) < w for w, t in zip(wins, trials, strict=True)])
    np.testing.assert_allclose(
        pairs.params, ff.glm(X[rows], single.astype(float), "binomial").params, atol=1e-6
    )


def test_an_offset_is_a_number_a_row():
    X, y = np.arange(6.0)[:, None], np.array([1.0, 2, 4, 8, 16, 30])
    offset = np.linspace(0, 1, 6)
    result = ff.glm(X, y, "poisson", offset=offset)
    np.testing.assert_allclose(result.predict(X, offset), result.fittedvalues)
    for wrong in (1.0, offset[:5], np.append(offset[:5], np.nan), offset[:, None]):
        with pytest.raises(ValueError, match="offset"):
            result.predict(X, wrong)
        with pytest.raises(ValueError, match="offset"):
            ff.glm(X, y, "poisson", offset=wrong)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ff.glm([1.0, 2.0], [[1.0], [2.0]]), "order of statsmodels"),
        (lambda: ff.glm([[1.0, 1], [1, 2], [1, 4]], [1, 2, 3]), "column 0 of X is constant"),
        (lambda: ff.glm([[1.0], [2.0]], [[1, -1], [1, 1]], "binomial"), "successes and failures"),
        (lambda: ff.Binomial(-1.0, 0.5), "n = -1"),
        (lambda: ff.Normal(0, -1), "variance"),
        (lambda: ff.Binomial(2.5, 0.5), "n = 2.5"),
        (lambda: ff.Gamma.fit([1.0, -1.0]), "observation 1"),
        (lambda: ff.Normal(0, 1).kl(ff.Gamma(1, 1)), "another Normal"),
        (lambda: ff.glm([[1.0], [2.0]], [0, 1], "probit"), "family is"),
        (lambda: ff.glm([[1.0], [2.0]], [-1, 1], "poisson"), "0"),
    ],
)
def test_bad_arguments(call, said):
    with pytest.raises(ValueError, match=said):
        call()
