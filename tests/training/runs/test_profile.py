"""A profile's file, read without trust, and the sentences that follow from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.training.tiny import tiny
from training.config import RunConfig, parse_config
from training.console import format_profile
from training.runs.folder import RunFolder
from training.runs.profile_record import FirstSteps, OutsideTime, PartTime, Profile, read_profile, write_profile
from training.runs.profile_words import conclusions, milliseconds, percent


def tiny_folder(folder: Path) -> RunConfig:
    data = {
        "name": "pictures",
        "dataset": {"kind": "image_folder", "path": str(folder)},
        "model": {"kind": "small_cnn"},
    }
    return parse_config(data)


def part(seconds: float) -> PartTime:
    return PartTime(seconds=seconds, mean=seconds / 100, median=seconds / 100, p95=seconds / 50)


def profile(outside: dict[Any, float] | None = None, first: float = 0.0, **changes: Any) -> Profile:
    """100 steps of 10 ms, nearly all of it arithmetic; ``parts`` gives other seconds."""
    seconds = {"copy": 0.02, "forward": 0.36, "backward": 0.5, "update": 0.1, "logging": 0.02} | changes.pop(
        "parts", {}
    )
    facts: dict[str, Any] = {
        "time": 1.7e9, "last_step": 110, "steps": 100, "seconds": sum(seconds.values()), "median": 0.01, "p95": 0.012,
        "samples_per_second": 3200.0, "device": "processor", "on_gpu": False, "clock": "host", "batches": "resident",
        "workers": 0, "cores": 8, "cached": False, "parts": {name: part(value) for name, value in seconds.items()},
        "first": FirstSteps(steps=10 if first else 0, seconds=first),
        "outside": {name: OutsideTime(seconds=value, times=2) for name, value in (outside or {}).items()},
    }  # fmt: skip
    return Profile(**(facts | changes))


def test_a_profile_comes_back_as_it_was_written(tmp_path: Path) -> None:
    folder, made = RunFolder(tmp_path), profile({"saving": 0.5}, first=3.0, starved=0.25)
    write_profile(folder, made)
    assert read_profile(folder) == made


def test_a_run_of_an_older_version_has_none(tmp_path: Path) -> None:
    assert read_profile(RunFolder(tmp_path)) is None


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2}, {"steps": -1}, {"steps": 10**30}, {"steps": 1.5}, {"seconds": float("nan")}, {"seconds": float("inf")},
        {"seconds": "1"}, {"median": -1.0}, {"device": "x" * 10_000}, {"device": "\ud800"}, {"device": 7}, {"clock": "sun"},
        {"parts": []}, {"parts": {"wait": 1.0}}, {"parts": {"dancing": {}}}, {"outside": {"wait": {}}}, {"first": None},
        {"starved": 2.0}, {"workers": None}, {"parts": [[[[[]]]]]},
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_profile_is_none(change: dict[str, Any], tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    data = profile().model_dump() | change
    folder.profile_file.write_text(json.dumps(data), encoding="utf-8")
    assert read_profile(folder) is None


def test_absurd_numbers_are_told_without_breaking(tmp_path: Path) -> None:
    """Allowed one by one, but not from any clock: no step, no time, or far more in the parts than in all of it."""
    nothing = PartTime(seconds=0.0, mean=0.0, median=0.0, p95=0.0)
    for made in (
        profile(steps=0, seconds=0.0, parts={}),
        profile().model_copy(update={"parts": {}}),
        profile().model_copy(update={"parts": {"wait": part(1e10)}, "seconds": 1e-300}),
        profile().model_copy(update={"parts": {"wait": nothing}, "outside": {}, "seconds": 0.0, "cores": 0}),
        profile(device="\x1b[31m"),
    ):
        assert format_profile(made, tiny())


def titles(made: Profile) -> list[str]:
    return [found.title for found in conclusions(made, tiny())]


def test_a_healthy_profile_says_so() -> None:
    made = profile({"validation": 0.02, "saving": 0.004})
    found = conclusions(made, tiny())
    assert [item.level for item in found] == ["ok", "info"]
    assert found[0].title == "Forward, backward and update take 96 % of each step."
    assert found[1].title == "Logging takes 2.0 % of each step, validation 2.0 % and saving 0.4 % of the whole time."


@pytest.mark.parametrize(
    ("workers", "cores", "fix"),
    [(0, 8, {"loader.workers": 7}), (3, 4, {"loader.mode": "resident"}), (0, 64, {"loader.workers": 8})],
)
def test_waiting_for_data_proposes_what_helps(workers: int, cores: int, fix: dict[str, Any]) -> None:
    made = profile(parts={"wait": 0.72}, batches="streamed", workers=workers, cores=cores)
    first = conclusions(made, tiny())[0]
    assert (first.level, dict(first.fix)) == ("warning", fix)
    assert first.title == "42 % of each step waits for data."


def test_waiting_for_pictures_that_are_decoded_again_and_again_proposes_the_cache(tmp_path: Path) -> None:
    config = tiny_folder(tmp_path)
    made = profile(parts={"wait": 0.72}, batches="streamed", workers=7)
    assert dict(conclusions(made, config)[0].fix) == {"loader.cache": "on"}
    cached = made.model_copy(update={"cached": True})
    assert dict(conclusions(cached, config)[0].fix) == {"loader.mode": "resident"}
    one_thread = cached.model_copy(update={"workers": 0})
    assert "loader.workers" in conclusions(one_thread, config)[0].fix
    on_gpu = config.model_copy(update={"loader": config.loader.model_copy(update={"decoder": "gpu"})})
    found = conclusions(one_thread, on_gpu)[0]
    assert dict(found.fix) == {"loader.mode": "resident"}
    assert "the GPU decodes for one process only" in found.advice


def test_short_steps_propose_to_compile_them() -> None:
    made = profile(median=0.0004)
    assert "Steps of 0.4 ms are more Python than arithmetic." in titles(made)
    assert dict(conclusions(made, tiny())[0].fix) == {"precision.compile": "step"}
    assert not conclusions(made, tiny("precision.compile=step"))[0].fix
    assert "Steps of 0.4 ms are more Python than arithmetic." not in titles(profile(median=0.0004, on_gpu=True))


def test_saving_too_often_proposes_how_often() -> None:
    made = profile({"saving": 0.25})
    first = conclusions(made, tiny("checkpoints.every_steps=100"))[0]
    assert first.title == "20 % of the time goes into saving checkpoints."
    assert dict(first.fix) == {"checkpoints.every_steps": 500}
    assert not conclusions(made, None)[0].fix


def test_a_gpu_that_waits_for_the_processor_is_named() -> None:
    made = profile(starved=0.8, on_gpu=True)
    assert titles(made)[0] == "In 80 % of the steps the GPU waits for the processor."
    assert dict(conclusions(made, tiny())[0].fix) == {"precision.cuda_graphs": "on"}
    assert not conclusions(made, tiny("precision.cuda_graphs=on"))[0].fix
    assert not any("GPU" in title for title in titles(profile(starved=0.2, on_gpu=True)))


def test_dear_validation_preparing_logging_and_first_steps_are_named() -> None:
    made = profile({"validation": 4.0, "paused": 1000.0}, first=10.0, parts={"copy": 0.6, "logging": 0.2})
    assert titles(made)[:3] == [
        "69 % of the time goes into validation.",
        "34 % of each step gathers and prepares the batch.",
        "11 % of each step goes into logging.",
    ]
    assert titles(made)[-1] == "The first 10 steps took 10 s, each 57 times as long as later ones."


def test_figures_are_short() -> None:
    assert [milliseconds(value) for value in (0.0, 2.14e-5, 0.00321, 1.25, 3600.0)] == [
        "0 ms", "0.0214 ms", "3.21 ms", "1,250 ms", "3,600,000 ms",
    ]  # fmt: skip
    assert [percent(value) for value in (0.0, 0.0001, 0.003, 0.0949, 0.42, 1.0)] == [
        "0 %", "0.1 %", "0.3 %", "9.5 %", "42 %", "100 %",
    ]  # fmt: skip
