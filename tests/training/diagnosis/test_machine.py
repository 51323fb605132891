"""What looks at the engine tell, and what a busy machine does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.training.diagnosis.made_runs import make_run
from training.diagnosis import Recorded
from training.diagnosis.judges.machine import JUDGES, follow_scale
from training.events import Finding
from training.runs.records.series import FLUSH_ROW

ROWS = 4000
NOISE = np.random.default_rng(0)


def look_at(settings: dict[str, Any] | None = None, seconds: float = 0.1, **columns: NDArray[np.float64]) -> Recorded:
    """A run that was looked at so often, ``seconds`` apart."""
    rows = np.zeros(ROWS, FLUSH_ROW)
    rows["step"] = np.arange(1, ROWS + 1)
    rows["time"] = 1e9 + seconds * np.arange(ROWS)
    rows["samples_per_second"], rows["memory_mb"] = 1000.0, 500.0
    for name, values in columns.items():
        rows[name] = values
    return replace(make_run(np.ones(ROWS), settings=settings), telemetry=rows)


def judge(run: Recorded) -> list[Finding]:
    return [each for one in JUDGES for each in one(run)]


def test_waiting_for_data_names_what_holds_it_up() -> None:
    waiting = np.where(NOISE.random(ROWS) < 0.5, 0.8, 0.0)
    [found] = judge(look_at({"loader": {"cache": "off"}}, wait_share=waiting))
    assert (found.code, found.level, dict(found.fix)) == ("machine.waits", "warning", {"loader.cache": "auto"})
    assert found.evidence["share"] == pytest.approx(0.4, abs=0.03)
    [mild] = judge(look_at({"loader": {"mode": "streamed"}}, wait_share=waiting * 0.6))
    assert (mild.level, dict(mild.fix)) == ("info", {"loader.mode": "auto"})
    assert judge(look_at(wait_share=waiting * 0.4)) == []


def test_a_gpu_that_is_held_down_is_told() -> None:
    held = np.where(NOISE.random(ROWS) < 0.7, 1.0, 0.0)
    [found] = judge(look_at(gpu_throttled=held))
    assert (found.code, found.level) == ("machine.throttled", "warning")
    assert found.evidence["share"] == pytest.approx(0.7, abs=0.03)
    [mild] = judge(look_at(gpu_throttled=held * (NOISE.random(ROWS) < 0.5)))
    assert mild.level == "info"
    assert judge(look_at(gpu_throttled=np.where(np.arange(ROWS) < ROWS // 3, 1.0, 0.0))) == []
    assert judge(look_at(gpu_throttled=np.full(ROWS, np.nan))) == []


def test_a_busy_moment_and_a_short_run_are_not_judged() -> None:
    busy = np.where(np.arange(ROWS) < ROWS // 3, 0.9, 0.0)  # another program at work in the first third
    assert judge(look_at(wait_share=busy)) == []
    slowed = np.where(np.arange(ROWS) < 0.6 * ROWS, 1000.0, 500.0)  # one that came, and stays
    assert judge(look_at(samples_per_second=slowed * (1 + 0.1 * NOISE.standard_normal(ROWS)))) == []
    short = look_at(
        seconds=0.0025,
        wait_share=np.full(ROWS, 0.9),
        samples_per_second=np.linspace(1000, 100, ROWS),
        memory_mb=np.linspace(500, 5000, ROWS),
    )
    assert judge(short) == []


def test_what_falls_or_rises_all_along_is_a_note() -> None:
    noise = 1 + 0.1 * NOISE.standard_normal(ROWS)
    [slow] = judge(look_at(samples_per_second=np.linspace(1000, 500, ROWS) * noise))
    assert (slow.code, slow.level) == ("machine.slows", "info")
    [grown] = judge(look_at(memory_mb=np.linspace(500, 2000, ROWS)))
    assert (grown.code, grown.level) == ("machine.memory_grows", "info")
    settled = 2000 - 1500 * np.exp(-np.arange(ROWS) / 300)  # as caches fill
    assert judge(look_at(samples_per_second=1000 * noise, memory_mb=settled)) == []
    assert judge(replace(look_at(), telemetry=None)) == []


def test_fp16_that_skips_again_and_again_is_told_from_its_search_for_a_scale() -> None:
    run = make_run(np.ones(5000), settings={"precision": {"compute": "fp16"}})
    run.steps["skipped"][:8] = 1
    assert judge(run) == []
    run.steps["skipped"][3000::50] = 1
    [found] = judge(run)
    assert (found.code, found.level, dict(found.fix)) == (
        "machine.fp16_scale",
        "warning",
        {"precision.compute": "bf16"},
    )
    assert found.evidence["skipped"] == 40


def test_the_scale_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch")
    scaler = torch.amp.GradScaler("cpu", growth_interval=2000)
    skipped = np.zeros(9000, bool)
    skipped[[3, 2500, 2501, 8999]] = True
    scaler.scale(torch.zeros(()))
    for each in skipped.tolist():
        scaler._per_optimizer_states[0]["found_inf_per_device"] = {torch.device("cpu"): torch.tensor(float(each))}
        scaler.update()
    assert follow_scale(np.flatnonzero(skipped), len(skipped)) == scaler.get_scale()
