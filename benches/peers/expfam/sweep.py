"""Random members of every family, far wider than the tables: log-partitions, means, entropies, divergences, log-densities,
distribution functions, posteriors and maximum likelihood against 40 digits, scipy beside.

An answer is counted as off beyond 1e-10 of max(|value|, 1) (probabilities and parameters: of the value itself) and what 16 units of
rounding of the given numbers move it by. A "no answer" is an error with its reason; NaN is never right.
"""

import datetime
import math
import pathlib
import random
import subprocess
import sys
import warnings
from multiprocessing import Pool

import scipy.stats as st
from mpmath import mp, mpf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "crates/expfam/tests/reference"))
import tables  # noqa: E402

EPS = 2.0**-52
rng = random.Random()
wide = lambda low, high: math.exp(rng.uniform(math.log(low), math.log(high)))
sign = lambda: rng.choice([-1, 1])
shape = lambda: rng.choice([wide(1e-10, 1), wide(0.1, 100), wide(1, 1e15)]) - 1
negative = lambda: -rng.choice([wide(1e-100, 1e100), wide(1e-3, 1e3)])
failure = lambda: -rng.choice([wide(1e-15, 1), wide(1e-2, 300)])
real = lambda: sign() * rng.choice([wide(1e-12, 1), wide(1, 300)])
normal = lambda: rng.gauss(0, 1) * rng.choice([0.1, 1, 4])


def located(scale_of=lambda: wide(1e-6, 1e6)):
    v, m = wide(1e-6, 1e6), sign() * wide(1e-6, 1e6)
    return [m / v, -0.5 / v]


def counts(mean, variance, low=0, high=2**53):
    here = lambda: max(low, min(high, round(mean + math.sqrt(variance) * normal())))
    return [float(x) for x in (here(), here(), here())]


def stretched(mode, width):
    return [mode * math.exp(max(-300, min(300, width * normal()))) for _ in range(3)]


def gammas(a, b):
    return stretched(a / b, 1 / math.sqrt(a))


def betas(e):
    a, b = e[0] + 1, e[1] + 1
    width = math.sqrt(1 / a + 1 / b)
    out = []
    for _ in range(3):
        t = math.log(a) - math.log(b) + width * normal()
        out.append(min(max(1 / (1 + math.exp(-t)) if t > -700 else 1e-300, 1e-300), 1 - EPS))
    return out


share = lambda t: 1 / (1 + math.exp(-t)) if t > -700 else math.exp(t)


def wrapped(e):
    k = math.hypot(*e)
    return [math.atan2(e[1], e[0]) + normal() / math.sqrt(max(k, 1.0)) for _ in range(3)]


lgamma, log = mp.loggamma, mp.log
half_tau = lambda: log(2 * mp.pi) / 2
binomial = lambda n: (lambda x: lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1))
positive = lambda e: stretched(-1 / e[0], 1)
BIG = 4_000_000_000


def mean_log(e):
    """E log x of an inverse Gaussian law."""
    f = 2 * mp.sqrt(mpf(e[0]) * e[1])
    return log(mpf(e[1]) / e[0]) / 2 - mp.exp(2 * f) * mp.e1(2 * f)


class Case:
    """A family of numbers: a draw of eta, points for it, T, log h, its mean (None: unknown), scipy's law."""

    def __init__(self, eta, points, t, base=lambda x: 0, mean_base=lambda e: 0, law=None, a=None):
        self.eta, self.points, self.t, self.base, self.mean_base, self.law, self.a = eta, points, t, base, mean_base, law, a


