"""The releasing object: private over all real pairs, exactly sampled, reloadable."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.data_dependent import data_dependent_problem, referee, solve
from dpcore.data_dependent.channel import Channel, Grid
from dpcore.data_dependent.clamped import ClampedNoise, clamped_loss_upper
from dpcore.data_dependent.files import channel_to_csv, solution_from_json, solution_to_json
from dpcore.errors import InputError
from dpcore.loss import parse_loss
from dpcore.noise.piecewise import TOTAL
from dpcore.optimal import solve as solve_independent
from dpcore.problem import SolverSettings, noise_problem

QUICK = SolverSettings(gap=0.08, time_limit=5)
VARIANTS = {
    "plain": {},
    "odd range": {"query_range": (-1.3, 2.47)},
    "narrow": {"query_range": (0, 0.8)},
    "weight": {"weight": "normal:1:0.7", "loss": "pinball:0.8"},
    "cap": {"instance_cap": 0.9},
    "auto cap": {"instance_cap": "auto", "weight": "histogram:1,9,9,1"},
    "monotone": {"monotone": True},
    "ordered": {"ordered": True},
    "monotone and ordered": {"monotone": True, "ordered": True},
    "partition": {"partition": (1, 2.5)},
    "pure": {"delta": 0},
    "small delta": {"delta": 1e-6, "epsilon": 2},
}


@cache
def solved(name):
    """Once for all tests, in whichever order they are run."""
    options = {"epsilon": 1, "delta": 0.2, "query_range": (0, 4), **VARIANTS[name]}
    problem = data_dependent_problem(
        options.pop("epsilon"), options.pop("delta"), 2, options.pop("loss", "l1"), **options
    )
    return solve(problem, QUICK)


@pytest.fixture(params=VARIANTS, ids=lambda name: name.replace(" ", "-"))
def solution(request):
    return solved(request.param)


def law(channel, f):
    """The law of the release at a true value: the cells' weights, and the true value's own."""
    g = channel.law_of(f)
    return channel.weights[g].astype(object), int(channel.atoms[g])


def exact_excess(channel, f, other, amplification):
    """max over events of P(A | f) − amplification·P(A | f′), in exact arithmetic; f ≠ f′."""
    (p, atom), (q, atom_q) = law(channel, f), law(channel, other)
    points = [Fraction(x) for x in channel.grid.points.tolist()]
    here = {x: Fraction(int(w), TOTAL) for x, w in zip(points, p)}
    there = {x: Fraction(int(w), TOTAL) for x, w in zip(points, q)}
    if channel.spread:  # points of a cell: the atoms are single points, the rest a density
        return sum(max(here[x] - amplification * there[x], 0) for x in points) + Fraction(atom, TOTAL)
    here[Fraction(f)] = here.get(Fraction(f), 0) + Fraction(atom, TOTAL)
    there[Fraction(other)] = there.get(Fraction(other), 0) + Fraction(atom_q, TOTAL)
    return sum(max(w - amplification * there.get(x, 0), 0) for x, w in here.items())


def test_private_for_ten_thousand_real_pairs(solution):
    """Random pairs within the sensitivity, many of them exactly that far apart; e^ε a little below its value."""
    channel, problem = solution.mechanism, solution.problem
    assert isinstance(channel, Channel)
    low, high = problem.query_range
    rng = np.random.default_rng(4)
    f = rng.uniform(low, high, 10_000)
    apart = np.where(rng.random(10_000) < 0.4, 1.0, rng.random(10_000)) * problem.sensitivity
    other = np.clip(f + rng.choice([-1, 1], 10_000) * apart, low, high)
    pairs = {}
    for one, two in zip(f.tolist(), other.tolist()):
        if one != two and abs(Fraction(one) - Fraction(two)) <= Fraction(problem.sensitivity):
            pairs.setdefault((channel.law_of(one), channel.law_of(two)), (one, two))
    assert len(pairs) > channel.grid.laws
    amplification = Fraction(math.exp(problem.privacy.epsilon) * (1 - 2**-50))
    for one, two in pairs.values():  # laws decide: one pair of values for each pair of laws
        assert exact_excess(channel, one, two, amplification) <= Fraction(problem.privacy.delta)
    assert solution.certificate.delta_upper <= problem.privacy.delta


def test_private_between_all_laws_that_any_two_real_values_can_have(solution):
    """Which laws lie within the sensitivity is decided anew from the cells' ends; every event by its largest excess."""
    channel, problem = solution.mechanism, solution.problem
    grid, D = channel.grid, Fraction(str(problem.sensitivity))
    worst = max(channel.atoms.tolist())
    E = Fraction(math.exp(problem.privacy.epsilon) * (1 - 2**-50))
    for g in range(grid.laws):
        for other in range(grid.laws):
            low, high = sorted((g, other))
            if g == other or grid.edges[grid.breaks[high]] - grid.edges[grid.breaks[low + 1]] >= D:
                continue  # the nearer ends of half-open cells, so a distance of D is not reached
            assert grid.related[g, other]
            excess = sum(
                max(Fraction(int(a)) - E * int(b), 0) for a, b in zip(channel.weights[g], channel.weights[other])
            )
            worst = max(worst, excess + int(channel.atoms[g]))
    assert worst / TOTAL <= Fraction(problem.privacy.delta)
    assert worst / TOTAL <= Fraction(solution.certificate.delta_upper)


