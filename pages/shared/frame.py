"""What stands around every page: the bar with its switches and the link, citations, the tour, headings that explain.

A page says its result with `headline(sentence)`, names it with `cite(sentence, facts)` once it has one, and titles its
panels with `heading(title, text)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from urllib.parse import urlsplit, urlunsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import citation, figures
from pages.registry import PAGES

from . import actions, drawing, fields, playlist, prose, seen, travel
from .address import FRAME, Address

TOURED = "optimal_noise"
"""The page that the tour is about."""

ANSWERED = ("optimal_noise",)
"""Pages whose answer is told, where it is known, before anything else is drawn."""

_citation: ContextVar = ContextVar("citation")
"""Where the bar keeps a place for the page's citation, during one run of the script."""

_place: ContextVar = ContextVar("place", default=None)
"""(container above the page, name of the page) until the bar is drawn in it."""


def begin(page: str) -> None:
    """Before the page runs: the look of it, and the row above it. A page of `ANSWERED` tells what it knows first and
    calls `bar` itself."""
    _recall()
    _style(bool(FRAME["projector"]))
    _place.set((st.container(), page))
    if page not in ANSWERED:
        bar()


def bar() -> None:
    """The row above a page: explain, projector, link, citation; first in its sidebar the problem that the visitor
    brings; the tour of the first visit on the page it is about. Nothing where a page runs without the frame."""
    if place := _place.get():
        _place.set(None)
        with place[0]:
            _bar(place[1], projected=bool(FRAME["projector"]))


def _bar(page: str, *, projected: bool) -> None:
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center", key="bar"):
        explains = page != PAGES[0].name  # the first page has no panels
        if explains and not projected:
            st.toggle("Explain", key="explain", help="Unfold the explanations of every panel.", on_change=_wished)
        if explains or projected:
            st.toggle("Projector", key="projector", help="Larger type and fewer controls, for a lecture hall.")
        links = [actions.link(), actions.link_of_projector()] if projected else [actions.link()]
        actions.row(links, key="share")
        with st.popover("Cite", width="content", key="citing", on_change="rerun") as part:
            _citation.set(st.empty() if part.open else None)
    playlist.draw(page)
    with st.sidebar:
        travel.offer(page)
    _snapshot(key="snapshot")
    _arrows(key="arrows")
    _labels(key="labels")
    here = next(one for one in PAGES if one.name == page)
    _names(data={"menu": here.menu, "title": here.title}, key="names")
    told = {"drawn": "dark" if drawing.dark() else "light", "paths": [f"/{one.address}" for one in PAGES]}
    _theme(data=told, key="theme", on_changed_change=lambda: None)
    if projected:
        _room(data={"height": drawing.screen()}, key="room", on_height_change=_measured)
    asked = st.session_state.get("from the top", 0)
    _side_bar(data={"time": asked}, key="side_bar")
    if asked:
        _top(data={"time": asked}, key="top")
    if "explain wished" in st.session_state:
        _remember(data={"explain": st.session_state["explain wished"]}, key="remember")
    cite("Noise for differential privacy with certified bounds.", {})
    fields.notice()
    if page == TOURED and not projected:
        _tour(data={"steps": tour_steps()}, key="tour")


def _measured() -> None:
    """The browser has said how high a projector's screen is (a callback)."""
    drawing.measure(st.session_state["room"]["height"])


def _recall() -> None:
    """Explain from the first run on to those who wished it on an earlier visit, unless the link has a word about it.

    The wish is in a cookie, which the server sees before it draws anything; assets/remember.js sets it, to "true" or
    "false", once the visitor has moved the switch. A link that was followed does not change it.
    """
    if st.session_state.setdefault("explain recalled", False):
        return
    st.session_state["explain recalled"] = True
    if "explain" not in st.query_params and st.context.cookies.get(EXPLAIN) == "true":
        FRAME.choose({"explain": True})


def _wished() -> None:
    st.session_state["explain wished"] = bool(FRAME["explain"])


def _style(projected: bool) -> None:
    """The look of every page: the palette's colours, of which the browser takes those of the theme, and the rules."""
    sheets = ["style.css", "projector.css"] if projected else ["style.css"]
    light, dark = figures.LIGHT, figures.DARK
    names = {name: f"light-dark({getattr(light, name)}, {getattr(dark, name)})" for name in ("accent", "muted")}
    rules = [f":root {{ {' '.join(f'--{name}: {value};' for name, value in names.items())} }}"]
    rules += map(prose.asset, sheets)
    st.html(f"<style>{' '.join(rules)}</style>")


