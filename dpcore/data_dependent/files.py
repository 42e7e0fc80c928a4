"""Data-dependent solutions as files: JSON that is audited again when it is read, CSV. Keys: docs/cli.md."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .._validate import decimal, real
from ..errors import CertificateError, InputError
from ..export import layout, noise_to_csv, solution_from_dict, solution_to_dict, spec_stem, trace_to_lists
from ..noise.files import MAX_AUDIT_WORK
from ..noise.piecewise import PiecewiseNoise
from ..noise.whole import TOTAL
from ..numbers import write_number
from ..problem import SolverSettings
from ..problem_fields import finite, from_dict, to_dict
from ..problem_fields.dependent import FIELDS
from ..reload import FORMAT, RELOADED, load_json, parse_json, refuse_leaky
from ..solution import Certificate
from . import referee
from .channel import Channel, Grid
from .clamped import ClampedNoise, clamped_loss_upper
from .noise_laws import NoiseLaws, average_upper, ends_of, largest_upper, shifts, shortfall_upper, units_of
from .problem import MAX_LAWS, DataDependentProblem, data_dependent_problem
from .solution import Solution

KIND = "data-dependent"
MAX_FILE_CELLS = 4000


def channel_solution_to_dict(solution: Solution) -> dict[str, Any]:
    """The solution in JSON types only."""
    problem, certificate, independent = solution.problem, solution.certificate, solution.independent
    known = independent.certificate if independent else None
    return {
        "format": FORMAT,
        "kind": KIND,
        "version": __version__,
        **to_dict(FIELDS, problem),
        "lower": certificate.lower,
        "upper": certificate.upper,
        "gap": finite(certificate.gap),
        "seconds": solution.seconds,
        "rows": solution.laws,
        "cells": solution.cells,
        "source": solution.source,
        "data_independent": {
            "lower": known.lower if known else None,
            "upper": known.upper if known else None,
            "clamped_upper": finite(solution.clamped_upper),
        },
        "certificate": {
            "lower": certificate.lower,
            "upper": certificate.upper,
            "delta_upper": certificate.delta_upper,
            "worst_distance": certificate.worst_shift,
            "repaired": bool(certificate.repaired),
            "cap": solution.cap,
            "instance_upper": solution.instance_upper,
        },
        "mechanism": _mechanism(solution),
        "trace": trace_to_lists(solution.trace),
    }


def _mechanism(solution: Solution) -> dict[str, Any]:
    mechanism = solution.mechanism
    if isinstance(mechanism, ClampedNoise):
        assert solution.independent is not None  # it is what is clamped
        return {"family": "clamped", "independent": solution_to_dict(solution.independent)}
    if isinstance(mechanism, NoiseLaws):
        first = mechanism.laws[0]
        return {
            "family": "noise laws",
            "resolution": first.resolution,
            "edges": mechanism.edges.tolist(),
            "probabilities": mechanism.masses.tolist(),
            "atom_probabilities": mechanism.atom_masses.tolist(),
            "first": [int(law.breaks[0]) for law in mechanism.laws],
            "weights": [[str(w) for w in law.weights.tolist()] for law in mechanism.laws],
            "atoms": [str(law.atom_weight) for law in mechanism.laws],
            "total": str(TOTAL),
        }
    grid = mechanism.grid
    return {
        "family": "channel",
        "cells": grid.cells,
        "reach": grid.reach,
        "breaks": list(grid.breaks),
        "points": grid.points.tolist(),
        "spread": mechanism.spread,
        "probabilities": mechanism.masses.tolist(),
        "atom_probabilities": mechanism.atom_masses.tolist(),
        # As text: most readers of JSON keep 53 bits of a number, a weight has 62.
        "weights": [[str(w) for w in row] for row in mechanism.weights.tolist()],
        "atoms": [str(a) for a in mechanism.atoms.tolist()],
        "total": str(TOTAL),
    }


def solution_to_json(solution: Solution) -> str:
    """The solution as text, one key a line."""
    return layout(channel_solution_to_dict(solution)) + "\n"


def channel_to_csv(solution: Solution) -> str:
    """A table that any reader takes as it is, one line per law: its interval of true values, its atom, its probability
    of every point. Where the mechanism is noise that ignores the true value, the table of that noise. What was asked
    and proved is in the JSON file of the same name."""
    problem, mechanism = solution.problem, solution.mechanism
    if isinstance(mechanism, ClampedNoise):
        assert solution.independent is not None
        return noise_to_csv(solution.independent)
    if isinstance(mechanism, NoiseLaws):
        return _noise_laws_to_csv(mechanism)
    grid = mechanism.grid
    low = decimal(problem.query_range[0])
    ends = [float(low + grid.edges[b]) for b in grid.breaks]
    lines = [",".join(["from", "to", "true value itself", *map(repr, grid.points.tolist())])]
    for g, row in enumerate(mechanism.masses.tolist()):
        cells = [ends[g], ends[g + 1], float(mechanism.atom_masses[g]), *row]
        lines.append(",".join(map(repr, cells)))
    return "\n".join(lines) + "\n"


def _noise_laws_to_csv(mechanism: NoiseLaws) -> str:
    """The same for noise: columns are cells of the noise, named by their left ends."""
    lines = [",".join(["from", "to", "no noise", *map(repr, mechanism.edges[:-1].tolist())])]
    for g, row in enumerate(mechanism.masses.tolist()):
        lines.append(",".join(map(repr, [*mechanism.ends[g : g + 2], float(mechanism.atom_masses[g]), *row])))
    return "\n".join(lines) + "\n"


def file_stem(problem: DataDependentProblem) -> str:
    """The name of a problem's files, without their ending; see `dpcore.export.file_stem`."""
    low, high = problem.query_range
    cap = problem.instance_cap
    capped = "" if cap is None else f"cap-{cap if cap == 'auto' else format(cap, 'g')}"
    ends = ",".join(map(write_number, problem.partition))
    below = "" if problem.below_spec is None else f"below-0-{spec_stem(problem.below_spec)}"
    parts = [
        "data-dependent", f"epsilon-{problem.privacy.epsilon:g}", f"delta-{problem.privacy.delta:g}",
        spec_stem(problem.loss.spec), below, f"sensitivity-{problem.sensitivity:g}", f"values-{low:g}-to-{high:g}",
        f"weight-{spec_stem(problem.weight.spec)}", capped,
        *(name for name in ("monotone", "ordered") if getattr(problem, name)),
        spec_stem(f"sets-at-{ends}") if ends else "", "shared-noise" if problem.shared == "noise" else "",
    ]  # fmt: skip
    return "_".join(filter(None, parts))


