"""What exported Python scripts are made of: the samplers' own source, and numbers as literals. They need nothing but
Python."""

from __future__ import annotations

import inspect
import json
import sys
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from string import Template
from types import CodeType, FunctionType, ModuleType
from typing import Any


@dataclass(frozen=True)
class LawScript:
    """What a script needs for a law: imports, its numbers with `added(value)`, and what a release is, in words.

    number : what a release is, int where the lattice has whole numbers only: counts have no decimal point.
    """

    imports: set[str]
    text: str
    told: str = "The value plus one exact draw, as the nearest float."
    number: str = "float"


def carried(*functions: Callable[..., object]) -> tuple[set[str], str]:
    """(import statements, source) of functions and of all functions, classes and whole-number constants of this package
    that they use, as they are written, so that a script runs what the tests test."""
    imports = {"from __future__ import annotations"}  # what annotations name is not carried
    constants: dict[str, str] = {}
    found: list[str] = []
    seen: set[str] = set()

    def visit(one: FunctionType | type) -> None:
        if one.__name__ in seen:
            return
        seen.add(one.__name__)
        for name, value in _used(one):
            if isinstance(value, ModuleType):
                imports.add(f"import {value.__name__}")
            elif isinstance(value, FunctionType | type) and value.__module__.startswith(f"{__package__}."):
                visit(value)
            elif isinstance(value, int):
                constants[name] = f"{name} = {value!r}\n"
            else:
                imports.add(f"from {_home(value, name)} import {name}")
        found.append(inspect.getsource(one))

    for function in functions:
        assert isinstance(function, FunctionType)
        visit(function)
    return imports, "\n\n".join(["".join(constants.values()), *found] if constants else found)


def _used(one: FunctionType | type) -> list[tuple[str, Any]]:
    """Names outside that the code of a function, or of a class's methods, looks up, and what they are there."""
    parts = [one] if isinstance(one, FunctionType) else [m for m in vars(one).values() if isinstance(m, FunctionType)]
    pairs = ((name, part.__globals__.get(name)) for part in parts for name in _names(part.__code__))
    return [(name, value) for name, value in pairs if value is not None]


def _home(value: Any, name: str) -> str:
    """The module that a value is imported from: the outermost one that has it under this name."""
    module: str = value.__module__.lstrip("_")
    outermost = module.partition(".")[0]
    return outermost if getattr(sys.modules.get(outermost), name, None) is value else module


def _names(code: CodeType) -> list[str]:
    """Names that a function's code and the code inside it look up elsewhere."""
    inner = [name for part in code.co_consts if isinstance(part, CodeType) for name in _names(part)]
    return [*code.co_names, *inner]


def in_order(imports: Iterable[str]) -> str:
    """Import statements as they are usually written: modules first, names of one module together."""
    whole = sorted({line for line in imports if line.startswith("import")})
    names: dict[str, set[str]] = {}
    for line in set(imports) - set(whole):
        module, _, name = line.removeprefix("from ").partition(" import ")
        names.setdefault(module, set()).add(name)
    parts = [f"from {module} import {', '.join(sorted(named))}" for module, named in sorted(names.items())]
    first = [line for line in parts if "__future__" in line]
    return "\n".join([*first, *whole, *(line for line in parts if line not in first)])


def filled(template: str, **values: object) -> str:
    return Template(template).substitute(values)


def summary(lines: Iterable[str]) -> str:
    """Lines of a docstring, none of them too long; quotation marks in them do not end it."""
    text = "\n".join(textwrap.fill(line, 110) for line in lines)
    return text.replace("\\", "\\\\").replace('"', '\\"')


def literal(data: dict[str, Any]) -> str:
    """A Python literal, one key a line."""
    rows = (f"    {json.dumps(key)}: {value!r}," for key, value in data.items())
    return "{\n" + "\n".join(rows) + "\n}"


def wrapped(numbers: Iterable[object], indent: str = "    ") -> str:
    """The inside of a list, several numbers a line."""
    text = ", ".join(map(repr, numbers)) + ","
    return textwrap.fill(text, 110, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
