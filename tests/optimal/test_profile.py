"""Noise for a whole promise: against brute force, a dense look at the curve, and dp_accounting as referee.

THOROUGH=n draws n instances and solves the narrow cases too.
"""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from naive import lattice_optimum
from scipy import integrate, optimize
from scipy.stats import norm

from dpcore import audit, audit_profile
from dpcore.audit import curve_upper
from dpcore.audit_composed import Losses, composed_delta_upper, grid_step
from dpcore.audit_profile import ProfileProof, proof_of
from dpcore.errors import CertificateError, InputError
from dpcore.loss import parse_loss
from dpcore.mechanisms import baselines
from dpcore.noise.gaussian import Gaussian
from dpcore.noise.piecewise import TOTAL, PiecewiseNoise
from dpcore.noise.tailed import TailedNoise
from dpcore.optimal import solve
from dpcore.optimal.binary import binary_pairs, composed_delta_lower
from dpcore.optimal.composed import exchange_weights
from dpcore.optimal.lattice import Lattice
from dpcore.optimal.profile import ProfileSearch, exceed_lower, variance_lower
from dpcore.optimal.program import LatticeProgram
from dpcore.privacy import Privacy
from dpcore.privacy_profile import Composed, GaussianProfile, PairList, parse_profile
from dpcore.problem import Budget, SolverSettings, noise_problem

EXAMPLES = int(os.environ.get("THOROUGH", "0"))
GENEROUS = 120.0
"""Seconds; the gap ends these solves long before on a machine with nothing else to do."""


def problem_of(profile, loss="l1", sensitivity=1.0, **shape):
    anchor = profile.anchor
    return noise_problem(anchor.epsilon, anchor.delta, sensitivity, loss, profile=profile, **shape)


@pytest.fixture(scope="module")
def solved():
    """Solutions by (μ, loss), each solved once."""
    known = {}

    def get(mu, loss="l1", gap=0.012, **shape):
        key = (mu, loss, gap, *shape)
        if key not in known:
            problem = problem_of(GaussianProfile(mu), loss, **shape)
            known[key] = solve(problem, SolverSettings(gap=gap, time_limit=GENEROUS))
        return known[key]

    return get


# The target --------------------------------------------------------------------------------------------


@given(st.floats(0.01, 4), st.floats(0, 8))
def test_the_target_is_the_curve_of_the_gaussian(mu, z):
    assert GaussianProfile(mu).target(mu * z) == pytest.approx(
        Gaussian(1 / mu).shortfall(mu * z, 1.0), rel=1e-5, abs=1e-14
    )


@settings(max_examples=EXAMPLES or 25, deadline=None)
@given(st.floats(0.05, 4), st.integers(2, 40))
def test_crossings_lie_below_the_target_and_so_do_the_chords_between_them(mu, count):
    profile = GaussianProfile(mu)
    pairs = profile.crossings(profile.places(count))
    cdf = lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2  # noqa: E731

    def target(x):
        e = mpmath.log(x)
        return cdf(mpmath.mpf(mu) / 2 - e / mu) - x * cdf(-mpmath.mpf(mu) / 2 - e / mu)

    with mpmath.workdps(40):
        ends = [(mpmath.exp(mpmath.mpf(e)), mpmath.mpf(d)) for e, d in pairs]
        assert pairs[0][0] == 0
        for (x, low), (y, high) in zip(ends, ends[1:]):
            for t in (0, 0.1, 0.35, 0.5, 0.65, 0.9, 1):
                assert low + t * (high - low) <= target(x + t * (y - x))
        for pair in profile.necessary(profile.places(count)):
            assert pair.delta >= target(mpmath.exp(mpmath.mpf(pair.epsilon)))


def test_texts_of_profiles_come_back():
    for profile in (
        GaussianProfile(0.7),
        PairList((Privacy(1, 0.1), Privacy(0.3, 0.25))),
        Composed(12, Privacy(2, 1e-6)),
    ):
        assert parse_profile(profile.spec) == profile


def test_pairs_that_others_imply_are_left_out():
    assert PairList((Privacy(1, 0.1), Privacy(2, 0.1), Privacy(1, 0.1))).pairs == (Privacy(1, 0.1),)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: GaussianProfile(0), "mu"),
        (lambda: GaussianProfile("x"), "mu"),
        (lambda: PairList(()), "profile"),
        (lambda: PairList((Privacy(1, 0), Privacy(0.5, 0.1))), "profile"),
        (lambda: Composed(0, Privacy(1, 0.1)), "releases"),
        (lambda: Composed(3, Privacy(1, 0)), "delta"),
        (lambda: Composed(10**5, Privacy(0.1, 1e-9)), "profile"),
        (lambda: parse_profile("gdp"), "mu"),
        (lambda: parse_profile("nonsense:1"), "profile"),
        (lambda: parse_profile("list:1"), "profile"),
        (lambda: problem_of(GaussianProfile(1), support=(-3, 3)), "support"),
        (lambda: problem_of(GaussianProfile(1), granularity=1), "profile"),
        (lambda: problem_of(GaussianProfile(1), budget=Budget(parse_loss("l2"), 3)), "budget"),
        (lambda: noise_problem(1, 0.1, profile=Composed(2, Privacy(1, 0.2))), "privacy"),
        (lambda: solve(problem_of(GaussianProfile(1)), SolverSettings(method="reference")), "method"),
    ],
)
def test_bad_input_is_named(make, field):
    with pytest.raises(InputError) as raised:
        make()
    assert raised.value.field == field


