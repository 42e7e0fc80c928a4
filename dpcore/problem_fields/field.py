"""One field of a problem, and what is done with a list of them: to files and back, to names for people."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from .. import json_checks as checks
from ..errors import InputError
from ..quantity import Quantity


@dataclass(frozen=True)
class Field:
    """One field.

    Parameters
    ----------
    name : of the argument and the key in files.
    title : in messages to people.
    help, metavar : of the option; a switch has no metavar.
    load, dump : from JSON, with the name that messages call it by, and to JSON.
    option : the value in the option's words.
    default : its value where a problem has none; the text of it is the option's default.   required : a file has it.
    path : where a problem has it, if not under its name.
    flag : name of the option, if it is another one.
    brief : files leave it out where it has its default.
    quantity : its range, unit and control, where it is one number.   about : what a page says of its control.
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
    flag: str = ""
    brief: bool = False
    quantity: Quantity | None = None
    about: str = ""

    @classmethod
    def number(cls, quantity: Quantity, help: str, metavar: str, **more: Any) -> Field:
        """The field of a number that the core checks by its quantity."""
        return cls(quantity.name, quantity.title, help, metavar, quantity=quantity, **more)

    @property
    def flagged(self) -> str:
        """The option's name."""
        return self.flag or self.name.replace("_", "-")

    def of(self, problem: Any) -> Any:
        """Its value in a problem."""
        return attrgetter(self.path or self.name)(problem)

    def told(self, value: Any) -> str:
        """The option with its value."""
        if self.metavar is None:
            return f"--{self.flagged}"
        text = self.option(value)
        sign = "=" if self.metavar == "LO:HI" or text.startswith("-") else " "  # options begin with a minus sign, too
        return f"--{self.flagged}{sign}{text}"


Fields = Mapping[str, Field]
"""Every field of a kind of problem by its name, in the order of files and options."""


def listed(*fields: Field) -> dict[str, Field]:
    """The fields by their names."""
    return {field.name: field for field in fields}


def titles(fields: Fields) -> dict[str, str]:
    """Field → what messages to people call it."""
    return {name: field.title for name, field in fields.items()}


def to_dict(fields: Fields, problem: Any) -> dict[str, Any]:
    """The problem in JSON types, every field; None for what it does not have."""
    values = {name: field.of(problem) for name, field in fields.items()}
    kept = {name: value for name, value in values.items() if not (fields[name].brief and value == fields[name].default)}
    return {name: None if value is None else fields[name].dump(value) for name, value in kept.items()}


def from_dict(fields: Fields, data: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the problem in a file, every field named in messages as there; those it lacks are left out.

    Raises
    ------
    InputError : a field is missing or holds what is not accepted.
    """
    for name, field in fields.items():
        if field.required and name not in data:
            raise InputError(name, "(missing)", "a field of this name")
    optional = {name for name, field in fields.items() if field.default is None and not field.required}
    given = {name for name in fields.keys() & data.keys() if data[name] is not None or name not in optional}
    return {name: field.load(data[name], name) for name, field in fields.items() if name in given}


def finite(number: float | None) -> float | None:
    """The number, or None for what JSON cannot say."""
    return None if number is None or not math.isfinite(number) else float(number)
