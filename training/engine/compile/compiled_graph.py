"""A function of tensors compiled as one graph, ahead of its first call and without torch's checks at each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from training.errors import InputError


class CompiledGraph:
    """``function(held, *others)`` as compiled code; ``held`` are tensors that stay, in lists and dicts.

    torch.compile looks at every argument at every call, which for a tiny model takes long beside computing (measured on an
    MLP of 17,000 weights: 38 of 196 microseconds a step). Here shapes are the caller's business, so the graph that torch
    made is called itself, with its arguments in the order it wants. Compiling computes nothing: no tensor is changed.
    """

    def __init__(self, function: Callable[..., tuple[Tensor, ...]], held: Any, *others: Tensor) -> None:
        """``others`` change from call to call, but for shape and strides. Raises what torch does where it cannot."""
        self._compiled: Callable[..., Sequence[Tensor]] | None = None
        seen: list[Any] = []
        made: list[Tensor] = []

        def backend(graph: torch.fx.GraphModule, examples: list[Tensor]) -> Callable[..., Any]:
            self._compiled = torch._dynamo.lookup_backend("inductor")(graph, examples)
            (outputs,) = next(iter(graph.graph.find_nodes(op="output"))).args

            def note(*inputs: Any) -> list[Tensor]:
                seen.extend(inputs)
                made.extend(torch.zeros(()) for _ in outputs)
                return made

            return note

        with torch.no_grad():
            results = torch.compile(function, backend=backend, fullgraph=True, dynamic=False)(held, *others)
        if self._compiled is None or list(map(id, results)) != list(map(id, made)):
            raise InputError(
                "precision.compile: the model keeps results of its own between steps, which would stand still in a compiled "
                "step; use --set precision.compile=off or =model.",
                fix={"precision.compile": "off"},
            )
        before = pytree.tree_leaves(held)
        places = {id(tensor): place for place, tensor in enumerate((*before, *others))}
        self._places: list[int] = [places.get(id(tensor), -1) for tensor in seen]  # -1: a constant of the model's
        self._count: int = len(before)
        self._others: list[tuple[int, int]] = [
            (index, place - len(before)) for index, place in enumerate(self._places) if place >= len(before)
        ]
        self._inputs: list[Any] = seen

    def bind(self, held: Any) -> None:
        """Go on with these tensors in the place of the first: of the same shapes and strides."""
        now = pytree.tree_leaves(held)
        for index, place in enumerate(self._places):
            if 0 <= place < self._count:
                self._inputs[index] = now[place]

    def __call__(self, *others: Tensor) -> Sequence[Tensor]:
        """Compute with these in the place of the first others."""
        inputs = self._inputs
        for index, place in self._others:
            inputs[index] = others[place]
        assert self._compiled is not None
        return self._compiled(*inputs)
