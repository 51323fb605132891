"""What the tests of the Evaluate page begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluations import make_evaluation
from tests.studio.pages_evaluate.page_driver import MakeConfig
from training.runs.folder import RunFolder, create_run


@pytest.fixture
def run(workspace: Path, config: MakeConfig) -> RunFolder:
    """A run of whose checkpoint at step 100 there is an evaluation."""
    made = create_run(workspace, config("first"))
    make_evaluation(made.path, samples=400, on="validation")
    return made
