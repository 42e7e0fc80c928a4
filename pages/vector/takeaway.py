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
from dpcore.errors import InputError
from dpcore.vector import Allocation, VectorQuery, parse_profile
from pages.shared import frame, prose
from pages.shared.inputs import explain

from .controls import VECTOR, Asked

TEXT = prose.sections("vector_queries")

MOST_SAMPLES = 200_000
"""Most numbers in a file of samples; at most a thousand draws."""


def takeaway(asked: Asked, found: Sequence[Allocation]) -> None:
    """A release of made-up values, then files."""
    known = [one for one in found if not one.reason]
    left, right = st.columns(2, gap="large")
    with left:
        chosen = _chosen(known)
        _release(asked, chosen)
    script = snippet(asked, chosen)
    with right:
        _files(asked.query, known, chosen, script)
    st.caption("The same without a browser:")
    st.code(command(asked), language="sh", wrap_lines=True)
    with st.expander("Python script that releases"):
        st.code(script, language="python", wrap_lines=True)


def _chosen(known: Sequence[Allocation]) -> Allocation:
    """The mechanism that releases: the one asked for, or the best with an exact sampler."""
    frame.heading("Release the answer once", TEXT["release"])
    st.selectbox("Mechanism", VECTOR.options("released"), format_func=VECTOR.label("released"), key="released")
    best = min(known, key=lambda one: (bool(one.noise.inexact), one.error))
    chosen = next((one for one in known if one.key == VECTOR["released"]), None)
    if chosen is None and VECTOR["released"] != "best":
        st.caption(f"That mechanism does not exist here; {best.name} stands in.")
    return chosen or best


def _release(asked: Asked, chosen: Allocation) -> None:
    """One release of values that the visitor makes up."""
    count = len(asked.query.profile)
    text = st.text_area(
        "True values", ", ".join(["0"] * min(count, 50)), height=68, key="true_values",
        help="One number per coordinate; those left out at the end count as 0.",
    )  # fmt: skip
    exact = not chosen.noise.inexact
    if st.button("Release" if exact else "Sample, for looking", key="release_one", type="primary"):
        try:
            released = chosen.noise.release(_values(text, count), None if exact else np.random.default_rng())
        except InputError as error:
            st.error(explain(error))
            return
        shown = ", ".join(f"{value:.6g}" for value in released[:50].tolist())
        st.code(shown + (" …" if count > 50 else ""), language=None, wrap_lines=True)
    st.caption(
        f"{chosen.name}, error {chosen.error:.4g}: "
        + ("an exact draw, without a float in between. Every release spends the promise again: try made-up values."
           if exact else f"{chosen.noise.inexact}; this is a floating-point sample for looking, not a private release.")
    )  # fmt: skip


def _values(text: str, count: int) -> list[float]:
    """The numbers of the text, filled up with zeros."""
    words = (text or "").replace(",", " ").replace(";", " ").split()
    try:
        values = [float(word) for word in words]
    except ValueError:
        raise InputError("true values", text[:40], f"up to {count} numbers with commas between them") from None
    return values + [0.0] * (count - len(values))


def _files(query: VectorQuery, known: Sequence[Allocation], chosen: Allocation, script: str) -> None:
    """JSON as on the command line, scales and samples as CSV, the script."""
    frame.heading("Files, command, script", TEXT["files"])
    with st.container(horizontal=True):
        text = json.dumps(report(query, list(known)), indent=1, allow_nan=False)
        st.download_button("All mechanisms, JSON", text, "vector_query.json", "application/json", on_click="ignore")
        st.download_button("Scales, CSV", scales_csv(query, known), "scales.csv", "text/csv", on_click="ignore")
        st.download_button(
            "Samples, CSV", samples_csv(query, chosen), f"samples_{chosen.key}.csv", "text/csv", on_click="ignore",
            help=f"Draws of the noise of {chosen.name}: floating point, seed 0, for looking.",
        )  # fmt: skip
        st.download_button("Python", script, f"release_{chosen.key}.py", "text/x-python", on_click="ignore")


