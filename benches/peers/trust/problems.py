"""Small problems in hard settings, each as our side reads it and as an exact function.

A problem is `(setting, request, function)`. The function's `lift` makes its variables of a returned point.
"""

import itertools
import math
import random

from flint import arb

import exact
from exact import Function, Linear, LogDet, LogSum, Margins, Norms, OverScale, column

SETTINGS = {
    "plain": (12, 4),
    "ill-conditioned": (12, 4),
    "collinear": (12, 5),
    "units 1e-9 and 1e9": (12, 4),
    "far from 0": (12, 3),
    "n << d": (4, 14),
    "n >> d": (50, 2),
    "one row": (1, 3),
    "one cell": (1, 1),
    "weights 1e-12": (12, 3),
    "separable": (12, 3),
    "constant target": (10, 3),
    "targets 1e-9": (12, 3),
    "targets 1e9": (12, 3),
}


def design(setting, rng):
    """Rows, real targets with outliers, and weights."""
    n, d = SETTINGS[setting]
    x = [[rng.gauss(0, 1) for _ in range(d)] for _ in range(n)]
    y = [row[0] + 0.5 * rng.gauss(0, 1) + (5 if rng.random() < 0.1 else 0) for row in x]
    for row in x:
        if setting == "ill-conditioned":
            row[1], row[2] = row[0] + 1e-7 * row[1], 1e4 * row[2]
        elif setting == "collinear":
            row[1], row[2], row[4] = row[0], -2 * row[0], 0.0
        elif setting == "units 1e-9 and 1e9":
            row[:] = [v * (1e-9, 1e9)[j % 2] for j, v in enumerate(row)]
        elif setting == "far from 0":
            row[:] = [v + 1e6 for v in row]
    if setting == "constant target":
        y = [2.0] * n
    elif setting == "separable":
        y = [row[0] for row in x]
    elif setting.startswith("targets"):
        y = [v * float(setting.split()[1]) for v in y]
    weights = [rng.choice((1e-12, 1.0, 3.0)) for _ in y] if setting == "weights 1e-12" else None
    return x, y, weights


def shares(weights, n):
    """Exact shares of the rows."""
    weights = [arb(w) for w in weights] if weights else [arb(1)] * n
    total = sum(weights, arb(0))
    return [w / total for w in weights]


def targets(loss, y):
    if loss in ("logistic", "hinge", "smoothed hinge", "squared hinge"):
        return [1.0 if v > 0 else -1.0 for v in y]
    if loss in ("poisson", "geometric", "negative binomial"):
        return [float(round(min(abs(v), 1e5))) for v in y]
    if loss == "binomial":
        return [float(v > 0) for v in y]
    return [abs(v) + 0.1 for v in y] if loss in ("gamma", "inverse gaussian") else y


LOSSES = {
    "logistic": exact.logistic,
    "squared": exact.squared,
    "huber": exact.huber,
    "smoothed hinge": exact.smoothed_hinge,
    "squared hinge": exact.squared_hinge,
    "hinge": exact.hinge,
    "poisson": exact.poisson,
    "binomial": exact.binomial,
    "normal": exact.normal,
    "gamma": exact.gamma,
    "inverse gaussian": exact.inverse_gaussian,
    "geometric": exact.geometric,
    "negative binomial": exact.negative_binomial,
}


def steepest(x, y, q, loss):
    """The largest slope at 0, from which on l1 is large."""
    slopes = [LOSSES[loss](arb(0), arb(t), arb(1))[1] for t in y]
    sums = [sum((w * s * arb(row[j]) for w, s, row in zip(q, slopes, x)), arb(0)) for j in range(len(x[0]))]
    return max(float(abs(s).mid()) for s in sums) or 1.0


