"""sweep: certified figures for many (ε, δ) and losses; frontier: for many budgets of a second loss."""

from __future__ import annotations

import argparse
import json
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import InputError
from ..privacy import DELTA_RANGE, EPSILON_RANGE
from ..problem_fields.noise import LOSSES
from .base import MISSING, ended, refuse_unwritable, stop_on_interrupt, write_out
from .reading import (
    add_problem_options,
    add_query_options,
    add_solver_options,
    read_loss,
    read_problem,
    read_settings,
)

if TYPE_CHECKING:
    from ..problem import NoiseProblem
    from ..solution import Solution
    from ..sweeps import Found, Refused

LIST = "numbers with commas; LOW:HIGH:COUNT for COUNT of them on a log scale"


def add_parser(commands: Any) -> None:
    many = "Certified figures for many (epsilon, delta) and losses, as a table."
    sweep = commands.add_parser("sweep", help="the certified optimum over a grid", description=many)
    options = sweep.add_argument_group("the problems")
    options.add_argument("--epsilon", metavar="LIST", default=MISSING, help=LIST)
    options.add_argument("--delta", metavar="LIST", default=MISSING, help=LIST)
    options.add_argument("--loss", metavar="LOSS", action="append", help=f"{LOSSES}; may be repeated (default l1)")
    add_query_options(options)
    add_solver_options(sweep)
    where = sweep.add_argument_group("where")
    where.add_argument("--workers", metavar="N", help="processes on this machine (default: one for every core)")
    where.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler instead, tcp://host:8786")
    where.add_argument("--fresh", action="store_true", help="neither use nor keep results on disk")
    where.add_argument("--out", metavar="FILE", help="write the table to this .csv or .parquet file")
    sweep.set_defaults(run=_sweep)
    text = "The least mean loss under budgets for a second loss, from the tightest to one that does not bind."
    frontier = commands.add_parser("frontier", help="two losses against each other", description=text)
    add_problem_options(frontier)
    frontier.add_argument("--against", metavar="LOSS", default=MISSING, help="the second loss, such as exceed:2")
    frontier.add_argument("--count", metavar="N", default="8", help="budgets, 2 to 100 (default 8)")
    add_solver_options(frontier)
    frontier.add_argument("--out", metavar="FILE", help="write the JSON to this file as well")
    frontier.set_defaults(run=_frontier)


# sweep -----------------------------------------------------------------------------------------------


def _sweep(arguments: argparse.Namespace) -> int:
    if arguments.cluster is not None and arguments.workers is not None:
        raise InputError("workers", arguments.workers, "no number of workers together with a cluster")
    problems, refused = _problems(arguments)
    settings = read_settings(arguments)
    from ..store import Store, default_folder
    from ..sweeps import row, sweep, write_table
    from ..sweeps.run import named_cluster
    from ..sweeps.table import check_name

    if arguments.out is not None:
        check_name(arguments.out)
        refuse_unwritable(arguments.out)
    cluster = arguments.cluster or (named_cluster() if arguments.workers is None else None)
    workers = arguments.workers or os.cpu_count() or 1
    found: dict[int, Found] = {}
    with stop_on_interrupt() as stop:
        store = Store(None if arguments.fresh else default_folder())
        asked = partial(sweep, workers=workers, cluster=cluster, store=store, stop=lambda: stop(None))
        for one in asked(problems, settings):
            found[one.index] = one
            _tell(one)
        interrupted = stop(None)
    rows = [row(found[index].outcome) for index in sorted(found)] + [row(place) for place in refused]
    if arguments.out is None:
        write_out("[\n" + ",\n".join("  " + json.dumps(one, allow_nan=False) for one in rows) + "\n]\n", None)
    else:
        write_table(rows, arguments.out)
        write_out(json.dumps(_summary(found, len(problems), arguments.out), allow_nan=False) + "\n", None)
    return ended("dpcore sweep", interrupted)


def _problems(arguments: argparse.Namespace) -> tuple[list[NoiseProblem], list[Refused]]:
    from ..sweeps import grid, read_axis

    for name in ("epsilon", "delta"):
        if getattr(arguments, name) == MISSING:
            raise InputError(name, MISSING, LIST)
    losses = [read_loss(text) for text in arguments.loss or ["l1"]]
    epsilons = read_axis(arguments.epsilon, "epsilon")
    deltas = read_axis(arguments.delta, "delta")
    # The weakest pair: what does not fit it fits none of the grid's.
    weakest = {"epsilon": EPSILON_RANGE[1], "delta": DELTA_RANGE[1], "loss": losses[0].spec}
    return grid(read_problem(argparse.Namespace(**{**vars(arguments), **weakest})), epsilons, deltas, losses)


def _tell(one: Found) -> None:
    """Progress on a terminal."""
    if sys.stderr.isatty():
        left = "" if one.seconds_left is None else f", about {one.seconds_left:.0f} s left"
        print(f"\r{one.done} of {one.total}{left}   ", end="" if one.done < one.total else "\n", file=sys.stderr)


def _summary(found: dict[int, Found], asked: int, path: str) -> dict[str, Any]:
    gaps = [one.outcome.certificate.gap for one in found.values() if one.outcome.certificate is not None]
    known = [gap for gap in gaps if gap is not None]
    return {
        "out": path,
        "problems": asked,
        "finished": len(found),
        "from_store": sum(one.cached for one in found.values()),
        "largest_gap": max(known, default=None) if len(known) == len(gaps) else None,
        "seconds": max((one.seconds for one in found.values()), default=0.0),
        "version": __version__,
    }


# frontier --------------------------------------------------------------------------------------------


def _frontier(arguments: argparse.Namespace) -> int:
    if arguments.against == MISSING:
        raise InputError("against", MISSING, LOSSES)
    problem, settings = read_problem(arguments), read_settings(arguments)
    if problem.budget is not None:
        raise InputError("budget", arguments.budget, "no budget: the frontier goes through all of them")
    second = read_loss(arguments.against)
    if arguments.out is not None:
        refuse_unwritable(arguments.out)
    from ..export import layout
    from ..optimal import pareto_frontier

    points = pareto_frontier(problem, second, arguments.count, settings)
    privacy = problem.privacy
    answer = {
        "epsilon": privacy.epsilon, "delta": privacy.delta, "sensitivity": problem.sensitivity,
        "loss": problem.loss.spec, "against": second.spec, "points": [_point(solution) for solution in points],
        "version": __version__,
    }  # fmt: skip
    write_out(layout(answer) + "\n", arguments.out)
    return 0


def _point(solution: Solution) -> dict[str, float | None]:
    from ..problem_fields import finite

    budget, proof = solution.problem.budget, solution.certificate
    assert budget is not None
    return {
        "most": budget.most, "lower": proof.lower, "upper": proof.upper, "gap": finite(proof.gap),
        "against_upper": proof.budget_upper, "delta_upper": proof.delta_upper,
    }  # fmt: skip
