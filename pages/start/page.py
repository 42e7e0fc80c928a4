"""Start: which question a visitor has, and the page that answers it."""

from __future__ import annotations

import base64

import streamlit as st

from dpcore import figures
from pages.registry import PAGES
from pages.shared import drawing, prose
from pages.start.cards import CARDS, Card, Marks
from pages.start.controls import PAGE, meant_for_noise

TEXT = prose.sections("start")
NAMED = {page.name: page for page in PAGES}


def picture(marks: Marks) -> str:
    """An image in the colours of the visitor's theme, for the eye alone: the sentence beside it says what it shows."""
    svg = base64.b64encode(figures.sketch(marks, drawing.colours()).encode()).decode()
    return f'<img class="sketch" alt="" src="data:image/svg+xml;base64,{svg}">'


def card(one: Card, number: int) -> None:
    """The question as a link that covers the card, its picture, and its answer in a sentence."""
    page = NAMED[one.page]
    with st.container(key=f"card_{number}", border=True, gap="xsmall"):
        st.html(picture(one.picture()))
        st.page_link(page.script, label=f"**{one.question}**", query_params=page.controls.anew(one.values))
        lead, rest = one.answer()
        st.markdown(prose.unbroken(f"**{lead}** {rest}"))


if meant_for_noise(st.query_params):  # the server answers such an address itself; this is for those who run without it
    st.switch_page(NAMED["optimal_noise"].script, query_params=st.query_params.to_dict())
PAGE.open()
st.title("Which question do you have?", anchor=False)
st.markdown(TEXT["lead"])
with st.container(key="cards"):
    for number, one in enumerate(CARDS):
        card(one, number)
left, right = st.columns(2, gap="large")
with left:
    st.header("What is proved", anchor=False)
    st.markdown(TEXT["certificate"])
with right:
    st.header("Where to learn more", anchor=False)
    st.markdown(TEXT["more"])
