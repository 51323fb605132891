"""A teacher that the person wrote: its Python file, seen as the network of that kind which it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from training.config.sections.objective import Distillation
from training.config.sections.own_file import own_file_problems
from training.config.sections.user_file import UserFile
from training.errors import Problem

_SETTINGS: Mapping[str, str] = {
    "model.path": "objective.teacher",
    "model.trusted": "objective.teacher_trusted",
    "model.arguments": "objective.teacher_arguments",
    "model.weights": "objective.teacher_weights",
}
"""Which setting of the task is which of that network's."""


def is_code(teacher: Path) -> bool:
    """Whether ``objective.teacher`` is a person's own file, not the folder of a checkpoint or a run."""
    try:
        return teacher.is_file() or (teacher.suffix == ".py" and not teacher.is_dir())
    except OSError:  # no path at all, such as one that is too long: said of every path
        return False


def own_network(objective: Distillation) -> UserFile | None:
    """The network of a teacher in a Python file; None of a checkpoint, which knows its own."""
    if not is_code(Path(objective.teacher)):
        return None
    return UserFile(
        path=objective.teacher,
        trusted=objective.teacher_trusted,
        arguments=objective.teacher_arguments,
        weights=objective.teacher_weights,
    )


def of_teacher(problem: Problem) -> Problem:
    """What is said of a network's setting, of the teacher's instead."""
    names = ".".join(problem.path.split(".")[:2])
    rest = problem.path.removeprefix(names)
    return replace(problem, path=_SETTINGS.get(names, "objective.teacher") + (rest if names in _SETTINGS else ""))


def sentence_of_teacher(message: str) -> str:
    """The same for a whole sentence, which may begin with a setting, or with the file."""
    path, colon, rest = message.partition(": ")
    return f"{_SETTINGS[path]}: {rest}" if colon and path in _SETTINGS else f"objective.teacher: {message}"


def teacher_problems(objective: Distillation) -> Iterator[Problem]:
    """What is wrong with a teacher in a Python file, and settings of such a one beside a checkpoint."""
    network = own_network(objective)
    if network is not None:
        yield from map(of_teacher, own_file_problems(network, "model"))
        if network.weights is None:
            what = (
                "a teacher in a Python file needs the weights that it was trained to; choose the file that holds them."
            )
            yield Problem("objective.teacher_weights", what)
        return
    for name, knows, advice in (
        ("teacher_weights", "has its own weights", "leave it empty"),
        ("teacher_arguments", "knows its network", "leave it out"),
        ("teacher_inputs", "knows how its inputs were normalized", "set it to run"),
    ):
        default = Distillation.model_fields[name].get_default()
        if getattr(objective, name) != default:
            what = f"is for a teacher in a Python file, but a checkpoint {knows}; {advice}."
            yield Problem(f"objective.{name}", what, {f"objective.{name}": default})
