"""Laws read back from what they wrote (`to_dict`): rebuilt from their whole numbers, every field checked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import json_checks as checks
from .._validate import in_range
from ..errors import InputError
from ..privacy import EPSILON_RANGE
from .base import Noise
from .discrete import DiscreteStaircase, Geometric
from .flanked import FlankedNoise
from .lattice import LatticeNoise, stretched
from .piecewise import PiecewiseNoise, candidate_shifts
from .staircase import STAIRCASE_FIELDS, Staircase
from .tailed import TailedNoise
from .whole import TOTAL

if TYPE_CHECKING:
    from ..problem import NoiseProblem

MAX_CELLS = 200_000
MAX_UNITS = 1 << 61
"""Largest break and resolution, so that sums of two fit into 64 bits."""
MAX_TAIL = 50_000
"""Most units from 0, to a sensitivity and in the mean of a tail."""
MAX_AUDIT_WORK = 10**8
"""Largest number of shifts times cells that a file may make the auditor look at."""


def read_noise(data: dict[str, Any], problem: NoiseProblem) -> Noise:
    """The law that `Noise.to_dict` wrote, as far as it can be one for this problem; what it promises is not looked at.

    Raises
    ------
    InputError : a field is missing or wrong, or an audit would take hours.
    """
    family, step = data.get("family", "piecewise"), problem.granularity
    readers = ON_THE_LINE if step is None else ON_A_LATTICE
    if not isinstance(family, str) or family not in readers:
        accepted = "lattice or discrete-staircase, given a granularity" if step else ", ".join(readers)
        raise InputError("noise.family", checks.short(family), accepted)
    return readers[family](data, problem)


def _tailed(data: dict[str, Any], problem: NoiseProblem) -> TailedNoise:
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


def _flanked(data: dict[str, Any], problem: NoiseProblem) -> FlankedNoise:
    flanks = checks.mapping(data.get("flanks"), "flanks")
    weight = checks.integer(flanks.get("ratio_weight"), "noise.flanks.ratio_weight", 1, TOTAL - 1)
    core = _from_whole_numbers(data, problem.sensitivity)
    try:
        noise = FlankedNoise(core, weight)
    except ValueError as error:
        raise InputError("noise.breaks", f"{len(core.breaks)} breaks", str(error)) from None
    if noise.count * max(noise.flanks) > MAX_CELLS:
        shown = f"{max(noise.flanks)} cells and {noise.count} periods"
        raise InputError("noise.flanks", shown, f"a product of at most {MAX_CELLS:g}")
    return noise


def _piecewise(data: dict[str, Any], problem: NoiseProblem) -> PiecewiseNoise:
    read = _from_whole_numbers if "weights" in data else _from_floats
    return read(data, problem.sensitivity)


def _discrete_staircase(data: dict[str, Any], problem: NoiseProblem) -> Noise:
    step = problem.lattice_step
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


def _lattice(data: dict[str, Any], problem: NoiseProblem) -> LatticeNoise:
    step = problem.lattice_step
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


def _name(data: dict[str, Any]) -> str:
    name = data.get("name", "Optimal")
    if not isinstance(name, str) or len(name) > 80:
        raise InputError("noise.name", checks.short(name), "a short text")
    return name


def _staircase(data: dict[str, Any], problem: NoiseProblem) -> Staircase:
    data = checks.mapping(data.get("parameters"), "parameters")
    values = [checks.finite(data.get(name), f"noise.parameters.{name}", 1e15) for name in STAIRCASE_FIELDS]
    if values[0] < 1e-3 or values[1] <= 0:
        raise InputError("noise.parameters", checks.short(data), "epsilon from 0.001 and a positive sensitivity")
    return Staircase(*values)


def _from_whole_numbers(data: dict[str, Any], sensitivity: float) -> PiecewiseNoise:
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


def _from_floats(data: dict[str, Any], sensitivity: float) -> PiecewiseNoise:
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
        shifts = len(candidate_shifts(noise, limit))
    if shifts * cells > MAX_AUDIT_WORK:
        shown = f"{cells} cells and {shifts} shifts"
        raise InputError("noise.breaks", shown, f"a product of at most {MAX_AUDIT_WORK:g}")


def _list(data: dict[str, Any], name: str, least: int) -> list[Any]:
    value = data.get(name)
    if not isinstance(value, list) or not least <= len(value) <= MAX_CELLS + 1:
        shown = f"{len(value)} entries" if isinstance(value, list) else checks.short(value)
        raise InputError(f"noise.{name}", shown, f"a list of {least} to {MAX_CELLS} entries")
    return value


ON_THE_LINE = {"piecewise": _piecewise, "tailed": _tailed, "flanked": _flanked, "staircase": _staircase}
ON_A_LATTICE = {"lattice": _lattice, "discrete-staircase": _discrete_staircase, "tailed": _tailed}
"""Name of a family in files → its reader."""
