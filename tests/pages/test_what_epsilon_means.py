"""The page "What ε and δ mean" under AppTest, with the real core; its pictures as pure functions."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import laplace, norm
from screens import ROOT, settle, words
from streamlit.testing.v1 import AppTest

from dpcore.accounting import attack
from dpcore.accounting.curves import group_privacy
from dpcore.accounting.tradeoff import gaussian_guarantee
from dpcore.figures import DARK, LIGHT
from dpcore.noise import Laplace
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from pages.lessons.topic import Picture
from pages.shared import prose
from pages.what_epsilon_means import laws
from pages.what_epsilon_means.controls import COURSE, PAGE, PRESETS
from pages.what_epsilon_means.topics import TOPICS, game

NAMES = [topic.name for topic in TOPICS]


def visit(**address: str) -> AppTest:
    page = AppTest.from_file(str(ROOT / "pages/what_epsilon_means/page.py"), default_timeout=60)
    for key, value in address.items():
        page.query_params[key] = value
    return settle(page.run())


def headline(page: AppTest) -> str:
    found = next(block.value for block in page.markdown if "**" in block.value and "60 seconds" not in block.value)
    return found.replace("\u00a0", " ")


def law_of(key: str, privacy: Privacy) -> laws.Law:
    if key != "optimal":
        return laws.closed_form(key, privacy)
    return laws.Law("optimal", solve(laws.problem(privacy), laws.SETTINGS).noise, privacy)


# The page ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("topic", NAMES)
def test_every_topic_has_its_texts_and_is_drawn(topic):
    page = visit(topic=topic)
    assert not page.error and "In 60 seconds" in words(page)
    parts = COURSE.texts(next(one for one in TOPICS if one.name == topic))
    assert len(parts["in 60 seconds"].split()) <= 120 and "Awan" in parts["theorem"] + parts["references"]
    assert page.title[0].value == next(one.numbered for one in TOPICS if one.name == topic)
    assert len([button for button in page.button if button.key.startswith("step_")]) == 3


@pytest.mark.parametrize("mechanism", list(laws.NAMES))
def test_every_mechanism(mechanism):
    page = visit(topic="tradeoff", mechanism=mechanism, epsilon="1", delta="0.1", alpha="0.05")
    assert not page.error
    missed = 100 * float(law_of(mechanism, Privacy(1.0, 0.1)).tight.tradeoff(0.05))
    shown = float(re.search(r"at least \*\*([\d.]+)", headline(page)).group(1))
    assert shown == math.floor(10 * missed + 1e-9) / 10, "three digits, rounded down"


def test_the_headline_has_the_published_delta():
    """Gaussian noise calibrated to (1, 0.1): at ε′ = ε the worst event's surplus is δ = 0.1."""
    assert headline(visit()).endswith("δ = **0.1** is left.")


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.1), (2.0, 0.01)])
def test_the_probability_of_large_losses_is_not_delta(epsilon, delta):
    """Gaussian noise, its deviation and both probabilities from normal distribution functions alone."""
    above = lambda sigma: [norm.cdf(0.5 / sigma - epsilon * sigma - shift / sigma) for shift in (0, 1)]  # noqa: E731
    surplus = lambda sigma: above(sigma)[0] - math.exp(epsilon) * above(sigma)[1]  # noqa: E731
    own, other = above(brentq(lambda sigma: surplus(sigma) - delta, 0.1, 100, xtol=1e-14))
    page = visit(topic="privacy-loss", mechanism="gaussian", epsilon=repr(epsilon), delta=repr(delta))
    assert float(re.search(r"with probability \*\*([\d.]+)", headline(page))[1]) == pytest.approx(own, rel=5e-3)
    note = next(block.value for block in page.caption if "That probability is not δ" in block.value)
    numbers = [float(number) for number in re.findall(r"\d+\.\d+", note)]
    assert numbers == pytest.approx([other, own, math.exp(epsilon), other, delta], rel=3e-3) and own > 2 * delta


def test_the_score_survives_reruns_and_is_in_no_link():
    page = visit(topic="game", mechanism="laplace", seed="3")
    for letter in "ABBA":
        page.button(key=f"guess_{letter}").click().run()
        assert re.search(r"It was \*\*[AB]\*\*: (right|wrong)", words(page))
        page.button(key="next_round").click().run()
        assert "It was **" not in words(page)
    first = headline(page)
    assert "after 4 rounds" in first and page.query_params.keys() == {"topic", "mechanism", "seed"}
    page.selectbox(key="topic").set_value("posterior").run()
    page.selectbox(key="topic").set_value("game").run()
    assert headline(page) == first
    old = visit(topic="game", mechanism="laplace", seed="3", guesses="ABBA")
    assert "after" not in headline(old) and not old.info and "guesses" not in old.query_params
    page.selectbox(key="mechanism").set_value("gaussian").run()
    assert "after" not in headline(page)  # another mechanism, a new game


