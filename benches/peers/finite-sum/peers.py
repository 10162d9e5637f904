"""The other solvers, each at its best settings: no intercept, one thread, a tolerance that never ends
a run before its budget does, no validation that can be switched off."""

import dataclasses
import importlib
import time
from collections.abc import Callable

import numpy as np
import sklearn
from sklearn.linear_model import ElasticNet, LogisticRegression, PoissonRegressor, Ridge

sklearn.set_config(assume_finite=True, skip_parameter_validation=True)

# Small enough never to be met; some solvers refuse 0.
NEVER = 1e-15


@dataclasses.dataclass
class Peer:
    """A solver: `make(problem, budget)` gives an estimator, `budget` counts its own iterations."""

    name: str
    fits: Callable
    make: Callable
    # For a solver with a duality gap of its own: `prove(problem, relative)`.
    prove: Callable | None = None
    # Works a feature at a time: gets the matrix by columns, whose making is not timed.
    by_columns: bool = False

    def run(self, problem, budget):
        """Seconds of `fit` alone, and the objective of what it returns."""
        return timed_fit(self.make(problem, budget), problem, self.by_columns)

    def proof(self, problem, relative):
        """Seconds until its own certificate proves the relative suboptimality, and the objective."""
        return timed_fit(self.prove(problem, relative), problem, self.by_columns)


def timed_fit(estimator, problem, by_columns=False):
    """Seconds of `fit`, and the objective."""
    matrix = problem.by_columns if by_columns else problem.a
    start = time.perf_counter()
    estimator.fit(matrix, problem.y)
    seconds = time.perf_counter() - start
    return seconds, problem.objective(estimator.coef_)


def scikit_learn(solver, **more):
    """A solver behind scikit-learn's LogisticRegression; C = 1 / (n * weight)."""

    def make(problem, budget):
        return LogisticRegression(
            C=1.0 / (problem.n * (problem.l1 or problem.l2)),
            l1_ratio=1.0 if problem.l1 else 0.0,
            solver=solver,
            fit_intercept=False,
            tol=NEVER,
            max_iter=budget,
            random_state=0,
            **more,
        )

    return make


def scikit_learn_net(precompute):
    """scikit-learn's coordinate descent, with or without the Gram matrix of all features."""

    def make(problem, budget):
        total = problem.l1 + problem.l2
        return ElasticNet(
            alpha=total,
            l1_ratio=problem.l1 / total,
            fit_intercept=False,
            precompute=precompute,
            max_iter=budget,
            tol=NEVER,
        )

    return make


def scikit_learn_ridge(solver):
    """A solver behind scikit-learn's Ridge; a direct one takes no notice of its budget."""

    def make(problem, budget):
        return Ridge(alpha=problem.l2 * problem.n, fit_intercept=False, solver=solver, tol=NEVER, max_iter=budget)

    return make


def scikit_learn_counts(solver):
    """A solver behind scikit-learn's PoissonRegressor."""

    def make(problem, budget):
        return PoissonRegressor(alpha=problem.l2, fit_intercept=False, solver=solver, tol=NEVER, max_iter=budget)

    return make


def cyanure(module, solver):
    """A solver of Cyanure, and the same until its own gap is small."""

    def make(problem, budget, tol=NEVER, interval=None):
        squared = problem.task == "squared"
        both = problem.l1 and problem.l2
        classifier = module.Regression if squared else module.Classifier
        more = {"lambda_2": problem.l2} if both else {}
        if not squared:
            more["loss"] = "logistic"
        return classifier(
            penalty="elasticnet" if both else "l1" if problem.l1 else "l2",
            lambda_1=problem.l1 or problem.l2,
            **more,
            fit_intercept=False,
            solver=solver,
            max_iter=budget,
            tol=tol,
            # No gap before the end, where it would only cost time.
            duality_gap_interval=interval or budget,
            n_threads=1,
            safe=False,
            verbose=False,
        )

    return make, lambda problem, relative: make(problem, 2000, relative, 5)


def lightning(classifier, **more):
    """SAG or SAGA of lightning."""

    def make(problem, budget):
        penalty = {"penalty": "l1", "beta": problem.l1} if problem.l1 else {}
        return classifier(
            alpha=problem.l2, max_iter=budget, tol=0.0, random_state=0, **penalty, **more
        )

    return make


