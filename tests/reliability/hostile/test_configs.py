"""Hostile configurations and ``--set``: each is one sentence, and nothing begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import some_of
from tests.reliability.hostile.configs import CONFIGS, ORDINARY, OVERRIDES
from tests.reliability.hostile.trial import attempt, guarded

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize("name", some_of(CONFIGS, 5))
def test_a_hostile_configuration_is_one_sentence(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, workspace = tmp_path / "here", tmp_path / "workspace"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with guarded(tmp_path / "outside"):
        CONFIGS[name](folder / "config.toml")
        before = sorted(folder.iterdir())
        for command in ("run", "check"):
            outcome = attempt(command, folder / "config.toml", "--workspace", workspace)
            outcome.judge(2)
            assert outcome.err.count("\n") == 1
        assert sorted(folder.iterdir()) == before
        assert not list(tmp_path.glob("workspace/runs/*"))


@pytest.mark.parametrize("override", OVERRIDES, ids=lambda text: ascii(text[:40]))
def test_a_hostile_setting_is_one_sentence(override: str, tmp_path: Path) -> None:
    config, workspace = tmp_path / "config.toml", tmp_path / "workspace"
    config.write_text(ORDINARY, encoding="utf-8")
    attempt("run", config, "--workspace", workspace, "--set", override).judge(2)
    assert not list(tmp_path.glob("workspace/runs/*"))
