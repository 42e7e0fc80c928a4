"""Every problem to the search that is made for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..errors import InputError
from ..privacy_profile import Composed, GaussianProfile
from ..problem import NoiseProblem, SolverSettings
from ..solution import Solution
from .additive import Search
from .anytime import ProgressCallback
from .atlas import power_of
from .composed import ComposedSearch
from .covered import CoveredSearch, worst_pair
from .integer import IntegerSearch, has_first, solve_integer
from .parts import PartsSearch
from .profile import ProfileSearch


def solve(
    problem: NoiseProblem, settings: SolverSettings | None = None, progress: ProgressCallback | None = None
) -> Solution:
    """The least expected loss of (ε, δ)-DP additive noise, bracketed, with the law that attains the upper end.

    Parameters
    ----------
    progress : called with every improvement and about every 0.1 s; returning True stops the search once a first law
        is known. The answer is valid whenever it stops; stopping early only widens the gap. `record.answer()` is the
        answer of the moment. An exception raised by it ends the search at once and is passed on.

    Raises
    ------
    InfeasibleError : the support leaves no (ε, δ)-DP law.
    """
    settings = settings or SolverSettings()
    if problem.granularity is not None:
        return solve_integer(problem, settings, progress)
    if settings.method == "reference":
        if problem.budget is not None or len(problem.simplified.privacies) > 1 or problem.whole_curve:
            raise InputError("method", "reference", "certified where there is a budget or more than one pair")
        from ..reference import solve_reference

        return solve_reference(problem, settings, progress)
    if isinstance(problem.profile, Composed) and problem.profile.releases > 1:
        return ComposedSearch(problem, settings, progress).run()
    if isinstance(problem.profile, GaussianProfile):
        return ProfileSearch(problem, settings, progress).run()
    return _search(problem)(problem, settings, progress).run()


def first_bracket(problem: NoiseProblem) -> Solution | None:
    """A certified answer without any linear program, in tens of milliseconds [method: atlas]: for |x| and x², one pair
    (ε, δ) and the whole line it is mostly within 2 % of the optimum, for counts of sensitivity 1 within a millionth;
    None for other problems, which `solve` brackets as soon, and for counts whose loss ends in a plateau, where nothing
    may be proved."""
    if has_first(problem):
        found = IntegerSearch(problem, SolverSettings(gap=FIRST), None).first()
        return found if found.certificate.lower else None
    asked = problem.simplified
    plain = asked.whole_line and asked.granularity is None and asked.budget is None and asked.profile is None
    if not plain or power_of(asked.paid_loss) is None or len(asked.privacies) > 1 or _search(asked) is not Search:
        return None
    return Search(problem, SolverSettings(gap=FIRST)).first()


FIRST = 0.02
"""Relative gap at which a first bracket is good enough."""


def _search(problem: NoiseProblem) -> type[Search]:
    """For finitely many pairs."""
    if worst_pair(problem):
        return CoveredSearch
    return PartsSearch if problem.budget is not None or len(problem.simplified.privacies) > 1 else Search


def solve_many(
    problems: Iterable[NoiseProblem], settings: SolverSettings | None = None, progress: ProgressCallback | None = None
) -> Iterator[Solution]:
    """Solutions in the order of the problems, each search starting from the one before it where only δ has grown: in
    the atom regime one solve then serves all larger δ [Thm 6].
    """
    settings = settings or SolverSettings()
    before: Search | None = None
    for problem in problems:
        if settings.method != "certified" or problem.granularity or problem.whole_curve:
            yield solve(problem, settings, progress)
            continue
        near = False
        if before is not None and before.asked == replace(problem, privacy=before.asked.privacy):
            # other ε align otherwise, smaller δ need wider laws: lattices that suited those are in the way here
            one, two = before.asked.privacy, problem.privacy
            near = one.epsilon == two.epsilon and one.delta <= two.delta
        before = _search(problem)(problem, settings, progress, before if near else None)
        yield before.run()
