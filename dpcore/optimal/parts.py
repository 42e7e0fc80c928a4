"""The optimal noise for a budget or several pairs (ε, δ): parts of what is asked come first [method: parts].

A problem that asks for less costs no more, so its lower bound is one of the whole; and where its law happens to keep
the rest, that law is as good as optimal for the whole. One limit mostly decides, and problems with one pair and no
budget have closed forms and smaller programs.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

from ..noise.base import Noise
from ..noise.truncated_laplace import TruncatedLaplace
from ..problem import NoiseProblem
from ..solution import Progress, Solution
from .additive import Search
from .laws import spiked

SHARE = 0.6
"""Share of the time for parts of a problem with several pairs; what binds together needs programs of its own."""

NEAR = 0.03
"""A law so near to the optimum that misses the budget says that the budget decides."""

ALIKE = 0.8
"""Laws that differ by less than this share of the gap asked for are as good."""

LITTLE = 0.2
"""A part whose gap is below this share of what the whole seems to cost more is not what is left to prove."""

COSTLIER = 0.5
"""A part that costs less than this share of the costliest is passed over."""


class PartsSearch(Search):
    """The search of `additive`, after those for parts of the problem."""

    def run(self) -> Solution:
        """Without the budget first, then as any problem."""
        if self.problem.budget is not None:
            self._by_parts(1.0)
            if self._over and self.best is not None:
                return self._solution()
        return super().run()

    def _thrifty(self) -> Noise | None:
        """No law to start from is missed where a part's law meets the budget."""
        return None if self.best is not None else super()._thrifty()

    def _prove_closed(self, problem: NoiseProblem) -> None:
        """What costs nothing, and what two pairs prove together; the rest is proved by the searches for the parts."""
        self._prove_by_formula(problem)
        pairs = sorted(self._parts(), key=lambda part: part.privacy.epsilon)
        near = len(pairs) == 2 and problem.whole_line and pairs[0].privacy.epsilon >= self._peaks_from(problem)
        if near and not self._reached(self.lower):
            self._prove_peak(problem, [self._unbounded_staircase(pair) for pair in pairs])

    def _without_support(self) -> None:
        super()._without_support()
        if self.problem.budget is None:
            self._by_parts(SHARE)

    def _by_parts(self, share: float) -> None:
        """Solve the problem for single pairs and without the budget, the costliest first, in a share of what is left of
        the time."""
        until = self._until(share)
        costs = {part: self._estimate(part) for part in self._parts() if not self._over}
        for part in sorted(costs, key=lambda part: -costs[part]):
            if self._over or costs[part] < COSTLIER * max(costs.values()):
                return
            self._solve_part(part, until)

    def _parts(self) -> list[NoiseProblem]:
        less = replace(self.problem, budget=None, second=None, profile=None)
        return [replace(less, privacy=privacy) for privacy in self.problem.privacies]

    def _estimate(self, part: NoiseProblem) -> float:
        """About what a part costs."""
        if len(self.problem.privacies) == 1:
            return 0.0
        laplace = TruncatedLaplace.calibrate(part.privacy, part.sensitivity).expected_loss(part.loss)
        if not part.privacy.epsilon:
            return laplace
        return min(laplace, (1 - part.privacy.delta) * self._unbounded_staircase(part).expected_loss(part.loss))

    def _solve_part(self, part: NoiseProblem, until: float) -> None:
        """Keep the part's lower bound, and its law if that keeps all that is asked, as it is or with its atom spread.
        Until some time, or longer where the best law of the whole is as good as the part's, so that nothing but a proof
        is missing."""
        budget, kept, known = self.problem.budget, False, math.inf

        def watch(record: Progress) -> bool:
            nonlocal kept, known
            self.lower = max(self.lower, record.lower)
            if search.best is not None and search.upper < known:
                known = search.upper
                kept = self._offer(search.best.noise, search.best.source)
                if not kept and budget is None and search.piecewise is not None:
                    kept = self._offer(spiked(search.piecewise, self.problem), search.best.source)
            self._report()
            more = self.upper / known - 1 if 0 < known < self.upper < math.inf else 0.0
            late = time.perf_counter() >= until and (more > ALIKE * self.settings.gap or not self.best)
            decides = budget is not None and not kept and record.gap <= NEAR
            return self._over or late or decides or record.gap <= LITTLE * more

        search = Search(part, replace(self.settings, time_limit=max(self._deadline - time.perf_counter(), 1e-3)), watch)
        search._staircases = self._staircases
        search.run()
        watch(search._record())
        self._cells, self._pairs = max(self._cells, search._cells), self._pairs + search._pairs
