"""A language model writes a text after each validation, which changes nothing of the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.training.catalog.task_samples import small
from tests.training.commands import Captured, json_line
from training.cli import main
from training.config import RunConfig
from training.config.rules.inactive_settings import find_inactive
from training.engine.runs.run import start_run
from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.records.history import read_history


def config(folder: Path, *overrides: str) -> RunConfig:
    return small("language_model", folder / "data", "loop.validate_every_steps=1", "loop.ema_decay=0.5", *overrides)


def digests(folder: RunFolder) -> list[object]:
    """Of all that the last checkpoint holds."""
    newest = sorted(folder.checkpoints.iterdir())[-1]
    files = json.loads((newest / "manifest.json").read_text())["files"]
    return [files[name]["sha256"] for name in ("model.safetensors", "ema.safetensors", "state.pt")]


def test_texts_are_told_and_the_run_is_the_same(tmp_path: Path, capsys: Captured) -> None:
    asked = ("objective.sample_tokens=12", "objective.sample_prompt=the")
    written = RunFolder(Path(start_run(config(tmp_path, *asked), tmp_path).folder))
    plain = RunFolder(Path(start_run(config(tmp_path), tmp_path).folder))
    assert digests(written) == digests(plain)
    texts = read_history(written.events_file).texts
    assert [text.step for text in texts] == [1, 2, 3, 4]
    assert all(text.text.startswith("the") and len(text.text) == 15 for text in texts)
    assert not read_history(plain.events_file).texts
    (unread,) = (path for path in find_inactive(config(tmp_path)) if path.startswith("objective."))
    assert unread == "objective.sample_prompt"
    assert unread not in find_inactive(config(tmp_path, *asked))
    assert main(["show", str(written.path), "--json"]) == 0
    assert [text["text"] for text in json_line(capsys)["texts"]] == [text.text for text in texts]
    assert main(["show", str(written.path)]) == 0
    assert "text at step 4: 'the" in capsys.readouterr().out


def test_a_prompt_that_the_vocabulary_lacks_is_refused(tmp_path: Path) -> None:
    asked = config(tmp_path, "objective.sample_tokens=3", "objective.sample_prompt=Ω")
    with pytest.raises(InputError, match=r"objective\.sample_prompt: the training text has no 'Ω'"):
        start_run(asked, tmp_path)
