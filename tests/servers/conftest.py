"""Servers that several modules ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers import slurm
from tests.servers.debian import find_postgres
from tests.servers.postgresql import Server


@pytest.fixture(scope="module")
def server(pytestconfig: pytest.Config) -> Iterator[Server]:
    """PostgreSQL, in a folder of its own."""
    if find_postgres() is None and not pytestconfig.getoption("--run-servers"):
        pytest.skip("PostgreSQL is not installed here; python3 run.py test --run-servers installs it")
    server = Server()
    yield server
    server.remove()


@pytest.fixture(scope="module")
def cluster(pytestconfig: pytest.Config) -> Iterator[slurm.Slurm]:
    """Slurm, with two nodes of two CPUs."""
    if not slurm.is_here() and not pytestconfig.getoption("--run-servers"):
        pytest.skip("Slurm is not installed here; python3 run.py test --run-servers installs it")
    cluster = slurm.Slurm()
    yield cluster
    cluster.remove()
