"""The questions, which stand there from the first moment: nothing of them is solved for."""

from __future__ import annotations

from collections.abc import Mapping

from dpcore import figures
from pages.shared import prose
from pages.snapshot import Sight

from .cards import CARDS


def sight(query: Mapping[str, str]) -> Sight | None:
    """What the start page shows: all cards."""
    cards = [
        (one.question, figures.sketch(one.picture(), figures.LIGHT), "**{}** {}".format(*one.answer())) for one in CARDS
    ]
    lead = prose.sections("start")["lead"]
    return Sight("Which question do you have?", remarks=[lead], cards=cards, until=f".st-key-card_{len(CARDS) - 1} a")
