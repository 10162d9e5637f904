"""Data and objectives, as both sides see them."""

import dataclasses
import json

import numpy as np
import scipy.sparse


def load(stem):
    """The matrix and the labels that the runner exported."""
    raw = lambda ending, kind: np.fromfile(stem.with_suffix(ending), dtype=kind)
    shape = json.loads(stem.with_suffix(".json").read_text())
    # 32-bit offsets and columns are what scikit-learn, liblinear and Cyanure take without a copy.
    offsets = raw(".indptr", "<i8").astype(np.int32)
    parts = (raw(".data", "<f8"), raw(".indices", "<i4"), offsets)
    matrix = scipy.sparse.csr_matrix(parts, shape=(shape["rows"], shape["columns"]))
    matrix.has_sorted_indices = True
    return matrix, raw(".labels", "<f8")


@dataclasses.dataclass
class Problem:
    """F(w) = mean log(1 + exp(-y_i a_i.w)) + l2/2 ||w||^2 + l1 ||w||_1, no intercept."""

    data: str
    label: str
    a: scipy.sparse.csr_matrix
    y: np.ndarray
    l2: float
    l1: float

    @property
    def n(self):
        """Number of rows."""
        return self.a.shape[0]

    @property
    def title(self):
        """Data and penalty in one line."""
        n, d = self.a.shape
        weight = f"l1 = {self.l1:.4g}" if self.l1 else f"l2 = {self.l2:.4g}"
        return f"{self.data} ({n} x {d}, {self.a.nnz} entries), {self.label} ({weight})"

    def objective(self, w):
        """F(w) in double precision."""
        w = np.asarray(w, dtype=np.float64).ravel()
        losses = np.logaddexp(0.0, -self.y * (self.a @ w))
        return losses.mean() + 0.5 * self.l2 * (w @ w) + self.l1 * np.abs(w).sum()


def of(stem):
    """The three problems of a data set."""
    a, y = load(stem)
    n = a.shape[0]
    # At this weight of the l1 norm and beyond, the solution is 0.
    largest = np.abs(a.T @ y).max() / (2 * n)
    make = lambda label, l2, l1: Problem(stem.name, label, a, y, l2, l1)
    return [
        make("l2, 1/n", 1.0 / n, 0.0),
        make("l2, 0.1/n", 0.1 / n, 0.0),
        make("l1, 0.01 max", 0.0, 0.01 * largest),
    ]
