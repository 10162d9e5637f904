"""Values equal the optimum of scikit-learn, or of an independent solver, to 1e-6."""

import numpy as np
import pytest
import sklearn.linear_model as sk
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC as SkLinearSVC

from fenchel.linear_model import (
    ElasticNet,
    ElasticNetCV,
    GroupLasso,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    MulticlassL1,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    RidgeCV,
    SoftmaxRegression,
    enet_path,
    lasso_path,
    logistic_path,
)

LIMIT = 1e-6


@pytest.fixture(scope="module")
def numbers():
    X, y = make_regression(120, 8, n_informative=5, noise=5.0, random_state=3)
    return X, y / y.std()


@pytest.fixture(scope="module")
def weights(numbers):
    return np.random.default_rng(5).uniform(0.2, 3.0, len(numbers[1]))


@pytest.fixture(scope="module")
def two():
    return make_classification(150, 7, flip_y=0.2, class_sep=0.7, random_state=2)


@pytest.fixture(scope="module")
def four():
    return make_classification(
        240, 7, n_informative=5, n_classes=4, flip_y=0.2, class_sep=0.7, random_state=2
    )


def same(model, truth, limit=LIMIT):
    np.testing.assert_allclose(model.coef_, truth.coef_, atol=limit)
    np.testing.assert_allclose(model.intercept_, truth.intercept_, atol=limit)
    assert model.report_.converged


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 30.0])
def test_ridge(numbers, weights, alpha, intercept):
    for w in (None, weights):
        ours = Ridge(alpha, fit_intercept=intercept, tol=1e-14).fit(*numbers, sample_weight=w)
        truth = sk.Ridge(alpha, fit_intercept=intercept, solver="svd").fit(
            *numbers, sample_weight=w
        )
        same(ours, truth)
        np.testing.assert_allclose(ours.predict(numbers[0]), truth.predict(numbers[0]), atol=1e-5)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("ratio", [0.2, 1.0])
def test_elastic_net(numbers, weights, ratio, intercept):
    for w in (None, weights):
        options = {"alpha": 0.05, "l1_ratio": ratio, "fit_intercept": intercept}
        ours = ElasticNet(**options, tol=1e-13).fit(*numbers, sample_weight=w)
        truth = sk.ElasticNet(**options, tol=1e-14, max_iter=100_000)
        same(ours, truth.fit(*numbers, sample_weight=w))


def test_lasso_and_sparse_data(numbers):
    X, y = numbers
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    truth = sk.Lasso(0.05, tol=1e-14, max_iter=100_000).fit(X, y)
    for data in (X, sparse.csr_matrix(X), sparse.csc_array(X), np.asfortranarray(X)):
        same(Lasso(0.05, tol=1e-13).fit(data, y), truth)


def test_group_lasso_of_single_features_is_the_lasso(numbers):
    truth = sk.Lasso(0.05, tol=1e-14, max_iter=100_000).fit(*numbers)
    same(GroupLasso(1, alpha=0.05, tol=1e-13, max_iter=1e5).fit(*numbers), truth)


def test_group_lasso_stands_at_its_optimum(numbers):
    X, y = numbers
    groups = [[0, 1, 2], [3, 4], [5, 6, 7]]
    model = GroupLasso(groups, alpha=0.3, tol=1e-13, max_iter=1e5).fit(X, y)
    slope = X.T @ (y - model.predict(X)) / len(y)
    for group in groups:
        coef, weight = model.coef_[group], 0.3 * np.sqrt(len(group))
        norm = np.linalg.norm(coef)
        if norm == 0:
            assert np.linalg.norm(slope[group]) <= weight + LIMIT
        else:
            np.testing.assert_allclose(slope[group], weight * coef / norm, atol=LIMIT)
    assert any(np.all(model.coef_[group] == 0) for group in groups) or model.coef_.all()


def test_poisson(numbers, weights):
    X, _ = numbers
    counts = np.random.default_rng(0).poisson(np.exp(0.3 * X[:, 0] - 0.2 * X[:, 1] + 1))
    for w in (None, weights):
        ours = PoissonRegressor(alpha=0.1, tol=1e-13).fit(X, counts, sample_weight=w)
        truth = sk.PoissonRegressor(alpha=0.1, tol=1e-12, solver="newton-cholesky", max_iter=1000)
        same(ours, truth.fit(X, counts, sample_weight=w))
        assert abs(ours.score(X, counts) - truth.score(X, counts)) < 1e-8


