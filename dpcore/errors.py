"""Exceptions: what was wrong with the input, what the core could not do, what must never happen."""

from __future__ import annotations

from typing import Any


class InputError(ValueError):
    """A value the user gave is outside what is accepted.

    Attributes
    ----------
    field : str
        Name of the input, the same in the API, on the command line and on the page.
    value : object
        What was given.
    accepted : str
        What would have been accepted, in words.
    """

    def __init__(self, field: str, value: object, accepted: str) -> None:
        self.field, self.value, self.accepted = field, value, accepted
        super().__init__(f"{field} = {_shown(value)}: expected {accepted}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.field, self.value, self.accepted)


def _shown(value: object, longest: int = 200) -> str:
    """The value as text, cut off: it may be a list of a million numbers."""
    try:
        text = str(value)
    except ValueError:  # an integer of thousands of digits
        return "a number too long to show"
    return text if len(text) <= longest else text[:longest] + "…"


class InfeasibleError(InputError):
    """No noise law satisfies the constraints at this privacy level."""


class SolverError(RuntimeError):
    """The linear programming solver gave no usable answer."""


class CertificateError(AssertionError):
    """A lower bound exceeds an upper bound: a bug, never an answer."""


class MissingExtraError(ImportError):
    """A feature needs a library that the bare package does not bring.

    Attributes
    ----------
    extra : str
        Name of the extra that brings it.
    """

    def __init__(self, extra: str, library: str) -> None:
        self.extra, self.library = extra, library
        super().__init__(f'{library} is not installed: pip install "dp-frontier[{extra}]"', name=library)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.extra, self.library)
