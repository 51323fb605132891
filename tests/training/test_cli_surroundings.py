"""What the command line says of a run that goes on under other environment variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.commands import Captured, stopped_run
from training.cli import main

BITS = "not to the bit as it would have where it was"


@pytest.mark.parametrize(
    ("name", "deciding"),
    [
        ("ONEDNN_MAX_CPU_ISA", True),
        ("DNNL_MAX_CPU_ISA", True),
        ("ONEDNN_DEFAULT_FPMATH_MODE", True),
        ("MKL_CBWR", True),
        ("MKL_ENABLE_INSTRUCTIONS", True),
        ("KMP_BLOCKTIME", False),
    ],
)
def test_variables_that_choose_kernels_are_warned_of(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, name: str, deciding: bool
) -> None:
    monkeypatch.delenv(name, raising=False)
    run = stopped_run(config, capsys, monkeypatch)
    monkeypatch.setenv(name, "SSE41")
    assert main(["resume", run["run"]]) == 0
    said = capsys.readouterr().err
    assert f"{name} none → SSE41" in said
    assert (BITS in said) is deciding
    assert ("what decides its bits is the same" in said) is not deciding
