"""Answers of `dpcore solve` before a referee with exact arithmetic (referee.py): problems of every family, drawn as
words of the command line. THOROUGH=1 draws 10 000 of them. As a script:

    PYTHONPATH=. python tests/test_referee.py --count 10000 --processes 2 --seed 7
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from exact_laws import DiscreteStaircase, Staircase
from exact_losses import ExactLoss
from referee import Law, asked, law_faults, law_of, problem_of, refutations
from rivals import rivals

from dpcore.cli import main

CHUNKS, IN_A_CHUNK = 12, 25
SOLVER_SECONDS, PROBLEM_SECONDS = "0.15", 60
ON_CI = os.environ.get("CI", "").lower() in ("1", "true")
SEED = int(os.environ.get("REFEREE_SEED") or (1 if ON_CI else random.SystemRandom().randrange(10**6)))
THOROUGH = bool(os.environ.get("THOROUGH"))


# Draws ----------------------------------------------------------------------------------------------------------


def decimal_text(x: Fraction) -> str:
    """A number as one types it: the shortest text of the float next to it, which is the number that is meant."""
    return f"{int(x)}" if x.denominator == 1 and abs(x) < 10**15 else repr(float(x))


def rounded(rng: random.Random, x: float, digits: int | None = None) -> Fraction:
    """A number near x with few digits."""
    return Fraction(f"{x:.{digits or rng.choice((1, 1, 2, 3))}g}")


def log_uniform(rng: random.Random, low: float, high: float) -> Fraction:
    """A number from low to high, evenly spread on a log scale, with few digits."""
    x = rounded(rng, math.exp(rng.uniform(math.log(low), math.log(high))))
    return min(max(x, Fraction(str(low))), Fraction(str(high)))


def sensitivity(rng: random.Random) -> Fraction:
    usual = ("1", "1", "0.1", "0.3", "0.7", "3", "12", "33.3", "0.001", "1000", "1000000")
    return Fraction(rng.choice(usual)) if rng.random() < 0.8 else log_uniform(rng, 1e-3, 1e6)


def plain_loss(rng: random.Random, unit: Fraction) -> str:
    """A loss whose places are multiples of the unit by few digits."""
    near = decimal_text(unit * rounded(rng, math.exp(rng.uniform(-2.5, 2))))
    slopes = f"{rng.choice(('1', '0.3'))}:{rng.choice(('3', '0.7'))}"
    exponent = rng.choice(("1.5", "3", "2.2", "1.1", "4"))
    return rng.choice((
        "l1", "l1", "l2", f"lp:{exponent}", f"pinball:{rng.randint(1, 19) / 20}", f"asym:{slopes}", f"huber:{near}",
        f"exceed:{near}", f"exceed:{near}",
    ))  # fmt: skip


def jump_loss(rng: random.Random, step: Fraction) -> str:
    """`exceed` at a multiple of the step, or a breath beside it."""
    place = step * rng.randint(1, 8)
    beside = rng.choice((0, 0, 0, 0, 1, -1)) * step / 10 ** rng.randint(9, 15)
    return f"exceed:{decimal_text(place + beside)}"


def table_loss(rng: random.Random, unit: Fraction, most: int = 7) -> str:
    """Rows at few-digit multiples of the unit; even or not; with ramps as narrow as 1e-15 of their place."""
    count, even = rng.randint(2, most), rng.random() < 0.5
    places = sorted({unit * rounded(rng, math.exp(rng.uniform(-3, 2)), 2) for _ in range(count)})
    rows, level = [(Fraction(0), Fraction(0))], Fraction(0)
    for x in places:
        if rng.random() < 0.4:  # a ramp
            rows.append((x, level))
            x += x / 10 ** rng.randint(3, 15)
        level = max(level + Fraction(rng.choice((-1, 0, 1, 1, 2, 5)), rng.choice((1, 2, 10))), Fraction(0))
        rows.append((x, level))
    rows = [row for i, row in enumerate(rows) if i == 0 or float(row[0]) > float(rows[i - 1][0])]
    if len(rows) > 1 and rows[-1][1] < rows[-2][1]:
        rows[-1] = (rows[-1][0], rows[-2][1])
    left = rows[1:] if even else table_rows(rng, rows[1:])
    rows = [(-x, y) for x, y in reversed(left)] + rows[rng.random() < 0.3 and len(rows) > 2 :]
    return "table:" + ",".join(f"{decimal_text(x)}={decimal_text(y)}" for x, y in rows)


def table_rows(rng: random.Random, rows: list) -> list:
    """Another side: the same places, other levels."""
    levels = sorted(Fraction(rng.randint(0, 30), 10) for _ in rows)
    return [(x, level) for (x, _), level in zip(rows, levels)]


def support(rng: random.Random, D: Fraction, epsilon: Fraction, delta: Fraction, *, even: bool = False) -> str:
    """Half-lines, intervals from just too narrow to wide, some of them far from 0."""
    e, d = float(epsilon), float(delta)
    reach = math.log1p(math.expm1(e) / (2 * d)) / e if e else 1 / (2 * d)
    width = 2 * reach * float(D) * rng.choice((0.97, 1.001, 1.1, 1.5, 3, 10))
    if even:
        end = decimal_text(rounded(rng, width / 2, 4))
        return f"--support=-{end}:{end}"
    lo = rounded(rng, -width * rng.choice((0, 0.1, 0.3, 0.5, 0.9, 1, 1.2)), 4)
    if rng.random() < 0.3:
        lo -= rounded(rng, float(D) * 10 ** rng.uniform(2, 8), 6)
    hi = lo + rounded(rng, width, 4)
    sides = decimal_text(lo), decimal_text(hi)
    kind = rng.random()
    return f"--support={sides[0] if kind > 0.25 else ''}:{sides[1] if kind < 0.75 else ''}"


def shape(rng: random.Random, D: Fraction, epsilon: Fraction, delta: Fraction) -> list[str]:
    words = [flag for flag in ("--symmetric", "--monotone") if rng.random() < 0.35]
    if delta and rng.random() < 0.5:
        words.append(support(rng, D, epsilon, delta, even="--symmetric" in words))
    return words


FAR = ("-33333.3:-0.5", "-1e9:1", "-1e6:0.3", "0.1:777777.7", "-123456.7:2", ":-5e6", "1e5:", "-7e8:-6e8")
"""Supports in sensitivities."""


def draw(rng: random.Random) -> list[str]:
    """The words of one command, without its name."""
    family = rng.choice((
        "plain", "plain", "shapes", "shapes", "pure", "pure", "tables", "tables", "pure tables", "far", "lattice",
        "lattice", "pure lattice", "pure lattice", "no epsilon", "budget", "second", "worst", "list", "long table",
        "curve",
    ))  # fmt: skip
    D, step = sensitivity(rng), None
    epsilon = log_uniform(rng, 0.02, 12)
    delta = rng.choice((log_uniform(rng, 1e-6, 0.9), rounded(rng, rng.uniform(0.01, 0.9))))
    if family == "no epsilon":
        epsilon, delta = Fraction(0), rounded(rng, rng.uniform(0.03, 0.95), 2)
    if family.startswith("pure"):
        epsilon, delta = max(epsilon, Fraction(1, 20)), Fraction(0)
    if "lattice" in family:
        step = Fraction(rng.choice(("0.1", "0.1", "1", "0.3", "0.01", "0.7", "2.5")))
        D = step * rng.choice((1, 1, 2, 3, 3, 4, 5, 7, 10))
        epsilon = max(epsilon, Fraction(1, 10))
    loss = plain_loss(rng, D)
    if step:
        loss = rng.choice((loss, jump_loss(rng, step), jump_loss(rng, step), table_loss(rng, step)))
    elif "table" in family:
        loss = table_loss(rng, D, 24 if family == "long table" else 7)
    elif rng.random() < 0.2:
        loss = jump_loss(rng, D / rng.choice((1, 2, 4, 5)))
    words = [f"--loss={loss}"] if loss != "l1" else []
    words += [f"--sensitivity={decimal_text(D)}"] if D != 1 else []
    if family in ("list", "curve"):
        return [*words, *profile(rng, family, epsilon)]
    words += [f"--epsilon={decimal_text(epsilon)}", f"--delta={decimal_text(delta)}"]
    if step:
        words.append("--integer" if step == 1 else f"--granularity={decimal_text(step)}")
    if family == "far":
        lo, hi = (decimal_text(Fraction(end) * D) if end else "" for end in rng.choice(FAR).split(":"))
        return [*words, f"--support={lo}:{hi}"]
    if family == "budget":
        words.append(f"--budget=exceed:{decimal_text(D * rng.randint(1, 6) / 2)}={rng.choice(('0.5', '0.2', '0.05'))}")
    if family == "worst":
        words.append(f"--second={decimal_text(epsilon + rounded(rng, rng.uniform(0.2, 4)))}:0")
        words += rng.choice(([], [], [], ["--symmetric"], ["--monotone"], ["--symmetric", "--monotone"]))
        return words
    if family == "second":
        other = epsilon + rounded(rng, rng.uniform(0.2, 3)), rounded(rng, float(delta) / 30)
        words.append("--second=" + ":".join(map(decimal_text, other)))
    if family == "shapes" or ("lattice" in family and rng.random() < 0.4) or rng.random() < 0.1:
        words += shape(rng, D, epsilon, delta)
    return words


def profile(rng: random.Random, family: str, epsilon: Fraction) -> list[str]:
    """Several pairs, a whole curve, or a few releases together."""
    if family == "list":
        epsilons = sorted({max(epsilon, Fraction(1, 100)) * rng.randint(1, 8) / 4 for _ in range(3)})
        deltas = sorted((log_uniform(rng, 0.003, 0.5) for _ in epsilons), reverse=True)
        pairs = (f"{decimal_text(e)}:{decimal_text(d)}" for e, d in zip(epsilons, deltas))
        return [f"--profile=list:{';'.join(pairs)}"]
    if rng.random() < 0.7:
        return [f"--profile=gdp:{decimal_text(log_uniform(rng, 0.2, 2))}"]
    total = decimal_text(max(epsilon, Fraction(1, 2)))
    return [f"--profile=composed:{rng.choice((2, 3, 10))}", f"--epsilon={total}", "--delta=0.001"]


# The referee's work ----------------------------------------------------------------------------------------------


def answered(words: list[str]) -> tuple[int, str, str]:
    """(exit status, stdout, stderr) of `solve`."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["solve", *words, "--time-limit", SOLVER_SECONDS, "--gap", "0.02"])
    return code, out.getvalue(), err.getvalue()


