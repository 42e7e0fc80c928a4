"""private-lp: optimisation with private limits that must hold."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from .._validate import above, whole
from ..errors import InputError
from ..problem_fields import finite, to_dict
from ..problem_fields.program import FIELDS
from .base import MISSING, ended, refuse_unwritable, stop_on_interrupt, write_out
from .reading import add_fields, read_fields

if TYPE_CHECKING:
    from ..private_optimization import PrivateProgram, Quality, RowNoise, Simulation

EXAMPLES = ("transport", "portfolio", "advertising")


def add_parser(commands: Any) -> None:
    """The grammar. Numbers stay text here: the core's own checks read them and word the message."""
    command = commands.add_parser(
        "private-lp",
        help="optimisation with private limits that must hold",
        description="Releases plans for a linear or convex quadratic program whose right-hand side is partly private. "
        "Simulates releases and prints what to expect; --release makes one.",
    )
    command.add_argument("model", metavar="FILE", help=f"model in MPS format, or example:NAME ({', '.join(EXAMPLES)})")
    options = command.add_argument_group("the private limits")
    options.add_argument("--lower-limits", metavar="CSV", help="lines row,limit: private rows and guaranteed limits")
    add_fields(options, fields=FIELDS)
    options = command.add_argument_group("what to do")
    options.add_argument(
        "--mechanism", metavar="M", default="optimal", help="optimal (default), tight, truncated-laplace; to compare, "
        "laplace-shifted, laplace, gaussian"
    )  # fmt: skip
    options.add_argument("--draws", metavar="N", default="1000", help="simulated releases (default 1000)")
    options.add_argument("--seed", metavar="N", default="0", help="of the simulation (default 0)")
    options.add_argument("--time-limit", metavar="T", default="60", help="seconds, up to 3600 (default 60)")
    options.add_argument(
        "--release", action="store_true", help="make one exact release instead; nothing else is printed"
    )
    options.add_argument("--save", metavar="PREFIX", help="write PREFIX.mps and PREFIX.csv and stop")
    options.add_argument("--out", metavar="FILE", help="write the JSON to this file as well")
    command.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.out is not None:
        refuse_unwritable(arguments.out)
    began = time.perf_counter()
    limit = above(0, 3600, time_limit=arguments.time_limit)
    program = read_program(arguments)
    from ..export import layout

    if arguments.save is not None:
        return _save(program, arguments.save)
    from ..private_optimization import Planner, quality, release, row_noise, simulate

    with stop_on_interrupt() as stop, _in_time(limit):
        asked = lambda: stop(None)  # noqa: E731
        noise = None
        if program.delta or arguments.mechanism == "laplace":
            noise = row_noise(program, arguments.mechanism, time_limit=min(20.0, 0.5 * limit), stop=asked)
        if arguments.release:
            limits, plan = release(program, noise, time_limit=limit)
            write_out(layout(_problem(program) | _release(program, limits, plan)) + "\n", arguments.out)
            return 0
        planner = Planner(program, time_limit=limit - (time.perf_counter() - began), stop=asked)
        draws, seed = whole(1, 100_000, draws=arguments.draws), whole(0, 2**63 - 1, seed=arguments.seed)
        sampled = simulate(
            program, noise, draws=draws, seed=seed, planner=planner, progress=lambda done, wanted: stop(None)
        )
        sure = quality(program, noise, planner) if noise is not None and noise.keeps else None
        answer = _problem(program) | summary(program, noise, sampled, sure)
        answer |= {"seconds": time.perf_counter() - began, "version": __version__}
        write_out(layout(answer) + "\n", arguments.out)
        return ended("dpcore private-lp", bool(stop(None)))


@contextlib.contextmanager
def _in_time(limit: float) -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise InputError("time_limit", f"{limit:g}", "more seconds: there was no first plan") from None


def read_program(arguments: argparse.Namespace) -> PrivateProgram:
    """The program the options describe."""
    from ..private_optimization import PrivateProgram

    name = str(arguments.model)
    if name.startswith("example:"):
        return _example(name.removeprefix("example:"), arguments)
    from ..private_optimization.files import load_model, load_rows

    model = load_model(name)
    if arguments.lower_limits is None:
        raise InputError("lower-limits", MISSING, "a CSV file with a line row,limit for every private row")
    rows, guaranteed = load_rows(arguments.lower_limits, model)
    return PrivateProgram(model, rows, guaranteed, **{"sensitivity": MISSING, **read_fields(arguments, FIELDS, {})})


