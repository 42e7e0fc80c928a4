"""Answers → figures of Plotly, which the extra `[plot]` brings. Pure: no computing beyond what a figure needs.

* `Chart()` → a figure that takes what it is given as it is, as the first step;
* `palette(dark, projected)` → `Palette`, handed to every chart; `hue` and `line` of a mechanism, `series` of others;
* `finish(figure, colours, height=…)` as the last step: margins, type (also a projector's), axes, legend above the plot;
* `band` between two certified bounds, `impossible` region, `chosen` point, `log_ticks`, `entry` in the legend;
* `still`: any of these as inline SVG, for where there is no library to draw it; `thumbnail`: small and without words;
* `sketch` of `Line`s, `Stems` and `Wall`s: a small picture as SVG, without Plotly;
* `density` of `Law`s, `losses` of `Bar`s, `gap` of a trace, `dots` and `histogram` of `Draws`, `profile` of `Curve`s.

Numbers are written by `dpcore.numerals`.
"""

from ..noise.outline import curve
from .chart import Chart
from .costs import Bar, drawn, gap, left_out, losses, shown_loss
from .densities import Law, density, window
from .draws import Draws, dots, histogram
from .palette import DARK, LIGHT, Palette, hue, line, palette, series
from .parts import band, chosen, entry, finish, folded, impossible, log_ticks, player, upright
from .profiles import Curve, profile
from .sketch import Line, Mark, Stems, Wall, sketch
from .still import both_themes, still, thumbnail

__all__ = [
    "DARK", "LIGHT", "Bar", "Chart", "Curve", "Draws", "Law", "Line", "Mark", "Palette", "Stems", "Wall", "band",
    "both_themes", "chosen", "curve", "density", "dots", "drawn", "entry", "finish", "folded", "gap", "histogram",
    "hue", "impossible", "left_out", "line", "log_ticks", "losses", "palette", "player", "profile", "series",
    "shown_loss", "sketch", "still", "thumbnail", "upright", "window",
]  # fmt: skip
