"""Which operation of a forward and backward pass produced the first number that is not finite, and in which module.

Each operation is looked at, so that dicts, tuples and code between modules are seen, too. An operation that only hands on what
another produced is not blamed, and neither is what comes to nothing: a mask of -inf that softmax turns into zeros, or a branch
that ``where`` leaves out. All of this costs time and memory; it is for a step that is computed again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from training.checkpoints.snapshot import tensors_in
from training.own_code.run_file import is_own

WHOLE = "model"
"""Where code of the network itself works, outside of its named modules."""
LOSS, INPUT, TARGET = "loss", "input", "target"

_UNSET = frozenset({"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_"})
"""Make tensors whose numbers nobody has set yet."""
_OVERWRITE = frozenset(
    {"copy_", "fill_", "zero_", "normal_", "uniform_", "bernoulli_", "exponential_", "random_", "set_"}
)
"""What was in their first tensor does not matter."""
_CONSTANT = frozenset(
    {
        "full",
        "full_like",
        "new_full",
        "scalar_tensor",
        "fill",
        "fill_",
        "masked_fill",
        "masked_fill_",
        "where",
        "lift_fresh",
    }
)
"""May write an infinity that somebody wants, as masks of attention do."""
_WORDS = {
    "addmm": "matrix product",
    "mm": "matrix product",
    "bmm": "matrix product",
    "baddbmm": "matrix product",
    "mul": "multiplication",
    "div": "division",
    "add": "addition",
    "sub": "subtraction",
    "rsub": "subtraction",
}


@dataclass(frozen=True)
class Module:
    """Where an operation stood: ``name`` as ``named_modules`` has it, WHOLE or LOSS."""

    name: str
    kind: str = ""

    @property
    def shown(self) -> str:
        """ "blocks.0.norm (LayerNorm)" """
        words = "the network's own code" if self.name == WHOLE else "the loss" if self.name == LOSS else self.name
        return f"{words} ({self.kind})" if self.kind else words


@dataclass(frozen=True)
class Origin:
    """``operation`` in ``module`` produced a number that is not finite from such as are; or ``source`` held one from the start.

    ``lowest`` and ``highest`` are of the finite numbers that went in; ``samples`` are those of the batch whose numbers it made so;
    ``line`` is (file, line) of a person's own code.
    """

    operation: str
    module: Module
    backward: bool = False
    source: str = ""  # a weight's or buffer's name
    is_nan: bool = False
    lowest: float = 0.0
    highest: float = 0.0
    weights: float = 0.0  # the largest of the module's own, by size
    dtype: torch.dtype = torch.float32
    samples: tuple[int, ...] = ()
    line: tuple[str, int] | None = None
    wanted: bool = False  # perhaps a mask: to blame only where it reaches the loss

    @property
    def largest(self) -> float:
        """The finite magnitude that went in, weights included."""
        return max(abs(self.lowest), abs(self.highest), self.weights)

    @property
    def words(self) -> str:
        """The operation as a person calls it."""
        return _WORDS.get(self.operation, self.operation)


@dataclass
class Trace:
    """Watches one forward and backward pass of ``model`` over the samples ``indices``; ``given`` are tensors that go in."""

    model: nn.Module
    indices: Tensor
    given: Mapping[str, Tensor]
    _stack: list[Module] = field(default_factory=list)
    _made: dict[int, tuple[Module, tuple[str, int] | None]] = field(default_factory=dict)
    """By the sequence number that autograd gives a node: where the operation stood."""
    _origins: dict[int, tuple[Origin, Tensor]] = field(default_factory=dict)
    """By storage: why it holds such numbers. The tensor is kept, so that no other takes its place in memory."""
    _sources: Mapping[int, tuple[str, Module, Tensor]] = field(default_factory=dict)
    arrived: Origin | None = None
    """What produced the first number in a weight's gradient that is not finite."""

    def __post_init__(self) -> None:
        named = [*self.model.named_parameters(), *self.model.named_buffers()]
        modules = dict(self.model.named_modules())
        self._sources = {
            _storage(tensor): (name, _module_of(name.rpartition(".")[0], modules), tensor) for name, tensor in named
        } | {_storage(tensor): (name, Module(name), tensor) for name, tensor in self.given.items()}

    @contextmanager
    def forward(self) -> Iterator[None]:
        """Watch what is computed inside; hooks are gone afterwards, whatever happens."""
        handles: list[Any] = []
        try:
            for name, module in self.model.named_modules():
                entered = Module(name or WHOLE, type(module).__name__)
                handles.append(module.register_forward_pre_hook(partial(self._enter, entered)))
                handles.append(module.register_forward_hook(self._leave, always_call=True))
            with _Operations(self):
                yield
        finally:
            for handle in handles:
                handle.remove()
            self._stack.clear()

    def _enter(self, entered: Module, module: nn.Module, inputs: Any) -> None:
        self._stack.append(entered)

    def _leave(self, module: nn.Module, inputs: Any, outputs: Any) -> None:
        self._stack.pop()

    def origin_of(self, tensor: Tensor) -> Origin | None:
        """Why ``tensor`` holds a number that is not finite; None where it does not, or nobody knows."""
        found = self._origins.get(_storage(tensor))
        if found is not None:
            return found[0]
        source = self._sources.get(_storage(tensor))
        if source is None or _is_finite(tensor):
            return None
        name, module, _ = source
        return Origin(
            "",
            module,
            source=name,
            is_nan=bool(torch.isnan(tensor).any()),
            dtype=tensor.dtype,
            samples=self._find_samples(tensor),
            wanted=not tensor.requires_grad and name not in self.given and _is_mask(tensor),
        )

    def _find_samples(self, tensor: Tensor) -> tuple[int, ...]:
        """Of the batch, whose numbers are not finite; all, where rows are no samples."""
        if tensor.ndim == 0 or len(tensor) != len(self.indices):
            return tuple(self.indices.tolist())
        bad = ~torch.isfinite(tensor.detach()).reshape(len(tensor), -1).all(dim=1).cpu()
        return tuple(self.indices[bad].tolist())

    # ------------------------------------------------------------------------------------------------------- forward

    def note(self, name: str, mutates: bool, given: list[Tensor], before: list[Tensor], outputs: list[Tensor]) -> None:
        """``before`` are those of ``given`` that held numbers that are not finite before the operation."""
        module = self._stack[-1] if self._stack else Module(LOSS)
        at = torch.autograd._get_sequence_nr() - 1  # type: ignore[attr-defined]
        if at not in self._made:
            self._made[at] = module, _own_line()
        if name in _UNSET:
            return
        known = {_storage(tensor) for tensor in given}
        for output in outputs:
            if not output.is_floating_point() or not (mutates or _storage(output) not in known):
                continue
            if _is_finite(output):
                self._origins.pop(_storage(output), None)
                continue
            self._origins[_storage(output)] = self._judge(name, module, given, before, output), output

    def _judge(self, name: str, module: Module, given: list[Tensor], before: list[Tensor], output: Tensor) -> Origin:
        earlier = [origin for tensor in before if (origin := self.origin_of(tensor)) is not None]
        blamed = next((origin for origin in earlier if not origin.wanted), None)
        if blamed is not None:
            return blamed
        is_nan = bool(torch.isnan(output).any())
        if earlier and not is_nan:
            return earlier[0]
        wanted = not is_nan and (name in _CONSTANT or (bool(before) and not earlier))
        owned = [value for place, (_, owner, value) in self._sources.items() if owner == module]
        finite = [tensor for tensor in given if tensor.is_floating_point()]
        return Origin(
            tidy(name),
            module,
            is_nan=is_nan,
            lowest=min((_extreme(tensor, torch.amin) for tensor in finite), default=0.0),
            highest=max((_extreme(tensor, torch.amax) for tensor in finite), default=0.0),
            weights=max((_largest(value) for value in owned), default=0.0),
            dtype=output.dtype,
            samples=self._find_samples(output),
            line=_own_line(),
            wanted=wanted,
        )

    # ------------------------------------------------------------------------------------------------------ backward

    @contextmanager
    def backward(self, loss: Tensor) -> Iterator[None]:
        """Inside, ``loss.backward()`` is called: look at what each operation's derivative makes of the gradient that reaches it."""
        reached: dict[Any, Origin] = {}
        waiting, seen = [loss.grad_fn], set()  # Python forgets a node that nobody holds, and with it that it was seen
        while waiting:
            node = waiting.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            node.register_hook(partial(self._come_back, node, reached))
            waiting.extend(following for following, _ in node.next_functions)
        try:
            yield
        finally:
            seen.clear()
            reached.clear()

    def _come_back(self, node: Any, reached: dict[Any, Origin], outgoing: Any, incoming: Any) -> None:
        origin = reached.get(node)
        if origin is not None and all(map(_is_finite, tensors_in(incoming))):
            origin = None  # what was not finite has come to nothing on the way
        if node.name().endswith("AccumulateGrad"):
            self.arrived = self.arrived or origin
            return
        for (following, _), gradient in zip(node.next_functions, outgoing, strict=False):
            if following is None or not isinstance(gradient, Tensor) or _is_finite(gradient):
                continue
            if origin is None:
                origin = self._blame(node, incoming, gradient)
            reached.setdefault(following, origin)

    def _blame(self, node: Any, incoming: Any, gradient: Tensor) -> Origin:
        module, line = self._made.get(node._sequence_nr(), (Module(LOSS), None))
        arrived = [tensor for tensor in tensors_in(incoming) if tensor.is_floating_point()]
        return Origin(
            tidy(node.name().removesuffix("0").removesuffix("Backward")),
            module,
            backward=True,
            is_nan=bool(torch.isnan(gradient).any()),
            lowest=min((_extreme(tensor, torch.amin) for tensor in arrived), default=0.0),
            highest=max((_extreme(tensor, torch.amax) for tensor in arrived), default=0.0),
            dtype=gradient.dtype,
            samples=self._find_samples(gradient),
            line=line,
        )


