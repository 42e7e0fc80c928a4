"""solve, compare, draw: one law for one query; draw also for a vector."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from .. import __version__
from .._validate import real
from ..errors import InputError
from ..numbers import read_exactly
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
    draw.add_argument("--noise", metavar="FILE", default=MISSING, help="JSON written by solve or isotropic")
    text = "the true value, or the numbers of a vector with commas (not printed)"
    draw.add_argument("--value", metavar="X", default=MISSING, help=text)
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
        raise InputError("noise", MISSING, "a JSON file written by dpcore solve or dpcore isotropic")
    from ..reload import load_json

    data = load_json(arguments.noise)
    answer = _vector if isinstance(data, dict) and data.get("kind") == "isotropic" else _number
    from ..export import layout

    write_out(layout(answer(data, arguments.value) | {"version": __version__}) + "\n", None)
    return 0


def _number(data: Any, value: str) -> dict[str, Any]:
    """A release of one number."""
    exact = real(value=value)
    from ..exact import release
    from ..reload import solution_from_dict

    solution = solution_from_dict(data)
    released, step = release(solution.noise, exact)
    privacy, second = solution.problem.privacy, solution.problem.second
    return {
        "release": released,
        "lattice_step": step,
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "delta_upper": solution.certificate.delta_upper,
        "sensitivity": solution.problem.sensitivity,
    } | ({} if second is None else {"second": [second.epsilon, second.delta]})


def _vector(data: dict[str, Any], value: str) -> dict[str, Any]:
    """A release of a vector with a radial law."""
    if value == MISSING:
        raise InputError("value", MISSING, "the numbers of the vector, with commas")
    exact = read_exactly(value, "value", "numbers, one per coordinate")
    from ..isotropic.files import solution_from_dict
    from ..isotropic.release import extra_error, grid_of, release

    solution = solution_from_dict(data)
    privacy, noise = solution.problem.privacy, solution.noise
    return {
        "release": [float(one) for one in release(noise, exact)],
        "lattice_step": float(grid_of(noise)),
        "extra_error": extra_error(noise),
        "dimension": noise.dimension,
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "delta_upper": solution.delta_upper,
        "sensitivity": noise.sensitivity,
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
