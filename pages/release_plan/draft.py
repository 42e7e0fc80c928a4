"""A plan while it is being written: texts as they were typed, in the link, and a plan where all of them are accepted.

Nothing is lost on a bad entry: it stays in the draft, and so in the link, with a complaint beside it. Pure.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dpcore._validate import above, in_range
from dpcore.errors import InputError
from dpcore.numbers import WRITE, read_number, read_numbers, write_number
from dpcore.plan import laws
from dpcore.plan.plan import LARGEST_ERROR, MOST_LINES, WEIGHTS, Line, Plan
from dpcore.plan.public import BOUND, STEP, Category, Column, Number, People, distinct, shown
from dpcore.plan.statistics import STATISTICS, Condition, Statistic, groups
from pages.shared import prose
from pages.shared.address import LONGEST, Text
from pages.shared.fields import listed
from pages.shared.messages import explain

MOST_COLUMNS, LONGEST_TITLE = 50, 200
LARGEST = 200_000
"""Characters of an unpacked list."""


@dataclass(frozen=True)
class ColumnDraft:
    """A column as it was typed; numbers are texts."""

    name: str = ""
    kind: str = "number"
    low: str = ""
    high: str = ""
    step: str = ""
    edges: str = ""
    values: str = ""
    shape: str = "bell"


@dataclass(frozen=True)
class LineDraft:
    """A line as it was typed.   ask : "weight" or "within", what the amount means.   about : how large it may be."""

    name: str = ""
    what: str = "count"
    of: tuple[str, ...] = ()
    where: str = ""
    value: str = ""
    q: str = "0.5"
    noise: str = laws.LAPLACE
    ask: str = "weight"
    amount: str = "1"
    full_support: bool = True
    non_negative: bool = False
    spread: bool = False
    about: str = ""


Drafts = Sequence[Any]

# In the link ------------------------------------------------------------------------------------------


def pack(drafts: Drafts) -> str:
    """The list as a short text for a link; what has its first value is left out."""
    rows = []
    for one in drafts:
        first = asdict(type(one)())
        rows.append({name: value for name, value in asdict(one).items() if value != first[name]})
    if not rows:
        return ""
    raw = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(zlib.compress(raw, 9)).decode().rstrip("=")


def unpack(kind: type, text: str) -> list:
    """The list of a text; ValueError where it is none."""
    if not text:
        return []
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        rows = json.loads(zlib.decompressobj().decompress(packed, LARGEST))
    except (zlib.error, RecursionError) as error:
        raise ValueError(text) from error
    if not isinstance(rows, list) or len(rows) > max(MOST_COLUMNS, MOST_LINES):
        raise ValueError(text)
    return [_unpacked(kind, row) for row in rows]


def _unpacked(kind: type, row: Any) -> Any:
    if not isinstance(row, dict):
        raise ValueError(row)
    first, found = asdict(kind()), {}
    for name, value in row.items():
        if isinstance(first[name], tuple):
            value = tuple(value) if isinstance(value, list) else value
        parts = value if isinstance(value, tuple) else (value,) if isinstance(value, str) else ()
        if type(value) is not type(first[name]) or any(not isinstance(part, str) for part in parts):
            raise ValueError(value)
        for part in parts:
            part.encode()  # half a character is no text
        found[name] = value
    made = kind(**found)
    if (choices := CHOICES.get(kind)) and any(getattr(made, name) not in options for name, options in choices.items()):
        raise ValueError(row)
    return made


KINDS = {"number": "numbers", "category": "categories"}
ASKS = {"weight": "a share of ε", "within": "an error I can afford"}
NOISES = {laws.LAPLACE: "Laplace", laws.GAUSSIAN: "Gaussian", laws.OPTIMUM: "certified optimum"}
SHAPES = {"even": "evenly spread", "bell": "most in the middle", "falling": "most at the lower end"}
CHOICES = {
    ColumnDraft: {"kind": KINDS, "shape": SHAPES},
    LineDraft: {"what": STATISTICS, "noise": NOISES, "ask": ASKS},
}  # fmt: skip


@dataclass(frozen=True)
class Packed(Text):
    """Columns or lines in the link."""

    longest: int = LONGEST
    kind: type = ColumnDraft

    def read(self, text: str) -> str:
        unpack(self.kind, super().read(text))
        return text


# As a plan --------------------------------------------------------------------------------------------

Place = tuple[str, int, str]
"""(list, row, field) of an entry; ("", 0, name) of a control."""

LABELS = {
    "name": "name", "low": "lower bound", "high": "upper bound", "step": "step", "edges": "group edges",
    "values": "categories", "of": "column", "where": "filter", "is": "value", "q": "share below",
    "weight": "weight", "within": "error", "number": "number of people", "rows_each": "rows of one person",
    "identifier": "identifier", "columns": "column name", "about": "size", "epsilon": "ε", "delta": "δ",
    "lines": "statistics",
}  # fmt: skip
"""Field → its name in messages."""

OWN = {"is": "value", "weight": "amount", "within": "amount", "columns": "name", "bound": "edges", "number": "people",
       "lower bound": "low", "upper bound": "high"}  # fmt: skip
"""Field of the core → that of the draft."""

FIRST = {
    "values": "categories, separated by commas",
    "low": "a number that is public",
    "high": "a number that is public",
}


@dataclass
class Reading:
    """A draft that was read: the plan, or what is wrong where."""

    columns: dict[str, Column] = field(default_factory=dict)
    statistics: list[Statistic | None] = field(default_factory=list)
    people: People = field(default_factory=People)
    plan: Plan | None = None
    complaints: dict[Place, str] = field(default_factory=dict)

    def complain(self, rows: str, row: int, error: InputError, at: str = "") -> None:
        """Keep what was wrong; the first complaint about a place stands."""
        name = error.field.rpartition(".")[2]
        place = rows, row, at or OWN.get(name, name)
        self.complaints.setdefault(place, in_words(error))


def in_words(error: InputError) -> str:
    """A complaint in Markdown, in which names of columns and values stand for themselves."""
    name = error.field.rpartition(".")[2]
    accepted, mark, write = error.accepted.partition(WRITE)
    told = InputError(name, error.value, prose.literal(accepted, 400) + mark + prose.literal(write))
    return explain(told, {name: LABELS.get(name) or prose.literal(name, 60)})


def read(values: Mapping[str, Any]) -> Reading:
    """The plan that the page's values describe."""
    found = Reading()
    drafts = unpack(ColumnDraft, values["columns"])
    for row, draft in enumerate(drafts):
        _read_column(found, row, draft)
    found.people = _people(found, values)
    lines = [
        _read_line(found, row, draft, title)
        for row, (draft, title) in enumerate(named(unpack(LineDraft, values["lines"])))
    ]
    taken: set[str] = set()
    for row, line in enumerate(lines):
        if line is not None and line.name in taken:
            found.complain("lines", row, InputError("name", line.name, "a name of its own for every statistic"))
        taken |= {line.name} if line is not None else set()
    if found.complaints:
        return found
    kept = tuple(line for line in lines if line is not None)
    needs_epsilon = any(line.within is None for line in kept)
    try:
        found.plan = Plan(
            found.people, found.columns, kept, values["epsilon"] if needs_epsilon else None, values["delta"],
            str(values["title"] or ""), values["split"],
        )  # fmt: skip
    except InputError as error:
        found.complain("", 0, error)
    return found