def harder(words: list[str], rng: random.Random) -> list[str] | None:
    """A problem whose laws are laws of this one: less ε or δ."""
    name = rng.choice(("--epsilon=", "--delta="))
    at = next((i for i, word in enumerate(words) if word.startswith(name)), None)
    value = 0 if at is None else float(words[at].partition("=")[2])
    return [*words[:at], name + decimal_text(rounded(rng, value * 0.98, 6)), *words[at + 1 :]] if value else None


def judged(words: list[str], rng: random.Random) -> tuple[str, list[str]]:
    """(what came of it, refutations) for one problem."""
    code, out, err = answered(words)
    problem = asked(words)
    others: list[Law] = list(rivals(problem, searches=2 if rng.random() < 0.3 else 1))
    if code == 0 and rng.random() < 0.15 and (more := harder(words, rng)):
        status, text, _ = answered(more)
        if status == 0:
            answer = json.loads(text, parse_float=Fraction)
            others.append(law_of(answer["noise"], problem_of(answer)))
    if code == 0:
        return "answered", refutations(out, problem, others)
    if code != 2:
        return "failed", [err.strip()]
    valid = [law for law in others if not any(law_faults(law, problem))]
    return "refused", [f"refused, though there is a law: {err.strip()}"] if valid and "support" in err else []


