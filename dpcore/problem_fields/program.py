"""The numbers of a program with private limits, by the names of the arguments of `PrivateProgram`; its model and its
private rows are files of their own."""

from __future__ import annotations

from dataclasses import replace

from ..privacy import DELTA as NOISE_DELTA
from ..privacy import EPSILON as NOISE_EPSILON
from ..problem import GRANULARITY
from . import noise
from .field import Field, listed

EPSILON = replace(NOISE_EPSILON, low=1e-6, also=(), label="ε, of the whole release", step=0.1, help="")
DELTA = replace(NOISE_DELTA, high=0.5, default=1e-4, step=1e-4)

FIELDS = listed(
    Field.number(EPSILON, EPSILON.range, "E", required=True),
    Field.number(DELTA, f"{DELTA.help.replace('ε', 'epsilon')}: {DELTA.range}", "D", required=True),
    replace(noise.FIELDS["sensitivity"], help="l1-sensitivity of all private limits together (files)", default=None,
            required=False),
    Field.number(GRANULARITY, "private limits are multiples of STEP (1: counts)", "STEP"),
)  # fmt: skip
