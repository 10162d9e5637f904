"""Fenchel's saddle-point solvers against HiGHS (through scipy) and scikit-learn, on one thread.

    cargo xtask peers saddle [-- --quick]

Four parts. Verdicts: small random linear programs, a third of them infeasible, a third unbounded; both sides must agree.
Optima: the l1 hinge problem as a linear program, PDHG to a relative gap of 1e-6 against HiGHS's simplex and interior point.
Classifiers: accuracy, nonzeros and seconds on the MNIST test images (with --data) and on generated documents of 100 topics, every fifth
row left out; Vowpal Wabbit takes part where it installs. Race: the methods of Figure 4-2 for ten seconds each, n = d = k = 1000.
"""

import os

# Before numpy is imported, which reads them once.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import functools
import gzip
import json
import pathlib
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog


class Runner:
    """Our side: one process."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def random_program(rng, kind):
    """A program of 2 to 12 variables whose kind is likely; the peers say what it is."""
    d, m, e = rng.integers(2, 13), rng.integers(2, 13), rng.integers(0, 3)
    e = min(e, d - 1)
    sparse = lambda rows: rng.integers(-4, 5, (rows, d)) * (rng.random((rows, d)) < 0.7)
    a, g = sparse(e).astype(float), sparse(m).astype(float)
    x = rng.normal(size=d)
    low, high = [], []
    for v in x:
        shape = rng.integers(0, 3)
        low.append(float(v - rng.random()) if shape < 2 else None)
        high.append(float(v + rng.random()) if shape == 0 else None)
    b, h = a @ x, g @ x - rng.random(m)
    c = rng.normal(size=d)
    if kind == "optimal":
        c = g.T @ rng.random(m) + a.T @ rng.normal(size=e)
    if kind == "infeasible":
        g = np.vstack([g, -g[0]])
        h = np.append(h, 1.0 - h[0])
    return dict(c=c.tolist(), a=a.tolist(), b=b.tolist(), g=g.tolist(), h=h.tolist(), low=low, high=high)


def verdict(lp):
    """HiGHS on a program, without presolve's merged status."""
    rows = lambda m: np.array(m) if m else None
    result = linprog(
        lp["c"], A_ub=-np.array(lp["g"]), b_ub=-np.array(lp["h"]), A_eq=rows(lp["a"]), b_eq=rows(lp["b"]) if lp["a"] else None,
        bounds=list(zip(lp["low"], lp["high"])), method="highs", options={"presolve": False},
    )
    names = {0: "optimal", 2: "infeasible", 3: "unbounded"}
    return names.get(result.status, f"status {result.status}"), result.fun


def verdicts(runner, count):
    rng = np.random.default_rng(1)
    kinds = ["optimal", "infeasible", "unbounded"]
    differ, undecided, worst, tally = [], 0, 0.0, {}
    for k in range(count):
        lp = random_program(rng, kinds[k % 3])
        theirs, value = verdict(lp)
        ours = runner.ask({"lp": lp})
        tally[theirs] = tally.get(theirs, 0) + 1
        if ours["outcome"] == "undecided":
            undecided += 1
        elif ours["outcome"] != theirs:
            differ.append((k, ours["outcome"], theirs))
        elif theirs == "optimal":
            worst = max(worst, abs(ours["objective"] - value) / (1 + abs(value)))
    return dict(programs=count, by_highs=tally, differ=differ, undecided=undecided, worst_objective_error=worst)


