"""The tasks of the peers' own getting-started pages, with our import.

Each says which page it is from, and what has changed besides the names.
"""

from collections import Counter

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def test_ridge():
    """scikit-learn, Linear models, Ridge: the same."""
    from fenchel.linear_model import Ridge

    reg = Ridge(alpha=0.5)
    reg.fit([[0, 0], [0, 0], [1, 1]], [0, 0.1, 1])
    np.testing.assert_allclose(reg.coef_, [0.34545455, 0.34545455], atol=1e-6)
    assert abs(reg.intercept_ - 0.13636) < 1e-4


def test_lasso():
    """scikit-learn, Linear models, Lasso: the same."""
    from fenchel.linear_model import Lasso

    reg = Lasso(alpha=0.1)
    reg.fit([[0, 0], [1, 1]], [0, 1])
    np.testing.assert_allclose(reg.predict([[1, 1]]), [0.8], atol=1e-6)


def test_ridge_cv():
    """scikit-learn, Linear models, RidgeCV, on its diabetes data: the same (the folds differ)."""
    from fenchel.linear_model import RidgeCV

    X, y = load_diabetes(return_X_y=True)
    reg = RidgeCV(alphas=np.logspace(-6, 6, 13)).fit(X, y)
    assert reg.score(X, y) > 0.5 and reg.alpha_ in np.logspace(-6, 6, 13)


def test_lasso_cv():
    """scikit-learn, Lasso model selection: the same (``mse_path_`` is ``cv_results_``)."""
    from fenchel.linear_model import LassoCV

    X, y = load_diabetes(return_X_y=True)
    model = make_pipeline(StandardScaler(), LassoCV(cv=20)).fit(X, y)
    assert 0.1 < model[-1].alpha_ < 10 and model.score(X, y) > 0.5


def test_elastic_net():
    """scikit-learn, Linear models, Elastic-Net: the same."""
    from fenchel.linear_model import ElasticNet

    X, y = load_diabetes(return_X_y=True)
    regr = ElasticNet(random_state=0, alpha=0.01)
    assert regr.fit(X, y).score(X, y) > 0.3


def test_logistic_regression():
    """scikit-learn, LogisticRegression: the same."""
    from fenchel.linear_model import LogisticRegression

    X, y = load_iris(return_X_y=True)
    clf = LogisticRegression(random_state=0).fit(X, y)
    assert clf.predict(X[:2, :]).tolist() == [0, 0]
    assert clf.predict_proba(X[:2, :]).shape == (2, 3)
    assert round(clf.score(X, y), 2) == 0.97


def test_sparsity_of_logistic_regression():
    """scikit-learn, L1 penalty and sparsity in logistic regression: the same."""
    from fenchel.linear_model import LogisticRegression

    X, y = load_digits(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), (y > 4).astype(int)
    shares = []
    for C in (1, 0.1, 0.01):
        clf = LogisticRegression(C=C, l1_ratio=1, solver="saga", tol=0.01).fit(X, y)
        shares.append(np.mean(clf.coef_ == 0))
    assert shares[0] <= shares[1] < shares[2]


def test_poisson_regression():
    """scikit-learn, PoissonRegressor: the same."""
    from fenchel.linear_model import PoissonRegressor

    clf = PoissonRegressor()
    X, y = [[1, 2], [2, 3], [3, 4], [4, 3]], [12, 17, 22, 21]
    clf.fit(X, y)
    assert round(clf.score(X, y), 3) == 0.990
    np.testing.assert_allclose(clf.coef_, [0.121, 0.158], atol=1e-3)
    np.testing.assert_allclose(clf.predict([[1, 1], [3, 4]]), [10.676, 21.875], atol=1e-2)


def test_linear_svc():
    """scikit-learn, LinearSVC in a pipeline: the same."""
    from fenchel.linear_model import LinearSVC

    X, y = load_iris(return_X_y=True)
    clf = make_pipeline(StandardScaler(), LinearSVC(random_state=0, tol=1e-5))
    clf.fit(X, y)
    assert clf.score(X, y) > 0.9


def test_selection_of_features():
    """scikit-learn, L1-based feature selection: the same."""
    from fenchel.linear_model import LinearSVC

    X, y = load_iris(return_X_y=True)
    lsvc = LinearSVC(C=0.01, penalty="l1", dual=False).fit(X, y)
    model = SelectFromModel(lsvc, prefit=True)
    assert model.transform(X).shape[1] < 4


