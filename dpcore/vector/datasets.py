"""Data for the applications: sets that come with scikit-learn, the synthetic model of [MK, §VI-B], an uploaded CSV."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..extras import needs
from .sheets import read_sheet

Array = NDArray[np.float64]

BUNDLED = {
    "digits": "Handwritten digits (1797 × 64)",
    "wine": "Wine (178 × 13)",
    "breast-cancer": "Breast cancer, Wisconsin (569 × 30)",
    "diabetes": "Diabetes (442 × 10)",
}
SYNTHETIC = "synthetic"
MOST_ROWS, MOST_COLUMNS = 20_000, 200


@dataclass(frozen=True, eq=False)
class Table:
    """rows : (N, M), each feature mapped to [−half, half] about the middle of its range.   target : (N,).

    half : (M,) half-widths of the ranges, in the features' units.   basis : (M, r) the true subspace, where it is
    known.
    ranges_public : the ranges are the ones published with the data; else they were read from the data itself, which the
        privacy guarantee does not cover.
    """

    name: str
    rows: Array
    target: Array
    half: Array
    ranges_public: bool = True
    basis: Array | None = None


@lru_cache(maxsize=8)
def load(name: str, seed: int = 0) -> Table:
    """A table by its name; `seed` is for the synthetic one."""
    if name == SYNTHETIC:
        return _synthetic(np.random.default_rng(seed))
    if name not in BUNDLED:
        raise InputError("data", name, ", ".join([*BUNDLED, SYNTHETIC]))
    with needs("learning"):
        from sklearn import datasets

    if name == "diabetes":
        data = datasets.load_diabetes(scaled=False)
    else:
        data = getattr(datasets, "load_" + name.replace("-", "_"))()
    return _centred(BUNDLED[name], data.data.astype(float), data.target.astype(float), public=True)


def read_table(text: str) -> Table:
    """A table from CSV text (`read_sheet`): columns of numbers, the last one the target."""
    sheet = read_sheet(text)
    count, width = len(sheet.rows), sheet.width
    if not (20 <= count <= MOST_ROWS and 3 <= width <= MOST_COLUMNS):
        accepted = f"20 to {MOST_ROWS} lines and 3 to {MOST_COLUMNS} columns of numbers"
        raise InputError("data", f"{count} lines and {width} columns", accepted)
    values = np.array([sheet.numbers(at, "a number") for at in range(width)]).T
    return _centred("Uploaded table", values[:, :-1], values[:, -1], public=False)


def unit_rows(table: Table) -> Array:
    """Every row, features divided by their ranges, scaled to ℓ2-norm 1: what one person contributes, (N, M). Each row
    is treated by itself, so nothing of the other rows leaks into it."""
    rows = table.rows / table.half if table.basis is None else table.rows
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)


def _centred(name: str, rows: Array, target: Array, *, public: bool) -> Table:
    low, high = rows.min(axis=0), rows.max(axis=0)
    used = high > low
    rows, low, high = rows[:, used], low[used], high[used]
    middle = target.min() + 0.5 * (target.max() - target.min())
    half = 0.5 * (high - low)
    spread = max(target.max() - middle, 1e-300)
    return Table(name, rows - 0.5 * (low + high), (target - middle) / spread, half, public)


def _synthetic(rng: np.random.Generator, *, count: int = 1000, features: int = 100, rank: int = 10) -> Table:
    """1000 directions spread evenly within a random subspace of dimension 10 of ℝ¹⁰⁰ (fully random model, no
    outliers)."""
    basis, _ = np.linalg.qr(rng.normal(size=(features, rank)))
    rows = rng.normal(size=(count, rank)) @ basis.T
    name = f"Synthetic, rank {rank} ({count} × {features})"
    return Table(name, rows, np.zeros(count), np.ones(features), True, basis)
