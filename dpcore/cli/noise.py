"""solve, compare, draw: one law for one query."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from .. import __version__
from .._validate import real
from ..errors import InputError
from .base import MISSING, ended, refuse_unwritable, stop_on_interrupt, write_out
from .reading import add_fields, add_problem_options, add_solver_options, read_problem, read_settings

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
        add_fields(command, "profile")
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
    from ..comparison import Comparison

    rows = ",\n".join("  " + json.dumps(row, allow_nan=False) for row in Comparison.of(solution).rows())
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


def _solved(arguments: argparse.Namespace) -> tuple[Solution, bool]:
    """The solution, and whether Ctrl-C cut the search short."""
    problem, settings = read_problem(arguments), read_settings(arguments)
    if arguments.out is not None:
        refuse_unwritable(arguments.out)
    from ..optimal import solve

    with stop_on_interrupt() as stop:
        solution = solve(problem, settings, stop)
        return solution, stop(None)