def test_huber(numbers):
    """The optimum of scikit-learn, with the scale of the noise; the gap bounds the distance."""
    X, y = numbers
    y = y + np.where(np.arange(len(y)) % 10 == 0, 20.0, 0.0)
    weights = 1.0 + np.arange(len(y)) % 2
    for epsilon, alpha in ((1.35, 1e-3), (2.0, 10.0)):
        model = HuberRegressor(epsilon=epsilon, alpha=alpha, tol=1e-11).fit(X, y, weights)
        theirs = sk.HuberRegressor(epsilon=epsilon, alpha=alpha, tol=1e-9, max_iter=10_000)
        theirs.fit(X, y, weights)
        np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-4)
        np.testing.assert_allclose(model.scale_, theirs.scale_, rtol=1e-4)
        assert (model.outliers_ == theirs.outliers_).all() and model.outliers_[::10].all()

        def objective(fit, epsilon=epsilon, alpha=alpha):
            z = np.abs(X @ fit.coef_ + fit.intercept_ - y) / fit.scale_
            loss = np.where(z <= epsilon, z**2, epsilon * (2 * z - epsilon))
            found = weights @ (fit.scale_ * (1 + loss)) + alpha * fit.coef_ @ fit.coef_
            return found / (2 * weights.sum())

        assert abs(objective(model) - model.report_.objective) < 1e-12 * objective(model)
        assert model.report_.certificate == "gap" and model.report_.relative <= 1e-11
        assert objective(model) <= objective(theirs) + model.duality_gap_
    free = HuberRegressor(alpha=0.0).fit(X, y)
    assert free.report_.certificate == "residual" and free.report_.converged
    again = HuberRegressor(warm_start=True, alpha=0.1).fit(X, y)
    first = again.report_.passes
    assert again.fit(X, y).report_.passes <= first


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.02, 5.0])
def test_quantiles_equal_those_of_scikit_learn(numbers, alpha, intercept):
    X, y = numbers
    weights = 1.0 + np.arange(len(y)) % 3
    options = {"quantile": 0.3, "alpha": alpha, "fit_intercept": intercept}
    ours = QuantileRegressor(**options, solver="highs-ipm").fit(X, y, weights)
    theirs = sk.QuantileRegressor(**options, solver="highs").fit(X, y, weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=LIMIT)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=LIMIT)
    assert ((ours.coef_ == 0) == (theirs.coef_ == 0)).all()
    r = y - ours.predict(X)
    loss = weights @ np.maximum(0.3 * r, -0.7 * r) / weights.sum()
    assert abs(loss + alpha * abs(ours.coef_).sum() - ours.report_.objective) < 1e-9


def test_quantile_against_a_linear_program(numbers):
    """With an l2 penalty that hardly counts, the losses are those of the linear program."""
    X, y = numbers
    n, d = X.shape
    tau = 0.8
    cost = np.concatenate([np.zeros(2 * d + 2), np.full(n, tau), np.full(n, 1 - tau)]) / n
    ones = np.ones((n, 1))
    equal = np.hstack([X, -X, ones, -ones, np.eye(n), -np.eye(n)])
    truth = linprog(cost, A_eq=equal, b_eq=y).fun
    model = QuantileRegressor(quantile=tau, alpha=1e-4, penalty="l2", tol=1e-4, max_iter=1e6)
    model.fit(X, y)
    r = y - model.predict(X)
    loss = np.maximum(tau * r, (tau - 1) * r).mean()
    bound = model.duality_gap_ + 0.5e-4 * 4 * (model.coef_ @ model.coef_)
    assert truth - 1e-9 <= loss <= truth + bound


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 0.5}])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
def test_logistic(two, ratio, class_weight):
    options = {"C": 0.3, "l1_ratio": ratio, "class_weight": class_weight}
    ours = LogisticRegression(**options, tol=1e-13).fit(*two)
    if ratio == 0.0:
        truth = sk.LogisticRegression(
            C=0.3, class_weight=class_weight, tol=1e-12, solver="newton-cholesky", max_iter=1000
        )
        limit = LIMIT
    else:
        truth = sk.LogisticRegression(**options, tol=1e-10, solver="saga", max_iter=100_000)
        limit = 1e-5  # saga stops by the size of its steps
    truth.fit(*two)
    same(ours, truth, limit)
    np.testing.assert_allclose(ours.predict_proba(two[0]), truth.predict_proba(two[0]), atol=limit)


