"""A lecture prepared on the pages: states collected, named, put in order, shared as one link, walked through.

The states are in the address (`slides`), so a reload loses none, and whoever opens the link has them. While a lecture
is held (`slide` above 0) two buttons on every page, and a presenter's keys, lead from state to state.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st

from dpcore.errors import InputError
from pages.registry import Page

from . import actions, prose, slides, travel
from .address import FRAME, Address, now
from .messages import explain
from .slides import Slide


def states() -> tuple[Slide, ...]:
    """The states of the lecture that is prepared or held."""
    return slides.read(FRAME["slides"])


def held() -> int:
    """The number of the state that is shown, from 1 on; 0 while no lecture is held."""
    return min(FRAME["slide"], len(states()))


def draw(name: str) -> None:
    """The menu of the page of this name, or, while a lecture is held, its buttons. Before the page."""
    page, problem = travel.NAMES.get(name), _malformed()
    if problem:
        st.error(problem, icon=":material/error:")
    if held():
        _buttons()
    elif page is not None and not FRAME["projector"] and (page.menu == "Learn" or states()):
        _menu(page)


def _malformed() -> str:
    """What is wrong with the lecture of the link, if anything."""
    text = st.session_state.get("notes of ", {}).get("slides")
    if text is None or states():
        return ""
    try:
        slides.read(text)
    except InputError as error:
        return f"The lecture of the link is not understood. {explain(error)}"
    return ""


def _menu(page: Page) -> None:
    lecture = states()
    with st.sidebar, st.popover("Playlist", key="playlist", icon=":material/slideshow:", width="stretch"):
        st.markdown(
            f"**A lecture, {len(lecture)} of at most {slides.MOST} states**"
            if lecture
            else "Collect states of pages for a lecture."
        )
        st.button("Add this state", key="slide_add", on_click=_change, args=(_added, page), icon=":material/add:")
        if told := st.session_state.pop("playlist refused", None):
            st.error(told, icon=":material/error:")
        for number, one in enumerate(lecture):
            _row(number, one, len(lecture))
        if lecture:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.button("Present", key="slide_present", type="primary", on_click=_present, args=(1,))
                actions.row([actions.text("Copy the lecture's link", link())], key="slides_link")
                st.button("Empty it", key="slide_empty", type="tertiary", on_click=_change, args=(lambda now: [],))


def _row(number: int, one: Slide, count: int) -> None:
    """A state's name, and the buttons that move, show or remove it."""
    st.session_state[f"slide_name_{number}"] = one.name
    said = prose.literal(one.name)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"slide_row_{number}"):
        st.text_input(
            f"Name of state {number + 1}", key=f"slide_name_{number}", label_visibility="collapsed",
            max_chars=slides.LONGEST_NAME, on_change=_change, args=(_renamed, number),
        )  # fmt: skip
        act = lambda label, key, what, help, off=False: st.button(  # noqa: E731
            label, key=f"slide_{key}_{number}", on_click=_change, args=(what, number), help=help, disabled=off
        )
        act("↑", "up", _earlier, f"Move “{said}” up", number == 0)
        act("↓", "down", lambda now, at: _earlier(now, at + 1), f"Move “{said}” down", number == count - 1)
        act("✕", "drop", lambda now, at: now[:at] + now[at + 1 :], f"Remove “{said}”")


def _buttons() -> None:
    """To the states before and after, and how far along this one is."""
    keys()
    lecture, here = states(), held()
    with st.container(horizontal=True, vertical_alignment="center", key="slides_turn"):
        st.button("End", key="slide_end", type="tertiary", on_click=_end, help="End the lecture; its states are kept.")
        st.button("←", key="turn_-1", on_click=_present, args=(here - 1,), disabled=here == 1, help="Previous state")
        st.caption(f"{here} of {len(lecture)}", width="content")
        following = "The lecture ends here" if here == len(lecture) else f"{prose.literal(lecture[here].name)} →"
        st.button(following, key="turn_1", on_click=_present, args=(here + 1,), disabled=here == len(lecture))


def keys() -> None:
    """Have a presenter's keys turn the page."""
    _keys(key="path_keys")


def link() -> str:
    """The address that begins the lecture: that of its first state, for a projector, with all the others."""
    first, here = states()[0], urlsplit(str(st.context.url or ""))
    page = travel.NAMES[first.page]
    root = here.path[: here.path.rfind("/") + 1] or "/"
    own = urlencode({"projector": "true", "slides": FRAME["slides"], "slide": "1"})
    there = urlunsplit((here.scheme, here.netloc, root + page.address, "", ""))
    return f"{there}?" + "&".join(filter(None, (first.query, own)))


def _change(act: Callable[..., list[Slide]], *told: object) -> None:
    """Change the states (a callback); a word if they may not be so."""
    try:
        FRAME.choose({"slides": slides.written(act(list(states()), *told))})
    except InputError as error:
        st.session_state["playlist refused"] = explain(error)


def _added(before: list[Slide], page: Page) -> list[Slide]:
    """What the page shows, at the end."""
    address = page.controls
    seen = now(address)
    topic = seen.get("topic")
    title = address.label("topic")(topic) if isinstance(topic, str) else page.title
    return [*before, Slide(slides.named(title.lstrip("0123456789. ")), page.name, urlencode(told(address, seen)))]


def told(address: Address, values: dict[str, object]) -> dict[str, str]:
    """The parameters of a state, never none: by them a page knows that a link led to it."""
    query = address.query(values)
    key = next(iter(address.controls))
    return query or {key: address.controls[key].write(values[key])}


def _renamed(now: list[Slide], at: int) -> list[Slide]:
    name = str(st.session_state[f"slide_name_{at}"]).strip()
    return [*now[:at], Slide(name, now[at].page, now[at].query), *now[at + 1 :]]


def _earlier(now: list[Slide], at: int) -> list[Slide]:
    now[at - 1], now[at] = now[at], now[at - 1]
    return now


def _present(number: int) -> None:
    """Show a state of the lecture (a callback)."""
    if not held():
        FRAME.choose({"projector": True})
    FRAME.choose({"slide": number})
    one = states()[number - 1]
    page = travel.NAMES[one.page]
    values, malformed = page.controls.read(one.values)
    if st.session_state.get("address") == page.controls.name:
        page.controls.take(values, malformed)
    else:  # what is not understood is named there
        travel.later(page, {**page.controls.enter(values), **malformed})


def _end() -> None:
    """The lecture is over (a callback): the page stays, and the states."""
    FRAME.choose({"slide": 0})


_keys = st.components.v2.component("dp_frontier_path", js=prose.asset("path.js"))
