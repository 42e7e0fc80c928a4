"""Solutions read back from files, believed only as far as they can be checked here."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from . import audit, audit_profile, audit_shape
from . import json_checks as checks
from ._validate import in_range
from .audit_profile import ProfileProof
from .errors import InputError
from .noise.base import Noise
from .noise.discrete import DiscreteStaircase, Geometric
from .noise.lattice import LatticeNoise, stretched, whole_law
from .noise.piecewise import TOTAL, PiecewiseNoise
from .noise.staircase import STAIRCASE_FIELDS, Staircase
from .noise.tailed import TailedNoise
from .privacy import EPSILON_RANGE
from .privacy_profile import Composed, GaussianProfile
from .problem import NoiseProblem, SolverSettings
from .problem_fields import problem_from_dict
from .solution import Certificate, Solution

FORMAT = 1
"""Grows when a reader of older files would misread newer ones."""

MAX_BYTES = 32 << 20
MAX_CELLS = 200_000
MAX_UNITS = 1 << 61
"""Largest break and resolution, so that sums of two fit into 64 bits."""
MAX_TAIL = 50_000
"""Most units from 0, to a sensitivity and in the mean of a tail."""
MAX_AUDIT_WORK = 10**8
"""Largest number of shifts times cells that a file may make the auditor look at."""

RELOADED = "reloaded; lower bound as stated in the file"


def load_solution(path: str | Path) -> Solution:
    """The solution in a JSON file of at most 32 MB; see `solution_from_dict`."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no file can have this name"
        raise InputError("noise file", path, f"a readable file ({reason})") from None
    return solution_from_json(raw, name=str(path))


def solution_from_json(text: str | bytes, *, name: str = "this text") -> Solution:
    """The solution in a JSON text; see `solution_from_dict`. `name` is what messages call the text."""
    if len(text) > MAX_BYTES:
        raise InputError("noise file", name, f"at most {MAX_BYTES >> 20} MB")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("noise file", name, "JSON written by `python -m dpcore solve`") from None
    return solution_from_dict(data)


def solution_from_dict(data: Any) -> Solution:
    """The solution that `solution_to_dict` wrote, believed only as far as it can be checked here.

    The law is rebuilt from its whole numbers (from edges and probabilities if a file has none), its constraints
    are checked, and δ and the upper bound are audited again. A lower bound cannot be checked without its
    multipliers: it is kept when it does not contradict the audited upper bound, and `source` says so.

    Raises
    ------
    InputError : a field is missing or wrong, or the law is not what its problem asks for.
    """
    if not isinstance(data, dict):
        raise InputError("noise file", type(data).__name__, "a JSON object")
    if data.get("format", FORMAT) != FORMAT:
        raise InputError("format", checks.short(data["format"]), str(FORMAT))
    problem = problem_from_dict(data)
    noise = _noise(checks.mapping(data.get("noise"), "noise"), problem)
    _check_constraints(noise, problem)
    stated = checks.mapping(data.get("certificate", {}), "certificate").get("lower", data.get("lower"))
    certificate = _audited(noise, problem, stated)
    seconds = data.get("seconds")
    if not isinstance(seconds, int | float) or not 0 <= seconds < 1e9:
        seconds = 0.0
    certificate = replace(certificate, profile=_kept_profile(noise, problem, data))
    cells = len(noise.weights) if isinstance(noise, PiecewiseNoise | LatticeNoise) else 0
    return Solution(problem, SolverSettings(), noise, certificate, (), float(seconds), cells, 0, RELOADED)


