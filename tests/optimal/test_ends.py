"""Lower bounds from laws rounded to the ends of cells [Thm 10]: the theorem on random laws in fractions, its dual on
the line, and bounds beside audited laws."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.loss import parse_loss
from dpcore.loss.cells import minorants
from dpcore.optimal import solve
from dpcore.optimal.lower import NEAR_END, lower_step, rounding_lattice
from dpcore.optimal.mesh import Grading
from dpcore.optimal.schedule import NEAR, SCAN, TOP_FIRST, TOP_NARROWEST, Schedule, Steps
from dpcore.optimal.step import Limits, Step, Window, origin_of, places_of
from dpcore.optimal.trimmed import trimmed
from dpcore.problem import Budget, SolverSettings, noise_problem

FOREVER = Limits(1.0, 1e-3, math.inf, lambda: False)


# The theorem ------------------------------------------------------------------------------------------------------


def labels(densities: list[int], parts: int, atom: tuple[int, int], cells: int) -> list[Fraction]:
    """Masses of the ends of cells `parts` wide, under a density that is constant between whole numbers and an atom."""
    out = [Fraction(0)] * (2 * cells)
    for x, density in enumerate(densities):
        cell, before = divmod(x, parts)
        share = Fraction(2 * before + 1, 2 * parts)  # the mean of t over the piece
        out[2 * cell] += density * (1 - share)
        out[2 * cell + 1] += density * share
    place, mass = atom
    cell, before = divmod(place, parts)
    out[2 * cell] += mass * (1 - Fraction(before, parts))
    out[2 * cell + 1] += mass * Fraction(before, parts)
    return out


@given(st.lists(st.integers(0, 9), min_size=12, max_size=12), st.integers(0, 11), st.integers(0, 5), st.integers(1, 3))
def test_ends_of_cells_keep_the_privacy_of_the_law(densities, place, mass, factor):
    """Cells of 2 units, sensitivity 3 cells: at every odd and even shift of the ends no more is uncovered than at the
    law's worst shift, which is a whole number of units. All in fractions."""
    parts, cells, reach, E = 2, 6, 3, Fraction(factor) + Fraction(1, 2)
    before = lambda x: densities[x] if 0 <= x < len(densities) else 0  # noqa: E731
    worst = max(
        sum(max(Fraction(0), before(x) - E * before(x - shift)) for x in range(len(densities)))
        for shift in range(-parts * reach, parts * reach + 1)
    )
    ends = labels(densities, parts, (place, mass), cells)
    at = lambda e: ends[e] if 0 <= e < len(ends) else Fraction(0)  # noqa: E731
    for shift in range(-2 * reach, 2 * reach + 1):
        uncovered = sum(max(Fraction(0), at(e) - E * at(e - shift)) for e in range(len(ends)))
        assert uncovered <= worst + mass


def end_of(position: float, threshold: float) -> int:
    """The label of a place in a cell, 0 … 1: its right end if it lies beyond the threshold."""
    return int(position > threshold)


@pytest.mark.parametrize("support", [(0.0, math.inf), (-0.75, 3.5)])
def test_the_dual_on_the_line_says_the_same(support):
    """θ = Σλδ + bound lies below F(x) = c(x) + Σ λ_s mean over its shifts φ of w(x) − e^ε w(x + φ), at random x."""
    problem, k = noise_problem(1.0, 0.2, 1.0, "l1", support=support), 8
    proof = lower_step(problem, k, Window(-4.0, 4.0), None, FOREVER, ends=True).proof
    assert proof is not None
    rate = sum(proof.weights[proof.shifts == s].max() for s in np.unique(proof.shifts))
    theta = proof.lower(problem.privacy) + 0.2 * rate
    given_ = {(int(s), int(e)): w for s, e, w in zip(proof.shifts, proof.events, proof.weights)}
    rng, grid, width = np.random.default_rng(1), 400, 2 / k

    def cell_of(y: float) -> tuple[int, float]:
        cell = math.floor((y - problem.support[0]) / width)
        return cell, (y - problem.support[0]) / width - cell

    def event(s: int, y: float, t: float) -> float:
        """w of shift (label s, threshold t of the draw) at y: the weight of the label that y gets."""
        cell, position = cell_of(y)
        return given_.get((s, 2 * cell + end_of(position, t)), 0.0)

    for x in problem.support[0] + rng.uniform(0, 3.2, 60):
        total = abs(x)
        for s in np.unique(proof.shifts).tolist():
            draws = (np.arange(grid) + 0.5) / grid
            if s % 2 == 0:  # one shift; the threshold is drawn and serves both places
                values = [event(s, x, t) - math.e * event(s, x + s / k, t) for t in draws]
            else:  # the shift is drawn from a step's stretch, its place in it is the threshold
                sign, least = (1 if s > 0 else -1), (abs(s) - 1) / k
                values = [
                    event(s, x, t if sign > 0 else 1 - t)
                    - math.e * event(s, x + sign * (least + t * width), t if sign > 0 else 1 - t)
                    for t in draws
                ]
            total += float(np.mean(values))
        if x <= problem.support[1]:
            assert total >= theta - 0.02 * rate  # the mean over a grid of draws


