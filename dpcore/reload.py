"""Solutions read back from files, believed only as far as they can be checked here."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import audit, audit_profile, audit_shape
from . import json_checks as checks
from ._validate import in_range
from .audit_profile import ProfileProof
from .errors import InputError
from .noise.base import Noise
from .noise.files import read_noise
from .noise.piecewise import PiecewiseNoise
from .noise.solved import SolvedNoise
from .noise.tailed import TailedNoise
from .privacy import Privacy
from .privacy_profile import Composed, GaussianProfile
from .problem import NoiseProblem, SolverSettings
from .problem_fields.noise import problem_from_dict
from .solution import Certificate, Solution

FORMAT = 1
"""Grows when a reader of older files would misread newer ones."""

MAX_BYTES = 32 << 20

RELOADED = "reloaded; lower bound as stated in the file"


def load_solution(path: str | Path) -> Solution:
    """The solution in a JSON file of at most 32 MB; see `solution_from_dict`."""
    return solution_from_dict(load_json(path))


def load_json(path: str | Path, file: str = "noise file", command: str = "solve") -> Any:
    """What a JSON file of at most 32 MB holds. file : what messages call it.   command : what writes such files."""
    return parse_json(load_bytes(path, file), str(path), file, command)


def load_bytes(path: str | Path, file: str) -> bytes:
    """What is in a file of at most 32 MB; it is not read any further. file : what messages call it."""
    try:
        with open(path, "rb") as opened:
            raw = opened.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no file can have this name"
        raise InputError(file, path, f"a readable file ({reason})") from None
    if len(raw) > MAX_BYTES:
        raise InputError(file, path, f"at most {MAX_BYTES >> 20} MB")
    return raw


def solution_from_json(text: str | bytes, *, name: str = "this text") -> Solution:
    """The solution in a JSON text; see `solution_from_dict`. `name` is what messages call the text."""
    return solution_from_dict(parse_json(text, name))


def parse_json(text: str | bytes, name: str, file: str = "noise file", command: str = "solve") -> Any:
    """What a JSON text of at most 32 MB holds; `name` is what messages call the text, the others as for `load_json`."""
    if len(text) > MAX_BYTES:
        raise InputError(file, name, f"at most {MAX_BYTES >> 20} MB")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(file, name, f"JSON written by `python -m dpcore {command}`") from None


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
    noise = read_noise(checks.mapping(data.get("noise"), "noise"), problem)
    _check_constraints(noise, problem)
    certificate = replace(_audited(noise, problem, data), profile=_kept_profile(noise, problem, data))
    seconds, cells = stated_seconds(data), noise.cell_count
    return Solution(problem, SolverSettings(), noise, certificate, (), seconds, cells, 0, RELOADED)


def stated_lower(data: dict[str, Any], upper: float) -> float | None:
    """The lower bound that a file states; None where it states none, or one above the audited upper bound."""
    stated = checks.mapping(data.get("certificate", {}), "certificate").get("lower", data.get("lower"))
    if stated is None:
        return None
    lower = in_range(0, 1e300, also=(), **{"certificate.lower": stated})
    return lower if lower <= upper else None


def stated_seconds(data: dict[str, Any]) -> float:
    """The time that a file states; 0 where it is none."""
    seconds = data.get("seconds")
    return float(seconds) if isinstance(seconds, int | float) and 0 <= seconds < 1e9 else 0.0


def refuse_leaky(field: str, delta_upper: float, privacy: Privacy) -> None:
    """Refuse a law or mechanism that the audit finds to keep less privacy than its problem asks for."""
    if delta_upper > privacy.delta:
        shown = f"a law with delta {delta_upper!r} at epsilon {privacy.epsilon!r}"
        raise InputError(field, shown, f"at most delta = {privacy.delta!r}")


def _check_constraints(noise: Noise, problem: NoiseProblem) -> None:
    """The law obeys what its problem asks for besides privacy, exactly."""
    (lo, hi), (a, b) = problem.support, noise.support
    if not audit_shape.within(noise, problem.support):
        raise InputError("noise.edges", f"support [{a!r}, {b!r}]", f"a law inside [{lo!r}, {hi!r}]")
    field = "noise.weights" if isinstance(noise, SolvedNoise) else "noise.parameters.location"
    if problem.symmetric and not audit_shape.is_mirrored(noise):
        raise InputError(field, "a law that is not symmetric about 0", "a symmetric one, as its problem says")
    if problem.monotone and not audit_shape.falls_from_zero(noise):
        raise InputError(field, "a density that increases away from 0", "a monotone one, as its problem says")


def _audited(noise: Noise, problem: NoiseProblem, data: dict[str, Any]) -> Certificate:
    """δ and the upper bound audited anew; the stated lower bound only if it does not contradict them."""
    delta_upper, shift = audit.shortfall_upper(noise, problem.privacy.epsilon, problem.sensitivity)
    upper = audit.loss_upper(noise, problem.loss)
    refuse_leaky("noise", delta_upper, problem.privacy)
    if not math.isfinite(upper):
        raise InputError("noise", "a law of infinite loss", "a finite expected loss")
    spent, kappa = _extras(noise, problem)
    lower = stated_lower(data, upper)
    return Certificate(lower, upper, delta_upper, shift, budget_upper=spent, second_delta_upper=kappa)


def _kept_profile(noise: Noise, problem: NoiseProblem, data: dict[str, Any]) -> ProfileProof | None:
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
        refuse_leaky("noise", kappa, second)
    return spent, kappa
