"""Fenchel's graphical lasso against scikit-learn and GGLasso, one thread each.

    cargo xtask peers ggm [-- --quick]      (about 15 minutes; with --quick two)

Truths are Barabasi-Albert graphs (m = 2) and chains; n = p/2 and 2p samples; three penalties, as fractions of the largest correlation. All sides get the
same correlation matrix. Ours ends at a duality gap of 1e-6. Every peer's answer gets a duality gap too, computed here by the same formula, and its
own tolerance is tightened until that gap is at most 1e-6 or nothing is left to tighten; the time of the last attempt alone counts.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import contextlib
import io
import json
import pathlib
import subprocess
import time
import warnings

import numpy as np

GAP = 1e-6


def truth(kind, p, rng):
    """A precision matrix: -0.2 on edges, 0.5 + 0.2 degree on the diagonal."""
    edges = [(i - 1, i) for i in range(1, p)]
    if kind == "ba":
        edges, ends, targets = [], [], [0, 1]
        for node in range(2, p):
            edges += [(t, node) for t in targets]
            ends += targets + [node] * len(targets)
            targets = set()
            while len(targets) < 2:
                targets.add(ends[rng.integers(len(ends))])
            targets = sorted(targets)
    theta = 0.5 * np.eye(p)
    for i, j in edges:
        theta[i, j] = theta[j, i] = -0.2
        theta[i, i] += 0.2
        theta[j, j] += 0.2
    return theta


def standardised(kind, p, n, seed):
    """Samples with mean 0 and variance 1 in every column."""
    rng = np.random.default_rng(seed)
    lower = np.linalg.cholesky(truth(kind, p, rng))
    x = np.linalg.solve(lower.T, rng.standard_normal((p, n))).T
    x -= x.mean(axis=0)
    return x / x.std(axis=0)


def gap(c, theta, l1):
    """Primal less dual value; infinite if either matrix is not positive definite."""
    p = len(c)
    weight = l1 * (1 - np.eye(p))
    theta = (theta + theta.T) / 2
    try:
        np.linalg.cholesky(theta)
        w = np.linalg.inv(theta)
        best = -np.inf
        for s in (
            np.where(theta != 0, c + weight * np.sign(theta), c + np.clip(w - c, -weight, weight)),
            c + np.clip(w - c, -weight, weight),
        ):
            try:
                np.linalg.cholesky(s)
                best = max(best, np.linalg.slogdet(s)[1] + p)
            except np.linalg.LinAlgError:
                pass
        value = (c * theta).sum() - np.linalg.slogdet(theta)[1] + (weight * abs(theta)).sum()
        return value - best
    except np.linalg.LinAlgError:
        return np.inf


def scikit(c, l1, limit):
    from sklearn.covariance import graphical_lasso

    for tol, inner in ((1e-4, 1e-6), (1e-6, 1e-8), (1e-8, 1e-11)):
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _, theta = graphical_lasso(c, alpha=l1, tol=tol, enet_tol=inner, max_iter=1000)
        except FloatingPointError as error:
            return None, None, str(error)
        seconds = time.perf_counter() - start
        found = gap(c, theta, l1)
        if found <= GAP or seconds > limit:
            break
    return seconds, found, ""


def scikit_path(x, c, penalties, limit):
    """scikit-learn's own path, each penalty from the solution of the one before; the largest gap."""
    from sklearn.covariance._graph_lasso import graphical_lasso_path

    for tol, inner in ((1e-4, 1e-6), (1e-6, 1e-8), (1e-8, 1e-11)):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, precisions = graphical_lasso_path(x, penalties, tol=tol, enet_tol=inner, max_iter=1000)
        seconds = time.perf_counter() - start
        found = max(gap(c, theta, l1) for theta, l1 in zip(precisions, penalties))
        if found <= GAP or seconds > limit:
            break
    return seconds, found


def gglasso(c, l1, limit):
    from gglasso.solver.single_admm_solver import block_SGL

    p = len(c)
    for tol in (1e-5, 1e-7, 1e-9):
        start = time.perf_counter()
        # Its penalty counts the off-diagonal entries of both triangles once each, as ours does.
        with contextlib.redirect_stdout(io.StringIO()):
            solution = block_SGL(c, l1, np.eye(p), tol=tol, rtol=tol, max_iter=2000, verbose=False)
        seconds = time.perf_counter() - start
        found = gap(c, solution["Theta"], l1)
        if found <= GAP or seconds > limit:
            break
    return seconds, found, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sizes", default="")
    parser.add_argument("--limit", type=float, default=30.0)
    options, _ = parser.parse_known_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sizes = [int(s) for s in options.sizes.split(",") if s] or ([100] if options.quick else [100, 500, 1000])
    rows, paths = [], []

    def solve(file, p, penalties):
        text = ",".join(repr(float(v)) for v in penalties)
        command = [options.runner, "solve", file, str(p), text]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        return [json.loads(line) for line in lines]

    for p in sizes:
        for kind in ("ba", "chain"):
            for n in (p // 2, 2 * p):
                x = standardised(kind, p, n, 7)
                c = x.T @ x / n
                c = (c + c.T) / 2
                np.fill_diagonal(c, 1.0)
                top = abs(c - np.eye(p)).max()
                penalties = [f * top for f in (0.5, 0.25, 0.15)]
                file = options.out / "c.bin"
                c.astype("<f8").tofile(file)
                for l1, own in zip(penalties, solve(file, p, penalties)):
                    row = dict(p=p, truth=kind, n=n, l1=round(l1, 4), edges=own["edges"], ours=own["seconds"], gap=own["gap"])
                    for name, peer in (("scikit-learn", scikit), ("GGLasso", gglasso)):
                        # An iteration of ADMM is an eigendecomposition: a single fit of 1,000 variables exceeds the limit many times.
                        absent = name == "GGLasso" and p > 500
                        seconds, found, error = (None, None, "not run") if absent else peer(c, l1, options.limit)
                        row[name] = seconds
                        row[name + " gap"] = found
                        row[name + " error"] = error
                    rows.append(row)
                    print(json.dumps(row), flush=True)
                falling = np.geomspace(top, 0.15 * top, 20)
                own = solve(file, p, falling)[-1]
                seconds, found = scikit_path(x, c, falling, options.limit)
                path = dict(p=p, truth=kind, n=n, ours=own["path"], gap=own["worst_gap"])
                path |= {"scikit-learn": seconds, "scikit-learn gap": found}
                paths.append(path)
                print(json.dumps(path), flush=True)
    (options.out / "paths.json").write_text(json.dumps(paths, indent=1))
    for p in sizes:
        ratios = sorted(r["scikit-learn"] / r["ours"] for r in paths if r["p"] == p)
        print(f"p = {p}, paths of 20 beside scikit-learn: ratio least {ratios[0]:.1f}, most {ratios[-1]:.1f}")
    (options.out / "rows.json").write_text(json.dumps(rows, indent=1))
    for p in sizes:
        for name in ("scikit-learn", "GGLasso"):
            ratios = sorted(r[name] / r["ours"] for r in rows if r[name] and r["p"] == p)
            if ratios:
                print(f"p = {p}, {name}: {len(ratios)} cells, ratio least {ratios[0]:.1f}, median {ratios[len(ratios) // 2]:.1f}")


if __name__ == "__main__":
    main()
