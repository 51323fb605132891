"""How the state of a study or a sweep is called, and what is said of its configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePath

from studio.forms.messages import KindOf, tell_overrides, with_titles
from studio.state.formats import kind_title
from studio.state.found_list import State
from studio.state.side_job import FolderJob
from studio.theme import Tone
from training.config import RunConfig

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


def in_words(text: str, kind: KindOf) -> str:
    """``text`` of the command line as the forms say it: ``optimizer.lr=0.01`` as "Learning rate = 0.01"."""
    for command, words in _COMMANDS:
        text = command.sub(words, text)
    return with_titles(tell_overrides(text, kind), kind)
