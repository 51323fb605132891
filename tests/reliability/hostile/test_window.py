"""What the window opens and reads in its own process."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("PySide6")

from studio.engine.monitor import RunMonitor
from studio.state.drafts.draft import Draft
from tests.cases import some_of
from tests.reliability.hostile.configs import CONFIGS
from tests.reliability.hostile.material import Run
from tests.reliability.hostile.run_folders import PLACES, RECORDS, TEXTS
from training.errors import InputError

pytestmark = pytest.mark.timeout(60)
READ = {name: spoil for name, spoil in (TEXTS | RECORDS | PLACES).items() if name.startswith(("events", "series"))}


@pytest.mark.parametrize("name", some_of(CONFIGS, 6))
def test_a_hostile_configuration_is_opened_or_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    CONFIGS[name](tmp_path / "config.toml")
    draft = Draft()
    refused, left_out = "", []
    try:
        left_out = draft.load_file(tmp_path / "config.toml")
    except InputError as error:
        refused = str(error)
    # Only its content tells that the folder is no dataset; a table where a number belongs has no place in the form.
    silent = name in ("the folder of devices", "seed: a table")
    assert refused or left_out or draft.problems() or silent, "the command line refuses it"
    assert len(refused) < 2000


@pytest.mark.parametrize("name", some_of(READ, 6))
@pytest.mark.usefixtures("qapp")
def test_a_hostile_run_is_read_or_refused(name: str, run: Run) -> None:
    READ[name](run)
    monitor = RunMonitor(run.path)
    monitor.look()  # what cannot be read is logged, and looked at no more
