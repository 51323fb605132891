"""``precision.compile`` and ``precision.cuda_graphs``: what takes the place of ``train_step``, or of the forward pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from training.checkpoints.snapshot import tensors_in
from training.data import Batch, MicroBatches
from training.engine.compile.compiled_graph import CompiledGraph
from training.engine.compile.compiler import (
    explain_compile_errors,
    match_eager,
    refuse_counting,
    refuse_without_compiler,
    use_cache_folder,
)
from training.engine.compile.cuda_graph import RecordedGraph
from training.engine.compile.step_graph import StepGraph, StepTensors
from training.engine.device import TINY_MODEL, ran_out_of_memory
from training.engine.recovery.memory import describe_shortage, find_fitting_batches, make_shortage
from training.engine.recovery.replay import preserve_state
from training.engine.session import Session
from training.engine.step import train_step, watch_step
from training.engine.watches.layer_norms import LayerNorms
from training.engine.watches.units import Units
from training.models.own.user_file import CheckedModel

Key = tuple[torch.Size, tuple[int, ...]]
"""Shape and strides of a batch's inputs: compiled code fits only those it was made for."""


class Part(Protocol):
    """A function of tensors made fast: ``CompiledGraph`` or ``RecordedGraph``."""

    def bind(self, held: StepTensors) -> None: ...

    def __call__(self, *others: Tensor) -> Sequence[Tensor]: ...


def compile_parts(session: Session, recorded: bool, report_progress: Callable[[str, float | None], object]) -> None:
    """As ``compile_session``, of a run that asks for it; ``recorded``: as a CUDA graph, too."""
    wanted = session.config.precision.compile
    setting = "precision.cuda_graphs" if wanted == "off" else "precision.compile"
    if wanted != "off":
        refuse_without_compiler(session.device)
        use_cache_folder(session.device)
        torch.compiler.reset()  # what an earlier run of this process compiled, or torch would count it as this run's
    phases = {"model": "compiling the network", "step": "compiling the step", "off": "recording the step"}
    report_progress(phases[wanted], None)
    try:
        batch = _example(session)
        with explain_compile_errors(setting), match_eager(session.config.precision.compute, _is_tiny(session)):
            if wanted == "model":
                session.forward = CompiledModel(session, batch)
                session.watches = [watch for watch in session.watches if not isinstance(watch, Units)]
            else:
                graph = StepGraph(session, _find_used(session, batch))
                with refuse_counting(session.model, setting):
                    session.compiled = CompiledStep(session, graph, batch, recorded)
                _keep_watches(session, graph.is_whole)
    except (RuntimeError, MemoryError) as error:
        if not ran_out_of_memory(error):
            raise
        message = describe_shortage(error, session)
    else:
        return
    # Out here the error is gone, and with it all that the frames of the failed pass held.
    raise make_shortage(message, session, find_fitting_batches(session, train_step))


def _keep_watches(session: Session, whole: bool) -> None:
    """Only those of what is not inside the graph: of the rest they would see the steps that it does not fit."""
    session.watches = [watch for watch in session.watches if isinstance(watch, LayerNorms) and not whole]


def _example(session: Session) -> Batch:
    """The first batch, as the steps will get it."""
    return next(iter(session.data.rebuild_step(session.progress.epoch, 0)))


def _find_used(session: Session, batch: Batch) -> set[int]:
    """The parameters that the loss depends on. torch gives the others no gradient, and optimizers leave them alone."""
    with preserve_state(session):
        _differentiate(session, batch, session.model)
        return {id(parameter) for parameter in session.parameters if parameter.grad is not None}


def _differentiate(session: Session, batch: Batch, forward: Callable[[Tensor], Any]) -> None:
    """Forward and backward, as ``train_step`` makes them."""
    with session.numerics.autocast():
        outputs = forward(batch.inputs)
    objective = session.objective
    weight = objective.loss_weight(batch.targets) if objective.is_weighted else len(batch.targets)
    session.numerics.scaler.scale(objective.loss(outputs, batch.targets, weight)).backward()


class CompiledModel:
    """The forward pass of ``session.model`` (and with it the backward one) compiled for batches like ``batch``.

    Others (an epoch's last, all after memory ran out) are not: each would be compiled again. Neither are validation and the
    search for the cause of a skipped step, which ask the model itself.
    """

    def __init__(self, session: Session, batch: Batch) -> None:
        self._session = session
        self._model = session.answer
        self._key = _key(batch)
        with preserve_state(session):
            self._compiled = torch.compile(session.model, dynamic=False)
            _differentiate(session, batch, self._compiled)

    def __call__(self, inputs: Tensor) -> Any:
        if (inputs.shape, inputs.stride()) != self._key or self._session.progress.batch_size:
            return self._model(inputs)
        outputs = self._compiled(inputs)
        return self._model.check(inputs, outputs) if isinstance(self._model, CheckedModel) else outputs


