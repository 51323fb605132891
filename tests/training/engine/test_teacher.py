"""Distillation: where the teacher comes from, what it is shown, and that it stays the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from tests.training.catalog.task_samples import small
from training.cli import main
from training.config import RunConfig
from training.config.files import dump_config
from training.config.sections.objective import Distillation
from training.engine.assemble import assemble
from training.engine.runs.run import resume_run, start_run
from training.errors import ConfigError, InputError
from training.export.bundle import load_bundle
from training.runs.folder import RunFolder
from training.runs.records.manifest import read_manifest


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with checkpoints at steps 2 and 4."""
    folder = tmp_path_factory.mktemp("taught")
    config = small("classification", folder, "model.hidden=[32, 32]", "optimizer.lr=0.01")
    return Path(start_run(config, folder).folder)


def pupil(folder: Path, teacher: Path, *overrides: str) -> RunConfig:
    return small("distillation", folder, *overrides, teacher=teacher)


def silent(text: str, fraction: float | None) -> None:
    """Nobody listens."""


def test_targets_hold_what_the_teacher_answers_to_the_samples_as_it_knows_them(taught: Path, tmp_path: Path) -> None:
    """The pupil's data is normalized by other numbers, since it has fewer training samples."""
    checkpoint = taught / "checkpoints" / "step-00000004"
    bundle = load_bundle(checkpoint)
    session = assemble(pupil(tmp_path, checkpoint, "dataset.validation_fraction=0.6"), silent)
    with session.data as data:
        assert data.normalization != bundle.normalization
        window = next(data.steps(0))
        for batch in window:
            assert batch.targets.dtype == torch.float32
            assert batch.targets.shape == (len(batch.indices), 1 + 3)
            assert torch.equal(batch.targets[:, 0].long(), data.source.targets[batch.indices])
            wanted = bundle.logits(data.source.read(batch.indices))
            torch.testing.assert_close(batch.targets[:, 1:], wanted, rtol=1e-4, atol=1e-4)
        assert not any("teacher" in name for name in session.model.state_dict())
        names = {id(parameter) for parameter in session.model.parameters()}
        assert {id(p) for group in session.optimizer.param_groups for p in group["params"]} == names


def test_the_same_normalization_gives_the_teachers_own_bits(taught: Path, tmp_path: Path) -> None:
    checkpoint = taught / "checkpoints" / "step-00000004"
    bundle = load_bundle(checkpoint)
    with assemble(pupil(tmp_path, checkpoint), silent).data as data:
        batch = next(data.evaluation_batches("validation"))
        assert torch.equal(batch.targets[:, 1:], bundle.logits(data.source.read(batch.indices)))


def test_a_runs_folder_stands_for_its_best_checkpoint_and_is_noted(taught: Path, tmp_path: Path) -> None:
    record = start_run(pupil(tmp_path, taught), tmp_path)
    noted = read_manifest(Path(str(record.last_checkpoint))).teacher
    best = RunFolder(taught).status().best
    assert best is not None
    assert noted is not None
    assert noted.source == best.checkpoint
    assert len(noted.digest) == 64
    assert 0.0 <= record.metrics["val/agreement"] <= 1.0


