"""Made data that needs more memory than there is: refused before any of it is made, on the command line and for the window."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.training.commands import Captured, json_line
from tests.training.test_serve import parsed
from training.cli import main
from training.core import counter_rng
from training.data import placement
from training.data.sources import toys
from training.protocol.messages import format_line
from training.serve import serve
from training.system.host_memory import HostMemory

GB = 10**9


def leave_free(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However large this machine is."""
    monkeypatch.setattr(placement, "host_memory", lambda: HostMemory(16 * GB, size, "that this computer has"))


@pytest.fixture
def _few_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is drawn."""
    leave_free(8 * GB, monkeypatch)

    def draw(*_arguments: object) -> None:
        raise AssertionError("samples were made")

    monkeypatch.setattr(counter_rng, "normal", draw)


BLOBS = ["dataset.kind=blobs", "dataset.samples=10000000", "dataset.features=1000"]
RANKED = ["dataset.kind=ranked", "dataset.samples=100000", "dataset.items=1000", "dataset.features=1000"]


@pytest.mark.usefixtures("_few_gigabytes")
@pytest.mark.parametrize(("preset", "settings", "need"), [("spiral", BLOBS, "41.9 GB"), ("ranking", RANKED, "1.19 TB")])
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


@pytest.mark.parametrize(
    ("megabytes", "mode", "told"),
    [
        (2.2, "streamed", ""),
        (
            2.2,
            "auto",
            "take 5.6 MB, but only 2.2 MB of memory are free; take fewer samples or smaller ones, or set ",
        ),
        (1.5, "streamed", "take 1.6 MB, but only 1.5 MB of memory are free; take fewer samples or smaller ones.\n"),
    ],
)
def test_what_does_not_fit_is_made_anew_in_each_epoch_where_that_needs_less(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, megabytes: float, mode: str, told: str
) -> None:
    leave_free(int(megabytes * 10**6), monkeypatch)
    for module in (placement, toys):
        monkeypatch.setattr(module, "MADE_AT_ONCE", 100)
    blobs = ["dataset.kind=blobs", "dataset.samples=10000", "dataset.features=100", f"loader.mode={mode}"]
    settings = [word for setting in blobs for word in ("--set", setting)]
    code = main(["run", "preset:spiral", *settings, "--set", "loop.epochs=1", "--json", "--workspace", str(tmp_path)])
    assert code == (2 if told else 0)
    if told:
        assert told in capsys.readouterr().err
    else:
        data = json.loads((Path(json_line(capsys)["folder"]) / "data.json").read_text())
        assert data["batches"]["mode"] == "streamed"


@pytest.mark.usefixtures("_few_gigabytes")
def test_the_window_is_told_the_same() -> None:
    replies: list[dict[str, Any]] = []
    data = {"kind": "blobs", "samples": 10_000_000, "features": 1000}
    config = {"dataset": data, "model": {"kind": "mlp"}}
    requests = [
        {"id": n, "action": action, "config": config} for n, action in enumerate(("inspect_dataset", "check"), 1)
    ]
    serve(parsed(requests), lambda reply: replies.append(json.loads(format_line(reply))))
    inspected, checked = (reply for reply in replies if reply["reply"] in ("refused", "done"))
    assert "take 41.9 GB" in inspected["message"]
    assert inspected["problems"][0][0] == "dataset.samples"
    (finding,) = checked["result"]["findings"]
    assert finding["level"] == "error"
    assert "take 41.9 GB" in finding["title"]


def test_check_shows_its_phases_on_a_terminal(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("a,b,kind\n" + "\n".join(f"{n}.5,{n % 7},{'xy'[n % 2]}" for n in range(40)))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    arguments = ["check", "preset:table-classes", "--set", f"dataset.path={tmp_path / 't.csv'}"]
    assert main([*arguments, "--workspace", str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "reading t.csv..." in said
    assert "building the model" in said
    assert "ok       The data opens" in said  # the line that changed is gone before
