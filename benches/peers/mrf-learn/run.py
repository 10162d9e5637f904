"""Fenchel's structure learning against scikit-learn's node-wise regressions and a numpy SPG, one thread each.

    cargo xtask peers mrf-learn [-- --quick]      (about 5 minutes; with --quick one)

Node-wise: one l1 logistic regression a variable (free intercepts on both sides: `saga` of scikit-learn has them, `liblinear` penalises its own), the
same ten penalties on the same data; an edge's score is the mean size of its two coefficients. SPG: the same chains, step and sweeps, persistent,
fresh draws on each side; the objective is computed here, for both, by enumeration. With `--potts`, a data folder and gcc: the pseudo-likelihood of
DHFR and S1A beside plm.c, which is stopped at the objective that ours reached; processor time, ours with the weights (ten minutes more).
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import gzip
import json
import pathlib
import resource
import subprocess
import time
import warnings

import numpy as np


def network(p, density, rng, low=1.0, high=2.0):
    """Fields and couplings, nonzero with a probability, sizes uniform, signs fair: the generator of section 7.1 of the paper."""
    theta = np.where(rng.random((p, p)) < density, rng.uniform(low, high, (p, p)), 0.0)
    theta *= rng.choice([-1.0, 1.0], (p, p))
    return np.triu(theta)


def sweep(x, theta, full, rng):
    for i in range(x.shape[1]):
        logit = theta[i, i] + x @ full[i]
        x[:, i] = rng.random(len(x)) < 1 / (1 + np.exp(-logit))


def couplings(theta):
    upper = np.triu(theta, 1)
    return upper + upper.T


def draws(theta, n, rng, sweeps=300):
    x = (rng.random((n, len(theta))) < 0.5).astype(float)
    full = couplings(theta)
    for _ in range(sweeps):
        sweep(x, theta, full, rng)
    return x.astype(np.uint8)


def auc(truth, scores):
    p = len(truth)
    labels = truth[np.triu_indices(p, 1)] != 0
    order = np.argsort(scores)
    ranks = np.empty(len(scores))
    values, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[inverse]
    ones = labels.sum()
    return float((ranks[labels].sum() - ones * (ones + 1) / 2) / (ones * (len(labels) - ones)))


def scikit(x, l1):
    """The same objective: mean logistic loss plus l1 |w|, so that C = 1 / (n l1)."""
    from sklearn.linear_model import LogisticRegression

    n, p = x.shape
    size = np.zeros((p, p))
    for i in range(p):
        others = np.delete(np.arange(p), i)
        fit = LogisticRegression(penalty="l1", solver="saga", C=1 / (n * l1), tol=1e-4, max_iter=1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit.fit(x[:, others].astype(float), x[:, i])
        size[i, others] = fit.coef_[0]
    both = (size != 0) & (size.T != 0)
    mean = np.where(both, abs(size + size.T) / 2, 0)
    return mean[np.triu_indices(p, 1)]


def gap_terms(x, lam):
    """The objective by enumeration, for packed parameters."""
    n, p = x.shape
    target = (x.T.astype(float) @ x) / n

    def objective(packed):
        theta = np.zeros((p, p))
        theta[np.triu_indices(p)] = packed
        scores = np.zeros(1)
        for i in range(p):
            logit = np.full(1, theta[i, i])
            for j in range(i):
                logit = np.concatenate([logit, logit + theta[j, i]])
            scores = np.concatenate([scores, scores + logit])
        top = scores.max()
        log_z = top + np.log(np.exp(scores - top).sum())
        return log_z - (theta * target).sum() + lam * abs(packed).sum()

    return objective


def numpy_spg(x, lam, chains, step, iterations, sweeps, rng):
    n, p = x.shape
    target = (x.T.astype(float) @ x) / n
    upper = np.triu_indices(p)
    state = (rng.random((chains, p)) < 0.5).astype(float)
    theta = np.zeros((p, p))
    start = time.perf_counter()
    for _ in range(iterations):
        full = couplings(theta)
        for _ in range(sweeps):
            sweep(state, theta, full, rng)
        theta = theta - step * np.triu(state.T @ state / chains - target)
        theta = np.sign(theta) * np.maximum(abs(theta) - step * lam, 0)
    return theta[upper], time.perf_counter() - start


def call(runner, *words):
    lines = subprocess.run([runner, *map(str, words)], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in lines.splitlines()]


def processor():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def potts(options, note):
    program = options.out / "plm"
    source = pathlib.Path(__file__).with_name("plm.c")
    subprocess.run(["gcc", "-O3", "-march=native", "-ffast-math", "-o", program, source, "-lm"], check=True)
    for family in ("dhfr", "s1a"):
        before = processor()
        row = call(options.runner, "potts", options.data, family)[0]
        row.update(what="Potts", family=family, ours=processor() - before)
        text = options.out / f"{family}.aln"
        text.write_bytes(gzip.open(options.data / "contacts" / f"{family}.aln.gz").read())
        words = [text, row["l2_fields"], row["l2_couplings"], row["objective"]]
        lines = subprocess.run([program, *map(str, words)], capture_output=True, text=True).stdout.splitlines()
        row.update(plm_last_line=lines[-1], plm_evaluations=len(lines))
        note(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--potts", action="store_true")
    options, _ = parser.parse_known_args()
    options.out.mkdir(parents=True, exist_ok=True)
    results = []

    def note(row):
        results.append(row)
        print(json.dumps(row), flush=True)

    file = options.out / "x.bin"
    # The first call imports and compiles.
    scikit((np.random.default_rng(0).random((50, 3)) < 0.5).astype(np.uint8), 0.01)
    for p, n, density in [(20, 2000, 0.3)] if options.quick else [(20, 2000, 0.3), (60, 3000, 0.04)]:
        for seed in range(1 if options.quick else 3):
            rng = np.random.default_rng(seed)
            theta = network(p, density, rng) if p == 20 else network(p, density, rng, 0.5, 1.0)
            x = draws(theta, n, rng)
            x.tofile(file)
            penalties = list(np.geomspace(0.1, 0.002, 10))
            text = ",".join(f"{l1:.12g}" for l1 in penalties)
            ours = call(options.runner, "nodewise", file, n, p, text)
            mine = [(line["seconds"], auc(theta, np.array(line["scores"]))) for line in ours]
            theirs = []
            for l1 in penalties:
                start = time.perf_counter()
                scores = scikit(x, l1)
                theirs.append((time.perf_counter() - start, auc(theta, scores)))
            for (l1, a, b) in zip(penalties, mine, theirs):
                note(dict(what="node-wise", p=p, seed=seed, l1=round(l1, 5), ours=a[0], ours_auc=a[1], scikit=b[0], scikit_auc=b[1]))
            total = sum(a[0] for a in mine), sum(b[0] for b in theirs)
            best = max(a[1] for a in mine), max(b[1] for b in theirs)
            note(dict(what="node-wise path", p=p, seed=seed, ours=total[0], ours_best_auc=best[0], scikit=total[1], scikit_best_auc=best[1], ratio=total[1] / total[0]))

    sizes = [(10, 1000, 0.3, 0.025, 2000, 0.4, 30, 150), (20, 2000, 0.3, 0.017, 5000, 0.4, 60, 20 if options.quick else 60)]
    # No objective by enumeration there.
    sizes += [] if options.quick else [(100, 1000, 0.03, 0.02, 2000, 0.06, 10, 40)]
    for p, n, density, lam, chains, step, sweeps, iterations in sizes:
        for seed in range(1 if options.quick else 2):
            rng = np.random.default_rng(100 + seed)
            theta = network(p, density, rng)
            x = draws(theta, n, rng)
            x.tofile(file)
            objective = gap_terms(x, lam) if p <= 20 else lambda packed: None
            ours = call(options.runner, "spg", file, n, p, lam, chains, step, iterations, sweeps)[0]
            tay = call(options.runner, "spg", file, n, p, lam, chains, step, iterations, "tay")[0]
            found, seconds = numpy_spg(x, lam, chains, step, iterations, sweeps, rng)
            upper = np.triu_indices(p)
            off = upper[0] != upper[1]
            grade = lambda packed: (objective(np.array(packed)), auc(theta, abs(np.array(packed))[off]))
            note(dict(what="SPG", p=p, seed=seed, sweeps=sweeps, iterations=iterations,
                      ours=ours["seconds"], ours_objective_auc=grade(ours["theta"]),
                      tay=tay["seconds"], tay_sweeps=tay["sweeps"], tay_objective_auc=grade(tay["theta"]),
                      numpy=seconds, numpy_objective_auc=grade(found), ratio=seconds / ours["seconds"], tay_ratio=seconds / tay["seconds"]))
    if not options.quick:
        for row in call(options.runner, "own"):
            note(row)
    if options.potts and options.data:
        potts(options, note)
    (options.out / "rows.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
