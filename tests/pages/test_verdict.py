"""The verdict: only what the bracket proves, only to whom it may be recommended, never a law that gives people away."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.mechanisms import INTEGER_MECHANISMS, MECHANISMS, Baseline, baselines
from dpcore.noise.piecewise import TOTAL, PiecewiseNoise
from dpcore.noise.truncated_laplace import TruncatedLaplace
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.privacy_profile import Composed, GaussianProfile, PairList
from dpcore.problem import NoiseProblem, SolverSettings, noise_problem
from dpcore.solution import Certificate
from pages.optimal_noise import matters, verdict

PRIVACY = Privacy(1.0, 0.1)
SMALL = noise_problem(1, 1e-6)
"""A promise under which something may be recommended."""
GRID = noise_problem(1, 0.2)


def bar(key: str, loss: float | None, *, valid: bool = True) -> Baseline:
    """A textbook mechanism that pays this loss."""
    mechanism = (MECHANISMS | INTEGER_MECHANISMS)[key]
    noise = mechanism.rule(PRIVACY, 1, noise_problem(1, 0.1).loss)
    return Baseline(mechanism.name, key, noise, loss, valid, "" if valid else "it does not fit")


def proof(lower: float | None, upper: float) -> Certificate:
    return Certificate(lower, upper, 1e-6, 1.0)


def said(lower, upper, *bars: Baseline, problem: NoiseProblem = SMALL, people: int | None = None) -> str:
    text = verdict.verdict(problem, proof(lower, upper), bars, "people", people)
    return text.replace("\u202f", " ")


LAPLACE = bar("laplace", 1.0)


# What it says ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lower", "upper", "bars", "text"),
    [
        (0.9895, 0.9896, [LAPLACE], "**Keep Laplace: at most 1.1 % to gain**; optimal noise hardly matters here."),
        (0.96, 1.0, [LAPLACE], "**Keep Laplace: at most 4.1 % to gain**; optimal noise hardly matters here."),
        (1.0, 1.0, [LAPLACE], "**Keep Laplace: less than 0.01 % to gain**; optimal noise hardly matters here."),
        (1.1, 1.1, [LAPLACE], "**Keep Laplace: nothing to gain**; optimal noise hardly matters here."),
        (0.5, 0.5587, [LAPLACE], "**Switch: at least 44.1 % less error than Laplace**."),
        (None, 0.5587, [LAPLACE], "**Switch: at least 44.1 % less error than Laplace**."),
        (0.0, 0.5587, [LAPLACE], "**Switch: at least 44.1 % less error than Laplace**."),
        (0.8, 0.97, [LAPLACE], "**Undecided: between 2.9 % and 21 % less error than Laplace**."),
        (0.8, 0.99999, [LAPLACE], "**Undecided: at most 21 % less error than Laplace**."),
        (0.5, 1.0, [LAPLACE], "**Nothing better than Laplace found**; up to 51 % may remain."),
        (None, 1.0, [LAPLACE], "**Nothing better than Laplace found**; how much may remain is not known."),
        (0.0, 1.2, [LAPLACE], "**Nothing better than Laplace found**; how much may remain is not known."),
        (
            0.83, 0.85, [LAPLACE, bar("staircase", 0.851)],
            "**Switch to Staircase: at least 14.8 % less error than Laplace**; at most 2.5 % more to gain.",
        ),
        (
            0.6, 0.7, [LAPLACE, bar("staircase", 0.851)],
            "**Switch: at least 29.9 % less error than Laplace**.",
        ),
        (
            18.3, 24.4, [bar("laplace", 37.0), bar("gaussian", 24.31)],
            "**Nothing better than Gaussian found**; up to 25 % may remain.",
        ),
        (
            24.2, 24.4, [bar("laplace", 37.0), bar("gaussian", 24.31)],
            "**Switch to Gaussian: at least 34.2 % less error than Laplace**; at most 0.46 % more to gain.",
        ),
        (2.7, 2.8, [bar("gaussian", 2.75)], "**Use Gaussian: at most 1.9 % to gain**."),
        (2.0, 2.1, [bar("gaussian", 2.75)], "**Use this noise: at least 23.6 % less error than Gaussian**."),
        (0.0, 0.0, [LAPLACE], "**Switch: 100 % less error than Laplace**."),
        (0.0, 0.0, [bar("laplace", 0.0)], "**Keep Laplace: nothing to gain**; optimal noise hardly matters here."),
        (2.8, 2.82, [bar("truncated-laplace", 2.9)], "**Use this noise: Laplace does not fit here**."),
        (2.8, 2.82, [], "**Use this noise: Laplace does not fit here**."),
        (
            2.0, 2.9, [bar("truncated-laplace", 2.9)],
            "**Use this noise: Laplace does not fit here**; nothing better than Truncated Laplace found, up to 32 % "
            "may remain.",
        ),
        (
            0.4, 0.6, [LAPLACE, bar("truncated-laplace", 0.6)],
            "**Switch: at least 39.9 % less error than Laplace**; nothing better than Truncated Laplace found, up to "
            "34 % may remain.",
        ),
    ],
)  # fmt: skip
def test_verdicts(lower, upper, bars, text):
    assert said(lower, upper, *bars) == text


def test_what_does_not_fit_is_not_there():
    """Neither invalid mechanisms, nor those that do not exist, nor those of infinite loss."""
    others = [bar("staircase", 0.9, valid=False), bar("gaussian", None), bar("geometric", math.inf)]
    assert said(0.989, 0.99, LAPLACE, *others) == said(0.989, 0.99, LAPLACE)
    assert "Laplace does not fit" in said(0.5, 0.6, bar("laplace", 1.0, valid=False), *others)


@pytest.mark.parametrize(
    ("loss", "noun"),
    [
        ("l1", "less error than"), ("l2", "less squared error than"), ("lp:1.5", "less |error|¹·⁵ than"),
        ("exceed:3", "less risk of an error beyond 3 people than"), ("pinball:0.2", "less pinball loss than"),
        ("table:-1=1,0=0,1=1", "less loss by the table than"),
    ],
)  # fmt: skip
def test_what_there_is_less_of(loss, noun):
    assert noun in said(0.5, 0.6, LAPLACE, problem=noise_problem(1, 1e-6, 1, loss))


def test_counts_are_judged_against_the_geometric_law():
    problem = noise_problem(1, 1e-6, granularity=1.0)
    solution, bars = solve(problem), baselines(problem)
    text = verdict.verdict(problem, solution.certificate, bars, "", 20_000)
    assert text.startswith("**Keep Geometric: less than 0.01\u202f% to gain**")
    assert "Laplace" not in verdict.comparison(solution.certificate, bars).replace("(discrete Laplace)", "")


# To whom anything may be recommended ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("delta", "people", "why"),
    [
        (0.0, None, ""), (9.99e-4, None, ""), (1e-3, None, "n is not given"), (0.2, None, "n is not given"),
        (1e-3, 1000, ""), (1e-3, 1001, "δ = 10⁻³ is more than 1/n"), (0.1, 10, ""), (0.1, 11, "is more than 1/n"),
        (1e-6, 10**6, ""), (1e-6, 10**6 + 1, "δ = 10⁻⁶ is more than 1/n"), (0.2, 1, ""),
    ],
)  # fmt: skip
def test_nothing_is_recommended_where_delta_is_too_large(delta, people, why):
    problem = noise_problem(1, delta)
    for lower, upper in ((0.5, 0.55), (0.99, 0.995), (0.5, 1.0)):
        text = said(lower, upper, LAPLACE, problem=problem, people=people)
        assert ("Compared, not recommended:" in text) == bool(why) and why in text
        assert not why or not re.search(r"Keep|Switch|Use", text)
    assert bool(verdict.delta_warning(problem, people)) == ("more than 1/n" in why)


def test_delta_above_one_in_n_in_words():
    text = verdict.delta_warning(noise_problem(1, 0.2), 194).replace("\u202f", " ")
    assert "δ = 0.2 is more than 1/n = 1/194" in text and "of about 39 of 194 people" in text
    assert not verdict.delta_warning(noise_problem(1, 0.2), None)


def promising(profile) -> NoiseProblem:
    return NoiseProblem(profile.anchor, 1.0, noise_problem(1, 0.1).loss, profile=profile)


def test_of_several_pairs_the_smallest_delta_counts():
    listed = PairList((Privacy(0.5, 0.2), Privacy(2.0, 1e-6)))
    assert verdict.smallest_delta(promising(listed)) == 1e-6
    second = noise_problem(1, 0.2, second=Privacy(3.0, 1e-5))
    assert verdict.smallest_delta(second) == 1e-5 and not verdict.objection(second, 1000)
    assert verdict.smallest_delta(promising(GaussianProfile(2.0))) == 0.0, "its δ(ε′) tends to 0"
    assert verdict.objection(promising(Composed(16, Privacy(1.0, 0.01))), None)


# Nothing but what is proved, no law that gives people away -------------------------------------------

KEYS = ["laplace", "truncated-laplace", "gaussian", "staircase", "uniform"]
BARS = {key: bar(key, 1.0) for key in KEYS}
share = st.floats(0, 1)


@given(
    st.floats(1e-9, 1e9), share, share, st.dictionaries(st.sampled_from(KEYS), st.floats(0, 3), max_size=5),
    st.sampled_from([1e-6, 0.2]), st.booleans(),
)  # fmt: skip
def test_every_figure_of_a_verdict_is_proved(best, below, above, more, delta, proved):
    """Whatever the bracket and the textbook mechanisms: shares saved are at most those that the upper bound proves,
    shares that may remain at least those that the lower bound leaves."""
    lower, upper = (best * (1 - below) if proved else None), best * (1 + above)
    losses = {key: best * (1 + extra) for key, extra in more.items()}
    bars = [Baseline(one.name, key, one.noise, losses[key], True) for key, one in BARS.items() if key in losses]
    text = verdict.verdict(noise_problem(1, delta), proof(lower, upper), bars, "").replace("\u202f", " ")
    named = {one.name.partition(",")[0]: losses[one.key] for one in bars}

    for saved, name in re.findall(r"at least ([\d.]+) % less error than (\w+)", text):
        found = re.search(r"(?:Switch to |\*\*)(\w+): at least", text)
        cost = named[found[1]] if found and found[1] in named else upper
        assert cost <= (1 - float(saved) / 100) * named[name] * (1 + 1e-8)
    for name, most in re.findall(r"(\w+): at most ([\d.]+) % to gain", text):
        assert lower >= (1 - float(most) / 100) * named[name] * (1 - 1e-8)
    for name, most in re.findall(r"(?:Switch to |\*\*)(\w+): .*at most ([\d.]+) % more to gain", text):
        assert lower >= (1 - float(most) / 100) * named[name] * (1 - 1e-8)
    for most, name in re.findall(r"(?:and|at most) ([\d.]+) % less error than (\w+)", text):
        assert (lower or 0) >= (1 - float(most) / 100) * named[name] * (1 - 1e-8)
    for name, most in re.findall(r"better than ([\w ]+) found.*up to ([\d.]+) % may remain", text):
        assert upper >= named[name] * (1 - 1e-8) and lower >= (1 - float(most) / 100) * named[name] * (1 - 1e-8)
    assert not re.search(r"(Keep|Switch to|Use) (Truncated|Uniform)", text)
    assert "simpler" not in text and text.startswith("**") and text.rstrip().endswith(".")


def test_the_comparison_is_with_what_people_use_and_the_best_that_gives_nobody_away():
    bars = [
        LAPLACE,
        bar("truncated-laplace", 0.612),
        bar("gaussian", 0.667),
        bar("gaussian-classical", 0.5, valid=False),
    ]
    text = verdict.comparison(proof(0.5587, 0.5588), bars).replace("\u202f", " ")
    assert text == (
        "Laplace noise: 1.000 (79 % more). Best of the textbook mechanisms of unbounded support, Gaussian, analytic: "
        "0.6670 (19 % more)."
    )
    assert "Laplace noise: 1.000 (1000 times as much)" in verdict.comparison(proof(9e-4, 1e-3), bars)
    assert "Laplace noise: 1.000 (2.31 × 10¹² times as much)" in verdict.comparison(proof(4e-13, 4.321e-13), bars)
    assert "nothing better was found" in verdict.comparison(proof(0.3, 0.667), bars)
    assert "the same" in verdict.comparison(proof(0.666, 0.667), bars)
    assert verdict.comparison(proof(2, 2), [bars[1]]).startswith("The only textbook mechanism that fits, Truncated Lap")
    assert not verdict.comparison(proof(1, 1), []) and not verdict.comparison(proof(0, 0), bars)


# What a release gives away --------------------------------------------------------------------------


def excluded(noise: PiecewiseNoise, shift: int) -> Fraction:
    """The probability of outputs where the law moved by `shift` units has no cell: exactly, cell by cell."""
    cells = [
        one for one in zip(noise.breaks[:-1].tolist(), noise.breaks[1:].tolist(), noise.weights.tolist()) if one[2]
    ]
    covers = [(a + shift, b + shift) for a, b, _ in cells]
    bare = Fraction(0)
    for a, b, weight in cells:
        covered = sum(max(0, min(b, end) - max(a, start)) for start, end in covers)
        bare += Fraction(weight * (b - a - covered), (b - a) * TOTAL)
    return bare


@pytest.mark.parametrize("pair", [(1.0, 0.2), (5.0, 0.25), (0.0, 0.1), (0.5, 0.5)], ids=str)
@pytest.mark.parametrize("support", [(-math.inf, math.inf), (-math.inf, 0.0)], ids=str)
def test_releases_that_exclude_a_neighbour(pair, support):
    problem = noise_problem(*pair, support=support)
    solution = solve(problem, SolverSettings(gap=0.05, time_limit=5))
    noise = solution.noise
    found = verdict.excluded_upper(problem, noise)
    place, told = verdict.told_upper(problem, noise)
    assert found + told <= solution.certificate.delta_upper * (1 + 1e-12) <= pair[1] * (1 + 1e-12)
    if isinstance(noise, PiecewiseNoise):
        shifts = {noise.resolution, 1, *np.diff(noise.breaks).tolist(), noise.resolution // 2}
        shifts = {shift for shift in shifts if 0 < shift <= noise.resolution}
        assert max(excluded(noise, sign * shift) for shift in sorted(shifts)[:40] for sign in (1, -1)) <= found
        assert Fraction(noise.atom_weight, TOTAL) <= told <= noise.atom_mass * (1 + 1e-12)
        assert place == (noise.atom_location if noise.atom_weight else 0.0)


def test_an_end_of_a_truncated_law_excludes_a_neighbour_with_probability_delta():
    noise = TruncatedLaplace.calibrate(Privacy(1.0, 0.1), 1.0)
    assert verdict.excluded_upper(noise_problem(1, 0.1), noise) == pytest.approx(0.1, rel=1e-6)
    for one in baselines(noise_problem(1, 0.1)):
        if one.key in ("laplace", "staircase", "gaussian"):
            assert verdict.excluded_upper(noise_problem(1, 0.1), one.noise) == 0


def test_an_atom_is_a_release_of_the_true_value_and_a_warning():
    problem = noise_problem(5, 0.25)
    solution = solve(problem)
    text, warning = verdict.exposure(problem, solution.noise, "people")
    assert warning and re.search(r"with probability up to \*\*0\.2[45]\d?\*\* it \*\*is the true value\*\*\.$", text)
    moved = noise_problem(1, 0.1, loss="exceed:0.5", support=(-30.0, -0.5))
    assert "**is the true value − 0.5 people**" in verdict.exposure(moved, solve(moved).noise, "people")[0]


def test_small_promises_and_whole_steps_are_no_warning():
    for problem in (SMALL, noise_problem(1, 1e-6, granularity=1.0)):
        text, warning = verdict.exposure(problem, solve(problem).noise, "")
        assert not warning and "× 10" in text and "excludes a neighbour (bounded support)" in text
    assert "is the true value**, as noise in whole steps always can be" in text
    pure = noise_problem(1, 0)
    assert verdict.exposure(pure, solve(pure).noise, "") == ("", False)


# Where it matters -----------------------------------------------------------------------------------


def test_the_savings_at_a_small_delta_are_the_staircases():
    shares = []
    for epsilon in matters.EPSILONS:
        problem = noise_problem(epsilon, 1e-6)
        laplace = next(one for one in baselines(problem) if one.key == "laplace")
        shares.append(matters.told(*matters.saved(solve(problem, matters.SETTINGS).certificate, laplace)))
    assert shares == ["1\u202f%", "4\u202f%", "15\u202f%", "59\u202f%"]


@given(share, share)
def test_a_share_in_whole_per_cent_holds_what_is_proved(one, other):
    least, most = sorted((one, other))
    text = matters.told(least, most).replace("\u202f", "")
    low, _, high = text.removesuffix("%").partition("–")
    if text.startswith("<"):
        assert most < 0.01
    elif high:
        assert float(low) <= 100 * least and 100 * most <= float(high)
    else:
        assert float(low) - 0.5 <= 100 * least and 100 * most <= float(low) + 0.5


def test_the_visitors_place_is_framed():
    known = {("laplace", epsilon): (0.5, 0.501) for epsilon in matters.EPSILONS}
    text = matters.markup(known, noise_problem(2, 0.1))
    assert text.count('class="here much"') == 1 and text.count("…") == 4
    between = matters.markup(known, noise_problem(0.7, 0.1, granularity=1.0))
    assert '<th scope="col" class="">0.7</th>' in between and '<td class="here">you</td>' in between
    assert 'class="here' not in matters.markup(known, noise_problem(0, 0.1))
    for other in (noise_problem(2, 0.1, 1, "l2"), noise_problem(2, 0.1, 3, granularity=1.0)):
        assert '<th scope="col" class="here">2</th>' in matters.markup(known, other), "its column, for want of a cell"
    assert matters.row_of(noise_problem(2, 0.1, 360.0)) == "laplace"


@pytest.mark.parametrize(
    ("problem", "settings", "told"),
    [
        (SMALL, SolverSettings(gap=0.05), ""),
        (SMALL, SolverSettings(gap=1e-5, time_limit=0.05), "0.001\u202f% asked for: the time limit of 0.05 s"),
        (GRID, SolverSettings(gap=1e-3, method="reference", cells_per_sensitivity=2), "more cells narrow them"),
        (
            noise_problem(1, 1e-3, profile=Composed(4, Privacy(1.0, 1e-3))),
            SolverSettings(gap=1e-6, time_limit=0.2),
            "what several releases reveal together",
        ),
        (
            noise_problem(1, 0.1269, profile=GaussianProfile(1.0)),
            SolverSettings(gap=1e-6, time_limit=0.3),
            "as cells become narrower",
        ),
        (
            noise_problem(1, 0.1269, loss="exceed:3.36", profile=GaussianProfile(2.45)),
            SolverSettings(time_limit=0.3),
            "what is rarer than about 10⁻¹⁶",
        ),
        (
            noise_problem(8.45, 3.63e-6, 1.0, "l2", support=(-0.1909, 7.686)),
            SolverSettings(gap=1e-5, time_limit=0.5),
            "the best noise in a support has steps far narrower",
        ),
        (noise_problem(1.13, 2.21e-6, 1.0, "table:-2=0,-0.6=0,-0.1=1,0=0,1=1", monotone=True), SolverSettings(), ""),
    ],
    ids=["closed", "time", "reference", "releases", "curve", "rare", "support", "free"],
)  # fmt: skip
def test_why_the_bounds_are_apart(problem, settings, told):
    why = verdict.why_open(solve(problem, settings))
    assert (told in why) if told else why == ""


def test_an_error_one_can_use_is_that_of_the_law_and_of_those_beside_it():
    problem = noise_problem(1, 1e-6, granularity=1)
    bars = baselines(problem)
    said = verdict.errors(bars[0].noise, bars, "patients")
    assert said == "95\u202f% of releases are within **±3 patients** (Geometric ±3)."  # P(|X| > 3) = 0.027, > 2: 0.073