def test_several_classes(four):
    truth = sk.LogisticRegression(C=0.3, tol=1e-12, solver="newton-cg", max_iter=10_000).fit(*four)
    for model in (LogisticRegression(C=0.3, tol=1e-13), SoftmaxRegression(C=0.3, tol=1e-13)):
        model.fit(*four)
        p, q = model.predict_proba(four[0]), truth.predict_proba(four[0])
        np.testing.assert_allclose(model.coef_, truth.coef_, atol=LIMIT)
        # Intercepts are determined up to a constant.
        np.testing.assert_allclose(p, q, atol=LIMIT)


def test_svc(two):
    """scikit-learn penalises the intercept, hence none."""
    ours = LinearSVC(C=0.2, fit_intercept=False, tol=1e-13).fit(*two)
    truth = SkLinearSVC(C=0.2, fit_intercept=False, tol=1e-12, dual=False, max_iter=100_000).fit(
        *two
    )
    np.testing.assert_allclose(ours.coef_, truth.coef_, atol=LIMIT)
    hinge = LinearSVC(loss="hinge", C=0.2, fit_intercept=False, tol=1e-9, max_iter=1e5).fit(*two)
    truth = SkLinearSVC(
        C=0.2, loss="hinge", fit_intercept=False, tol=1e-12, max_iter=1_000_000
    ).fit(*two)
    margins = [two[0] @ model.coef_[0] for model in (hinge, truth)]
    signs = 2 * two[1] - 1
    of = [
        0.2 * np.maximum(0, 1 - signs * m).sum() + model.coef_[0] @ model.coef_[0] / 2
        for m, model in zip(margins, (hinge, truth), strict=True)
    ]
    assert of[0] <= of[1] * (1 + 1e-8)


def test_svc_with_an_l1_penalty(two):
    """The objective is compared: with a fine tolerance liblinear does not always converge here."""
    options = {"C": 0.2, "penalty": "l1", "fit_intercept": False, "dual": False}
    ours = LinearSVC(**options, tol=1e-12).fit(*two)
    truth = SkLinearSVC(**options, tol=1e-8, max_iter=100_000, random_state=0).fit(*two)
    of = []
    for model in (ours, truth):
        margins = (2 * two[1] - 1) * (two[0] @ model.coef_[0])
        of.append(0.2 * (np.maximum(0, 1 - margins) ** 2).sum() + np.abs(model.coef_).sum())
    assert of[0] <= of[1] * (1 + 1e-10) and ours.report_.relative <= 1e-12
    with pytest.raises(ValueError, match="squared_hinge"):
        LinearSVC("l1", "hinge").fit(*two)


def test_several_targets_are_fitted_one_by_one(numbers, weights):
    X, y = numbers
    Y = np.column_stack([y, X[:, 0] - y])
    for model, options in ((Ridge, {"alpha": 0.5}), (Lasso, {"alpha": 0.05})):
        both = model(**options, tol=1e-13).fit(X, Y, sample_weight=weights)
        assert both.coef_.shape == (2, 8) and both.intercept_.shape == (2,)
        truth = getattr(sk, model.__name__)(**options, tol=1e-13).fit(X, Y, sample_weight=weights)
        same(both, truth)
        np.testing.assert_allclose(both.predict(X), truth.predict(X), atol=1e-5)
        for k in range(2):
            alone = model(**options, tol=1e-13).fit(X, Y[:, k], sample_weight=weights)
            np.testing.assert_array_equal(both.coef_[k], alone.coef_)
        warm = model(**options, tol=1e-13, warm_start=True).fit(X, Y)
        assert warm.fit(X, Y).n_iter_ <= both.n_iter_
    each = Ridge([0.5, 3.0], tol=1e-13).fit(X, Y)
    np.testing.assert_allclose(each.coef_[1], sk.Ridge(3.0).fit(X, Y[:, 1]).coef_, atol=LIMIT)
    with pytest.raises(ValueError, match="alpha has 3 numbers"):
        Ridge([1.0, 2.0, 3.0]).fit(X, Y)


