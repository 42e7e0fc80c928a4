"""What compiled kernels gain over their NumPy twins, processor time per call.

python -m benchmarks.bench_kernels
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import ModuleType

import numpy as np

from dpcore.kernels import lattice_terms as compiled
from dpcore.kernels import polygons as compiled_polygons
from dpcore.optimal import lattice_terms as plain
from dpcore.optimal import polygons
from dpcore.optimal.lattice import Lattice

LEVEL = np.array([0.0, 1.0]), np.array([0.9, 1.0]), np.array([0.1, 0.0])
"""A polygon that hardly any corner lies above."""


def microseconds(call: Callable[[], object]) -> float:
    """The best of seven runs of some 20 ms each."""
    call()
    began = time.process_time()
    call()
    often = max(1, int(0.02 / max(time.process_time() - began, 1e-6)))
    best = float("inf")
    for _ in range(7):
        began = time.process_time()
        for _ in range(often):
            call()
        best = min(best, (time.process_time() - began) / often)
    return 1e6 * best


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"{'kernel':12s} {'shifts':>7} {'events':>7} {'NumPy µs':>10} {'Numba µs':>10} {'times':>6}")

    def line(name: str, twins: tuple[ModuleType, ModuleType], arguments: tuple, shifts: int, events: int) -> None:
        slow, fast = (microseconds(lambda m=m: getattr(m, name)(*arguments)) for m in twins)
        print(f"{name:12s} {shifts:7d} {events:7d} {slow:10.1f} {fast:10.1f} {slow / fast:6.1f}")

    for k, reach in ((4, 20), (8, 60), (30, 300), (100, 1000), (400, 4000)):
        lattice = Lattice(k, -reach, reach, -reach + k, reach - k, False)
        r = np.exp(-np.abs(lattice.indices) / (2 * k)) * rng.uniform(0.9, 1.1, len(lattice.indices))
        events, shifts = lattice.events - lattice.first, lattice.shifts
        line("shortfalls", (plain, compiled), (r, events, shifts, 1.3), len(shifts), len(events))
        line("excess", (plain, compiled), (r, events, 2, 1.3), 1, len(events))
        if k <= 100:
            tests = lattice.tests
            own, covers = tests.means(r / r.sum())
            arguments = own, covers, tests.by_shift(), *LEVEL, 1e-300
            line("corners", (polygons, compiled_polygons), arguments, len(shifts), len(events))


if __name__ == "__main__":
    main()
