"""Data and objectives, as both sides see them."""

import dataclasses
import json

import numpy as np
import scipy.sparse


def load(stem):
    """The matrix, the targets and the task that the runner exported."""
    raw = lambda ending, kind: np.fromfile(stem.with_suffix(ending), dtype=kind)
    shape = json.loads(stem.with_suffix(".json").read_text())
    size = (shape["rows"], shape["columns"])
    if shape["dense"]:
        matrix = raw(".data", "<f8").reshape(size)
    else:
        # 32-bit offsets and columns are what scikit-learn, liblinear and Cyanure take without a copy.
        offsets = raw(".indptr", "<i8").astype(np.int32)
        parts = (raw(".data", "<f8"), raw(".indices", "<i4"), offsets)
        matrix = scipy.sparse.csr_matrix(parts, shape=size)
        matrix.has_sorted_indices = True
    return matrix, raw(".targets", "<f8"), shape["task"]


@dataclasses.dataclass
class Problem:
    """F(w) = mean loss(a_i.w, y_i) + l2/2 ||w||^2 + l1 ||w||_1, no intercept.

    The loss is log(1 + exp(-y t)), (t - y)^2 / 2, or exp(t) - y t for counts.
    """

    data: str
    label: str
    a: np.ndarray | scipy.sparse.csr_matrix
    y: np.ndarray
    task: str
    l2: float
    l1: float

    @property
    def n(self):
        """Number of rows."""
        return self.a.shape[0]

    @property
    def dense(self):
        """Whether every entry is stored."""
        return isinstance(self.a, np.ndarray)

    @property
    def by_columns(self):
        """The matrix stored by columns, for peers that would else copy it: made once, outside what is timed."""
        if not hasattr(self.a_store, "columns"):
            self.a_store.columns = (
                np.asfortranarray(self.a) if self.dense else scipy.sparse.csc_matrix(self.a)
            )
        return self.a_store.columns

    # Shared by the problems of a data set.
    a_store: object = None

    @property
    def title(self):
        """Data and penalty in one line."""
        n, d = self.a.shape
        entries = "dense" if self.dense else f"{self.a.nnz} entries"
        weights = [f"{name} = {w:.4g}" for name, w in (("l2", self.l2), ("l1", self.l1)) if w]
        return f"{self.data} ({n} x {d}, {entries}), {self.label} ({', '.join(weights)})"

    def objective(self, w):
        """F(w) in double precision."""
        w = np.asarray(w, dtype=np.float64).ravel()
        margins = self.a @ w
        if self.task == "logistic":
            losses = np.logaddexp(0.0, -self.y * margins)
        elif self.task == "counts":
            losses = np.exp(margins) - self.y * margins
        else:
            losses = 0.5 * (margins - self.y) ** 2
        return losses.mean() + 0.5 * self.l2 * (w @ w) + self.l1 * np.abs(w).sum()


class Store:
    """What the problems of a data set share."""


def of(stem):
    """The problems of a data set."""
    a, y, task = load(stem)
    n = a.shape[0]
    store = Store()
    make = lambda label, l2, l1: Problem(stem.name, label, a, y, task, l2, l1, store)
    # At this weight of the l1 norm and beyond, the solution is 0.
    largest = np.abs(a.T @ (y - 1.0 if task == "counts" else y)).max() / n
    new = stem.name.startswith(("validation-", "test-", "fresh-", "second-", "third-"))
    if task == "counts":
        return [make("l2, 1/n", 1.0 / n, 0.0), make("l2, 0.01", 0.01, 0.0)]
    if task == "squared":
        net = lambda part: make(f"elastic net, {part:g} max", part * largest, part * largest)
        ridge = [make(label, c / n, 0.0) for label, c in (("l2, 1/n", 1.0), ("l2, 0.1/n", 0.1))]
        return (ridge if new else []) + [net(0.1), net(0.01)]
    largest *= 0.5
    ridge = [make(label, c / n, 0.0) for label, c in (("l2, 1/n", 1.0), ("l2, 0.1/n", 0.1), ("l2, 0.01/n", 0.01))]
    lasso = [make(f"l1, {part:g} max", 0.0, part * largest) for part in (0.1, 0.01)]
    return ridge + lasso
