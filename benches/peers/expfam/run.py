"""Fenchel's exponential families against scipy, statrs and rv, its generalised linear models against statsmodels, on one thread.

    cargo xtask peers expfam [-- --quick]

Three parts. Sweep: random members against 40 digits, as sweep.py says, and against second formulas, as the crate's tests do. Accuracy: entropies of the 1,000 members a family in crates/expfam/tests/reference/tables, judged alike for
every library: a failure is an error beyond 1e-13 of the value and 16 units of rounding of the terms it is the sum of. Divergences
of pairs of members, where rv has them: 1e-13 of the value. Regressions: logistic and Poisson, n rows and 50 columns, to a relative gap of 1e-8 in the mean negative log-likelihood.
"""

import os

# Before numpy is imported, which reads them once.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import json
import math
import pathlib
import re
import subprocess
import time
import warnings

import numpy as np
import scipy.stats as st

import sweep

ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLES = ROOT / "crates/expfam/tests/reference/tables"
EPS = np.finfo(float).eps


def logistic(t):
    return 1 / (1 + math.exp(-t)) if t > -700 else math.exp(t)


def normal(e):
    v = -0.5 / e[1]
    return st.norm(e[0] * v, math.sqrt(v))


# Name: (dimension, scipy's law from a natural parameter). Those with log h = 0, so that the entropy is A - <eta, mu>.
LAWS = {
    "bernoulli": (1, lambda e: st.bernoulli(logistic(e[0]))),
    "geometric": (1, lambda e: st.geom(-math.expm1(e[0]), loc=-1)),
    "exponential": (1, lambda e: st.expon(scale=-1 / e[0])),
    "laplace": (1, lambda e: st.laplace(scale=-1 / e[0])),
    "gamma": (2, lambda e: st.gamma(e[0] + 1, scale=-1 / e[1])),
    "inverse_gamma": (2, lambda e: st.invgamma(-e[0] - 1, scale=-e[1])),
    "beta": (2, lambda e: st.beta(e[0] + 1, e[1] + 1)),
    "dirichlet": (3, lambda e: st.dirichlet([x + 1 for x in e])),
    "normal": (2, normal),
    "von_mises": (2, lambda e: st.vonmises(math.hypot(*e), loc=math.atan2(e[1], e[0]))),
}
# What the base measure adds to A - <eta, mu>.
BASE = {"normal": 0.5 * math.log(2 * math.pi), "von_mises": math.log(2 * math.pi)}


def rows(name, k):
    width = 3 * k + 2 + k * (k + 1) // 2
    table = np.fromfile(TABLES / f"{name}.f64", dtype="<f8")
    return table.reshape(-1, width)


def accuracy(runner):
    ours = json.loads(subprocess.run([runner, "entropies", str(TABLES)], capture_output=True, text=True, check=True).stdout)
    out = []
    for name, (k, law) in LAWS.items():
        failures, broken, worst = 0, 0, 0.0
        for row in rows(name, k):
            eta, a, mu = row[:k], row[k], row[k + 1 : 2 * k + 1]
            base = BASE.get(name, 0.0)
            terms = [a, base] + [-e * m for e, m in zip(eta, mu)]
            entropy = math.fsum(terms)
            allowed = 1e-13 * abs(entropy) + 16 * EPS * sum(map(abs, terms)) + 1e-300
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = float(law(eta).entropy())
            except Exception:
                found = math.nan
            if not math.isfinite(found):
                broken += 1
                continue
            error = abs(found - float(entropy))
            failures += error > allowed
            worst = max(worst, error / max(abs(entropy), 1e-300))
        result = dict(family=name, scipy=dict(failures=int(failures), not_finite=broken, worst=float(worst)))
        result.update({who: counts[name] for who, counts in ours.items() if name in counts})
        print(json.dumps(result), flush=True)
        out.append(result)
    answer = subprocess.run([runner, "divergences", str(TABLES)], capture_output=True, text=True, check=True).stdout
    print("divergences", answer, flush=True)
    return dict(entropies=out, divergences=json.loads(answer))


