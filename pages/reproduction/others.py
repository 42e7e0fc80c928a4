"""The tab with figures of other papers: mixtures of Gaussians, private principal components and coordinate
descent, programs of high sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from dpcore.mechanisms import MECHANISMS
from dpcore.privacy import Privacy
from dpcore.private_optimization.high_sensitivity import answers, most_certain
from dpcore.problem import noise_problem
from dpcore.sweeps import Outcome
from dpcore.vector.scales import RULES
from dpcore.vector.tuned import PASSES, Tuned
from pages.shared import compute, drawing, frame, prose
from pages.shared.watching import live
from pages.tradeoff_maps import charts as maps
from pages.tradeoff_maps.panels import outcomes
from pages.tradeoff_maps.work import Axes, Plane, fill

from . import charts, data, work
from .controls import PAGE
from .panels import TEXT, heading, open_cell, place, waiting

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
DELTAS = (3e-6, 3e-5, 3e-4, 3e-3, 0.03, 0.3)
"""(ε, δ) at which mixtures are compared."""

GAP = 3e-3
"""Certified gap of the optimum there: a share of the Gaussian's gap is known to a part of that."""


def others() -> None:
    """Mixtures of [LSW26], Table III and Figures 5, 6 of [MK], Appendix A of [MSVV]."""
    mixtures()
    components()
    descent()
    high_sensitivity()


def mixtures() -> None:
    """The share of the Gaussian's gap to the optimum that mixtures close, and whether another law costs less still."""
    heading("Liu, Selvi and Wiesemann (2026): mixtures of Gaussians", TEXT["mixtures"], mixture_loss="Loss")
    problem = noise_problem(1.0, 0.2, 1.0, PAGE["mixture_loss"])
    plane = Plane(problem, Axes(EPSILONS, DELTAS), GAP)
    job = compute.ask(f"mixtures {PAGE['mixture_loss']}", plane, None, task=fill, wait=0.1)

    def draw() -> None:
        known = [one for one in outcomes(job) if one.certificate is not None and maps.closed(one) is not None]
        if known:
            st.markdown(mixture_words(known))
        figure = maps.heat_map(plane.axes, known, maps.CLOSED, colours=drawing.colours())
        figure.update_traces(colorbar={"title": {"text": "closed", "side": "top"}}, selector={"type": "heatmap"})
        alt = "; ".join(f"{row['ε']}, {row['δ']}: {row['mixtures close']}" for row in mixture_rows(known))
        picked = drawing.draw(
            figure, key="chart_mixtures", alt=f"Shares closed by (ε, δ): {alt}.", clicks=True,
            table=lambda: st.dataframe(mixture_rows(known), hide_index=True),
        )  # fmt: skip
        if picked is not None:
            open_cell(replace(problem, privacy=Privacy(*picked[:2])))

    waiting(f"mixtures {PAGE['mixture_loss']}", job, plane.cells)
    live([job], draw)
    st.markdown(TEXT["mixtures note"])


def mixture_words(known: Sequence[Outcome]) -> str:
    """The largest share, where there is none, and how often another law costs less."""
    shares = {one: maps.closed(one) or 0.0 for one in known}
    most = max(known, key=lambda one: shares[one])
    none = [place(one) for one in known if shares[one] <= 0]
    beaten = [one for one in known if one.best is not None and one.best[0] not in maps.MIXTURES]
    count = len(known)
    words = (
        f"Mixtures close up to **{maps.share_text(shares[most])}** of the Gaussian's gap, at {place(most)}"
        + (f", and nothing at {', '.join(none)}" if none else "")
        + f"; at **{len(beaten)} of {count}** (ε, δ) an older law costs less still"
    )
    kept = [place(one) for one in known if one not in beaten]
    return words + (f", not at {', '.join(kept)}." if beaten and kept else ".")


def mixture_rows(known: Sequence[Outcome]) -> list[dict[str, str]]:
    """Losses of the Gaussian, of both mixtures and of the best other law beside the bracket, and what they close."""
    rows = []
    for one in sorted(known, key=lambda o: (o.problem.privacy.epsilon, o.problem.privacy.delta)):
        losses = dict(one.mechanisms)
        lower, upper = prose.bracket(one.certificate.lower or 0.0, one.certificate.upper)
        others = {key: loss for key, loss in losses.items() if key not in (*maps.MIXTURES, "gaussian")}
        other = min(others, key=lambda key: others[key])
        row = {"ε": f"{one.problem.privacy.epsilon:g}", "δ": prose.delta_text(one.problem.privacy.delta)}
        row |= {"optimum": f"{lower} to {upper}"}
        row |= {
            MECHANISMS[key].name: prose.number(losses[key]) if key in losses else "–"
            for key in ("gaussian", *maps.MIXTURES)
        }
        row |= {"mixtures close": maps.share_text(maps.closed(one) or 0.0), "best other law": MECHANISMS[other].name}
        row |= {"its loss": prose.number(others[other]), "it closes": maps.share_text(maps.closed(one, [other]) or 0.0)}
        rows.append(row)
    return rows


def components() -> None:
    """Subspace recovery errors of private principal components, printed and here."""
    source = data.published()["mk_table_3"]
    asked = work.Components(tuple(source["epsilons"]), source["delta"], source["trials"])
    job = compute.ask("components", asked, None, task=work.components, wait=0.1)

    def draw() -> None:
        known = [one for one in (job.solution or job.trace) if isinstance(one, work.Recovery)]
        rows = component_rows(source, known)
        if known:
            first = {one.key: one.error for one in known if one.epsilon == source["epsilons"][0]}
            if {"gaussian-iid", "gaussian-optimal"} <= first.keys():
                more = "more" if first["gaussian-optimal"] > first["gaussian-iid"] else "less"
                st.markdown(
                    f"At ε = 1 clipped, optimally scaled Gaussian noise misses **{first['gaussian-optimal']:.3f}** of "
                    f"the subspace, {more} than identical noise, **{first['gaussian-iid']:.3f}**, does."
                )
        st.dataframe(rows, hide_index=True)

    heading("Muthukrishnan and Kalyani, Table III: principal components", TEXT["components"])
    waiting("components", job, len(source["epsilons"]) * 7)
    live([job], draw)
    st.markdown(TEXT["components note"])


