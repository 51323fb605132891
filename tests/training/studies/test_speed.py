"""The speed check: kept is what is faster for certain, and what changes the results is said."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cases import first_of
from tests.training.commands import Captured, json_line
from tests.training.tiny import tiny, tiny_images, write_idx
from training.cli import main
from training.config import load_config, save_config
from training.errors import InputError
from training.studies import timing
from training.studies.folder import list_studies
from training.studies.speed.candidates import Candidate, list_candidates, list_never_run, suits_mode
from training.studies.speed.measure import compare_losses, measure_pair, read_ratio
from training.studies.speed.study import MAY_CHANGE

Factors = dict[str, float]
PAIRS = 3  # of processes, which are none here


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Factors:
    """Steps that take no time of their own: an arm is as many times as fast as the factors of its settings say, and chance."""
    factors: Factors = {}
    random = np.random.default_rng(4)

    def time_steps(arm: str, seconds: float) -> dict[str, Any]:
        config = timing._OPEN[arm].config
        rate = 1000.0 * math.exp(0.01 * random.normal())
        for override, factor in factors.items():
            section, name = override.partition("=")[0].split(".")
            if str(getattr(getattr(config, section), name)) == override.partition("=")[2]:
                rate *= factor
        return {"samples": rate, "steps": 1, "seconds": 1.0}

    monkeypatch.setattr("training.studies.speed.measure.PAIRS", PAIRS)
    monkeypatch.setattr(timing, "time_steps", time_steps)
    return factors


@pytest.mark.slow
def test_what_is_faster_for_certain_is_kept_on_top_of_the_others(
    config: Path, tmp_path: Path, capsys: Captured, in_process: list[str], clock: Factors
) -> None:
    clock |= {"loader.mode=streamed": 1.5, "loader.workers=0": 1.2, "precision.threads=1": 0.8}
    only = [word for path in ("loader.mode", "loader.workers", "precision.threads") for word in ("--only", path)]
    words = ["--workspace", str(tmp_path / "ws"), "--json"]
    assert main(["study", "speed", str(config), *only, *words, "--out", str(tmp_path / "new.toml")]) == 0
    told = json_line(capsys)
    assert told["adopt"] == {"loader.mode": "streamed", "loader.workers": 0}
    details = told["details"]
    assert details["low"] < 1.8 < details["high"]
    assert details["ratio"] == pytest.approx(1.8, rel=0.05)
    assert "The results stay the same to the bit" in told["sentence"]
    tried = {(each["setting"], each["value"]): each for each in details["tried"]}
    assert tried["loader.mode", "streamed"]["losses_apart"] == 0.0
    assert tried["precision.threads", 1]["kept"] is False
    assert tried["precision.threads", 1]["high"] < 1.0
    assert load_config(tmp_path / "new.toml") == load_config(config, ["loader.mode=streamed", "loader.workers=0"])
    assert not (tmp_path / "ws" / "runs").exists()


@pytest.mark.parametrize("busy", first_of([95.0, 0.0]))
def test_chance_alone_keeps_nothing(
    config: Path,
    tmp_path: Path,
    capsys: Captured,
    in_process: list[str],
    clock: Factors,
    monkeypatch: pytest.MonkeyPatch,
    busy: float,
) -> None:
    monkeypatch.setattr("training.studies.speed.study.psutil.cpu_percent", lambda interval: busy)
    only = ["--only", "loader.mode", "--only", "precision.threads"]
    words = ["study", "speed", str(config), *only, "--workspace", str(tmp_path / "ws"), "--json"]
    assert main([*words, "--out", str(tmp_path / "new.toml")]) == 0
    told = json_line(capsys)
    assert told["adopt"] == {}
    assert "Nothing that was tried" in told["sentence"]
    assert ("Other programs took 95%" in told["sentence"]) == (busy > 0.0)
    assert not (tmp_path / "new.toml").exists()


@pytest.mark.slow
def test_what_new_processes_do_not_confirm_is_not_proposed(
    config: Path,
    tmp_path: Path,
    capsys: Captured,
    in_process: list[str],
    clock: Factors,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Faster as long as the first pair of processes lives, as on a machine that slows one of them all the while."""
    clock["loader.mode=streamed"] = 1.5

    def measure_once(*given: Any) -> dict[str, Any]:
        measured = measure_pair(*given)
        clock.clear()
        return measured

    monkeypatch.setattr("training.studies.speed.study.measure_pair", measure_once)
    words = ["study", "speed", str(config), "--only", "loader.mode", "--workspace", str(tmp_path / "ws"), "--json"]
    assert main([*words, "--out", str(tmp_path / "new.toml")]) == 0
    told = json_line(capsys)
    assert told["sentence"].startswith("Nothing is proposed: in new processes it is ")
    assert told["adopt"] == {}
    assert told["details"]["tried"][0]["kept"]
    assert told["details"]["low"] < 1.0
    assert not (tmp_path / "new.toml").exists()


