"""A plan on one page of HTML, for whoever has to answer for it: what is promised to whom, by what means, at what cost.

The page has no script and nothing from elsewhere; every text in it is escaped. Numbers that bound something are rounded
to its safe side.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from html import escape

from .. import __version__, numerals
from ..loss import absolute
from . import laws
from .budget import Priced, Split
from .files import plan_to_toml
from .public import ADD_REMOVE, Category, Column, People
from .report import Expected, expected
from .statistics import Condition

ALARMS = 0.05
"""False alarms of a test for one person: how often it may point at somebody who is not there."""

SHOWN = 12
"""Values or edges of a column that are listed."""

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1><p>{subtitle}</p></header>
{sections}
<footer>{footer}</footer>
</body>
</html>
"""

_STYLE = """
:root { color-scheme: light dark; --line: #9ca3af; --soft: #f3f4f6; --accent: #0067A5; }
@media (prefers-color-scheme: dark) { :root { --line: #6b7280; --soft: #1f2937; --accent: #7cc4f5; } }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 58rem; margin: 2em auto; padding: 0 1em; }
header p, footer, small { color: color-mix(in srgb, currentColor 70%, transparent); }
h1 { font-size: 1.6em; margin: 0; overflow-wrap: anywhere; }
header p { margin: 0.1em 0 1em; }
h2 { font-size: 1.05em; color: var(--accent); margin: 1.1em 0 0.3em; break-after: avoid; }
p, ul { margin: 0.3em 0; } ul { padding-left: 1.2em; } small { font-size: 0.9em; }
.promise { background: var(--soft); border-left: 4px solid var(--accent); padding: 0.5em 0.8em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.9em; line-height: 1.3; }
table { font-variant-numeric: tabular-nums; }
.lines { min-width: 46em; }
th, td { text-align: left; vertical-align: top; padding: 0.3em 0.8em 0.3em 0; }
th, td { border-bottom: 1px solid var(--line); }
td:first-child { overflow-wrap: anywhere; min-width: 9em; } tr { break-inside: avoid; }
footer { font-size: 0.8em; margin-top: 1em; overflow-wrap: anywhere; }
@page { size: A4; margin: 12mm; }
@media print {
  :root { color-scheme: light; --line: #9ca3af; --soft: #f3f4f6; --accent: #0067A5; }
  body { font-size: 8.6pt; line-height: 1.3; margin: 0; padding: 0; max-width: none; background: #fff; color: #000; }
  .wide { overflow: visible; } .lines { min-width: 0; }
}
"""


def plan_report(split: Split) -> str:
    """The page."""
    plan = split.plan
    told = expected(split)
    digest = hashlib.sha256(plan_to_toml(plan).encode()).hexdigest()
    sections = [
        _section("What is promised", _promise(split)),
        _section("To whom", _whom(plan.people)),
        _section("What is published", _lines(told)),
        _section("What it costs", _cost(split)),
        _section("What was stated as public", _public(split)),
        _section("What is not promised", _rest(split)),
    ]
    if plan.warnings:
        sections.insert(0, _section("To think over", _list(map(escape, plan.warnings))))
    return _PAGE.format(
        title=escape(f"Release plan: {plan.title}" if plan.title else "Release plan"), style=_STYLE,
        subtitle="For the data-protection officer. Made before any data were read.", sections="\n".join(sections),
        footer=f"DP Frontier {escape(__version__)}. SHA-256 of the plan, as in the ledger: {digest}",
    )  # fmt: skip


def most_power(epsilon: float, delta: float, alarms: float) -> float:
    """The most often that a test with so many false alarms can be right about (ε, δ)-differentially private numbers
    [Wasserman and Zhou 2010, Thm. 2.4]."""
    return min(1.0, math.exp(epsilon) * alarms + delta, 1 - math.exp(-epsilon) * max(1 - alarms - delta, 0.0))


