"""Plans as TOML, the same for the page and the command line."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from .. import json_checks as checks
from ..errors import InputError
from ..extras import needs
from .plan import BY_WEIGHT, MOST_LINES, SPLITS, Line, Plan
from .public import LONGEST_NAME, Category, Column, Number, People, shown
from .statistics import STATISTICS, Condition, Statistic, groups

FORMAT = 1
LARGEST = 1 << 20
"""Bytes of a plan."""

KINDS = {"number": Number, "category": Category}


def load_plan(path: str | Path) -> Plan:
    """The plan in a file.

    Raises
    ------
    InputError : no such file, no TOML, or a plan with a mistake; the field is named.
    """
    where = Path(path)
    try:
        if where.stat().st_size > LARGEST:
            raise InputError("plan", str(path), f"a file of at most {LARGEST >> 20} MB")
        return plan_from_toml(where.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise InputError("plan", str(path), "a TOML file") from None


def plan_from_toml(text: str) -> Plan:
    """The plan that a text tells.

    Raises
    ------
    InputError : as `load_plan`.
    """
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError("plan", str(error), "a file in TOML") from None
    _known(told, "plan", {"format", "title", "people", "columns", "lines", "budget"})
    if told.get("format") != FORMAT or isinstance(told["format"], bool):
        raise InputError("format", told.get("format", "(missing)"), f"{FORMAT}")
    people = checks.mapping(told.get("people", {}), "people")
    _known(people, "people", {one.name for one in fields(People)})
    columns = {name: _column(name, one) for name, one in checks.mapping(told.get("columns", {}), "columns").items()}
    lines = told.get("lines")
    if not isinstance(lines, list):
        raise InputError(
            "lines", "(missing)" if lines is None else checks.short(lines), "one [[lines]] for every statistic"
        )
    budget = checks.mapping(told.get("budget", {}), "budget")
    _known(budget, "budget", {"epsilon", "delta", "split"})
    return Plan(
        People(**people), columns, tuple(line for i, one in enumerate(lines, 1) for line in _lines(one, i, columns)),
        budget.get("epsilon"), budget.get("delta", 0.0), checks.text(told.get("title", ""), "title", "a text", 500),
        checks.text(budget.get("split", BY_WEIGHT), "budget.split", f"one of: {', '.join(SPLITS)}", 50),
    )  # fmt: skip


def _known(given: dict[str, Any], where: str, names: set[str]) -> None:
    for name in given:
        if name not in names:
            raise InputError(where, name, f"one of {', '.join(sorted(names))}")


def _column(name: str, told: Any) -> Column:
    where = f"columns.{name}"
    given = dict(checks.mapping(told, where))
    kind = KINDS.get(str(given.pop("type", "")))
    if kind is None:
        raise InputError(f"{where}.type", told.get("type", "(missing)"), f"one of {', '.join(KINDS)}")
    names = {one.name for one in fields(kind)} - {"name"}
    _known(given, where, names)
    for needed in ("low", "high", "values"):
        if needed in names and needed not in given:
            raise InputError(f"{where}.{needed}", "(missing)", "a public statement, not looked up in the data")
    for listed in ("values", "edges"):
        if listed in given:
            given[listed] = _list(given[listed], f"{where}.{listed}")
    made: Column = kind(name=name, **given)
    return made


def _lines(told: Any, place: int, columns: Mapping[str, Column]) -> Iterator[Line]:
    """The line; or, with `each`, one for every group of these columns, of the same share and noise."""
    given = dict(checks.mapping(told, f"lines {place}"))
    each = given.pop("each", None)
    line = _line(given, place)
    if each is None:
        yield line
        return
    field = f"lines.{line.name}.each"
    names = _list([each] if isinstance(each, str) else each, field)
    if wrong := [name for name in names if not isinstance(name, str) or name not in columns] or ([] if names else [""]):
        raise InputError(field, checks.short(wrong[0]), f"columns of the plan: {shown(columns)}")
    if (many := math.prod(len(columns[name].labels) for name in names)) > MOST_LINES:
        raise InputError(field, f"{many} groups", f"at most {MOST_LINES}")
    for chosen in product(*(groups(columns[name]) for name in names)):
        label = " · ".join(label for label, _ in chosen)
        where = (*line.statistic.where, *(one for _, some in chosen for one in some))
        yield replace(line, statistic=replace(line.statistic, name=f"{line.name}: {label}", where=where))


def _line(given: dict[str, Any], place: int) -> Line:
    told = dict(given)
    kind = STATISTICS.get(str(given.pop("what", "")))
    if kind is None:
        raise InputError(f"lines {place}.what", told.get("what", "(missing)"), f"one of {', '.join(STATISTICS)}")
    own = {one.name for one in fields(Line)} - {"statistic"}
    names = {"is" if one.name == "is_" else one.name for one in fields(kind)}
    _known(given, f"lines {place}", own | names | {"each"})
    name = checks.text(given.pop("name", f"{kind.title} {place}"), f"lines {place}.name", "a text", 200)
    told_of = given.pop("of", [])
    of = _list([told_of] if isinstance(told_of, str) else told_of, f"lines.{name}.of")
    of = tuple(checks.text(one, f"lines.{name}.of", "names of columns", LONGEST_NAME) for one in of)
    where = _list(given.pop("where", []), f"lines.{name}.where")
    where = tuple(_condition(one, f"lines.{name}.where") for one in where)
    extra = {("is_" if key == "is" else key): given.pop(key) for key in list(given) if key in names}
    for switch in ("full_support", "non_negative", "spread"):
        if switch in told:
            checks.switch(told[switch], f"lines.{name}.{switch}")
    for word in {"is_", "noise"} & {*extra, *given}:
        checks.text({**extra, **given}[word], f"lines.{name}.{word.strip('_')}", "a text", LONGEST_NAME)
    statistic: Statistic = kind(name, of, where, **extra)
    return Line(statistic, **given)


def _list(told: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(told, list):
        raise InputError(where, checks.short(told), "a list")
    return tuple(told)


def _condition(told: Any, where: str) -> Condition:
    if not isinstance(told, list) or len(told) != 3 or not all(isinstance(one, str) for one in told[:2]):
        raise InputError(where, checks.short(told), 'a list such as ["age", ">=", 65]')
    return Condition(*told)


def draft_of(names: Mapping[str, bool]) -> str:
    """A plan to be filled in about columns of these names; True: they hold numbers. What has to be stated is left open:
    it is never looked up in the data."""
    with needs("data"):
        import tomli_w
    columns = {name: {"type": "number" if numbers else "category"} for name, numbers in names.items()}
    text = tomli_w.dumps({"columns": columns})
    for kind, open_ends in (("number", ("low = ", "high = ")), ("category", ("values = []",))):
        told = "".join(f"# {one}\n" for one in open_ends)
        text = text.replace(f'type = "{kind}"\n', f'type = "{kind}"\n{told}')
    return f"{_DRAFT}\n{text}"


_DRAFT = """\
format = 1

