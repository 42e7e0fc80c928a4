"""The pages of the dashboard: the one list that the router, the server, the pool, tests and benchmarks read.

A page is a folder of the same name as its address: `page.py` draws it, `work.py`, where there is one, holds what it
lets the pool compute, and `text.md` its words. To add one, make the folder and add a line here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Page:
    """One page: its folder and address, what the menu calls it, and the menu it is in, "" for none."""

    name: str
    title: str
    icon: str
    menu: str

    @property
    def script(self) -> str:
        """What Streamlit runs, beside app.py."""
        return f"pages/{self.name}/page.py"

    @property
    def address(self) -> str:
        """The path in the browser; the first page is where the dashboard opens."""
        return "" if self is PAGES[0] else self.name

    @cached_property
    def tasks(self) -> str | None:
        """The module whose tasks the processes of the pool may run for this page, if it has any."""
        return f"pages.{self.name}.work" if (ROOT / "pages" / self.name / "work.py").exists() else None

    @property
    def controls(self) -> Any:
        """The page's `pages.shared.address.Address`, for those who look at pages from outside."""
        return import_module(f"pages.{self.name}.controls").PAGE


PAGES = (
    Page("start", "Start", "home", ""),
    Page("optimal_noise", "Optimal noise", "area_chart", "Explore"),
    Page("tradeoff_maps", "Trade-off maps", "grid_on", "Explore"),
    Page("data_dependent", "Data-dependent noise", "stacked_line_chart", "Explore"),
    Page("vector_queries", "Vector queries", "stacked_bar_chart", "Explore"),
    Page("isotropic", "Vectors in d dimensions", "hub", "Explore"),
    Page("reproduction", "Published figures", "fact_check", "Explore"),
    Page("release_plan", "Release plan", "assignment", "Apply"),
    Page("private_optimisation", "Private optimisation", "local_shipping", "Apply"),
    Page("private_learning", "Private learning", "school", "Apply"),
    Page("what_epsilon_means", "What ε and δ mean", "balance", "Learn"),
    Page("composition", "Composition", "stacks", "Learn"),
    Page("mechanism_gallery", "Mechanism gallery", "museum", "Learn"),
)
