"""Whether an answer depends on anything but its own sample: on chance, on the other samples of its batch, on tokens that come later."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from training.doctor.probes.look import Look, describe_module, find_producer, record_calls
from training.events import Finding
from training.findings.probes import EVAL_RANDOM, FUTURE, MIXES, TOLERANCE
from training.system.untrusted import escape_unprintable

_ROWS = 8


def random_findings(look: Look) -> list[Finding]:
    """Two passes in eval mode that differ, or that change buffers."""
    inputs = look.inputs(_ROWS)
    with record_calls(look.model) as one:
        first = look.answer(inputs)
    changed = [name for name, value in look.model.state_dict().items() if not _equal(value, look.initial[name])]
    look.restore()
    with record_calls(look.model) as other:
        second = look.answer(inputs)
    look.restore()
    if changed:
        return [_of_buffers(look, changed)]
    if _is_close(first, second):
        return []
    found = find_producer(one, other, _is_close)
    name, module = found or ("", look.model)
    difference = float((first - second).abs().max())
    title = f"In eval mode two passes over the same samples differ: {describe_module(name, module)} draws random numbers there, too."
    advice = "Validation is chance then: use nn.Dropout, or functional.dropout(x, p, training=self.training)."
    return [EVAL_RANDOM.find("warning", title, advice, place=name, evidence={"largest_difference": difference})]


def _of_buffers(look: Look, changed: list[str]) -> Finding:
    name, _, buffer = changed[0].rpartition(".")
    module = look.model.get_submodule(name)
    why = (
        " It is in training mode although eval() was called: forward, or the network's own train(), sets it."
        if module.training
        else ""
    )
    title = f"In eval mode a pass changes {escape_unprintable(buffer, 60)} of {describe_module(name, module)}: validation would alter the network."
    advice = f"Let it change its buffers only while self.training is true.{why}"
    return EVAL_RANDOM.find("warning", title, advice, place=name, evidence={"buffers": changed[:10]})


def mixing_findings(look: Look) -> list[Finding]:
    """Either half of a batch, with two different other halves: what runs along the batch carries over in one direction alone."""
    given = look.inputs(_ROWS)
    half = len(given) // 2
    halves = (slice(0, half), slice(half, len(given)))
    return next((found for kept in halves if (found := _find_mixing(look, given, kept))), []) if half else []


def _find_mixing(look: Look, given: Tensor, kept: slice) -> list[Finding]:
    """Of the answers to the rows ``kept``, where the others change."""
    rows = len(given)
    other = look.noise(given)
    other[kept] = given[kept]

    def is_same(one: Tensor, again: Tensor) -> bool:
        if one.ndim == 0 or not len(one) or len(one) % rows:
            return _is_close(one, again)
        return _is_close(one.reshape(rows, -1)[kept], again.reshape(rows, -1)[kept])

    if (difference := _compare(look, given, other, is_same)) is None:
        return []
    first, second, name, module = difference
    title = f"The answer to a sample depends on the other samples of its batch: {describe_module(name, module)} mixes them, in eval mode, too."
    return [
        MIXES.find(
            "error",
            title,
            _tell_mixing(module),
            place=name,
            evidence={"difference": float(_gap(first[kept], second[kept]))},
        )
    ]


def _tell_mixing(module: nn.Module) -> str:
    if isinstance(module, nn.modules.batchnorm._NormBase) and not module.track_running_stats:
        return "It keeps no running statistics: leave track_running_stats on, or take GroupNorm."
    if isinstance(module, nn.modules.batchnorm._NormBase) and module.training:
        return (
            "It is in training mode although eval() was called: do not override train(), nor call train() in forward."
        )
    if isinstance(module, nn.MultiheadAttention | nn.RNNBase) and not module.batch_first:
        return "It takes the first axis for the sequence: give it batch_first=True."
    if isinstance(module, nn.Softmax):
        return f"It works along dim {module.dim}: give the axis of the classes, dim=1 or -1."
    return "Look there for a reshape, a mean, a softmax or a normalization over axis 0, which is that of the samples."


def future_findings(look: Look) -> list[Finding]:
    """Of language models: tokens behind a place are changed, and its answer with them."""
    if look.session.data.facts.target != "tokens":
        return []
    given = look.inputs(2)
    places = given.shape[1]
    cut = max(1, places // 2)
    other = given.clone()
    count = len(look.session.data.facts.names)
    other[:, cut:] = (other[:, cut:] + 1 + look.noise(given[:, cut:]) % max(1, count - 1)) % count

    def is_same(one: Tensor, again: Tensor) -> bool:
        if one.shape != again.shape:
            return True
        axis = next((axis for axis in (1, 0) if one.ndim > axis and one.shape[axis] == places), None)
        if axis is None:
            return _is_close(one, again)
        return _is_close(one.narrow(axis, 0, cut), again.narrow(axis, 0, cut))

    if (difference := _compare(look, given, other, is_same)) is None:
        return []
    _, _, name, module = difference
    title = f"The answer at a place depends on tokens that come later, so it can copy what it is to predict: {describe_module(name, module)} lets them through."
    advice = "Mask attention causally (is_causal=True, or a triangular mask), pad convolutions on the left only, and let nothing run backwards."
    return [FUTURE.find("error", title, advice, place=name, evidence={"from_place": cut})]


def _compare(
    look: Look, given: Tensor, other: Tensor, is_same: Callable[[Tensor, Tensor], bool]
) -> tuple[Tensor, Tensor, str, nn.Module] | None:
    """The answers to ``given`` and to ``other``, and the module (its name first) from which on they differ; None where they do not.
    The network draws the same random numbers for both, where it draws any."""
    answers, calls = [], []
    for inputs in (given, other):
        torch.manual_seed(0)
        with record_calls(look.model) as recorded:
            answers.append(look.answer(inputs))
        calls.append(recorded)
    look.restore()
    if is_same(answers[0], answers[1]):
        return None
    return (answers[0], answers[1], *(find_producer(calls[0], calls[1], is_same) or ("", look.model)))


def _equal(one: Tensor, other: Tensor) -> bool:
    return torch.equal(one, other) or bool(((one == other) | (one.isnan() & other.isnan())).all())


def _gap(one: Tensor, other: Tensor) -> Tensor:
    """The largest difference, as a share of the spread of all."""
    one, other = one.float(), other.float()
    return (one - other).abs().max() / (one.abs().max() + 1e-12)


def _is_close(one: Tensor, other: Tensor) -> bool:
    """But for what rounds otherwise."""
    if one.shape != other.shape:
        return False
    if not one.numel() or not one.is_floating_point():
        return torch.equal(one, other)
    return not float(_gap(one, other)) > TOLERANCE