# Reading back -------------------------------------------------------------------------------------------


def load_solution(path: str | Path) -> Solution:
    """The solution in a JSON file of at most 32 MB; see `solution_from_json`."""
    return _believed(load_json(path, "mechanism file", KIND), str(path))


def solution_from_json(text: str | bytes, *, name: str = "this text") -> Solution:
    """The solution in a JSON text, believed only as far as it can be checked: the mechanism is rebuilt from its whole
    numbers and audited again; a lower bound is kept when it does not contradict what the audit says.

    Raises
    ------
    InputError : a field is missing or wrong, or the mechanism is not what its problem asks for.
    """
    return _believed(parse_json(text, name, "mechanism file", KIND), name)


def _believed(data: Any, name: str) -> Solution:
    if not isinstance(data, dict) or data.get("kind") != KIND or data.get("format") != FORMAT:
        raise InputError("mechanism file", name, f"JSON written by `python -m dpcore {KIND}`")
    try:
        return _solution(data)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, CertificateError) as error:
        text = f"{type(error).__name__}: {error}"[:80]
        raise InputError("mechanism file", text, "a file as `python -m dpcore data-dependent` writes it") from None


def _solution(data: dict[str, Any]) -> Solution:
    problem = data_dependent_problem(**from_dict(FIELDS, data))
    lower = max(real(lower=data["lower"]), 0.0)
    cap = data["certificate"].get("cap")
    cap = None if cap is None else real(cap=cap)
    if problem.instance_cap not in (None, "auto", cap) or (problem.instance_cap is None) != (cap is None):
        raise InputError("certificate.cap", cap, "the instance cap of the problem")
    fields = data["mechanism"]
    if (fields["family"] == "noise laws") != (problem.shared == "noise"):
        raise InputError("mechanism.family", str(fields["family"])[:40], "what the problem says that intervals share")
    if fields["family"] == "clamped":
        return _clamped(problem, fields, lower, cap)
    if fields["family"] == "noise laws":
        return _noise_laws(problem, fields, lower)
    channel = _channel(problem, fields)
    delta_upper, pair = referee.shortfall_upper(channel, problem.privacy.epsilon)
    refuse_leaky("mechanism", delta_upper, problem.privacy)
    instance = referee.largest_loss_upper(channel, problem)
    shaped = (not problem.monotone or referee.is_monotone(channel)) and (
        not problem.ordered or referee.is_ordered(channel)
    )
    fits = _partition_fits(problem, channel)
    if not shaped or not fits or (cap is not None and instance > cap):
        raise InputError("mechanism", "its laws", "laws that meet the problem's constraints")
    certificate = Certificate(
        lower, referee.loss_upper(channel, problem), delta_upper, referee.distance(channel.grid, pair)
    )
    independent = data.get("data_independent", {}).get("clamped_upper")
    clamped = math.inf if independent is None else real(clamped_upper=independent)
    return Solution(
        problem, SolverSettings(), channel, certificate, cap, instance, None, clamped, (), 0.0, channel.grid.cells,
        channel.grid.laws, RELOADED,
    )  # fmt: skip


