"""Random problems over all that the first page accepts: how many brackets close within so many seconds.

    python -m benchmarks.bench_everything --seed 1 --count 200 --time-limit 2
    python -m benchmarks.bench_everything --range wide
    PYTHONPATH=.:tests python -m benchmarks.bench_everything --referee

ε and δ are drawn evenly on log scales, losses of every family with random parameters, tables among them; a quarter of
the problems has a support with one or two ends, a fifth asks for monotone laws. One in six is about something more: a
granularity, a budget, a second pair, μ-GDP. Time is that of the processor, for limits too, so that what else the
machine does hardly matters. With `--referee` the exact referee of the tests looks at every answer; the exit status is
1 where it refutes one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import statistics
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from dpcore.alone import alone

os.environ.update(alone())  # before NumPy is loaded: linear algebra on one thread, as on the command line

from dpcore.cli import build_parser
from dpcore.cli.reading import read_problem
from dpcore.errors import InputError
from dpcore.export import solution_to_json
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.problem import NoiseProblem, SolverSettings, noise_problem
from dpcore.solution import Solution

from .bench_solve import peak_megabytes

RANGES = {"page": ((0.001, 20.0), (1e-12, 0.8)), "wide": ((1e-4, 30.0), (1e-15, 0.8))}
"""Ranges of ε and of δ, for the table with a target and for the one that is only reported."""

GAPS = (1e-3, 1e-2, 5e-2)
"""Relative gaps that are counted."""

FAMILIES = ("l1", "l2", "lp", "pinball", "asym", "huber", "exceed", "table")


# Draws ----------------------------------------------------------------------------------------------------------


def _log(rng: random.Random, low: float, high: float, digits: int = 3) -> float:
    """A number from low to high with few digits, evenly spread on a log scale."""
    return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.{digits}g}")


def _table(rng: random.Random) -> str:
    """Rows x=c with c(0) = 0: convex, with ramps and plateaus, or with dips; even or not."""
    convex, even = rng.random() < 0.4, rng.random() < 0.5

    def side() -> list[tuple[float, float]]:
        places = sorted({_log(rng, 0.1, 8, 2) for _ in range(rng.randint(1, 4))})
        slopes = [rng.choice((0.0, 0.5, 1.0, 2.0)) for _ in places]
        if convex:
            slopes = [*sorted(slopes[:-1]), max(*slopes, 1.0)]
        rows, level, before = [], 0.0, 0.0
        for x, slope in zip(places, slopes):
            down = not convex and rng.random() < 0.2
            level = round(max(level + (-0.5 if down else slope) * (x - before), 0.0), 3)
            rows.append((x, level))
            before = x
        if len(rows) > 1 and rows[-1][1] < rows[-2][1]:
            rows[-1] = (rows[-1][0], rows[-2][1])
        return rows

    right = side()
    left = right if even else side()
    rows = [(-x, c) for x, c in reversed(left)] + [(0.0, 0.0)] + right
    return "table:" + ",".join(f"{x:g}={c:g}" for x, c in rows)


def _loss(rng: random.Random) -> str:
    return {
        "l1": lambda: "l1",
        "l2": lambda: "l2",
        "lp": lambda: f"lp:{rng.uniform(1.05, 4):.3g}",
        "pinball": lambda: f"pinball:{rng.uniform(0.03, 0.97):.2g}",
        "asym": lambda: f"asym:1:{_log(rng, 1.1, 10)}",
        "huber": lambda: f"huber:{_log(rng, 0.1, 5)}",
        "exceed": lambda: f"exceed:{_log(rng, 0.1, 8)}",
        "table": lambda: _table(rng),
    }[rng.choice(FAMILIES)]()


def _support(rng: random.Random, privacy: Privacy) -> str:
    """A half-line, or an interval from 1.1 to three times as wide as truncated Laplace noise, that holds 0."""
    if rng.random() < 0.4:
        near = _log(rng, 0.1, 3) if rng.random() < 0.5 else 0.0
        return rng.choice((f"{-near or 0:g}:", f":{near:g}"))
    width = 2 * privacy.truncation() * rng.uniform(1.1, 3)
    left = width * rng.random()
    return f"-{left:.4g}:{width - left:.4g}"


def _more(rng: random.Random, epsilon: float, delta: float) -> list[str]:
    """What goes beyond one pair, one loss and a real-valued query."""
    kind = rng.choice(("granularity", "integer", "budget", "second", "gdp"))
    if kind == "granularity":
        return [f"--granularity={1 / rng.choice((1, 2, 5, 20, 60))!r}"]
    if kind == "integer":
        return ["--integer", f"--sensitivity={rng.choice((1, 1, 2, 3, 10, 50))}"]
    if kind == "budget":
        return [f"--budget=exceed:{rng.choice((1, 2, 5))}={min(0.9, 3 * math.exp(-epsilon / 2)):.2g}"]
    if kind == "second":
        return [f"--second={epsilon + _log(rng, 0.5, 4):.4g}:{delta / _log(rng, 3, 100):.3g}"]
    return [f"--profile=gdp:{_log(rng, 0.1, 4)}"]


def words(seed: int, number: int, epsilons: tuple[float, float], deltas: tuple[float, float]) -> list[str]:
    """The options of one problem, the same for the same numbers."""
    rng = random.Random(f"{seed}/{number}")
    epsilon, delta, loss = _log(rng, *epsilons), _log(rng, *deltas), _loss(rng)
    pair, shape = [f"--epsilon={epsilon:g}", f"--delta={delta:g}"], []
    if rng.random() < 1 / 6:
        more = _more(rng, epsilon, delta)
        return [*([] if "gdp" in more[0] else pair), f"--loss={loss}", *more]
    if rng.random() < 0.25:
        shape.append(f"--support={_support(rng, Privacy(epsilon, delta))}")
    if rng.random() < 0.2:
        shape.append("--monotone")
    return [*pair, f"--loss={loss}", *shape]


def _between(options: list[str], least: float, most: float) -> bool:
    """The problem's ε; of problems without one nothing is asked."""
    given = [float(word.partition("=")[2]) for word in options if word.startswith("--epsilon=")]
    return all(least <= epsilon <= most for epsilon in given)


