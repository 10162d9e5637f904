"""Convex functions in 500 bits, and their minima by a method that none of ours is: barriers and Newton's method, or all vertices.

A `Function` is a sum of parts, each with its value, gradient and Hessian at a point. A part with a kink or a border has a barrier of
weight `mu`: the minimum under barriers is above the optimum by at most a few `mu` for each of them.
"""

import itertools

from flint import arb, arb_mat, ctx, fmpq, fmpq_mat

ctx.prec = 500
EPSILON = 2.0**-52


def column(values):
    return arb_mat([[arb(v)] for v in values])


def softplus(t):
    return t + (-t).exp().log1p() if t > 0 else t.exp().log1p()


def absolute(t, mu):
    """min_s s - mu log(s^2 - t^2) over s > |t|, and its derivatives."""
    if mu == 0:
        return abs(t), arb(1 if t > 0 else -1 if t < 0 else 0), arb(0)
    root = (mu * mu + t * t).sqrt()
    s = mu + root
    return s - mu * (2 * mu * s).log(), t / s, mu / (s * root)


# Losses of a margin t and a target y: value, first and second derivative; None outside of the domain.
def logistic(t, y, _):
    p = 1 / (1 + (y * t).exp())
    return softplus(-y * t), -y * p, y * y * p * (1 - p)


def squared(t, y, _):
    return (t - y) ** 2 / 2, t - y, arb(1)


def huber(t, y, _):
    r = t - y
    return (r * r / 2, r, arb(1)) if abs(r) <= 1 else (abs(r) - arb(0.5), arb(1 if r > 0 else -1), arb(0))


def smoothed_hinge(t, y, _):
    u = 1 - y * t
    if u <= 0:
        return arb(0), arb(0), arb(0)
    return (u * u / 2, -y * u, y * y) if u <= 1 else (u - arb(0.5), -y, arb(0))


def squared_hinge(t, y, _):
    u = 1 - y * t
    return (u * u / 2, -y * u, y * y) if u > 0 else (arb(0), arb(0), arb(0))


def hinge(t, y, mu):
    u = 1 - y * t
    v, d, h = absolute(u, 2 * mu)
    return (u + v) / 2, -y * (1 + d) / 2, y * y * h / 2


def poisson(t, y, _):
    e = t.exp()
    return e - y * t, e - y, e


def binomial(t, y, _):
    p = 1 / (1 + (-t).exp())
    return softplus(t) - y * t, p - y, p * (1 - p)


def normal(t, y, _):
    return t * t / 2 - y * t, t - y, arb(1)


def gamma(t, y, _):
    return None if t >= 0 else (-(-t).log() - y * t, -1 / t - y, 1 / (t * t))


def inverse_gaussian(t, y, _):
    if t >= 0:
        return None
    m = 1 / (-2 * t).sqrt()
    return -1 / m - y * t, m - y, m**3


def geometric(t, y, _):
    if t >= 0:
        return None
    e, r = t.exp(), arb(1.5)
    m = e / (1 - e)
    return -r * (1 - e).log() - y * t, r * m - y, r * m * (1 + m)


def negative_binomial(t, y, _):
    r = arb(1.5)
    p = 1 / (1 + r * (-t).exp())
    return (y + r) * softplus(t - r.log()) - y * t, (y + r) * p - y, (y + r) * p * (1 - p)


def barrier(t, _, mu):
    """t >= 0"""
    if mu == 0:
        return (arb(0), arb(0), arb(0)) if t >= 0 else None
    return None if t <= 0 else (-mu * t.log(), -mu / t, mu / (t * t))


