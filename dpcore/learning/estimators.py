"""Estimators for scikit-learn (extra `[learning]`): a private classifier by `fit`, `predict` and `score`.

With noise, whatever of the data the result may depend on besides the noisy statistics is stated by the caller: ranges
of the columns, the classes; the number of rows is public. Nothing of it is taken from the data in silence. With
`noise="none"` they may be left out, and the estimators are plain learners without any promise.

`fit` draws the noise exactly (`Noise.release`), unless `random_state` is a number: then floating-point draws repeat
themselves, for tests and simulations, and are no private release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..extras import needs
from ..noise.base import Noise
from ..privacy import Privacy
from .descent import SENSITIVITY, Descent, descend, features_of
from .design import COARSE, GRAIN, Design, indicators
from .experiment import Asked
from .naive_bayes import Learner, predicted, statistics, weights
from .noises import check, drawn, together
from .tables import MOST_ROWS, Array, Codes, Column, columns_of

with needs("learning"):
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data

Ranges = Sequence[tuple[float, float]]


class _Private(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What both estimators share: reading the data with what is public about them."""

    def __init__(
        self, epsilon: float, delta: float, *, noise: str, ranges: Ranges | None,
        categories: Mapping[int, int] | None, classes: Sequence[Any] | None, random_state: int | None,
    ) -> None:  # fmt: skip
        self.epsilon = epsilon
        self.delta = delta
        self.noise = noise
        self.ranges = ranges
        self.categories = categories
        self.classes = classes
        self.random_state = random_state

    def _open(self, X: Any, y: Any) -> tuple[Array, Codes]:
        """(values, codes of the classes), and what is public about them as attributes.

        Raises
        ------
        InputError : something that must be stated is not.
        """
        check(self.noise) if self.noise != "none" else None
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        if len(X) > MOST_ROWS:
            raise InputError("X", f"{len(X)} rows", f"at most {MOST_ROWS}")
        if self.classes is not None:
            self.classes_ = np.unique(np.asarray(self.classes))
        elif self.noise == "none":
            self.classes_ = np.unique(y)
        else:
            raise InputError("classes", None, "the classes that there may be: they are public, not taken from y")
        codes = np.searchsorted(self.classes_, y)
        codes = np.minimum(codes, len(self.classes_) - 1)
        if not (self.classes_[codes] == y).all():
            odd = y[self.classes_[codes] != y][0]
            raise InputError("y", odd, f"one of the classes stated: {', '.join(map(str, self.classes_))}")
        self.columns_ = self._columns(X)
        return X, codes.astype(np.intp)

    def _columns(self, X: Array) -> tuple[Column, ...]:
        values = dict(self.categories or {})
        if self.ranges is not None:
            return columns_of(X, self.ranges, values)
        if self.noise != "none":
            raise InputError("ranges", None, "(low, high) of every column, or one pair for all: they are public")
        low, high = X.min(axis=0), X.max(axis=0)
        pairs = [(a, b if b > a else a + max(abs(a), 1.0)) for a, b in zip(low.tolist(), high.tolist())]
        return columns_of(X, pairs, values)

    def _privacy(self) -> Privacy:
        return Privacy(self.epsilon, self.delta)

    def _release(self, law: Noise, sensitivity: Array | float) -> Callable[[Array], Array]:
        """Values → the same plus `law` times their sensitivity, a power of 2."""
        if self.random_state is not None:
            rng = np.random.default_rng([self.random_state, 1])
            return lambda values: values + drawn(law, rng, values.shape) * sensitivity

        def exact(values: Array) -> Array:
            units = values / sensitivity
            found = np.array([float(law.release(one)) for one in units.ravel().tolist()])
            noisy: Array = found.reshape(units.shape) * sensitivity
            return noisy

        return exact

    @property
    def _grain(self) -> float:
        """What sums are multiples of."""
        return COARSE if self.noise != "none" and self.random_state is None else GRAIN

    def _opened(self, X: Any) -> Array:
        check_is_fitted(self)
        checked: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return checked