one = lambda f: (lambda: [f()])
same = lambda x: [x]
logs = lambda x: [log(x), x]
NUMBERS = {
    "bernoulli": Case(one(real), lambda e: [1.0, 0.0, 1.0], same, law=lambda e: st.bernoulli(share(e[0]))),
    "binomial": Case(one(real), lambda e: counts(7 * share(e[0]), 2, 0, 7), same, binomial(7),
                     lambda e: mp.fsum(binomial(7)(x) * mp.exp(binomial(7)(x) + x * mpf(e[0]) - 7 * mp.log1p(mp.exp(e[0]))) for x in range(8)),
                     lambda e: st.binom(7, share(e[0]))),
    "binomial_large": Case(one(lambda: real() / 20), lambda e: counts(BIG * share(e[0]), BIG * share(e[0]) * share(-e[0]), 0, BIG), same,
                           binomial(BIG), None, lambda e: st.binom(BIG, share(e[0])), lambda e: BIG * tables.softplus(e[0])),
    "poisson": Case(one(lambda: rng.uniform(-30, 34)), lambda e: counts(math.exp(e[0]), math.exp(e[0])), same,
                    lambda x: -lgamma(x + 1), None, lambda e: st.poisson(math.exp(e[0]))),
    "geometric": Case(one(failure), lambda e: counts(-1 / e[0], e[0] ** -2), same, law=lambda e: st.geom(-math.expm1(e[0]), loc=-1)),
    "negative_binomial": Case(one(failure), lambda e: counts(-2 / e[0], e[0] ** -2), same,
                              lambda x: lgamma(x + 2.5) - lgamma(2.5) - lgamma(x + 1), None, lambda e: st.nbinom(2.5, -math.expm1(e[0]))),
    "logarithmic": Case(one(failure), lambda e: counts(-0.1 / e[0], e[0] ** -2, 1), same, lambda x: -log(x), None,
                        lambda e: st.logser(math.exp(e[0]))),
    "continuous_bernoulli": Case(one(real), lambda e: [rng.random() for _ in range(3)], same),
    "exponential": Case(one(negative), positive, same, law=lambda e: st.expon(scale=-1 / e[0])),
    "gamma_known_shape": Case(one(negative), positive, same, lambda x: (mpf(0.4) - 1) * log(x) - lgamma(mpf(0.4)),
                              lambda e: (mpf(0.4) - 1) * (mp.psi(0, mpf(0.4)) - log(-mpf(e[0]))) - lgamma(mpf(0.4)), lambda e: st.gamma(0.4, scale=-1 / e[0])),
    "rayleigh": Case(one(negative), lambda e: stretched((-e[0]) ** -0.5, 0.5), lambda x: [x * x], log,
                     lambda e: (-mp.euler - log(-mpf(e[0]))) / 2, lambda e: st.rayleigh(scale=(-2 * e[0]) ** -0.5)),
    "laplace": Case(one(negative), lambda e: [sign() * x for x in positive(e)], lambda x: [abs(x)], law=lambda e: st.laplace(scale=-1 / e[0])),
    "normal_known_mean": Case(one(negative), lambda e: [normal() / math.sqrt(-2 * e[0]) for _ in range(3)], lambda x: [x * x],
                              lambda x: -half_tau(), lambda e: -half_tau(), lambda e: st.norm(0, (-2 * e[0]) ** -0.5)),
    "normal_known_variance": Case(one(real), lambda e: [2 * e[0] + normal() for _ in range(3)], same, lambda x: -x * x / 4 - log(4 * mp.pi) / 2,
                                  lambda e: -(2 + 4 * mpf(e[0]) ** 2) / 4 - log(4 * mp.pi) / 2, lambda e: st.norm(2 * e[0], math.sqrt(2))),
    "gamma": Case(lambda: [shape(), negative()], lambda e: gammas(e[0] + 1, -e[1]), logs, law=lambda e: st.gamma(e[0] + 1, scale=-1 / e[1])),
    "inverse_gamma": Case(lambda: [-2 - shape(), negative()], lambda e: [1 / x for x in gammas(-e[0] - 1, -e[1])], lambda x: [log(x), 1 / x],
                          law=lambda e: st.invgamma(-e[0] - 1, scale=-e[1])),
    "chi_squared": Case(one(shape), lambda e: gammas(e[0] + 1, 0.5), lambda x: [log(x)], lambda x: -x / 2, lambda e: -(mpf(e[0]) + 1),
                        lambda e: st.chi2(2 * e[0] + 2)),
    "beta": Case(lambda: [shape(), shape()], betas, lambda x: [log(x), mp.log1p(-x)], law=lambda e: st.beta(e[0] + 1, e[1] + 1)),
    "normal": Case(located, lambda e: [-e[0] / e[1] / 2 + normal() / math.sqrt(-2 * e[1]) for _ in range(3)], lambda x: [x, x * x],
                   lambda x: -half_tau(), lambda e: -half_tau(), lambda e: st.norm(-e[0] / e[1] / 2, (-2 * e[1]) ** -0.5)),
    "log_normal": Case(lambda: (lambda v, m: [m / v, -0.5 / v])(wide(1e-6, 10), rng.uniform(-50, 50)),
                       lambda e: stretched(math.exp(-e[0] / e[1] / 2), (-2 * e[1]) ** -0.5), lambda x: [log(x), log(x) ** 2],
                       lambda x: -log(x) - half_tau(), lambda e: mpf(e[0]) / e[1] / 2 - half_tau(),
                       lambda e: st.lognorm((-2 * e[1]) ** -0.5, scale=math.exp(-e[0] / e[1] / 2))),
    "inverse_gaussian": Case(lambda: [-wide(1e-8, 1e8), -wide(1e-8, 1e8)],
                             lambda e: stretched(math.sqrt(e[1] / e[0]), min(1.0, (e[0] * e[1]) ** -0.25)), lambda x: [x, 1 / x],
                             lambda x: -3 * log(x) / 2 - half_tau(), lambda e: -3 * mean_log(e) / 2 - half_tau(),
                             lambda e: st.invgauss(1 / (2 * math.sqrt(e[0] * e[1])), scale=-2 * e[1])),
    "von_mises": Case(lambda: (lambda k, m: [k * math.cos(m), k * math.sin(m)])(wide(1e-10, 1e12), rng.uniform(-3, 3)), wrapped,
                      lambda x: [mp.cos(x), mp.sin(x)], lambda x: -log(2 * mp.pi), lambda e: -log(2 * mp.pi),
                      lambda e: st.vonmises(math.hypot(*e), loc=math.atan2(e[1], e[0]))),
}

