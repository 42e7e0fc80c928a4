"""What is said about a value that is not accepted."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from dpcore.errors import InputError
from dpcore.loss import parameters
from dpcore.numbers import WRITE
from dpcore.privacy_profile import MU, RELEASES
from dpcore.problem import CELLS, GAP, TIME_LIMIT
from dpcore.problem_fields import titles
from dpcore.problem_fields.noise import FIELDS

from . import prose

NUMBERS = (MU, RELEASES, GAP, TIME_LIMIT, CELLS)
LABELS = (
    titles(FIELDS)
    | {one.name: one.title for one in (*parameters().values(), *NUMBERS)}
    | {
        "people": "number of people n",
        "weight_bin": "weight of a bin",
    }
)


def explain(error: InputError, labels: Mapping[str, str] = LABELS) -> str:
    """One sentence for people: what was given, what would be accepted.

    labels : field of the core → name of the control.
    """
    name = labels.get(error.field, error.field)
    given = "nothing" if error.value is None else error.value
    if isinstance(given, float) and math.isfinite(given):
        given = prose.plain(given)
    accepted, mark, write = error.accepted.partition(WRITE)  # what is to be written is not set in fine type
    accepted = re.sub(r"\b1e([+-]?\d+)", lambda power: "10" + prose.raised(int(power[1])), accepted)
    return f"{name} = {prose.literal(str(given)) or 'nothing'}: expected {accepted}{mark + write if mark else '.'}"
