"""Optimal noise looks as it did: thumbnails against committed ones, so that fonts and anti-aliasing do not matter.

A reference is the page below its header at an eighth of its size, in colour. `UPDATE_REFERENCES=1` writes them anew;
look at them before they are committed. A failure leaves what was seen in artifacts/.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter
from views import CHART, quiet, settled

pytestmark = pytest.mark.browser

REFERENCES = Path(__file__).with_name("references")
LOOKS = {
    "light": ({}, "/optimal_noise"),
    "dark": ({"color_scheme": "dark"}, "/optimal_noise?epsilon=5&delta=0.25"),
    "projector": ({}, "/optimal_noise?projector=true&loss=l2"),
}
THEME = """() => JSON.stringify({dark: matchMedia('(prefers-color-scheme: dark)').matches, kept: {...localStorage},
    drawn: getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme})"""
"""What the browser wishes, what it has stored, what it shows."""

FAR = 40
"""Grey levels by which a pixel of a thumbnail must differ to count."""


@pytest.mark.parametrize("name", LOOKS)
def test_the_home_page_looks_as_it_did(dashboard, visitor, artifacts, name):
    options, path = LOOKS[name]
    page = visitor(1280, 720, **options)
    page.goto(f"{dashboard}{path}")
    settled(page)
    page.wait_for_selector(CHART)
    quiet(page)
    seen = thumbnail(page.screenshot(clip={"x": 0, "y": 60, "width": 1280, "height": 660}))
    reference = REFERENCES / f"{name}.png"
    if os.environ.get("UPDATE_REFERENCES"):
        seen.save(reference, optimize=True)
    expected = Image.open(reference).convert("RGB")
    difference = np.abs(np.asarray(seen, float) - np.asarray(expected, float)).max(axis=2)
    if difference.mean() > 6 or (difference > FAR).mean() > 0.03:
        seen.save(artifacts / f"look_{name}.png")
        raise AssertionError(
            f"the page looks different: {difference.mean():.1f} levels on average, "
            f"{(difference > FAR).mean():.1%} of the pixels far off; see artifacts/look_{name}.png. "
            f"{page.evaluate(THEME)}"
        )


def thumbnail(picture: bytes) -> Image.Image:
    """A blurred eighth."""
    image = Image.open(io.BytesIO(picture)).convert("RGB").filter(ImageFilter.GaussianBlur(6))
    return image.resize((160, 82), Image.Resampling.BOX)


def test_a_change_of_the_look_would_be_seen():
    """Moving the page by fifty pixels or swapping its theme is far outside the tolerance."""
    light, dark = (
        np.asarray(Image.open(REFERENCES / f"{name}.png").convert("RGB"), float) for name in ("light", "dark")
    )
    for other in (dark, np.roll(light, 6, axis=0)):
        difference = np.abs(light - other).max(axis=2)
        assert difference.mean() > 6 or (difference > FAR).mean() > 0.03
