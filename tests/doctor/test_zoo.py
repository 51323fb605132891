"""The zoo can be written, each fault is repaired by what counts as its repair, and twelve of them are noticed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.doctor.zoo import draws
from tests.doctor.zoo.animals import Group, every_animal
from tests.doctor.zoo.builders import parts
from tests.doctor.zoo.case import Case, Healthy
from tests.doctor.zoo.first import labels_and_parts, larger_presets
from tests.doctor.zoo.kinds import KINDS, LITERATURE
from tests.doctor.zoo.trial import ROOT, write_trial
from training.config import RunConfig
from training.config.files import load_config
from training.config.run import SECTIONS, alternatives
from training.presets import preset_names
from training.runs.cli_consent import trust_file

_CONTENT = BytesIO()
Image.new("L", (32, 32)).save(_CONTENT, "png")
MASK = _CONTENT.getvalue()
TWELVE = (
    "moons_rate_high",
    "circles_rate_low",
    "wines_rate_low",
    "spiral_schedule_early",
    "wines_epochs_few",
    "circles_batch_large",
    "wines_decay_strong",
    "pumps_eps_large",
    "moons_softmax",
    "pumps_leak",
    "spiral_dropout_strong",
    "pumps_validation_tiny",
)
CASES = [animal for animal in every_animal() if isinstance(animal, Case)]


class _NoImage:
    """Stands for an image; only masks are read again, by the case that converts them."""

    def save(self, path: Path, **_options: Any) -> None:
        if path.parent.name == "masks":
            path.write_bytes(MASK)


@pytest.fixture(autouse=True)
def _no_images(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Thirty thousand images, and networks trained before, would take half a minute, and nobody looks at them here."""
    monkeypatch.setattr(larger_presets, "_teach", lambda network, *_, **__: network.state_dict())
    for module in (draws, labels_and_parts, parts):
        monkeypatch.setattr(module, "draw_shape", lambda _kind, side, *_, **__: np.zeros((side, side, 3), np.uint8))
    draws.draw_shapes.cache_clear()
    monkeypatch.setattr(Image, "fromarray", lambda *_: _NoImage())
    yield
    draws.draw_shapes.cache_clear()


def configure(animal: Case | Healthy, part: str, folder: Path) -> RunConfig:
    folder.mkdir(parents=True)
    path = write_trial(animal, part, folder)
    return load_config(path, trust_file(path, []))


@pytest.mark.parametrize(
    "group",
    [
        pytest.param("third", marks=pytest.mark.slow),
        "fourth",
        pytest.param("fifth", marks=pytest.mark.slow),
        pytest.param("second", marks=pytest.mark.slow),
        pytest.param("first", marks=pytest.mark.slow),
        pytest.param("builders", marks=pytest.mark.slow),
    ],
)
def test_each_case_is_written_and_its_twin_is_its_repair(group: Group, tmp_path: Path) -> None:
    wrong = []
    for case in (animal for animal in every_animal(group) if isinstance(animal, Case)):
        faulty, sound = (configure(case, part, tmp_path / case.name / part) for part in ("case", "twin"))
        by_settings = [fix for fix in case.fixes if fix.settings]
        if case.accepts(faulty):
            wrong.append(f"{case.name}: the fault counts as repaired")
        if faulty != sound and by_settings and len(by_settings) == len(case.fixes) and not case.accepts(sound):
            wrong.append(f"{case.name}: the twin does not count as repaired")
        if not by_settings and not any(fix.names for fix in case.fixes):
            wrong.append(f"{case.name}: nothing tells what its repair is")
    assert not wrong


def test_repairs_name_settings_that_there_are() -> None:
    named = {name for case in CASES for fix in case.fixes for name in fix.settings or ()}
    known = {
        f"{section}.{name}"
        for section in SECTIONS
        for each in alternatives(section).values()
        for name in each.model_fields
    }
    assert named <= known


@pytest.mark.slow
def test_healthy_runs_are_written(tmp_path: Path) -> None:
    runs = [animal for animal in every_animal() if isinstance(animal, Healthy)]
    assert len(runs) >= 30
    for run in runs:
        configure(run, "healthy", tmp_path / run.name)


def test_all_presets_are_among_the_healthy_runs() -> None:
    names = {animal.name for animal in every_animal() if isinstance(animal, Healthy)}
    assert {f"preset_{name.replace('-', '_')}" for name in preset_names()} - names == set(larger_presets.LEFT_OUT)


def test_every_kind_of_fault_is_there_about_as_often_as_in_the_literature() -> None:
    judged = [animal for animal in every_animal("fourth") if isinstance(animal, Case)]
    counts = {kind: sum(case.kind == kind for case in judged) for kind in KINDS}
    assert min(counts.values()) >= 1
    assert len({animal.name for animal in every_animal()}) == len(every_animal())
    order = sorted(LITERATURE, key=LITERATURE.__getitem__)
    assert counts[order[-1]] == max(counts.values())
    assert sum(counts[kind] for kind in LITERATURE) >= len(judged) / 2


@pytest.mark.slow
def test_twelve_faults_are_noticed_and_their_repairs_are_not(tmp_path: Path) -> None:
    """In a process of its own: it trains in forks, and this one may have threads."""
    words = ["judge", "--group", "builders", "--no-cure", "--out", str(tmp_path)]
    words += [word for name in TWELVE for word in ("--only", name)]
    call = [sys.executable, "-m", "tests.doctor.zoo", *words]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"noticed | {len(TWELVE)} of {len(TWELVE)}" in done.stdout