@pytest.mark.parametrize("side", [1, -1])
@given(st.floats(0.05, 6), st.integers(1, 20))
def test_lattices_have_an_edge_near_jumps(side, threshold, k):
    """Between k and 2k cells per sensitivity; none of them has an edge nearer on the side that counts."""
    search = ProfileSearch(problem_of(GaussianProfile(1), f"exceed:{threshold!r}"), SolverSettings())
    found = search._next_to_jumps(k, side)
    miss = {n: (-side * threshold * n) % 1 / n for n in range(k, 2 * k + 1)}
    assert miss[found] <= min(miss.values()) + 1e-3
    smooth = ProfileSearch(problem_of(GaussianProfile(1)), SolverSettings())
    assert smooth._next_to_jumps(k, side) == k


def test_large_mu_and_a_loss_that_is_not_even_needs_small_programs_first():
    """Their solutions seed the larger ones: the bracket of the first programs is within a tenth."""
    seen = []

    def enough(record):
        seen.append(record)
        return record.gap <= 0.1

    solution = solve(
        problem_of(GaussianProfile(2.6), "pinball:0.6"), SolverSettings(gap=1e-3, time_limit=GENEROUS), enough
    )
    assert solution.certificate.gap <= 0.1 and max(record.cells for record in seen) < 100


# Programs ----------------------------------------------------------------------------------------------


@st.composite
def tiny_programs(draw):
    k, reach = draw(st.integers(1, 2)), draw(st.integers(3, 5))
    count = draw(st.integers(3, 5))
    epsilons = np.cumsum([draw(st.floats(0.0, 1.0)), *(draw(st.floats(0.2, 1.0)) for _ in range(count - 1))])
    deltas = draw(st.floats(0.2, 0.6)) * np.cumprod([1.0, *(draw(st.floats(0.2, 0.8)) for _ in range(count - 1))])
    slopes = [draw(st.floats(0.1, 2)) for _ in range(reach)]
    half = np.concatenate([[0.0], np.cumsum(slopes)])
    return k, reach, [(math.exp(e), d) for e, d in zip(epsilons.tolist(), deltas.tolist())], half


def test_multipliers_prove_what_a_program_is_worth():
    """Far out, where laws weigh next to nothing, what the solver accepts would cost .03 % and more."""
    search = ProfileSearch(problem_of(GaussianProfile(1.54), "asym:1:1.46"), SolverSettings(time_limit=60))
    search._start()
    worth: list[float] = []
    solved = search._solve

    def watched(program, proves, deadline):
        solved(program, proves, deadline)
        worth.append(program.lower)

    search._solve = watched
    for k in (15, 33):
        search._curve_nodes(k)
        assert search.lower == pytest.approx(worth[-1], rel=1e-5)


def test_many_laws_that_cost_the_same_do_not_keep_a_program():
    table = "table:-6.8=2.15,-1.2=2.15,-1.1=2.2,0=0,0.1=0.1,0.41=0.41,1.4=1.4,3.5=5.6"
    solution = solve(problem_of(GaussianProfile(0.387), table), SolverSettings(gap=1e-3, time_limit=60))
    assert solution.certificate.upper <= 1.001 * solution.certificate.lower


@settings(max_examples=EXAMPLES or 20, deadline=None)
@given(tiny_programs(), st.booleans())
def test_programs_of_several_pairs_agree_with_brute_force(tiny, folded):
    k, reach, pairs, half = tiny
    costs = np.concatenate([half[:0:-1], half])
    expected = lattice_optimum(costs, k, pairs)[0]
    assume(math.isfinite(expected))
    lattice = Lattice(k, -reach, reach, -reach, reach, folded)
    program = LatticeProgram(
        lattice,
        costs[lattice.representatives],
        *pairs[0],
        1.0,
        np.ones(2 * reach + 1),
        further=tuple(pairs[1:]),
    )
    program.start(None)
    outcome = program.solve(math.inf, lambda: False, enough=lambda _: False)
    assert outcome.status == "optimal"
    # Both solvers are accurate to about 1e-7 relative.
    assert outcome.objective == pytest.approx(expected, rel=1e-6, abs=1e-7)
    first, *others = (program.multipliers(outcome, level) for level in range(len(pairs)))
    bound = audit.multiplier_bound_lower(
        costs, -reach, epsilon=math.log(pairs[0][0]), delta=pairs[0][1], shifts=first[0], events=first[1],
        weights=first[2], mirrored=folded,
        further=[(math.log(E), d, *own) for (E, d), own in zip(pairs[1:], others)],
    )  # fmt: skip
    assert bound <= expected + 1e-7 * (1 + expected)
    assert bound == pytest.approx(expected, rel=1e-5, abs=1e-6)


