"""``python -m training generate`` goes on with a text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.training.commands import Captured, json_line
from tests.training.data.text_sample import write_text
from tests.training.tiny import tiny
from training.cli import main
from training.config import parse_config
from training.engine.runs.run import start_run


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has learned to spell, called "text", and one of points, called "tiny"."""
    folder = tmp_path_factory.mktemp("generation")
    for vocabulary in ("characters", "bpe"):
        data: dict[str, Any] = {
            "name": vocabulary,
            "dataset": {
                "kind": "text",
                "path": str(write_text(folder / "data")),
                "context": 16,
                "vocabulary": vocabulary,
                "vocabulary_size": 300,
            },
            "model": {"kind": "gpt", "layers": 1, "heads": 2, "width": 32},
            "objective": {"kind": "language_model"},
            "optimizer": {"kind": "muon", "lr": 0.02},
            "loop": {"batch_size": 16, "max_steps": 100, "epochs": 20},
            "precision": {"device": "cpu"},
        }
        assert start_run(parse_config(data), folder).status == "completed"
    start_run(tiny("loop.max_steps=1"), folder)
    return folder


def generated(capsys: Captured, workspace: Path, run: str, *options: str) -> str:
    assert main(["generate", run, *options, "--workspace", str(workspace), "--json"]) == 0
    return str(json_line(capsys)["text"])


@pytest.mark.parametrize("run", ["characters", "bpe"])
def test_goes_on_with_what_it_learned(run: str, workspace: Path, capsys: Captured) -> None:
    text = generated(capsys, workspace, run, "--prompt", "the quick", "--tokens", "120")
    assert text.startswith("the quick")
    assert len(text) >= 129
    words = "".join(letter if letter.isalpha() else " " for letter in text).split()[2:-1]
    learned = set(write_text(workspace / "data").read_text().replace(".", " ").split())
    assert sum(word in learned for word in words) > len(words) / 2
    assert generated(capsys, workspace, run, "--prompt", "the quick", "--tokens", "120") == text
    assert generated(capsys, workspace, run, "--prompt", "the quick", "--tokens", "120", "--seed", "1") != text
    likeliest = ("--prompt", "the quick", "--tokens", "30", "--temperature")
    assert generated(capsys, workspace, run, *likeliest, "0") == generated(
        capsys, workspace, run, *likeliest, "1", "--top-k", "1"
    )
    assert generated(capsys, workspace, run, *likeliest, "0") == generated(
        capsys, workspace, run, *likeliest, "1", "--top-p", "0.001"
    )


def test_is_printed_as_text(workspace: Path, capsys: Captured) -> None:
    assert main(["generate", "characters", "--tokens", "40", "--prompt", "fox", "--workspace", str(workspace)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("fox")
    assert printed.endswith("\n")
    assert printed.rstrip("\n") == generated(
        capsys, workspace, "characters", "--tokens", "40", "--prompt", "fox"
    ).rstrip("\n")


def test_bytes_of_a_prompt_that_was_never_seen_are_known(workspace: Path, capsys: Captured) -> None:
    assert generated(capsys, workspace, "bpe", "--prompt", "Ελλάδα 語", "--tokens", "5").startswith("Ελλάδα 語")


@pytest.mark.parametrize(
    ("run", "options", "sentence"),
    [
        ("characters", ("--prompt", "fox Ω"), "--prompt: the model never saw 'Ω'; leave it out."),
        ("characters", ("--prompt", ""), "--prompt: must hold something to go on with."),
        ("characters", ("--tokens", "-1"), "--tokens -1: must be between 0 and 1,000,000."),
        ("characters", ("--temperature", "nan"), "--temperature nan: must be 0 or greater, for example 0.8."),
        ("characters", ("--top-k", "0"), "--top-k 0: must be at least 1."),
        ("characters", ("--top-p", "0"), "--top-p 0: must be greater than 0 and at most 1."),
        ("characters", ("--seed", "-3"), "--seed -3: must be between 0 and 2,147,483,647."),
        ("tiny", (), " is no language model (its task is classification); choose another checkpoint."),
        ("nobody", (), "nobody: no such run in"),
    ],
)
def test_faults_are_told_in_a_sentence(
    run: str, options: tuple[str, ...], sentence: str, workspace: Path, capsys: Captured
) -> None:
    assert main(["generate", run, *options, "--workspace", str(workspace)]) == 2
    told = capsys.readouterr()
    assert sentence in told.err
    assert not told.out
