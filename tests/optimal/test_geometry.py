"""Exact geometry: supports far from 0, shapes and supports just wide enough, before a referee with rational numbers
that reads the printed answer and nothing else."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from exact_losses import exact_loss
from hypothesis import given, settings
from hypothesis import strategies as st
from referee import asked, law_of, problem_of, refutations
from rivals import rivals

from dpcore import audit
from dpcore.audit_shape import falls_from_zero, is_mirrored, within
from dpcore.cli import main
from dpcore.errors import InfeasibleError, InputError
from dpcore.export import solution_from_dict, solution_to_dict
from dpcore.noise.lattice import LatticeNoise
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.noise.whole import TOTAL, whole_weights
from dpcore.optimal import laws, solve
from dpcore.optimal.schedule import Schedule
from dpcore.optimal.step import origin_of
from dpcore.problem import SolverSettings, noise_problem

QUICK = SolverSettings(gap=0.02, time_limit=1.5)


def printed(words: str, limit: str = "1.5") -> str:
    """What `dpcore solve` prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["solve", *words.split(), "--time-limit", limit, "--gap", "0.02"]) == 0
    return out.getvalue()


FAR = [
    "--epsilon=0 --delta=0.9 --loss=exceed:0.5 --support=-33333.3:-0.5",
    "--epsilon=1 --delta=.2 --support=-1e9:1",
    "--epsilon=1 --delta=.2 --support=-1:6e8 --loss=pinball:0.3 --sensitivity=0.7",
    "--epsilon=2 --delta=.1 --support=1234567.1:1234570.3 --loss=l2 --sensitivity=0.1",
    "--epsilon=0.5 --delta=.3 --support=:-777777.7 --loss=exceed:777778.3 --sensitivity=0.3",
    "--epsilon=1 --delta=.1 --loss=table:1000000.1=3,1000000.4=0,1000001=1 --sensitivity=0.1",
]


@pytest.mark.parametrize("words", FAR)
def test_far_from_zero_the_printed_figures_are_true(words):
    """The law's own cost and privacy, in rational numbers, against what is printed."""
    text = printed(words)
    assert refutations(text, asked(words.split()), rivals(asked(words.split()))) == []
    answer = json.loads(text, parse_float=Fraction)
    cost = law_of(answer["noise"], problem_of(answer)).cost(exact_loss(answer["loss"]))[1]
    slack = Fraction(
        1, 10**6 if "table" in words else 10**12
    )  # a line through places far off knows its value less well
    assert cost <= Fraction(answer["upper"]) <= cost * (1 + slack)


def test_lattices_start_at_the_end_that_matters():
    far, near = noise_problem(1, 0.2, support=(-1e9, 1)), noise_problem(1, 0.2, support=(-1, 1e9))
    assert (origin_of(far), origin_of(near)) == (1, -1)
    assert origin_of(noise_problem(1, 0.2, loss="asym:1:3", support=(-1e6, 1e7))) == 0
    jumps, end = (noise_problem(0.00158, 0.631, loss="exceed:0.24", support=(-1.448, x)) for x in (0.5117, 0.2))
    assert (abs(origin_of(jumps)), origin_of(end)) == (0.24, 0.2)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("support", [(-1.448, 0.5117), (-0.5117, 1.448), (-1.448, 0.2), (-math.inf, 0.33)])
