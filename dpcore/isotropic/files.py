"""Answers for vectors as files: JSON that is audited again when it is read, CSV. Keys: docs/cli.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .. import json_checks as checks
from ..errors import CertificateError, InputError
from ..export import certificate_to_dict, layout, spec_stem, trace_to_lists
from ..noise.whole import TOTAL
from ..problem import SolverSettings
from ..problem_fields import finite, from_dict, to_dict
from ..problem_fields.radial import FIELDS
from ..reload import FORMAT, RELOADED, load_json, parse_json, refuse_leaky, stated_lower, stated_seconds
from ..solution import Certificate
from . import audit
from .law import RadialNoise
from .problem import IsotropicProblem, isotropic_problem
from .solution import IsotropicSolution

KIND = "isotropic"

MAX_SHELLS, MAX_UNITS = 1 << 16, 1 << 61
"""Shells of a law in a file, more than the search ever makes, and its largest radius and resolution. An audit of that
many takes seconds in 1000 dimensions."""


def solution_to_dict(solution: IsotropicSolution) -> dict[str, Any]:
    """The solution in JSON types only."""
    certificate = solution.certificate
    return {
        "format": FORMAT,
        "kind": KIND,
        "version": __version__,
        **to_dict(FIELDS, solution.problem),
        "lower": certificate.lower,
        "upper": certificate.upper,
        "gap": finite(certificate.gap),
        "seconds": solution.seconds,
        "source": solution.source,
        "cells": int(solution.cells),
        "certificate": {
            **certificate_to_dict(certificate),
            "shifts": [one.shift for one in solution.multipliers],
            "rates": [one.rate for one in solution.multipliers],
        },
        "noise": solution.noise.as_dict(),
        "trace": trace_to_lists(solution.trace),
    }


def solution_to_json(solution: IsotropicSolution) -> str:
    """The solution as text, one key a line."""
    return layout(solution_to_dict(solution)) + "\n"


def load_solution(path: str | Path) -> IsotropicSolution:
    """The solution in a JSON file of at most 32 MB; see `solution_from_dict`."""
    return solution_from_dict(load_json(path, command=KIND))


def solution_from_json(text: str | bytes, *, name: str = "this text") -> IsotropicSolution:
    """The solution in a JSON text; see `solution_from_dict`. `name` is what messages call the text."""
    return solution_from_dict(parse_json(text, name, command=KIND))


def solution_from_dict(data: Any) -> IsotropicSolution:
    """The solution that `solution_to_dict` wrote, believed only as far as it can be checked: the law is rebuilt from
    its whole numbers, δ and the upper bound are audited again; a lower bound is kept when it does not contradict that.

    Raises
    ------
    InputError : a field is missing or wrong, or the law is not what its problem asks for.
    """
    if not isinstance(data, dict) or data.get("kind") != KIND or data.get("format") != FORMAT:
        raise InputError("noise file", type(data).__name__, "JSON written by `python -m dpcore isotropic`")
    problem = isotropic_problem(**from_dict(FIELDS, data))
    noise = radial_noise(checks.mapping(data.get("noise"), "noise"), problem)
    privacy = problem.privacy
    delta_upper = audit.delta_upper(noise, privacy.epsilon)
    refuse_leaky("noise", delta_upper, privacy)
    upper = audit.loss_upper(noise, problem.loss)
    certificate = Certificate(stated_lower(data, upper) or 0.0, upper, delta_upper, problem.sensitivity)
    return IsotropicSolution(
        problem, SolverSettings(), noise, certificate, (), (), stated_seconds(data), len(noise.weights), 0, RELOADED
    )


def radial_noise(data: dict[str, Any], problem: IsotropicProblem) -> RadialNoise:
    """The law that `RadialNoise.as_dict` wrote; what it promises is not looked at.

    Raises
    ------
    InputError : a field is missing or wrong, or its density increases outwards.
    """
    if data.get("kind") != "radial":
        raise InputError("noise.kind", checks.short(data.get("kind")), "radial")
    lists = {}
    for name, least in (("breaks", 2), ("weights", 1)):
        given = data.get(name)
        if not isinstance(given, list) or not least <= len(given) <= MAX_SHELLS + 1:
            shown = f"{len(given)} entries" if isinstance(given, list) else checks.short(given)
            raise InputError(f"noise.{name}", shown, f"a list of {least} to {MAX_SHELLS} entries")
        most = MAX_UNITS if name == "breaks" else TOTAL
        lists[name] = np.array([checks.integer(one, f"noise.{name}", 0, most) for one in given], dtype=np.int64)
    same = {"dimension": problem.dimension, "sensitivity": problem.sensitivity}
    for name, value in same.items():
        if data.get(name, value) != value:
            raise InputError(f"noise.{name}", checks.short(data[name]), f"that of the problem, {value!r}")
    resolution = checks.integer(data.get("resolution"), "noise.resolution", 1, MAX_UNITS)
    atom = checks.integer(data.get("atom_weight", 0), "noise.atom_weight", 0, TOTAL)
    try:
        return RadialNoise(problem.dimension, problem.sensitivity, resolution, lists["breaks"], lists["weights"], atom)
    except (ValueError, CertificateError) as error:
        raise InputError("noise.weights", "these shells", str(error)) from None


def noise_to_csv(solution: IsotropicSolution) -> str:
    """A table that any reader takes as it is: inner and outer radius and probability of every shell; the atom at 0
    last. What was asked and proved is in the JSON file of the same name (`file_stem`)."""
    noise = solution.noise
    edges, masses = noise.edges.tolist(), noise.masses.tolist()
    rows = [f"{inner!r},{outer!r},{mass!r}" for inner, outer, mass in zip(edges, edges[1:], masses)]
    rows += [f"0.0,0.0,{noise.atom_mass!r}"] if noise.atom_weight else []
    return "\n".join(["inner,outer,probability", *rows]) + "\n"


def file_stem(problem: IsotropicProblem) -> str:
    """The name of a problem's files, without their ending."""
    privacy = problem.privacy
    return "_".join([
        "vector", f"dimension-{problem.dimension}", f"epsilon-{privacy.epsilon:g}", f"delta-{privacy.delta:g}",
        spec_stem(problem.loss.spec), f"sensitivity-{problem.sensitivity:g}",
    ])  # fmt: skip