def exchanged_optimum(costs, k, growths, weights, most):
    """Least Σ costs·r with Σ weights_m·max_j Σ_i (r_i − E_m r_(i−j))₊ ≤ most, by linprog, nothing folded."""
    n, shifts = len(costs), [*range(-k, 0), *range(1, k + 1)]
    width = n + len(growths) + len(growths) * len(shifts) * n
    rows, limits, at = [], [], n + len(growths)
    for m, growth in enumerate(growths):
        for j in shifts:
            total = np.zeros(width)
            total[n + m] = -1
            for i in range(n):
                row = np.zeros(width)
                row[i] += 1
                if 0 <= i - j < n:
                    row[i - j] -= growth
                row[at] = -1
                total[at] = 1
                at += 1
                rows.append(row)
                limits.append(0.0)
            rows.append(total)
            limits.append(0.0)
    share = np.zeros(width)
    share[n : n + len(growths)] = weights
    rows.append(share)
    limits.append(most)
    mass = np.zeros((1, width))
    mass[0, :n] = 1
    found = optimize.linprog(np.append(costs, np.zeros(width - n)), np.array(rows), limits, mass, [1.0])
    return float(found.fun) if found.status == 0 else math.inf


@settings(max_examples=EXAMPLES or 10, deadline=None)
@given(tiny_programs(), st.lists(st.floats(0.1, 2), min_size=5, max_size=5))
def test_an_exchange_of_limits_agrees_with_brute_force(tiny, weights):
    k, reach, pairs, half = tiny
    costs, weights = np.concatenate([half[:0:-1], half]), np.array(weights[: len(pairs)])
    most = float(weights @ np.array([d for _, d in pairs]))
    expected = exchanged_optimum(costs, k, [E for E, _ in pairs], weights, most)
    assume(math.isfinite(expected))
    lattice = Lattice(k, -reach, reach, -reach, reach, True)
    program = LatticeProgram(
        lattice, costs[lattice.representatives], *pairs[0], 1.0, np.ones(2 * reach + 1), further=tuple(pairs[1:]),
        exchange=(weights, most),
    )  # fmt: skip
    program.start(None)
    outcome = program.solve(math.inf, lambda: False, enough=lambda _: False)
    assert outcome.status == "optimal"
    assert outcome.objective == pytest.approx(expected, rel=1e-6, abs=1e-7)


# Laws with tails ---------------------------------------------------------------------------------------


@st.composite
def tailed_laws(draw):
    k, cells = draw(st.integers(1, 3)), draw(st.integers(1, 7))
    masses = [draw(st.floats(0.01, 1)) for _ in range(cells)]
    if draw(st.booleans()):
        masses = [min(a, b) for a, b in zip(masses, masses[::-1])]
    first = -cells if draw(st.booleans()) else draw(st.integers(-8, 2))
    breaks = [first + 2 * i for i in range(cells + 1)]
    body = PiecewiseNoise.from_masses(sensitivity=1.0, resolution=2 * k, breaks=breaks, masses=masses)
    return TailedNoise(body, draw(st.integers(TOTAL >> 20, TOTAL >> 1)), draw(st.integers(2, 30)))


def exact_cells(noise, first, last):
    """Probabilities of unit cells as fractions."""
    body, out = noise.body, []
    keep = 1 - Fraction(1, noise.tail_mean)
    share = Fraction(noise.tail_weight, TOTAL)
    for u in range(first, last):
        tail = keep ** max(u, -u - 1) / (2 * noise.tail_mean)
        own = Fraction(0)
        for a, b, w in zip(body.breaks.tolist(), body.breaks.tolist()[1:], body.weights.tolist()):
            if a <= u < b:
                own = Fraction(w, TOTAL) / (b - a)
        out.append((1 - share) * own + share * tail)
    return out


@settings(max_examples=EXAMPLES or 25, deadline=None)
@given(tailed_laws(), st.floats(0, 4))
def test_the_curve_of_a_tailed_law_is_that_of_its_cells(noise, epsilon):
    k2, far = noise.body.resolution, 400
    cells = exact_cells(noise, -far - k2, far + k2)
    growth = Fraction(math.exp(epsilon))
    worst = Fraction(0)
    for j in [*range(-k2, 0), *range(1, k2 + 1)]:
        value = sum(max(Fraction(0), cells[i] - growth * cells[i - j]) for i in range(k2, 2 * far + k2))
        worst = max(worst, value)
    left = noise.share * (1 - 1 / noise.tail_mean) ** far
    found = float(curve_upper(noise, [epsilon])[0])
    assert float(worst) <= found
    assert found <= float(worst) * (1 + 1e-9) + left + 1e-11