VECTORS = {
    "categorical": lambda: [real(), real()],
    "multinomial": lambda: [real(), real()],
    "dirichlet": lambda: [shape(), shape(), shape()],
    "isotropic_normal": lambda: [sign() * wide(1e-6, 1e6), sign() * wide(1e-6, 1e6), -wide(1e-6, 1e6)],
    "von_mises_fisher": lambda: (lambda k: [k * rng.gauss(0, 1) for _ in range(5)])(wide(1e-10, 1e10)),
    "normal_vector": tables.FAMILIES["normal_vector"][0],
    "normal_vector_zero_mean": tables.FAMILIES["normal_vector_zero_mean"][0],
    "wishart": lambda: tables.precision2() + [wide(1e-8, 1e12) - 1],
    "inverse_wishart": lambda: tables.precision2() + [-2 - wide(1e-8, 1e12)],
    "normal_gamma": tables.normal_gamma_point,
    "normal_wishart": tables.normal_wishart_point,
}
# How often log(2 pi) / 2 is added to the entropy by the base measure.
VECTOR_BASE = {"isotropic_normal": 2, "normal_vector": 2, "normal_vector_zero_mean": 2, "normal_gamma": 1, "normal_wishart": 2}
DISCRETE = ("bernoulli", "binomial", "binomial_large", "poisson", "geometric", "negative_binomial", "logarithmic")
# Exponentials of 800 take digits from A.
LOGISTIC = (*DISCRETE, "categorical", "multinomial", "continuous_bernoulli")
CDFS = {"gamma", "inverse_gamma", "beta", "normal", "log_normal"}
LAWS = {"dirichlet": lambda e: st.dirichlet([x + 1 for x in e])}


def log_tails(name, e, x):
    """log P(X <= x) and log P(X > x), by integration of the density of log x or of the logit."""
    e = [mpf(v) for v in e]
    x = mpf(x)
    if name in ("normal", "log_normal"):
        z = ((log(x) if name == "log_normal" else x) + e[0] / e[1] / 2) * mp.sqrt(-2 * e[1]) / mp.sqrt(2)
        return log(mp.erfc(-z) / 2), log(mp.erfc(z) / 2)
    if name == "inverse_gamma":
        below, above = log_tails("gamma", [-e[0] - 2, e[1]], 1 / x)
        return above, below
    if name == "gamma":
        a, y = e[0] + 1, -e[1] * x
        if a < 500:
            p = mp.gammainc(a, 0, y, regularized=True)
            q = mp.gammainc(a, y, mp.inf, regularized=True)
            return log(p), log(q)
        t0, f = log(y), lambda t: a * t - mp.exp(t)
        top, norm = log(a), lgamma(a)
        sd = 1 / mp.sqrt(a)
    else:
        a, b = e[0] + 1, e[1] + 1
        if max(a, b) < 500:
            p = mp.betainc(a, b, 0, x, regularized=True)
            # 1 - x has no digits of a small x.
            q = 1 - p if x < mpf(10) ** -20 else mp.betainc(b, a, 0, 1 - x, regularized=True)
            return log(p), log(q)
        t0 = log(x / (1 - x))
        soft = lambda t: mp.log1p(mp.exp(t)) if t < 0 else t + mp.log1p(mp.exp(-t))
        f = lambda t: -a * soft(-t) - b * soft(t)
        top, norm = log(a / b), lgamma(a) + lgamma(b) - lgamma(a + b)
        sd = mp.sqrt(1 / a + 1 / b)
    g = lambda t: mp.exp(f(t) - f(t0))
    # The tail away from the top falls by a factor e in each step of this width, or faster; the other is its rest.
    side = 1 if t0 > top else -1
    slope = abs(a - mp.exp(t0) if name == "gamma" else a / (1 + mp.exp(t0)) - b / (1 + mp.exp(-t0)))
    unit = 1 / (slope + 1 / sd)
    nodes, far = [t0], t0
    step = unit
    for _ in range(200):
        far = far + side * step
        nodes.append(far)
        if f(far) - f(t0) < -110:
            break
        step *= mpf(3) / 2
    area = abs(mp.quad(g, nodes if side > 0 else nodes[::-1]))
    tail = f(t0) - norm + log(area)
    rest = mp.log1p(-mp.exp(tail))
    return (rest, tail) if side > 0 else (tail, rest)


