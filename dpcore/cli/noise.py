"""solve, compare, draw: one law for one query."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from .. import __version__
from .._validate import real
from ..errors import InputError
from .base import MISSING, ended, refuse_unwritable, stop_on_interrupt, write_out
from .reading import add_problem_options, add_solver_options, read_problem, read_settings

if TYPE_CHECKING:
    from ..solution import Solution


def add_parser(commands: Any) -> None:
    """The grammar. Numbers stay text here: the core's own checks read them and word the message."""
    solve = commands.add_parser("solve", help="the certified optimal noise", description="The certified optimal noise.")
    compare = commands.add_parser(
        "compare", help="mechanisms against the optimum", description="Known mechanisms against the certified optimum."
    )
    for command, run in ((solve, _solve), (compare, _compare)):
        add_problem_options(command)
        command.add_argument(
            "--profile", metavar="P", help="a whole promise: gdp:MU, list:FILE, or composed:T with (E, D) in all"
        )
        add_solver_options(command)
        command.add_argument("--out", metavar="FILE", help="write the JSON to this file as well")
        command.set_defaults(run=run)
    draw = commands.add_parser("draw", help="one exact release", description="One exact release with solved noise.")
    draw.add_argument("--noise", metavar="FILE", default=MISSING, help="JSON written by solve")
    draw.add_argument("--value", metavar="X", default=MISSING, help="the true value (it is not printed)")
    draw.set_defaults(run=_draw)


def _solve(arguments: argparse.Namespace) -> int:
    solution, interrupted = _solved(arguments)
    from ..export import solution_to_json

    write_out(solution_to_json(solution), arguments.out)
    return ended("dpcore solve", interrupted)


def _compare(arguments: argparse.Namespace) -> int:
    solution, interrupted = _solved(arguments)
    rows = ",\n".join("  " + json.dumps(row, allow_nan=False) for row in comparison(solution))
    write_out(f"[\n{rows}\n]\n", arguments.out)
    return ended("dpcore compare", interrupted)


def _draw(arguments: argparse.Namespace) -> int:
    if arguments.noise == MISSING:
        raise InputError("noise", MISSING, "a JSON file written by dpcore solve")
    value = real(value=arguments.value)
    from ..exact import release
    from ..export import layout, load_solution

    solution = load_solution(arguments.noise)
    released, step = release(solution.noise, value)
    privacy = solution.problem.privacy
    second = solution.problem.second
    answer = {
        "release": released,
        "lattice_step": step,
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "delta_upper": solution.certificate.delta_upper,
        "sensitivity": solution.problem.sensitivity,
        "version": __version__,
    } | ({} if second is None else {"second": [second.epsilon, second.delta]})
    write_out(layout(answer) + "\n", None)
    return 0


def comparison(solution: Solution) -> list[dict[str, Any]]:
    """The certified optimum and every mechanism that `baselines` knows, in JSON types.

    `lower_bound_ratio` is loss/(certified lower bound): 1.07 means at most 7 % above the best possible. None
    where a loss or a positive lower bound is missing.
    """
    from ..mechanisms import baselines

    lower = solution.certificate.lower
    optimum = {"cells": solution.cells, "delta_upper": solution.certificate.delta_upper}
    rows = [_row(solution.title, "optimal", solution.certificate.upper, lower, True, optimum, solution.source)]
    for entry in baselines(solution.problem):
        parameters = entry.noise.parameters if entry.noise is not None else {}
        rows.append(_row(entry.name, entry.key, entry.loss, lower, entry.valid, parameters, entry.reason))
    return rows


def _row(
    name: str, key: str, loss: float | None, lower: float | None, valid: bool, parameters: dict, reason: str
) -> dict[str, Any]:
    from ..export import finite

    ratio = None
    if loss is not None and lower is not None:
        ratio = loss / lower if lower > 0 else 1.0 if loss == lower else None
    return {
        "name": name,
        "key": key,
        "loss": finite(loss),
        "lower_bound_ratio": finite(ratio),
        "valid": bool(valid),
        "parameters": {k: v if isinstance(v, int) else finite(v) for k, v in parameters.items()},
        "reason": reason,
    }


def _solved(arguments: argparse.Namespace) -> tuple[Solution, bool]:
    """The solution, and whether Ctrl-C cut the search short."""
    problem, settings = read_problem(arguments), read_settings(arguments)
    if arguments.out is not None:
        refuse_unwritable(arguments.out)
    from ..optimal import solve

    with stop_on_interrupt() as stop:
        solution = solve(problem, settings, stop)
        return solution, stop(None)
