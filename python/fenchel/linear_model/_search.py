"""What a cross-validation or a path tries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.model_selection import check_cv

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
    """The number of folds, or the rows of each."""
    if cv is None:
        return 5, None
    if isinstance(cv, (int, np.integer)) and cv >= 2:
        return int(cv), None
    if hasattr(cv, "split") or (isinstance(cv, Iterable) and not isinstance(cv, str)):
        pairs = check_cv(cv).split(X, y)
        return 5, [(np.asarray(train).tolist(), np.asarray(test).tolist()) for train, test in pairs]
    expected = "None, a number of folds, at least 2, a splitter, or pairs of training and test rows"
    raise ValueError(f"cv is {cv!r}; expected {expected}")


def grid(alphas: int | Sequence[float], factor: float = 1.0) -> tuple[list[float] | None, int]:
    """The penalties, each times `factor`, and their number."""
    if isinstance(alphas, (int, np.integer)):
        if alphas < 1:
            raise ValueError(f"the number of penalties is {alphas}; expected at least 1")
        return None, int(alphas)
    return [float(alpha) * factor for alpha in alphas], 0


def ratios(l1_ratio: float | Sequence[float]) -> list[float]:
    """A list of shares."""
    if isinstance(l1_ratio, (int, float)):
        return [float(l1_ratio)]
    return [float(ratio) for ratio in l1_ratio]
