"""Solutions as files: JSON that can be read back and is audited again, CSV, and a Python script that runs.

JSON and script carry the version, the problem and the certificate; those of a CSV file are in the JSON file of the same
name. The exact law travels as whole numbers (`breaks`, `weights`, `resolution`); the floats next to them are for people
and for other programs.
"""

from __future__ import annotations

import json
import math
import re
from hashlib import sha256
from typing import Any

import numpy as np

from . import __version__
from .audit_profile import ProfileProof
from .noise.base import Noise
from .noise.lattice import LatticeNoise, lattice_points, whole_law
from .noise.piecewise import TOTAL, PiecewiseNoise
from .noise.staircase import Staircase
from .noise.tailed import TailedNoise
from .problem import NoiseProblem
from .problem_fields import finite, problem_to_dict
from .reload import (
    FORMAT,
    STAIRCASE_FIELDS,
    load_solution,
    solution_from_dict,
    solution_from_json,
)
from .snippet import python_snippet
from .solution import Solution

__all__ = [
    "file_stem", "layout", "load_solution", "noise_to_csv", "noise_to_dict", "python_snippet", "solution_from_dict",
    "solution_from_json", "solution_to_dict", "solution_to_json", "spec_stem",
]  # fmt: skip

NEGLIGIBLE = 1e-16
"""Cells of an unbounded law are listed until less than this probability is left."""


def solution_to_dict(solution: Solution) -> dict[str, Any]:
    """The solution in JSON types only; the keys are described in docs/cli.md.

    Numbers that are not finite become None: an end of the support, a gap that does not exist.
    """
    problem, certificate = solution.problem, solution.certificate
    return {
        "format": FORMAT,
        "version": __version__,
        **problem_to_dict(problem),
        "lower": certificate.lower,
        "upper": certificate.upper,
        "gap": finite(certificate.gap),
        "seconds": solution.seconds,
        "method": solution.settings.method,
        "source": solution.source,
        "cells": int(solution.cells),
        "shifts": int(solution.shifts),
        "certificate": {
            "lower": certificate.lower,
            "upper": certificate.upper,
            "delta_upper": certificate.delta_upper,
            "worst_shift": certificate.worst_shift,
            "repaired": bool(certificate.repaired),
            "budget_upper": certificate.budget_upper,
            "second_delta_upper": certificate.second_delta_upper,
            "profile": None if certificate.profile is None else profile_to_dict(certificate.profile),
        },
        "noise": noise_to_dict(solution.noise),
        "trace": [[r.seconds, finite(r.lower), finite(r.upper), int(r.cells), int(r.pairs)] for r in solution.trace],
    }


def profile_to_dict(proof: ProfileProof) -> dict[str, Any]:
    """Where the law's curve was checked and against what; `places` is what a reader needs to check it again."""
    return {
        "holds_for": "every epsilon from 0 on" if proof.places else "the epsilons listed",
        "epsilons": list(proof.epsilons),
        "delta_upper": list(proof.deltas),
        "limits": list(proof.limits),
        "delta_0_from": finite(proof.pure_from),
        "places": list(proof.places),
    }


def noise_to_dict(noise: Noise) -> dict[str, Any]:
    """Edges, probabilities and atom, which sum to 1; and what the law is exactly: whole numbers, or a closed form."""
    if isinstance(noise, LatticeNoise) or whole_law(noise) is not None:
        return _lattice_to_dict(noise)
    if isinstance(noise, TailedNoise):
        out = noise_to_dict(noise.body) | {"family": "tailed"}
        tail = {"weight": str(noise.tail_weight), "mean_cells": int(noise.tail_mean), "share": noise.share}
        return out | {"tail": tail}
    edges, probabilities = listed_cells(noise)
    location, mass = noise.atoms[0] if noise.atoms else (0.0, 0.0)
    out: dict[str, Any] = {
        "name": noise.name,
        "edges": edges.tolist(),
        "probabilities": probabilities.tolist(),
        "atom": {"location": float(location), "mass": float(mass)},
    }
    if isinstance(noise, PiecewiseNoise):
        out["family"] = "piecewise"
        out["origin"] = noise.origin
        out["resolution"] = int(noise.resolution)
        out["breaks"] = noise.breaks.tolist()
        # As text: most readers of JSON keep 53 bits of a number, a weight has 62.
        out["weights"] = [str(w) for w in noise.weights.tolist()]
        out["total"] = str(TOTAL)
        out["atom"] |= {"unit": int(noise.atom_unit), "weight": str(int(noise.atom_weight))}
    else:
        out["family"] = "staircase"
        out["parameters"] = {name: float(getattr(noise, name)) for name in STAIRCASE_FIELDS}
        out["tail"] = {"ratio": math.exp(-noise.epsilon), "period": noise.sensitivity}
    return out


def _lattice_to_dict(noise: Noise) -> dict[str, Any]:
    """Points and probabilities, which sum to 1, and what the law is exactly."""
    points, probabilities = listed_points(noise)
    out: dict[str, Any] = {"name": noise.name, "points": points.tolist(), "probabilities": probabilities.tolist()}
    if isinstance(noise, LatticeNoise):
        out |= {"family": "lattice", "step": noise.step, "first": int(noise.first)}
        return out | {"weights": [str(w) for w in noise.weights.tolist()], "total": str(TOTAL)}
    law, step = whole_law(noise)
    parameters = {"rate": law.rate, "period": law.period, "rise": law.rise, "location": law.location, "step": step}
    tail = {"ratio": math.exp(-law.rate), "period": law.period * step}
    return out | {"family": "discrete-staircase", "parameters": parameters, "tail": tail}


