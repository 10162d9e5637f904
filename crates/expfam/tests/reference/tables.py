#!/usr/bin/env python3
"""Writes tables/*.f64: log-partition, mean, Fisher information and KL of random members of each family.

    python3 -m pip install mpmath gmpy2
    python3 tables.py [points a family, default 1000] [families ...]

A file is rows of little-endian doubles: natural parameter (k numbers), A, mean (k), lower triangle of the Fisher
information row by row (k (k + 1) / 2), another natural parameter (k), KL to it. The inputs are exact doubles; the results
are rounded from at least 80 digits, so that a value that a double cannot hold is 0 or infinite here.

Only A is written down below. Its derivatives come from arithmetic on second-order jets: nothing here knows the formulas of
the crate.
"""
import math
import os
import random
import struct
import sys
from multiprocessing import Pool
from mpmath import mp, mpf

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tables")


class Jet:
    """A number with its gradient and its Hessian (lower triangle)."""

    def __init__(self, v, g, h):
        self.v, self.g, self.h = v, g, h

    def apply(self, f, f1, f2):
        k = len(self.g)
        h = [f1 * self.h[at(i, j)] + f2 * self.g[i] * self.g[j] for i in range(k) for j in range(i + 1)]
        return Jet(f, [f1 * x for x in self.g], h)

    def __add__(self, o):
        if not isinstance(o, Jet):
            return Jet(self.v + o, self.g, self.h)
        return Jet(self.v + o.v, [a + b for a, b in zip(self.g, o.g)], [a + b for a, b in zip(self.h, o.h)])

    def __mul__(self, o):
        if not isinstance(o, Jet):
            return Jet(self.v * o, [x * o for x in self.g], [x * o for x in self.h])
        k = len(self.g)
        h = [
            self.h[at(i, j)] * o.v + self.v * o.h[at(i, j)] + self.g[i] * o.g[j] + self.g[j] * o.g[i]
            for i in range(k)
            for j in range(i + 1)
        ]
        return Jet(self.v * o.v, [a * o.v + self.v * b for a, b in zip(self.g, o.g)], h)

    __radd__, __rmul__ = __add__, __mul__
    __neg__ = lambda self: self * -1
    __sub__ = lambda self, o: self + -o
    __rsub__ = lambda self, o: -self + o

    def __truediv__(self, o):
        return self * inverse(o) if isinstance(o, Jet) else self * (1 / mpf(o))

    __rtruediv__ = lambda self, o: inverse(self) * o


def at(i, j):
    return i * (i + 1) // 2 + j if i >= j else j * (j + 1) // 2 + i