def linear(seed):
    plan = [("logistic", p) for p in ("l2", "weak l2", "none", "l1", "weak l1", "both")]
    plan += [("squared", p) for p in ("l2", "weak l2", "none", "l1", "weak l1", "both")]
    plan += [(loss, p) for loss in ("huber", "smoothed hinge", "hinge", "scaled huber") for p in ("l2", "weak l2")]
    plan += [("squared hinge", p) for p in ("l2", "weak l2", "none", "l1")]
    plan += [("poisson", p) for p in ("l2", "weak l2", "l1")] + [("groups", p) for p in ("l1", "weak l1", "both")]
    for place, (setting, (loss, penalty)) in enumerate(itertools.product(SETTINGS, plan)):
        x, real, weights = design(setting, random.Random(1000 * seed + place))
        if loss == "poisson" and max(abs(v) for row in x for v in row) > 1e3:
            continue
        plain = "squared" if loss in ("groups", "scaled huber") else loss
        n, d, y, q = len(x), len(x[0]), targets(plain, real), shares(weights, len(x))
        size = sum(v * v for row in x for v in row) / n
        l2 = size * {"l2": 0.1, "weak l2": 1e-6, "both": 1e-3}.get(penalty, 0.0)
        l1 = steepest(x, y, q, plain) * {"l1": 0.1, "weak l1": 1e-3, "both": 0.03}.get(penalty, 0.0)
        intercept = place % 3 > 0
        rows = [row + [1.0] * intercept for row in x]
        start, lift = [0.0] * len(rows[0]), column
        request = dict(kind="linear", loss=loss, x=x, y=y, weights=weights, l1=l1, l2=l2, intercept=intercept)
        if loss == "groups":
            # The second strength is that of the absolute values.
            groups = [list(range(g, min(g + 2, d))) for g in range(0, d, 2)]
            request |= dict(only=["GroupLasso"], groups=groups, l2=l1 / 2 if penalty == "both" else 0.0)
            norms = [(arb(l1) * arb(len(g)).sqrt(), g) for g in groups] + [(request["l2"], [j]) for j in range(d)]
            parts = [Margins(exact.squared, rows, y, q), Norms(norms)]
        elif "huber" in loss:
            # A residual is a part with a square, which a scale may divide, and a rest with an absolute value: an outlier's.
            scaled = loss == "scaled huber"
            request["only"], bound, first = ["HuberRegressor"] if scaled else [""], arb(1.35 if scaled else 1), len(start)
            rests = [row + [-float(i == m) for m in range(n)] + [0.0] * scaled for i, row in enumerate(rows)]
            rest = Margins(lambda t, y, mu: exact.absolute(t - y, mu), rests, y, [bound * w for w in q])
            ridge = [l2] * d + [0] * intercept + [0 if scaled else w for w in q] + [0] * scaled
            parts = [rest, Linear([0] * len(ridge), ridge)] + [OverScale(first, q)] * scaled

            def lift(point, rows=rows, y=y, bound=bound, scaled=scaled):
                w, s = [arb(v) for v in point[: len(rows[0])]], arb(point[-1]) if scaled else arb(1)
                residuals = [sum((a * v for a, v in zip(row, w)), -arb(t)) for row, t in zip(rows, y)]
                return column(w + [min(max(r, -bound * s), bound * s) for r in residuals] + [s] * scaled)

            start += [0.0] * n + [max(abs(v) for v in y)] * scaled
        else:
            ridge = Linear([0] * len(start), [l2] * d + [0] * intercept)
            parts = [Margins(LOSSES[loss], rows, y, q), ridge, Norms([(l1, [j]) for j in range(d)])]
        smooth = l1 == 0 and loss not in ("hinge", "huber", "scaled huber")
        yield f"{setting}, {loss}, {penalty}", request, Function(start, parts, smooth, lift)


def glm(seed):
    for place, (setting, loss) in enumerate(itertools.product(SETTINGS, list(LOSSES)[6:])):
        x, real, weights = design(setting, random.Random(1000 * seed + place))
        if loss not in ("binomial", "normal") and max(abs(v) for row in x for v in row) > 1e3:
            continue
        y, intercept = targets(loss, real), True
        for l2 in (0.0, 1e-3):
            rows = [row + [1.0] for row in x]
            request = dict(kind="glm", loss=loss, x=x, y=y, weights=weights, l2=l2, intercept=intercept)
            parts = [Margins(LOSSES[loss], rows, y, shares(weights, len(x))), Linear([0] * len(rows[0]), [l2] * len(x[0]) + [0])]
            start = [0.0] * len(x[0]) + [-1.0]
            yield f"{setting}, {loss}, l2 {l2}", request, Function(start, parts, True)


