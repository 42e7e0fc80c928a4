"""Outcomes as rows of a table: CSV or Parquet."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import InputError
from ..extras import needs
from ..mechanisms import INTEGER_MECHANISMS, MECHANISMS
from ..problem_fields.noise import constraints
from .chains import Outcome
from .grid import Refused

FORMATS = (".csv", ".parquet")


def row(outcome: Outcome | Refused) -> dict[str, Any]:
    """One row, the columns of which are described in docs/cli.md; None where there is no number."""
    if isinstance(outcome, Refused):
        asked = {"epsilon": outcome.epsilon, "delta": outcome.delta, "loss": outcome.loss.spec}
        return dict.fromkeys(_columns(False)) | asked | {"source": outcome.reason, "version": __version__}
    problem, proof, best = outcome.problem, outcome.certificate, outcome.best
    values: dict[str, Any] = {
        "epsilon": problem.privacy.epsilon, "delta": problem.privacy.delta, "sensitivity": problem.sensitivity,
        "loss": problem.loss.spec, "constraints": constraints(problem),
    }  # fmt: skip
    if proof is not None:
        values |= {"lower": proof.lower, "upper": proof.upper, "gap": proof.gap, "delta_upper": proof.delta_upper}
    if best is not None:
        values |= {"best_mechanism": best[0], "best_loss": best[1]}
    if best is not None and proof is not None and best[1] > 0:
        values["gain"] = 1 - proof.upper / best[1]
    values |= dict(outcome.mechanisms)
    values |= {"source": outcome.source, "seconds": outcome.seconds, "version": __version__}
    return dict.fromkeys(_columns(problem.granularity is not None)) | values


def _columns(lattice: bool) -> list[str]:
    head = ["epsilon", "delta", "sensitivity", "loss", "constraints", "lower", "upper", "gap", "delta_upper"]
    keys = INTEGER_MECHANISMS if lattice else MECHANISMS
    return [*head, "best_mechanism", "best_loss", "gain", *keys, "source", "seconds", "version"]


def check_name(path: str) -> None:
    """InputError unless the name ends in a format that can be written; `MissingExtraError` where what writes it is not
    installed."""
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError("out", path, f"a file name that ends in {' or '.join(FORMATS)}")
    if Path(path).suffix.lower() == ".parquet":
        with needs("parquet"):
            import pyarrow  # noqa: F401


def write_table(rows: Sequence[dict[str, Any]], path: str) -> None:
    """Write rows with the same columns to a .csv or .parquet file.

    Raises
    ------
    InputError : another ending, or a file that cannot be written.
    """
    check_name(path)
    try:
        if Path(path).suffix.lower() == ".csv":
            with open(path, "w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]) if rows else _columns(False))
                writer.writeheader()
                writer.writerows(rows)
            return
        import pyarrow
        from pyarrow import parquet

        texts = {"loss", "constraints", "best_mechanism", "source", "version"}
        names = list(rows[0]) if rows else _columns(False)
        kinds = [(name, pyarrow.string() if name in texts else pyarrow.float64()) for name in names]
        parquet.write_table(pyarrow.Table.from_pylist(list(rows), schema=pyarrow.schema(kinds)), path)
    except OSError as error:
        raise InputError("out", path, f"a file that can be written ({error.strerror or error})") from None
