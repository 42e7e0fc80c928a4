"""Solutions as files: JSON that can be read back and is audited again, CSV, and a Python script that runs.

JSON and script carry the version, the problem and the certificate; those of a CSV file are in the JSON file of the same
name. The exact law travels as whole numbers (`breaks`, `weights`, `resolution`); the floats next to them are for people
and for other programs.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from . import __version__
from .audit_profile import ProfileProof
from .problem import NoiseProblem
from .problem_fields import finite
from .problem_fields.noise import problem_to_dict
from .reload import (
    FORMAT,
    load_solution,
    solution_from_dict,
    solution_from_json,
)
from .snippet import python_snippet
from .solution import Certificate, Progress, Solution

__all__ = [
    "certificate_to_dict", "file_stem", "layout", "load_solution", "noise_to_csv", "python_snippet",
    "solution_from_dict", "solution_from_json", "solution_to_dict", "solution_to_json", "spec_stem", "trace_to_lists",
]  # fmt: skip


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
            **certificate_to_dict(certificate),
            "budget_upper": certificate.budget_upper,
            "second_delta_upper": certificate.second_delta_upper,
            "profile": None if certificate.profile is None else profile_to_dict(certificate.profile),
        },
        "noise": solution.noise.to_dict(),
        "trace": trace_to_lists(solution.trace),
    }


def certificate_to_dict(certificate: Certificate) -> dict[str, Any]:
    """What every certificate has, in JSON types."""
    return {
        "lower": certificate.lower,
        "upper": certificate.upper,
        "delta_upper": certificate.delta_upper,
        "worst_shift": certificate.worst_shift,
        "repaired": bool(certificate.repaired),
    }


def trace_to_lists(trace: Iterable[Progress]) -> list[list[float | None]]:
    """Progress in JSON types: seconds, lower, upper, cells, pairs."""
    return [[r.seconds, finite(r.lower), finite(r.upper), int(r.cells), int(r.pairs)] for r in trace]


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
    edges, probabilities = solution.noise.listed()
    if solution.noise.lattice_step is not None:
        rows = (f"{point!r},{mass!r}" for point, mass in zip(edges.tolist(), probabilities.tolist()))
        return "\n".join(["point,probability", *rows]) + "\n"
    lines = ["left,right,probability,density"]
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