class Margins:
    """sum_i q_i f(a_i.x, y_i); without q terms have weight 1."""

    def __init__(self, f, rows, y, q=None):
        self.f, self.rows, self.y = f, arb_mat(rows), [arb(v) for v in y]
        self.q = [arb(v) for v in q] if q else [arb(1)] * len(y)
        self.sizes = arb_mat([[abs(arb(v)) for v in row] for row in rows])

    def at(self, x, mu):
        t = self.rows * x
        # A barrier is a term by itself, whatever the weight of the kink.
        terms = [self.f(t[i, 0], y, mu / q if q > 0 else arb(1)) for i, (y, q) in enumerate(zip(self.y, self.q))]
        return None if None in terms else [tuple(q * v for v in term) for q, term in zip(self.q, terms)]

    def local(self, x, mu):
        terms = self.at(x, mu)
        if terms is None:
            return None
        turned = self.rows.transpose()
        bent = arb_mat([[self.rows[i, j] * term[2] for j in range(self.rows.ncols())] for i, term in enumerate(terms)])
        return sum((t[0] for t in terms), arb(0)), turned * column([t[1] for t in terms]), turned * bent

    def size(self, x):
        """What rounding is relative to: values, and the products that a margin is the sum of."""
        s = self.sizes * arb_mat([[abs(x[j, 0])] for j in range(x.nrows())])
        of = lambda t, i: abs(t[0]) + (abs(t[1]) + self.q[i] * abs(self.y[i])) * s[i, 0] + t[2] * (EPSILON * s[i, 0]) * s[i, 0]
        return sum((of(term, i) for i, term in enumerate(self.at(x, arb(0)))), arb(0))


class LogSum:
    """q log sum_k w_k exp(a_k.x)"""

    def __init__(self, q, rows, w=None):
        self.q, self.rows = arb(q), arb_mat(rows)
        self.logs = [arb(v).log() for v in w] if w else [arb(0)] * len(rows)

    def at(self, x):
        s = self.rows * x
        s = [s[k, 0] + log for k, log in enumerate(self.logs)]
        top = max(s, key=float)
        e = [(v - top).exp() for v in s]
        total = sum(e, arb(0))
        return self.q * (top + total.log()), [v / total for v in e]

    def local(self, x, mu):
        value, p = self.at(x)
        p = column(p)
        turned = self.rows.transpose()
        mean = turned * p
        bent = arb_mat([[self.rows[k, j] * p[k, 0] for j in range(self.rows.ncols())] for k in range(self.rows.nrows())])
        return value, self.q * mean, self.q * (turned * bent - mean * mean.transpose())

    def size(self, x):
        value, p = self.at(x)
        reach = [sum((abs(self.rows[k, j] * x[j, 0]) for j in range(x.nrows())), arb(0)) for k in range(len(p))]
        return abs(value) + self.q * (1 + max(reach, key=float))


class Linear:
    """c.x + 0.5 sum_j h_j x_j^2"""

    def __init__(self, c, h=None):
        self.c, self.h = [arb(v) for v in c], [arb(v) for v in h or [0] * len(c)]

    def local(self, x, mu):
        n = len(self.c)
        slope = [self.c[j] + self.h[j] * x[j, 0] for j in range(n)]
        value = sum(((self.c[j] + slope[j]) * x[j, 0] / 2 for j in range(n)), arb(0))
        return value, column(slope), arb_mat([[self.h[j] if i == j else arb(0) for j in range(n)] for i in range(n)])

    def size(self, x):
        return sum((abs(c * x[j, 0]) + h * x[j, 0] ** 2 for j, (c, h) in enumerate(zip(self.c, self.h))), arb(0))


class Norms:
    """sum_g l_g ||x_g||, groups may overlap; a group of one is an absolute value."""

    def __init__(self, groups):
        self.groups = [(arb(l), group) for l, group in groups if l > 0]

    def local(self, x, mu):
        n = x.nrows()
        value, slope, bend = arb(0), arb_mat(n, 1), arb_mat(n, n)
        for l, group in self.groups:
            m = mu / l
            square = sum((x[j, 0] ** 2 for j in group), arb(0))
            root = (m * m + square).sqrt()
            if mu == 0:
                value += l * root
                continue
            s = m + root
            value += l * (s - m * (2 * m * s).log())
            for i in group:
                slope[i, 0] += l * x[i, 0] / s
                for j in group:
                    bend[i, j] += l * ((1 / s if i == j else 0) - x[i, 0] * x[j, 0] / (s * s * root))
        return value, slope, bend

    def size(self, x):
        return self.local(x, arb(0))[0]


