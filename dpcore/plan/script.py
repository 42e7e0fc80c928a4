"""A plan as a Python script that needs nothing but Python: the same totals, the same laws, exact draws.

Or one whose noise is OpenDP's, for the lines whose law OpenDP has.
"""

from __future__ import annotations

import math
import textwrap
from typing import Any

from .. import __version__
from .._validate import decimal
from ..errors import InputError
from ..extras import needs
from ..noise import Gaussian, Noise
from ..noise.lattice import whole_law
from ..script import LawScript, carried, filled, in_order, summary
from . import ranks, rows
from .budget import Priced, Split
from .files import plan_to_dict
from .laws import OPTIMUM
from .public import Category, Column, Number
from .statistics import Condition, Total, deviation, ratio

_SCRIPT = '''\
"""$summary

    python release.py people.csv        reads the file once and prints what is published, as JSON

Every run spends the whole budget. $source
"""

$imports
$enabled

VERSION = $version
PLAN = $plan
PRIVACY = {"epsilon": $epsilon, "delta": $delta}  # of everything below together, for one person

$functions

$laws

LINES = [
$lines
]


def release(path):
    """What is published, line by line."""
    people = PLAN["people"]
    data = read(path, people.get("identifier", ""), people.get("rows_each", 1))
    $number
    published = {}
    for line in LINES:
        if "ranks" in line:
            told = line["ranks"]
            numbers = [[draw(*runs(told["first"], told["last"], *occurring(data, told), told["q"]), told["rate"])]]
            values = [float(numbers[0][0] * Fraction(told["unit"]))]
        else:
            numbers = [
                [float(law(Fraction(cell) * Fraction(told["unit"]))) for cell in total(data, told)]
                for told, law in zip(line["totals"], line["laws"])
            ]
            values = numbers[0]
        if "ratio" in line:
            count, *ends = line["ratio"]
            of_rows = numbers[1][0] if count is None else count
            values = [ratio(numbers[0][0], of_rows, *ends)]
            if line["spread"]:
                values.append(deviation(numbers[0][0], numbers[-1][0], of_rows, *ends))
        if line["non_negative"]:
            values = [max(value, 0.0) for value in values]
        if line["whole"]:
            values = [int(value) if value.is_integer() else value for value in values]
        published[line["name"]] = dict(zip(line["cells"], values)) if line["cells"] else values[0]
    return published


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python release.py FILE.csv")
    print(json.dumps(release(sys.argv[1]), indent=2, ensure_ascii=False))
'''

_OWN = "Only whole numbers and the operating system's random source are used for the noise."
_THEIRS = "The noise is drawn by OpenDP (pip install opendp)."

_OPENDP_LAPLACE = """\
step = Fraction("$step")
noisy = dp.m.make_laplace(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=$scale)

def added(value):
    return noisy(int(value / step)) * step
"""

_OPENDP_GAUSSIAN = """\
noisy = dp.m.make_gaussian(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=$scale)

def added(value):
    return noisy(float(value))
"""

_OPENDP_DRAW = '''\
def draw(firsts, counts, penalties, rate):
    """The candidate with the least penalty after Gumbel noise, which is the exponential mechanism."""
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    scale = math.nextafter(float(1 / rate), math.inf)
    least = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale, negate=True)
    place = least([penalty for penalty, count in zip(penalties, counts) for _ in range(count)])
    return [first + i for first, count in zip(firsts, counts) for i in range(count)][place]
'''

_LAW = """\
def law_$place():
    # $told
$text
    return added
"""


def plan_script(split: Split, *, opendp: bool = False) -> str:
    """The plan with its shares and laws.

    opendp : noise by that library, for lines whose law it has; the others are left out, and the script says so.

    Raises
    ------
    InputError : a law has no exact sampler; or OpenDP has none of them.
    """
    plan = split.plan
    used = [one for one in split.lines if not opendp or one.ranks or one.line.noise != OPTIMUM]
    if not used:
        raise InputError("as", "opendp", "script: OpenDP has no law that is the certified optimum")
    draws = [] if opendp else [ranks.draw]
    imports, functions = carried(rows.read, rows.total, rows.occurring, ranks.runs, *draws, ratio, deviation)
    imports |= {"import json", "import sys", "from fractions import Fraction", "import secrets"}
    if opendp:
        imports |= {"import opendp.prelude as dp"}
        functions += "\n\n\n" + _OPENDP_DRAW.rstrip()
    laws: list[str] = []
    lines = []
    for one in used:
        names = []
        for noise in one.noises:
            law = _of_opendp(noise) if opendp else noise.script()
            imports |= law.imports
            text = textwrap.indent(law.text, "    ")
            laws.append(filled(_LAW, place=len(laws) + 1, told=noise.name, text=text))
            names.append(f"law_{len(laws)}()")
        lines.append(_line(one, names))
    check = "# how many rows there are is private"
    if plan.people.counted:
        wrong = "the file has other than the public number of rows"
        check = f'if len(data) != {plan.people.number}:\n        raise SystemExit("{wrong}")'
    title = f": {plan.title}" if plan.title else ""
    told = [
        f"Release plan{title} ({plan.people.neighbours}). Made by DP Frontier {__version__}.",
        f"Together ({split.total:.9g}, {plan.delta:g})-differentially private, by exact joint accounting.",
    ]
    if len(used) < len(split.lines):
        missing = ", ".join(f"“{one.line.name}”" for one in split.lines if one not in used)
        told.append(f"Left out, because OpenDP does not have the certified optimum: {missing}.")
    return filled(
        _SCRIPT, summary=summary(told), source=_THEIRS if opendp else _OWN, imports=in_order(imports),
        enabled='\ndp.enable_features("contrib")' if opendp else "", version=repr(__version__),
        plan=repr(plan_to_dict(plan)), epsilon=repr(split.total), delta=repr(plan.delta), functions=functions,
        laws="\n\n".join(laws), lines="\n".join(lines), number=check,
    )  # fmt: skip


