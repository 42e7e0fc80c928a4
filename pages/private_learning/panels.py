"""What the page shows: the curve, the published setting with its test, the whole promise, one vector."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import streamlit as st

from dpcore.errors import InputError
from dpcore.isotropic.problem import IsotropicProblem, RadialLoss
from dpcore.isotropic.search import solve as solve_isotropic
from dpcore.learning.descent import Descent, width
from dpcore.learning.design import Design
from dpcore.learning.experiment import closed, one_sided
from dpcore.learning.noises import NAMES
from dpcore.learning.published import PRINTED
from dpcore.noise import Gaussian
from dpcore.problem import SolverSettings
from pages.release_plan import upload
from pages.shared import compute, drawing, fields, frame, prose, watching
from pages.shared.messages import explain

from . import charts, own, work
from .controls import FIELDS, PAGE, PRESETS, ROWS, Asked
from .work import EPSILONS, KEYS, NOTHING, Cell

TEXT = prose.sections("private_learning")
VECTORS = {"vector-gaussian": "Gaussian", "vector-isotropic": "Best isotropic"}
LEAST_DELTA = 1e-300
ISOTROPIC = SolverSettings(gap=0.02, time_limit=10.0)


Simulation = compute.Job | own.Run
"""A simulation of a table of `SETS` by the processes that solve, of a visitor's own in this one."""


def simulation(slot: str, asked: Asked, what: work.Asking, **how: Any) -> Simulation:
    """What simulates a curve or a setting, begun unless it is under way or done."""
    if asked.own:
        assert asked.table is not None
        return own.run(slot, what, asked.table)
    return compute.ask(slot, what, None, task=work.errors, **how)


def cells_of(job: Simulation) -> list[Cell]:
    """What is known so far."""
    return list(job.solution.cells) if job.solution is not None else [c for c in job.trace if isinstance(c, Cell)]


def at(cells: Sequence[Cell], epsilon: float) -> dict[str, Cell]:
    """The cells of the ε worked out nearest to one, by law, with the learner without noise."""
    known = {one.epsilon for one in cells if one.inside and one.key != NOTHING}
    if not known:
        return {one.key: one for one in cells if one.key == NOTHING}
    near = min(known, key=lambda e: abs(math.log(e / epsilon)))
    return {one.key: one for one in cells if one.inside and (one.epsilon == near or one.key == NOTHING)}


def error(cell: Cell, rows: str | None = None) -> float:
    """Share of the rows that are classified wrongly."""
    return cell.outcome.means[(rows or PAGE["rows"]) == "outside"]


def short_percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def sentence(asked: Asked, cells: Sequence[Cell]) -> str:
    """The result in one sentence."""
    found = at(cells, asked.privacy.epsilon)
    if not {"gaussian", "optimal", NOTHING} <= found.keys():
        return f"{prose.literal(asked.table.name)}: the first errors are being simulated …"
    epsilon = found["optimal"].epsilon
    pair, rows = f"({epsilon:g}, {prose.delta_text(asked.privacy.delta)})", ROWS[PAGE["rows"]]
    best, gaussian, none = (short_percent(error(found[key])) for key in ("optimal", "gaussian", NOTHING))
    return (
        f"{prose.literal(asked.table.name)}, everything together {pair}-DP: of the {rows} the optimum gets **{best}** "
        f"wrong, the Gaussian **{gaussian}**, no noise **{none}** (simulated)."
    )


def verdict(asked: Asked, cells: Sequence[Cell]) -> str:
    """What optimal noise buys this learner."""
    found = at(cells, asked.privacy.epsilon)
    if not {"gaussian", "optimal"} <= found.keys():
        return ""
    gaussian, optimal = found["gaussian"], found["optimal"]
    if optimal.amplitude >= gaussian.amplitude * (1 - 1e-9):
        return "With so many statistics no better noise than the Gaussian was found"
    _, p = one_sided(getattr(optimal, PAGE["rows"]), getattr(gaussian, PAGE["rows"]))
    smaller = prose.percent(1 - optimal.amplitude / gaussian.amplitude)
    if p > 0.05:
        return f"Optimal noise is {smaller} smaller, and the classifier does not show it"
    gain = 100 * (error(gaussian) - error(optimal))
    return f"Optimal noise is {smaller} smaller and saves {gain:.2f} points"


def headline(asked: Asked, job: Simulation) -> None:
    cells = cells_of(job)
    frame.headline(sentence(asked, cells), verdict=verdict(asked, cells))