class LogDet:
    """-w log det sum_k x_k B_k, over the x of positive definite matrices. `basis[k]` are pairs (i, j), sign."""

    def __init__(self, p, basis, w=1, is_barrier=False):
        self.p, self.basis, self.w, self.is_barrier = p, basis, arb(w), is_barrier

    def local(self, x, mu):
        p, n = self.p, x.nrows()
        w = mu * self.w if self.is_barrier else self.w
        if w == 0:
            return arb(0), arb_mat(n, 1), arb_mat(n, n)
        inner = combined(p, self.basis, x)
        log = log_det(inner)
        if log is None:
            return None
        inverse = inner.inv().mid()
        slope, bend = arb_mat(n, 1), arb_mat(n, n)
        for k, entries in self.basis.items():
            slope[k, 0] = -w * sum((sign * inverse[j, i] for i, j, sign in entries), arb(0))
            for l, others in self.basis.items():
                terms = (s * t * inverse[j, a] * inverse[b, i] for i, j, s in entries for a, b, t in others)
                bend[k, l] = w * sum(terms, arb(0))
        return -w * log, slope, bend

    def size(self, x):
        if self.is_barrier:
            return arb(0)
        inner = combined(self.p, self.basis, x)
        inverse = inner.inv()
        return self.p * sum((abs(inner[i, i] * inverse[i, i]).sqrt() for i in range(self.p)), arb(0)) ** 2


class Explained:
    """tr(L^-1 T' S T) over positive definite L = sum_k x_k B_k of order q, and T by rows after it."""

    def __init__(self, q, basis, s):
        self.q, self.basis, self.s = q, basis, arb_mat(s)

    def blocks(self, x):
        p, q, first = self.s.nrows(), self.q, len(self.basis)
        return combined(q, self.basis, x), arb_mat([[x[first + i * q + j, 0] for j in range(q)] for i in range(p)])

    def local(self, x, mu):
        p, q = self.s.nrows(), self.q
        inner, t = self.blocks(x)
        if cholesky(inner) is None:
            return None
        inverse = inner.inv().mid()
        b = t * inverse
        sb = self.s * b
        square = b.transpose() * sb
        # How T moves away from T L^-1 times the move of L, by which the function is a square.
        moves, slope = [], []
        for entries in self.basis.values():
            move = arb_mat(q, q)
            for i, j, sign in entries:
                move[i, j] += sign
            moves.append(-(b * move))
            slope.append(-sum((sign * square[i, j] for i, j, sign in entries), arb(0)))
        for i, j in itertools.product(range(p), range(q)):
            move = arb_mat(p, q)
            move[i, j] = 1
            moves.append(move)
            slope.append(2 * sb[i, j])
        bent = [self.s * move * inverse for move in moves]
        bend = 2 * arb_mat([m.entries() for m in moves]) * arb_mat([m.entries() for m in bent]).transpose()
        return (t.transpose() * sb).trace(), column(slope), bend

    def size(self, x):
        positive = lambda m: arb_mat([[abs(m[i, j]) for j in range(m.ncols())] for i in range(m.nrows())])
        inner, t = self.blocks(x)
        t = positive(t)
        return (positive(inner.inv()) * t.transpose() * positive(self.s) * t).trace()


def combined(p, basis, x):
    """sum_k x_k B_k"""
    matrix = arb_mat(p, p)
    for k, entries in basis.items():
        for i, j, sign in entries:
            matrix[i, j] += sign * x[k, 0]
    return matrix


def log_det(matrix):
    """By Cholesky; None unless positive definite."""
    factor = cholesky(matrix)
    return None if factor is None else 2 * sum((factor[i, i].log() for i in range(matrix.nrows())), arb(0))


def cholesky(a):
    n = a.nrows()
    f = arb_mat(n, n)
    for i in range(n):
        for j in range(i + 1):
            rest = (a[i, j] - sum((f[i, k] * f[j, k] for k in range(j)), arb(0))).mid()
            if i == j and not rest > 0:
                return None
            f[i, j] = rest.sqrt().mid() if i == j else (rest / f[j, j]).mid()
    return f