def solve_step(h, r, k):
    """The Newton step I^-1 r of a small system."""
    unit = [1 / mp.sqrt(h[tables.at(i, i)]) for i in range(k)]
    m = mp.matrix(k, k)
    for i in range(k):
        for j in range(k):
            m[i, j] = h[tables.at(i, j)] * unit[i] * unit[j]
    found = mp.lu_solve(m, mp.matrix([x * u for x, u in zip(r, unit)]))
    return [x * u for x, u in zip(found, unit)]


def judge(kind, name, who, found, exact, allowed, out, witness):
    count = out.setdefault((name, kind, who), dict(members=0, nan=0, off=0, silent=0, worst=0.0, at=None))
    count["members"] += 1
    if found is None:
        count["silent"] += 1
        return
    if math.isnan(found):
        count["nan"] += 1
        count["at"] = count["at"] or ["nan", witness]
        return
    if abs(exact) > mpf(2) ** 1023:
        return
    error = abs(mpf(found) - exact) if math.isfinite(found) else mp.inf
    if error > allowed:
        count["off"] += 1
        relative = float(min(error / max(abs(exact), mpf(10) ** -300), mpf(10) ** 300))
        if relative >= count["worst"]:
            count["worst"], count["at"] = relative, [found, mp.nstr(exact, 17), witness]


def requests(name, n):
    """Pairs of members and, for numbers, points."""
    rng.seed("sweep " + name)
    tables.rng.seed("sweep " + name)
    out = []
    for i in range(n):
        draw = NUMBERS[name].eta if name in NUMBERS else VECTORS[name]
        eta = [float(x) for x in draw()]
        base = "binomial" if name == "binomial_large" else name
        other = [float(x) for x in (draw() if i % 2 else tables.near(base, eta, [1e-7, 1e-3, 0.5][i % 3]))]
        points = NUMBERS[name].points(eta) if name in NUMBERS else []
        out.append((eta, other, [float(x) for x in points], rng.choice([0.5, 3.0, 1e6])))
    return out


def fields(text):
    return [None if w == "-" else float(w) for w in text.split()]


def family(job):
    name, n, runner = job
    asked = requests(name, n)
    line = lambda r: f"{name} | " + " | ".join(" ".join(map(repr, part)) for part in (*r[:3], [r[3]]))
    answer = subprocess.run([runner, "members"], input="\n".join(map(line, asked)), capture_output=True, text=True, check=True).stdout
    counts = {}
    a_of = (NUMBERS[name].a if name in NUMBERS else None) or tables.FAMILIES["normal" if name == "log_normal" else name][1]
    for request, reply in zip(asked, answer.splitlines(), strict=True):
        try:
            member(name, request, [fields(part) for part in reply.split("|")], a_of, counts)
        except (ZeroDivisionError, ValueError, mp.NoConvergence, OverflowError, AssertionError) as e:
            count = counts.setdefault((name, "reference", "none"), dict(members=0, nan=0, off=0, silent=0, worst=0.0, at=None))
            count["members"] += 1
            count["at"] = [repr(e), request]
    return name, counts