def _promise(split: Split) -> str:
    epsilon, delta = split.total, split.plan.delta
    power = numerals.percent_up(most_power(epsilon, delta, ALARMS))
    rare = f", but for an extra probability of {_delta(delta)}" if delta else ""
    factor = numerals.at_most(math.exp(epsilon), 3)
    without = "without them" if split.plan.people.neighbours == ADD_REMOVE else "with any other in their place"
    return (
        f'<p class="promise">All numbers together are <strong>({_up(epsilon)}, {_delta(delta)})'
        f"-differentially private</strong>: whatever they show is at most {factor} times as likely with a person’s "
        f"data as it would be {without}, and the other way round{rare}. Whoever tries to tell by the numbers whether a "
        f"person’s data are there, and is wrong in {100 * ALARMS:g}\u202f% of the cases in which they are not, finds "
        f"them in at most {power} of those in which they are, whatever else is known.</p>"
    )


def _whom(people: People) -> str:
    own = "Every row is a person of its own."
    if people.identifier:
        rows = "one row of each counts" if people.rows_each == 1 else f"{people.rows_each} rows of each count"
        whose = f"Rows with the same “{escape(people.identifier)}” are one person’s"
        own = f"{whose}; {rows}, others are dropped by chance."
    if people.neighbours == ADD_REMOVE:
        return (
            "<p>Neighbouring data sets differ by one person who is in one of them and not in the other: protected is "
            f"whether a person is in the data at all, with everything that is told of them. {own}</p>"
        )
    return (
        "<p>Neighbouring data sets have as many people and tell something else of one: protected is what the data say "
        f"of a person, and how many people there are is public. {own}</p>"
    )


def _lines(told: Sequence[Expected]) -> str:
    head = "Number", "One person changes", "Noise", "ε, δ", "± with 95\u202f%", "Proof"
    return _table(head, [_line(one) for one in told], "lines")


def _line(one: Expected) -> list[str]:
    priced = one.priced
    statistic = priced.line.statistic
    of = f" of {', '.join(statistic.of)}" if statistic.of else ""
    where = f", where {' and '.join(map(_condition, statistic.where))}" if statistic.where else ""
    title = f"{statistic.title}{of}{where}"
    if share := getattr(statistic, "q", None):
        title = f"{share:g}-quantile{of}{where}"
    unit = " ranks" if priced.ranks is not None else ""
    changes = [
        formula if unit else f"{numerals.plain(size)}{_formula(formula, size)}" for formula, size, _ in one.parts
    ]
    noise = "exponential mechanism" if priced.ranks is not None else laws.LAWS[priced.line.noise].name
    if one.error is not None:
        errors = [f"±{numerals.at_most(one.error, 3)}"]
    else:
        errors = [f"±{numerals.at_most(width, 3)}{unit}" for _, _, width in one.parts]
        errors += ["of the sums"] * (len(errors) > 1)
    name = f"{escape(statistic.name)}<br><small>{escape(title)}</small>"
    spent = [_up(priced.privacy.epsilon), _delta(priced.privacy.delta)]
    return [name, _lined(changes), escape(noise), _lined(spent), _lined(errors), escape(_proof(one))]


def _formula(formula: str, size: float) -> str:
    return "" if formula == f"{size:g}" else f" = {formula}"


def _proof(one: Expected) -> str:
    """What the privacy of a line's noise rests on, and how far it is from the best."""
    if one.priced.ranks is None and one.priced.line.noise == laws.OPTIMUM:
        return _certificates(one.priced)
    return "; ".join(filter(None, ("closed form, drawn exactly", one.verdict)))


def _certificates(priced: Priced) -> str:
    """Certificates of the noise of all totals together: the largest δ and the largest gap."""
    losses = [None if total.squares else priced.loss for total in priced.totals]
    full = priced.line.full_support
    proofs = [
        laws.optimum(total, priced.part, full, loss or absolute()).certificate
        for total, loss in zip(priced.totals, losses)
    ]
    delta = _delta(max(proof.delta_upper for proof in proofs))
    gaps = [proof.gap for proof in proofs if proof.gap is not None]
    gap = f"; at most {numerals.percent_up(max(gaps))} from the best possible" if len(gaps) == len(proofs) else ""
    return f"audited, drawn exactly: δ ≤ {delta} for each number{gap}"


