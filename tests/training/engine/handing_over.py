"""What the tests of a run that goes on elsewhere share: hooks that stop it and listen, and what is looked at afterwards."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from training.checkpoints import load_state
from training.engine.runs.run import Hooks
from training.events import Event, Finding
from training.findings.machine import LOW
from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord
from training.runs.records.manifest import MANIFEST, STATE, WEIGHTS, digest, read_manifest, seal

HERE = socket.gethostname()


def stopping(said: list[Event] | None = None, at: int = 4) -> Hooks:
    """Hooks that stop the run at the end of the epoch that reaches step ``at``."""
    hooks = Hooks()

    def watch(event: Event) -> None:
        if said is not None:
            said.append(event)
        if event.kind == "epoch_ended" and getattr(event, "step", 0) >= at:
            hooks.control.request_stop()

    hooks.watch = watch
    return hooks


def listening(said: list[Event]) -> Hooks:
    return Hooks(watch=said.append)


def findings(said: list[Event]) -> list[Finding]:
    """All but that the memory of this machine is full just now, by whatever else works on it."""
    return [event for event in said if isinstance(event, Finding) and event.code != LOW.code]


def weights(record: StatusRecord) -> str:
    return str(read_manifest(Path(str(record.last_checkpoint))).files[WEIGHTS].sha256)


def rewrite_state(folder: RunFolder, change: Callable[[dict[str, Any]], None]) -> None:
    """Rewrite the newest checkpoint's training state, as another machine, or somebody else, would have written it."""
    checkpoint = max(folder.checkpoints.iterdir())
    state: Any = load_state(checkpoint)
    change(state)
    torch.save(state, checkpoint / STATE)
    manifest = json.loads((checkpoint / MANIFEST).read_text())
    manifest["files"][STATE] = {"bytes": (checkpoint / STATE).stat().st_size, "sha256": digest(checkpoint / STATE)}
    (checkpoint / MANIFEST).write_text(json.dumps(seal(manifest)))
