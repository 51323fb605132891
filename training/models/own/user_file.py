"""The network of a person's own Python file: run only with consent, its faults told by file, line and reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.modules.lazy import LazyModuleMixin

from training.config.rules.signature import FILLED, FUNCTION, Signature
from training.config.sections.user_file import UserFile
from training.core.own.returned import describe_kind
from training.errors import InputError, TrainingError, pluralize
from training.facts import DataFacts
from training.models.meta_forward import forward_meta, switch_mode
from training.models.own.shape_errors import Entered, explain_refusal, track_layers
from training.own_code.run_file import chosen_arguments, explain_faults, is_own, read_agreed, run_file
from training.own_code.torch_modes import call_and_compare_modes, preserve_modes
from training.system.untrusted import escape_unprintable


def make_user_model(
    config: UserFile,
    facts: DataFacts,
    outputs: int,
    seed: Callable[[], AbstractContextManager[None]],
    code: Path | None = None,
    begins: bool = False,
) -> nn.Module:
    """What the file's ``build(...)`` returns for such data. ``code`` is a run's own copy of the file, which is read in its
    place. ``begins`` says that it is to be trained from here on: what was trained in other modes is used as it was. Inside ``seed()`` random numbers follow from the run's seed: entered for the import and again for the building,
    so that a file which seeds generators where it is imported does not change what is drawn later. Raises InputError for a
    file that nobody agreed to run, and for each of its faults."""
    path = Path(config.path)  # which messages name: a copy has the same lines
    signature = read_agreed(config, "model", code)
    arguments = arguments_of(config, signature, facts, outputs)
    with seed():
        module = run_file(signature, path)
    try:
        with seed():
            with explain_faults(path, "cannot build the network"):
                model = getattr(module, FUNCTION)(**arguments)
            if fault := _unfit(model):
                raise InputError(f"{escape_unprintable(str(path))}: {fault}")
            _try_forward(model.float(), path, facts, outputs, begins)
            return model
    except InputError as error:
        if not config.arguments:
            raise
        given = ", ".join(f"{name} = {escape_unprintable(repr(value), 60)}" for name, value in config.arguments.items())
        raise InputError(error.message, f"Or correct what it was given: {given}.") from error


def _unfit(model: Any) -> str:
    """Why what the file returns is no network to train, as a sentence; "" where it is one."""
    if not isinstance(model, nn.Module):
        return f"{FUNCTION} returns {describe_kind(model)}, no torch.nn.Module; return the network."
    if not any(True for _ in model.parameters()):
        return f"the network that {FUNCTION} returns has no weights to train; add some."
    for name, weight in model.named_parameters():
        if weight.requires_grad and weight.is_complex():
            return (
                f"the weights {escape_unprintable(name, 100)} are complex, and a run that trains such could not be resumed; keep their real "
                "and imaginary parts, and join them in forward (torch.view_as_complex)."
            )
    for name, part in model.named_modules():
        if isinstance(part, LazyModuleMixin):
            kind = type(part).__name__
            return (
                f"{escape_unprintable(name, 100) or 'the network'} is a {kind}, whose size is not known before it has seen samples; use "
                f"{kind.removeprefix('Lazy')} and give its size."
            )
    return ""


def arguments_of(config: UserFile, signature: Signature, facts: DataFacts, outputs: int) -> dict[str, Any]:
    """All that ``build`` is called with. Raises InputError when it asks for what such data does not have."""
    known = _of_data(facts, outputs)
    arguments: dict[str, Any] = {}
    for name in signature.filled:
        meaning = FILLED.get(name, name)
        if meaning not in known:
            what = {"image": "images", "vector": "numbers", "tokens": "text", "list": "lists of items"}[facts.layout]
            square = " that are not square" if meaning == "image_size" and facts.layout == "image" else ""
            raise InputError(
                f"model.path: {FUNCTION} asks for {name}, which {what}{square} do not have; choose other data."
            )
        arguments[name] = known[meaning]
    return arguments | chosen_arguments(config, signature)


def _of_data(facts: DataFacts, outputs: int) -> Mapping[str, int]:
    known = {"outputs": outputs}
    if facts.layout == "image":
        channels, height, width = facts.shape
        known |= {"channels": channels, "height": height, "width": width}
        known |= {"image_size": height} if height == width else {}
    elif facts.layout == "tokens":
        known |= {"vocabulary": len(facts.names), "context": facts.shape[0]}
    else:
        known |= {"features": facts.shape[-1]}
    return known


def _try_forward(model: nn.Module, path: Path, facts: DataFacts, outputs: int, begins: bool) -> None:
    """Raise InputError where ``model`` does not answer in the form that the task wants: as it trains, and, as it is used, to
    a sample that comes alone, such as the last of a part. And, where it ``begins`` to train, for a forward pass that leaves torch
    in other modes than it found."""
    changed: set[str] = set()

    def call(network: nn.Module, inputs: Tensor) -> Any:
        if not begins:
            return network(inputs)
        with preserve_modes(path):  # put back after each, as a network may be tried twice
            answer, found = call_and_compare_modes(network, inputs)
        changed.update(found)
        return answer

    shape = " x ".join(map(str, facts.shape))
    # In this order: batch norm takes no sample alone while it trains.
    for training, samples, what in ((True, 2, f"samples of shape {shape}"), (False, 1, "a single sample")):
        told = f"the network cannot take {what}"
        with (
            switch_mode(model, training),
            track_layers(model) as entered,
            explain_faults(path, told, partial(_explain_layers, entered)),
        ):
            answer = forward_meta(model, facts, samples, call)
        if fault := find_misfit(answer, answer_shape(facts, outputs, samples)):
            raise InputError(f"{escape_unprintable(str(path))}: {fault}")
    if changed:
        names = ", ".join(f"torch.{name}" for name in sorted(changed))
        raise InputError(
            f"{escape_unprintable(str(path))}: forward changes what torch does from then on ({names}), in the backward pass and in later "
            "steps, too; use it in a with statement, or put it back before forward returns."
        )


def _explain_layers(entered: Entered, reason: str) -> str:
    """``reason``, or which layer of another's refused its input, the last of those ``entered``: of the file's own the line says
    where."""
    if entered and not is_own(type(entered[-1][1]).__module__):
        return explain_refusal(entered, reason)
    return reason


def find_misfit(answer: Any, wanted: tuple[int, ...]) -> str:
    """What is wrong with a network's answer, as a sentence; "" for a tensor of the shape ``wanted``."""
    if isinstance(answer, Tensor) and tuple(answer.shape) == wanted:
        return ""
    lost = isinstance(answer, Tensor) and wanted[0] == 1 and tuple(answer.shape) == wanted[1:]
    advice = "change what its forward returns" + (
        " (squeeze() takes the axis of the samples away, too)" if lost else ""
    )
    return (
        f"for {pluralize(wanted[0], 'sample')} the network answers {describe_kind(answer)}, but a tensor of "
        f"{' x '.join(map(str, wanted))} is wanted; {advice}."
    )


