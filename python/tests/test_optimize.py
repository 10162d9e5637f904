"""Linear programs against scipy's HiGHS; games against closed forms."""

import numpy as np
import pytest
import scipy.optimize

from fenchel.optimize import linprog, matrix_game


@pytest.mark.parametrize("seed", range(30))
def test_programs_equal_highs(seed):
    rng = np.random.default_rng(seed)
    n, m, k = rng.integers(2, 8), rng.integers(1, 8), rng.integers(0, 3)
    c = rng.normal(size=n)
    A, b = rng.normal(size=(m, n)), rng.normal(size=m)
    E = rng.normal(size=(k, n))
    e = E @ rng.uniform(0, 1, n)
    bounds = [(0, None) if rng.random() < 0.5 else (-1, 2) for _ in range(n)]
    arguments = {"A_ub": A, "b_ub": b, "bounds": bounds}
    if k:
        arguments |= {"A_eq": E, "b_eq": e}
    ours, theirs = linprog(c, **arguments), scipy.optimize.linprog(c, **arguments)
    assert ours.status == theirs.status
    if theirs.status == 0:
        assert ours.success and abs(ours.fun - theirs.fun) < 1e-6 * (1 + abs(theirs.fun))
        assert (ours.slack >= -1e-6).all()
        assert k == 0 or abs(ours.con).max() < 1e-6
        # The objective falls with the bounds as the multipliers say.
        bound = b @ ours.ineqlin.marginals + (e @ ours.eqlin.marginals if k else 0.0)
        reduced = c - A.T @ ours.ineqlin.marginals
        reduced = reduced - (E.T @ ours.eqlin.marginals if k else 0.0)
        low = np.array([pair[0] for pair in bounds], dtype=float)
        high = np.array([np.inf if pair[1] is None else pair[1] for pair in bounds], dtype=float)
        bound += np.where(reduced > 0, low * reduced, 0).sum()
        bound += np.where(reduced < -1e-6, np.where(np.isinf(high), 0, high) * reduced, 0).sum()
        assert abs(bound - ours.fun) < 1e-4 * (1 + abs(ours.fun))
    elif theirs.status == 3:
        assert c @ ours.ray < 0 and (A @ ours.ray <= 1e-6).all()
    elif theirs.status == 2:
        assert ours.x is None and ours.ray is not None


@pytest.mark.parametrize("seed", range(8))
def test_the_multipliers_of_bounds_equal_those_of_highs(seed):
    rng = np.random.default_rng(100 + seed)
    c, A = rng.normal(size=5), rng.normal(size=(3, 5))
    arguments = {"A_ub": A, "b_ub": np.abs(rng.normal(size=3)), "bounds": [(-1, 2)] * 5}
    ours = linprog(c, **arguments, options={"disp": False, "presolve": True}, x0=np.zeros(5))
    theirs = scipy.optimize.linprog(c, **arguments)
    for name in ("lower", "upper"):
        np.testing.assert_allclose(ours[name].residual, theirs[name].residual, atol=1e-6)
        np.testing.assert_allclose(ours[name].marginals, theirs[name].marginals, atol=1e-6)


def test_the_arguments_of_scipy():
    for bounds in (None, [], (0, None), [(0, None)]):
        assert linprog([1.0, 1.0], bounds=bounds).fun == 0.0
    assert linprog([1.0], bounds=(None, None)).status == 3
    limited = linprog(
        [1.0], [[-1.0]], [-1.0], integrality=[0], options={"maxiter": 50, "tol": 1e-6}
    )
    assert limited.success and limited.report_.total_seconds >= limited.report_.seconds
    assert linprog([1.0], options={"primal_feasibility_tolerance": 1e-7, "time_limit": 9.0}).success


def test_games():
    game = matrix_game([[3, 0], [0, 1]])
    assert abs(game.value - 3 / 4) < 1e-5 and game.lower <= 3 / 4 <= game.upper
    np.testing.assert_allclose(game.row, [1 / 4, 3 / 4], atol=1e-4)
    M = np.random.default_rng(1).normal(size=(20, 30))
    game = matrix_game(M)
    assert (game.row @ M).max() <= game.upper + 1e-9
    assert (M @ game.column).min() >= game.lower - 1e-9


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: linprog([1.0], A_ub=[[1.0]]), "both or neither"),
        (lambda: linprog([1.0, 2.0], A_ub=[[1.0]], b_ub=[1.0]), "A_ub has the shape"),
        (lambda: linprog([1.0], bounds=[(2, 1)]), "variable 0"),
        (lambda: linprog([1.0, 1.0], bounds=[(0, 1)] * 3), "3 pairs; expected 2"),
        (lambda: linprog([np.nan]), "cost"),
        (lambda: linprog([1.0], bounds=3), "bounds = 3"),
        (lambda: linprog([1.0], bounds={0: 1}), "bounds = "),
        (lambda: linprog([1.0], bounds=(True, 2)), r"bounds\[0\] = True"),
        (lambda: linprog([1.0], bounds=(np.nan, 2)), r"bounds\[0\] = nan"),
        (lambda: linprog([1.0], integrality=1), "integrality = 1"),
        (lambda: linprog([1.0], callback=print), "callback = "),
        (lambda: linprog([1.0], options={"mip_gap": 1}), "an option of options is 'mip_gap'"),
        (lambda: linprog([1.0], options=3), "options = 3"),
        (lambda: matrix_game([1.0, 2.0]), "1 dimensions"),
        (lambda: matrix_game([[np.inf]]), "row 0, column 0"),
    ],
)
def test_bad_arguments(call, said):
    with pytest.raises(ValueError, match=said):
        call()
