"""Multi-Gaussian and quasi-Gaussian noise beside the certified optimum: σ, worst shift, loss, and which share of the
analytic Gaussian's gap to the optimum they close; which known law is best; δ by an accountant of other people's.

    python -m benchmarks.bench_mixtures [--seconds 10]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld

import dpcore as dp
from dpcore.audit import shortfall_upper
from dpcore.loss import parse_loss
from dpcore.mechanisms import MECHANISMS, baselines
from dpcore.noise import mixture
from dpcore.noise.mixture import Mixture
from dpcore.privacy import Privacy

POINTS = ((0.5, 1e-3), (1.0, 1e-5), (2.0, 1e-6), (5.0, 1e-6), (8.0, 1e-2))
KEYS = ("multi-gaussian", "quasi-gaussian")


def outside(noise: Mixture, epsilon: float, shift: float) -> list[float]:
    """δ(ε) at a shift by dp-accounting, from the probabilities of 60 000 cells, with losses rounded down and up to its
    grid."""
    far = 2 + max(40 / epsilon, 12 * noise.sigma)
    edges = np.linspace(-far, far + 1, 60_001)
    own, other = (np.maximum(np.diff(noise.cdf(edges - s)), 0) for s in (0.0, shift))
    kept = (own > 1e-300) & (other > 1e-300)
    laws = [dict(enumerate(np.log(law[kept]))) for law in (own, other)]
    ends = [
        pld.from_two_probability_mass_functions(
            *laws, pessimistic_estimate=up, value_discretization_interval=1e-4, log_mass_truncation_bound=-60
        )
        for up in (False, True)
    ]
    return [end.get_delta_for_epsilon(epsilon) for end in ends]


def calibrations() -> dict[tuple[float, float], list[float]]:
    """(ε, δ) → processor milliseconds of a calibration of either law, once everything is compiled."""
    for key in KEYS:
        MECHANISMS[key].rule(Privacy(0.7, 0.01), 1.0, parse_loss("l1"))
    out = {}
    for at in (*POINTS, (1.0, 0.2), (0.2, 0.05), (0.1, 1e-7)):
        out[at] = []
        for key in KEYS:
            mixture._worst.cache_clear()
            mixture._least_spread.cache_clear()
            before = time.process_time()
            MECHANISMS[key].rule(Privacy(*at), 1.0, parse_loss("l1"))
            out[at].append(1000 * (time.process_time() - before))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit for every optimum")
    seconds = parser.parse_args().seconds
    for at, spent in calibrations().items():
        print(f"calibrated at ({at[0]:g}, {at[1]:g}):", ", ".join(f"{k} {ms:.0f} ms" for k, ms in zip(KEYS, spent)))
    print(
        "    ε       δ  loss  optimum between          Gaussian   law              σ      worst shift  loss      closed"
    )
    for epsilon, delta in POINTS:
        for loss in ("l1", "l2"):
            found = dp.solve(epsilon=epsilon, delta=delta, sensitivity=1, loss=loss, gap=1e-3, time_limit=seconds)
            before = time.process_time()
            known = {b.key: b for b in baselines(found.problem)}
            spent = time.process_time() - before
            gaussian = known["gaussian"].loss
            best = min((b for b in known.values() if b.valid), key=lambda b: b.loss)
            lower, upper = found.certificate.lower, found.certificate.upper
            for key in KEYS:
                law = known[key]
                shares = [(gaussian - law.loss) / (gaussian - end) for end in (lower, upper)]
                print(
                    f"{epsilon:5g} {delta:7.0e}  {loss:4s}  {lower:9.5g} {upper:9.5g}     {gaussian:9.5g}"
                    f"   {law.name:15s}  {law.noise.sigma:7.5g}  {shortfall_upper(law.noise, epsilon, 1.0)[1]:6.3f}"
                    f"       {law.loss:8.5g}  {shares[0]:7.1%} to {shares[1]:.1%}"
                )
            print(f"{'':21s}best known law: {best.name}, {best.loss:.5g}; all calibrated in {1000 * spent:.0f} ms")
        for law in (known[key].noise for key in KEYS):
            proved, shift = shortfall_upper(law, epsilon, 1.0)
            low, high = outside(law, epsilon, shift)
            print(f"{'':21s}{law.name}: δ at most {proved:.6g}, by dp-accounting {low:.6g} to {high:.6g}")


if __name__ == "__main__":
    main()
