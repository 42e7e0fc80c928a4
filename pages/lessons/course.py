"""A Learn page: its topics, their controls in one address, and what all of them share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pages.shared import prose
from pages.shared.address import Address, Choice, Number

from .topic import Question, Topic, Values

UNANSWERED = "–"
"""The first option of a question with options: nothing was chosen yet."""


@dataclass(frozen=True)
class Moved:
    """A topic that another page has by now; links to it lead there.

    title : of the topic.   folder : of that page.   topic : its name there.
    keys : the controls that it had here, by their keys, and what they are called there.
    """

    title: str
    folder: str
    topic: str
    keys: Mapping[str, str]


@dataclass(frozen=True)
class Course:
    """What the frame (`pages.lessons.screen`) draws.

    folder : of the page, whose topics are in its `topics`.   page : the address of all of its controls.
    examples : name → controls; a lecture begins with one of them.   note : what holds for the whole page.
    sidebar : draws the controls that the topics share; given the topic.
    given : values of the controls → the picture's, with what all topics look at; None while that is worked out.
    known : the same at once, for values whose picture is a closed form; None for others.
    moved : topics that the page had in earlier versions, by their names in links.
    """

    folder: str
    page: Address
    topics: tuple[Topic, ...]
    examples: Mapping[str, Mapping[str, object]]
    note: str
    sidebar: Callable[[Topic], None] = lambda topic: None
    given: Callable[[Topic, Values], Values | None] = lambda topic, values: values
    known: Callable[[Values], Values | None] = lambda values: values
    moved: Mapping[str, Moved] = field(default_factory=dict)

    def own(self, topic: Topic) -> dict[str, Any]:
        """The values of the controls that a topic looks at: its own, and those that all topics share."""
        others = {key for one in self.topics for key in (*one.controls, one.answer)} - topic.controls.keys()
        return {key: value for key, value in self.page.values().items() if key not in {*others, "topic"}}

    def texts(self, topic: Topic) -> dict[str, str]:
        """A topic's texts: "in 60 seconds", "theorem", "references" and those that its panels name."""
        return prose.sections(f"{self.folder}/topics/{topic.name.replace('-', '_')}")


def address(
    name: str, topics: Sequence[Topic], first: str, moved: Mapping[str, Moved] | None = None, **shared: Any
) -> Address:
    """The topic, the controls that all topics share, and each one's own.

    first : the topic of a link that names none. A visit without any link begins with its `start`.
    moved : see `Course`.
    """
    named = {one.name: one.numbered for one in topics} | {key: one.title for key, one in (moved or {}).items()}
    start = next(dict(one.start) for one in topics if one.name == first)
    return Address(name, start or None, topic=Choice(first, named), **shared, **controls_of(topics))


def controls_of(topics: Sequence[Topic]) -> dict[str, Any]:
    """The controls of all topics under their keys; a key may be shared only by equal controls."""
    found: dict[str, Any] = {}
    for topic in topics:
        for key, control in {**topic.controls, topic.answer: answer_of(topic.question)}.items():
            if found.setdefault(key, control) != control:
                raise ValueError(f"{topic.name}: another topic has a different control {key}")
    return found


def answer_of(question: Question) -> Choice | Number:
    """The control that holds the answer to a question."""
    if not question.options:
        return Number(None, linked=False)
    options = (UNANSWERED, *(str(number) for number in range(1, len(question.options) + 1)))
    return Choice(UNANSWERED, options, linked=False)
