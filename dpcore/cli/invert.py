"""invert: the ε that an error takes."""

from __future__ import annotations

import argparse
from typing import Any

from .. import __version__
from .._validate import above, decimal, in_range
from ..errors import InputError
from ..privacy import EPSILON_RANGE
from ..problem_fields.noise import FIELDS
from .base import MISSING, ended, refuse_unwritable, stop_on_interrupt, write_out
from .reading import add_fields, add_query_options, add_solver_options, read_problem, read_settings


def add_parser(commands: Any) -> None:
    text = "The smallest epsilon at which a mechanism, or the best possible one, reaches an error."
    parser = commands.add_parser("invert", help="epsilon from an error", description=text)
    options = parser.add_argument_group("the problem")
    add_fields(options, "delta")
    options.add_argument("--loss", metavar="LOSS", help=FIELDS["loss"].help)
    add_query_options(options)
    wanted = parser.add_argument_group("what is to be reached (one of these)")
    wanted.add_argument("--error", metavar="X", help="a mean loss of X at most (exceed:T: a probability)")
    wanted.add_argument("--half-width", metavar="W", help="an error within W with the probability of --coverage")
    wanted.add_argument("--coverage", metavar="P", default="0.95", help="for --half-width (default 0.95)")
    parser.add_argument("--mechanism", metavar="KEY", default="optimal", help="optimal (default), laplace, gaussian, …")
    parser.add_argument(
        "--tolerance", metavar="T", default="0.002", help="relative width of the interval (default 0.002)"
    )
    add_solver_options(parser)
    parser.set_defaults(run=_invert, time_limit="30")
    parser.add_argument("--out", metavar="FILE", help="write the JSON to this file as well")


def _invert(arguments: argparse.Namespace) -> int:
    loss, error = _wanted(arguments)
    problem = read_problem(argparse.Namespace(**{**vars(arguments), "epsilon": EPSILON_RANGE[1], "loss": loss}))
    settings = read_settings(arguments)
    if arguments.out is not None:
        refuse_unwritable(arguments.out)
    from ..export import layout
    from ..inversion import invert
    from ..problem_fields import finite

    tolerance = in_range(1e-5, 1.0, tolerance=arguments.tolerance)
    with stop_on_interrupt() as stop:
        found = invert(
            problem, error, arguments.mechanism, tolerance=tolerance, settings=settings, stop=lambda: stop(None)
        )
        interrupted = stop(None)
    answer = {
        "epsilon_lower": found.epsilon_lower, "epsilon_upper": found.epsilon_upper, "error": found.error,
        "mechanism": found.mechanism, "loss": problem.loss.spec, "delta": problem.privacy.delta,
        "sensitivity": problem.sensitivity, "error_at_lower": finite(found.loss_lower),
        "error_at_upper": found.loss_upper,
        "solves": found.solves, "seconds": found.seconds, "version": __version__,
    }  # fmt: skip
    write_out(layout(answer) + "\n", arguments.out)
    return ended("dpcore invert", interrupted)


def _wanted(arguments: argparse.Namespace) -> tuple[str, Any]:
    """(text of the loss, error): a half-width is a bound on the probability of an error beyond it."""
    if arguments.half_width is None:
        if arguments.error is None:
            raise InputError("error", MISSING, "a number, or --half-width")
        return arguments.loss or "l1", in_range(0.0, 1e15, error=arguments.error)
    if arguments.error is not None or arguments.loss is not None:
        raise InputError("half-width", arguments.half_width, "no --error and no --loss beside it")
    width = above(0.0, 1e12, **{"half-width": arguments.half_width})
    coverage = in_range(0.001, 0.999999, coverage=arguments.coverage)
    return f"exceed:{width!r}", float(1 - decimal(coverage))
