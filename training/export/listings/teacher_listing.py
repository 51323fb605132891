"""What the script of a run says about the trained network that it learns from: a second file, and its weights in a third."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import torch

import training
from training.config.rules.teacher_file import own_network
from training.config.sections.objective import Distillation
from training.engine.teacher import blame_teacher
from training.export.bundle import ExportBundle, load_bundle
from training.export.network_listing import describe_network
from training.export.own_network import write_own_module
from training.export.source import SecondFile, module_beside, render_module
from training.tutorial.literals import Setting, code, prose


@dataclass(frozen=True)
class TeacherListing:
    """The file of its weights, and whether it knows its inputs by another mean and std."""

    weights: str
    knows_other_inputs: bool
    settings: list[Setting]


def describe_teacher(bundle: ExportBundle, file: str) -> TeacherListing | None:
    """For the templates, where the script is called ``file``. Raises InputError when the teacher is gone or became another."""
    teacher = bundle.teacher
    if teacher is None:
        return None
    weights = f"{module_beside('teacher', file)}.pt"
    settings = [Setting("The teacher's weights, beside this file.", "TEACHER", code(weights))]
    if teacher.knows_other_inputs:
        settings.append(Setting("How the teacher knows its inputs.", "TEACHER_MEAN", teacher.normalization.mean))
        settings.append(Setting("", "TEACHER_STD", teacher.normalization.std))
    return TeacherListing(weights, teacher.knows_other_inputs, settings)


def render_teacher(bundle: ExportBundle, file: str) -> SecondFile:
    """What lies beside the script ``file`` of a run that distills, with a function that makes the teacher. Raises InputError when
    that cannot be written."""
    section, teacher = bundle.config.objective, bundle.teacher
    assert isinstance(section, Distillation), "asked for a run that distills"
    assert teacher is not None, "made for each of them"
    module, source = module_beside("teacher", file), Path(teacher.record().source)
    words = f"The network that {prose(file)} learns from; its weights are in {module}.pt."
    with blame_teacher():
        if (own := own_network(section)) is not None:
            words += (
                f" Written by Trainwright {training.__version__} from {prose(source.name)}: below are its own words."
            )
            text = write_own_module(own, None, bundle.facts, bundle.objective.outputs, "make_teacher", words)
        else:
            network = describe_network(load_bundle(source), trained=True, makes="make_teacher")
            text = render_module(words, source, network)
    return SecondFile(module, text, "make_teacher")


def teacher_bytes(bundle: ExportBundle) -> bytes:
    """The file of its weights, as torch.save writes it."""
    assert bundle.teacher is not None, "asked for a run that distills"
    stream = io.BytesIO()
    torch.save(bundle.teacher.model.state_dict(), stream)
    return stream.getvalue()


def has_same_teacher(bundle: ExportBundle, script: ModuleType) -> bool:
    """Whether the script's teacher, given the same weights, answers to the bit what the run's does."""
    teacher = bundle.teacher
    if teacher is None:
        return True
    theirs = script.make_teacher()
    theirs.load_state_dict(teacher.model.state_dict())
    if teacher.knows_other_inputs:
        ours, known = (script.MEAN, script.STD), (script.TEACHER_MEAN, script.TEACHER_STD)
        theirs = script.Renormalized(theirs, ours, known)
    inputs = bundle.normalization.apply(bundle.samples())
    return torch.equal(theirs.eval()(inputs), teacher.logits(inputs))
