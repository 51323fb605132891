"""Which activations a network has, and where each can be looked at."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from training.facts import DataFacts
from training.models.flops import Convolution
from training.models.meta_forward import forward_meta

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Kind:
    """An activation that passes no gradient below ``least``, or one whose ends saturate; ``scale`` is what its input is multiplied by to be
    one of tanh's."""

    least: float | None = None
    scale: float = 1.0


_SATURATING = {"tanh": Kind(), "sigmoid": Kind(scale=0.5)}  # sigmoid(x) = (1 + tanh(x / 2)) / 2
# Of smooth ones ``least`` is where the slope sinks below about 0.01 of its largest.
_RECTIFYING = {
    "relu": Kind(0.0),
    "gelu": Kind(-3.0),
    "silu": Kind(-6.5),
    "mish": Kind(-6.5),
    "hardswish": Kind(-3.0),
    "elu": Kind(-4.6),
    "selu": Kind(-4.6),
    "celu": Kind(-4.6),
    "softplus": Kind(-4.6),
}
_MODULES: dict[type[nn.Module], Kind] = {
    nn.ReLU: _RECTIFYING["relu"],
    nn.ReLU6: _RECTIFYING["relu"],
    nn.GELU: _RECTIFYING["gelu"],
    nn.SiLU: _RECTIFYING["silu"],
    nn.Mish: _RECTIFYING["mish"],
    nn.Hardswish: _RECTIFYING["hardswish"],
    nn.ELU: _RECTIFYING["elu"],
    nn.SELU: _RECTIFYING["selu"],
    nn.CELU: _RECTIFYING["celu"],
    nn.Softplus: _RECTIFYING["softplus"],
    nn.Tanh: _SATURATING["tanh"],
    nn.Sigmoid: _SATURATING["sigmoid"],
}
_FUNCTIONS: dict[Any, Kind] = {
    getattr(place, name): kind
    for name, kind in (_RECTIFYING | _SATURATING | {"relu_": Kind(0.0), "relu6": Kind(0.0)}).items()
    for place in (functional, torch, Tensor)
    if hasattr(place, name)
}
_PRODUCTS = frozenset((torch.mul, Tensor.mul, Tensor.__mul__, Tensor.__rmul__, Tensor.mul_, Tensor.__imul__))


@dataclass(frozen=True)
class Activation:
    """The input of an activation: what ``module`` is given, in its ``call``-th call of a forward pass from 0, or what it ``gives``.
    ``layer`` is the layer with weights before it, by its name; its ``units`` lie along ``dim``, each at ``places`` of a sample."""

    layer: str
    kind: Kind
    module: nn.Module
    gives: bool
    call: int
    dim: int
    units: int
    places: int


def find_activations(model: nn.Module, facts: DataFacts) -> list[Activation]:
    """Those of the hidden layers of ``model``, in the order in which they are computed: modules of torch.nn, and functions of what a module
    gives. Left out is what ends the network and what follows its last layer with weights, since a sure classifier's sigmoid is saturated, and
    a sigmoid or tanh that something is multiplied by: a gate is to be shut. Empty where a person's network refuses an example of zeros. ``model`` stays as it was."""
    names = {id(module): name for name, module in model.named_modules()}
    finder = _Finder(names)

    def call(network: nn.Module, inputs: Tensor) -> Any:
        hooks = [hook for module in network.modules() for hook in finder.attach(module)]
        try:
            with finder:
                return network(inputs)
        finally:
            for hook in hooks:
                hook.remove()

    try:
        answer = forward_meta(model, facts, 2, call)
    except (RuntimeError, ValueError, TypeError, LookupError, AttributeError, AssertionError) as error:
        logger.info("No units are looked at, because the network takes no example: %s", error)
        return []
    return [each for each in finder.found if each.layer != finder.last_layer and not finder.is_output(each, answer)]


class _Finder(TorchFunctionMode):
    """Notes the activations of the forward pass that it is entered for."""

    def __init__(self, names: dict[int, str]) -> None:
        super().__init__()
        self._names = names
        self._layer: tuple[str, int] = ("", -1)  # with weights, computed last, and where its units lie
        self._inside = 0  # activation modules
        self._given: dict[int, tuple[nn.Module, int]] = {}  # what gave a tensor, in which call
        self._calls: dict[int, int] = {}
        self._made: dict[int, Activation] = {}  # by the tensor that it made
        self._alive: list[Tensor] = []  # an address is another tensor's once one is gone
        self.found: list[Activation] = []

    @property
    def last_layer(self) -> str:
        """The layer with weights that was computed last; "" before there was one."""
        return self._layer[0]

    def attach(self, module: nn.Module) -> list[Any]:
        """Follow what ``module`` computes."""
        if isinstance(module, torch.jit.ScriptModule) or any(True for _ in module.children()):
            return []
        return [module.register_forward_pre_hook(self._enter), module.register_forward_hook(self._leave)]

    def is_output(self, activation: Activation, answer: Any) -> bool:
        """Whether ``answer``, the network's, is what ``activation`` makes, or a part or view of it."""
        answers = [each for each in _flatten(answer) if isinstance(each, Tensor)]
        there = (self._made.get(id(tensor)) for each in answers for tensor in (each, each._base))
        return any(each is activation for each in there)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        tensor = args[0] if args and isinstance(args[0], Tensor) else None
        source = self._given.get(id(tensor))
        output = func(*args, **(kwargs or {}))
        if func in _FUNCTIONS and not self._inside and source is not None and tensor is not None:
            self._note(_FUNCTIONS[func], source[0], True, source[1], tensor, output)
        elif func in _PRODUCTS:
            for factor in args:
                gate = self._made.get(id(factor))
                if gate is not None and gate.kind.least is None and gate in self.found:
                    self.found.remove(gate)
        return output

    def _enter(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        self._inside += type(module) in _MODULES

    def _leave(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        call = self._calls.get(id(module), 0)
        self._calls[id(module)] = call + 1
        if (kind := _MODULES.get(type(module))) is not None:
            self._inside -= 1
            if args and isinstance(args[0], Tensor) and isinstance(output, Tensor):
                self._note(kind, module, False, call, args[0], output)
            return
        if any(parameter.ndim > 1 for parameter in module.parameters(recurse=False)):
            self._layer = self._names[id(module)], 1 if isinstance(module, Convolution) else -1
        if isinstance(output, Tensor):
            self._alive.append(output)
            self._given[id(output)] = module, call

    def _note(self, kind: Kind, module: nn.Module, gives: bool, call: int, tensor: Tensor, output: Tensor) -> None:
        layer, dim = self._layer
        if tensor.ndim < 2 or not tensor.numel():
            return
        units = tensor.shape[dim]
        places = tensor.numel() // units // tensor.shape[0]
        made = Activation(layer or self._names[id(module)], kind, module, gives, call, dim, units, places)
        self._alive.append(output)
        self._made[id(output)] = made
        self.found.append(made)


def _flatten(answer: Any) -> list[Any]:
    if isinstance(answer, dict):
        answer = list(answer.values())
    return [part for each in answer for part in _flatten(each)] if isinstance(answer, list | tuple) else [answer]
