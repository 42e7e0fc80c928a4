"""The page's address and what a lecture begins with."""

from __future__ import annotations

from pages.lessons.course import Course, address

from .topics import TOPICS

PAGE = address("mechanism gallery", TOPICS, "reconstruction")
"""Every control of the page."""

LECTURE = {
    f"{topic.title}: {one.label}": {"topic": topic.name, **one.values} for topic in TOPICS for one in topic.experiments
}
"""Every experiment of every topic, to begin with."""


NOTE = (
    "Neighbours: data sets of the same size that differ in one person's row, unless the topic says otherwise. Samples "
    "are floating point: for looking, not for releasing."
)

COURSE = Course("mechanism_gallery", PAGE, TOPICS, LECTURE, NOTE)
