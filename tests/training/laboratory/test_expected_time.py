"""How long the laboratory will take is measured and said before its first step, with what makes it slow."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from tests.training.commands import Captured
from training.cli import main
from training.cli.parser import make_parser
from training.engine.session import Session
from training.errors import InputError
from training.laboratory import expected_time, runner
from training.laboratory.child import Ended
from training.laboratory.expected_time import NAMED_SHARE, has_instructions
from training.protocol.answers import RunTime

SMALL = (
    "dataset.samples=300",
    "dataset.image_size=16",
    "model.channels=[2, 4]",
    "model.hidden=4",
    "loop.epochs=3",
)


def lab(workspace: Path, capsys: Captured, *more: str) -> list[str]:
    """What it says where each step ends at once."""
    told = [word for text in SMALL for word in ("--set", text)]
    assert main(["lab", "--json", "--workspace", str(workspace), *told, *more]) == 1
    return capsys.readouterr().err.splitlines()


@pytest.fixture(autouse=True)
def no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "train", lambda *_rest, **_more: Ended(1, "Not today."))


def test_the_time_is_measured_and_said_before_the_first_step_and_on_the_page(tmp_path: Path, capsys: Captured) -> None:
    lines = lab(tmp_path, capsys)
    place = next(number for number, line in enumerate(lines) if line.startswith("This takes about "))
    assert place < next(number for number, line in enumerate(lines) if line.startswith("[1/7]"))
    assert "by 3 warm steps of each kind" in lines[place]
    for page in ("report.html", "report.md"):
        text = (tmp_path / "laboratory" / page).read_text()
        assert lines[place] in text
        assert f"--share {NAMED_SHARE}" in text
    options = " ".join(make_parser()[1]["lab"].format_help().split())
    assert f"{NAMED_SHARE} of MNIST" in options


@pytest.mark.slow
@pytest.mark.parametrize("native", [True, False])
def test_slow_16_bits_and_a_share_that_fits_are_told(
    native: bool, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of 1 s, in bf16 of 3 s: 100 of each run are 4 x 100 s + 3 x 300 s."""

    def measure(session: Session) -> RunTime:
        step = 3.0 if session.config.precision.compute == "bf16" else 1.0
        return RunTime(step=step, validation=0.0, steps=100, steps_per_epoch=20, validations=5)

    monkeypatch.setattr(expected_time, "measure_run_time", measure)
    monkeypatch.setattr(expected_time, "has_instructions", lambda _compute: native)
    monkeypatch.setattr(expected_time, "_LONGEST_START", 5.0)
    line = next(line for line in lab(tmp_path, capsys) if line.startswith("This takes about "))
    assert line.startswith(
        "This takes about 22 min 20 s, by 3 warm steps of each kind and 5 s for the start of each of 8"
    )
    assert "A step in BF16 takes 3.0 times as long as in FP32." in line
    assert ("has instructions for BF16" in line) == native
    assert ("imitates it" in line) != native
    assert "--share 0.38 stays under 10 minutes" in line  # (540 - 40) / 1300


def test_what_cannot_be_timed_is_said_instead(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Session:
        raise InputError("no such thing.")

    monkeypatch.setattr(expected_time, "assemble", refuse)
    assert "How long this takes is not known: no such thing." in lab(tmp_path, capsys)


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64", reason="reads the flags of x86 under Linux"
)
def test_instructions_for_bf16_are_those_that_the_kernel_lists() -> None:
    flags = set(Path("/proc/cpuinfo").read_text().split())
    if has_instructions("bf16"):
        assert flags & {"avx512_bf16", "amx_tile"}
    if has_instructions("fp16"):
        assert flags & {"avx512_fp16", "amx_fp16"}
