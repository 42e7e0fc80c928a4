"""What the frame draws of a Learn page: headline, picture, explanation, experiments, question, theorem."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import streamlit as st

from dpcore.errors import InputError
from pages.shared import compute, drawing, folding, frame, playlist, seen, watching
from pages.shared.address import FRAME, Address
from pages.shared.messages import explain

from . import cards, motion, path, predicting, quiz, strip, widgets
from .course import Course
from .topic import Panel, Picture, Topic, Values


def draw(course: Course) -> None:
    """The whole page."""
    course.page.open()
    widgets.begin()
    if (moved := course.moved.get(course.page["topic"])) is not None:
        path.follow(course, moved)
    place = st.container(key="title")
    topic = _sidebar(course)
    place.title(topic.numbered, anchor=False)
    seen.note(title=topic.numbered)
    sidebar = "collapsed" if FRAME["projector"] else "auto"
    st.set_page_config(page_title=f"{topic.numbered} · DP Frontier", initial_sidebar_state=sidebar)
    texts = course.texts(topic)
    try:
        values = _values(course, topic, texts)
        if values is not None:
            beside = None if topic.beside is None else lambda: topic.beside(course.page, values)
            picture = projected(topic.picture(values, drawing.colours(hall=True)))
            first_screen(topic, motion.moved(course, topic, picture), texts, values, beside=beside)
    except InputError as error:
        st.error(explain(error), icon=":material/error:")
    if not FRAME["projector"]:
        strip.draw(course.page, topic)
    if topic.more is not None:
        topic.more(course.page)
    frame.experiments(course.page, ((one.label, one.values) for one in topic.experiments))
    quiz.draw(course.page, topic)
    theorem(texts)
    turn_page(course, topic)


def _sidebar(course: Course) -> Topic:
    """Draw the controls and return the chosen topic. A lecturer does without examples and the note."""
    page = course.page
    with st.sidebar:
        page.note()
        st.selectbox(
            "Topic", [one.name for one in course.topics], format_func=page.label("topic"), key="topic",
            on_change=_begin, args=(course,), help="Numbers are sections of Awan's lecture notes.",
        )  # fmt: skip
        cards.button(course)
        topic = next(one for one in course.topics if one.name == page["topic"])
        course.sidebar(topic)
        topic.sidebar(page)
        _reset(course, topic)
        st.toggle("Predict first", key="predict", help="Headline and notes stay covered until an answer is chosen.")
        if not FRAME["projector"]:
            st.selectbox(
                "Start from", list(course.examples), index=None, placeholder="a lecture's example …", key="lecture",
                on_change=_take_example, args=(course,),
            )  # fmt: skip
            st.caption(course.note)
    return topic


def _reset(course: Course, topic: Topic) -> None:
    """A button that takes the values the topic begins with, where others are chosen."""
    first = {key: course.page.default(key) for key in course.own(topic)} | dict(topic.start)
    if any(course.page[key] != value for key, value in first.items()):
        st.button(
            "Reset", key="reset", icon=":material/restart_alt:", type="tertiary", on_click=course.page.choose,
            args=(first,), help="The values that the topic begins with.",
        )  # fmt: skip


def _begin(course: Course) -> None:
    """A topic was chosen in the list (a callback)."""
    step = next(one for one in path.steps() if one.topic.name == course.page["topic"])
    course.page.show(step.values())


def _take_example(course: Course) -> None:
    if values := course.examples.get(st.session_state["lecture"]):
        course.page.choose(dict(values))
        st.session_state["lecture"] = None


def _values(course: Course, topic: Topic, texts: Mapping[str, str]) -> Values | None:
    """What the picture is made of; None, with a word on the page, until that is worked out.

    Raises
    ------
    InputError : the controls hold what is not accepted.
    """
    values = course.given(topic, course.page.values())
    if values is None:
        st.markdown(f"**In 60 seconds.** {texts['in 60 seconds']}")
        return None
    return values if topic.work is None else _worked_out(course.page, topic, values, texts)


def first_screen(
    topic: Topic,
    picture: Picture,
    texts: Mapping[str, str],
    values: Values,
    *,
    beside: Callable[[], object] | None = None,
) -> None:
    """Headline, picture, and beside it what the topic wants there and the explanation; a lecturer explains without."""
    hidden, asked = predicting.covered(topic), predicting.question(topic, texts, values)
    if hidden:
        predicting.ask(topic, texts, values)
        picture = replace(picture, notes=())
    else:
        frame.headline(picture.headline)
        predicting.said(topic, asked, values)
        frame.cite(picture.headline.replace("*", ""), picture.facts)
    picture = predicting.marked(topic, picture, asked, values, drawing.colours(hall=True))
    with st.container(key="picture"):
        panels(topic, picture, texts, beside=beside)


SHARE = 0.65
"""Share of a projector's screen that the picture has."""


def projected(picture: Picture) -> Picture:
    """The picture, as high as a lecture hall needs it."""
    if FRAME["projector"]:
        for panel in picture.panels[1:]:
            panel.figure.layout.height = round(panel.figure.layout.height * drawing.grown())
        for panel in picture.panels[: 1 + _paired(picture)]:
            panel.figure.layout.height = math.ceil(SHARE * drawing.screen())
    return picture