def _cost(split: Split) -> str:
    saved = split.added - split.total
    gain = f" (added up line by line: {_up(split.added)})" if saved > 1e-9 * split.added else ""
    most, every = max(map(len, split.together)), len(split.lines)
    apart = "" if most == every else (
        f" The filters exclude each other so that one person’s data change {most} of the {every} numbers or tables at "
        "most; the dearest of these are what counts."
    )  # fmt: skip
    often = "every release" if split.times == 1 else f"all {split.times} releases together"
    budget = "" if split.plan.epsilon is None else f" of a budget of {split.plan.epsilon:g}"
    return _list([
        f"ε = <strong>{_up(split.total)}</strong>{budget} and δ = {_delta(split.plan.delta)} for {often}, "
        f"by exact joint accounting{gain}.{apart}",
        "Every further release from the same data, by this plan or another, adds to it. The ledger enters what is "
        "spent before a number is drawn, and refuses more than its budget.",
    ])  # fmt: skip


def _public(split: Split) -> str:
    plan = split.plan
    rows = [[escape(name), *_column(column)] for name, column in plan.columns.items()]
    number = "" if plan.people.number is None else f" About how many people there are was stated: {plan.people.number}."
    if plan.people.counted:
        number = f" How many people there are is public: {plan.people.number}."
    table = _table(("Column", "Between", "In steps of", "Groups"), rows) if rows else ""
    return (
        "<p>Whoever made the plan states that this is known without the data; a bound or a category that was looked up "
        f"in the data would not be protected.{number}</p>{table}"
    )


def _column(column: Column) -> list[str]:
    if isinstance(column, Category):
        return ["", "", escape(_some(column.values))]
    groups = _some([f"{edge:g}" for edge in column.edges])
    return [escape(f"{column.low:g} and {column.high:g}"), escape(f"{column.step:g}"), escape(groups)]


def _some(values: Sequence[str]) -> str:
    shown = ", ".join(values[:SHOWN])
    return shown if len(values) <= SHOWN else f"{shown} and {len(values) - SHOWN} more"


def _rest(split: Split) -> str:
    rank = any(one.ranks is not None for one in split.lines)
    told = [
        "What holds of a group, and follows for its members from the group, is what numbers are published for.",
        "The plan is public: names of columns, conditions, bounds, the laws of the noise.",
        "The data themselves need their own protection, as does the computer that reads them.",
    ]
    if split.plan.people.identifier and split.plan.people.rows_each > 1:
        told.append("Rows beyond those that count are dropped: the promise is for all the data of a person.")
    if rank:
        told.append("The error of a quantile is told in ranks; in the unit of the column it depends on the data.")
    return _list(map(escape, told))


# HTML ------------------------------------------------------------------------------------------------


def _section(title: str, inside: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{inside}</section>"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "plain") -> str:
    """rows : of HTML."""
    top = "".join(f'<th scope="col">{escape(one)}</th>' for one in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _list(entries: Iterable[str]) -> str:
    """entries : HTML."""
    return f"<ul>{''.join(f'<li>{one}</li>' for one in entries)}</ul>"


def _lined(texts: Iterable[str]) -> str:
    return "<br>".join(map(escape, texts))


def _condition(one: Condition) -> str:
    value = one.value if isinstance(one.value, str) else f"{one.value:g}"
    return f"{one.column} {one.operator} {value}"


def _delta(delta: float) -> str:
    """Rounded up; a power of ten as such."""
    head, _, power = (numerals.at_most(delta, 3) if delta else "0").partition(" × ")
    head = head.rstrip("0").rstrip(".") if "." in head else head
    return power if power and head == "1" else " × ".join(filter(None, (head, power)))


def _up(epsilon: float) -> str:
    return numerals.at_most(epsilon, 4)
