#!/usr/bin/env python3
"""Writes families.csv: log-partition, mean, Fisher information and KL of random members, with 20 digits from 80-digit arithmetic.

    python3 -m pip install mpmath
    python3 tables.py [points a family, default 24] > families.csv

Columns: family; natural parameter; A; mean; Fisher information row by row; another natural parameter; KL to it.
Derivatives are taken of A alone, by differences in 80 digits: nothing here knows the formulas of the crate.
"""
import math
import random
import sys
from mpmath import mp, mpf

mp.dps = 80
rng = random.Random(20261122)
points = int(sys.argv[1]) if len(sys.argv) > 1 else 24


def log_uniform(low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def signed(low, high):
    return log_uniform(low, high) * rng.choice([-1, 1])


def softplus(t):
    return mp.log1p(mp.exp(t))


def bessel(d, e):
    """The log of the mean of exp(k cos) on the sphere."""
    z = sum(x * x for x in e) / 4
    return mp.log(mp.hyp0f1(mpf(d) / 2, z))


def det(e):
    """The matrix behind half-vectorised 2 x 2 coordinates, times -2."""
    r = mp.sqrt(2)
    a, b, c = -2 * e[0], -2 * e[1] / r, -2 * e[2]
    return a, b, c, a * c - b * b


def gamma2(x):
    return mp.log(mp.pi) / 2 + mp.loggamma(x) + mp.loggamma(x - mpf(1) / 2)


def precision2():
    """Half-vectorised -P/2 of a random positive definite P."""
    a, c = log_uniform(1e-3, 1e3), log_uniform(1e-3, 1e3)
    b = rng.uniform(-0.9, 0.9) * math.sqrt(a * c)
    return [-a / 2, -b / math.sqrt(2), -c / 2]


def mvn2(e):
    a, b, c, d = det(e[2:])
    x, y = e[0], e[1]
    return (c * x * x - 2 * b * x * y + a * y * y) / d / 2 - mp.log(d) / 2


def wishart2(e):
    n = 2 * e[3] + 3
    return gamma2(n / 2) + n * mp.log(2) - n / 2 * mp.log(det(e)[3])


real = lambda: [rng.choice([rng.uniform(-5, 5), signed(1e-8, 100), signed(1, 40)])]
negative = lambda: [-rng.choice([log_uniform(1e-12, 1e4), rng.uniform(0.01, 5)])]
shape = lambda: rng.choice([log_uniform(1e-12, 1e-2), log_uniform(1e-2, 1e4)]) - 1
families = {
    "bernoulli": (real, lambda e: softplus(e[0])),
    "binomial": (real, lambda e: 7 * softplus(e[0])),
    "categorical": (lambda: real() + real(), lambda e: mp.log(1 + mp.exp(e[0]) + mp.exp(e[1]))),
    "poisson": (lambda: [rng.uniform(-40, 40)], lambda e: mp.exp(e[0])),
    "geometric": (lambda: [-log_uniform(1e-12, 100)], lambda e: -mp.log(-mp.expm1(e[0]))),
    "negative_binomial": (lambda: [-log_uniform(1e-12, 100)], lambda e: -mpf(2.5) * mp.log(-mp.expm1(e[0]))),
    "logarithmic": (lambda: [-log_uniform(1e-12, 30)], lambda e: mp.log(-mp.log(-mp.expm1(e[0])))),
    "continuous_bernoulli": (real, lambda e: mp.log(mp.expm1(e[0]) / e[0])),
    "exponential": (negative, lambda e: -mp.log(-e[0])),
    "gamma_known_shape": (negative, lambda e: -mpf(0.4) * mp.log(-e[0])),
    "rayleigh": (negative, lambda e: -mp.log(-2 * e[0])),
    "laplace": (negative, lambda e: mp.log(2) - mp.log(-e[0])),
    "normal_known_mean": (negative, lambda e: -mp.log(-2 * e[0]) / 2),
    "gamma": (lambda: [shape()] + negative(), lambda e: mp.loggamma(e[0] + 1) - (e[0] + 1) * mp.log(-e[1])),
    "inverse_gamma": (
        lambda: [-2 - shape()] + negative(),
        lambda e: mp.loggamma(-e[0] - 1) + (e[0] + 1) * mp.log(-e[1]),
    ),
    "chi_squared": (lambda: [shape()], lambda e: mp.loggamma(e[0] + 1) + (e[0] + 1) * mp.log(2)),
    "beta": (
        lambda: [shape(), shape()],
        lambda e: mp.loggamma(e[0] + 1) + mp.loggamma(e[1] + 1) - mp.loggamma(e[0] + e[1] + 2),
    ),
    "dirichlet": (
        lambda: [shape(), shape(), shape()],
        lambda e: sum(mp.loggamma(x + 1) for x in e) - mp.loggamma(sum(e) + 3),
    ),
    "normal": (lambda: [signed(1e-4, 1e4)] + negative(), lambda e: -e[0] ** 2 / (4 * e[1]) - mp.log(-2 * e[1]) / 2),
    "inverse_gaussian": (
        lambda: negative() + negative(),
        lambda e: -2 * mp.sqrt(e[0] * e[1]) - mp.log(-2 * e[1]) / 2,
    ),
    "von_mises": (lambda: [signed(1e-6, 2e3), signed(1e-6, 2e3)], lambda e: bessel(2, e)),
    "von_mises_fisher": (
        lambda: [signed(1e-3, 1e3) * 10 ** rng.choice([0, 0, -3]) for _ in range(5)],
        lambda e: bessel(5, e),
    ),
    "normal_vector": (lambda: [signed(1e-2, 1e2), signed(1e-2, 1e2)] + precision2(), mvn2),
    "wishart": (lambda: precision2() + [log_uniform(1e-6, 1e4) - 1], wishart2),
}


def partial(f, x, order):
    return mp.diff(lambda *e: f(e), tuple(x), tuple(order)) if len(x) > 1 else mp.diff(lambda t: f([t]), x[0], order[0])


def near(family, eta, size):
    """Another member at a relative distance from the border of the domain."""
    border = {"gamma": [-1, 0], "chi_squared": [-1], "beta": [-1, -1], "dirichlet": [-1] * 3}.get(family)
    if family == "inverse_gamma":
        border = [-1, 0]
    border = border or [0] * len(eta)
    if family in ("normal_vector", "wishart"):
        factor = 1 + size * rng.uniform(-1, 1)
        out = [x * factor for x in eta]
        if family == "wishart":
            out[3] = -1 + (eta[3] + 1) * (1 + size * rng.uniform(-1, 1))
        return out
    return [b + (x - b) * (1 + size * rng.uniform(-1, 1)) for x, b in zip(eta, border)]


show = lambda values: " ".join(mp.nstr(v, 20, strip_zeros=True) for v in values)
exact = lambda values: " ".join(repr(float(v)) for v in values)
for name, (draw, a) in families.items():
    for i in range(points):
        eta = [float(x) for x in draw()]
        other = [float(x) for x in near(name, eta, [1e-7, 1e-3, 0.5][i % 3])]
        p, q = [mpf(x) for x in eta], [mpf(x) for x in other]
        k = len(p)
        unit = lambda *at: [sum(1 for t in at if t == j) for j in range(k)]
        mean = [partial(a, p, unit(i)) for i in range(k)]
        fisher = [partial(a, p, unit(i, j)) for i in range(k) for j in range(k)]
        kl = a(q) - a(p) - sum(m * (y - x) for m, x, y in zip(mean, p, q))
        print(";".join([name, exact(eta), show([a(p)]), show(mean), show(fisher), exact(other), show([kl])]))
