"""One check for all arguments: what an argument may be, by its name.

An argument of one name means the same in the whole package, so `RULES` says once what it may be. A class or function whose
argument differs gives a rule of its own. A rule takes the name and the value, and returns the value in the type that the
extension module reads, or raises a ``ValueError`` that says what was expected.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from math import inf, nan
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

Rule: TypeAlias = Callable[[str, Any], Any]
P = ParamSpec("P")
R = TypeVar("R")

MOST_BYTES = 4 << 30
"""What one result may take, as in the crates."""


def refuse(name: str, value: Any, expected: str) -> ValueError:
    """The error for a value that is not what was expected."""
    shown = repr(value.item() if isinstance(value, np.generic) else value)
    shown = shown if len(shown) < 80 else shown[:76] + "..."
    verb = "is" if isinstance(value, str) else "="
    return ValueError(f"{name} {verb} {shown}; expected {expected}")


def number(
    least: float = -inf,
    most: float = inf,
    *,
    above: bool = False,
    infinite: bool = False,
    hint: str = "",
) -> Rule:
    """A number from `least` to `most`, or strictly between them; `hint` says what else to do."""
    parts = ["a number" if infinite else "a finite number"]
    if least > -inf:
        parts.append(f"{'>' if above else '>='} {least:g}")
    if most < inf:
        parts.append(f"{'and < ' if above else 'and <= '}{most:g}")
    expected = " ".join(parts) + hint

    def rule(name: str, value: Any) -> float:
        real = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
        try:
            found = float(value) if real else nan
            if not least <= found <= most:
                raise refuse(name, value, expected)
            if above and found in (least, most) and abs(found) < inf:
                raise refuse(name, value, expected)
            if abs(found) == inf and not infinite:
                raise refuse(name, value, expected)
            return found
        except OverflowError:
            raise refuse(name, value, expected) from None

    return rule


def count(least: int = 0, most: int = 1_000_000) -> Rule:
    """A whole number from `least` to `most`."""
    range_ = f"from {least} to {most}" if most < 10**9 else f">= {least}"
    expected = f"a whole number {range_}"

    def rule(name: str, value: Any) -> int:
        whole = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
        if not whole or not least <= value <= most:
            raise refuse(name, value, expected)
        return int(value)

    return rule


def numbers(each: Rule) -> Rule:
    """A list of at least one number."""

    def rule(name: str, value: Any) -> list[float]:
        if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
            raise refuse(name, value, "a list of numbers")
        if not (listed := list(np.ravel(value)) if isinstance(value, np.ndarray) else list(value)):
            raise refuse(name, value, "at least one number")
        return [each(f"{name}[{at}]", one) for at, one in enumerate(listed)]

    return rule


def flag(name: str, value: Any) -> bool:
    """True or False, or 1 or 0."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, Integral) and value in (0, 1)):
        return bool(value)
    raise refuse(name, value, "True or False")


def choice(*options: str | None) -> Rule:
    """One of some strings."""
    expected = " or ".join(filter(None, [", ".join(map(repr, options[:-1])), repr(options[-1])]))

    def rule(name: str, value: Any) -> Any:
        if not (value is None or isinstance(value, str)) or value not in options:
            raise refuse(name, value, expected)
        return value

    return rule


def either(*rules: Rule, expected: str) -> Rule:
    """What one of some rules takes."""

    def rule(name: str, value: Any) -> Any:
        for one in rules:
            try:
                return one(name, value)
            except ValueError:
                pass
        raise refuse(name, value, expected)

    return rule


def optional(rule: Rule) -> Rule:
    """None, or what another rule takes."""

    def wrapped(name: str, value: Any) -> Any:
        if value is None:
            return None
        try:
            return rule(name, value)
        except ValueError as error:
            raise ValueError(str(error).replace("; expected ", "; expected None or ", 1)) from None

    return wrapped


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, int, float, np.generic, tuple))


def labels(name: str, value: Any) -> list[Any]:
    """The labels of columns, as they are; a string or a number is one."""
    if isinstance(value, (str, int, float, np.generic)):
        return [value]
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise refuse(name, value, "a name or a list of names")
    listed = list(value)
    for at, one in enumerate(listed):
        if not _is_name(one):
            raise refuse(f"{name}[{at}]", one, "a name")
        if one in listed[:at]:
            raise ValueError(f"{name}: {one!r} occurs twice")
    return listed


def names(name: str, value: Any) -> list[str]:
    """Names as strings; a string or a number is one."""
    return [str(one) for one in labels(name, value)]


def one_name(name: str, value: Any) -> Any:
    """The label of one column."""
    if not _is_name(value):
        raise refuse(name, value, "a name")
    return value


