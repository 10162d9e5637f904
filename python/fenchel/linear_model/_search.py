"""What a cross-validation or a path tries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from sklearn.model_selection import check_cv

from .._check import MOST_PENALTIES, SHARE, SIZE, count, either, number, numbers, refuse

Splits: TypeAlias = "list[tuple[list[int], list[int]]]"
"""Training rows and test rows of each fold."""


@dataclass
class Search:
    """Penalties and shares of the l1 norm to try; read by the extension module.

    With ``grid=None`` there are `count` penalties, down to `smallest` times the largest that is of use; with ``count=0``
    those that the crate takes by default.
    """

    l1_ratios: list[float]
    grid: list[float] | None = None
    count: int = 0
    smallest: float = 1e-3
    folds: int = 5
    splits: Splits | None = None
    scoring: str = "neg_log_loss"
    one_standard_error: bool = False


def folds(cv: Any, X: Any, y: Any = None) -> tuple[int, Splits | None]:
    """The number of folds, or the rows of each; None is five, or one a row if there are fewer."""
    if cv is None:
        return min(5, X.shape[0]), None
    if isinstance(cv, Integral):
        return int(count(2, 10**9)("cv", cv)), None
    if hasattr(cv, "split") or (isinstance(cv, Iterable) and not isinstance(cv, str)):
        pairs = check_cv(cv).split(X, y)
        return 5, [(np.asarray(train).tolist(), np.asarray(test).tolist()) for train, test in pairs]
    expected = "None, a number of folds, at least 2, a splitter, or pairs of training and test rows"
    raise refuse("cv", cv, expected)


PENALTIES = either(
    count(1, MOST_PENALTIES),
    numbers(SIZE),
    expected=f"a number of penalties from 1 to {MOST_PENALTIES}, or a list of numbers >= 0",
)
CS = either(
    count(1, MOST_PENALTIES),
    numbers(number(0, above=True)),
    expected=f"a number of penalties from 1 to {MOST_PENALTIES}, or a list of numbers > 0",
)
SHARES = either(SHARE, numbers(SHARE), expected="a number from 0 to 1, or a list of them")


def grid(alphas: int | Sequence[float], factor: float = 1.0) -> tuple[list[float] | None, int]:
    """The penalties that were checked, each times `factor`, and their number."""
    if isinstance(alphas, (int, np.integer)):
        return None, int(alphas)
    return [float(alpha) * factor for alpha in alphas], 0


def grid_of_c(Cs: int | Sequence[float] | None, weight: float) -> tuple[list[float] | None, int]:
    """The penalties of values of ``C``; `weight` is the sum of the weights of the rows."""
    if Cs is None:
        return None, 0
    return grid(Cs if isinstance(Cs, (int, np.integer)) else [1 / (C * weight) for C in Cs])


def ratios(l1_ratio: float | Sequence[float]) -> list[float]:
    """A list of shares."""
    return [float(ratio) for ratio in np.ravel(l1_ratio)]
