"""Lower bounds under a whole curve where laws have poles: events narrow there, shifts averaged
[method: A whole profile].

Of the shifts of a lattice a law can make use: it stands on its nodes. A shift that is drawn at random, from a fine
lattice, with the weights of a hat as wide as two coarse steps, leaves no such place, and what covers an event next to a
pole, however narrow, is as wide as the hat. So nodes are close together at the poles and a coarse step apart elsewhere;
shifts are few. In between covers are not linear, and what multipliers found on these nodes prove there is less: the
rows that count are weighed once more on all nodes of the fine lattice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError
from ..lp import INFINITY, LinearProgram
from ..privacy_profile import GaussianProfile
from .curve import CurveProgram, Cut
from .lattice import Array, Ints, Tests
from .mesh import Mesh
from .polygons import sums_at
from .step import Limits

AVERAGED = 0.2, 0.9
"""Shifts between these shares of the sensitivity are averaged; others but the sensitivity count for nothing."""

LOOKING, WEIGHING = 0.7, 0.9
"""Rows are looked for until this share of the time left is over, and weighed on all nodes until that is; then there is
the referee."""

LOST = 1e-5
"""What multipliers may prove less on nodes that are not added, in shares of the value."""

ROOM = 1e-9
"""So much of the value is left over at every node, in units of what the law has there: reduced costs are not exact."""


@dataclass(frozen=True)
class Averages(Mesh):
    """A mesh whose shifts are the sensitivity, by which events move as they are, and averages of the shifts of the fine
    lattice next to multiples of `coarse`, either sign. Test functions are the hats of the nodes.

    Cut by its number a shift is the multiple, or the sensitivity.
    """

    @property
    def ends(self) -> Ints:
        """Halfway between nodes, in half steps."""
        i = self.indices
        ends: Ints = np.concatenate([[2 * i[0] - 1], i[1:] + i[:-1], [2 * i[-1] + 1]])
        return ends

    @cached_property
    def shifts(self) -> Ints:
        least, most = (share * self.k for share in AVERAGED)
        steps = np.arange(self.coarse, self.k, self.coarse)
        positive = np.append(steps[(steps >= least) & (steps <= most)], self.k)
        return positive if self.folded else np.concatenate([-positive[::-1], positive])

    def moves(self, shift: int) -> tuple[Ints, Array]:
        if abs(shift) == self.k:
            return super().moves(shift)
        off = np.arange(1 - self.coarse, self.coarse)
        return shift + off, (self.coarse - np.abs(off)) / self.coarse**2

    @cached_property
    def tests(self) -> Tests:
        hats = self.events
        number = np.full(len(self.indices), -1)
        number[np.searchsorted(self.indices, hats)] = np.arange(len(hats))
        # Every hat on the fine lattice, and its averages there.
        everywhere = np.arange(self.first, self.last + 1)
        left = np.clip(np.searchsorted(self.indices, everywhere, side="right") - 1, 0, len(self.indices) - 2)
        share = (everywhere - self.indices[left]) / (self.indices[left + 1] - self.indices[left])
        hat, at = np.concatenate([number[left], number[left + 1]]), np.tile(everywhere, 2)
        value = np.concatenate([1 - share, share])
        used = (hat >= 0) & (value > 0)
        event = hat[used], at[used], value[used]
        off, weights = self.moves(0)
        size = len(everywhere) + 2 * self.coarse
        keys = (event[0] * size + event[1] - self.first + self.coarse)[:, None] - off
        index, into = np.unique(keys, return_inverse=True)
        wide = sums_at(into.ravel(), (event[2][:, None] * weights).ravel(), len(index))
        averages = index // size, index % size + self.first - self.coarse, wide
        found = []
        for order, shift in enumerate(self.shifts.tolist()):
            covers = event if abs(shift) == self.k else averages
            for (hat, at, value), covering in ((event, False), (covers, True)):
                at = at - shift * covering
                place = np.clip(np.searchsorted(self.indices, at), 0, len(self.indices) - 1)
                node = self.indices[place] == at
                keys = (order * len(hats) + hat[node]) * self.classes + self.classify(at[node])
                found.append((keys, value[node], np.full(len(keys), covering)))
        names, heights, covered = (np.concatenate(v) for v in zip(*found))
        keys, into = np.unique(names, return_inverse=True)
        events, copies = (sums_at(into, heights * mine, len(keys)) for mine in (~covered, covered))
        shift, place = np.repeat(self.shifts, len(hats)), np.tile(hats, len(self.shifts))
        return Tests(shift, place, keys // self.classes, keys % self.classes, events, copies)

    def functions(self, shift: int, hats: Ints) -> tuple[Array, Array]:
        """The sum of some hats of a shift on all nodes of the fine lattice, and its cover's."""
        heights = np.isin(self.indices, hats).astype(float)
        event = np.interp(np.arange(self.first, self.last + 1), self.indices, heights)
        moves, weights = self.moves(shift)
        averaged = np.convolve(event, weights)  # from moves to the right to those to the left
        cover, at = np.zeros(len(event)), np.arange(len(event)) + moves[-1]
        inside = (at >= 0) & (at < len(averaged))
        cover[inside] = averaged[at[inside]]
        return event, cover

    def _kinks(self, shift: int) -> tuple[Ints, NDArray[np.bool_]]:
        return self.indices, np.isin(self.indices, self.events)