def test_search_in_a_pipeline():
    """scikit-learn, Getting started, pipelines, searches and cross-validation: the same."""
    from fenchel.linear_model import LogisticRegression

    X, y = load_breast_cancer(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    assert cross_val_score(pipe, X, y).mean() > 0.95
    search = GridSearchCV(pipe, {"logisticregression__C": [0.01, 0.1, 1.0]}).fit(X, y)
    assert search.best_score_ > 0.95


def test_sparse_inverse_covariance():
    """scikit-learn, Sparse inverse covariance estimation: the same."""
    from fenchel.covariance import GraphicalLassoCV

    X = load_iris().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = GraphicalLassoCV()
    model.fit(X)
    assert model.covariance_.shape == model.precision_.shape == (4, 4)
    assert model.cv_results_["alphas"].size > 1 and model.alpha_ > 0


def sentences(count, seed):
    rng = np.random.default_rng(seed)
    words = {"DET": ["the", "a"], "NOUN": ["dog", "can", "cat"], "VERB": ["can", "sees"]}
    order = ["DET", "NOUN", "VERB", "DET", "NOUN"]
    corpus = [[(rng.choice(words[tag]), tag) for tag in order] for _ in range(count)]
    X = [
        [{"bias": 1.0, "word.lower()": word, "word[-2:]": word[-2:]} for word, _ in s]
        for s in corpus
    ]
    return X, [[tag for _, tag in s] for s in corpus]


def test_the_tutorial_of_sklearn_crfsuite():
    """sklearn-crfsuite, Tutorial, training, evaluation and what the model learned: the same."""
    metrics = pytest.importorskip("sklearn_crfsuite.metrics")
    from fenchel.crf import CRF

    X_train, y_train = sentences(60, 0)
    X_test, y_test = sentences(20, 1)
    crf = CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True)
    crf.fit(X_train, y_train)
    labels = list(crf.classes_)
    y_pred = crf.predict(X_test)
    assert metrics.flat_f1_score(y_test, y_pred, average="weighted", labels=labels) > 0.95
    assert Counter(crf.transition_features_).most_common(1)[0][1] > 0
    assert Counter(crf.state_features_).most_common(3)


def test_the_search_of_sklearn_crfsuite():
    """sklearn-crfsuite, Tutorial, hyperparameter optimisation: the same."""
    metrics = pytest.importorskip("sklearn_crfsuite.metrics")
    import scipy.stats

    from fenchel.crf import CRF

    X_train, y_train = sentences(40, 0)
    crf = CRF(max_iterations=100, all_possible_transitions=True)
    space = {"c1": scipy.stats.expon(scale=0.5), "c2": scipy.stats.expon(scale=0.05)}
    scorer = make_scorer(metrics.flat_f1_score, average="weighted", labels=["NOUN", "VERB"])
    search = RandomizedSearchCV(crf, space, cv=3, n_iter=3, scoring=scorer, random_state=0)
    search.fit(X_train, y_train)
    assert search.best_score_ > 0.9


def test_a_network_of_pgmpy():
    """pgmpy, Introduction, the student's network: the network answers itself, and tables may be given as one dictionary."""
    from fenchel.bayes import BayesianNetwork

    student = BayesianNetwork.from_tables(
        {
            "D": (["easy", "hard"], [], [0.6, 0.4]),
            "I": (["low", "high"], [], [0.7, 0.3]),
            "G": (
                ["A", "B", "C"],
                ["I", "D"],
                [[[0.3, 0.4, 0.3], [0.05, 0.25, 0.7]], [[0.9, 0.08, 0.02], [0.5, 0.3, 0.2]]],
            ),
        }
    )
    np.testing.assert_allclose(student.query(["G"]).values, [0.362, 0.2884, 0.3496], atol=1e-12)
    assert student.query("I", evidence={"G": "C"}).p(I="high") < 0.3
    assert student.map_query(["G"], evidence={"D": "hard", "I": "low"}) == {"G": "C"}


