"""A run goes on on another machine: other devices, other versions, and what is said to that."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.engine.handing_over import HERE, findings, listening, rewrite_state, stopping, weights
from tests.training.tiny import tiny
from training.checkpoints import load_state
from training.config import RunConfig
from training.engine import assemble
from training.engine.runs import attempt, environment, run
from training.engine.runs.run import branch_run, resume_run, start_run
from training.environment import Environment
from training.errors import ConfigError
from training.events import Event
from training.runs.folder import RunFolder, read_json
from training.runs.records.history import read_history
from training.runs.relocation import PLACES


def begun_elsewhere(config: RunConfig, workspace: Path, monkeypatch: pytest.MonkeyPatch, **facts: Any) -> RunFolder:
    """A run stopped at step 8 on a machine that differs from this one in ``facts``."""
    real = environment.describe_environment

    def told(*arguments: Any) -> Environment:
        return Environment.model_validate(real(*arguments).model_dump(exclude_unset=True) | facts)

    with monkeypatch.context() as there:
        there.setattr(attempt, "describe_environment", told)
        if "device_type" in facts:  # its device computes as the processor does, so that bits can be compared
            for module in (run, assemble, attempt):
                there.setattr(module, "choose_device", lambda name: torch.device("cpu"))
        return RunFolder(Path(start_run(config, workspace, stopping(at=8)).folder))


GPU = {
    "device_type": "cuda", "device_name": "NVIDIA H100", "device": "NVIDIA H100 (cuda:1)", "device_index": 1,
    "cudnn": 92000, "driver": "570.1", "threads": 48,
}  # fmt: skip
OTHER_INSTRUCTIONS = "AVX2" if torch.backends.cpu.get_cpu_capability() != "AVX2" else "AVX512"
no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="is about machines without a GPU")


@no_gpu
@pytest.mark.parametrize("name", ["auto", "cuda", "cuda:1", "mps"])
def test_a_run_from_a_gpu_goes_on_on_the_processor_and_says_what_that_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = begun_elsewhere(tiny(f"precision.device={name}"), tmp_path, monkeypatch, **GPU)
    said: list[Event] = []
    record = resume_run(str(folder.path), tmp_path, hooks=listening(said))
    assert (record.run, record.status) == (folder.id, "completed")
    differs = next(item for item in findings(said) if "not to the bit" in item.title)
    assert differs.level == "warning"
    assert "kind of device cuda → cpu" in differs.advice
    assert "another generator" in differs.advice
    assert "threads" not in differs.advice  # those of a GPU machine's processor decided nothing
    asked = [item for item in findings(said) if f"asks for {name}" in item.title]
    assert len(asked) == (name != "auto")
    assert all("precision.device=cpu" in item.advice for item in asked)
    assert read_history(folder.events_file).attempts[-1].environment.threads == 1  # chosen for this machine
    assert not (folder.path / PLACES).exists()  # with a GPU again, it goes back there


@no_gpu
def test_a_device_chosen_for_this_machine_is_kept_and_one_it_lacks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun_elsewhere(tiny("precision.device=cuda"), tmp_path, monkeypatch, **GPU)
    with pytest.raises(ConfigError, match=r"precision\.device"):
        resume_run(str(folder.path), tmp_path, ["precision.device=cuda:3"])
    stopped = resume_run(str(folder.path), tmp_path, ["precision.device=cpu"], stopping(at=16))
    said: list[Event] = []
    assert stopped.run == folder.id
    assert resume_run(str(folder.path), tmp_path, hooks=listening(said)).status == "completed"
    assert findings(said) == []  # the attempt before was here already


@no_gpu
def test_a_run_cut_off_before_its_first_checkpoint_begins_again_on_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = start_run(tiny(), tmp_path)
    folder = begun_elsewhere(tiny("precision.device=cuda"), tmp_path, monkeypatch, **GPU)
    shutil.rmtree(folder.checkpoints)
    folder.checkpoints.mkdir()
    folder.series_file.write_bytes(b"")
    said: list[Event] = []
    record = resume_run(str(folder.path), tmp_path, ["precision.threads=1"], listening(said))
    assert weights(record) == weights(whole)
    assert any("asks for cuda" in item.title for item in findings(said))
    assert read_json(folder.path / PLACES) == {HERE: {"precision.threads": 1}}


@pytest.mark.parametrize(
    ("facts", "level", "words"),
    [
        ({"torch": "2.0.1"}, "warning", "torch 2.0.1 → "),
        ({"instructions": OTHER_INSTRUCTIONS}, "warning", f"CPU instructions {OTHER_INSTRUCTIONS} → "),
        ({"optimizer": "foreach"}, "warning", "optimizer kernels foreach → fused"),
        ({"threads": 7}, "warning", "threads 7 → 1"),
        ({"processor": "Another 3000"}, "info", "the CPU Another 3000 → "),
        ({"variables": {"MKL_CBWR": "AVX2"}}, "warning", "MKL_CBWR AVX2 → none (it chooses kernels"),
        ({"variables": {"KMP_BLOCKTIME": "7"}}, "info", "KMP_BLOCKTIME 7 → none"),
        ({"variables": {"NVIDIA_TF32_OVERRIDE": "0"}}, "info", "NVIDIA_TF32_OVERRIDE 0 → none"),  # a GPU's affair
        ({"python": "3.9.1", "numpy": "1.0"}, "info", "Python 3.9.1 → "),
        ({"cuda": "11.0", "driver": "1"}, "info", "the driver 1 → none"),  # a processor run does not use CUDA
        ({"code": {"trainwright": {"commit": "f" * 40, "dirty": True}}}, "info", "ffffffffffff with changes → "),
    ],
)
def test_other_surroundings_are_told_by_what_they_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: dict[str, Any], level: str, words: str
) -> None:
    monkeypatch.delenv(
        "OPENBLAS_CORETYPE", raising=False
    )  # one that chooses kernels of this machine would be told, too
    if "threads" in facts:  # the number is kept on resume: only a person's own choice can change it
        config, overrides = tiny("precision.threads=7"), ["precision.threads=1"]
    else:
        config, overrides = tiny(), []
    folder = begun_elsewhere(config, tmp_path, monkeypatch, **facts)
    said: list[Event] = []
    record = resume_run(str(folder.path), tmp_path, overrides, listening(said))
    assert (record.run, record.status) == (folder.id, "completed")
    [finding] = findings(said)
    assert finding.level == level
    assert words in finding.advice
    assert finding.step == 8


def test_the_same_surroundings_need_no_word(tmp_path: Path) -> None:
    stopped = start_run(tiny(), tmp_path, stopping(at=8))
    said: list[Event] = []
    resume_run(stopped.folder, tmp_path, hooks=listening(said))
    assert findings(said) == []


def test_a_run_keeps_its_threads_and_says_when_the_machine_is_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as there:
        there.setattr(assemble, "choose_threads", lambda *_: 3)
        folder = RunFolder(Path(start_run(tiny(), tmp_path, stopping(at=8)).folder))
    monkeypatch.setattr(environment, "core_count", lambda: 2)
    said: list[Event] = []
    resume_run(str(folder.path), tmp_path, hooks=stopping(said, at=16))
    assert [event.environment.threads for event in read_history(folder.events_file).attempts] == [3, 3]
    finding = next(item for item in findings(said) if "keeps its 3 threads" in item.title)
    assert finding.fix == {"precision.threads": 2}
    resume_run(str(folder.path), tmp_path, ["precision.threads=2"], stopping(at=24))
    assert read_history(folder.events_file).attempts[-1].environment.threads == 2
    assert read_json(folder.path / PLACES) == {HERE: {"precision.threads": 2}}


@no_gpu
@pytest.mark.parametrize("form", ["fused", "capturable foreach"])
def test_a_checkpoint_from_gpus_loads_on_the_processor_and_keeps_what_is_theirs(tmp_path: Path, form: str) -> None:
    whole = start_run(tiny(), tmp_path)
    folder = RunFolder(Path(start_run(tiny(), tmp_path, stopping(at=8)).folder))
    generators = [torch.arange(16, dtype=torch.uint8), torch.arange(16, 32, dtype=torch.uint8)]

    def change(state: dict[str, Any]) -> None:
        state["rng"]["cuda"] = generators
        state["scaler"] = {
            "scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 1
        }  # fmt: skip
        for group in state["optimizer"]["param_groups"]:
            group.update(fused=form == "fused", foreach=form != "fused", capturable=form != "fused")

    rewrite_state(folder, change)
    record = resume_run(str(folder.path), tmp_path)
    assert record.status == "completed"
    kept = load_state(Path(str(record.last_checkpoint)))["rng"]["cuda"]
    assert all(torch.equal(one, other) for one, other in zip(kept, generators, strict=True))
    if form == "fused":  # what computes is the same as here, so every bit is
        assert weights(record) == weights(whole)
    branch = branch_run(Path(str(record.last_checkpoint)), tiny("loop.epochs=4", "precision.compute=fp16"), tmp_path)
    assert branch.status == "completed"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("compute", ["fp32", "tf32", "bf16", "fp16"])
@pytest.mark.parametrize("optimizer", ["adamw", "adam", "sgd"])
def test_to_the_processor_and_back_to_the_gpu(tmp_path: Path, optimizer: str, compute: str) -> None:
    choice = (f"optimizer.kind={optimizer}", f"precision.compute={compute}", "loop.ema_decay=0.9", "loop.epochs=4")
    folder = RunFolder(Path(start_run(tiny(*choice, "precision.device=cuda"), tmp_path, stopping(at=8)).folder))
    said: list[Event] = []
    resume_run(str(folder.path), tmp_path, ["precision.device=cpu"], stopping(said, at=16))
    assert any("kind of device cuda → cpu" in item.advice for item in findings(said))
    generators = [load_state(path)["rng"]["cuda"] for path in sorted(folder.checkpoints.iterdir())]
    assert all(len(states) == torch.cuda.device_count() for states in generators)
    record = resume_run(str(folder.path), tmp_path, ["precision.device=cuda"])
    assert (record.run, record.status, record.step) == (folder.id, "completed", 32)
    assert record.skipped_steps == 0 or compute == "fp16"
    devices = [event.environment.device_type for event in read_history(folder.events_file).attempts]
    assert devices == ["cuda", "cpu", "cuda"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_the_same_gpu_nothing_differs(tmp_path: Path) -> None:
    config = tiny("precision.device=cuda", "deterministic=true")
    whole = start_run(config, tmp_path)
    folder = RunFolder(Path(start_run(config, tmp_path, stopping(at=8)).folder))
    said: list[Event] = []
    record = resume_run(str(folder.path), tmp_path, hooks=listening(said))
    assert findings(said) == []
    assert weights(record) == weights(whole)
