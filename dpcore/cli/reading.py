"""Options and words → a problem and how hard to try."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import InputError
from ..loss import Loss, load_table, parse_loss
from ..numbers import read_columns, read_number
from ..privacy import Privacy
from ..privacy_profile import Composed, PairList, PrivacyProfile, parse_profile
from ..problem import CELLS, GAP, LINE, TIME_LIMIT, Budget, NoiseProblem, SolverSettings, noise_problem
from ..problem_fields import Fields
from ..problem_fields.noise import FIELDS
from .base import MISSING


def add_fields(options: argparse._ActionsContainer, *names: str, fields: Fields = FIELDS) -> None:
    """The options of some fields of a problem, by default of noise; all without names."""
    for name in names or fields:
        field = fields[name]
        if field.metavar is None:
            options.add_argument(f"--{field.flagged}", dest=name, action="store_true", help=field.help)
        else:
            default = field.option(field.default) if field.default is not None else MISSING if field.required else None
            options.add_argument(
                f"--{field.flagged}", dest=name, metavar=field.metavar, default=default, help=field.help
            )


def read_fields(
    arguments: argparse.Namespace, fields: Fields, readers: Mapping[str, Callable[[str], object]]
) -> dict[str, Any]:
    """The arguments of the problem that the options describe. readers : what makes values of texts; those of other
    options, numbers and switches, the problem reads itself."""
    texts = {name: getattr(arguments, name, None) for name in fields}
    return {name: readers[name](text) if name in readers else text for name, text in texts.items() if text is not None}


def add_problem_options(parser: argparse.ArgumentParser) -> None:
    options = parser.add_argument_group("the problem")
    add_fields(options, "epsilon", "delta", "loss")
    add_query_options(options)


def add_query_options(options: argparse._ArgumentGroup) -> None:
    """What a problem has besides (ε, δ) and the loss."""
    add_fields(options, "sensitivity", "symmetric", "monotone", "support")
    values = options.add_mutually_exclusive_group()
    values.add_argument("--integer", action="store_true", help="the query counts: values and noise are whole numbers")
    add_fields(values, "granularity")
    add_fields(options, "budget", "second")


def add_solver_options(parser: argparse.ArgumentParser) -> None:
    options = parser.add_argument_group("how hard to try")
    gap = f"{GAP.default:g}"
    options.add_argument("--gap", metavar="G", default=gap, help="stop at this relative gap (default %(default)s)")
    seconds = f"{TIME_LIMIT.default:g}"
    options.add_argument(
        "--time-limit", metavar="T", default=seconds, help="or after this many seconds (default %(default)s)"
    )
    options.add_argument("--method", metavar="M", default="certified", help="certified (default) or reference")
    cells = f"{CELLS.default:g}"
    options.add_argument(
        "--cells", metavar="N", default=cells, help="reference: cells per sensitivity (default %(default)s)"
    )


def read_problem(arguments: argparse.Namespace) -> NoiseProblem:
    """The problem the options describe."""
    values = read_fields(arguments, FIELDS, READERS)
    if arguments.integer:
        values["granularity"] = 1.0
    if "profile" in values:
        profile = values["profile"] = read_profile(values["profile"], arguments)
        values |= {"epsilon": profile.anchor.epsilon, "delta": profile.anchor.delta}
    return noise_problem(**values)


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
    ends = zip((low, high), LINE)
    lo, hi = (read_number(end, "support", accepted) if end.strip() else far for end, far in ends)
    return lo, hi


def read_budget(text: str) -> Budget:
    """LOSS=MOST; the loss of a table has = signs of its own, so the last one counts."""
    loss, sign, most = text.rpartition("=")
    if not sign or not loss.strip() or not most.strip():
        raise InputError("budget", text, "LOSS=MOST, such as exceed:2=0.05")
    try:
        return Budget(read_loss(loss), most)  # type: ignore[arg-type]  # a text, which it reads itself
    except InputError as error:
        name = error.field if error.field.startswith("budget") else f"budget {error.field}"
        raise InputError(name, error.value, error.accepted) from None


def read_second(text: str) -> Privacy:
    """E2:K."""
    epsilon, colon, delta = text.partition(":")
    if not colon or ":" in delta:
        raise InputError("second", text, "EPSILON:DELTA, such as 3:1e-4")
    try:
        return Privacy(epsilon, delta)  # type: ignore[arg-type]  # texts, which it reads itself
    except InputError as error:
        raise InputError(f"second {error.field}", error.value, error.accepted) from None


READERS: dict[str, Callable[[str], object]] = {
    "loss": read_loss,
    "support": read_support,
    "budget": read_budget,
    "second": read_second,
}
"""What makes values of the texts of options."""


def read_profile(text: str, arguments: argparse.Namespace) -> PrivacyProfile:
    """gdp:MU, list:FILE, or composed:T with --epsilon and --delta."""
    family, _, rest = text.strip().partition(":")
    if family == "composed" and ":" not in rest:
        return Composed(rest, Privacy(arguments.epsilon, arguments.delta))  # type: ignore[arg-type]  # texts
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
    return PairList(tuple(Privacy(*row) for row in rows.values()))  # type: ignore[arg-type]  # texts, which it reads itself


def read_settings(arguments: argparse.Namespace) -> SolverSettings:
    """The solver settings the options describe."""
    return SolverSettings(
        gap=arguments.gap,
        time_limit=arguments.time_limit,
        method=arguments.method,
        cells_per_sensitivity=arguments.cells,
    )


def is_of_vectors(data: Any) -> bool:
    """Whether this is the content of a file written by `isotropic`."""
    return isinstance(data, dict) and data.get("kind") == "isotropic"