def test_loss_and_caps_hold_at_every_value(solution):
    """Averages and largest losses from a fine grid of true values stay below the certified figures."""
    problem, channel = solution.problem, solution.mechanism
    low, high = problem.query_range
    n = 4000
    f = low + (high - low) * (np.arange(n) + 0.5) / n
    losses = channel.expected_loss(problem.loss, f)
    weights = problem.density.at((np.arange(n) + 0.5) / n)
    average = float(losses @ weights / weights.sum())
    assert average <= solution.certificate.upper * (1 + 1e-4)
    assert average >= solution.certificate.upper * (1 - 2e-2 if channel.spread else 1 - 1e-3)
    ends = channel.expected_loss(problem.loss, [low, high])
    assert max(losses.max(), ends.max()) <= solution.instance_upper * (1 + 1e-12)
    if solution.cap is not None:
        assert solution.instance_upper <= solution.cap


def test_shapes(solution):
    problem, channel = solution.problem, solution.mechanism
    if problem.monotone:
        widths = [b - a for a, b in zip(channel.grid.edges, channel.grid.edges[1:])]
        for g, row in enumerate(channel.weights.tolist()):
            density = [w / width for w, width in zip(row, widths)]
            assert density[g:] == sorted(density[g:], reverse=True) and density[: g + 1] == sorted(density[: g + 1])
    if problem.ordered:
        for y in np.linspace(*problem.query_range, 57):
            values = np.linspace(*problem.query_range, 301)
            tails = [
                float(channel.masses[channel.law_of(f)] @ (channel.grid.points >= y))
                + float(channel.atom_masses[channel.law_of(f)]) * (f >= y)
                for f in values.tolist()
            ]
            if not channel.spread:
                assert (np.diff(tails) >= -1e-15).all()
    if problem.partition:
        assert channel.grid.laws == len(problem.partition) + 1 and not channel.atoms.any()


def test_files_bring_it_back(solution):
    text = solution_to_json(solution)
    again = solution_from_json(text)
    assert (again.mechanism.weights == solution.mechanism.weights).all()
    assert again.certificate.lower == solution.certificate.lower
    assert again.certificate.upper == pytest.approx(solution.certificate.upper, rel=1e-12)
    assert again.certificate.delta_upper == solution.certificate.delta_upper
    lines = channel_to_csv(solution).splitlines()
    assert len(lines) == solution.laws + 1
    assert all(math.fsum(map(float, line.split(",")[2:])) == pytest.approx(1, abs=1e-12) for line in lines[1:])