def read(options: list[str]) -> NoiseProblem:
    """The problem in the words of the command line."""
    return read_problem(build_parser().parse_args(["solve", *options]))


# Answers --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What came of one problem. gap : relative, None where the problem was refused or has no least cost."""

    number: int
    options: list[str]
    gap: float | None
    seconds: float
    lower: float | None = None
    upper: float | None = None
    said: str = ""

    @property
    def command(self) -> str:
        quoted = (f"'{word}'" if any(c in word for c in "=:<>;") and "table" in word else word for word in self.options)
        return "python -m dpcore solve " + " ".join(quoted)

    @property
    def kind(self) -> str:
        """What the problem asks besides (ε, δ) and the loss."""
        named = [word.split("=")[0].removeprefix("--") for word in self.options]
        return " ".join(name for name in named if name not in ("epsilon", "delta", "loss", "sensitivity")) or "plain"


FREE = "may cost as little as one likes"
"""Of problems whose loss is 0 towards an open end of the support [method: free ends]."""


def _gap(solution: Solution) -> float:
    lower, upper = solution.certificate.lower or 0.0, solution.certificate.upper
    return 0.0 if upper <= lower else math.inf if lower <= 0 else (upper - lower) / lower


def answered(number: int, options: list[str], settings: SolverSettings) -> tuple[Answer, Solution | None]:
    """Solve one problem by the processor's clock."""
    began = time.process_time()
    try:
        solution = solve(read(options), settings)
    except InputError as refusal:
        return Answer(number, options, None, time.process_time() - began, said=str(refusal)), None
    seconds, proof = time.process_time() - began, solution.certificate
    if solution.problem.free_end is not None and proof.upper > 0:  # the least expected loss is 0, and no law has it
        said = f"{FREE} [{proof.lower}, {proof.upper}]"
        return Answer(number, options, None, seconds, proof.lower, proof.upper, said), solution
    return Answer(number, options, _gap(solution), seconds, proof.lower, proof.upper), solution


