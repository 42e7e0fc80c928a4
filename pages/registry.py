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
    """One page: its folder and address, what the menu calls it, its icon, the menu it is in, "" for none, and what is
    said of it where a link to it is shown."""

    name: str
    title: str
    icon: str
    menu: str
    about: str = ""

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

    @cached_property
    def controlled(self) -> bool:
        """The page has controls, so that its address says what is on it."""
        return (ROOT / "pages" / self.name / "controls.py").exists()

    @property
    def controls(self) -> Any:
        """The page's `pages.shared.address.Address`, for those who look at pages from outside."""
        return import_module(f"pages.{self.name}.controls").PAGE


PAGES = (
    Page("start", "Start", "home", "",
         "Certified optima of differentially private noise beside Laplace, Gaussian and staircase, live."),
    Page("optimal_noise", "Optimal noise", "area_chart", "Explore",
         "The best additive noise for ε and δ, between proved bounds, beside Laplace, Gaussian and staircase."),
    Page("tradeoff_maps", "Trade-off maps", "grid_on", "Explore",
         "What the best noise costs over all ε and δ, and which known mechanism comes closest where."),
    Page("data_dependent", "Data-dependent noise", "stacked_line_chart", "Explore",
         "Noise that depends on the true value: proved private, and close to the best there is."),
    Page("vector_queries", "Vector queries", "stacked_bar_chart", "Explore",
         "Several numbers at once: how coordinates of different sensitivity share one ε."),
    Page("isotropic", "Vectors in d dimensions", "hub", "Explore",
         "The best rotation-invariant noise for vectors in up to 1000 dimensions, between proved bounds."),
    Page("reproduction", "Published figures", "fact_check", "Explore",
         "Published tables and figures computed again, with the cause of every difference."),
    Page("release_plan", "Release plan", "assignment", "Apply",
         "From columns to released numbers: a plan, its total ε and δ, and scripts that carry it out."),
    Page("private_optimisation", "Private optimisation", "local_shipping", "Apply",
         "Plans under private limits that are never broken."),
    Page("private_learning", "Private learning", "school", "Apply",
         "What naïve Bayes and logistic regression lose to privacy, noise by noise, also on a table of your own."),
    Page("what_epsilon_means", "What ε and δ mean", "balance", "Learn",
         "What ε and δ promise, as games, beliefs and curves."),
    Page("composition", "Composition", "stacks", "Learn",
         "What many releases reveal together: composition, subsampling, the central limit theorem."),
    Page("mechanism_gallery", "Mechanism gallery", "museum", "Learn",
         "Mechanisms and attacks, a picture each, in the order of Awan's lecture notes."),
)  # fmt: skip