@settings(max_examples=30)
@given(
    st.sampled_from(["l1", "l2", "lp:1.5", "huber:0.3", "asym:1:4", "table:-1=2,0=0,1=1,2=1.2"]),
    st.sampled_from([(0.0, math.inf), (-0.3, math.inf), (-1.0, 2.3)]),
    st.integers(2, 7),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_linear_functions_below_the_loss_in_every_cell(name, support, k, touch, t):
    problem = noise_problem(1.0, 0.2, 1.0, name, support=support)
    cells = places_of(problem, k, np.arange(0, 4 * k, 2))
    left, right = minorants(problem.loss, cells, touch)
    x = cells.floats[:-1] + t * np.diff(cells.floats)
    assert np.all((1 - t) * left + t * right <= problem.loss.value(x) + 1e-12)


# Bounds -----------------------------------------------------------------------------------------------------------

PROBLEMS = [
    (1.0, 0.2, "l1", (0.0, math.inf), {}),
    (1.0, 0.2, "l2", (-math.inf, 0.0), {}),
    (0.5, 0.01, "l1", (-1.0, 14.3), {}),
    (2.0, 0.05, "asym:1:9", (-0.625, 4.3), {}),
    (1.0, 0.2, "pinball:0.2", (-3.0, math.inf), {"monotone": True}),
    (1.0, 0.1, "l1", (-2.5, 8.0), {"monotone": True}),
    (1.0, 0.1, "l1", (-1.5, 8.0), {"budget": Budget(parse_loss("l2"), 3.0)}),
]


@pytest.mark.parametrize(("epsilon", "delta", "loss", "support", "more"), PROBLEMS)
def test_never_above_an_audited_law(epsilon, delta, loss, support, more):
    problem = noise_problem(epsilon, delta, 1.0, loss, support=support, **more)
    upper = solve(problem, SolverSettings(gap=0.01, time_limit=10)).certificate.upper
    bounds = [lower_step(problem, k, Window(-12.0, 12.0), None, FOREVER, ends=True).bound for k in (2, 4, 8)]
    few = lower_step(problem, 4, Window(-12.0, 12.0), None, FOREVER, None if more else Grading(2), ends=True).bound
    assert max(*bounds, few) <= upper
    assert max(bounds) > 0.9 * upper


def test_half_a_step_at_the_end_of_the_support_is_not_lost():
    """Rounding to nodes loses half a step, here 0.03 of 1.51; rounding to ends of cells a tenth of that."""
    problem = noise_problem(1.0, 0.2, 1.0, "l1", support=(0.0, math.inf))
    nodes, ends = (lower_step(problem, 16, Window(-4.0, 4.0), None, FOREVER, ends=e).bound for e in (False, True))
    assert nodes < 1.484
    assert 1.512 < ends < 1.5138
    assert solve(problem, SolverSettings(gap=1e-3, time_limit=20)).certificate.gap <= 1e-3


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "support"),
    [
        (1.9, 0.0271, "l1", (-2.547, 3.614)),  # as without a support
        (5.66, 0.00851, "l1", (-2.475, 2.697)),
        (1.88, 2.07e-11, "huber:0.372", (-2.24, math.inf)),  # the middle of the law is moved by twelve sensitivities
        (0.405, 1.1e-12, "l1", (-13.59, 235.0)),
    ],
)
def test_ends_far_from_the_middle_of_a_law(epsilon, delta, loss, support):
    problem = noise_problem(epsilon, delta, 1.0, loss, support=support)
    solution = solve(problem, SolverSettings(gap=2e-3, time_limit=20))
    assert solution.certificate.gap <= 2e-3
    left, right = solution.noise.support
    assert support[0] <= left <= right <= support[1]
    line = solve(noise_problem(epsilon, delta, 1.0, loss), SolverSettings(gap=2e-3, time_limit=20)).certificate
    assert line.lower <= solution.certificate.upper