def progress(job: Simulation, slot: str = "curve", total: int = 1 + len(EPSILONS) * len(KEYS)) -> None:
    """The strip with the button that ends the simulation, which has so many parts."""
    say = lambda: st.markdown(f"{len(cells_of(job))} of {total} simulations are done.")  # noqa: E731
    help = "Keep the simulations so far"
    if isinstance(job, own.Run):
        if job.halted:
            st.button("Stopped early: go on", key=f"resume_{slot}", on_click=own.go_on, args=(slot,))
        elif not job.done:
            upload.strip(job.reading, say, key=f"stop_{slot}", help=help)
        return
    waited_for = watching.under_way({slot: job})
    watching.go_on({slot: job}, key=f"resume_{slot}")
    watching.strip(waited_for, say, label="Stop", key=f"stop_{slot}", help=help)


def curve(asked: Asked, job: Simulation) -> None:
    """Errors against total ε."""
    if job.error is not None:
        st.error(explain(job.error, FIELDS) if isinstance(job.error, InputError) else "The simulation failed.")
    if not (cells := cells_of(job)) and job.error is not None:
        return
    figure = charts.errors(cells, rows=PAGE["rows"], chosen=asked.privacy.epsilon, colours=drawing.colours())
    found = at(cells, asked.privacy.epsilon)
    told = "; ".join(f"{name_of(key)} {short_percent(error(one))}" for key, one in found.items())
    epsilon = next((f"{one.epsilon:g}" for key, one in found.items() if key != NOTHING), "–")
    drawing.draw(
        figure, key="chart_learning", alt=f"{ROWS[PAGE['rows']]} classified wrongly, at total ε = {epsilon}: {told}.",
        table=lambda: st.dataframe(curve_table(cells), hide_index=True),
    )  # fmt: skip
    if refused := {one.key for one in cells if one.reason}:
        st.caption(f"Not at every ε: {', '.join(NAMES[key] for key in KEYS if key in refused)}.")


def name_of(key: str) -> str:
    return "no noise" if key == NOTHING else NAMES[key]


def curve_table(cells: Sequence[Cell]) -> dict[str, list[str]]:
    """A row for every law and ε."""
    known = sorted((one for one in cells if one.inside and one.key != NOTHING), key=lambda one: (one.epsilon, one.key))
    known += [one for one in cells if one.key == NOTHING]
    percent = lambda values: [f"{mean:.2f} ± {spread:.2f}" for mean, spread in values]  # noqa: E731
    return {
        "total ε": ["–" if one.key == NOTHING else f"{one.epsilon:g}" for one in known],
        "noise": [name_of(one.key) for one in known],
        "E|noise|, for sensitivity 1": [prose.number(one.amplitude) for one in known],
        "training rows (%)": percent(charts.mean_and_spread(one.outcome, "inside") for one in known),
        "test rows (%)": percent(charts.mean_and_spread(one.outcome, "outside") for one in known),
    }


# Look closer -----------------------------------------------------------------------------------------


def _setting(asked: Asked) -> work.Setting | None:
    """The fields of (ε, δ) of each statistic, and what they say."""
    left, right, _ = st.columns([1, 1, 2])
    with left:
        place = fields.number(PAGE, "each_epsilon", "ε of each", step=0.1)
    with right:
        other = fields.number(PAGE, "each_delta", "δ of each")
    try:
        return asked.setting()
    except InputError as problem:
        (other if problem.field == "each_delta" else place).error(explain(problem, FIELDS))
        return None


def paper(asked: Asked) -> None:
    """Every statistic (ε, δ), beside what is printed, with the test between two laws."""
    frame.heading("Every statistic (ε, δ), as published", TEXT["paper"])
    setting = _setting(asked)
    if setting is None:
        return
    if asked.model == "naive-bayes":
        options, label = PAGE.options("recipe"), PAGE.label("recipe")
        st.segmented_control("Sensitivities", options, format_func=label, key="recipe", required=True)
    job = simulation("setting", asked, setting, urgent=False, wait=0.1)
    progress(job, "setting", len(setting.plan))
    left, right = st.columns(2)
    for place, key, word in ((left, "better", "Errs less: "), (right, "worse", "than")):
        place.selectbox(word.strip(": "), PAGE.options(key), format_func=PAGE.label(key), key=key)
    watching.live([job], lambda: _compared(asked, setting, cells_of(job)))


