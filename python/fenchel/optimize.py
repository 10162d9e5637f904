"""Linear programs with proofs, and matrix games."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from . import _core
from ._check import checked, choice, number, refuse
from ._control import Control, judge
from ._data import Vector, reals

__all__ = ["linprog", "matrix_game"]

STATUS = {"optimal": 0, "undecided": 1, "infeasible": 2, "unbounded": 3}
MESSAGE = {
    "optimal": "Optimal: the residual of the optimality conditions is within the tolerance.",
    "undecided": "The limit of passes was reached before a solution or a proof.",
    "infeasible": "Infeasible: ray combines the rows to a contradiction.",
    "unbounded": "Unbounded: the objective falls for ever from x along ray.",
}


IGNORED = (
    "disp",
    "presolve",
    "sparse",
    "lstsq",
    "sym_pos",
    "cholesky",
    "pc",
    "ip",
    "autoscale",
    "rr",
    "rr_method",
    "bland",
    "pivot",
)
"""Options of scipy that change no answer here."""


def _options(name: str, value: Any) -> dict[str, Any]:
    """The options of scipy that mean something here."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise refuse(name, value, "None or a dict")
    meant = {"maxiter": "max_iter", "time_limit": "max_seconds", "tol": "tol"}
    tolerances = [key for key in value if str(key).endswith("_tolerance")]
    found = {"tol": min(value[key] for key in tolerances)} if tolerances else {}
    for key, option in value.items():
        if key in meant:
            found[meant[key]] = option
        elif key not in (*IGNORED, *tolerances) and not str(key).startswith("simplex_"):
            raise refuse(f"an option of {name}", key, f"one of {[*meant, *IGNORED]}")
    return found


def _continuous(name: str, value: Any) -> None:
    if value is not None and np.any(reals(name, value)):
        raise refuse(name, value, "None or 0: there are no integer variables")


def _no_callback(name: str, value: Any) -> None:
    if value is not None:
        raise refuse(name, value, "None")


@checked(
    tol=number(0, 1, above=True),
    options=_options,
    integrality=_continuous,
    callback=_no_callback,
    method=choice(
        "auto", "highs", "highs-ds", "highs-ipm", "interior-point", "revised simplex", "simplex"
    ),
)
def linprog(
    c: Any,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    method: str = "auto",
    callback: None = None,
    options: Mapping[str, Any] | None = None,
    x0: Any = None,
    integrality: Any = None,
    *,
    tol: float = 1e-8,
    max_iter: float = 1e5,
) -> OptimizeResult:
    """Minimises ``c @ x`` subject to ``A_ub @ x <= b_ub``, ``A_eq @ x == b_eq`` and bounds.

    `method` and `x0` are ignored, but a method has to be one of scipy's. ``x`` and ``fun`` are None where there is no solution.
    Matrices are dense. There are no integer variables.

    Parameters
    ----------
    c : array-like of shape (n,)
        Costs.
    A_ub, b_ub : array-like of shape (m, n) and (m,), default=None
        Inequalities.
    A_eq, b_eq : array-like of shape (k, n) and (k,), default=None
        Equations.
    bounds : pair or list of pairs, default=(0, None)
        Least and largest value of each variable; None in a pair for no bound, and None for the default.
    method : str, default="auto"
        Ignored.
    callback : None
        There are no calls.
    options : dict, default=None
        Scipy's options: ``maxiter``, ``tol`` and the names that end in ``_tolerance``, and ``time_limit``; others are ignored.
    x0 : Ignored
        For the interface only.
    integrality : None or 0
        For the interface only.
    tol : float, default=1e-8
        Largest relative error of the optimality conditions.
    max_iter : float, default=1e5
        Passes after which the search ends in any case.

    Returns
    -------
    result : scipy.optimize.OptimizeResult
        ``x``, ``fun``, ``success``, ``status`` (0 optimal, 1 limit, 2 infeasible, 3 unbounded), ``message``, ``slack``, ``con``,
        ``eqlin``, ``ineqlin``, ``lower`` and ``upper`` with ``residual`` and ``marginals`` as in scipy; also ``ray``, the proof
        of status 2 and 3 (for status 2 one number for each row of ``A_eq`` and ``-A_ub``), and ``report_``.

    Examples
    --------
    >>> from fenchel.optimize import linprog
    >>> result = linprog([-1, -2], A_ub=[[1, 1]], b_ub=[4], bounds=[(0, 3), (0, None)])
    >>> round(result.fun, 6)
    -8.0
    >>> linprog([1], A_ub=[[1]], b_ub=[-1]).status
    2
    """
    own = dict(options or {})
    control = Control(own.get("tol", tol), own.get("max_iter", max_iter), own.get("max_seconds"))
    cost = np.ascontiguousarray(np.atleast_1d(np.squeeze(reals("c", c))))
    if cost.ndim != 1:
        raise ValueError(f"c has {cost.ndim} dimensions; expected 1")
    d = len(cost)
    upper, most = _rows("A_ub", A_ub, b_ub, d)
    equal, right = _rows("A_eq", A_eq, b_eq, d)
    low, high = _bounds(bounds, d)
    outcome, x, y, fun, facts = _core.linprog(
        cost, (equal, right), (-upper, -most), (low, high), control
    )
    report = control.report(facts)
    result = OptimizeResult(
        x=x,
        fun=fun,
        success=outcome == "optimal",
        status=STATUS[outcome],
        message=MESSAGE[outcome],
        nit=int(report.passes),
        ray=None,
        report_=report,
    )
    if outcome == "optimal":
        assert x is not None and y is not None
        k = len(right)
        result.slack, result.con = most - upper @ x, right - equal @ x
        result.eqlin = OptimizeResult(residual=result.con, marginals=y[:k])
        result.ineqlin = OptimizeResult(residual=result.slack, marginals=-y[k:])
        # What the rows leave of the costs is paid by the bounds.
        rest = cost - y[:k] @ equal + y[k:] @ upper
        lower, higher = np.isfinite(low) & (rest > 0), np.isfinite(high) & (rest < 0)
        result.lower = OptimizeResult(residual=x - low, marginals=np.where(lower, rest, 0.0))
        result.upper = OptimizeResult(residual=high - x, marginals=np.where(higher, rest, 0.0))
    else:
        result.ray = y
        if outcome == "infeasible":
            result.x = None
    return result