def component_rows(source: dict, known: list) -> list[dict[str, str]]:
    """Printed and measured errors by kind of noise and ε."""
    rows = []
    for key in dict.fromkeys([*source["printed"], *(one.key for one in known)]):
        found = {one.epsilon: one for one in known if one.key == key}
        row = {"noise": next((one.name for one in found.values()), key)}
        for column, epsilon in enumerate(source["epsilons"]):
            printed = source["printed"].get(key)
            row[f"printed, ε = {epsilon:g}"] = f"{printed[column]:.4f}" if printed else "–"
            one = found.get(epsilon)
            row[f"here, ε = {epsilon:g}"] = "…" if one is None else f"{one.error:.3f} ± {2 * one.spread:.3f}"
        rows.append(row)
    return rows


def descent() -> None:
    """Relative errors of tuned coordinate descent by the number of passes, beside the printed ones."""
    heading("Muthukrishnan and Kalyani, Figures 5 and 6: coordinate descent", TEXT["descent"], regression="Regression")
    model, source = PAGE["regression"], data.published()["mk_descent"]
    asked = work.Descent(model)
    job = compute.ask(f"descent {model}", asked, None, task=work.descent, wait=0.1)

    def draw() -> None:
        known = [one for one in (job.solution or job.trace) if isinstance(one, Tuned)]
        rows = descent_rows(source[model], known)
        last = {one.rule: one for one in known if one.passes == source["passes"]}
        if last.keys() == RULES.keys():
            st.markdown(descent_words(source[model], last))
        figure = charts.descent(known, source[model], source["passes"], colours=drawing.colours())
        alt = "; ".join(f"{row['noise']}: {', '.join(list(row.values())[1:])}" for row in rows)
        drawing.draw(figure, key="chart_descent", alt=f"Relative error by passes. {alt}.",
                     table=lambda: st.dataframe(rows, hide_index=True))  # fmt: skip

    waiting(f"descent {model}", job, len(PASSES) * len(RULES))
    live([job], draw)
    st.markdown(TEXT["descent note"])


def descent_words(printed: dict[str, float], last: dict[str, Tuned]) -> str:
    """What the rules come to after the last pass, and which is best."""
    iid, optimal, spr = (last[rule].error for rule in ("iid", "optimal", "spr"))
    least = "below both" if spr < min(iid, optimal) else "not below both"
    return (
        f"After {last['iid'].passes} passes identical noise is **{percent(iid)}** above the optimum (printed "
        f"{printed['identical']:g} %), optimal noise **{percent(optimal)}** ({printed['optimal']:g} %), a factor of "
        f"{iid / optimal:.1f} (printed {printed['identical'] / printed['optimal']:.1f}). Scale-perturb-rescale ends at "
        f"**{percent(spr)}**, {least}; without noise the same settings end at "
        f"{percent(max(one.quiet for one in last.values()))} at most."
    )


def percent(share: float) -> str:
    """A relative error with two digits after the point."""
    return f"{100 * share:.2f} %"


def descent_rows(printed: dict[str, float], known: Sequence[Tuned]) -> list[dict[str, str]]:
    """Errors by rule and number of passes, those printed for the last one, and the settings that were best there."""
    rows = []
    for rule, name in RULES.items():
        found = {one.passes: one for one in known if one.rule == rule}
        row = {"noise": name}
        for passes in PASSES:
            one = found.get(passes)
            row[f"{passes} passes"] = "…" if one is None else f"{100 * one.error:.3f} ± {200 * one.spread:.3f} %"
        last = found.get(PASSES[-1])
        row["printed"] = f"{printed[name]:g} %" if name in printed else "–"
        row["without noise"] = "…" if last is None else f"{100 * last.quiet:.3f} %"
        row["step, clipping"] = "…" if last is None else f"{last.step:g}, {last.clip:g}"
        rows.append(row)
    return rows


def high_sensitivity() -> None:
    """A program whose private limits are the data themselves."""
    heading("Muñoz Medina et al., Appendix A: a program that cannot be private", TEXT["high"], people="People")
    people = int(PAGE["people"])
    epsilons = np.geomspace(0.1, 10, 60)
    most = [most_certain(float(epsilon), people) for epsilon in epsilons]
    share = float(np.mean(answers(1.0, people, 2000, np.random.default_rng(0))))
    frame.headline(
        f"With {people} {'person' if people == 1 else 'people'} no 1-DP mechanism meets all limits within ½ with a "
        f"probability above **{prose.percent(most_certain(1.0, people))}**; randomised response, drawn 2000 times, did "
        f"in {prose.percent(share)}."
    )
    figure = charts.certain(epsilons, most, colours=drawing.colours())
    rows = [{"ε": f"{e:g}", "at most": prose.percent(most_certain(e, people))} for e in (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)]
    alt = f"Largest probability of a feasible answer for {people}: " + "; ".join(
        f"{r['ε']}: {r['at most']}" for r in rows
    )
    drawing.draw(figure, key="chart_high", alt=alt, table=lambda: st.dataframe(rows, hide_index=True))
    st.markdown(TEXT["high note"])
