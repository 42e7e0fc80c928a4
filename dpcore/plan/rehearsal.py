"""A plan carried out many times on made-up data: how far off its numbers will be. Floating-point draws, for looking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from . import made_up
from . import ranks as choice
from .budget import Priced, Split
from .laws import COVERAGE
from .source import Source
from .ticks import tick, ticking

TIMES, SHOWN, SHOWN_CELLS = 400, 5, 200
"""Releases of each line, how many of them are kept as examples, and of how many cells."""

MOST_DRAWS = 500_000
"""Most draws of one line: large tables are released less often."""


@dataclass(frozen=True)
class Rehearsed:
    """One line on made-up data.

    labels : of the cells of a table, else empty.   true : what would be published without noise, cell by cell.
    width : ±, within which 95 % of all releases were.   shown : some releases, of the first cells.
    """

    name: str
    labels: tuple[tuple[str, ...], ...]
    true: tuple[float, ...]
    width: tuple[float, ...]
    shown: tuple[tuple[float, ...], ...]


def rehearse(
    split: Split, times: int = TIMES, seed: int = 0, call: Callable[[], object] = lambda: None
) -> tuple[Rehearsed, ...]:
    """Every line on made-up people of the plan's shapes.

    call : as of `release.carry_out`.
    """
    with ticking(call):
        return _rehearsed(split, times, seed)


def _rehearsed(split: Split, times: int, seed: int) -> tuple[Rehearsed, ...]:
    split, people = on_stage(split, seed)
    rng = np.random.default_rng(seed)
    with Source.table(people) as source:
        source.bind(split.plan.people, split.plan.columns)
        found = []
        for one in split.lines:
            tick()
            found.append(_line(one, split, source, times, rng))
    return tuple(found)


def on_stage(split: Split, seed: int = 0) -> tuple[Split, dict[str, np.ndarray]]:
    """A plan with made-up people for it: as many as the public number says, as far as `made_up.rows_of` goes, and no
    columns that no line is about."""
    plan = split.plan
    rows = made_up.rows_of(plan.people, len(plan.used))
    people = replace(plan.people, number=rows) if plan.people.number else plan.people
    return replace(split, plan=replace(plan, people=people, columns=plan.used)), made_up.table(
        plan.used, people, rows, seed
    )


def _line(priced: Priced, split: Split, source: Source, times: int, rng: np.random.Generator) -> Rehearsed:
    times = min(times, max(MOST_DRAWS // max(len(priced.cells), 1), SHOWN))
    if priced.ranks is not None:
        true, drawn = _chosen(priced, source, times, rng)
    else:
        true, drawn = _noisy(priced, split, source, times, rng)
    if priced.line.non_negative:
        drawn = np.maximum(drawn, 0.0)
    width = np.quantile(np.abs(drawn - true), COVERAGE, axis=0)
    shown = tuple(tuple(one) for one in drawn[:SHOWN, :SHOWN_CELLS].tolist())
    return Rehearsed(priced.line.name, priced.cells, tuple(true.tolist()), tuple(width.tolist()), shown)


def _noisy(
    priced: Priced, split: Split, source: Source, times: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(without noise, cell by cell; released, times × cells)."""
    public = split.plan.people, split.plan.columns
    counted = source.totals(priced.totals, priced.conditions)
    exact = [np.array(cells, dtype=float) * float(total.step) for total, cells in zip(priced.totals, counted)]
    finish = priced.line.statistic.finish
    true = np.array(finish([one.tolist() for one in exact], *public))
    noisy = [
        one + noise.sample(rng, times * len(one)).reshape(times, len(one)) for one, noise in zip(exact, priced.noises)
    ]
    drawn = np.empty((times, len(true)))
    for turn in range(times):
        tick()
        drawn[turn] = finish([one[turn].tolist() for one in noisy], *public)
    return true, drawn


def _chosen(priced: Priced, source: Source, times: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Releases of a choice by rank and their errors; without noise the best candidate is taken."""
    ranks = priced.ranks
    assert ranks is not None
    values, often = source.occurring(ranks, priced.conditions)
    runs = choice.runs(ranks.column.first, ranks.column.last, values, often, ranks.q)
    firsts, counts, penalties = (np.array(one) for one in runs)
    weights = counts * np.exp(-float(priced.rank_rate) * (penalties - penalties.min()))
    run = rng.choice(len(weights), times, p=weights / weights.sum())
    drawn = firsts[run] + rng.integers(0, counts[run])
    step = float(ranks.column.exact_step)
    return np.array([firsts[penalties.argmin()] * step]), drawn[:, None] * step