def _of_opendp(noise: Noise) -> LawScript:
    """A law as OpenDP draws it; its scale is rounded up."""
    if isinstance(noise, Gaussian):
        return LawScript(set(), filled(_OPENDP_GAUSSIAN, scale=repr(noise.sigma)).rstrip(), "", "")
    found = whole_law(noise)
    assert found is not None  # Laplace in whole steps
    law, step = found
    scale = math.nextafter(1 / float(law.rate), math.inf)
    text = filled(_OPENDP_LAPLACE, step=decimal(step), scale=repr(scale))
    return LawScript(set(), text.rstrip(), "", "")


def plan_notebook(split: Split) -> str:
    """The script as a Jupyter notebook; its last cell, the release, is run by whoever has the file."""
    with needs("data"):
        from nbformat import v4, writes
    script, _, _ = plan_script(split).partition('\n\nif __name__ == "__main__":')
    rows = [
        f"| {one.line.name} | {one.privacy.epsilon:.4g} | {one.privacy.delta:.4g} | "
        f"{', '.join(f'±{width:.4g}' for width in one.widths) or 'by rank'} |"
        for one in split.lines
    ]
    table = "\n".join(["| line | ε | δ | 95 % of its noise is within |", "|---|---|---|---|", *rows])
    told = (
        f"# {split.plan.title or 'Release plan'}\n\nTogether ({split.total:.6g}, {split.plan.delta:g})-differentially "
        f"private for one person ({split.plan.people.neighbours}). Every run of the last cell spends this budget.\n\n"
        f"{table}"
    )
    cells = [
        v4.new_markdown_cell(told), v4.new_code_cell(script.strip()), v4.new_code_cell('FILE = "people.csv"'),
        v4.new_code_cell("release(FILE)"),
    ]  # fmt: skip
    for place, cell in enumerate(cells):
        cell["id"] = f"cell-{place}"
    return str(writes(v4.new_notebook(cells=cells)))


def _line(one: Priced, laws: list[str]) -> str:
    """A line's entry: whole numbers, texts and the laws by name."""
    statistic, plan_line = one.line.statistic, one.line
    told: dict[str, Any] = {"name": statistic.name, "non_negative": plan_line.non_negative}
    told["whole"] = statistic.whole
    told["cells"] = [" · ".join(cell) for cell in one.cells]
    parts = [f"{key!r}: {value!r}" for key, value in told.items()]
    if one.ranks is not None:
        column = one.ranks.column
        rest = {**_column(column), "unit": str(column.exact_step), "where": _where(one.conditions)}
        inner = ", ".join(f"{key!r}: {value!r}" for key, value in rest.items())
        parts.append(f"'ranks': {{{inner}, 'q': {one.ranks.q!r}, 'rate': {one.rank_rate!r}}}")
    else:
        parts.append(f"'totals': {[_total(total, one.conditions) for total in one.totals]!r}")
        parts.append(f"'laws': [{', '.join(laws)}]")
    if (of_rows := one.ratio) is not None:
        parts.append(f"'ratio': {of_rows!r}, 'spread': {bool(statistic.published)}")
    return "    {" + ",\n     ".join(parts) + "},"


def _total(total: Total, where: tuple[Condition, ...]) -> dict[str, Any]:
    column = _column(total.column) if total.column is not None else {"column": None}
    return {
        **column, "origin": total.origin, "counts": total.counts,
        "squares": total.squares, "missing": total.missing, "unit": str(total.step), "largest": total.largest,
        "where": _where((*where, *total.also)), "by": [_by(one) for one in total.by],
    }  # fmt: skip


def _column(column: Number) -> dict[str, Any]:
    return {"column": column.name, "step": column.step, "first": column.first, "last": column.last}


def _by(column: Column) -> tuple[str, list[Any], bool]:
    if isinstance(column, Category):
        return column.name, list(column.values), False
    return column.name, list(column.edges), True


def _where(conditions: tuple[Condition, ...]) -> list[tuple[str, str, str | float]]:
    return [(one.column, one.operator, one.value) for one in conditions]