def test_a_run_may_be_called_by_its_name(
    taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "pupil.toml"
    config.write_text(dump_config(pupil(tmp_path, taught)), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = [str(config), "--workspace", str(taught.parent.parent), "--set"]
    for name in (taught.name, str(RunFolder(taught).status().name)):
        assert main(["check", *words, f"objective.teacher={name}", "--json"]) == 0
    named = tmp_path / "named.toml"
    own = f'teacher = "{taught.as_posix()}"'
    assert own in config.read_text(encoding="utf-8")
    named.write_text(config.read_text(encoding="utf-8").replace(own, f'teacher = "{taught.name}"'), encoding="utf-8")
    capsys.readouterr()
    assert main(["run", str(named), *words[1:-1], "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    stored = RunFolder(Path(record["folder"])).config().objective
    assert isinstance(stored, Distillation)
    assert stored.teacher == str(taught)  # so a resume is exact
    assert main(["check", *words, "objective.teacher=nobody"]) == 2
    assert "nobody does not exist; check the spelling or choose the folder of a run" in capsys.readouterr().err
    (tmp_path / taught.name).mkdir()  # a folder beside the configuration is meant before a run
    assert main(["check", *words, f"objective.teacher={taught.name}"]) == 2
    assert "is neither a run nor a checkpoint" in "".join(capsys.readouterr())
    assert main(["check", str(named), *words[1:-1]]) == 2
    assert "is neither a run nor a checkpoint" in "".join(capsys.readouterr())


def test_a_resume_with_another_teacher_is_refused(taught: Path, tmp_path: Path) -> None:
    chosen = tmp_path / "teacher" / "step"
    shutil.copytree(taught / "checkpoints" / "step-00000004", chosen)
    record = start_run(pupil(tmp_path, chosen), tmp_path)
    shutil.rmtree(chosen)
    shutil.copytree(taught / "checkpoints" / "step-00000002", chosen)
    with pytest.raises(InputError, match="is another teacher than the run began with; put the old one back"):
        resume_run(str(Path(record.folder) / "checkpoints" / "step-00000002"), tmp_path)
    shutil.rmtree(chosen)
    with pytest.raises(InputError, match=r"objective\.teacher"):
        resume_run(str(Path(record.folder) / "checkpoints" / "step-00000002"), tmp_path)


def test_a_teacher_that_does_not_fit_is_refused(taught: Path, tmp_path: Path) -> None:
    def refusal(teacher: Path, *overrides: str) -> str:
        with pytest.raises(InputError) as refused:
            assemble(pupil(tmp_path / "data", teacher, *overrides), silent)
        return refused.value.message

    checkpoint = taught / "checkpoints" / "step-00000004"
    sentence = refusal(checkpoint, "dataset.classes=4")
    assert sentence.startswith(f"objective.teacher: {checkpoint} learned other classes (3, the first ")
    assert "takes samples of shape 2, but the data has 5" in refusal(checkpoint, "dataset.features=5")
    broken = tmp_path / "broken"
    shutil.copytree(checkpoint, broken)
    weights = (broken / "model.safetensors").read_bytes()
    (broken / "model.safetensors").write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    assert refusal(broken).startswith(f"objective.teacher: {broken}")
    advice = "is neither a run nor a checkpoint; choose the folder of one, or a Python file."
    assert refusal(tmp_path) == f"objective.teacher: {tmp_path} {advice}"
    (broken / "manifest.json").unlink()
    assert "its manifest.json is missing" in refusal(broken)
    other = Path(start_run(small("regression", tmp_path / "values"), tmp_path).folder)
    assert refusal(other).endswith("was trained for regression; choose one that was trained for classification.")
    empty = tmp_path / "empty"
    (empty / "checkpoints").mkdir(parents=True)
    assert refusal(empty) == f"objective.teacher: the run in {empty} has no checkpoint yet; choose another."
    (empty / "checkpoints" / "step-00000004").mkdir()
    lost = f"{empty / 'labels.json'}: is lost or damaged, so the best checkpoint is not known; name one, such as"
    assert refusal(empty) == f"{lost} {empty / 'checkpoints' / 'step-00000004'}."
    with pytest.raises(ConfigError, match=r"objective\.teacher: .*nowhere does not exist"):
        pupil(tmp_path / "data", tmp_path / "nowhere")


def test_a_pupil_teaches_in_turn(taught: Path, tmp_path: Path) -> None:
    first = Path(start_run(pupil(tmp_path, taught), tmp_path).folder)
    config = pupil(tmp_path, first)
    assert isinstance(config.objective, Distillation)
    assert start_run(config, tmp_path).status == "completed"