def refuted(solution: Solution, options: list[str]) -> list[str]:
    """What the exact referee of the tests says against an answer."""
    from referee import asked, refutations  # with tests on the path
    from rivals import rivals

    problem = asked(options)
    found: list[str] = refutations(solution_to_json(solution), problem, rivals(problem))
    return found


# Report ---------------------------------------------------------------------------------------------------------


def _shares(answers: list[Answer]) -> str:
    gaps = [math.inf if answer.gap is None else answer.gap for answer in answers]
    return "  ".join(f"≤ {100 * gap:g} %: {100 * sum(g <= gap for g in gaps) / len(gaps):5.1f} %" for gap in GAPS)


def report(answers: list[Answer], worst: int, limit: float) -> None:
    """Shares by what is asked, the worst as commands."""
    solved = [answer for answer in answers if answer.gap is not None]
    free = sum(answer.said.startswith(FREE) for answer in answers)
    print(f"\n{len(answers)} problems, {len(answers) - len(solved) - free} refused as impossible, {free} {FREE}")
    if not solved:
        return
    kinds = defaultdict(list)
    for answer in solved:
        kinds[answer.kind].append(answer)
        family = next(word for word in answer.options if word.startswith("--loss=")).removeprefix("--loss=")
        kinds["loss " + family.split(":")[0]].append(answer)
    for kind, group in sorted(kinds.items(), key=lambda item: (item[0].startswith("loss"), -len(item[1]))):
        print(f"{kind:22s} {len(group):4d}  {_shares(group)}")
    seconds = [answer.seconds for answer in solved]
    print(f"{'all':22s} {len(solved):4d}  {_shares(solved)}")
    over = max(0.0, max(seconds) - limit)
    print(f"processor seconds: median {statistics.median(seconds):.2f}, ", end="")
    print(f"largest {max(seconds):.2f} ({over:.2f} over the limit), ", end="")
    print(f"sum {sum(seconds):.0f}; peak memory {peak_megabytes():.0f} MB\n\nthe widest:")
    for answer in sorted(solved, key=lambda answer: -(answer.gap or 0.0))[:worst]:
        print(f"{100 * (answer.gap or 0.0):10.4g} %  {answer.seconds:5.2f} s  {answer.command}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--time-limit", type=float, default=2.0)
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--range", choices=RANGES, default="page")
    parser.add_argument("--only", default="", metavar="REGEX", help="problems whose words hold it, such as loss=exceed")
    parser.add_argument(
        "--between", nargs=2, type=float, default=(0.0, math.inf), metavar="E", help="and with such an ε"
    )
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--referee", action="store_true")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    time.perf_counter = time.process_time  # the clock of every time limit
    solve(noise_problem(1, 0.2, 1.0), SolverSettings(gap=0.1))  # what is loaded or compiled once
    settings, answers, false = SolverSettings(gap=options.gap, time_limit=options.time_limit), [], 0
    print(f"seed {options.seed}, {options.time_limit:g} s, gap target {100 * options.gap:g} %", flush=True)
    for number in range(options.first, options.first + options.count):
        asked = words(options.seed, number, *RANGES[options.range])
        if not re.search(options.only, " ".join(asked)) or not _between(asked, *options.between):
            continue
        answer, solution = answered(number, asked, settings)
        answers.append(answer)
        shown = answer.said if answer.gap is None else f"{100 * answer.gap:.4g} % [{answer.lower}, {answer.upper}]"
        print(f"{number:4d}  {answer.seconds:5.2f} s  {shown}  {' '.join(asked)}", flush=True)
        if options.referee and solution is not None:
            for text in refuted(solution, asked):
                false += 1
                print(f"REFUTED {answer.command}\n    {text}", flush=True)
    report(answers, options.worst, options.time_limit)
    if options.referee:
        print(f"\nthe referee refuted {false}")
    if options.save:
        options.save.write_text(json.dumps([vars(answer) for answer in answers], indent=1))
    sys.exit(int(false > 0))


if __name__ == "__main__":
    main()