def member(name, request, reply, a_of, out):
    eta, other, points, weight = request
    k = len(eta)
    mp.dps = 75 + int(min(max(abs(x) for x in eta + other), 800) if name in LOGISTIC else 20)
    e = tables.variables(eta)
    p, q = a_of(e), a_of(tables.variables(other))
    full = lambda i, j: p.h[tables.at(i, j)]
    noise = lambda sizes: 16 * EPS * mp.fsum(abs(mpf(x) * s) for x, s in zip(eta, sizes))
    ten = mpf(10) ** -10
    case = NUMBERS.get(name)
    say = lambda kind, found, exact, allowed, witness, who="fenchel": judge(kind, name, who, found, exact, allowed, out, witness)
    a, mu, entropy, kl, log_p, cdf, mle, posterior = reply
    say("A", a[0], p.v, ten * max(abs(p.v), 1) + noise(p.g), eta)
    for i in range(k):
        say("mean", mu[i], p.g[i], ten * abs(p.g[i]) + noise([full(i, j) for j in range(k)]) + mpf(10) ** -300, eta)
    # Entropy.
    base = case.mean_base(eta) if case and case.mean_base else None if case or name == "multinomial" else -VECTOR_BASE.get(name, 0) * half_tau()
    law = None
    if case and case.law or name in LAWS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                law = (case.law if case else LAWS[name])(eta)
        except (ValueError, OverflowError, ZeroDivisionError):
            law = None
    has_law = bool(case and case.law or name in LAWS)

    def scipy(f):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return float(f())
        except Exception:
            return math.nan

    if base is not None:
        exact = p.v - mp.fsum(mpf(x) * m for x, m in zip(eta, p.g)) - base
        slopes = [mp.fsum(mpf(eta[j]) * full(i, j) for j in range(k)) for i in range(k)]
        allowed = ten * max(abs(exact), 1) + noise(slopes)
        say("entropy", entropy[0], exact, allowed, eta)
        if has_law:
            say("entropy", scipy(lambda: law.entropy()), exact, allowed, eta, "scipy")
    # Divergence.
    d = [mpf(y) - mpf(x) for x, y in zip(eta, other)]
    exact = q.v - p.v - mp.fsum(m * x for m, x in zip(p.g, d))
    moved = noise([mp.fsum(d[j] * full(i, j) for j in range(k)) for i in range(k)])
    moved += 16 * EPS * mp.fsum(abs(mpf(x) * (a - b)) for x, a, b in zip(other, q.g, p.g))
    moved = moved if name in tables.TOGETHER else 0
    say("kl", kl[0], exact, ten * abs(exact) + moved + mpf(10) ** -290, (eta, other))
    if not case:
        return
    # Densities.
    total = [mpf(0)] * k
    for x, found, below in zip(points, log_p, [cdf[i : i + 5] for i in range(0, 15, 5)]):
        t = case.t(mpf(x))
        total = [s + v for s, v in zip(total, t)]
        if found is None:
            say("log p", None, 0, 0, (eta, x))
            continue
        value = lambda y: mp.fsum(mpf(v) * s for v, s in zip(eta, case.t(y))) + case.base(y)
        exact = value(mpf(x)) - p.v
        shift = abs(mp.diff(value, mpf(x), h=abs(mpf(x)) * mpf(10) ** -20)) * abs(x) if x and abs(value(mpf(x))) < mp.inf else 0
        discrete = name in DISCRETE
        allowed = ten * max(abs(exact), 1) + noise([s - m for s, m in zip(t, p.g)]) + (0 if discrete else 16 * EPS * shift)
        say("log p", found, exact, allowed, (eta, x))
        if has_law:
            theirs = scipy(lambda: law.logpmf(x) if discrete else law.logpdf(x))
            say("log p", theirs, exact, allowed, (eta, x), "scipy")
        if name in CDFS:
            logs = log_tails(name, eta, x)
            density = mp.exp(exact + log(abs(mpf(x)))) if x else 0
            below, above, log_below, log_above, back = below
            for side, found, found_log, log_value in (("cdf", below, log_below, logs[0]), ("survival", above, log_above, logs[1])):
                value = mp.exp(log_value)
                moved = 16 * EPS * density * (1 + abs(log_value))
                say(side, found, value, ten * value + moved + mpf(10) ** -300, (eta, x))
                theirs = scipy(lambda: law.cdf(x) if side == "cdf" else law.sf(x))
                say(side, theirs, value, ten * value + moved + mpf(10) ** -300, (eta, x), "scipy")
                allowed = (ten + moved / value) * max(abs(log_value), 1)
                say("log " + side, found_log, log_value, allowed, (eta, x))
                theirs = scipy(lambda: law.logcdf(x) if side == "cdf" else law.logsf(x))
                say("log " + side, theirs, log_value, allowed, (eta, x), "scipy")
            if math.isfinite(back):
                # As far from x as the probability was rounded.
                spread = 16 * EPS * mp.exp(min(logs)) / density * abs(mpf(x)) if density else mp.inf
                noisy = 16 * EPS * abs(x) * (1 + abs(min(logs)))
                say("quantile", back, mpf(x), ten * abs(mpf(x)) + spread + noisy, (eta, x))
                theirs = scipy(lambda: law.ppf(float(below)) if below <= 0.5 else law.isf(float(above)))
                say("quantile", theirs, mpf(x), ten * abs(mpf(x)) + spread + noisy, (eta, x), "scipy")
    # What the data and the prior say: by the Newton step that is left, against the distance from the border.
    border = tables.BORDERS.get(name, [0] * k)
    prior = [weight * m for m in p.g]
    for kind, found, target, n in (
        ("mle", mle, total, 3),
        ("posterior", posterior, [x + y for x, y in zip(prior, total)], 3 + weight),
    ):
        if found[0] is None or len(set(points)) < 2 and kind == "mle":
            say(kind, None, 0, 0, (eta, points))
            continue
        if any(math.isnan(x) for x in found):
            say(kind, math.nan, 0, 0, (eta, points, weight))
            continue
        there = a_of(tables.variables(found))
        want = [mpf(x) / n for x in target]
        step = solve_step(there.h, [w - g for w, g in zip(want, there.g)], k)
        # How the rounding of the points moves the answer.
        size = [mp.fsum(abs(v) for v in case.t(mpf(x))) for x in points]
        moved = solve_step(there.h, [EPS * mp.fsum(size) / n] * k, k)
        if len(set(points)) > 1:
            rise = [mp.fsum(abs(b - a) for a, b in zip([c[i] for c in map(case.t, map(mpf, points))], [c[i] for c in (case.t(mpf(x) * (1 + EPS)) for x in points)])) / n for i in range(k)]
            mixed = [abs(v) for v in solve_step(there.h, rise, k)]
            one_by_one = [solve_step(there.h, [rise[i] if i == j else mpf(0) for i in range(k)], k) for j in range(k)]
            mixed = [max(mixed[i], *[abs(v[i]) for v in one_by_one]) for i in range(k)]
        else:
            mixed = [abs(v) for v in moved]
        if name in DISCRETE or name == "continuous_bernoulli":
            # Their means are doubles between borders.
            mixed[0] += abs(solve_step(there.h, [EPS * want[0]], k)[0])
        for i in range(k):
            distance = abs(mpf(found[i]) - border[i])
            if name in ("von_mises", "normal", "log_normal"):
                distance = max(abs(mpf(v)) for v in found)
            say(kind, found[i], mpf(found[i]) + step[i], ten * distance + 16 * mixed[i] + 4 * EPS * abs(found[i]), (eta, points, weight))


