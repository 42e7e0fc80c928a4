"""What topics of the gallery say in their headlines, against numbers made here; the bounds that come later."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import expon, laplace, norm
from screens import idle
from streamlit.testing.v1 import AppTest

from dpcore import figures
from dpcore.figures import LIGHT
from dpcore.gallery import never_meet as examples
from dpcore.noise import Gaussian
from dpcore.privacy import Privacy
from pages.mechanism_gallery import work
from pages.mechanism_gallery.controls import PAGE
from pages.mechanism_gallery.topics import TOPICS, exponential_mechanism, model_selection, never_meet
from pages.shared import prose

BY_NAME = {topic.name: topic for topic in TOPICS}


def headline(name: str, **values: object) -> list[float]:
    """The numbers in bold of a topic's headline; other controls at their defaults."""
    text = BY_NAME[name].picture({**PAGE.read({})[0], **values}, LIGHT).headline
    bold = " ".join(re.findall(r"\*\*(.*?)\*\*", text)).replace("\u202f", "").replace("∞", "inf")
    return [float(number) for number in re.findall(r"inf|\d+(?:\.\d+)?", bold)]


def test_one_replaced_row_costs_the_two_largest_budgets():
    assert headline("neighbours", nb_first=0.5, nb_second=2.0, nb_third=1.0) == [2.0, 3.0]
    assert headline("neighbours", nb_release="sizes") == [math.inf]


def test_local_and_central_errors():
    a = math.exp(-0.5)
    local, central, needed = headline("local_central", epsilon=0.5, lc_people=2000)
    assert local == pytest.approx(100 * math.sqrt(a / (1 - a) ** 2 / 2000), rel=2e-3)
    assert central == pytest.approx(100 * math.sqrt(2 * a / (1 - a) ** 2) / 2000, rel=3e-3)
    assert needed == 2000**2 / 2


def test_people_for_marginals():
    """Laplace 2d/(αε); Gaussian 2√d √(2/π) σ₁/α; the better one first."""
    sigma = Gaussian.calibrate(Privacy(1.0, 1e-6), 1.0).sigma
    laplace, gaussian = 2 * 100 / 0.05, 20 * math.sqrt(2 / math.pi) * sigma / 0.05
    assert headline("marginals", mg_columns=100) == [math.ceil(gaussian), math.ceil(laplace)]
    assert headline("marginals", mg_columns=5)[0] == 2 * 5 / 0.05


def test_the_mean_by_its_gradient_is_laplace_noise():
    """Scale 2/(nε) against a normal law of variance 1/(nε); cut off far from the ends."""
    kink, parabola = headline("norm_gradient", kg_target="mean", kg_people=2000, epsilon=1.0)
    assert kink == pytest.approx(2 / 2000, rel=5e-3)
    assert parabola == pytest.approx(math.sqrt(2 / math.pi / 2000), rel=5e-3)


def test_simulated_topics_say_so_and_repeat_themselves():
    for name in ("objective_perturbation", "private_regression"):
        values = PAGE.read({})[0]
        first, again = (BY_NAME[name].picture({**values, "seed": 5}, LIGHT) for _ in range(2))
        assert first.headline == again.headline != BY_NAME[name].picture({**values, "seed": 6}, LIGHT).headline
        assert "simulated" in " ".join(first.notes) and "seed 5" in " ".join(first.notes)


def test_the_chosen_accuracy_lies_on_the_curve():
    figure = BY_NAME["objective_perturbation"].picture({**PAGE.read({})[0], "epsilon": 0.1}, LIGHT).panels[0].figure
    curve, ring = figure.data[0], next(trace for trace in figure.data if trace.name == "chosen")
    assert ring.y[0] == pytest.approx(curve.y[np.argmin(np.abs(np.array(curve.x) - 0.1))])


def test_objective_perturbation_stays_inside_the_box():
    """Drawn outcomes' exact losses lie within what the split allows."""
    for epsilon in (0.2, 3.0):
        picture = BY_NAME["objective_perturbation"].picture({**PAGE.read({})[0], "epsilon": epsilon}, LIGHT)
        figure = picture.panels[2].figure
        box = figure.layout.shapes[0]
        assert box.x1 + box.y1 == pytest.approx(epsilon)
        for trace in figure.data[:2]:
            assert np.abs(trace.x).max() <= box.x1 * (1 + 1e-9) and np.abs(trace.y).max() <= box.y1 * (1 + 1e-9)


