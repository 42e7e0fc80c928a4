"""What a page looks like before it is alive: HTML that the server sends with it (`service.snapshot`).

A page that has a `snapshot.py` says there what is seen of an address, from what is known already: `sight(query)` is a
`Sight`, None where nothing is. Of any other page it is what was last seen at that address (`seen`). No session, no
element of Streamlit, no computing beyond what a picture needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib import import_module
from pathlib import Path

import plotly.graph_objects as go
import streamlit

from dpcore import figures
from pages.registry import PAGES, Page
from pages.shared import prose, seen

WIDE, WIDER = 460, 560
"""Widths of a picture, in pixels, on a screen of 1280; the second on Learn pages."""


@dataclass(frozen=True)
class Sight:
    """What a visitor sees first.

    title, verdict, headline, remarks : as the page's own, in Markdown of which bold type is drawn.
    pictures : (title, figure in light colours, what it shows in words).
    cards : (question, picture as SVG in light colours, answer), of the page of questions.
    until : what of the live page takes the place of all this, as a selector.   learn : it is a Learn page's.
    """

    title: str
    verdict: str = ""
    headline: str = ""
    remarks: Sequence[str] = ()
    pictures: Sequence[tuple[str, go.Figure, str]] = field(default_factory=tuple)
    cards: Sequence[tuple[str, str, str]] = field(default_factory=tuple)
    until: str = ".js-plotly-plot .main-svg"
    learn: bool = False


def draw(path: str, query: Mapping[str, str], theme: str) -> str | None:
    """The snapshot of an address, None where there is none.

    theme : "light", "dark" or, for that of the machine, "".
    """
    page = next((one for one in PAGES if one.address == path), None)
    if page is None or query.get("projector"):
        return None
    if (Path(__file__).parent / page.name / "snapshot.py").exists():
        sight = import_module(f"pages.{page.name}.snapshot").sight(query)
    else:
        sight = _seen(page, query)
    return None if sight is None else html(sight, theme)


def _seen(page: Page, query: Mapping[str, str]) -> Sight | None:
    known = seen.at(page, query)
    if known is None or known.picture is None:
        return None
    return Sight(known.title, known.verdict, known.headline, pictures=[known.picture], learn=page.menu == "Learn")


def html(sight: Sight, theme: str = "") -> str:
    """The snapshot as it is sent; every text is escaped."""
    parts = [f"<h1>{escape(sight.title)}</h1>"]
    told = [("verdict", sight.verdict), ("headline", sight.headline), *(("remark", text) for text in sight.remarks)]
    parts += [f'<p class="{name}">{marked(text)}</p>' for name, text in told if text]
    wide = WIDER if sight.learn else WIDE
    drawn = [
        f"<figure><h2>{escape(title)}</h2>{figures.still(unlabelled(figure), wide, label=alt)}</figure>"
        for title, figure, alt in sight.pictures
    ]
    cards = [
        f"<div>{figures.both_themes(svg)}<p><b>{marked(question)}</b></p><p>{marked(answer)}</p></div>"
        for question, svg, answer in sight.cards
    ]
    parts += [
        f'<div class="{name}">{"".join(some)}</div>' for name, some in (("pictures", drawn), ("cards", cards)) if some
    ]
    kinds = {"wide": cards, "learn": sight.learn, "plain": not sight.verdict}
    kind = " ".join(["sight", *(name for name, so in kinds.items() if so)])
    until = f'data-until="{escape(sight.until, quote=True)}"'
    return (
        f'<div id="snapshot" aria-hidden="true" style="color-scheme:{theme or "light dark"}" {until}>'
        f'<style>{_style()}</style><div class="ground"></div><div class="{kind}">{"".join(parts)}</div></div>'
    )


def unlabelled(figure: go.Figure) -> go.Figure:
    """Without the legend, whose room the live picture gives up as well once names stand at their lines."""
    found = go.Figure(figure)
    room, size = found.layout.margin.t or 0, found.layout.font.size or 14
    if found.layout.legend.orientation == "h" and room > size:
        found.layout.margin.t = size
        found.layout.height = (found.layout.height or 400) - (room - size)
    found.layout.showlegend = False
    return found


def marked(text: str) -> str:
    """Markdown with bold type alone → HTML."""
    plain = re.sub(r"\\([$<>\[\]`])", r"\1", re.sub(r":[a-z]+\[:material/\w+:\] ?", "", text))
    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(prose.unbroken(plain), quote=False))


@cache
def _style() -> str:
    """The rules, with the palette's colours and Streamlit's own type."""
    light, dark = figures.LIGHT, figures.DARK
    names = ("background", "text", "accent", "muted")
    colours = "".join(f"--{name}:light-dark({getattr(light, name)},{getattr(dark, name)});" for name in names)
    folder = Path(streamlit.__file__).parent / "static/static/media"
    faces = [
        f'@font-face{{font-family:"{family}";font-weight:200 900;src:url(./static/media/{path.name})}}'
        for family, name in (("Source Sans", "SourceSansVF-Upright"), ("Source Serif", "SourceSerifVariable-Roman"))
        for path in sorted(folder.glob(f"{name}*.woff2"))[:1]
    ]
    return f"#snapshot{{{colours}}}{''.join(faces)}{prose.asset('snapshot.css')}"