def _compared(asked: Asked, setting: work.Setting, cells: Sequence[Cell]) -> None:
    if (setting.privacy.epsilon, setting.privacy.delta) == (1.0, 0.1):
        printed = PRINTED[asked.model].get(asked.data, {})
    else:
        printed = {}
    known = {one.key: one for one in cells if one.inside}
    rows = []
    for key, one in known.items():
        row = {"noise": name_of(key)}
        for number, (rows_key, word) in enumerate((("inside", "training"), ("outside", "test"))):
            mean, spread = charts.mean_and_spread(one.outcome, rows_key)
            row[f"{word} rows (%)"] = f"{mean:.2f} ± {spread:.2f}"
            if printed:
                row[f"printed, {word}"] = f"{printed[key][number]:.2f}" if key in printed else "–"
        rows.append(row)
    if not rows:
        st.caption("The first errors are being simulated …")
        return
    st.dataframe(rows, hide_index=True)
    for one in cells:
        if one.reason:
            st.caption(f"{name_of(one.key)}: {one.reason}.")
    better, worse = known.get(PAGE["better"]), known.get(PAGE["worse"])
    if better and worse and better is not worse and len(better.inside) == len(worse.inside):
        t, p = one_sided(getattr(better, PAGE["rows"]), getattr(worse, PAGE["rows"]))
        text = (
            f"Over {len(better.inside)} splits, {ROWS[PAGE['rows']]}: {name_of(better.key)} against "
            f"{name_of(worse.key)} has t = {prose.plain(round(t, 1))}, p = {p:.2g} (one-sided)."
        )
        if NOTHING in known and worse.key != NOTHING and better.key != NOTHING:
            share = closed(better.outcome, worse.outcome, known[NOTHING].outcome)[PAGE["rows"] == "outside"]
            text += f" It closes {100 * share:.1f} % of the distance to no noise."
        st.markdown(text)
    st.caption(TEXT["test"])


def promise(asked: Asked) -> None:
    """What every statistic's (ε, δ) adds up to."""
    frame.heading("What all of it promises", TEXT["promise"])
    setting = _setting(asked)
    if setting is None:
        return
    epsilon, delta = setting.privacy.epsilon, setting.privacy.delta
    if asked.model == "naive-bayes":
        entered, changed = Design.shape(asked.table.columns).touched
        counts = {"one person enters": entered, "a person replaced changes at most": changed}
    else:
        d = width(asked.table.columns)
        counts = {f"T·K = 100 · {Descent.updates(d)} updates see every person": Descent().releases(d)}
    lines = []
    for word, count in counts.items():
        total = 1 - (1 - delta) ** count
        shown = f"{total:.4f}" if total < 0.9999 else f"1 − {math.exp(count * math.log1p(-delta)):.1g}"
        lines.append(
            f"* **{count}** statistics ({word}): each ({epsilon:g}, {delta:g})-DP and nothing more known of each, "
            f"together ({count * epsilon:g}, **{shown}**)-DP and no better."
        )
    st.markdown("\n".join(lines))
    account = work.Account.of(setting, asked.table)
    job = compute.ask("promise", account, asked.privacy.delta, task=work.promised, urgent=False, wait=0.1)
    watching.live([job], lambda: _promises(asked, job))


def _promises(asked: Asked, job: compute.Job) -> None:
    if job.solution is None:
        st.caption("The account of each law is being composed …" if not job.done else "There is no account.")
        return
    shown = prose.delta_text(asked.privacy.delta)
    rows = [
        {
            "noise": NAMES[one.key],
            "together, δ at the sum of all ε, at most": _delta(one.delta),
            f"together, ε at δ = {shown}, at most": _epsilon(one.epsilon),
        }
        for one in job.solution.promises
    ]
    st.dataframe(rows, hide_index=True)
    st.caption(TEXT["account"])


def sensitivities(asked: Asked) -> None:
    """The rules, proved and refuted."""
    frame.heading("How far one person moves a statistic", TEXT["sensitivities"])
    st.markdown(TEXT["rules"])


def vector(asked: Asked) -> None:
    """All statistics as one vector with isotropic noise."""
    frame.heading("One vector in place of many numbers", TEXT["vector"])
    cases = work.Asked(asked.model, asked.privacy).cases(asked.table)
    squares = max(math.fsum(count * shift**2 for shift, count in case) for case in cases)
    if asked.model == "coordinate-descent":
        _iterations(asked)
        return
    design = Design.shape(asked.table.columns)
    dimension = len(design.kinds) * len(asked.table.classes)
    problem = IsotropicProblem(dimension, asked.privacy, RadialLoss(2.0), math.sqrt(squares))
    job = compute.ask("vector", problem, ISOTROPIC, task=solve_isotropic, urgent=False, wait=0.1)
    watching.strip(
        watching.under_way({"vector": job}), lambda: st.markdown(f"{job.doing} the best law of one vector"),
        label="Stop", key="stop_vector",
    )  # fmt: skip
    watching.live([job], lambda: _one_vector(asked, problem, job))


