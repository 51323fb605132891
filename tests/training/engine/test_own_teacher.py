"""Distillation from a person's own network: a Python file and its weights, run after consent alone, the same on a resume."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from tests.training.catalog.task_samples import small
from training.config.consent import agree
from training.doctor.preflight import preflight
from training.engine.assemble import assemble
from training.engine.runs.run import intend_resume, resume_run, start_run
from training.errors import ConfigError, InputError
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.manifest import read_manifest

TEACHER = '''
import torch
from torch import nn


def build(features: int, classes: int, width: int = 6):
    """A teacher.

    Args:
        width: of its hidden layer.
    """
    return nn.Sequential(nn.Linear(features, width), nn.Dropout(0.5), nn.Tanh(), nn.Linear(width, classes))
'''


def network(width: int = 6, classes: int = 3) -> nn.Sequential:
    """The same, written here."""
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(2, width), nn.Dropout(0.5), nn.Tanh(), nn.Linear(width, classes)).eval()


class Own:
    """A teacher's files in a folder, and runs that learn from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "teacher.py"
        self.weights = folder / "teacher.safetensors"
        self.write(TEACHER)
        save_file(network().state_dict(), self.weights)

    def write(self, text: str, agreed: bool = True) -> str:
        self.file.write_text(text, encoding="utf-8")
        digest = hashlib.sha256(text.encode()).hexdigest()
        if agreed:
            agree(digest, str(self.file))
        return digest

    def pupil(self, *overrides: str, **settings: Any) -> Any:
        given = {
            "teacher_trusted": hashlib.sha256(self.file.read_bytes()).hexdigest(),
            "teacher_weights": str(self.weights),
            **settings,
        }
        sets = [f"objective.{name}={value}" for name, value in given.items()]
        return small("distillation", self.folder / "data", *sets, *overrides, teacher=self.file)

    def refusal(self, *overrides: str, **settings: Any) -> str:
        with pytest.raises(InputError) as refused:
            assemble(self.pupil(*overrides, **settings), silent).data.close()
        return str(refused.value)


def silent(text: str, fraction: float | None) -> None:
    """Nobody listens."""


@pytest.fixture
def own(tmp_path: Path) -> Own:
    return Own(tmp_path)


@pytest.mark.parametrize("inputs", ["run", "plain"])
def test_targets_hold_its_answers_to_inputs_as_it_knows_them(own: Own, inputs: str) -> None:
    with assemble(own.pupil(teacher_inputs=inputs), silent).data as data, torch.no_grad():
        batch = next(data.evaluation_batches("validation"))
        raw: Tensor = data.source.read(batch.indices).float()
        wanted = network()(batch.inputs if inputs == "run" else raw)
        torch.testing.assert_close(batch.targets[:, 1:], wanted, rtol=1e-4, atol=1e-5)
        assert not torch.allclose(network()(raw), network()(batch.inputs))


def test_goes_on_to_the_same_bits_and_with_no_other_teacher(own: Own, tmp_path: Path) -> None:
    record = start_run(own.pupil(), tmp_path / "runs")
    assert record.status == "completed", record.reason
    last, before = Path(str(record.last_checkpoint)), str(Path(record.folder) / "checkpoints" / "step-00000002")
    noted, whole = read_manifest(last).teacher, (last / "model.safetensors").read_bytes()
    assert noted is not None
    assert noted.digest == hashlib.sha256(own.weights.read_bytes()).hexdigest()
    assert noted.code == hashlib.sha256(TEACHER.encode()).hexdigest()
    assert resume_run(before, tmp_path / "runs").status == "completed"
    assert (last / "model.safetensors").read_bytes() == whole

    assert "the teacher is another" not in branched_note(before, tmp_path / "runs")

    assert told_beforehand(before, tmp_path / "runs") == ""

    other = "has changed, so it is another teacher than the run began with; put the old one back"
    save_file({name: tensor + 0.5 for name, tensor in network().state_dict().items()}, own.weights)
    with pytest.raises(InputError, match=rf"objective\.teacher_weights: {re.escape(str(own.weights))} {other}"):
        resume_run(before, tmp_path / "runs")
    assert f"the teacher is another from here on ({own.weights} has changed)" in branched_note(
        before, tmp_path / "runs"
    )
    assert f"the teacher is another from here on ({own.weights} has changed)" in told_beforehand(
        before, tmp_path / "runs"
    )
    known = Path(record.folder) / "data.json"
    kept = known.read_bytes()
    known.write_text("{", encoding="utf-8")  # the checkpoint knows the teacher as well
    with pytest.raises(InputError, match=rf"objective\.teacher_weights: {re.escape(str(own.weights))} {other}"):
        resume_run(before, tmp_path / "runs")
    known.write_bytes(kept)
    save_file(network().state_dict(), own.weights)
    changed = own.write(TEACHER.replace("Tanh", "ReLU"))
    with pytest.raises(InputError, match=rf"objective\.teacher: {re.escape(str(own.file))} {other}"):
        resume_run(before, tmp_path / "runs")  # to agree to it would not make it the old one
    agreed = f"objective.teacher_trusted={changed}"
    with pytest.raises(InputError, match=rf"objective\.teacher: {re.escape(str(own.file))} {other}"):
        resume_run(before, tmp_path / "runs", [agreed])
    assert f"the teacher is another from here on ({own.file} has changed)" in branched_note(
        before, tmp_path / "runs", agreed
    )


