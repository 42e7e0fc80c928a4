"""The certified frontier of two losses: what less of the second one costs in terms of the first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .. import audit
from .._validate import whole
from ..loss import Loss
from ..problem import Budget, NoiseProblem, SolverSettings
from ..solution import Solution
from .anytime import ProgressCallback
from .solve import solve

SPACING = 1.5
"""Budgets are denser at the tight end, where the frontier is steep: shares (i/(count − 1))^SPACING of the range."""


def pareto_frontier(
    problem: NoiseProblem,
    second_loss: Loss,
    count: int = 8,
    settings: SolverSettings | None = None,
    *,
    each: Callable[[Solution], None] | None = None,
    progress: ProgressCallback | None = None,
) -> list[Solution]:
    """Solutions of `problem` under budgets for a second loss, from the tightest budget to one that does not bind.

    Parameters
    ----------
    problem : without a budget.   count : budgets, 2 to 100; fewer come back when the losses do not conflict.
    settings : for every solve; the time limit is for each.
    each : called with every solution as it is found, the loosest budget first.
    progress : as for `solve`, called by every solve; once it returns True, those that follow end as soon as they can.

    Returns
    -------
    Solutions with increasing `problem.budget.most`. Each bracket certifies the least expected loss at its budget. Since
    that least loss does not increase with the budget, a lower bound is kept for all tighter budgets and a law for all
    looser ones, so neither `certificate.lower` nor `certificate.upper` increases along the list. The least loss is
    also convex in the budget (mix two laws); lower bounds and upper bounds at three budgets therefore satisfy
    lower(middle) ≤ the chord between the upper bounds at the other two.

    Raises
    ------
    InputError : the problem has a budget already, or a count out of range.
    InfeasibleError : no private law in the support.
    """
    count = whole(2, 100, count=count)
    settings = settings or SolverSettings()
    free = replace(problem, budget=None)
    loose = solve(free, settings, progress)
    thrifty = solve(replace(free, loss=second_loss), settings, progress)
    low, high = thrifty.certificate.upper, audit.loss_upper(loose.noise, second_loss)
    found = [_budgeted(loose, Budget(second_loss, high))]
    if each is not None:
        each(found[0])
    if high > low * (1 + settings.gap):
        for i in reversed(range(count - 1)):
            most = low + (high - low) * (i / (count - 1)) ** SPACING
            found.append(solve(replace(free, budget=Budget(second_loss, most)), settings, progress))
            if each is not None:
                each(found[-1])
    return _monotone(found[::-1])


def _budgeted(solution: Solution, budget: Budget) -> Solution:
    """The unconstrained answer as the answer under a budget that its law meets."""
    certificate = replace(solution.certificate, budget_upper=budget.most)
    return replace(solution, problem=replace(solution.problem, budget=budget), certificate=certificate)


def _monotone(found: list[Solution]) -> list[Solution]:
    """Every law also serves all looser budgets, every lower bound all tighter ones."""
    out = [found[0]]
    for solution in found[1:]:
        before = out[-1]
        if before.certificate.upper < solution.certificate.upper:
            certificate = replace(before.certificate, lower=solution.certificate.lower)
            solution = replace(
                solution, noise=before.noise, certificate=certificate, cells=before.cells, shifts=before.shifts,
                source=before.source,
            )  # fmt: skip
        out.append(solution)
    for i in reversed(range(len(out) - 1)):
        own, tighter = out[i].certificate.lower, out[i + 1].certificate.lower
        if own is not None and tighter is not None:
            out[i] = replace(out[i], certificate=replace(out[i].certificate, lower=max(own, tighter)))
    return out