def _people(found: Reading, values: Mapping[str, Any]) -> People:
    try:
        named = str(values["identifier"] or "").strip()
        return People(values["neighbours"], values["people"], named, int(values["rows_each"]) if named else 1)
    except InputError as error:
        found.complain("", 0, error)
        return People()


def _read_column(found: Reading, row: int, draft: ColumnDraft) -> None:
    name = draft.name.strip()
    try:
        distinct([*found.columns, name])
        made: Column
        if draft.kind == "category":
            made = Category(name, listed(draft.values), draft.shape)
        else:
            limits = {}
            for limit in ("low", "high"):
                try:
                    limits[limit] = _number(limit, getattr(draft, limit), BOUND.low, BOUND.high)
                except InputError as error:
                    found.complain("columns", row, error)
            if len(limits) < 2:
                Category(name, ("any",))  # whose name is checked as well
                return
            step = _number("step", draft.step, STEP.low, STEP.high) if draft.step.strip() else None
            edges = (
                read_numbers(draft.edges, "edges", "rising numbers, separated by commas") if draft.edges.strip() else []
            )
            made = Number(name, limits["low"], limits["high"], step, tuple(edges), draft.shape)
        found.columns[name] = made
    except InputError as error:
        found.complain("columns", row, error)


def _number(name: str, text: str, low: float, high: float) -> float:
    if not text.strip():
        raise InputError(name, None, FIRST.get(name, "a number"))
    return in_range(low, high, **{LABELS[name]: text})


