"""profile: noise for a query with several coordinates."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..privacy import Privacy
from ..problem_fields.vector import FIELDS
from .base import MISSING, ended, refuse_unwritable, stop_on_interrupt, write_out
from .reading import add_fields, read_fields

if TYPE_CHECKING:
    from ..vector import Allocation, SensitivityProfile, VectorQuery


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "profile",
        help="noise for a query with several coordinates",
        description="Mechanisms for a query whose coordinates have their own sensitivities.",
    )
    add_fields(parser, fields=FIELDS)
    norms = "scale a named profile to norm 1: l1, l2 or none (default)"
    parser.add_argument("--normalise", metavar="NORM", default="none", help=norms)
    keys = "all (default) or keys such as laplace-optimal,mixed"
    parser.add_argument("--mechanism", metavar="M", default="all", help=keys)
    parser.add_argument(
        "--value", metavar="V", help="1,2,3: print one exact release of these values instead, with the least error"
    )  # fmt: skip
    parser.add_argument("--out", metavar="FILE", help="write the JSON to this file as well")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from ..vector.compare import MECHANISMS, allocations

    query = read_query(arguments)
    if arguments.out is not None:
        refuse_unwritable(arguments.out)
    value = None if arguments.value is None else _numbers("value", arguments.value)
    words = [word.strip() for word in arguments.mechanism.split(",")]
    keys = MECHANISMS if words == ["all"] else tuple(words)
    with stop_on_interrupt() as stop:
        found = allocations(query, keys, progress=stop)
        interrupted = stop(None)
    if value is not None:
        write_out(json.dumps(_release(found, value), allow_nan=False) + "\n", arguments.out)
        return ended("dpcore profile", interrupted)
    rows = ",\n".join("  " + json.dumps(row, allow_nan=False) for row in report(query, found))
    write_out(f"[\n{rows}\n]\n", arguments.out)
    return ended("dpcore profile", interrupted)


def _release(found: list[Allocation], value: list[float]) -> dict[str, Any]:
    """One exact release with the best of the mechanisms that exist."""
    able = [one for one in found if one.noise is not None and not one.noise.inexact]
    if not able:
        why = "; ".join(f"{one.key}: {one.noise.inexact if one.noise else one.reason}" for one in found)
        raise InputError("mechanism", ", ".join(one.key for one in found), f"one that releases exactly ({why})")
    best = min(able, key=lambda one: one.error)
    assert best.noise is not None and best.guarantee is not None
    return {
        "key": best.key,
        "error": best.error,
        "guarantee": [best.guarantee.epsilon, best.guarantee.delta],
        "proof": best.proof,
        "release": best.noise.release(value).tolist(),
    }


def _numbers(name: str, text: str) -> list[float]:
    from ..numbers import read_numbers

    return read_numbers(text, name, "numbers, one per coordinate", commas=True)


def report(query: VectorQuery, found: list[Allocation]) -> list[dict[str, Any]]:
    """One JSON object per mechanism. A mechanism that does not exist has `error` null and a `reason`."""
    from ..problem_fields import finite
    from ..vector.compare import allocation
    from ..vector.query import decibels

    known = {one.key: one for one in found}
    references = {key: known.get(key) or allocation(query, key) for key in {one.reference for one in found}}
    rows = []
    for one in found:
        exists, base = one.guarantee is not None, references[one.reference]
        ratio = base.error / one.error if exists and base.guarantee is not None else math.nan
        row = {
            "name": one.name,
            "key": one.key,
            "names": list(query.profile.names) or None,
            "scales": one.scales.tolist(),
            "error": finite(one.error) if exists else None,
            "reduction_db": finite(decibels(ratio)),
            "reduction_ratio": finite(ratio),
            "reduction_over": one.reference,
            "guarantee": [one.guarantee.epsilon, one.guarantee.delta] if one.guarantee else None,
            "kinds": _runs(one.kinds),
            "proof": one.proof,
            "reason": one.reason,
        }
        rows.append(row)
    return rows


def _runs(kinds: tuple[str, ...]) -> list[list[Any]]:
    """Neighbouring coordinates of one kind together: [[kind, how many], …]."""
    out: list[list[Any]] = []
    for kind in kinds:
        if out and out[-1][0] == kind:
            out[-1][1] += 1
        else:
            out.append([kind, 1])
    return out


def read_query(arguments: argparse.Namespace) -> VectorQuery:
    """The query the options describe."""
    from ..vector.query import vector_query

    readers: dict[str, Callable[[str], object]] = {
        "profile": lambda text: read_profile(text, arguments.normalise),
        "weights": lambda text: _numbers("weights", text),
    }
    Privacy(arguments.epsilon, arguments.delta)  # named first where several are missing
    return vector_query(**read_fields(arguments, FIELDS, readers))


def read_profile(text: str, normalise: str) -> SensitivityProfile:
    """`parse_profile`, but csv:FILE[:COLUMN] is a file's column of sensitivities, or the one of that name or number."""
    from ..vector import parse_profile
    from ..vector.files import profile_from_csv
    from ..vector.profile import PROFILES, refuse_scaling

    if text == MISSING:
        raise InputError("profile", MISSING, PROFILES + ", or csv:FILE")
    word, _, rest = text.strip().partition(":")
    if word != "csv":
        return parse_profile(text, normalise=normalise)
    path, column = rest, None
    if not Path(rest).is_file():
        path, _, column = rest.rpartition(":")
    try:
        content = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError, UnicodeDecodeError):
        raise InputError("profile", text, "csv:FILE or csv:FILE:COLUMN with a readable text file") from None
    refuse_scaling(normalise)
    return profile_from_csv(content, column)
