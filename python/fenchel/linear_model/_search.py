"""What a cross-validation or a path tries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


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
    scoring: str = "neg_log_loss"
    one_standard_error: bool = False


def folds(cv: Any) -> int:
    """The number of folds."""
    if cv is None:
        return 5
    if isinstance(cv, (int, np.integer)) and cv >= 2:
        return int(cv)
    raise ValueError(f"cv is {cv!r}; expected None or a number of folds, at least 2")


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
