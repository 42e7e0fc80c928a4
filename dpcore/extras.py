"""Libraries that only some features need, and the word that says how to install them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import MissingExtraError


@contextmanager
def needs(name: str) -> Iterator[None]:
    """Imports of what the extra `dp-frontier[name]` brings stand inside ``with needs(name):``.

    Raises
    ------
    MissingExtraError : a library is not installed; the message is the line that installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "a library").partition(".")[0]
        if library == __package__:
            raise  # a module of this package: a bug, not an installation
        raise MissingExtraError(name, library) from error