def _read_line(found: Reading, row: int, draft: LineDraft, title: str) -> Line | None:
    """The line; the statistic is kept where the rest is refused."""
    found.statistics.append(None)
    try:
        statistic = _statistic(found, draft, title)
        statistic.totals(found.people, found.columns)
        statistic.ranks(found.people, found.columns)
        found.statistics[-1] = statistic
    except InputError as error:
        about_column = error.field.startswith("columns.")
        found.complain("lines", row, error, at="of" if about_column else "")
        return None
    try:
        amount = draft.amount.strip()
        if draft.ask == "within":
            share = {"within": above(0, LARGEST_ERROR, within=amount or "nothing")}
        else:
            share = {"weight": in_range(*WEIGHTS, weight=amount or "nothing")}
        if about := draft.about.strip():
            share["about"] = above(0, LARGEST_ERROR, about=about)
        return Line(statistic, draft.noise, full_support=draft.full_support, non_negative=draft.non_negative, **share)
    except InputError as error:
        found.complain("lines", row, error)
        return None


def _statistic(found: Reading, draft: LineDraft, title: str) -> Statistic:
    kind = STATISTICS[draft.what]
    of = () if draft.what == "count" else draft.of
    more = {"q": read_number(draft.q, "q")} if draft.what == "quantile" else {}
    more |= {"is_": draft.value} if draft.what == "proportion" else {}
    more |= {"spread": draft.spread} if draft.what == "mean" else {}
    return kind(title, of, conditions(draft.where, found.columns), **more)


_SIGNS = {"≤": "<=", "≥": ">=", "≠": "!=", "==": "="}
_TEXT = r'"(?:[^"]|"")*"'
_CONDITION = re.compile(rf"""\s*({_TEXT}|.+?)\s*(<=|>=|!=|==|[≤≥≠=<>])\s*({_TEXT}|.+?)\s*""")
_BETWEEN = re.compile(r"""(?:;|\n|\band\b)(?=(?:[^"]*"[^"]*")*[^"]*$)""")


def conditions(text: str, columns: Mapping[str, Column]) -> tuple[Condition, ...]:
    """The conditions of a filter such as "age > 65 and sex = female"."""
    found = []
    for part in _BETWEEN.split(text):
        if not part.strip():
            continue
        told = _CONDITION.fullmatch(part)
        if told is None:
            raise InputError("where", part.strip(), "conditions such as age > 65 and sex = female")
        name, sign, value = map(_unquoted, told.groups())
        column = columns.get(name)
        if column is None:
            raise InputError("where", name, f"a column: {shown(columns)}")
        found.append(
            Condition(
                name, _SIGNS.get(sign, sign), read_number(value, "where") if isinstance(column, Number) else value
            )
        )
    return tuple(found)


# Names ------------------------------------------------------------------------------------------------


def named(drafts: Sequence[LineDraft]) -> list[tuple[LineDraft, str]]:
    """Every line with its name: the one that was given, or one made of what it is."""
    found: list[tuple[LineDraft, str]] = []
    for draft in drafts:
        title, taken = draft.name.strip() or described(draft), [title for _, title in found]
        if not draft.name.strip() and title in taken:
            title = next(text for i in range(2, 100) if (text := f"{title[:190]} ({i})") not in taken)
        found.append((draft, title))
    return found


def by_groups(draft: LineDraft, title: str, column: Column) -> list[LineDraft]:
    """One line for every group of a column in place of this one."""
    made = []
    for label, some in groups(column):
        where = " and ".join([*([draft.where.strip()] * bool(draft.where.strip())), *map(_filter, some)])
        made.append(replace(draft, name=f"{title[:120]}: {label[:70]}", where=where))
    return made


def described(draft: LineDraft) -> str:
    """A statistic in words."""
    of = " and ".join(draft.of) or "…"
    quantile = {"0.5": "median", "0.25": "lower quartile of", "0.75": "upper quartile of"}
    text = {
        "count": "people", "histogram": f"people by {of}", "sum": f"sum of {of}", "mean": f"mean {of}",
        "proportion": f"share of {draft.value or '…'}",
        "quantile": f"{quantile.get(draft.q.strip(), f'{draft.q} quantile of')} {of}",
    }[draft.what]  # fmt: skip
    return f"{text} where {draft.where.strip()}"[:200] if draft.where.strip() else text[:200]


