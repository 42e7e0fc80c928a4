"""The certified optimum beside the mechanisms that people use."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from . import numerals
from .extras import needs
from .mechanisms import Baseline, baselines
from .problem_fields import finite
from .solution import Solution

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Comparison:
    """What textbook mechanisms pay on a problem, against the certified optimum.

    solution : the optimum with its certificate.
    mechanisms : every known mechanism, calibrated; `valid` says whether it meets the problem.
    """

    solution: Solution
    mechanisms: tuple[Baseline, ...]

    @classmethod
    def of(cls, solution: Solution) -> Comparison:
        """A solution beside every mechanism that `baselines` knows for the problem."""
        return cls(solution, tuple(baselines(solution.problem)))

    def rows(self) -> list[dict[str, Any]]:
        """The optimum and every mechanism, in JSON types.

        `lower_bound_ratio` is loss/(certified lower bound): 1.07 means at most 7 % above the best possible. None
        where a loss or a positive lower bound is missing.
        """
        found, lower = self.solution, self.solution.certificate.lower
        optimum = {"cells": found.cells, "delta_upper": found.certificate.delta_upper}
        rows = [_row(found.title, "optimal", found.certificate.upper, lower, True, optimum, found.source)]
        for one in self.mechanisms:
            parameters = one.noise.parameters if one.noise is not None else {}
            rows.append(_row(one.name, one.key, one.loss, lower, one.valid, parameters, one.reason))
        return rows

    def __repr__(self) -> str:
        paid = ", ".join(
            f"{row['key']} {numerals.number(row['loss'])}{'' if row['valid'] else ' (not valid)'}"
            for row in self.rows()[1:] if row["loss"] is not None
        )  # fmt: skip
        return f"Comparison({self.solution!r}; {paid})"

    def _repr_html_(self) -> str:
        lines = "".join(
            f"<tr><td>{escape(row['name'])}</td><td>{'–' if row['loss'] is None else numerals.number(row['loss'])}</td>"
            f"<td>{'–' if (ratio := row['lower_bound_ratio']) is None else numerals.number(ratio)}</td>"
            f"<td>{'yes' if row['valid'] else 'no: ' + escape(row['reason'])}</td></tr>"
            for row in self.rows()
        )
        heads = ("mechanism", "expected loss", "times the lower bound", "valid")
        head = "".join(f"<th>{name}</th>" for name in heads)
        return f"<table><tr>{head}</tr>{lines}</table>"

    def plot(self, *, axis: str = "expected loss", dark: bool = False) -> go.Figure:
        """Expected losses as bars over what is provably impossible, as a figure of Plotly.

        Raises
        ------
        MissingExtraError : Plotly is not installed; the message is the line that installs it.
        """
        with needs("plot"):
            from .figures import Bar, losses, palette
        proof = self.solution.certificate
        bars = [Bar("optimal", self.solution.title, proof.upper)]
        bars += [Bar(m.key, m.name, m.loss, m.valid, m.reason) for m in self.mechanisms if m.loss is not None]
        return losses(bars, lower=proof.lower, axis=axis, colours=palette(dark)).checked()


def _row(
    name: str, key: str, loss: float | None, lower: float | None, valid: bool, parameters: dict[str, Any], reason: str
) -> dict[str, Any]:
    ratio = None
    if loss is not None and lower is not None:
        ratio = loss / lower if lower > 0 else 1.0 if loss == lower else None
    return {
        "name": name,
        "key": key,
        "loss": finite(loss),
        "lower_bound_ratio": finite(ratio),
        "valid": bool(valid),
        "parameters": {k: v if isinstance(v, int) else finite(v) for k, v in parameters.items()},
        "reason": reason,
    }
