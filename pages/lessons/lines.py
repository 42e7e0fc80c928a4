"""Lines and colours of the Learn pages: three kinds of line, and one colour for one role in all topics. Pure.

A line that is computed is solid (`series`), what it is compared with is thin and pale (`reference`), and dashes say
that a line is an estimate, which its name then says, too (`estimate`). Names stand at the lines, or in a legend: colour
is nowhere the only sign.
"""

from __future__ import annotations

import re
from typing import Any

from dpcore import figures
from dpcore.figures import Palette

ROLES = {
    "exact": "optimal", "bound": "uniform",
    "A": "optimal", "B": "mixture",
    "exponential mechanism": "optimal", "gradient": "staircase", "objective": "mixture", "answer": "truncated-laplace",
    "local": "optimal", "curator": "staircase",
    "geometric": "optimal",
    "basic": "uniform", "advanced": "truncated-laplace", "advanced-tight": "truncated-laplace", "optimal": "staircase",
    "renyi": "mixture", "zcdp": "mixture", "moments": "mixture", "clt": "gaussian",
}  # fmt: skip
"""Role → whose hue it has. Laplace and Gaussian noise have theirs to themselves everywhere.

exact : what is computed exactly.   bound : what a theorem or a formula promises of it.   A, B : two databases.
exponential mechanism, gradient : of the K-norm.   objective, answer : where the noise goes.
local, curator : whom people trust.   geometric : noise on whole numbers, the best of a count's.
basic … clt : rules of composition.
"""

ORDER = ("optimal", "mixture", "staircase", "truncated-laplace", "uniform")
"""Hues of curves that have no role, in order."""


def colour(colours: Palette, role: int | str) -> str:
    """Of a role, of a mechanism by its key, or of the curve with that number in a chart without roles."""
    key = ORDER[role % len(ORDER)] if isinstance(role, int) else ROLES.get(role, role)
    return colours.hues.get(key) or figures.hue(colours, key)


def tint(colours: Palette, role: int | str) -> str:
    """The same for an area that others are seen through."""
    code, alpha = colour(colours, role), re.findall(r"[\d.]+", colours.fill)[-1]
    return f"rgba({', '.join(str(int(code[place : place + 2], 16)) for place in (1, 3, 5))}, {alpha})"


def series(colours: Palette, role: int | str, *, width: float | None = None) -> dict[str, Any]:
    """A curve that is computed, a law, a bound: solid."""
    strong = 2.5 if role == 0 or ROLES.get(str(role)) == "optimal" else 2.0
    return {"color": colour(colours, role), "width": (width or strong) * colours.type / 14}


def reference(colours: Palette) -> dict[str, Any]:
    """What others are compared with: the truth, no privacy, what was before; thin, pale, solid."""
    return {"color": colours.muted, "width": 1.4 * colours.type / 14}


def estimate(colours: Palette, role: int | str) -> dict[str, Any]:
    """An approximation: dashed."""
    return series(colours, role) | {"dash": "dash"}