def cite(sentence: str, facts: Mapping[str, str]) -> None:
    """Put the page's result into the bar's "Cite", once per run: the claim in a sentence, the facts that prove it."""
    place = _citation.get(None)
    if place is None:  # a part of the page runs again by itself, or a page runs without the frame
        return
    plain, entry = citation.plain(sentence, facts, _here()), citation.bibtex(sentence, facts, _here())
    with place.container():
        st.code(plain, language=None, wrap_lines=True)
        copies = [actions.text("Copy citation", plain), actions.text("Copy BibTeX", entry)]
        actions.row(copies, key="cite_result" if facts else "cite_project")


def _here() -> str:
    """The full address of the screen as others see it."""
    page = urlsplit(str(st.context.url or ""))
    return urlunsplit((page.scheme, page.netloc, page.path or "/", FRAME.link().removeprefix("?"), ""))


Told = tuple[DeltaGenerator | None, DeltaGenerator]
"""A result on the page: the verdict, the sentence."""


def headline(sentence: str, *, verdict: str = "", over: Told | None = None) -> Told:
    """The page's result, in Markdown with its numbers in bold; above it, in larger type, what to make of it.

    over : what this run has told before, whose place it takes; it had a verdict if this has.
    """
    seen.note(headline=sentence, verdict=verdict)
    judged, said = prose.unbroken(verdict), prose.unbroken(sentence)
    if over is not None:
        for part, text in zip(over, (judged, said)):
            if part is not None:
                part.markdown(text)
        return over
    above = None
    with st.container(key="answer" if verdict else None):
        if verdict:
            with st.container(key="verdict"):
                above = st.markdown(judged)
        with st.container(key="headline"):
            return above, st.markdown(said)


def heading(title: str, explanation: str, beside: Callable[[], object] | None = None) -> object:
    """A panel's title with its "?" and something beside it, whose result is returned; the explanation is written out
    below while the visitor wants explanations. Rows have one height, so that panels beside each other start level."""
    seen.note(heading=title)
    row = st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", height=48, border=False
    )
    with row:
        st.header(title, anchor=False, help=None if FRAME["explain"] else explanation, width="content")
        result = beside() if beside else None
    if FRAME["explain"]:
        st.caption(explanation)
    return result


def experiments(page: Address, steps: Iterable[tuple[str, Mapping[str, object]]]) -> None:
    """Things to try, one click each: label and the controls it sets. What is on the screen already cannot be tried."""
    with st.container(key="next"):
        st.header("What to try next", anchor=False)
        row = st.container(horizontal=True)
    with row:
        for number, (label, values) in enumerate(steps):
            here = all(page[key] == value for key, value in values.items())
            st.button(label, key=f"step_{number}", on_click=page.show, args=(dict(values),), disabled=here)


def tour_steps() -> list[dict[str, str]]:
    """Title, text and the place to point at, of every step."""
    steps = []
    for title, body in prose.sections("shared").items():
        target, _, text = body.partition("\n")
        steps.append({"title": title, "target": target, "text": text.replace("*", "")})
    return steps


EXPLAIN = "dp-frontier-explain"
"""Name of the cookie."""

_arrows = st.components.v2.component("dp_frontier_arrows", js=prose.asset("arrows.js"))
_labels = st.components.v2.component("dp_frontier_labels", js=prose.asset("labels.js"))
_names = st.components.v2.component("dp_frontier_names", js=prose.asset("names.js"))
_remember = st.components.v2.component("dp_frontier_remember", js=prose.asset("remember.js"))
_room = st.components.v2.component("dp_frontier_room", js=prose.asset("room.js"))
_side_bar = st.components.v2.component("dp_frontier_sidebar", js=prose.asset("sidebar.js"))
_snapshot = st.components.v2.component("dp_frontier_snapshot", js=prose.asset("snapshot.js"))
_theme = st.components.v2.component("dp_frontier_theme", js=prose.asset("theme.js"))
_top = st.components.v2.component("dp_frontier_top", js=prose.asset("top.js"))
_tour = st.components.v2.component("dp_frontier_tour", css=prose.asset("tour.css"), js=prose.asset("tour.js"))