def judge(seed: str) -> tuple[list[str], str, list[str], float]:
    """(words, what came of it, refutations, seconds) of the problem with this seed."""
    rng = random.Random(seed)
    words, start = draw(rng), time.perf_counter()
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError(f"{PROBLEM_SECONDS} seconds")))
    signal.alarm(PROBLEM_SECONDS)
    try:
        kind, found = judged(words, rng)
    except TimeoutError:
        kind, found = "given up", []
    finally:
        signal.alarm(0)
    return words, kind, found, time.perf_counter() - start


def run(count: int, processes: int, seed: int, every: int = 100) -> Iterator[str]:
    """Judge so many problems; every refutation, and now and then where things stand."""
    kinds: Counter[str] = Counter()
    start, slowest = time.perf_counter(), (0.0, [])
    with ProcessPoolExecutor(processes) as pool:
        results = pool.map(judge, (f"{seed}/{i}" for i in range(count)), chunksize=5)
        for n, (words, kind, found, seconds) in enumerate(results, 1):
            kinds[kind] += 1
            slowest = max(slowest, (seconds, words))
            for text in found:
                kinds["refuted"] += 1
                yield f"REFUTED solve {' '.join(words)}\n    {text}"
            if n % every == 0 or n == count:
                stand = f"{n}/{count} in {time.perf_counter() - start:.0f} s: {dict(kinds)}; slowest {slowest[0]:.1f} s"
                print(stand, file=sys.stderr, flush=True)


