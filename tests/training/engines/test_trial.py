"""Pythons that are tried as engines: real environments, with torches that work, lack, break, crash and hang."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import training
from tests.training.commands import Captured, json_line
from tests.training.engines.stand_ins import make_python, torch_source
from training.cli import main
from training.engines.answer import Answer, judge
from training.engines.requirements import Requirement, is_met
from training.engines.search import find_engines
from training.engines.trial import find_answer, judge_engine, keep_answer, try_engine

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the environments here are POSIX's")


def answer_of(python: str, seconds: float = 120.0) -> Answer:
    answer = try_engine(python, seconds=seconds)
    assert answer is not None
    return answer


def test_an_engine_that_works_says_so_and_what_is_left_out(tmp_path: Path) -> None:
    python = make_python(tmp_path / "good", torch_source("2.13.0+cu130", cuda="13.0"))
    answer = answer_of(python)
    verdict = judge_engine(python, answer)
    assert (answer.torch, answer.build, answer.training) == ("2.13.0+cu130", "CUDA 13.0", training.__version__)
    assert [(each.device, each.problem) for each in answer.devices] == [("cpu", "")]
    assert verdict.state == "limited"
    assert verdict.lacks == (
        "torchvision is not installed: torchvision's networks and some of its datasets are left out.",
    )


@pytest.mark.parametrize(
    ("torch", "problem"),
    [
        (None, "torch is not installed in it."),
        ("raise ImportError('libcudnn.so.9: cannot open shared object file: No such file or directory')", "its library libcudnn.so.9 is missing"),
        ("raise OSError('/lib/libm.so.6: version `GLIBC_2.38\\' not found')", "this system is older than it was built for (GLIBC_2.38)"),
        ("raise SystemExit('no')", "torch is broken: SystemExit: no."),
        ("import os; os.abort()", "torch is broken: loading it, it crashed (SIGABRT)."),
    ],
)  # fmt: skip
def test_a_broken_torch_is_explained_in_one_sentence(tmp_path: Path, torch: str | None, problem: str) -> None:
    python = make_python(tmp_path / "broken", torch)
    verdict = judge_engine(python, answer_of(python))
    assert verdict.state == "unfit"
    assert problem in verdict.problem
    assert python in verdict.remedy or "older torch" in verdict.remedy


def test_one_that_hangs_is_given_up_after_a_while(tmp_path: Path) -> None:
    python = make_python(tmp_path / "hangs", "import time; time.sleep(1000)")
    assert answer_of(python, seconds=1.0).ended == "it gave no answer within 1 seconds"
    assert try_engine(python, lambda: True) is None


def test_a_device_that_computes_wrongly_is_told(tmp_path: Path) -> None:
    wrong = torch_source("2.13.0").replace("left.value * right.value", "left.value * right.value + len(calls)")
    wrong = wrong.replace("def mm(left, right): ", "calls = []\ndef mm(left, right): calls.append(0); ")
    python = make_python(tmp_path / "wrong", wrong)
    verdict = judge_engine(python, answer_of(python))
    assert verdict.problem == "CPU computes wrong products of matrices."


def test_what_is_missing_and_what_is_too_old_is_named(tmp_path: Path) -> None:
    python = make_python(tmp_path / "lacks", missing=("polars", "psutil", "onnx"))
    verdict = judge_engine(python, answer_of(python))
    assert verdict.problem == "It lacks psutil, polars."
    assert verdict.remedy.endswith("pip install psutil polars")
    python = make_python(tmp_path / "old", numpy="1.20")
    assert judge_engine(python, answer_of(python)).problem == "It has numpy 1.20 (needed: >=1.26)."


def test_another_version_of_the_engine_and_a_system_python_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    good = Answer(python="3.12.1", torch="2.13.0", training="0.0.1")
    monkeypatch.setattr("training.engines.answer.find_engine_wheel", lambda: None)
    assert judge(good, "/p", []).problem.startswith("It holds version 0.0.1 of Trainwright's engine")
    assert judge(good, "/p", []).remedy.endswith(f" install trainwright=={training.__version__}")
    monkeypatch.setattr("training.engines.answer.find_engine_wheel", lambda: Path("/the program/ours.whl"))
    assert judge(good, "/p", []).remedy.endswith(' install "/the program/ours.whl"')
    assert "install an engine instead" in judge(good.model_copy(update={"externally_managed": True}), "/p", []).remedy
    assert judge(Answer(python="3.9.2"), "/p", []).problem == "It is Python 3.9.2, and Python 3.11 or newer is needed."


def test_variables_of_our_python_do_not_reach_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = make_python(tmp_path / "good")
    (tmp_path / "torch.py").write_text("raise RuntimeError('the wrong one')")
    for name, value in {"PYTHONPATH": tmp_path, "PYTHONHOME": tmp_path, "VIRTUAL_ENV": tmp_path}.items():
        monkeypatch.setenv(name, str(value))
    assert answer_of(python).torch == "2.13.0"


def test_an_answer_is_kept_until_something_is_installed(tmp_path: Path) -> None:
    python = make_python(tmp_path / "env", None)
    answer = answer_of(python)
    keep_answer(python, answer)
    assert find_answer(python) == answer
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    os.utime(site, ns=(1, 1))
    assert find_answer(python) is None
    Path(python).unlink()
    assert judge_engine(python, answer).state == "gone"


def test_environments_are_found_each_once(tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conda, version = tmp_path / "conda", isolated_home / ".pyenv/versions/3.12.1"
    for folder in (conda, version):
        (folder / "bin").mkdir(parents=True)
        (folder / "bin/python").symlink_to(sys.executable)
        (folder / "conda-meta").mkdir()
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    (isolated_home / ".conda").mkdir()
    (isolated_home / ".conda/environments.txt").write_text(f"{conda}\n{conda}/\n/gone\n")
    own = make_python(tmp_path / "project" / ".venv", None)
    assert main(["engines", "add", own]) == 1  # it cannot train
    found = [(each.origin, each.name) for each in find_engines() if each.origin not in ("own", "system", "checkout")]
    assert found == [("conda", "conda"), ("pyenv", "3.12.1"), ("added", "project/.venv")]
    assert [each.origin for each in find_engines()].count("own") == 1


def test_engines_are_listed_tried_added_and_removed(tmp_path: Path, capsys: Captured) -> None:
    python = make_python(tmp_path / "mine")
    assert main(["engines", "add", str(tmp_path / "mine"), "--json"]) == 0
    record = json_line(capsys)
    assert (record["name"], record["python"], record["state"], record["torch"]) == ("mine", python, "limited", "2.13.0")
    assert main(["engines", "list"]) == 0
    assert "mine: ready, with parts left out" in capsys.readouterr().out
    assert main(["engines", "try", "mine"]) == 0
    assert main(["engines", "remove", "mine"]) == 0
    assert main(["engines", "list", "--json"]) == 0
    assert python not in [each["python"] for each in json_line(capsys)["engines"]]
    assert Path(python).exists()  # only forgotten
    assert main(["engines", "try", str(tmp_path / "nothing")]) == 2
    assert main(["engines", "remove", sys.executable]) == 2
    assert "leaves it alone" in capsys.readouterr().err


def test_removing_one_asks_for_what_the_queue_has_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("TRAINWRIGHT_WORKSPACE", str(tmp_path / "workspace"))
    python = make_python(tmp_path / "mine")
    assert main(["engines", "add", python]) == 0
    for _ in range(7):
        assert main(["queue", "add", "preset:sample", "--engine", python]) == 0
    assert main(["queue", "add", "preset:spiral"]) == 0
    assert main(["engines", "remove", "mine"]) == 2
    told = capsys.readouterr().err
    assert "The queue has runs for mine: shapes, shapes, shapes, shapes, shapes and 2 more; without it" in told
    assert main(["engines", "remove", "mine", "--yes"]) == 0


@pytest.mark.parametrize(
    ("specifier", "version", "met"),
    [
        (">=2.7", "2.13.0+cu130", True),
        (">=2.7", "2.6.1", False),
        (">=1.26,<3", "3.0", False),
        ("==1.0", "1.0.0", True),
        ("!=1.5", "1.5", False),
        ("", "1", True),
        (">=2024.6", "2024.10.0rc1", True),
    ],
)
def test_versions_are_compared_by_their_numbers(specifier: str, version: str, met: bool) -> None:
    assert is_met(Requirement("a", specifier), version) is met


def test_a_damaged_memory_is_as_good_as_none(isolated_home: Path) -> None:
    memory = isolated_home / "data/Trainwright/engines.json"
    memory.parent.mkdir(parents=True)
    memory.write_text(json.dumps({"added": 5, "trials": [], "x": "y"})[:-4])
    assert find_answer("/p") is None
    assert all(each.origin != "added" for each in find_engines())
