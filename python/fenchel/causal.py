"""Causal graphs: which effects follow from data, by which formula, and how large they are.

Every formula holds in all models of the graph, and every refusal comes with two models that agree on the data and differ on
the effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _check, _core
from ._check import checked
from ._check import state as _text
from ._control import Control, Report, judge, seed, threads
from ._data import columns_of, equal_lengths, reals
from .bayes import Factor, _columns, _encode, _states

__all__ = ["Effect", "Estimand", "Graph", "NotIdentifiable", "Witness", "effect", "identify"]


_DOT = re.compile(r"\s*(?:strict\s+)?(?:digraph|dag)\b[^{}]*\{([^{}]*)\}\s*")


def _graph_text(name: str, value: Any) -> str:
    """The text of a graph: what it is, what is in the braces of DOT or dagitty, or the arrows of a ``networkx.DiGraph``."""
    if hasattr(value, "edges") and hasattr(value, "nodes") and hasattr(value, "is_directed"):
        if not value.is_directed():
            raise ValueError(f"{name}: an undirected graph; expected one with arrows")
        arrows = [f"{a} -> {b}" for a, b in value.edges()]
        return "; ".join([*map(str, value.nodes()), *arrows])
    text = _check.text(name, value)
    if (inside := _DOT.fullmatch(text)) is not None:
        return inside[1].strip().strip(";").strip()
    if "{" in text or "}" in text:
        raise _check.refuse(name, text, "edges a -> b, or digraph { a -> b }")
    return text


_COUNTERFACTUAL = re.compile(r"\s*P\(\s*(.+?)\s*@\s*(.+?)\s*\)\s*")


class Graph:
    """A causal graph: arrows, and arcs between variables that have a hidden common cause.

    Parameters
    ----------
    text : str
        Edges ``a -> b``, ``a <- b`` and ``a <-> b``, perhaps in chains, with ``;``, ``,`` or line ends between them; in
        braces after ``digraph`` or ``dag``, or not. A ``networkx.DiGraph`` is taken too.

    Examples
    --------
    >>> from fenchel.causal import Graph
    >>> graph = Graph("smoking -> tar -> cancer; smoking <-> cancer")
    >>> print(graph.identify("P(cancer | do(smoking))"))
    P(cancer | do(smoking)) = sum_{tar} P(tar | smoking) sum_{smoking'} P(smoking') P(cancer | smoking', tar)
    >>> graph.adjustment_sets("smoking", "cancer")
    []
    >>> graph.front_door_sets("smoking", "cancer")
    [['tar']]
    """

    @checked(text=_graph_text)
    def __init__(self, text: Any) -> None:
        self._text: str = text
        self._graph = _core.CausalGraph.parse(text)

    @classmethod
    @checked(
        directed=_check.arcs, bidirected=_check.arcs, nodes=_check.names, undirected=_check.arcs
    )
    def from_edges(
        cls,
        directed: Iterable[tuple[str, str]] = (),
        bidirected: Iterable[tuple[str, str]] = (),
        nodes: Iterable[str] = (),
        *,
        undirected: Iterable[tuple[str, str]] = (),
    ) -> Graph:
        """A graph from pairs of names; `nodes` are further ones without edges, and `undirected` is y0's name of `bidirected`."""
        parts = [*nodes, *(f"{a} -> {b}" for a, b in directed)]
        parts += [f"{a} <-> {b}" for a, b in [*bidirected, *undirected]]
        return cls("; ".join(parts))

    @classmethod
    def _of(cls, graph: _core.CausalGraph) -> Graph:
        return cls.from_edges(graph.directed(), graph.bidirected(), graph.nodes())

    @property
    def nodes(self) -> list[str]:
        """The names."""
        return self._graph.nodes()

    @property
    def directed(self) -> list[tuple[str, str]]:
        """The arrows."""
        return self._graph.directed()

    @property
    def bidirected(self) -> list[tuple[str, str]]:
        """The pairs with a hidden common cause."""
        return self._graph.bidirected()

    @checked(query=_check.text)
    def identify(self, query: str) -> Estimand:
        """A formula for a query such as ``"P(y | do(x))"`` or ``"P(y | do(x), z)"``.

        Raises
        ------
        NotIdentifiable
            If there is none; with the proof.
        """
        if (asked := _COUNTERFACTUAL.fullmatch(query)) is not None:
            raise _check.refuse("query", query, f"'P({asked[1]} | do({asked[2]}))'")
        formula, refused = self._graph.identify(query)
        if formula is None:
            assert refused is not None
            raise NotIdentifiable(refused, self, query)
        return Estimand(formula, self, query)

    @checked(x=_check.names, y=_check.names, given=_check.names)
    def separated(
        self, x: str | Sequence[str], y: str | Sequence[str], given: str | Sequence[str] = ()
    ) -> bool:
        """Whether no open path leads from `x` to `y` (m-separation)."""
        return self._graph.m_separated(list(x), list(y), list(given))

    @checked(nodes=_check.names)
    def hide(self, nodes: str | Sequence[str]) -> Graph:
        """The graph over the other nodes."""
        return self._of(self._graph.project(list(nodes)))

    @checked(
        x=_check.names,
        y=_check.names,
        criterion=_check.choice("adjustment", "back_door"),
        forbidden=_check.names,
    )
    def adjustment_sets(
        self,
        x: str | Sequence[str],
        y: str | Sequence[str],
        *,
        criterion: str = "adjustment",
        forbidden: str | Sequence[str] = (),
        limit: int = 10_000,
    ) -> list[list[str]]:
        """The minimal sets to adjust for in the effect of `x` on `y`, the smallest first.

        Parameters
        ----------
        x, y : str or list of str
            Treatment and outcome.
        criterion : {"adjustment", "back_door"}, default="adjustment"
            The first is necessary and sufficient, the second is the better known one.
        forbidden : list of str, default=()
            Nodes that were not measured.
        limit : int, default=10000
            The most sets; more are an error.

        Returns
        -------
        sets : list of list of str
            The sets; empty if there is none.
        """
        return self._graph.sets(criterion, list(x), list(y), list(forbidden), limit)

    @checked(x=_check.names, y=_check.names, forbidden=_check.names)
    def front_door_sets(
        self,
        x: str | Sequence[str],
        y: str | Sequence[str],
        *,
        forbidden: str | Sequence[str] = (),
        limit: int = 10_000,
    ) -> list[list[str]]:
        """The minimal sets of mediators that satisfy the front-door criterion, the smallest first."""
        return self._graph.sets("front_door", list(x), list(y), list(forbidden), limit)

    @checked(x=_check.names, y=_check.names)
    def optimal_adjustment(self, x: str | Sequence[str], y: str | Sequence[str]) -> list[str]:
        """The set whose estimate has the least variance."""
        return self._graph.optimal_adjustment(list(x), list(y))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Graph, (self._text,))

    def __repr__(self) -> str:
        return f"Graph({self._text!r})"


