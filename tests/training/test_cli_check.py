"""``python -m training check``: a finding's fix goes to a new file, a mute leaves it out."""

from __future__ import annotations

import signal
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from training.cli import main
from training.config import load_config
from training.config.diff import diff
from training.data.duplicates import find_duplicates


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """One that freezes random weights."""
    path = tmp_path / "run.toml"
    path.write_text(
        '[dataset]\nkind = "spiral"\nsamples = 300\n[model]\nkind = "mlp"\nhidden = [8]\n'
        '[optimizer]\nkind = "adamw"\nfreeze = "all_but_head"\n[loop]\nbatch_size = 16\nepochs = 40\n'
    )
    return path


def test_a_fix_is_written_to_a_new_file(config: Path, capsys: Captured) -> None:
    before, new = config.read_bytes(), config.with_name("new.toml")
    arguments = ["check", str(config), "--json", "--workspace", str(config.parent / "w")]
    assert main([*arguments, "--fix", "model.frozen_at_random", "--out", str(new)]) == 0
    record = json_line(capsys)
    [found] = [item for item in record["findings"] if item["level"] == "warning"]
    assert (found["code"], found["fix"]) == ("model.frozen_at_random", {"optimizer.freeze": "off"})
    assert record["changes"] == {"optimizer.freeze": "off"}
    assert config.read_bytes() == before
    assert [change.path for change in diff(load_config(config), load_config(new))] == ["optimizer.freeze"]
    assert main([*arguments, "--mute", "model.frozen_at_random", "--out", str(new)]) == 2
    assert "is there already" in capsys.readouterr().err
    new.unlink()
    assert main([*arguments, "--mute", "model.frozen_at_random", "--out", str(new)]) == 0
    assert not [item for item in json_line(capsys)["findings"] if item["level"] == "warning"]
    assert load_config(new).muted_findings == ("model.frozen_at_random",)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fix", "model.frozen_at_random"), "add --out NEW.toml"),
        (("--fix", "norm.tiny_batch", "--out", "{new}"), "--fix norm.tiny_batch: was not found here"),
        (("--fix", "loss.start", "--out", "{new}"), "--fix loss.start: no setting mends it"),
        (("--mute", "norm.tiny"), "No finding has the code norm.tiny; the nearest is norm.tiny_batch."),
        (("--out", "{new}"), "neither is given"),
    ],
)
def test_what_cannot_be_written_is_refused(config: Path, capsys: Captured, options: tuple[str, ...], said: str) -> None:
    new = config.with_name("new.toml")
    arguments = [option.format(new=new) for option in options]
    assert main(["check", str(config), "--workspace", str(config.parent / "w"), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not new.exists()


def test_ctrl_c_ends_a_check_and_writes_nothing(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(sys.modules["training.doctor.preflight"], "quick_findings", interrupt)
    new = config.with_name("new.toml")
    fix = ["--fix", "model.frozen_at_random", "--out", str(new)]
    assert main(["check", str(config), "--workspace", str(config.parent / "w"), *fix]) == 130
    assert not new.exists()


def test_of_many_samples_all_are_compared_on_request(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.doctor.split.find_duplicates", partial(find_duplicates, most=50))
    arguments = ["check", str(config), "--workspace", str(config.parent / "w"), "--json"]
    main(arguments)
    [found] = [item for item in json_line(capsys)["findings"] if item["code"] == "data.sampled"]
    assert found["title"].startswith("50 of 240 training samples (21%) and 50 of 60 held-out ones (83%)")
    assert "check --whole compares all of them" in found["advice"]
    main([*arguments, "--whole"])
    assert "data.sampled" not in [item["code"] for item in json_line(capsys)["findings"]]
