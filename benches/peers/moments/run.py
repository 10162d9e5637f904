"""Fenchel's SIR, SAVE and pHd against the Python package sliced: agreement of directions, and time.

    cargo xtask peers moments [-- --quick]

Both sides read the same numbers. The distance of two spans is ||(I - Q Q') P||_F^2 / k for orthonormal bases of the first two
directions; it must be below 1e-24, the
square of 1e-12; eigenvalues are compared relative to the largest. Times are the best of three rounds: sliced with its default of one
thread of BLAS, this project on one thread and on all. sliced has no pHd: its definition in numpy stands in for it.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import json
import pathlib
import subprocess
import time

import numpy as np

# sliced 0.7.0 asks for an alias of `int` that numpy 1.24 removed.
np.int = int
from sliced import SlicedAverageVarianceEstimation, SlicedInverseRegression


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", required=True, type=pathlib.Path, help="the program peer-moments")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder for data and results")
    parser.add_argument("--data", type=pathlib.Path, help="not used")
    parser.add_argument("--quick", action="store_true", help="small data")
    return parser.parse_args()


def regression(n, d, seed):
    """Correlated features and a response with two indices."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, d))
    x = np.ascontiguousarray(z + 0.5 * np.roll(z, 1, axis=1))
    y = np.exp(0.5 * x[:, 0]) + x[:, 1] ** 2 + 0.3 * rng.standard_normal(n)
    return x, y


def apart(a, b):
    """||(I - Q Q') P||_F^2 / k of the spans of the columns, by orthonormal bases."""
    a, b = np.linalg.qr(a)[0], np.linalg.qr(b)[0]
    rest = b - a @ (a.T @ b)
    return float((rest**2).sum() / a.shape[1])


def ours(runner, out, method, x, y, slices, threads):
    """Loadings, eigenvalues and seconds of this project's side."""
    path = out / "moments.bin"
    with open(path, "wb") as file:
        x.astype("<f8").tofile(file)
        y.astype("<f8").tofile(file)
    command = [str(runner), method, str(path), str(len(y)), str(x.shape[1]), str(slices)]
    env = dict(os.environ, RAYON_NUM_THREADS=str(threads))
    answer = json.loads(subprocess.run(command, env=env, check=True, capture_output=True).stdout)
    return np.array(answer["loadings"]), np.array(answer["eigenvalues"]), answer["seconds"]


class Phd:
    """Response-based principal Hessian directions, by the definition: sliced does not have it."""

    def __init__(self, **_):
        self.directions_ = None
        self.eigenvalues_ = None

    def fit(self, x, y):
        """Eigenvectors of the weighted second moment of whitened features, largest absolute values first."""
        centred = x - x.mean(axis=0)
        q, r = np.linalg.qr(centred)
        z = np.sqrt(len(y)) * q
        values, vectors = np.linalg.eigh(z.T @ ((y - y.mean())[:, None] * z) / len(y))
        order = np.argsort(-np.abs(values))
        self.eigenvalues_ = values[order]
        self.directions_ = np.linalg.solve(r, vectors[:, order]).T[:2]
        return self


METHODS = {"sir": SlicedInverseRegression, "save": SlicedAverageVarianceEstimation, "phd": Phd}


def theirs(method, x, y, slices, rounds):
    """Directions, eigenvalues and seconds of the other side."""
    best = float("inf")
    for _ in range(rounds):
        model = METHODS[method](n_directions=2, n_slices=slices, copy=True)
        start = time.perf_counter()
        model.fit(x, y)
        best = min(best, time.perf_counter() - start)
    return np.asarray(model.directions_).T, np.asarray(model.eigenvalues_), best


def main():
    """Compares, prints a table, and fails where directions differ."""
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    shapes = [(203, 5), (2000, 10)] if options.quick else [(203, 5), (2000, 10), (100_000, 50), (400_000, 20)]
    lines = [
        "| method | n | d | distance of spans | eigenvalues | other side, s | ours, 1 thread, s | ours, all, s | ratio, 1 thread |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    good = True
    for n, d in shapes:
        x, y = regression(n, d, 1)
        for method in METHODS:
            b, l, seconds = ours(options.runner, options.out, method, x, y, 10, 1)
            _, _, parallel = ours(options.runner, options.out, method, x, y, 10, os.cpu_count())
            a, m, other = theirs(method, x, y, 10, 3)
            distance = apart(a[:, :2], b)
            k = min(len(l), len(m))
            difference = float(np.abs(l[:k] - m[:k]).max() / np.abs(m).max())
            good &= distance < 1e-24 and difference < 1e-12
            name = method if method != "phd" else "phd (numpy)"
            lines.append(
                f"| {name} | {n} | {d} | {distance:.1e} | {difference:.1e} | {other:.4f} | {seconds:.4f} | {parallel:.4f} | {other / seconds:.1f} |"
            )
    table = "\n".join(lines)
    print(table)
    (options.out / "moments.md").write_text(table + "\n")
    if not good:
        raise SystemExit("directions or eigenvalues differ by more than 1e-12")


if __name__ == "__main__":
    main()