def identify(graph: Graph | str, query: str) -> Estimand:
    """A formula for a causal query.

    Parameters
    ----------
    graph : Graph or str
        The graph, or its text.
    query : str
        ``"P(y | do(x))"`` or ``"P(y | do(x), z)"``, with several names separated by commas.

    Returns
    -------
    estimand : Estimand
        The formula.

    Examples
    --------
    >>> from fenchel.causal import identify
    >>> print(identify("z -> x -> y; z -> y", "P(y | do(x))"))
    P(y | do(x)) = sum_{z} P(z) P(y | z, x)
    """
    if isinstance(graph, Graph):
        return graph.identify(query)
    return Graph(graph).identify(query)


class Estimand:
    """A formula in the observed law that equals a causal effect.

    It prints as text, and as LaTeX in a notebook.
    """

    def __init__(self, formula: _core.Formula, graph: Graph, query: str) -> None:
        self._formula = formula
        self._source = (graph, query)

    def __reduce__(self) -> tuple[Any, ...]:
        return (identify, self._source)

    def __str__(self) -> str:
        return self._formula.text()

    __repr__ = __str__

    def latex(self) -> str:
        """The formula as LaTeX."""
        return self._formula.latex()

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    @checked()
    def evaluate(self, data: Any, *, pseudo_count: float = 0.0) -> Factor:
        """The value of the formula for all states of outcome, treatment and condition.

        Parameters
        ----------
        data : pandas.DataFrame, polars.DataFrame or dict of sequences
            Complete records of discrete variables, a column for each node of the graph.
        pseudo_count : float, default=0.0
            A number that is added to every cell of the joint table.

        Returns
        -------
        factor : Factor
            Probabilities of the outcome; NaN where the formula conditions on what never occurs.
        """
        codes, states = self._encoded(data)
        cards = [len(list_) for list_ in states.values()]
        names, shape, values = self._formula.evaluate(codes, cards, pseudo_count)
        return Factor(names, {v: states[v] for v in names}, values.reshape(shape))

    @checked()
    def average_effect(
        self, data: Any, change: tuple[Any, Any] | None = None, *, pseudo_count: float = 0.0
    ) -> float:
        """The mean of the outcome under the second state of the treatment, minus that under the first.

        The query has one treatment, one outcome and no condition, and the states of the outcome are numbers. Without `change`,
        the treatment has two states: numbers in their order, others in that of their categories or of the alphabet.
        """
        codes, states = self._encoded(data)
        text = str(self).split(" = ")[0]
        asked = re.fullmatch(r"P\(([^,|]+) \| do\(([^,|]+)\)\)", text)
        if asked is None:
            raise ValueError(f"{text} has no average effect; expected P(outcome | do(treatment))")
        outcome, treatment = asked.groups()
        truth = {"False": "0", "True": "1"}
        try:
            values = [float(truth.get(state, state)) for state in states[outcome]]
        except ValueError:
            found = states[outcome]
            raise ValueError(
                f"data: {outcome!r} has the values {found}; expected numbers"
            ) from None
        if change is None and len(states[treatment]) == 2:
            change = (states[treatment][0], states[treatment][1])
            if all(map(_is_number, change)) and float(change[0]) > float(change[1]):
                change = (change[1], change[0])
        if not isinstance(change, (tuple, list)) or len(change) != 2:
            raise _check.refuse("change", change, f"a pair of states of {treatment!r}")
        places = []
        for state in map(_text, change):
            known = [truth.get(one, one) for one in states[treatment]]
            if state not in states[treatment] and state not in known:
                raise _check.refuse("change", change, f"two of {treatment!r}: {states[treatment]}")
            ours = states[treatment] if state in states[treatment] else known
            places.append(ours.index(state))
        cards = [len(list_) for list_ in states.values()]
        try:
            return self._formula.average_effect(
                codes, cards, pseudo_count, values, (places[0], places[1])
            )
        except ValueError as error:
            raise ValueError(self._named(str(error), states)) from None

    def _named(self, message: str, states: dict[str, list[str]]) -> str:
        """A message of the crate, which counts nodes and states, with their names."""
        nodes = self._formula.names()

        def name(found: re.Match[str]) -> str:
            node, state = nodes[int(found[1])], found[2]
            return node if state is None else f"{node}={states[node][int(state)]}"

        return re.sub(r"node (\d+)(?:=(\d+))?", name, message)

    def _encoded(self, data: Any) -> tuple[NDArray[np.int64], dict[str, list[str]]]:
        columns = _columns(data)
        for name in self._formula.names():
            if name not in columns:
                raise ValueError(f"data: no column for {name!r}")
            if None in columns[name]:
                raise ValueError(f"data: row {columns[name].index(None)} of {name!r} is missing")
        needed = {
            str(name): data[name] for name in columns_of(data) if str(name) in self._formula.names()
        }
        found = _states(needed, columns, every=False)
        states = {name: found[name] for name in self._formula.names()}
        return _encode(columns, states), states


