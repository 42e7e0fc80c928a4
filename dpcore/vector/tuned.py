"""Coordinate descent as [MK, Figs. 5, 6] report it: the best of tuned settings, by the number of passes.

Their data (California, Electricity) are replaced by simulated tables, whose features differ in scale. With clipping at
C_i ∝ √M_i and steps ∝ 1/M_i the sensitivities are λ_i ∝ 1/√M_i, and noise σ raises the objective by about ½Σ M_i σ_i².
For one (ε, δ), identical : optimal : scale-perturb-rescale noise then cost

    Σ M_i · Σ 1/M_i  :  Σ √M_i · Σ 1/√M_i  :  K²,

and by Cauchy and Schwarz no allocation costs less than the last (docs/vector.md, "Applications").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._validate import whole
from ..errors import InputError
from ..privacy import Privacy
from .datasets import Table
from .descent import MODELS, _descend, _objective, _optimum
from .profile import SensitivityProfile
from .query import VectorQuery
from .scales import RULES, allocate, gaussian_family

Array = NDArray[np.float64]

PEOPLE, FEATURES = 20_000, 8

WIDEST = 10.0
"""Half-widths of the features' ranges go from 1 to this in equal ratios."""

PASSES = (2, 5, 10, 20, 50)

SETTINGS = {"lasso": ((0.5, 1.0, 2.0), (0.5, 1.0)), "logistic": ((0.5, 1.0, 2.0), (0.25, 0.5, 1.0))}
"""Steps, in units of 1/M_i, and clipping, in units of √ΣM_i, that are tried."""

REGULARISATION = 1e-4


@dataclass(frozen=True)
class Tuned:
    """The best setting of one rule after so many passes.

    error, spread : mean over the trials, and standard error, of the objective's relative excess over the optimum.
    quiet : that excess without noise, in the same setting.   step, clip : as in `SETTINGS`.
    """

    rule: str
    passes: int
    error: float
    spread: float
    quiet: float
    step: float
    clip: float


def simulated(model: str, seed: int = 0) -> Table:
    """20 000 people with 8 features, uniform on [−h, h] with h from 1 to 10; every feature matters alike. Targets:
    the score, ½ to 1 at most, and normal noise (lasso), or ±1 by the logistic law of it (logistic)."""
    if model not in MODELS:
        raise InputError("model", model, ", ".join(MODELS))
    rng = np.random.default_rng([seed, *model.encode()])
    half = WIDEST ** np.linspace(0, 1, FEATURES)
    units = rng.uniform(-1, 1, size=(PEOPLE, FEATURES))
    weights = np.where(np.arange(FEATURES) % 2, -1.0, 1.0)
    if model == "lasso":
        target = units @ weights * 0.1 + rng.normal(size=PEOPLE) * 0.2
        target = np.clip(target, -1, 1)
    else:
        target = np.where(rng.random(PEOPLE) < 1 / (1 + np.exp(-2 * units @ weights)), 1.0, -1.0)
    return Table(f"Simulated ({PEOPLE} × {FEATURES})", units * half, target, half)


def tuned_descent(
    table: Table,
    model: str,
    privacy: Privacy,
    *,
    passes: Sequence[int] = PASSES,
    trials: int = 5,
    seed: int = 0,
    progress: Callable[[Tuned | None], bool | None] | None = None,
) -> list[Tuned]:
    """Gaussian noise by every rule, for every number of passes the best of `SETTINGS`.

    Picking the best looks at the errors, hence at the data, as [MK] do; the guarantee holds for each run by itself.

    Parameters
    ----------
    progress : called with every answer, and with None in between; returning True ends it.
    """
    if model not in MODELS:
        raise InputError("model", model, ", ".join(MODELS))
    trials = whole(2, 200, trials=trials)
    X, y = table.rows, table.target if model == "lasso" else np.where(table.target > 0, 1.0, -1.0)
    smooth = table.half**2 * (1.0 if model == "lasso" else 0.25)
    best = _optimum(X, y, model, REGULARISATION)
    family, quiets = gaussian_family(privacy), {}

    def excess(step: float, clip: float, count: int, noise: Array) -> Array:
        theta = _descend(X, y, model, step / smooth, clip * np.sqrt(smooth), REGULARISATION, count, noise)
        return _objective(X, y, model, REGULARISATION, theta) / best - 1

    out: list[Tuned] = []
    for count in (whole(1, 100, passes=one) for one in passes):
        for rule in RULES:
            tried = []
            for step in SETTINGS[model][0]:
                for clip in SETTINGS[model][1]:
                    lam = 2 * step * clip / np.sqrt(smooth) / len(X)
                    asked = VectorQuery(privacy, SensitivityProfile(tuple(np.tile(lam, count))))
                    scales = allocate(asked, family, rule).scales.reshape(count, len(lam))
                    rng = np.random.default_rng([seed, count])
                    errors = excess(step, clip, count, rng.normal(size=(trials, *scales.shape)) * scales)
                    if (count, step, clip) not in quiets:
                        quiets[count, step, clip] = float(excess(step, clip, count, np.zeros((1, *scales.shape)))[0])
                    error, spread = float(errors.mean()), float(errors.std(ddof=1) / np.sqrt(trials))
                    tried.append(Tuned(rule, count, error, spread, quiets[count, step, clip], step, clip))
                    if progress is not None and progress(None):
                        return out
            out.append(min(tried, key=lambda one: one.error))
            if progress is not None and progress(out[-1]):
                return out
    return out
