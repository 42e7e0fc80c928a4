"""Private coordinate descent for ℓ1 linear and ℓ2 logistic regression [MK, §VI-A, Alg. 2].

Every step sees the data through an average of clipped partial derivatives, whose sensitivity (one person replaced) is
2C_i/N; times the step size it is λ_i. L passes repeat the profile L times; the noise of a pass is the share of the
joint mechanism that falls to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._validate import above, whole
from ..errors import InputError
from ..extras import needs
from ..privacy import Privacy
from .components import Outcome, _outcome
from .datasets import Table
from .profile import SensitivityProfile
from .query import VectorQuery
from .scales import allocate, gaussian_family, laplace_family

Array = NDArray[np.float64]

MODELS = {"lasso": "ℓ1 linear regression", "logistic": "ℓ2 logistic regression"}
RULES = (
    ("iid", "identical"), ("spr", "scale-perturb-rescale"), ("optimal", "optimal"),
    ("weighted", "optimal for the error weighted by smoothness"),
)  # fmt: skip


def private_descent(
    table: Table,
    model: str,
    privacy: Privacy,
    *,
    passes: int = 5,
    step: float = 0.5,
    clip: float = 1.0,
    regularisation: float = 1e-3,
    trials: int = 10,
    seed: int = 0,
    progress: Callable[[float], bool | None] | None = None,
) -> list[Outcome]:
    """(relative error of the objective after the last pass, share of it without noise) of each rule and family.

    The smoothness bounds M_i come from the features' ranges, x_i² ≤ half_i² (a quarter of that for the logistic loss);
    clipping at C_i = clip·√(M_i/Σ M_j) and steps step/M_i as in [MK, Appendix C].
    """  # fmt: skip
    if model not in MODELS:
        raise InputError("model", model, ", ".join(MODELS))
    passes, trials = whole(1, 100, passes=passes), whole(2, 200, trials=trials)
    step, clip = above(0, 2, step=step), above(0, 1e9, clip=clip)
    regularisation = above(0, 1e3, regularisation=regularisation)
    X, y = table.rows, table.target if model == "lasso" else np.where(table.target > 0, 1.0, -1.0)
    smooth = table.half**2 * (1.0 if model == "lasso" else 0.25)
    steps, caps = step / smooth, clip * np.sqrt(smooth / smooth.sum())
    lam = 2 * steps * caps / len(X)
    best = _optimum(X, y, model, regularisation)
    repeated = SensitivityProfile(tuple(np.tile(lam, passes)))
    quiet = _descend(X, y, model, steps, caps, regularisation, passes, np.zeros((1, passes, len(lam))))
    floor = float(_objective(X, y, model, regularisation, quiet)[0]) / best - 1
    out = []
    for family in [gaussian_family(privacy)] * (privacy.delta > 0) + [laplace_family(privacy)] * (privacy.epsilon > 0):
        for rule, name in RULES:
            weights = tuple(np.tile(smooth / smooth.max(), passes)) if rule == "weighted" else None
            asked = VectorQuery(privacy, repeated, 2.0, weights)
            found = allocate(asked, family, "optimal" if rule == "weighted" else rule)
            rng = np.random.default_rng([seed, *found.key.encode()])
            unit = (rng.laplace if family.q == 1 else rng.normal)(size=(trials, passes, len(lam)))
            noise = unit * found.scales.reshape(passes, len(lam))
            theta = _descend(X, y, model, steps, caps, regularisation, passes, noise)
            errors = _objective(X, y, model, regularisation, theta) / best - 1
            figures = np.stack([errors, np.full(trials, floor)], axis=1)
            out.append(_outcome(f"{family.key}-{rule}", f"{family.name}, {name}", family.guarantee, figures))
            if progress is not None and progress(float(len(out))):
                return out
    return out


def _descend(
    X: Array, y: Array, model: str, steps: Array, caps: Array, regularisation: float, passes: int, noise: Array
) -> Array:
    """[MK, Alg. 2] for all trials at once; noise: (trials, passes, K). Returns θ, (trials, K)."""
    trials, _, K = noise.shape
    theta, scores = np.zeros((trials, K)), np.zeros((trials, len(y)))
    for pass_ in range(passes):
        for i in range(K):
            residual = scores - y if model == "lasso" else logistic_residual(scores, y)
            slope = np.clip(residual * X[:, i], -caps[i], caps[i]).mean(axis=1)
            moved = theta[:, i] - steps[i] * slope + noise[:, pass_, i]
            if model == "lasso":
                moved = soft_threshold(moved, steps[i] * regularisation)
            else:
                moved = moved / (1 + steps[i] * regularisation)
            scores += (moved - theta[:, i])[:, None] * X[:, i]
            theta[:, i] = moved
    return theta


def logistic_residual(scores: Array, y: Array) -> Array:
    """The derivative of log(1 + e^(−y·score)) by the score; y is −1 or 1."""
    residual: Array = -y / (1 + np.exp(np.clip(y * scores, -500, 500)))
    return residual


def soft_threshold(values: Array, by: float) -> Array:
    """The proximal operator of by·|v|."""
    shrunk: Array = np.sign(values) * np.maximum(np.abs(values) - by, 0.0)
    return shrunk


def _objective(X: Array, y: Array, model: str, regularisation: float, theta: Array) -> Array:
    scores = theta @ X.T
    if model == "lasso":
        size: Array = np.abs(theta).sum(axis=1)
        fit: Array = 0.5 * ((scores - y) ** 2).mean(axis=1)
        return fit + regularisation * size
    fit = np.logaddexp(0, -y * scores).mean(axis=1)
    size = (theta**2).sum(axis=1)
    return fit + 0.5 * regularisation * size


def _optimum(X: Array, y: Array, model: str, regularisation: float) -> float:
    """The least objective without privacy, by scikit-learn on features divided by their spread where that is the same
    problem, else by SciPy's L-BFGS on the logistic objective."""
    if model == "lasso":
        with needs("learning"):
            from sklearn.linear_model import Lasso

        fit = Lasso(alpha=regularisation, fit_intercept=False, max_iter=200_000, tol=1e-10).fit(X, y)
        return float(_objective(X, y, model, regularisation, fit.coef_[None, :])[0])
    with needs("learning"):
        from sklearn.linear_model import LogisticRegression

    fit = LogisticRegression(C=1 / (len(y) * regularisation), fit_intercept=False, max_iter=20_000, tol=1e-10,
                             solver="newton-cholesky").fit(X, y)  # fmt: skip
    value = float(_objective(X, y, model, regularisation, fit.coef_.reshape(1, -1))[0])
    return value if math.isfinite(value) else math.nan