def _example(name: str, arguments: argparse.Namespace) -> PrivateProgram:
    if name not in EXAMPLES:
        raise InputError("example", name, ", ".join(EXAMPLES))
    from ..private_optimization import stories

    program = {
        "transport": lambda: stories.transport().program,
        "portfolio": stories.portfolio,
        "advertising": stories.advertising,
    }[name]()
    return replace(program, **read_fields(arguments, FIELDS, {}))


def _save(program: PrivateProgram, prefix: str) -> int:
    from ..private_optimization.files import save_program

    paths = Path(prefix + ".mps"), Path(prefix + ".csv")
    for path in paths:
        refuse_unwritable(str(path))
    save_program(program, *paths)
    from ..export import layout

    write_out(layout({"model": str(paths[0]), "lower_limits": str(paths[1])}) + "\n", None)
    return 0


# Answers ------------------------------------------------------------------------------------------------


def _problem(program: PrivateProgram) -> dict[str, Any]:
    """What is public about the program."""
    model = program.model
    return {
        "rows": model.matrix.shape[0],
        "columns": model.matrix.shape[1],
        "objective": ("maximise" if model.maximise else "minimise")
        + (" quadratic" if model.quadratic is not None else ""),
        "private_rows": [model.row_names[row] for row in program.rows.tolist()],
        **to_dict(FIELDS, program),
    }


def _release(program: PrivateProgram, limits: Any, plan: Any) -> dict[str, Any]:
    names = [program.model.row_names[row] for row in program.rows.tolist()]
    columns = zip(program.model.column_names, plan.x.tolist())
    return {
        "release": {
            "limits": dict(zip(names, _counted(program, limits.tolist()))),
            "objective": plan.objective,
            "plan": {name: value for name, value in columns if value},
        },
        "version": __version__,
    }


def _counted(program: PrivateProgram, limits: list[float]) -> list[float | int]:
    """Limits that are counts as whole numbers."""
    whole = program.granularity is not None and float(program.granularity).is_integer()
    return [int(limit) if whole and limit.is_integer() else limit for limit in limits]


def summary(
    program: PrivateProgram, noise: RowNoise | None, sampled: Simulation, sure: Quality | None
) -> dict[str, Any]:
    """What simulated releases look like and what is sure about them, in JSON types."""
    answer: dict[str, Any] = {"mechanism": sampled.mechanism, "shift": None}
    if noise is not None:
        answer["shift"] = {
            "lower": noise.shift_lower,
            "upper": noise.shift_upper,
            "largest": finite(noise.largest),
            "never_violates": noise.keeps,
        }
    answer["optimum"] = {"objective": sampled.optimum.objective, "no_plan_is_better_than": sampled.optimum.best}
    answer["draws"], answer["infeasible"] = len(sampled.objectives), sampled.infeasible
    answer["released_objective"] = _distribution(sampled.objectives)
    answer["loss"] = _distribution(sampled.losses)
    violated = sampled.violated
    answer["violations"] = {
        "draws": int((violated > 0).sum()),
        "rows": int(violated.sum()),
        "share_of_private_rows": float(violated.mean() / len(program.rows)) if len(violated) else None,
        "largest": float(sampled.excess.max(initial=0.0)),
    }
    answer["bounds"] = None
    if sure is not None:
        answer["bounds"] = {
            "worst_loss": finite(sure.worst),
            "theorem_3_4": [
                {
                    "bound": b.value,
                    "condition": b.condition,
                    "lipschitz": b.lipschitz,
                    "norm": b.norm,
                    "method": b.method,
                }
                for b in sure.bounds
            ],
            "theorem_3_4_missing": sure.missing or None,
            "theorem_3_7": finite(sure.lower),
        }
    return answer


def _distribution(values: Any) -> dict[str, float] | None:
    import numpy as np

    values = values[np.isfinite(values)]
    if not len(values):
        return None
    quantiles = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
    names = ("q05", "q25", "median", "q75", "q95")
    return {
        "mean": float(values.mean()), "sd": float(values.std()), "min": float(values.min()), "max": float(values.max()),
        **dict(zip(names, quantiles)),
    }  # fmt: skip
