"""``python -m training report``: the page of a run, and the run that begins from it again."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.evaluations import make_evaluation, write_evaluation
from tests.training.commands import Captured, json_line
from tests.training.tiny import tiny, tiny_images, write_idx
from training.cli import main
from training.config import save_config
from training.embedded_config import EmbeddedConfig
from training.events import AttemptStarted, warn
from training.report.card import CardFile, render_card
from training.report.facts import read_facts
from training.report.report import MOST_BYTES, write_report
from training.runs.folder import RunFolder, create_run
from training.runs.records.about import About, write_about
from training.runs.records.history import EventLog
from training.runs.records.series import STEP_ROW, SeriesWriter

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">'


@pytest.mark.slow
def test_the_run_begins_from_its_report_again_to_the_bit(tmp_path: Path, capsys: Captured) -> None:
    data, config = write_idx(tmp_path / "data", 120), tmp_path / "config.toml"
    save_config(tiny_images(data, "loop.epochs=2"), config)
    workspace = ["--workspace", str(tmp_path / "ws"), "--json"]
    assert main(["run", str(config), *workspace]) == 0
    first = Path(json_line(capsys)["folder"])
    out = tmp_path / "elsewhere" / "report.html"
    out.parent.mkdir()
    assert main(["report", str(first), "--evaluate", "--out", str(out), *workspace]) == 0
    assert json_line(capsys)["bytes"] == out.stat().st_size < MOST_BYTES
    page = out.read_text()
    assert "<script" not in page
    assert page.count("data:image/webp;base64,") == 6
    assert "6 of 24 samples, those with the largest losses" in page
    losses = [float(each) for each in re.findall(r"<b>Loss</b> ([0-9.]+)<", page)]
    assert len(losses) == 6
    assert losses == sorted(losses, reverse=True)
    assert "<code>dataset.rotation</code>" in page
    assert re.search(r"Accuracy</td><td>[0-9.]+%</td><td>[0-9.]+% to [0-9.]+%</td><td>majority class", page)

    assert main(["run", str(out), *workspace]) == 0
    again = Path(json_line(capsys)["folder"])
    assert again != first
    assert (again / "series.bin").read_bytes() == (first / "series.bin").read_bytes()
    weights = "checkpoints/step-00000004/model.safetensors"
    assert (again / weights).read_bytes() == (first / weights).read_bytes()

    write_idx(data, 160)
    assert main(["run", str(out), *workspace]) == 2
    assert "not the one of the report" in capsys.readouterr().err
    assert len([*again.parent.iterdir()]) == 2  # nothing of it stays
    assert main(["run", str(out), "--set", "dataset.flip=false", *workspace]) == 0


def test_a_branch_begins_again_where_its_run_is(tmp_path: Path, capsys: Captured) -> None:
    config, place = tmp_path / "config.toml", tmp_path / "ws"
    save_config(tiny("loop.epochs=1", "precision.device=cpu"), config)
    assert main(["run", str(config), "--workspace", str(place), "--json"]) == 0
    first = Path(json_line(capsys)["folder"])
    assert main(["resume", str(first), "--set", "loop.epochs=2", "--set", "optimizer.weight_decay=0.3", "--json"]) == 0
    branch, out = Path(json_line(capsys)["folder"]), tmp_path / "report.html"
    assert main(["report", str(branch), "--out", str(out)]) == 0
    assert f"it began with step-00000008 of the run {first.name}" in out.read_text()
    assert main(["run", str(out), "--workspace", str(place), "--json"]) == 0
    again = Path(json_line(capsys)["folder"])
    assert again not in (first, branch)
    assert (again / "series.bin").read_bytes() == (branch / "series.bin").read_bytes()
    assert main(["resume", str(out), "--workspace", str(place)]) == 2
    assert f"is a report; python -m training run {out} begins its run again" in capsys.readouterr().err
    assert main(["run", str(out), "--workspace", str(tmp_path / "other")]) == 2
    needed = f"began with step-00000008 of the run {first.name}, which is needed and is not at {tmp_path / 'other'}"
    assert needed in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def _write_page(folder: RunFolder, out: Path) -> str:
    write_report(out, [read_facts(folder)])
    return out.read_text()


def test_nothing_that_others_wrote_becomes_markup(tmp_path: Path) -> None:
    folder = create_run(tmp_path, tiny(f"name={HOSTILE[:80]}"))
    write_about(folder, About(name=HOSTILE[:80], tags=("<b>tag",), notes=f"{HOSTILE}\nsecond"))
    columns: dict[str, NDArray[Any]] = {
        "index": np.arange(4),
        "loss": np.array([0.1, 3.0, 0.2, 0.3], np.float32),
        "target": np.array([0, 1, 1, 0], np.int32),
        "prediction": np.array([0, 0, 1, 0], np.int32),
        "scores": np.zeros((4, 2), np.float32),
        "log_sum": np.ones(4, np.float32),
    }
    write_evaluation(folder.path, columns, (HOSTILE, "<i>b</i>"), file_names=[f"{HOSTILE}{n}" for n in range(4)])
    log = EventLog(folder.events_file)
    log.emit(AttemptStarted(attempt=1, step=0, total_steps=1, steps_per_epoch=1, epochs=1, device=HOSTILE))
    log.emit(warn(HOSTILE, HOSTILE))
    log.close()
    page = _write_page(folder, tmp_path / "report.html")
    assert "&lt;script&gt;alert(1)" in page
    tags = {tag.lower() for tag in re.findall(r"<\s*([a-zA-Z]+)", page)}
    assert not tags & {"script", "img", "i"}
    file = CardFile("model.onnx", "onnx", 10, "0" * 64, "Proven.", 100, "vector", "class", 7, {"val/accuracy": 0.5}, 90)
    card = render_card(read_facts(folder), file)
    assert "; `preprocess.py` reads rows. " in card
    other = render_card(read_facts(folder), replace(file, name="model.safetensors", step=1))
    assert "; `model.py` loads it. " in other
    assert "As the run measured them at step 90, without intervals." in other
    assert "| Validation: Accuracy | 50.00% |" in other
    assert "pipeline_tag: tabular-classification" in card
    assert "\nlicense: unknown  # to be filled in by the author" in card
    assert (
        "<" not in card.partition("---\n")[2].partition("---\n")[2]
    )  # behind the front matter, where texts are quoted


def test_a_hundred_thousand_steps_stay_small_and_no_spike_is_lost(tmp_path: Path) -> None:
    folder = create_run(tmp_path, tiny())
    rows = np.zeros(100_000, STEP_ROW)
    rows["step"], rows["lr"], rows["loss"], rows["grad_norm"] = np.arange(1, 100_001), 0.1, 1.0, 1.0
    rows["loss"][54_321] = 900.0
    series = SeriesWriter(folder.series_file, STEP_ROW)
    series.append(rows)
    series.close()
    page = _write_page(folder, tmp_path / "report.html")
    assert len(page) < 300_000
    raw = re.search(r'<polyline class="raw c0" points="([^"]+)"', page)
    assert raw is not None
    heights = [float(point.split(",")[1]) for point in raw[1].split()]
    assert min(heights) < 20 < sorted(heights)[1]  # the spike reaches the top, alone


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda page: page.replace('data-sha256="', 'data-sha256="0'), "damaged or was changed"),
        (lambda page: re.sub(r"base64,(\w{40})", r"base64,AAAA", page), "damaged or was changed"),
        (lambda page: re.sub('<a class="config".*?</a>', "", page), "holds no configuration"),
        (lambda page: page + page, "compares 2 runs"),
    ],
)
def test_a_page_that_was_tampered_with_is_refused_in_a_sentence(
    tmp_path: Path, capsys: Captured, change: object, says: str
) -> None:
    page = _write_page(create_run(tmp_path, tiny()), tmp_path / "whole.html")
    report = tmp_path / "report.html"
    report.write_text(change(page))  # type: ignore[operator]
    assert main(["run", str(report), "--workspace", str(tmp_path / "ws")]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not (tmp_path / "ws").exists()


def test_settings_made_up_in_a_page_are_checked_like_any(tmp_path: Path, capsys: Captured) -> None:
    """The digest is no signature: whoever writes another configuration writes its digest, too."""
    code = tmp_path / "network.py"
    code.write_text("raise SystemExit('it was run')\n\n\ndef build(channels: int, classes: int): ...\n")
    made_up = EmbeddedConfig(f'[model]\nkind = "user_file"\npath = "{code}"\n')
    report = tmp_path / "report.html"
    report.write_text(f"<html>{made_up.link()}config</a></html>")
    assert main(["run", str(report), "--workspace", str(tmp_path / "ws")]) == 2
    assert "model.trusted" in capsys.readouterr().err
    assert base64.b64encode(made_up.text.encode()).decode() in report.read_text()


def test_several_runs_stand_beside_each_other(tmp_path: Path, capsys: Captured) -> None:
    runs = [create_run(tmp_path, tiny(f"name=run {number}", f"optimizer.weight_decay={number}")) for number in (1, 2)]
    for run, on in ((runs[0], "test"), (runs[0], "validation"), (runs[1], "validation")):
        make_evaluation(run.path, 60, on=on, step=8)
    out = tmp_path / "both.html"
    assert main(["report", *(str(run.path) for run in runs), "--out", str(out)]) == 0
    page = out.read_text()
    assert "run 1: validation at step 8. run 2: validation at step 8." in page  # of the part that both have
    assert "optimizer.weight_decay" in page
    assert page.count('<a class="config"') == 2
    assert main(["report", *(str(run.path) for run in runs)]) == 2
    assert "--out" in capsys.readouterr().err
