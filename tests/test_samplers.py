"""Every exact sampler against its law on few lattice points (2 to 16 a sensitivity), where one point's mass shows.

The draws come from the operating system's source and cannot be seeded. A test fails a correct sampler with probability
1e-10 at most, by Chernoff's bound: P(k hits of n as far from p) ≤ 2 e^(−n·KL(k/n ‖ p)).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable
from fractions import Fraction

import numpy as np
import pytest

from dpcore.data_dependent.channel import Channel, Grid
from dpcore.data_dependent.clamped import ClampedNoise
from dpcore.exact import draw_discrete_staircase, draw_geometric, draw_staircase, release
from dpcore.noise import DiscreteStaircase, Geometric, Staircase, ladder
from dpcore.noise.flanked import FlankedNoise
from dpcore.noise.lattice import LatticeNoise, stretched
from dpcore.noise.piecewise import TOTAL, PiecewiseNoise
from dpcore.noise.tailed import TailedNoise
from dpcore.private_optimization.release import draw_truncated_geometric
from dpcore.script import in_order
from dpcore.vector import joint
from dpcore.vector.exact import draw_cube, draw_diamond, draw_laplace, draw_smooth_radius, draw_stepped_radius
from dpcore.vector.joint import Boxes, DoubleExponential, Planar, Scaled

FALSE_ALARM = 1e-10

Law = dict[Hashable, float]
"""Probabilities of outcomes; what is left belongs to all others."""


def normalised(weights: dict) -> Law:
    total = math.fsum(weights.values())
    return {x: float(w) / float(total) for x, w in weights.items() if w}


def divergence(share: float, probability: float) -> float:
    """KL of two coins."""
    if probability <= 0:
        return math.inf if share else 0.0
    probability = min(probability, 1 - 1e-13)  # sums of a law round
    parts = ((share, probability), (1 - share, 1 - probability))
    return sum(s * math.log(s / p) for s, p in parts if s)


def surprise(draws: list, law: Law) -> float:
    """An upper bound of the probability that an outcome, or all up to one, are hit as unexpectedly often or rarely as
    in these draws."""
    n, seen, places = len(draws), Counter(draws), sorted(law)
    hits, masses = [seen[x] for x in places], [min(law[x], 1.0) for x in places]
    others = max(0.0, 1 - math.fsum(masses))
    cases = [*zip(hits, masses), *zip(itertools.accumulate(hits), itertools.accumulate(masses))]
    cases.append((n - sum(hits), others if others > 1e-9 else 0.0))
    return min(1.0, 2 * len(cases) * math.exp(-n * max(divergence(k / n, p) for k, p in cases)))


def follows(draw: Callable[[], Hashable], law: Law, count: int = 4000) -> None:
    assert surprise([draw() for _ in range(count)], law) > FALSE_ALARM


def test_the_test_itself():
    """It knows a die from one with a heavy side, and an outcome that cannot be."""
    die = dict.fromkeys(range(6), 1 / 6)
    rng = np.random.default_rng(3)
    assert surprise(rng.integers(6, size=4000).tolist(), die) > 1e-3
    assert surprise(rng.choice(6, 4000, p=[0.25, *[0.15] * 5]).tolist(), die) < FALSE_ALARM
    assert surprise([*rng.integers(6, size=4000).tolist(), 6], die) == 0


# Closed forms ---------------------------------------------------------------------------------------------------


def staircase_law(epsilon: float, inner: int, points: int, atom: float = 0.0, far: int = 60) -> Law:
    """Cells [i, i + 1) of density e^(−ε·level), mirror images about −½; the atom at 0."""
    level = lambda i: 0 if i < inner else (i - inner) // points + 1  # noqa: E731
    reach = points * (math.ceil(far / epsilon) + 1)
    side = {i: math.exp(-epsilon * level(i)) for i in range(reach)}
    law = normalised(side | {-i - 1: w for i, w in side.items()})
    return {i: (1 - atom) * p + (atom if i == 0 else 0) for i, p in law.items()}


@pytest.mark.parametrize("points", [2, 3, 8, 16])
@pytest.mark.parametrize(("epsilon", "gamma"), [(1.0, 0.5), (0.3, 0.25), (3.0, 1.0), (2.0, 0.0)])
def test_staircases(points, epsilon, gamma):
    inner = round(gamma * points)
    for atom in (0.0, 0.25):
        law = staircase_law(epsilon, inner, points, atom)
        follows(lambda: draw_staircase(Fraction(epsilon), Fraction(gamma), Fraction(atom), points), law)  # noqa: B023


@pytest.mark.parametrize(("value", "up"), [(0.0, 0), (0.3, 2), (-0.3, -1), (1.0, 4)])
@pytest.mark.parametrize(("gamma", "atom"), [(0.5, 0.0), (0.25, 0.3)])
def test_releases_of_staircases(monkeypatch, value, up, gamma, atom):
    """Quarters of the sensitivity: the value is rounded up to one, the atom releases the value itself."""
    monkeypatch.setattr("dpcore.noise.staircase.SUBDIVISIONS", 4)
    noise, law = Staircase(1.0, 1.0, gamma, atom, 5.0), staircase_law(1.0, round(gamma * 4), 4)
    places = {("lattice", up + i): (1 - atom) * p for i, p in law.items()}
    if atom:
        own = ("lattice", round(4 * value)) if 4 * value == round(4 * value) else ("value", value)
        places[own] = places.get(own, 0.0) + atom

    def place() -> tuple[str, float]:
        found = release(noise, value)[0] - 5
        on_lattice = abs(4 * found - round(4 * found)) < 1e-9
        return ("lattice", round(4 * found)) if on_lattice else ("value", round(found, 9))

    follows(place, places)


@pytest.mark.parametrize(("rate", "rise", "period"), [(1.0, 1, 1), (0.4, 1, 3), (1.5, 2, 5), (0.7, 8, 8), (5.0, 3, 16)])
def test_discrete_staircases(rate, rise, period):
    level = lambda i: 0 if i < rise else (i - rise) // period + 1  # noqa: E731
    reach = period * (math.ceil(60 / rate) + 1)
    law = normalised({i: math.exp(-rate * level(abs(i))) for i in range(-reach, reach + 1)})
    follows(lambda: draw_discrete_staircase(Fraction(rate), rise, period), law)
    noise = DiscreteStaircase(rate, period, rise, -3)
    follows(lambda: release(stretched(noise, 0.5), 10.2)[0], {(20 - 3 + i) / 2: p for i, p in law.items()})


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0.5, 1), (1.0, 3), (3.0, 16)])
def test_geometric_releases(epsilon, sensitivity):
    rate = epsilon / sensitivity
    reach = math.ceil(60 / rate)
    law = normalised({7 + i: math.exp(-rate * abs(i)) for i in range(-reach, reach + 1)})
    follows(lambda: release(Geometric(epsilon, sensitivity, 4), 3)[0], law)


@pytest.mark.parametrize("rate", [Fraction(1, 16), Fraction(1, 2), Fraction(3, 2), Fraction(7, 3), Fraction(1)])
def test_geometric_and_laplace_draws(rate):
    r, reach = float(rate), math.ceil(60 / rate)
    law = {i: -math.expm1(-r) * math.exp(-r * i) for i in range(reach)}
    follows(lambda: draw_geometric(rate), law)
    follows(lambda: draw_laplace(rate), {x: p / 2 for i, p in law.items() for x in (i, -i - 1)})


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("rate", [Fraction(1, 16), Fraction(1, 2), Fraction(2)])
def test_truncated_draws(rate, n):
    """Both ways of drawing distances, with and without a middle point."""
    law = normalised({i: math.exp(-float(rate) * abs(i - n / 2)) for i in range(n + 1)})
    follows(lambda: draw_truncated_geometric(rate, n), law)


# Laws in whole numbers ------------------------------------------------------------------------------------------

GRID = {
    "sensitivity": 1.0, "resolution": 4, "breaks": [-3, -1, 0, 2, 3], "masses": [0.2, 0.1, 0.0, 0.3], "atom": 0.4,
    "atom_unit": 2,
}  # fmt: skip
CELLS = {-3: 0.1, -2: 0.1, -1: 0.1, 0: 0.0, 1: 0.0, 2: 0.3}
"""Unit cells of it."""


def test_cells_and_an_atom():
    noise = PiecewiseNoise.from_masses(**GRID)
    for points in (1, 2, 4):
        law = {cell * points + i: p / points for cell, p in CELLS.items() for i in range(points)}
        law[2 * points] += 0.4
        follows(lambda: noise.draw(points), law)  # noqa: B023


@pytest.mark.parametrize(("value", "up"), [(0.0, 0), (0.3, 3), (-0.3, -2), (0.125, 1)])
def test_releases_of_cells(value, up):
    """Two points to a unit, eight to the sensitivity."""
    noise = PiecewiseNoise.from_masses(**GRID)
    law: Law = {}
    for cell, p in CELLS.items():
        for i in range(2):
            law[(up + 2 * cell + i) / 8] = p / 2
    law[value + 0.5] = law.get(value + 0.5, 0.0) + 0.4
    follows(lambda: noise.release(value, 2), law)


def test_tails():
    body = PiecewiseNoise.from_masses(sensitivity=1.0, resolution=4, breaks=[-2, 0, 1, 2], masses=[0.5, 0.0, 0.5])
    noise = TailedNoise(body, TOTAL * 2 // 5, 3)
    tail = {u: (2 / 3) ** max(u, -u - 1) / 6 for u in range(-80, 80)}
    own = {-2: 0.25, -1: 0.25, 0: 0.0, 1: 0.5}
    cells = {u: 0.4 * p + 0.6 * own.get(u, 0.0) for u, p in tail.items()}
    follows(lambda: noise.draw(2), {2 * u + i: p / 2 for u, p in cells.items() for i in range(2)})
    follows(lambda: noise.release(0.3, 1), {(2 + u) / 4: p for u, p in cells.items()})


FLANKS = {
    "sensitivity": 1.0, "resolution": 2, "breaks": [-3, -1, 0, 1, 3, 4, 5], "masses": [0.2, 0.1, 0.1, 0.3, 0.2, 0.1],
}  # fmt: skip


def flanked_cells() -> Law:
    """Unit cells of a law whose ends go on with q = 2/5."""
    law: Law = {-1: 0.1, 0: 0.1, 1: 0.15, 2: 0.15}
    for n in range(60):
        share = 0.6 * 0.4**n
        law |= {-3 - 2 * n: 0.1 * share, -2 - 2 * n: 0.1 * share, 3 + 2 * n: 0.2 * share, 4 + 2 * n: 0.1 * share}
    return law


def test_ends_that_go_on():
    noise = FlankedNoise(PiecewiseNoise.from_masses(**FLANKS), TOTAL * 2 // 5)
    follows(lambda: noise.draw(2), {2 * u + i: p / 2 for u, p in flanked_cells().items() for i in range(2)})
    follows(lambda: noise.release(0.3, 1), {(1 + u) / 2: p for u, p in flanked_cells().items()})


@pytest.mark.parametrize(("value", "nearest"), [(10.0, 20), (10.2, 20), (10.3, 21), (-0.25, 0), (0.25, 1)])
def test_points(value, nearest):
    noise = LatticeNoise.from_masses(0.5, -2, [0.1, 0.0, 0.5, 0.25, 0.15])
    law = {-2: 0.1, -1: 0.0, 0: 0.5, 1: 0.25, 2: 0.15}
    follows(lambda: noise.draw(), law)
    follows(lambda: noise.release(value), {(nearest + i) / 2: p for i, p in law.items()})


@pytest.mark.parametrize(("value", "own"), [(0.1, 0), (0.6, 1), (1.0, 2), (1.99, 3), (7.0, 3), (-1.0, 0)])
@pytest.mark.parametrize("spread", [False, True])
def test_one_law_for_every_true_value(monkeypatch, value, own, spread):
    """Points of half a sensitivity, or two places in each of the cells around them; the atom is the value itself."""
    monkeypatch.setattr("dpcore.data_dependent.channel.SUBDIVISIONS", 2)
    masses = np.array([[0.4, 0.3, 0.2, 0.0], [0.2, 0.4, 0.2, 0.1], [0.1, 0.2, 0.4, 0.2], [0.0, 0.2, 0.3, 0.4]])
    channel = Channel.from_masses(Grid.make((0.0, 2.0), 1.0, 2), masses, np.full(4, 0.1), spread=spread)
    law: Law = {min(max(value, 0.0), 2.0): 0.1}
    for b, p in enumerate(masses[own]):
        for x, share in ((b / 2 + 0.125, 0.5), (b / 2 + 0.375, 0.5)) if spread else ((b / 2 + 0.25, 1.0),):
            law[x] = law.get(x, 0.0) + p * share
    follows(lambda: round(channel.release(value), 6), law)


def test_noise_moved_to_the_ends_of_a_range():
    noise = LatticeNoise.from_masses(0.5, -2, [0.1, 0.2, 0.3, 0.25, 0.15])
    law = {0.0: 0.3, 0.5: 0.3, 1.0: 0.4}
    follows(lambda: ClampedNoise(noise, (0.0, 1.0)).release(0.5), law)
    follows(lambda: ClampedNoise(noise, (0.0, 1.0)).release(-9), {0.0: 0.6, 0.5: 0.25, 1.0: 0.15})


def test_first_and_last_tickets(monkeypatch):
    """Of 2^62 tickets each outcome has as many as its weight: no draw could show one that is given to its neighbour."""
    drawn: list[int] = []
    monkeypatch.setattr("secrets.randbelow", lambda most: drawn[0] if most == TOTAL else 0)
    cells = PiecewiseNoise.from_masses(**GRID)
    points = LatticeNoise.from_masses(0.5, -2, [0.1, 0.0, 0.5, 0.25, 0.15])
    channel = Channel.from_masses(Grid.make((0.0, 1.0), 1.0, 2), np.array([[0.3, 0.4], [0.5, 0.2]]), np.full(2, 0.3))
    row = [int(channel.atoms[0]), *channel.weights[0].tolist()]
    cases = [
        ([cells.atom_weight, *cells.weights.tolist()], lambda: cells.draw(1), [2, *GRID["breaks"]]),
        ([*points.weights.tolist()], points.draw, list(range(-2, 3))),
        (row, lambda: channel.release(0.1), [0.1, 0.25, 0.75]),
        ([cells.atom_weight, *cells.weights.tolist()], lambda: script(cells, 1)(0) * 4, [2, *GRID["breaks"]]),
        ([*points.weights.tolist()], lambda: script(points, 1)(0) * 2, list(range(-2, 3))),
    ]
    for weights, draw, outcomes in cases:
        before = 0
        for weight, outcome in zip(weights, outcomes):
            for ticket in (before, before + weight - 1) if weight else ():
                drawn[:] = [ticket]
                assert draw() == outcome
            before += weight
        assert before == TOTAL


# Several coordinates ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "rate"), [(1, Fraction(1, 2)), (2, Fraction(1)), (4, Fraction(3, 2))])
def test_smooth_radii(size, rate):
    law = normalised({r: float(2 * r) ** size * math.exp(-float(rate) * r) for r in range(1, 300)})
    follows(lambda: draw_smooth_radius(size, rate), law, 3000)


@pytest.mark.parametrize("diamond", [False, True])
@pytest.mark.parametrize(("size", "inner", "period"), [(2, 1, 2), (2, 4, 4), (2, 3, 16), (3, 0, 3)])
def test_stepped_radii(size, inner, period, diamond):
    if diamond and (size, inner) not in ((2, 1), (2, 4), (2, 3)):
        return
    cells = (lambda r: 2.0 * r * r - 2 * r + 1) if diamond else (lambda r: float(2 * r) ** size)
    law = normalised({inner + k * period: cells(inner + k * period) * 0.25**k for k in range(60)})
    follows(lambda: draw_stepped_radius(size, Fraction(1, 4), inner, period, diamond=diamond), law, 3000)


@pytest.mark.parametrize("radius", [1, 2, 3])
def test_places_of_cubes_and_diamonds(radius):
    cube = list(itertools.product(range(-radius, radius), repeat=2))
    follows(lambda: tuple(draw_cube(2, radius)), dict.fromkeys(cube, 1 / len(cube)))
    diamond = [p for p in itertools.product(range(-radius, radius + 1), repeat=2) if abs(p[0]) + abs(p[1]) < radius]
    follows(lambda: tuple(draw_diamond(radius)), dict.fromkeys(diamond, 1 / len(diamond)))


def steps_of(part) -> tuple[int, ...]:
    return tuple(drawn for _, drawn, _ in part.draw())


FIRST, BOTH = np.array([0]), np.array([0, 1])


def nested(law: dict[int, float], size: int) -> Law:
    """Cells of the plane, or the line, under a mixture of cubes of these radii."""
    out: Counter = Counter()
    for radius, p in law.items():
        for place in itertools.product(range(-radius, radius), repeat=size):
            out[place] += p / (2 * radius) ** size
    return {x: p for x, p in out.items() if p > 1e-7}


def test_parts_of_vector_releases(monkeypatch):
    """Four steps to the sensitivity."""
    monkeypatch.setattr(joint, "FINE", 4)
    slow = Fraction(1, 4 + math.ceil(Fraction(1) / Fraction(0.8)))
    laplace = {i: -math.expm1(-float(slow)) / 2 * math.exp(-float(slow) * max(i, -i - 1)) for i in range(-300, 300)}
    part = DoubleExponential(FIRST, np.array([2.0]), 0.8)
    follows(lambda: steps_of(part), {(i,): p for i, p in laplace.items()})
    assert [step for *_, step in part.draw()] == [Fraction(1, 2)]

    block = Boxes(FIRST, np.array([3.0]), np.array([1]), np.array([1.0]), np.array([0.5]))
    follows(lambda: steps_of(block), {(i,): p for i, p in staircase_law(1.0, 2, 4).items()})
    assert [step for *_, step in block.draw()] == [Fraction(3, 4)]
    smooth = Boxes(FIRST, np.array([1.0]), np.array([1]), np.array([2.0]), np.array([math.nan]))
    half = {i: -math.expm1(-0.5) / 2 * math.exp(-0.5 * max(i, -i - 1)) for i in range(-100, 100)}
    follows(lambda: steps_of(smooth), {(i,): p for i, p in half.items()})

    stepped = normalised({2 + 4 * k: (2 * (2 + 4 * k)) ** 2 * math.exp(-3.0 * k) for k in range(12)})
    square = Boxes(BOTH, np.ones(2), np.array([2]), np.array([3.0]), np.array([0.5]))
    follows(lambda: steps_of(square), nested(stepped, 2))

    law = PiecewiseNoise.from_masses(**GRID)
    cells = {(4 * cell + i,): p / 4 for cell, p in CELLS.items() for i in range(4)}
    cells[8,] += 0.4
    follows(lambda: steps_of(Scaled(FIRST, np.array([7.0]), law)), cells)
    stairs = Scaled(FIRST, np.array([7.0]), Staircase(1.0, 1.0, 0.5, 0.2))
    follows(lambda: steps_of(stairs), {(i,): p for i, p in staircase_law(1.0, 2, 4, 0.2).items()})


def test_the_plane(monkeypatch):
    """|x| + |y| < R in steps, the widths of the levels one step more than the sensitivity."""
    monkeypatch.setattr(joint, "FINE", 4)
    part = Planar(BOTH, 2.0, 2.0, 0.5)
    radii = normalised({r: (2 * r * r - 2 * r + 1) * math.exp(-2.0 * k) for k, r in enumerate(range(2, 120, 5))})
    law: Counter = Counter()
    for radius, p in list(radii.items())[:8]:
        for x in range(1 - radius, radius):
            for y in range(abs(x) - radius + 1, radius - abs(x)):
                law[x, y] += p / (2 * radius * radius - 2 * radius + 1)
    follows(lambda: steps_of(part), {place: p for place, p in law.items() if p > 1e-7}, 8000)


# Scripts ---------------------------------------------------------------------------------------------------------


def script(noise, points: int) -> Callable[[Fraction], Fraction]:
    """`added` of the script that is handed out for a law, with so many lattice points."""
    law = noise.script()
    space: dict = {}
    imports = in_order({"import secrets", "from fractions import Fraction", *law.imports})
    text = f"{imports}\n{law.text}".replace(ladder.POINTS, str(points))
    exec(compile(text, "script", "exec"), space)
    return space["added"]


@pytest.mark.parametrize(("value", "up"), [(Fraction(0), 0), (Fraction(3, 10), 3), (Fraction(-3, 10), -2)])
def test_scripts(value, up):
    grid = script(PiecewiseNoise.from_masses(**GRID), 2)
    law: Law = {Fraction(up + 2 * cell + i, 8): p / 2 for cell, p in CELLS.items() for i in range(2)}
    law[value + Fraction(1, 2)] = law.get(value + Fraction(1, 2), 0.0) + 0.4
    follows(lambda: grid(value), law)

    stairs = script(Staircase(1.0, 1.0, 0.5, 0.2, 3.0), 8)
    law = {3 + Fraction(up + i, 8): 0.8 * p for i, p in staircase_law(1.0, 4, 8).items()}
    law[value + 3] = law.get(value + 3, 0.0) + 0.2
    follows(lambda: stairs(value), law)

    points = script(LatticeNoise.from_masses(0.5, -2, [0.1, 0.0, 0.5, 0.4]), 1)
    nearest = math.floor(2 * value + Fraction(1, 2))
    follows(lambda: points(value), {Fraction(nearest - 2 + i, 2): p for i, p in enumerate((0.1, 0.0, 0.5, 0.4))})

    whole = script(stretched(DiscreteStaircase(1.0, 3, 2, 1), 0.5), 1)
    level = lambda i: 0 if abs(i) < 2 else (abs(i) - 2) // 3 + 1  # noqa: E731
    weights = normalised({i: math.exp(-level(i)) for i in range(-200, 201)})
    follows(lambda: whole(value), {Fraction(nearest + 1 + i, 2): p for i, p in weights.items()})


def test_scripts_with_tails():
    body = PiecewiseNoise.from_masses(sensitivity=1.0, resolution=4, breaks=[-2, 0, 1, 2], masses=[0.5, 0.0, 0.5])
    added = script(TailedNoise(body, TOTAL * 2 // 5, 3), 1)
    own = {-2: 0.25, -1: 0.25, 0: 0.0, 1: 0.5}
    cells = {u: 0.4 * (2 / 3) ** max(u, -u - 1) / 6 + 0.6 * own.get(u, 0.0) for u in range(-80, 80)}
    follows(lambda: added(Fraction(3, 10)), {Fraction(2 + u, 4): p for u, p in cells.items()})


def test_scripts_of_ends_that_go_on():
    added = script(FlankedNoise(PiecewiseNoise.from_masses(**FLANKS), TOTAL * 2 // 5), 1)
    follows(lambda: added(Fraction(3, 10)), {Fraction(1 + u, 2): p for u, p in flanked_cells().items()})
