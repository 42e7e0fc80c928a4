"""The fields of a problem of noise for a vector, by the names of the arguments of `isotropic_problem`."""

from __future__ import annotations

from dataclasses import replace

from .. import json_checks as checks
from ..quantity import Quantity
from . import noise
from .field import Field, listed

DIMENSION = Quantity("dimension", 1, 1000, 20, "dimension d", "d exactly", "From 1 to 1000.", step=1, whole=True)

FIELDS = listed(
    Field.number(
        DIMENSION, "numbers in the vector, 1 to 1000", "D", required=True,
        load=lambda value, name: checks.integer(value, name, int(DIMENSION.low), int(DIMENSION.high)),
    ),
    *(noise.FIELDS[name] for name in ("epsilon", "delta")),
    replace(noise.FIELDS["sensitivity"], help="largest Euclidean change (default 1)"),
    Field("loss", "loss", "norm (default), squared, power:P or exceed:T of the length of the error", "LOSS",
          lambda value, name: checks.text(value, name, "the text of a loss", 200), option=str, default="norm",
          required=True, path="loss.spec"),
)  # fmt: skip
