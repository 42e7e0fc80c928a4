"""solve, compare, draw: one law for one query; draw also for a vector."""

from __future__ import annotations

import argparse
import json
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import __version__
from .._validate import real
from ..errors import InputError
from ..numbers import read_exactly
from .base import MISSING, ended, refuse_unwritable, stop_on_interrupt, write_out
from .reading import add_fields, add_problem_options, add_solver_options, is_of_vectors, read_problem, read_settings

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
    text = "One exact release with solved noise, or with that of a known mechanism."
    draw = commands.add_parser("draw", help="one exact release", description=text)
    draw.add_argument("--noise", metavar="FILE", help="JSON written by solve or isotropic")
    draw.add_argument("--mechanism", metavar="M", help="in its place, calibrated to the problem: gaussian, laplace, …")
    add_problem_options(draw)
    text = "the true value, or the numbers of a vector with commas (not printed)"
    draw.add_argument("--value", metavar="X", default=MISSING, help=text)
    draw.set_defaults(run=partial(_draw, unasked=vars(draw.parse_args([]))))


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


def _draw(arguments: argparse.Namespace, unasked: dict[str, Any]) -> int:
    """unasked : the options when none is given."""
    if arguments.mechanism is not None:
        answer = _known(arguments)
    elif arguments.noise is None:
        raise InputError("noise", MISSING, "a JSON file written by dpcore solve or dpcore isotropic")
    else:
        for name, default in unasked.items():
            if name not in ("noise", "value") and (given := getattr(arguments, name)) != default:
                raise InputError(name, given, "nothing beside a file, which says what its problem is")
        from ..reload import load_json

        data = load_json(arguments.noise)
        released = _vector if is_of_vectors(data) else _number
        answer = released(data, arguments.value)
    from ..export import layout

    write_out(layout(answer | {"version": __version__}) + "\n", None)
    return 0


def _known(arguments: argparse.Namespace) -> dict[str, Any]:
    """A release of one number with a known mechanism."""
    if arguments.noise is not None:
        raise InputError("mechanism", arguments.mechanism, "no file with noise beside it")
    problem, exact = read_problem(arguments), real(value=arguments.value)
    from ..audit import delta_upper
    from ..exact import release
    from ..mechanisms import baseline, baselines

    try:
        one = baseline(arguments.mechanism, problem)
    except KeyError:
        one = None
    if one is None or one.noise is None or not one.valid:
        why = f" ({one.reason})" if one is not None else ""
        accepted = ", ".join(other.key for other in baselines(problem) if other.valid)
        raise InputError("mechanism", arguments.mechanism, f"one that keeps the problem: {accepted}{why}")
    released, step = release(one.noise, exact)
    privacy = problem.privacy
    return {
        "release": released,
        "lattice_step": step,
        "mechanism": one.name,
        "parameters": one.noise.parameters,
        "loss": one.loss,
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "delta_upper": delta_upper(one.noise, privacy.epsilon, problem.sensitivity),
        "sensitivity": problem.sensitivity,
    }


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