@dataclass(frozen=True)
class Witness:
    """Two models of a graph that agree on what is observed and differ on an effect.

    Attributes
    ----------
    observed : list of Factor
        The observed law of each model; states are numbered.
    effects : list of Factor
        The effect in each model.
    observed_difference : float
        The largest difference of the observed laws: 0 up to rounding.
    effect_difference : float
        The largest difference of the effects.
    """

    observed: list[Factor]
    effects: list[Factor]
    observed_difference: float
    effect_difference: float


class NotIdentifiable(ValueError):
    """No formula in the observed law equals the effect.

    Examples
    --------
    >>> from fenchel.causal import NotIdentifiable, identify
    >>> try:
    ...     identify("x -> y; x <-> y", "P(y | do(x))")
    ... except NotIdentifiable as refused:
    ...     witness = refused.witness()
    >>> witness.observed_difference < 1e-12 < 0.1 < witness.effect_difference
    True
    """

    def __init__(self, refused: _core.Refused, graph: Graph, query: str) -> None:
        super().__init__(f"not identifiable: {refused.text()}")
        self._refused = refused
        self._query = query
        self.graph = graph
        self.outer, self.inner, self.roots = refused.parts()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_refusal, (self.graph, self._query))

    def witness(self) -> Witness:
        """Two models that agree on what is observed and differ on the effect."""
        models, seen, effect = self._refused.witness()
        observed = [_numbered(*law) for law, _ in models]
        effects = [_numbered(*law) for _, law in models]
        return Witness(observed, effects, seen, effect)