def softmax(seed):
    for place, (setting, penalty) in enumerate(itertools.product(SETTINGS, ("l2", "weak l2", "none", "l1", "both"))):
        x, real, weights = design(setting, random.Random(1000 * seed + place))
        if setting in ("n << d", "n >> d"):
            x, real = [row[:6] for row in x[:20]], real[:20]
        middle = sorted(real)[len(real) // 2]
        y = [2] + [0 if v < middle else 1 if v == middle else 2 for v in real[1:]]
        y = [sorted(set(y)).index(label) for label in y]
        n, d, r = len(x), len(x[0]), len(set(y))
        size = sum(v * v for row in x for v in row) / n
        l2 = size * {"l2": 0.1, "weak l2": 1e-6, "both": 1e-3}.get(penalty, 0.0)
        l1 = math.sqrt(size) * {"l1": 0.03, "both": 0.01}.get(penalty, 0.0)
        intercept = place % 3 > 0
        dimension, parts = (d + intercept) * r, []
        c = [arb(0)] * dimension
        for row, label, q in zip(x, y, shares(weights, n)):
            rows = [[0.0] * dimension for _ in range(r)]
            for k in range(r):
                for j, v in enumerate(row + [1.0] * intercept):
                    rows[k][j * r + k] = v
            c = [a - q * arb(b) for a, b in zip(c, rows[label])]
            parts.append(LogSum(q, rows))
        parts.append(Linear(c, [l2] * (d * r) + [0] * (intercept * r)))
        parts.append(Norms([(l1, [j]) for j in range(d * r)]))
        request = dict(kind="softmax", x=x, y=[float(v) for v in y], weights=weights, l1=l1, l2=l2, intercept=intercept)
        yield f"{setting}, {penalty}", request, Function([0.0] * dimension, parts, l1 == 0)


def crf(seed):
    for place, (unit, repeat, l2, l1) in enumerate(itertools.product((1.0, 1e-9, 1e3), (1, 3), (1.0, 1e-3, 1e-8), (0.0, 0.02))):
        rng = random.Random(1000 * seed + place)
        attributes, k = rng.choice((1, 2)), 2
        sequences = []
        for _ in range(rng.choice((1, 3))):
            token = lambda: ([(a, unit * rng.gauss(0, 1)) for a in range(attributes) if rng.random() < 0.8], rng.randrange(k))
            sequences.append([token() for _ in range(rng.choice((1, 3)))])
        sequences *= repeat
        dimension, parts = (attributes + 3) * k + k * k, []
        for sequence in sequences:
            def features(labels):
                f = [0.0] * dimension
                for t, ((values, _), label) in enumerate(zip(sequence, labels)):
                    marks = values + [(attributes, 1.0)] + [(attributes + 1, 1.0)] * (t == 0) + [(attributes + 2, 1.0)] * (t == len(sequence) - 1)
                    for a, v in marks:
                        f[a * k + label] += v
                    if t > 0:
                        f[(attributes + 3) * k + labels[t - 1] * k + label] += 1.0
                return f

            truth = [arb(v) for v in features([label for _, label in sequence])]
            rows = [[arb(v) - b for v, b in zip(features(labels), truth)] for labels in itertools.product(range(k), repeat=len(sequence))]
            parts.append(LogSum(arb(1) / len(sequences), rows))
        parts += [Linear([0] * dimension, [l2] * dimension), Norms([(l1, [j]) for j in range(dimension)])]
        request = dict(kind="crf", sequences=sequences, sizes=[attributes, k], l1=l1, l2=l2)
        yield f"unit {unit:g}, {repeat} copies, l2 {l2:g}, l1 {l1:g}", request, Function([0.0] * dimension, parts, l1 == 0)


def graph(seed):
    """Cycles of three nodes of two labels, with attributes on nodes and edges, and a node beside them."""
    for place, (unit, n, l2) in enumerate(itertools.product((1.0, 1e-3, 30.0), (1, 8), (1.0, 1e-3, 1e-8))):
        rng = random.Random(1000 * seed + place)
        graphs, dimension, parts = [], 2 * 2 + 2 * 4, []
        for _ in range(n):
            value = lambda: unit * rng.gauss(0, 1)
            nodes = [([v], [(a, value()) for a in range(2)]) for v in range(4)]
            edges = [([v, (v + 1) % 3], [(a, value()) for a in range(2)]) for v in range(3)]
            truth = [rng.randrange(2) for _ in range(4)]
            graphs.append([nodes, edges, truth])

            def features(labels, nodes=nodes, edges=edges):
                f = [0.0] * dimension
                for [v], values in nodes:
                    for a, w in values:
                        f[a * 2 + labels[v]] += w
                for [u, v], values in edges:
                    for a, w in values:
                        f[4 + a * 4 + labels[u] * 2 + labels[v]] += w
                return f

            own = [arb(v) for v in features(truth)]
            rows = [[arb(v) - b for v, b in zip(features(labels), own)] for labels in itertools.product(range(2), repeat=4)]
            parts.append(LogSum(arb(1) / n, rows))
        parts.append(Linear([0] * dimension, [l2] * dimension))
        request = dict(kind="graph", graphs=graphs, l2=l2)
        yield f"graph, unit {unit:g}, {n} graphs, l2 {l2:g}", request, Function([0.0] * dimension, parts, True)


def entropy(seed):
    """The multipliers of a law of maximum entropy: the means are those of a law with all values."""
    kinds = ("plain", "two values", "units 1e-9 and 1e9", "far from 0", "near the border", "base 1e-12")
    for place, kind in enumerate(kinds * 4):
        rng = random.Random(1000 * seed + place)
        k, n = 1 + place % 3, 2 if kind == "two values" else 6
        k = 1 if n == 2 else k
        t = [[rng.gauss(0, 1) for _ in range(k)] for _ in range(n)]
        if kind.startswith("units"):
            t = [[v * (1e-9, 1e9)[j % 2] for j, v in enumerate(row)] for row in t]
        elif kind == "far from 0":
            t = [[v + 1e6 for v in row] for row in t]
        base = [rng.choice((1e-12, 1.0)) if kind.startswith("base") else rng.random() + 0.1 for _ in t]
        p = [1e-6 if kind == "near the border" and i > 0 else rng.random() + 0.1 for i in range(n)]
        means = [sum(w * row[j] for w, row in zip(p, t)) / sum(p) for j in range(k)]
        total = sum((arb(q) for q in base), arb(0))
        rows = [[arb(v) - arb(m) for v, m in zip(row, means)] for row in t]
        request = dict(kind="entropy", x=t, y=means, cost=base)
        law = LogSum(1, rows, [arb(q) / total for q in base])
        yield f"{kind}, {k} statistics", request, Function([0.0] * k, [law], True, exact=True)


def upper(p):
    """The places of a symmetric matrix that are variables."""
    return list(itertools.combinations_with_replacement(range(p), 2))


def basis(pairs, at=0):
    return {at + k: [(i, j, 1)] + [(j, i, 1)] * (i != j) for k, (i, j) in enumerate(pairs)}


def trace(pairs, c, w=1):
    """The coefficients of w <C, X>."""
    return [arb(w) * (arb(c[i][j]) + (arb(c[j][i]) if i != j else 0)) for i, j in pairs]


def packed(pairs, matrix):
    p = math.isqrt(len(matrix))
    return [(arb(matrix[i * p + j]) + arb(matrix[j * p + i])) / 2 for i, j in pairs]


def lasso(seed):
    """The penalised log-determinant, and with groups of rows, a low rank, or two matrices."""
    kinds = ("plain", "one row", "collinear", "units 1e-9 and 1e9", "ill-conditioned")
    for place, (kind, strength) in enumerate(itertools.product(kinds, (0.3, 1e-2, 1e-5))):
        rng, p = random.Random(1000 * seed + place), 3
        n = 1 if kind == "one row" else 8
        x = [[rng.gauss(0, 1) for _ in range(p)] for _ in range(n)]
        for row in x:
            if kind == "collinear":
                row[1] = row[0]
            elif kind == "ill-conditioned":
                row[1] = row[0] + 1e-4 * row[1]
        c = [[sum(row[i] * row[j] for row in x) / n for j in range(p)] for i in range(p)]
        scale = max(c[i][i] for i in range(p))
        if kind.startswith("units"):
            units = (1e-9, 1.0, 1e9)
            c = [[c[i][j] * units[i] * units[j] for j in range(p)] for i in range(p)]
        l1 = scale * strength
        pairs = upper(p)
        size = len(pairs)
        identity = [float(i == j) for i, j in pairs]
        off = [k for k, (i, j) in enumerate(pairs) if i != j]
        lone = [(2 * arb(l1), [k]) for k in off]
        request = dict(kind="glasso", x=c, l1=l1)
        what = f"{kind}, {strength:g}"
        of = lambda solvers, function: (what, request | dict(only=solvers), function)
        plain = [Linear(trace(pairs, c)), LogDet(p, basis(pairs))]
        yield of(["glasso"], Function(identity, plain + [Norms(lone)], False, lambda m: column(packed(pairs, m))))
        rows = [(l1, [k for k in off if i in pairs[k]]) for i in range(p)]
        yield of(["NodeGroups"], Function(identity, plain + [Norms(rows)], False, lambda m: column(packed(pairs, m))))
        low = {k: entries for k, entries in basis(pairs, size).items()}
        both = basis(pairs) | {k: [(i, j, -s) for i, j, s in entries] for k, entries in low.items()}
        cost = trace(pairs, c) + [2 * arb(l1) * int(i == j) - t for (i, j), t in zip(pairs, trace(pairs, c))]
        latent = [Linear(cost), LogDet(p, both), LogDet(p, low, 1, True), Norms(lone)]
        split = lambda m: column(packed(pairs, m[: p * p]) + packed(pairs, m[p * p :]))
        yield of(["LatentGraphicalLasso"], Function([2 * v for v in identity] + identity, latent, False, split))
        turned = [row[::-1] for row in c[::-1]]
        shared = [Linear(trace(pairs, c, 0.25) + trace(pairs, turned, 0.75)), LogDet(p, basis(pairs), 0.25), LogDet(p, basis(pairs, size), 0.75)]
        shared.append(Norms(lone + [(l, [k + size for k in g]) for l, g in lone]))
        pair = Norms([(2 * arb(l1), [k, k + size]) for k in off])
        yield of(["joint group"], Function(identity * 2, shared + [pair], False, split))
        apart = [[(1.0 if j == k else -1.0 if j == k + size else 0.0) for j in range(2 * size)] for k in off]
        fused = Margins(lambda t, y, mu: exact.absolute(t, mu), apart, [0.0] * len(off), [2 * arb(l1)] * len(off))
        yield of(["joint fused"], Function(identity * 2, shared + [fused], False, split))


def scaled(row, powers):
    """In units of these powers of 2, in turn."""
    return [v * 2.0 ** powers[j % len(powers)] for j, v in enumerate(row)]


def hubs(seed):
    """A price of edges that falls with the degree of a node: a row costs as much as its dearest order of sizes."""
    kinds = ("plain", "one row", "copies", "nearly copies", "units 2^-30 and 2^30", "all 2^-30", "all 2^30", "a hub")
    prices = ((1.0, 0.5, 0.25), (1.0, 0.0, 0.0), (1.0, 1.0, 1e-9))
    for place, (kind, strength) in enumerate(itertools.product(kinds, (0.3, 1e-2, 1e-5))):
        rng, p = random.Random(1000 * seed + place), 4 if kind == "a hub" else 3
        n, h = 1 if kind == "one row" else 8, prices[(place + place // 3) % 3][: p - 1]
        x = [[rng.choice((-1, 1)) * rng.randrange(1, 17) / 8 for _ in range(p)] for _ in range(n)]
        for row in x:
            if "copies" in kind:
                row[1] = row[0] + row[1] * (2.0**-13 if kind == "nearly copies" else 0)
            elif kind == "a hub":
                row[0] = sum(row)
            elif kind.startswith("units"):
                row[:] = scaled(row, (-30, 0, 30))
            elif kind.startswith("all"):
                row[:] = scaled(row, [int(kind.split("^")[1])])
        c = [[sum(row[i] * row[j] for row in x) / n for j in range(p)] for i in range(p)]
        l1, pairs = strength * max(c[i][i] for i in range(p)), upper(p)
        size, edges = len(pairs), [k for k, (i, j) in enumerate(pairs) if i != j]
        # Variables: the matrix, sizes of its entries, costs of its rows.
        at, orders = {k: size + e for e, k in enumerate(edges)}, []
        width = size + len(edges) + p
        for i in range(p):
            own = [k for k in edges if i in pairs[k]]
            orders.append([dict(zip(order, h)) for order in itertools.permutations(own)])
        mark = lambda marks: [marks.get(k, 0.0) for k in range(width)]
        limits = [mark({k: sign, at[k]: 1.0}) for k in edges for sign in (-1.0, 1.0)]
        for i, of in enumerate(orders):
            limits += [mark({at[k]: -v for k, v in order.items()} | {size + len(edges) + i: 1.0}) for order in of]
        cost = trace(pairs, c) + [0.0] * len(edges) + [l1] * p
        parts = [Linear(cost), LogDet(p, basis(pairs)), Margins(exact.barrier, limits, [0.0] * len(limits))]

        def lift(m, pairs=pairs, edges=edges, orders=orders):
            x = packed(pairs, m)
            rows = [max((sum((abs(x[k]) * v for k, v in order.items()), arb(0)) for order in of), key=float) for of in orders]
            return column(x + [abs(x[k]) for k in edges] + [v + arb("1e-120") for v in rows])

        start = [1 / c[i][i] if i == j else 0.0 for i, j in pairs]
        reach = max(start)
        start += [reach] * len(edges) + [2 * p * reach] * p
        yield f"{kind}, {strength:g}, prices {h}", dict(kind="hubs", x=c, cost=list(h), l1=l1), Function(start, parts, False, lift)


def conditional(seed):
    """Fields of outputs given inputs. Covariances have no rounding: an indefinite one would make the problem unbounded."""
    units = {"inputs 2^-30 and 2^30": ((-30, 30), (0, 0)), "outputs 2^-30 and 2^30": ((0, 0), (-30, 30))}
    units |= {f"all 2^{power}": ((power, power), (power, power)) for power in (-30, 30)}
    kinds = ("plain", "copies", "nearly copies", "nearly determined", *units)
    strengths = ((0.3, 0.3), (1e-2, 1e-2), (1e-5, 1e-5), (0.0, 1e-2), (1e-2, 0.0), (0.0, 0.0))
    plan = [*itertools.product(kinds, strengths), *itertools.product(("determined", "one row", "n << d"), strengths[:3])]
    for place, (kind, (outer, inner)) in enumerate(plan):
        rng = random.Random(1000 * seed + place)
        n, p, q = {"one row": (1, 2, 3), "n << d": (2, 6, 2)}.get(kind, (16, 2, 2 + place % 2))
        draw = lambda: rng.choice((-1, 1)) * rng.randrange(1, 17) / 8
        x = [[draw() for _ in range(p)] for _ in range(n)]
        y = [[row[0] - row[1] / 2 + draw() or 1.0, *(row[1] + draw() or 1.0 for _ in range(q - 1))] for row in x]
        for row, out in zip(x, y):
            if "copies" in kind:
                row[1] = row[0] + row[1] * (2.0**-20 if kind == "nearly copies" else 0)
            elif "determined" in kind:
                out[0] = row[0] + draw() * (2.0**-13 if kind == "nearly determined" else 0)
        powers, others = units.get(kind, ((0, 0), (0, 0)))
        rows = [scaled(row, powers) + scaled(out, others) for row, out in zip(x, y)]
        c = [[sum(row[i] * row[j] for row in rows) / n for j in range(p + q)] for i in range(p + q)]
        xx, xy, yy = [row[:p] for row in c[:p]], [row[p:] for row in c[:p]], [row[p:] for row in c[p:]]
        widest = lambda m: max(m[i][i] for i in range(len(m)))
        l1, input_l1 = outer * widest(yy), inner * math.sqrt(widest(xx) * widest(yy))
        pairs = upper(q)
        cost = trace(pairs, yy) + [2 * arb(v) for row in xy for v in row]
        norms = [(2 * arb(l1), [k]) for k, (i, j) in enumerate(pairs) if i != j]
        norms += [(input_l1, [len(pairs) + k]) for k in range(p * q)]
        parts = [Linear(cost), LogDet(q, basis(pairs)), exact.Explained(q, basis(pairs), xx), Norms(norms)]
        start = [1 / yy[i][i] if i == j else 0.0 for i, j in pairs] + [0.0] * (p * q)
        lift = lambda m, pairs=pairs, q=q: column(packed(pairs, m[: q * q]) + m[q * q :])
        request = dict(kind="conditional", x=c, sizes=[p, q], l1=l1, input_l1=input_l1)
        yield f"{kind}, {outer:g}, inputs {inner:g}", request, Function(start, parts, l1 == 0 == input_l1, lift)


def network(seed):
    losses = ("likelihood", "pseudo", "node", "rise", "logrise")
    for place, (loss, kind, l1) in enumerate(itertools.product(losses, ("plain", "copies", "weights 1e-12", "one of a kind"), (0.3, 0.01))):
        rng, p = random.Random(1000 * seed + place), 3
        x = [[rng.randrange(2) for _ in range(p)] for _ in range(14)]
        for row in x:
            if kind == "copies" and rng.random() < 0.95:
                row[1] = row[0]
        if kind == "one of a kind":
            x = [[0, 0, 1]] * 13 + [[1, 1, 0]]
        weights = [rng.choice((1e-12, 1.0)) for _ in x] if kind == "weights 1e-12" else None
        q, spin = shares(weights, len(x)), lambda row: [2 * v - 1 for v in row]
        pairs = list(itertools.combinations_with_replacement(range(p), 2))
        psi = lambda s: [float(s[i] * (s[j] if i != j else 1)) for i, j in pairs]
        norms = Norms([(l1, [k]) for k, (i, j) in enumerate(pairs) if i != j])
        if loss == "likelihood":
            mean = [sum((w * arb(psi(spin(row))[k]) for w, row in zip(q, x)), arb(0)) for k in range(len(pairs))]
            parts = [LogSum(1, [psi(s) for s in itertools.product((-1, 1), repeat=p)]), Linear([-m for m in mean]), norms]
        elif loss == "pseudo":
            rows = [[2.0 * v * (i in pair) for v, pair in zip(psi(spin(row)), pairs)] for row in x for i in range(p)]
            parts = [Margins(exact.logistic, rows, [1.0] * len(rows), [w for w in q for _ in range(p)]), norms]
        else:
            norms = Norms([(l1, [j]) for j in range(1, p)])
            if loss == "node":
                rows = [[1.0] + [float(v) for v in row[1:]] for row in x]
                parts = [Margins(exact.logistic, rows, [float(spin(row)[0]) for row in x], q), norms]
            else:
                rows = [[-float(v * spin(row)[0]) for v in [1] + spin(row)[1:]] for row in x]
                sums = Margins(exact.poisson, rows, [0.0] * len(x), q) if loss == "rise" else LogSum(1, rows, q)
                parts = [sums, norms]
        start = [0.0] * (len(pairs) if loss in ("likelihood", "pseudo") else p)
        request = dict(kind="network", loss=loss, x=[[float(v) for v in row] for row in x], weights=weights, l1=l1)
        yield f"{kind}, {loss}, l1 {l1:g}", request, Function(start, parts, False)
    for place, (columns, l2, group) in enumerate(itertools.product((2, 3), (1.0, 1e-3), (0.0, 0.05))):
        rng, r = random.Random(1000 * seed + place), 5
        x = [[rng.randrange(4 if place % 2 else 2) for _ in range(columns)] for _ in range(5)]
        pairs = list(itertools.combinations(range(columns), 2))
        table = lambda i, j, a, b: columns * r + pairs.index((i, j)) * r * r + a * r + b
        dimension, parts = columns * r + len(pairs) * r * r, []
        for row in x:
            for i in range(columns):
                rows = []
                for a in range(r):
                    turned = row[:i] + [a] + row[i + 1 :]
                    places = [i * r + a] + [table(k, l, turned[k], turned[l]) for k, l in pairs if i in (k, l)]
                    rows.append([float(j in places) for j in range(dimension)])
                truth = rows[row[i]]
                parts.append(LogSum(arb(1) / len(x), [[a - b for a, b in zip(one, truth)] for one in rows]))
        tables = [[table(i, j, a, b) for a in range(r) for b in range(r)] for i, j in pairs]
        parts += [Linear([0] * dimension, [l2] * dimension), Norms([(group, t) for t in tables])]
        request = dict(kind="network", loss="potts", x=[[float(v) for v in row] for row in x], l1=group, l2=l2)
        yield f"Potts, {columns} columns, l2 {l2:g}, groups {group:g}", request, Function([0.0] * dimension, parts, group == 0)


def classifier(seed):
    for place, (setting, loss, strength) in enumerate(itertools.product(SETTINGS, ("hinge", "softmax"), (0.1, 1e-3))):
        x, real, _ = design(setting, random.Random(1000 * seed + place))
        x = [row[:3] for row in x[:8]]
        middle = sorted(real)[len(real) // 2]
        y = [0 if v < middle else 1 if v == middle else 2 for v in real[:8]]
        y = y if len(set(y)) == 3 else [k % 3 for k in range(len(y))]
        n, d, r = len(x), len(x[0]), len(set(y))
        l1 = strength * max(abs(v) for row in x for v in row)
        dimension, parts, steps, lifted = d * r, [], [], []
        for i, (row, label) in enumerate(zip(x, y)):
            rows = [[arb(row[j]) * (int(k == l) - int(label == l)) for j in range(d) for l in range(r)] for k in range(r)]
            if loss == "softmax":
                parts.append(LogSum(arb(1) / n, rows))
            # The hinge is the least number that is at least every score's lead, and 1 more than that of another class.
            steps += [([-v for v in a] + [arb(int(i == m)) for m in range(n)], int(k != label)) for k, a in enumerate(rows)]
            lifted.append([(a, int(k != label)) for k, a in enumerate(rows)])
        lift, start = column, [0.0] * dimension
        norms = Norms([(l1, [j]) for j in range(dimension)])
        if loss == "hinge":
            start += [3.0] * n
            rows = [a + [arb(-one)] for a, one in steps]
            limits = Margins(lambda t, y, mu: exact.barrier(t - y, y, mu), [a for a, _ in steps], [float(one) for _, one in steps])
            parts = [Linear([0] * dimension + [arb(1) / n] * n), limits]

            def lift(point, lifted=lifted):
                w = [arb(v) for v in point]
                lead = lambda a, one: sum((p * q for p, q in zip(a, w)), arb(one))
                return column(w + [max(lead(*of) for of in rows) + arb("1e-120") for rows in lifted])

        request = dict(kind="classifier", loss=loss, x=x, y=[float(v) for v in y], l1=l1)
        yield f"{setting}, {loss}, l1 {strength:g}", request, Function(start, parts + [norms], False, lift)


class Program:
    """A linear program, or the value of a game, by its vertices. Points of programs are feasible up to a tolerance: the objective may lie
    on either side of the optimum."""

    def __init__(self, cost, rows, low, value=None):
        self.cost, self.rows, self.low, self.of = cost, rows, low, value
        self.lift, self.either_side, self.exact = column, value is None, False

    def minimum(self):
        found = exact.linear_program(self.cost, self.rows, self.low)
        return (found, 1e-16 * abs(float(found))) if isinstance(found, float) else (found, float(abs(found).mid()))

    def value(self, x):
        if self.of:
            return self.of(x)
        products = [arb(c) * x[j, 0] for j, c in enumerate(self.cost)]
        return sum(products, arb(0)), float(sum((abs(p) for p in products), arb(0)).mid())


def programs(seed):
    for place, kind in enumerate(["plain", "degenerate", "units 1e-9 and 1e9", "infeasible", "unbounded", "one row"] * 4):
        rng = random.Random(1000 * seed + place)
        n, m = 3, 1 if kind == "one row" else 4
        rows = [[float(rng.randrange(1, 9)) for _ in range(n)] for _ in range(m)]
        cost, low = [float(rng.randrange(1, 9)) for _ in range(n)], [float(rng.randrange(1, 9)) for _ in range(m)]
        if kind == "degenerate":
            rows, low = rows[:2] * 2, low[:2] * 2
        elif kind == "infeasible":
            rows[1], low[1] = [-v for v in rows[0]], 1.0 - low[0]
        elif kind == "unbounded":
            cost[0] = -1.0
        elif kind.startswith("units"):
            rows = [[v * (1e-9, 1.0, 1e9)[j] for j, v in enumerate(row)] for row in rows]
        yield kind, dict(kind="program", cost=cost, x=rows, y=low), Program(cost, rows, low)
    for place, (kind, size) in enumerate(itertools.product(("plain", "equal rows", "offset 1e6", "units 1e-9 and 1e9"), (1, 2, 4))):
        rng = random.Random(1000 * seed + place)
        x = [[float(rng.randrange(-9, 10)) for _ in range(size)] for _ in range(size)]
        if kind == "equal rows":
            x[-1] = x[0]
        elif kind == "offset 1e6":
            x = [[v + 1e6 for v in row] for row in x]
        elif kind.startswith("units"):
            x = [[v * (1e-9, 1e9)[(i + j) % 2] for j, v in enumerate(row)] for i, row in enumerate(x)]
        # min v with the payments of every column at most v; a shift makes v positive.
        to = 1 - exact.rational(min(v for row in x for v in row))
        columns = [[-exact.rational(x[i][j]) - to for i in range(size)] + [1.0] for j in range(size)]
        rows, low = columns + [[1.0] * size + [0.0]], [0.0] * size + [1.0]

        def value(p, x=x):
            total = sum((p[i, 0] for i in range(len(x))), arb(0))
            pay = [sum((arb(x[i][j]) * p[i, 0] for i in range(len(x))), arb(0)) / total for j in range(len(x))]
            return max(pay), max(abs(v) for row in x for v in row)

        program = Program([0.0] * size + [1.0], rows, low, value)
        least = program.minimum
        program.minimum = lambda least=least, to=to, value=value: (least()[0] - arb(to), value(column([1.0] * size))[1])
        yield f"{kind}, {size} strategies", dict(kind="game", x=x), program


FAMILIES = {
    "finite sums": linear,
    "softmax": softmax,
    "GLMs": glm,
    "CRFs": lambda seed: itertools.chain(crf(seed), graph(seed)),
    "maximum entropy": entropy,
    "Gaussian networks": lambda seed: itertools.chain(lasso(seed), hubs(seed), conditional(seed)),
    "binary networks": network,
    "classifiers": classifier,
    "programs and games": programs,
}
