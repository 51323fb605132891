"""What the script of a run says about the trained network that it learns from: a second file, and its weights in a third."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch

import training
from training.config.objective import Distillation
from training.config.teacher_file import is_code, own_network
from training.engine.teacher import told_of_teacher
from training.export.material import Material, load_material
from training.export.model_listing import describe_model
from training.export.written import Setting, code, prose


class SecondFile(NamedTuple):
    """What the script imports its teacher's network from."""

    module: str
    text: str


@contextmanager
def importable(second: SecondFile | None) -> Iterator[None]:
    """Inside, a script that is run here finds its second file as if that lay beside it."""
    if second is None:
        yield
        return
    module = sys.modules[second.module] = ModuleType(second.module)
    module.__file__ = f"{second.module}.py"
    try:
        exec(compile(second.text, "exported teacher", "exec", dont_inherit=True), vars(module))
        yield
    finally:
        del sys.modules[second.module]


def describe_teacher(material: Material, file: str) -> dict[str, Any]:
    """For the templates, where the script is called ``file``: ``teacher`` is what those of the second file ask for. Raises
    InputError when the teacher is gone, became another, or cannot be listed."""
    teacher = material.teacher
    if teacher is None:
        return {"distils": False, "teacher": {}}
    name = f"teacher_of_{re.sub(r'[^0-9a-zA-Z_]', '_', Path(file).stem)}"  # whatever the script is called
    weights = f"{name}.pt"
    source = Path(teacher.record()["source"])
    own = is_code(source)
    with told_of_teacher():
        network = describe_model(_material_of(material), trained=True)
    return {
        "distils": True,
        "teacher_module": name,
        "teacher_file": f"{name}.py",
        "teacher_weights": weights,
        "knows_other_inputs": teacher.knows_other_inputs,
        "teacher": network
        | {
            "makes": "make_teacher",
            "file": prose(file),
            "source": prose(source.name if own else f"{source.parent.parent.name}, {source.name}"),
            "version": training.__version__,
            "weights": weights,
        },
    }


def teacher_settings(material: Material, facts: dict[str, Any]) -> list[Setting]:
    """What the templates name in capitals."""
    teacher = material.teacher
    if teacher is None:
        return []
    settings: list[Setting] = [("The teacher's weights, beside this file.", "TEACHER", code(facts["teacher_weights"]))]
    if teacher.knows_other_inputs:
        settings += [
            ("How the teacher knows its inputs.", "TEACHER_MEAN", teacher.normalisation.mean),
            ("", "TEACHER_STD", teacher.normalisation.std),
        ]
    return settings


def teacher_bytes(material: Material) -> bytes:
    """The file of its weights, as torch.save writes it."""
    assert material.teacher is not None, "asked for a run that distils"
    stream = io.BytesIO()
    torch.save(material.teacher.model.state_dict(), stream)
    return stream.getvalue()


def taught_alike(material: Material, script: dict[str, Any]) -> bool:
    """Whether the script's teacher, given the same weights, answers to the bit what the run's does."""
    teacher = material.teacher
    if teacher is None:
        return True
    theirs = script["make_teacher"]()
    theirs.load_state_dict(teacher.model.state_dict())
    if teacher.knows_other_inputs:
        ours, known = ((script[f"{whose}MEAN"], script[f"{whose}STD"]) for whose in ("", "TEACHER_"))
        theirs = script["Renormalized"](theirs, ours, known)
    inputs = material.normalisation.apply(material.samples())
    return torch.equal(theirs.eval()(inputs), teacher.logits(inputs))


def _material_of(material: Material) -> Material:
    """The teacher as what every export starts from."""
    section, teacher = material.config.objective, material.teacher
    assert isinstance(section, Distillation), "asked for a run that distils"
    assert teacher is not None, "made for each of them"
    network = own_network(section)
    if network is None:
        return load_material(Path(teacher.record()["source"]))
    known = {field.name: getattr(material, field.name) for field in fields(Material)}
    known |= {"config": material.config.model_copy(update={"model": network}), "model": teacher.model}
    return _OwnNetwork(**known | {"normalisation": teacher.normalisation})


class _OwnNetwork(Material):
    """A teacher in a person's file, of which no run keeps a copy."""

    @property
    def code_file(self) -> None:
        return None
