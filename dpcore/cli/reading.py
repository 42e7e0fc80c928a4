"""Options and words → a problem and how hard to try."""

from __future__ import annotations

import argparse
import math
import os

from .._validate import whole
from ..errors import InputError
from ..loss import FAMILIES, Loss, load_table, parse_loss
from ..numbers import read_columns, read_number
from ..privacy import Privacy
from ..privacy_profile import Composed, PairList, PrivacyProfile, parse_profile
from ..problem import Budget, NoiseProblem, SolverSettings, noise_problem
from .base import DELTA, MISSING

LOSSES = ", ".join(family.example for family in FAMILIES.values()) + " (CSV or JSON, two columns)"


def add_problem_options(parser: argparse.ArgumentParser) -> None:
    options = parser.add_argument_group("the problem")
    options.add_argument("--epsilon", metavar="E", default=MISSING, help="0, or 0.001 to 20")
    options.add_argument("--delta", metavar="D", default=MISSING, help=f"{DELTA}: 0, or 1e-12 to 0.999")
    options.add_argument("--loss", metavar="LOSS", default="l1", help=f"{LOSSES} (default l1)")
    add_query_options(options)


def add_query_options(options: argparse._ArgumentGroup) -> None:
    """What a problem has besides (ε, δ) and the loss."""
    options.add_argument("--sensitivity", metavar="S", default="1", help="of the query, in its unit (default 1)")
    options.add_argument("--symmetric", action="store_true", help="only symmetric laws")
    options.add_argument("--monotone", action="store_true", help="only densities that fall away from 0")
    options.add_argument("--support", metavar="LO:HI", default=":", help="noise stays in here; an empty side is open")
    values = options.add_mutually_exclusive_group()
    values.add_argument("--integer", action="store_true", help="the query counts: values and noise are whole numbers")
    values.add_argument("--granularity", metavar="STEP", help="values and noise are multiples of STEP")
    options.add_argument("--budget", metavar="LOSS=MOST", help="a second loss and the most it may be: exceed:2=0.05")
    options.add_argument("--second", metavar="E2:K", help="a second (epsilon, delta) to satisfy too: 3:1e-4")


def add_solver_options(parser: argparse.ArgumentParser) -> None:
    options = parser.add_argument_group("how hard to try")
    options.add_argument("--gap", metavar="G", default="0.001", help="stop at this relative gap (default 0.001)")
    options.add_argument("--time-limit", metavar="T", default="10", help="or after this many seconds (default 10)")
    options.add_argument("--method", metavar="M", default="certified", help="certified (default) or reference")
    options.add_argument("--cells", metavar="N", default="8", help="reference: cells per sensitivity (default 8)")


def read_problem(arguments: argparse.Namespace) -> NoiseProblem:
    """The problem the options describe."""
    profile = read_profile(getattr(arguments, "profile", None), arguments)
    epsilon, delta = arguments.epsilon, arguments.delta
    if profile is not None:
        epsilon, delta = profile.anchor.epsilon, profile.anchor.delta
    return noise_problem(
        epsilon,
        delta,
        arguments.sensitivity,
        read_loss(arguments.loss),
        symmetric=arguments.symmetric,
        monotone=arguments.monotone,
        support=read_support(arguments.support),
        granularity=1.0 if arguments.integer else arguments.granularity,
        budget=read_budget(arguments.budget),
        second=read_second(arguments.second),
        profile=profile,
    )


def read_loss(text: str) -> Loss:
    """`parse_loss`, but table:FILE reads a file (table:x=c,x=c,… is taken as it stands)."""
    family, _, rest = text.strip().partition(":")
    if family != "table" or ("=" in rest and not os.path.exists(rest)):
        return parse_loss(text)
    if not rest:
        raise InputError("loss", text, "table:FILE with the name of a CSV or JSON file")
    return load_table(rest)


def read_support(text: str) -> tuple[float, float]:
    """LO:HI as two numbers; an empty side is open."""
    low, colon, high = text.partition(":")
    accepted = "LO:HI with LO < HI; a side left empty is open"
    if not colon or ":" in high:
        raise InputError("support", text, accepted)
    ends = ((low, -math.inf), (high, math.inf))
    return tuple(read_number(end, "support", accepted) if end.strip() else far for end, far in ends)  # type: ignore[return-value]


def read_budget(text: str | None) -> Budget | None:
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


def read_second(text: str | None) -> Privacy | None:
    if text is None:
        return None
    epsilon, colon, delta = text.partition(":")
    if not colon or ":" in delta:
        raise InputError("second", text, "EPSILON:DELTA, such as 3:1e-4")
    try:
        return Privacy(epsilon, delta)  # type: ignore[arg-type]
    except InputError as error:
        raise InputError(f"second {error.field}", error.value, error.accepted) from None


def read_profile(text: str | None, arguments: argparse.Namespace) -> PrivacyProfile | None:
    """gdp:MU, list:FILE, or composed:T with --epsilon and --delta."""
    if text is None:
        return None
    family, _, rest = text.strip().partition(":")
    if family == "composed" and ":" not in rest:
        return Composed(rest, Privacy(arguments.epsilon, arguments.delta))  # type: ignore[arg-type]
    if (arguments.epsilon, arguments.delta) != (MISSING, MISSING):
        raise InputError("profile", text, "no --epsilon and --delta next to it, but for composed:T")
    if family == "list" and (":" not in rest or os.path.exists(rest)):
        return read_pairs(rest)
    return parse_profile(text)


def read_pairs(name: str) -> PairList:
    """The pairs in a CSV file of two columns, epsilon and delta (`read_columns`)."""
    try:
        with open(name, encoding="utf-8") as file:
            text = file.read(100_000)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no text"
        raise InputError("profile list:FILE", name, f"a readable CSV file ({reason})") from None
    rows = read_columns(text, ("epsilon", "delta"), "profile list:FILE", "two columns, epsilon and delta")
    return PairList(tuple(Privacy(*row) for row in rows.values()))  # type: ignore[arg-type]


def read_settings(arguments: argparse.Namespace) -> SolverSettings:
    """The solver settings the options describe."""
    return SolverSettings(
        gap=arguments.gap,
        time_limit=arguments.time_limit,
        method=arguments.method,
        cells_per_sensitivity=whole(1, 64, cells_per_sensitivity=arguments.cells),
    )