def hinge_program(x, y, k, radius, penalty):
    """The l1 hinge problem: variables U+ (d k), U- (d k), losses (n)."""
    n, d = x.shape
    blocks, right = [], []
    eye = sp.identity(n, format="csr")
    for l in range(k):
        others = np.flatnonzero(y != l)
        xs = sp.csr_matrix(x[others])
        # 1 + <x_j, u_l - u_y> <= loss_j
        pick_l = sp.csr_matrix((np.ones(1), ([0], [l])), (1, k))
        at_l = sp.kron(xs, pick_l)
        at_y = sp.vstack([sp.kron(xs[r], sp.csr_matrix((np.ones(1), ([0], [y[j]])), (1, k))) for r, j in enumerate(others)])
        diff = at_l - at_y
        blocks.append(sp.hstack([diff, -diff, -eye[others]]))
        right.append(-np.ones(len(others)))
    blocks.append(sp.hstack([sp.csr_matrix(np.ones((1, 2 * d * k))), sp.csr_matrix((1, n))]))
    right.append([radius])
    c = np.concatenate([np.full(2 * d * k, penalty), np.full(n, 1 / n)])
    return c, sp.vstack(blocks).tocsr(), np.concatenate(right)


def optima(runner, sizes, limit):
    rows = []
    for n, d, k in sizes:
        rng = np.random.default_rng(n)
        x = rng.normal(size=(n, d))
        y = np.argmax(x[:, :k] + rng.normal(size=(n, k)) / np.sqrt(d), axis=1)
        radius, penalty = float(k), 0.01
        ours = runner.ask({"hinge": dict(x=x.tolist(), y=y.tolist(), classes=k, radius=radius, penalty=penalty, relative=1e-6)})
        c, a, b = hinge_program(x, y, k, radius, penalty)
        row = dict(n=n, d=d, k=k, fenchel=ours)
        for method in ("highs-ds", "highs-ipm"):
            start = time.perf_counter()
            result = linprog(c, A_ub=a, b_ub=b, method=method, options={"time_limit": limit})
            row[method] = dict(seconds=time.perf_counter() - start, objective=result.fun, status=result.status)
        rows.append(row)
        print(json.dumps(row), flush=True)
    return rows


def images(data):
    """The MNIST test images, as a sparse matrix."""
    folder = pathlib.Path(data) / "mnist"
    read = lambda name, skip: np.frombuffer(gzip.open(folder / name).read(), np.uint8)[skip:]
    x = read("t10k-images-idx3-ubyte.gz", 16).reshape(-1, 784) / 255.0
    return sp.csr_matrix(x), read("t10k-labels-idx1-ubyte.gz", 8).astype(int)


def documents(rows=5000, words=20_000, topics=100, length=50, telling=3, noise=0.1):
    """Words by Zipf's law, three telling words a topic, a tenth of the labels random."""
    rng = np.random.default_rng(0)
    law = 1 / (np.arange(words) + 10.0)
    law /= law.sum()
    topic = rng.integers(0, topics, rows)
    places, offsets = [], [0]
    for t in topic:
        own = words - topics * telling + t * telling + np.flatnonzero(rng.random(telling) < 0.5)
        row = np.unique(np.concatenate([rng.choice(words, length, p=law), own]))
        places.append(row)
        offsets.append(offsets[-1] + len(row))
    lengths = np.diff(offsets)
    x = sp.csr_matrix((np.repeat(1 / np.sqrt(lengths), lengths), np.concatenate(places), offsets), (rows, words))
    y = np.where(rng.random(rows) < noise, rng.integers(0, topics, rows), topic)
    return x, y


@functools.cache
def install(name):
    """Installs an optional peer; one that does not install is left out with a message."""
    lines = pathlib.Path(__file__).with_name("requirements-optional.txt").read_text().split()
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(command + [line for line in lines if line.startswith(name)], capture_output=True, text=True)
    if done.returncode:
        print(f"left out: {name} does not install here", flush=True)
    return done.returncode == 0


def wabbit(x, y, train, test, l1, passes):
    """One against all with the hinge and truncated gradients, in memory. None where it is not installed."""
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        if not install("vowpalwabbit"):
            return None
        from vowpalwabbit import Workspace
    k = int(y.max()) + 1

    def lines(rows, labels):
        for r in rows:
            part = slice(x.indptr[r], x.indptr[r + 1])
            words = " ".join(f"{c}:{v:.6g}" for c, v in zip(x.indices[part], x.data[part]))
            yield (f"{y[r] + 1} | " if labels else "| ") + words

    model = Workspace(f"--oaa {k} --loss_function hinge --l1 {l1} -b 22 --quiet")
    examples = list(lines(train, True))
    start = time.perf_counter()
    for _ in range(passes):
        for line in examples:
            model.learn(line)
    spent = time.perf_counter() - start
    right = np.mean([model.predict(line) == y[r] + 1 for r, line in zip(test, lines(test, False))])
    model.finish()
    return dict(accuracy=float(right), seconds=spent)


