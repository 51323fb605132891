"""A whole journey by what a screen reader is told, and nothing else: from the settings over training to the evaluation."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.servers.debian import SCREEN_READER
from tests.training.tiny import tiny
from training.config import save_config

if sys.platform == "linux":
    from tests.servers.screen_reader import Reader, desktop, start_program

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(
        any(shutil.which(each) is None for each in SCREEN_READER),
        reason="at-spi2-core, dbus or xvfb is not installed here; python3 run.py test --run-servers installs them",
    ),
]


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The variables of a person who has nothing yet."""
    places = {
        "HOME": "home",
        "XDG_CONFIG_HOME": "config",
        "XDG_DATA_HOME": "data",
        "XDG_CACHE_HOME": "cache",
        "XDG_RUNTIME_DIR": "run",
    }
    for name in places.values():
        (tmp_path / name).mkdir(mode=0o700)
    return os.environ | {name: str(tmp_path / place) for name, place in places.items()}


def test_a_run_is_set_up_trained_and_evaluated_by_ear(home: dict[str, str], tmp_path: Path) -> None:
    save_config(tiny("name=heard"), tmp_path / "heard.toml")
    with desktop(home) as environment, start_program(environment, str(tmp_path / "heard.toml")):
        reader = Reader(environment)
        root = reader.find_program("Trainwright")

        def press(role: str, name: str) -> None:
            reader.find(root, role, name).press()

        press("radio button", "Setup")
        press("page tab", "Precision and loop")
        epochs = reader.find(root, "text", "Epochs")
        assert epochs.text.strip() == "3"
        assert "How often the whole training set is seen." in epochs.description
        press("push button", "Start training")
        reader.find(root, "label", "Completed")
        run = reader.find(root, "radio button", "Run")
        reader.wait(lambda: run if run.description == "Completed" else None, "that the run is complete, at its area")
        curves = reader.find(root, "filler", "Curves: Loss")
        last = r"Training [\d.]+ at step 24; Validation [\d.]+ at step 24"
        reader.wait(lambda: curves if re.fullmatch(last, curves.description) else None, "the last values of the losses")
        told = reader.find(root, "filler", "Validation accuracy: ").name.partition(": ")[2]
        press("page tab", "Evaluate")
        press("push button", "Evaluate")
        reader.find(root, "filler", f"Accuracy: {told}")
        rows = reader.find(root, "table", "Table of the samples")
        headings = {each.name for each in rows.walk() if each.role == "column header"}
        assert {"Sample", "True", "Predicted", "Probability"} <= headings
        reader.close()
