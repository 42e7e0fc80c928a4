"""Draws that fall one by one: every state shows the first draws of the last, over what is expected of so many."""

from __future__ import annotations

from collections import Counter

import numpy as np
import plotly.graph_objects as go
import pytest

from dpcore.figures import LIGHT
from pages.lessons import path, piles
from pages.lessons.topic import Panel
from pages.what_epsilon_means.topics import game

PANELS = {"randomised_response": 1, "central_limit": 1, "local_central": 1, "game": 2}
"""Topics whose draws are watched, and which panel it is."""
MOST = 300_000
"""Characters of a figure with all of its states."""
by_topic = pytest.mark.parametrize("topic", PANELS)


def panel(topic: str, **values: object) -> Panel:
    step = next(one for one in path.steps() if one.topic.name == topic)
    known = step.course.known({**step.course.page.read({})[0], **values})
    return step.topic.picture(known, LIGHT).panels[PANELS[topic]]


def marked(trace) -> bool:
    return trace.type == "scatter" and trace.mode == "markers"


def dots(traces) -> list[tuple[float, float]]:
    """Places of all dots that are seen."""
    found = [np.column_stack([np.asarray(one.x, dtype=float), np.asarray(one.y, dtype=float)]) for one in traces]
    return [tuple(map(float, np.float32(one))) for part in found for one in part if np.isfinite(one).all()]


def test_cells_are_exact_sums_of_neighbours(rng=np.random.default_rng(5)):
    for count in (2, 3, 7, 40, 41, 200, 1001):
        at, masses = 0.3 + 0.25 * np.arange(count), rng.dirichlet(np.ones(count))
        edges, parts = piles.cells(at, masses)
        assert len(parts) <= piles.CELLS + 1 and len(edges) == len(parts) + 1
        inside = [masses[(at > low) & (at < high)].sum() for low, high in zip(edges, edges[1:])]
        assert parts == pytest.approx(inside, rel=1e-12)
        assert masses[(at < edges[0]) | (at > edges[-1])].max(initial=0) <= 1e-3 * masses.max()


def test_a_dot_lies_on_those_that_fell_before(rng=np.random.default_rng(6)):
    draws, edges = rng.normal(size=300), np.linspace(-2, 2, 12)
    x, height = piles.heights(draws, edges)
    below: Counter = Counter()
    for draw, middle, rank in zip(draws, x, height):
        cell = int(np.floor((draw + 2) / (4 / 11)))
        if not 0 <= cell < 11:
            assert np.isnan(middle) and np.isnan(rank)
            continue
        below[cell] += 1
        assert rank == below[cell] and middle == pytest.approx(-2 + (cell + 0.5) * 4 / 11)


def states(figure: go.Figure) -> list[go.Frame]:
    """The states on the way, as Plotly reads and checks them."""
    return [go.Frame(frame.to_plotly_json()) for frame in figure.frames]


@by_topic
def test_every_state_shows_so_many_of_the_draws(topic):
    figure = panel(topic).figure
    last = [trace for trace in figure.data if marked(trace)]
    names = [step.label for step in figure.layout.sliders[0].steps]
    assert len(names) == len(states(figure)) <= 60
    assert len(figure.to_json()) <= MOST
    before: set[tuple[float, float]] = set()
    each = len(last) if topic == "local_central" else 1  # releases of either kind fall together
    for frame, name in zip(states(figure), names):
        fallen = int(name.split()[0].replace("\u202f", ""))
        found = dots([data for data, trace in zip(frame.data, frame.traces) if marked(figure.data[trace])])
        assert len(found) == each * fallen or topic in ("randomised_response", "central_limit")
        assert len(found) >= each * 0.97 * fallen - 1  # where a law has ends, a few draws lie beyond what is seen
        assert before <= set(found)
        before = set(found)
    assert sorted(before) == sorted(dots(last))


@pytest.mark.parametrize(("topic", "axis", "count"), [("randomised_response", "y", 200), ("central_limit", "x", 100)])
def test_what_is_expected_grows_with_the_dots(topic, axis, count):
    figure = panel(topic).figure
    whole = np.asarray(figure.data[0][axis], dtype=float)
    for frame, step in zip(states(figure), figure.layout.sliders[0].steps):
        share = int(step.label.split()[0]) / count
        assert np.asarray(frame.data[0][axis], dtype=float) == pytest.approx(share * whole, rel=1e-5)


def test_simulated_shares_follow_the_exact_law():
    """Of 200 surveys the cells hold what is expected of them: χ² far from any doubt."""
    figure = panel("randomised_response", seed=7).figure
    bars, fallen = figure.data[0], figure.data[1]
    counts = np.array([np.sum(np.abs(np.asarray(fallen.x) - x) < 1e-9) for x in bars.x])
    expected = np.asarray(bars.y, dtype=float)
    large = expected >= 4
    statistic = float((((counts - expected) ** 2) / expected)[large].sum())
    assert large.sum() > 8 and statistic < 3 * large.sum()


def test_the_machine_is_not_watched_at_the_rounds_that_are_played():
    """Nobody reads an answer off the picture."""
    played = panel("game", guesses="").figure
    released = {round(float(x), 9) for trace in played.data for x in trace.customdata}
    step = next(one for one in path.steps() if one.topic.name == "game")
    law = step.course.known(step.course.page.read({})[0])["law"]
    asked, _ = game.rounds(law.noise, 1, game.MOST)
    assert released.isdisjoint(round(float(x), 9) for x in asked)