@given(st.lists(st.integers(0, 50), min_size=3, max_size=8), st.integers(1, 3))
def test_a_law_without_its_first_sensitivities(masses, m):
    """On whole sensitivities, E = 3/2, at the least δ of the law: how much is cut off, and how private the rest is."""
    if sum(masses[m:]) == 0:
        return
    E, total = Fraction(3, 2), sum(masses)
    law = [Fraction(mass, total) for mass in masses]

    def uncovered(p: list[Fraction]) -> Fraction:
        right = sum(max(Fraction(0), x - E * y) for x, y in zip(p, [Fraction(0), *p]))
        return max(right, sum(max(Fraction(0), x - E * y) for x, y in zip(p, [*p[1:], Fraction(0)])))

    delta = uncovered(law)
    lost, rest = sum(law[:m]), law[m:]
    assert lost <= delta * (E**m - 1) / (E - 1)
    assert uncovered([x / (1 - lost) for x in rest]) <= delta * (1 + E**m) / (1 - lost)


@pytest.mark.parametrize(("support", "ends"), [((-2.3, math.inf), (1, 0)), ((-math.inf, 0.1), (0, 1))])
def test_trimmed_supports_lie_inside(support, ends):
    problem = noise_problem(1.7, 3e-11, 0.7, "asym:1:3", support=support)
    less, factor = trimmed(problem)
    assert 1 - 1.1e-5 < factor < 1 and 3e-11 < less.privacy.delta < 1.1e-5 * math.expm1(1.7)
    for side, sign in ((0, 1), (1, -1)):
        moved = sign * (Fraction(less.support[side]) - Fraction(support[side])) if ends[side] else 0
        steps = round(moved / Fraction(7, 10))
        assert (steps > 0) == bool(ends[side])
        assert abs(moved - steps * Fraction(7, 10)) < 1e-12
    assert trimmed(noise_problem(1.7, 3e-7, 0.7, "asym:1:3", support=support))[1] == 1.0


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "support"),
    [(7, 1.14e-12, "lp:1.76", (-math.inf, 0)), (5.14, 0.00156, "asym:1:2.07", (-math.inf, 0))],
)
def test_large_epsilon_next_to_an_end(epsilon, delta, loss, support):
    solution = solve(noise_problem(epsilon, delta, 1.0, loss, support=support), SolverSettings(time_limit=60))
    assert solution.certificate.gap <= 1e-3


