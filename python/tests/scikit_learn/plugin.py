"""A plugin of pytest that puts our estimators in the place of scikit-learn's, for scikit-learn's own tests.

    PYTHONPATH=tests/scikit_learn pytest -p plugin -q --pyargs sklearn.linear_model.tests.test_ridge ...

Tests that name none of them are not run. Those of `LEFT_OUT` may fail, for the reason that is given.
"""

from types import CodeType, FunctionType
from typing import Any

import pytest
import sklearn.covariance
import sklearn.linear_model
import sklearn.svm
from left_out import CLASSES, LEFT_OUT

import fenchel.covariance
import fenchel.linear_model

MODULES = (
    (sklearn.linear_model, fenchel.linear_model),
    (sklearn.svm, fenchel.linear_model),
    (sklearn.covariance, fenchel.covariance),
)
SWAPPED, THEIRS = {}, {}
for theirs, ours in MODULES:
    for name in ours.__all__:
        if hasattr(theirs, name) and name not in CLASSES:
            SWAPPED[name], THEIRS[name] = getattr(ours, name), getattr(theirs, name)
            setattr(theirs, name, SWAPPED[name])

# What the tests ask for besides the answer: the solver by its name, and the loss to compare with.
fenchel.linear_model.Ridge.solver_ = property(lambda self: self.solver)
fenchel.linear_model.PoissonRegressor._get_loss = THEIRS["PoissonRegressor"]._get_loss


def names(code: CodeType) -> set[str]:
    """The names in a function and in those inside of it."""
    inner = [names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*inner)


def ours_in(value: Any) -> bool:
    """Whether a parameter of a test is an estimator of ours."""
    if isinstance(value, (list, tuple)):
        return any(ours_in(each) for each in value)
    kind = value if isinstance(value, type) else type(value)
    return kind.__module__.startswith("fenchel") or getattr(value, "estimator", None) in SWAPPED


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept, others = [], []
    for item in items:
        function = getattr(item, "function", None)
        used = isinstance(function, FunctionType) and names(function.__code__) & set(SWAPPED)
        callspec = getattr(item, "callspec", None)
        used = used or (callspec and any(map(ours_in, callspec.params.values())))
        (kept if used else others).append(item)
        reason = LEFT_OUT.get(f"{item.module.__name__.rsplit('.', 1)[-1]}::{item.originalname}")
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason))
    items[:] = kept
    config.hook.pytest_deselected(items=others)
