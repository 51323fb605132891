"""The trained network that a run which distils learns from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from training.checkpoints.trained import Trained, load_trained
from training.config import RunConfig
from training.config.rules.teacher_file import of_teacher, own_network, sentence_of_teacher
from training.config.sections.objective import Distillation
from training.config.sections.user_file import UserFile
from training.core.losses import with_answers
from training.data.normalize import Normalization
from training.data_report import TeacherRecord
from training.errors import CheckpointError, ConfigError, InputError, TrainingError, pluralize
from training.facts import DataFacts
from training.models import make_model
from training.models.matching import match_weights
from training.models.networks.renormalized import Renormalized
from training.models.own.user_file import find_misfit
from training.models.zoo.weights import IMAGENET, read_weights
from training.runs.records.manifest import MANIFEST, digest
from training.runs.workspace import teacher_checkpoint

_TASKS = ("classification", "distillation")


class Teacher:
    """Answers to a run's inputs with its logits: frozen, in evaluation mode, in float32, no part of the run's weights."""

    def __init__(
        self,
        model: nn.Module,
        ours: Normalization,
        theirs: Normalization,
        classes: int,
        device: torch.device,
        record: TeacherRecord,
    ) -> None:
        """``model`` knows inputs as ``theirs`` makes them and is given such as the run has them, by ``ours``. ``record`` says
        which network it is."""
        self.model = model.to(device).eval().requires_grad_(False)
        self.normalization = theirs
        self.knows_other_inputs = replace(ours, missing=False) != replace(theirs, missing=False)
        """Whether the run's inputs are changed before it gets them."""
        self._asked = self.model
        if self.knows_other_inputs:
            self._asked = Renormalized(self.model, (ours.mean, ours.std), (theirs.mean, theirs.std)).to(device).eval()
        self._record = record
        self._classes = classes
        self._tried = False

    @torch.no_grad()
    def logits(self, inputs: Tensor) -> Tensor:
        """float32 (n, classes) from the inputs as the run normalizes them. Raises TrainingError for other answers, which a
        person's own code may give to any number of samples."""
        logits: Tensor = self._asked(inputs)
        fault = find_misfit(logits, (len(inputs), self._classes))
        if fault:
            raise TrainingError(f"objective.teacher: {self._record.source}: {fault}")
        if not self._tried:  # once: to look means to wait for the device
            self._refuse_no_numbers(inputs, logits)
            self._tried = True
        return logits

    def _refuse_no_numbers(self, inputs: Tensor, logits: Tensor) -> None:
        """Raise TrainingError where the teacher makes numbers into what is none: no gradient would be finite."""
        if bool(logits.isfinite().all() | ~inputs.isfinite().all()):
            return
        wrong = int((~logits.isfinite()).any(1).sum())
        raise TrainingError(
            f"objective.teacher: {self._record.source} answers {wrong} of the first {pluralize(len(logits), 'sample')} with values "
            "that are not finite, so nothing can be learned from it; choose another teacher, or look for what its network divides "
            "by or takes the logarithm of."
        )

    def complete(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """The targets of a run that distils, from those of its data (``with_answers``)."""
        return with_answers(targets, self.logits(inputs))

    def record(self) -> TeacherRecord:
        """Which it is."""
        size = sum(tensor.nbytes for tensor in self.model.state_dict().values())
        return self._record.model_copy(update={"bytes": size})


def make_teacher(
    config: RunConfig, facts: DataFacts, normalization: Normalization, device: torch.device
) -> Teacher | None:
    """The teacher that ``config`` names; None where the task needs none. Raises InputError, naming the setting, when it
    cannot be used."""
    objective = config.objective
    if not isinstance(objective, Distillation):
        return None
    network = own_network(objective)
    if network is None:
        return _of_checkpoint(objective, facts, normalization, device)
    theirs = _as_told(objective.teacher_inputs, normalization)
    with blame_teacher():
        model, record = _of_file(network, facts, config.seed)
    return Teacher(model, normalization, theirs, len(facts.names), device, record)


# ----------------------------------------------------------------------------------------------- a person's own file


def _of_file(network: UserFile, facts: DataFacts, seed: int) -> tuple[nn.Module, TeacherRecord]:
    """The network with its trained weights, on the CPU, and which it is."""
    if network.weights is None:
        raise InputError("model.weights: is empty, but a teacher needs its trained weights; choose the file with them.")
    model = make_model(network, facts, len(facts.names), seed)
    weights = read_weights(network.weights)
    taken = match_weights(model, weights, fresh_head=False)
    wrong = taken.fresh or tuple(taken.adapted)
    if wrong:
        listed = ", ".join(wrong[:5]) + (", ..." if len(wrong) > 5 else "")
        raise InputError(
            f"model.weights: {weights.name} does not hold all weights of the teacher's network: not there, or of another shape, "
            f"are {listed}; choose the file that was saved of this network, trained on these {len(facts.names)} classes."
        )
    if taken.unused:
        raise InputError(
            f"model.weights: {weights.name} holds {taken.unused} tensors that the teacher's network has no place for; choose the "
            "file that was saved of this network."
        )
    record = TeacherRecord(source=network.path, code=network.trusted, weights=str(weights.file), digest=weights.digest)
    return model, record


def _as_told(inputs: str, ours: Normalization) -> Normalization:
    """The normalization that ``objective.teacher_inputs`` stands for."""
    channels = len(ours.mean)
    if inputs == "run":
        return ours
    if inputs == "plain":
        return replace(ours, mean=(0.0,) * channels, std=(1.0,) * channels)
    mean, std = IMAGENET
    if ours.layout != "image" or channels != len(mean):
        raise InputError(
            "objective.teacher_inputs: imagenet is for images of three channels, which the data has not; choose run or plain."
        )
    return replace(ours, mean=mean, std=std)


@contextmanager
def blame_teacher() -> Iterator[None]:
    """What is wrong with a network inside is said of the teacher's settings."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError([of_teacher(problem) for problem in error.problems]) from error
    except InputError as error:
        raise InputError(sentence_of_teacher(error.message), error.advice) from error


# ----------------------------------------------------------------------------------------------------- a checkpoint


def _of_checkpoint(
    objective: Distillation, facts: DataFacts, normalization: Normalization, device: torch.device
) -> Teacher:
    """Raises InputError where it learned other classes, or from samples of another form, than ``facts`` says."""
    checkpoint = teacher_checkpoint(Path(objective.teacher))
    try:
        trained = load_trained(checkpoint)
    except ConfigError as error:  # its own settings cannot be used, such as code that nobody agreed to run
        reasons = "; ".join(problem.message for problem in error.problems)
        raise InputError(f"objective.teacher: the network of {checkpoint}: {reasons}") from error
    except CheckpointError as error:
        raise InputError(f"objective.teacher: {error.message}", error.advice) from error
    _refuse_misfit(trained, facts)
    # The manifest holds the digest of the weights.
    record = TeacherRecord(source=str(trained.checkpoint), digest=digest(trained.checkpoint / MANIFEST))
    return Teacher(trained.model, normalization, trained.normalization, len(facts.names), device, record)


def _refuse_misfit(trained: Trained, facts: DataFacts) -> None:
    theirs, kind = trained.facts, trained.config.objective.kind
    where = f"objective.teacher: {trained.checkpoint}"
    if kind not in _TASKS:
        raise InputError(f"{where} was trained for {kind}; choose one that was trained for classification.")
    if theirs.names != facts.names:
        few = ", ".join(facts.names[:5]) + (", ..." if len(facts.names) > 5 else "")
        raise InputError(
            f"{where} learned other classes ({len(theirs.names)}, the first {theirs.names[0]}) than the data has "
            f"({len(facts.names)}: {few}); choose one that learned these, in this order."
        )
    if (theirs.layout, theirs.shape) != (facts.layout, facts.shape):
        raise InputError(
            f"{where} takes samples of shape {_sides(theirs)}, but the data has {_sides(facts)}; choose another, or read the "
            "data in that shape."
        )
    if (theirs.columns, theirs.codes) != (facts.columns, facts.codes):
        raise InputError(f"{where} knows other columns or categories than the data has; choose one trained on these.")


def _sides(facts: DataFacts) -> str:
    return " x ".join(str(side) for side in facts.shape)
