"""Limits of a fit, its progress and its report."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

Show: TypeAlias = Callable[[float, "float | None", float, float], None]


@dataclass(frozen=True)
class Report:
    """What is known about a fit.

    Attributes
    ----------
    status : str
        How the fit ended: ``"converged"``, or why not.
    certificate : {"gap", "residual", "none"}
        What `value` is: a duality gap, a norm that is 0 exactly at a solution, or nothing.
    objective : float or None
        The objective at the returned point.
    value : float
        The duality gap: no point has an objective below ``objective - value``. For a residual, the norm.
    relative : float
        `value` divided by the absolute objective (by the scale of the norm for a residual).
    passes : float
        Passes over the data.
    seconds : float
        Time of the method itself, without certificates.
    method : str or None
        The method that was chosen, and why.
    """

    status: str
    certificate: str
    objective: float | None
    value: float
    relative: float
    passes: float
    seconds: float
    method: str | None

    @property
    def converged(self) -> bool:
        """Whether the certificate is within the tolerance."""
        return self.status == "converged"

    def __str__(self) -> str:
        name = {"gap": "duality gap", "residual": "residual", "none": "no certificate"}
        objective = "unknown" if self.objective is None else f"{self.objective:.6g}"
        return (
            f"{self.status} after {self.passes:.4g} passes ({self.seconds:.3f} s): "
            f"objective {objective}, {name[self.certificate]} {self.value:.2e}"
        )


class Progress:
    """A line on the standard error that is written again and again, in a terminal and in a notebook."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.width = 0

    def __call__(
        self, passes: float, objective: float | None, value: float, seconds: float
    ) -> None:
        known = "" if objective is None else f", objective {objective:.6g}"
        gap = f", gap {value:.2e}" if value < float("inf") else ""
        line = f"{self.name}: {passes:.4g} passes, {seconds:.1f} s{known}{gap}"
        self.width = max(self.width, len(line))
        print("\r" + line.ljust(self.width), end="", file=sys.stderr, flush=True)

    def end(self, report: Report) -> None:
        """Writes the last line."""
        print("\r" + f"{self.name}: {report}".ljust(self.width), file=sys.stderr, flush=True)


@dataclass
class Control:
    """When a fit ends, and how it runs; read by the extension module.

    Parameters
    ----------
    tol : float
        The fit ends when its certificate is at most this fraction of the objective.
    max_iter : float
        Passes over the data after which it ends in any case.
    max_seconds : float or None
        Seconds after which it ends in any case.
    seed : int
        Seed of the visiting orders and folds.
    threads : int or None
        Number of threads; None for all cores.
    show : callable or None
        Called with passes, objective, certificate and seconds, about 20 times a second.
    """

    tol: float
    max_iter: float
    max_seconds: float | None = None
    seed: int = 0
    threads: int | None = None
    show: Progress | None = None


def seed(random_state: Any) -> int:
    """A seed from scikit-learn's ``random_state``; None is 0, so that a fit can be repeated."""
    if random_state is None:
        return 0
    if isinstance(random_state, int) and random_state >= 0:
        return random_state
    return int(check_random_state(random_state).randint(2**31 - 1))


def threads(n_jobs: int | None) -> int | None:
    """A number of threads from joblib's ``n_jobs``; None for all cores."""
    if n_jobs is None or n_jobs == -1:
        return None
    if n_jobs < 1:
        raise ValueError(f"n_jobs = {n_jobs}; expected None, -1 or a number of threads")
    return n_jobs


def judge(report: Report, name: str, raised: str = "max_iter") -> None:
    """Warns if a fit did not converge."""
    if not report.converged:
        warnings.warn(
            f"{name}: {report}. Raise {raised} or tol, or scale the data.",
            ConvergenceWarning,
            stacklevel=4,
        )
