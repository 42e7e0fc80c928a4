"""learn: what the noise does to a classifier."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import InputError
from .base import MISSING, ended, refuse_unwritable, stop_on_interrupt, write_out
from .reading import add_fields

if TYPE_CHECKING:
    from ..learning.experiment import Asked, Outcome, Protocol
    from ..learning.tables import LearningTable


def add_parser(commands: Any) -> None:
    """The grammar. Numbers stay text here: the core's own checks read them and word the message."""
    parser = commands.add_parser(
        "learn",
        help="what the noise does to a classifier",
        description="Simulates a private classifier over many splits and draws, with several kinds of noise, and says "
        "what all its statistics together reveal (docs/learning.md).",
    )
    parser.add_argument("--data", metavar="D", default=MISSING, help="contraceptive, breast-cancer, ecoli, wine, iris, "
                        "diagnostic, or a CSV file with names in the first line")  # fmt: skip
    parser.add_argument("--label", metavar="COLUMN", help="of the classes, for a file")
    parser.add_argument(
        "--ranges", metavar="R", default="", help="what is public about the columns of a file: "
        "'age=16:49; education=1|2|3; note=ignored', also the classes, 'ill=0|1'; or data: read it from the file, "
        "which no promise covers"
    )  # fmt: skip
    parser.add_argument("--positive", metavar="CLASS", help="learn this class against the rest")
    parser.add_argument("--model", metavar="M", default="naive-bayes", help="naive-bayes (default), coordinate-descent")
    add_fields(parser, "epsilon", "delta")
    parser.add_argument(
        "--budget", metavar="B", default="total", help="total (default): all statistics together; each: every one"
    )
    parser.add_argument(
        "--sensitivities", metavar="S", help="published, program (the published authors' own) or corrected; a total "
        "budget has the last only (default: published for each, corrected for total)"
    )  # fmt: skip
    parser.add_argument(
        "--noise", metavar="N", default="gaussian-classical,gaussian,truncated-laplace,optimal",
        help="laws with commas between them; none is the learner without noise (always included)",
    )  # fmt: skip
    parser.add_argument("--weights", metavar="W", default="1,1,1,1", help="of counts, cells, sums and squares; "
                        "or optimised: on public simulated data")  # fmt: skip
    parser.add_argument("--splits", metavar="N", default="20", help="into training and test rows (default 20)")
    parser.add_argument("--draws", metavar="M", default="100", help="of the noise for every split (default 100)")
    parser.add_argument("--iterations", metavar="T", default="100", help="of coordinate descent (default 100)")
    parser.add_argument("--vectors", action="store_true", help="of coordinate descent with a budget for each: also one "
                        "vector with isotropic noise in place of the numbers of an iteration")  # fmt: skip
    parser.add_argument("--seed", metavar="N", default="0", help="of splits and draws (default 0)")
    parser.add_argument("--out", metavar="FILE", help="write the JSON to this file as well")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.out is not None:
        refuse_unwritable(arguments.out)
    from ..export import layout
    from ..learning.experiment import Protocol, simulate
    from ..learning.noises import NAMES

    began = time.perf_counter()
    table = read_data(arguments)
    asked = read_asked(arguments, table)
    protocol = Protocol(arguments.splits, arguments.draws, arguments.seed)
    keys = dict.fromkeys(["none", *(word.strip() for word in arguments.noise.split(","))])
    found: dict[str, Outcome] = {}
    refused: dict[str, str] = {}
    with stop_on_interrupt() as stop:
        for key in keys:
            if stop(None):
                break
            try:
                outcome = simulate(table, asked, key, protocol, lambda: stop(None))
            except InputError as error:
                if len(keys) == 2 or (error.field == "noise" and key not in NAMES):
                    raise
                refused[key] = str(error)
                continue
            if outcome is not None:
                found[key] = outcome
        beside = _vectors(table, asked, protocol, lambda: stop(None)) if arguments.vectors else {}
        interrupted = stop(None)
    answer = _told(arguments, table, asked, protocol)
    answer["outcomes"] = {one.key: _outcome(one, asked, table, found) for one in found.values()}
    answer |= beside | {"refused": refused, "seconds": time.perf_counter() - began, "version": __version__}
    write_out(layout(answer, depth=3) + "\n", arguments.out)
    return ended("dpcore learn", interrupted)


def read_data(arguments: argparse.Namespace) -> LearningTable:
    """The table that the options name."""
    from ..learning.tables import SETS, load, read_table
    from ..reload import load_bytes

    name = str(arguments.data)
    if name in SETS or not Path(name).suffix:
        table = load(name)
    else:
        if arguments.label is None:
            raise InputError("label", MISSING, "the column of the classes")
        try:
            text = load_bytes(name, "data").decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError("data", name, "a readable CSV file (no text in UTF-8)") from None
        table = read_table(text, arguments.label, arguments.ranges, name=Path(name).name)
    if arguments.positive is not None:
        return table.against(arguments.positive)
    if arguments.model != "coordinate-descent":
        return table
    stated = name not in SETS and table.classes_public
    return table.binary(table.classes[0] if stated else None)