@settings(max_examples=EXAMPLES or 20, deadline=None)
@given(tailed_laws())
def test_from_some_point_on_a_tailed_law_is_purely_private(noise):
    end = audit_profile.pure_from_upper(noise)
    assert curve_upper(noise, [end])[0] == 0
    assert end == pytest.approx(0, abs=1e-9) or curve_upper(noise, [0.98 * end])[0] > 0


@settings(max_examples=EXAMPLES or 20, deadline=None)
@given(tailed_laws())
def test_views_of_a_tailed_law_agree(noise):
    u = np.linspace(0.002, 0.998, 41)
    x = noise.quantile(u)
    assert noise.cdf(x) == pytest.approx(u, abs=1e-9)
    edges = noise.unit * np.arange(-40, 41)
    cells = noise.unit_cells(-40, 40)
    assert np.diff(noise.cdf(edges)) == pytest.approx(cells, abs=1e-12)
    assert noise.density(edges[:-1] + 0.5 * noise.unit) * noise.unit == pytest.approx(cells, abs=1e-12)
    exact = [float(p) for p in exact_cells(noise, -40, 40)]
    assert cells == pytest.approx(exact, rel=2e-13)
    loss = parse_loss("l2")
    assert noise.expected_loss(loss) <= audit.loss_upper(noise, loss) * (1 + 1e-12)
    assert noise.expected_loss(loss) == pytest.approx(audit.loss_upper(noise, loss), rel=1e-8)


def test_exact_draws_have_the_law():
    body = PiecewiseNoise.from_masses(sensitivity=1.0, resolution=2, breaks=[-3, -1, 1, 3], masses=[0.2, 0.6, 0.2])
    noise = TailedNoise(body, TOTAL >> 1, 4)
    draws = np.array([noise.draw(4) for _ in range(4000)]) / 4 * noise.unit
    for x in (-2.0, -0.5, 0.0, 0.25, 1.5, 3.0):
        # Five standard deviations.
        assert np.mean(draws < x) == pytest.approx(float(noise.cdf(x)), abs=5 * 0.5 / math.sqrt(4000))


# μ-GDP -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mu", "gap", "gain"), [(1.0, 0.012, 0.005), (2.0, 0.04, 0.08)])
def test_absolute_error_under_gdp_is_certified_below_the_gaussian(solved, mu, gap, gain):
    certificate = solved(mu, gap=gap).certificate
    gaussian = math.sqrt(2 / math.pi) / mu
    assert certificate.lower <= certificate.upper <= (1 - gain) * gaussian
    assert certificate.gap <= gap


@pytest.mark.skipif(not EXAMPLES, reason="takes a minute; THOROUGH=1")
def test_absolute_error_at_mu_one_half_is_certified_below_the_gaussian(solved):
    certificate = solved(0.5, gap=1.8e-3).certificate
    assert certificate.lower <= certificate.upper < math.sqrt(2 / math.pi) / 0.5


@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
def test_for_squared_error_the_gaussian_is_all_but_optimal(solved, mu):
    certificate = solved(mu, "l2", gap=2e-3).certificate
    gaussian = 1 / mu**2
    assert (1 - (1e-9 if mu <= 1 else 1.1e-3)) * gaussian <= certificate.lower
    assert certificate.upper <= (1.0002 if mu <= 1 else 0.9992) * gaussian


@pytest.mark.parametrize(("mu", "gain"), [(2.0, 8e-4), (2.5, 0.02), (3.0, 0.05)])
def test_squared_error_under_weak_gdp_is_certified_below_the_gaussian(solved, mu, gain):
    certificate = solved(mu, "l2", gap=0.06).certificate
    assert certificate.lower <= certificate.upper <= (1 - gain) / mu**2


@pytest.mark.parametrize("mu", [0.8, 1.6, 2.5, 3.0])
def test_the_variance_bound_is_below_what_it_bounds(mu):
    """(1 − Var E[Z | Z mod μ])/μ², by quadrature."""
    m = np.arange(-40, 41) * mu

    def integrand(r):
        weight = norm.pdf(r + m)
        return (weight @ (r + m)) ** 2 / weight.sum()

    between = integrate.quad(integrand, 0, mu, epsabs=1e-14)[0]
    bound = variance_lower(problem_of(GaussianProfile(mu), "l2"))
    assert bound <= (1 - between) / mu**2 + 1e-12
    assert bound >= (1 - 1.5 * between) / mu**2 - 1e-9 or mu >= 3


