"""How a run begins, or goes on, in several processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from studio.engine.host import EngineHost
from studio.services.background import Background
from studio.services.notifier import Notifier
from studio.state.where_it_runs import WhereItRuns
from training.config import RunConfig, parse_config
from training.config.files import config_data
from training.config.paths import with_own_folder
from training.errors import InputError, TrainingError
from training.protocol.messages import Refusal
from training.runs.folder import RunFolder, create_run


def share_new_run(
    engine: EngineHost,
    background: Background,
    workspace: Path,
    config: RunConfig,
    count: int,
    refuse: Callable[[Refusal], object],
) -> None:
    """Make a run of ``config`` and train it in ``count`` processes; ``refuse`` is told why it cannot be made."""

    def make() -> RunFolder:
        return create_run(workspace, parse_config(with_own_folder(config_data(config))))

    def begin(folder: RunFolder) -> None:
        engine.share(folder, [str(folder.path), "--made"], count)

    def fail(error: Exception) -> None:
        told = error if isinstance(error, TrainingError) else TrainingError(str(error))
        refuse(Refusal(message=told.message, advice=told.advice))

    background.submit(make, begin, fail)


def choose_resume(
    engine: EngineHost, where: WhereItRuns, notifier: Notifier, folder: RunFolder, target: Path
) -> Callable[..., object]:
    """What goes on with the run in ``folder`` from ``target``, in as many processes as are chosen, or in the engine's where its batches
    cannot be shared among those, which is told."""
    alone = partial(engine.resume, target)
    if where.count == 1:
        return alone
    try:
        where.refuse(folder.config())
    except InputError as error:
        words = f"{error.message.removeprefix('loop.slots: ')} It goes on in one process."
        notifier.notify(words, "info", title=f"Not in {where.count} processes")
        return alone
    except TrainingError:  # the engine says what is wrong with the run
        return alone
    return partial(engine.share, folder, [str(target)], where.count)