class PrivateNaiveBayes(_Private):
    """Naïve Bayes of which all statistics together are (ε, δ)-DP, one person replaced, the number of rows public.

    Parameters
    ----------
    epsilon, delta : the promise for the whole fit.
    noise : key of a law (`dpcore.learning.noises.NAMES`), "none" for the learner without promise.
    ranges : (low, high) of every column, or one pair for all; values beyond are clamped.
    categories : place of a column → number m of its values 0 … m − 1. Others are numbers, normal within a class.
    classes : the classes that there may be.
    smoothing : added to every count of a value.
    random_state : None draws the noise exactly; a number makes it repeatable, for simulation.

    Attributes
    ----------
    classes_, columns_, statistics_ : the latter noisy, private like all that is made of them.
    """

    def __init__(
        self, epsilon: float = 1.0, delta: float = 1e-5, *, noise: str = "optimal", ranges: Ranges | None = None,
        categories: Mapping[int, int] | None = None, classes: Sequence[Any] | None = None, smoothing: float = 1.0,
        random_state: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            epsilon, delta, noise=noise, ranges=ranges, categories=categories, classes=classes,
            random_state=random_state,
        )  # fmt: skip
        self.smoothing = smoothing

    def fit(self, X: Any, y: Any) -> PrivateNaiveBayes:
        """Release the statistics of X, (n, columns), and y, (n,).

        Raises
        ------
        InputError : ranges or classes are not stated, a number is out of range, the law has no exact draws.
        """
        values, codes = self._open(X, y)
        narrowest = 1e-6 if self.noise == "none" else 0.01
        learner = Learner("corrected", self.smoothing, narrowest)
        design = Design.of_values(values, self.columns_, self._grain)
        sums = design.matrix.T @ indicators(codes, len(self.classes_))
        if self.noise != "none":
            cases = Asked("naive-bayes", self._privacy()).shifts(design)
            law = together(self.noise, self._privacy(), cases)
            sums = self._release(law, design.sensitivities[:, None])(sums)
        self.statistics_ = statistics(design, sums, learner)
        self._weights = weights(design, self.statistics_, learner)
        return self

    def predict(self, X: Any) -> Any:
        """The class of every row."""
        matrix = Design.of_values(self._opened(X), self.columns_).matrix
        return self.classes_[predicted(matrix, self._weights)[:, 0].astype(np.intp)]


class PrivateCoordinateDescent(_Private):
    """ℓ1-regularised logistic regression of two classes by proximal coordinate descent whose noisy partial derivatives
    together are (ε, δ)-DP.

    Parameters
    ----------
    iterations, regularisation : T and λ.
    Others : as `PrivateNaiveBayes`. The start and the subsets of coordinates are random, and public.

    Attributes
    ----------
    classes_, columns_, coef_ : the latter of the constant and of the columns scaled to [−1, 1].
    """

    def __init__(
        self, epsilon: float = 1.0, delta: float = 1e-5, *, noise: str = "gaussian", ranges: Ranges | None = None,
        categories: Mapping[int, int] | None = None, classes: Sequence[Any] | None = None, iterations: int = 100,
        regularisation: float = 1e-8, random_state: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            epsilon, delta, noise=noise, ranges=ranges, categories=categories, classes=classes,
            random_state=random_state,
        )  # fmt: skip
        self.iterations = iterations
        self.regularisation = regularisation

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any) -> PrivateCoordinateDescent:
        """Descend on X, (n, columns), and y, (n,) of two classes.

        Raises
        ------
        InputError : as `PrivateNaiveBayes.fit`.
        """
        values, codes = self._open(X, y)
        if len(self.classes_) > 2:
            raise ValueError(f"Only binary classification is supported. The type of the target is multiclass, "
                             f"with {len(self.classes_)} classes")  # fmt: skip
        asked = Descent(self.iterations, self.regularisation)
        rows = features_of(values, self.columns_)
        release = None
        if self.noise != "none":
            shifts = ((1.0, asked.releases(rows.shape[1])),)
            release = self._release(together(self.noise, self._privacy(), (shifts,)), SENSITIVITY)
        path = np.random.default_rng(self.random_state)
        y_signed = np.where(codes == 1, 1.0, -1.0)
        found = descend(rows, y_signed, asked, path, release, grain=0.0 if release is None else self._grain)
        assert found is not None  # nobody stopped it
        self.coef_ = found[0]
        return self

    def predict(self, X: Any) -> Any:
        """The class of every row."""
        rows = features_of(self._opened(X), self.columns_)
        return self.classes_[(rows @ self.coef_ > 0).astype(np.intp) * (len(self.classes_) > 1)]