def _noise(data: dict, problem: NoiseProblem) -> Noise:
    family = data.get("family", "piecewise")
    if family == "tailed":
        tail = checks.mapping(data.get("tail"), "tail")
        weight = checks.integer(tail.get("weight"), "noise.tail.weight", 1, TOTAL - 1)
        mean = checks.integer(tail.get("mean_cells"), "noise.tail.mean_cells", 2, MAX_TAIL)
        body = _from_whole_numbers(data, problem.sensitivity)
        widest = int(np.abs(body.breaks).max())
        if body.atom_weight or body.resolution > MAX_TAIL or widest > MAX_TAIL:
            accepted = f"cells within {MAX_TAIL} units and no atom next to a tail"
            raise InputError("noise.breaks", f"{widest} units", accepted)
        work = 2 * (widest + 2 * body.resolution) * body.resolution  # every shift looks at every unit cell, sorted
        if work > MAX_AUDIT_WORK // 5:
            shown = f"{2 * (widest + 2 * body.resolution)} unit cells and {body.resolution} shifts"
            raise InputError("noise.breaks", shown, f"a product of at most {MAX_AUDIT_WORK // 5:g} next to a tail")
        return TailedNoise(body, weight, mean)
    if problem.granularity is not None:
        return _on_lattice(data, family, problem)
    if family == "staircase":
        return _staircase(checks.mapping(data.get("parameters"), "parameters"), problem)
    if family != "piecewise":
        raise InputError("noise.family", checks.short(family), "piecewise, tailed or staircase")
    if "weights" in data:
        return _from_whole_numbers(data, problem.sensitivity)
    return _from_floats(data, problem.sensitivity)


def _on_lattice(data: dict, family: object, problem: NoiseProblem) -> Noise:
    """A law on the lattice of a problem with a granularity."""
    step = problem.granularity
    if family == "discrete-staircase":
        values = checks.mapping(data.get("parameters"), "parameters")
        whole = {"period": 5000, "rise": 5000, "location": 10**6}
        period, rise, location = (
            checks.integer(values.get(name), f"noise.parameters.{name}", -top if name == "location" else 1, top)
            for name, top in whole.items()
        )
        rate = checks.finite(values.get("rate"), "noise.parameters.rate", 1e3)
        _same_step(values.get("step"), "noise.parameters.step", step)
        if not rate >= EPSILON_RANGE[0] or rise > period:
            accepted = f"a rate from {EPSILON_RANGE[0]:g} and a rise of at most one period"
            raise InputError("noise.parameters", checks.short(values), accepted)
        law = Geometric(rate, 1, location) if period == 1 else DiscreteStaircase(rate, period, rise, location)
        return stretched(law, step)
    if family != "lattice":
        raise InputError("noise.family", checks.short(family), "lattice or discrete-staircase, given a granularity")
    _same_step(data.get("step"), "noise.step", step)
    checks.integer(data.get("total", TOTAL), "noise.total", TOTAL, TOTAL)
    weights = [checks.integer(w, "noise.weights", 0, TOTAL) for w in _list(data, "weights", 1)]
    first = checks.integer(data.get("first"), "noise.first", -(10**12), 10**12)
    if sum(weights) != TOTAL:
        raise InputError("noise.weights", f"a sum of {sum(weights)}", f"a sum of {TOTAL}")
    if len(weights) * problem.lattice_sensitivity > MAX_AUDIT_WORK:
        shown = f"{len(weights)} points and {problem.lattice_sensitivity} shifts"
        raise InputError("noise.weights", shown, f"a product of at most {MAX_AUDIT_WORK:g}")
    return LatticeNoise(step, first, np.array(weights, dtype=np.int64), _name(data))


def _same_step(value: object, name: str, step: float) -> None:
    if checks.finite(value, name, 1e12) != step:
        raise InputError(name, checks.short(value), f"the granularity of the problem, {step:g}")


def _name(data: dict) -> str:
    name = data.get("name", "Optimal")
    if not isinstance(name, str) or len(name) > 80:
        raise InputError("noise.name", checks.short(name), "a short text")
    return name


def _staircase(data: dict, problem: NoiseProblem) -> Staircase:
    values = [checks.finite(data.get(name), f"noise.parameters.{name}", 1e15) for name in STAIRCASE_FIELDS]
    if values[0] < 1e-3 or values[1] <= 0:
        raise InputError("noise.parameters", checks.short(data), "epsilon from 0.001 and a positive sensitivity")
    return Staircase(*values)


