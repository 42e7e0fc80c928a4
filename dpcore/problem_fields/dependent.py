"""The fields of a data-dependent problem, by the names of the arguments of `data_dependent_problem`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .. import json_checks as checks
from ..errors import InputError
from ..numbers import write_number
from . import noise
from .field import Field, listed


def _numbers(value: Any, name: str) -> tuple[float, ...]:
    if not isinstance(value, list):
        raise InputError(name, checks.short(value), "a list of numbers")
    return tuple(checks.number(one, name) for one in value)


def _cap(value: Any, name: str) -> float | str:
    return value if value == "auto" else checks.number(value, name)


def _text(value: Any, name: str) -> str:
    return checks.text(value, name, "a text", 100_000)


FIELDS = listed(
    *(noise.FIELDS[name] for name in ("epsilon", "delta", "sensitivity", "loss")),
    Field("query_range", "range of the values", "of the query's values", "LO:HI", _numbers, list,
          lambda ends: ":".join(map(write_number, ends)), required=True, flag="range"),
    Field("weight", "weight", "uniform (default), triangular, normal:MEAN:SD, histogram:1,3,2", "W", _text, option=str,
          default="uniform", required=True, path="weight.spec"),
    Field("instance_cap", "cap", "auto or a number: no true value loses more than this", "C", _cap,
          option=lambda cap: cap if cap == "auto" else write_number(cap)),
    replace(noise.FIELDS["monotone"], help="densities that fall away from the true value",
            about="The density of the release never rises away from the true value."),
    Field("ordered", "ordered", "larger true values make larger releases more likely", load=checks.switch,
          default=False, about="A larger true value makes larger releases more likely."),
    Field("partition", "partition", "inner ends of intervals that share one law each", "B1,B2", _numbers, list,
          lambda ends: ",".join(map(write_number, ends)), ()),
    Field("shared", "shared", "what an interval's true values share: a law of the release (default) or of the noise",
          "WHAT", _text, option=str, default="release", brief=True),
    Field("loss_below", "loss below 0", "the loss for true values below 0: another loss, or mirrored", "L", _text,
          option=str, path="below_spec", brief=True),
)  # fmt: skip