def read_asked(arguments: argparse.Namespace, table: LearningTable) -> Asked:
    """What the options ask for."""
    from ..learning.descent import Descent
    from ..learning.experiment import Asked
    from ..learning.tuning import optimised
    from ..numbers import read_numbers
    from ..privacy import Privacy

    recipe = arguments.sensitivities or ("published" if arguments.budget == "each" else "corrected")
    privacy, descent = Privacy(arguments.epsilon, arguments.delta), Descent(arguments.iterations)
    if arguments.weights == "optimised":
        plain = Asked(arguments.model, privacy, arguments.budget, recipe, descent=descent)
        return optimised(plain, table)
    weights = tuple(read_numbers(arguments.weights, "weights", "four numbers with commas", commas=True))
    return Asked(arguments.model, privacy, arguments.budget, recipe, weights, descent)


def _told(arguments: argparse.Namespace, table: LearningTable, asked: Asked, protocol: Any) -> dict[str, Any]:
    """What was asked, in JSON types."""
    return {
        "data": table.name, "rows": len(table.labels), "columns": len(table.columns), "classes": list(table.classes),
        "ranges_public": table.public, "classes_public": table.classes_public, "model": asked.model,
        "epsilon": asked.privacy.epsilon, "delta": asked.privacy.delta, "budget": asked.budget,
        "sensitivities": asked.recipe, "weights": list(asked.weights),
        "neighbours": "one person replaced; the number of rows is public",
        "splits": protocol.splits, "draws": protocol.draws, "seed": protocol.seed,
        "statistics_one_person_changes": _touched(asked, table),
    }  # fmt: skip


def _vectors(table: LearningTable, asked: Asked, protocol: Protocol, stop: Callable[[], bool]) -> dict[str, Any]:
    """Errors and promises where an iteration releases one vector, in JSON types.

    Raises
    ------
    InputError : another model or budget, or no such noise.
    """
    from ..learning import noises, vectors
    from ..learning.descent import width
    from ..problem_fields import finite

    if asked.model != "coordinate-descent" or asked.budget != "each":
        raise InputError("vectors", f"{asked.model}, {asked.budget}", "coordinate-descent with --budget each")
    d, what, watch = width(table.columns), vectors.Vectors(asked.privacy, asked.descent), noises.Watch(stop)
    each, found = what.each(d), {}
    for key in ("vector-none", *vectors.NAMES):
        outcome = vectors.simulate(table, what, key, protocol, stop)
        if outcome is None:
            break
        (inside, outside), (spread_in, spread_out) = outcome.means, outcome.spreads
        told: dict[str, Any] = {
            "in_sample": inside, "out_of_sample": outside,
            "spread_in_sample": spread_in, "spread_out_of_sample": spread_out, "total": None,
        }  # fmt: skip
        if key in vectors.NAMES:
            try:
                told["deviation"], delta, epsilon = vectors.kept(key, what, d, 1e-5, watch)
            except noises.StoppedError:
                break
            told["total"] = {"epsilon": finite(what.added(d)), "delta": delta, "epsilon_at_1e-5": finite(epsilon)}
        found[key] = told
    return {"vectors": {"dimension": d, "epsilon": each.epsilon, "delta": each.delta, "outcomes": found}}


def _touched(asked: Asked, table: LearningTable) -> int:
    return max(sum(count for _, count in case) for case in asked.cases(table))


def _outcome(one: Outcome, asked: Asked, table: LearningTable, found: dict[str, Outcome]) -> dict[str, Any]:
    """One law's errors, its promise and its test against every other law, in JSON types."""
    from ..learning.experiment import one_sided
    from ..problem_fields import finite

    (inside, outside), (spread_in, spread_out) = one.means, one.spreads
    told: dict[str, Any] = {
        "in_sample": inside, "out_of_sample": outside,
        "spread_in_sample": spread_in, "spread_out_of_sample": spread_out, "splits": len(one.inside),
        "total": total(asked, one.key, table),
    }  # fmt: skip
    tests = {}
    for other in found.values():
        if other is not one and len(other.inside) == len(one.inside):
            t, p = one_sided(one.inside, other.inside)
            t_out, p_out = one_sided(one.outside, other.outside)
            tests[other.key] = {"t_in": finite(t), "p_in": p, "t_out": finite(t_out), "p_out": p_out}
    return told | {"errs_less_than": tests}


def total(asked: Asked, key: str, table: LearningTable) -> dict[str, Any] | None:
    """What all statistics together keep with a law, by exact accounting; None where nothing is promised."""
    from ..learning import noises
    from ..learning.bounded import DataDependent
    from ..problem_fields import finite

    law = asked.law(key, table)
    if law is None or isinstance(law, DataDependent) or not asked.accountable:
        return None
    cases, size = asked.cases(table), {"noise_amplitude": noises.amplitude(law)}
    if asked.budget == "total":
        return {"epsilon": asked.privacy.epsilon, "delta": asked.privacy.delta} | size
    added = asked.privacy.epsilon * max(sum(shift * count for shift, count in case) for case in cases)
    known: dict[str, Any] = {"epsilon": finite(added), "delta": noises.delta_of(law, added, cases)}
    return known | {"epsilon_at_1e-5": finite(noises.epsilon_of(law, 1e-5, cases))} | size