@pytest.mark.parametrize("intercept", [True, False])
def test_weights_that_are_not_negative(numbers, intercept):
    X, y = numbers
    X = np.column_stack([X, -X[:, :2]])
    options = {"positive": True, "fit_intercept": intercept}
    lasso = Lasso(0.05, **options, tol=1e-13).fit(X, y)
    same(lasso, sk.Lasso(0.05, **options, tol=1e-14, max_iter=100_000).fit(X, y))
    net = ElasticNet(0.05, **options, tol=1e-13).fit(X, y)
    same(net, sk.ElasticNet(0.05, **options, tol=1e-14, max_iter=100_000).fit(X, y))
    ridge = Ridge(1.0, **options, tol=1e-13).fit(X, y)
    same(ridge, sk.Ridge(1.0, **options, tol=1e-12).fit(X, y), 1e-5)
    assert all((model.coef_ >= 0).all() for model in (lasso, net, ridge))


def test_svc_of_several_classes(four):
    ours = LinearSVC(C=0.2, fit_intercept=False, tol=1e-13).fit(*four)
    truth = SkLinearSVC(C=0.2, fit_intercept=False, tol=1e-12, dual=False, max_iter=100_000)
    truth.fit(*four)
    np.testing.assert_allclose(ours.coef_, truth.coef_, atol=LIMIT)
    assert (ours.predict(four[0]) == truth.predict(four[0])).all()


def test_multiclass_l1_is_certified(four):
    # The hinge of Crammer and Singer is least at 0 where no class has half of the rows.
    model = MulticlassL1(alpha=0.005, loss="log_loss", tol=0.01).fit(*four)
    assert model.report_.converged and model.report_.relative <= 0.01
    assert model.score(*four) > LogisticRegression().fit(*four).score(*four) - 0.05


def test_softmax_groups_drop_features(four):
    model = SoftmaxRegression(C=0.1, group_ratio=1.0, tol=1e-10).fit(*four)
    used = np.abs(model.coef_).max(axis=0) > 0
    assert 0 < used.sum() < 7


def test_paths(numbers, two):
    X, y = numbers[0] - numbers[0].mean(0), numbers[1] - numbers[1].mean()
    path = lasso_path(X, y, n_alphas=20, tol=1e-12)
    alphas, truth, _ = sk.lasso_path(X, y, alphas=20, tol=1e-14, max_iter=100_000)
    np.testing.assert_allclose(path.alphas, alphas, rtol=1e-10)
    np.testing.assert_allclose(path.coefs, truth, atol=LIMIT)
    assert all(report.converged for report in path.reports)
    path = logistic_path(*two, Cs=[0.05, 0.5], tol=1e-12)
    for k, C in enumerate((0.05, 0.5)):
        model = LogisticRegression(C=C, l1_ratio=1.0, tol=1e-12).fit(*two)
        np.testing.assert_allclose(path.coefs[:, k], model.coef_[0], atol=LIMIT)


def test_cross_validation_chooses_and_refits(numbers, two, four):
    model = LassoCV(alphas=30, tol=1e-10).fit(*numbers)
    assert len(model.cv_results_["alpha"]) == 30
    np.testing.assert_allclose(
        model.coef_, Lasso(model.alpha_, tol=1e-10).fit(*numbers).coef_, atol=1e-5
    )
    ridge = RidgeCV([0.1, 1.0, 10.0]).fit(*numbers)
    assert ridge.alpha_ in (0.1, 1.0, 10.0)
    np.testing.assert_allclose(ridge.coef_, Ridge(ridge.alpha_).fit(*numbers).coef_, atol=1e-4)
    net = ElasticNetCV(l1_ratio=[0.3, 1.0], alphas=10).fit(*numbers)
    assert net.l1_ratio_ in (0.3, 1.0) and net.cv_results_["split_test_scores"].shape == (20, 5)
    for data in (two, four):
        model = LogisticRegressionCV(Cs=[0.01, 0.1, 1.0], tol=1e-8).fit(*data)
        assert model.C_ in (0.01, 0.1, 1.0)
        alone = LogisticRegression(C=model.C_).fit(*data)
        np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-4)
    simple = LassoCV(selection_rule="one_standard_error").fit(*numbers)
    assert simple.alpha_ >= LassoCV().fit(*numbers).alpha_