[people]
neighbours = "add or remove one person"

[[lines]]
name = "people"
what = "count"

[budget]
epsilon = 1

# State bounds and values that everybody may know, never those of the data, and remove columns that no line is about.
"""


def plan_to_toml(plan: Plan) -> str:
    """The plan as text, which `plan_from_toml` reads back."""
    with needs("data"):
        import tomli_w
    return tomli_w.dumps(plan_to_dict(plan))


def plan_to_dict(plan: Plan) -> dict[str, Any]:
    """The plan in the types of TOML; what has its usual value is left out."""
    told: dict[str, Any] = {"format": FORMAT}
    if plan.title:
        told["title"] = plan.title
    told["people"] = _changed(plan.people, ("neighbours",))
    told["columns"] = {
        name: {"type": next(k for k, kind in KINDS.items() if isinstance(one, kind)), **_changed(one, ())}
        for name, one in plan.columns.items()
    }
    for one in told["columns"].values():
        del one["name"]
    told["lines"] = [_told(line) for line in plan.lines]
    told["budget"] = {"epsilon": plan.epsilon} if plan.epsilon is not None else {}
    told["budget"] |= {"delta": plan.delta} | ({"split": plan.split} if plan.split != BY_WEIGHT else {})
    return told


def _told(line: Line) -> dict[str, Any]:
    statistic = _changed(line.statistic, ())
    if "where" in statistic:
        statistic["where"] = [[one.column, one.operator, one.value] for one in line.statistic.where]
    if "is_" in statistic:
        statistic["is"] = statistic.pop("is_")
    own = _changed(line, ("noise",))
    del own["statistic"]
    return {"name": statistic.pop("name"), "what": line.statistic.key, **statistic, **own}


def _changed(thing: Any, always: tuple[str, ...]) -> dict[str, Any]:
    """Its fields but those that have their usual value."""
    told = {}
    for one in fields(thing):
        value = getattr(thing, one.name)
        if one.name in always or value != one.default:
            told[one.name] = list(value) if isinstance(value, tuple) else value
    return told