def _paired(picture: Picture) -> bool:
    """The first two panels stand beside each other on a projector."""
    return picture.panels[0].square and len(picture.panels) > 1


def panels(
    topic: Topic, picture: Picture, texts: Mapping[str, str], *, beside: Callable[[], object] | None = None
) -> None:
    """The first panel with what stands beside it, the notes, and the other panels."""
    paired = bool(FRAME["projector"]) and beside is None and _paired(picture)
    if paired:
        for number, (column, panel) in enumerate(zip(st.columns(2, gap="large"), picture.panels), 1):
            with column:
                chart(panel, texts, f"chart_{topic.name}" if number == 1 else f"chart_{topic.name}_{number}")
    elif FRAME["projector"] and beside is None:
        chart(picture.panels[0], texts, f"chart_{topic.name}")
    else:
        left, right = st.columns([4, 3] if picture.panels[0].square else [5, 2], gap="medium")
        with left:
            chart(picture.panels[0], texts, f"chart_{topic.name}")
        with right:
            if beside is not None:
                beside()
            if not FRAME["projector"] and not predicting.covered(topic):
                st.markdown(f"**In 60 seconds.** {texts['in 60 seconds']}")
    predicting.place(topic)
    for note in picture.notes:
        st.caption(note)
    further = picture.panels[1 + paired :]
    with st.container(key="further"):
        for start in range(0, len(further), 2):
            row = further[start : start + 2]
            for number, (column, panel) in enumerate(zip(st.columns(len(row), gap="large"), row), start + 2 + paired):
                with column:
                    chart(panel, texts, f"chart_{topic.name}_{number}")


def chart(panel: Panel, texts: Mapping[str, str], key: str) -> None:
    """One chart with its title, its "?" and the numbers behind it."""
    frame.heading(panel.title, texts[panel.about])
    table = lambda: st.dataframe(panel.table, hide_index=True)  # noqa: E731
    drawing.draw(panel.figure, key=key, alt=panel.alt, table=table, sent=panel.sent)


def _worked_out(page: Address, topic: Topic, values: Values, texts: Mapping[str, str]) -> Values | None:
    """The values with what was worked out for them; None, with what there is on the page, until there is something."""
    job, name = compute.ask("picture", topic.work.asked(values), None, task=topic.work.task), f"drawn on {page.name}"
    if job.solution is not None:
        st.session_state[name] = {**values, "found": job.solution}
        return st.session_state[name]
    if isinstance(job.error, InputError):
        raise job.error
    if job.done:
        st.info("Stopped before there was an answer." if job.over else "There is no answer for these values.")
        st.button("Try again", key="again", on_click=compute.forget, args=("picture",))
        return None
    if topic.work.so_far is not None:
        follow(job, "picture", "Working it out …")
        watching.live([job], lambda: _so_far(topic, values, job, texts))
        return None
    before = st.session_state.get(name, {})
    if before.get("topic") == topic.name:
        follow(job, "picture", "Working it out … The picture is still that of the values before.")
        with st.container(key="outdated"):
            panels(topic, projected(topic.picture(before, drawing.colours(hall=True))), texts)
    else:
        follow(job, "picture", "Working it out …")
        left, right = st.columns([5, 2], gap="medium")
        left.container(height=widgets.HEIGHT, border=False)
        right.markdown(f"**In 60 seconds.** {texts['in 60 seconds']}")
    return None


def _so_far(topic: Topic, values: Values, job: compute.Job, texts: Mapping[str, str]) -> None:
    """The picture as far as its task has come, drawn again by itself."""
    found = topic.work.so_far(list(job.trace))
    if found is None:
        st.markdown(f"**In 60 seconds.** {texts['in 60 seconds']}")
        return
    picture = projected(topic.picture({**values, "found": found}, drawing.colours(hall=True)))
    if not predicting.covered(topic):
        frame.headline(picture.headline)
    with st.container(key="picture"):
        panels(topic, replace(picture, notes=()), texts)


def follow(job: compute.Job, slot: str, text: str, *, key: str = "stop") -> None:
    """A word as long as a job is under way, and a button that ends it; then the page runs again by itself."""
    watching.strip({slot: job}, lambda: st.info(text, icon=":material/hourglass:"), key=key)


def theorem(texts: Mapping[str, str]) -> None:
    """The statement and its sources, folded away."""
    folding.explanation("The theorem, and where it comes from", texts["theorem"], "**References**", texts["references"])


def turn_page(course: Course, topic: Topic) -> None:
    """Buttons to the topics before and after on the path, whichever page they are on, and how far along this one is."""
    if playlist.held():
        return
    if FRAME["projector"]:
        playlist.keys()
    words = ("The path begins here", "← {}"), ("The path ends here", "{} →")
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="turn"):
        for way, step, (end, label) in zip((-1, 1), path.beside(topic), words):
            if way == 1:
                st.caption(f"{path.place(topic) + 1} of {len(path.steps())}", width="content")
            if step is None:
                st.caption(end, width="content")
            else:
                told = label.format(step.topic.numbered)
                st.button(told, key=f"turn_{way}", on_click=step.turn, args=(course,))
