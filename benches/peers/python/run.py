"""The Python package against the libraries that it replaces, through Python on both sides, one thread each.

    cargo xtask peers python [-- --quick] [-- --only TEXT]      (about 10 minutes; with --quick two)

Where a peer minimises the same objective, ours ends when its certificate proves a relative suboptimality of 1e-6, and the
peer's tolerance is tightened until its answer is as good; only the last attempt counts. Elsewhere both do the whole task.
Both are timed in turn, in five rounds, or once where a call takes long. The time is that of the call, with the checks and
conversions of data that are part of it.
Times are processor seconds: what else the machine does counts little.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import csv
import datetime
import functools
import gzip
import pathlib
import platform
import statistics
import tempfile
import time
import warnings
from importlib.metadata import version

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.stats
import sklearn.covariance
import sklearn.linear_model as sk
import sklearn.svm
from scipy import sparse

import fenchel.bayes
import fenchel.causal
import fenchel.covariance
import fenchel.crf
import fenchel.families
import fenchel.linear_model as ours
import fenchel.mrf
import fenchel.optimize
import fenchel.reduction

TARGET = 1e-6
ROUNDS = 5
TOLERANCES = [10.0**-k for k in range(2, 15)]
BUDGET = 30.0
LONG = 20.0  # seconds of a round: there is no other


def rows_of(rng, n, d, entries):
    """A sparse matrix with rows of length 1."""
    columns = np.concatenate([rng.choice(d, entries, replace=False) for _ in range(n)])
    values = rng.standard_normal(n * entries)
    matrix = sparse.csr_matrix((values, columns, np.arange(0, n * entries + 1, entries)), (n, d))
    matrix.sort_indices()
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1 / lengths) @ matrix)


def labels(rng, margins):
    """Labels whose log-odds are four standard deviations of the margins."""
    odds = 4 * margins / margins.std()
    return (rng.random(len(odds)) < 1 / (1 + np.exp(-odds))).astype(float)


class Minimum:
    """A case in which both sides minimise one objective."""

    def __init__(self, task, peer, ours, theirs, objective):
        self.task, self.peer, self.ours, self.theirs, self.objective = task, peer, ours, theirs, objective

    def prepare(self):
        """The two sides, each as good as the target asks."""
        certified = self.ours(TARGET)
        optimum = min(self.objective(self.ours(1e-9)), self.objective(certified))
        for tolerance in TOLERANCES:
            start = time.perf_counter()
            found = self.objective(self.theirs(tolerance))
            if found - optimum <= TARGET * abs(optimum):
                return lambda: self.ours(TARGET), lambda: self.theirs(tolerance), f"tol {tolerance:.0e}"
            if time.perf_counter() - start > BUDGET:
                break
        return lambda: self.ours(TARGET), lambda: self.theirs(tolerance), "never reaches the target"


class Task:
    """A case in which both sides do the same, which is checked."""

    def __init__(self, task, peer, ours, theirs, same):
        self.task, self.peer, self.ours, self.theirs, self.same = task, peer, ours, theirs, same

    def prepare(self):
        if not self.same(self.ours(), self.theirs()):
            raise AssertionError(f"{self.task}: the answers differ")
        return self.ours, self.theirs, "same answer"


def linear_models(quick):
    rng = np.random.default_rng(0)
    scale = 4 if quick else 1
    X = rng.standard_normal((20_000 // scale, 200))
    X -= X.mean(axis=0)
    w = rng.standard_normal(200) * (rng.random(200) < 0.3)
    y = X @ w + rng.standard_normal(len(X)) * 3
    two = labels(rng, X @ w)
    S = rows_of(rng, 40_000 // scale, 10_000, 30)
    v = rng.standard_normal(10_000) * (rng.random(10_000) < 0.1)
    answer = labels(rng, S @ v)
    wide = rng.standard_normal((400, 10_000 // scale))
    wide -= wide.mean(axis=0)
    target = wide[:, :30] @ rng.standard_normal(30) + rng.standard_normal(400)
    target -= target.mean()
    many = (X @ rng.standard_normal((200, 10)) + 8 * rng.standard_normal((len(X), 10))).argmax(axis=1)
    counts = rng.poisson(np.exp(0.02 * (X @ w) + 0.5)).astype(float)

    def logistic(data, sign, C, r):
        def value(model):
            margins = sign * np.ravel(data @ model.coef_[0] + model.intercept_)
            coef = model.coef_[0]
            return C * np.logaddexp(0, -margins).sum() + r * abs(coef).sum() + (1 - r) / 2 * coef @ coef

        return value

    def softmax(model):
        scores = X @ model.coef_.T + model.intercept_
        loss = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(X)), many]
        return 0.01 * loss.sum() + (model.coef_**2).sum() / 2

    def squared_hinge(model):
        margins = (2 * answer - 1) * np.ravel(S @ model.coef_[0])
        return (np.maximum(0, 1 - margins) ** 2).sum() + model.coef_[0] @ model.coef_[0] / 2

    def net(data, goal, alpha, r):
        def value(model):
            rest = data @ model.coef_ + model.intercept_ - goal
            size = r * abs(model.coef_).sum() + (1 - r) / 2 * model.coef_ @ model.coef_
            return rest @ rest / (2 * len(goal)) + alpha * size

        return value

    def ridge(data, goal):
        def value(model):
            rest = data @ model.coef_ + model.intercept_ - goal
            return rest @ rest + model.coef_ @ model.coef_

        return value

    def poisson(model):
        logs = X @ model.coef_ + model.intercept_
        return (np.exp(logs) - counts * logs).mean() + 0.05 * model.coef_ @ model.coef_

    least = abs(wide.T @ target).max() / len(target)
    numbers = S @ v + 0.1 * rng.standard_normal(S.shape[0])
    plain = {"fit_intercept": False}
    yield Minimum(
        f"LogisticRegression, l2, {len(X):,} x 200",
        "scikit-learn lbfgs",
        lambda tol: ours.LogisticRegression(C=0.01, tol=tol).fit(X, two),
        lambda tol: sk.LogisticRegression(C=0.01, tol=tol, max_iter=10_000).fit(X, two),
        logistic(X, 2 * two - 1, 0.01, 0.0),
    )
    yield Minimum(
        f"LogisticRegression, l2, sparse {S.shape[0]:,} x 10,000",
        "scikit-learn lbfgs",
        lambda tol: ours.LogisticRegression(C=10.0, tol=tol, **plain).fit(S, answer),
        lambda tol: sk.LogisticRegression(C=10.0, tol=tol, max_iter=10_000, **plain).fit(S, answer),
        logistic(S, 2 * answer - 1, 10.0, 0.0),
    )
    yield Minimum(
        f"LogisticRegression, l1, sparse {S.shape[0]:,} x 10,000",
        "scikit-learn liblinear",
        lambda tol: ours.LogisticRegression(C=3.0, l1_ratio=1.0, tol=tol, **plain).fit(S, answer),
        lambda tol: sk.LogisticRegression(
            C=3.0, l1_ratio=1.0, solver="liblinear", tol=tol, max_iter=10_000, **plain
        ).fit(S, answer),
        logistic(S, 2 * answer - 1, 3.0, 1.0),
    )
    yield Minimum(
        f"LogisticRegression, 10 classes, {len(X):,} x 200",
        "scikit-learn lbfgs",
        lambda tol: ours.LogisticRegression(C=0.01, tol=tol).fit(X, many),
        lambda tol: sk.LogisticRegression(C=0.01, tol=tol, max_iter=10_000).fit(X, many),
        softmax,
    )
    yield Minimum(
        f"LinearSVC, sparse {S.shape[0]:,} x 10,000",
        "scikit-learn liblinear",
        lambda tol: ours.LinearSVC(C=1.0, tol=tol, **plain).fit(S, answer),
        lambda tol: sklearn.svm.LinearSVC(C=1.0, tol=tol, max_iter=100_000, **plain).fit(S, answer),
        squared_hinge,
    )
    yield Minimum(
        f"Ridge, {len(X):,} x 200",
        "scikit-learn cholesky",
        lambda tol: ours.Ridge(1.0, tol=tol).fit(X, y),
        lambda tol: sk.Ridge(1.0).fit(X, y),
        ridge(X, y),
    )
    yield Minimum(
        f"Ridge, sparse {S.shape[0]:,} x 10,000",
        "scikit-learn sparse_cg",
        lambda tol: ours.Ridge(1.0, tol=tol, **plain).fit(S, numbers),
        lambda tol: sk.Ridge(1.0, solver="sparse_cg", tol=tol, **plain).fit(S, numbers),
        ridge(S, numbers),
    )
    yield Minimum(
        f"Lasso, 400 x {wide.shape[1]:,}",
        "scikit-learn",
        lambda tol: ours.Lasso(least / 20, tol=tol).fit(wide, target),
        lambda tol: sk.Lasso(least / 20, tol=tol, max_iter=100_000).fit(wide, target),
        net(wide, target, least / 20, 1.0),
    )
    yield Minimum(
        f"ElasticNet, {len(X):,} x 200",
        "scikit-learn",
        lambda tol: ours.ElasticNet(0.1, tol=tol).fit(X, y),
        lambda tol: sk.ElasticNet(0.1, tol=tol, max_iter=100_000).fit(X, y),
        net(X, y, 0.1, 0.5),
    )
    yield Minimum(
        f"PoissonRegressor, {len(X):,} x 200",
        "scikit-learn newton-cholesky",
        lambda tol: ours.PoissonRegressor(alpha=0.1, tol=tol).fit(X, counts),
        lambda tol: sk.PoissonRegressor(
            alpha=0.1, tol=tol, solver="newton-cholesky", max_iter=1000
        ).fit(X, counts),
        poisson,
    )
    grid = list(np.geomspace(least, least / 100, 50))
    sampled = rng.permutation(len(target))
    wide, target = wide[sampled], target[sampled]
    yield Task(
        f"LassoCV, 50 penalties, 5 folds, 400 x {wide.shape[1]:,}",
        "scikit-learn",
        lambda: ours.LassoCV(alphas=grid, tol=TARGET).fit(wide, target),
        lambda: sk.LassoCV(alphas=grid, tol=TARGET, max_iter=10_000).fit(wide, target),
        lambda a, b: 0.5 < a.alpha_ / b.alpha_ < 2,  # folds differ
    )
    yield Task(
        f"lasso_path, 100 penalties, 400 x {wide.shape[1]:,}",
        "scikit-learn",
        lambda: ours.lasso_path(wide, target, eps=0.01, tol=TARGET),
        lambda: sk.lasso_path(wide, target, eps=0.01, alphas=100, tol=TARGET, max_iter=10_000),
        lambda a, b: np.allclose(a.coefs, b[1], atol=1e-2),
    )


def word(sentence, i):
    """The features of a word, as in the tutorial of sklearn-crfsuite."""
    text, tag = sentence[i][0], sentence[i][1]
    features = {
        "bias": 1.0,
        "word.lower()": text.lower(),
        "word[-3:]": text[-3:],
        "word[-2:]": text[-2:],
        "word.isupper()": text.isupper(),
        "word.istitle()": text.istitle(),
        "word.isdigit()": text.isdigit(),
        "postag": tag,
        "postag[:2]": tag[:2],
    }
    for step, name in ((-1, "-1:"), (1, "+1:")):
        if 0 <= i + step < len(sentence):
            text, tag = sentence[i + step][0], sentence[i + step][1]
            features.update(
                {
                    name + "word.lower()": text.lower(),
                    name + "word.istitle()": text.istitle(),
                    name + "word.isupper()": text.isupper(),
                    name + "postag": tag,
                    name + "postag[:2]": tag[:2],
                }
            )
        else:
            features["BOS" if step < 0 else "EOS"] = True
    return features


def sentences(path):
    """The sentences of a file of the CoNLL tasks: a token a line."""
    found, one = [], []
    for line in path.read_text(encoding="latin-1").splitlines():
        parts = line.split()
        if parts and not line.startswith("-DOCSTART-"):
            one.append(parts)
        elif one:
            found.append(one)
            one = []
    return found + ([one] if one else [])


def taggers(quick, data):
    import sklearn_crfsuite
    from sklearn_crfsuite import metrics

    folder = data and data / "conll2002-nl"
    if not (folder and folder.is_dir()):
        return
    sets = [sentences(folder / name) for name in ("ned.train", "ned.testb")]
    if quick:
        sets = [each[:1000] for each in sets]
    (X, y), (fresh, truth) = (
        ([[word(s, i) for i in range(len(s))] for s in each], [[t[-1] for t in s] for s in each])
        for each in sets
    )
    kept = sorted({label for each in y for label in each} - {"O"})

    def f1(model):
        return metrics.flat_f1_score(truth, model.predict(fresh), average="weighted", labels=kept)

    def mine():
        return fenchel.crf.CRF(c1=0.1, c2=0.1, all_possible_transitions=True, tol=1e-3).fit(X, y)

    def theirs():
        model = sklearn_crfsuite.CRF(
            algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True
        )
        return model.fit(X, y)

    def same(a, b):
        mine, other = f1(a), f1(b)
        print(f"    F1 {100 * mine:.2f} against {100 * other:.2f}")
        # With few sentences, the point at which CRFsuite stops counts more than the model.
        return mine >= other - (0.01 if quick else 0.002)

    yield Task(f"CRF, the tutorial, CoNLL-2002 ({len(X):,} sentences)", "sklearn-crfsuite", mine, theirs, same)

    @functools.cache
    def model(train):
        return train()

    yield Task(
        f"CRF.predict, {len(fresh):,} sentences",
        "sklearn-crfsuite",
        lambda: model(mine).predict(fresh),
        lambda: model(theirs).predict(fresh),
        lambda p, q: np.mean([x == z for m, n in zip(p, q) for x, z in zip(m, n)]) > 0.98,
    )


def networks(quick, data):
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    folder = data and data / "bif"
    for name in ("alarm", "insurance", "hailfinder"):
        if folder and folder.is_dir():
            text = gzip.open(folder / f"{name}.bif.gz", "rt").read()
        elif name == "alarm":
            text = fenchel.bayes.BayesianNetwork.example(name).to_bif()
        else:
            continue
        net = fenchel.bayes.BayesianNetwork.from_bif_text(text)
        with tempfile.TemporaryDirectory() as where:
            path = pathlib.Path(where) / "net.bif"
            path.write_text(text)
            engine = VariableElimination(BIFReader(str(path)).get_model())
        first = net.variables[0]
        evidence = {first: net.states[first][0]}
        rest = net.variables[1:11]

        def mine(net=net, evidence=evidence, rest=rest):
            return [net.query(v, evidence).values for v in rest]

        def theirs(engine=engine, evidence=evidence, rest=rest):
            return [engine.query([v], evidence=evidence, show_progress=False).values for v in rest]

        def same(a, b):
            return all(np.allclose(np.sort(p), np.sort(q), atol=1e-10) for p, q in zip(a, b))

        yield Task(f"BayesianNetwork.query, 10 variables of {name}", "pgmpy", mine, theirs, same)


def matrices(quick):
    rng = np.random.default_rng(2)
    p = 60 if quick else 150
    mix = np.eye(p) + np.diag([0.6] * (p - 1), 1)
    X = rng.standard_normal((3 * p, p)) @ mix
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    S = X.T @ X / len(X)
    off = ~np.eye(p, dtype=bool)

    def value(model):
        T = model.precision_
        return (S * T).sum() - np.linalg.slogdet(T)[1] + 0.1 * abs(T[off]).sum()

    yield Minimum(
        f"GraphicalLasso, p = {p}",
        "scikit-learn",
        lambda tol: fenchel.covariance.GraphicalLasso(0.1, tol=tol).fit(X),
        lambda tol: sklearn.covariance.GraphicalLasso(0.1, tol=tol, enet_tol=tol / 100, max_iter=1000).fit(X),
        value,
    )


def fields(quick):
    rng = np.random.default_rng(3)
    n, p = (1000, 20) if quick else (3000, 40)
    X = rng.integers(2, size=(n, p))
    for k in range(1, p):
        X[:, k] = np.where(rng.random(n) < 0.6, X[:, k - 1], X[:, k])

    def theirs():
        coef = np.zeros((p, p))
        for k in range(p):
            rest = [j for j in range(p) if j != k]
            model = sk.LogisticRegression(
                C=1 / (0.02 * n), l1_ratio=1.0, solver="saga", tol=1e-5, max_iter=10_000
            )
            coef[k, rest] = model.fit(X[:, rest].astype(float), X[:, k]).coef_[0]
        return np.where((coef != 0) & (coef.T != 0), (coef + coef.T) / 2, 0.0)

    yield Task(
        f"IsingModel, node-wise, {n:,} x {p}",
        "scikit-learn saga, a loop",
        lambda: fenchel.mrf.IsingModel(0.02).fit(X).coupling_,
        theirs,
        lambda a, b: np.allclose(a, b, atol=0.02),
    )


def reductions(quick):
    # sliced does not run beside this numpy; benches/peers/moments has it.
    rng = np.random.default_rng(4)
    X = rng.standard_normal((20_000 if quick else 100_000, 30))
    y = np.exp(X[:, 0] + X[:, 1]) + 0.1 * rng.standard_normal(len(X))

    def formula():
        mean, covariance = X.mean(axis=0), np.cov(X.T, bias=True)
        means = np.array([X[part].mean(axis=0) - mean for part in np.array_split(np.argsort(y), 10)])
        values, vectors = scipy.linalg.eigh(means.T @ means / 10, covariance)
        return vectors[:, -1] / np.linalg.norm(vectors[:, -1])

    yield Task(
        f"SIR, {len(X):,} x 30",
        "its formula in numpy",
        lambda: fenchel.reduction.SIR(1, n_slices=10).fit(X, y).components_[0],
        formula,
        lambda a, b: abs(a @ b) > 0.999,
    )


def graphs(quick):
    from y0.algorithm.identify import Identification, Unidentifiable
    from y0.algorithm.identify import identify as theirs
    from y0.dsl import P, Variable
    from y0.graph import NxMixedGraph

    rng = np.random.default_rng(5)
    names = [f"V{k}" for k in range(6)]
    pairs = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :]]
    draws = [
        ([e for e in pairs if rng.random() < 0.5], [e for e in pairs if rng.random() < 0.2])
        for _ in range(20 if quick else 100)
    ]
    query = P(Variable("V5") @ Variable("V1"))

    def mine():
        answers = []
        for directed, bidirected in draws:
            try:
                str(fenchel.causal.Graph.from_edges(directed, bidirected, names).identify("P(V5 | do(V1))"))
                answers.append(True)
            except fenchel.causal.NotIdentifiable:
                answers.append(False)
        return answers

    def other():
        answers = []
        for directed, bidirected in draws:
            graph = NxMixedGraph.from_str_edges(nodes=names, directed=directed, undirected=bidirected)
            try:
                str(theirs(Identification.from_expression(query=query, graph=graph)))
                answers.append(True)
            except Unidentifiable:
                answers.append(False)
        return answers

    yield Task(f"identify, {len(draws)} graphs of 6", "y0", mine, other, lambda a, b: a == b)


def laws(quick):
    import statsmodels.api as sm

    rng = np.random.default_rng(6)
    X = rng.standard_normal((10_000 if quick else 50_000, 20))
    y = rng.poisson(np.exp(0.3 + X[:, 0] / 4)).astype(float)
    design = sm.add_constant(X)
    yield Task(
        f"glm with its summary, Poisson, {len(X):,} x 20",
        "statsmodels",
        lambda: np.append(*np.split(fenchel.families.glm(X, y, "poisson").params, [1])),
        lambda: sm.GLM(y, design, sm.families.Poisson()).fit().params,
        lambda a, b: np.allclose(a, b, atol=1e-4),
    )
    x = rng.gamma(2.0, size=len(X) * 10)
    mine, theirs = fenchel.families.Gamma(2.5, 3.0), scipy.stats.gamma(2.5, scale=1 / 3.0)
    yield Task(
        f"Gamma.logpdf, {len(x):,} numbers",
        "scipy",
        lambda: mine.logpdf(x),
        lambda: theirs.logpdf(x),
        lambda a, b: np.allclose(a, b),
    )
    p = rng.uniform(size=10_000)
    yield Task(
        "Gamma.ppf, 10,000 numbers",
        "scipy",
        lambda: mine.ppf(p),
        lambda: theirs.ppf(p),
        lambda a, b: np.allclose(a, b),
    )


def programs(quick):
    rng = np.random.default_rng(7)
    for d, m in ((10, 15), (40, 60)):
        c, A = rng.standard_normal(d), rng.standard_normal((m, d))
        b = A @ rng.uniform(size=d) + rng.uniform(0.1, 1, size=m)
        arguments = {"A_ub": A, "b_ub": b, "bounds": [(0, 5)] * d}
        yield Task(
            f"linprog, {d} variables, {m} rows",
            "scipy HiGHS",
            lambda c=c, arguments=arguments: fenchel.optimize.linprog(c, **arguments).fun,
            lambda c=c, arguments=arguments: scipy.optimize.linprog(c, **arguments).fun,
            lambda a, b: abs(a - b) < 1e-6 * (1 + abs(b)),
        )


def timed(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def measure(case):
    """A row of the table."""
    mine, theirs, how = case.prepare()
    one = timed(mine)
    repeat = max(1, int(0.02 / max(one, 1e-9)))  # short calls are timed together
    times = [[], []]
    for turn in range(ROUNDS):
        sides = [(0, mine), (1, theirs)]
        for side, call in sides if turn % 2 else reversed(sides):
            times[side].append(timed(lambda: [call() for _ in range(repeat)]) / repeat)
        if repeat * (times[0][-1] + times[1][-1]) > LONG:
            break
    middle = [statistics.median(each) for each in times]
    return {
        "task": case.task,
        "peer": case.peer,
        "ours": middle[0],
        "ours_min": min(times[0]),
        "ours_max": max(times[0]),
        "theirs": middle[1],
        "theirs_min": min(times[1]),
        "theirs_max": max(times[1]),
        "ratio": middle[1] / middle[0],
        "how": how,
    }


def overhead():
    """What the binding adds to a fit on 1e6 nonzeros, at most: the Python layer, and a call that ends at once because a target is
    missing. (The latter includes the checks of the matrix, which belong to the crate.)"""
    from fenchel import _core

    rng = np.random.default_rng(8)
    X = rows_of(rng, 33_334, 10_000, 30)
    y = labels(rng, X @ rng.standard_normal(10_000))
    inner, spent = _core.logistic, []

    def timed_inner(*arguments):
        start = time.process_time()
        found = inner(*arguments)
        spent.append((time.process_time() - start, arguments))
        return found

    shares = []
    _core.logistic = timed_inner
    try:
        for _ in range(ROUNDS):
            spent.clear()
            whole = timed(lambda: ours.LogisticRegression(C=10.0, tol=1e-4).fit(X, y))
            inside, ((data, weights), *rest) = spent[0][0], (spent[0][1][0][::2], *spent[0][1][1:])
            broken = (data, np.ascontiguousarray(spent[0][1][0][1][:-1]), weights)
            start = time.process_time()
            try:
                inner(broken, *rest)
            except ValueError:
                pass
            call = time.process_time() - start
            shares.append(((whole - inside + call) / whole, whole))
    finally:
        _core.logistic = inner
    share, whole = statistics.median(shares)
    return f"The binding takes at most {100 * share:.1f} % of a fit of {seconds(whole)} on {X.nnz:,} nonzeros."


def seconds(value):
    return f"{1e3 * value:.3g} ms" if value < 1 else f"{value:.3g} s"


def report(rows, added):
    lines = [
        "| task | peer | ours | theirs | theirs / ours | |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        sides = [
            f"{seconds(row[s])} ({seconds(row[s + '_min'])} to {seconds(row[s + '_max'])})"
            for s in ("ours", "theirs")
        ]
        lines.append(
            f"| {row['task']} | {row['peer']} | {sides[0]} | {sides[1]} | {row['ratio']:.3g} | {row['how']} |"
        )
    packages = ("numpy", "scipy", "scikit-learn", "sklearn-crfsuite", "pgmpy", "statsmodels", "y0")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    today = datetime.date.today().isoformat()
    lines += ["", f"{today}, {platform.machine()}, Python {platform.python_version()}, one thread; {versions}."]
    return "\n".join([*lines, "", added]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="small data")
    parser.add_argument("--only", default="", help="the cases whose name has this text")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    quick, data = options.quick, options.data
    groups = [
        lambda: linear_models(quick),
        lambda: taggers(quick, data),
        lambda: networks(quick, data),
        lambda: matrices(quick),
        lambda: fields(quick),
        lambda: reductions(quick),
        lambda: graphs(quick),
        lambda: laws(quick),
        lambda: programs(quick),
    ]
    rows = []
    for group in groups:
        for case in group():
            if options.only.lower() not in case.task.lower():
                continue
            rows.append(measure(case))
            row = rows[-1]
            print(f"{row['task']}: {seconds(row['ours'])} against {seconds(row['theirs'])}, x {row['ratio']:.3g} ({row['how']})", flush=True)
    with (options.out / "results.csv").open("w", newline="") as to:
        writer = csv.DictWriter(to, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    text = report(rows, overhead())
    (options.out / "results.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
