"""Run folders in which something is of another kind, lost or newer: said by its name, before anything is touched."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.training.commands import Captured, json_line
from training.cli import main
from training.runs.folder import RunFolder
from training.runs.records.manifest import MANIFEST, seal
from training.runs.rewind import list_set_aside
from training.runs.set_aside import SET_ASIDE


@pytest.fixture
def run(config: Path, tmp_path: Path, capsys: Captured) -> Path:
    """A completed run with three checkpoints, of which the best is not the newest."""
    words = ["--set", "checkpoints.every_steps=8", "--set", "checkpoints.keep_last=3"]
    assert main(["run", str(config), *words, "--json", "--workspace", str(tmp_path / "w")]) == 0
    folder = Path(json_line(capsys)["folder"])
    names = sorted(path.name for path in (folder / "checkpoints").iterdir())
    assert len(names) == 3
    (folder / "labels.json").write_text(json.dumps({"last": names[2], "best": names[0]}), encoding="utf-8")
    return folder


def spoil(path: Path, kind: str) -> str:
    """What is said of ``path`` then."""
    if kind == "huge":
        os.truncate(path, 10 << 30)
        return "is larger than any run's; put the run's own file back, or take it away."
    if kind == "barred":
        path.chmod(0)
        return "cannot be used (Permission denied); change its permissions."
    if path.is_dir():
        shutil.rmtree(path)
        path.write_bytes(b"")
        return "is a file, but a run has a folder of this name; put the run's own folder back, or take the file away."
    path.unlink()
    path.mkdir()
    return "is a folder, but a run has a file of this name; put the run's own file back, or take the folder away."


FILES = (
    "telemetry.bin", "log.txt", "splits.safetensors", "data.json", "environment.json", "packages.json", "evaluation.json", "boundary.bin", "labels.json",
    "series.bin", "events.jsonl", "commands.jsonl", "owner.json", "status.json",
)  # fmt: skip


def test_what_is_not_of_its_kind_is_named_before_anything_starts(run: Path, tmp_path: Path, capsys: Captured) -> None:
    cases = [(name, "other") for name in (*FILES, "checkpoints")]
    cases += [(name, "huge") for name in ("series.bin", "telemetry.bin")]
    if hasattr(os, "geteuid") and os.geteuid() != 0:  # whom nothing is barred to
        cases += [(name, "barred") for name in ("series.bin", "telemetry.bin", "labels.json")]
    for number, (name, kind) in enumerate(cases):
        folder = tmp_path / str(number) / "runs" / run.name
        shutil.copytree(run, folder)
        (folder / "commands.jsonl").touch()
        (folder / "owner.json").touch()
        told = spoil(folder / name, kind)
        before = {path: path.stat() for path in folder.iterdir() if path.is_file() and path.name != "owner.json"}
        assert main(["resume", str(folder)]) == 2
        assert capsys.readouterr().err.splitlines()[-1] == f"{folder / name}: {told}"
        assert {path: path.stat().st_mtime_ns for path in before} == {p: s.st_mtime_ns for p, s in before.items()}


def test_export_says_where_it_takes_the_last_checkpoint_because_none_is_the_best(
    run: Path, tmp_path: Path, capsys: Captured
) -> None:
    last = max((run / "checkpoints").iterdir()).name
    (run / "labels.json").write_text(
        json.dumps({"last": last}), encoding="utf-8"
    )  # as after going back to before the best
    assert main(["export", str(run), "--to", "safetensors", "--out", str(tmp_path / "exported")]) == 0
    told = capsys.readouterr().err.splitlines()[0]
    assert told.startswith(f"{run.name}: no checkpoint is the best one now")
    assert told.endswith(f"; the last one, {last}, is taken instead.")


@pytest.mark.parametrize("damage", ["labels lost", "labels damaged", "best gone", "best damaged"])
def test_export_takes_the_newest_whole_checkpoint_where_the_best_is_not_known(
    run: Path, tmp_path: Path, capsys: Captured, damage: str
) -> None:
    labels = run / "labels.json"
    best = run / "checkpoints" / json.loads(labels.read_text(encoding="utf-8"))["best"]
    newest = max((run / "checkpoints").iterdir())
    why = f"{labels}: is lost or damaged, so the best checkpoint is not known"
    if damage == "labels lost":
        labels.unlink()
    elif damage == "labels damaged":
        labels.write_text('{"last": "step', encoding="utf-8")
    elif damage == "best gone":
        shutil.rmtree(best)
        why = f"{best}: there is no checkpoint folder here"
    else:
        (best / "model.safetensors").write_bytes(b"")
        why = f"{best}: model.safetensors has 0 bytes instead of "
    out = tmp_path / "exported"
    assert main(["export", str(run), "--to", "safetensors", "--out", str(out), "--json"]) == 0
    captured = capsys.readouterr()
    told = captured.err.splitlines()[0]
    assert told.startswith(why)
    assert told.endswith(f"; the newest whole checkpoint, {newest.name}, is taken instead.")
    assert main(["export", str(newest), "--to", "safetensors", "--out", str(tmp_path / "newest")]) == 0
    assert weights(out) == weights(tmp_path / "newest")


def weights(path: Path) -> bytes:
    file = path if path.is_file() else next(path.glob("*.safetensors"))
    return file.read_bytes()


def error(capsys: Captured) -> str:
    return capsys.readouterr().err


def write_as_a_newer_version(checkpoint: Path) -> None:
    manifest: dict[str, Any] = json.loads((checkpoint / MANIFEST).read_text(encoding="utf-8"))
    (checkpoint / MANIFEST).write_text(json.dumps(seal(manifest | {"format": 2})), encoding="utf-8")


def test_what_a_newer_version_has_trained_since_is_not_cut_off(run: Path, capsys: Captured) -> None:
    older, newest = sorted((run / "checkpoints").iterdir())[-2:]
    write_as_a_newer_version(newest)
    series = (run / "series.bin").read_bytes()
    for words in (
        ["resume", str(run)],
        ["resume", str(run), "--set", "loop.epochs=6"],
        ["resume", str(run), "--dry-run"],
    ):
        assert main(words) == 2
        told = f"{newest}: was written by a newer Trainwright, in format 2; this one reads 1. Update Trainwright.\n"
        assert error(capsys).endswith(told)
    assert (run / "series.bin").read_bytes() == series
    assert not (run / SET_ASIDE).exists()
    assert main(["resume", str(older)]) == 0  # which was asked for
    [aside] = list_set_aside(RunFolder(run))
    assert (aside.path / "series.bin").read_bytes() == series
    assert (aside.path / "checkpoints" / newest.name).is_dir()


def test_checkpoints_of_a_newer_version_ask_for_an_update(run: Path, tmp_path: Path, capsys: Captured) -> None:
    for path in (run / "checkpoints").iterdir():
        write_as_a_newer_version(path)
    told = ": was written by a newer Trainwright, in format 2; this one reads 1. Update Trainwright.\n"
    for words in (["resume", str(run)], ["export", str(run), "--to", "safetensors", "--out", str(tmp_path / "out")]):
        assert main(words) == 2
        assert error(capsys).endswith(told)
