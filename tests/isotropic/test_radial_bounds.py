"""Both bounds of isotropic problems: the proof against brute force, brackets against known laws and the line."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import special

import dpcore as dp
from dpcore.cli import main
from dpcore.errors import InputError, SolverError
from dpcore.isotropic import audit, beta, lower, start, upper
from dpcore.isotropic.baselines import mechanisms
from dpcore.isotropic.closed_forms import PowerLaw
from dpcore.isotropic.geometry import log_volumes
from dpcore.isotropic.lower import levels_of
from dpcore.isotropic.problem import IsotropicProblem, RadialLoss, parse_loss
from dpcore.isotropic.proof import Judge, Multipliers
from dpcore.isotropic.search import Search, of_coordinate, solve
from dpcore.noise.gaussian import Gaussian
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings


def bracket(dimension, epsilon, delta, loss, gap=0.05, sensitivity=1.0):
    problem = IsotropicProblem(dimension, Privacy(epsilon, delta), parse_loss(loss), sensitivity)
    return solve(problem, SolverSettings(gap, 60.0))


def random_multipliers(rng: np.random.Generator, dimension: int, shift: float) -> Multipliers:
    nodes = np.concatenate([[0.0], np.cumsum(rng.uniform(0.05, 0.4, 12))])
    levels = levels_of(dimension, 0.01, shift)
    weights = rng.exponential(1.0, (len(nodes), len(levels))) * (rng.random((len(nodes), len(levels))) < 0.2)
    weights[-1] = 0.0
    return Multipliers(shift, nodes, levels, weights)


def brute(dimension: int, growth: float, loss: RadialLoss, one: Multipliers, r: float, count: int = 40_001) -> float:
    """F at a radius by a sum over evenly probable directions."""
    if dimension == 1:
        t = np.array([-1.0, 1.0])
    else:
        half = (dimension - 1) / 2
        t = 2 * special.betaincinv(half, half, (np.arange(count) + 0.5) / count) - 1
    landed = np.sqrt(np.maximum(r * r + one.shift**2 + 2 * r * one.shift * t, 0.0))

    def height(first, tau):
        i = np.clip(np.searchsorted(one.nodes, first, side="right") - 1, 0, len(one.nodes) - 2)
        share = (first - one.nodes[i]) / (one.nodes[i + 1] - one.nodes[i])
        level = np.searchsorted(one.levels, tau - 1e-12, side="left")
        padded = np.pad(one.heights, ((0, 0), (0, 1)))
        level = np.minimum(level, len(one.levels))
        return np.where(first >= one.nodes[-1], 0.0, padded[i, level] * (1 - share) + padded[i + 1, level] * share)

    gain = height(np.full_like(landed, r), np.maximum(r + one.shift - landed, 0.0)).mean()
    cost = height(landed, np.maximum(landed + one.shift - r, 0.0)).mean()
    return float(loss(r)) + gain - growth * cost


@pytest.mark.parametrize("dimension", [1, 2, 3, 9, 200])
@pytest.mark.parametrize("shift", [1.0, 0.8])
def test_the_proof_stays_below_brute_force(dimension, shift):
    rng = np.random.default_rng(dimension)
    one, loss = random_multipliers(rng, dimension, shift), parse_loss("squared")
    judge = Judge(dimension, 0.7, 0.01, loss, [one])
    radii = np.sort(rng.uniform(0.01, one.nodes[-1] + 1, 25))
    true = np.array([brute(dimension, math.exp(0.7), loss, one, r) for r in radii])
    size = 1 + one.rate
    values = judge.values(radii, 8)
    assert (values <= true + 6e-5 * size).all()
    assert dimension == 1 or (values >= true - 0.03 * size).all()  # on the line cells of τ meet atoms
    for r, value in zip(radii, true):
        ends = np.unique(np.concatenate([one.nodes, one.nodes + shift, [r - 0.02, r + 0.02]]))
        i = np.searchsorted(ends, r)
        lo, hi = max(ends[i - 1], 0.0), ends[min(i, len(ends) - 1)]
        assert judge.bounds(np.array([lo]), np.array([hi]), 2)[0] <= value + 6e-5 * size
    proved = judge.prove(0.05 * size)
    assert proved.least <= true.min() + 6e-5 * size
    assert proved.lower <= max(0.0, proved.least - 0.01 * one.rate) + 1e-12


@pytest.mark.parametrize("dimension", [2, 3, 4, 21, 1000])
def test_the_beta_law_is_enclosed(dimension):
    from flint import arb, ctx

    rng, half = np.random.default_rng(dimension), (dimension - 1) / 2
    u = np.concatenate([10.0 ** rng.uniform(-9, -0.31, 60), 1 - 10.0 ** rng.uniform(-3, -0.31, 60)])
    low, high = beta.lower(dimension, u), beta.upper(dimension, u)
    with ctx.workprec(200):
        for x, a, b in zip(u.tolist(), low.tolist(), high.tolist()):
            true = arb(x).beta_lower(arb(half), arb(half), regularized=1)
            assert not arb(a) > true and not arb(b) < true
            assert b - a <= 1e-7 * b + 1e-280


def test_a_law_that_is_better_than_a_bound_would_be_seen():
    """Multipliers scaled beyond what they prove are not believed: F falls, and the bound with it."""
    found = bracket(2, 2.0, 0.2, "norm")
    raised = [Multipliers(m.shift, m.nodes, m.levels, 1.5 * m.weights) for m in found.multipliers]
    judge = Judge(2, 2.0, 0.2, RadialLoss(), raised)
    assert judge.prove(1e-3).lower < found.upper


CASES = [(2, 2.0, 0.2, "norm", 0.6582), (2, 1.0, 0.01, "squared", 4.6), (10, 5.0, 0.01, "squared", 2.395)]


@pytest.mark.parametrize(("dimension", "epsilon", "delta", "loss", "target"), CASES)
def test_brackets_close(dimension, epsilon, delta, loss, target):
    found = bracket(dimension, epsilon, delta, loss, gap=0.06)
    assert found.gap <= 0.06 and found.upper <= target * 1.002 and found.delta_upper <= delta


@pytest.mark.parametrize(
    ("dimension", "epsilon", "delta", "loss", "gap"),
    [(3, 1.0, 1e-3, "exceed:3", 0.15), (100, 1.0, 1e-6, "exceed:40", 0.25), (20, 4.0, 1e-6, "exceed:3", 0.08)],
)
def test_brackets_of_a_loss_that_jumps_close(dimension, epsilon, delta, loss, gap):
    found = bracket(dimension, epsilon, delta, loss, gap)
    known = [one.loss for one in mechanisms(dimension, Privacy(epsilon, delta), parse_loss(loss), certify=False)]
    assert 0 < found.lower <= found.upper <= min(known) and found.gap <= gap and found.delta_upper <= delta


@pytest.mark.parametrize(("dimension", "epsilon", "delta", "t"), [(20, 4.0, 1e-6, 5.0), (3, 1.0, 1e-3, 2.7)])
def test_stairs_end_where_the_loss_jumps(dimension, epsilon, delta, t):
    """Heights fall by e^ε at t, and the law costs less than the smooth one it was cut from."""
    privacy, loss = Privacy(epsilon, delta), RadialLoss(1.0, t)
    law = start.best_known(dimension, privacy, loss)
    noise, proved = start.first_law(law, privacy, 1.0, lambda: False, t)
    assert proved <= delta and np.abs(noise.edges - t).min() <= 1e-5
    with np.errstate(divide="ignore"):
        heights = np.log(noise.masses) - log_volumes(dimension, noise.edges)
    assert np.allclose(np.diff(heights), -epsilon, atol=1e-6)
    assert audit.loss_upper(noise, loss) < law.loss(loss)


@pytest.mark.parametrize(
    ("dimension", "epsilon", "delta", "loss"),
    [
        (2, 0.791, 9.31e-07, "exceed:0.625"),  # densities without bound in the plane
        (7, 0.0549, 0.137, "exceed:47.7"),  # a law whose noise is never that long
        (1, 0.0192, 5.01e-09, "exceed:16"),  # stairs that begin next to 0
        (5, 0.0, 0.1, "exceed:3"),
    ],
)
def test_problems_that_were_refused(dimension, epsilon, delta, loss):
    problem = IsotropicProblem(dimension, Privacy(epsilon, delta), parse_loss(loss))
    found = solve(problem, SolverSettings(0.5, 0.5))
    assert 0 <= found.lower <= found.upper <= 1 and found.delta_upper <= delta


def test_a_law_of_too_many_shells_is_named(monkeypatch):
    """Where a shell per factor e^ε makes too many, the message says how many."""
    monkeypatch.setattr(start, "MOST_SHELLS", 1000)
    monkeypatch.setattr("dpcore.isotropic.search.MOST_AT_FIRST", 1000)
    problem = IsotropicProblem(40, Privacy(0.01, 1e-9), parse_loss("squared"))
    with pytest.raises(SolverError, match=r"some [0-9]{4,5} shells would be needed, 1000 are tried at most"):
        Search(problem, SolverSettings(0.1, 0.1)).run()


@pytest.mark.parametrize("dimension", [2, 3, 20])
def test_programs_know_what_multipliers_do_where_they_jump(dimension):
    nodes = np.array([0.0, 0.7, 0.7001, 1.5, 1.5001, 2.2, 3.0])
    program = lower.DualProgram(dimension, math.e, 0.01, parse_loss("exceed:1.5"), nodes, (1.0,), 1.0, 0.2)
    weights = np.random.default_rng(0).random((len(nodes), len(program.levels[0])))
    weights[-1] = 0.0
    one = Multipliers(1.0, nodes, program.levels[0], weights)
    radii = np.array([0.3, 0.9, 1.2, 1.62, 1.9, 2.43, 2.9, 3.6])
    proved = Judge(dimension, 1.0, 0.01, program.loss, [one]).values(radii, 12)
    assert np.abs(program.values([one], radii, lambda: None) - proved).max() <= 1e-3 * one.rate


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.2), (2.0, 0.05), (5.0, 0.25)])
def test_on_the_line_it_is_the_monotone_optimum(epsilon, delta):
    monotone = dp.solve(epsilon=epsilon, delta=delta, monotone=True).certificate
    general = dp.solve(epsilon=epsilon, delta=delta).certificate
    search = Search(IsotropicProblem(1, Privacy(epsilon, delta)))
    for _ in range(4):
        search._refine_upper()
    search._refine_lower()
    assert monotone.lower * (1 - 1e-9) <= search.upper <= monotone.upper * 1.003
    assert 0 < search.lower <= general.upper


@pytest.mark.parametrize("seed", range(8))
def test_no_lower_bound_exceeds_a_known_law(seed):
    rng = np.random.default_rng(seed)
    dimension = int(np.exp(rng.uniform(0, math.log(60))))
    epsilon, delta = float(np.exp(rng.uniform(math.log(0.1), math.log(8)))), float(10 ** rng.uniform(-6, -0.7))
    loss = RadialLoss(float(rng.choice([1.0, 2.0, 0.5])))
    search = Search(IsotropicProblem(dimension, Privacy(epsilon, delta), loss))
    search._refine_upper()
    search._refine_lower()
    p, sigma = loss.power, Gaussian.calibrate(Privacy(epsilon, delta), 1.0).sigma
    gaussian = sigma**p * 2 ** (p / 2) * special.poch(dimension / 2, p / 2)
    pure = special.poch(dimension, p) / epsilon**p
    assert search.lower <= min(gaussian, pure, search.upper)


def test_sensitivity_scales():
    one, ten = bracket(3, 1.0, 0.05, "squared", 0.2), bracket(3, 1.0, 0.05, "squared", 0.2, sensitivity=10.0)
    assert ten.upper == pytest.approx(100 * one.upper, rel=1e-9)
    assert ten.lower == pytest.approx(100 * one.lower, rel=1e-6)


def test_a_bounded_loss_has_a_bracket():
    found = bracket(3, 1.0, 0.05, "exceed:2", gap=0.15)
    assert 0 < found.lower <= found.upper < 1


def test_it_stops_when_asked():
    seen = []
    problem = IsotropicProblem(5, Privacy(1.0, 1e-4), parse_loss("squared"))
    found = solve(
        problem, SolverSettings(1e-6, 60.0), lambda record: seen.append(record) or math.isfinite(record.upper)
    )
    assert found.seconds < 30 and math.isfinite(found.upper) and seen


def test_the_command_line_prints_a_bracket(capsys, tmp_path):
    out = tmp_path / "found.json"
    words = ["isotropic", "--dimension", "2", "--epsilon", "2", "--delta", "0.2", "--gap", "0.1", "--out", str(out)]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(out.read_text())
    assert found["lower"] <= 0.6583 <= found["upper"] * 1.01 and found["gap"] <= 0.1
    assert found["certificate"]["delta_upper"] <= 0.2 and found["loss"] == "norm"
    assert min(row["loss"] for row in found["mechanisms"]) >= found["lower"]
    assert len(found["noise"]["edges"]) == len(found["noise"]["probabilities"]) + 1


@pytest.mark.parametrize(
    "words",
    [["--dimension", "0"], ["--dimension", "2.5"], [], ["--dimension", "2", "--loss", "l7"], ["--dimension", "1001"]],
)
def test_the_command_line_refuses(words, capsys):
    assert main(["isotropic", "--epsilon", "1", "--delta", "0.1", *words]) == 2
    assert "expected" in capsys.readouterr().err


def test_delta_zero_is_refused():
    with pytest.raises(InputError, match="delta"):
        IsotropicProblem(2, Privacy(1.0, 0.0))


@pytest.mark.parametrize(("dimension", "epsilon", "delta"), [(2, 1.0, 0.01), (10, 5.0, 0.01), (40, 1.0, 1e-5)])
def test_known_mechanisms_are_private_and_above_the_bound(dimension, epsilon, delta):
    privacy = Privacy(epsilon, delta)
    rows = {one.key: one for one in mechanisms(dimension, privacy, RadialLoss(2.0))}
    assert rows.keys() == {"gaussian", "l2", "l2-delta", "l2-truncated", "generalised-gamma"}
    sigma = rows["gaussian"].parameters["sigma"]
    assert rows["gaussian"].loss == pytest.approx(dimension * sigma**2, rel=1e-9)
    assert PowerLaw(dimension, math.sqrt(2) * sigma, 2.0).delta(epsilon) == pytest.approx(delta, rel=1e-3)
    assert rows["l2"].loss == pytest.approx(dimension * (dimension + 1) / epsilon**2, rel=1e-9)
    assert rows["generalised-gamma"].loss <= rows["l2-delta"].loss <= rows["l2"].loss
    search = Search(IsotropicProblem(dimension, privacy, RadialLoss(2.0)))
    search._start()
    assert search.upper >= rows["l2-delta"].loss * (1 - 2e-2)  # the same law on shells, cut far out
    while search.lower == 0:
        search._refine_lower()
    assert 0 < search.lower <= min(one.loss for one in rows.values())


def test_programs_look_at_the_stop_while_they_are_set_up(monkeypatch):
    """Rows and transitions come in parts, and what they are is the same whatever the parts."""
    looks = []
    edges = np.arange(0, 41) / 8
    whole = upper.Pairs.of(4, edges)
    monkeypatch.setattr(upper, "PART", 37)
    parts = upper.Pairs.of(4, edges, lambda: looks.append(1))
    assert np.array_equal(whole.beyond, parts.beyond) and len(looks) == math.ceil(len(whole.source) / 37)
    programs = [
        lower.DualProgram(3, math.e, 0.01, parse_loss("norm"), np.linspace(0, 4, 9), (1.0,), 1.0, 0.02) for _ in "ab"
    ]
    programs[0].add(programs[0].first_radii())
    monkeypatch.setattr(lower, "PART", 2000)
    looks.clear()
    programs[1].add(programs[1].first_radii(), lambda: looks.append(1))
    values = [program.solve(math.inf, lambda: False)[1] for program in programs]
    assert values[0] == pytest.approx(values[1], rel=1e-9) and len(looks) > 5


def test_no_law_is_begun_that_would_not_be_ready(monkeypatch):
    """The program before took most of the time, so the next one is not begun, and the law is the one that there is."""
    search = Search(IsotropicProblem(2, Privacy(2.0, 0.2), parse_loss("norm")), SolverSettings(time_limit=5.0))
    search._start()
    known = search.best
    search._took = 4.0
    monkeypatch.setattr(Search, "_next_law", lambda self: pytest.fail("begun"))
    assert not search._refine_upper() and search.best is known


@pytest.mark.parametrize("dimension", [2, 3, 11])
@pytest.mark.parametrize("power", [0.5, 1.0, 2.0, 3.0])
def test_a_coordinate_has_its_share_of_the_loss(dimension, power):
    """1/E|u₁|^p by quadrature over the law of a direction's coordinate; squares add up over the coordinates."""
    half = (dimension - 1) / 2
    u = 2 * special.betaincinv(half, half, (np.arange(400_000) + 0.5) / 400_000) - 1
    found = of_coordinate(dimension, RadialLoss(power))
    assert found == pytest.approx(1 / np.mean(np.abs(u) ** power), rel=2e-3)
    assert power != 2 or found == pytest.approx(dimension, rel=1e-12)
    assert of_coordinate(dimension, RadialLoss(1.0, 0.7)) == of_coordinate(1, RadialLoss(power)) == 1.0


@pytest.mark.parametrize(("dimension", "epsilon", "delta"), [(22, 0.0689, 0.0523), (45, 0.596, 0.164)])
def test_large_deltas_have_lower_bounds(dimension, epsilon, delta):
    """The line gives a first one at once, curves the one that is near."""
    found = bracket(dimension, epsilon, delta, "squared", gap=0.06)
    known = {
        one.key: one.loss for one in mechanisms(dimension, Privacy(epsilon, delta), RadialLoss(2.0), certify=False)
    }
    assert found.gap <= 0.06 and found.lower <= min(known.values())
    assert 0 < found.trace[1].lower < found.lower


def test_many_dimensions_at_small_epsilon_have_a_law():
    """Shells are counted between the radii that matter: one per factor e^ε fits in 1000 dimensions at ε = 0.03, too."""
    privacy = Privacy(0.0268, 2.17e-5)
    law = start.best_known(1000, privacy, RadialLoss(1.0))
    assert 10_000 < len(start.stepped(law, privacy, 1.0, 0.0).weights) < start.MOST_SHELLS