def summary(draft: ColumnDraft) -> str:
    """A column in a few words, Markdown in which names stand for themselves."""
    name = prose.literal(draft.name.strip(), 40) or "a column"
    if draft.kind == "category":
        values = listed(draft.values)
        shown = ", ".join(values[:4]) + (" …" if len(values) > 4 else "")
        return f"**{name}** · one of {prose.literal(shown, 80)}" if values else f"**{name}** · categories"
    if not draft.low.strip() or not draft.high.strip():
        return f"**{name}** · numbers"
    step = f", steps of {prose.literal(draft.step, 20)}" if draft.step.strip() else ""
    groups = len(read_edges(draft.edges)) - 1
    told = f", {groups} groups" if groups > 0 else ""
    return f"**{name}** · {prose.literal(draft.low, 20)} to {prose.literal(draft.high, 20)}{step}{told}"


def read_edges(text: str) -> list[float]:
    """Edges as far as they can be read."""
    try:
        return list(read_numbers(text, "edges", "numbers")) if text.strip() else []
    except InputError:
        return []


# Back from a plan -------------------------------------------------------------------------------------


def values_of(plan: Plan) -> dict[str, Any]:
    """What the page's controls hold for a plan."""
    people = plan.people
    return {
        "title": plan.title, "neighbours": people.neighbours, "people": people.number,
        "identifier": people.identifier, "rows_each": people.rows_each,
        "columns": pack([_column_draft(one) for one in plan.columns.values()]),
        "lines": pack([_line_draft(line) for line in plan.lines]), "delta": plan.delta, "split": plan.split,
        **({} if plan.epsilon is None else {"epsilon": plan.epsilon}),
    }  # fmt: skip


def opened(plan: Plan) -> dict[str, Any]:
    """As `values_of`, of any plan.

    Raises
    ------
    InputError : the page would read something of it otherwise; that is named.
    """
    if len(plan.columns) > MOST_COLUMNS:
        raise InputError("columns", f"{len(plan.columns)} of them", f"at most {MOST_COLUMNS} on a page")
    if len(plan.title) > LONGEST_TITLE:
        raise InputError("title", f"{len(plan.title)} characters", f"at most {LONGEST_TITLE} on a page")
    values = values_of(plan)
    read_again = read({"epsilon": None} | values)
    for name, column in plan.columns.items():
        if read_again.columns.get(name) != column:
            raise InputError("columns", name, "a name and values that can be typed on a page")
    known = read_again.plan.lines if read_again.plan is not None else ()
    for line in plan.lines:
        if line not in known:
            raise InputError("lines", line.name, "a name and a filter that can be typed on a page")
    return values


def _column_draft(column: Column) -> ColumnDraft:
    if isinstance(column, Category):
        between = "\n" if any(re.search("[,;]", value) for value in column.values) else ", "
        return ColumnDraft(
            column.name, "category", values=between.join(column.values) + between.strip(", "), shape=column.shape
        )
    edges = ", ".join(map(write_number, column.edges))
    low, high, step = map(write_number, (column.low, column.high, column.step or 1.0))
    return ColumnDraft(column.name, "number", low, high, step, edges, shape=column.shape)


def _line_draft(line: Line) -> LineDraft:
    one = line.statistic
    where = " and ".join(map(_filter, one.where))
    ask, amount = ("weight", line.weight) if line.within is None else ("within", line.within)
    return LineDraft(
        one.name, one.key, tuple(one.of), where, getattr(one, "is_", ""), write_number(getattr(one, "q", 0.5)),
        line.noise, ask, write_number(amount), line.full_support, line.non_negative, getattr(one, "spread", False),
        "" if line.about is None else write_number(line.about),
    )  # fmt: skip


def _filter(one: Condition) -> str:
    return f"{_quoted(one.column)} {one.operator} {_quoted(one.value)}"


def _quoted(value: str | float) -> str:
    """A value as it stands in a filter."""
    if not isinstance(value, str):
        return write_number(value)
    if value.strip() == value and not re.search(r'[";\n=<>!≤≥≠]|\band\b|^$', value):
        return value
    return '"' + value.replace('"', '""') + '"'


def _unquoted(text: str) -> str:
    """What a part of a filter says; quotes around all of it are none of its characters."""
    return text[1:-1].replace('""', '"') if re.fullmatch(_TEXT, text) else text