def _partition_fits(problem: DataDependentProblem, channel: Channel) -> bool:
    """A problem with a partition has one law per interval, and no atom."""
    if not problem.partition:
        return True
    low = decimal(problem.query_range[0])
    inner = tuple(low + channel.grid.edges[b] for b in channel.grid.breaks[1:-1])
    return inner == tuple(decimal(b) for b in problem.partition) and not channel.atoms.any()


def _channel(problem: DataDependentProblem, fields: dict[str, Any]) -> Channel:
    cells, reach = int(fields["cells"]), int(fields["reach"])
    if not 1 <= cells <= MAX_FILE_CELLS or not 1 <= reach <= 10**6:
        raise InputError("mechanism.cells", cells, f"a whole number from 1 to {MAX_FILE_CELLS}")
    grid = Grid(problem.query_range, problem.sensitivity, cells, reach, tuple(int(b) for b in fields["breaks"]))
    weights = np.array([[int(w) for w in row] for row in fields["weights"]], dtype=np.int64)
    return Channel(grid, weights, np.array([int(a) for a in fields["atoms"]], dtype=np.int64), fields["spread"] is True)


def _noise_laws(problem: DataDependentProblem, fields: dict[str, Any], lower: float) -> Solution:
    resolution, first = int(fields["resolution"]), [int(i) for i in fields["first"]]
    rows = [np.array([int(w) for w in row], dtype=np.int64) for row in fields["weights"]]
    atoms = [int(atom) for atom in fields["atoms"]]
    span = max(i + len(row) for i, row in zip(first, rows)) - min(first)
    if (
        not 1 <= resolution <= 256
        or len(rows) > MAX_LAWS
        or not 0 < span <= MAX_FILE_CELLS
        or max(map(abs, first)) > 1e6
    ):
        raise InputError("mechanism.weights", f"{len(rows)} laws, {span} cells", f"at most {MAX_FILE_CELLS} cells")
    if not len(rows) == len(atoms) == len(first):
        raise InputError("mechanism.atoms", f"{len(atoms)} atoms", "one for each law")
    ends = ends_of(problem)
    work = sum(
        most - least + 1 for *_, least, most in shifts(units_of(ends, problem.sensitivity, resolution), resolution)
    )
    if work * span > MAX_AUDIT_WORK:
        raise InputError(
            "mechanism.weights", f"{work} shifts, {span} cells", f"a product of at most {MAX_AUDIT_WORK:g}"
        )
    laws = tuple(
        PiecewiseNoise(problem.sensitivity, resolution, np.arange(i, i + len(row) + 1), row, 0, atom)
        for i, row, atom in zip(first, rows, atoms)
    )
    mechanism = NoiseLaws(ends, laws)
    delta_upper, shift = shortfall_upper(mechanism, problem.privacy.epsilon)
    refuse_leaky("mechanism", delta_upper, problem.privacy)
    proof = Certificate(lower, average_upper(mechanism, problem), delta_upper, shift)
    return Solution(
        problem, SolverSettings(), mechanism, proof, None, largest_upper(mechanism, problem), None, math.inf, (), 0.0,
        span, len(laws), RELOADED,
    )  # fmt: skip


def _clamped(problem: DataDependentProblem, fields: dict[str, Any], lower: float, cap: float | None) -> Solution:
    independent = solution_from_dict(fields["independent"])
    asked, found = independent.problem, independent.certificate
    if problem.loss_below is not None:
        raise InputError("mechanism.family", "clamped", "no clamped noise with another loss below 0")
    same = (asked.privacy, asked.sensitivity, asked.loss) == (problem.privacy, problem.sensitivity, problem.loss)
    constrained = problem.monotone or problem.partition or (cap is not None and found.upper > cap)
    if not same or asked.granularity is not None or constrained:
        raise InputError("mechanism.independent", "a law", "noise for the same privacy, sensitivity and loss")
    upper = found.upper
    if isinstance(independent.noise, PiecewiseNoise):
        upper = min(upper, clamped_loss_upper(independent.noise, problem))
    certificate = Certificate(lower, upper, found.delta_upper, found.worst_shift, found.repaired)
    mechanism = ClampedNoise(independent.noise, problem.query_range)
    return Solution(
        problem, SolverSettings(), mechanism, certificate, cap, found.upper, independent, upper, (), 0.0, 0, 0, RELOADED
    )