def variables(x):
    k = len(x)
    zero = [mpf(0)] * (k * (k + 1) // 2)
    return [Jet(mpf(v), [mpf(i == j) for j in range(k)], zero) for i, v in enumerate(x)]


inverse = lambda x: x.apply(1 / x.v, -1 / x.v**2, 2 / x.v**3)
exp = lambda x: x.apply(*[mp.exp(x.v)] * 3)
expm1 = lambda x: x.apply(mp.expm1(x.v), *[mp.exp(x.v)] * 2)
log = lambda x: x.apply(mp.log(x.v), 1 / x.v, -1 / x.v**2)
log1p = lambda x: x.apply(mp.log1p(x.v), 1 / (1 + x.v), -1 / (1 + x.v) ** 2)
sqrt = lambda x: x.apply(mp.sqrt(x.v), mp.sqrt(x.v) / (2 * x.v), -mp.sqrt(x.v) / (4 * x.v**2))
lgamma = lambda x: x.apply(mp.loggamma(x.v), mp.psi(0, x.v), mp.psi(1, x.v))
softplus = lambda x: log1p(exp(x)) if x.v < 0 else x + log1p(exp(-x))


def log_bessel(e):
    """The log of the mean of exp(<e, x>) over the unit sphere: log 0F1(; d/2; |e|^2 / 4)."""
    c = mpf(len(e)) / 2
    z = sum(x * x for x in e) / 4
    f = [mp.hyp0f1(c + i, z.v) for i in range(3)]
    return log(z.apply(f[0], f[1] / c, f[2] / c / (c + 1)))


def lgamma2(x):
    return lgamma(x) + lgamma(x - mpf(1) / 2) + mp.log(mp.pi) / 2


def det2(e):
    """The entries and the determinant of the matrix behind half-vectorised 2 x 2 coordinates, times -2."""
    a, b, c = -2 * e[0], -2 * e[1] / mp.sqrt(2), -2 * e[2]
    return a, b, c, a * c - b * b


def normal2(e):
    a, b, c, d = det2(e[2:])
    x, y = e[0], e[1]
    return (c * x * x - 2 * b * x * y + a * y * y) / d / 2 - log(d) / 2


def wishart2(e):
    n = 2 * e[3] + 3
    return lgamma2(n / 2) + n * mp.log(2) - n / 2 * log(det2(e)[3])


def inverse_wishart2(e):
    n = -2 * e[3] - 3
    return lgamma2(n / 2) + n * mp.log(2) - n / 2 * log(det2(e)[3])


def normal_gamma(e):
    # T = (log t, t, t m, t m^2)
    a, k = e[0] + mpf(1) / 2, -2 * e[3]
    b = -e[1] - e[2] * e[2] / (2 * k)
    return lgamma(a) - a * log(b) - log(k) / 2


def normal_wishart2(e):
    # T = (log det P, P, P m, m' P m)
    n, k = 2 * e[0] + 2, -2 * e[6]
    r = mp.sqrt(2)
    b = [e[1] + e[4] * e[4] / (2 * k), e[2] + r * e[4] * e[5] / (2 * k), e[3] + e[5] * e[5] / (2 * k)]
    return lgamma2(n / 2) + n * mp.log(2) - n / 2 * log(det2(b)[3]) - log(k)


rng = random.Random()


def log_uniform(low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def signed(low, high):
    return log_uniform(low, high) * rng.choice([-1, 1])


def real():
    return [rng.choice([lambda: rng.uniform(-5, 5), lambda: signed(1e-12, 100), lambda: signed(1, 1e4)])()]


def negative():
    return [-rng.choice([lambda: log_uniform(1e-12, 1e4), lambda: rng.uniform(0.01, 5)])()]


def shape():
    """A shape less 1: near the border at -1, near 0, large."""
    kinds = [lambda: log_uniform(1e-12, 1e-2) - 1, lambda: log_uniform(1e-2, 1e4) - 1, lambda: signed(1e-12, 0.5)]
    return rng.choices(kinds, [2, 4, 1])[0]()


def precision2():
    """Half-vectorised -P/2 of a positive definite P, with a correlation to within 1e-12 of 1."""
    while True:
        a, c = log_uniform(1e-8, 1e4), log_uniform(1e-8, 1e4)
        rho = rng.choice([rng.uniform(-0.9, 0.9), signed(1e-8, 1), (1 - log_uniform(1e-12, 0.1)) * rng.choice([-1, 1])])
        e = [-a / 2, -rho * math.sqrt(a * c) / math.sqrt(2), -c / 2]
        if det2([mpf(x) for x in e])[3] > 1e-13 * a * c:
            return e


def around(location, precision, weight):
    """The natural parameters of a normal-gamma or normal-Wishart law but the first."""
    d = len(location)
    out, k = [], 0
    for i in range(d):
        for j in range(i + 1):
            w = 1 if i == j else math.sqrt(2)
            out.append(precision[k] - w * weight * location[i] * location[j] / 2)
            k += 1
    return out + [weight * m for m in location] + [-weight / 2]


def normal_gamma_point():
    out = [log_uniform(1e-12, 1e4) - 0.5]
    return out + around([signed(1e-4, 10)], [-log_uniform(1e-3, 1e3)], log_uniform(1e-3, 1e3))


def normal_wishart_point():
    out = [0.5 * log_uniform(1e-6, 1e4) - 0.5]
    a, c = log_uniform(1e-2, 1e2), log_uniform(1e-2, 1e2)
    precision = [-a / 2, -rng.uniform(-0.9, 0.9) * math.sqrt(a * c) / math.sqrt(2), -c / 2]
    return out + around([signed(1e-3, 3), signed(1e-3, 3)], precision, log_uniform(1e-3, 1e2))


categories = lambda e: log(1 + exp(e[0]) + exp(e[1]))
failures = lambda e: -log1p(-exp(e[0])) if e[0].v < -1 else -log(-expm1(e[0]))
scale = lambda a: (negative, lambda e: -mpf(a) * log(-e[0]))

# Name: how a natural parameter is drawn, A.
FAMILIES = {
    "bernoulli": (real, lambda e: softplus(e[0])),
    "binomial": (real, lambda e: 7 * softplus(e[0])),
    "categorical": (lambda: real() + real(), categories),
    "multinomial": (lambda: real() + real(), lambda e: 9 * categories(e)),
    "poisson": (lambda: [rng.choice([rng.uniform(-5, 5), signed(1e-12, 1e4), rng.uniform(-700, 700)])], lambda e: exp(e[0])),
    "geometric": (negative, failures),
    "negative_binomial": (negative, lambda e: mpf(2.5) * failures(e)),
    "logarithmic": (negative, lambda e: log(failures(e))),
    "continuous_bernoulli": (real, lambda e: log(expm1(e[0]) / e[0]) if e[0].v < 0 else e[0] + log(-expm1(-e[0]) / e[0])),
    "exponential": scale(1),
    "gamma_known_shape": scale(0.4),
    "rayleigh": (negative, lambda e: -log(-2 * e[0])),
    "laplace": (negative, lambda e: mp.log(2) - log(-e[0])),
    "normal_known_mean": (negative, lambda e: -log(-2 * e[0]) / 2),
    "normal_known_variance": (real, lambda e: e[0] * e[0]),
    "gamma": (lambda: [shape()] + negative(), lambda e: lgamma(e[0] + 1) - (e[0] + 1) * log(-e[1])),
    "inverse_gamma": (lambda: [-2 - shape()] + negative(), lambda e: lgamma(-e[0] - 1) + (e[0] + 1) * log(-e[1])),
    "chi_squared": (lambda: [shape()], lambda e: lgamma(e[0] + 1) + (e[0] + 1) * mp.log(2)),
    "beta": (lambda: [shape(), shape()], lambda e: lgamma(e[0] + 1) + lgamma(e[1] + 1) - lgamma(e[0] + e[1] + 2)),
    "dirichlet": (
        lambda: [shape(), shape(), shape()],
        lambda e: lgamma(e[0] + 1) + lgamma(e[1] + 1) + lgamma(e[2] + 1) - lgamma(e[0] + e[1] + e[2] + 3),
    ),
    "normal": (lambda: [signed(1e-12, 1e4)] + negative(), lambda e: -e[0] * e[0] / (4 * e[1]) - log(-2 * e[1]) / 2),
    "isotropic_normal": (
        lambda: [signed(1e-12, 1e4), signed(1e-12, 1e4)] + negative(),
        lambda e: -(e[0] * e[0] + e[1] * e[1]) / (4 * e[2]) - log(-2 * e[2]),
    ),
    "inverse_gaussian": (lambda: negative() + negative(), lambda e: -2 * sqrt(e[0] * e[1]) - log(-2 * e[1]) / 2),
    "von_mises": (lambda: [signed(1e-12, 1e4), signed(1e-12, 1e4)], log_bessel),
    "von_mises_fisher": (lambda: [signed(1e-3, 1) * s for s in [log_uniform(1e-9, 1e4)] for _ in range(5)], log_bessel),
    "normal_vector": (lambda: [signed(1e-8, 1e4), signed(1e-8, 1e4)] + precision2(), normal2),
    "normal_vector_zero_mean": (precision2, lambda e: -log(det2(e)[3]) / 2),
    "wishart": (lambda: precision2() + [log_uniform(1e-12, 1e4) - 1], wishart2),
    "inverse_wishart": (lambda: precision2() + [-2 - log_uniform(1e-12, 1e4)], inverse_wishart2),
    "normal_gamma": (normal_gamma_point, normal_gamma),
    "normal_wishart": (normal_wishart_point, normal_wishart2),
}

# What a parameter is far from, where that is not 0.
BORDERS = {
    "gamma": [-1, 0],
    "inverse_gamma": [-1, 0],
    "chi_squared": [-1],
    "beta": [-1, -1],
    "dirichlet": [-1] * 3,
    "wishart": [0, 0, 0, -1],
    "inverse_wishart": [0, 0, 0, -2],
    "normal_gamma": [-0.5, 0, 0, 0],
    "normal_wishart": [-0.5] + [0] * 6,
}
# A matrix stays positive definite when all of its entries are scaled alike.
TOGETHER = ("normal_vector", "normal_vector_zero_mean", "wishart", "inverse_wishart", "normal_gamma", "normal_wishart")


def near(family, eta, size):
    """Another member at a relative distance from the border of the domain."""
    border = BORDERS.get(family, [0] * len(eta))
    change = lambda: 1 + size * rng.uniform(-1, 1)
    factor = change()
    if family == "normal_vector":
        factors = [change(), change(), factor, factor, factor]
    elif family in TOGETHER:
        factors = [change() if b else factor for b in border]
    else:
        factors = [change() for _ in eta]
    return [b + (x - b) * f for x, b, f in zip(eta, border, factors)]


def table(job):
    name, points = job
    rng.seed("fenchel " + name)
    draw, a = FAMILIES[name]
    small = lambda x: float(x) if abs(x) < mpf(2) ** 1024 else math.inf * (1 if x > 0 else -1)
    with open(os.path.join(HERE, name + ".f64"), "wb") as out:
        for i in range(points):
            mp.dps = 80
            eta = [float(x) for x in draw()]
            other = [float(x) for x in near(name, eta, [1e-7, 1e-3, 0.5][i % 3])]
            if i % 4 == 3 and name not in TOGETHER:
                other = [float(x) for x in draw()]
            # Probabilities of exp(-745) are the smallest that a double holds: their share of A needs as many digits.
            mp.dps = 80 + int(min(max(abs(x) for x in eta + other), 800))
            p = a(variables(eta))
            q = a(variables(other)).v
            kl = q - p.v - sum(m * (mpf(y) - mpf(x)) for m, x, y in zip(p.g, eta, other))
            assert kl >= 0 or abs(kl) < mpf(10) ** -700, (name, eta, other, kl)
            row = eta + [small(v) for v in [p.v] + p.g + p.h] + other + [small(max(kl, 0))]
            out.write(struct.pack("<%dd" % len(row), *row))
    return name


if __name__ == "__main__":
    os.makedirs(HERE, exist_ok=True)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with Pool(2) as pool:
        for done in pool.imap_unordered(table, [(n, count) for n in sys.argv[2:] or FAMILIES]):
            print(done, file=sys.stderr)
