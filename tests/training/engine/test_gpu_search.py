"""What a run on the CPU says where a GPU could be expected, on made-up systems."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.training.commands import Captured
from tests.training.tiny import tiny
from training.cli import main
from training.engine import device as devices
from training.engine.device import choose_device
from training.engine.gpu_search import describe_absence, explain_cpu
from training.engine.runs import attempt
from training.engine.runs.run import start_run
from training.errors import ConfigError
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.system.gpus import NvidiaTraces, look_for_nvidia


def make_card(root: Path, vendor: str, kind: str) -> None:
    card = root / "sys/bus/pci/devices/0000:01:00.0"
    card.mkdir(parents=True)
    (card / "vendor").write_text(f"{vendor}\n")
    (card / "class").write_text(f"{kind}\n")


@pytest.mark.skipif(torch.version.hip is not None, reason="another vendor's build")
@pytest.mark.parametrize(
    ("vendor", "kind", "found"),
    [
        ("0x10de", "0x030000", True),
        ("0x10de", "0x030200", True),
        ("0x10de", "0x040300", False),
        ("0x8086", "0x030000", False),
    ],
)
def test_a_device_is_found_on_the_bus_without_its_driver(tmp_path: Path, vendor: str, kind: str, found: bool) -> None:
    make_card(tmp_path, vendor, kind)
    assert look_for_nvidia(tmp_path) == NvidiaTraces(found, "")


def test_a_driver_is_found_with_its_version(tmp_path: Path) -> None:
    version = tmp_path / "proc/driver/nvidia/version"
    version.parent.mkdir(parents=True)
    version.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57.02  Tue Jul 13 16:14:05 UTC 2021\n")
    assert look_for_nvidia(tmp_path) == NvidiaTraces(True, "470.57.02")


@pytest.mark.parametrize(
    ("cuda", "visible", "driver", "said", "advice"),
    [
        (None, None, "470.57.02", "built without CUDA", "Install a build with CUDA"),
        ("13.0", "", "580.1", "CUDA_VISIBLE_DEVICES is empty", "Unset the variable"),
        ("13.0", "-1", "580.1", "CUDA_VISIBLE_DEVICES is -1", "Unset the variable"),
        ("13.0", None, "", "no NVIDIA driver is loaded", "--gpus all"),
        ("13.0", "0", "470.57.02", "CUDA 13.0) cannot use it through the NVIDIA driver 470.57.02", "Update the driver"),
    ],
)
def test_each_reason_has_its_own_advice(
    monkeypatch: pytest.MonkeyPatch, cuda: str | None, visible: str | None, driver: str, said: str, advice: str
) -> None:
    monkeypatch.setattr(torch.version, "cuda", cuda)
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    traces = NvidiaTraces(True, driver)
    found = explain_cpu(traces)
    assert found is not None
    assert (found.level, said in found.title, advice in found.advice) == ("warning", True, True)
    assert describe_absence(traces) == ""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(devices, "look_for_nvidia", lambda: traces)
    with pytest.raises(ConfigError) as asked:  # of a run that asks for it
        choose_device("cuda")
    assert said in str(asked.value)
    assert advice in str(asked.value)


def test_a_machine_without_a_gpu_gets_a_quiet_word_and_no_warning(
    monkeypatch: pytest.MonkeyPatch, config: Path, capsys: Captured
) -> None:
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(attempt, "look_for_nvidia", lambda: NvidiaTraces(False, ""))
    short = ["run", str(config), "--set", "loop.epochs=1", "--set", 'muted_findings=["run.too_short"]']
    assert main(short) == 0
    told = capsys.readouterr().err
    assert "steps on CPU (torch is built for CUDA 13.0; there is no NVIDIA GPU here)\n" in told
    assert "warning" not in told
    monkeypatch.setattr(torch.version, "cuda", None)
    assert main(short) == 0
    assert "steps on CPU\n" in capsys.readouterr().err


def test_a_run_warns_once_where_the_device_was_left_to_the_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(attempt, "look_for_nvidia", lambda: NvidiaTraces(True, ""))
    for device, count in (("auto", 1), ("cpu", 0)):
        ended = start_run(tiny(f"precision.device={device}", "loop.epochs=1"), tmp_path)
        history = read_history(RunFolder(Path(ended.folder)).events_file)
        titles = [item.title for item in history.findings if item.title.startswith("There is an NVIDIA GPU")]
        assert len(titles) == count
        assert history.attempts[0].device_note == ""