@pytest.mark.parametrize(("mu", "cells"), [(0.1, 0), (0.7, 2), (2.0, 1), (4.0, 1)])
@pytest.mark.parametrize("room", [0.0, 0.3, 0.499])
@pytest.mark.parametrize("sensitivity", [1.0, 0.1])
def test_the_bound_beyond_a_threshold_is_what_a_rounded_gaussian_pays(mu, cells, room, sensitivity):
    """Z/μ rounded to whole sensitivities keeps the curve at shifts by whole ones, which is all that the bound uses;
    where ±t are whole sensitivities apart, Z/μ pays no more than the bound."""
    t = (cells + room) * sensitivity
    if t == 0:
        return
    problem = problem_of(GaussianProfile(mu), f"exceed:{t!r}", sensitivity=sensitivity)
    places = np.arange(-400, 401)
    masses = np.diff(norm.cdf(mu * (np.arange(-400, 402) - 0.5)))
    paid = float(masses[np.abs(places) > cells].sum()) if room else 2 * norm.cdf(-mu * cells)
    bound = exceed_lower(problem)
    assert bound <= paid * (1 + 1e-9) + 1e-15
    assert bound >= paid * (1 - 1e-9) - 1e-12
    assert bound <= 2 * norm.cdf(-mu * t / sensitivity) * (1 + 1e-12)  # the Gaussian's own, which is one of the laws


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_other_losses_have_no_bound_beyond_a_threshold(loss):
    assert exceed_lower(problem_of(GaussianProfile(1.0), loss)) == 0


@pytest.mark.parametrize(("mu", "t"), [(0.134, 0.128), (0.239, 0.887), (0.116, 5.64)])
def test_weak_thresholds_under_small_mu_have_a_narrow_bracket_at_once(mu, t):
    problem = problem_of(GaussianProfile(mu), f"exceed:{t}")
    certificate = solve(problem, SolverSettings(gap=0.055)).certificate
    assert exceed_lower(problem) <= certificate.lower <= certificate.upper <= 1.055 * certificate.lower


