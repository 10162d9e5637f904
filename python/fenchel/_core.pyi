from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._control import Control
from ._data import Matrix, Vector
from .linear_model._search import Search, Splits
from .reduction import Method

__version__: str

Weights: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = tuple[Matrix, Vector, Vector | None]
Facts: TypeAlias = dict[str, Any]
Margin: TypeAlias = tuple[Vector, float, Facts]
Several: TypeAlias = tuple[Weights, Vector, Facts]
Start: TypeAlias = tuple[Vector, float]
Score: TypeAlias = tuple[float, float, float, float, list[float]]

def least_squares(
    data: Rows,
    control: Control,
    penalty: tuple[float, float],
    intercept: bool,
    positive: bool,
    start: Start | None = None,
) -> Margin: ...
def group_lasso(
    data: Rows,
    control: Control,
    groups: Sequence[Sequence[int]],
    penalty: tuple[float, float],
    intercept: bool,
    start: Start | None = None,
) -> Margin: ...
def poisson(
    data: Rows,
    control: Control,
    penalty: tuple[float, float],
    intercept: bool,
    start: Start | None = None,
) -> Margin: ...
def quantile(data: Rows, control: Control, tau: float, l2: float, intercept: bool) -> Margin: ...
def huber(
    data: Rows,
    control: Control,
    epsilon: float,
    l2: float,
    intercept: bool,
    start: tuple[Start, float] | None = None,
) -> tuple[Margin, float]: ...
def logistic(
    data: Rows,
    control: Control,
    penalty: tuple[float, float],
    intercept: bool,
    start: Start | None = None,
) -> Margin: ...
def svc(
    data: Rows,
    control: Control,
    loss: str,
    penalty: tuple[float, float],
    intercept: bool,
) -> Margin: ...
def softmax(
    data: Rows,
    control: Control,
    penalty: tuple[float, float, float],
    intercept: bool,
    start: tuple[Weights, Vector] | None = None,
) -> Several: ...
def multiclass_l1(
    data: Rows,
    control: Control,
    loss: str,
    norm: str,
    penalty: float,
    intercept: bool,
    standardise: bool,
) -> Several: ...
def least_squares_cv(
    data: Rows, control: Control, search: Search, intercept: bool
) -> tuple[Margin, list[Score], int]: ...
def logistic_cv(
    data: Rows, control: Control, search: Search, intercept: bool
) -> tuple[Margin, list[Score], int]: ...
def svc_cv(
    data: Rows, control: Control, search: Search, loss: str, intercept: bool
) -> tuple[Margin, list[Score], int]: ...
def softmax_cv(
    data: Rows, control: Control, search: Search, intercept: bool
) -> tuple[Several, list[Score], int]: ...
def linear_path(
    data: Rows, control: Control, loss: str, search: Search, intercept: bool
) -> tuple[list[float], Weights, Vector, list[Facts]]: ...
def predict(x: Matrix, weights: Vector, intercept: float, link: str) -> Vector: ...
def predict_classes(
    x: Matrix, weights: Weights, intercepts: Vector, probabilities: bool
) -> Weights: ...

Hard: TypeAlias = list[tuple[str, str]]
Soft: TypeAlias = list[tuple[str, list[tuple[str, float]]]]
Arcs: TypeAlias = list[tuple[int, int]]
Codes: TypeAlias = NDArray[np.int64]
Learned: TypeAlias = tuple[Arcs, Arcs, float | None, Facts | None]

