"""The fields of a query with several coordinates, by the names of the arguments of `vector_query`."""

from __future__ import annotations

from collections.abc import Iterable

from ..numbers import write_number
from ..quantity import Quantity
from . import noise
from .field import Field, listed

POWER = Quantity(
    "power", 1.0, 10.0, 2.0, "power p", "Power p of Σ |error|ᵖ", "2: mean squared error. 1: mean absolute error.",
    step=0.5,
)  # fmt: skip


def _listed(values: Iterable[float]) -> str:
    return ",".join(map(write_number, values))


FIELDS = listed(
    *(noise.FIELDS[name] for name in ("epsilon", "delta")),
    Field("profile", "sensitivities",
          "1,2,3 or linear:20 (uniform, linear, quadratic, exponential, one-hot) or csv:FILE or csv:FILE:COLUMN", "P",
          option=_listed, required=True, path="profile.values"),
    Field.number(POWER, "of the error Σ |T_i|^P, 1 to 10 (default 2)", "P", default=2.0),
    Field("weights", "weights", "weights of the coordinates in the error: 1,2,3", "W", option=_listed),
    Field("l1", "global ℓ1 sensitivity", "global l1 sensitivity, if less than the profile's", "S"),
    Field("l2", "global ℓ2 sensitivity", "global l2 sensitivity, if less than the profile's", "S"),
)  # fmt: skip
"""Such queries are written to no file: `load` and `dump` are not asked for."""
