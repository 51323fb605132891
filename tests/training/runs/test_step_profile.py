"""A profile's file, and the sentences that follow from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.training.tiny import tiny
from training.config import RunConfig, parse_config
from training.runs.folder import RunFolder
from training.runs.step_profile import Profile, advise, format_milliseconds, format_percent, read_profile, write_profile


def tiny_folder(folder: Path) -> RunConfig:
    data: dict[str, Any] = {
        "name": "pictures",
        "dataset": {"kind": "image_folder", "path": str(folder)},
        "model": {"kind": "small_cnn"},
    }
    return parse_config(data)


def profile(outside: dict[Any, float] | None = None, **changes: Any) -> Profile:
    """100 steps of 10 ms, nearly all of it arithmetic; ``parts`` gives other seconds."""
    parts = {"copy": 0.02, "forward": 0.36, "backward": 0.5, "update": 0.1, "logging": 0.02} | changes.pop("parts", {})
    facts: dict[str, Any] = {
        "last_step": 110, "steps": 100, "samples_per_second": 3200.0, "device": "CPU", "busy": None, "workers": 0, "cores": 8,
        "cached": False, "parts": parts, "outside": outside or {},
    }  # fmt: skip
    return Profile(**(facts | changes))


def test_a_profile_comes_back_as_it_was_written(tmp_path: Path) -> None:
    folder, made = RunFolder(tmp_path), profile({"saving": 0.5}, busy=0.25)
    write_profile(folder, made)
    assert read_profile(folder) == made


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"format": 1, "last_step": 9, "steps": 3, "seconds": 1.0, "parts": {"wait": {"seconds": 1.0, "mean": 0.3}}}',
    ],
)
def test_what_an_earlier_version_wrote_is_none(text: str, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert read_profile(folder) is None
    folder.profile_file.write_text(text, encoding="utf-8")
    assert read_profile(folder) is None


def titles(made: Profile) -> list[str]:
    return [found.title for found in advise(made, tiny())]


def test_a_healthy_profile_says_so() -> None:
    (found,) = advise(profile({"validation": 0.02, "saving": 0.004}), tiny())
    assert found.level == "ok"
    assert found.title == "Forward, backward and update take 96% of each step."
    assert found.advice == "Of the whole time validation 2.0% and saving checkpoints 0.4%."


@pytest.mark.parametrize(
    ("workers", "cores", "fix"),
    [(0, 8, {"loader.workers": 7}), (3, 4, {"loader.mode": "resident"}), (0, 64, {"loader.workers": 8})],
)
def test_waiting_for_data_proposes_what_helps(workers: int, cores: int, fix: dict[str, Any]) -> None:
    first = advise(profile(parts={"wait": 0.72}, workers=workers, cores=cores), tiny())[0]
    assert (first.level, dict(first.fix)) == ("warning", fix)
    assert first.title == "42% of each step waits for data."


def test_waiting_for_images_that_are_decoded_again_and_again_proposes_the_cache(tmp_path: Path) -> None:
    config = tiny_folder(tmp_path)
    made = profile(parts={"wait": 0.72}, workers=7)
    assert dict(advise(made, config)[0].fix) == {"loader.cache": "on"}
    cached = made.model_copy(update={"cached": True})
    assert dict(advise(cached, config)[0].fix) == {"loader.mode": "resident"}
    one_thread = cached.model_copy(update={"workers": 0})
    assert "loader.workers" in advise(one_thread, config)[0].fix


def short_steps(**changes: Any) -> Profile:
    parts = {"copy": 0.001, "forward": 0.02, "backward": 0.02, "update": 0.01, "logging": 0.0}
    return profile(parts=parts, **changes)


def test_short_steps_propose_to_compile_them() -> None:
    title = "Steps of 0.51 ms are more Python than arithmetic."
    assert title in titles(short_steps())
    assert dict(advise(short_steps(), tiny())[0].fix) == {"precision.compile": "step"}
    assert not advise(short_steps(), tiny("precision.compile=step"))[0].fix
    assert title not in titles(short_steps(busy=0.9))


def test_saving_too_often_proposes_how_often() -> None:
    made = profile({"saving": 0.25})
    first = advise(made, tiny("checkpoints.every_steps=100"))[0]
    assert first.title == "20% of the time goes into saving checkpoints."
    assert dict(first.fix) == {"checkpoints.every_steps": 500}
    assert not advise(made, None)[0].fix


def test_a_gpu_that_waits_for_the_cpu_is_named() -> None:
    made = profile(busy=0.2)
    assert titles(made)[0] == "The GPU waits for the CPU in 80% of the time of forward, backward and update."
    assert dict(advise(made, tiny())[0].fix) == {"precision.cuda_graphs": "on"}
    assert not advise(made, tiny("precision.cuda_graphs=on"))[0].fix
    assert not any("GPU" in title for title in titles(profile(busy=0.8)))


def test_dear_validation_preparing_and_logging_are_named() -> None:
    made = profile({"validation": 4.0}, parts={"copy": 0.6, "logging": 0.2})
    assert titles(made)[:3] == [
        "69% of the time goes into validation.",
        "34% of each step gathers and prepares the batch.",
        "11% of each step goes into logging.",
    ]


def test_figures_are_short() -> None:
    assert [format_milliseconds(value) for value in (0.0, 2.14e-5, 0.00321, 1.25, 3600.0)] == [
        "0 ms", "0.0214 ms", "3.21 ms", "1,250 ms", "3,600,000 ms",
    ]  # fmt: skip
    assert [format_percent(value) for value in (0.0, 0.0001, 0.003, 0.0949, 0.42, 1.0)] == [
        "0%", "0.1%", "0.3%", "9.5%", "42%", "100%",
    ]  # fmt: skip
