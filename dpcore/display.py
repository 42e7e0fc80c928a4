"""A solution for people: one line, a notebook's HTML with a small drawing, a figure of Plotly.

The HTML has no script, no style sheet and nothing from elsewhere; every text in it is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from . import numerals
from .extras import needs
from .noise.base import Array, Noise
from .noise.outline import curve, window
from .noise.steps import LatticeLaw, lattice_points

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from .problem import NoiseProblem
    from .solution import Certificate, Solution

WIDTH, HEIGHT = 360, 110
"""Width and height of the drawing, in pixels."""

MOST_POINTS = 600
"""Most points of an outline: what a drawing of this width shows."""

ACCENT = "#0067A5"
"""The colour of the certified optimum, readable on light and dark pages."""


def one_line(solution: Solution) -> str:
    """Bracket and certificate in one line of text."""
    problem = solution.problem
    asked = f"{_privacy(problem)}, sensitivity {problem.sensitivity:g}, loss {_loss(problem)}"
    return f"Solution({asked}: {bracket(solution.certificate)}; {certified(solution)}; {solution.source})"


def bracket(proof: Certificate) -> str:
    """Both bounds, each rounded to its safe side, and the gap."""
    if proof.lower is None:
        return f"expected loss ≤ {numerals.bracket(proof.upper, proof.upper, 7)[1]}, nothing proved from below"
    lower, upper = numerals.bracket(proof.lower, proof.upper, 7)
    gap = "" if proof.gap is None else f", gap {numerals.percent_up(proof.gap)}"
    return f"{lower} ≤ least expected loss ≤ {upper}{gap}"


def certified(solution: Solution) -> str:
    """What the audit proved of the law's privacy: δ rounded up."""
    proof = solution.certificate
    return f"certified δ ≤ {numerals.at_most(proof.delta_upper)} at ε = {solution.problem.privacy.epsilon:g}"


def _privacy(problem: NoiseProblem) -> str:
    pair = f"({problem.privacy.epsilon:g}, {problem.privacy.delta:g})-DP"
    return pair if problem.profile is None else f"{problem.profile.spec[:40]} with {pair}"


def _loss(problem: NoiseProblem) -> str:
    spec = problem.loss.spec
    return spec if len(spec) <= 40 else spec[:39] + "…"


def html(solution: Solution) -> str:
    """Bracket, certificate and the drawing, for a notebook."""
    problem, proof = solution.problem, solution.certificate
    rows = {
        "asked": f"{_privacy(problem)}, sensitivity {problem.sensitivity:g}, {problem.loss.title}",
        "bracket": bracket(proof),
        "certificate": f"{certified(solution)}; worst shift {proof.worst_shift:g}",
        "found by": f"{solution.source}, {solution.seconds:.2g} s",
    }
    cells = "".join(f"<tr><th style='text-align:left'>{k}</th><td>{escape(v)}</td></tr>" for k, v in rows.items())
    head = f"<strong>{escape(solution.title)}</strong>"
    return f"<div>{head}<table>{cells}</table>{svg(solution.noise)}</div>"


def svg(noise: Noise) -> str:
    """The law as an inline drawing: its density, a stem for every atom; stems for a law on a lattice."""
    low, high = window([noise])
    points, line = _stems(noise, low, high), None
    if noise.lattice_step is None:
        x, y = curve(noise, low, high, MOST_POINTS)
        every = max(1, len(x) // MOST_POINTS)
        line = x[::every], y[::every]
    top = max(line[1].max(initial=0.0) if line is not None else points[1].max(initial=0.0), 1e-300)
    width, bottom = high - low, HEIGHT - 16
    across: Callable[[ArrayLike], Array] = lambda x: 4 + (np.asarray(x) - low) / width * (WIDTH - 8)  # noqa: E731
    down: Callable[[ArrayLike], Array] = lambda y: bottom - np.asarray(y) / top * (HEIGHT - 26)  # noqa: E731
    parts = []
    if line is not None and len(line[0]):
        places = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across(line[0]), down(line[1])))
        ends = f"{across(line[0][0]):.1f},{down(0.0):.1f}", f"{across(line[0][-1]):.1f},{down(0.0):.1f}"
        shape = f"{ends[0]} {places} {ends[1]}"
        parts.append(f'<polygon points="{shape}" fill="{ACCENT}" fill-opacity=".25" stroke="{ACCENT}"/>')
    for x, y in zip(across(points[0]), down(points[1] if line is None else np.full(len(points[0]), top))):
        parts.append(f'<path d="M{x:.1f} {down(0.0):.1f}V{y:.1f}" stroke="{ACCENT}" stroke-width="2"/>')
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{ACCENT}"/>')
    axis = f'<path d="M4 {down(0.0):.1f}H{WIDTH - 4}" stroke="currentColor"/>'
    labels = "".join(
        f'<text x="{x}" y="{HEIGHT - 3}" text-anchor="{anchor}" font-size="11" fill="currentColor">{value:.3g}</text>'
        for x, anchor, value in ((4, "start", low), (WIDTH - 4, "end", high))
    )
    label = escape(f"{noise.name}, from {low:.3g} to {high:.3g}", quote=True)
    head = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{label}">'
    return f"{head}{''.join(parts)}{axis}{labels}</svg>"


def _stems(noise: Noise, low: float, high: float) -> tuple[Array, Array]:
    """(place, probability) of the points of a law on a lattice, of the atoms of any other, inside the window."""
    if not isinstance(noise, LatticeLaw):
        atoms = [(x, mass) for x, mass in noise.atoms if low <= x <= high and mass > 0]
        return np.array([x for x, _ in atoms]), np.array([mass for _, mass in atoms])
    step = noise.lattice_step
    first, last = math.ceil(low / step), math.floor(high / step)
    every = max(1, (last - first) // MOST_POINTS)
    x = lattice_points(first, last - first + 1, step)[::every]
    return x, noise.pmf(x)


def figure(
    solution: Solution, *, unit: str = "", against: Sequence[str] = (), dark: bool = False, log_y: bool = False
) -> go.Figure:
    """The solution's law, over those of textbook mechanisms by their keys (`dpcore.mechanisms`), as a figure of Plotly.

    Raises
    ------
    MissingExtraError : Plotly is not installed.
    KeyError : no mechanism has such a key for this kind of query.
    """
    with needs("plot"):
        from .figures import Law, density, palette
    from .mechanisms import baseline

    laws = [Law("optimal", solution.title, solution.noise)]
    for key in against:
        known = baseline(key, solution.problem)
        if known.noise is not None:
            laws.append(Law(key, known.name, known.noise))
    return density(laws, unit=unit, colours=palette(dark), log_y=log_y).checked()
