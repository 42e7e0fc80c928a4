"""Stories: a program by its data, as plain values that everybody's same question shares."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from dpcore.errors import InputError
from dpcore.private_optimization import PrivateProgram, stories
from dpcore.private_optimization.files import read_model_text, read_rows, save_program
from dpcore.vector.sheets import read_sheet


@dataclass(frozen=True)
class Story:
    """A program by its data: plain values, so that the same question has the same answer for everybody."""

    kind: str
    values: tuple[tuple[str, float | tuple[float, ...]], ...] = ()
    files: tuple[bytes, ...] = ()


@lru_cache(maxsize=32)
def built(story: Story) -> stories.Transport | PrivateProgram:
    """The story's program at ε = 1, δ = 10⁻⁴, with its map if it has one."""
    values = dict(story.values)
    if story.kind == "transport":
        demands = values.pop("demands", None)
        count = len(demands) if demands else 8
        return stories.transport(hospitals=count, demands=None if demands is None else np.array(demands), **values)
    if story.kind == "portfolio":
        if story.files:
            values |= dict(zip(("means", "covariance"), read_returns(story.files[0])))
        return stories.portfolio(**values)
    if story.kind == "advertising":
        return stories.advertising(**values)
    if story.kind == "own":
        model = read_model_text(story.files[0], f".{values.pop('suffix', 'mps')}")
        rows, guaranteed = read_rows(_text(story.files[1]), model)
        granularity = values.get("granularity") or None
        return PrivateProgram(model, rows, guaranteed, values["sensitivity"], 1.0, 1e-4, granularity)
    return stories.two_products(**values)


def program_of(story: Story, epsilon: float, delta: float) -> PrivateProgram:
    """The story's program at (ε, δ)."""
    found = built(story)
    return replace(getattr(found, "program", found), epsilon=epsilon, delta=delta)


@lru_cache(maxsize=1)
def sample() -> tuple[bytes, bytes]:
    """The two files of a program of one's own, to begin with: the transport of two pharmacies to three hospitals, whose
    patients are private and change by one."""
    small = stories.transport(2, 3, demands=np.array([12.0, 20.0, 9.0]), most_patients=40).program
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "sample.mps", Path(folder) / "sample.csv"
        save_program(small, *paths)
        return paths[0].read_bytes(), paths[1].read_bytes()


def read_returns(raw: bytes) -> tuple[np.ndarray, np.ndarray]:
    """(means, covariance) of a CSV (`read_sheet`) with a column of returns for every asset, a row for every period."""
    sheet = read_sheet(_text(raw))
    if len(sheet.rows) < 10 or not 2 <= sheet.width <= 500:
        accepted = "a column of numbers for each of 2 to 500 assets and at least 10 rows"
        raise InputError("returns", f"{len(sheet.rows)} rows, {sheet.width} columns", accepted)
    data = np.array([sheet.numbers(at, "a number") for at in range(sheet.width)]).T
    return data.mean(axis=0), np.cov(data.T)


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("limits file", "bytes", "text in UTF-8") from None