@pytest.mark.parametrize(
    ("kind", "k", "miss"), [("offset", 40, 0.001 / 41), ("nodes", 50, 0.023 / 57), ("ends", 100, 0.023 / 57)]
)
def test_lattices_end_near_the_support(kind, k, miss):
    """0.561 is little more than 23/41 and little less than 32/57: cells begin inside for laws, outside for bounds."""
    problem = noise_problem(1.36, 0.694, 1.0, "l1", support=(-0.561, math.inf), monotone=True)
    schedule = Schedule(problem, 1e-3, (0.3,), ("offset",), 240)
    found = schedule._fitted(kind, k, k)
    end = Fraction("0.561") * found / (2 if kind == "ends" else 1)
    off = end - math.floor(end) if kind == "offset" else math.ceil(end) - end
    assert k <= found <= 1.5 * k and float(off) / found * (2 if kind == "ends" else 1) == pytest.approx(miss)


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "aligned"),
    [
        (0.2, 0.1, "l1", True),
        (0.2, 0.2, "l1", False),
        (0.1, 0.1, "l1", False),
        (1, 0.1, "asym:1:3", True),
        (1, 0.1, "l2", True),
        (1, 0.5, "l2", False),
        (3, 0.5, "l2", True),
        (1, 0.1, "table:-1=1,-0.5=0,0=0,0.5=0,1=1", False),
    ],
)
def test_lattices_are_aligned_with_the_staircase(epsilon, delta, loss, aligned):
    """From an ε on that depends on the loss; a whole number of cells then reaches to the staircase's inner step."""
    problem = noise_problem(epsilon, delta, 1.0, loss)
    step = 0.3
    schedule = Schedule(problem, 1e-3, (step,), ("offset",), 10000)
    scanned = [round_["nodes"] for round_ in schedule.first()][1:]
    assert (scanned != list(SCAN)) == aligned
    assert not aligned or all(abs(k * step - round(k * step)) <= 0.15 for k in scanned)


@pytest.mark.parametrize(("top", "sizes"), [(0.10969647, (9, 18)), (0.25, (4, 8)), (0.004, ()), (1.3, ()), (0.0, ())])
def test_lattices_in_a_support_have_whole_cells_to_the_top_step(top, sizes):
    problem = noise_problem(5, 0.1, 1.0, "l1", support=(-1, 4))
    schedule = Schedule(problem, 1e-3, (0.076,), ("offset",), 10000, cut=(0.0, top), top=top)
    assert schedule._top_widths == sizes
    scanned = [round_ for round_ in schedule.first()][1:]
    assert len(scanned) == (2 if sizes else len(SCAN))
    for k, round_ in zip(sizes, scanned):
        assert round_ == {"nodes": k, "ends": 2 * k, "offset": k}
        assert abs(k * top - round(k * top)) <= 0.03
        none: Steps = {kind: [] for kind in round_}
        before = Step(k, 1, 0.2, None, 0.1, 1.0, False, None, Window(-1, 2), 40, 300, "optimal")
        assert schedule.graded("offset", k, none).coarse == TOP_FIRST
        assert schedule.graded("offset", 2 * k, none | {"offset": [before]}).coarse == TOP_NARROWEST


def test_a_narrow_top_step_next_to_an_end_is_met_by_labels_and_narrow_cells():
    """Only labels, as many whole cells of them to the step as wanted; cells of laws are cut until many make it up."""
    top, problem = 0.0095, noise_problem(10, 0.1, 1.0, "l1", support=(-1, 4))
    schedule = Schedule(problem, 1e-3, (0.005,), ("offset",), 1200, cut=(0.0, top), top=top, from_end=True)
    assert schedule.lowers == ("ends",)
    rounds = list(schedule.first())
    assert rounds[1:3] == [{"ends": 2 * math.floor(1 / top)}, {"ends": 2 * math.floor(2 / top)}]
    assert rounds[3:] == [{"offset": k} for k in SCAN]
    step = lambda k: Step(k, 1, 0.006, None, 0.1, 1.0, False, None, Window(-1, 2), 40, 300, "optimal")  # noqa: E731
    done: Steps = {"ends": [step(k) for k in (2, 210, 420)], "offset": [step(1)]}
    kind, k = schedule.next(("ends",), done, 0.007, 0.0077)
    cells = round(k * top / 2)
    assert (kind, k) == ("ends", 2 * math.floor(cells / top)) and cells > 2
    for before, parts in (([step(1)], 3), ([step(1), step(3)], 12)):
        grading = schedule.graded("offset", 4, done | {"offset": before})
        assert parts <= grading.coarse * 4 * top <= 2 * parts
    assert schedule.graded("offset", 4, done).steps == (0.0, top)


