"""What δ is, in every text of the project: never the probability that a promise of privacy fails.

A mechanism is (ε, δ)-DP if P(A) ≤ e^ε Q(A) + δ: of the releases whose privacy loss exceeds ε, δ counts only what is
more probable beyond the factor e^ε. Their probability may be much larger than δ (.2658 at (1, .1), Gaussian noise).
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from scipy import integrate, stats

from dpcore.cli import main
from dpcore.noise import Gaussian
from dpcore.privacy import Privacy

ROOT = Path(__file__).parents[1]
FOLDERS = ("pages", "dpcore", "service", "work", "assets", "docs", "deploy", "benchmarks", "tests")
TEXTS = [path for path in (*ROOT.glob("*.*"), *(p for folder in FOLDERS for p in (ROOT / folder).rglob("*")))
         if path.suffix in (".md", ".py", ".json", ".js", ".toml") and path != Path(__file__)]  # fmt: skip

PROMISE = r"(?:promise|privacy|guarantee|protection|mechanism|noise|\bDP\b|ε|epsilon)"
FAILS = r"(?:fail|break|broke|violat|breach|catastroph|does not hold|is lost|is gone|goes wrong)"
CHANCE = r"(?:probabilit|chance|risk|likelihood|odds)"
DELTA = r"(?:δ|\bdelta\b|\\delta\b)"
WRONG = re.compile(
    "|".join(
        (
            rf"{CHANCE}[^.;:|]{{0,25}}{PROMISE}[^.;:|,]{{0,25}}{FAILS}",  # the probability that the promise fails
            rf"{CHANCE}\w* of (?:a |an? \w+ )?{FAILS}",
            rf"{FAILS}\w* {CHANCE}",
            rf"{PROMISE}[^.;:|]{{0,30}}{FAILS}[^.;:|]{{0,30}}{CHANCE}\w* (?:of )?(?:at most )?\$?{DELTA}",
            rf"(?:holds?|kept|private|DP\b)[^.;:|]{{0,30}}{CHANCE}\w* (?:of )?(?:at least )?\$?1 [−-] {DELTA}",
            rf"(?:except|but|save|outside) (?:with|for|of)[^.;:|]{{0,20}}{CHANCE}\w* (?:of )?(?:at most )?\$?{DELTA}",
            rf"{DELTA}\$?,? ?(?:is|—|:|=|means)(?! not) (?:the |a |at most the )?(?:small )?{CHANCE}",
        )
    ),
    re.IGNORECASE,
)
"""Readings of δ that are false."""


def plain(text: str) -> str:
    """A text without line ends, and without the seams between the literals of one string."""
    return " ".join(re.sub(r'"\s*\n\s*f?"', "", text).replace("**", "").split())


def test_no_text_calls_delta_the_probability_of_a_failure():
    found = {path: WRONG.search(plain(path.read_text())) for path in TEXTS}
    assert len(found) > 400 and not {str(path.relative_to(ROOT)): hit[0] for path, hit in found.items() if hit}


MEANT_OTHERWISE = {
    r"\b(?:chang|mov|grow|fall|differ|weigh)\w*[^.;]{0,30} by (?:at most|more than|up to) \$e\^": "by a factor of",
    r"\beven (?:noise|on each)\b": "constant",
}
"""Words that say another thing than what is meant, and what says it."""


def test_words_that_say_another_thing():
    texts = {str(path.relative_to(ROOT)): plain(path.read_text()) for path in TEXTS}
    found = [(name, hit[0], better) for name, text in texts.items() for wrong, better in MEANT_OTHERWISE.items()
             if (hit := re.search(wrong, text))]  # fmt: skip
    assert not found


@pytest.mark.parametrize(
    "sentence",
    [
        "δ — probability that the promise fails",
        "Probability that the promise fails; keep it well below 1/n for n people.",
        "Chance that privacy fails altogether, at most.",
        "Under ε-DP the promise is broken with probability δ.",
        "The guarantee is violated with a probability of at most $\\delta$.",
        "The release is ε-DP with probability 1 − δ.",
        "It is ε-DP except with probability δ.",
        "δ is the small probability of a data breach.",
        "δ is the risk that somebody is identified.",
        "delta: failure probability",
        "the probability of catastrophic failure",
    ],
)
def test_wrong_readings_are_found(sentence):
    assert WRONG.search(plain(sentence))


def test_the_loss_exceeds_epsilon_more_often_than_delta():
    """Gaussian noise of (1, .1): by integration of its density, without the project's accounting."""
    sigma = Gaussian.calibrate(Privacy(1.0, 0.1), 1.0).sigma
    edge = 0.5 - sigma**2  # the loss (1 − 2y)/2σ² is above 1 left of it
    own = integrate.quad(stats.norm(0, sigma).pdf, -math.inf, edge)[0]
    other = integrate.quad(stats.norm(1, sigma).pdf, -math.inf, edge)[0]
    assert own == pytest.approx(0.2658, abs=5e-5) and own - math.e * other == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize("command", ["solve", "compare", "invert", "data-dependent", "profile", "private-lp"])
def test_the_command_line_says_what_delta_is(command, capsys):
    assert main([command, "--help"]) == 0
    assert "how much more probable any event may become beyond the factor e^epsilon" in plain(capsys.readouterr().out)