class CheckedModel(nn.Module):
    """The network of a person's file, whose answers are looked at: their form may depend on what it computes, or on how often
    it was asked."""

    def __init__(self, model: nn.Module, config: UserFile, facts: DataFacts, outputs: int) -> None:
        super().__init__()
        self._model = model
        self._path = config.path
        self._facts = facts
        self._outputs = outputs
        self._shapes: dict[torch.Size, torch.Size] = {}  # of the answers to inputs of each shape

    def forward(self, inputs: Tensor) -> Tensor:
        return self.check(inputs, self._model(inputs))

    def train(self, mode: bool = True) -> Self:
        """By the network's own ``train`` or ``eval``, which a person may have written."""
        self.training = mode
        self._model.train() if mode else self._model.eval()
        return self

    def check(self, inputs: Tensor, answer: Any) -> Tensor:
        """``answer``; raises TrainingError for one in another form than when the network was tried."""
        if self._shapes.get(inputs.shape) != getattr(answer, "shape", ()):
            facts = replace(self._facts, shape=tuple(inputs.shape[1:]))
            if fault := find_misfit(answer, answer_shape(facts, self._outputs, len(inputs))):
                raise TrainingError(
                    f"{escape_unprintable(self._path)}: {fault}", "Correct the file, and start a new run with it."
                )
            self._shapes[inputs.shape] = answer.shape
        return answer


def answer_shape(facts: DataFacts, outputs: int, samples: int) -> tuple[int, ...]:
    """Of what a network answers to so many samples."""
    if facts.target == "mask":
        return samples, outputs, *facts.shape[1:]
    if facts.target == "tokens":
        return samples, *facts.shape, outputs
    return (samples, facts.shape[0]) if facts.target == "ranks" else (samples, outputs)