# Tests ----------------------------------------------------------------------------------------------------------


TRUE = {
    "grid": "--epsilon=1 --delta=0.2",
    "one end": "--epsilon=1 --delta=0.2 --support=-3:",
    "pinball, symmetric": "--epsilon=1 --delta=0.1 --loss=pinball:0.8 --symmetric",
    "staircase": "--epsilon=1 --delta=0 --loss=l2 --sensitivity=0.3",
    "points": "--epsilon=1 --delta=0.1 --integer --sensitivity=3",
    "discrete staircase": "--epsilon=1 --delta=0 --granularity=0.1 --sensitivity=0.3",
    "curve": "--profile=gdp:1",
    "worst case": "--epsilon=1 --delta=0.1 --second=3:0 --loss=asym:1:3",
    "two pairs": "--epsilon=1 --delta=0.1 --second=3:0.01 --budget=exceed:2=0.3",
}


def moved(noise: dict, share: float) -> None:
    """Part of the heaviest weight goes to the first, or the closed form becomes a wider one."""
    if "weights" not in noise:
        noise["parameters"]["rate" if "rate" in noise["parameters"] else "epsilon"] *= 1 + share
        return
    weights = [int(w) for w in noise["weights"]]
    best = max(range(len(weights)), key=weights.__getitem__)
    part = int(weights[best] * share)
    weights[best], weights[0] = weights[best] - part, weights[0] + part
    noise["weights"] = list(map(str, weights))


def forge_lower(answer: dict) -> None:
    answer["lower"], answer["upper"] = answer["upper"] * (1 + 1e-9), 2 * answer["upper"]


def forge_upper(answer: dict) -> None:
    answer["upper"] = answer["upper"] * (1 - 1e-6)


def forge_delta(answer: dict) -> None:
    answer["certificate"]["delta_upper"] *= 1 - 1e-6


FORGERIES = {
    "a lower bound above what a law costs": forge_lower,
    "an upper bound below what the law costs": forge_upper,
    "another δ of the law": forge_delta,
    "a law that is not private": lambda answer: moved(answer["noise"], 1e-3),
    "a law too many": lambda answer: answer["noise"].get("weights", []).__setitem__(slice(0, 1), ["7"]),
    "another ε": lambda answer: answer.update(epsilon=answer["epsilon"] * 1.01),
    "another sensitivity": lambda answer: answer.update(sensitivity=answer["sensitivity"] * (1 + 1e-12)),
    "another loss": lambda answer: answer.update(loss="lp:1.0001"),
}