def classifiers(runner, name, x, y, penalties, seconds):
    """scikit-learn's and Vowpal Wabbit's linear classifiers at several sparsities beside ours."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.svm import LinearSVC

    test = np.arange(len(y)) % 5 == 0
    shared = dict(rows=x.shape[0], columns=x.shape[1], offsets=x.indptr.tolist(), places=x.indices.tolist(),
                  values=x.data.tolist(), y=y.tolist(), seconds=seconds)
    rows = [dict(name=f"fenchel {p}", **runner.ask({"fit": dict(penalty=p, **shared)})) for p in penalties]
    # The default at shorter times, and the other methods at the penalty in the middle.
    middle = penalties[len(penalties) // 2]
    for part in (0.1, 0.3):
        short = dict(shared, seconds=part * seconds)
        rows.append(dict(name=f"fenchel {middle}, {part * seconds:g} s", **runner.ask({"fit": dict(penalty=middle, **short)})))
    for solver in ("mirror", "prox", "pdhg", "sublinear"):
        rows.append(dict(name=f"fenchel {middle}, {solver}", **runner.ask({"fit": dict(penalty=middle, solver=solver, **shared)})))
    peers = [(f"SGD hinge l1, alpha {alpha}", SGDClassifier(loss="hinge", penalty="l1", alpha=alpha, random_state=0)) for alpha in (1e-3, 3e-4, 1e-4, 3e-5)]
    peers.append(("LinearSVC crammer_singer, C 0.01", LinearSVC(multi_class="crammer_singer", C=0.01, random_state=0)))
    peers.append(("LinearSVC crammer_singer, C 1", LinearSVC(multi_class="crammer_singer", C=1.0, random_state=0)))
    for peer, model in peers:
        start = time.perf_counter()
        model.fit(x[~test], y[~test])
        spent = time.perf_counter() - start
        rows.append(dict(name=peer, accuracy=float(model.score(x[test], y[test])), nonzeros=int((model.coef_ != 0).sum()), seconds=spent))
    for l1 in (0.0, 1e-6, 1e-5):
        row = wabbit(x, y, np.flatnonzero(~test), np.flatnonzero(test), l1, 5)
        if row:
            rows.append(dict(name=f"Vowpal Wabbit oaa hinge, l1 {l1:g}, 5 passes", **row))
    for row in rows:
        print(json.dumps(dict(data=name, **row)), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", required=True, help="the program peer-saddle")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder for results")
    parser.add_argument("--data", help="folder of real data")
    parser.add_argument("--quick", action="store_true", help="fewer programs, smaller sizes")
    options = parser.parse_args()
    runner = Runner(options.runner)
    results = dict(verdicts=verdicts(runner, 60 if options.quick else 200))
    print(json.dumps(results["verdicts"]), flush=True)
    sizes = [(60, 20, 5), (100, 50, 5)] if options.quick else [(100, 50, 5), (200, 200, 10), (400, 200, 10)]
    results["optima"] = optima(runner, sizes, 30.0 if options.quick else 120.0)
    seconds = 5.0 if options.quick else 10.0
    results["documents"] = classifiers(runner, "documents", *documents(), (3e-4, 1e-4, 3e-5), seconds)
    if options.data:
        results["digits"] = classifiers(runner, "digits", *images(options.data), (0.003, 0.001, 0.0003), seconds)
    results["race"] = runner.ask({"race": dict(n=200 if options.quick else 1000, seconds=seconds)})
    print(json.dumps(results["race"]), flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "results.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
