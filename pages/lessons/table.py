"""The table of all topics in docs/learn.md: `python -m pages.lessons.table` writes it again, a test compares."""

from __future__ import annotations

from pathlib import Path

from pages.shared.address import Address

from . import path, predicting
from .topic import Sketch

DOCS = Path(__file__).parents[2] / "docs" / "learn.md"
HEAD = ("§", "topic", "claim", "begins with", "prediction", "moves along", "question, and whether its numbers vary")


def rows() -> list[tuple[str, ...]]:
    """The table's rows: all topics in the order of the path."""
    found = []
    for step in path.steps():
        topic, texts, address = step.topic, step.course.texts(step.topic), step.course.page
        begins = ", ".join(f"`{key}={address.controls[key].write(value)}`" for key, value in topic.start.items())
        asked = predicting.question(topic, texts, step.course.known({**address.read({})[0], **topic.start}))
        if topic.guess is None:
            _, options = predicting.prediction(texts)
        else:
            how = "sketched" if isinstance(topic.guess, Sketch) else "marked"
            options = (f"{how} on the chart, {topic.guess.stops[0]:g} … {topic.guess.stops[-1]:g}",)
        moves = _moves(address, topic.moves.key) if topic.moves else "–"
        question = f"{topic.question.text} ({'varies' if topic.vary else 'fixed'})"
        name = f"{topic.title} (`{step.place.name}?topic={topic.name}`)"
        told = (topic.section or "–", name, texts["claim"], begins or "the defaults", f"{asked} {' / '.join(options)}")
        found.append((*told, moves, question))
    return found


def _moves(address: Address, key: str) -> str:
    stops = address.controls[key].stops
    return f"`{key}`, {len(stops)} states from {stops[0]:g} to {stops[-1]:g}"


def table() -> str:
    """The table in Markdown."""
    lines = [HEAD, ("---",) * len(HEAD), *rows()]
    return (
        "\n".join(
            "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in line) + " |" for line in lines
        )
        + "\n"
    )


def written() -> str:
    """The whole page: what stands before the table stays."""
    text = DOCS.read_text(encoding="utf-8")
    return text[: text.index(f"| {HEAD[0]} |")] + table()


if __name__ == "__main__":
    DOCS.write_text(written(), encoding="utf-8")