@cache
def true_answer(name):
    """Once for all tests, in whichever order they are run."""
    words = TRUE[name].split()
    return words, answered(words)[1]


@pytest.fixture(params=TRUE, ids=lambda name: name.replace(" ", "-"))
def answer(request):
    return true_answer(request.param)


def test_a_true_answer_stands(answer):
    words, text = answer
    assert refutations(text, asked(words), rivals(asked(words))) == []


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_answer_falls(answer, forgery):
    """What the referee could not tell from a true answer would prove nothing by passing."""
    words, text = answer
    forged = json.loads(text)
    FORGERIES[forgery](forged)
    implied = forged["profile"] and forgery == "another ε"  # under a curve ε names a pair that the curve implies
    if forged == json.loads(text) or implied:
        pytest.skip("there is nothing to forge")
    found = refutations(json.dumps(forged), asked(words), rivals(asked(words), searches=2))
    assert found


COMPARED = (
    "--epsilon=1 --delta=0.1", "--epsilon=0.3 --delta=0.01 --sensitivity=0.3 --loss=asym:1:3 --support=-9:0.2",
    "--epsilon=2 --delta=0.05 --loss=l2", "--epsilon=0.5 --delta=0.2 --loss=exceed:2.5 --sensitivity=0.7",
    "--epsilon=1 --delta=0.1 --loss=lp:1.5", "--epsilon=3 --delta=0 --loss=huber:0.4 --sensitivity=12",
    "--epsilon=1 --delta=0.1 --loss=table:-2=3,-1=0,0.5=1,2=1,4=9", "--epsilon=1 --delta=0.1 --integer --sensitivity=3",
    "--epsilon=0.7 --delta=0 --granularity=0.1 --sensitivity=0.3 --loss=exceed:0.3",
    "--epsilon=5 --delta=0.01 --granularity=0.1 --sensitivity=0.3 --loss=table:-0.6=1,-0.3=0,0=0,0.1=0,0.3=2",
)  # fmt: skip


STEPS = np.linspace(-3.2, 3.2, 411)
NODES = np.tanh(np.pi / 2 * np.sinh(STEPS))
WEIGHTS = np.pi / 2 * np.cosh(STEPS) / np.cosh(np.pi / 2 * np.sinh(STEPS)) ** 2 * (STEPS[1] - STEPS[0])
"""Tanh-sinh quadrature on [−1, 1], which minds no kink or root at an end."""


def integral(f: Callable, low: float, high: float) -> float:
    half = (high - low) / 2
    return half * float(WEIGHTS @ f((low + high) / 2 + half * NODES))


def smooth_cost(key: str, named: dict[str, Fraction], loss: ExactLoss) -> float:
    """E c(X) of a law that is neither cells nor points, by quadrature."""
    at = {name: float(value) for name, value in named.items()}
    scale, centre = at.get("scale", at.get("sigma", at.get("half_width"))), at["location"]
    reach = at.get("half_width", (60 if key == "laplace" else 12) * scale)
    places, heights = np.array([centre]), np.ones(1)
    if "epsilon" in at:  # normal densities around several places, with weights e^(−ε|k|) or e^ε and 1
        far = 1 if key == "quasi-gaussian" else math.ceil(25 / at["epsilon"])
        steps = np.arange(-far, far + 1)
        places, heights = centre + steps * at["sensitivity"], np.exp(-at["epsilon"] * np.abs(steps))
        reach += far * at["sensitivity"]

    def density(x: np.ndarray) -> np.ndarray:
        if key == "uniform":
            return np.ones_like(x)
        y = np.abs(x[:, None] - places) / scale
        shares = heights * np.exp(-y * y / 2 if "sigma" in at else -y)
        if key == "quasi-gaussian":  # the nearer one of the outer two alone
            return shares[:, 1] + np.maximum(shares[:, 0], shares[:, 2])
        return shares.sum(axis=1)

    ends, breaks = [centre + sign * reach for sign in (-1, 1)], [float(x) for x in loss.breaks]
    inner = {*breaks, *places.tolist(), *(centre + t * scale for t in (-8, -3, 0, 3, 8))}
    cuts = sorted({*ends, *(x for x in inner if ends[0] < x < ends[1])})
    total = mass = 0.0
    for a, b in zip(cuts, cuts[1:]):
        piece = loss.pieces[sum(x <= a for x in breaks)]
        constant, coefficient, power = float(piece.constant), float(piece.coefficient), float(piece.power)
        total += integral(lambda x: (constant + coefficient * np.abs(x) ** power) * density(x), a, b)  # noqa: B023
        mass += integral(density, a, b)
    atom = at.get("atom", 0.0)
    return (1 - atom) * total / mass + atom * float(loss.value(named["location"])[0])


