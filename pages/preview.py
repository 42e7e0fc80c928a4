"""What every page says of itself where its link is shown; on Learn pages the topic of the link speaks."""

from __future__ import annotations

from collections.abc import Mapping

from pages.lessons import path
from pages.registry import PAGES


def words(address: str, query: Mapping[str, str]) -> tuple[str, str]:
    """(title, a sentence) of the page at an address, the first one's where there is none."""
    page = next((one for one in PAGES if address in (one.name, one.address)), PAGES[0])
    for step in path.steps() if page.menu == "Learn" and "topic" in query else ():
        if step.place is page and step.topic.name == query["topic"]:
            return step.topic.numbered, step.course.texts(step.topic)["claim"]
    return page.title if page.menu else "Which noise does privacy need?", page.about