class Network:
    def __new__(
        cls,
        name: str,
        variables: Sequence[tuple[str, list[str]]],
        tables: Sequence[tuple[str, list[str], list[float] | None]],
    ) -> Network: ...
    @staticmethod
    def read_bif(path: str) -> Network: ...
    @staticmethod
    def parse_bif(text: str) -> Network: ...
    @staticmethod
    def read_uai(path: str) -> Network: ...
    @staticmethod
    def example(name: str) -> Network: ...
    def to_bif(self) -> str: ...
    def name(self) -> str: ...
    def variables(self) -> list[tuple[str, list[str]]]: ...
    def arcs(self) -> list[tuple[str, str]]: ...
    def table(self, variable: str) -> tuple[list[str], list[float]]: ...
    def query(
        self, variables: list[str], hard: Hard, soft: Soft
    ) -> tuple[list[str], list[float]]: ...
    def posteriors(self, hard: Hard, soft: Soft) -> list[list[float]]: ...
    def log_evidence(self, hard: Hard, soft: Soft) -> float: ...
    def most_probable(self, k: int, hard: Hard, soft: Soft) -> list[tuple[Hard, float]]: ...
    def marginal_map(self, variables: list[str], hard: Hard, soft: Soft) -> tuple[Hard, float]: ...
    def intervene(self, settings: Hard) -> Network: ...
    def d_separated(self, x: list[str], y: list[str], given: list[str]) -> bool: ...
    def sample(self, draws: int, seed: int) -> Codes: ...
    def fit_tables(self, data: Codes, prior: tuple[str, float]) -> Network: ...
    def fit_em(
        self, data: Codes, prior: tuple[str, float], control: Control
    ) -> tuple[Network, float, Facts]: ...
    def log_likelihood(self, data: Codes) -> float: ...

def learn_structure(
    data: Codes,
    cards: list[int],
    control: Control,
    method: str,
    score: tuple[str, float],
    max_parents: int,
    level: float,
    required: Arcs,
    forbidden: Arcs,
) -> Learned: ...

class Chain:
    def dump(self) -> bytes: ...
    @staticmethod
    def load(bytes: bytes) -> Chain: ...
    def report(self) -> Facts | None: ...
    def labels(self) -> list[str]: ...
    def attributes(self) -> list[str]: ...
    def state_features(self) -> list[tuple[str, str, float]]: ...
    def transition_features(self) -> list[tuple[str, str, float]]: ...
    def tag(self, x: Any) -> list[list[str]]: ...
    def marginals(self, x: Any) -> list[Weights]: ...

class Field:
    def dump(self) -> bytes: ...
    @staticmethod
    def load(bytes: bytes) -> Field: ...
    def weights(self, edges: bool) -> Weights: ...
    def predict(self, graphs: Sequence[tuple[Any, Any, Any]]) -> list[NDArray[np.int64]]: ...
    def marginals(self, graphs: Sequence[tuple[Any, Any, Any]]) -> list[Weights]: ...

def fit_graph_crf(
    graphs: Sequence[tuple[Any, Any, Any]],
    codes: Sequence[NDArray[np.int64]],
    classes: int,
    control: Control,
    l2: float,
    method: str,
    start: Field | None = None,
) -> tuple[Field, Facts]: ...
def fit_crf(
    x: Any,
    y: Any,
    control: Control,
    penalty: tuple[float, float],
    method: str,
    all_states: bool,
    all_transitions: bool,
    bias: bool,
    ends: bool,
    min_freq: int,
    start: Chain | None = None,
) -> tuple[Chain, Facts]: ...

Names: TypeAlias = list[str]
Table: TypeAlias = tuple[Names, list[int], Vector]

class CausalGraph:
    @staticmethod
    def parse(text: str) -> CausalGraph: ...
    def nodes(self) -> Names: ...
    def directed(self) -> Hard: ...
    def bidirected(self) -> Hard: ...
    def project(self, hidden: Names) -> CausalGraph: ...
    def m_separated(self, x: Names, y: Names, given: Names) -> bool: ...
    def identify(self, query: str) -> tuple[Formula | None, Refused | None]: ...
    def sets(self, kind: str, x: Names, y: Names, forbidden: Names, limit: int) -> list[Names]: ...
    def optimal_adjustment(self, x: Names, y: Names) -> Names: ...

class Formula:
    def text(self) -> str: ...
    def latex(self) -> str: ...
    def names(self) -> Names: ...
    def evaluate(self, data: Codes, cards: list[int], pseudo_count: float) -> Table: ...
    def average_effect(
        self,
        data: Codes,
        cards: list[int],
        pseudo_count: float,
        values: list[float],
        change: tuple[int, int],
    ) -> float: ...