def naive_curve(noise, epsilons, shift):
    """∫ (f(x) − e^ε f(x − shift))₊ dx on a fine grid of the line, for any real shift."""
    far = 60 / noise.body.resolution + float(np.abs(noise.body.edges).max())
    points = np.concatenate([noise.unit * np.arange(-far // noise.unit, far // noise.unit)])
    points = np.unique(np.concatenate([points, points + shift]))
    middle, width = 0.5 * (points[1:] + points[:-1]), np.diff(points)
    here, there = noise.density(middle), noise.density(middle - shift)
    return np.array([np.maximum(here - math.exp(e) * there, 0) @ width for e in epsilons])


@pytest.mark.parametrize(("mu", "loss", "gap"), [(1.0, "l1", 0.012), (2.0, "l1", 0.04), (2.0, "l2", 2e-3)])
def test_the_law_is_below_the_target_at_every_epsilon(solved, mu, loss, gap):
    solution = solved(mu, loss, gap=gap)
    proof, noise = solution.certificate.profile, solution.noise
    assert proof.holds
    assert curve_upper(noise, [proof.pure_from])[0] == 0
    dense = np.unique(np.concatenate([np.linspace(0, proof.pure_from, 1500), np.array(proof.epsilons)]))
    target = np.array([Gaussian(1 / mu).shortfall(e, 1.0) for e in dense])
    assert (curve_upper(noise, dense) <= target * (1 + 1e-9)).all()
    rng = np.random.default_rng(5)
    few = dense[::40]
    for shift in [1.0, 0.5, *rng.uniform(-1, 1, 6)]:
        # Summing some thousand terms; the naive grid ends where less than 1e-9 is left.
        assert (naive_curve(noise, few, shift) <= target[::40] + 1e-9).all()


@pytest.mark.parametrize(("mu", "gap"), [(1.0, 0.012), (2.0, 0.04)])
def test_dp_accounting_agrees(solved, mu, gap):
    """The law's privacy-loss distribution at its largest shift, as Google's library sees it."""
    from dp_accounting.pld import privacy_loss_distribution

    noise = solved(mu, gap=gap).noise
    shift, far = noise.body.resolution, 40 * noise.tail_mean
    cells = noise.unit_cells(-far, far)
    own, other = cells[shift:], cells[:-shift]
    as_log = lambda p: {i: math.log(v) for i, v in enumerate(p / p.sum()) if v > 1e-290}  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = privacy_loss_distribution.from_two_probability_mass_functions(
            as_log(own), as_log(other), value_discretization_interval=1e-4, symmetric=True
        )
    for epsilon in (0.0, 0.25 * mu, mu, 1.7 * mu, 2.6 * mu, 3.5 * mu):
        # Its grid of losses is 1e-4 wide and rounds up.
        assert found.get_delta_for_epsilon(epsilon) <= Gaussian(1 / mu).shortfall(epsilon, 1.0) + 1e-4
        assert found.get_delta_for_epsilon(epsilon + 1e-4) <= float(curve_upper(noise, [epsilon])[0]) + 1e-7


@settings(max_examples=EXAMPLES or 4, deadline=None)
@given(st.floats(0.1, 3), st.sampled_from(["l1", "l2", "pinball:0.7", "lp:1.5", "huber:0.5"]), st.booleans())
def test_brackets_hold_whatever_is_asked(mu, loss, monotone):
    problem = problem_of(GaussianProfile(mu), loss, 3.0, monotone=monotone)
    solution = solve(problem, SolverSettings(gap=0.05, time_limit=3))
    certificate = solution.certificate
    assert 0 <= certificate.lower <= certificate.upper
    assert certificate.delta_upper <= problem.privacy.delta
    assert proof_of(solution.noise, problem.profile, certificate.profile.places[:20]).holds or certificate.profile.holds
    best = min(
        Gaussian(3.0 / mu, float(m)).expected_loss(problem.loss)
        for m in ([0.0] if monotone else np.linspace(-5, 5, 41))
    )
    assert certificate.lower <= best
    single = solve(replace(problem, profile=None), SolverSettings(gap=0.02, time_limit=GENEROUS)).certificate
    assert single.lower <= certificate.upper  # one pair asks less than the curve


def test_a_law_that_is_too_narrow_is_refused(solved):
    proof = proof_of(solved(1.0).noise, GaussianProfile(0.97), GaussianProfile(0.97).places(40))
    assert not proof.holds
    with pytest.raises(CertificateError):
        replace(solved(1.0).certificate, profile=proof)


def test_a_law_of_bounded_support_never_keeps_a_curve(solved):
    body = solved(1.0).noise.body
    assert not proof_of(body, GaussianProfile(1.0), GaussianProfile(1.0).places(12)).holds


def test_textbook_mechanisms_under_a_curve():
    rows = {row.key: row for row in baselines(problem_of(GaussianProfile(1.0)))}
    assert rows["gaussian"].valid and rows["gaussian"].loss == pytest.approx(math.sqrt(2 / math.pi))
    assert rows["laplace"].valid and not rows["truncated-laplace"].valid
    laplace = rows["laplace"].noise
    for epsilon in np.linspace(0, 1.2, 200):
        assert laplace.shortfall(float(epsilon), 1.0) <= Gaussian(1.0).shortfall(float(epsilon), 1.0) * (1 + 1e-12)
    # the narrowest one: 1 − e^(−1/(2b)) ≤ δ(0) decides, up to the chords of the check
    assert laplace.scale == pytest.approx(-0.5 / math.log1p(-Gaussian(1.0).shortfall(0.0, 1.0)), rel=2e-3)


# Several pairs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["list:0.5:0.2;1:0.1;2:0.02;3:0.001", "list:0:0.4;1:0.1269;3:0.0015"])
def test_several_pairs_are_kept_and_bracketed(text):
    profile = parse_profile(text)
    solution = solve(problem_of(profile), SolverSettings(gap=5e-3, time_limit=GENEROUS))
    assert solution.certificate.gap <= 5e-3
    for pair in profile.pairs:
        assert audit.shortfall_upper(solution.noise, pair.epsilon)[0] <= pair.delta
        alone = solve(noise_problem(pair.epsilon, pair.delta), SolverSettings(gap=0.02)).certificate
        assert alone.lower <= solution.certificate.upper


def test_two_pairs_are_a_second_pair():
    both = solve(problem_of(parse_profile("list:1:0.1;3:0.001")), SolverSettings(gap=2e-3, time_limit=GENEROUS))
    second = solve(noise_problem(1, 0.1, second=Privacy(3, 0.001)), SolverSettings(gap=2e-3, time_limit=GENEROUS))
    assert both.certificate.lower <= second.certificate.upper
    assert second.certificate.lower <= both.certificate.upper


# Several releases --------------------------------------------------------------------------------------


@settings(max_examples=EXAMPLES or 15, deadline=None)
@given(st.integers(1, 6), st.floats(0.02, 0.98), st.floats(0.02, 0.98), st.floats(0, 2))
def test_composed_coins(releases, a, b, epsilon):
    a, b = max(a, b), min(a, b)
    profile = Composed(releases, Privacy(epsilon if epsilon > 1e-3 else 0.0, 0.3))
    worst = 0.0
    for p, q in ((a, b), (1 - b, 1 - a)):
        law = lambda x: [math.comb(releases, i) * x**i * (1 - x) ** (releases - i) for i in range(releases + 1)]  # noqa: E731
        growth = math.exp(profile.privacy.epsilon)
        worst = max(worst, sum(max(0.0, own - growth * other) for own, other in zip(law(p), law(q))))
    assert composed_delta_lower(profile, np.array([a]), np.array([b]))[0] == pytest.approx(worst, abs=1e-9)


def test_what_coins_allow_is_what_they_allow():
    """Against a fine grid of coins; at one release it is what (ε, δ) leaves at every ε′."""
    profile = Composed(3, Privacy(1.0, 0.05))
    pairs = binary_pairs(profile, (0.0, 1.0, 2.0, 3.0))
    a, b = np.meshgrid(np.linspace(0, 1, 801), np.linspace(0, 1, 801))
    a, b = a[a >= b], b[a >= b]
    passes = composed_delta_lower(profile, a, b) <= 0.05
    for pair in pairs:
        best = (a - math.exp(pair.epsilon) * b)[passes].max()
        assert best <= pair.delta <= best + 0.006
    one = Composed(1, Privacy(1.0, 0.05))
    at = one.privacy.epsilon / one.sufficient.mu
    found = binary_pairs(one, (at,))[0].delta
    assert 0.05 <= found <= 0.0505  # every coin on the line a = e^ε b + δ is as good: hardly any can be left out


@pytest.mark.parametrize("looks", [0, 1, 2, 7])
def test_coins_that_are_stopped_are_valid_and_fewer(looks):
    """What is known by then, rounded up; asked at least twice for every pair."""
    profile, places = Composed(24, Privacy(2.0, 1e-5)), (0.0, 0.5, 1.0, 2.0, 3.0)
    whole = {one.epsilon: one.delta for one in binary_pairs(profile, places)}
    asked = iter([False] * looks + [True] * 100)
    found = binary_pairs(profile, places, lambda: next(asked))
    if looks == 0:
        assert found == (profile.privacy,)
    else:
        assert len(found) < len(whole) and all(one.delta >= whole[one.epsilon] for one in found)


def test_the_accountant_of_cells_agrees_with_that_of_the_gaussian():
    sigma, k = 4.0, 8
    i = np.arange(-280, 281)
    body = PiecewiseNoise.from_masses(
        sensitivity=1.0, resolution=2 * k, breaks=2 * np.arange(-280, 282) - 1,
        masses=norm.cdf((i + 0.5) / k / sigma) - norm.cdf((i - 0.5) / k / sigma),
    )  # fmt: skip
    found, exact = composed_delta_upper(body, 16, 4.0), Gaussian(1.0).shortfall(4.0, 1.0)
    assert found <= exact * 1.05
    assert found >= exact * 0.99


def test_a_published_value_of_composed_laplace_noise():
    """ε of 100 Laplace releases of ε = 1 at δ = 1e-5 is 68.253 [tests of dp_accounting, pessimistic]; on fine cells."""
    k = 64
    i = np.arange(-40 * k, 40 * k)
    noise = PiecewiseNoise.from_masses(
        sensitivity=1.0, resolution=k, breaks=np.arange(-40 * k, 40 * k + 1), masses=np.exp(-np.abs(i + 0.5) / k)
    )
    losses = Losses.of(noise, grid_step(100, 68.0))
    assert losses.delta_upper(100, 68.20) > 1e-5 > losses.delta_upper(100, 68.30)


def test_weights_of_the_exchange_reproduce_the_composition():
    """E δ̄(ε − S) from levels is δ of the composition, up to the chords between levels."""
    body = PiecewiseNoise.from_masses(
        sensitivity=1.0, resolution=4, breaks=np.arange(-16, 17), masses=np.exp(-0.4 * np.abs(np.arange(-16, 16) + 0.5))
    )
    losses = Losses.of(body, grid_step(4, 2.0))
    epsilons = np.linspace(0, 8, 800)
    values, probabilities = losses.sums(3, 2.0)
    weights = exchange_weights(values, probabilities, 2.0, epsilons)
    fixed = probabilities @ np.where(values > 2.0, -np.expm1(-np.abs(2.0 - values)), 0.0)
    infinite = 1 - probabilities.sum()
    linear = fixed + infinite + weights @ curve_upper(body, epsilons)
    assert linear == pytest.approx(losses.delta_upper(4, 2.0), rel=2e-2)


def test_several_releases_beat_the_gaussian_and_are_certified():
    profile = Composed(8, Privacy(6.0, 1e-5))
    solution = solve(problem_of(profile), SolverSettings(gap=0.3, time_limit=10))
    certificate = solution.certificate
    gaussian = math.sqrt(2 / math.pi) / profile.sufficient.mu
    assert certificate.lower <= certificate.upper < 1.001 * gaussian
    assert certificate.profile.deltas[0] <= 1e-5
    assert composed_delta_upper(solution.noise, 8, 6.0) == certificate.profile.deltas[0]


def test_one_release_is_an_ordinary_problem():
    settings_ = SolverSettings(gap=0.02)
    one = solve(problem_of(Composed(1, Privacy(1, 0.1))), settings_).certificate
    plain = solve(noise_problem(1, 0.1), settings_).certificate
    assert (one.lower, one.upper) == (plain.lower, plain.upper)
    assert one.profile == ProfileProof((), (1.0,), (one.delta_upper,), (0.1,), math.inf)


@pytest.mark.parametrize("text", ["composed:2:2:1e-06", "composed:3:20.0:1e-12", "composed:16:4.0:1e-06"])
def test_no_textbook_law_is_better_even_when_short_of_time(text):
    """Not even at ε = 20, δ = 1e-12, where no release may have a δ of its own. The Gaussian lies on cells: 1e-4."""
    solution = solve(problem_of(parse_profile(text)), SolverSettings(time_limit=1.5))
    best = min(entry.loss for entry in baselines(solution.problem) if entry.valid)
    assert solution.certificate.lower <= best
    assert solution.certificate.upper <= best * (1 + 2e-4)


def test_coins_that_say_less_than_a_pair_can_are_left_out():
    """Two releases at (20, 1e-12): tanh 5 > 0.999 is possible at ε′ = 0, so no pair (0, 0.999) is necessary."""
    profile = Composed(2, Privacy(20.0, 1e-12))
    pairs = binary_pairs(profile, (0.0, 1.0, 4.0))
    assert all(pair.delta >= math.tanh(5.0) for pair in pairs if pair.epsilon == 0)
    assert binary_pairs(profile, (0.0,)) == (profile.privacy,)


@pytest.mark.parametrize("mu", [0.01, 0.02])
def test_places_make_pairs_however_small_mu_is(mu):
    solution = solve(problem_of(GaussianProfile(mu)), SolverSettings(gap=0.05, time_limit=2))
    gaussian = math.sqrt(2 / math.pi) / mu
    assert solution.certificate.lower <= gaussian
    assert gaussian * 0.95 <= solution.certificate.upper <= gaussian * 1.001
    for pair in GaussianProfile(mu).sufficient(GaussianProfile(mu).places(100)):
        assert pair.epsilon == 0 or pair.epsilon >= 1e-3


def test_the_tail_beyond_its_listed_cells_counts():
    """A loss that is 0 wherever cells are listed is not 0."""
    body = PiecewiseNoise.from_masses(sensitivity=1.0, resolution=2, breaks=[-1, 1], masses=[1.0])
    noise = TailedNoise(body, TOTAL >> 20, 4)
    loss, far = parse_loss("exceed:200"), 200.0
    true = noise.share * (1 - 1 / 4) ** (far * 2)
    assert true <= audit.loss_upper(noise, loss) <= 1e-30


@pytest.mark.parametrize(("text", "most"), [("list:0:0.9;20:1e-12", 0.5), ("list:0.001:0.999;19:1e-12", 0.1)])
def test_pairs_far_apart_have_a_law_that_implies_them(text, most):
    """A pure law of moderate ε keeps both; the joint pair (0, 1e-12) would cost 1e11."""
    profile = parse_profile(text)
    solution = solve(problem_of(profile), SolverSettings(gap=0.5, time_limit=1.5))
    assert solution.certificate.upper <= most
    for pair in profile.pairs:
        assert audit.shortfall_upper(solution.noise, pair.epsilon)[0] <= pair.delta


def test_only_a_narrow_bracket_is_called_an_optimum():
    solution = solve(problem_of(PairList((Privacy(1.0, 0.1),))), SolverSettings(gap=0.02))
    assert solution.title == "Certified optimum"
    wide = replace(solution.certificate, lower=0.5 * solution.certificate.lower)
    assert replace(solution, certificate=wide).title == "Best certified noise"
    assert replace(solution, certificate=replace(wide, lower=None)).title == "Best certified noise"


@pytest.mark.parametrize(
    ("text", "loss"), [("gdp:3", "l2"), ("gdp:1", "asym:1:3"), ("composed:2:2:0.05", "asym:1:3"), ("gdp:2", "l1")]
)
def test_monotone_laws_fall_on_both_sides(text, loss):
    """The wavy Gaussian does not from μ = 3 on; nor need a cell around 0 be the highest where the loss is not even."""
    solution = solve(problem_of(parse_profile(text), loss, monotone=True), SolverSettings(gap=0.02, time_limit=2))
    law = getattr(solution.noise, "body", solution.noise)
    heights = law.masses / np.diff(law.breaks)
    right, left = heights[law.breaks[1:] > 0], heights[law.breaks[:-1] < 0]
    assert law.origin == 0
    assert (np.diff(right) <= 1e-9 * heights.max()).all() and (np.diff(left) >= -1e-9 * heights.max()).all()


def test_one_release_and_laws_without_finite_losses():
    """One release is audited as a pair is; a law so narrow that shifts uncover all of it has δ = 1."""
    one = Composed(1, Privacy(0.0, 0.3))
    solution = solve(problem_of(one), SolverSettings(gap=0.02, time_limit=5))
    assert proof_of(solution.noise, one, ()).holds
    needle = PiecewiseNoise.from_masses(sensitivity=1.0, resolution=8, breaks=[-1, 0, 1], masses=[0.5, 0.5])
    assert composed_delta_upper(needle, 2, 1.0) == 1.0
    far = solve(problem_of(Composed(2, Privacy(1.0, 1e-3)), "exceed:30"), SolverSettings(time_limit=2)).certificate
    assert 0.0 <= far.lower <= far.upper <= 1e-9
