"""Bayesian networks over named variables with named states: queries, interventions, and learning from frames.

Names are strings; other names of columns and other values of cells are converted by `str`. The answers are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from os import PathLike, fspath, stat
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from . import _check, _core
from ._check import checked
from ._check import state as _text
from ._control import Control, Progress, Report, judge, seed, seed_of_draws
from ._data import columns_of, equal_lengths, reals

__all__ = ["BayesianNetwork", "Factor", "TabularCPD", "VariableElimination"]

Evidence: TypeAlias = Mapping[str, Any]
"""A state for each observed variable, or for soft evidence a number for each of its states."""


@dataclass(frozen=True)
class Factor:
    """A distribution over variables.

    Attributes
    ----------
    variables : list of str
        The variables, one an axis.
    states : dict of list of str
        The states of each.
    values : ndarray
        Probabilities, with an axis a variable.
    """

    variables: list[str]
    states: dict[str, list[str]]
    values: NDArray[np.float64]

    def p(self, **states: Any) -> float:
        """The probability of a state of every variable.

        Examples
        --------
        >>> from fenchel.bayes import BayesianNetwork
        >>> answer = BayesianNetwork.example("asia").query(["lung"], {"smoke": "yes"})
        >>> round(float(answer.p(lung="yes")), 12)
        0.1
        """
        if set(states) != set(self.variables):
            raise ValueError(f"states of {sorted(states)}; expected those of {self.variables}")
        place = []
        for name in self.variables:
            state = _text(states[name])
            if state not in self.states[name]:
                raise ValueError(
                    f"{name} has no state {state!r}; expected one of {self.states[name]}"
                )
            place.append(self.states[name].index(state))
        return float(self.values[tuple(place)])

    get_value = p

    @property
    def state_names(self) -> dict[str, list[str]]:
        """The states of each variable, as pgmpy calls them."""
        return self.states

    def to_frame(self) -> Any:
        """A pandas series with the states as its index."""
        import pandas

        levels = [self.states[name] for name in self.variables]
        index = pandas.MultiIndex.from_product(levels, names=self.variables)
        return pandas.Series(self.values.ravel(), index=index, name="p")

    def __str__(self) -> str:
        widths = [max(map(len, [v, *self.states[v]])) for v in self.variables]
        rows = [(self.variables, f"P({', '.join(self.variables)})")]
        for place in np.ndindex(*self.values.shape):
            names = [self.states[v][k] for v, k in zip(self.variables, place, strict=True)]
            rows.append((names, f"{self.values[place]:.6f}"))
        return "\n".join(
            "  ".join([*(n.ljust(w) for n, w in zip(names, widths, strict=True)), p])
            for names, p in rows
        )


class TabularCPD:
    """The table of a variable given its parents, in the form of pgmpy, for `BayesianNetwork.add_cpds`.

    A table of `BayesianNetwork.from_tables` is the transposed one.

    Parameters
    ----------
    variable : str
        The variable.
    variable_card : int
        Its number of states.
    values : array-like of shape (variable_card, states of the evidence)
        Probabilities: a row a state, and a column for each combination of states of `evidence`, the last one fastest.
    evidence : list of str, default=None
        The parents.
    evidence_card : list of int, default=None
        Their numbers of states.
    state_names : dict of list, default=None
        The states of the variables; numbers from 0 where they are not given.

    Examples
    --------
    >>> from fenchel.bayes import BayesianNetwork, TabularCPD
    >>> model = BayesianNetwork([("D", "G")])
    >>> model.add_cpds(
    ...     TabularCPD("D", 2, [[0.6], [0.4]]),
    ...     TabularCPD("G", 2, [[0.9, 0.3], [0.1, 0.7]], evidence=["D"], evidence_card=[2]),
    ... )
    >>> round(model.query(["G"], {"D": 1}).p(G=1), 6)
    0.7
    """

    def __init__(
        self,
        variable: str,
        variable_card: int,
        values: Any,
        evidence: Sequence[str] | None = None,
        evidence_card: Sequence[int] | None = None,
        state_names: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        size = _check.count(1)
        self.variable = str(_check.one_name("variable", variable))
        self.variable_card = size("variable_card", variable_card)
        self.evidence = [] if evidence is None else _check.names("evidence", evidence)
        cards = [] if evidence_card is None else list(evidence_card)
        if len(cards) != len(self.evidence):
            raise ValueError(
                f"evidence_card has {len(cards)} numbers; expected {len(self.evidence)}, one for each of evidence"
            )
        self.evidence_card = [size(f"evidence_card[{k}]", card) for k, card in enumerate(cards)]
        self.values = reals("values", values)
        shape = (self.variable_card, int(np.prod(self.evidence_card)))
        if self.values.shape != shape:
            raise ValueError(f"values has the shape {self.values.shape}; expected {shape}")
        given = {str(name): list_ for name, list_ in (state_names or {}).items()}
        self.state_names: dict[str, list[str]] = {}
        for name, card in zip(
            [self.variable, *self.evidence], [self.variable_card, *self.evidence_card], strict=True
        ):
            states = _check.states(f"state_names[{name!r}]", given.get(name, range(card)))
            if len(states) != card:
                raise ValueError(f"state_names[{name!r}] has {len(states)} states; expected {card}")
            self.state_names[name] = states

    def __repr__(self) -> str:
        given = f" | {', '.join(self.evidence)}" if self.evidence else ""
        return f"<TabularCPD P({self.variable}{given})>"


class BayesianNetwork:
    """A Bayesian network.

    In pgmpy, queries need an engine (`VariableElimination`) and tables are transposed; here the network answers itself too, and
    ``values[..., k]`` of a table belongs to state ``k`` of the child. `fit` adds a pseudo-count of 1 to each cell by default.

    Parameters
    ----------
    arcs : iterable of (str, str), default=()
        Parent and child of each arc.
    states : dict of list of str, default=None
        The states of the variables; without them the network has to be fitted before it answers.

    Examples
    --------
    >>> from fenchel.bayes import BayesianNetwork
    >>> net = BayesianNetwork.from_tables({
    ...     "rain": (["yes", "no"], [], [0.2, 0.8]),
    ...     "grass": (["wet", "dry"], ["rain"], [[0.9, 0.1], [0.05, 0.95]]),
    ... })
    >>> round(net.query(["rain"], {"grass": "wet"}).p(rain="yes"), 6)
    0.818182
    >>> net.map_query(["rain"], {"grass": "wet"})
    {'rain': 'yes'}
    """

    report_: Report

    @checked(arcs=_check.arcs)
    def __init__(
        self,
        arcs: Iterable[tuple[str, str]] = (),
        states: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        self._arcs = list(arcs)
        _acyclic(self._arcs)
        self._net: _core.Network | None = None
        if states is not None:
            if not isinstance(states, Mapping):
                raise _check.refuse("states", states, "a dict with the states of each variable")
            named = {
                str(name): _check.states(f"states[{name!r}]", list_)
                for name, list_ in states.items()
            }
            self._net = _network("", named, self._arcs)

    @classmethod
    def _of(cls, net: _core.Network) -> BayesianNetwork:
        found = cls.__new__(cls)
        found._net = net
        found._arcs = net.arcs()
        return found

    def _fitted(self) -> _core.Network:
        if self._net is None:
            raise NotFittedError("the network has no tables; call fit, or give states")
        return self._net

    @classmethod
    def from_bif(cls, path: str | PathLike[str]) -> BayesianNetwork:
        """Reads a BIF file, compressed by gzip or not."""
        stat(path)  # the error of the system says what is wrong with the path
        return cls._of(_core.Network.read_bif(fspath(path)))

    @classmethod
    def from_uai(cls, path: str | PathLike[str]) -> BayesianNetwork:
        """Reads a UAI file of kind BAYES; variables are called ``x0, x1, ...`` and states ``0, 1, ...``."""
        stat(path)
        return cls._of(_core.Network.read_uai(fspath(path)))

    @classmethod
    def from_bif_text(cls, text: str) -> BayesianNetwork:
        """Reads the text of a BIF file."""
        return cls._of(_core.Network.parse_bif(text))

    @classmethod
    def example(cls, name: str) -> BayesianNetwork:
        """A network of the literature: ``"asia"`` (8 variables) or ``"alarm"`` (37)."""
        return cls._of(_core.Network.example(name))

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, tuple[Sequence[Any], Sequence[str], Any]], name: str = ""
    ) -> BayesianNetwork:
        """A network from its tables.

        Parameters
        ----------
        tables : dict of (states, parents, table)
            For each variable its states, its parents, and probabilities of shape (states of the parents ..., states).
        name : str, default=""
            The name of the network.

        Returns
        -------
        net : BayesianNetwork
            The network.
        """
        if not isinstance(tables, Mapping):
            raise _check.refuse("tables", tables, "a dict of (states, parents, table)")
        variables, cpts = [], []
        for v, parts in tables.items():
            of = f"tables[{v!r}]"
            if not isinstance(parts, (tuple, list)) or len(parts) != 3:
                raise _check.refuse(of, parts, "(states, parents, table)")
            states = _check.states(f"states of {of}", parts[0])
            variables.append((str(v), states))
            table = reals(f"table of {of}", parts[2]).ravel().tolist()
            cpts.append((str(v), _check.names(f"parents of {of}", parts[1]), table))
        _acyclic([(parent, v) for v, parents, _ in cpts for parent in parents])
        return cls._of(_core.Network(name, variables, cpts))

    def to_bif(self) -> str:
        """The text of a BIF file."""
        return self._fitted().to_bif()

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a BIF file."""
        Path(path).write_text(self.to_bif(), encoding="utf-8")

    def add_cpds(self, *cpds: TabularCPD) -> None:
        """Sets the tables of all variables, in the form of pgmpy."""
        tables = {}
        for number, cpd in enumerate(cpds):
            if not isinstance(cpd, TabularCPD):
                raise _check.refuse(f"cpds[{number}]", cpd, "a TabularCPD")
            of, parents = cpd.variable, [a for a, b in self._arcs if b == cpd.variable]
            if of in tables or set(cpd.evidence) != set(parents):
                found = "has two tables" if of in tables else f"has the parents {cpd.evidence}"
                raise ValueError(
                    f"cpds[{number}]: {of!r} {found}; expected one table given {parents}"
                )
            shape = (cpd.variable_card, *cpd.evidence_card)
            tables[of] = (
                cpd.state_names[of],
                cpd.evidence,
                np.moveaxis(cpd.values.reshape(shape), 0, -1),
            )
            for name, states in cpd.state_names.items():
                known = next((c.state_names[name] for c in cpds if c.variable == name), states)
                if known != states:
                    raise ValueError(
                        f"cpds[{number}]: {name!r} has the states {states}; expected {known}"
                    )
        nodes = {name for arc in self._arcs for name in arc}
        missing = sorted(nodes - set(tables))
        if missing:
            raise ValueError(
                f"cpds: no table for {missing}; expected those of all variables at once"
            )
        self._net = self.from_tables(tables)._net

    def check_model(self) -> bool:
        """True: tables are checked when they are set."""
        self._fitted()
        return True

    def nodes(self) -> list[str]:
        """The variables, as networkx calls them."""
        return (
            list(dict.fromkeys(name for arc in self._arcs for name in arc))
            if self._net is None
            else self.variables
        )

    def edges(self) -> list[tuple[str, str]]:
        """The arcs, as networkx calls them."""
        return self.arcs

    def get_cpds(self, node: str | None = None) -> Any:
        """`table` of a variable, or of all of them in a list; in pgmpy the first axis is the variable, here it is the last."""
        return [self.table(v) for v in self.variables] if node is None else self.table(node)

    def active_trail_nodes(
        self, variables: str | Sequence[str], observed: str | Sequence[str] = ()
    ) -> dict[str, set[str]]:
        """For each variable those that may depend on it given `observed`, and itself."""
        given = _check.names("observed", [] if observed is None else observed)
        others = [v for v in self.variables if v not in given]
        return {
            v: {w for w in others if w == v or self.is_dconnected(v, w, given)}
            for v in _check.names("variables", variables)
        }

    @property
    def states(self) -> dict[str, list[str]]:
        """The variables with their states."""
        return dict(self._fitted().variables())

    @property
    def variables(self) -> list[str]:
        """The variables."""
        return list(self.states)

    @property
    def arcs(self) -> list[tuple[str, str]]:
        """Parent and child of each arc."""
        return list(self._arcs)

    def table(self, variable: str) -> Factor:
        """``P(variable | parents)``: an axis for each parent, then one for the variable."""
        parents, values = self._fitted().table(variable)
        return self._factor([*parents, variable], values)

    def _factor(self, names: list[str], values: list[float]) -> Factor:
        states = self.states
        shape = [len(states[name]) for name in names]
        return Factor(names, {v: states[v] for v in names}, np.array(values).reshape(shape))

    @checked(variables=_check.names, joint=_check.flag)
    def query(
        self,
        variables: str | Sequence[str],
        evidence: Evidence | None = None,
        *,
        joint: bool = True,
        show_progress: bool = False,
    ) -> Any:
        """``P(variables | evidence)``.

        Parameters
        ----------
        variables : str or list of str
            The variables.
        evidence : dict, default=None
            A state for each observed variable; for soft evidence a dictionary with a likelihood for each of its states.
        joint : bool, default=True
            Whether the joint distribution is wanted; False for a dictionary with that of each variable.
        show_progress : bool, default=False
            Ignored.

        Returns
        -------
        factor : Factor or dict of Factor
            The distribution, with the axes in the order of `variables`.
        """
        asked = list(variables)
        if not joint:
            return {v: self.query(v, evidence) for v in asked}
        names, values = self._fitted().query(asked, *_split(evidence))
        factor = self._factor(names, values)
        turned = factor.values.transpose([names.index(name) for name in asked])
        return Factor(asked, factor.states, np.ascontiguousarray(turned))

    def posteriors(self, evidence: Evidence | None = None) -> dict[str, Factor]:
        """``P(variable | evidence)`` of every variable, all at once."""
        net = self._fitted()
        found = net.posteriors(*_split(evidence))
        pairs = zip(net.variables(), found, strict=True)
        return {v: Factor([v], {v: states}, np.array(p)) for (v, states), p in pairs}

    def log_evidence(self, evidence: Evidence) -> float:
        """``ln P(evidence)`` in nats."""
        return self._fitted().log_evidence(*_split(evidence))

    @checked(variables=_check.optional(_check.names))
    def map_query(
        self,
        variables: str | Sequence[str] | None = None,
        evidence: Evidence | None = None,
        *,
        show_progress: bool = False,
    ) -> dict[str, str]:
        """The most probable states of `variables` together (None: of all that are not observed).

        Parameters
        ----------
        variables : str or list of str, default=None
            The variables; the others are summed out.
        evidence : dict, default=None
            As in `query`.
        show_progress : bool, default=False
            Ignored.

        Returns
        -------
        states : dict of str
            A state for each variable.
        """
        net = self._fitted()
        if variables is None:
            ((pairs, _),) = net.most_probable(1, *_split(evidence))
            known = {str(name) for name in evidence or {}}
            return {v: state for v, state in pairs if v not in known}
        return dict(net.marginal_map(list(variables), *_split(evidence))[0])

    @checked()
    def most_probable(
        self, k: int = 1, evidence: Evidence | None = None
    ) -> list[tuple[dict[str, str], float]]:
        """The `k` most probable states of all variables, each with ``ln P(states, evidence)``."""
        found = self._fitted().most_probable(k, *_split(evidence))
        return [(dict(pairs), log_joint) for pairs, log_joint in found]

    def do(self, settings: Mapping[str, Any] | None = None, **states: Any) -> BayesianNetwork:
        """The network after an intervention that sets variables to states.

        Examples
        --------
        >>> from fenchel.bayes import BayesianNetwork
        >>> ban = BayesianNetwork.example("asia").do(smoke="no")
        >>> round(float(ban.query("lung").p(lung="yes")), 12)
        0.01
        """
        if not (settings is None or isinstance(settings, Mapping)):
            raise _check.refuse("settings", settings, "a dict with a state for each variable")
        wanted = {**(settings or {}), **states}
        pairs = [(str(variable), _text(state)) for variable, state in wanted.items()]
        return self._of(self._fitted().intervene(pairs))

    @checked(x=_check.names, y=_check.names, observed=_check.names)
    def is_dconnected(
        self,
        x: str | Sequence[str],
        y: str | Sequence[str],
        observed: str | Sequence[str] = (),
    ) -> bool:
        """Whether the graph allows `x` and `y` to depend on each other given `observed`."""
        return not self._fitted().d_separated(list(x), list(y), list(observed))

    @checked(n=_check.count(0, 10**12))
    def sample(self, n: int, random_state: Any = None) -> Any:
        """Draws from the joint distribution.

        Parameters
        ----------
        n : int
            Number of draws.
        random_state : int or RandomState, default=None
            The seed; None takes numpy's global state.

        Returns
        -------
        frame : pandas.DataFrame
            One draw a row and one column a variable, with the names of the states.
        """
        import pandas

        net = self._fitted()
        _check.memory("n", n, 9 * len(self.variables))
        codes = net.sample(n, seed_of_draws(random_state))
        columns = {
            v: pandas.Categorical.from_codes(codes[:, k], categories=states)
            for k, (v, states) in enumerate(net.variables())
        }
        return pandas.DataFrame(columns)

    def simulate(self, n_samples: int = 10, seed: Any = None, show_progress: bool = False) -> Any:
        """`sample` under pgmpy's name."""
        return self.sample(n_samples, seed)

    def predict(self, data: Any) -> Any:
        """The most probable states of the variables without a column, together, for each row of a frame.

        Parameters
        ----------
        data : pandas.DataFrame, polars.DataFrame or dict of sequences
            One record a row; a missing cell is not observed in its row, and is left out of the answer.

        Returns
        -------
        frame : pandas.DataFrame
            A column for each variable that `data` has no column of.
        """
        import pandas

        columns, known = _columns(data), self._fitted()
        unknown = sorted(set(columns) - set(self.variables))
        if unknown:
            raise ValueError(f"data: no variable is called {unknown[0]!r}; known: {self.variables}")
        asked = [v for v in self.variables if v not in columns]
        if not asked:
            raise ValueError("data has a column for every variable; there is nothing to predict")
        answers: dict[tuple[Any, ...], dict[str, str]] = {}
        rows = list(zip(*columns.values(), strict=True))
        for row in rows:
            if row not in answers:
                seen = [(v, s) for v, s in zip(columns, row, strict=True) if s is not None]
                answers[row] = dict(known.marginal_map(asked, seen, [])[0])
        index = getattr(data, "index", None)
        return pandas.DataFrame([answers[row] for row in rows], columns=asked, index=index)

    @checked(prior=_check.choice("dirichlet", "bdeu"))
    def fit(
        self,
        data: Any,
        *,
        prior: str = "dirichlet",
        pseudo_count: float = 1.0,
        max_iter: float = 1000,
        tol: float = 1e-6,
        random_state: Any = None,
        verbose: bool = False,
    ) -> BayesianNetwork:
        """Fits the tables; the graph stays.

        Parameters
        ----------
        data : pandas.DataFrame, polars.DataFrame or dict of sequences
            One record a row, one column a variable. With missing cells (None, NaN) the tables are fitted by EM, whose result
            depends on `random_state`.
        prior : {"dirichlet", "bdeu"}, default="dirichlet"
            Whether `pseudo_count` is for each cell, or for a table and divided among its cells.
        pseudo_count : float, default=1.0
            The weight of the prior; 0 for maximum likelihood.
        max_iter, tol, random_state, verbose
            Steps of EM, the largest change of a probability at its end, the seed of its start, and whether it shows progress.

        Returns
        -------
        self : BayesianNetwork
            The network with its tables.
        """
        show = Progress("BayesianNetwork") if verbose else None
        control = Control(tol, max_iter, seed=seed(random_state), show=show)
        columns = _columns(data)
        net = self._net
        if net is None:
            nodes = {v for arc in self._arcs for v in arc}
            unknown, others = nodes - set(columns), set(columns) - nodes
            if unknown:
                raise ValueError(f"data: no column for {sorted(unknown)}")
            if nodes and others:
                raise ValueError(
                    f"data: {sorted(others)} are in no arc; leave these columns out, or give states for them"
                )
            net = _network("", _states(data, columns), self._arcs)
        codes = _encode(columns, dict(net.variables()))
        weight = (prior, float(pseudo_count))
        if (codes >= 0).all():
            self._net = net.fit_tables(codes, weight)
            return self
        self._net, _, facts = net.fit_em(codes, weight, control)
        self.report_ = control.report(facts)
        if show is not None:
            show.end(self.report_)
        judge(self.report_, "BayesianNetwork")
        return self

    @classmethod
    @checked(
        method=_check.choice("hill_climbing", "exact", "chow_liu"),
        score=_check.choice("bic", "bdeu", "k2", "log_likelihood"),
        equivalent_size=_check.POSITIVE,
        required=_check.arcs,
        forbidden=_check.arcs,
    )
    def learn(
        cls,
        data: Any,
        method: str = "hill_climbing",
        *,
        score: str = "bic",
        equivalent_size: float = 10.0,
        max_parents: int = 4,
        required: Iterable[tuple[str, str]] = (),
        forbidden: Iterable[tuple[str, str]] = (),
        max_seconds: float | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> BayesianNetwork:
        """Finds a graph, and fits its tables with a pseudo-count of 1.

        Parameters
        ----------
        data : pandas.DataFrame, polars.DataFrame or dict of sequences
            Complete records.
        method : {"hill_climbing", "exact", "chow_liu"}, default="hill_climbing"
            Local search, the best graph of up to about 20 variables, or the best tree.
        score : {"bic", "bdeu", "k2", "log_likelihood"}, default="bic"
            What the first two maximise.
        equivalent_size : float, default=10.0
            The equivalent sample size of ``"bdeu"``.
        max_parents : int, default=4
            Largest number of parents.
        required, forbidden : iterable of (str, str), default=()
            Arcs that stay and arcs that never come, for ``"hill_climbing"``.
        max_seconds : float, default=None
            Limit of the time of ``"hill_climbing"``.
        random_state : int or RandomState, default=None
            Seed of the restarts; None is 0.
        verbose : bool, default=False
            Whether to show the progress.

        Returns
        -------
        net : BayesianNetwork
            The network; ``score_`` is its score.

        Examples
        --------
        >>> from fenchel.bayes import BayesianNetwork
        >>> asia = BayesianNetwork.example("asia")
        >>> found = BayesianNetwork.learn(asia.sample(5000, 1))
        >>> found.is_dconnected("smoke", "dysp")
        True
        """
        show = Progress("BayesianNetwork") if verbose else None
        control = Control(0.0, 1e5, max_seconds, seed(random_state), show=show)
        parts = _learn(
            data, control, method, (score, equivalent_size), max_parents, 0.01, required, forbidden
        )
        columns, states, (arcs, _, found, facts) = parts
        names = list(columns)
        net = cls([(names[a], names[b]) for a, b in arcs], states).fit(data)
        net.score_ = found
        if facts is not None:
            net.report_ = control.report(facts)
        return net

    score_: float | None
    """The score of a graph that was learnt."""

    @staticmethod
    @checked()
    def learn_class(
        data: Any, *, level: float = 0.01
    ) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Finds a class of graphs by tests of independence (the PC algorithm).

        Parameters
        ----------
        data : pandas.DataFrame, polars.DataFrame or dict of sequences
            Complete records.
        level : float, default=0.01
            An edge stays if the p-value of its test is below.

        Returns
        -------
        directed, undirected : list of (str, str)
            Arcs, and edges whose direction the data do not tell.
        """
        parts = _learn(data, Control(0.0, 1e5), "pc", ("bic", 0.0), 0, level, (), ())
        columns, _, (arcs, edges, _, _) = parts
        names = list(columns)
        return (
            [(names[a], names[b]) for a, b in arcs],
            [(names[a], names[b]) for a, b in edges],
        )

    def log_likelihood(self, data: Any) -> float:
        """``sum ln P(row)`` over complete records, in nats."""
        net = self._fitted()
        codes = _encode(_columns(data, empty=True), dict(net.variables()))
        return net.log_likelihood(codes) if len(codes) else 0.0

    def to_networkx(self) -> Any:
        """The graph as a ``networkx.DiGraph``."""
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from([] if self._net is None else self.variables)
        graph.add_edges_from(self._arcs)
        return graph

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["_net"] = None if self._net is None else self._net.to_bif()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        text = state.pop("_net")
        self.__dict__.update(state)
        self._net = None if text is None else _core.Network.parse_bif(text)

    def __repr__(self) -> str:
        if self._net is None:
            return f"BayesianNetwork({self._arcs})"
        name = self._net.name()
        named = f" {name!r}" if name else ""
        return f"<BayesianNetwork{named}: {len(self.variables)} variables, {len(self._arcs)} arcs>"


class VariableElimination:
    """The engine of pgmpy; a network answers itself in the same way.

    Parameters
    ----------
    model : BayesianNetwork
        The network.

    Examples
    --------
    >>> from fenchel.bayes import BayesianNetwork, VariableElimination
    >>> infer = VariableElimination(BayesianNetwork.example("asia"))
    >>> infer.map_query(["lung"], evidence={"smoke": "yes"})
    {'lung': 'no'}
    """

    def __init__(self, model: BayesianNetwork) -> None:
        if not isinstance(model, BayesianNetwork):
            raise _check.refuse("model", model, "a BayesianNetwork")
        self.query, self.map_query = model.query, model.map_query


def _network(
    name: str, states: Mapping[str, list[str]], arcs: Iterable[tuple[str, str]]
) -> _core.Network:
    parents: dict[str, list[str]] = {v: [] for v in states}
    for parent, child in arcs:
        parents.setdefault(child, []).append(parent)
    tables = [(child, list_, None) for child, list_ in parents.items()]
    return _core.Network(name, list(states.items()), tables)


def _acyclic(arcs: list[tuple[str, str]]) -> None:
    """Refuses arcs that lead in a circle, or that are given twice."""
    parents: dict[str, list[str]] = {}
    for parent, child in arcs:
        if parent in parents.setdefault(child, []):
            raise ValueError(f"arcs: ({parent!r}, {child!r}) occurs twice")
        parents[child].append(parent)
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        raise ValueError(f"arcs: the cycle {' -> '.join(error.args[1])}") from None


def _split(evidence: Evidence | None) -> tuple[list[tuple[str, str]], _core.Soft]:
    """Hard and soft evidence."""
    if not (evidence is None or isinstance(evidence, Mapping)):
        raise _check.refuse("evidence", evidence, "a dict with a state for each observed variable")
    hard, soft = [], []
    for variable, found in (evidence or {}).items():
        if isinstance(found, Mapping):
            of = f"evidence[{variable!r}]"
            pairs = [(_text(state), _check.SIZE(of, p)) for state, p in found.items()]
            soft.append((str(variable), pairs))
        else:
            hard.append((str(variable), _text(found)))
    return hard, soft


def _columns(data: Any, empty: bool = False) -> dict[str, list[Any]]:
    """The columns of a frame as lists of texts; None for a missing cell. Unless `empty`, there is a row."""
    columns: dict[str, list[Any]] = {}
    for name in columns_of(data):
        if str(name) in columns:
            raise ValueError(f"data: two columns are called {str(name)!r}")
        column = data[name]
        if isinstance(column, str) or not isinstance(column, Iterable):
            raise _check.refuse(f"data[{name!r}]", column, "a list of cells")
        cells = column.tolist() if hasattr(column, "tolist") else list(column)
        columns[str(name)] = [None if _missing(cell) else _text(cell) for cell in cells]
    equal_lengths(columns)
    if not (empty or any(columns.values())):
        raise ValueError("data has no rows; expected one or more")
    return columns


def _missing(cell: Any) -> bool:
    """Whether a cell is None, NaN, or what pandas has in their place."""
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or bool(cell != cell)


def _states(data: Any, columns: dict[str, list[Any]], every: bool = True) -> dict[str, list[str]]:
    """The states of each column: the categories in their order (if not `every`, those that occur), or else sorted values."""
    found = {}
    for name in columns_of(data):
        cells = columns[str(name)]
        seen = set(cells) - {None}
        if not seen:
            raise ValueError(f"data: column {str(name)!r} has no value; all cells are missing")
        categories = getattr(getattr(data[name], "dtype", None), "categories", None)
        if categories is not None:
            ordered = [_text(category) for category in categories]
            found[str(name)] = [state for state in ordered if every or state in seen]
            continue
        if len(seen) > max(20, len(cells) / 2) and _measured(seen):
            raise ValueError(
                f"data: column {str(name)!r} has {len(seen)} different numbers in {len(cells)} rows; "
                "expected discrete values (pandas.cut and pandas.qcut make them)"
            )
        found[str(name)] = sorted(seen)
    return found


def _measured(states: set[Any]) -> bool:
    """Whether all states are numbers, and some are not whole."""
    try:
        numbers = [float(state) for state in states]
    except ValueError:
        return False
    return all(number == number for number in numbers) and not all(map(float.is_integer, numbers))


def _encode(columns: dict[str, list[Any]], states: dict[str, list[str]]) -> NDArray[np.int64]:
    """Codes of the states, a column a variable; -1 for a missing cell."""
    rows = len(next(iter(columns.values()), []))
    codes = np.empty((rows, len(states)), dtype=np.int64)
    for k, (variable, names) in enumerate(states.items()):
        if variable not in columns:
            raise ValueError(f"data: no column for {variable!r}")
        code: dict[Any, int] = {name: at for at, name in enumerate(names)}
        code[None] = -1
        try:
            codes[:, k] = [code[cell] for cell in columns[variable]]
        except KeyError as unknown:
            row = columns[variable].index(unknown.args[0])
            raise ValueError(
                f"data: {unknown.args[0]!r} at row {row} of {variable!r}; expected one of {names}"
            ) from None
    return codes


def _learn(
    data: Any,
    control: Control,
    method: str,
    score: tuple[str, float],
    max_parents: int,
    level: float,
    required: Iterable[tuple[str, str]],
    forbidden: Iterable[tuple[str, str]],
) -> tuple[dict[str, list[Any]], dict[str, list[str]], _core.Learned]:
    columns = _columns(data)
    states = _states(data, columns)
    for name, cells in columns.items():
        if None in cells:
            row = cells.index(None)
            raise ValueError(f"data: row {row} of {name!r} is missing; expected complete records")
    place = {name: k for k, name in enumerate(columns)}

    def numbers(arcs: Iterable[tuple[str, str]]) -> list[tuple[int, int]]:
        for arc in arcs:
            for name in arc:
                if name not in place:
                    raise ValueError(f"arc {arc}: no column {name!r}")
        return [(place[a], place[b]) for a, b in arcs]

    codes = _encode(columns, states)
    cards = [len(names) for names in states.values()]
    found = _core.learn_structure(
        codes,
        cards,
        control,
        method,
        score,
        max_parents,
        level,
        numbers(list(required)),
        numbers(list(forbidden)),
    )
    return columns, states, found
