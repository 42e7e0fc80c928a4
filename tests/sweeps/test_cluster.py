"""A real Dask cluster of two worker processes: same bits as alone, also when one of them is killed half-way."""

from __future__ import annotations

import os
import signal

import pytest
from distributed import Client, LocalCluster

from dpcore.problem import SolverSettings, noise_problem
from dpcore.sweeps import CLUSTER, grid, sweep
from dpcore.sweeps.run import named_cluster

PATIENT = SolverSettings(gap=0.05, time_limit=120)


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as running:
        yield running


@pytest.mark.timeout(300)
def test_a_killed_worker_loses_nothing(cluster):
    problems, _ = grid(noise_problem(1, 0.2), (0.5, 1.0, 2.0, 5.0), (0.02, 0.05, 0.1, 0.2, 0.3))
    expected = [one.outcome for one in sweep(problems, PATIENT)]
    found, victim = {}, None
    for one in sweep(problems, PATIENT, cluster=cluster.scheduler_address):
        assert one.index not in found, "nothing twice"
        found[one.index] = one.outcome
        if victim is None:
            victim = _kill_a_busy_worker(cluster.scheduler_address)
    assert victim is not None
    assert [found[i] for i in range(len(problems))] == expected


def _kill_a_busy_worker(address: str) -> int | None:
    """SIGKILL to a worker process that is at work on a chain; None if all is done already."""
    with Client(address, set_as_default=False) as client:
        busy = [worker for worker, tasks in client.processing().items() if tasks]
        if not busy:
            return None
        (process,) = client.run(os.getpid, workers=busy[:1]).values()
    os.kill(process, signal.SIGKILL)
    return process


def test_stopping_leaves_the_cluster_usable(cluster):
    epsilons = [0.5 + 0.05 * i for i in range(12)]
    problems, _ = grid(noise_problem(1, 0.2), epsilons, (0.05, 0.1, 0.2))
    seen = []
    for one in sweep(problems, PATIENT, cluster=cluster.scheduler_address, stop=lambda: bool(seen)):
        seen.append(one)
    assert 0 < len(seen) < len(problems) / 2
    assert len(list(sweep(problems[:6], PATIENT, cluster=cluster.scheduler_address))) == 6


def test_the_environment_names_the_cluster(monkeypatch):
    monkeypatch.setenv(CLUSTER, " tcp://somewhere:8786 ")
    assert named_cluster() == "tcp://somewhere:8786"
    monkeypatch.setenv(CLUSTER, "")
    assert named_cluster() is None
