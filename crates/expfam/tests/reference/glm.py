#!/usr/bin/env python3
"""Reference fits of generalised linear models by iteratively reweighted least squares in numpy, written from the textbook.

    python3 -m pip install numpy scipy
    python3 glm.py

prints the rows of `REFERENCE` in tests/suite/glm.rs. Links are those of the natural parameter.
"""
import numpy as np
from scipy import special, stats

n = 24
i = np.arange(n)
x = np.column_stack([np.ones(n), ((7 * i) % 24) / 10.0, ((5 * i + 3) % 11) / 11.0])
weights = 1.0 + i % 3
offset = 0.1 * ((3 * i) % 5)
families = {
    "binomial": (special.expit, lambda e: special.expit(e) * special.expit(-e), ((3 * i) % 7 < 3).astype(float), weights, 0 * offset),
    "poisson": (np.exp, np.exp, ((5 * i * i) % 9).astype(float), np.ones(n), offset),
    "gaussian": (lambda e: e, lambda e: 1 + 0 * e, 0.3 * ((11 * i) % 13) - 1, weights, offset),
    "gamma": (lambda e: -1 / e, lambda e: 1 / e**2, 0.5 + ((11 * i) % 13) / 4.0, np.ones(n), 0 * offset),
    "inverse gaussian": (lambda e: (-2 * e) ** -0.5, lambda e: (-2 * e) ** -1.5, 0.5 + ((11 * i) % 13) / 4.0, weights, 0 * offset),
}


SIZE = 1.5
counts = ((5 * i * i) % 9).astype(float)
# The log link is not the canonical one: the slope of the loss is (mu - y) mu / (mu + mu^2 / size).
families["negative binomial, log"] = (np.exp, lambda e: SIZE * np.exp(e) / (SIZE + np.exp(e)), counts, weights, offset)
families["negative binomial, canonical"] = (lambda e: SIZE / np.expm1(-e), lambda e: SIZE * np.exp(-e) / np.expm1(-e) ** 2, counts, weights, -offset)


def deviance(name, y, m):
    with np.errstate(divide="ignore", invalid="ignore"):
        if name.startswith("negative"):
            return 2 * (special.xlogy(y, y / m) - (y + SIZE) * np.log((y + SIZE) / (m + SIZE)))
        if name == "binomial":
            return -2 * (special.xlogy(y, m) + special.xlogy(1 - y, 1 - m))
        if name == "poisson":
            return 2 * (special.xlogy(y, y / m) - (y - m))
        if name == "gaussian":
            return (y - m) ** 2
        if name == "gamma":
            return 2 * ((y - m) / m - np.log(y / m))
        return (y - m) ** 2 / (m * m * y)


link = {
    "binomial": special.logit,
    "poisson": np.log,
    "gaussian": lambda m: m,
    "gamma": lambda m: -1 / m,
    "inverse gaussian": lambda m: -0.5 / m**2,
    "negative binomial, log": np.log,
    "negative binomial, canonical": lambda m: np.log(m / (m + SIZE)),
}


def fit(name, x, mean, variance, y, w, o):
    b = np.zeros(x.shape[1])
    b[0] = link[name](np.average(y, weights=w)) - np.average(o, weights=w)
    for _ in range(60):
        eta = x @ b + o
        h = w * variance(eta)
        mu = mean(eta)
        slope = w * (y - mu)
        if name == "negative binomial, log":
            slope *= mu / (mu + mu**2 / SIZE)
        b = b + np.linalg.solve((x.T * h) @ x, x.T @ slope)
    return b


for name, (mean, variance, y, w, o) in families.items():
    b = fit(name, x, mean, variance, y, w, o)
    eta = x @ b + o
    mu = mean(eta)
    known = name in ("binomial", "poisson") or name.startswith("negative")
    df = n - 3
    phi = 1.0 if known else np.sum(w * (y - mu) ** 2 / variance(eta)) / df
    se = np.sqrt(phi * np.diag(np.linalg.inv((x.T * (w * variance(eta))) @ x)))
    p = 2 * (stats.norm.sf(abs(b / se)) if known else stats.t.sf(abs(b / se), df))
    null = mean(fit(name, x[:, :1], mean, variance, y, w, o)[0] + o)
    dev, dev0 = np.sum(w * deviance(name, y, mu)), np.sum(w * deviance(name, y, null))
    s = dev / n
    loglik = {
        "binomial": lambda: np.sum(stats.binom.logpmf(w * y, w, mu)),
        "poisson": lambda: np.sum(stats.poisson.logpmf(y, mu)),
        "gaussian": lambda: np.sum(stats.norm.logpdf(y, mu, np.sqrt(s / w))),
        "gamma": lambda: np.sum(stats.gamma.logpdf(y, w / s, scale=mu * s / w)),
        "inverse gaussian": lambda: np.sum(0.5 * np.log(w / s / (2 * np.pi * y**3)) - w / s * (y - mu) ** 2 / (2 * mu**2 * y)),
        "negative binomial": lambda: np.sum(w * stats.nbinom.logpmf(y, SIZE, SIZE / (SIZE + mu))),
    }[name.split(",")[0]]()
    rows = [b, se, p, [phi, dev0, dev, 2 * (3 + (not known)) - 2 * loglik]]
    print(f'        // {name}\n        [' + ", ".join("[" + ", ".join(f"{v:.12e}" for v in r) + "]" for r in rows) + "],")
