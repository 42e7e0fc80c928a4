"""The fields of a noise problem, by the names of the arguments of `noise_problem`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from .. import json_checks as checks
from .._validate import real
from ..errors import InputError
from ..loss import FAMILIES, Loss, parse_loss
from ..privacy import DELTA, EPSILON, SENSITIVITY, Privacy
from ..privacy_profile import PrivacyProfile, parse_profile
from ..problem import GRANULARITY, LINE, Budget, NoiseProblem, noise_problem
from .field import Field, finite, from_dict, listed, to_dict

LOSSES = ", ".join(family.example for family in FAMILIES.values()) + " (CSV or JSON, two columns)"


def _loss(value: Any, name: str) -> Loss:
    return parse_loss(checks.text(value, name, "the text of a loss", 100_000))


def _support(value: Any, name: str) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise InputError(name, checks.short(value), "a list of two numbers, null for no end")
    low, high = (far if end is None else real(**{name: end}) for end, far in zip(value, LINE))
    return low, high


def _budget(value: Any, name: str) -> Budget:
    given = checks.mapping(value, name)
    return Budget(_loss(given.get("loss"), f"{name}.loss"), checks.finite(given.get("most"), f"{name}.most", 1e15))


def _pair(value: Any, name: str) -> Privacy:
    given = checks.mapping(value, name)
    return Privacy(*(checks.finite(given.get(one), f"{name}.{one}", 1e15) for one in ("epsilon", "delta")))


def _profile(value: Any, name: str) -> PrivacyProfile:
    return parse_profile(checks.text(value, name, "the text of a privacy profile", 10_000))


FIELDS = listed(
    Field.number(EPSILON, EPSILON.range, "E", required=True, path="privacy.epsilon"),
    Field.number(
        DELTA, f"{DELTA.help.replace('ε', 'epsilon')}: {DELTA.range}", "D", required=True, path="privacy.delta"
    ),
    Field.number(SENSITIVITY, "of the query, in its unit (default 1)", "S", default=1.0, required=True),
    Field("loss", "loss", f"{LOSSES} (default l1)", "LOSS", _loss, attrgetter("spec"), attrgetter("spec"),
          parse_loss("l1"), required=True),
    Field("symmetric", "symmetric", "only symmetric laws", load=checks.switch, default=False,
          about="The law is its own mirror image."),
    Field("monotone", "monotone", "only densities that fall away from 0", load=checks.switch, default=False,
          about="The density never rises away from 0."),
    Field("support", "support", "noise stays in here; an empty side is open", "LO:HI", _support,
          lambda ends: [finite(end) for end in ends],
          lambda ends: ":".join("" if math.isinf(end) else f"{end:g}" for end in ends), LINE),
    Field.number(GRANULARITY, "values and noise are multiples of STEP", "STEP"),
    Field("budget", "second loss", "a second loss and the most it may be: exceed:2=0.05", "LOSS=MOST", _budget,
          lambda budget: {"loss": budget.loss.spec, "most": budget.most},
          lambda budget: f"{budget.loss.spec}={budget.most:g}"),
    Field("second", "second pair", "a second (epsilon, delta) to satisfy too: 3:1e-4", "E2:K", _pair, asdict,
          lambda pair: f"{pair.epsilon:g}:{pair.delta:g}"),
    Field("profile", "promise", "a whole promise: gdp:MU, list:FILE, or composed:T with (E, D) in all", "P",
          _profile, attrgetter("spec"), attrgetter("spec")),
)  # fmt: skip


def problem_to_dict(problem: NoiseProblem) -> dict[str, Any]:
    """The problem in JSON types, every field; None for what it does not have."""
    return to_dict(FIELDS, problem)


def problem_from_dict(data: Mapping[str, Any]) -> NoiseProblem:
    """The problem in a file; `from_dict` says what is refused."""
    return noise_problem(**from_dict(FIELDS, data))


def constraints(problem: NoiseProblem) -> str:
    """What narrows the choice of laws, in the words of the command line; "" for nothing."""
    names = ("symmetric", "monotone", "support", "granularity", "budget", "second")
    values = {name: FIELDS[name].of(problem) for name in names}
    return " ".join(FIELDS[name].told(value) for name, value in values.items() if value != FIELDS[name].default)
