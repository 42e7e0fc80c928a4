"""The tab with figures of two other papers: private principal components, programs of high sensitivity."""

from __future__ import annotations

import numpy as np
import streamlit as st

from dpcore.private_optimization.high_sensitivity import answers, most_certain
from pages.shared import compute, drawing, frame, prose
from pages.shared.watching import live

from . import charts, data, work
from .controls import PAGE
from .panels import TEXT, heading, waiting


def others() -> None:
    """Table III of [MK], Appendix A of [MSVV]."""
    components()
    high_sensitivity()
    st.markdown(TEXT["figures mk"])


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
        for place, epsilon in enumerate(source["epsilons"]):
            printed = source["printed"].get(key)
            row[f"printed, ε = {epsilon:g}"] = f"{printed[place]:.4f}" if printed else "–"
            one = found.get(epsilon)
            row[f"here, ε = {epsilon:g}"] = "…" if one is None else f"{one.error:.3f} ± {2 * one.spread:.3f}"
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