def test_lattices_in_a_support_end_next_to_jumps(side, support):
    """Edges that miss nothing where jumps and ends are whole numbers of cells; else what they miss is counted on the
    outer side (1) or the inner one (−1), a tenth of it at ends behind a jump."""
    problem = noise_problem(0.00158, 0.631, loss="exceed:0.24", support=support)
    schedule, origin = Schedule(problem, 1e-3, (0.5,), ("offset",), 400), Fraction(str(origin_of(problem)))
    marks = {Fraction(str(x)) for x in (*problem.loss.jumps, *support) if math.isfinite(x) and x <= support[1]}
    behind = {Fraction(str(x)) for x in support if math.isfinite(x) and abs(x) > 0.24}

    def missed(k: int) -> Fraction:
        total = Fraction(0)
        for x in marks - {origin}:
            place = (x - origin) * k
            edge = math.ceil(place) if (x > 0) == (side > 0) else math.floor(place)
            total += abs(edge - place) / k * (Fraction(1, 10) if x in behind else 1)
        return total

    assert [schedule._missed(side, k) for k in range(1, 60)] == [missed(k) for k in range(1, 60)]
    found = list(itertools.islice(schedule._next_to_jumps(side), 6))
    assert all(missed(b) <= missed(a) * (1 + Fraction(1, 10**9)) for a, b in zip(found, found[1:]))
    kind = "nodes" if side == 1 else "offset"
    assert missed(schedule._by_jumps(kind, 40, 1)) == min(missed(k) for k in range(32, 51))


# Shapes --------------------------------------------------------------------------------------------------


SHAPED = [
    "--epsilon=1 --delta=.2 --monotone",
    "--epsilon=1 --delta=.2 --monotone --loss=pinball:0.8",
    "--epsilon=0.3 --delta=.05 --monotone --support=-1:30 --loss=l2",
    "--epsilon=0 --delta=.3 --symmetric",
    "--epsilon=0.5 --delta=.123456789 --symmetric --loss=pinball:0.8 --sensitivity=0.7",
    "--epsilon=2 --delta=.1 --symmetric --monotone --loss=exceed:0.4",
    "--epsilon=1 --delta=.1 --monotone --granularity=0.1 --sensitivity=0.3 --loss=asym:1:3",
]


@pytest.mark.parametrize("words", SHAPED)
def test_shapes_hold_without_any_tolerance(words):
    text = printed(words)
    assert refutations(text, asked(words.split())) == []
    again = solution_from_dict(json.loads(text))
    assert not again.problem.symmetric or is_mirrored(again.noise)
    assert not again.problem.monotone or falls_from_zero(again.noise)


def test_a_uniform_law_of_mirror_images_has_its_middle_at_zero():
    for delta in (0.3, 0.7, 0.123456789, 1e-12):
        law = laws.uniform(noise_problem(0, delta, 0.7, symmetric=True))
        assert law.places.at(law.breaks[0]) == -law.places.at(law.breaks[-1])
        assert audit.shortfall_upper(law, 0.0)[0] <= delta


