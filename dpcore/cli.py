"""The command line: `python -m dpcore solve|compare|draw`, JSON on stdout (docs/cli.md).

Exit status 0: an answer. 1: no answer for a reason that is not the input's. 2: bad input, one line on stderr
that names the field, the value and what is accepted. 130: interrupted; the best certified answer so far, if there
is one, is on stdout.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from . import __version__
from ._validate import real, whole
from .errors import InputError
from .loss import Loss, parse_loss
from .privacy import Privacy
from .problem import Budget, NoiseProblem, SolverSettings, noise_problem

if TYPE_CHECKING:
    from .solution import Progress, Solution

MISSING = "(missing)"
"""Given to the validators in place of an option that was left out, so that they say what it should have been."""

EXIT_FAILED, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 1, 2, 130

LOSSES = "l1, l2, lp:1.5, pinball:0.8, asym:1:3, huber:1, exceed:2 or table:FILE (CSV or JSON, two columns)"

_OPTION_NAMES = {"cells_per_sensitivity": "cells", "time_limit": "time-limit", "loss table file": "loss table:FILE"}


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one line and does not guess abbreviations."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, allow_abbrev=False, **kwargs)

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_BAD_INPUT, f"{self.prog}: {one_line(message)} (see {self.prog} --help)\n")


def build_parser() -> Parser:
    """The grammar. Numbers stay text here: the core's own checks read them and word the message."""
    parser = Parser(prog="dpcore", description="Provably near-optimal noise for differential privacy.")
    parser.add_argument("--version", action="version", version=f"dpcore {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="solve|compare|draw")
    solve = commands.add_parser("solve", help="the certified optimal noise", description="The certified optimal noise.")
    compare = commands.add_parser(
        "compare", help="mechanisms against the optimum", description="Known mechanisms against the certified optimum."
    )
    for command in (solve, compare):
        _add_problem_options(command)
        _add_solver_options(command)
        command.add_argument("--out", metavar="FILE", help="write the JSON to this file as well")
    draw = commands.add_parser("draw", help="one exact release", description="One exact release with solved noise.")
    draw.add_argument("--noise", metavar="FILE", default=MISSING, help="JSON written by solve")
    draw.add_argument("--value", metavar="X", default=MISSING, help="the true value (it is not printed)")
    return parser


def _add_problem_options(parser: argparse.ArgumentParser) -> None:
    options = parser.add_argument_group("the problem")
    options.add_argument("--epsilon", metavar="E", default=MISSING, help="0, or 0.001 to 20")
    options.add_argument("--delta", metavar="D", default=MISSING, help="0, or 1e-12 to 0.999")
    options.add_argument("--sensitivity", metavar="S", default="1", help="of the query, in its unit (default 1)")
    options.add_argument("--loss", metavar="LOSS", default="l1", help=f"{LOSSES} (default l1)")
    options.add_argument("--symmetric", action="store_true", help="only symmetric laws")
    options.add_argument("--monotone", action="store_true", help="only densities that fall away from 0")
    options.add_argument("--support", metavar="LO:HI", default=":", help="noise stays in here; an empty side is open")
    values = options.add_mutually_exclusive_group()
    values.add_argument("--integer", action="store_true", help="the query counts: values and noise are whole numbers")
    values.add_argument("--granularity", metavar="STEP", help="values and noise are multiples of STEP")
    options.add_argument("--budget", metavar="LOSS=MOST", help="a second loss and the most it may be: exceed:2=0.05")
    options.add_argument("--second", metavar="E2:K", help="a second (epsilon, delta) to satisfy too: 3:1e-4")


def _add_solver_options(parser: argparse.ArgumentParser) -> None:
    options = parser.add_argument_group("how hard to try")
    options.add_argument("--gap", metavar="G", default="0.001", help="stop at this relative gap (default 0.001)")
    options.add_argument("--time-limit", metavar="T", default="10", help="or after this many seconds (default 10)")
    options.add_argument("--method", metavar="M", default="certified", help="certified (default) or reference")
    options.add_argument("--cells", metavar="N", default="8", help="reference: cells per sensitivity (default 8)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    parser = build_parser()
    try:
        arguments = parser.parse_args(_joined(sys.argv[1:] if argv is None else argv))
    except SystemExit as finished:
        return int(finished.code or 0)
    name = f"dpcore {arguments.command}"
    try:
        return {"solve": _solve, "compare": _compare, "draw": _draw}[arguments.command](arguments)
    except InputError as error:
        field = _OPTION_NAMES.get(error.field, error.field)
        return _complain(name, f"{field} = {_clipped(error.value)}: expected {error.accepted}", EXIT_BAD_INPUT)
    except KeyboardInterrupt:
        return _complain(name, "interrupted before there was an answer", EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone; without this the interpreter complains once more when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except MemoryError:
        return _complain(name, "not enough memory", EXIT_FAILED)
    except Exception as error:
        if os.environ.get("DPCORE_TRACEBACK"):
            raise
        return _complain(name, f"failed: {type(error).__name__}: {error} (a bug; please report it)", EXIT_FAILED)


def _solve(arguments: argparse.Namespace) -> int:
    solution, interrupted = _solved(arguments)
    from .export import solution_to_json

    _print(solution_to_json(solution), arguments.out)
    return _ended("dpcore solve", interrupted)


def _compare(arguments: argparse.Namespace) -> int:
    solution, interrupted = _solved(arguments)
    rows = ",\n".join("  " + json.dumps(row, allow_nan=False) for row in comparison(solution))
    _print(f"[\n{rows}\n]\n", arguments.out)
    return _ended("dpcore compare", interrupted)


def _draw(arguments: argparse.Namespace) -> int:
    if arguments.noise == MISSING:
        raise InputError("noise", MISSING, "a JSON file written by dpcore solve")
    value = real(value=arguments.value)
    from .exact import release
    from .export import layout, load_solution

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
    _print(layout(answer) + "\n", None)
    return 0


def comparison(solution: Solution) -> list[dict[str, Any]]:
    """The certified optimum and every mechanism that `baselines` knows, in JSON types.

    `lower_bound_ratio` is loss/(certified lower bound): 1.07 means at most 7 % above the best possible. None
    where a loss or a positive lower bound is missing.
    """
    from .mechanisms import baselines

    lower = solution.certificate.lower
    optimum = {"cells": solution.cells, "delta_upper": solution.certificate.delta_upper}
    rows = [_row("Certified optimum", "optimal", solution.certificate.upper, lower, True, optimum, solution.source)]
    for entry in baselines(solution.problem):
        parameters = entry.noise.parameters if entry.noise is not None else {}
        rows.append(_row(entry.name, entry.key, entry.loss, lower, entry.valid, parameters, entry.reason))
    return rows


def _row(
    name: str, key: str, loss: float | None, lower: float | None, valid: bool, parameters: dict, reason: str
) -> dict[str, Any]:
    from .export import finite

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
    problem = read_problem(arguments)
    settings = SolverSettings(
        gap=arguments.gap,
        time_limit=arguments.time_limit,
        method=arguments.method,
        cells_per_sensitivity=whole(1, 64, cells_per_sensitivity=arguments.cells),
    )
    if arguments.out is not None:
        _refuse_unwritable(arguments.out)
    from .optimal import solve

    with _stop_on_interrupt() as stop:
        solution = solve(problem, settings, stop)
        return solution, stop(None)


def read_problem(arguments: argparse.Namespace) -> NoiseProblem:
    """The problem the options describe."""
    return noise_problem(
        arguments.epsilon,
        arguments.delta,
        arguments.sensitivity,
        read_loss(arguments.loss),
        symmetric=arguments.symmetric,
        monotone=arguments.monotone,
        support=_read_support(arguments.support),
        granularity=1.0 if arguments.integer else arguments.granularity,
        budget=_read_budget(arguments.budget),
        second=_read_second(arguments.second),
    )


def read_loss(text: str) -> Loss:
    """`parse_loss`, but table:FILE reads a file (table:x=c,x=c,… is taken as it stands)."""
    family, _, rest = text.strip().partition(":")
    if family != "table" or ("=" in rest and not Path(rest).exists()):
        return parse_loss(text)
    if not rest:
        raise InputError("loss", text, "table:FILE with the name of a CSV or JSON file")
    from .loss_table import load_table

    return load_table(rest)


def _read_support(text: str) -> tuple[float, float]:
    low, colon, high = text.partition(":")
    accepted = "LO:HI with LO < HI; a side left empty is open"
    if not colon or ":" in high:
        raise InputError("support", text, accepted)
    try:
        return float(low.strip() or "-inf"), float(high.strip() or "inf")
    except ValueError:
        raise InputError("support", text, accepted) from None


def _read_budget(text: str | None) -> Budget | None:
    """LOSS=MOST; the loss of a table has = signs of its own, so the last one counts."""
    if text is None:
        return None
    loss, sign, most = text.rpartition("=")
    if not sign or not loss.strip() or not most.strip():
        raise InputError("budget", text, "LOSS=MOST, such as exceed:2=0.05")
    try:
        return Budget(read_loss(loss), most)  # type: ignore[arg-type]
    except InputError as error:
        name = error.field if error.field.startswith("budget") else f"budget {error.field}"
        raise InputError(name, error.value, error.accepted) from None


def _read_second(text: str | None) -> Privacy | None:
    if text is None:
        return None
    epsilon, colon, delta = text.partition(":")
    if not colon or ":" in delta:
        raise InputError("second", text, "EPSILON:DELTA, such as 3:1e-4")
    try:
        return Privacy(epsilon, delta)  # type: ignore[arg-type]
    except InputError as error:
        raise InputError(f"second {error.field}", error.value, error.accepted) from None


@contextlib.contextmanager
def _stop_on_interrupt() -> Iterator[Callable[[Progress | None], bool]]:
    """A progress callback that asks to stop after Ctrl-C. A second Ctrl-C does not wait for the solver."""
    asked = []

    def note(*_: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(True)

    if threading.current_thread() is not threading.main_thread():
        yield lambda _: False  # signals belong to the main thread
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda _: bool(asked)
    finally:
        signal.signal(signal.SIGINT, before)


def _refuse_unwritable(path: str) -> None:
    """Found out before the work, not after it."""
    target = Path(path)
    try:
        fits = not target.is_dir() and os.access(target if target.exists() else target.parent, os.W_OK)
    except (OSError, ValueError):
        fits = False
    if not fits:
        raise InputError("out", path, "a file that can be written")


def _print(text: str, path: str | None) -> None:
    if path is not None:
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError("out", path, f"a file that can be written ({error.strerror})") from None
    sys.stdout.write(text)
    sys.stdout.flush()


def _ended(name: str, interrupted: bool) -> int:
    if interrupted:
        return _complain(name, "interrupted: this is the best certified answer so far", EXIT_INTERRUPTED)
    return 0


def _complain(name: str, message: str, status: int) -> int:
    print(f"{name}: {one_line(message)}", file=sys.stderr)
    return status


def one_line(text: str) -> str:
    """The text in one printable line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _clipped(value: object, length: int = 80) -> str:
    text = str(value)
    return text if len(text) <= length else text[:length] + "…"


def _joined(argv: Sequence[str]) -> list[str]:
    """``--support -1:1`` as ``--support=-1:1``: argparse would take a value that starts with a dash for an option."""
    takes_value = {
        "--epsilon", "--delta", "--sensitivity", "--loss", "--support", "--granularity", "--budget", "--second",
        "--gap", "--time-limit", "--method", "--cells", "--out", "--noise", "--value",
    }  # fmt: skip
    out: list[str] = []
    for word in argv:
        if out and out[-1] in takes_value and not word.startswith("--"):
            out[-1] += "=" + word
        else:
            out.append(word)
    return out
