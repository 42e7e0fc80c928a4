"""The exact law of a sampler: every answer that its source of chance can give is tried, and its probability is kept.

No draw is left to chance, so that a sampler that is wrong by a hair in one place fails every time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction


class _Fork(Exception):
    """Chance is asked once more than there are answers: the probabilities of the next one."""

    def __init__(self, shares: Sequence[float | Fraction]) -> None:
        self.shares = shares


class Chance:
    """A source of chance that gives every answer in turn; its methods stand in for what samplers call."""

    def __init__(self) -> None:
        self._answers: list[int] = []
        self._asked = 0

    def choose(self, shares: Sequence[float | Fraction]) -> int:
        """The number of a share, with that probability."""
        if self._asked == len(self._answers):
            raise _Fork(shares)
        self._asked += 1
        return self._answers[self._asked - 1]

    def below(self, most: int) -> int:
        """As `secrets.randbelow`."""
        return self.choose([Fraction(1, most)] * most)

    def bits(self, count: int) -> int:
        """As `secrets.randbits`."""
        return self.below(1 << count)

    def coin(self, probability: float | Fraction) -> bool:
        """True with this probability."""
        return bool(self.choose([1 - probability, probability]))

    def law(
        self, draw: Callable[[], Hashable], least: float = 0.0
    ) -> tuple[dict[Hashable, float | Fraction], float | Fraction]:
        """(probabilities of outcomes, the rest): of all ways to draw those of at least this probability are gone to
        the end, the others are the rest, which an outcome's probability may exceed what is told by."""
        found: dict[Hashable, float | Fraction] = {}
        rest: float | Fraction = 0
        ways: list[tuple[list[int], float | Fraction]] = [([], 1)]
        while ways:
            self._answers, probability = ways.pop()
            self._asked = 0
            try:
                outcome = draw()
            except _Fork as fork:
                for answer, share in enumerate(fork.shares):
                    if share and probability * share >= least:
                        ways.append(([*self._answers, answer], probability * share))
                    else:
                        rest += probability * share
            else:
                found[outcome] = found.get(outcome, 0) + probability
        return found, rest