def law_with(weights: list[int], **options) -> PiecewiseNoise:
    whole = np.array(weights, dtype=np.int64)
    return PiecewiseNoise(1.0, 2, np.arange(-(len(weights) // 2), (len(weights) + 1) // 2 + 1), whole, **options)


def test_one_unit_is_seen():
    """A weight that is one unit of 2^−62 off is no mirror image, and rises."""
    quarter = TOTAL // 4
    even = law_with([quarter] * 4)
    assert is_mirrored(even) and falls_from_zero(even) and within(even, (-1.0, 1.0))
    off = law_with([quarter + 1, quarter - 1, quarter, quarter])
    assert not is_mirrored(off) and not falls_from_zero(off)
    assert not is_mirrored(law_with([quarter] * 4, origin=5e-18))
    assert not within(even, (-1.0, 0.9999999999999999)) and not within(law_with([quarter] * 4, origin=5e-18), (-1, 1))
    beside = law_with([quarter] * 3 + [0], atom_unit=1, atom_weight=quarter)
    assert not falls_from_zero(beside)
    points = LatticeNoise(0.1, -1, np.array([quarter, 2 * quarter, quarter]))
    assert is_mirrored(points) and falls_from_zero(points) and within(points, (-0.1, 0.1))
    assert not within(points, (-0.1, 0.09999999999999999))
    assert not falls_from_zero(LatticeNoise(0.1, -1, np.array([2 * quarter, quarter, quarter])))


def test_files_whose_shape_is_one_unit_off_are_refused():
    data = solution_to_dict(solve(noise_problem(1, 0.2, symmetric=True), QUICK))
    weights = [int(w) for w in data["noise"]["weights"]]
    weights[0], weights[-1] = weights[0] - 1, weights[-1] + 1
    data["noise"]["weights"] = list(map(str, weights))
    with pytest.raises(InputError, match="symmetric"):
        solution_from_dict(data)


@given(
    st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1), st.just(0.25)), min_size=1, max_size=30),
    st.floats(0, 0.9), st.booleans(), st.booleans(),
)  # fmt: skip
@settings(max_examples=200)
def test_whole_weights_keep_shapes(half, atom, odd, monotone):
    """Mirror images stay so to the last unit; monotone ones too, whatever dips the masses had."""
    masses = np.array([*half[::-1], *half[odd:]]) if sum(half) else np.ones(2)
    weights, at = whole_weights(masses, atom, np.ones(len(masses), dtype=np.int64), len(masses) / 2, monotone=monotone)
    assert int(weights.sum(dtype=object)) + at == TOTAL and weights.min() >= 0
    assert weights.tolist() == weights[::-1].tolist()
    if monotone:
        right = weights[len(weights) // 2 :].tolist()
        assert right == sorted(right, reverse=True)


# Supports that are just wide enough ---------------------------------------------------------------------------


def test_a_support_as_wide_as_truncated_laplace_noise_is_solved():
    """Every law on it uncovers exactly δ: the audit must not round that up."""
    words = "--epsilon=2 --delta=.5 --support=-1:1"
    text = printed(words, "4")
    assert refutations(text, asked(words.split())) == []
    answer = json.loads(text)
    assert answer["certificate"]["delta_upper"] == 0.5
    assert answer["lower"] <= 0.2154 <= answer["upper"] < 0.24


@given(
    st.sampled_from([0.0, 0.05, 0.7, 2.0, 9.0]), st.sampled_from([1e-6, 0.01, 0.3, 0.5, 0.7, 0.123456789]),
    st.sampled_from([1.0, 0.7, 1e4]), st.sampled_from([0.0, -0.3, -0.5, -1.0, 5.0]), st.booleans(),
)  # fmt: skip
@settings(max_examples=80)
def test_the_width_that_is_called_enough_is(epsilon, delta, sensitivity, place, monotone):
    """As printed, to six digits: some closed form is private there, by the audit, and inside the support."""
    monotone = monotone and -1 <= place <= 0
    loose = noise_problem(
        epsilon, delta, sensitivity, monotone=monotone, support=(-1e9 * sensitivity, 0.9e9 * sensitivity)
    )
    width = float(loose.enough)
    lo = float(f"{place * width:.4g}")
    hi = float(Fraction(repr(lo)) + Fraction(repr(width)))
    if Fraction(repr(hi)) - Fraction(repr(lo)) < Fraction(repr(width)):
        hi = math.nextafter(hi, math.inf)
    problem = noise_problem(epsilon, delta, sensitivity, monotone=monotone and lo <= 0 <= hi, support=(lo, hi))
    found = [law for law in (laws.uniform(problem), laws.truncated_geometric(problem)) if law is not None]
    private = [law for law in found if audit.shortfall_upper(law, epsilon)[0] <= delta and within(law, (lo, hi))]
    assert any(not problem.monotone or falls_from_zero(law) for law in private)


def test_refusals_name_a_width_that_is_solved():
    with pytest.raises(InfeasibleError, match="width") as raised:
        solve(noise_problem(1, 0.2, support=(-0.5, 0.7)), QUICK)
    width = float(re.search(r"width (?:of )?([\d.]+)", str(raised.value))[1])
    assert solve(noise_problem(1, 0.2, support=(0.0, width)), QUICK).certificate.upper < width


def test_ends_at_the_farthest_place_are_accepted():
    assert noise_problem(1, 0.2, 33.3, support=(-33300000000.0, 33.3)).support[0] == -33300000000.0
    with pytest.raises(InputError, match="sensitivities of 0"):
        noise_problem(1, 0.2, 33.3, support=(-33300000000.1, 33.3))
