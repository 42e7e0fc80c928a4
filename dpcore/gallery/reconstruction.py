"""Reconstruction attacks on noisy sums: blatant non-privacy [DN03; Awan, §2].

A database is one secret bit per row; an attacker asks for the number of ones in subsets of the rows and gets each
answer with noise. `LeastSquares` needs a few times as many questions as there are rows and wins while the noise stays
well below √n; `consistent` asks about all subsets and wins while it stays well below n/4.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.linalg import hadamard as sylvester
from scipy.optimize import lsq_linear
from scipy.special import ndtr

from .._validate import above, in_range, whole
from ..errors import InputError

Array = NDArray[np.float64]

DESIGNS = {"balanced": "balanced random subsets", "independent": "independent coins"}
MOST_ROWS, MOST_EXHAUSTED = 400, 10


# Questions ------------------------------------------------------------------------------------------


def subsets(rows: int, questions: int, design: str, rng: np.random.Generator) -> Array:
    """Which rows each question is about, 0 or 1, (questions, rows).

    independent : every row is in every question with probability ½.
    balanced : every row is in half of the questions and every two rows together in a quarter of them, exactly: random
        columns of a Hadamard matrix, complemented at random [DY08]. Each question alone is a fully random subset;
        together they are the least redundant ones. `questions` must be the order of a matrix that `hadamard` knows.
    """
    rows = whole(1, MOST_ROWS, rows=rows)
    questions = whole(rows + 1, 8 * MOST_ROWS, questions=questions)
    if design == "independent":
        return rng.integers(0, 2, (questions, rows)).astype(float)
    if design != "balanced":
        raise InputError("design", design, " or ".join(DESIGNS))
    columns, order = 1 + rng.permutation(questions - 1)[:rows], rng.permutation(questions)
    signs = hadamard(questions)[np.ix_(order, columns)] * rng.choice((-1, 1), rows).astype(np.int8)
    return (signs > 0).astype(float)


@lru_cache(maxsize=4)
def hadamard(order: int) -> NDArray[np.int8]:
    """A matrix of ±1 with orthogonal columns, the first of them ones: Sylvester's, doubled from Paley's first kind."""
    for power in range(order.bit_length()):
        prime, doubled = (order >> power) - 1, 1 << power
        if order % doubled == 0 and prime % 4 == 3 and all(prime % d for d in range(3, int(prime**0.5) + 1, 2)):
            square = np.full(prime, -1, np.int8)
            square[np.arange(1, prime) ** 2 % prime] = 1
            square[0] = 0
            residues = np.arange(prime)
            paley = np.ones((prime + 1, prime + 1), np.int8)
            paley[0, 1:] = -1
            paley[1:, 1:] = square[(residues[None, :] - residues[:, None]) % prime] + np.eye(prime, dtype=np.int8)
            return np.kron(sylvester(doubled, dtype=np.int8), paley)
    raise InputError("questions", order, "2ᵏ(q + 1) for a prime q that leaves 3 when divided by 4, as 200, 400, 800")


# Least squares --------------------------------------------------------------------------------------


class LeastSquares:
    """The attack that rounds the least-squares solution of all answers [KRSU10], where [DN03] solves a linear program.

    Attributes
    ----------
    asked : (questions, rows), 0 or 1; of full rank.
    """

    def __init__(self, asked: Array) -> None:
        self.asked = asked
        self._light = asked.astype(np.float32)
        self._gram = (self._light.T @ self._light).astype(float)  # whole numbers below 2²⁴: exact
        try:
            self._factor = cho_factor(self._gram)
        except np.linalg.LinAlgError:
            raise InputError("questions", len(asked), "questions of full rank: more of them") from None

    def estimates(self, answers: Array) -> Array:
        """The least-squares solution for answers (questions,) or (questions, k)."""
        return cho_solve(self._factor, self.asked.T @ answers)

    def within_box(self, answers: Array) -> Array:
        """The least-squares solution with entries from 0 to 1, for answers (questions,)."""
        root = cholesky(self._gram)
        reduced = solve_triangular(root, self.asked.T @ answers, trans=1)
        return lsq_linear(root, reduced, (0, 1), method="bvls").x

    def expected_recovery(self, sigma: float) -> float:
        """Expected share of rows that `estimates`, rounded at ½, gets right under Gaussian noise: exact for these
        questions and any database. The errors have the covariance σ² (AᵀA)⁻¹: the mean of Φ(1/(2σ√diag))."""
        return float(np.mean(ndtr(0.5 / (above(0, 1e9, sigma=sigma) * self._spread))))

    @cached_property
    def _spread(self) -> Array:
        """√diag (AᵀA)⁻¹."""
        return np.sqrt(np.diag(cho_solve(self._factor, np.eye(len(self._gram)))))

    def ceiling(self, sigma: float) -> float:
        """No attack gets a larger expected share of uniformly random bits from these answers, whatever it computes.

        Told all other rows, the best guess of row i is a test between two Gaussians ‖aᵢ‖ apart: right with probability
        Φ(‖aᵢ‖/(2σ)), where aᵢ says which questions row i is in.
        """
        return float(np.mean(ndtr(0.5 * np.sqrt(np.diag(self._gram)) / above(0, 1e9, sigma=sigma))))

    def gaussian_mu(self, sigma: float) -> float:
        """The μ of Gaussian differential privacy of all answers together: the largest ‖aᵢ‖/σ."""
        return float(np.sqrt(np.diag(self._gram).max()) / above(0, 1e9, sigma=sigma))


def expected_recovery_estimate(rows: int, questions: int, sigma: float) -> float:
    """Share recovered by least squares with independent questions, to first order in 1/rows: an estimate.

    AᵀA concentrates about (m/4)(I + J), whose inverse is wider by m/(m − n) on average: Φ(√(m − n)/(4σ)).
    """
    return float(ndtr(np.sqrt(questions - rows) / (4 * above(0, 1e9, sigma=sigma))))


def recovered(truth: Array, estimates: Array) -> Array:
    """Share of rows whose estimate is on the right side of ½; of each column, if there are several."""
    right = (estimates > 0.5) == (truth > 0.5 if estimates.ndim == 1 else truth[:, None] > 0.5)
    shares: Array = right.mean(axis=0)
    return shares


def recovered_by_seed(rows: int, questions: int, design: str, sigmas: Array, seeds: range) -> Array:
    """Share recovered by least squares, simulated anew (database, questions, noise) per seed: (seeds, sigmas)."""
    shares = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, rows).astype(float)
        attack = LeastSquares(subsets(rows, questions, design, rng))
        noise = rng.standard_normal((questions, len(sigmas))) * sigmas
        shares.append(recovered(truth, attack.estimates((attack.asked @ truth)[:, None] + noise)))
    return np.array(shares)


# All subsets ----------------------------------------------------------------------------------------


def all_subsets(rows: int) -> NDArray[np.int16]:
    """All subsets of the rows, and all databases, as bits: (2^rows, rows)."""
    rows = whole(1, MOST_EXHAUSTED, rows=rows)
    return (np.arange(1 << rows)[:, None] >> np.arange(rows)[None, :] & 1).astype(np.int16)


def consistent(answers: Array, most: float) -> NDArray[np.bool_]:
    """Which databases the attacker of Theorem 2.1 cannot rule out: all 2^n answers lie within `most` of their sums.

    answers : (2^n,) to the questions `all_subsets(n)`, in its order.
    """
    rows = len(answers).bit_length() - 1
    if len(answers) != 1 << rows:
        raise InputError("answers", len(answers), "one answer per subset")
    bits = all_subsets(rows)
    sums = bits @ bits.T
    fits: NDArray[np.bool_] = np.all(
        np.abs(sums - np.asarray(answers)[:, None]) <= in_range(0, rows, most=most) + 1e-9, axis=0
    )
    return fits


def wary_answers(truth: NDArray[np.integer], most: float) -> Array:
    """Answers within `most`, a multiple of ½, of the truth that leave a database 4·most rows away consistent: the
    theorem is sharp.

    Halfway between the true sums and those of a database with 2·most ones and 2·most zeros exchanged; as many as there
    are, where there are fewer.
    """
    other = truth.copy()
    for bit in (0, 1):
        other[np.flatnonzero(truth == bit)[: int(2 * most)]] = 1 - bit
    return all_subsets(len(truth)) @ (0.5 * (truth + other))


def bounded_answers(truth: NDArray[np.integer], most: float, rng: np.random.Generator) -> Array:
    """The true sums of all subsets with independent noise, uniform within ±`most`."""
    bits = all_subsets(len(truth))
    return bits @ truth + rng.uniform(-most, most, len(bits))
