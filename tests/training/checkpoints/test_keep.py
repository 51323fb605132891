"""Keeping checkpoints: faults of the writing thread reach the loop in words."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from training.checkpoints import Keeper, write
from training.checkpoints.snapshot import Snapshot
from training.config import RunConfig
from training.errors import TrainingError
from training.runs.folder import create_run
from training.runs.manifest import read_labels


@pytest.mark.parametrize(
    "fault", [OSError(28, "No space left on device"), SafetensorError("I/O"), RuntimeError("pos 64")]
)
@pytest.mark.parametrize("writer", ["save_file", "torch.save"])
def test_a_full_disk_is_explained_and_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception, writer: str
) -> None:
    folder = create_run(tmp_path, RunConfig())
    keeper = Keeper(folder, 3, lambda saved: None)
    good = Snapshot(step=1, epoch=0, weights={"w": torch.zeros(2)}, averaged={}, state={"a": 1}, metrics={})
    keeper.save(good, best=True)
    keeper.finish()
    labels = read_labels(folder)

    def fail(*_arguments: object, **_settings: object) -> None:
        raise fault

    owner: tuple[object, str] = (torch, "save") if writer == "torch.save" else (write, writer)
    monkeypatch.setattr(*owner, fail)
    keeper.save(Snapshot(step=2, epoch=0, weights=good.weights, averaged={}, state={}, metrics={}), best=True)
    with pytest.raises(TrainingError, match="could not be written") as caught:
        keeper.finish()
    keeper.close()
    assert "space" in caught.value.advice
    assert read_labels(folder) == labels
    assert [path.name for path in folder.checkpoints.iterdir()] == ["step-00000001"]