def regression(runner, family, n, d, folder, peer):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((n, d))
    beta = rng.standard_normal(d) / math.sqrt(d)
    eta = x @ beta
    if family == "logistic":
        y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    else:
        y = rng.poisson(np.exp(0.5 * eta)).astype(float)

    def value(b):
        z = x @ b[:d] + b[d]
        a = np.logaddexp(0, z) if family == "logistic" else np.exp(z)
        return float(np.mean(a - y * z))

    path = folder / f"{family}.f64"
    with open(path, "wb") as out:
        x.tofile(out)
        y.tofile(out)
    command = [runner, "glm", family, str(path), str(n), str(d)]
    ours = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    path.unlink()
    results = {"fenchel": (ours["seconds"], value(np.array(ours["coefficients"])))}
    if peer:
        import statsmodels.api as sm

        design = np.column_stack([x, np.ones(n)])
        law = sm.families.Binomial() if family == "logistic" else sm.families.Poisson()
        # Iterations of IRLS until the gap is met: no more than needed is charged.
        best = results["fenchel"][1]
        for iterations in range(2, 30):
            start = time.perf_counter()
            fit = sm.GLM(y, design, family=law).fit(maxiter=iterations, tol=0.0)
            seconds = time.perf_counter() - start
            found = value(fit.params)
            if found - best <= 1e-8 * abs(best):
                results["statsmodels"] = (seconds, found)
                break
    best = min(v for _, v in results.values())
    report = dict(family=family, n=n, d=d)
    for who, (seconds, v) in results.items():
        report[who] = dict(seconds=round(seconds, 3), relative_gap=(v - best) / abs(best))
    print(json.dumps(report), flush=True)
    return report


def second_formulas(members, log):
    """The sweep of the crate's own tests, each function against a second formula: a row for each family."""
    if log:
        text = log.read_text()
    else:
        command = "cargo test --release -p fenchel-expfam --all-features --test suite sweep_of -- --nocapture --test-threads=1"
        environment = {**os.environ, "FENCHEL_PROBLEMS": str(members)}
        done = subprocess.run(command.split(), cwd=ROOT, env=environment, capture_output=True, text=True)
        text = done.stdout + done.stderr
    pattern = re.compile(r"^(?:test \S+ \.\.\. )?(\S.*?) {2,}(\S.*?) +(\d+) worst (\S+), off (\d+)$", re.MULTILINE)
    found = pattern.findall(text)
    functions = list(dict.fromkeys(row[1] for row in found))
    table = {}
    for family, function, count, worst, off in found:
        table.setdefault(family, {})[function] = dict(members=int(count), worst=float(worst), off=int(off))
    print("members; worst relative error beyond rounding; off by more than 1e-10\n\n| family | " + " | ".join(functions) + " |")
    print("|---|" + "---|" * len(functions))
    cell = lambda c: "-" if c is None else f"{c['members']:,}; {c['worst']:.0e}; {c['off']}"
    for family in sorted(table, key=str.lower):
        print(f"| {family} | " + " | ".join(cell(table[family].get(function)) for function in functions) + " |")
    return table


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runner", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--data")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--part", choices=["accuracy", "regression", "sweep"])
    parser.add_argument("--members", type=int, help="members a family against 40 digits")
    parser.add_argument("--problems", type=int, help="members a family against second formulas; default: 100 times as many")
    parser.add_argument("--log", type=pathlib.Path, help="what such a sweep has printed, in the place of another")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = {}
    if arguments.part in (None, "accuracy"):
        results["accuracy"] = accuracy(arguments.runner)
    if arguments.part in (None, "sweep"):
        members = arguments.members or (40 if arguments.quick else 300)
        results["second formulas"] = second_formulas(arguments.problems or 100 * members, arguments.log)
        results["sweep"] = sweep.run(arguments.runner, members, (), arguments.out)
    if arguments.part in (None, "regression"):
        n = arguments.rows or (100_000 if arguments.quick else 1_000_000)
        families = ["logistic", "poisson"]
        results["regression"] = [regression(arguments.runner, f, n, 50, arguments.out, True) for f in families]
    (arguments.out / "expfam.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
