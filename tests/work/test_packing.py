"""What another thread looks at while it is packed arrives all the same."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler

import pytest

from work.packing import packed


class Problem:
    """Keeps what is asked of it, as `cached_property` does."""

    def __init__(self, asks: int) -> None:
        self.part, self.epsilon, self.delta = Part(self, asks), 1.0, 0.0


class Part:
    """Another thread asks the problem for something new whenever this is packed, so many times."""

    def __init__(self, problem: Problem, asks: int) -> None:
        self.problem, self.asks = problem, asks

    def __reduce__(self):
        if self.asks:
            self.asks -= 1
            setattr(self.problem, f"found_{self.asks}", 1)
        return int, (7,)


@pytest.mark.parametrize("asks", [0, 1, 5])
def test_it_is_begun_anew(asks):
    copy = ForkingPickler.loads(packed(Problem(asks)))
    assert copy.part == 7
    assert sum(name.startswith("found") for name in vars(copy)) == asks


def test_not_for_ever():
    with pytest.raises(RuntimeError):
        packed(Problem(1000))