def told_beforehand(checkpoint: str, workspace: Path) -> str:
    """What a branch says of its teacher before it begins, as ``resume --dry-run`` shows it."""
    _, sheet = intend_resume(checkpoint, workspace, ["loop.epochs=3"]).sheet()
    assert sheet is not None
    return "; ".join(note for note in sheet.notes if "teacher" in note)


def branched_note(checkpoint: str, workspace: Path, *overrides: str) -> str:
    """What a branch tells of itself when it begins."""
    branch = resume_run(checkpoint, workspace, ["loop.epochs=3", *overrides])
    assert branch.status == "completed", branch.reason
    history = read_history(RunFolder(Path(branch.folder)).events_file)
    return next(found.advice for found in history.findings if found.title.startswith("Branched"))


def test_nothing_of_it_is_run_without_consent(own: Own, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    own.write(f"open({str(trace)!r}, 'w')\n{TEACHER}", agreed=False)
    assert "objective.teacher_trusted: nobody has agreed on this computer to run teacher.py" in own.refusal()
    assert "objective.teacher_trusted: needs your consent: read teacher.py" in own.refusal(teacher_trusted="none")
    assert not trace.exists()


def test_its_parameters_are_settings(own: Own) -> None:
    save_file(network(9).state_dict(), own.weights)
    assemble(own.pupil("objective.teacher_arguments.width=9"), silent).data.close()
    sentence = own.refusal("objective.teacher_arguments.depth=9")
    assert sentence == "objective.teacher_arguments.depth: build(...) has no such parameter; known are: width."


def test_weights_that_are_not_those_of_its_network_are_refused(own: Own) -> None:
    assert "objective.teacher_weights: a teacher in a Python file needs the weights" in own.refusal(
        teacher_weights="none"
    )
    state = network().state_dict()
    for tensors, said in (
        (network(classes=4).state_dict(), "or of another shape, are 3.weight, 3.bias; choose"),
        ({name: state[name] for name in ("0.weight", "0.bias", "3.weight")}, "or of another shape, are 3.bias; choose"),
        ({**state, "7.weight": torch.ones(2)}, "holds 1 tensors that the teacher's network has no place for"),
        ({**state, "0.bias": torch.full((6,), torch.nan)}, "holds values that are not finite"),
        (network(7).state_dict(), "0.weight is (7, 2) there and (6, 2) here"),
    ):
        save_file({name: tensor.clone() for name, tensor in tensors.items()}, own.weights)
        sentence = own.refusal()
        assert sentence.startswith("objective.teacher_weights: teacher.safetensors ")
        assert said in sentence


def test_a_network_that_does_not_fit_the_data_is_refused(own: Own) -> None:
    own.write(TEACHER.replace("nn.Linear(width, classes)", "nn.Linear(width, classes + 1)"))
    start = f"objective.teacher: {own.file}"
    assert own.refusal().startswith(
        f"{start}: for 2 samples the network answers a tensor of 2 x 4, but a tensor of 2 x 3"
    )
    own.write(TEACHER.replace("features: int", "channels: int").replace("features,", "channels,"))
    assert own.refusal() == "objective.teacher: build asks for channels, which numbers do not have; choose other data."
    own.write(TEACHER.replace("nn.Tanh()", "nn.Tan()"))
    assert own.refusal().startswith(f"{start}, line 12: cannot build the network: AttributeError")
    own.write(TEACHER)
    assert own.refusal(teacher_inputs="imagenet").startswith("objective.teacher_inputs: imagenet is for images")


ODD = """
from torch import nn


class Odd(nn.Sequential):
    def forward(self, x):
        answer = super().forward(x)
        return ANSWER


def build(features: int, classes: int, width: int = 6):
    return Odd(nn.Linear(features, width), nn.Dropout(0.5), nn.Tanh(), nn.Linear(width, classes))
"""


def test_other_answers_than_those_it_was_checked_with_end_the_run(own: Own, tmp_path: Path) -> None:
    own.write(ODD.replace("ANSWER", "answer if len(x) < 3 else answer[:, :2]"))
    record = start_run(own.pupil(), tmp_path / "runs")
    assert (record.status, record.step) == ("failed", 0)
    assert re.fullmatch(
        rf"objective\.teacher: {re.escape(str(own.file))}: for (\d+) samples the network answers a tensor of \1 x 2, but a "
        r"tensor of \1 x 3 is wanted; change what its forward returns\.",
        str(record.reason),
    )


def test_a_teacher_whose_answers_are_no_numbers_is_named(own: Own, tmp_path: Path) -> None:
    own.write(ODD.replace("ANSWER", "(answer - answer) / (answer - answer)"))
    record = start_run(own.pupil(), tmp_path / "runs")
    assert (record.status, record.step) == ("failed", 0)
    start = rf"objective\.teacher: {re.escape(str(own.file))} answers (\d+) of the first \1 samples with values that are not"
    assert re.match(start, str(record.reason))


def test_what_a_checkpoint_knows_itself_is_not_given(own: Own, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        small("distillation", tmp_path / "data", f"objective.teacher_weights={own.weights}", teacher=tmp_path)
    [problem] = refused.value.problems
    assert str(problem).startswith("objective.teacher_weights: is for a teacher in a Python file, but a checkpoint has")
    assert problem.fix == {"objective.teacher_weights": None}


def test_check_tells_the_memory_of_its_weights(own: Own, tmp_path: Path) -> None:
    [title] = [found.title for found in preflight(own.pupil(), tmp_path) if found.title.startswith("Memory")]
    size = sum(tensor.nbytes for tensor in network().state_dict().values())
    assert f"{size} bytes of the teacher's weights" in title