@checked()
def matrix_game(M: Any, *, tol: float = 1e-6, max_iter: float = 1e5) -> OptimizeResult:
    """Solves a matrix game: the row player pays ``M[i, j]`` to the column player.

    Parameters
    ----------
    M : array-like of shape (m, p)
        Payments.
    tol : float, default=1e-6
        Largest difference of the two bounds, as a fraction of the largest payment less the smallest.
    max_iter : float, default=1e5
        Passes after which the search ends in any case.

    Returns
    -------
    result : scipy.optimize.OptimizeResult
        ``row`` and ``column``, the strategies; ``lower`` and ``upper``, proved bounds of the value; ``value``, their mean;
        ``success`` and ``report_``.

    Examples
    --------
    >>> from fenchel.optimize import matrix_game
    >>> game = matrix_game([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])  # rock, paper, scissors
    >>> abs(game.value) < 1e-6
    True
    """
    control = Control(tol, max_iter)
    payments = np.ascontiguousarray(reals("M", M))
    if payments.ndim != 2:
        raise ValueError(f"M has {payments.ndim} dimensions; expected 2")
    row, column, (lower, upper), facts = _core.game(payments, control)
    report = control.report(facts)
    judge(report, "matrix_game")
    return OptimizeResult(
        row=row,
        column=column,
        lower=lower,
        upper=upper,
        value=(lower + upper) / 2,
        success=report.converged,
        report_=report,
    )


def _rows(name: str, a: Any, b: Any, d: int) -> tuple[_core.Weights, Vector]:
    if (a is None) != (b is None):
        raise ValueError(f"{name} and its right-hand side: expected both or neither")
    if a is None:
        return np.empty((0, d)), np.empty(0)
    if hasattr(a, "toarray"):
        a = a.toarray()
    rows, right = np.atleast_2d(reals(name, a)), np.atleast_1d(np.squeeze(reals(f"b{name[1:]}", b)))
    if rows.shape != (len(right), d) or right.ndim != 1:
        raise ValueError(
            f"{name} has the shape {rows.shape} and b{name[1:]} {right.shape}; expected (m, {d}) and (m,)"
        )
    return np.ascontiguousarray(rows), np.ascontiguousarray(right)


def _bounds(bounds: Any, d: int) -> tuple[Vector, Vector]:
    pairs = (0, None) if bounds is None else bounds
    if isinstance(pairs, (str, Mapping)) or not isinstance(pairs, Iterable):
        raise refuse("bounds", bounds, "a pair of numbers or None, or a list of pairs")
    pairs = list(pairs) or [(0, None)]
    if len(pairs) == 2 and not any(hasattr(bound, "__len__") for bound in pairs):
        pairs = [tuple(pairs)]
    if len(pairs) == 1:
        pairs = pairs * d
    if len(pairs) != d:
        raise ValueError(f"bounds: {len(pairs)} pairs; expected {d}")
    low, high = np.full(d, -np.inf), np.full(d, np.inf)
    for at, pair in enumerate(pairs):
        if not hasattr(pair, "__len__") or isinstance(pair, str) or len(pair) != 2:
            raise refuse(f"bounds[{at}]", pair, "a pair of numbers or None")
        for limits, bound in zip((low, high), pair, strict=True):
            if bound is not None:
                limits[at] = number(infinite=True)(f"bounds[{at}]", bound)
    return low, high
