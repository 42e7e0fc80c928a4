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


def lattice_optimum(costs, k, pairs, *, events=None, budget=None, atom=None):
    """Least Σ costs·r over laws r on consecutive points, with Σ_{i in events} (r_i − E r_{i−j})₊ + a ≤ δ for every
    |j| = 1 … k and every (E, δ) of `pairs`; budget: (costs, most) of a second loss; atom: (cost, second cost) of a
    point that no shift covers, or None. One slack for every term, nothing folded: (value, masses, atom's mass)."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    n, extra = len(costs), int(atom is not None)
    events = range(n) if events is None else events
    shifts = [*range(-k, 0), *range(1, k + 1)]
    rows, entries = 0, []
    for E, _ in pairs:
        for j in shifts:
            for i in events:  # row and slack have the same number
                entries += [(rows, i, 1.0), (rows, n + extra + rows, -1.0)]
                entries += [(rows, i - j, -E)] if 0 <= i - j < n else []
                rows += 1
    terms, limits = rows, [0.0] * rows
    for t, delta in enumerate(delta for _, delta in pairs for _ in shifts):
        entries += [(rows, n + extra + t * len(events) + i, 1.0) for i in range(len(events))]
        entries += [(rows, n, 1.0)] if extra else []
        rows, limits = rows + 1, [*limits, delta]
    if budget is not None:
        entries += [(rows, i, c) for i, c in enumerate(budget[0])] + ([(rows, n, atom[1])] if extra else [])
        rows, limits = rows + 1, [*limits, budget[1]]
    r, c, v = zip(*entries)
    columns = n + extra + terms
    objective = np.concatenate([costs, [atom[0]] if extra else [], np.zeros(terms)])
    mass = np.concatenate([np.ones(n + extra), np.zeros(terms)])[None, :]
    A = coo_matrix((v, (r, c)), shape=(rows, columns)).tocsr()
    answer = linprog(objective, A_ub=A, b_ub=limits, A_eq=mass, b_eq=[1.0])
    if answer.status == 2:
        return np.inf, None, None
    assert answer.status == 0, answer.message
    return float(answer.fun), answer.x[:n], float(answer.x[n]) if extra else 0.0
