"""The panel "What it promises": the noise's δ(ε′) next to a promise of more than one pair (ε, δ)."""

from __future__ import annotations

import numpy as np
import streamlit as st

from dpcore import figures
from dpcore.accounting.curves import dominating_curve_upper
from dpcore.audit import curve_upper
from dpcore.figures import Curve
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.noise.tailed import TailedNoise
from dpcore.privacy_profile import Composed, GaussianProfile, PairList
from dpcore.solution import Solution
from pages.shared import drawing, frame, prose

from .panels import TEXT
from .view import View

POINTS = 81


def panel(solution: Solution, view: View) -> None:
    """Nothing where the promise is one pair."""
    if solution.problem.profile is None or not isinstance(solution.noise, PiecewiseNoise | TailedNoise):
        return
    frame.heading("What it promises", TEXT["promise"])
    target, law, checked = curves(solution)
    steps = isinstance(solution.problem.profile, PairList)
    figure = figures.profile(target, law, checked=checked, steps=steps, colours=view.colours)
    said, table = sentence(solution), profile_table(solution)
    drawing.draw(figure, key="chart_promise", alt=said, table=lambda: st.dataframe(table, hide_index=True))
    st.caption(said)


def curves(solution: Solution) -> tuple[Curve, Curve, Curve | None]:
    """(what is allowed, the noise's δ(ε′), the places that were checked)."""
    profile, proof = solution.problem.profile, solution.certificate.profile
    if isinstance(profile, PairList):
        last = 1.25 * profile.pairs[-1].epsilon + 0.25
    else:
        curve = profile if isinstance(profile, GaussianProfile) else profile.sufficient
        last = curve.mu * (4.0 + curve.mu / 2)
    epsilons = np.linspace(0, last, POINTS)
    if isinstance(profile, PairList):
        epsilons = np.union1d(epsilons, [p.epsilon for p in profile.pairs])
    own = dominating_curve_upper if isinstance(solution.noise, PiecewiseNoise) else curve_upper
    law = Curve("optimal", "this noise, over all shifts", epsilons.tolist(), own(solution.noise, epsilons).tolist())
    names = {Composed: "Gaussian for the same total", PairList: "allowed"}
    name = names.get(type(profile), "allowed: Gaussian noise with σ = sensitivity/μ")
    target = Curve("gaussian", name, epsilons.tolist(), [profile.target(e) for e in epsilons.tolist()])
    if proof is None or isinstance(profile, Composed):
        return target, law, None
    inside = [(e, d) for e, d in zip(proof.epsilons, proof.deltas) if e <= last]
    return target, law, Curve("optimal", "checked here", *map(list, zip(*inside)))


def sentence(solution: Solution) -> str:
    """What the picture shows, with its main numbers."""
    profile, proof = solution.problem.profile, solution.certificate.profile
    if proof is None:
        return "The noise's δ at every ε′."
    if isinstance(profile, Composed):
        joint, pair = prose.at_most(proof.deltas[0], 4), profile.privacy
        return (
            f"δ(ε′) of one release. An accountant that only rounds up finds δ ≤ {joint} for all "
            f"{prose.count(profile.releases)} releases at ε = {pair.epsilon:g}. The lower bound asks less: that "
            "yes-or-no answers from each release compose."
        )
    if isinstance(profile, PairList):
        return f"The noise keeps all {len(proof.epsilons)} pairs."
    return (
        f"Below the curve at every ε′ ≥ 0, not only where it was checked: {len(proof.epsilons)} places prove it in "
        f"between. From ε′ = {prose.at_most(proof.pure_from, 4)} on, δ is exactly 0."
    )


def profile_table(solution: Solution) -> dict[str, list[str]]:
    """Where the audit looked, what it found and what it allows."""
    proof = solution.certificate.profile
    if proof is None:
        return {"ε′": []}
    return {
        "ε′": [prose.number(e, 5) for e in proof.epsilons],
        "δ of this noise, at most": [prose.at_most(d, 5) for d in proof.deltas],
        "allowed": [prose.at_least(d, 5) for d in proof.limits],
    }