def scales_csv(query: VectorQuery, found: Sequence[Allocation]) -> str:
    """What was asked and proved, then a line per coordinate, a column per mechanism."""
    shown = [one for one in found if not one.reason]
    header = ["coordinate", "sensitivity", *(one.key for one in shown)]
    lines = (
        [i + 1, repr(value), *(repr(float(one.scales[i])) for one in shown)]
        for i, value in enumerate(query.profile.values)
    )
    return _csv(stated(query, shown), header, lines)


def samples_csv(query: VectorQuery, one: Allocation) -> str:
    """What was asked and proved, then a line per draw, a column per coordinate; the same draws every time."""
    count = one.noise.dimension
    draws = one.noise.sample(np.random.default_rng(0), max(1, min(1000, MOST_SAMPLES // count)))
    return _csv(
        stated(query, [one]), [f"noise {i + 1}" for i in range(count)], (map(repr, row) for row in draws.tolist())
    )


def stated(query: VectorQuery, found: Sequence[Allocation]) -> list[str]:
    """Version, problem and certificates in a few plain lines."""
    values = query.profile.values
    coupling = _coupling(query, ", {name} sensitivity {value!r}")
    return [
        f"DP Frontier {__version__}",
        f"Problem: epsilon = {query.privacy.epsilon!r}, delta = {query.privacy.delta!r}, {len(values)} sensitivities "
        f"from {min(values)!r} to {max(values)!r}{coupling}, error: sum of |T_i| to the power {query.power!r}",
        *(
            f"Certificate: {one.key}: error {one.error!r}, ({one.guarantee.epsilon!r}, {one.guarantee.delta!r})"
            "-differentially private"
            for one in found
        ),
    ]


def _csv(comments: Sequence[str], header: Sequence[str], lines: Iterable[Iterable]) -> str:
    out = io.StringIO()
    out.writelines(f"# {line}\r\n" for line in comments)
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows(lines)
    return out.getvalue()


def _profile(asked: Asked) -> tuple[str, str]:
    """(profile, norm) as text that the parser reads back."""
    if asked.preset:
        return f"{VECTOR['shape']}:{VECTOR['dimension']}", VECTOR["norm"]
    given = parse_profile(VECTOR["numbers"] or "")
    return ",".join(f"{value!r}" for value in given.values), VECTOR["norm"]


def _coupling(query: VectorQuery, form: str) -> str:
    """The global sensitivities that were given, each in this form."""
    given = {name: getattr(query, name) for name in ("l1", "l2")}
    return "".join(form.format(name=name, value=value) for name, value in given.items() if value is not None)


def command(asked: Asked) -> str:
    """The command that prints the same answer."""
    query, (profile, norm) = asked.query, _profile(asked)
    return (
        f"python -m dpcore profile --epsilon {query.privacy.epsilon!r} --delta {query.privacy.delta!r} \\\n"
        f"  --profile {profile}{f' --normalise {norm}' if norm != 'none' else ''} --power {query.power!r}"
        + _coupling(query, " --{name} {value!r}")
    )


def snippet(asked: Asked, chosen: Allocation) -> str:
    """A program that finds the same noise and releases an answer with it."""
    query, (profile, norm) = asked.query, _profile(asked)
    exact = not chosen.noise.inexact
    return (
        '"""' + "\n".join(stated(query, [chosen])) + '\n"""\n\n'
        "import numpy as np\n\n"
        "from dpcore.privacy import Privacy\n"
        "from dpcore.vector import VectorQuery, parse_profile\n"
        "from dpcore.vector.compare import allocations\n\n"
        f'profile = parse_profile("{profile}", normalise="{norm}")\n'
        f"query = VectorQuery(Privacy({query.privacy.epsilon!r}, {query.privacy.delta!r}), profile, {query.power!r}"
        f"{_coupling(query, ', {name}={value!r}')})\n"
        f'(found,) = allocations(query, ("{chosen.key}",))\n'
        "answer = np.zeros(len(profile))  # the true values\n"
        "print(found.guarantee, found.error)\n"
        + (
            "print(found.noise.release(answer))  # one exact private release\n"
            if exact
            else "print(found.noise.release(answer, np.random.default_rng()))  # for looking: floating point\n"
        )
    )
