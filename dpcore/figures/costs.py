"""What noise costs: expected losses over the region that is provably impossible, and two bounds closing in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from .. import numerals
from .chart import Chart
from .palette import Palette, hue
from .parts import band, entry, finish, folded, impossible, log_ticks, upright

if TYPE_CHECKING:
    from ..solution import Progress

ROOM = 200
"""Pixels that the bars have for themselves and their figures, on a screen of 1280."""


NEAR = 3.0
"""Mechanisms so many times as dear as the best one are told in words."""


@dataclass(frozen=True)
class Bar:
    """One mechanism in the loss chart.

    within : ±, where 95 % of releases are.   reason : why it is not valid.
    """

    key: str
    name: str
    loss: float
    valid: bool = True
    reason: str = ""
    within: float | None = None


def shown_loss(bar: Bar, digits: int = 4) -> str:
    """A bar's loss as text; the optimum's is an upper bound, rounded up."""
    return f"≤\u202f{numerals.at_most(bar.loss, digits)}" if bar.key == "optimal" else numerals.number(bar.loss, digits)


def losses(
    bars: Sequence[Bar], *, lower: float | None, axis: str, colours: Palette, earlier: float | None = None
) -> go.Figure:
    """Expected losses as bars over the grey band that no private noise can enter; without those that are `left_out`."""
    shown = drawn(bars)
    figure = Chart()
    limit = max((bar.loss for bar in shown), default=0.0) or 1.0
    for bar in reversed(shown):
        colour = hue(colours, bar.key) if bar.valid else colours.muted
        figure.add_bar(
            y=[_name(bar)],
            x=[bar.loss],
            orientation="h",
            showlegend=False,
            marker={"color": colour if bar.valid else "rgba(0,0,0,0)", "line": {"color": colour, "width": 1.5}}
            | ({} if bar.valid else {"pattern": {"shape": "/", "fgcolor": colour, "bgcolor": "rgba(0,0,0,0)"}}),
            hovertemplate=f"<b>{bar.name}</b><br>%{{x:.6g}}"
            + (f"<br>not valid: {bar.reason}" if not bar.valid else "")
            + "<extra></extra>",
            width=0.5,
        )
    figure.add_scatter(
        x=[max(bar.loss, lower or 0.0) for bar in shown],  # beside the band, not on it
        y=[_name(bar) for bar in shown],
        text=[_told(bar) for bar in shown],
        mode="text", textposition="middle right", cliponaxis=False, showlegend=False, hoverinfo="skip",
    )  # fmt: skip
    if lower:
        impossible(figure, lower, colours)
    if earlier and lower and earlier <= lower:
        dotted = {"color": colours.text, "width": 1.5, "dash": "dot"}
        upright(figure, earlier, line=dotted)
        entry(figure, "earlier lower bound", {"mode": "lines", "line": dotted}, area=(earlier, earlier, None, None))
    longest = max((len(line) for bar in shown for line in _lines(bar)), default=0)
    figures = min((0.52 * longest + 0.4) * colours.type / ROOM, 0.5)  # the share of the room that they take
    figure.update_xaxes(title=folded(axis, ROOM, colours), range=[0, limit / (1 - figures)])
    figure.update_xaxes(nticks=5 if 1e-2 <= limit < 1e4 else 3, tickangle=0)
    figure.update_yaxes(automargin=True, ticklabelposition="outside", ticks="")
    return finish(figure, colours, height=max(350, 108 + 46 * len(shown)))


def drawn(bars: Sequence[Bar]) -> list[Bar]:
    """The bars that are drawn, from the top: the optimum, the valid ones by their losses, the others last."""
    finite = [bar for bar in bars if math.isfinite(bar.loss)]
    best = min((bar.loss for bar in finite if bar.valid), default=math.inf)
    near = [bar for bar in finite if bar.loss <= NEAR * best or (best == 0 and not bar.loss)]
    return sorted(near, key=lambda bar: (not bar.valid, bar.loss, bar.key != "optimal"))


def left_out(bars: Sequence[Bar]) -> list[Bar]:
    """Bars too far from the best for the axis, which would press all others flat: valid ones by their losses first."""
    seen = drawn(bars)
    return sorted((bar for bar in bars if bar not in seen), key=lambda bar: (not bar.valid, bar.loss))


def _name(bar: Bar) -> str:
    return bar.name if bar.valid else f"{bar.name}<br><span style='font-size:11px'>not valid</span>"


def _lines(bar: Bar) -> list[str]:
    """What stands beside a bar."""
    if bar.within is None:
        return [shown_loss(bar)]
    width = numerals.plain(bar.within) if bar.within == round(bar.within) else numerals.at_most(bar.within, 3)
    return [shown_loss(bar), f"±{width}"]


def _told(bar: Bar) -> str:
    return "<br>".join(f"\u00a0{line}" for line in _lines(bar))


def gap(trace: Sequence[Progress], *, axis: str, colours: Palette) -> go.Figure:
    """Both bounds against time, the shrinking uncertainty filled."""
    finite = [r for r in trace if math.isfinite(r.upper)]
    news = [a for a, b in zip(finite[1:], finite) if (a.lower, a.upper) != (b.lower, b.upper)]
    records = [*finite[:1], *news, *finite[-1:]]
    seconds = [max(r.seconds, 1e-3) for r in records]
    figure = Chart()
    lower, upper = [r.lower for r in records], [r.upper for r in records]
    band(figure, seconds, lower, upper, colours=colours, steps=True, hover="after %{x:.3g} s<br>%{y:.6g}")
    figure.update_xaxes(title="seconds of solving", **log_ticks(seconds[0], seconds[-1]))
    figure.update_yaxes(title=axis)
    return finish(figure, colours, height=340)
