"""Runs on a chosen engine: by ``--engine``, recorded, and on one without torchvision."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.training.commands import Captured
from tests.training.engines.stand_ins import make_python
from training.catalog.network_packages import missing_for_networks
from training.cli import main
from training.engine.runs.environment import describe_machine
from training.environment import list_facts

_WITHOUT = """
import sys, importlib.metadata as metadata
sys.modules["torchvision"] = None
real = metadata.version
def version(name):
    if name == "torchvision":
        raise metadata.PackageNotFoundError(name)
    return real(name)
metadata.version = version
from training.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name == "nt", reason="the environments here are POSIX's")
def test_a_run_is_handed_to_the_engine_that_was_named(tmp_path: Path, capsys: Captured) -> None:
    python = make_python(tmp_path / "other")
    site = next((tmp_path / "other").glob("lib/python*/site-packages"))
    (site / "psutil").mkdir()
    (site / "psutil/__init__.py").write_text("import sys; print('the other one', *sys.argv[1:]); sys.exit(7)")
    command = [sys.executable, "-m", "training", "run", "preset:sample", "--engine", python, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 7, done.stderr
    assert done.stdout.strip() == "the other one run preset:sample --json"
    assert main(["run", "preset:sample", "--engine", str(tmp_path / "nothing")]) == 2
    assert "There is no engine and no file" in capsys.readouterr().err


def test_the_record_names_the_engine_and_needs_no_torchvision(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("training.engine.runs.environment.version", refuse)
    environment = describe_machine()
    assert environment.torchvision is None
    assert environment.executable == sys.executable
    assert dict(list_facts(environment))["Engine"] == environment.engine


def test_networks_whose_package_is_missing_are_told_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    missing = missing_for_networks()
    assert {"torchvision", "torchvision_segmentation"} <= missing.keys()
    assert missing["torchvision"].startswith("torchvision is not installed where the engine works")


@pytest.mark.slow
def test_an_engine_without_torchvision_trains_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    words = [sys.executable, "-c", _WITHOUT, "run", "preset:sample", "--set", "loop.epochs=1"]
    assert subprocess.run(words, capture_output=True, check=False, timeout=280).returncode == 0
    refused = subprocess.run(
        [*words, "--set", "model.kind=torchvision"], capture_output=True, text=True, check=False, timeout=280
    )
    assert refused.returncode == 2
    assert "torchvision is not installed where the engine works" in refused.stderr
