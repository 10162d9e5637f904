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


def correlation(kind, p, n, seed):
    rng = np.random.default_rng(seed)
    lower = np.linalg.cholesky(truth(kind, p, rng))
    x = np.linalg.solve(lower.T, rng.standard_normal((p, n))).T
    return np.corrcoef(x.T)


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


def gglasso(c, l1, limit):
    from gglasso.solver.single_admm_solver import ADMM_SGL, block_SGL

    p = len(c)
    for tol in (1e-5, 1e-7, 1e-9):
        start = time.perf_counter()
        # Its penalty counts the off-diagonal entries of both triangles once each, as ours does.
        solution = block_SGL(c, l1, np.eye(p), tol=tol, rtol=tol, max_iter=5000, verbose=False)
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
    parser.add_argument("--limit", type=float, default=60.0)
    options, _ = parser.parse_known_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sizes = [int(s) for s in options.sizes.split(",") if s] or ([100] if options.quick else [100, 500, 1000])
    rows = []
    for p in sizes:
        for kind in ("ba", "chain"):
            for n in (p // 2, 2 * p):
                c = correlation(kind, p, n, 7)
                top = abs(c - np.eye(p)).max()
                penalties = [f * top for f in (0.5, 0.25, 0.15)]
                file = options.out / "c.bin"
                c.astype("<f8").tofile(file)
                text = ",".join(repr(float(v)) for v in penalties)
                lines = subprocess.run(
                    [options.runner, "solve", file, str(p), text], capture_output=True, text=True, check=True
                ).stdout.splitlines()
                ours = [json.loads(line) for line in lines]
                for l1, own in zip(penalties, ours):
                    row = dict(p=p, truth=kind, n=n, l1=round(l1, 4), edges=own["edges"], ours=own["seconds"], gap=own["gap"])
                    for name, peer in (("scikit-learn", scikit), ("GGLasso", gglasso)):
                        seconds, found, error = peer(c, l1, options.limit)
                        row[name] = seconds
                        row[name + " gap"] = found
                        row[name + " error"] = error
                    rows.append(row)
                    print(json.dumps(row), flush=True)
    (options.out / "rows.json").write_text(json.dumps(rows, indent=1))
    for name in ("scikit-learn", "GGLasso"):
        ratios = sorted(r[name] / r["ours"] for r in rows if r[name])
        print(f"{name}: {len(ratios)} cells, ratio least {ratios[0]:.1f}, median {ratios[len(ratios) // 2]:.1f}")


if __name__ == "__main__":
    main()