def states(name: str, value: Any) -> list[str]:
    """The states of a variable as texts, whatever their type; each once."""
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise refuse(name, value, "a list of states")
    found: list[str] = []
    for at, one in enumerate(value):
        if one is None or one != one:
            raise refuse(f"{name}[{at}]", one, "a state; None and NaN are missing cells")
        if state(one) in found:
            raise ValueError(f"{name}: {state(one)!r} occurs twice")
        found.append(state(one))
    return found


def state(value: Any) -> str:
    """The name of a state. A whole number is written without a point, as missing cells make floats of a column of integers."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def arcs(name: str, value: Any) -> list[tuple[str, str]]:
    """Pairs of names."""
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise refuse(name, value, "a list of pairs of names")
    found = []
    for at, pair in enumerate(value.tolist() if isinstance(value, np.ndarray) else value):
        if not (
            isinstance(pair, (tuple, list, np.ndarray))
            and len(pair) == 2
            and all(map(_is_name, pair))
        ):
            raise refuse(f"{name}[{at}]", pair, "a pair of names")
        found.append((str(pair[0]), str(pair[1])))
    return found


def text(name: str, value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise refuse(name, value, "a string")
    return value


def _threads(name: str, value: Any) -> int:
    least = -1 if isinstance(value, Integral) and value == -1 else 1
    try:
        return int(count(least, 2**31)(name, value))
    except ValueError:
        raise refuse(name, value, "-1 or a number of threads, at least 1") from None


def memory(name: str, value: int, bytes_of_each: int) -> None:
    """Refuses what would take too much memory, before anything is allocated."""
    if value * bytes_of_each > MOST_BYTES:
        raise MemoryError(
            f"{name} = {value} takes {value * bytes_of_each} bytes; expected at most {MOST_BYTES} bytes"
        )


SHARE = number(0, 1)
SIZE = number(0)
POSITIVE = number(0, above=True)
POSITIVE_OR_INFINITE = number(0, above=True, infinite=True)
MOST_PENALTIES = 10_000
"""A path has no more points: each is a fit."""

RULES: dict[str, Rule] = {
    "C": POSITIVE_OR_INFINITE,
    "all_possible_states": flag,
    "all_possible_transitions": flag,
    "alpha": SIZE,
    "base_points": count(1, 10**9),
    "bias": flag,
    "bootstrap": count(0, 10_000_000),
    "c1": SIZE,
    "c2": number(0, above=True, hint=" (the smallest that matters little: 1e-4)"),
    "chains": count(1, 10**8),
    "copy_X": flag,
    "correlation": flag,
    "dual": either(flag, choice("auto"), expected="True, False or 'auto'"),
    "ends": flag,
    "epsilon": POSITIVE,
    "eps": number(0, 1, above=True),
    "fit_intercept": flag,
    "group": SIZE,
    "group_ratio": SHARE,
    "intercept": flag,
    "k": count(1),
    "l2": SIZE,
    "l1_ratio": SHARE,
    "level": number(0, 1, above=True),
    "limit": count(1, 10**8),
    "max_iter": optional(POSITIVE_OR_INFINITE),
    "max_iterations": POSITIVE_OR_INFINITE,
    "max_parents": count(0, 1000),
    "max_seconds": optional(number(0, infinite=True)),
    "min_freq": count(0, 2**32 - 1),
    "n_alphas": count(1, MOST_PENALTIES),
    "n_jobs": optional(_threads),
    "n_slices": optional(count(2, 10**9)),
    "penalize_bias": flag,
    "penalize_diagonal": flag,
    "positive": flag,
    "pseudo_count": SIZE,
    "quantile": number(0, 1, above=True),
    "rank_penalty": SIZE,
    "selection": choice("cyclic", "random"),
    "selection_rule": choice("best", "one_standard_error"),
    "similarity": SIZE,
    "solver": choice(
        "auto",
        "cholesky",
        "lbfgs",
        "liblinear",
        "lsqr",
        "newton-cg",
        "newton-cholesky",
        "sag",
        "saga",
        "sparse_cg",
        "svd",
    ),
    "standardize": flag,
    "strength": SIZE,
    "tol": SIZE,
    "verbose": either(flag, count(), expected="True, False or a whole number"),
    "warm_start": flag,
}
"""What the arguments of each name may be."""


def parameters(estimator: Any) -> None:
    """Checks the parameters of an estimator; its class may have `_rules` of its own."""
    own = getattr(estimator, "_rules", {})
    for name, value in estimator.get_params(deep=False).items():
        rule = own.get(name, RULES.get(name))
        if rule is not None:
            rule(name, value)


def checked(**own: Rule) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function whose arguments are checked, and converted, before it is called; `own` are rules of its own."""

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        rules = {
            name: own.get(name, RULES.get(name)) for name in signature.parameters if name != "self"
        }

        @functools.wraps(function)
        def inner(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            for name, value in bound.arguments.items():
                rule = rules.get(name)
                if rule is not None:
                    bound.arguments[name] = rule(name, value)
            return function(*bound.args, **bound.kwargs)

        return inner

    return wrap
