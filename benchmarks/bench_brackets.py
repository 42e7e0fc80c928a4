"""Certified brackets of random problems of every kind, to compare two versions of the solver.

    python -m benchmarks.bench_brackets --save before.json
    python -m benchmarks.bench_brackets --against before.json

Problems that reach their gap before the time limit must have the same bracket in both versions, within rounding, and
none may be wider; the others depend on the clock and are listed. Time is that of the processor, for limits too, so that
what else the machine does hardly matters. A smaller --count draws some of the same problems. The exit status is 1 where
a bracket differs.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpcore import data_dependent
from dpcore.errors import InputError
from dpcore.loss import parse_loss
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.privacy_profile import Composed, GaussianProfile, PairList
from dpcore.private_optimization.proportional import optimal_law
from dpcore.problem import Budget, SolverSettings, noise_problem

ROUNDING = 1e-9
"""Brackets that differ by less, relative to the upper bound, are equal."""

LOSSES = ("l1", "l2", "lp:1.5", "lp:3", "pinball:0.2", "asym:1:3", "huber:0.5", "exceed:1.2", "table:-1=2,0=0,2=1,3=1")

Bracket = tuple[float | None, float]


@dataclass(frozen=True)
class Question:
    """One problem: its kind, its numbers as text, the relative gap to reach, how it is solved within a time limit."""

    kind: str
    text: str
    gap: float
    solve: Callable[[float], Bracket]


def _log(rng: np.random.Generator, low: float, high: float) -> float:
    """A number from low to high with three digits, evenly spread on a log scale."""
    return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")


def _noise(kind: str, gap: float, epsilon: float, delta: float, loss: str, **extras: object) -> Question:
    method = "reference" if kind == "reference" else "certified"

    def bracket(limit: float) -> Bracket:
        settings = SolverSettings(gap=gap, time_limit=limit, method=method, cells_per_sensitivity=4)
        proof = solve(noise_problem(epsilon, delta, 1.0, loss, **extras), settings).certificate
        return proof.lower, proof.upper

    shown = " ".join(f"{name} {_shown(value)}" for name, value in extras.items())
    return Question(kind, f"({epsilon:g}, {delta:g}) {loss} {shown}".strip(), gap, bracket)


def _shown(value: object) -> str:
    """What tells problems apart, in words that last: texts of losses and profiles rather than their fields."""
    if isinstance(value, Budget):
        return f"{value.loss.spec} ≤ {value.most:g}"
    return getattr(value, "spec", str(value))


def _plain(rng: np.random.Generator) -> Question:
    return _noise("plain", 1e-2, _log(rng, 0.01, 10), _log(rng, 1e-9, 0.8), str(rng.choice(LOSSES)))


def _support(rng: np.random.Generator) -> Question:
    epsilon, delta = _log(rng, 0.1, 5), _log(rng, 1e-6, 0.5)
    width = round(2.2 * Privacy(epsilon, delta).truncation() + 1, 2)
    left = -round(width * float(rng.uniform(0, 1)), 2)
    ends = (left, left + width) if rng.random() < 0.5 else (left, math.inf)
    return _noise("support", 2e-2, epsilon, delta, str(rng.choice(LOSSES)), support=ends)


def _shape(rng: np.random.Generator) -> Question:
    shape = {"monotone": True} if rng.random() < 0.5 else {"symmetric": True}
    return _noise("shape", 1e-2, _log(rng, 0.05, 5), _log(rng, 1e-6, 0.7), str(rng.choice(LOSSES)), **shape)


def _integer(rng: np.random.Generator) -> Question:
    shape = {"monotone": True} if rng.random() < 0.3 else {}
    steps, loss = int(rng.choice([1, 2, 3, 7, 20, 60])), str(rng.choice(LOSSES))
    return _noise("integer", 1e-3, _log(rng, 0.05, 5), _log(rng, 1e-9, 0.6), loss, granularity=1 / steps, **shape)


def _pairs(rng: np.random.Generator) -> Question:
    epsilon, delta, loss = _log(rng, 0.2, 2), _log(rng, 1e-3, 0.2), str(rng.choice(LOSSES[:4]))
    other = Privacy(round(epsilon * 3, 3), float(f"{delta / 10:.3g}"))
    if rng.random() < 0.4:
        budget = Budget(parse_loss("exceed:3"), float(f"{min(0.5, 2 * math.exp(-epsilon)):.3g}"))
        return _noise("pairs", 2e-2, epsilon, delta, loss, budget=budget)
    if rng.random() < 0.5:
        third = Privacy(round(epsilon * 2, 3), float(f"{delta / 3:.3g}"))
        profile = PairList((Privacy(epsilon, delta), third, other))
        return _noise("pairs", 2e-2, epsilon, delta, loss, profile=profile)
    return _noise("pairs", 2e-2, epsilon, delta, loss, second=other)


def _curve(rng: np.random.Generator) -> Question:
    loss, privacy = str(rng.choice(LOSSES[:4])), Privacy(_log(rng, 0.3, 2), _log(rng, 1e-4, 0.05))
    mu, releases = _log(rng, 0.3, 2), int(rng.choice([2, 4, 16]))
    profile = GaussianProfile(mu) if rng.random() < 0.5 else Composed(releases, privacy)
    return _noise("curve", 3e-2, profile.anchor.epsilon, profile.anchor.delta, loss, profile=profile)


def _reference(rng: np.random.Generator) -> Question:
    return _noise("reference", 5e-2, _log(rng, 0.3, 3), _log(rng, 0.02, 0.4), str(rng.choice(LOSSES[:4])))


def _channel(rng: np.random.Generator) -> Question:
    epsilon, delta, width = _log(rng, 0.2, 5), _log(rng, 1e-3, 0.4), float(rng.choice([0.5, 1, 2, 3.5]))
    loss, weight = str(rng.choice(["l1", "l2", "huber:0.5"])), str(rng.choice(["uniform", "uniform", "triangular"]))
    extras = [{}, {}, {"monotone": True}, {"ordered": True}, {"instance_cap": "auto"}, {"partition": (0.3 * width,)}]
    shape = extras[int(rng.integers(len(extras)))]

    def bracket(limit: float) -> Bracket:
        problem = data_dependent.data_dependent_problem(
            epsilon, delta, 1.0, loss, query_range=(0, width), weight=weight, **shape
        )
        proof = data_dependent.solve(problem, SolverSettings(gap=3e-2, time_limit=limit)).certificate
        return proof.lower, proof.upper

    return Question("channel", f"({epsilon:g}, {delta:g}) {loss} 0:{width:g} {weight} {shape or ''}", 3e-2, bracket)


def _proportional(rng: np.random.Generator) -> Question:
    epsilon, delta, k = _log(rng, 0.2, 5), _log(rng, 1e-5, 0.3), int(rng.choice([1, 2, 5, 8, 16]))

    def bracket(limit: float) -> Bracket:
        law = optimal_law(epsilon, delta, k, gap=1e-4, time_limit=limit)
        return law.lower, law.upper

    return Question("proportional", f"({epsilon:g}, {delta:g}) {k} steps", 1e-4, bracket)


KINDS = (
    (_plain, 60), (_support, 25), (_shape, 20), (_integer, 25), (_pairs, 15), (_curve, 10), (_reference, 10),
    (_channel, 20), (_proportional, 15),
)  # fmt: skip
"""What is drawn, and how often among 200."""


def questions(seed: int, count: int) -> Iterator[Question]:
    """About `count` problems, the same ones for the same seed."""
    for number, (draw, times) in enumerate(KINDS):
        rng = np.random.default_rng([seed, number])
        for _ in range(max(1, round(times * count / 200))):
            yield draw(rng)


def measured(question: Question, limit: float) -> dict[str, object]:
    """Bracket, whether the gap was reached, processor seconds."""
    began, found = time.process_time(), {"kind": question.kind, "problem": question.text}
    try:
        lower, upper = question.solve(limit)
    except InputError as refusal:
        return found | {"lower": None, "upper": None, "reached": True, "refused": str(refusal)}
    seconds = time.process_time() - began
    reached = lower is not None and upper - lower <= question.gap * lower and seconds < limit
    return found | {"lower": lower, "upper": upper, "reached": reached, "seconds": seconds}


def difference(before: dict[str, object], after: dict[str, object]) -> str:
    """How the second bracket of one problem differs from the first; empty where it does not."""
    if (before["upper"] is None) != (after["upper"] is None):
        return "refused in one version only"
    if before["upper"] is None or not (before["reached"] and after["reached"]):
        return ""
    slack = ROUNDING * abs(before["upper"])
    apart = [abs((before[end] or 0.0) - (after[end] or 0.0)) for end in ("lower", "upper")]
    if max(apart) <= slack:
        return ""
    wider = after["upper"] - before["upper"] > slack or before["lower"] - after["lower"] > slack
    return "wider" if wider else "different"


def compare(before: list[dict[str, object]], after: list[dict[str, object]]) -> int:
    """Print the differences; 1 if there are any, else 0."""
    known, differing = {(p["kind"], p["problem"]): p for p in before}, 0
    pairs = [(known[p["kind"], p["problem"]], p) for p in after if (p["kind"], p["problem"]) in known]
    for old, new in pairs:
        told = difference(old, new)
        differing += bool(told)
        clock = not told and old["upper"] is not None and not (old["reached"] and new["reached"])
        if told or clock:
            brackets = " → ".join(f"[{p['lower']}, {p['upper']}]" for p in (old, new))
            print(f"{told or 'time limit'}: {new['kind']} {new['problem']}\n   {brackets}")
    both = [(p["seconds"], q["seconds"]) for p, q in pairs if p["reached"] and q["reached"] and p["upper"]]
    old, new = (sum(side) for side in zip(*both))
    print(f"\n{len(both)} of {len(pairs)} reached their gap in both versions, {differing} brackets differ")
    print(f"processor seconds of those {old:.1f} → {new:.1f} ({new / old:.3f} times)")
    return int(differing > 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--time-limit", type=float, default=6.0)
    parser.add_argument("--only", default="", help="one kind")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    options = parser.parse_args()
    time.perf_counter = time.process_time  # the clock of every time limit
    solve(noise_problem(1, 0.2, 1.0), SolverSettings(gap=0.1))  # what is loaded or compiled once
    print(f"seed {options.seed}", flush=True)
    results = []
    for question in questions(options.seed, options.count):
        if options.only in ("", question.kind):
            results.append(measured(question, options.time_limit))
            last = results[-1]
            shown = last.get("refused") or f"[{last['lower']}, {last['upper']}] {last['seconds']:.2f} s"
            print(f"{question.kind:12s} {question.text}: {shown}", flush=True)
    seconds = [p["seconds"] for p in results if "seconds" in p]
    print(f"\n{len(results)} problems, {sum(p['reached'] for p in results)} reached their gap; ", end="")
    print(f"processor: median {statistics.median(seconds):.3f} s, largest {max(seconds):.2f} s, sum {sum(seconds):.1f}")
    if options.save:
        options.save.write_text(json.dumps(results, indent=1))
    if options.against:
        sys.exit(compare(json.loads(options.against.read_text()), results))


if __name__ == "__main__":
    main()
