"""Precision matrices against scikit-learn and conditions of optimality."""

import numpy as np
import pytest
import sklearn.covariance as sk

from fenchel.covariance import (
    GraphicalLasso,
    GraphicalLassoCV,
    JointGraphicalLasso,
    LatentGraphicalLasso,
    ScaleFreeGraphicalLasso,
    graphical_lasso,
)


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    mix = np.eye(6) + np.diag([0.6] * 5, 1)
    return rng.normal(size=(300, 6)) @ mix


def objective(precision, S, alpha):
    off = np.abs(precision).sum() - np.abs(np.diag(precision)).sum()
    return np.trace(S @ precision) - np.linalg.slogdet(precision)[1] + alpha * off


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_the_objective_is_at_least_as_good_as_scikit_learns(X, alpha):
    ours = GraphicalLasso(alpha, tol=1e-10).fit(X)
    theirs = sk.GraphicalLasso(alpha, tol=1e-10, max_iter=1000).fit(X)
    S = np.cov(X.T, bias=True)
    a, b = (objective(model.precision_, S, alpha) for model in (ours, theirs))
    assert a <= b + 1e-9 and abs(a - ours.report_.objective) < 1e-9
    np.testing.assert_allclose(ours.precision_, theirs.precision_, atol=1e-4)
    np.testing.assert_allclose(ours.covariance_ @ ours.precision_, np.eye(6), atol=1e-8)
    np.testing.assert_allclose(ours.location_, X.mean(0), atol=1e-12)
    # The conditions of optimality.
    gap = S - np.linalg.inv(ours.precision_)
    off = ~np.eye(6, dtype=bool)
    assert (np.abs(gap[off]) <= alpha + 1e-4).all()


def test_densities(X):
    from scipy.stats import multivariate_normal

    model = GraphicalLasso(0.1).fit(X)
    truth = multivariate_normal(model.location_, model.covariance_).logpdf(X)
    np.testing.assert_allclose(model.log_density(X), truth, atol=1e-8)
    assert abs(model.score(X) - truth.mean()) < 1e-10


def test_edges_have_names(X):
    pandas = pytest.importorskip("pandas")
    networkx = pytest.importorskip("networkx")
    model = GraphicalLasso(0.3, correlation=True).fit(pandas.DataFrame(X, columns=list("abcdef")))
    assert ("a", "b") in {edge[:2] for edge in model.edges()}
    assert isinstance(model.to_networkx(), networkx.Graph)
    assert all(-1 <= weight <= 1 for *_, weight in model.edges())


def test_cross_validation(X):
    model = GraphicalLassoCV(alphas=[0.01, 0.1, 0.5]).fit(X)
    assert model.alpha_ in (0.01, 0.1, 0.5) and len(model.cv_results_["alphas"]) == 3
    alone = GraphicalLasso(model.alpha_).fit(X)
    np.testing.assert_allclose(model.precision_, alone.precision_, atol=1e-3)


def test_a_grid_of_so_many_penalties_and_the_scores_of_the_folds(X):
    model = GraphicalLassoCV(alphas=7, cv=3).fit(X)
    found = model.cv_results_
    assert len(found["alphas"]) == 7
    np.testing.assert_allclose(found["alphas"][-1], 0.01 * found["alphas"][0])
    splits = np.column_stack([found[f"split{k}_test_score"] for k in range(3)])
    np.testing.assert_allclose(splits.mean(axis=1), found["mean_test_score"])
    np.testing.assert_allclose(splits.std(axis=1), found["std_test_score"])
    error = splits.std(axis=1, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(error, found["std_error_test_score"])


def test_a_covariance_matrix_in_the_place_of_samples(X):
    covariance = np.cov(X, rowvar=False, bias=True)
    given = GraphicalLasso(0.1, covariance="precomputed", tol=1e-9).fit(covariance)
    np.testing.assert_allclose(
        given.precision_, GraphicalLasso(0.1, tol=1e-9).fit(X).precision_, atol=1e-5
    )
    assert (given.location_ == 0).all()
    ours = graphical_lasso(covariance, 0.1, tol=1e-9)
    theirs = sk.graphical_lasso(covariance, 0.1, tol=1e-9, max_iter=1000)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    np.testing.assert_allclose(
        given.mahalanobis(X[:4]), np.einsum("ij,jk,ik->i", X[:4], given.precision_, X[:4])
    )
    assert given.error_norm(given.covariance_) == 0.0 < given.error_norm(np.eye(6))
    for wrong in (X, -covariance, covariance + np.triu(np.ones((6, 6)), 1)):
        with pytest.raises(ValueError):
            graphical_lasso(wrong, 0.1)
    with pytest.raises(ValueError, match="sample_weight"):
        given.fit(covariance, sample_weight=np.ones(6))


def test_hidden_variables():
    rng = np.random.default_rng(3)
    hidden = rng.normal(size=(2000, 1))
    X = hidden @ np.ones((1, 8)) + rng.normal(size=(2000, 8))
    model = LatentGraphicalLasso(0.2, rank_penalty=0.3).fit(X)
    found = model.sparse_ - model.loadings_ @ model.loadings_.T
    np.testing.assert_allclose(found, model.precision_, atol=1e-6)
    assert model.loadings_.shape[1] == 1 and model.edges() == []


def test_scale_free_and_joint(X):
    assert ScaleFreeGraphicalLasso(0.1).fit(X).report_.converged
    groups = [X[:150], X[150:]]
    model = JointGraphicalLasso(0.1, similarity=0.2).fit(groups)
    assert len(model.precisions_) == 2 and model.report_.converged
    same = (model.precisions_[0] != 0) == (model.precisions_[1] != 0)
    assert same.all()
    fused = JointGraphicalLasso(0.1, similarity=5.0, coupling="fused", correlation=False).fit(
        groups
    )
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(fused.precisions_[0][off], fused.precisions_[1][off], atol=1e-4)


def test_bad_arguments(X):
    with pytest.raises(ValueError, match="alpha = -1"):
        GraphicalLasso(-1).fit(X)
    with pytest.raises(ValueError, match="variance 0"):
        GraphicalLasso().fit(np.column_stack([X, np.ones(len(X))]))
    with pytest.raises(ValueError, match="coupling is 'x'"):
        JointGraphicalLasso(coupling="x").fit([X, X])
    with pytest.raises(ValueError, match="cv = 1"):
        GraphicalLassoCV(cv=1).fit(X)