class _Operations(TorchDispatchMode):
    """Hands each operation to a trace."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._trace = trace

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        given = [tensor for tensor in tensors_in([*args, *(kwargs or {}).values()]) if tensor.is_floating_point()]
        asked = given[1:] if name in _OVERWRITE else given
        before = [tensor for tensor in asked if not _is_finite(tensor)]
        answer = func(*args, **(kwargs or {}))
        self._trace.note(name, func._schema.is_mutable, asked, before, list(tensors_in(answer)))
        return answer


def tidy(name: str) -> str:
    """ "_softmax" and "NativeLayerNorm" as "softmax" and "native_layer_norm": an operation's name, of a node's or the dispatcher's."""
    if any(letter.isupper() for letter in name):
        name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    name = name.strip("_").removeprefix("linalg_").removeprefix("native_").removesuffix("_forward")
    return name.removesuffix("_backward")


def _is_mask(tensor: Tensor) -> bool:
    """Whether all that is not finite is -inf, as in masks of attention."""
    return not bool((torch.isnan(tensor) | (tensor == torch.inf)).any())


def _module_of(name: str, modules: Mapping[str, nn.Module]) -> Module:
    return Module(name or WHOLE, type(modules[name]).__name__)


def _own_line() -> tuple[str, int] | None:
    """File and line of the innermost frame of a person's own code that works just now."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if is_own(str(frame.f_globals.get("__name__", ""))):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata


def _is_finite(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor.detach()).all())


def _largest(tensor: Tensor) -> float:
    return max(abs(_extreme(tensor, torch.amin)), abs(_extreme(tensor, torch.amax)))


def _extreme(tensor: Tensor, of: Any) -> float:
    """``of`` the finite numbers; 0 where there are none."""
    values = tensor.detach().double().flatten()
    values = values[values.isfinite()]
    return float(of(values)) if values.numel() else 0.0
