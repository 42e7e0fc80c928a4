"""The functions of `import dpcore as dp`: keywords in, one answer out. Everything else is reached through these.

A problem is told in keywords, the same for every function (`Asked`), or is a ready `NoiseProblem`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar, Unpack

from .errors import InputError
from .loss import Loss, parse_loss
from .privacy import DELTA_RANGE, EPSILON_RANGE, Privacy
from .privacy_profile import PrivacyProfile, parse_profile
from .problem import Budget, NoiseProblem, SolverSettings, noise_problem

if TYPE_CHECKING:
    from .accounting.mechanisms import Composable, Release
    from .accounting.rules import Total
    from .comparison import Comparison
    from .inversion import Inversion
    from .noise.base import Noise
    from .solution import Progress, Solution
    from .sweeps import Found, Outcome, Refused

P = ParamSpec("P")
R = TypeVar("R")

MISSING = "(missing)"
"""Stands for a number that was left out, so that the check says what it should have been."""


class Asked(TypedDict, total=False):
    """A noise problem in keywords.

    epsilon, delta : the privacy; both are needed, but for a `profile` that holds them. ε from 0.001 to 20 or 0, δ from
        1e-12 to 0.999 or 0, not both 0.
    sensitivity : largest change of the query between neighbours, in the query's unit (default 1).
    loss : of the error, in the query's unit: a `Loss` or its text, "l1", "l2", "lp:1.5", "pinball:0.8", "asym:1:3",
        "huber:1", "exceed:2", "table:x=c,x=c,…" (default "l1").
    symmetric, monotone : of the law's density.
    support : (low, high) of the noise, in the query's unit; an end may be infinite.
    granularity : the query's values are multiples of it, 1 for counts.
    budget : (second loss, the most of it), such as ("exceed:2", 0.05).
    second : a second pair (ε, δ) to keep.
    profile : a whole promise: "gdp:1", "list:ε:δ;ε:δ", "composed:T:ε:δ" or its type.
    """

    epsilon: float
    delta: float
    sensitivity: float
    loss: Loss | str
    symmetric: bool
    monotone: bool
    support: tuple[float, float]
    granularity: float | None
    budget: Budget | tuple[Loss | str, float] | None
    second: Privacy | tuple[float, float] | None
    profile: PrivacyProfile | str | None


def _in_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """The function with the keywords of a problem in the signature that `help` and editors show."""
    own = signature(function)
    ready = [p for p in own.parameters.values() if p.kind is Parameter.POSITIONAL_ONLY]
    options = [p for p in own.parameters.values() if p.kind is Parameter.KEYWORD_ONLY]
    told = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in signature(noise_problem).parameters.values()]
    merged = {p.name: p for p in (*ready, *told, *options)}
    function.__signature__ = own.replace(parameters=list(merged.values()))  # type: ignore[attr-defined]  # `inspect.signature` reads it
    return function


def _problem(problem: NoiseProblem | None, asked: Asked) -> NoiseProblem:
    """The problem that was given, or that the keywords tell."""
    if problem is not None:
        if asked:
            raise TypeError(f"a problem and keywords that tell another one: {', '.join(asked)}")
        return problem
    told: dict[str, Any] = {"epsilon": MISSING, "delta": MISSING, **asked}
    if isinstance(profile := told.get("profile"), str):
        told["profile"] = profile = parse_profile(profile)
    if profile is not None and "epsilon" not in asked and "delta" not in asked:
        told |= {"epsilon": profile.anchor.epsilon, "delta": profile.anchor.delta}
    if isinstance(budget := told.get("budget"), tuple):
        loss, most = budget
        told["budget"] = Budget(loss if isinstance(loss, Loss) else parse_loss(loss), most)
    if isinstance(second := told.get("second"), tuple):
        told["second"] = Privacy(*second)
    return noise_problem(**told)


@_in_keywords
def solve(
    problem: NoiseProblem | None = None,
    /,
    *,
    gap: float = 1e-3,
    time_limit: float = 10.0,
    progress: Callable[[Progress], bool | None] | None = None,
    **asked: Unpack[Asked],
) -> Solution:
    """The additive noise of least expected loss under (ε, δ)-DP, with a certificate [SLW, (P)].

    Parameters
    ----------
    problem : a ready problem in place of keywords.
    gap : relative distance of the bounds, (upper − lower)/lower, at which to stop.
    time_limit : seconds after which the best certified answer is returned; its bounds hold all the same.
    progress : called with every improvement; True ends the search.
    **asked : the problem in keywords, see `Asked`.

    Returns
    -------
    Solution
        `noise`, the law; `certificate` with `lower`, rounded down, `upper` and `delta_upper`, rounded up. Losses are in
        the loss's unit of the query's unit.

    Raises
    ------
    InputError : a value outside what is accepted (a ValueError that names field, value and what is accepted).
    InfeasibleError : no law satisfies the constraints.

    Examples
    --------
    >>> import dpcore as dp
    >>> found = dp.solve(epsilon=1, delta=0.2, sensitivity=1, loss="l1")
    >>> round(found.certificate.upper, 3)
    0.559
    """
    from .optimal import solve as certified

    return certified(_problem(problem, asked), SolverSettings(gap=gap, time_limit=time_limit), progress)


@_in_keywords
def compare(
    problem: NoiseProblem | None = None, /, *, gap: float = 1e-3, time_limit: float = 10.0, **asked: Unpack[Asked]
) -> Comparison:
    """The certified optimum beside every textbook mechanism, calibrated to the same problem.

    Parameters are those of `solve`. Losses of mechanisms are exact; `rows()` has them as a table with the ratio to the
    certified lower bound, `plot()` as a figure.

    Raises
    ------
    InputError, InfeasibleError : as `solve`.
    """
    from .comparison import Comparison

    return Comparison.of(solve(_problem(problem, asked), gap=gap, time_limit=time_limit))


@_in_keywords
def sweep(
    *,
    epsilon: float | Iterable[float],
    delta: float | Iterable[float],
    loss: Loss | str | Sequence[Loss | str] = "l1",
    workers: int = 1,
    cluster: str | None = None,
    out: str | Path | None = None,
    gap: float = 1e-3,
    time_limit: float = 10.0,
    progress: Callable[[Found], bool | None] | None = None,
    **asked: Any,
) -> list[Outcome | Refused]:
    """`solve` over a grid: what is proved at every (ε, δ) and for every loss.

    Parameters
    ----------
    epsilon, delta, loss : one or several values each.
    workers : processes on this machine (needs ``dp-frontier[cluster]`` from two on).
    cluster : address of a Dask scheduler in their place, "tcp://host:8786" (needs ``dp-frontier[cluster]``).
    out : a .csv or .parquet file for the table; Parquet needs ``dp-frontier[parquet]``.
    gap, time_limit : of every problem.
    progress : called with every outcome as it is found; True ends the sweep.
    **asked : the rest of the problem in keywords, see `Asked`.

    Returns
    -------
    list
        `Outcome`s with `problem` and `certificate`, loss by loss, ε after ε, δ running fastest; then `Refused`, the
        places of the grid where there is no problem. Equal bit by bit for every number of workers.

    Raises
    ------
    InputError : a value that is never accepted, a file that cannot be written, no cluster at this address.
    """
    from .sweeps import grid, row, write_table
    from .sweeps import sweep as certified
    from .sweeps.table import check_name

    if out is not None:
        check_name(str(out))
    several = [loss] if isinstance(loss, Loss | str) else list(loss)
    losses = [one if isinstance(one, Loss) else parse_loss(one) for one in several]
    # The weakest pair: what does not fit it fits none of the grid's.
    weakest: Any = {**asked, "epsilon": EPSILON_RANGE[1], "delta": DELTA_RANGE[1], "loss": losses[0]}
    problems, refused = grid(_problem(None, weakest), _values(epsilon), _values(delta), losses)
    found: dict[int, Outcome] = {}
    for one in certified(problems, SolverSettings(gap=gap, time_limit=time_limit), workers=workers, cluster=cluster):
        found[one.index] = one.outcome
        if progress is not None and progress(one):
            break
    outcomes: list[Outcome | Refused] = [*(found[index] for index in sorted(found)), *refused]
    if out is not None:
        write_table([row(one) for one in outcomes], str(out))
    return outcomes


def _values(numbers: float | Iterable[float]) -> Iterable[float]:
    return numbers if isinstance(numbers, Iterable) and not isinstance(numbers, str) else [numbers]


@_in_keywords
def invert(
    problem: NoiseProblem | None = None,
    /,
    *,
    error: float,
    mechanism: str = "optimal",
    tolerance: float = 2e-3,
    time_limit: float = 10.0,
    **asked: Unpack[Asked],
) -> Inversion:
    """The smallest ε with which a mechanism's expected loss is at most `error`, as an interval with both ends proved.

    Parameters
    ----------
    error : in the loss's unit of the query's unit.
    mechanism : "optimal", or a key of `dpcore.mechanisms`.
    tolerance : relative width of the interval to aim at.   time_limit : seconds for all solves together.
    **asked : the problem in keywords, see `Asked`; its ε is not looked at and may be left out.

    Returns
    -------
    Inversion
        `epsilon_lower` misses the error, `epsilon_upper` reaches it.

    Raises
    ------
    InputError : no ε that is accepted reaches the error; the message says what can be reached.
    """
    from .inversion import invert as certified

    if problem is None:
        asked = {"epsilon": EPSILON_RANGE[1], **asked}
    settings = SolverSettings(time_limit=time_limit)
    return certified(_problem(problem, asked), error, mechanism, tolerance=tolerance, settings=settings)


@_in_keywords
def frontier(
    problem: NoiseProblem | None = None,
    /,
    *,
    against: Loss | str,
    count: int = 8,
    gap: float = 1e-3,
    time_limit: float = 10.0,
    **asked: Unpack[Asked],
) -> list[Solution]:
    """The least expected loss under budgets for a second loss, from the tightest budget to one that does not bind.

    Parameters
    ----------
    against : the second loss.   count : budgets, 2 to 100.   gap, time_limit : of every solve.
    **asked : the problem in keywords, see `Asked`, without a budget.

    Returns
    -------
    list of Solution
        By increasing `problem.budget.most`; neither lower nor upper bounds increase along it.

    Raises
    ------
    InputError, InfeasibleError : as `solve`.
    """
    from .optimal import pareto_frontier

    second = against if isinstance(against, Loss) else parse_loss(against)
    return pareto_frontier(_problem(problem, asked), second, count, SolverSettings(gap=gap, time_limit=time_limit))


def account(
    *releases: Composable | Release | Solution | str | tuple[Any, ...],
    delta: float | None = None,
    epsilon: float | None = None,
) -> list[Total]:
    """What several releases of the same data reveal together, by every rule of composition.

    Needs ``dp-frontier[accounting]``.

    Parameters
    ----------
    *releases : each a text ("laplace:epsilon=1", "gaussian:sigma=2", "pure:epsilon=1", …: docs/cli.md, `account`), a
        `Solution`, or a tuple (either of these, count) or (either of these, count, sampling) with a sampling such as
        "poisson:0.01".
    delta : the total ε there.   epsilon : the total δ there. One of the two.

    Returns
    -------
    list of Total
        Per rule `upper`, rounded up (infinite where the rule says nothing); the last, "exact", has `lower` as well.

    Raises
    ------
    InputError : an unknown mechanism, a number out of range, both or neither of δ and ε.
    MissingExtraError : the extra is not installed.
    """
    from .accounting.rules import totals

    if not releases:
        raise InputError("mechanism", MISSING, "at least one, such as laplace:epsilon=1")
    return totals([_release(one) for one in releases], delta=delta, epsilon=epsilon)


def _release(one: Composable | Release | Solution | str | tuple[Any, ...]) -> Release:
    from .accounting.mechanisms import Composable, Release, parse_mechanism, solved
    from .accounting.subsampling import parse_sampling
    from .solution import Solution

    if isinstance(one, Release):
        return one
    given: tuple[Any, ...] = one if isinstance(one, tuple) else (one,)
    defaults: tuple[Any, ...] = (None, 1, None)
    what, count, sampling = (*given, *defaults[len(given) :])
    if isinstance(what, str):
        what = parse_mechanism(what)
    elif isinstance(what, Solution):
        what = solved(what, "solution")
    if not isinstance(what, Composable):
        raise InputError("mechanism", what, "a text such as laplace:epsilon=1, or a Solution")
    return Release(what, count, parse_sampling(sampling) if isinstance(sampling, str) else sampling)


def release(noise: Solution | Noise, value: float) -> float | int:
    """One private release of `value`: the draw uses whole numbers and the operating system's cryptographic source only.

    Laws of the solver, staircases, Gaussian and Laplace noise have exact draws.

    Parameters
    ----------
    noise : a solution or its law.   value : the true answer, in the query's unit.

    Returns
    -------
    float or int
        An int on a lattice of whole numbers. Every call spends the privacy once more.

    Raises
    ------
    InputError : the law has no exact sampler (uniform and truncated Laplace noise have none here).
    """
    from .exact import release as exact
    from .solution import Solution

    return exact(noise.noise if isinstance(noise, Solution) else noise, value)[0]


def save(solution: Solution, path: str | Path) -> None:
    """Write a solution as JSON (docs/cli.md describes the format).

    Raises
    ------
    OSError : the file cannot be written.
    """
    from .export import solution_to_json

    Path(path).write_text(solution_to_json(solution), encoding="utf-8")


def load(path: str | Path) -> Solution:
    """The solution in a JSON file: `upper` and `delta_upper` are proved anew, `lower` is as the file states it.

    Raises
    ------
    InputError : no such file, not this format, or a law that does not keep what the file states.
    """
    from .reload import load_solution

    return load_solution(path)
