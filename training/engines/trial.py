"""Tries a Python as an engine, in a child process, and keeps the answer for as long as nothing was installed there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from training.engines.answer import Answer, Verdict, judge, parse_answer
from training.engines.places import read_trials, remember
from training.engines.requirements import Requirement, list_requirements
from training.system.interpreter import engine_environment
from training.system.untrusted import escape_unprintable, parse_json

SECONDS = 120.0
"""A trial that takes longer has failed: torch's first load from a slow disk takes half of it."""
_LOOK_SECONDS = 0.05
_WORD = "TRIAL "
_LAST_WORDS = 300
_FORMAT = 1
"""Of what is kept; another one's answers are asked for again."""


def try_engine(python: str, is_given_up: Callable[[], bool] = lambda: False, seconds: float = SECONDS) -> Answer | None:
    """What ``python`` answers; None where ``is_given_up`` said so meanwhile. Nothing of it is kept."""
    script = Path(__file__).with_name("trial_script.py").read_text(encoding="utf-8")
    asked = json.dumps({"packages": [each.name for each in list_requirements()]})
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        try:
            process = subprocess.Popen(
                [python, "-c", script],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=error,
                env=engine_environment(os.environ, python),
                cwd=Path.home() if Path.home().is_dir() else None,
                start_new_session=os.name == "posix",
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as failure:
            return Answer(ended=failure.strerror or str(failure))
        ended = _wait(process, asked, is_given_up, seconds)
        if ended is None:
            return None
        out.seek(0)
        error.seek(0, os.SEEK_END)
        error.seek(max(0, error.tell() - _LAST_WORDS))
        return _read(out.read(), error.read().decode("utf-8", "replace"), ended, process.returncode)


def judge_engine(python: str, answer: Answer, requirements: Sequence[Requirement] | None = None) -> Verdict:
    """What an answer means; one whose interpreter has gone since is "gone"."""
    if not Path(python).is_file():
        return Verdict(state="gone", problem=f"There is no file {python} any more.", remedy="Choose another engine.")
    return judge(answer, python, list_requirements() if requirements is None else requirements)


def find_answer(python: str) -> Answer | None:
    """What was kept of its last trial; None where there is none, or it may answer otherwise by now."""
    kept = read_trials().get(python)
    if not isinstance(kept, dict) or kept.get("format") != _FORMAT:
        return None
    answer = parse_answer(kept["answer"]) if isinstance(kept.get("answer"), dict) else None
    return answer if answer is not None and kept.get("stamp") == _stamp(python, answer) else None


def keep_answer(python: str, answer: Answer) -> None:
    """Keep it for the next look. Raises InputError where nothing can be written."""
    kept = {"format": _FORMAT, "stamp": _stamp(python, answer), "answer": answer.model_dump(mode="json")}
    remember(partial(_put, python, kept))


def try_and_keep(python: str, is_given_up: Callable[[], bool] = lambda: False) -> None:
    """``try_engine``, and keep what it answers. Raises as ``keep_answer``."""
    answer = try_engine(python, is_given_up)
    if answer is not None:
        keep_answer(python, answer)


def _put(python: str, kept: dict[str, Any], record: dict[str, Any]) -> None:
    trials = record.get("trials")
    # Of environments that were deleted nobody asks any more.
    known = {key: each for key, each in trials.items() if Path(key).is_file()} if isinstance(trials, dict) else {}
    record["trials"] = known | {python: kept}


def _stamp(python: str, answer: Answer) -> list[int]:
    """Changes when the interpreter is another one, or a package was installed there or taken out."""
    stamp = []
    for path in (python, *answer.site):
        try:
            stamp.append(os.stat(path).st_mtime_ns)
        except OSError:
            stamp.append(0)
    return stamp


def _wait(process: subprocess.Popen[bytes], asked: str, is_given_up: Callable[[], bool], seconds: float) -> str | None:
    """How it ended, where not well; None where nobody waits any more."""
    assert process.stdin is not None
    late = time.monotonic() + seconds
    try:
        with process.stdin:
            process.stdin.write(asked.encode())
    except OSError:  # it ended without reading, which its exit code tells
        pass
    try:
        while process.poll() is None:
            if is_given_up():
                return None
            if time.monotonic() > late:
                return f"it gave no answer within {seconds:.0f} seconds"
            time.sleep(_LOOK_SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
    return ""


def _read(out: bytes, error: str, ended: str, code: int) -> Answer:
    facts: dict[str, Any] = {}
    for line in out.decode("utf-8", "replace").splitlines():
        if line.startswith(_WORD):
            try:
                told = parse_json(line.removeprefix(_WORD))
            except ValueError:  # cut short by the end of the process
                continue
            facts |= told if isinstance(told, dict) else {}
    if not ended and code:
        ended = _explain_end(code, error)
    return parse_answer(facts | {"ended": ended}) or Answer(ended="it answered what no trial answers")


def _explain_end(code: int, error: str) -> str:
    if code < 0:
        try:
            return f"it crashed ({signal.Signals(-code).name})"
        except ValueError:
            return f"it was ended by signal {-code}"
    lines = error.strip().splitlines()
    return escape_unprintable(lines[-1]) if lines else f"it ended with code {code}"
