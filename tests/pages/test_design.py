"""Lines and colours of all topics: dashes for estimates only, one colour for one role."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from dpcore import figures
from dpcore.figures import DARK, LIGHT
from pages.lessons import lines, path
from pages.lessons.topic import Picture

STEPS = path.steps()
by_topic = pytest.mark.parametrize("step", STEPS, ids=lambda step: step.topic.name)


FEWER = {"training_run": {"dr_steps": 50}}
"""Less work for the same lines."""


def pictures(step: path.Step) -> tuple[Picture, ...]:
    return _pictures(path.place(step.topic))


@cache
def _pictures(place: int) -> tuple[Picture, ...]:
    """Of a topic's first values and of every experiment, where they need no solver, and of the ends of its movement."""
    step = STEPS[place]
    topic, address = step.topic, step.course.page
    first = {**address.read({})[0], **topic.start, **FEWER.get(topic.name, {})}
    asked = [first, *({**first, **one.values} for one in topic.experiments)]
    if topic.moves is not None:
        stops = address.controls[topic.moves.key].stops
        asked += [{**first, topic.moves.key: stop} for stop in (stops[0], stops[-1])]
    if topic.work is not None:  # the ways of drawing do not depend on what is found
        asked = asked[:1]
    known = [values for values in map(step.course.known, asked) if values is not None]
    if topic.work is not None:
        known = [
            {**one, "found": topic.work.task(topic.work.asked(one), None, progress=lambda _: False)} for one in known
        ]
    return tuple(topic.picture(one, LIGHT) for one in known)


def drawn(step: path.Step) -> Iterator[tuple[str, dict]]:
    """(name, properties) of every trace, and of every shape under "", of all panels."""
    for picture in pictures(step):
        for panel in picture.panels:
            figure = panel.figure.to_plotly_json()
            yield from ((str(trace.get("name") or ""), trace) for trace in figure["data"])
            yield from (("", shape) for shape in figure["layout"].get("shapes") or ())


@by_topic
def test_a_line_is_dashed_exactly_if_its_name_says_that_it_is_an_estimate(step):
    lined = [(name, one) for name, one in drawn(step) if one.get("line") and "markers" != one.get("mode")]
    assert lined or not any("lines" in str(one.get("mode")) for _, one in drawn(step))
    for name, one in lined:
        dashed = one["line"].get("dash", "solid") != "solid"
        assert dashed == ("estimate" in name or "approximation" in name), (name, one["line"])


SAID = {
    "exponential mechanism": "exponential mechanism", "K-norm gradient": "gradient", "perturbed objective": "objective",
    "objective perturbation": "objective", "perturbed answer": "answer", "trusted curator": "curator",
    "central, Laplace noise": "curator", "central model": "curator", "randomised response": "local",
    "local model": "local", "local Laplace": "laplace", "Laplace": "laplace", "Gaussian": "gaussian",
    "database A": "A", "database B": "B", "basic": "basic", "Rényi": "renyi", "exact, certified": "exact",
}  # fmt: skip
"""How names of curves begin → their roles."""
UNCOLOURED = ("no privacy", "without privacy", "true answers")
OTHER_HUES = {"Laplace, sum by sum": "answer"}
"""One of two rules with Laplace noise in one chart."""


@by_topic
def test_a_role_has_one_colour_in_all_topics(step):
    for name, one in drawn(step):
        style = one.get("line") or {}
        hue = style.get("color") if "lines" in str(one.get("mode")) else (one.get("marker") or {}).get("color")
        if not isinstance(hue, str) or style.get("width") == 0:
            continue
        if name.startswith(UNCOLOURED):
            assert hue == LIGHT.muted, name
        role = OTHER_HUES.get(name) or next((role for begins, role in SAID.items() if name.startswith(begins)), None)
        if role is not None:
            assert hue == lines.colour(LIGHT, role), (name, role)


def test_laplace_and_gaussian_noise_have_their_colours_to_themselves():
    hues = {figures.hue(LIGHT, "laplace"): "Laplace", figures.hue(LIGHT, "gaussian"): "Gaussian"}
    roles = [role for role, key in lines.ROLES.items() if figures.hue(LIGHT, key) in hues]
    assert roles == ["clt"], "the central limit is a Gaussian"
    assert not {figures.hue(LIGHT, key) for key in lines.ORDER} & set(hues)
    kinds = {lines.colour(LIGHT, number) for number in range(len(lines.ORDER))}
    assert len(kinds) == len(lines.ORDER) and LIGHT.muted not in kinds
    assert {lines.colour(LIGHT, role) for role in lines.ROLES} <= {LIGHT.accent, *LIGHT.hues.values()}


def test_three_kinds_of_line():
    for colours in (LIGHT, DARK):
        plain, other, about = (
            lines.series(colours, "bound"), lines.reference(colours), lines.estimate(colours, "bound"),
        )  # fmt: skip
        assert "dash" not in plain and "dash" not in other and about == plain | {"dash": "dash"}
        assert other["width"] < plain["width"] and other["color"] == colours.muted
        assert lines.tint(colours, "gradient").startswith("rgba(") and lines.colour(colours, "laplace") == figures.hue(
            colours, "laplace"
        )


DECIMAL = re.compile(r"(?<![\d.])(\d{1,4}|\d{1,3}(?:\u202f\d{3})+)\.(\d+)(?![\d.])")
FINER = {
    "worst-event": "the difference 0.2658 − 2.718 × 0.06101 = 0.1 comes out",
    "privacy-loss": "the same difference",
    "never_meet": "two bounds are told apart",
}
"""Topics whose headline, notes and picture have more digits, and why."""


def long_numbers(text: str) -> list[str]:
    """Numbers with decimals and more than three significant digits; a power of ten may come of rounding up, and
    percentages near 100 are told by what is missing."""
    found = ((one.group(0), one.group(1).replace("\u202f", "") + one.group(2)) for one in DECIMAL.finditer(text))
    return [
        whole
        for whole, digits in found
        if len(digits.lstrip("0")) > 3 and not whole.startswith("99.") and digits.strip("0") != "1"
    ]


def texts(picture: Picture) -> Iterator[str]:
    """What is to be read of a picture: headline, notes, names, words and labels in it, tables but for remarks on
    how something was computed."""
    yield picture.headline
    yield from picture.notes
    for panel in picture.panels:
        figure = panel.figure.to_plotly_json()
        yield panel.title
        yield panel.alt
        for trace in figure["data"]:
            yield str(trace.get("name") or "")
            yield from map(str, np.ravel(trace.get("text") if trace.get("text") is not None else []))
        yield from (str(one.get("text")) for one in figure["layout"].get("annotations") or ())
        for name, column in panel.table.items():
            yield name
            yield from (one for one in column if isinstance(one, str) and name != "remark")


@by_topic
def test_numbers_have_three_significant_digits(step):
    if step.topic.name in FINER:
        return
    for picture in pictures(step):
        found = {one for text in texts(picture) for one in long_numbers(text)}
        assert not found
        for text in texts(picture):
            assert "e+0" not in text, text
        for panel in picture.panels:
            for trace in panel.figure.data:
                formats = re.findall(r":,?\.(\d)~?[gr]\}", trace.hovertemplate or "")
                assert all(int(digits) <= 3 for digits in formats), trace.hovertemplate


def test_a_long_number_is_found():
    assert long_numbers("it is 0.2658, 1\u202f234.5 and 12.34") == ["0.2658", "1\u202f234.5", "12.34"]
    assert not long_numbers("0.0610, 1\u202f048\u202f576, 12.3, 7.10")