def listed_points(noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    """(points, probabilities) of a law on a lattice, as far out as its probability is not negligible."""
    if isinstance(noise, LatticeNoise):
        return noise.points, noise.masses
    law, step = whole_law(noise)
    reach = law.period * (math.ceil(-math.log(NEGLIGIBLE) / law.rate) + 1)
    masses = law.pmf(np.arange(law.location - reach, law.location + reach + 1))
    return lattice_points(law.location - reach, len(masses), step), masses / math.fsum(masses)


def listed_cells(noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    """(edges, probabilities) of the continuous part, as far out as its probability is not negligible.

    Raises
    ------
    TypeError : the law is neither piecewise constant on a grid nor a staircase; the solver makes no other.
    """
    if isinstance(noise, PiecewiseNoise):
        return noise.edges, noise.masses
    if isinstance(noise, TailedNoise):
        return _tailed_cells(noise)
    if isinstance(noise, Staircase):
        return _staircase_cells(noise)
    raise TypeError(f"{noise.name} noise has no cells to list")


def _tailed_cells(noise: TailedNoise) -> tuple[np.ndarray, np.ndarray]:
    """Unit cells as far out as the tail's probability is not negligible; what lies beyond is left out."""
    far = max(0.0, math.log(noise.share / NEGLIGIBLE)) * noise.tail_mean
    reach = max(math.ceil(far), int(np.abs(noise.body.breaks).max()))
    u = np.arange(-reach, reach + 1)
    return noise.body.origin + u * noise.unit, noise.unit_cells(-reach, reach)


def _staircase_cells(noise: Staircase) -> tuple[np.ndarray, np.ndarray]:
    """Cells of constant density: [−γ, γ] and whole periods on either side, in units of the sensitivity [GV15, (9)].

    What lies beyond the last cell is less than `NEGLIGIBLE` and is spread over the cells listed.
    """
    periods = math.ceil(-math.log(NEGLIGIBLE) / noise.epsilon)
    right = noise.gamma + np.arange(periods + 1)
    side = np.exp(-noise.epsilon * np.arange(1, periods + 1))
    edges = np.concatenate([-right[::-1], right])
    masses = np.concatenate([side[::-1], [2 * noise.gamma], side])
    if noise.gamma == 0:
        edges, masses = np.delete(edges, periods), np.delete(masses, periods)
    return noise.location + noise.sensitivity * edges, masses * ((1 - noise.atom) / math.fsum(masses))


def solution_to_json(solution: Solution) -> str:
    """`solution_to_dict` as text, one key a line."""
    return layout(solution_to_dict(solution)) + "\n"


def layout(data: Any, depth: int = 2, indent: str = "") -> str:
    """Strict JSON with one key a line down to `depth`, and everything below on one line."""
    if depth and isinstance(data, dict) and data:
        inner = indent + "  "
        rows = (f"{inner}{json.dumps(key)}: {layout(value, depth - 1, inner)}" for key, value in data.items())
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    return json.dumps(data, allow_nan=False)


def noise_to_csv(solution: Solution) -> str:
    """A table that any reader takes as it is: left, right, probability, density; the atom last, with left = right and
    no density. Laws on a lattice: point, probability. What was asked and proved is in the JSON file of the same name
    (`file_stem`)."""
    if isinstance(solution.noise, LatticeNoise) or whole_law(solution.noise) is not None:
        points, masses = listed_points(solution.noise)
        rows = (f"{point!r},{mass!r}" for point, mass in zip(points.tolist(), masses.tolist()))
        return "\n".join(["point,probability", *rows]) + "\n"
    lines = ["left,right,probability,density"]
    edges, probabilities = listed_cells(solution.noise)
    for left, right, mass in zip(edges.tolist(), edges[1:].tolist(), probabilities.tolist()):
        lines.append(f"{left!r},{right!r},{mass!r},{mass / (right - left)!r}")
    for location, mass in solution.noise.atoms:
        lines.append(f"{float(location)!r},{float(location)!r},{float(mass)!r},")
    return "\n".join(lines) + "\n"


def file_stem(problem: NoiseProblem) -> str:
    """The name of a problem's files, without their ending: what decides about its noise, in letters, digits, points and
    signs that every file system takes."""
    low, high = problem.support
    parts = [
        "noise", f"epsilon-{problem.privacy.epsilon:g}", f"delta-{problem.privacy.delta:g}",
        spec_stem(problem.loss.spec), f"sensitivity-{problem.sensitivity:g}",
        f"step-{problem.granularity:g}" if problem.granularity is not None else "",
        f"from-{low:g}-to-{high:g}" if (low, high) != (-math.inf, math.inf) else "",
        *(name for name in ("symmetric", "monotone") if getattr(problem, name)),
        f"budget-{spec_stem(problem.budget.loss.spec)}-{problem.budget.most:g}" if problem.budget else "",
        f"second-{problem.second.epsilon:g}-{problem.second.delta:g}" if problem.second else "",
        spec_stem(problem.profile.spec) if problem.profile else "",
    ]  # fmt: skip
    return "_".join(filter(None, parts))


def spec_stem(spec: str) -> str:
    """The text of a loss, a weight or a promise as part of a file's name; of a long one the beginning and a digest."""
    plain = re.sub(r"[^A-Za-z0-9.+-]+", "-", spec).strip("-")
    return plain if len(plain) <= 40 else f"{plain[:24]}-{sha256(spec.encode()).hexdigest()[:8]}"
