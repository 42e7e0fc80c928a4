"""Pictures that move: every state is the still picture of its value, and all of them are small enough to send."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import plotly.graph_objects as go
import pytest

from dpcore.figures import LIGHT
from pages.lessons import moving, path
from work.question import Question

STEPS = [step for step in path.steps() if step.topic.moves is not None]
by_topic = pytest.mark.parametrize("step", STEPS, ids=lambda step: step.topic.name)
MOST = 1_500_000
"""Characters of a figure with all of its states."""


def found(step: path.Step) -> moving.Moving:
    return _found(step.place.name, step.topic.name)


@cache
def _found(folder: str, topic: str) -> moving.Moving:
    asked = moving.Asked(folder, topic, (), False, 14)
    return moving.states(asked, None, progress=lambda _: False)


def still(step: path.Step, number: int):
    course, moves = step.course, step.topic.moves
    values = course.known({**course.page.read({})[0], moves.key: course.page.controls[moves.key].stops[number]})
    return step.topic.picture(moving.worked_out(step.topic, values, lambda _: False), LIGHT)


def shown(traces) -> list[dict]:
    """What of some traces is seen: names, places and texts."""
    seen = []
    for trace in traces:
        if trace.get("visible") is not False:
            told = {key: trace.get(key) for key in ("type", "name", "text", "line", "fill")}
            seen.append(told | {key: moving.single(trace[key]) if key in trace else None for key in "xy"})
    return seen


def same(one, other) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return (list(one) == list(other)) if isinstance(one, list | tuple) else one == other
    if len(one) != len(other):
        return len(one) < len(other)  # a line without the points that it passes through anyway: see `lines_agree`
    size = np.nanmax(np.abs(other), initial=0.0) if len(other) else 0.0
    return np.allclose(one, other, rtol=1e-6, atol=1e-6 * size, equal_nan=True)


def lines_agree(state: list[dict], before: list[dict]) -> None:
    """Lines that were thinned pass where the still ones do, at every place of those."""
    for one, other in zip(sorted(state, key=name_of), sorted(before, key=name_of)):
        if one["x"] is not None and len(one["x"]) != len(other["x"]):
            x, y = other["x"], other["y"]
            jump = np.isin(x, x[1:][np.diff(x) <= 1e-6 * np.ptp(x)]) | np.isin(
                x, x[:-1][np.diff(x) <= 1e-6 * np.ptp(x)]
            )
            fine = np.isfinite(y) & ~jump
            off = np.abs(np.interp(x, one["x"], one["y"]) - y)[fine]
            assert off.max(initial=0) <= 2e-3 * np.ptp(y[fine]), one["name"]


def name_of(trace: dict) -> tuple[str, str]:
    return str(trace["type"]), str(trace["name"])


@by_topic
def test_every_state_is_the_still_picture_of_its_value(step):
    moved, stops = found(step), step.course.page.controls[step.topic.moves.key].stops
    assert 30 <= len(stops) <= 60 and len(moved.frames) == len(moved.headlines) == len(stops)
    for number in (0, len(stops) // 3, len(stops) - 1):
        expected = still(step, number)
        assert moved.headlines[number] == expected.headline
        data, layout = moved.frames[number]
        state = shown({**one, **rest} for one, rest in zip(moved.traces, data))
        before = shown(expected.panels[0].figure.to_plotly_json()["data"])
        assert sorted(map(name_of, state)) == sorted(map(name_of, before))
        for one, other in zip(sorted(state, key=name_of), sorted(before, key=name_of)):
            assert all(same(one[name], other[name]) for name in one), (one["name"], number)
        lines_agree(state, before)
        plain = expected.panels[0].figure.layout.to_plotly_json()
        assert {name: value for name, value in {**moved.layout, **layout}.items() if value is not None} == plain


FOLLOW = {
    "additive_noise", "differencing", "empirical_risk", "exponential_mechanism", "noisy_max", "norm_gradient",
    "neighbours", "renyi", "subsample_aggregate", "inference",
}  # fmt: skip
"""Topics whose axes follow: from one end to the other what is drawn grows a hundredfold."""


@by_topic
def test_axes_stay_where_they_are_while_the_picture_moves(step):
    """Their ranges are the same in all states, or follow from data that are."""
    moved = found(step)
    if step.topic.name in FOLLOW:
        return
    for number, (data, layout) in enumerate(moved.frames):
        assert not {"xaxis", "yaxis"} & set(layout), number
        for name in "xy":
            if "range" in moved.layout[f"{name}axis"]:
                continue
            every = [{**one, **rest}.get(name) for one, rest in zip(moved.traces, data)]
            ends = [(min(one), max(one)) for one in map(_finite, every) if len(one)]
            if number == 0:
                first = {}
            first.setdefault(name, (min(low for low, _ in ends), max(high for _, high in ends)))
            assert (min(low for low, _ in ends), max(high for _, high in ends)) == pytest.approx(first[name]), number


def _finite(values) -> list[float]:
    values = [] if values is None else moving.single(values)
    return [float(one) for one in values if one is not None and np.isfinite(one)]


@by_topic
def test_all_states_together_are_small(step):
    moved, stops = found(step), step.course.page.controls[step.topic.moves.key].stops
    labels = list(map(step.topic.moves.label.format, stops))
    sent = moving.sent(still(step, 3).panels[0].figure, moved, 3, labels, LIGHT)
    assert len(json.dumps(sent, allow_nan=False)) <= MOST
    figure = go.Figure(sent)  # Plotly knows all of it
    assert figure.layout.sliders[0].active == 3 and len(figure.frames) == len(figure.layout.sliders[0].steps)


def test_traces_that_come_and_go_are_hidden_in_the_others():
    drawn = [
        go.Figure([{"x": [0, 1], "y": [1, 2], "name": "a"}], {"title": {"text": "one"}}),
        go.Figure([{"x": [0, 1], "y": [1, 3], "name": "a"}, {"x": [2], "y": [2], "name": "b = 2"}]),
        go.Figure([{"x": [5], "y": [5], "name": "b = 3"}]),
    ]  # fmt: skip
    moved = moving.joined([one.to_plotly_json() for one in drawn], ["1", "2", "3"])
    assert [one["name"] if "name" in one else None for one in moved.traces] == ["a", None]
    states = [shown({**one, **rest} for one, rest in zip(moved.traces, data)) for data, _ in moved.frames]
    assert [[trace["name"] for trace in state] for state in states] == [["a"], ["a", "b = 2"], ["b = 3"]]
    assert moved.frames[1][1] == {"title": None} or "title" in moved.frames[1][1]


def test_equal_questions_have_equal_states():
    asked = moving.Asked("composition", "subsampling", (("su_rate", 0.1),), False, 14)
    assert Question(moving.states, asked, None) == Question(moving.states, asked, None)
    assert Question(moving.states, asked, None) != Question(
        moving.states, moving.Asked("composition", "subsampling", (("su_rate", 0.2),), False, 14), None
    )
