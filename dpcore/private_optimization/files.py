"""Programs in files: the model as MPS (or LP) text, the private rows and their guaranteed limits as CSV.

The CSV has a line `row,limit` for every private row, with the row's name in the model; `#` starts a comment and one
header line is allowed. The private limits themselves are the right-hand sides of the model.
"""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

from ..errors import InputError, SolverError
from ..lp import ModelFile, read_model, write_model
from ..numbers import read_number
from .program import Model, PrivateProgram

MOST_BYTES = 20 << 20
SUFFIXES = (".mps", ".lp")


def load_model(path: str | Path) -> Model:
    """The model in an MPS or LP file of at most 20 MB.

    Raises
    ------
    InputError : the file cannot be read, is no model, has whole-number variables or a quadratic part that is not
    convex.
    """
    accepted = "a readable model in MPS format (.mps) or LP format (.lp), at most 20 MB"
    path = Path(path)
    try:
        fits = path.is_file() and path.stat().st_size <= MOST_BYTES and path.suffix.lower() in SUFFIXES
        raw = read_model(str(path)) if fits else None
    except (OSError, ValueError, SolverError):
        raw = None
    if raw is None:
        raise InputError("model file", path, accepted)
    if not raw.continuous:
        raise InputError("model file", path.name, "a model without whole-number variables")
    m, n = len(raw.row_lower), len(raw.costs)
    if not m or not n:
        raise InputError("model file", path.name, "a model with rows and columns")
    matrix = sparse.csr_array((raw.values, raw.columns, raw.starts), shape=(m, n))
    quadratic = None
    if raw.hessian is not None:
        starts, rows, values = raw.hessian
        lower = sparse.csc_array((values, rows, starts), shape=(n, n))
        quadratic = sparse.csr_array(lower + sparse.tril(lower, -1).T)
    return Model(
        raw.costs, matrix, raw.row_lower, raw.row_upper, raw.lower, raw.upper, quadratic, raw.maximise, raw.offset,
        _named(raw.row_names, "row"), _named(raw.column_names, "column"),
    )  # fmt: skip


def read_model_text(text: bytes, suffix: str = ".mps") -> Model:
    """The model in the contents of a file."""
    if suffix.lower() not in SUFFIXES or len(text) > MOST_BYTES:
        raise InputError("model file", suffix, "a model in MPS format (.mps) or LP format (.lp), at most 20 MB")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{suffix.lower()}"
        path.write_bytes(text)
        return load_model(path)


def _named(names: tuple[str, ...], kind: str) -> tuple[str, ...]:
    """The file's names; numbers where it has none (LP files may leave rows unnamed)."""
    return (
        names if all(names) and len(set(names)) == len(names) else tuple(f"{kind} {i + 1}" for i in range(len(names)))
    )


def load_rows(path: str | Path, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """(rows, guaranteed limits) from a CSV file."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, ValueError):
        raise InputError("limits file", path, "a readable CSV file") from None
    if len(raw) > MOST_BYTES:
        raise InputError("limits file", path, "a file of at most 20 MB")
    try:
        return read_rows(raw.decode("utf-8-sig"), model)
    except UnicodeDecodeError:
        raise InputError("limits file", path, "text in UTF-8") from None


def read_rows(text: str, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """(rows, guaranteed limits) from lines `row,limit`."""
    index = {name: row for row, name in enumerate(model.row_names)}
    rows, limits = [], []
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for number, cells in enumerate(csv.reader(io.StringIO("\n".join(lines))), 1):
        cells = [cell.strip() for cell in cells]
        if number == 1 and cells[:2] == ["row", "limit"] and "row" not in index:
            continue
        if cells[0] not in index:
            some = ", ".join(model.row_names[:6])
            raise InputError(f"limits line {number}, row", cells[0][:40], f"the name of a row of the model: {some}, …")
        accepted = "a finite number: the least limit any data set can have (for ≥ rows the most)"
        limit = ",".join(cells[1:]) or "(missing)"  # two cells may be a number with a comma
        limits.append(read_number(limit, f"limits line {number}, limit of {cells[0]}", accepted))
        rows.append(index[cells[0]])
    if not rows:
        raise InputError("limits", "no line", "a line `row,limit` for every private row")
    if len(set(rows)) < len(rows):
        twice = next(model.row_names[row] for row in rows if rows.count(row) > 1)
        raise InputError("limits, row", twice, "every row once")
    return np.array(rows), np.array(limits)


def save_program(program: PrivateProgram, model_path: str | Path, rows_path: str | Path) -> None:
    """Write both files; `load_model` and `load_rows` read them back. Spaces in names become underscores."""
    model = program.model
    hessian = None
    if model.quadratic is not None:
        q = sparse.csc_array(sparse.tril(model.quadratic))
        hessian = (q.indptr[:-1], q.indices, q.data)
    names = tuple(name.replace(" ", "_") for name in model.row_names)
    a = model.matrix
    write_model(
        str(model_path),
        ModelFile(
            model.costs, model.offset, model.maximise, model.row_lower, model.row_upper, model.lower, model.upper,
            a.indptr, a.indices, a.data, hessian, names, tuple(c.replace(" ", "_") for c in model.column_names), True,
        ),
    )  # fmt: skip
    lines = [f"{names[row]},{limit!r}" for row, limit in zip(program.rows.tolist(), program.guaranteed.tolist())]
    Path(rows_path).write_text("\n".join(["row,limit", *lines]) + "\n", encoding="utf-8")
