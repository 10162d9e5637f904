"""The other solvers, each at its best settings: no intercept, one thread, a tolerance that never ends
a run before its budget does, no validation that can be switched off."""

import dataclasses
import importlib
import time
from collections.abc import Callable

import sklearn
from sklearn.linear_model import LogisticRegression

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

    def run(self, problem, budget):
        """Seconds of `fit` alone, and the objective of what it returns."""
        return timed_fit(self.make(problem, budget), problem)

    def proof(self, problem, relative):
        """Seconds until its own certificate proves the relative suboptimality, and the objective."""
        return timed_fit(self.prove(problem, relative), problem)


def timed_fit(estimator, problem):
    """Seconds of `fit`, and the objective."""
    start = time.perf_counter()
    estimator.fit(problem.a, problem.y)
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


def cyanure(classifier, solver):
    """A solver of Cyanure, and the same until its own gap is small."""

    def make(problem, budget, tol=NEVER, interval=None):
        return classifier(
            loss="logistic",
            penalty="l1" if problem.l1 else "l2",
            lambda_1=problem.l1 or problem.l2,
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


def lightning(classifier):
    """SAG or SAGA of lightning."""

    def make(problem, budget):
        penalty = {"penalty": "l1", "beta": problem.l1} if problem.l1 else {}
        return classifier(
            loss="log", alpha=problem.l2, max_iter=budget, tol=0.0, random_state=0, **penalty
        )

    return make


def optional(module):
    """A module, or None with a message."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        print(f"left out: {module} ({error})")
        return None


def every():
    """All solvers that there are."""
    both = lambda problem: True
    ridge = lambda problem: not problem.l1
    lasso = lambda problem: bool(problem.l1)
    small = lambda problem: not problem.l1 and problem.a.shape[1] <= 1000
    found = [
        Peer("liblinear dual", ridge, scikit_learn("liblinear", dual=True)),
        Peer("liblinear primal", ridge, scikit_learn("liblinear")),
        Peer("liblinear l1", lasso, scikit_learn("liblinear")),
        Peer("scikit-learn lbfgs", ridge, scikit_learn("lbfgs")),
        Peer("scikit-learn newton-cg", ridge, scikit_learn("newton-cg")),
        # A dense Hessian: d^2 numbers, d^3 operations a step.
        Peer("scikit-learn newton-cholesky", small, scikit_learn("newton-cholesky")),
        Peer("scikit-learn sag", ridge, scikit_learn("sag")),
        Peer("scikit-learn saga", both, scikit_learn("saga")),
    ]
    if module := optional("cyanure.estimators"):
        for solver in ("auto", "qning-svrg"):
            make, prove = cyanure(module.Classifier, solver)
            found.append(Peer(f"cyanure {solver}", both, make, prove))
    if module := optional("lightning.classification"):
        # Its SDCA has no logistic loss.
        found.append(Peer("lightning sag", ridge, lightning(module.SAGClassifier)))
        found.append(Peer("lightning saga", both, lightning(module.SAGAClassifier)))
    return found
