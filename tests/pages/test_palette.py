"""The palette can be told apart by everybody and read on both backgrounds: measured, not judged.

Colour-vision deficiencies are simulated after Machado, Oliveira and Fernandes (2009) in linear light, differences are
CIEDE2000, contrasts are those of WCAG 2.2.
"""

from __future__ import annotations

import itertools
import re
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest

from dpcore import figures
from dpcore.mechanisms import INTEGER_MECHANISMS, MECHANISMS

with warnings.catch_warnings():  # drawing needs Matplotlib, tritanopia is approximate
    warnings.simplefilter("ignore")
    import colour
    from colour.blindness import matrix_cvd_Machado2009

    EYES = {
        "normal": np.eye(3),
        "deuteranopia": matrix_cvd_Machado2009("Deuteranomaly", 1.0),
        "protanopia": matrix_cvd_Machado2009("Protanomaly", 1.0),
        "tritanopia": matrix_cvd_Machado2009("Tritanomaly", 1.0),  # the model only approximates it
    }

THEMES = {"light": figures.LIGHT, "dark": figures.DARK}
APART = 10.0
"""Units of CIEDE2000: four just-noticeable differences, told apart at a glance."""


def linear(colour_code: str) -> np.ndarray:
    encoded = np.array([int(colour_code[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    dark, light = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other))
    return (light + 0.05) / (dark + 0.05)


def over(rgba: str, background: str) -> str:
    """A translucent colour on its background."""
    *rgb, alpha = map(float, re.findall(r"[\d.]+", rgba))
    behind = [int(background[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(alpha * c + (1 - alpha) * b):02X}" for c, b in zip(rgb, behind))


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("theme", THEMES)
def test_hues_are_told_apart(theme, eyes):
    palette = THEMES[theme]
    lab = {
        code: colour.XYZ_to_Lab(colour.RGB_to_XYZ(np.clip(EYES[eyes] @ linear(code), 0, 1), "sRGB"))
        for code in {palette.accent, *palette.hues.values()}
    }
    for one, other in itertools.combinations(lab, 2):
        assert colour.delta_E(lab[one], lab[other], method="CIE 2000") >= APART, f"{one} and {other}"


@pytest.mark.parametrize("theme", THEMES)
def test_lines_and_words_stand_out(theme):
    palette = THEMES[theme]
    for code in (palette.accent, *palette.hues.values()):
        assert contrast(code, palette.background) >= 3, code
    impossible = over(palette.impossible, palette.background)
    for words in (palette.text, palette.muted, palette.accent):
        assert contrast(words, palette.background) >= 4.5
    assert contrast(palette.text, impossible) >= 4.5
    assert contrast(palette.text, over(palette.fill, palette.background)) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_names_at_lines_can_be_read(theme):
    """They have their line's colour with some of the text's: 4.5 : 1, as text needs (WCAG 2.2, 1.4.3)."""
    palette = THEMES[theme]
    share = int(re.search(r"const INK = (\d+);", Path("assets/labels.js").read_text())[1]) / 100
    codes = lambda code: [int(code[i : i + 2], 16) for i in (1, 3, 5)]  # noqa: E731
    for code in (palette.accent, palette.muted, *palette.hues.values()):
        mixed = (round(share * one + (1 - share) * text) for one, text in zip(codes(code), codes(palette.text)))
        assert contrast("#" + "".join(f"{one:02X}" for one in mixed), palette.background) >= 4.5, code


@pytest.mark.parametrize("theme", THEMES)
def test_the_theme_of_the_page_is_the_palette(theme):
    settings = tomllib.loads(Path(".streamlit/config.toml").read_text())["theme"][theme]
    palette = THEMES[theme]
    assert settings["backgroundColor"] == palette.background and settings["primaryColor"] == palette.accent
    assert settings["textColor"] == palette.text
    for surface in (settings["secondaryBackgroundColor"], *settings["sidebar"].values()):
        assert contrast(palette.text, surface) >= 7
        assert contrast(palette.muted, surface) >= 4.5


def test_laws_seen_together_have_two_signs():
    for together in (MECHANISMS, INTEGER_MECHANISMS):
        dashes = {key: figures.line(key, figures.LIGHT)["dash"] for key in together}
        assert {figures.hue(figures.LIGHT, key) for key in together} <= set(figures.LIGHT.hues.values())
        assert len({(figures.hue(figures.LIGHT, key), dash) for key, dash in dashes.items()}) == len(together)
        assert len(set(dashes.values())) == len(together), "dashes alone tell them apart too"


def test_a_projector_has_larger_type():
    laws = [figures.Law("optimal", "Optimum", MECHANISMS["laplace"].rule(privacy(), 1.0, None))]
    desk, hall = (
        figures.density(laws, unit="", colours=figures.palette(False, projected)) for projected in (False, True)
    )
    assert hall.layout.font.size > desk.layout.font.size + 2
    assert hall.layout.xaxis.tickfont.size > desk.layout.xaxis.tickfont.size


def privacy():
    from dpcore.privacy import Privacy

    return Privacy(1.0, 0.0)
