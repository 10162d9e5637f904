"""Limits of a fit, its progress and its report."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from . import _check

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
        Time of the method itself, without checks of the data, set-up and certificates.
    method : str or None
        The method that was chosen, and why.
    total_seconds : float or None
        Time of the whole call of ``fit``; None for one of several fits, and for a model that was read from a file.
    """

    status: str
    certificate: str
    objective: float | None
    value: float
    relative: float
    passes: float
    seconds: float
    method: str | None
    total_seconds: float | None = None

    @property
    def converged(self) -> bool:
        """Whether the certificate is within the tolerance."""
        return self.status == "converged"

    def __str__(self) -> str:
        name = {"gap": "duality gap", "residual": "residual"}
        known = [] if self.objective is None else [f"objective {self.objective:.6g}"]
        if self.certificate != "none" and self.value < float("inf"):
            known.append(f"{name[self.certificate]} {self.value:.2e}")
        else:
            known.append("no certificate")
        seconds = self.seconds if self.total_seconds is None else self.total_seconds
        return f"{self.status} after {self.passes:.4g} passes ({seconds:.3f} s): {', '.join(known)}"


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
    started: float = field(default_factory=time.perf_counter, repr=False)

    def __post_init__(self) -> None:
        self.tol = _check.RULES["tol"]("tol", self.tol)
        self.max_iter = _check.POSITIVE_OR_INFINITE("max_iter", self.max_iter)
        self.max_seconds = _check.RULES["max_seconds"]("max_seconds", self.max_seconds)

    def report(self, *facts: dict[str, Any]) -> Report:
        """The report of a fit that began when this was made; of several the one with the largest certificate."""
        largest = max(facts, key=lambda each: float(each["relative"]))
        return Report(**largest, total_seconds=time.perf_counter() - self.started)


def control_of(estimator: Any, tol: float = 0.0, max_iter: float = 1.0) -> Control:
    """The limits that the parameters of an estimator ask for, after a check of all of them; `tol` and `max_iter` are those of
    an estimator that has no such parameters."""
    _check.parameters(estimator)
    limit = getattr(estimator, "max_iter", getattr(estimator, "max_iterations", max_iter))
    return Control(
        tol=getattr(estimator, "tol", tol),
        max_iter=1000 if limit is None else limit,
        max_seconds=getattr(estimator, "max_seconds", None),
        seed=seed(getattr(estimator, "random_state", None)),
        threads=threads(getattr(estimator, "n_jobs", None)),
        show=Progress(type(estimator).__name__) if getattr(estimator, "verbose", False) else None,
    )


def seed(random_state: Any) -> int:
    """A seed from scikit-learn's ``random_state``; None is 0, so that a fit can be repeated."""
    if random_state is None:
        return 0
    if isinstance(random_state, Integral) and not isinstance(random_state, (bool, np.bool_)):
        return int(_check.count(0, 2**64 - 1)("random_state", random_state))
    return int(check_random_state(random_state).randint(2**31 - 1))


def seed_of_draws(random_state: Any) -> int:
    """As `seed`, but None is numpy's global state, as in scipy: two calls draw other numbers."""
    return seed(check_random_state(None) if random_state is None else random_state)


def threads(n_jobs: int | None) -> int | None:
    """A number of threads from joblib's ``n_jobs``, at most one a core; None for all cores."""
    n_jobs = _check.RULES["n_jobs"]("n_jobs", n_jobs)
    return None if n_jobs is None or n_jobs == -1 else min(n_jobs, os.cpu_count() or 1)


ADVICE = {
    "no minimiser exists": "Add a penalty: without one the objective falls for ever.",
    "diverged": "Scale the data, or add a penalty.",
    "time limit reached": "Raise max_seconds or tol.",
}
"""What helps a fit that ended so."""


def judge(report: Report, name: str, raised: str = "max_iter", stacklevel: int = 4) -> None:
    """Warns if a fit did not converge."""
    if not report.converged:
        advice = ADVICE.get(report.status, f"Raise {raised} or tol, or scale the data.")
        warnings.warn(f"{name}: {report}. {advice}", ConvergenceWarning, stacklevel=stacklevel)


class Recorded:
    """An estimator with ``report_``, ``duality_gap_`` and ``n_iter_``."""

    report_: Report
    duality_gap_: float
    n_iter_: Any

    def _record(self, control: Control, *facts: dict[str, Any]) -> None:
        """Keeps the report, of several fits the one with the largest gap, and warns if it did not converge."""
        self._keep_report(control.report(*facts), max(float(each["passes"]) for each in facts))
        if control.show is not None:
            control.show.end(self.report_)
        raised = "max_iterations" if hasattr(self, "max_iterations") else "max_iter"
        judge(self.report_, type(self).__name__, raised)

    def _keep_report(self, report: Report, passes: float) -> None:
        self.report_ = report
        self.duality_gap_ = report.value
        self.n_iter_ = max(1, ceil(passes))
