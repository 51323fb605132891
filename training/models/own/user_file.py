"""The network of a person's own Python file: run only with consent, its faults told by file, line and reason."""

from __future__ import annotations

import hashlib
import linecache
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.modules.lazy import LazyModuleMixin

from training.config.rules.signature import FILLED, FUNCTION, Signature, read_signature, signature_of
from training.config.sections.user_file import UserFile, argument_problems, explain_distrust
from training.errors import ConfigError, InputError, Problem, TrainingError, pluralize
from training.facts import DataFacts
from training.models.meta_forward import forward_meta, switch_mode
from training.models.own.shape_errors import Entered, explain_refusal, track_layers
from training.models.torch_modes import call_and_compare_modes, preserve_modes
from training.system.atomic import write_bytes
from training.system.untrusted import MEGABYTE, escape_unprintable, read_bytes

_MODULE = "trainwright_user_file_"


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
    signature = read_signature(code or path)
    refusal = explain_distrust(path, signature.digest, config.trusted)
    if refusal:
        raise ConfigError([Problem("model.trusted", refusal)])
    problems = list(argument_problems(config, signature))
    if problems:
        raise ConfigError(problems)
    arguments = arguments_of(config, signature, facts, outputs)
    with seed():
        module = _run(signature, path)
    try:
        with seed():
            with _explain_faults(path, "cannot build the network"):
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
        return f"{FUNCTION} returns {_kind(model)}, no torch.nn.Module; return the network."
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


def keep_code(config: UserFile, copy: Path, *others: Path) -> None:
    """Put the file that the person agreed to into ``copy``, unless it lies there: from the first of ``others`` (another run's
    copy, where this one branched off) or the file itself that is still what it was. Raises InputError."""
    if _find_trusted(config, copy) is not None:
        return
    if (data := _find_trusted(config, *others, Path(config.path))) is not None:
        write_bytes(copy, data)
        return
    signature = read_signature(Path(config.path))  # says what is wrong with a file that cannot be read
    refusal = explain_distrust(Path(config.path), signature.digest, config.trusted)
    raise ConfigError([Problem("model.trusted", refusal or "the file's copy in the run's folder is gone.")])


def text_of(config: UserFile, code: Path | None) -> Signature:
    """The file as the run has it, for exports; raises InputError when neither copy nor file is what was trusted."""
    data = _find_trusted(config, *([code] if code else []), Path(config.path))
    if data is None:
        raise InputError(
            "model.path: neither the run's copy of the file nor the file itself is what was trained; bring it back."
        )
    return signature_of(data, config.path)


def _find_trusted(config: UserFile, *paths: Path) -> bytes | None:
    """The first of them that is what the person agreed to."""
    for path in paths:
        with suppress(OSError):
            data = read_bytes(path, MEGABYTE)
            if hashlib.sha256(data).hexdigest() == config.trusted:
                return data
    return None


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
    for parameter in signature.parameters:
        if parameter.name in config.arguments:
            value: Any = config.arguments[parameter.name]
            if parameter.sort == "float" and isinstance(value, int):
                value = float(value)
            value = tuple(value) if isinstance(value, list) else value
            arguments[parameter.name] = None if parameter.optional and value == "" else value
    return arguments


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
        with switch_mode(model, training), track_layers(model) as entered, _explain_faults(path, told, entered):
            answer = forward_meta(model, facts, samples, call)
        if fault := find_misfit(answer, answer_shape(facts, outputs, samples)):
            raise InputError(f"{escape_unprintable(str(path))}: {fault}")
    if changed:
        names = ", ".join(f"torch.{name}" for name in sorted(changed))
        raise InputError(
            f"{escape_unprintable(str(path))}: forward changes what torch does from then on ({names}), in the backward pass and in later "
            "steps, too; use it in a with statement, or put it back before forward returns."
        )


def find_misfit(answer: Any, wanted: tuple[int, ...]) -> str:
    """What is wrong with a network's answer, as a sentence; "" for a tensor of the shape ``wanted``."""
    if isinstance(answer, Tensor) and tuple(answer.shape) == wanted:
        return ""
    lost = isinstance(answer, Tensor) and wanted[0] == 1 and tuple(answer.shape) == wanted[1:]
    advice = "change what its forward returns" + (
        " (squeeze() takes the axis of the samples away, too)" if lost else ""
    )
    return (
        f"for {pluralize(wanted[0], 'sample')} the network answers {_kind(answer)}, but a tensor of "
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


def _run(signature: Signature, path: Path) -> ModuleType:
    """The file as a module. Its lines stay known for tracebacks, whatever becomes of the file."""
    name = f"{_MODULE}{signature.digest[:16]}"
    module = ModuleType(name)
    module.__file__ = str(path)
    linecache.cache[str(path)] = (len(signature.text), None, signature.text.splitlines(True), str(path))
    sys.modules[name] = module  # dataclasses look their module up
    with _explain_faults(path, "cannot be run"):
        exec(compile(signature.text, str(path), "exec"), module.__dict__)
    return module


@contextmanager
def _explain_faults(path: Path, what: str, entered: Entered | None = None) -> Iterator[None]:
    """Inside, code of the file ``path`` runs. Afterwards torch's modes are put back; a fault is told as one sentence, with the
    layer of another's that refused its input, the last of those ``entered``."""
    with preserve_modes(path):
        try:
            yield
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            place = place_of(error)
            line = f", line {place[1]}" if place else ""
            reason = (
                f"{type(error).__name__}: {escape_unprintable(str(error).strip().split(chr(10))[0].rstrip('.'), 200)}"
            )
            if entered and not type(entered[-1][1]).__module__.startswith(_MODULE):  # else the line says where
                reason = explain_refusal(entered, reason)
            raise InputError(f"{escape_unprintable(str(path))}{line}: {what}: {reason}. Correct the file.") from error


def place_of(error: BaseException) -> tuple[str, int] | None:
    """File and line of the innermost frame of ``error`` that a person's file has; None when it came from elsewhere."""
    frames = list(traceback.walk_tb(error.__traceback__))
    for frame, line in reversed(frames):
        if str(frame.f_globals.get("__name__", "")).startswith(_MODULE):
            return frame.f_code.co_filename, line
    return None


def _kind(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of {' x '.join(map(str, value.shape)) or 'a single number'}"
    return f"a {type(value).__name__}" if value is not None else "nothing"
