"""Composition: what several releases reveal together, a budget for them, samples, and private training."""

from __future__ import annotations

from pages.composition.controls import COURSE
from pages.lessons import screen

screen.draw(COURSE)
