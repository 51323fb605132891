"""A run in several processes of this machine: torch's own launcher starts them, this process supervises it.

``torch.distributed.run`` starts each process with the same words, and what they do differs by the numbers that it gives them. The first
one is the run: it prints, and is told of Ctrl+C. What another one prints is in the folder of its own beside the run.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from training.launch.share import CUT_OFF, RESUME
from training.streams import say
from training.system.hardware import core_count
from training.system.process import birth

PLACE = "TRAINWRIGHT_RANKS"
"""The variable that names the folder in which the first process, torch's launcher and we tell each other what exit codes cannot."""
SUPERVISOR = "TRAINWRIGHT_SUPERVISOR"
"""The variable that names the process that supervises."""
_CODE, _PROCESS, _RUN, _FAILED = "code", "process", "run", "failed.json"
PARENT_SECONDS = 0.5
"""Between two looks whether the process is there that started this one."""
_NOTHING: Mapping[str, str] = {}


def world_size() -> int:
    """How many processes torchrun started beside this one, with it; 1 where none did."""
    return int(os.environ.get("WORLD_SIZE", "1")) if is_started() else 1


def supervised_size() -> int:
    """The same where ``run_in_ranks`` had them started, so that a person does so, too, by ``--ranks``; else 1."""
    return world_size() if PLACE in os.environ else 1


def is_started() -> bool:
    """Whether torchrun started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def rank() -> int:
    """The number of this process among them."""
    return int(os.environ.get("RANK", "0"))


def run_in_ranks(words: Sequence[str], count: int, told: Mapping[str, str] = _NOTHING) -> int:
    """``python -m training WORDS`` in ``count`` processes, with the variables ``told``; returns the exit code."""
    with tempfile.TemporaryDirectory(prefix="trainwright-ranks-") as name:
        place = Path(name)
        others = ",".join(f"{number}:3" for number in range(1, count))
        command = [
            sys.executable, "-m", "training.engine.ranks.agent", "--standalone", f"--nproc-per-node={count}", "--max-restarts=0",
            "--local-addr=127.0.0.1", f"--log-dir={place / 'logs'}", f"--redirects={others}", "-m", "training", *words,
        ]  # fmt: skip
        environment = {
            "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
            "OMP_NUM_THREADS": str(max(1, (core_count() or 1) // count)),
            **os.environ,
            **told,
            PLACE: name,
            SUPERVISOR: str(os.getpid()),
        }
        agent = subprocess.Popen(command, env=environment, start_new_session=True)
        ended_early = threading.Event()
        _forward_signals(agent, place, ended_early)
        agent.wait()
        while (process := _read(place / _PROCESS)) and birth(
            int(process)
        ):  # torch's launcher was killed, the run was not yet
            time.sleep(PARENT_SECONDS)
        code = _read(place / _CODE)
        if code:
            return int(code)
        if ended_early.is_set():
            say("Stopped before the run began.")
            return 130
        _say_lost(place, count)
        return 1


def tell(what: str, text: str) -> None:
    """Let the supervising process know; nothing where there is none."""
    if PLACE in os.environ:
        with suppress(OSError):  # the supervisor is gone, and its folder with it
            (Path(os.environ[PLACE]) / what).write_text(text, encoding="utf-8")


def tell_process() -> None:
    """This is the process that prints, and hears of Ctrl+C."""
    tell(_PROCESS, str(os.getpid()))


def tell_run(folder: Path) -> None:
    """Where the run is, should this process not live to tell how it ends."""
    tell(_RUN, str(folder))


def tell_lost(rank_lost: int, code: int, log: str) -> None:
    """Which process ended first, and how: less than 0 is the signal that killed it."""
    tell(_FAILED, json.dumps({"rank": rank_lost, "code": code, "log": log}))


def find_process() -> int | None:
    """The first of the processes, once it lives."""
    found = _read(Path(os.environ[PLACE]) / _PROCESS)
    return int(found) if found else None


def end_with(code: int) -> int:
    """The exit code of a process that torchrun started: it takes all but 0 for a failure, and ends the others. ``code`` goes to the
    process that supervises it."""
    tell(_CODE, str(code))
    return 0 if code in (0, 130) else code


def supervisors() -> list[int]:
    """The processes that this one, which torchrun started, is not to outlive: its parent, and who had that started."""
    return [os.getppid(), *([int(os.environ[SUPERVISOR])] if PLACE in os.environ else [])]


def call_when_gone(processes: Sequence[int], call: Callable[[], object]) -> None:
    """``call`` once one of the ``processes`` has ended, however that came."""
    born = [birth(each) for each in processes]

    def watch() -> None:
        while None not in born and [birth(each) for each in processes] == born:
            time.sleep(PARENT_SECONDS)
        call()

    threading.Thread(target=watch, name="watch supervisors", daemon=True).start()


def _forward_signals(agent: subprocess.Popen[bytes], place: Path, ended_early: threading.Event) -> None:
    """What this process is told goes to the one that trains, which knows what to do; before there is one, all ends, ``ended_early``."""

    def forward(number: int, _frame: Any) -> None:
        process = _read(place / _PROCESS)
        if not process:
            ended_early.set()
        try:
            os.kill(int(process) if process else agent.pid, number)
        except ProcessLookupError:
            return

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, forward)


def _say_lost(place: Path, count: int) -> None:
    """How the processes ended where the first one could not say."""
    try:
        failed = json.loads(_read(place / _FAILED))
        who, code = failed["rank"], failed["code"]
    except (ValueError, KeyError):
        say("The processes of the run ended before it began.")
        return
    how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    folder = _read(place / _RUN)
    again = f" {RESUME}: python -m training resume {Path(folder).name} --ranks {count}" if folder else ""
    say(f"{CUT_OFF}: rank {who} of {count} {how}.{again}")
    log = failed.get("log") or ""
    lines = _read(Path(log)).splitlines()[-5:] if log else []
    for line in lines:
        say(f"  {line}")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