@pytest.mark.slow
def test_what_changes_the_results_is_said(
    tmp_path: Path, capsys: Captured, in_process: list[str], clock: Factors, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock |= {"precision.channels_last=on": 2.0, "loader.mode=streamed": 2.0}
    save_config(
        tiny_images(write_idx(tmp_path / "idx"), "precision.channels_last=off", "model.channels=[16, 32]"),
        tmp_path / "c.toml",
    )
    only = ["--only", "precision.channels_last", "--only", "loader.mode"]
    words = ["study", "speed", str(tmp_path / "c.toml"), *only, "--workspace", str(tmp_path / "ws"), "--json"]
    assert main(words) == 0
    told = json_line(capsys)
    assert told["adopt"] == {"loader.mode": "streamed", "precision.channels_last": "on"}
    seen = any(
        each["kept"] and each["losses_apart"] for each in told["details"]["tried"]
    )  # this processor may round alike
    assert f"Results {'change' if seen else MAY_CHANGE} with precision.channels_last=on." in told["sentence"]
    # A setting that should change nothing and does, too.
    real = timing.open_steps

    def open_otherwise(arm: str, settings: dict[str, Any]) -> dict[str, Any]:
        told = real(arm, settings)
        told["losses"] = [value * (1.0 + 1e-6 * (told["mode"] == "streamed")) for value in told["losses"]]
        return told

    monkeypatch.setattr(timing, "open_steps", open_otherwise)
    assert main([*words[:3], "--only", "loader.mode", *words[-3:]]) == 0
    told = json_line(capsys)
    assert "Results change with loader.mode=streamed." in told["sentence"]
    assert any("which this setting should not do" in note for note in told["notes"])


@pytest.mark.slow
def test_what_was_measured_is_not_measured_again(
    config: Path,
    tmp_path: Path,
    capsys: Captured,
    in_process: list[str],
    clock: Factors,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Killed(BaseException):
        pass

    clock |= {"loader.mode=streamed": 1.5}
    measured: list[str] = []
    real = timing.open_steps

    def die_at_threads(arm: str, settings: dict[str, Any]) -> dict[str, Any]:
        measured.append(f"{settings['loader']['mode']} {settings['precision'].get('threads')}")
        if settings["precision"].get("threads") and len(measured) < 2 * PAIRS + 4:
            raise Killed
        return real(arm, settings)

    monkeypatch.setattr(timing, "open_steps", die_at_threads)
    only = ["--only", "loader.mode", "--only", "precision.threads"]
    words = ["--workspace", str(tmp_path / "ws"), "--json"]
    with pytest.raises(Killed):
        main(["study", "speed", str(config), *only, *words])
    before = len(measured)
    (study,) = list_studies(tmp_path / "ws")
    measured += ["-"] * 6
    assert main(["study", "--resume", study.id, *words]) == 0
    assert json_line(capsys)["adopt"] == {"loader.mode": "streamed"}
    again = measured[before + 6 :]
    assert again.count("auto None") == PAIRS  # beside the whole; not for the mode, which was measured


def test_a_candidate_that_cannot_run_is_named(
    config: Path,
    tmp_path: Path,
    capsys: Captured,
    in_process: list[str],
    clock: Factors,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = timing.open_steps

    def refuse(arm: str, settings: dict[str, Any]) -> dict[str, Any]:
        if settings["precision"]["compile"] != "off":
            raise InputError("precision.compile: there is no C++ compiler.")
        return real(arm, settings)

    monkeypatch.setattr(timing, "open_steps", refuse)
    words = [
        "study",
        "speed",
        str(config),
        "--only",
        "precision.compile",
        "--workspace",
        str(tmp_path / "ws"),
        "--json",
    ]
    assert main(words) == 0
    told = json_line(capsys)
    assert told["adopt"] == {}
    assert len(told["details"]["refused"]) == 2
    assert any("there is no C++ compiler" in note for note in told["notes"])
    assert main([*words[:3], "--only", "optimizer.lr", *words[-3:]]) == 2
    assert "is nothing that is tried" in capsys.readouterr().err


def test_ratios_are_told_with_what_chance_does() -> None:
    random = np.random.default_rng(1)
    first = 100.0 * np.exp(0.05 * random.normal(size=(8, 3)))
    faster = read_ratio({"rates": [first, 1.3 * first[::-1]]}, 0.95)
    assert faster.is_faster
    assert faster.interval.low < 1.3 < faster.interval.high
    assert not read_ratio({"rates": [first, first[::-1]]}, 0.95).is_faster
    # A pair of processes that differ for as long as they live says no more with more turns, and a turn as the machine slows down nothing.
    lives = np.exp(0.05 * random.normal(size=(8, 1)))
    few, many = (read_ratio({"rates": [np.ones((8, n)), np.repeat(lives, n, 1)]}, 0.95).interval for n in (1, 31))
    assert few == pytest.approx(many)
    slowed = first.copy()
    slowed[2, 1] /= 5.0
    assert read_ratio({"rates": [first, 1.3 * slowed]}, 0.95).interval == pytest.approx([1.3] * 3)
    assert compare_losses([[1.0, 2.0], [1.0, 2.0]]) == 0.0
    assert compare_losses([[1.0, 2.0], [1.0, 2.002]]) == pytest.approx(1e-3)


def test_what_is_tried_suits_data_and_device(tmp_path: Path) -> None:
    points = {each.path for each in list_candidates(tiny(), "cpu", 2)}
    assert points == {"loader.mode", "loader.workers", "precision.threads", "precision.compute", "precision.compile"}
    images = {each.path for each in list_candidates(tiny_images(write_idx(tmp_path)), "cuda", 2)}
    assert {"precision.channels_last", "precision.compute", "precision.cuda_graphs", "loader.cache"} <= images
    assert "precision.threads" not in images
    assert not suits_mode(Candidate("loader.workers", 2), "resident")
    assert suits_mode(Candidate("loader.workers", 2), "streamed")
    assert not Candidate("loader.workers", 2).affects_result
    assert Candidate("precision.compile", "step").affects_result


@pytest.mark.server  # many minutes
def test_the_speed_check_in_processes_of_its_own(config: Path, tmp_path: Path, capsys: Captured) -> None:
    words = ["study", "speed", str(config), "--only", "loader.mode", "--workspace", str(tmp_path / "ws"), "--json"]
    assert main(words) == 0
    (tried,) = json_line(capsys)["details"]["tried"]
    assert tried["setting"] == "loader.mode"
    assert tried["losses_apart"] == 0.0
    assert 0.0 < tried["low"] <= tried["ratio"] <= tried["high"]


@pytest.mark.slow
def test_a_fused_optimizer_is_measured_beside_its_foreach_form(
    config: Path, tmp_path: Path, capsys: Captured, in_process: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    forms: dict[str, str] = {}
    real = timing.open_steps

    def open_steps(arm: str, settings: dict[str, Any], fused: bool = True) -> dict[str, Any]:
        told = real(arm, settings, fused)
        forms[arm] = told["optimizer"]
        return told

    def time_steps(arm: str, seconds: float) -> dict[str, Any]:
        return {"samples": 1500.0 if forms[arm] == "fused" else 1000.0, "steps": 1, "seconds": 1.0}

    monkeypatch.setattr("training.studies.speed.measure.PAIRS", PAIRS)
    monkeypatch.setattr(timing, "open_steps", open_steps)
    monkeypatch.setattr(timing, "time_steps", time_steps)
    words = ["study", "speed", str(config), "--only", "fused", "--workspace", str(tmp_path / "ws"), "--json"]
    assert main(words) == 0
    told = json_line(capsys)
    assert forms == {"A": "foreach", "B": "fused"}
    assert told["details"]["fused"]["ratio"] == pytest.approx(1.5)
    assert told["adopt"] == {}  # it is taken already
    assert any("1.5 times as fast" in note and "foreach" in note for note in told["notes"])
    forms.clear()
    assert main([*words, "--set", "optimizer.kind=nadam"]) == 0
    told = json_line(capsys)
    assert told["details"]["fused"] == {"never_run": "nadam has no fused form on this device (cpu)"}
    assert any("never run" in note for note in told["notes"])


def test_what_this_machine_cannot_show_is_marked_never_run() -> None:
    assert list_never_run(tiny(), "cpu") == [
        "precision.compute=tf32",
        "precision.compute=fp16",
        "precision.cuda_graphs=on",
    ]
    assert list_never_run(tiny(), "cuda") == []