def test_a_forged_file_is_refused(solution):
    data = json.loads(solution_to_json(solution))
    row = data["mechanism"]["weights"][0]
    best = max(range(len(row)), key=lambda b: int(row[b]))
    data["mechanism"]["weights"][0] = ["0"] * len(row)
    data["mechanism"]["weights"][0][(best + len(row) // 2) % len(row)] = str(TOTAL - int(data["mechanism"]["atoms"][0]))
    with pytest.raises(InputError):
        solution_from_json(json.dumps(data))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": "data-dependent", "format": 1}', "\x00", "[" * 100_000])
def test_nonsense_is_refused(text):
    with pytest.raises(InputError):
        solution_from_json(text)


@settings(max_examples=60, deadline=None)
@given(
    k=st.integers(1, 9),
    width=st.floats(0.01, 5),
    low=st.floats(-1e3, 1e3),
    share=st.floats(0, 1),
    other=st.floats(0, 1),
)
def test_related_covers_all_real_pairs(k, width, low, share, other):
    """Any two values within the sensitivity fall into cells that the grid calls related, or into one."""
    query_range = (low, low + width)
    if not low < low + width or width < 1e-6:
        return
    grid = Grid.make(query_range, 1.0, k)
    a = Fraction(repr(low)) + Fraction(share) * grid.width
    b = Fraction(repr(low)) + Fraction(other) * grid.width
    if abs(a - b) > 1:
        b = a + (1 if b > a else -1)
        if not Fraction(0) <= b - Fraction(repr(low)) <= grid.width:
            return
    one, two = grid.cell_of(a), grid.cell_of(b)
    assert one == two or grid.related[one, two]
    assert grid.edges[one] <= a - Fraction(repr(low)) <= grid.edges[one + 1]


def test_releases_have_the_law_they_say(monkeypatch):
    """Every number the sampler can be given, up to scale: a row of 2^62 tickets cut to the row's own ladder."""
    grid = Grid.make((0.0, 2.0), 1.0, 2)
    masses = np.array([[0.4, 0.3, 0.2, 0.0], [0.2, 0.4, 0.2, 0.1], [0.1, 0.2, 0.4, 0.2], [0.0, 0.2, 0.3, 0.4]])
    channel = Channel.from_masses(grid, masses, np.full(4, 0.1))
    import dpcore.data_dependent.channel as module

    tickets = iter((np.arange(1000) * (TOTAL // 1000) + TOTAL // 2000).tolist())
    monkeypatch.setattr(module.secrets, "randbelow", lambda _: next(tickets))
    drawn = np.array([channel.release(0.6) for _ in range(1000)])
    assert np.mean(drawn == 0.6) == pytest.approx(0.1, abs=2e-3)
    for point, mass in zip(grid.points, masses[1]):
        assert np.mean(drawn == point) == pytest.approx(mass, abs=2e-3)


def test_releases_outside_the_range_count_as_its_ends():
    channel = Channel.constant(Grid.make((0.0, 2.0), 1.0, 2))
    assert channel.release(1e9) in (0.75, 1.25)
    with pytest.raises(InputError):
        channel.release(math.nan)


@pytest.mark.parametrize("spread", [False, True])
def test_a_loss_raised_everywhere_costs_so_much_more(spread):
    """The true value itself included: where c(0) > 0 an atom is not free of charge."""
    grid = Grid.make((0.0, 2.0), 1.0, 2)
    masses = np.array([[0.3, 0.3, 0.2, 0.0], [0.2, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.2], [0.0, 0.2, 0.3, 0.3]])
    channel = Channel.from_masses(grid, masses, np.full(4, 0.2), spread=spread)
    plain, raised = (
        data_dependent_problem(1, 0.2, 1, f"table:-1={1 + c},0={c},1={1 + c}", query_range=(0, 2)) for c in (0, 0.5)
    )
    for upper in (
        lambda problem: referee.loss_upper(channel, problem),
        lambda problem: referee.instance_loss_upper(channel, problem.loss),
    ):
        assert upper(raised) == pytest.approx(upper(plain) + 0.5, abs=1e-9)
    average = float(channel.expected_loss(raised.loss, (np.arange(4000) + 0.5) / 2000).mean())
    assert average * (1 - 1e-6) <= referee.loss_upper(channel, raised) <= average * 1.1


@pytest.mark.parametrize("loss", ["l1", "l2", "pinball:0.3", "exceed:0.5", "lp:1.5"])
@pytest.mark.parametrize("weight", ["uniform", "normal:0.2:0.5"])
def test_clamped_noise_costs_what_sampling_says(loss, weight):
    problem = data_dependent_problem(1, 0.2, 1, loss, query_range=(0, 2), weight=weight)
    noise = solve_independent(noise_problem(1, 0.2, 1.0, loss), SolverSettings(gap=0.01)).noise
    clamped = ClampedNoise(noise, (0, 2))
    n = 2000
    f = 2 * (np.arange(n) + 0.5) / n
    weights = problem.density.at(f / 2)
    average = float(clamped.expected_loss(problem.loss, f) @ weights / weights.sum())
    upper = clamped_loss_upper(noise, problem)
    assert average * (1 - 1e-4) <= upper <= average * (1 + (2e-2 if loss == "exceed:0.5" else 1e-3))
    assert upper <= noise.expected_loss(parse_loss(loss)) * (1 + 1e-3)
    x = noise.sample(np.random.default_rng(1), 200_000)
    at = 0.3
    sampled = parse_loss(loss).value(np.clip(at + x, 0, 2) - at)
    exact = float(clamped.expected_loss(parse_loss(loss), [at])[0])
    assert abs(sampled.mean() - exact) < 5 * sampled.std() / math.sqrt(len(x))
    assert all(0 <= clamped.release(v) <= 2 for v in (0, 0.3, 2, 5))


def test_multipliers_prove_a_bound_whoever_made_them():
    """Random multipliers: the bound never exceeds the optimum."""
    problem = data_dependent_problem(1, 0.2, 3, query_range=(0, 6))
    from dpcore.data_dependent.bounds import lower_step

    optimum = lower_step(problem, 3, None, (), math.inf, lambda: False).bound
    x = np.arange(6)
    costs = np.abs(x[None, :] - x[:, None]) / 6.0
    related = (np.abs(x[None, :] - x[:, None]) <= 3) & ~np.eye(6, dtype=bool)
    rng = np.random.default_rng(0)
    nothing = np.empty(0, dtype=np.int64)
    for _ in range(200):
        count = int(rng.integers(1, 60))
        laws, others, points = (rng.integers(0, 6, count) for _ in range(3))
        weights = rng.exponential(0.05, count) * rng.choice([-1, 1, 1], count)
        proof = referee.Multipliers(
            laws, others, points, weights, nothing, nothing, np.empty(0), np.empty(0), np.empty(0)
        )
        for mirrored in (False, True):
            bound = referee.multiplier_bound_lower(
                costs, proof, epsilon=1, delta=0.2, related=related, mirrored=mirrored
            )
            assert bound <= optimum * (1 + 1e-6)


@pytest.mark.parametrize("width", [4, 1.5])
def test_a_search_that_is_stopped_at_once_keeps_the_partition(width):
    """The release that ignores the true value has one law per interval too, so its file is what was asked for."""
    problem = data_dependent_problem(1, 0.2, 2, query_range=(0, width), partition=(width / 4, width / 2))
    found = solve(problem, QUICK, lambda _: True)
    assert found.laws == 3
    assert solution_from_json(solution_to_json(found)).certificate.upper == found.certificate.upper


@pytest.mark.parametrize(("sensitivity", "width", "k"), [(0.3, 0.9, 3), (0.1, 1.0, 5), (0.7, 2.1, 7), (2.0, 4.0, 4)])
@pytest.mark.parametrize("breaks", [(), (0, 1, 4, 5)])
def test_last_digits_do_not_lead_out_of_reach(sensitivity, width, k, breaks):
    """0.3 and 0.19999999999999998 differ by the float 0.1, but by more than a tenth as decimals."""
    cells = math.ceil(Fraction(str(width)) * k / Fraction(str(sensitivity)))
    grid = Grid.make((0.0, width), sensitivity, k, (*breaks, cells) if breaks else ())
    law = grid.law_of_cell
    ends = [float(i * Fraction(str(sensitivity)) / k) for i in range(cells + 1)]
    for x in {v for e in ends for v in (e, math.nextafter(e, -1), math.nextafter(e, 99), float(Fraction(e)))}:
        for y in (x + sensitivity, math.nextafter(x + sensitivity, 99)):
            if 0 <= x and y <= width:
                one, two = law[grid.cell_of(x)], law[grid.cell_of(y)]
                assert one == two or (grid.related[one, two] and grid.related[two, one])