class Refused:
    def text(self) -> str: ...
    def parts(self) -> tuple[Names, Names, Names]: ...
    def witness(self) -> tuple[list[tuple[Table, Table]], float, float]: ...

def treatment_effect(
    x: Weights,
    treated: list[bool],
    y: Vector,
    weights: Vector | None,
    control: Control,
    method: str,
    interactions: list[int],
    bootstrap: int,
    level: float,
) -> dict[str, Any]: ...
def linprog(
    cost: Vector,
    equal: tuple[Weights, Vector],
    least: tuple[Weights, Vector],
    bounds: tuple[Vector, Vector],
    control: Control,
) -> tuple[str, Vector | None, Vector | None, float | None, Facts]: ...
def game(
    payments: Weights, control: Control
) -> tuple[Vector, Vector, tuple[float, float], Facts]: ...

Gaussian: TypeAlias = tuple[Vector, Weights, Weights, Facts]

def graphical_lasso(
    x: Matrix,
    weights: Vector | None,
    control: Control,
    l1: float,
    diagonal: bool,
    correlation: bool,
    precomputed: bool,
) -> Gaussian: ...
def graphical_lasso_cv(
    x: Matrix,
    weights: Vector | None,
    control: Control,
    penalties: tuple[list[float] | None, int],
    folds: tuple[int, Splits | None],
    one_standard_error: bool,
    correlation: bool,
) -> tuple[Gaussian, float, tuple[list[float], list[float], list[float], list[list[float]]]]: ...
def latent_graphical_lasso(
    x: Matrix,
    weights: Vector | None,
    control: Control,
    l1: float,
    rank_penalty: float,
    correlation: bool,
) -> tuple[Gaussian, Weights, Weights]: ...
def scale_free(
    x: Matrix, weights: Vector | None, control: Control, strength: float, correlation: bool
) -> Gaussian: ...
def joint_graphical_lasso(
    groups: Sequence[Weights],
    control: Control,
    l1: float,
    similarity: float,
    coupling: str,
    correlation: bool,
) -> list[Gaussian]: ...
def gaussian_log_density(
    x: Matrix, mean: Vector, precision: Weights, covariance: Weights
) -> Vector: ...
def reduce(
    data: Rows, control: Control, method: Method
) -> tuple[Weights, Weights, Vector, Vector, list[str], Facts]: ...

class Law:
    def __new__(cls, family: str, parameters: list[float]) -> Law: ...
    def family(self) -> str: ...
    def natural(self) -> list[float]: ...
    def mean(self) -> list[float]: ...
    def parameters(self) -> list[float]: ...
    def logpdf(self, x: Vector) -> Vector: ...
    def entropy(self) -> float: ...
    def kl(self, other: Law) -> float: ...
    def rvs(self, n: int, seed: int) -> Vector: ...
    def with_natural(self, eta: list[float]) -> Law: ...
    def tail(self, of: str, x: Vector) -> Vector: ...
    def fitted(self, x: Vector) -> Law: ...
    def prior(self, weight: float) -> Belief: ...

class Belief:
    def weight(self) -> float: ...
    def mean(self) -> list[float]: ...
    def map(self) -> Law: ...
    def posterior(self, x: Vector) -> Belief: ...
    def log_marginal(self, x: Vector) -> float: ...

def glm(
    data: Rows,
    control: Control,
    family: str,
    size: float,
    l2: float,
    intercept: bool,
    offset: Vector | None = None,
    names: list[str] | None = None,
) -> tuple[Vector, float, dict[str, Any], Facts]: ...
def glm_quantile(level: float, degrees: int | None = None) -> float: ...
def glm_mean(family: str, size: float, eta: Vector) -> Vector: ...
def ising(
    x: Weights,
    weights: Vector | None,
    control: Control,
    method: str,
    l1: float,
    penalise_bias: bool,
    rule: str,
    chains: int,
) -> tuple[Vector, Weights, list[str], Facts]: ...
def potts(
    sequences: list[list[int]],
    control: Control,
    alphabet: str,
    gaps_missing: bool,
    identity: float | None,
    l2: float | None,
    group: float,
) -> tuple[Weights, Weights, Any, Vector, Facts | None]: ...
