"""How the state of a study or a sweep is called, and what is said of its configuration."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from studio.forms.messages import KindOf, tell_value, title_of, with_titles
from studio.state.formats import kind_title
from studio.state.found_list import State
from studio.state.side_job import FolderJob
from studio.theme import Tone
from training.config import RunConfig
from training.config.diff import Change

STATE_WORDS: Mapping[State, tuple[str, Tone]] = {
    "planned": ("Not begun", "info"),
    "working": ("At work", "accent"),
    "stopped": ("Stopped", "neutral"),
    "failed": ("Failed", "danger"),
    "done": ("Done", "success"),
    "damaged": ("Damaged", "danger"),
}
_COMMANDS = (
    (re.compile(r"go on with: python -m training study --resume \S+"), "go on."),
    (re.compile(r"\bsweep work\b"), "the sweep"),
    (re.compile(r"^--(sampler|pruner) (\w+)"), r"The \1 \2"),
    (re.compile(r"^--folds \d+:"), "Folds:"),
    (re.compile(r"^--by \w+:"), "Divided by:"),
    (re.compile(r"take --by (\w+)"), r"divide by \1"),
)
"""What the engine says to a terminal, and what is the same in the window."""
STOPPING = "Stopping …"
_OVERRIDE = re.compile(r"(?<![\w./-])([a-z]+\.[a-z_0-9]+)=([^\s,;:()]+?)(?=[,;:()]|\.?(?:\s|$))")


def name_state(state: State, fraction: float | None, folder: Path, job: FolderJob) -> tuple[str, Tone]:
    """In a word or two with its color, "At work 40%": what its folder tells, and what ``job`` of this window does there."""
    if job.is_at(folder):
        state = "working"
        if job.is_stopping:
            return STOPPING, "neutral"
    word, tone = STATE_WORDS[state]
    return f"{word} {fraction:.0%}" if state == "working" and fraction else word, tone


def describe_config(config: RunConfig) -> str:
    """ "Small CNN on Drawn shapes, AdamW"."""
    model = kind_title("model", str(getattr(config.model, "name", config.model.kind)))
    data = kind_title("dataset", config.dataset.kind)
    path = getattr(config.dataset, "path", "")
    where = f" ({PurePath(str(path)).name})" if path else ""
    return f"{model} on {data}{where}, {kind_title('optimizer', config.optimizer.kind)}"


def read_value(written: str) -> Any:
    """What JSON makes of it: what is none is a word."""
    try:
        return json.loads(written)
    except ValueError:
        return written


def in_words(text: str, kind: KindOf) -> str:
    """``text`` of the command line as the forms say it: ``optimizer.lr=0.01`` as "Learning rate = 0.01"."""

    def say(found: re.Match[str]) -> str:
        path, written = found.groups()
        value = read_value(written)
        change = Change(path, value, value)
        return f"{title_of(change, kind)} = {tell_value(change, kind, value)}"

    for command, words in _COMMANDS:
        text = command.sub(words, text)
    return with_titles(_OVERRIDE.sub(say, text), kind)
