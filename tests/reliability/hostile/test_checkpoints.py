"""Hostile weights and manifests: resumed, branched from, shown and exported, each is one sentence."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.cases import some_of
from tests.reliability.hostile.checkpoints import EXPORTED, MANIFESTS, WEIGHTS
from tests.reliability.hostile.material import Run, copy_run
from tests.reliability.hostile.trial import attempt, guarded

pytestmark = pytest.mark.timeout(120)


def refuse_export(run: Run, out: Path, *kinds: str) -> None:
    """No export, and nothing of one."""
    for kind in kinds:
        attempt("export", run.checkpoint, "--to", kind, "--out", out / ("x.py" if kind == "script" else "x")).judge(2)
    assert not out.exists()


@pytest.mark.parametrize("name", some_of(WEIGHTS, 6))
def test_hostile_weights_are_one_sentence(name: str, run: Run, tmp_path: Path) -> None:
    WEIGHTS[name](run)
    refuse_export(run, tmp_path / "exported", "safetensors")
    attempt("resume", run.path).judge(2)


@pytest.mark.parametrize("name", some_of(MANIFESTS, 6))
def test_a_hostile_manifest_is_one_sentence(name: str, run: Run) -> None:
    MANIFESTS[name](run)
    attempt("show", run.path, "--json").judge(0)
    others = name == "fingerprint of another dataset"  # which a branch may well be trained on
    attempt("resume", run.checkpoint, "--set", "loop.epochs=3").judge(0 if others else 2)
    attempt("resume", run.path).judge(0, 2)  # 0: it went on from the checkpoint before


@pytest.mark.parametrize("name", some_of(EXPORTED, 4))
def test_hostile_facts_are_not_exported(name: str, run: Run, tmp_path: Path) -> None:
    EXPORTED[name](run)
    refuse_export(run, tmp_path / "exported", "safetensors", "script")


@pytest.mark.parametrize(
    "name",
    [
        '"";open(%r,"w");""',
        '"""\nopen(%r,"w")\n"""',
        '\\"""\nopen(%r,"w")\n"""',
        "'''\nopen(%r,'w')\n'''",
        "{{ open(%r,'w') }}{%% print(1) %%}",
        "#IMPORTS#\nopen(%r,'w')",
        "\\",
        '"',
        "\u202e\x1b[31m",
    ],
)
def test_no_name_becomes_code_in_an_exported_script(
    name: str, good_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script is run to be compared: whatever leaves its docstring is executed."""
    with guarded(tmp_path / "outside") as sentinel:
        run = copy_run(good_run, tmp_path, sentinel)
        monkeypatch.chdir(tmp_path)
        name = name % "EXECUTED" if "%r" in name else name
        config = run.manifest()["config"]
        run.reseal(config=config | {"name": "".join(letter for letter in name if letter.isprintable())[:80] or "x"})
        renamed = run.path.with_name(name.replace("/", "_"))
        run.path.rename(renamed)
        moved = Run(renamed, sentinel)
        out = tmp_path / f"{name.replace('/', '_')}.py"
        attempt("export", moved.checkpoint, "--to", "script", "--out", out).judge(0)
        assert ast.get_docstring(ast.parse(out.read_text(encoding="utf-8")))
        assert not (tmp_path / "EXECUTED").exists()
