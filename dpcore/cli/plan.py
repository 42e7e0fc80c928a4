"""plan: from columns to released numbers (check, run, export, example, columns)."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import InputError
from .base import MISSING, refuse_unwritable, write_file, write_out

if TYPE_CHECKING:
    from ..plan.budget import Split
    from ..plan.release import Released
    from ..plan.report import Expected


def add_parser(commands: Any) -> None:
    text = "Release statistics of a table by a plan: what is public, what is published, what it costs (docs/plan.md)."
    parser = commands.add_parser("plan", help="from columns to released numbers", description=text)
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|run|export|example|columns")
    check = actions.add_parser("check", help="sensitivities, shares of the budget and errors to expect; no data")
    check.set_defaults(run=_check)
    run = actions.add_parser("run", help="read the data once and release; spends the budget")
    run.add_argument("--data", metavar="FILE", default=MISSING, help="CSV (first line: names) or Parquet")
    run.add_argument("--ledger", metavar="FILE", help="what is spent on these data; more than its budget is refused")
    run.add_argument("--budget", metavar="E:D", help="epsilon and delta of a new ledger (default: those of the plan)")
    run.add_argument("--memory", metavar="M", default="1GB", help="for reading the data (default 1GB)")
    run.add_argument("--spill", metavar="FOLDER", help="for what does not fit there; nothing is written otherwise")
    run.add_argument("--csv", metavar="FILE", help="write the numbers to this CSV file as well, with their intervals")
    run.add_argument("--synthetic", metavar="FILE", help="write people made of a released table to this CSV file")
    run.add_argument("--table", metavar="LINE", help="the table that they are made of (default: the first one)")
    run.set_defaults(run=_run)
    export = actions.add_parser("export", help="the plan as a program, a notebook or a report of one page")
    export.add_argument(
        "--as", dest="kind", choices=("script", "opendp", "notebook", "report", "toml"), default="script"
    )
    export.set_defaults(run=_export)
    example = actions.add_parser("example", help="a plan to begin with, and made-up people for it")
    example.add_argument("--people", metavar="FILE", help="write the made-up people to this CSV file")
    example.add_argument("--out", metavar="FILE", help="write the plan to this file as well")
    example.set_defaults(run=_example)
    columns = actions.add_parser("columns", help="a plan to fill in, about the columns of a file")
    columns.add_argument("--data", metavar="FILE", default=MISSING, help="CSV (first line: names) or Parquet")
    columns.add_argument("--out", metavar="FILE", help="write the plan to this file as well")
    columns.set_defaults(run=_columns)
    for one in (check, run, export):
        one.add_argument("plan", metavar="PLAN", help="a TOML file")
        one.add_argument("--out", metavar="FILE", help="write the answer to this file as well")


def _split(arguments: argparse.Namespace) -> Split:
    if arguments.out is not None:
        refuse_unwritable(arguments.out)
    from ..plan.budget import split
    from ..plan.files import load_plan

    return split(load_plan(arguments.plan))


def _check(arguments: argparse.Namespace) -> int:
    from ..export import layout
    from ..plan.report import expected

    made = _split(arguments)
    lines = [_expected(one) | {"verdict": one.verdict} for one in expected(made)]
    write_out(layout(_told(made) | {"lines": lines}, depth=3) + "\n", arguments.out)
    return 0


def _run(arguments: argparse.Namespace) -> int:
    from ..export import layout
    from ..plan.release import Ledger, carry_out, to_csv
    from ..plan.report import expected
    from ..plan.source import Source
    from ..plan.synthetic import synthetic

    if arguments.data == MISSING:
        raise InputError("data", MISSING, "a CSV or Parquet file")
    for name in ("csv", "synthetic"):
        if (path := getattr(arguments, name)) is not None:
            refuse_unwritable(path, name)
    made = _split(arguments)
    table = None if arguments.synthetic is None else _table(made, arguments.table)
    before = [_expected(one) for one in expected(made)]  # what can be refused is refused before anything is spent
    with Source.file(arguments.data, memory=arguments.memory, spill=arguments.spill) as source:
        source.check(made.plan.people, made.plan.columns)
        ledger = None
        if arguments.ledger is not None:
            ledger = Ledger(arguments.ledger, *_budget(arguments.budget, made))
        spend = (lambda: None) if ledger is None else partial(ledger.spend, made)
        released = carry_out(made, source, spend=spend)
    lines = [told | _values(found) for told, found in zip(before, released)]
    told = _told(made) | {"lines": lines}
    if ledger is not None:
        epsilon, delta = ledger.spent
        told["ledger"] = {"spent": [epsilon, delta], "budget": [ledger.epsilon, ledger.delta]}
    write_out(layout(told, depth=3) + "\n", arguments.out)
    if arguments.csv is not None:
        write_file(to_csv(released), arguments.csv, "csv")
    if table is not None:
        (one,) = (one for one in released if one.name == table)
        write_file(synthetic(one, made.plan.columns), arguments.synthetic, "synthetic")
    return 0


def _table(made: Split, name: str | None) -> str:
    """The line whose table people are made of."""
    from ..plan.public import shown

    tables = [one.line.name for one in made.lines if one.totals and one.totals[0].by]
    if not tables or name not in (None, *tables):
        raise InputError("table", MISSING if name is None else name, f"one of {shown(tables)}")
    return tables[0] if name is None else name


def _export(arguments: argparse.Namespace) -> int:
    from ..plan.files import plan_to_toml
    from ..plan.script import plan_notebook, plan_script

    made = _split(arguments)
    if arguments.kind == "toml":
        write_out(plan_to_toml(made.plan), arguments.out)
    elif arguments.kind == "report":
        from ..plan.statement import plan_report

        write_out(plan_report(made), arguments.out)
    elif arguments.kind == "notebook":
        write_out(plan_notebook(made), arguments.out)
    else:
        write_out(plan_script(made, opendp=arguments.kind == "opendp"), arguments.out)
    return 0


def _example(arguments: argparse.Namespace) -> int:
    from ..plan import made_up
    from ..plan.files import plan_from_toml

    for path in (arguments.out, arguments.people):
        if path is not None:
            refuse_unwritable(path)
    if arguments.people is not None:
        plan = plan_from_toml(made_up.EXAMPLE)
        Path(arguments.people).write_text(made_up.as_csv(plan.columns, plan.people), encoding="utf-8")
    write_out(made_up.EXAMPLE, arguments.out)
    return 0


def _columns(arguments: argparse.Namespace) -> int:
    from ..plan.files import draft_of
    from ..plan.source import Source

    if arguments.data == MISSING:
        raise InputError("data", MISSING, "a CSV or Parquet file")
    if arguments.out is not None:
        refuse_unwritable(arguments.out)
    with Source.file(arguments.data) as source:
        write_out(draft_of(source.look()), arguments.out)
    return 0


def _budget(text: str | None, made: Split) -> tuple[float, float]:
    """(ε, δ) of a ledger."""
    if text is None:
        return made.plan.epsilon or made.total, made.plan.delta
    from .._validate import in_range

    epsilon, _, delta = text.partition(":")
    return in_range(0, 1000, budget=epsilon), in_range(0, 0.5, budget=delta or "0")


def _told(made: Split) -> dict[str, Any]:
    plan = made.plan
    return {
        "format": 1, "version": __version__, "title": plan.title, "neighbours": plan.people.neighbours,
        "epsilon": made.total, "delta": plan.delta, "epsilon_added_up": made.added,
        "lines_of_one_person": max(map(len, made.together)), "warnings": list(plan.warnings),
    }  # fmt: skip


def _expected(one: Expected) -> dict[str, Any]:
    priced = one.priced
    return {
        "name": one.name, "what": priced.line.statistic.key,
        "noise": "exponential" if priced.ranks else priced.line.noise,
        "epsilon": priced.privacy.epsilon, "delta": priced.privacy.delta, "error_95": one.error,
        "relative_error_95": one.relative,
        "parts": [{"sensitivity": s, "formula": f, "error_95": w} for f, s, w in one.parts],
    }  # fmt: skip


def _values(found: Released) -> dict[str, Any]:
    return {
        "cells": [list(cell) for cell in found.labels], "values": list(found.values),
        "measured_95": [ends and list(ends) for ends in found.measured],
        "population_95": [ends and list(ends) for ends in found.population],
    }  # fmt: skip
