"""The teacher of a run that distills, made again from what its checkpoint says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from training.config.sections.objective import Distillation
from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.workspace import teacher_checkpoint
from training.tutorial.literals import code
from training.tutorial.network import describe_network


@dataclass(frozen=True)
class TeacherText:
    """The lines of ``make_teacher(shape, outputs)``, and the classes it needs."""

    lines: list[str]
    code: str


def describe_teacher(objective: Distillation) -> TeacherText:
    """Raises InputError for a teacher that is no checkpoint of ours."""
    path = Path(objective.teacher)
    if path.suffix == ".py" or not path.is_dir():
        raise InputError("objective.teacher: the short script needs the folder of a run or of one of its checkpoints.")
    checkpoint = teacher_checkpoint(path)
    config = RunFolder(checkpoint.parent.parent).config()
    network = describe_network(config, "teacher")
    if network.beside:
        raise InputError(
            "objective.teacher: the short script does not take a teacher from a person's own file; export --to script."
        )
    *before, made = "\n".join(network.lines).rpartition("return ")
    lines = ["".join(before[:1]).rstrip(), f"teacher = {made}"]
    files = [checkpoint / "ema.safetensors", checkpoint / "model.safetensors"]  # the average is what is judged
    weights = next(file for file in files if file.is_file())
    lines.append(f"teacher.load_state_dict(load_file({code(str(weights))}))")
    lines.append("return teacher.to(DEVICE).eval().requires_grad_(False)")
    return TeacherText([part for line in lines if line for part in line.split("\n")], network.code)
