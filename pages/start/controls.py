"""The page's address, which says nothing: with a parameter it is that of Optimal noise."""

from __future__ import annotations

from collections.abc import Iterable

from pages.optimal_noise.inputs import HOME
from pages.shared.address import FRAME, Address

PAGE = Address("start")

ELSEWHERE = frozenset(HOME.controls) | frozenset(FRAME.controls)
"""Parameters of addresses that were, until there was this page, those of Optimal noise."""


def meant_for_noise(names: Iterable[str]) -> bool:
    """An address without a page, with these parameters, is one of Optimal noise."""
    return not ELSEWHERE.isdisjoint(names)