def skglm(module):
    """skglm ends by its own criterion only: the budget is the exponent of its tolerance, in quarters."""

    def make(problem, budget):
        tol = 10.0 ** (-0.25 * budget)
        common = {"fit_intercept": False, "tol": tol, "max_iter": 100}
        if problem.task == "squared":
            total = problem.l1 + problem.l2
            return module.ElasticNet(alpha=total, l1_ratio=problem.l1 / total, **common)
        return module.SparseLogisticRegression(alpha=problem.l1, **common)

    return make


def warm_up(peer, storages):
    """Lets numba compile for every kind of problem before anything is timed."""
    import problems
    import scipy.sparse

    random = np.random.default_rng(0)
    a = random.standard_normal((50, 5))
    y = np.sign(a[:, 0] + 0.1)
    for matrix in (a, scipy.sparse.csr_matrix(a)):
        for task, l2 in (("logistic", 0.0), ("squared", 0.01)):
            problem = problems.Problem("", "", matrix, y, task, l2, 0.01, storages())
            if peer.fits(problem):
                peer.run(problem, 8)


def optional(module):
    """A module, or None with a message."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        print(f"left out: {module} ({error})")
        return None


def every():
    """All solvers that there are."""
    logistic = lambda problem: problem.task == "logistic"
    squared = lambda problem: problem.task == "squared" and bool(problem.l1)
    squares = lambda problem: problem.task == "squared" and not problem.l1
    direct = lambda problem: squares(problem) and min(problem.a.shape) <= 5000
    counts = lambda problem: problem.task == "counts"
    few_counts = lambda problem: counts(problem) and problem.a.shape[1] <= 3000
    ridge = lambda problem: logistic(problem) and not problem.l1
    lasso = lambda problem: logistic(problem) and bool(problem.l1)
    small = lambda problem: ridge(problem) and problem.a.shape[1] <= 1000
    every_one = lambda problem: not counts(problem)
    found = [
        Peer("liblinear dual", ridge, scikit_learn("liblinear", dual=True)),
        Peer("liblinear primal", ridge, scikit_learn("liblinear")),
        Peer("liblinear l1", lasso, scikit_learn("liblinear")),
        Peer("scikit-learn lbfgs", ridge, scikit_learn("lbfgs")),
        # A dense Hessian: d^2 numbers, d^3 operations a step.
        Peer("scikit-learn newton-cholesky", small, scikit_learn("newton-cholesky")),
        Peer("scikit-learn sag", ridge, scikit_learn("sag")),
        Peer("scikit-learn saga", logistic, scikit_learn("saga")),
        Peer("scikit-learn ridge, Cholesky", direct, scikit_learn_ridge("cholesky")),
        Peer("scikit-learn ridge, CG", squares, scikit_learn_ridge("sparse_cg")),
        Peer("scikit-learn ridge, LSQR", squares, scikit_learn_ridge("lsqr")),
        Peer("scikit-learn lbfgs, counts", counts, scikit_learn_counts("lbfgs")),
        Peer("scikit-learn newton-cholesky, counts", few_counts, scikit_learn_counts("newton-cholesky")),
        Peer("scikit-learn cd", squared, scikit_learn_net(False), by_columns=True),
        Peer("scikit-learn cd, Gram", squared, scikit_learn_net(True), by_columns=True),
    ]
    if module := optional("cyanure.estimators"):
        for solver in ("auto", "qning-svrg"):
            make, prove = cyanure(module, solver)
            found.append(Peer(f"cyanure {solver}", every_one, make, prove))
    if module := optional("lightning.classification"):
        # Its SDCA has no logistic loss.
        found.append(Peer("lightning sag", ridge, lightning(module.SAGClassifier, loss="log")))
        found.append(Peer("lightning saga", logistic, lightning(module.SAGAClassifier, loss="log")))
    if module := optional("lightning.regression"):
        saga = lightning(module.SAGARegressor, loss="squared")
        found.append(Peer("lightning saga", squared, saga))
    if module := optional("skglm"):
        with_l1 = lambda problem: bool(problem.l1)
        found.append(Peer("skglm", with_l1, skglm(module), by_columns=True))
    return found