def test_experiments_and_presets_are_valid_controls():
    for topic in TOPICS:
        for one in topic.experiments:
            for key, value in one.values.items():
                control = PAGE.controls[key]
                assert control.read(control.write(value)) == value
    for values in PRESETS.values():
        for key, value in values.items():
            assert PAGE.controls[key].read(PAGE.controls[key].write(value)) == value


def test_one_click_experiments_change_the_picture():
    page = visit(topic="renyi")
    before = headline(page)
    page.button(key="step_1").click().run()
    assert headline(settle(page)) != before
    page.button(key="turn_1").click().run()
    assert page.title[0].value == "13 Errors of the best test"


def test_a_hostile_link_is_not_understood_but_noted():
    page = visit(topic="<script>", mechanism="x", epsilon="-1", delta="nan", guesses="ABC", seed="1e9", prior="2")
    assert not page.exception and page.selectbox(key="mechanism").value == "gaussian"
    assert "Not understood" in words(page)


# Pictures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("topic", TOPICS, ids=NAMES)
@settings(max_examples=12)
@given(data=st.data())
def test_every_picture_bears_what_a_link_may_say(topic, data):
    values = {key: PAGE.default(key) for key in PAGE.controls}
    for key, control in topic.controls.items():
        if hasattr(control, "stops"):
            values[key] = data.draw(st.sampled_from(control.stops))
    epsilon = data.draw(st.sampled_from(PAGE.controls["epsilon"].stops))
    delta = data.draw(st.sampled_from(PAGE.controls["delta"].stops))
    key = data.draw(st.sampled_from([key for key in laws.NAMES if key != "optimal"]))
    law = laws.closed_form(key, Privacy(epsilon, delta))
    picture = topic.picture({**values, "law": law}, data.draw(st.sampled_from([LIGHT, DARK])))
    assert "nan" not in picture.headline and picture.panels[0].alt
    for panel in picture.panels:
        assert len({len(column) for column in panel.table.values()}) == 1
        assert panel.about in COURSE.texts(topic)


@pytest.mark.parametrize("topic", TOPICS, ids=NAMES)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.1), (5.0, 0.5), (0.1, 0.01)])
def test_pictures_of_solved_noise(topic, epsilon, delta):
    values = {key: PAGE.default(key) for key in PAGE.controls}
    picture = topic.picture({**values, "law": law_of("optimal", Privacy(epsilon, delta))}, LIGHT)
    assert "nan" not in picture.headline


# Numbers, against distribution functions and sums written down here ------------------------------------


def distribution(key: str, epsilon: float, delta: float):
    """P(noise ≤ x) of a mechanism from the literature at sensitivity 1."""
    if key == "laplace":
        return laplace(scale=1 / epsilon).cdf
    if key == "gaussian":
        surplus = lambda s: norm.cdf(0.5 / s - epsilon * s) - math.exp(epsilon) * norm.cdf(-0.5 / s - epsilon * s)  # noqa: E731
        return norm(scale=brentq(lambda s: surplus(s) - delta, 0.05, 1000, xtol=1e-14)).cdf
    end = math.log1p(math.expm1(epsilon) / (2 * delta)) / epsilon
    whole, left = laplace(scale=1 / epsilon), laplace(scale=1 / epsilon).cdf(-end)
    return lambda x: np.clip((whole.cdf(x) - left) / (1 - 2 * left), 0, 1)