class OverScale:
    """s/2 + sum_i q_i a_i^2 / (2 s) for variables a_i from `first` on, and s > 0 after them."""

    def __init__(self, first, q):
        self.first, self.q = first, q

    def local(self, x, mu):
        n = x.nrows()
        s = x[n - 1, 0]
        if not s > 0:
            return None
        value, slope, bend = s / 2 - mu * s.log(), arb_mat(n, 1), arb_mat(n, n)
        slope[n - 1, 0], bend[n - 1, n - 1] = arb(0.5) - mu / s, mu / (s * s)
        for i, q in enumerate(self.q, self.first):
            z = x[i, 0] / s
            value += q * z * x[i, 0] / 2
            slope[i, 0], bend[i, i] = q * z, q / s
            bend[i, n - 1] = bend[n - 1, i] = -q * z / s
            slope[n - 1, 0] -= q * z * z / 2
            bend[n - 1, n - 1] += q * z * z / s
        return value, slope, bend

    def size(self, x):
        return self.local(x, arb(0))[0]


class Function:
    """`lift` makes the variables of a returned point. With `exact`, a run that converged has to be at the optimum, whatever it proves."""

    def __init__(self, start, parts, smooth, lift=column, exact=False):
        self.start, self.parts, self.smooth, self.lift, self.exact = column(start), parts, smooth, lift, exact

    def local(self, x, mu):
        found = [part.local(x, mu) for part in self.parts]
        if None in found:
            return None
        value, slope, bend = found[0]
        for v, s, b in found[1:]:
            value, slope, bend = value + v, slope + s, bend + b
        return value.mid(), slope.mid(), bend.mid()

    def value(self, x):
        """The exact value, None outside of the domain; what its rounding is relative to."""
        found = [part.local(x, arb(0)) for part in self.parts]
        if None in found:
            return None, None
        return sum((f[0] for f in found), arb(0)), float(sum((part.size(x) for part in self.parts), arb(0)).mid())

    def minimum(self):
        """The least value, and the rounding at its point."""
        x = self.start
        first = abs(self.local(x, arb(1))[0]) + arb("1e-30")
        weights = [arb(0)] if self.smooth else [first * arb(10) ** -k for k in range(0, 46, 2)]
        for mu in weights:
            x = self.newton(x, mu, mu / 100 if mu is not weights[-1] else mu * arb("1e-6"))
        return self.value(x)

    def newton(self, x, mu, enough):
        value, slope, bend = self.local(x, mu)
        for _ in range(400):
            n = x.nrows()
            top = max((abs(bend[i, i]) for i in range(n)), key=float) + arb("1e-300")
            for i in range(n):
                bend[i, i] += bend[i, i] * arb("1e-50") + top * arb("1e-80")
            step = bend.solve(-slope, algorithm="approx").mid()
            gain = -(slope.transpose() * step)[0, 0].mid()
            if gain <= enough or gain <= abs(value) * arb("1e-60"):
                return x
            size, found = arb(1), None
            for _ in range(200):
                to = (x + step * size).mid()
                found = self.local(to, mu)
                if found is not None and found[0] <= value - size * gain / 1000:
                    break
                size, found = size / 2, None
            if found is None:
                return x
            x, (value, slope, bend) = to, found
        return x


def rational(v):
    return v if isinstance(v, fmpq) else fmpq(*float(v).as_integer_ratio())


def linear_program(cost, rows, low):
    """The least c.x over x >= 0 with rows x >= low, from all vertices; `inf` if there is none, `-inf` if it is unbounded."""
    n = len(cost)
    cost = [rational(c) for c in cost]
    unit = [[fmpq(int(i == j)) for j in range(n)] for i in range(n)]
    rows = [[rational(v) for v in row] for row in rows] + unit
    low = [rational(v) for v in low] + [fmpq(0)] * n

    def least(rows, low):
        best = None
        for active in itertools.combinations(range(len(rows)), n):
            try:
                x = fmpq_mat([rows[i] for i in active]).solve(fmpq_mat([[low[i]] for i in active]))
            except ZeroDivisionError:
                continue
            products = [sum((a * x[j, 0] for j, a in enumerate(row)), fmpq(0)) for row in rows]
            if all(p >= b for p, b in zip(products, low)):
                value = sum((c * x[j, 0] for j, c in enumerate(cost)), fmpq(0))
                best = value if best is None else min(best, value)
        return best

    best = least(rows, low)
    if best is None:
        return float("inf")
    # Rays of the recession cone, cut at a sum of 1.
    cut = [fmpq(-1)] * n
    if least(rows + [cut], [fmpq(0)] * len(rows) + [fmpq(-1)]) < 0:
        return float("-inf")
    return arb(best)