@dataclass
class AveragesProgram(CurveProgram):
    """The same programs as `CurveProgram`, on a mesh with averages; after the last round the rows that held its last
    solutions are weighed once more on all nodes of the fine lattice.

    on_all : the loss there, like `costs`.
    """

    on_all: Array = field(default_factory=lambda: np.empty(0))

    def solve(self, limits: Limits, near: Callable[[float, float], bool]) -> str:
        now = time.perf_counter()
        looking, weighing = (
            replace(limits, deadline=now + share * (limits.deadline - now)) for share in (LOOKING, WEIGHING)
        )
        status = super().solve(looking, near)
        if self._proofs and not limits.stop():
            self._weigh(weighing)
        return status

    def _weigh(self, limits: Limits) -> None:
        """New multipliers of the rows of the last solutions: a program on the mesh's nodes, and those of the fine
        lattice where its multipliers prove less."""
        lattice: Averages = self.lattice  # type: ignore[assignment]  # no other comes here
        cuts = list({id(cut): cut for _, rates in self._proofs for cut, _ in rates}.values())
        if not cuts:  # where losses are 0 around their minimiser nothing may bind yet
            return
        growth, limit = self._line(np.array([cut.z for cut in cuts]))
        rows = np.array([self._row(cut, each) for cut, each in zip(cuts, growth.tolist())]) / limit[:, None]
        costs, new = self.on_all / self.scale, lattice.indices - lattice.first
        law = np.interp(np.arange(lattice.first, lattice.last + 1), lattice.indices, self.inner * lattice.fineness)
        law = np.maximum(law / law.sum(), self.floor * law.max() / law.sum())
        if lattice.folded:
            costs, rows, law = (0.5 * (v + v[..., ::-1])[..., -1 - lattice.last :] for v in (costs, rows, law))
            new = lattice.indices[lattice.indices >= 0]
        program, best = LinearProgram(tolerance=1e-10), -math.inf
        try:
            program.add_rows([1.0, *[-INFINITY] * len(cuts)], 1.0, starts=[0] * (1 + len(cuts)), columns=[], values=[])
            while len(new) and program.columns < len(law):
                entries = np.concatenate([np.ones((1, len(new))), rows[:, new]]) * law[new]
                program.add_columns(
                    costs[new] * law[new] - ROOM, starts=len(entries) * np.arange(len(new)),
                    rows=np.tile(np.arange(len(entries)), len(new)), values=entries.T.ravel(),
                )  # fmt: skip
                if program.run(limits.deadline, limits.stop) != "optimal":
                    return
                self.effort += program.rows * program.columns
                value, *multipliers = program.row_duals()
                rates = np.maximum(0.0, -np.array(multipliers))
                left = costs + rates @ rows
                if left.min() - rates.sum() > best:
                    best = left.min() - rates.sum()
                    self.rates = [(cut, rate) for cut, rate in zip(cuts, (rates * self.scale).tolist()) if rate > 0]
                around = np.concatenate([[math.inf], left, [math.inf]])
                new = np.flatnonzero((left < value - LOST) & (left <= around[:-2]) & (left < around[2:]))
        except SolverError:  # out of what it accepts as a number
            return

    def _row(self, cut: Cut, growth: float) -> Array:
        """An event less e^ε times its cover, on all nodes."""
        shift, hats = int(self._tests.shift[cut.tests[0]]), self._tests.place[cut.tests]
        event, cover = self.lattice.functions(shift, hats)  # type: ignore[attr-defined]  # an `Averages`
        row: Array = event - growth * cover
        return row

    @property
    def _everywhere(self) -> Array:
        return self.on_all

    def proved(self, profile: GaussianProfile) -> float:
        return self._proved(profile, self.rates)
