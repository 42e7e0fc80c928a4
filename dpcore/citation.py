"""How a result is cited: as a sentence, and as an entry for a bibliography."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from dpcore import __version__


def plain(sentence: str, facts: Mapping[str, str], address: str) -> str:
    """Plain text: who, which version, what is claimed, what proves it, where and when."""
    proof = "; ".join(f"{name} {value}" for name, value in facts.items())
    tail = f"Certificate: {proof}. " if proof else ""
    today = datetime.now(UTC).date()
    return f"DP Frontier, version {__version__}. {sentence.rstrip('.')}. {tail}{address} (seen {today})."


def bibtex(sentence: str, facts: Mapping[str, str], address: str) -> str:
    """An entry of BibTeX, in whose note nothing is a command."""
    proof = "; ".join(f"{name} {value}" for name, value in facts.items())
    note = _latex(f"{sentence.rstrip('.')}." + (f" Certificate: {proof}." if proof else ""))
    now = datetime.now(UTC).date()
    fields = {
        "title": "{DP Frontier}: provably near-optimal noise for differential privacy",
        "author": "{DP Frontier contributors}", "version": __version__, "year": str(now.year),
        "url": address.replace("{", "%7B").replace("}", "%7D"), "urldate": str(now), "note": note,
    }  # fmt: skip
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@software{{dp-frontier,\n{lines}}}\n"


def _latex(text: str) -> str:
    """Text in which nothing is a command."""
    for character in "\\{}$&%#_~^":
        text = text.replace(character, " " if character in "\\{}~^" else f"\\{character}")
    return text.replace("*", "")