def _from_whole_numbers(data: dict, sensitivity: float) -> PiecewiseNoise:
    checks.integer(data.get("total", TOTAL), "noise.total", TOTAL, TOTAL)
    breaks = [checks.integer(b, "noise.breaks", -MAX_UNITS, MAX_UNITS) for b in _list(data, "breaks", 2)]
    weights = [checks.integer(w, "noise.weights", 0, TOTAL) for w in _list(data, "weights", 1)]
    resolution = checks.integer(data.get("resolution"), "noise.resolution", 1, MAX_UNITS)
    atom = checks.mapping(data.get("atom", {}), "atom")
    atom_weight = checks.integer(atom.get("weight", 0), "noise.atom.weight", 0, TOTAL)
    atom_unit = checks.integer(atom.get("unit", 0), "noise.atom.unit", -MAX_UNITS, MAX_UNITS)
    if len(breaks) != len(weights) + 1:
        raise InputError("noise.breaks", f"{len(breaks)} breaks", f"one more than the {len(weights)} weights")
    if any(b <= a for a, b in zip(breaks, breaks[1:])):
        raise InputError("noise.breaks", "breaks out of order", "increasing whole numbers")
    if sum(weights) + atom_weight != TOTAL:
        raise InputError("noise.weights", f"a sum of {sum(weights) + atom_weight}", f"a sum of {TOTAL}, atom included")
    origin = in_range(-1e15, 1e15, **{"noise.origin": data.get("origin", 0.0)})
    noise = PiecewiseNoise(
        sensitivity, resolution, np.array(breaks, dtype=np.int64), np.array(weights, dtype=np.int64),
        atom_unit, atom_weight, origin, _name(data),
    )  # fmt: skip
    _refuse_costly(noise)
    return noise


def _from_floats(data: dict, sensitivity: float) -> PiecewiseNoise:
    """A law given by edges and probabilities alone; its edges must lie on a lattice sensitivity/k, k ≤ 4096."""
    edges = np.array([checks.finite(e, "noise.edges", 1e15) for e in _list(data, "edges", 2)]) / sensitivity
    masses = np.array([checks.finite(p, "noise.probabilities", 1.0) for p in _list(data, "probabilities", 1)])
    atom = checks.mapping(data.get("atom", {}), "atom")
    mass = checks.finite(atom.get("mass", 0.0), "noise.atom.mass", 1.0)
    location = checks.finite(atom.get("location", 0.0), "noise.atom.location", 1e15) / sensitivity
    if len(edges) != len(masses) + 1:
        raise InputError("noise.edges", f"{len(edges)} edges", f"one more than the {len(masses)} probabilities")
    if not (np.diff(edges) > 0).all():
        raise InputError("noise.edges", "edges out of order", "increasing numbers")
    if min(masses.min(), mass) < 0 or abs(math.fsum([*masses, mass]) - 1) > 1e-9:
        shown = f"a sum of {math.fsum([*masses, mass])!r}"
        raise InputError("noise.probabilities", shown, "numbers from 0 that sum to 1")
    points = np.append(edges, location) if mass else edges
    for resolution in range(1, 4097):
        units = points * resolution
        if (np.abs(units - np.rint(units)) <= 1e-6).all() and np.abs(units).max() < MAX_UNITS:
            whole_units = np.rint(units).astype(np.int64)
            breaks, atom_unit = whole_units[: len(edges)], int(whole_units[-1]) if mass else 0
            if (np.diff(breaks) > 0).all():
                noise = PiecewiseNoise.from_masses(
                    sensitivity=sensitivity,
                    resolution=resolution,
                    breaks=breaks,
                    masses=masses,
                    atom=mass,
                    atom_unit=atom_unit,
                )
                _refuse_costly(noise)
                return noise
    raise InputError("noise.edges", "edges on no lattice", "multiples of sensitivity/k for one whole k up to 4096")


def _refuse_costly(noise: PiecewiseNoise) -> None:
    """A file must not keep the auditor busy for hours, nor fill the memory."""
    cells, limit, widths = len(noise.weights), noise.resolution, np.diff(noise.breaks)
    shifts = limit // int(np.gcd.reduce(widths))
    near = np.searchsorted(noise.breaks, noise.breaks + limit, side="right") - np.arange(cells + 1)
    if shifts > 2000 and (widths != widths[0]).any() and int(near.sum()) <= MAX_AUDIT_WORK:
        shifts = len(audit.candidate_shifts(noise, limit))
    if shifts * cells > MAX_AUDIT_WORK:
        shown = f"{cells} cells and {shifts} shifts"
        raise InputError("noise.breaks", shown, f"a product of at most {MAX_AUDIT_WORK:g}")