def test_folds_are_given_as_in_scikit_learn(numbers, two):
    X, y = numbers
    order = KFold(4, shuffle=True, random_state=1)
    options = {"alphas": [0.5, 0.05, 0.005], "cv": order}
    ours = LassoCV(**options, tol=1e-12).fit(X, y)
    theirs = sk.LassoCV(**options, tol=1e-12, max_iter=100_000).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-5)
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_)
    pairs = [(np.arange(100), np.arange(100, 150)), (np.arange(50, 150), np.arange(50))]
    model = LogisticRegressionCV(Cs=[0.01, 1.0], cv=pairs).fit(*two)
    assert model.cv_results_["split_test_scores"].shape == (2, 2)
    with pytest.raises(ValueError, match="split 0 has row 150"):
        LassoCV(cv=[(range(10), [150]), (range(9), [3])]).fit(X, y)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (Lasso, {"alpha": 0.05}),
        (LassoCV, {"alphas": [0.3, 0.1, 0.03], "cv": 3}),
        (ElasticNetCV, {"l1_ratio": 0.5, "alphas": [0.3, 0.1, 0.03], "cv": 3}),
        (QuantileRegressor, {"alpha": 1.0, "penalty": "l2"}),
        (LogisticRegression, {}),
        (SoftmaxRegression, {}),
        (LogisticRegressionCV, {"Cs": [0.1, 1.0], "cv": 3}),
    ],
)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_a_weight_of_2_is_a_row_twice(numbers, model, options, kind):
    X, y = numbers
    if model in (LogisticRegression, SoftmaxRegression, LogisticRegressionCV):
        y = np.digitize(y, [-0.5, 0.5])
    weights = np.arange(len(y)) % 3  # a third of the rows has the weight 0
    options = {**options, "tol": 1e-13, "max_iter": 1e5}
    rows = np.repeat(np.arange(len(y)), weights)
    twice = dict(options)
    if "cv" in options:
        folds = list(KFold(3).split(X))
        options["cv"] = folds
        twice["cv"] = [
            tuple(np.flatnonzero(np.isin(rows, side)) for side in split) for split in folds
        ]
    one = model(**options).fit(kind(X), y, sample_weight=weights)
    other = model(**twice).fit(kind(X[rows]), y[rows])
    np.testing.assert_allclose(one.coef_, other.coef_, atol=LIMIT)
    np.testing.assert_allclose(one.intercept_, other.intercept_, atol=LIMIT)


def test_the_gap_bounds_the_distance_to_the_optimum(two):
    """The promise of a certificate, with a rough fit and a fine one."""
    rough = LogisticRegression(tol=0.05).fit(*two)
    fine = LogisticRegression(tol=1e-13).fit(*two)
    distance = rough.report_.objective - fine.report_.objective
    assert -1e-12 <= distance <= rough.duality_gap_


def test_no_convergence_is_said(two):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = Lasso(1e-4, max_iter=1, tol=1e-14).fit(two[0], two[1])
    assert not model.report_.converged and model.duality_gap_ > 0


def test_a_warm_start_begins_at_the_former_fit(four, numbers):
    for model, data in (
        (LogisticRegression(warm_start=True), four),
        (Lasso(0.01, warm_start=True), numbers),
    ):
        first = model.fit(*data).n_iter_
        assert model.fit(*data).n_iter_ <= first
        assert model.report_.converged


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Ridge(alpha=-1), "alpha = -1"),
        (ElasticNet(l1_ratio=2), "l1_ratio = 2"),
        (Lasso(tol=-1), "tol = -1"),
        (HuberRegressor(epsilon=0), "epsilon = 0"),
        (QuantileRegressor(quantile=1.5), "quantile = 1.5"),
        (HuberRegressor(epsilon=0.9), "epsilon = 0.9"),
        (QuantileRegressor(alpha=0, penalty="l2"), "alpha = 0"),
        (QuantileRegressor(solver="simplex"), "solver is 'simplex'"),
        (LassoCV(cv=1), "cv = 1"),
        (LassoCV(n_jobs=-3), "n_jobs = -3"),
        (GroupLasso([[0], [0]]), "0"),
        (GroupLasso([[99]]), "99"),
        (RidgeCV(selection_rule="x"), "selection_rule is 'x'"),
    ],
)
def test_bad_parameters_of_regressions(numbers, model, said):
    with pytest.raises(ValueError, match=said):
        model.fit(*numbers)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (LogisticRegression(C=0), "C = 0"),
        (LogisticRegression("l3"), "penalty is 'l3'"),
        (LinearSVC(loss="log"), "loss is 'log'"),
        (MulticlassL1(norm="l2"), "norm is 'l2'"),
        (LogisticRegressionCV(scoring="f1"), "scoring is 'f1'"),
        (SoftmaxRegression(l1_ratio=0.7, group_ratio=0.7), "1 - l1_ratio - group_ratio"),
    ],
)
def test_bad_parameters_of_classifiers(two, model, said):
    with pytest.raises(ValueError, match=said):
        model.fit(*two)