def _refusal(graph: Graph, query: str) -> NotIdentifiable | Estimand:
    """What `Graph.identify` raises."""
    try:
        return graph.identify(query)
    except NotIdentifiable as refused:
        return refused


@dataclass(frozen=True, repr=False)
class Effect:
    """The average effect of a binary treatment.

    Attributes
    ----------
    effect : float
        The mean outcome if everybody were treated, minus that if nobody were.
    mean_treated, mean_control : float
        The two means.
    standard_error : float or None
        The standard deviation over the bootstrap.
    interval : tuple of float or None
        Quantiles of the bootstrap.
    failed_resamples : int
        Resamples that were left out.
    propensity : ndarray
        The probability of the treatment of each row.
    overlap : dict
        How alike treated and others are: ranges of their propensities, effective numbers, the share of extreme propensities, and
        the largest standardised difference of a column before and after weighting.
    report_ : Report
        How the regression of the propensity ended.
    """

    effect: float
    mean_treated: float
    mean_control: float
    standard_error: float | None
    interval: tuple[float, float] | None
    failed_resamples: int
    propensity: NDArray[np.float64]
    overlap: dict[str, Any]
    report_: Report

    @property
    def value(self) -> float:
        """`effect`, as dowhy calls it."""
        return self.effect

    def __repr__(self) -> str:
        error = "" if self.standard_error is None else f" +- {self.standard_error:.4g}"
        within = "" if self.interval is None else " in [{:.4g}, {:.4g}]".format(*self.interval)
        means = f"{self.mean_treated:.4g} treated, {self.mean_control:.4g} control"
        return f"<Effect {self.effect:.4g}{error}{within}: {means}, {len(self.propensity)} rows>"


