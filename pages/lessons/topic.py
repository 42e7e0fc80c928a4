"""What a topic of a Learn page declares, and what its picture is made of. Pure: no Streamlit."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from random import Random
from typing import Any, Literal, cast

import plotly.graph_objects as go

from dpcore.figures import Palette

Values = Mapping[str, Any]
"""What the page's controls hold, by key."""


@dataclass(frozen=True)
class Panel:
    """One chart.

    title : over it.   about : the section of the topic's texts that explains it (behind the "?").
    alt : the chart in words with its main numbers, for screen readers.
    table : the chart as numbers, column → values.
    square : its axes have one unit, and the panel after it stands beside it in a lecture hall.
    sent : what the browser is sent in place of the figure: itself with its states (`moving.sent`).
    """

    title: str
    figure: go.Figure
    alt: str
    table: Mapping[str, list]
    about: str = "picture"
    square: bool = False
    sent: dict[str, Any] | None = None


class _Later:
    """Stands for a panel until something of it is asked for."""

    def __init__(self, draw: Callable[[], Panel]) -> None:
        self._draw = draw

    @cached_property
    def _panel(self) -> Panel:
        return self._draw()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._panel, name)


def later(draw: Callable[..., Panel], *told: Any) -> Panel:
    """A panel below the first one, which is drawn when it is looked at: the states of a moving picture are not."""
    return cast("Panel", _Later(partial(draw, *told)))


@dataclass(frozen=True)
class Picture:
    """What a topic shows for some values of its controls.

    headline : one sentence in Markdown with its numbers in bold.
    panels : the first is the picture of the first screen; further ones, made by `later`, follow below it,
        beside each other.
    facts : what may be cited behind the headline, name → text: exact, certified, or "simulated, seed 3".
    notes : short remarks under the picture (assumptions, what is an estimate).
    """

    headline: str
    panels: tuple[Panel, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """A button: its label, and the controls it sets."""

    label: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Question:
    """A question whose answer the core computes.

    options : the answers to choose from; none if a number is asked for.
    right : computes the number of the right option (0, 1, …), or the number asked for.
    because : one sentence why, with its numbers computed as well.
    tolerance : relative error accepted of a number.   unit : of the number, shown inside its box.
    hint : after the first miss: where to look or how to begin, without the answer.
    """

    text: str
    right: Callable[[], float]
    because: Callable[[], str]
    options: tuple[str, ...] = ()
    tolerance: float = 0.02
    unit: str = ""
    hint: str = ""

    def passes(self, answer: float) -> bool:
        """The answer is right."""
        right = self.right()
        return abs(answer - right) <= (0 if self.options else self.tolerance * abs(right))


@dataclass(frozen=True)
class Work:
    """What a picture is made of, where working it out takes long: done in the background.

    task : see `pages.shared.compute`.   asked : values of the controls → the task's problem; may raise `InputError`.
    so_far : what the task has reported → what the picture is made of until the answer is there, None before there is
        enough; then the picture is drawn again and again while the task is under way.
    """

    task: Callable[..., Any]
    asked: Callable[[Values], Any]
    so_far: Callable[[Sequence[Any]], Any] | None = None


@dataclass(frozen=True)
class Moves:
    """The first panel moves while it is dragged through the stops of a control; see `moving`.

    key : of the control.   label : what a state is called, with the stop in braces.
    """

    key: str
    label: str


@dataclass(frozen=True)
class Guess:
    """A number to mark on the first chart, along one of its axes, before the curves are drawn.

    asks : for the number, in one sentence; given what the picture is made of, but for what its task finds.
    stops : places of the mark; the axis spans them while it is set.   truth : what the picture is made of → the
        number; where no axis has it (∞, or 0 on a logarithmic one) it is told beside the mark.   show : writes it.
    side : the end of a line across the chart where its name is in no curve's way.   along : "x" or "y".
    """

    asks: Callable[[Values], str]
    stops: tuple[float, ...]
    truth: Callable[[Values], float]
    show: Callable[[float], str]
    side: str = "end"
    along: Literal["x", "y"] = "y"


def decades(powers: Iterable[int], bases: Sequence[int] = (1, 2, 3, 5, 7)) -> tuple[float, ...]:
    """base·10^power, as the nearest floats."""
    return tuple(float(f"{base}e{power}") for power in powers for base in bases)


@dataclass(frozen=True)
class Sketch:
    """A curve to sketch on the first chart before it is drawn: its height at a few places.

    asks : as `Guess` has it.   places : on the x axis, from left to right.   stops : heights, which the axis spans.
    truth : what the picture is made of → the heights at the places.   where : names a place.   show : writes a height.
    """

    asks: Callable[[Values], str]
    places: tuple[float, ...]
    stops: tuple[float, ...]
    truth: Callable[[Values], Sequence[float]]
    where: Callable[[float], str]
    show: Callable[[float], str]


@dataclass(frozen=True)
class Topic:
    """One topic: a folder `topics/<name>` of its page, whose `__init__.py` ends in TOPIC = Topic(…) and whose text.md
    has its texts; `pages.lessons` says what each part is for.

    name : in the link; that of the folder, with "-" for "_" if so wished.
    moves : what the first panel moves along, where its picture is a closed form.
    guess : the prediction is a mark or a sketch on the chart, instead of one of the texts' answers.
    vary : the same question with other numbers, drawn; asked when somebody wants another one.
    section : of Awan's notes, "3.2", by which all topics of all pages are ordered; "" comes after all of them.
    start : values that a visitor who turns to the topic finds where nothing else was chosen: those that show the claim.
        Links rely on the controls' own defaults, which stay.
    controls : key → control of `pages.shared.address` or `pages.lessons.widgets`.
    sidebar : draws the controls' widgets, each with its key; given the page's address.
    picture : values and palette → what to show, in less than 0.3 s of the processor; may raise `InputError`.
    work : what takes longer; the picture finds its answer in the values, under "found".
    beside : draws something beside the picture, with Streamlit; given the address and the picture's values.
    more : draws something else below (a simulation on demand, a file to take away), with Streamlit; given the address.
    """

    name: str
    title: str
    controls: Mapping[str, Any]
    sidebar: Callable[[Any], None]
    picture: Callable[[Values, Palette], Picture]
    experiments: tuple[Experiment, Experiment, Experiment]
    question: Question
    section: str
    work: Work | None = None
    start: Mapping[str, Any] = field(default_factory=dict)
    moves: Moves | None = None
    guess: Guess | Sketch | None = None
    vary: Callable[[Random], Question] | None = None
    beside: Callable[[Any, Values], None] | None = None
    more: Callable[[Any], None] | None = None

    @property
    def order(self) -> tuple[tuple[int, ...], str]:
        """By section, and within one by name."""
        return tuple(map(int, self.section.split("."))) if self.section else (1000,), self.name

    @property
    def numbered(self) -> str:
        """The title with the section."""
        return f"{self.section} {self.title}".strip()

    def asked(self, number: int) -> Question:
        """The question of the `number`-th round: the first one is the same for all."""
        return self.question if self.vary is None or number == 0 else self.vary(Random(f"{self.name} {number}"))

    @property
    def answer(self) -> str:
        """The key of the control that holds the answer to the question."""
        return f"{self.name}_answer"


def gathered(package: str) -> tuple[Topic, ...]:
    """The topics in the folders of a package, by their sections."""
    names = [one.name for one in pkgutil.iter_modules(import_module(package).__path__)]
    return tuple(sorted((import_module(f"{package}.{name}").TOPIC for name in names), key=lambda topic: topic.order))
