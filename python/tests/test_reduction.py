"""Spans against the truth, and SIR against its formula."""

import numpy as np
import pytest

from fenchel.reduction import MAVE, OPG, PHD, SADE, SAVE, SIR, SPHD, DirectionalRegression

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 5))
TRUTH = np.array([1.0, -1.0, 0.5, 0.0, 0.0])
TRUTH /= np.linalg.norm(TRUTH)


@pytest.mark.parametrize(
    ("method", "response"),
    [
        (SIR(), lambda t: t + 0.3 * t**3),
        (SAVE(), lambda t: t**2),
        (DirectionalRegression(), lambda t: t**2),
        (PHD(), lambda t: t**2),
        (SADE(), lambda t: np.exp(t)),
        (SPHD(), lambda t: t**2),
        (OPG(), lambda t: np.sin(t)),
        (MAVE(), lambda t: np.sin(t)),
    ],
    ids=lambda part: type(part).__name__,
)
def test_the_direction_is_found(method, response):
    rows = 600 if isinstance(method, (OPG, MAVE)) else 3000
    model = method.fit(X[:rows], response(X[:rows] @ TRUTH))
    assert model.components_.shape == (1, 5)
    assert abs(model.components_[0] @ TRUTH) > 0.95
    np.testing.assert_allclose(np.linalg.norm(model.components_), 1, atol=1e-12)
    Z = model.transform(X[:7])
    np.testing.assert_allclose(Z, (X[:7] - model.mean_) @ model.components_.T, atol=1e-12)


def test_sir_is_its_formula():
    y = X @ TRUTH + 0.1 * RNG.normal(size=3000)
    model = SIR(n_components=2, n_slices=10).fit(X, y)
    mean, covariance = X.mean(0), np.cov(X.T, bias=True)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    Z = (X - mean) @ root
    slices = np.array_split(np.argsort(y, kind="stable"), 10)
    M = sum(len(s) / 3000 * np.outer(Z[s].mean(0), Z[s].mean(0)) for s in slices)
    eigenvalues = np.sort(np.linalg.eigvalsh(M))[::-1]
    np.testing.assert_allclose(model.eigenvalues_, eigenvalues, atol=1e-3)


def test_the_number_of_directions_is_chosen():
    y = X[:, 0] + (X[:, 1]) ** 3 / 3
    for rule in ("eigen_gap", "chi_square", "permutation"):
        assert SIR(rule).fit(X, X @ TRUTH).n_components_ == 1, rule
    assert DirectionalRegression("ladle").fit(X, X[:, 0] + X[:, 1] ** 2).n_components_ == 2
    assert list(SIR(2).fit(X, y).get_feature_names_out()) == ["sir0", "sir1"]


def test_classes_and_weights():
    labels = np.where(X @ TRUTH > 0, "up", "down")
    model = SIR().fit(X, labels)
    assert abs(model.components_[0] @ TRUTH) > 0.95
    weights = np.where(np.arange(3000) < 1500, 2.0, 1.0)
    twice = SIR(n_slices=8).fit(X, X @ TRUTH, sample_weight=weights)
    assert abs(twice.components_[0] @ TRUTH) > 0.95


@pytest.mark.parametrize("method", [SIR, SAVE, DirectionalRegression])
def test_a_weight_of_2_is_a_row_twice(method):
    """With a response of few values, slices do not depend on ties."""
    y = np.digitize(X[:, 0] ** 2 + X[:, 1], [0.3, 1.0, 2.0]).astype(str)
    weights = 1 + (np.arange(3000) % 3 == 0)
    one = method(2).fit(X, y, sample_weight=weights)
    other = method(2).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, atol=1e-9)
    spans = [model.components_.T @ model.components_ for model in (one, other)]
    np.testing.assert_allclose(*spans, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (SIR(9), "n_components = 9"),
        (SIR("best"), "n_components is 'best'"),
        (MAVE("ladle"), "expected a number"),
        (SIR(n_slices=1), "n_slices = 1"),
        (SIR(1, n_directions=1), "n_directions = 1"),
    ],
)
def test_bad_arguments(method, said):
    with pytest.raises(ValueError, match=said):
        method.fit(X, X @ TRUTH)
    with pytest.raises(ValueError, match="one unique|all"):
        SIR().fit(X, np.ones(3000))


def test_the_names_of_sliced():
    named = SIR(n_directions=1).fit(X, X @ TRUTH)
    assert named.directions_ is named.loadings_ and named.components_.shape == (1, X.shape[1])
    assert SAVE(n_directions="auto").fit(X, (X @ TRUTH) ** 2).n_components_ >= 1
    for y in (X @ TRUTH > 0, np.where(X @ TRUTH > 0, "a", "b")):
        with pytest.raises(ValueError, match="at most 1: y has 2 different values"):
            SIR(2).fit(X, y)
