"""A phone's strip: which controls it has, and that nothing else is taken from it."""

from __future__ import annotations

import pytest

from pages.lessons import path, strip
from pages.lessons.widgets import Slider

HALF, ONE = (
    Slider("su_rate", "Sampling rate p", (0.5, 1.0), "{:g}".format),
    Slider("n", "People", (1.0, 2.0), "{:g}".format),
)
EPSILON = Slider("epsilon", "Privacy ε", (0.5, 1.0, 2.0), "{:g}".format)


class Page:
    """Where values go."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = {}

    def choose(self, values: dict[str, float]) -> None:
        self.taken |= values


def topic(name: str):
    return next(one.topic for one in path.steps() if one.topic.name == name)


def test_epsilon_comes_first_then_what_moves_the_picture():
    prior = Slider("prior", "Belief", (0.1, 0.2), "{:g}".format)
    assert strip.chosen([ONE, prior, EPSILON], topic("posterior")) == [EPSILON, prior]
    assert strip.chosen([HALF, ONE], topic("training")) == [HALF, ONE]
    assert strip.chosen([], topic("budget")) == []


def test_a_stop_is_taken_and_what_hangs_on_it_is_done():
    page, done = Page(), []
    moved = Slider("epsilon", "Privacy ε", (0.5, 1.0, 2.0), "{:g}".format, lambda: done.append(1))
    strip._move(page, [moved, ONE], [0, 2])
    assert page.taken == {"epsilon": 2.0} and done == [1]


@pytest.mark.parametrize(
    "told", [None, 3, [0], [0, 3], [2, 0], [-1, 0], [0, -1], ["0", 1], [0, 1.5], {"0": 1}, [0, 1, 2]]
)
def test_nothing_else_is_believed(told):
    page = Page()
    strip._move(page, [EPSILON, ONE], told)
    assert page.taken == {}
