"""The mechanism gallery: the field's mechanisms and attacks, one topic at a time, with exact pictures."""

from __future__ import annotations

from pages.lessons import screen
from pages.mechanism_gallery.controls import COURSE

screen.draw(COURSE)
