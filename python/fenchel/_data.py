"""Data in the layout that the extension module borrows.

A C-ordered float64 array and scipy's CSR of float64 stay as they are. Everything else (lists, frames, integers, float32,
Fortran order, CSC) is converted once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = Any
"""A C-ordered float64 array, or a CSR matrix of float64 with ascending columns."""


def sound(x: Any) -> Any:
    """Refuses a sparse matrix whose indices lead outside of its arrays, which scipy would follow.

    The columns of a CSR matrix are left to the extension module, which refuses them with their row: nothing follows them before.
    """
    if sparse.issparse(x) and x.format in ("csr", "csc", "bsr"):
        try:
            left = x.format == "csr" and x.dtype == np.float64
            x.check_format(full_check=not left)
            if left and len(x.indptr) > 1 and np.diff(x.indptr).min() < 0:
                raise ValueError("indptr must not fall")
        except (ValueError, IndexError) as error:
            raise ValueError(f"X: {error}") from None
    return x


def columns_of(data: Any) -> list[Any]:
    """The names of the columns of a frame or a dict."""
    if not (hasattr(data, "columns") or isinstance(data, Mapping)):
        expected = "a frame, or a dict with a sequence for each column"
        raise ValueError(f"data is of type {type(data).__name__}; expected {expected}")
    return list(data.columns if hasattr(data, "columns") else data)


def equal_lengths(columns: Mapping[Any, Sized]) -> None:
    """Refuses columns of different lengths."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"data: the columns have different lengths: {lengths}")


def reals(name: str, x: Any) -> NDArray[np.float64]:
    """An array of real numbers."""
    try:
        array = np.asarray(x)
        if np.iscomplexobj(array):
            raise TypeError
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        kind = "complex numbers" if np.iscomplexobj(x) else repr(x)[:60]
        raise ValueError(f"{name}: {kind}; expected an array of real numbers") from None


def matrix(x: Any) -> Matrix:
    """Brings a checked array or sparse matrix into the layout. No copy is made if it has it."""
    if not sparse.issparse(x):
        return np.require(x, np.float64, ["C", "A"])
    if x.format != "csr":
        x = x.tocsr()
    if x.dtype != np.float64:
        x = x.astype(np.float64)
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    return x


def dense(x: Matrix) -> Matrix:
    """The same as an array."""
    if not sparse.issparse(x):
        return x
    try:
        x.check_format(full_check=True)  # which `sound` has left to the extension module
    except ValueError as error:
        raise ValueError(f"X: {error}") from None
    return x.toarray()


def vector(y: Any) -> Vector:
    """Brings a checked vector into the layout."""
    return np.require(y, np.float64, ["C", "A"])
