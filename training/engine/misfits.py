"""A checkpoint of any content either fits the session or is refused in a sentence."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from training.engine.device import ran_out_of_memory
from training.engine.restore import Restore
from training.engine.session import Session
from training.errors import CheckpointError, TrainingError
from training.reading import visible
from training.runs.folder import RunFolder

_MISFITS = (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError)


def put_back(restore: Restore, folder: RunFolder, session: Session) -> None:
    """``restore.apply``; raises CheckpointError for numbers that are none of this run's.

    Digests show that a file is what its writer wrote, not that the writer meant well: a checkpoint may come from anybody.
    """
    wanted = {parameter: set(numbers) for parameter, numbers in session.optimizer.state.items()}
    try:
        restore.apply(folder, session)
        fault = _misfit(session) or _lack(session, wanted)
    except TrainingError:
        raise
    except _MISFITS as error:
        if ran_out_of_memory(error):
            raise
        why = visible(f"{type(error).__name__}: {error}", 200)
        raise CheckpointError(
            f"{restore.checkpoint}: does not fit this run ({why}); choose another checkpoint."
        ) from error
    if fault:
        raise CheckpointError(f"{restore.checkpoint}: does not fit this run ({fault}); choose another checkpoint.")


def _misfit(session: Session) -> str:
    """What would go wrong only later, inside a kernel that trusts its arguments or in a loop that counts; or ""."""
    progress = session.progress
    if not 0 <= progress.step <= session.total_steps or not 0 <= progress.window <= session.data.steps_per_epoch:
        return "it stands at a step that the run does not have"
    for parameter, numbers in session.optimizer.state.items():
        for name, value in numbers.items():
            if name in ("step", "mu_product"):
                fits = isinstance(value, int | float) or (isinstance(value, Tensor) and value.numel() == 1)
            else:  # fused kernels look at no shape but the parameter's
                fits = value is None or (
                    isinstance(value, Tensor) and value.shape == _wanted(str(name), parameter.shape)
                )
            if not fits:
                return f"the optimizer's {visible(str(name), 60)} has another form than its parameter"
    return ""


def _lack(session: Session, wanted: Mapping[Tensor, set[str]]) -> str:
    """What the optimizer has no longer of all that it had when it was made, which is all that it works with; or ""."""
    for parameter, names in wanted.items():
        gone = names - set(session.optimizer.state.get(parameter, {}))
        if gone:
            return f"the optimizer's {min(gone)} is not there for each weight"
    return ""


def _wanted(name: str, shape: torch.Size) -> torch.Size:
    """The shape of a parameter's state: its own, but for what Adafactor keeps of rows and columns."""
    if name == "row_var":
        return torch.Size((*shape[:-1], 1))
    if name == "col_var":
        return torch.Size((*shape[:-2], 1, *shape[-1:]))
    return shape
