"""isotropic: noise for a vector in any dimension under ℓ2-sensitivity."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import SolverError
from ..problem import SolverSettings
from ..problem_fields.radial import FIELDS
from .base import EXIT_FAILED, complain, ended, refuse_unwritable, stop_on_interrupt, write_out
from .reading import add_fields, read_fields


def add_parser(commands: Any) -> None:
    text = "The least expected loss of noise in R^d when neighbours change the query by a Euclidean length at most."
    parser = commands.add_parser("isotropic", help="noise for a vector in any dimension", description=text)
    add_fields(parser.add_argument_group("the problem"), fields=FIELDS)
    effort = parser.add_argument_group("how hard to try")
    effort.add_argument("--gap", metavar="G", default="0.01", help="stop at this relative gap (default 0.01)")
    effort.add_argument("--time-limit", metavar="T", default="30", help="or after this many seconds (default 30)")
    parser.add_argument("--out", metavar="FILE", help="write the JSON to this file as well")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.out is not None:
        refuse_unwritable(arguments.out)
    from ..isotropic.problem import isotropic_problem

    settings = SolverSettings(arguments.gap, arguments.time_limit)
    problem = isotropic_problem(**read_fields(arguments, FIELDS, {}))
    from ..export import layout
    from ..isotropic.baselines import mechanisms as baselines
    from ..isotropic.files import solution_to_dict
    from ..isotropic.search import solve

    with stop_on_interrupt() as stop:
        try:
            found = solve(problem, settings, stop)
        except SolverError as error:
            return complain("dpcore isotropic", str(error), EXIT_FAILED)
        mechanisms = baselines(problem.dimension, problem.privacy, problem.loss.in_units(problem.sensitivity))
        interrupted = stop(None)
    rows = [one.row(problem.factor, problem.sensitivity) for one in mechanisms]
    answer = solution_to_dict(found) | {"mechanisms": rows}
    write_out(layout(answer) + "\n", arguments.out)
    return ended("dpcore isotropic", interrupted)
