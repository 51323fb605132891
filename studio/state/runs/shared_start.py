"""How a run begins, or goes on, in several processes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from studio.engine.host import EngineHost
from studio.services.background import Background
from studio.services.notifier import Notifier
from studio.state.where_it_runs import WhereItRuns
from training.config import RunConfig, parse_config
from training.config.diff import diff
from training.config.files import config_data
from training.config.paths import with_own_folder
from training.errors import CheckpointError, InputError, TrainingError
from training.protocol.messages import Refusal
from training.runs.folder import RunFolder, create_run
from training.runs.records.forms import Parent
from training.runs.records.manifest import list_checkpoints, verify
from training.runs.relocation import config_here, config_wanted
from training.runs.resume_plan import keeps_run

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SharedStart:
    """What begins a run in as many processes as are chosen. ``refuse`` is told why one cannot be made."""

    engine: EngineHost
    where: WhereItRuns
    background: Background
    notifier: Notifier
    workspace: Path
    refuse: Callable[[Refusal], object]

    def count_for(self, config: RunConfig, goes_on: str = "It begins") -> int:
        """In how many processes a run of ``config`` is trained: 1 where its batches cannot be shared among those that are chosen, which is told."""
        try:
            self.where.refuse(config)
        except InputError as error:
            words = f"{error.message.removeprefix('loop.slots: ')} {goes_on} in one process."
            self.notifier.notify(words, "info", title=f"Not in {self.where.count} processes")
            return 1
        return self.where.count

    def begin(self, config: RunConfig, count: int, checkpoint: Path | None = None) -> None:
        """Make a run of ``config``, a branch where it begins with a ``checkpoint``, and train it in ``count`` processes."""
        settings = with_own_folder(config_data(config))
        parent = RunFolder(checkpoint.parent.parent) if checkpoint is not None else None
        self._make_and_share(lambda: _make_run(self.workspace, settings, checkpoint, parent), count)

    def choose_resume(self, folder: RunFolder, target: Path, overrides: Sequence[str]) -> Callable[..., object]:
        """What goes on with the run in ``folder`` from ``target``, with ``overrides``, which may make it a branch: in as many processes as are
        chosen, or in the engine's."""
        alone = partial(self.engine.resume, target, overrides)
        if self.where.count == 1:
            return alone
        try:
            before, wanted = config_here(folder), config_wanted(folder, overrides)
            count = self.count_for(wanted, "It goes on")
        except TrainingError:  # the engine says what is wrong with the run
            return alone
        if count == 1:
            return alone
        if keeps_run(diff(before, wanted)):
            words = [str(target), *(word for override in overrides for word in ("--set", override))]
            return partial(self.engine.share, folder, words, count)
        beside = folder.path.parent.parent if folder.path.parent.name == "runs" else self.workspace

        def make() -> RunFolder:
            return _make_run(beside, config_data(wanted), _choose_checkpoint(folder, target), folder)

        def branch(python: str = "") -> None:
            self._make_and_share(make, count, python)

        return branch

    def _make_and_share(self, make: Callable[[], RunFolder], count: int, python: str = "") -> None:
        def begin(folder: RunFolder) -> None:
            self.engine.share(folder, [str(folder.path), "--made"], count, python)

        def fail(error: Exception) -> None:
            told = error if isinstance(error, TrainingError) else TrainingError(str(error))
            self.refuse(Refusal(message=told.message, advice=told.advice))

        self.background.submit(make, begin, fail)


def _choose_checkpoint(folder: RunFolder, target: Path) -> Path | None:
    """The checkpoint that ``target`` is, or the newest one that is whole of the run that it is; None where there is none yet."""
    if target != folder.path:
        return target
    found = list_checkpoints(folder)
    for info in found:
        try:
            verify(info.path)
        except CheckpointError as error:
            logger.warning("%s", error)
        else:
            return info.path
    return found[0].path if found else None  # whose fault the engine tells


def _make_run(
    workspace: Path, settings: Mapping[str, Any], checkpoint: Path | None, parent: RunFolder | None
) -> RunFolder:
    if parent is None:
        return create_run(workspace, parse_config(settings))
    config = parse_config(settings, paths=False)  # the engine knows what of them the parent keeps itself
    return create_run(
        workspace, config, parent=Parent(run=parent.id, checkpoint=str(checkpoint) if checkpoint else None)
    )