@pytest.mark.parametrize("people", exponential_mechanism.PEOPLE)
def test_two_camps_have_one_median(people):
    """The older camp is the larger one, as the note counts it, so that 80 alone is a median."""
    values = {**PAGE.read({})[0], "em_story": "camps", "em_people": people}
    picture = BY_NAME["exponential_mechanism"].picture(values, LIGHT)
    young, old = (int(n.replace("\u202f", "")) for n in re.findall(r"([\d\u202f]+) are \d0", picture.notes[0]))
    assert young + old == people and young < old and "the median (80)" in picture.headline


def test_every_release_of_a_quantile_is_in_the_picture():
    """Also those that a careless range throws far from all data."""
    values = {**PAGE.read({})[0], "pq_range": 1_000_000, "pq_people": 20, "epsilon": 0.05}
    figure = BY_NAME["private_quantiles"].picture(values, LIGHT).panels[0].figure
    releases = next(trace for trace in figure.data if trace.name.startswith("release"))
    assert min(releases.x) > 100_000 and max(releases.x) <= figure.layout.xaxis.range[1]


def test_a_promise_with_delta_says_so():
    values = {**PAGE.read({})[0], "pr_delta": 1e-5}
    said = {rule: BY_NAME["private_regression"].picture({**values, "pr_rule": rule}, LIGHT).headline
            for rule in ("joint", "gaussian")}  # fmt: skip
    assert "δ = 10⁻⁵" in said["gaussian"] and "δ" not in said["joint"]


@pytest.mark.parametrize(
    ("ends", "few"),
    [
        ((1e-4, 30.0), "0.0001"),
        ((2.0, 3e13), "10⁸"),
        ((0.5, 0.9), "0.7"),
        ((3e-8, 2.0), "10⁻⁶"),
        ((1.21, 1.39), "1.39"),
    ],
)
def test_powers_of_ten_on_an_axis(ends, few):
    """Evenly spaced, no exponents of the computer, at most a dozen where there are many; both ends are reached."""
    axis = figures.log_ticks(*ends)
    assert few in axis["ticktext"] and not any("e" in text for text in axis["ticktext"])
    assert axis["tickvals"][0] <= ends[0] and len(axis["tickvals"]) <= 12
    if ends[1] > 300 * ends[0]:
        steps = np.diff(np.log10(axis["tickvals"]))
        assert steps == pytest.approx(steps[0]) and axis["tickvals"][-1] * 10 ** steps[0] >= ends[1]


def named(noise: str, rivals: int, ahead: float) -> float:
    """P(the leader is named), its lead in scales of the noise, by the law of the largest of its rivals."""
    if noise == "Gumbel":
        return 1 / (1 + rivals * math.exp(-ahead))
    law, low = {"Laplace": (laplace, -40), "exponential": (expon, 0)}[noise]
    x = np.linspace(low, 60, 20_001)
    return float(np.trapezoid(law.pdf(x) * law.cdf(x + ahead) ** rivals, x))


@pytest.mark.parametrize(("count", "epsilon"), [(1000, 1.0), (20, 0.5)])
def test_the_worst_leads_differ_and_probabilities_are_of_one_lead(count, epsilon):
    picture = BY_NAME["noisy_max"].picture(
        {**PAGE.read({})[0], "nm_shape": "worst", "nm_candidates": count, "epsilon": epsilon}, LIGHT
    )
    said = picture.headline.replace("*", "")
    assert "probability" not in said
    for noise in ("exponential", "Laplace", "Gumbel"):
        leads = np.linspace(0.5, 16, 63)
        gaps = np.array([lead * (1 - named(noise, count - 1, lead)) for lead in leads]) * 2 / epsilon
        found = re.search(rf"{noise}(?: noise is at worst)? ([\d.]+)(?: people .*?)?, at (?:a lead of )?([\d.]+)", said)
        assert float(found[1]) == pytest.approx(gaps.max(), rel=6e-3)
        assert float(found[2]) == pytest.approx(leads[gaps.argmax()] * 2 / epsilon, rel=0.08)
    at, told = re.search(r"; at ([\d.]+): (.*)\.$", picture.panels[1].alt).groups()
    lead, wins = float(at), {noise: float(share) for noise, share in re.findall(r"(\w+) ([\d.]+)", told)}
    assert wins == {noise: pytest.approx(100 * named(noise, count - 1, lead * epsilon / 2), abs=0.6) for noise in wins}
    assert len(wins) == 3 and wins["exponential"] >= wins["Gumbel"]


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_wheel_is_the_coin_of_the_theorem(epsilon):
    """Truth with probability 1 − p and a fair coin else, e^ε = (2 − p)/p: an answer is the truth with 1 − p/2."""
    picture = BY_NAME["randomised_response"].picture({**PAGE.read({})[0], "epsilon": epsilon}, LIGHT)
    p = float(re.search(r"p = ([\d.]+)", picture.notes[0])[1]) / 100
    assert (2 - p) / p == pytest.approx(math.exp(epsilon), rel=2e-2)
    truth = float(re.search(r"the truth with probability \*\*([\d.]+)", picture.headline)[1]) / 100
    assert truth == pytest.approx(1 - p / 2, abs=6e-4)
    story = prose.sections("mechanism_gallery/topics/randomised_response")["in 60 seconds"]
    assert "fair coin answer" in " ".join(story.replace("*", "").split()) and "opposite" not in story


