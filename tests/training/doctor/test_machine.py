"""What a machine has to train on, told without a run; and what a run on it is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.training.commands import Captured, json_line
from tests.training.tiny import tiny, write_idx
from training.cli import main
from training.config import apply_overrides, parse_config
from training.doctor import machine as doctor
from training.doctor import preflight
from training.doctor.loader import loader_findings
from training.engine import machine
from training.engine.assemble import assemble
from training.engine.runs.run import start_run
from training.environment import Environment
from training.events import Finding
from training.protocol.answers import RunTime
from training.runs.folder import RunFolder
from training.runs.records.environment import read_environment
from training.runs.records.history import read_history
from training.system.gpus import NvidiaTraces

DOCKERS = 64 << 20


def warnings_of(found: list[Finding]) -> list[str]:
    return [f"{item.title} {item.advice}" for item in found if item.level == "warning"]


def test_the_check_tells_what_a_run_keeps(config: Path, capsys: Captured) -> None:
    assert main(["check", "--json"]) == 0
    told = json_line(capsys)
    assert told["ok"]
    assert told["machine"]["torch"] == torch.__version__
    assert f"PyTorch {torch.__version__}" in told["findings"][0]["title"]
    assert main(["run", str(config), "--set", "loop.epochs=1", "--json"]) == 0
    kept = read_environment(RunFolder(Path(json_line(capsys)["folder"]))).record()
    assert {name: kept[name] for name in told["machine"]} == told["machine"]


def test_settings_without_a_configuration_are_refused(capsys: Captured) -> None:
    assert main(["check", "--set", "seed=1"]) == 2
    assert "--set changes a configuration, and none is given" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("traces", "visible", "said"),
    [
        (NvidiaTraces(True, ""), None, "There is an NVIDIA GPU in this machine, but torch cannot use it"),
        (NvidiaTraces(False, ""), "0", "A GPU is asked for (CUDA_VISIBLE_DEVICES=0), and there is none here"),
        (NvidiaTraces(False, ""), "", None),
        (NvidiaTraces(False, ""), None, None),
    ],
)
def test_a_gpu_that_is_missed_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, traces: NvidiaTraces, visible: str | None, said: str | None
) -> None:
    monkeypatch.setattr(doctor, "look_for_nvidia", lambda: traces)
    monkeypatch.setattr(doctor, "describe_machine", lambda: Environment(torch=torch.__version__, python="3"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setattr(machine, "shared_memory", lambda: None)
    told = warnings_of(doctor.look_at_machine()[1])
    assert [said in each for each in told] if said else told == []
    assert len(told) == (said is not None)


def test_a_device_that_cannot_compute_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The meta device computes nothing, and says so."""
    monkeypatch.setattr(doctor, "describe_machine", lambda: Environment(device_names=("Some GPU",)))
    monkeypatch.setattr("training.doctor.machine.torch.device", lambda kind, index: "meta")
    found = doctor.look_at_machine()[1]
    [fault] = [item for item in found if item.level == "error"]
    assert fault.title.startswith("Some GPU (meta) cannot be computed on: ")


def test_torch_that_does_not_load_is_said_with_its_python(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setitem(__import__("sys").modules, "training.doctor.machine", None)
    assert main(["check", "--json"]) == 1
    told = json_line(capsys)
    assert not told["ok"]
    assert told["findings"][0]["title"].startswith("PyTorch cannot be loaded by ")


def test_small_shared_memory_is_a_warning(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(machine, "shared_memory", lambda: DOCKERS)
    assert main(["check"]) == 0
    assert "warning  /dev/shm has 67.1 MB: worker processes" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_whose_workers_need_more_shared_memory_is_warned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_idx(tmp_path / "data", 400, 64)
    data = tiny().model_dump(mode="json")
    data["dataset"] = {"kind": "idx", "path": str(tmp_path / "data")}
    data["model"] = {"kind": "small_cnn"}
    apply_overrides(data, ["loader.mode=streamed", "loader.workers=1", "loop.epochs=1", "loop.max_steps=1"])
    for size, count in ((1 << 20, 1), (DOCKERS, 0)):
        monkeypatch.setattr(machine, "shared_memory", lambda size=size: size)
        found = preflight(parse_config(data), tmp_path)
        assert len([each for each in warnings_of(found) if "in /dev/shm, which has" in each]) == count
    monkeypatch.setattr(machine, "shared_memory", lambda: 1 << 20)
    for workers, count in ((1, 1), (0, 0)):
        apply_overrides(data, [f"loader.workers={workers}"])
        ended = start_run(parse_config(data), tmp_path / "workspace")
        history = read_history(RunFolder(Path(ended.folder)).events_file)
        told = warnings_of(history.findings)
        assert len([each for each in told if "--shm-size" in each]) == count
        assert history.attempts[0].environment.shm_mb is not None


@pytest.mark.parametrize(
    ("overrides", "steps", "fix"),
    [
        (("loader.mode=streamed", "loader.workers=0"), 10_000, {"loader.mode": "auto"}),
        (("loader.mode=streamed", "loader.workers=0"), 100, None),
        ((), 10_000, None),
    ],
)
def test_steps_that_wait_for_their_samples(
    tmp_path: Path, overrides: tuple[str, ...], steps: int, fix: dict[str, str] | None
) -> None:
    images = ("dataset.kind=idx", f"dataset.path={write_idx(tmp_path / 'data')}", "model.kind=small_cnn")
    session = assemble(tiny(*images, *overrides), lambda text, share: None)
    try:
        times = RunTime(step=0.1, validation=1.0, steps=steps, steps_per_epoch=10, validations=1, waited=0.05)
        found = loader_findings(session, times)
    finally:
        session.data.close()
    assert [(item.level, item.fix) for item in found] == ([("warning", fix)] if fix else [])