def _check_constraints(noise: Noise, problem: NoiseProblem) -> None:
    """The law obeys what its problem asks for besides privacy, exactly."""
    (lo, hi), (a, b) = problem.support, noise.support
    if not audit_shape.within(noise, problem.support):
        raise InputError("noise.edges", f"support [{a!r}, {b!r}]", f"a law inside [{lo!r}, {hi!r}]")
    closed = isinstance(noise, Staircase) or whole_law(noise) is not None
    field = "noise.parameters.location" if closed else "noise.weights"
    if problem.symmetric and not audit_shape.is_mirrored(noise):
        raise InputError(field, "a law that is not symmetric about 0", "a symmetric one, as its problem says")
    if problem.monotone and not audit_shape.falls_from_zero(noise):
        raise InputError(field, "a density that increases away from 0", "a monotone one, as its problem says")


def _audited(noise: Noise, problem: NoiseProblem, stated: object) -> Certificate:
    """δ and the upper bound audited anew; the stated lower bound only if it does not contradict them."""
    epsilon, delta = problem.privacy.epsilon, problem.privacy.delta
    delta_upper, shift = audit.shortfall_upper(noise, epsilon, problem.sensitivity)
    upper = audit.loss_upper(noise, problem.loss)
    if delta_upper > delta:
        raise InputError("noise", f"a law with delta {delta_upper!r} at this epsilon", f"at most delta = {delta!r}")
    if not math.isfinite(upper):
        raise InputError("noise", "a law of infinite loss", "a finite expected loss")
    spent, kappa = _extras(noise, problem)
    lower = None
    if stated is not None:
        lower = in_range(0, 1e300, **{"certificate.lower": stated})
        lower = lower if lower <= upper else None
    return Certificate(lower, upper, delta_upper, shift, budget_upper=spent, second_delta_upper=kappa)


def _kept_profile(noise: Noise, problem: NoiseProblem, data: dict) -> ProfileProof | None:
    """The law's curve, audited anew against the whole promise, None without one."""
    if problem.profile is None:
        return None
    if not isinstance(noise, PiecewiseNoise | TailedNoise):
        raise InputError("noise.family", noise.name, "a piecewise or tailed law next to a privacy profile")
    places: tuple[float, ...] = ()
    if isinstance(problem.profile, Composed) and not isinstance(noise, PiecewiseNoise):
        raise InputError("noise.family", noise.name, "a piecewise law for several releases together")
    if isinstance(problem.profile, GaussianProfile):
        proved = checks.mapping(data.get("certificate"), "certificate")
        stated = checks.mapping(proved.get("profile"), "profile").get("places")
        if not isinstance(stated, list) or not 2 <= len(stated) <= 1000:
            raise InputError("certificate.profile.places", checks.short(stated), "a list of 2 to 1000 numbers")
        places = tuple(checks.finite(z, "certificate.profile.places", audit_profile.FARTHEST + 3) for z in stated)
        if any(b - a < 1e-6 for a, b in zip((0.0 - 1e-6, *places), places)):
            shown = checks.short(stated)
            raise InputError("certificate.profile.places", shown, "increasing numbers from 0, not too close")
    proof = audit_profile.proof_of(noise, problem.profile, places)
    if not proof.holds:
        raise InputError("noise", "a law that does not keep its privacy profile", problem.profile.spec[:80])
    return proof


def _extras(noise: Noise, problem: NoiseProblem) -> tuple[float | None, float | None]:
    """(expected second loss, δ of the second pair), audited and within their limits; None for what is not asked."""
    budget, second, spent, kappa = problem.budget, problem.second, None, None
    if budget is not None:
        spent = audit.loss_upper(noise, budget.loss)
        if not spent <= budget.most:
            raise InputError("noise", f"a law that spends {spent!r}", f"at most the budget {budget.most!r}")
    if second is not None:
        kappa = audit.delta_upper(noise, second.epsilon, problem.sensitivity)
        if kappa > second.delta:
            shown = f"a law with delta {kappa!r} at the second epsilon"
            raise InputError("noise", shown, f"at most {second.delta!r}")
    return spent, kappa


def _list(data: dict, name: str, least: int) -> list:
    value = data.get(name)
    if not isinstance(value, list) or not least <= len(value) <= MAX_CELLS + 1:
        shown = f"{len(value)} entries" if isinstance(value, list) else checks.short(value)
        raise InputError(f"noise.{name}", shown, f"a list of {least} to {MAX_CELLS} entries")
    return value