def test_wider_bounds_mean_larger_errors():
    assert headline("private_regression", pr_width=5.0)[0] > 3 * headline("private_regression", pr_width=1.0)[0]


def test_bounds_stay_apart_on_the_page():
    privacy = Privacy(1.0, 0.2)
    upper, lower, truth_low, truth_high = headline("never_meet", epsilon=1.0, nm_delta=0.2)
    said = examples.proved("jump", privacy)
    assert upper == said.program_upper == 1
    assert truth_low <= said.lower <= said.upper <= truth_high
    assert said.program_lower <= lower == truth_high < 1 - privacy.delta / 2  # a lower bound is not above the truth


@pytest.mark.parametrize("example", examples.EXAMPLES)
def test_computed_bounds_keep_to_what_is_proved(example, monkeypatch):
    """Little time: the bounds get wider, not wrong."""
    monkeypatch.setattr(work, "SECONDS", 0.5)
    asked = work.Asked(example, Privacy(2.0, 0.3))
    said, found = examples.proved(example, asked.privacy), work.bounds(asked, None, progress=lambda _: False)
    assert len(found.grids) == len(work.CELLS) and len(found.relatives) == 4
    for bound in found.grids:
        assert bound.lower <= said.program_lower <= said.program_upper <= bound.upper
    for one, other in zip(found.grids, found.grids[1:]):
        assert one.lower <= other.lower and other.upper <= one.upper
    for bound in found.relatives:
        assert bound.lower <= (said.upper if example == "jump" else bound.upper)
        assert example == "jump" or said.lower <= bound.upper
    for draw in (never_meet.grids, never_meet.relatives):
        panel = draw(asked, found, LIGHT)
        assert "nan" not in panel.alt and len({len(column) for column in panel.table.values()}) == 1


def test_computing_can_be_stopped():
    found = work.bounds(work.Asked("jump", Privacy(1.0, 0.2)), None, progress=lambda _: True)
    assert len(found.grids) == 1 and found.relatives == ()


def test_the_computed_bounds_appear():
    page = AppTest.from_file("../../pages/mechanism_gallery/page.py", default_timeout=60)
    for key, value in {"topic": "never_meet", "epsilon": "3", "nm_delta": "0.3"}.items():
        page.query_params[key] = value
    page.run()
    for _ in range(100):
        assert not page.exception
        if not any("being computed" in block.value for block in page.caption):
            break
        idle(10)
        page.run()
    assert any("Finer grids do not help" in block.value for block in page.header)
    assert not page.warning


def test_the_classical_formula_against_the_least_noise():
    """δ of normal laws by SciPy: of the formula's σ, and the least σ by its root."""
    keeps = lambda sigma, e: norm.cdf(0.5 / sigma - e * sigma) - math.exp(e) * norm.cdf(-0.5 / sigma - e * sigma)  # noqa: E731
    for epsilon, delta in ((1.0, 1e-5), (0.3, 1e-3)):
        sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
        least = brentq(lambda s, e=epsilon, d=delta: keeps(s, e) / d - 1, 0.2, sigma)
        said = headline("gaussian", epsilon=epsilon, gm_delta=delta)
        assert said[:3] == [
            pytest.approx(sigma, rel=1e-3),
            round(100 * (sigma / least - 1)),
            pytest.approx(least, rel=1e-3),
        ]
    values = {**PAGE.read({})[0], "epsilon": 10.0, "gm_delta": 1e-5}
    text = BY_NAME["gaussian"].picture(values, LIGHT).headline
    sigma = math.sqrt(2 * math.log(1.25e5)) / 10
    assert "breaks its promise" in text and f"really **{prose.number(keeps(sigma, 10.0), 3)}**" in text


