"""What ε and δ mean: one mechanism, looked at from many sides."""

from __future__ import annotations

from pages.lessons import screen
from pages.what_epsilon_means.controls import COURSE

screen.draw(COURSE)
