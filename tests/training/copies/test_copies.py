"""Runs copied to a folder and fetched back: whole by digest, or not at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fsspec.registry import _registry as known_file_systems

from tests.training.commands import Captured, json_line, stopped_run
from training.cli import main
from training.copies.account import Account
from training.copies.copier import Copier
from training.copies.settings import settings_file
from training.copies.store import Store
from training.runs.folder import RunFolder
from training.runs.records.manifest import digest, read_labels, read_manifest, seal
from training.sidecars.faults import Away


@pytest.fixture
def far(tmp_path: Path) -> Path:
    place = tmp_path / "far"
    place.mkdir()
    return place


@pytest.fixture
def folder(config: Path, capsys: Captured) -> RunFolder:
    """A run that is over."""
    assert main(["run", str(config), "--json"]) == 0
    return RunFolder(Path(json_line(capsys)["folder"]))


def files_below(place: Path) -> set[str]:
    return {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}


def checkpoints_in(copy: Path) -> list[str]:
    return sorted(path.name for path in (copy / "checkpoints").iterdir())


def show(folder: RunFolder, capsys: Captured) -> str:
    assert main(["show", folder.id]) == 0
    return next((line for line in capsys.readouterr().out.splitlines() if line.startswith("copy ")), "")


def set_copies(text: str) -> None:
    path = settings_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_run_goes_on_from_its_copy_to_the_same_bits(
    config: Path, tmp_path: Path, far: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stopped_run(config, capsys, monkeypatch)
    folder = RunFolder(Path(run["folder"]))
    assert main(["copy", folder.id, "--to", str(far)]) == 0
    assert "all is copied (1 checkpoint)" in capsys.readouterr().err
    there = ["--workspace", str(tmp_path / "elsewhere"), "--json"]
    assert main(["fetch", far.as_uri() + f"/{folder.id}", *there]) == 0
    fetched = RunFolder(Path(json_line(capsys)["folder"]))
    assert fetched.path == tmp_path / "elsewhere" / "runs" / folder.id
    assert not (tmp_path / "elsewhere" / "fetching").exists()
    for each in (["resume", folder.id, "--json"], ["resume", folder.id, *there]):
        assert main(each) == 0
        assert json_line(capsys)["status"] == "completed"
    ends = [each.checkpoints / "step-00000024" for each in (folder, fetched)]
    assert read_manifest(ends[0]).files == read_manifest(ends[1]).files
    assert folder.series_file.read_bytes() == fetched.series_file.read_bytes()
    # The fetched run is ahead of what lies there by now, and no other folder of that name takes its place.
    assert main(["copy", folder.id, *there[:2], "--to", str(far)]) == 0
    set_back = RunFolder(tmp_path / "old" / "runs" / folder.id)
    shutil.copytree(folder.path, set_back.path)
    shutil.rmtree(set_back.copies)
    record = json.loads(set_back.status_file.read_text()) | {"step": 8}
    set_back.status_file.write_text(json.dumps(record))
    capsys.readouterr()
    assert main(["copy", str(set_back.path), "--to", str(far)]) == 1
    assert "from another folder, which has come to step 24 (this one to 8); fetch that one" in capsys.readouterr().err


def test_a_run_is_copied_while_it_trains_and_has_the_bits_of_one_that_is_not(
    config: Path, far: Path, folder: RunFolder, capsys: Captured
) -> None:
    assert main(["run", str(config), "--copy-to", str(far), "--json"]) == 0
    copied = RunFolder(Path(json_line(capsys)["folder"]))
    assert main(["copy", copied.id]) == 0  # waits for the process that the run began, and knows its address
    assert copied.series_file.read_bytes() == folder.series_file.read_bytes()
    assert str(far) not in copied.config_file.read_text()
    assert checkpoints_in(far / copied.id) == sorted(set(read_labels(copied).values()))
    record = json.loads((far / copied.id / "copy.json").read_text())
    assert record["ended"] == "completed"
    assert f"{far}/{copied.id}: 1 checkpoint, to step 24" in show(copied, capsys)


def test_labels_decide_which_checkpoints_stay_there(
    config: Path, far: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stopped_run(config, capsys, monkeypatch)
    folder, labeled, complete = RunFolder(Path(run["folder"])), far / run["run"], far / "all" / run["run"]
    complete.parent.mkdir()
    assert main(["copy", folder.id, "--to", str(far)]) == 0
    set_copies("keep = 'all'")
    assert main(["copy", folder.id, "--to", str(far / "all")]) == 0
    first = sorted(path.name for path in folder.checkpoints.iterdir())
    assert checkpoints_in(labeled) == ["step-00000008"]
    assert checkpoints_in(complete) == first
    (labeled / "notes.txt").write_text("not ours")
    (labeled / "checkpoints" / "step-00000004").mkdir()
    (labeled / "checkpoints" / "step-00000004" / "model.safetensors").write_bytes(b"what a kill left of another")
    assert main(["resume", folder.id]) == 0
    assert main(["copy", folder.id, "--to", str(far / "all")]) == 0
    now = {path.name for path in folder.checkpoints.iterdir()}
    assert {*first, *now} <= set(
        checkpoints_in(complete)
    )  # there are more where one was copied before the run let it go
    set_copies("keep = 'labeled'")
    assert main(["copy", folder.id, "--to", str(far)]) == 0
    assert checkpoints_in(labeled) == ["step-00000024"]
    assert (labeled / "notes.txt").exists()


def test_what_a_run_went_back_from_is_not_the_end_of_its_copy(
    config: Path, far: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["run", str(config), "--set", "checkpoints.keep_last=9", "--json"]) == 0
    folder = RunFolder(Path(json_line(capsys)["folder"]))
    set_copies(f"to = '{far}'\nkeep = 'all'")
    assert main(["copy", folder.id]) == 0
    assert checkpoints_in(far / folder.id)[-1] == "step-00000024"
    assert stopped_run(folder.checkpoints / "step-00000012", capsys, monkeypatch, 16, "resume")["step"] == 16
    assert main(["copy", folder.id]) == 0
    assert checkpoints_in(far / folder.id)[-1] == "step-00000016"
    assert main(["fetch", str(far / folder.id), "--workspace", str(tmp_path / "elsewhere"), "--json"]) == 0
    fetched = RunFolder(Path(json_line(capsys)["folder"]))
    assert fetched.series_file.read_bytes() == folder.series_file.read_bytes()
    assert read_labels(fetched) == read_labels(folder)


def test_what_is_cut_short_counts_for_nothing_and_is_taken_up_again(
    far: Path, tmp_path: Path, folder: RunFolder, capsys: Captured
) -> None:
    """Killed as soon as a file of the checkpoint lies there."""
    code = (
        "import os, sys\n"
        "from training.copies.store import Store\n"
        "real = Store.send\n"
        "def send(store, key, source):\n"
        "    real(store, key, source)\n"
        "    if 'state.pt' in key: os.kill(os.getpid(), 9)\n"
        "Store.send = send\n"
        "from training.cli import main\n"
        f"main(['copy', {str(folder.path)!r}, '--to', {str(far)!r}])"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert any(name.endswith("state.pt") for name in files_below(far))
    fetch = ["fetch", str(far / folder.id), "--workspace", str(tmp_path / "elsewhere")]
    assert main(fetch) == 2
    assert "no run is copied to here" in capsys.readouterr().err
    (checkpoint,) = set(read_labels(folder).values())
    shutil.rmtree(folder.checkpoints / checkpoint)  # the run has better ones by now
    assert main(["copy", folder.id]) == 0
    assert main(fetch) == 0
    assert not (folder.copies / "pinned").exists()


def test_a_fetch_that_is_cut_short_goes_on(
    far: Path, tmp_path: Path, folder: RunFolder, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["copy", folder.id, "--to", str(far)]) == 0
    fetch = ["fetch", str(far / folder.id), "--workspace", str(tmp_path / "elsewhere"), "--json"]
    asked: list[str] = []
    real = Store.read_blocks

    def read_blocks(store: Store, key: str, start: int, end: int) -> Any:
        asked.append(key)
        if key.endswith("state.pt") and asked.count(key) == 1:
            yield next(real(store, key, 0, 100))
            raise KeyboardInterrupt
        yield from real(store, key, start, end)

    with monkeypatch.context() as person:
        person.setattr(Store, "read_blocks", read_blocks)
        assert main(fetch) == 130
    assert not (tmp_path / "elsewhere" / "runs" / folder.id).exists()
    assert main(["fetch", str(far), "--workspace", str(tmp_path / "elsewhere")]) == 2
    assert f"no run is copied to here; there are {folder.id}; add" in capsys.readouterr().err
    assert main(fetch) == 0
    fetched = RunFolder(Path(json_line(capsys)["folder"]))
    for name in json.loads((far / folder.id / "copy.json").read_text())["files"]:
        assert name == "labels.json" or digest(fetched.path / name) == digest(folder.path / name)
    assert main(fetch) == 2
    assert "is here already; resume it" in capsys.readouterr().err


FACTS = {"bytes": 1, "sha256": "0" * 64}
Change = Callable[[dict[str, Any]], object]
CHANGES: dict[str, tuple[Change, str]] = {
    "a path out of the folder": (lambda record: record["files"].update({"../../evil": FACTS}), "does not tell files"),
    "a path from the root": (lambda record: record["files"].update({"/tmp/evil": FACTS}), "does not tell files"),
    "a path in a checkpoint": (
        lambda record: record["files"].update({"checkpoints/step-00000001/../../x.json": FACTS}), "does not tell files",
    ),
    "a file of the program's own": (lambda record: record["files"].update({"owner.json": FACTS}), "does not tell files"),
    "another run's name": (lambda record: record.update(run="../elsewhere"), "does not tell run"),
    "a size beyond the disk": (lambda record: record["files"]["log.txt"].update(bytes=1 << 50), "free some space"),
    "another size": (lambda record: record["files"]["config.toml"].update(bytes=10), "is not what the copy tells"),
    "another version": (lambda record: record.update(format=2), "a newer Trainwright, in format 2"),
    "no files": (lambda record: record.pop("files"), "does not tell files"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_copy_that_lies_is_refused(name: str, far: Path, tmp_path: Path, folder: RunFolder, capsys: Captured) -> None:
    assert main(["copy", folder.id, "--to", str(far)]) == 0
    file = far / folder.id / "copy.json"
    record = json.loads(file.read_text())
    change, words = CHANGES[name]
    change(record)
    file.write_text(json.dumps(seal(record)))  # anybody can seal one
    capsys.readouterr()
    before = files_below(tmp_path)
    assert main(["fetch", str(far / folder.id), "--workspace", str(tmp_path / "elsewhere")]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert len(told.splitlines()) == 1
    assert all(path.startswith("elsewhere/fetching/") for path in files_below(tmp_path) - before)
    assert not list((tmp_path / "elsewhere").glob("runs/*"))


@pytest.mark.parametrize("name", ["copy.json", "model.safetensors", "config.toml"])
def test_a_damaged_copy_is_refused(name: str, far: Path, tmp_path: Path, folder: RunFolder, capsys: Captured) -> None:
    assert main(["copy", folder.id, "--to", str(far)]) == 0
    (file,) = (far / folder.id).rglob(f"*{name}")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    capsys.readouterr()
    assert main(["fetch", str(far / folder.id), "--workspace", str(tmp_path / "elsewhere")]) == 2
    assert name in capsys.readouterr().err
    assert not list((tmp_path / "elsewhere").glob("runs/*"))


def test_a_run_that_is_deleted_while_it_is_copied_spoils_no_copy(far: Path, folder: RunFolder) -> None:
    account = Account(to=str(far))
    account.save(folder)
    copier = Copier(folder, account)
    copier.bring_up_to_date("")
    before = {name: (far / folder.id / name).read_bytes() for name in files_below(far / folder.id)}
    assert before
    shutil.rmtree(folder.path)
    with pytest.raises(Away, match="is gone"):
        copier.bring_up_to_date("completed")
    assert {name: (far / folder.id / name).read_bytes() for name in files_below(far / folder.id)} == before


def test_a_damaged_checkpoint_is_not_copied(far: Path, folder: RunFolder, capsys: Captured) -> None:
    (checkpoint,) = set(read_labels(folder).values())
    with (folder.checkpoints / checkpoint / "model.safetensors").open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        stream.write(b"?")
    assert main(["copy", folder.id, "--to", str(far)]) == 1
    assert "model.safetensors: does not match its digest; it is not copied." in capsys.readouterr().err
    assert not [name for name in files_below(far) if name.startswith(f"{folder.id}/checkpoints")]
    assert (far / folder.id / "copy.json").exists()  # the rest is


def test_addresses_that_cannot_be_are_said_in_one_sentence(
    config: Path, far: Path, folder: RunFolder, capsys: Captured
) -> None:
    for address, words in (
        ("s3://key:secret@bucket/runs", "holds a key; put it into the environment"),
        ("s3://bucket/runs?key=secret", "more than the address of a folder"),
        ("s3://", "names no place"),
    ):
        for command in (["copy", folder.id, "--to"], ["run", str(config), "--copy-to"]):
            assert main([*command, address]) == 2
            told = capsys.readouterr().err
            assert words in told
            assert "key:secret" not in told
        set_copies(f"to = '{address}'")
        assert main(["copy", folder.id]) == 2
        told = capsys.readouterr().err
        assert words in told
        assert str(settings_file()) in told
        assert main(["run", str(config), "--json"]) == 0  # which needs no copy
        assert json_line(capsys)["status"] == "completed"
        set_copies("")
    assert main(["copy", folder.id]) == 2
    assert "No address is given" in capsys.readouterr().err
    assert main(["copy", folder.id, "--to", "ftp://127.0.0.1:1/runs"]) == 1
    assert "ftp://127.0.0.1:1/runs: cannot be used now (Connection refused)." in capsys.readouterr().err
    assert main(["copy", folder.id, "--to", str(far / "not mounted")]) == 1
    assert f"make {far}/not mounted, or mount its disk" in capsys.readouterr().err
    assert main(["copy", folder.id, "--to", "nothing://there"]) == 1
    assert "Protocol not known: nothing" in capsys.readouterr().err
    assert main(["fetch", str(far)]) == 2
    assert "no run is copied to here; check the address." in capsys.readouterr().err


def test_a_place_is_tried_without_a_run_and_nothing_is_left_there(far: Path, capsys: Captured) -> None:
    set_copies(f"to = '{far}'")
    assert main(["copy", "--test", "--json"]) == 0
    assert json_line(capsys) == {
        "works": True,
        "message": f"{far} takes copies: a small file was written, read back and deleted.",
    }
    assert list(far.iterdir()) == []
    for address, words in ((far / "not mounted" / "there", "or mount its disk"), (far, "cannot be used")):
        if address == far:
            far.rmdir()
            far.touch()  # a file is in the way
        assert main(["copy", "--test", str(address)]) == 1
        assert words in capsys.readouterr().err
    for line in (["copy"], ["copy", "a-run", "--test"]):
        assert main(line) == 2
        assert "Name a run to copy, or with --test a place to try" in capsys.readouterr().err


def test_a_package_that_is_missing_is_named(
    folder: RunFolder, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(known_file_systems, "s3", raising=False)  # another test may have loaded it
    assert main(["copy", folder.id, "--to", "s3://bucket/runs"]) == 1
    assert "s3fs is not installed; pip install 'trainwright[s3]'" in capsys.readouterr().err


def test_what_waits_is_told_while_the_place_is_away(config: Path, tmp_path: Path, capsys: Captured) -> None:
    disk = tmp_path / "disk"
    assert main(["run", str(config), "--copy-to", str(disk), "--json"]) == 0
    folder = RunFolder(Path(json_line(capsys)["folder"]))
    until = time.monotonic() + 120
    while "mount its disk" not in show(folder, capsys):
        assert time.monotonic() < until
        time.sleep(0.2)
    assert "nothing yet; 1 checkpoint to be copied; " in show(folder, capsys)
    disk.mkdir()
    assert main(["copy", folder.id]) == 0
    assert "1 checkpoint, to step 24" in show(folder, capsys)


def test_the_file_systems_are_loaded_only_where_something_is_copied() -> None:
    code = "import training.cli.copies, sys; print({'fsspec', 's3fs', 'botocore'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
