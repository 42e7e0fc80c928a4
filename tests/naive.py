"""Brute-force oracles: slow, short and obviously right."""

from __future__ import annotations

from itertools import product

import numpy as np


def algorithm_2(breaks, masses, amplification, resolution):
    """[SLW, Alg. 2] word by word: (V*, φ*, A*) with A* a set of unit cells; ties keep the first shift."""
    cells = [set(range(a, b)) for a, b in zip(breaks, breaks[1:])]
    shifts = sorted({a - b for a in breaks for b in breaks if 0 < abs(a - b) <= resolution} | {-resolution, resolution})
    best, where, worst = 0.0, 0, set()
    for shift in shifts:
        event, value = set(), 0.0
        reach = set(range(breaks[0] + shift, breaks[-1] + shift))
        for own, mass in zip(cells, masses):
            bare = own - reach
            event |= bare
            value += len(bare) * mass / len(own)
            for other, other_mass in zip(cells, masses):
                excess = mass / len(own) - amplification * other_mass / len(other)
                if excess > 0:
                    both = own & {x + shift for x in other}
                    event |= both
                    value += len(both) * excess
        if value > best:
            best, where, worst = value, shift, event
    return best, where, worst


def all_events(count):
    """Every subset of `count` unit cells, bool (2^count, count)."""
    return np.array(list(product([False, True], repeat=count)))


def unit_densities(breaks, masses):
    """Mass of every unit cell of [breaks[0], breaks[-1])."""
    widths = np.diff(breaks)
    return np.repeat(np.asarray(masses) / widths, widths)


def largest_shortfall(breaks, masses, amplification, shift, window):
    """max over all events A of unit cells in the window of Σ_A p − e^ε Σ_A p(· − shift)."""
    unit = unit_densities(breaks, masses)
    mass = lambda x: unit[x - breaks[0]] if breaks[0] <= x < breaks[-1] else 0.0  # noqa: E731
    excess = np.array([mass(x) - amplification * mass(x - shift) for x in range(*window)])
    return float((all_events(len(excess)) @ excess).max())


def bounding_problem(breaks, costs, amplification, delta, resolution, window):
    """Optimal value of P(π, β) or D(π, β) with the rows of all events in the window and all shifts
    [SLW, §4.1]: (value, masses)."""
    from scipy.optimize import linprog

    widths = np.diff(breaks)
    rows = []
    events = all_events(window[1] - window[0]).astype(float)
    for shift in [*range(-resolution, 0), *range(1, resolution + 1)]:
        share = np.zeros((window[1] - window[0], len(widths)))
        for j, (a, b) in enumerate(zip(breaks, breaks[1:])):
            for x in range(a, b):
                if window[0] <= x < window[1]:
                    share[x - window[0], j] += 1 / (b - a)
                if window[0] <= x + shift < window[1]:
                    share[x + shift - window[0], j] -= amplification / (b - a)
        rows.append(events @ share)
    rows = np.unique(np.concatenate(rows).round(14), axis=0)
    answer = linprog(costs, A_ub=rows, b_ub=np.full(len(rows), delta), A_eq=np.ones((1, len(widths))), b_eq=[1.0])
    assert answer.status == 0, answer.message
    return float(answer.fun), answer.x
