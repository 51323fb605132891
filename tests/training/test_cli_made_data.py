"""Made data that needs more memory than there is: refused before any of it is made, on the command line and for the window."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.training.commands import Captured
from training.cli import main
from training.data import made_room
from training.data.host_memory import HostMemory
from training.data.sources import toys
from training.serve import serve

GB = 10**9


@pytest.fixture(autouse=True)
def _few_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However large this machine is; and nothing is drawn."""
    monkeypatch.setattr(made_room, "host_memory", lambda: HostMemory(16 * GB, 8 * GB, "that this computer has"))

    def draw(*_arguments: object) -> None:
        raise AssertionError("samples were made")

    monkeypatch.setattr(toys, "_normal", draw)


BLOBS = ["dataset.kind=blobs", "dataset.samples=10000000", "dataset.features=1000"]
RANKED = ["dataset.kind=ranked", "dataset.samples=100000", "dataset.items=1000", "dataset.features=1000"]


@pytest.mark.parametrize(("preset", "settings", "need"), [("spiral", BLOBS, "40.4 GB"), ("ranking", RANKED, "793 GB")])
@pytest.mark.parametrize("command", ["check", "run"])
def test_the_estimate_comes_first(
    tmp_path: Path, capsys: Captured, command: str, preset: str, settings: list[str], need: str
) -> None:
    told = [word for setting in settings for word in ("--set", setting)]
    assert main([command, f"preset:{preset}", *told, "--workspace", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "dataset.samples: " in said
    assert f"take {need}, but only 8 GB of memory are free; take fewer samples" in said
    assert not list(tmp_path.glob("runs/*/"))


def test_the_window_is_told_the_same() -> None:
    replies: list[dict[str, Any]] = []
    data = {"kind": "blobs", "samples": 10_000_000, "features": 1000}
    config = {"dataset": data, "model": {"kind": "mlp"}}
    requests = [
        {"id": n, "action": action, "config": config} for n, action in enumerate(("inspect_dataset", "check"), 1)
    ]
    serve(requests, lambda reply: replies.append(dict(reply)))
    inspected, checked = (reply for reply in replies if reply["reply"] in ("refused", "done"))
    assert "take 40.4 GB" in inspected["message"]
    assert inspected["problems"][0][0] == "dataset.samples"
    (finding,) = checked["result"]["findings"]
    assert finding["level"] == "error"
    assert "take 40.4 GB" in finding["title"]


def test_check_shows_its_phases_on_a_terminal(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("a,b,kind\n" + "\n".join(f"{n}.5,{n % 7},{'xy'[n % 2]}" for n in range(40)))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    arguments = ["check", "preset:table-classes", "--set", f"dataset.path={tmp_path / 't.csv'}"]
    assert main([*arguments, "--workspace", str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "\rreading t.csv..." in said
    assert "building the model" in said
    assert "\rok       The data opens" in said  # the line that changed is gone before