@pytest.mark.parametrize("line", COMPARED)
def test_what_compare_prints(line):
    """The loss of every mechanism is that of the law with its parameters, and none that is valid beats the bound."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["compare", *line.split(), "--gap", "0.05", "--time-limit", "1"]) == 0
    problem = asked(line.split())
    optimum, *rows = json.loads(out.getvalue(), parse_float=Fraction)
    ratio = optimum["lower_bound_ratio"]  # none where nothing was proved in time
    lower = Fraction(optimum["loss"]) / Fraction(ratio) if ratio else Fraction(0)
    for row in rows:
        named = {name: Fraction(value) for name, value in row["parameters"].items()}
        if row["loss"] is None:
            continue
        if row["key"] == "staircase":
            law = Staircase(named["epsilon"], named["sensitivity"], named["gamma"], named["atom"], named["location"])
        elif row["key"] in ("geometric", "discrete-staircase"):
            k, place = int(named["sensitivity"]), int(named["location"])
            stairs = (named["epsilon"], int(named["r"]), k) if "r" in named else (named["epsilon"] / k, 1, 1)
            law = DiscreteStaircase(*stairs, place, problem.step)
        smooth = "epsilon" not in named or "sigma" in named
        cost = smooth_cost(row["key"], named, problem.loss) if smooth else law.cost(problem.loss)[0]
        assert float(row["loss"]) == pytest.approx(float(cost), rel=1e-9, abs=1e-12), row["key"]
        if row["valid"]:
            assert Fraction(row["loss"]) >= lower * (1 - Fraction(1, 10**9)), row["key"]


INVERTED = (
    "--error=0.03 --delta=0 --sensitivity=0.1 --granularity=0.1 --loss=exceed:0.3", "--error=1 --delta=0.01",
    "--error=0.2 --delta=0 --loss=exceed:1.5 --sensitivity=0.7", "--error=2 --delta=0.05 --loss=l2 --integer",
    "--error=0.02 --delta=0.1 --granularity=0.1 --sensitivity=0.2 --loss=exceed:0.6",
    "--error=0.7 --delta=0 --loss=asym:1:3",
)  # fmt: skip


@pytest.mark.parametrize("line", INVERTED)
def test_what_invert_prints(line):
    """No law is within the error at the ε that is said to miss it."""
    error, *words = line.split()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["invert", error, *words, "--time-limit", "1.5"]) == 0
    answer = json.loads(out.getvalue(), parse_float=Fraction)
    lower, upper = (Fraction(answer[f"epsilon_{end}"]) for end in ("lower", "upper"))
    assert lower <= upper
    if not lower:  # nothing was proved in time
        return
    problem = asked([*words, f"--epsilon={float(lower)}"])
    reached = Fraction(error.partition("=")[2])
    for law in rivals(problem, searches=2):
        assert law.cost(problem.loss)[1] > reached or any(law_faults(law, problem))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr)
    refuted = 0
    for line in run(options.count, options.processes, options.seed):
        refuted += 1
        print(line, flush=True)
    sys.exit(refuted > 0)
