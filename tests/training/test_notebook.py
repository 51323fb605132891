"""``from training import load_config, run, resume, load_model, predict``: the five names for notebooks."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pydantic import JsonValue

from tests.training.commands import Captured, json_line
from training import load_config, load_model, predict, resume, run
from training.cli import main
from training.engine.runs.run_writer import RunWriter
from training.errors import ConfigError, InputError, TrainingError
from training.events import Event
from training.runs.records.series import read_series

CHECKOUT = Path(__file__).parents[2]
SHORT: dict[str, JsonValue] = {"loop.epochs": 2, "schedule.warmup": 0, "dataset.samples": 300}
_WINDOW = {"pyside6", "pyside6-essentials", "shiboken6", "pyqtgraph"}


def test_a_configuration_is_loaded_without_torch_and_qt() -> None:
    code = (
        "import sys, training\n"
        "assert 'training.notebook' not in sys.modules and {'run', 'predict'} < set(dir(training))\n"
        "from training import load_config, run, resume, load_model, predict\n"
        "load_config('preset:spiral')\n"
        "print({'torch', 'PySide6', 'pydantic'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert done.stdout == "{'pydantic'}\n"


def test_the_ten_lines_of_the_help_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    text = (CHECKOUT / "resources" / "help" / "command-line.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```python\n(from training import .*?)```", text, re.DOTALL)
    assert len(lines.splitlines()) <= 11
    monkeypatch.setenv("TRAINWRIGHT_WORKSPACE", str(tmp_path))
    exec(compile(lines, "command-line.md", "exec"), {})  # the person's own words
    told = capsys.readouterr()
    status, accuracy, folder = told.out.splitlines()[0].split()
    assert status == "completed"
    assert 0.4 < float(accuracy) <= 1
    assert Path(folder).parent == tmp_path / "runs"
    assert re.fullmatch(r"\('arm [123]',\) 0\.\d+", told.out.splitlines()[1])
    assert re.search(r"epoch   3 .* val/accuracy ", told.err)


def test_a_run_has_the_bits_of_the_command_line(tmp_path: Path, capsys: Captured) -> None:
    ours = run("preset:spiral", SHORT, workspace=tmp_path / "ours", quiet=True)
    assert capsys.readouterr().err == ""
    words = [word for name, value in SHORT.items() for word in ("--set", f"{name}={value}")]
    assert main(["run", "preset:spiral", *words, "--workspace", str(tmp_path / "theirs"), "--json"]) == 0
    theirs = Path(json_line(capsys)["folder"])
    assert ours.step > 0
    rows = [read_series(place / "series.bin") for place in (Path(ours.folder), theirs)]
    for name in ("loss", "lr", "grad_norm"):
        np.testing.assert_array_equal(rows[0][name], rows[1][name])
    last = Path(str(ours.last_checkpoint)).name
    weights = [place / "checkpoints" / last / "model.safetensors" for place in (Path(ours.folder), theirs)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_an_interrupt_keeps_the_run_and_resume_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    emit = RunWriter.emit

    def interrupt(writer: RunWriter, event: Event) -> None:
        emit(writer, event)
        if event.kind == "epoch_ended" and writer.step < 10:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as person:
        person.setattr(RunWriter, "emit", interrupt)
        stopped = run("preset:spiral", SHORT, workspace=tmp_path, quiet=True)
    assert stopped.status == "stopped"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    done = resume(stopped.run, workspace=tmp_path, quiet=True)
    assert (done.status, done.run) == ("completed", stopped.run)
    model = load_model(done.run, workspace=tmp_path)
    points = np.array([[0.1, 0.3], [-0.4, 0.2]], np.float32)
    rows = [dict(zip("xy", map(float, point), strict=True)) for point in points]
    assert [each.chances for each in predict(model, points)] == [each.chances for each in predict(done.folder, rows)]
    with pytest.raises(InputError, match=r"^row 2: has no column 'y'\."):
        predict(model, [rows[0], {"x": 0.1}])
    lenient = predict(model, [{"x": 0.1}, rows[0]], strict=False)
    assert [(each.refused, bool(each.chances)) for each in lenient] == [("has no column 'y'", False), ("", True)]
    with pytest.raises(
        InputError, match=r"an array of the shape \(2, 3\) was given, and the model takes \(2,\), or \(n, 2\)"
    ):
        predict(model, np.zeros((2, 3), np.float32))
    with pytest.raises(InputError, match="an array of complex128 was given, and the model takes float32"):
        predict(model, np.zeros(2, complex))
    with pytest.raises(InputError, match=r"an array of the shape \(\) was given"):
        predict(model, 5)  # type: ignore[arg-type]


def test_what_is_wrong_is_raised_with_the_sentence_of_the_command_line(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "lab.toml").write_text('[optimizer]\nkind = "adamw"\nlr = -1.0\n')
    with pytest.raises(ConfigError, match=r"lab\.toml: optimizer\.lr: ") as wrong:
        load_config(tmp_path / "lab.toml")
    assert wrong.value.problems[0].path == "optimizer.lr"
    assert main(["run", str(tmp_path / "lab.toml"), "--workspace", str(tmp_path)]) == 2
    assert str(wrong.value) in capsys.readouterr().err
    for call, sentence in (
        (lambda: load_config("preset:spirals"), "preset:spirals: there is no such preset; did you mean 'spiral'?"),
        (lambda: load_config("preset:spiral", {"loop.epoch": 3}), "loop.epoch"),
        (lambda: run(load_config("preset:spiral"), SHORT), "changes: belong to load_config"),
        (lambda: resume("nothing", workspace=tmp_path), "nothing"),
        (lambda: load_model(tmp_path, workspace=tmp_path), str(tmp_path)),
    ):
        with pytest.raises(InputError, match=re.escape(sentence)):
            call()
    wild: dict[str, JsonValue] = {
        "optimizer.kind": "sgd",
        "optimizer.lr": 100.0,
        "loop.clip_norm": None,
        "loop.max_skipped_steps": 1,
        "loop.epochs": 9,
    }
    with pytest.raises(TrainingError, match="finite"):
        run("preset:spiral", {**SHORT, **wild}, workspace=tmp_path, quiet=True)


def test_the_engine_needs_no_package_of_the_window() -> None:
    """Whatever is installed here is followed to what it needs: nothing of it is Qt's."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert {canonicalize_name(Requirement(text).name) for text in extras["studio"]} == {
        "pyqtgraph",
        "pyside6-essentials",
    }
    found: set[str] = set()
    waiting = [Requirement(text) for text in (*project["dependencies"], *extras["engine"])]
    while waiting:
        each = waiting.pop()
        name = canonicalize_name(each.name)
        if name not in found and (each.marker is None or each.marker.evaluate({"extra": ""})):
            found.add(name)
            waiting += [Requirement(text) for text in requires(name) or ()]
    assert len(found) > 30
    assert not found & _WINDOW
