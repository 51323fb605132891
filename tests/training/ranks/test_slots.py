"""Batches that are cut into slots, by one process: who else may share them changes nothing of it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.training.tiny import tiny
from training.data.batching.slots import Slots
from training.engine.ranks.shared_step import find_buffers
from training.engine.runs.hooks import Hooks
from training.engine.runs.run import resume_run, start_run
from training.engine.session import Session
from training.errors import ConfigError
from training.runs.folder import RunFolder
from training.runs.records.series import read_series

BATCH = 12
NORMALIZED = ("model.norm=batch", "model.dropout=0.4", f"loop.batch_size={BATCH}", "loop.slots=4", "loop.max_steps=5")


def losses(record: Any) -> list[float]:
    return read_series(RunFolder(Path(record.folder)).series_file)["loss"].tolist()


def test_a_batch_is_cut_into_parts_of_nearly_equal_size() -> None:
    pieces = list(Slots(4, range(4), 2).cut([(0, 10), (10, 15)]))
    assert [(piece.slot, piece.first, piece.end) for piece in pieces] == [
        *((0, 0, 2), (0, 10, 12)),
        *((1, 2, 5), (1, 12, 15)),
        *((2, 5, 7), (3, 7, 10)),
    ]  # of five samples two slots have some: a slot of one sample has nothing to normalize over


@pytest.mark.parametrize("processes", [1, 2, 3, 4, 6, 12])
def test_all_processes_together_have_each_sample_once(processes: int) -> None:
    each = 12 // processes
    shares = [Slots(12, range(rank * each, (rank + 1) * each), 2) for rank in range(processes)]
    for size in (1, 2, 3, 23, 24, 48, 51):
        pieces = [piece for share in shares for piece in share.cut([(0, size)])]
        assert sorted(number for piece in pieces for number in range(*piece.bounds)) == list(range(size))
        assert pieces == list(shares[0].of_all().cut([(0, size)]))


def test_without_dropout_and_normalization_slots_change_rounding_alone(tmp_path: Path) -> None:
    settings = ("model.dropout=0", "loop.batch_size=12", "loop.max_steps=6")
    whole = start_run(tiny(*settings), tmp_path)
    cut = start_run(tiny(*settings, "loop.slots=5"), tmp_path)
    assert losses(cut) == pytest.approx(losses(whole), rel=1e-4)


def test_batch_norm_has_the_mean_of_what_its_slots_measured(tmp_path: Path) -> None:
    """Against each slot's own update of the statistics before the step, computed in float64."""
    expected: dict[str, torch.Tensor] = {}
    found: dict[str, torch.Tensor] = {}

    def compute(session: Session) -> None:
        before = copy.deepcopy(session.model).double()
        window = session.data.rebuild_step(0, 0)
        for piece, batch in zip(window.pieces, window, strict=True):
            network = copy.deepcopy(before).train()
            network(batch.inputs.double())
            share = (piece.end - piece.first) / window.samples
            for name, buffer in network.named_buffers():
                expected[name] = expected.get(name, torch.zeros(())) + buffer * share
        session.model.register_forward_pre_hook(lambda module, given: keep(session))

    def keep(session: Session) -> None:
        if session.progress.step == 1 and not found:
            found.update({name: buffer.clone() for name, buffer in session.model.named_buffers()})

    settings = (*NORMALIZED, "model.dropout=0")
    start_run(tiny(*settings), tmp_path, Hooks(ready=compute))
    assert any(name.endswith("running_var") for name in expected)
    for name, value in expected.items():
        torch.testing.assert_close(found[name].double(), value.double(), rtol=1e-4, atol=1e-6)


def test_a_run_of_slots_that_was_stopped_goes_on_to_the_bit(tmp_path: Path) -> None:
    whole = start_run(tiny(*NORMALIZED), tmp_path)
    hooks = Hooks()

    def stop(session: Session) -> None:
        def request(*_: object) -> None:
            if session.progress.step >= 2:
                hooks.control.request_stop()

        session.model.register_forward_hook(request)

    hooks.ready = stop
    part = start_run(tiny(*NORMALIZED), tmp_path, hooks)
    assert part.status == "stopped"
    rest = resume_run(part.folder, tmp_path)
    assert losses(rest) == losses(whole)


def test_what_a_person_s_own_network_keeps_is_averaged_too_and_constants_stay(tmp_path: Path) -> None:
    model = nn.Sequential(nn.BatchNorm1d(3))
    model.register_buffer("constant", torch.full((1000,), 1 / 3))
    assert len(find_buffers(model, all_buffers=False)) == 3
    assert len(find_buffers(model, all_buffers=True)) == 4


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (("loop.slots=20", "loop.batch_size=8"), "loop.slots"),
        (("loop.slots=2", "precision.compile=step"), "precision.compile"),
        (("loop.slots=2", "precision.cuda_graphs=on"), "precision.cuda_graphs"),
    ],
)
def test_what_does_not_go_with_slots_is_refused(settings: tuple[str, ...], told: str) -> None:
    with pytest.raises(ConfigError) as error:
        tiny(*settings)
    assert told in [problem.path for problem in error.value.problems]
