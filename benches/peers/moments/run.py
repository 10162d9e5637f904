"""Fenchel's SIR, SAVE and pHd against the Python package sliced: agreement of directions, and time.

    cargo xtask peers moments [-- --quick]

Both sides read the same numbers. Agreement is 1 minus the smallest squared cosine between the spans of the first
directions. Times are the best of several rounds, on one thread and (this project) on all.
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


def theirs(method, x, y, slices, rounds):
    """The same of sliced."""
    make = {"sir": SlicedInverseRegression, "save": SlicedAverageVarianceEstimation}[method]
    best = float("inf")
    for _ in range(rounds):
        model = make(n_directions=2, n_slices=slices, copy=True)
        start = time.perf_counter()
        model.fit(x, y)
        best = min(best, time.perf_counter() - start)
    return model.directions_.T, model.eigenvalues_, best


def main():
    """Compares, prints a table, and fails where directions differ."""
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    shapes = [(203, 5), (2000, 10)] if options.quick else [(203, 5), (2000, 10), (100_000, 50), (400_000, 20)]
    lines = ["| method | n | d | distance of spans | eigenvalues | sliced s | ours, 1 thread | ratio |", "|---|---|---|---|---|---|---|---|"]
    good = True
    for n, d in shapes:
        x, y = regression(n, d, 1)
        for method in ("sir", "save"):
            b, l, seconds = ours(options.runner, options.out, method, x, y, 10, 1)
            a, m, other = theirs(method, x, y, 10, 3)
            distance = apart(np.asarray(a).reshape(d, -1)[:, :2], b)
            k = min(len(l), len(m))
            difference = float(np.abs(l[:k] - np.asarray(m)[:k]).max())
            good &= distance < 1e-12
            lines.append(
                f"| {method} | {n} | {d} | {distance:.1e} | {difference:.1e} | {other:.4f} | {seconds:.4f} | {other / seconds:.1f} |"
            )
    table = "\n".join(lines)
    print(table)
    (options.out / "moments.md").write_text(table + "\n")
    if not good:
        raise SystemExit("directions differ by more than 1e-12")


if __name__ == "__main__":
    main()
