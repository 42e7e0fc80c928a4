"""A mechanism for several coordinates as a Python script that needs nothing but Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from .. import __version__
from ..script import carried, filled, in_order, literal, summary, wrapped
from .exact import FINE, noisy, with_normal
from .joint import Exact, Normal, Recipe
from .query import Allocation, VectorQuery

_SCRIPT = '''\
"""$summary

Run this file to see one release, or import it: release(answer) is one private release of as many numbers as there are
coordinates. Only whole numbers and the operating system's random source are used; floats appear when all is done.
"""

$imports

VERSION = $version
PROBLEM = $problem
CERTIFICATE = $certificate

DIMENSION = $dimension
FINE = 1 << $bits  # lattice steps to a sensitivity or a scale


$functions

# Independent parts of the noise: their coordinates, counted from 0, how they are drawn, and with which numbers.
PARTS = [$parts]
$gaussian

def release(answer):
    """The answer plus one exact draw."""
    out = [float(value) for value in answer]
    if len(out) != DIMENSION:
        raise ValueError(f"{DIMENSION} numbers are needed, one per coordinate")
    for coordinates, steps, numbers in PARTS:
        for i, (drawn, step) in zip(coordinates, steps(**numbers, fine=FINE)):
            out[i] = noisy(out[i], drawn, step)
$added    return out


if __name__ == "__main__":
    print(CERTIFICATE)
    print("One release of zeros, made-up values:")
    print(*release([0.0] * DIMENSION), sep="\\n")
'''
_GAUSSIAN = """
# Gaussian parts: their coordinates and standard deviations.
GAUSSIAN = [$listed]
"""
_ADDED = """\
    for coordinates, scales in GAUSSIAN:
        for i, scale in zip(coordinates, scales):
            out[i] = with_normal(out[i], scale)
"""


def script(query: VectorQuery, one: Allocation) -> str:
    """A self-contained script (standard library only) that carries the noise, the query, what is proved and the
    version, and defines ``release(answer)`` with exact arithmetic."""
    noise = one.noise
    if noise is None or noise.inexact:
        raise ValueError(noise.inexact if noise else "the mechanism does not exist for this query")
    gaussian = [part for part in noise.parts if isinstance(part, Normal)]
    parts = [(part, part.recipe) for part in noise.parts if isinstance(part, Exact)]
    steps = dict.fromkeys(recipe[0] for _, recipe in parts)
    imports, functions = carried(noisy, *steps, *([with_normal] if gaussian else []))
    return filled(
        _SCRIPT, summary=summary(stated(query, [one])), imports=in_order(imports), version=repr(__version__),
        problem=literal(asked_for(query)), certificate=literal(_proved(one)), dimension=noise.dimension,
        bits=FINE.bit_length() - 1, functions=functions, parts=_entries(_called(*part) for part in parts),
        gaussian=filled(_GAUSSIAN, listed=_entries(map(_listed, gaussian))) if gaussian else "",
        added=_ADDED if gaussian else "",
    )  # fmt: skip


def _entries(texts: Iterable[str]) -> str:
    """The inside of a list, entry below entry."""
    texts = list(texts)
    return "\n".join(["", *texts, ""]) if texts else ""


def stated(query: VectorQuery, found: Sequence[Allocation]) -> list[str]:
    """Version, problem and certificates in a few plain lines."""
    values = query.profile.values
    coupling = "".join(f", {name} sensitivity {value!r}" for name, value in coupled(query).items())
    return [
        f"DP Frontier {__version__}",
        f"Problem: epsilon = {query.privacy.epsilon!r}, delta = {query.privacy.delta!r}, {len(values)} sensitivities "
        f"from {min(values)!r} to {max(values)!r}{coupling}, error: sum of |T_i| to the power {query.power!r}",
        *(
            f"Certificate: {one.key}: error {one.error!r}, ({one.guarantee.epsilon!r}, {one.guarantee.delta!r})"
            "-differentially private"
            for one in found
            if one.guarantee is not None
        ),
    ]


def coupled(query: VectorQuery) -> dict[str, float]:
    """The global sensitivities that were given."""
    given = {name: getattr(query, name) for name in ("l1", "l2")}
    return {name: value for name, value in given.items() if value is not None}


def asked_for(query: VectorQuery) -> dict[str, Any]:
    """The query as plain values."""
    weights = None if query.weights is None else list(query.weights)
    return {
        "epsilon": query.privacy.epsilon, "delta": query.privacy.delta, "sensitivities": list(query.profile.values),
        "power": query.power, "weights": weights, **coupled(query),
    }  # fmt: skip


def _proved(one: Allocation) -> dict[str, Any]:
    kept = {} if one.guarantee is None else asdict(one.guarantee)
    return {"mechanism": one.key, "error": one.error, **kept, "proof": one.proof}


def _called(part: Exact, recipe: Recipe) -> str:
    """A part with its recipe, as an entry of a list."""
    function, numbers = recipe
    lists = {name: value for name, value in numbers.items() if isinstance(value, list)}
    lines = [f"            {name!r}: {value!r}," for name, value in numbers.items() if name not in lists]
    for name, values in lists.items():
        lines += [f"            {name!r}: [", wrapped(values, " " * 16), "            ],"]
    coordinates = wrapped(part.coordinates.tolist(), " " * 12)
    head = ["    (", "        [", coordinates, "        ],", f"        {function.__name__},"]
    return "\n".join([*head, "        {", *lines, "        },", "    ),"])


def _listed(part: Normal) -> str:
    """A Gaussian part, as an entry of a list."""
    coordinates, scales = (wrapped(array.tolist(), " " * 12) for array in (part.coordinates, part.scales))
    return "\n".join(["    (", "        [", coordinates, "        ],", "        [", scales, "        ],", "    ),"])
