"""Release plan: from columns to numbers that may be published, with their errors known before any data are touched."""

from __future__ import annotations

import streamlit as st

from dpcore.plan.files import plan_to_toml
from pages.release_plan import controls, costs, draft, editor, expect, headline, release, takeaway, work
from pages.shared import compute, fields, folding, frame, prose, watching

TEXT = prose.sections("release_plan")
PAGE = controls.PAGE

PAGE.open()
st.title("Release plan", anchor=False)
found = draft.read(PAGE.values())
controls.sidebar(found)

jobs: dict[str, compute.Job] = {}
if found.plan is not None:
    asked = work.Asked(plan_to_toml(found.plan))
    jobs = {"price": compute.ask("price", asked, work.LIMIT, task=work.price)}
    jobs["rehearse"] = compute.ask("rehearse", asked, work.LIMIT, task=work.rehearse, urgent=False)
waited_for = watching.under_way(jobs)
priced = jobs["price"].solution if jobs else None
rehearsed = jobs["rehearse"].solution if jobs else None

headline.headline(found, priced, rehearsed, jobs.get("price"))
watching.go_on(jobs)
watching.strip(waited_for, lambda: st.markdown("Working out shares, noise and made-up releases …"), label="Stop")
if priced is not None:
    facts = {
        "ε in all, certified": prose.at_most(priced.split.total, 6),
        "δ": prose.delta_text(priced.split.plan.delta),
    }
    frame.cite(headline.verdict(priced).replace("*", ""), facts)

panel = fields.choice(PAGE, "panel", "Step")
if panel == "have":
    editor.people_and_columns(found)
elif panel == "publish":
    editor.lines(found)
elif panel == "cost":
    costs.budget(found, priced, rehearsed)
elif panel == "noise":
    costs.noise(found, priced)
elif priced is None:
    st.info(
        "First the plan has to be complete and priced." if not waited_for else "One moment: the plan is being priced."
    )
else:
    {"expect": lambda: expect.expect(priced, rehearsed), "release": lambda: release.release(priced),
     "take": lambda: takeaway.take(priced)}[panel]()  # fmt: skip
folding.about(TEXT)
