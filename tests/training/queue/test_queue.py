"""The queue's files: what is added, moved and removed, by several processes, whatever ends them."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.training.queue.working import Person, wait_until
from tests.training.tiny import tiny, write_idx
from training.cli import main
from training.config import load_config
from training.errors import InputError
from training.queue.device import explain_place, fits
from training.queue.entries import ALL_DEVICES
from training.queue.store import FILE, Queue
from training.runs.folder import create_run

ADDING = """
import sys
from pathlib import Path
from training.config import load_config
from training.queue.store import Queue
config, queue = load_config(Path(sys.argv[1])), Queue(Path(sys.argv[2]))
for number in range(int(sys.argv[3])):
    queue.add(config)
"""


def test_entries_are_added_moved_and_removed(person: Person) -> None:
    for name in ("one", "two", "three"):
        person.adds(name)
    person.adds("first", "--top", "--device", "cpu")
    assert list(person.states) == ["first", "one", "two", "three"]
    assert [each["id"] for each in person.sees()["entries"]] == ["4", "1", "2", "3"]
    assert person.entry("first")["device"] == "cpu"
    person.types("move", "3", "2")
    person.types("move", "4", "bottom")
    person.types("move", "2", "top")
    assert list(person.states) == ["two", "three", "one", "first"]
    assert [each["place"] for each in person.sees()["entries"]] == [1, 2, 3, 4]
    assert "Removed three" in person.types("remove", "3")
    assert list(person.states) == ["two", "one", "first"]
    person.adds("last")
    assert person.entry("last")["id"] == "5"  # an id is never given twice


def test_what_was_removed_comes_back_to_its_place(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.queue.store._MOST_REMOVED", 2)
    for name in ("one", "two", "three", "four"):
        person.adds(name)
    said = [person.types("remove", key) for key in ("2", "3", "1")]
    assert said[0] == "Removed two. Bring it back with: python -m training queue put-back 2\n"
    person.adds("five")  # which clears away what nobody can bring back any more
    assert sorted(path.name for path in (person.workspace / "queue/entries").iterdir()) == ["1", "3", "4", "5"]
    person.types("put-back", "1")
    person.types("put-back", "3")
    assert list(person.states) == ["one", "three", "four", "five"]
    refused = person.types("put-back", "2", code=2)
    assert refused == "2: cannot be put back; nothing was removed lately.\n"
    assert Queue(person.workspace).folder_of(Queue(person.workspace).read().find("3")).config().name == "three"


def test_an_entry_that_was_interrupted_when_it_was_removed_waits_when_it_is_back(person: Person) -> None:
    person.adds("one")
    queue = Queue(person.workspace)
    run = create_run(person.workspace, tiny())
    queue.note("1", state="at work", worker="any", run=run.id)
    assert f"Its run {run.id} stays." in person.types("remove", "1")
    person.types("put-back", "1")
    assert person.states == {"one": "waiting"}
    assert person.entry("one")["run"] == run.id


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("move", "7", "1"), "7: the queue has no such entry; there are 1."),
        (("move", "1", "zero"), "zero: must be top, bottom or a place from 1"),
        (("remove", "7"), "7: the queue has no such entry"),
        (("retry", "1"), "1: one is waiting; there is nothing to retry."),
        (("put-back", "1"), "1: cannot be put back; nothing was removed lately."),
        (("stop", "1"), "1: one is not at work (waiting), so there is nothing to stop."),
        (("stop", "1", "--device", "cpu"), "Say either whose run is to be stopped"),
        (("work", "--device", "gpu"), "--device: must be auto, cpu, cuda, cuda:N or mps, but is 'gpu'."),
        (("add", "nothing.toml"), "nothing.toml"),
        (("add", "preset:spiral", "--set", "loop.epochs=0"), "loop.epochs: "),
    ],
)
def test_what_cannot_be_is_one_sentence_and_changes_nothing(
    person: Person, words: tuple[str, ...], sentence: str
) -> None:
    person.adds("one")
    before = (person.workspace / "queue" / FILE).read_bytes()
    assert sentence in person.types(*words, code=2)
    assert (person.workspace / "queue" / FILE).read_bytes() == before


def test_an_entry_tells_its_engine_and_has_another_turn_by_another_one(
    person: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = person.folder / "fast" / "bin" / "python"
    engine.parent.mkdir(parents=True)
    engine.touch()
    (engine.parents[1] / "pyvenv.cfg").touch()
    person.adds("one", "--engine", str(engine))
    assert person.entry("one")["python"] == str(engine)
    main(["queue", "list", "--workspace", str(person.workspace)])
    assert "  fast  " in capsys.readouterr().out
    Queue(person.workspace).note("1", state="passed over")
    person.types("retry", "1", "--engine", sys.executable)
    assert person.entry("one")["python"] == sys.executable
    assert "no engine and no file nowhere" in person.types("add", str(person.config), "--engine", "nowhere", code=2)


def test_several_processes_are_taken_by_who_has_all_devices(person: Person) -> None:
    person.adds("shared", "--ranks", "2")
    person.adds("alone")
    queue = Queue(person.workspace)
    shared, alone = queue.read().waiting
    assert (shared.ranks, shared.place, alone.place) == (2, "2 x auto", "auto")
    assert queue.folder_of(shared).config().loop.slots == 2
    assert [fits(queue, shared, worker) for worker in (ALL_DEVICES, "cuda:1", "cpu")] == [True, False, False]
    assert fits(queue, alone, "cuda:1")
    assert "only a worker for all devices" in explain_place(shared, ["cuda:1"])
    assert not explain_place(shared, ["cuda:1", ALL_DEVICES])
    person.adds("on the CPU", "--ranks", "2", "--device", "cpu")
    assert fits(queue, queue.read().waiting[2], "cpu")
    said = person.types("add", str(person.config), "--ranks", "2", "--device", "cuda:1", code=2)
    assert "cuda:1 is a single GPU" in said
    said = person.types("add", str(person.config), "--ranks", "2", "--set", "loop.slots=3", code=2)
    assert "3 slots cannot be shared out among 2 processes" in said
    assert len(queue.read().waiting) == 3


def test_pause_and_go_are_told_and_kept(person: Person) -> None:
    person.adds("one")
    assert "start" in person.sees()["hint"]
    person.types("pause")
    assert person.sees()["paused"]
    assert "paused" in person.sees()["hint"]
    person.types("go")
    assert not person.sees()["paused"]


def test_the_configuration_is_kept_as_it_would_run(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    write_idx(person.folder / "data")
    monkeypatch.chdir(person.folder)
    person.adds("pictures", "--set", "dataset.kind=idx", "--set", "dataset.path=data", "--set", "model.kind=small_cnn")
    person.config.write_text("", encoding="utf-8")
    queue = Queue(person.workspace)
    kept = queue.folder_of(queue.read().find("1")).config()
    assert getattr(kept.dataset, "path", "") == str(person.folder / "data")
    assert (kept.name, kept.model.kind) == ("pictures", "small_cnn")


def test_two_processes_that_add_at_the_same_time_lose_and_double_nothing(person: Person, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ADDING, str(person.config), str(person.workspace), "15"]
    with subprocess.Popen(command) as one, subprocess.Popen(command) as other:
        assert (one.wait(), other.wait()) == (0, 0)
    content = Queue(person.workspace).read()
    assert [entry.id for entry in content.waiting] == [str(number) for number in range(1, 31)]


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_adds_leaves_a_queue_that_is_whole(person: Person) -> None:
    queue = Queue(person.workspace)
    command = [sys.executable, "-c", ADDING, str(person.config), str(person.workspace), "1000000"]
    for _ in range(3):
        before = len(queue.read().entries)
        with subprocess.Popen(command) as process:
            wait_until(partial(has_more, queue, before + 2))
            process.kill()
        entries = queue.read().entries
        assert len({entry.id for entry in entries}) == len(entries) > before
        for entry in entries:
            queue.folder_of(entry).config()
    added = queue.add(load_config(person.config))  # no lock was left behind
    known = {entry.id for entry in queue.read().entries}
    assert added.id in known
    assert {path.name for path in (queue.folder / "entries").iterdir()} == known


def has_more(queue: Queue, entries: int) -> bool:
    return len(queue.read().entries) > entries


def test_a_report_is_refused_since_its_data_and_its_checkpoint_belong_to_it(person: Person) -> None:
    report = person.folder / "report.html"
    run = create_run(person.workspace, tiny())
    assert main(["report", str(run.path), "--out", str(report)]) == 0
    assert "report.html: a report begins" in person.types("add", str(report), code=2)
    assert person.states == {}


def test_a_damaged_file_is_told_and_left_as_it_is(person: Person) -> None:
    person.adds("one")
    path = person.workspace / "queue" / FILE
    path.write_text('{"entries": [{"id"', encoding="utf-8")
    with pytest.raises(InputError, match="it is damaged"):
        Queue(person.workspace).add(load_config(person.config))
    assert path.read_text(encoding="utf-8") == '{"entries": [{"id"'
