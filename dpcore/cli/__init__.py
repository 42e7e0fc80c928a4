"""The command line: `python -m dpcore COMMAND …`, JSON on stdout (docs/cli.md).

Exit status 0: an answer. 1: no answer for a reason that is not the input's. 2: bad input, one line on stderr
that names the field, the value and what is accepted. 130: interrupted; the best certified answer so far, if there
is one, is on stdout.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import InputError, MissingExtraError
from ..problem_fields import LISTS
from . import account, data_dependent, invert, isotropic, learn, noise, plan, private_program, profile, sweep
from .base import EXIT_BAD_INPUT, EXIT_FAILED, EXIT_INTERRUPTED, Parser, clipped, complain

COMMANDS = (noise, sweep, invert, data_dependent, profile, isotropic, private_program, account, plan, learn)
"""Modules with `add_parser(commands)`, which sets `run(arguments) -> exit status` for each of their commands."""

_OPTION_NAMES = {
    "cells_per_sensitivity": "cells", "time_limit": "time-limit", "loss table file": "loss table:FILE",
} | {name: field.flagged for fields in LISTS.values() for name, field in fields.items()}  # fmt: skip


def build_parser() -> Parser:
    """The grammar of all commands."""
    parser = Parser(prog="dpcore", description="Provably near-optimal noise for differential privacy.")
    parser.add_argument("--version", action="version", version=f"dpcore {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for module in COMMANDS:
        module.add_parser(commands)
    commands.metavar = "|".join(commands.choices)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    parser = build_parser()
    try:
        arguments = parser.parse_args(_joined(parser, sys.argv[1:] if argv is None else argv))
    except SystemExit as finished:
        return int(finished.code or 0)
    name = f"dpcore {arguments.command}"
    try:
        code: int = arguments.run(arguments)
        return code
    except InputError as error:
        field = _OPTION_NAMES.get(error.field, error.field)
        return complain(name, f"{field} = {clipped(error.value)}: expected {error.accepted}", EXIT_BAD_INPUT)
    except KeyboardInterrupt:
        return complain(name, "interrupted before there was an answer", EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone; without this the interpreter complains once more when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except MissingExtraError as error:
        return complain(name, str(error), EXIT_FAILED)
    except MemoryError:
        return complain(name, "not enough memory", EXIT_FAILED)
    except Exception as error:
        if os.environ.get("DPCORE_TRACEBACK"):
            raise
        return complain(name, f"failed: {type(error).__name__}: {error} (a bug; please report it)", EXIT_FAILED)


def _joined(parser: argparse.ArgumentParser, argv: Sequence[str]) -> list[str]:
    """``--support -1:1`` as ``--support=-1:1``: argparse would take a value that starts with a dash for an option."""
    takes_value = _options_with_value(parser)
    out: list[str] = []
    for word in argv:
        if out and out[-1] in takes_value and not word.startswith("--"):
            out[-1] += "=" + word
        else:
            out.append(word)
    return out


def _options_with_value(parser: argparse.ArgumentParser) -> set[str]:
    """The options of all commands that are followed by one word."""
    found: set[str] = set()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found = found.union(*map(_options_with_value, action.choices.values()))
        elif action.nargs is None:
            found |= set(action.option_strings)
    return found