def _one_vector(asked: Asked, problem: IsotropicProblem, job: compute.Job) -> None:
    gaussian = Gaussian.calibrate(asked.privacy, problem.sensitivity).sigma
    told = (
        f"All {problem.dimension} statistics, in units of their sensitivities, are one vector that a person moves by "
        f"at most {prose.number(problem.sensitivity)} in length. The Gaussian needs a deviation of "
        f"{prose.number(gaussian)} for each."
    )
    if (best := job.best) is not None:
        root = math.sqrt(best.upper / problem.dimension)
        floor = math.sqrt(max(best.lower, 0.0) / problem.dimension)
        low, high = prose.bracket(floor, min(root, gaussian))
        told += f" The best isotropic noise has a deviation between {low} and {high}"
        told += f": at most {prose.percent_up(1 - floor / gaussian)} to gain." if floor else "; no lower bound yet."
    st.markdown(told)
    link = f"isotropic?dimension={problem.dimension}&epsilon={asked.privacy.epsilon:g}&delta={asked.privacy.delta:g}"
    st.markdown(f"[Look at this vector]({link}&sensitivity={problem.sensitivity!r})")


def _iterations(asked: Asked) -> None:
    """One vector in place of the numbers of an iteration."""
    st.markdown(TEXT["iterations"])
    setting = _setting(asked)
    if setting is None:
        return
    what = work.Sweeps(asked.data, asked.model, setting.privacy, setting.splits, setting.draws)
    job = simulation("sweeps", asked, what, urgent=False, wait=0.1)
    progress(job, "sweeps", len(what.plan))
    d = width(asked.table.columns)
    account = compute.ask(
        "kept", work.Iterations(setting.privacy, d), asked.privacy.delta, task=work.kept, urgent=False, wait=0.1
    )  # fmt: skip
    watching.live([job, account], lambda: _side_by_side(asked, d, cells_of(job), account))
    st.caption(TEXT["beside"])


def _side_by_side(asked: Asked, d: int, cells: Sequence[Cell], account: compute.Job) -> None:
    """Errors and promises of numbers and of vectors."""
    kept = {one.key: one for one in account.solution.laws} if account.solution is not None else {}
    count, shown = Descent.updates(d), prose.delta_text(asked.privacy.delta)
    rows = []
    for one in cells:
        alone, known = not one.key.startswith("vector"), kept.get(one.key)
        name = "no noise" if one.key in (NOTHING, "vector-none") else VECTORS.get(one.key) or NAMES[one.key]
        row = {"released in an iteration": f"{count} numbers" if alone else f"one vector of {d}", "noise": name}
        row["deviation of each"] = "–" if known is None else prose.number(known.deviation)
        for rows_key, word in (("inside", "training"), ("outside", "test")):
            row[f"{word} rows (%)"] = _mean(one, rows_key)
        row["total δ at Σε, at most"] = "–" if known is None else _delta(known.delta)
        row[f"total ε at δ = {shown}, at most"] = "–" if known is None else _epsilon(known.epsilon)
        rows.append(row)
    if rows:
        st.dataframe(rows, hide_index=True)
    found = {one.key: one for one in cells if one.inside}
    if {"optimal", "vector-isotropic"} <= found.keys() and {"vector-gaussian", "vector-isotropic"} <= kept.keys():
        numbers, vector = (short_percent(error(found[key])) for key in ("optimal", "vector-isotropic"))
        smaller = prose.percent(1 - kept["vector-isotropic"].deviation / kept["vector-gaussian"].deviation)
        st.markdown(
            f"Of the {ROWS[PAGE['rows']]} one vector an iteration gets **{vector}** wrong, {count} numbers "
            f"**{numbers}**. "
            f"The best isotropic noise is {smaller} smaller than the Gaussian of one vector."
        )


def _mean(cell: Cell, rows: str) -> str:
    if cell.reason:
        return "–"
    mean, spread = charts.mean_and_spread(cell.outcome, rows)
    return f"{mean:.2f} ± {spread:.2f}"


def _delta(delta: float) -> str:
    """Rounded up; what is less than floats hold is not 0."""
    return prose.at_most(min(max(delta, LEAST_DELTA), 1.0), 4)


def _epsilon(epsilon: float) -> str:
    return prose.at_most(epsilon, 4) if epsilon < 1e6 else "none"


def next_steps() -> None:
    """Presets, one click each."""
    frame.experiments(PAGE, list(PRESETS.items()))