def test_the_formula_is_asked_about_on_both_sides():
    for number in range(12):
        asked = BY_NAME["gaussian"].asked(number)
        epsilon, delta = re.search(r"ε = ([\d.]+) and δ = 10(\S+)\.", asked.text).groups()
        delta = 10 ** int(delta.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))
        sigma = math.sqrt(2 * math.log(1.25 / delta)) / float(epsilon)
        kept = Gaussian(sigma).shortfall(float(epsilon), 1.0)
        assert asked.options[int(asked.right())] == ("needlessly much" if kept < delta else "too little")


def test_a_model_is_named_as_often_as_draws_say():
    """The headline's shares and excess against noisy scores by least squares (far from the ends of the ball)."""
    epsilon, people, columns, draws = 1.0, 1000, 3, 200_000
    said = headline("model_selection", epsilon=epsilon, ms_people=people, ms_columns=columns, seed=4)
    x, y = model_selection.core.example(100_000, columns, np.random.default_rng(4))
    x, y = x[:people], y[:people]
    every = [m for size in range(columns + 1) for m in itertools.combinations(range(columns), size)]
    scores = np.array([
        np.sum((y - x[:, m] @ np.linalg.lstsq(x[:, m], y)[0]) ** 2) + math.log(people) * len(m)
        for m in map(list, every)
    ])  # fmt: skip
    named = (scores + 2 * 4 / epsilon * np.random.default_rng(1).laplace(size=(draws, len(every)))).argmin(axis=1)
    exactly, both = (
        (named == every.index((0, 1))).mean(),
        np.isin(named, [k for k, m in enumerate(every) if {0, 1} <= {*m}]),
    )
    assert said[0] == pytest.approx(100 * exactly, abs=0.8) and said[1] == pytest.approx(100 * both.mean(), abs=0.8)
    assert said[2] == pytest.approx(np.mean(scores[named]) - scores.min(), rel=0.02)


def test_differencing_says_what_draws_say():
    rng = np.random.default_rng(2)
    noise = rng.laplace(scale=2 * 255 / 4.0, size=(2, 400_000))
    salary, error, near = headline("differencing", epsilon=4.0)
    off = np.abs(noise[0] - noise[1])
    assert salary == 62 and error == pytest.approx(off.mean(), rel=0.01)
    assert near == pytest.approx(100 * (off <= 10).mean(), abs=0.15)
    ratio = math.exp(-8.0 / 16)
    noise = rng.geometric(1 - ratio, (2, 8, 200_000)) - rng.geometric(1 - ratio, (2, 8, 200_000))
    right = ((noise[0] - noise[1]) * np.array([1, -1] * 4)[:, None] >= 0).all(axis=0).mean()
    assert headline("differencing", df_kind="counts", epsilon=8.0) == [62, pytest.approx(100 * right, abs=0.6)]


def test_the_range_of_the_blocks_against_error():
    """The chosen aggregate at the chosen range is that of the headline; a wide range spoils the clamped mean."""
    for kind in ("mean", "median", "winsorised"):
        values = {**PAGE.read({})[0], "sa_aggregate": kind, "epsilon": 5.0, "sa_blocks": 200}
        picture = BY_NAME["subsample_aggregate"].picture(values, LIGHT)
        lines = [trace for trace in picture.panels[2].figure.data if trace.mode == "lines"]
        (ring,) = (trace for trace in picture.panels[2].figure.data if trace.mode == "markers")
        said = float(re.search(r"off by \*\*([\d.]+)\*\*", picture.headline)[1])
        assert ring.y[0] == pytest.approx(said, rel=5e-3)
    clamped, _, widened = lines
    assert clamped.y[0] < widened.y[0] and clamped.y[-1] > 10 * widened.y[-1]


def test_questions_on_blocks_by_draws():
    """Noise on the mean of k values: that of a clamp to 0 … 100 at ε = 1, and of Algorithm 2 after its quartiles."""
    kinds = set()
    for number in range(12):
        asked = BY_NAME["subsample_aggregate"].asked(number)
        told = [float(word) for word in re.findall(r"\d+(?:\.\d+)?", asked.text)]
        if "quartiles" in asked.text:
            epsilon, blocks, apart = told[:3]
            reach = 4 * blocks ** (1 / 3 + 0.1) * apart
            change, spent = 2 * reach / blocks, epsilon - 2 * epsilon / 4
        else:
            change, spent = 100 / told[0], 1.0
        kinds.add("quartiles" in asked.text)
        assert asked.right() == pytest.approx(change / spent, rel=1e-9)
    assert kinds == {False, True}