def run(runner, n, only, out):
    jobs = [(name, n, runner) for name in [*NUMBERS, *VECTORS] if not only or name in only]
    counts = {}
    with Pool(2) as pool:
        for name, found in pool.imap_unordered(family, jobs):
            counts.update(found)
            print(name, file=sys.stderr, flush=True)
    print(f"{datetime.date.today()}: {n} members a family, NaN + off (+ errors) of each answer, a dash where there is none")
    kinds = ["A", "mean", "log p", "cdf", "survival", "log cdf", "log survival", "quantile", "entropy", "kl", "posterior", "mle"]
    kinds = [kind for kind in kinds if any(key[1] == kind for key in counts)]
    for who in ("fenchel", "scipy"):
        rows = [name for name, *_ in jobs if any(key[0] == name and key[2] == who for key in counts)]
        shown = [kind for kind in kinds if any(key[1] == kind and key[2] == who for key in counts)]
        print(f"\n| {who} | " + " | ".join(shown) + " |\n|---|" + "---|" * len(shown))
        for name in rows:
            cells = []
            for kind in shown:
                c = counts.get((name, kind, who))
                cells.append("-" if c is None else f"{c['nan']} + {c['off']}" + (f" ({c['silent']})" if c["silent"] else ""))
            print(f"| {name.replace('_', ' ')} | " + " | ".join(cells) + " |")
    with open(out / "sweep.txt", "w") as file:
        for key, c in counts.items():
            if c["nan"] or c["off"] or key[2] == "none":
                print(*key, c, file=file)
    return {" ".join(key): c for key, c in counts.items()}


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), sys.argv[3:], pathlib.Path("."))
