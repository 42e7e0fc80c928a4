"""The page's address and what a lecture begins with."""

from __future__ import annotations

from pages.lessons.course import Course, address

from .topics import TOPICS

PAGE = address("composition", TOPICS, "growth")
"""Every control of the page."""

PRESETS = {
    "Why √k and not k": {
        "topic": "growth",
        "co_mechanism": "laplace",
        "co_epsilon": 0.1,
        "co_count": 1000,
        "delta": 1e-5,
    },
    "A hundred releases at ε = 1": {
        "topic": "growth",
        "co_mechanism": "laplace",
        "co_epsilon": 1.0,
        "co_count": 100,
        "delta": 1e-5,
    },
    "What (ε, δ) alone can prove": {
        "topic": "growth",
        "co_mechanism": "pure",
        "co_epsilon": 0.1,
        "co_count": 100,
        "delta": 1e-5,
    },
    "A year of a hospital": {"topic": "budget", "bu_epsilon": 1.0, "bu_family": "laplace"},
    "A secret sample": {"topic": "subsampling", "su_epsilon": 1.0, "su_rate": 0.1, "su_mechanism": "laplace"},
    "Training on 60 000 images": {
        "topic": "training",
        "tr_people": 60_000,
        "tr_batch": 256,
        "tr_noise": 1.1,
        "tr_epochs": 60,
    },
}


NOTE = (
    "Neighbours: data sets that differ in one person, in the way the sensitivity is meant for; sampled mechanisms say "
    "which way. Releases may be chosen after seeing earlier ones."
)

COURSE = Course("composition", PAGE, TOPICS, PRESETS, NOTE)
