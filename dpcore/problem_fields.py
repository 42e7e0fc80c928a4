"""The fields of a noise problem, once: their names, what they are called, and how files and options hold them.

`FIELDS` serves the options and tables of the command line, the JSON files and scripts, and the messages of the pages.
A field's name is that of the argument of `noise_problem`, of the option and of the key in a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Any

from . import json_checks as checks
from ._validate import real
from .errors import InputError
from .loss import FAMILIES, Loss, parse_loss
from .privacy import DELTA, EPSILON, SENSITIVITY, Privacy
from .privacy_profile import PrivacyProfile, parse_profile
from .problem import GRANULARITY, LINE, Budget, NoiseProblem, noise_problem

LOSSES = ", ".join(family.example for family in FAMILIES.values()) + " (CSV or JSON, two columns)"


@dataclass(frozen=True)
class Field:
    """One field.

    Parameters
    ----------
    name : of the argument, the option and the key.
    title : in messages to people.
    help, metavar : of the option; a switch has no metavar.
    load, dump : from JSON, with the name that messages call it by, and to JSON.
    option : the value in the option's words.
    default : its value where a problem has none; the text of it is the option's default.   required : a file has it.
    path : where a problem has it, if not under its name.
    """

    name: str
    title: str
    help: str
    metavar: str | None = None
    load: Callable[[Any, str], Any] = checks.number
    dump: Callable[[Any], Any] = lambda value: value
    option: Callable[[Any], str] = "{:g}".format
    default: Any = None
    required: bool = False
    path: str = ""

    def of(self, problem: NoiseProblem) -> Any:
        """Its value in a problem."""
        return attrgetter(self.path or self.name)(problem)

    def told(self, value: Any) -> str:
        """The option with its value."""
        text = f"--{self.name}"
        if self.metavar is None:
            return text
        return f"{text}{'=' if self.metavar == 'LO:HI' else ' '}{self.option(value)}"  # LO may begin with a minus sign


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


def finite(number: float | None) -> float | None:
    """The number, or None for what JSON cannot say."""
    return None if number is None or not math.isfinite(number) else float(number)


FIELDS = {
    field.name: field
    for field in (
        Field("epsilon", EPSILON.title, EPSILON.range, "E", required=True, path="privacy.epsilon"),
        Field("delta", DELTA.title, f"{DELTA.help.replace('ε', 'epsilon')}: {DELTA.range}", "D", required=True,
              path="privacy.delta"),
        Field("sensitivity", SENSITIVITY.title, "of the query, in its unit (default 1)", "S", default=1.0,
              required=True),
        Field("loss", "loss", f"{LOSSES} (default l1)", "LOSS", _loss, attrgetter("spec"), attrgetter("spec"),
              parse_loss("l1"), required=True),
        Field("symmetric", "symmetric", "only symmetric laws", load=checks.switch, default=False),
        Field("monotone", "monotone", "only densities that fall away from 0", load=checks.switch, default=False),
        Field("support", "support", "noise stays in here; an empty side is open", "LO:HI", _support,
              lambda ends: [finite(end) for end in ends],
              lambda ends: ":".join("" if math.isinf(end) else f"{end:g}" for end in ends), LINE),
        Field("granularity", GRANULARITY.title, "values and noise are multiples of STEP", "STEP"),
        Field("budget", "second loss", "a second loss and the most it may be: exceed:2=0.05", "LOSS=MOST", _budget,
              lambda budget: {"loss": budget.loss.spec, "most": budget.most},
              lambda budget: f"{budget.loss.spec}={budget.most:g}"),
        Field("second", "second pair", "a second (epsilon, delta) to satisfy too: 3:1e-4", "E2:K", _pair, asdict,
              lambda pair: f"{pair.epsilon:g}:{pair.delta:g}"),
        Field("profile", "promise", "a whole promise: gdp:MU, list:FILE, or composed:T with (E, D) in all", "P",
              _profile, attrgetter("spec"), attrgetter("spec")),
    )
}  # fmt: skip
"""Every field by its name, in the order of files and options."""


def problem_to_dict(problem: NoiseProblem) -> dict[str, Any]:
    """The problem in JSON types, every field; None for what it does not have."""
    values = {name: field.of(problem) for name, field in FIELDS.items()}
    return {name: None if value is None else FIELDS[name].dump(value) for name, value in values.items()}


def problem_from_dict(data: Mapping[str, Any]) -> NoiseProblem:
    """The problem in a file, every field named in messages as there.

    Raises
    ------
    InputError : a field is missing or holds what is not accepted.
    """
    for name, field in FIELDS.items():
        if field.required and name not in data:
            raise InputError(name, "(missing)", "a field of this name")
    optional = {name for name, field in FIELDS.items() if field.default is None and not field.required}
    given = {name for name in FIELDS.keys() & data.keys() if data[name] is not None or name not in optional}
    return noise_problem(**{name: field.load(data[name], name) for name, field in FIELDS.items() if name in given})


def constraints(problem: NoiseProblem) -> str:
    """What narrows the choice of laws, in the words of the command line; "" for nothing."""
    names = ("symmetric", "monotone", "support", "granularity", "budget", "second")
    values = {name: FIELDS[name].of(problem) for name in names}
    return " ".join(FIELDS[name].told(value) for name, value in values.items() if value != FIELDS[name].default)
