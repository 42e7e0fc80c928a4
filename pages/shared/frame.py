"""What stands around every page: the bar with its switches and the link, citations, the tour, headings that explain.

A page says its result with `headline(sentence)`, names it with `cite(sentence, facts)` once it has one, and titles its
panels with `heading(title, text)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from urllib.parse import urlsplit, urlunsplit

import streamlit as st

from dpcore import __version__, figures
from pages.registry import PAGES

from . import actions, drawing, fields, playlist, prose, seen, travel
from .address import FRAME, Address

TOURED = "optimal_noise"
"""The page that the tour is about."""

_citation: ContextVar = ContextVar("citation")
"""Where the bar keeps a place for the page's citation, during one run of the script."""


def bar(page: str) -> None:
    """The row above a page: explain, projector, link, citation; first in its sidebar the problem that the visitor
    brings. Before the page runs; with the tour of the first visit on the one it is about."""
    _recall()
    projected = bool(FRAME["projector"])
    _style(projected)
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

    What is wished is kept in a cookie: the only memory of a browser that the server sees before it draws anything, so
    nothing has to be drawn twice. Streamlit cannot set one; a script of a component does, once the visitor has moved
    the switch (assets/remember.js). It holds "true" or "false"; a link that was followed does not change it.
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
    plain, entry = citation(sentence, facts), bibtex(sentence, facts)
    with place.container():
        st.code(plain, language=None, wrap_lines=True)
        copies = [actions.text("Copy citation", plain), actions.text("Copy BibTeX", entry)]
        actions.row(copies, key="cite_result" if facts else "cite_project")


def citation(sentence: str, facts: Mapping[str, str]) -> str:
    """Plain text: who, which version, what is claimed, what proves it, where and when."""
    proof = "; ".join(f"{name} {value}" for name, value in facts.items())
    tail = f"Certificate: {proof}. " if proof else ""
    today = datetime.now(UTC).date()
    return f"DP Frontier, version {__version__}. {sentence.rstrip('.')}. {tail}{_here()} (seen {today})."


def bibtex(sentence: str, facts: Mapping[str, str]) -> str:
    """A citation as an entry for a bibliography."""
    proof = "; ".join(f"{name} {value}" for name, value in facts.items())
    note = _latex(f"{sentence.rstrip('.')}." + (f" Certificate: {proof}." if proof else ""))
    now = datetime.now(UTC).date()
    fields = {
        "title": "{DP Frontier}: provably near-optimal noise for differential privacy",
        "author": "{DP Frontier contributors}", "version": __version__, "year": str(now.year),
        "url": _here().replace("{", "%7B").replace("}", "%7D"), "urldate": str(now), "note": note,
    }  # fmt: skip
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@software{{dp-frontier,\n{lines}}}\n"


def _latex(text: str) -> str:
    """Text in which nothing is a command."""
    for character in "\\{}$&%#_~^":
        text = text.replace(character, " " if character in "\\{}~^" else f"\\{character}")
    return text.replace("*", "")


def _here() -> str:
    """The full address of the screen as others see it."""
    page = urlsplit(str(st.context.url or ""))
    return urlunsplit((page.scheme, page.netloc, page.path or "/", FRAME.link().removeprefix("?"), ""))


def headline(sentence: str, *, verdict: str = "") -> None:
    """The page's result, in Markdown with its numbers in bold; above it, in larger type, what to make of it."""
    seen.note(headline=sentence, verdict=verdict)
    with st.container(key="answer" if verdict else None):
        if verdict:
            with st.container(key="verdict"):
                st.markdown(prose.unbroken(verdict))
        with st.container(key="headline"):
            st.markdown(prose.unbroken(sentence))


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
