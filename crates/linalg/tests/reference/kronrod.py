"""Nodes and weights of the 10-21 Gauss-Kronrod rule, to 25 digits: `python3 kronrod.py` (needs mpmath).

The rule adds to the zeros of P_10 those of the Stieltjes polynomial E_11, the polynomial of degree 11 with
    integral of P_10(x) E_11(x) x^k over [-1, 1] = 0   for k = 0..10.
E_11 is found in the basis of Legendre polynomials from these linear equations, its zeros between the zeros of P_10,
and the weights from exactness for P_0, ..., P_20. The last line checks the exactness for x^30.
"""
from mpmath import findroot, legendre, lu_solve, matrix, mp, mpf, quad

mp.dps = 60
N = 10


def inner(f):
    return quad(f, [-1, -0.5, 0, 0.5, 1])


# E = P_11 + sum over odd k < 11 of c_k P_k (E is odd); the conditions for x^j with even j hold by symmetry.
odd = list(range(1, N + 1, 2))
A = matrix(len(odd), len(odd))
b = matrix(len(odd), 1)
for row, j in enumerate(odd):
    for column, k in enumerate(odd):
        A[row, column] = inner(lambda x: legendre(N, x) * legendre(k, x) * x**j)
    b[row] = -inner(lambda x: legendre(N, x) * legendre(N + 1, x) * x**j)
c = lu_solve(A, b)


def stieltjes(x):
    return legendre(N + 1, x) + sum(c[i] * legendre(k, x) for i, k in enumerate(odd))


def zeros(f, points):
    return [findroot(f, (a, b), solver="anderson", tol=mpf(10) ** -90) for a, b in zip(points, points[1:]) if f(a) * f(b) < 0]


grid = [mpf(i) / 400 - 1 for i in range(801)]
grid = [x + mpf("0.00031") for x in grid[:-1]]
gauss = zeros(lambda x: legendre(N, x), grid)
nodes = sorted(gauss + zeros(stieltjes, [mpf(-1)] + grid + [mpf(1)]))
assert len(gauss) == N and len(nodes) == 2 * N + 1, (len(gauss), len(nodes))
V = matrix(2 * N + 1, 2 * N + 1)
rhs = matrix(2 * N + 1, 1)
rhs[0] = 2
for k in range(2 * N + 1):
    for i, x in enumerate(nodes):
        V[k, i] = legendre(k, x)
weights = lu_solve(V, rhs)
for x, w in zip(nodes, weights):
    if x >= -mpf(10) ** -40:
        near = min(gauss, key=lambda g: abs(g - x))
        g = 2 / ((1 - near**2) * mp.diff(lambda t: legendre(N, t), near) ** 2) if abs(near - x) < mpf(10) ** -30 else 0
        print(mp.nstr(abs(x), 25), mp.nstr(w, 25), mp.nstr(g, 25))
print("error for x^30:", mp.nstr(sum(w * x**30 for x, w in zip(nodes, weights)) - mpf(2) / 31, 5))
