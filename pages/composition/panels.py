"""A topic's texts."""

from __future__ import annotations

from functools import cache

from pages.shared import prose


@cache
def texts(topic: str) -> dict[str, str]:
    """The sections of a topic's texts, by their names."""
    every = prose.sections("composition")
    return {title.partition(": ")[2]: text for title, text in every.items() if title.partition(": ")[0] == topic}
