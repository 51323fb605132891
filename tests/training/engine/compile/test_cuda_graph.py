"""Steps recorded and replayed. Without a GPU, the processor stands for it (``recorded_on_cpu``)."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.training.engine.compile.recorded_on_cpu import record_on_cpu
from tests.training.engine.compile.test_compiled import WHOLE, digests, train
from tests.training.tiny import tiny
from training.engine.assemble import assemble
from training.engine.compile import compile_session, cuda_graph
from training.engine.runs.hooks import Hooks
from training.engine.runs.run import resume_run, start_run
from training.errors import InputError

SETTINGS = pytest.mark.parametrize(
    "way",
    [(), ("loop.accumulation=3", "loop.batch_size=16"), ("optimizer.kind=sgd", "optimizer.momentum=0.9")],
    ids=str,
)


@SETTINGS
def test_replayed_steps_are_the_eager_ones_up_to_rounding(
    way: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = (*WHOLE, *way)
    right, kept = train(assemble(tiny(*settings), lambda *_: None), 24)
    graphs = record_on_cpu(monkeypatch)
    session = assemble(tiny(*settings), lambda *_: None)
    before = {name: tensor.clone() for name, tensor in session.model.state_dict().items()}
    dropout = torch.get_rng_state()
    compile_session(session, lambda *_: None)
    assert all(graph.work for graph in graphs)
    assert torch.equal(torch.get_rng_state(), dropout)
    for name, tensor in session.model.state_dict().items():
        assert torch.equal(tensor, before[name]), f"{name} was changed by recording"
    monkeypatch.setattr("training.engine.compile.compiled_step.train_step", None)  # none of these steps is made by it
    made, ours = train(session, 24)
    assert torch.allclose(torch.tensor(made), torch.tensor(right), rtol=1e-4, atol=1e-6)
    for name in kept:
        assert torch.allclose(ours[name], kept[name], rtol=1e-4, atol=1e-6), name


def test_a_replayed_run_goes_on_to_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record_on_cpu(monkeypatch)
    whole = start_run(tiny(*WHOLE), tmp_path / "whole")
    hooks = Hooks()
    hooks.watch = lambda event: hooks.control.request_stop() if event.kind == "epoch_ended" else None
    stopped = start_run(tiny(*WHOLE), tmp_path / "cut", hooks)
    assert stopped.step == 8
    assert digests(resume_run(stopped.run, tmp_path / "cut")) == digests(whole)


@pytest.mark.parametrize("way", [(), ("loop.accumulation=3", "loop.batch_size=16")], ids=str)
def test_an_empty_recording_is_refused(way: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = record_on_cpu(monkeypatch, empty=True)
    with pytest.raises(
        InputError, match=r"precision\.cuda_graphs: nothing of this run's step could be recorded"
    ) as caught:
        start_run(tiny(*WHOLE, *way), tmp_path)
    assert caught.value.fix == {"precision.cuda_graphs": "off"}
    assert [len(graph.work) for graph in graphs] == [0]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_recording_that_torch_finds_empty_is_refused() -> None:
    held = [torch.ones(3, device="cuda")]

    def astray(held: list[torch.Tensor]) -> tuple[torch.Tensor]:
        if torch.cuda.is_current_stream_capturing():
            return (torch.empty(3, device="cuda"),)  # computed by nobody
        return (held[0].mul_(2),)

    with pytest.warns(UserWarning, match="CUDA Graph is empty"), pytest.raises(InputError, match="could be recorded"):
        cuda_graph.RecordedGraph(astray, held)
    assert held[0].tolist() == [1.0, 1.0, 1.0]
