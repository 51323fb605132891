"""A rewind, or a restore, of a run killed at each of its file operations: one of both states must be whole afterwards.

``python -m tests.reliability.rewinds RUN CHECKPOINT SCRATCH EVERY`` (or the name of what is set aside in the place of the checkpoint)
kills at one in EVERY moments and prints a JSON object. A process of its own without torch and without threads: it forks for each kill.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.reliability.kills.injection import Killer, wrap_system
from training.runs.folder import RunFolder, claim, release
from training.runs.records.manifest import digest
from training.runs.rewind import finish_rewind, list_set_aside, look_beyond, restore, rewind

OF_THE_MOMENT = re.compile(r"log\.txt|owner\.json|\.owner\.json\..*|set_aside\.json")
Tree = dict[str, str]


def tree(folder: RunFolder) -> Tree:
    """Everything in the run's folder by its digest, what is set aside included; the times of events excepted."""
    found = {}
    for path in sorted(folder.path.rglob("*")):
        if OF_THE_MOMENT.fullmatch(path.name):
            continue
        if path.name == "events.jsonl":
            found[str(path.relative_to(folder.path))] = re.sub(r'"time": [0-9.e]+', "", path.read_text())
        else:
            found[str(path.relative_to(folder.path))] = digest(path) if path.is_file() else "folder"
    return found


def step(folder: RunFolder, what: str) -> Callable[[], object]:
    """The rewind or the restore, ready to be done."""
    aside = next((item for item in list_set_aside(folder) if item.name == what), None)
    if aside is not None:
        return lambda: restore(folder, aside)
    beyond = look_beyond(folder, folder.checkpoints / what)
    assert beyond is not None

    def go_back() -> None:
        claim(folder.path)
        rewind(folder, beyond)
        release(folder.path)

    return go_back


def do(folder: RunFolder, what: str, when: str, count: int) -> None:
    """In a process of its own: do it, and die ``when`` ("before", "half") at the ``count``-th operation that there is."""

    class Counter(Killer):
        """Dies at whatever operation comes."""

        def _now(self, operation: str, _subject: str) -> bool:
            if self._when != "half" or operation == "write":
                self._left -= 1
                return bool(self._left == 0)
            return False

    act = step(folder, what)
    trigger = {"operation": "", "pattern": "", "when": when, "count": count, "rows": 0, "latest": 1 << 60, "delay": 0.0}
    wrap_system(Counter({**trigger, "share": 0.5}, os.devnull))
    act()


def killed(folder: RunFolder, what: str, when: str, count: int) -> bool:
    """Whether that moment came."""
    child = os.fork()
    if not child:
        try:
            do(folder, what, when, count)
        except BaseException:  # noqa: BLE001 - a child must never come back into the parent's code
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


def pass_over(fd: object) -> None:
    """For ``fsync``: a moment to be killed at, but a kill is no power cut, so nobody has to wait for the disk."""


def main(run: str, what: str, scratch: str, every: str) -> None:
    """Kill, finish, look."""
    folder = RunFolder(Path(scratch) / Path(run).name)
    os.fsync = pass_over

    def begin() -> None:
        shutil.rmtree(folder.path, ignore_errors=True)
        shutil.copytree(run, folder.path)

    begin()
    before = tree(folder)
    assert not killed(folder, what, "before", 1 << 30)
    after = tree(folder)
    told: dict[str, Any] = {"moments": 0, "before": 0, "after": 0, "faults": []}
    for when in ("before", "half"):
        count = 1 - int(every)
        while True:
            count += int(every)
            begin()
            if not killed(folder, what, when, count):
                break
            finish_rewind(folder)
            now = tree(folder)
            told["moments"] += 1
            told["before"] += now == before
            told["after"] += now == after
            if now not in (before, after):
                wrong = sorted(name for name in before | now if before.get(name) != now.get(name))
                told["faults"].append(f"{when} {count}: {', '.join(wrong)}")
    print(json.dumps(told))  # noqa: T201 - for the test that reads it


if __name__ == "__main__":
    main(*sys.argv[1:])
