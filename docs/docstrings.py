"""How the site reads docstrings: ``name : what it is`` on one line is a parameter with its description below it in the
sections of NumPy's style, and an entry of a list elsewhere."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension

NAMES = r"\*{0,2}[\w]+(?:, \*{0,2}[\w]+)*"
ENTRY = re.compile(rf"({NAMES}) : (.*)")
NEXT = re.compile(rf"\s{{3,}}(?={NAMES} : )")


class OneLine(Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = spread(obj.docstring.value)


def spread(text: str) -> str:
    """The docstring with each of its entries in a form that Markdown and NumPy's style keep apart."""
    out: list[str] = []
    section = listed = False
    for line in (part for whole in text.split("\n") for part in NEXT.split(whole)):
        section = section or line.startswith("---")
        entry = ENTRY.fullmatch(line)
        if entry and section:
            out += [entry[1], f"    {entry[2]}"]
        elif entry:
            out += ([] if listed else [""]) + [f"* `{entry[1]}`: {entry[2]}"]
        else:
            out.append(line)
        listed = bool(entry) or (listed and line.startswith("    "))
    return "\n".join(out)
