"""A run that ends by its own rule before its last step: at the metric that was asked for, or by early stopping."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from tests.training.engine.test_memory import digests
from tests.training.tiny import tiny
from training.cli import main
from training.console import Console
from training.engine.runs.run import Hooks, resume_run, start_run
from training.errors import InputError
from training.events import Event, Validated
from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord
from training.runs.records.history import read_history
from training.runs.records.manifest import BEST, LAST, list_checkpoints, read_labels

STALE = ("loop.epochs=50", "loop.early_stopping_patience=3", "loop.early_stopping_min_delta=1.0")


def judged(record: StatusRecord) -> list[Validated]:
    events = read_history(RunFolder(Path(record.folder)).events_file).validations
    return [event for event in events if "val/loss" in event.metrics]


@pytest.mark.parametrize(
    ("monitor", "share", "upwards"), [("val/accuracy", 0.98, True), ("val/loss", 1.02, False), ("auto", 1.0, True)]
)
def test_it_ends_at_the_first_validation_that_is_good_enough(
    tmp_path: Path, monitor: str, share: float, upwards: bool
) -> None:
    """Against a run without the rule: what that reached in its fifth epoch or so is asked for."""
    free = start_run(tiny("loop.epochs=8", f"checkpoints.monitor={monitor}", "checkpoints.keep_last=50"), tmp_path)
    name = "val/accuracy" if upwards else "val/loss"
    values = {event.step: event.metrics[name] for event in judged(free)}
    goal = share * list(values.values())[4]
    first = next(step for step, value in values.items() if (value >= goal if upwards else value <= goal))
    asked = (f"checkpoints.monitor={monitor}", f"loop.stopping_threshold={goal}", "checkpoints.keep_last=50")
    record = start_run(tiny("loop.epochs=8", *asked), tmp_path)
    assert (record.status, record.step) == ("completed", first)
    assert str(record.reason).startswith(f"reached {name} ")
    folder = RunFolder(Path(record.folder))
    assert read_labels(folder)[BEST] == read_labels(folder)[LAST] == f"step-{first:08d}"
    assert record.best is not None
    assert record.best.value == values[first]
    same = next(info for info in list_checkpoints(RunFolder(Path(free.folder))) if info.step == first)
    assert digests(record) == digests(free.model_copy(update={"last_checkpoint": str(same.path)}))


def test_a_resume_says_that_it_was_reached_and_how_to_go_on(tmp_path: Path, capsys: Captured) -> None:
    record = start_run(tiny("loop.stopping_threshold=0.1"), tmp_path)
    assert record.step == 8
    Console().print_end(record)
    assert "completed at step 8" in (said := capsys.readouterr().err)
    assert "reached val/accuracy " in said
    assert main(["resume", record.folder, "--workspace", str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "is complete at step 8 (reached val/accuracy " in said
    assert "--set loop.stopping_threshold=none" in said
    longer = resume_run(record.folder, tmp_path, ["loop.stopping_threshold=none"])
    assert (longer.status, longer.step) == ("completed", 24)


def test_what_can_never_be_reached_is_refused(tmp_path: Path, capsys: Captured) -> None:
    words = ["preset:spiral", "--set", "loop.stopping_threshold=98", "--workspace", str(tmp_path), "--json"]
    for command in ("run", "check"):
        assert main([command, *words]) == 2
        assert "loop.stopping_threshold: val/accuracy is never more than 1" in (said := capsys.readouterr().err)
        assert "write 0.98 for 98 %" in said
    with pytest.raises(InputError, match=r"never more than 1"):
        tiny("loop.stopping_threshold=1.5")
    assert tiny("loop.stopping_threshold=98", "checkpoints.monitor=val/loss").loop.stopping_threshold == 98


def test_the_counter_of_early_stopping_is_told_with_each_validation(tmp_path: Path, capsys: Captured) -> None:
    console = Console()
    seen: list[Event] = []

    def watch(event: Event) -> None:
        console.event(event)
        seen.append(event)

    record = start_run(tiny(*STALE), tmp_path, Hooks(watch=watch))
    told = [event for event in seen if isinstance(event, Validated)]
    assert [event.stale_words for event in told] == ["0 of 3", "1 of 3", "2 of 3", "3 of 3"]
    lines = [line for line in capsys.readouterr().err.splitlines() if "val/loss" in line]
    assert "early stopping" not in lines[0]
    assert [line.partition("early stopping ")[2] for line in lines[1:]] == ["1 of 3", "2 of 3", "3 of 3"]
    assert [event.stale for event in judged(record)] == [0, 1, 2, 3]


def test_the_counter_goes_on_after_a_resume_and_is_not_told_without_early_stopping(tmp_path: Path) -> None:
    hooks = Hooks()

    def stop(event: Event) -> None:
        if isinstance(event, Validated) and event.stale == 1:
            hooks.control.request_stop()

    hooks.watch = stop
    stopped = start_run(tiny(*STALE), tmp_path, hooks)
    assert stopped.status == "stopped"
    record = resume_run(stopped.folder, tmp_path)
    assert [event.stale_words for event in judged(record)] == ["0 of 3", "1 of 3", "2 of 3", "3 of 3"]
    assert {event.stale_words for event in judged(start_run(tiny(), tmp_path))} == {""}


def test_a_check_says_nothing_of_a_goal_that_can_be_reached(tmp_path: Path, capsys: Captured) -> None:
    words = ["preset:spiral", "--set", "loop.stopping_threshold=0.9", "--workspace", str(tmp_path), "--json"]
    assert main(["check", *words]) == 0
    assert "stopping_threshold" not in str(json_line(capsys))
