"""What a person says of a run: by the command line, through resume, rewind and copies, and from hostile files."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.training.commands import Captured, json_line
from tests.training.tiny import tiny
from training.cli import main
from training.engine.runs.run import start_run
from training.errors import InputError
from training.runs.folder import RunFolder, create_run
from training.runs.records.about import MOST_NOTES, MOST_TAGS, About, read_about, update_about, write_about


@pytest.mark.slow
def test_what_is_said_is_told_found_and_kept_through_all_that_a_run_does(tmp_path: Path, capsys: Captured) -> None:
    record = start_run(tiny("checkpoints.keep_last=9"), tmp_path)
    folder, place = RunFolder(tmp_path / "runs" / record.run), ["--workspace", str(tmp_path)]
    config = folder.config_file.read_bytes()
    words = ["--name", "The good one", "--tag", "paper", "--tag", "Cosine ", "--star", "--note", "first\nsecond"]
    assert main(["about", record.run, *words, "--json", *place]) == 0
    said = json_line(capsys)
    assert said == {
        "run": record.run,
        "name": "The good one",
        "star": True,
        "tags": ["Cosine", "paper"],
        "notes": "first\nsecond",
        "archived": False,
        "dismissed": [],
    }
    assert main(["about", "The good one", "--tag", "PAPER", "--untag", "cosine", "--no-star", *place]) == 0
    about = About("The good one", False, ("paper",), "first\nsecond")
    assert read_about(folder) == about
    assert main(["resume", "The good one", "--set", "loop.epochs=4", *place]) == 0
    assert main(["resume", str(folder.checkpoints / "step-00000016"), *place]) == 0  # which sets the rest aside
    assert main(["restore", "The good one", *place]) == 0
    assert read_about(folder) == about
    assert main(["resume", str(folder.checkpoints / "step-00000016"), "--branch", *place]) == 0
    branch = max((tmp_path / "runs").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    assert read_about(RunFolder(branch)) == About()
    (tmp_path / "copies").mkdir()
    assert main(["copy", record.run, "--to", str(tmp_path / "copies"), *place]) == 0
    assert main(["fetch", str(tmp_path / "copies" / record.run), "--workspace", str(tmp_path / "elsewhere")]) == 0
    assert read_about(RunFolder(tmp_path / "elsewhere" / "runs" / record.run)) == about
    assert folder.config_file.read_bytes() == config


def test_two_who_add_a_tag_at_once_both_have_it(tmp_path: Path) -> None:
    folder = create_run(tmp_path, tiny())

    def add(number: int) -> None:
        update_about(folder, lambda about: replace(about, tags=about.add_tags([f"tag {number}"])))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read_about(folder).tags) == sorted(f"tag {number}" for number in range(16))


@pytest.mark.parametrize(
    ("about", "told"),
    [
        (About(name="x" * 81), "has 81 characters, and 80 are the most"),
        (About(name="a\x1b[31m"), r"The name a\x1b[31m: has a character that cannot be seen"),
        (About(tags=("a,b",)), "has a comma"),
        (About(tags=tuple(map(str, range(MOST_TAGS + 1)))), "33 tags"),
        (About(notes="x" * (MOST_NOTES + 1)), "10,001 characters"),
    ],
)
def test_what_cannot_be_said_is_refused_in_a_sentence_and_nothing_is_written(
    tmp_path: Path, about: About, told: str
) -> None:
    folder = create_run(tmp_path, tiny())
    with pytest.raises(InputError) as refusal:
        write_about(folder, about)
    assert told in str(refusal.value)
    assert not folder.about_file.exists()


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"\xff\xfe",
        b"[1, 2]",
        b'{"name": "cut',
        b"[" * 100_000,
        json.dumps(
            {"name": "\u202egood\x1b]0;x\x07" * 999, "tags": ["a,b\n"] * 9999, "notes": "\x00\ud800" * 9999}
        ).encode(),
        json.dumps({"name": 3, "star": "yes", "tags": {"a": 1}, "notes": ["x"], "archived": 1}).encode(),
        json.dumps({"dismissed": [3, "", "loss.flat", "loss.flat", "x" * 999, *map(str, range(999))]}).encode(),
    ],
)
def test_a_hostile_file_is_read_as_far_as_it_makes_sense_and_can_be_changed(tmp_path: Path, written: bytes) -> None:
    folder = create_run(tmp_path, tiny())
    folder.about_file.write_bytes(written)
    read = read_about(folder)
    assert read.name.isprintable()
    assert all(tag.isprintable() and "," not in tag for tag in read.tags)
    assert not read.star
    assert len(set(read.dismissed)) == len(read.dismissed) <= 200
    changed = update_about(folder, lambda about: replace(about, star=True))
    assert changed == replace(read, star=True) == read_about(folder)


def test_a_pipe_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no pipes in folders here")
    folder = create_run(tmp_path, tiny())
    os.mkfifo(folder.about_file)
    assert read_about(folder) == About()


def test_a_run_is_told_as_it_is_called(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = create_run(tmp_path, tiny())
    write_about(folder, About("Nightly", tags=("slow",)))
    place = ["--workspace", str(tmp_path)]
    assert main(["about", folder.id, *place]) == 0
    shown: Any = capsys.readouterr().out
    assert shown == f"run        {folder.id}\nname       Nightly\ntags       slow\n"
    assert main(["about", folder.id, "--name", "", "--untag", "slow", "--json", *place]) == 0
    assert json_line(capsys)["name"] == "tiny"