def test_learning_of_pgmpy():
    """pgmpy, Learning Bayesian networks from data: the same calls of other objects."""
    pytest.importorskip("pandas")
    from fenchel.bayes import BayesianNetwork

    frame = BayesianNetwork.example("asia").sample(5000, 0)
    model = BayesianNetwork.learn(frame)
    assert 4 <= len(model.arcs) <= 10
    fitted = BayesianNetwork([("smoke", "bronc"), ("bronc", "dysp")]).fit(
        frame[["smoke", "bronc", "dysp"]]
    )
    assert fitted.query("dysp", {"smoke": "yes"}).p(dysp="yes") > 0.4


def test_a_generalised_linear_model():
    """statsmodels, Generalized linear models: the same, and a function without a column of ones."""
    from fenchel.families import GLM, glm

    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = rng.poisson(np.exp(0.3 + X[:, 0]))
    result = glm(X, y, family="poisson")
    assert len(result.params) == len(result.bse) == 3 and result.summary()
    assert result.deviance < result.null_deviance and np.isfinite(result.aic)
    same = GLM(y, np.column_stack([np.ones(100), X]), family="poisson").fit()
    np.testing.assert_allclose(same.params, result.params, atol=1e-6)


def test_a_law_of_scipy():
    """scipy, Statistics, working with probability distributions: the same but for the parameters of a law."""
    from fenchel.families import Normal

    law = Normal(0, 1)
    np.testing.assert_allclose(law.cdf([-1.0, 0, 1]), [0.15865525, 0.5, 0.84134475], atol=1e-8)
    assert law.ppf(0.5) == 0.0 and len(law.rvs(size=3, random_state=1)) == 3
    assert abs(law.entropy() - 1.4189385) < 1e-6


def test_a_linear_program():
    """scipy, linprog: the same."""
    from fenchel.optimize import linprog

    c, A, b = [-1, 4], [[-3, 1], [1, 2]], [6, 4]
    res = linprog(c, A_ub=A, b_ub=b, bounds=[(None, None), (-3, None)])
    assert abs(res.fun - -22.0) < 1e-6 and res.success
    np.testing.assert_allclose(res.x, [10, -3], atol=1e-6)
    np.testing.assert_allclose(res.ineqlin.marginals, [0, -1], atol=1e-6)


def test_an_identification():
    """y0, README, the front door: the graph and the query are texts."""
    from fenchel.causal import identify

    assert "sum" in str(identify("X -> M -> Y; X <-> Y", "P(Y | do(X))"))


def test_a_reduction():
    """sliced, Quick start: the same."""
    from fenchel.reduction import SIR

    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 10))
    y = np.exp(0.75 * (X[:, 0] + X[:, 1])) + 0.1 * rng.normal(size=500)
    sir = SIR(n_components=2).fit(X, y)
    assert sir.transform(X).shape == (500, 2)


def test_an_outlier():
    """scikit-learn, HuberRegressor: the same."""
    from fenchel.linear_model import HuberRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X @ [20.0, 80.0] + 4 * rng.normal(size=200)
    X[:4], y[:4] = rng.uniform(10, 20, (4, 2)), rng.uniform(10, 20, 4)
    huber = HuberRegressor().fit(X, y)
    assert np.abs(huber.coef_ - [20, 80]).max() < 5
    assert huber.outliers_[:4].all() and 2 < huber.scale_ < 5


def test_quantiles():
    """scikit-learn, Quantile regression: the same."""
    from fenchel.linear_model import QuantileRegressor

    rng = np.random.default_rng(42)
    x = np.linspace(0, 10, 100)
    y = 10 + 0.5 * x + rng.normal(0, 0.5 + 0.5 * x, 100)
    for quantile in (0.05, 0.5, 0.95):
        qr = QuantileRegressor(quantile=quantile, alpha=0, solver="highs")
        below = y < qr.fit(x[:, None], y).predict(x[:, None]) - 1e-9
        assert abs(below.mean() - quantile) <= 0.03


def test_positive_paths():
    """scikit-learn, Lasso and elastic net: the same."""
    from fenchel.linear_model import enet_path, lasso_path

    X, y = load_diabetes(return_X_y=True)
    X /= X.std(axis=0)
    alphas, coefs, _ = lasso_path(X, y, eps=5e-3, positive=True)
    assert coefs.shape == (10, 100) and (coefs >= 0).all() and (np.diff(alphas) < 0).all()
    _, mixed, _ = enet_path(X, y, eps=5e-3, l1_ratio=0.8, positive=True)
    assert (mixed >= 0).all()
