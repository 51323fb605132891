"""A whole step as functions of tensors, to be compiled: forward, loss, backward, norm, clip, guard, update, average.

The functions do what ``core.step.train_step`` does, in the same order, equal up to rounding. All that lasts is handed
in and written in place, at the end, and only where the gradient was finite: so it stays the session's own, and
checkpoints, validation and steps that are not compiled go on with it. Where several batches make a step, and where the
optimizer is not one of ``optim.functional``, only the gradients are of the graph: what follows is core's. No tensor is made from a plain number, as
``torch.where(condition, 1.0, ...)`` makes one: it would be copied to the GPU, which no recording (``cuda_graph``)
can hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value

from training.core.averaging import update_average
from training.engine.session import Session
from training.optim.averaging import EMA
from training.optim.functional import Group, ParameterState, find_functional, wide_dtype


class StepTensors(NamedTuple):
    """Every tensor that a step reads or changes (``StepGraph.collect_tensors``)."""

    weights: list[Tensor]
    fixed: dict[str, Tensor]  # parameters without an update
    buffers: list[Tensor]
    states: list[ParameterState]
    averaged: list[Tensor]
    updates: Tensor | None  # of the average
    scale: list[Tensor] | None  # of the loss, and since how many steps
    rates: list[Tensor]
    momenta: list[Tensor]
    gradients: list[Tensor]


class StepGraph:
    """The step of ``session``. ``used`` are the parameters that the loss depends on: the others get no update."""

    def __init__(self, session: Session, used: set[int]) -> None:
        self._session = session
        self._loop = session.config.loop
        self._functional = find_functional(session.optimizer) if self._loop.accumulation == 1 else None
        names = {id(parameter): name for name, parameter in session.model.named_parameters()}
        self._groups = [
            [parameter for parameter in group["params"] if id(parameter) in used]
            for group in session.optimizer.param_groups
        ]
        self._settings = [
            {key: value for key, value in group.items() if key not in ("params", "lr", "lr_scale", "momentum", "name")}
            for group in session.optimizer.param_groups
        ]
        self.weights = [parameter for group in self._groups for parameter in group]
        self._names = [names[id(parameter)] for parameter in self.weights]
        self._buffers = [name for name, _ in session.model.named_buffers()]
        self._map_places = _map_places(session.model)
        self._ema = session.ema if isinstance(session.ema, EMA) else None  # SWA is due too rarely to be part of it
        self._averaged = list(self._ema.shadow) if self._ema is not None else []
        # One place for each rate and momentum, and the place that each group looks at.
        scales = [(group.get("lr_scale", 1.0), "betas" in group) for group in session.optimizer.param_groups]
        self._places = [sorted(set(scales)).index(scale) for scale in scales]
        kind, places = wide_dtype(session.device), len(set(scales))
        self._rates = [torch.zeros((), dtype=kind, device=session.device) for _ in range(places)]
        self._momenta = [torch.zeros((), dtype=kind, device=session.device) for _ in range(places)]
        self._last: list[tuple[float, float]] = []
        if (scaler := session.numerics.scaler).is_enabled():
            self._interval = scaler.get_growth_interval()
            self._growth, self._backoff = scaler.get_growth_factor(), scaler.get_backoff_factor()
        self.is_whole = self._functional is not None
        """Whether the graph is the whole step (``compute_step``), or ends with the gradients (``compute_micro_batch``)."""
        self.averages = self._ema is not None and self.is_whole
        """Whether the average of the weights, if there is one, is part of the graph."""
        self.gradients = [] if self.is_whole else [torch.zeros_like(weight) for weight in self.weights]

    def collect_tensors(self) -> StepTensors:
        """The session's tensors as they are now: to be asked again when others were loaded in their place."""
        session = self._session
        state, scaler, ema = session.optimizer.state, session.numerics.scaler, self._ema
        weights = {name: parameter.detach() for name, parameter in session.model.named_parameters()}
        buffers = {name: buffer.detach() for name, buffer in session.model.named_buffers()}
        shadow = ema.shadow if ema is not None else {}
        scale = None
        if scaler.is_enabled():
            scaler.scale(torch.ones((), device=session.device))  # makes its tensors, where it has none yet
            assert scaler._scale is not None
            assert scaler._growth_tracker is not None
            scale = [scaler._scale, scaler._growth_tracker]
        return StepTensors(
            weights=[weights[name] for name in self._names],
            fixed={name: weight for name, weight in weights.items() if name not in set(self._names)},
            buffers=[buffers[name] for name in self._buffers],
            states=[_filter_tensors(state[parameter]) for parameter in self.weights],
            averaged=[shadow[name] for name in self._averaged],
            updates=ema.count if ema is not None else None,
            scale=scale,
            rates=self._rates,
            momenta=self._momenta,
            gradients=self.gradients,
        )

    def set_rate(self) -> None:
        """Take over what the schedule says for the step that comes next."""
        now = [_rate_and_momentum(group) for group in self._session.optimizer.param_groups]
        if now != self._last:
            for place, (rate, momentum) in dict(zip(self._places, now, strict=True)).items():
                self._rates[place].fill_(rate)
                self._momenta[place].fill_(momentum)
            self._last = now

    # ------------------------------------------------------------------------------------------- what is compiled

    def compute_step(self, held: StepTensors, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """A window of one batch: its mean loss and the gradient norm before clipping."""
        objective = self._session.objective
        weight = objective.loss_weight(targets) if objective.is_weighted else len(targets)
        gradients, loss, buffers = self._differentiate(held, inputs, targets, weight)
        ok, norm = self._finish(held, gradients, buffers)
        for old, new in zip(held.buffers, buffers, strict=True):
            old.copy_(torch.where(ok, new, old))
        return loss, norm

    def compute_micro_batch(self, held: StepTensors, inputs: Tensor, targets: Tensor, weight: Tensor) -> tuple[Tensor]:
        """A micro-batch of a window of ``weight`` (``MicroBatches.weight``): its share of the loss; its gradients are added up."""
        gradients, loss, buffers = self._differentiate(held, inputs, targets, weight)
        for total, gradient in zip(held.gradients, gradients, strict=True):
            total.add_(gradient)
        for old, new in zip(held.buffers, buffers, strict=True):
            old.copy_(new)
        return (loss,)

    def _differentiate(
        self, held: StepTensors, inputs: Tensor, targets: Tensor, weight: int | Tensor
    ) -> tuple[list[Tensor], Tensor, list[Tensor]]:
        """Gradients (under fp16 scaled), loss, and the buffers after the forward pass."""
        session = self._session
        model, objective, autocast = session.model, session.objective, session.numerics.autocast

        def compute(weights: list[Tensor]) -> tuple[Tensor, tuple[Tensor, list[Tensor]]]:
            buffers = {name: buffer.clone() for name, buffer in zip(self._buffers, held.buffers, strict=True)}
            named = dict(zip(self._names, weights, strict=True))
            with autocast():
                tensors = {**named, **held.fixed, **buffers}
                placed = {place: tensors[name] for place, name in self._map_places.items()}
                outputs = functional_call(model, placed, (inputs,), tie_weights=False)
            loss = objective.loss(outputs, targets, weight)
            scaled = loss if held.scale is None else loss * held.scale[0]
            return scaled, (loss, [buffers[name] for name in self._buffers])

        gradients, (_, (loss, buffers)) = grad_and_value(compute, has_aux=True)(held.weights)
        return gradients, loss, buffers

    def _finish(self, held: StepTensors, gradients: list[Tensor], buffers: list[Tensor]) -> tuple[Tensor, Tensor]:
        """All from the gradients on; returns whether the step took place, and the norm."""
        if held.scale is not None:
            gradients = self._unscale(held.scale, gradients)
        norm = _norm(gradients)
        ok = norm < math.inf
        limit, largest = self._loop.clip_norm, self._loop.clip_value
        if largest:
            gradients = [gradient.clamp(-largest, largest) for gradient in gradients]
        if limit:
            factor = torch.clamp(limit / ((_norm(gradients) if largest else norm) + 1e-6), max=1.0)
            gradients = [gradient * factor for gradient in gradients]
        weights, states = self._update(held, gradients)
        weights = [torch.where(ok, new, old) for new, old in zip(weights, held.weights, strict=True)]
        if held.updates is not None:
            self._average(held, ok, weights, buffers)
        for old, new in zip(held.weights, weights, strict=True):
            old.copy_(new)
        for before, after in zip(held.states, states, strict=True):
            for name, old in before.items():
                old.copy_(torch.where(ok, after[name], old))
        return ok, norm

    def _update(self, held: StepTensors, gradients: list[Tensor]) -> tuple[list[Tensor], list[ParameterState]]:
        weights: list[Tensor] = []
        states: list[ParameterState] = []
        first = 0
        for group, settings, place in zip(self._groups, self._settings, self._places, strict=True):
            some = slice(first, first := first + len(group))
            if group:
                assert self._functional is not None
                tensors = held.weights[some], gradients[some], held.states[some]
                new = self._functional(Group(settings, *tensors, held.rates[place], held.momenta[place]))
                weights += new[0]
                states += new[1]
        return weights, states

    def _average(self, held: StepTensors, ok: Tensor, weights: list[Tensor], buffers: list[Tensor]) -> None:
        """As ``optim.averaging`` does; where the step is refused, ``weights`` are the old ones already."""
        assert self._ema is not None
        assert held.updates is not None
        kept = [torch.where(ok, new, old) for new, old in zip(buffers, held.buffers, strict=True)]
        live = {
            **held.fixed,
            **dict(zip(self._buffers, kept, strict=True)),
            **dict(zip(self._names, weights, strict=True)),
        }
        pairs = ((average, live[name]) for name, average in zip(self._averaged, held.averaged, strict=True))
        update_average(pairs, ok * self._ema.share(held.updates))
        held.updates.add_(ok)

    def _unscale(self, scale: list[Tensor], gradients: list[Tensor]) -> list[Tensor]:
        """Gradients in their true size; the scale for the next step as ``torch.amp.GradScaler.update`` sets it."""
        now, growth = scale
        found = ~torch.stack([gradient.isfinite().all() for gradient in gradients]).all()
        inverse = now.double().reciprocal().to(now.dtype)
        gradients = [gradient * inverse for gradient in gradients]
        full = growth + 1 == self._interval
        larger = now * self._growth
        grown = torch.where(full & larger.isfinite(), larger, now)
        now.copy_(torch.where(found, now * self._backoff, grown))
        growth.copy_((growth + 1) * ~(found | full))
        return gradients


def _rate_and_momentum(group: dict[str, Any]) -> tuple[float, float]:
    """What a schedule changes; optimizers without momentum look at none."""
    return group["lr"], group["betas"][0] if "betas" in group else group.get("momentum", 0.0)


def _map_places(model: nn.Module) -> dict[str, str]:
    """Every place of a parameter or buffer in ``model``, with the name under which ``named_parameters`` has it.

    A module that occurs twice counts once: ``functional_call`` with ``tie_weights`` puts what it was given back as the
    model's own there.
    """
    names = {id(tensor): name for name, tensor in (*model.named_parameters(), *model.named_buffers())}
    return {
        f"{path}.{name}" if path else name: names[id(tensor)]
        for path, module in model.named_modules()
        for name, tensor in (*module._parameters.items(), *module._buffers.items())
        if tensor is not None
    }


def _norm(gradients: list[Tensor]) -> Tensor:
    """The total 2-norm; not by ``torch._foreach_norm``, which inductor cannot fuse."""
    return torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(gradient) for gradient in gradients]))


def _filter_tensors(state: Mapping[str, Any]) -> ParameterState:
    return {name: value for name, value in state.items() if torch.is_tensor(value)}
