"""A lecture as one text of a link: named states of pages, in order. Pure; whoever reads it treats it as untrusted.

A state is a page's name and the part of its address after the "?"; what that says is read when the state is opened, by
the page's own `address.Address`, as that of any link. The lines "name, tab, page?query" are compressed and written
in the 64 letters that stand in a link as they are; their checksum tells a link that was cut off.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl

from dpcore.errors import InputError
from pages.registry import PAGES

MOST = 60
"""States of a lecture."""

LONGEST_NAME = 60
"""Characters of a state's name."""

LONGEST_STATE = 3000
"""Characters of a state."""

LONGEST_LINK = 6000
"""Characters of the text: servers and browsers in between bear addresses of 8000."""

LARGEST = 64_000
"""Bytes that the text may unfold to."""

NAME = re.compile(r"(?:[^\W_]|[ %‰°€$£¥·/()'’+−=√,?!-])+")
"""Letters of any script, digits, and signs that mean nothing in Markdown or HTML (a dollar sign is escaped where it is
shown)."""

QUERY = re.compile(r"[A-Za-z0-9_.~%+*=&-]*")
PLACES = {page.name for page in PAGES}


@dataclass(frozen=True)
class Slide:
    """One state.

    name : shown to the lecturer.   page : as in the registry.   query : of the address, without its "?".

    Raises
    ------
    InputError : what one of them may not be.
    """

    name: str
    page: str
    query: str

    def __post_init__(self) -> None:
        if not (NAME.fullmatch(self.name) and len(self.name) <= LONGEST_NAME):
            accepted = f"1 to {LONGEST_NAME} letters, digits, spaces and signs such as + − = , ? ! ( ) /"
            raise InputError("name of a state", self.name, accepted)
        if self.page not in PLACES:
            raise InputError("page of a state", self.page, "a page of the dashboard")
        if len(self.query) > LONGEST_STATE or not QUERY.fullmatch(self.query):
            raise InputError("state", self.query[:40], f"controls of a page in at most {LONGEST_STATE} characters")

    @property
    def values(self) -> dict[str, str]:
        """The query's parameters."""
        return dict(parse_qsl(self.query, keep_blank_values=True))


def named(title: str) -> str:
    """A title as the name of a state."""
    kept = "".join(one for one in title if NAME.fullmatch(one))
    return kept[:LONGEST_NAME].strip() or "State"


def written(slides: Sequence[Slide]) -> str:
    """The text of a lecture; "" if it has no state.

    Raises
    ------
    InputError : too many states, or too much in them for a link.
    """
    if not slides:
        return ""
    if len(slides) > MOST:
        raise InputError("playlist", f"{len(slides)} states", f"at most {MOST}")
    lines = "\n".join(f"{one.name}\t{one.page}?{one.query}" for one in slides).encode()
    text = base64.urlsafe_b64encode(zlib.compress(lines, 9)).decode().rstrip("=")
    if len(text) > LONGEST_LINK or len(lines) > LARGEST:
        raise InputError("playlist", f"a link of {len(text)} characters", f"at most {LONGEST_LINK}")
    return text


@lru_cache(maxsize=64)
def read(text: str) -> tuple[Slide, ...]:
    """The states of a text.

    Raises
    ------
    InputError : it is none: cut off, changed, too long, or it names what there is not.
    """
    if not text:
        return ()
    if len(text) > LONGEST_LINK:
        raise InputError("playlist", f"a text of {len(text)} characters", f"at most {LONGEST_LINK}")
    slides = tuple(_slide(line) for line in _unfolded(text).split("\n"))
    if len(slides) > MOST:
        raise InputError("playlist", f"{len(slides)} states", f"at most {MOST}")
    return slides


def _unfolded(text: str) -> str:
    unfolding, lines = zlib.decompressobj(), b""
    try:
        lines = unfolding.decompress(base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True), LARGEST + 1)
        if unfolding.eof and not unfolding.unused_data and len(lines) <= LARGEST:
            return lines.decode()
    except (binascii.Error, zlib.error, ValueError):
        pass
    if len(lines) > LARGEST:
        raise InputError("playlist", f"{text[:20]}…", f"at most {LARGEST} bytes of states")
    raise InputError("playlist", f"{text[:20]}…", "the whole link of a lecture; this one was cut off or changed")


def _slide(line: str) -> Slide:
    name, tab, place = line.partition("\t")
    page, mark, query = place.partition("?")
    if not (tab and mark):
        raise InputError("playlist", line[:40], "lines of a name, a page and its controls")
    return Slide(name, page, query)
