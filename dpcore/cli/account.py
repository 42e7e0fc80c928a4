"""account: what several private releases reveal together."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from .._validate import in_range
from ..errors import InputError
from .base import MISSING, refuse_unwritable, write_out
from .reading import is_of_vectors

if TYPE_CHECKING:
    from ..accounting.mechanisms import Composable, Release
    from ..accounting.rules import Total

MOST_RELEASES = 50


class _Group(argparse.Action):
    """--count and --sampling belong to the --mechanism before them."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        groups = [dict(group) for group in getattr(namespace, "releases", None) or []]
        if self.dest == "mechanism":
            groups.append({"mechanism": values})
        elif not groups:
            parser.error(f"{option_string} {values}: expected after a --mechanism")
        else:
            groups[-1][self.dest] = values
        namespace.releases = groups


def add_parser(commands: Any) -> None:
    text = "The total epsilon at a delta (or delta at an epsilon) of private releases of the same data, by every rule."
    parser = commands.add_parser("account", help="what several releases reveal together", description=text)
    parser.add_argument(
        "--mechanism", metavar="M", action=_Group, default=None,
        help="laplace:epsilon=1, gaussian:sigma=2, staircase:epsilon=1, truncated-laplace:epsilon=1,delta=1e-6, "
        "geometric:epsilon=1, response:epsilon=1,options=4, pure:epsilon=1, approximate:epsilon=1,delta=1e-6 or "
        "file:FILE written by solve or isotropic; any number of times",
    )  # fmt: skip
    parser.add_argument("--count", metavar="N", action=_Group, help="uses of the mechanism before it (default 1)")
    parser.add_argument(
        "--sampling", metavar="S", action=_Group,
        help="on which sample, for the mechanism before it: poisson:0.01, fixed:0.01 or fixed:60/6000",
    )  # fmt: skip
    parser.add_argument("--delta", metavar="D", help="1e-15 to 0.5: the total epsilon there")
    parser.add_argument("--epsilon", metavar="E", help="0 to 600: the total delta there")
    parser.add_argument("--out", metavar="FILE", help="write the JSON to this file as well")
    parser.set_defaults(run=_run, releases=None)


def _run(arguments: argparse.Namespace) -> int:
    from ..accounting.rules import totals
    from ..export import layout

    releases = [_release(group) for group in _groups(arguments.releases)]
    if (arguments.delta is None) == (arguments.epsilon is None):
        given = MISSING if arguments.delta is None else arguments.delta
        raise InputError("delta", given, "a number from 1e-15 to 0.5, or --epsilon in its place")
    asked: dict[str, float] = {}
    if arguments.delta is not None:
        asked["delta"] = in_range(1e-15, 0.5, delta=arguments.delta)
    else:
        asked["epsilon"] = in_range(0, 600, epsilon=arguments.epsilon)
    if arguments.out is not None:
        refuse_unwritable(arguments.out)
    found = totals(releases, delta=asked.get("delta"), epsilon=asked.get("epsilon"))
    write_out(layout(report(releases, found, asked)) + "\n", arguments.out)
    return 0


def _groups(groups: list[dict[str, str]] | None) -> list[dict[str, str]]:
    if not groups:
        raise InputError("mechanism", MISSING, "at least one, such as laplace:epsilon=1")
    if len(groups) > MOST_RELEASES:
        raise InputError("mechanism", f"{len(groups)} of them", f"at most {MOST_RELEASES}; --count repeats one")
    return groups


def _release(group: dict[str, str]) -> Release:
    from ..accounting.mechanisms import Release, parse_mechanism
    from ..accounting.subsampling import parse_sampling

    name, _, rest = group["mechanism"].strip().partition(":")
    mechanism = _from_file(rest) if name == "file" else parse_mechanism(group["mechanism"])
    sampling = None if "sampling" not in group else parse_sampling(group["sampling"])
    return Release(mechanism, group.get("count", 1), sampling)  # type: ignore[arg-type]  # a text, which it reads itself


def _from_file(path: str) -> Composable:
    """The law in a file written by `solve` or `isotropic`, audited again."""
    if not path:
        raise InputError("mechanism", "file:", "file:FILE with the name of a file written by `solve` or `isotropic`")
    from ..reload import load_json

    data, name = load_json(path), f"file:{Path(path).name}"
    if is_of_vectors(data):
        from ..isotropic import files, neighbours

        return neighbours.composable(files.solution_from_dict(data), name)
    from ..accounting.mechanisms import solved
    from ..reload import solution_from_dict

    return solved(solution_from_dict(data), name)


def report(releases: list[Release], found: list[Total], asked: dict[str, float]) -> dict[str, Any]:
    """The answer as JSON: what was asked, the releases, one object per rule. null: the rule promises nothing."""
    from ..accounting.mechanisms import sides
    from ..problem_fields import finite

    wanted = "epsilon" if "delta" in asked else "delta"
    rows = []
    for one in found:
        row: dict[str, Any] = {"rule": one.rule, wanted: finite(one.upper)}
        if one.lower is not None:
            row[f"{wanted}_lower"] = finite(one.lower)
        rows.append({**row, "certified": one.certified, "note": one.note})
    neighbours = {"both": "as the sensitivity says", "remove": "one more or one less", "replace": "one replaced"}
    return {
        **asked,
        "neighbours": neighbours[sides(tuple(releases))[0]],
        "releases": [
            {
                "mechanism": one.mechanism.spec, "count": one.count,
                "sampling": None if one.sampling is None else f"{one.sampling.kind}:{one.sampling.rate!r}",
            }
            for one in releases
        ],
        "totals": rows,
        "version": __version__,
    }  # fmt: skip
