"""data-dependent: a law of the release per true value, for queries with a bounded range."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._validate import real
from ..errors import InputError
from ..numbers import read_number, read_numbers
from ..problem import SolverSettings
from ..problem_fields.dependent import FIELDS
from .base import MISSING, ended, refuse_unwritable, stop_on_interrupt, write_out
from .reading import add_fields, read_fields, read_loss


def add_parser(commands: Any) -> None:
    """The grammar. Numbers stay text here: the core's own checks read them and word the message."""
    command = commands.add_parser(
        "data-dependent",
        help="noise that may depend on the true value",
        description="The certified optimal release of a query with a bounded range.",
    )
    problem = command.add_argument_group("the problem")
    add_fields(problem, fields=FIELDS)
    effort = command.add_argument_group("how hard to try")
    effort.add_argument("--gap", metavar="G", default="0.01", help="stop at this relative gap (default 0.01)")
    effort.add_argument("--time-limit", metavar="T", default="60", help="or after this many seconds (default 60)")
    command.add_argument("--value", metavar="X", help="print one exact release of this value instead")
    command.add_argument("--mechanism", metavar="FILE", help="with --value: JSON written by an earlier run")
    command.add_argument("--out", metavar="FILE", help="write the JSON to this file as well")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Solve and print, or release one value."""
    value = None if arguments.value is None else real(value=arguments.value)
    if arguments.mechanism is not None:
        if value is None:
            raise InputError("value", MISSING, "a number to release with the mechanism")
        from ..data_dependent.files import load_solution

        return _release(load_solution(arguments.mechanism), value)
    from ..data_dependent import solve
    from ..data_dependent.files import solution_to_json

    problem = read_problem(arguments)
    settings = SolverSettings(gap=arguments.gap, time_limit=arguments.time_limit)
    if arguments.out is not None:
        refuse_unwritable(arguments.out)
    with stop_on_interrupt() as stop:
        solution = solve(problem, settings, stop)
        interrupted = stop(None)
    if value is not None:
        if arguments.out is not None:
            Path(arguments.out).write_text(solution_to_json(solution), encoding="utf-8")
        return _release(solution, value)
    write_out(solution_to_json(solution), arguments.out)
    return ended("dpcore data-dependent", interrupted)


def _release(solution: Any, value: float) -> int:
    from ..export import layout

    privacy = solution.problem.privacy
    answer = {
        "release": solution.mechanism.release(value),
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "delta_upper": solution.certificate.delta_upper,
        "sensitivity": solution.problem.sensitivity,
        "query_range": list(solution.problem.query_range),
    }
    write_out(layout(answer) + "\n", None)
    return 0


def read_problem(arguments: argparse.Namespace) -> Any:
    """The problem the options describe."""
    from ..data_dependent import data_dependent_problem

    return data_dependent_problem(**read_fields(arguments, FIELDS, READERS))


def _read_loss_below(text: str) -> Any:
    from ..data_dependent.problem import MIRRORED

    return text if text == MIRRORED else read_loss(text)


def read_range(text: str) -> tuple[float, float]:
    """LO:HI as two numbers."""
    low, colon, high = text.partition(":")
    accepted = "LO:HI, two numbers with LO < HI"
    if not colon:
        raise InputError("range", text, accepted)
    return read_number(low, "range", accepted), read_number(high, "range", accepted)


READERS: dict[str, Callable[[str], object]] = {
    "loss": read_loss,
    "query_range": read_range,
    "partition": lambda text: read_numbers(text, "partition", commas=True),
    "loss_below": _read_loss_below,
}
"""What makes values of the texts of options."""
