"""The referee's own arithmetic (exact_losses.py, exact_laws.py) against sums and counts that are obviously right."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from exact_laws import Cells, DiscreteStaircase, Points, Staircase, Tailed, together
from exact_losses import enclosed, ends, exact_loss, exp_bounds

LOSSES = [
    "l1", "l2", "lp:1.5", "lp:3", "pinball:0.8", "asym:1:3", "huber:1", "exceed:2", "table:-2=3,-1=0,0.5=1,2=1,4=9",
    "table:-1.0000000000001=1,-1=0,1=0,1.0000000000001=1,2=1",
]  # fmt: skip
SEVERAL = range(12)


def number(rng: random.Random, low: int, high: int) -> Fraction:
    return Fraction(rng.randint(7 * low, 7 * high), 7)


def random_cells(rng: random.Random, *, atom: bool = True) -> Cells:
    breaks = sorted(rng.sample(range(-12, 13), rng.randint(2, 9)))
    weights = [rng.choice((0, 1, 2, 5, 9)) for _ in breaks[1:]]
    weights[0] += 1
    point = rng.choice((0, 3)) if atom else 0
    place = (breaks[0] + breaks[-1]) // 2
    return Cells(Fraction(1, 4), number(rng, -1, 1), tuple(breaks), tuple(weights), sum(weights) + point, place, point)


def unit_masses(law: Cells) -> dict[int, Fraction]:
    """Mass of every cell one unit long."""
    cells = zip(law.breaks, law.breaks[1:], law.weights)
    return {u: Fraction(w, (b - a) * law.total) for a, b, w in cells for u in range(a, b)}


@pytest.mark.parametrize("spec", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_sums_under_geometric_tails(spec, seed):
    """Closed forms against term after term, up to where 2^−200 is left."""
    rng, loss, nothing = random.Random(f"{spec}/{seed}"), exact_loss(spec), Fraction(1, 10**18)
    for _ in range(6):
        start, period = number(rng, -6, 3), Fraction(rng.randint(1, 20), 9)
        end = rng.choice((None, start + period * Fraction(rng.randint(1, 9), 9)))
        ratio = Fraction(1, rng.choice((2, 3)))
        low, high = ends(loss.geometric(enclosed(ratio), start, end, period, enclosed))
        places = [(start + m * period, None if end is None else end + m * period) for m in range(200)]
        terms = [loss.value(x) if y is None else loss.integral(x, y) for x, y in places]
        below, above = (sum(ratio**m * term[side] for m, term in enumerate(terms)) for side in (0, 1))
        assert low - nothing <= above and below <= high and high - low < nothing * max(1, low)
        assert abs(loss.geometric(float(ratio), start, end, period, float) - float(low)) < 1e-9 * max(1, float(low))


@pytest.mark.parametrize("spec", LOSSES)
def test_integrals_add_up(spec):
    """Parts of an interval cost what it costs; narrow ones the value within."""
    rng, loss = random.Random(spec), exact_loss(spec)
    for _ in range(20):
        places = sorted({number(rng, -5, 5) for _ in range(5)})
        parts = [loss.integral(a, b) for a, b in pairwise(places)]
        low, high = loss.integral(places[0], places[-1])
        assert sum(p[0] for p in parts) <= high and low <= sum(p[1] for p in parts)
        x, width = places[0] + Fraction(1, 10**6), Fraction(1, 10**9)
        mean = float(loss.integral(x, x + width)[0] / width)
        assert mean == pytest.approx(float(loss.value(x)[0]), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("seed", SEVERAL)
def test_shortfalls_of_cells(seed, monkeypatch):
    """Over every event of unit cells, at whole and at half units; taken apart or break by break."""
    rng = random.Random(seed)
    law, epsilon = random_cells(rng), number(rng, 0, 2)
    E, mass, atom = exp_bounds(epsilon)[0], unit_masses(law), Fraction(law.atom, law.total)

    def at(units: int) -> Fraction:
        reach = range(law.breaks[0] - 60, law.breaks[-1] + 60)
        return atom + sum(max(mass.get(u, Fraction(0)) - E * mass.get(u - units, Fraction(0)), 0) for u in reach)

    limit = Fraction(rng.randint(1, 20), 2)
    whole, part = divmod(limit, 1)
    signs = (1, -1)
    expected = [atom, *(at(s * j) for s in signs for j in range(1, int(whole) + 1))]
    if part:
        ends_of_part = [(at(s * int(whole)) if whole else atom, at(s * (int(whole) + 1))) for s in signs]
        expected += [(one + two) / 2 for one, two in ends_of_part]
    found = []
    for most, work in ((40_000, 20), (0, 0), (0, 10**9)):
        monkeypatch.setattr("exact_laws.MOST_UNITS", most)
        monkeypatch.setattr("exact_laws.BREAK", work)
        found.append(max(value for _, value in law.shortfalls(epsilon, limit * law.unit)))
        assert 0 <= found[-1] - max(expected) < Fraction(1, 10**18)


def test_long_laws_are_looked_at_in_bounded_work(monkeypatch):
    """Thousands of breaks are not compared two by two; of what is looked at the whole reach is part."""
    breaks = tuple(7 * i + i * i % 5 for i in range(3001))
    law = Cells(Fraction(1, 50), Fraction(0), breaks, (1,) * 3000, 3000)
    monkeypatch.setattr("exact_laws.MOST_WORK", 10**6)
    for limit in (Fraction(10), Fraction(400)):
        shifts = law._differences(limit * 50)
        assert 0 < len(shifts) <= 10**6 / 20 / 3001 + 1
        assert shifts[0] == limit * 50
    on_grid = max(value for _, value in law._on_a_grid(Fraction(1, 10), Fraction(60), (1, -1)))
    found = max(value for _, value in law.shortfalls(Fraction(1, 10), Fraction(6, 5)))
    assert found == on_grid


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("releases", [1, 2, 3])
def test_releases_together(seed, releases):
    """Every outcome of all releases, cell by cell."""
    rng = random.Random(seed)
    law, epsilon, shift = random_cells(rng), number(rng, 0, 2), rng.choice((-2, 1, 3))
    mass, atom = unit_masses(law), Fraction(law.atom, law.total)
    one = [(mass.get(u, Fraction(0)), mass.get(u - shift, Fraction(0))) for u in range(-16, 17)]
    one += [(atom, Fraction(0)), (Fraction(0), atom)]
    both = Counter({(Fraction(1), Fraction(1)): 1})
    for _ in range(releases):
        both = sum((Counter({(p * r, q * t): n}) for (p, q), n in both.items() for r, t in one if p * r), Counter())
    E = exp_bounds(epsilon)[1]
    worst = sum(n * max(p - E * q, 0) for (p, q), n in both.items())
    assert 0 <= worst - together(law, shift, epsilon, releases) < Fraction(1, 10**12)


@pytest.mark.parametrize("seed", SEVERAL)
def test_shortfalls_of_points(seed):
    rng = random.Random(seed)
    weights = [rng.choice((0, 1, 4, 9)) for _ in range(rng.randint(1, 9))] + [1]
    law, epsilon, k = Points(Fraction(1, 10), -3, tuple(weights), sum(weights)), number(rng, 0, 2), rng.randint(1, 12)
    E, mass = exp_bounds(epsilon)[0], dict(enumerate(Fraction(w, law.total) for w in weights))
    shifts = [sign * j for j in range(1, k + 1) for sign in (1, -1)]
    worst = max(sum(max(p - E * mass.get(i - j, Fraction(0)), 0) for i, p in mass.items()) for j in shifts)
    found = max(value for _, value in law.shortfalls(epsilon, Fraction(k, 10)))
    assert 0 <= found - worst < Fraction(1, 10**40)


@pytest.mark.parametrize("seed", range(6))
def test_a_tail_is_many_cells(seed):
    """A body with a geometric tail against the same written out as cells, up to where 1e-25 is left."""
    rng = random.Random(seed)
    body = random_cells(rng, atom=False)
    body = replace(body, weights=tuple(4 * w for w in body.weights), total=4 * body.total)
    law = Tailed(body, rng.randint(1, body.total - 1), 2)
    share, far, mass = Fraction(law.weight, law.body.total), 90, unit_masses(law.body)
    scale = 1 << 120
    tail = {u: Fraction(1, 2 ** (max(u, -u - 1) + 2)) for u in range(-far, far)}
    written = [math.floor(scale * ((1 - share) * mass.get(u, 0) + share * tail[u])) for u in range(-far, far)]
    cells = Cells(body.unit, body.origin, tuple(range(-far, far + 1)), tuple(written), sum(written))
    for spec in ("l1", "l2", "exceed:2", "pinball:0.8", "lp:1.5"):
        one, two = law.cost(exact_loss(spec))[0], cells.cost(exact_loss(spec))[0]
        assert abs(one - two) < Fraction(1, 10**20)
    epsilon = number(rng, 0, 3)
    one, two = (max(v for _, v in one.shortfalls(epsilon, 3 * body.unit)) for one in (law, cells))
    assert abs(one - two) < Fraction(1, 10**20)


@pytest.mark.parametrize("spec", LOSSES)
def test_staircases_are_cells_and_points(spec):
    loss, nothing = exact_loss(spec), Fraction(1, 10**20)
    for gamma, place, atom in (("1/4", "0", 0), ("0", "1/3", 1), ("1", "-2", 3)):
        gamma, place = Fraction(gamma), Fraction(place)
        law = Staircase(Fraction(1), Fraction(2), gamma, Fraction(atom, 7), place)
        right = [(gamma + k, gamma + k + 1, exp_bounds(Fraction(-k - 1))[0]) for k in range(90)]
        steps = [(-hi, -lo, h) for lo, hi, h in right] + [(-gamma, gamma, Fraction(1))] * (gamma > 0) + right
        total = sum((hi - lo) * h for lo, hi, h in steps)
        cost = sum(h * loss.integral(place + 2 * lo, place + 2 * hi)[0] / 2 for lo, hi, h in steps) / total
        expected = (1 - law.atom) * cost + law.atom * loss.value(place)[0]
        low, high = law.cost(loss)
        assert max(abs(low - expected), high - low) < nothing * max(1, expected)
        assert law.rough_cost(loss) == pytest.approx(float((1 - law.atom) * cost), rel=1e-8, abs=1e-9)
    for rise, period, location in ((1, 1, 0), (2, 3, 0), (3, 3, -2), (1, 4, 5)):
        law = DiscreteStaircase(Fraction(1), rise, period, location, Fraction(1, 2))
        reach = 90 * period
        level = lambda i: 0 if abs(i) < rise else (abs(i) - rise) // period + 1  # noqa: B023, E731
        masses = {i: exp_bounds(Fraction(-level(i)))[0] for i in range(-reach, reach + 1)}
        expected = sum(m * loss.value((location + i) * law.step)[0] for i, m in masses.items()) / sum(masses.values())
        low, high = law.cost(loss)
        assert max(abs(low - expected), high - low) < nothing * max(1, expected)
        assert law.rough_cost(loss) == pytest.approx(float(expected), rel=1e-8, abs=1e-9)


def test_shapes():
    half = Fraction(1, 2)
    law = Cells(half, Fraction(0), (-2, -1, 1, 2), (1, 4, 1), 6)
    assert law.symmetric and law.monotone and law.reach == (-1, 1)
    assert not Cells(half, Fraction(1, 10**30), (-2, -1, 1, 2), (1, 4, 1), 6).symmetric
    assert not Cells(half, Fraction(0), (-2, -1, 1, 2), (3, 4, 1), 8).monotone  # 3/1 on the left, 4/2 in the middle
    assert not Cells(half, Fraction(1), (0, 1), (1,), 1).monotone  # nothing at 0, something beyond
    assert Cells(half, Fraction(0), (0, 1, 3), (1, 2), 3).monotone
    assert not Cells(half, Fraction(0), (0, 1), (1,), 2, 1, 1).monotone  # an atom beside 0
    assert Cells(half, Fraction(0), (-2, 0, 1, 2), (2, 1, 1), 4).symmetric  # equal densities, cut differently
    points = Points(Fraction(1), -1, (1, 3, 1), 5)
    assert points.symmetric and points.monotone and not Points(Fraction(1), 0, (1, 3, 1), 5).monotone
    assert not Points(Fraction(1), 1, (1,), 1).monotone and Points(Fraction(1), -1, (1, 3, 1), 6).faults