def test_lattices_in_a_support_meet_a_kink_away_from_their_origin():
    """Of those near the size wanted no other has the minimiser nearer to an end of a cell."""
    problem = noise_problem(4.59, 0.000123, 1.0, "pinball:0.25", support=(-12.32, 2.326))
    schedule = Schedule(problem, 1e-3, (0.09,), ("offset",), 10000, cut=(-0.326, 0.0, 0.18246), top=0.508)
    assert schedule._kink == -Fraction("2.326") and not schedule._ends
    miss = lambda k: abs(Fraction("2.326") * k / 2 - round(Fraction("2.326") * k / 2)) / k  # noqa: E731
    for wanted in (18, 36, 54, 81):
        found = schedule._fitted("ends", wanted, wanted - 8, NEAR)
        near = range(max(wanted - 8, math.ceil(NEAR[0] * wanted)), math.floor(NEAR[1] * wanted) + 1)
        assert found % 2 == 0 and found in near
        assert miss(found) <= min(miss(k) for k in near if k % 2 == 0) + Fraction(1, 10**6)


def test_lattices_in_a_support_meet_the_top_step_where_a_kink_is_on_all_of_them():
    problem = noise_problem(5, 0.1, 1.0, "l1", support=(-1, 4))
    schedule = Schedule(problem, 1e-3, (0.076,), ("offset",), 10000, cut=(0.0, 0.10969647), top=0.10969647)
    assert schedule._kink == 1
    assert [schedule._fitted("ends", wanted, 0, NEAR) for wanted in (18, 36, 54)] == [18, 36, 54]


@pytest.mark.parametrize("loss", ["l2", "table:-1=1,-0.5=0,0=0,0.5=0,1=1"])
def test_losses_without_a_kink_at_their_minimiser_ask_for_nothing(loss):
    problem = noise_problem(5, 0.1, 1.0, loss, support=(-1, 4))
    assert not Schedule(problem, 1e-3, (0.076,), ("offset",), 10000)._kink


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "support"),
    [(1.36, 0.694, "l1", (-0.561, math.inf)), (1.52, 0.00224, "lp:3.62", (-7.174, 3.378))],
)
def test_monotone_laws_on_supports_that_end_between_lattices(epsilon, delta, loss, support):
    problem = noise_problem(epsilon, delta, 1.0, loss, support=support, monotone=True)
    assert solve(problem, SolverSettings(time_limit=20)).certificate.gap <= 1e-3


def test_a_monotone_law_in_a_support_at_large_epsilon_is_bracketed_from_a_staircase():
    problem = noise_problem(6.23, 1.11e-4, 1.0, "asym:1:4.54", support=(-1.99, 10.64), monotone=True)
    certificate = solve(problem, SolverSettings(time_limit=10)).certificate
    assert certificate.lower <= certificate.upper <= certificate.lower * 1.001


def test_an_end_little_beyond_a_window_is_not_lost():
    """Lattices end a sensitivity beyond the window, −1.61, of some sizes just before the end of the support."""
    problem = noise_problem(4.88, 3.25e-5, 1, loss="huber:3.57", support=(-2.642, 12.15))
    bounds, seed = [], None
    for k in (10, 16, 26, 42, 68):
        limits = Limits(0.0615, 1e-3, time.perf_counter() + 60, lambda: False)
        step = lower_step(problem, k, Window(-1.61, 2.06), seed, limits, ends=True)
        bounds, seed = [*bounds, step.bound], step.seed
    assert np.all(np.diff(bounds) > 0) and bounds[-1] < 0.0614


@pytest.mark.parametrize("miss", [0.0, 0.1, 0.24, 0.35, 0.6])
def test_a_lattice_takes_an_end_little_beyond_for_its_own(miss):
    problem = noise_problem(1, 0.1, 1, support=(-3 - miss, 4 + miss))
    lattice = rounding_lattice(problem, 20, 0, Window(-2, 3))
    near, start = miss <= NEAR_END, origin_of(problem)
    assert lattice.open_left == lattice.open_right == (not near)
    first, last = start + lattice.first / 20, start + lattice.last / 20
    rounded = 1e-12
    assert (first <= -3 - miss + rounded and last >= 4 + miss - rounded) == near
    assert first <= -3 + rounded and last >= 4 - rounded
    assert last - first <= 7.2 + 2 * near * miss
