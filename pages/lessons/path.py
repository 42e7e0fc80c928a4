"""The running order of all topics of the Learn pages: by the sections of Awan's notes, whichever page they are on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module

import streamlit as st

from pages.registry import PAGES, Page
from pages.shared import travel

from .course import Course, Moved
from .topic import Topic


@dataclass(frozen=True)
class Step:
    """A topic and where it is."""

    place: Page
    course: Course
    topic: Topic

    def values(self) -> dict[str, object]:
        """The controls that turning to the topic sets: where nothing else was chosen, those that show its claim."""
        address = self.course.page
        kept = address.kept()
        untouched = all(kept[key] == address.default(key) for key in self.topic.start)
        return {"topic": self.topic.name} | (dict(self.topic.start) if untouched else {})

    def turn(self, here: Course) -> None:
        """Turn to the topic from a page of the path (a callback); to another page by `travel.turned`."""
        if self.course is here:
            here.page.show(self.values())
        else:
            values = carried(here, self.course) | self.values()
            travel.later(self.place, self.course.page.enter(values))


@cache
def steps() -> tuple[Step, ...]:
    """The steps of the whole path."""
    places = [page for page in PAGES if page.menu == "Learn"]
    courses = [(page, import_module(f"pages.{page.name}.controls").COURSE) for page in places]
    found = [Step(place, course, topic) for place, course in courses for topic in course.topics]
    return tuple(sorted(found, key=lambda step: step.topic.order))


def place(topic: Topic) -> int:
    """Where a topic stands in the path, from 0 on."""
    return next(number for number, step in enumerate(steps()) if step.topic is topic)


def beside(topic: Topic) -> tuple[Step | None, Step | None]:
    """The steps before and after a topic; None at the ends."""
    here, path = place(topic), steps()
    return path[here - 1] if here else None, path[here + 1] if here + 1 < len(path) else None


def carried(course: Course, other: Course) -> dict[str, object]:
    """The values that both pages have in a control of the same name and kind: ε stays when the topic changes."""
    ours, theirs = course.page.controls, other.page.controls
    return {key: course.page[key] for key in ours.keys() & theirs.keys() if ours[key] == theirs[key]}


def follow(course: Course, moved: Moved) -> None:
    """Lead a link to a topic that another page has by now there."""
    values = {new: course.page[old] for old, new in moved.keys.items()}
    course.page.leave({"topic": course.page.default("topic")})
    step = next(one for one in steps() if one.topic.name == moved.topic)
    st.switch_page(step.place.script, query_params=step.course.page.enter(values | {"topic": moved.topic}))
