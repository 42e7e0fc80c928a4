"""Taking it away: one exact release, files, the command and the script that say the same."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence

import numpy as np
import streamlit as st

from dpcore import __version__
from dpcore.cli.profile import report
from dpcore.vector import Allocation, VectorQuery
from dpcore.vector.script import asked_for, coupled, script
from pages.isotropic import releases
from pages.shared import actions, fields, folding, frame, prose

from .controls import PAGE, Asked

TEXT = prose.sections("vector_queries")

MOST_SAMPLES = 200_000
"""Most numbers in a file of samples; at most a thousand draws."""


def takeaway(asked: Asked, found: Sequence[Allocation]) -> None:
    """A release of made-up values, then files."""
    known = [one for one in found if one.noise is not None and not one.noise.inexact]
    left, right = st.columns(2, gap="large")
    with left:
        chosen = _chosen(known)
        _release(asked, chosen)
    program = script(asked.query, chosen)
    with right:
        _files(asked.query, known, chosen, program)
    st.caption("The same without a browser:")
    st.code(command(asked), language="sh", wrap_lines=True)
    folding.fold("Python script that releases", lambda: actions.show(program), key="script")


def _chosen(known: Sequence[Allocation]) -> Allocation:
    """The mechanism that releases: the one asked for, or the best."""
    frame.heading("Release the answer once", TEXT["release"])
    fields.pick(PAGE, "released", "Mechanism")
    best = min(known, key=lambda one: one.error)
    chosen = next((one for one in known if one.key == PAGE["released"]), None)
    if chosen is None and PAGE["released"] != "best":
        st.caption(f"That mechanism does not exist here; {best.name} stands in.")
    return chosen or best


def _release(asked: Asked, chosen: Allocation) -> None:
    """One release of values that the visitor makes up."""
    note = (
        f"{chosen.name}, error {chosen.error:.4g}: an exact draw, without a float in between. Every release "
        f"spends the promise again: try made-up values. The promise holds where nobody moves a "
        f"coordinate by more than its sensitivity ({largest(asked.query)})."
    )
    releases.vector(len(asked.query.profile), chosen.noise.release, note)


def largest(query: VectorQuery) -> str:
    """The sensitivities, of many the ends."""
    values = query.profile.values
    if len(values) <= 6:
        return ", ".join(f"{value:.6g}" for value in values)
    return f"from {min(values):.6g} to {max(values):.6g}"


def _files(query: VectorQuery, known: Sequence[Allocation], chosen: Allocation, program: str) -> None:
    """JSON with what the command line prints, scales and samples as CSV, the script."""
    frame.heading("Files, command, script", TEXT["files"])
    name = file_stem(query)
    with st.container(horizontal=True):
        st.download_button(
            "All mechanisms, JSON", companion(query, known), f"{name}.json", "application/json", on_click="ignore"
        )
        st.download_button(
            "Scales, CSV", scales_csv(query, known), f"{name}_scales.csv", "text/csv", on_click="ignore",
            help=actions.ABOUT_CSV,
        )  # fmt: skip
        st.download_button(
            "Samples, CSV", samples_csv(chosen), f"{name}_samples_{chosen.key}.csv", "text/csv", on_click="ignore",
            help=f"Draws of the noise of {chosen.name}: floating point, seed 0, for looking.",
        )  # fmt: skip
        st.download_button("Python", program, f"{name}_{chosen.key}.py", "text/x-python", on_click="ignore")


def companion(query: VectorQuery, found: Sequence[Allocation]) -> str:
    """The program's version, what was asked, and what is proved of every mechanism, as JSON."""
    data = {"version": __version__, "problem": asked_for(query), "mechanisms": report(query, list(found))}
    return json.dumps(data, indent=1, allow_nan=False)


def scales_csv(query: VectorQuery, found: Sequence[Allocation]) -> str:
    """A line per coordinate, a column per mechanism."""
    shown = [one for one in found if not one.reason]
    names = query.profile.names
    header = ["coordinate", *(["name"] if names else []), "sensitivity", *(one.key for one in shown)]
    lines = (
        [i + 1, *names[i : i + 1], repr(value), *(repr(float(one.scales[i])) for one in shown)]
        for i, value in enumerate(query.profile.values)
    )
    return _csv(header, lines)


def samples_csv(one: Allocation) -> str:
    """A line per draw, a column per coordinate; the same draws every time."""
    count = one.noise.dimension
    draws = one.noise.sample(np.random.default_rng(0), max(1, min(1000, MOST_SAMPLES // count)))
    return _csv([f"noise {i + 1}" for i in range(count)], (map(repr, row) for row in draws.tolist()))


def _csv(header: Sequence[str], lines: Iterable[Iterable]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows(lines)
    return out.getvalue()


def file_stem(query: VectorQuery) -> str:
    """The name of a query's files, without their ending: what decides about its noise."""
    values = query.profile.values
    ends = f"{min(values):g}" + (f"-to-{max(values):g}" if min(values) < max(values) else "")
    coupling = "".join(f"_{name}-{value:g}" for name, value in coupled(query).items())
    return (
        f"vector_epsilon-{query.privacy.epsilon:g}_delta-{query.privacy.delta:g}_{len(values)}-coordinates_"
        f"sensitivities-{ends}_power-{query.power:g}{coupling}"
    )


def _profile(asked: Asked) -> tuple[str, str]:
    """(profile, norm) as text that the parser reads back."""
    if asked.preset:
        return f"{asked.preset}:{PAGE['dimension']}", asked.norm
    return ",".join(map(repr, asked.query.profile.values)), asked.norm


def command(asked: Asked) -> str:
    """The command that prints the same answer."""
    query, (profile, norm) = asked.query, _profile(asked)
    return (
        f"python -m dpcore profile --epsilon {query.privacy.epsilon!r} --delta {query.privacy.delta!r} \\\n"
        f"  --profile {profile}{f' --normalise {norm}' if norm != 'none' else ''} --power {query.power!r}"
        + "".join(f" --{name} {value!r}" for name, value in coupled(query).items())
    )
