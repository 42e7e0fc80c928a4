"""A number that people give: its name, its range and its wording, once for messages, texts, links and fields."""

from __future__ import annotations

from dataclasses import dataclass

from ._validate import above, in_range, whole


@dataclass(frozen=True)
class Quantity:
    """A number with a name.

    Parameters
    ----------
    name : in signatures, files, links and messages of the core.
    low, high : what is accepted, both ends included; with `open` without the lower one; also the numbers `also`.
    whole : only whole numbers.
    default : what a field begins with, and an example of it in text.
    title : in messages to people; by default the name.   label, help, step : of its field; step of the buttons.
    in_unit : it is a length in the query's unit, and grows with it; others have no unit.
    """

    name: str
    low: float
    high: float
    default: float
    title: str = ""
    label: str = ""
    help: str = ""
    step: float | None = None
    open: bool = False
    also: tuple[float, ...] = ()
    whole: bool = False
    in_unit: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.name)

    @property
    def range(self) -> str:
        """What is accepted, in words."""
        also = "".join(f"{number:g}, or " for number in self.also)
        return f"{also}{'above ' if self.open else ''}{self.low:g}{', at most ' if self.open else ' to '}{self.high:g}"

    def check(self, value: object) -> float:
        """The value, or the number that a text is, as one that is accepted.

        Raises
        ------
        InputError : it is none.
        """
        if self.whole:
            return whole(int(self.low), int(self.high), **{self.name: value})
        if self.open:
            return above(self.low, self.high, **{self.name: value})
        return in_range(self.low, self.high, also=self.also, **{self.name: value})