def test_paths_of_weights_that_are_not_negative(numbers):
    X, y = numbers
    alphas, coefs, gaps = lasso_path(X, y, n_alphas=12, eps=1e-2, positive=True, tol=1e-12)
    theirs = sk.lasso_path(X, y, alphas=alphas, positive=True, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(coefs, theirs[1], atol=1e-5)
    assert (coefs >= 0).all() and gaps.shape == (12,)
    np.testing.assert_allclose(alphas, lasso_path(X, y, n_alphas=12, eps=1e-2).alphas)
    given = enet_path(X, y, alphas=[1.0, 0.1], l1_ratio=0.5, positive=True)
    assert given.alphas.tolist() == [1.0, 0.1] and (given.coefs >= 0).all()
    assert Lasso.path is enet_path and LassoCV.path is lasso_path


def test_what_cross_validations_leave_has_the_names_of_scikit_learn(numbers, two):
    X, y = numbers
    assert RidgeCV(alphas=[0.1, 1.0]).fit(X[:3], y[:3]).alpha_ in (0.1, 1.0)
    lasso = LassoCV(cv=3, alphas=10).fit(X, y)
    assert lasso.dual_gap_ == lasso.duality_gap_
    assert lasso.best_score_ == lasso.cv_results_["mean_test_score"].max()
    model = LogisticRegressionCV(Cs=[10, 0.1, 1], cv=3, l1_ratios=[0, 0.5], dual=False).fit(*two)
    assert model.Cs_.tolist() == [0.1, 1, 10] and model.scores_.shape == (3, 2, 3)
    best = np.unravel_index(model.scores_.mean(axis=0).argmax(), (2, 3))
    assert model.l1_ratio_ == [0, 0.5][best[0]] and model.C_ == model.Cs_[best[1]]
    counted = LogisticRegressionCV(Cs=4, cv=3, use_legacy_attributes="warn").fit(*two)
    assert counted.Cs_.shape == (4,) and (np.diff(counted.Cs_) > 0).all()
    assert counted.scores_.shape == (3, 1, 4) and counted.n_iter_.shape == (1,)
    for wrong in ({"refit": False}, {"use_legacy_attributes": True}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            LogisticRegressionCV(**wrong).fit(*two)


def test_weights_as_a_sparse_matrix(two, four):
    for data in (two, four):
        model = LogisticRegression(C=0.1, l1_ratio=1.0, warm_start=True).fit(*data)
        before, scores = model.coef_, model.decision_function(data[0])
        assert sparse.issparse(model.sparsify().coef_)
        np.testing.assert_array_equal(model.decision_function(data[0]), scores)
        assert model.fit(*data).report_.converged
        np.testing.assert_array_equal(model.sparsify().densify().coef_, model.coef_)
        assert model.coef_.shape == before.shape and model.n_iter_.shape == (1,)
    with pytest.raises(ValueError, match="multi_class is 'crammer_singer'"):
        LinearSVC(multi_class="crammer_singer").fit(*four)
    assert LinearSVC(multi_class="ovr", intercept_scaling=2).fit(*two).score(*two) > 0.5


def test_labels_of_every_type():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    for y in (
        [0.0, 0, 1, 1],
        [True, True, False, False],
        list("aabb"),
        np.array(list("aabb"), object),
    ):
        assert LogisticRegression().fit(X, y).score(X, y) == 1.0
    with pytest.raises(ValueError, match="continuous"):
        LogisticRegression().fit(X, [0.5, 0.5, 1, 1])