class CompiledStep:
    """``train_step`` as compiled (or recorded) code, on the very same weights, state and buffers.

    A window that it was not made for (all after memory ran out, an epoch's last where that is short) is made by
    ``train_step``. Which windows those are depends on the settings, the data and ``progress`` alone, so a resumed run does
    alike.
    """

    def __init__(self, session: Session, graph: StepGraph, batch: Batch, recorded: bool) -> None:
        self._session = session
        self._graph = graph
        self._recorded = recorded
        self._tensors = graph.collect_tensors()
        graph.set_rate()
        self._weight = (
            torch.as_tensor(session.objective.loss_weight(batch.targets))
            if session.objective.is_weighted
            else torch.ones((), dtype=torch.float32, device=session.device)
        )
        self._wholes: dict[int, Part] = {}
        self._behind = False  # whether the guard knows older buffers than there are
        self._before: list[Tensor] | None = None  # until the first step got through
        if graph.is_whole:
            for size in _worthwhile(session):
                some = _cut(batch, size)
                self._wholes[size] = self._make(graph.compute_step, some.inputs, some.targets)
            if session.config.loop.on_out_of_memory == "smaller_batches":
                self._before = self._copies()
        else:
            self._key = _key(batch)
            self._part = self._make(graph.compute_micro_batch, batch.inputs, batch.targets, self._weight)

    def _make(self, function: Callable[..., tuple[Tensor, ...]], *others: Tensor) -> Part:
        if self._session.config.precision.compile == "off":
            return RecordedGraph(function, self._tensors, *others)
        captured = CompiledGraph(function, self._tensors, *others)
        if not self._recorded:
            return captured

        def compute(tensors: StepTensors, *given: Tensor) -> Sequence[Tensor]:
            captured.bind(tensors)
            return captured(*given)

        return RecordedGraph(compute, self._tensors, *others)

    def __call__(self, session: Session, window: MicroBatches, lr: float) -> tuple[Tensor, Tensor]:
        """As ``train_step``."""
        if not self._fits(window):
            return self._take_eager_step(session, window, lr)
        for group in session.optimizer.param_groups:
            group["lr"] = lr * group.get("lr_scale", 1.0)
        session.set_momentum()
        if not self._wholes:
            return self._take_step_in_parts(window)
        self._graph.set_rate()
        self._behind = True
        loss, norm = self._take_whole_step(window)
        if not self._graph.averages:
            session.update_average(norm < math.inf)
        return loss, norm

    def remember(self) -> None:
        """Other tensors may have taken the place of those that were held: to be called after state was loaded."""
        self._tensors = self._graph.collect_tensors()
        if self._before is not None:
            self._before = self._copies()
        for part in self._wholes.values() or (self._part,):
            part.bind(self._tensors)
        self._behind = False

    def _copies(self) -> list[Tensor]:
        return [tensor.to("cpu", copy=True) for tensor in tensors_in(self._tensors)]

    def _fits(self, window: MicroBatches) -> bool:
        if self._session.progress.batch_size:
            return False
        return not self._wholes or (window.batches == 1 and window.samples in self._wholes)

    def _take_eager_step(self, session: Session, window: MicroBatches, lr: float) -> tuple[Tensor, Tensor]:
        if self._behind:
            session.remember_state()
        try:
            return train_step(session, window, lr)
        finally:
            self.remember()

    @torch.no_grad()
    def _take_whole_step(self, window: MicroBatches) -> tuple[Tensor, Tensor]:
        batch = next(iter(window))
        try:
            loss, norm = self._wholes[window.samples](batch.inputs, batch.targets)
        except BaseException:
            # Memory may have run out among the writes. Each step takes the same, so it nearly always does in the first.
            if self._before is None:
                window.repeatable = False
            else:
                for tensor, before in zip(tensors_in(self._tensors), self._before, strict=True):
                    tensor.copy_(before)
            self._session.remember_state()  # what comes next may be a step that is not compiled
            raise
        self._before = None
        return loss, norm

    def _take_step_in_parts(self, window: MicroBatches) -> tuple[Tensor, Tensor]:
        """The gradients of each micro-batch by the graph, and what follows as in ``core.step``."""
        session, graph = self._session, self._graph
        scaler, objective = session.numerics.scaler, session.objective
        weight = window.weight(objective.loss_weight if objective.is_weighted else None)
        with torch.no_grad():
            torch._foreach_zero_(graph.gradients)
            self._weight.copy_(weight) if isinstance(weight, Tensor) else self._weight.fill_(weight)
        total = torch.zeros(())
        for batch in window:
            total = total + self._add(batch)
        for parameter, gradient in zip(graph.weights, graph.gradients, strict=True):
            parameter.grad = gradient
        scaler.unscale_(session.optimizer)
        _, _, clip, guard = watch_step(session)
        norm = clip(session.parameters)
        stepped = guard(session.optimizer.step, norm)
        scaler.update()
        session.optimizer.zero_grad(set_to_none=True)  # the sums are the graph's
        session.update_average(stepped)
        return total, norm

    def _add(self, batch: Batch) -> Tensor:
        """A micro-batch's share of the loss; its gradients are added to the window's."""
        if _key(batch) == self._key:
            with torch.no_grad():
                (part,) = self._part(batch.inputs, batch.targets, self._weight)
            return part
        session, graph = self._session, self._graph
        for weight, gradient in zip(graph.weights, graph.gradients, strict=True):
            weight.grad = gradient
        with session.numerics.autocast():
            outputs = session.answer(batch.inputs)
        loss = session.objective.loss(outputs, batch.targets, self._weight)
        session.numerics.scaler.scale(loss).backward()
        for weight in graph.weights:
            weight.grad = None
        return loss.detach()


def _key(batch: Batch) -> Key:
    return batch.inputs.shape, batch.inputs.stride()


def _cut(batch: Batch, size: int) -> Batch:
    """The first ``size`` samples of ``batch``."""
    return Batch(batch.inputs[:size], batch.targets[:size], batch.indices[:size])


def _worthwhile(session: Session) -> list[int]:
    """Batch sizes to compile for: that of the settings and, for a tiny model, which is compiled in no time, an epoch's last
    where it is another."""
    plan = session.data.plan
    sizes = [plan.samples(0)]
    if plan.steps > 1 and _is_tiny(session):
        last = plan.samples(plan.steps - 1)
        sizes += [last] if last < sizes[0] else []
    return sizes


def _is_tiny(session: Session) -> bool:
    return sum(parameter.numel() for parameter in session.parameters) < TINY_MODEL