@checked(
    treatment=_check.one_name,
    outcome=_check.one_name,
    adjust_for=_check.labels,
    method=_check.choice("doubly_robust", "standardization", "weighting"),
    interactions=_check.labels,
)
def effect(
    data: Any,
    treatment: str,
    outcome: str,
    adjust_for: str | Sequence[str],
    *,
    method: str = "doubly_robust",
    interactions: str | Sequence[str] = (),
    bootstrap: int = 200,
    level: float = 0.95,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Effect:
    """Estimates the average effect of a binary treatment, adjusted for some columns.

    Parameters
    ----------
    data : pandas.DataFrame, polars.DataFrame or dict of sequences
        Numbers, one person a row.
    treatment : str
        The column of the treatment, 0 or 1.
    outcome : str
        The column of the outcome.
    adjust_for : str or list of str
        The columns to adjust for; `Graph.adjustment_sets` tells which. Empty for a randomised treatment.
    method : {"doubly_robust", "standardization", "weighting"}, default="doubly_robust"
        How the regressions of outcome and propensity are used.
    interactions : list of str, default=()
        Columns whose slope may differ between the arms.
    bootstrap : int, default=200
        Resamples for the interval; 0 for none.
    level : float, default=0.95
        Level of the interval.
    sample_weight : array-like, default=None
        A weight a row.
    n_jobs : int, default=None
        Number of threads; None and -1 for all cores.
    random_state : int or RandomState, default=None
        Seed of the bootstrap; None is 0.

    Returns
    -------
    effect : Effect
        The estimate with its diagnostics.

    Examples
    --------
    >>> from fenchel.causal import effect
    >>> data = {"x": [0, 0, 0, 1, 1, 1], "a": [0, 0, 1, 0, 1, 1], "y": [0, 0, 2, 5, 7, 7]}
    >>> round(effect(data, "a", "y", ["x"], bootstrap=0).effect, 6)
    2.0
    """
    control = Control(1e-10, 1000, seed=seed(random_state), threads=threads(n_jobs))
    used = [treatment, outcome, *adjust_for]
    for at, name in enumerate(used):
        if name in used[:at]:
            raise ValueError(
                f"{name!r} has two roles; expected treatment, outcome and adjust_for apart"
            )
    columns = {name: _numbers(data, name) for name in used}
    equal_lengths(columns)
    x = np.column_stack(
        [np.empty((len(columns[outcome]), 0)), *(columns[name] for name in adjust_for)]
    )
    treated = columns[treatment]
    wrong = np.flatnonzero((treated != 0) & (treated != 1))
    if len(wrong):
        raise ValueError(f"{treatment}: {treated[wrong[0]]} at row {wrong[0]}; expected 0 or 1")
    unknown = [name for name in interactions if name not in adjust_for]
    if unknown:
        raise ValueError(f"interactions: {unknown[0]!r} is not in adjust_for")
    weights = None if sample_weight is None else _flat("sample_weight", sample_weight)
    facts = _core.treatment_effect(
        x,
        (treated == 1).tolist(),
        columns[outcome],
        weights,
        control,
        method,
        [list(adjust_for).index(name) for name in interactions],
        bootstrap,
        level,
    )
    report = control.report(facts.pop("report"))
    judge(report, "effect", "the number of rows")
    return Effect(**facts, report_=report)


def _is_number(state: str) -> bool:
    try:
        return float(state) == float(state)
    except ValueError:
        return False


def _flat(name: str, x: Any) -> NDArray[np.float64]:
    """A number a row."""
    array = np.ascontiguousarray(reals(name, x))
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions; expected 1")
    return array


def _numbers(data: Any, name: Any) -> NDArray[np.float64]:
    """The numbers of a column."""
    known = columns_of(data)
    if known.count(name) != 1:
        found = "no column" if name not in known else "more than one column"
        raise ValueError(f"data: {found} {name!r}")
    column = _flat(f"data[{name!r}]", data[name])
    wrong = np.flatnonzero(~np.isfinite(column))
    if len(wrong):
        raise ValueError(f"data[{name!r}]: {column[wrong[0]]} at row {wrong[0]}; expected a number")
    return column


def _numbered(names: list[str], shape: list[int], values: NDArray[np.float64]) -> Factor:
    states = {v: [str(k) for k in range(n)] for v, n in zip(names, shape, strict=True)}
    return Factor(names, states, values.reshape(shape))