def masses(cdf, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the cells between edges for the answers 0 and 1."""
    return tuple(np.diff(np.concatenate([[0], cdf(edges - answer), [1]])) for answer in (0, 1))


def surplus(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """sup over events of p − e^ε q."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


FINE = np.arange(-40, 41, 1e-4)
CLOSED = [("gaussian", 1.0, 0.1), ("truncated-laplace", 1.0, 0.1), ("laplace", 2.0, 0.1), ("gaussian", 3.0, 0.01)]


def drawn(topic: str, key: str, epsilon: float, delta: float, **values: object) -> Picture:
    """The topic's picture of a mechanism, controls at their defaults or as given."""
    known = {name: PAGE.default(name) for name in PAGE.controls} | {"law": law_of(key, Privacy(epsilon, delta))}
    return TOPICS[NAMES.index(topic)].picture({**known, **values}, LIGHT)


def bold(text: str) -> list[str]:
    return re.findall(r"\*\*(.*?)\*\*", text.replace("\u202f", ""))


def test_after_rounding_both_directions_are_said():
    """At (1, .1) δ(.5) of Gaussian noise stays .206 one way, however much it falls the other way."""
    said = headline(visit(topic="processing")).replace("\u202f", "")
    assert "δ(0.5) goes from **0.207** to **0.125** (0 against 1) and **0.206** (1 against 0)" in said
    assert "from **67.7%** to **66.1%**" in said


@pytest.mark.parametrize(("key", "epsilon", "delta"), CLOSED)
@pytest.mark.parametrize(("step", "width"), [(2.0, 10.0), (1.5, 2.0), (0.75, 10.0), (1.0, 0.5), (5.0, 10.0)])
def test_both_directions_after_processing(key, epsilon, delta, step, width):
    """Rounded values k·step hold what lies within half a step, the outermost ones all that lies beyond the clamps."""
    low, high = (0.5 - width, 0.5 + width) if width < 10 else (-60, 61)
    edges = np.array([e for e in (np.arange(-2000, 2000) + 0.5) * step if low <= e < high])
    p, q = masses(distribution(key, epsilon, delta), edges)
    for share in (0.0, 0.3, 0.5, 1.0):
        text = drawn("processing", key, epsilon, delta, step=step, width=width, compare=share).headline
        shown = [float(number.removesuffix("%").replace("10⁻⁵", "1e-5")) for number in bold(text)]
        expected = surplus(p, q, share * epsilon), surplus(q, p, share * epsilon)
        assert shown[1] == pytest.approx(expected[0], rel=5e-3, abs=1e-12)
        assert shown[-3] == pytest.approx(expected[1], rel=5e-3, abs=1e-12)
        assert shown[-1] == pytest.approx(50 + 50 * surplus(p, q, 0.0), rel=5e-3)
        assert ("against" in text) == (shown[1] != shown[-3])


@pytest.mark.parametrize(("key", "epsilon", "delta"), CLOSED)
def test_one_quantity_has_one_text_in_all_topics(key, epsilon, delta):
    """δ(ε/2), the best attacker's share and P{loss > ε}, to the three digits that are shown."""
    event, processed, game, loss, belief = (
        drawn(topic, key, epsilon, delta, probe=0.5, compare=0.5)
        for topic in ("worst-event", "processing", "game", "privacy-loss", "posterior")
    )
    p, q = masses(distribution(key, epsilon, delta), FINE)
    worst, before = bold(event.headline)[2], bold(processed.headline)[0]
    assert worst == before and float(worst) == pytest.approx(surplus(p, q, epsilon / 2), rel=5e-3)
    assert any(trace.name == f"area δ(ε′) = {worst}" for trace in event.panels[0].figure.data)
    best, also = bold(game.headline)[0], bold(processed.headline)[-2]
    assert best == also and float(best[:-1]) == pytest.approx(50 + 50 * surplus(p, q, 0.0), abs=0.06)
    if key != "laplace":
        often = bold(loss.headline)[0]
        assert f"with probability {often} " in belief.notes[0]
        assert float(often) == pytest.approx(float(p[p > math.exp(epsilon) * q * (1 + 1e-6)].sum()), rel=5e-3)


@pytest.mark.parametrize(
    ("key", "epsilon", "delta"), [*CLOSED, ("gaussian", 0.5, 1e-5), ("truncated-laplace", 0.5, 0.01)]
)
def test_groups_compare_at_one_delta(key, epsilon, delta):
    """At the formula's δ, δ(1 + e^ε + …), exact ε by sums never exceed kε; at one person's δ they are another row."""
    delta = 0.0 if key == "laplace" else delta
    table = drawn("groups", key, epsilon, delta or 0.1).panels[1].table
    names = [name for name in table if name.startswith("exact")]
    assert ("exact ε at the formula's δ" in names) and len(names) == (2 if delta else 1)
    assert all(f"at δ = {prose.delta_text(delta)}" in name for name in names[1:])
    cdf, cells = distribution(key, epsilon, delta), np.arange(-60, 61, 1e-3)
    for k in (1, 2, 3, 5, 10):
        row = {name: column[k - 1] for name, column in table.items()}
        bound = delta * sum(math.exp(i * epsilon) for i in range(k))
        p, q = (np.diff(cdf(cells - moved)) for moved in (0, k))
        for name, allowed in zip(names, (bound, delta)):
            if row[name] == "none":
                assert bound >= 1 or surplus(p, q, 600.0) > allowed
                continue
            shown = float(row[name])
            assert surplus(p, q, shown * 1.006) <= allowed * 1.001 + 1e-9
            assert shown < 1e-9 or surplus(p, q, shown * 0.994) > allowed * 0.999 - 1e-9
        if bound < 1:
            assert float(row["exact ε at the formula's δ"]) <= float(row["kε by the formula, at its δ"]) * (1 + 1e-2)
            assert float(row["kε by the formula, at its δ"]) == pytest.approx(k * epsilon, rel=5e-3)
        else:
            assert row["kε by the formula, at its δ"] == row["exact ε at the formula's δ"] == "none"


@pytest.mark.parametrize(("key", "size"), [("truncated-laplace", 2), ("gaussian", 2), ("optimal", 2)])
def test_the_formula_for_groups_is_never_below_the_truth(key, size):
    """For two people the walk is exact for truncated Laplace noise of (1, .1): the same number, so the same text."""
    formula, exact = bold(drawn("groups", key, 1.0, 0.1, size=size).headline)
    bound = 0.1 * (1 + math.e)
    assert float(re.search(r"\(2, ([\d.]+)\)", formula)[1]) == pytest.approx(bound, abs=6e-4)
    assert float(exact) <= float(re.search(r"\(2, ([\d.]+)\)", formula)[1])
    if key != "optimal":
        p, q = (np.diff(distribution(key, 1.0, 0.1)(FINE - moved)) for moved in (0, size))
        assert float(exact) == pytest.approx(surplus(p, q, 2.0), abs=6e-4)


@pytest.mark.parametrize("key", ["gaussian", "laplace"])
def test_the_gaussian_curve_is_the_curve_or_nowhere_above_it(key):
    picture = drawn("tradeoff", key, 1.0, 0.1)
    lines = {trace.name.partition(",")[0]: trace for trace in picture.panels[0].figure.data if trace.name}
    curve, mu = lines["trade-off function"], re.search(r"μ = ([\d.]+)", picture.notes[0])[1]
    misses = np.array(curve.y) - norm.cdf(norm.isf(np.array(curve.x)) - float(mu))
    assert "G<sub>μ</sub>" in lines and float(mu) == float(bold(picture.headline)[-1])
    if key == "gaussian":
        assert "is the curve itself" in picture.notes[0] and "below" not in picture.notes[0]
        assert np.abs(misses).max() < 5e-4
    else:
        assert "nowhere above the curve and touches it" in picture.notes[0]
        assert misses.min() > -1e-6 and misses[(np.array(curve.x) > 0.2) & (np.array(curve.x) < 0.4)].min() < 5e-3


def test_the_game_is_fair_and_its_machine_plays_by_likelihood():
    law = laws.closed_form("laplace", Privacy(1.0, 0.1))
    released, from_a = game.rounds(law.noise, 5, 2000)
    assert (game.rounds(law.noise, 5, 7)[0] == released[:7]).all()
    nearer = np.abs(released) < np.abs(released - 1)  # Laplace: the nearer answer is the likelier one
    assert game.machine(law.noise, released, from_a).sum() == (nearer == from_a).sum()
    share = (nearer == from_a).mean()
    assert share == pytest.approx(attack.success(law.noise, sensitivity=1.0), abs=4 * math.sqrt(0.25 / 2000))


def test_numbers_of_the_pictures_are_the_cores():
    values = {key: PAGE.default(key) for key in PAGE.controls}
    law = laws.closed_form("truncated-laplace", Privacy(1.0, 0.01))
    topics = dict(zip(NAMES, TOPICS))
    text = topics["groups"].picture({**values, "law": law, "size": 3}, LIGHT).headline
    assert f"{group_privacy(law.privacy, 3)[1]:.4f}"[:5] in text
    assert "none" in topics["renyi"].picture({**values, "law": law}, LIGHT).headline
    mu = gaussian_guarantee(Laplace(1.0), sensitivity=1.0).mu
    laplace = laws.closed_form("laplace", Privacy(1.0, 0.1))
    shown = float(bold(topics["tradeoff"].picture({**values, "law": laplace}, LIGHT).headline)[-1])
    assert mu <= shown < mu + 0.01, "three digits, rounded up"


def test_a_large_delta_is_said_to_be_there_to_be_seen():
    said = lambda delta: " ".join(  # noqa: E731
        one.value for one in visit(topic="worst-event", mechanism="gaussian", delta=delta).caption
    )
    assert "with more than 10 people it may give whole rows away" in said("0.1")
    assert "Large, so that" not in said("1e-05")
