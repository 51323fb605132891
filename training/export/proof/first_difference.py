"""Where an ONNX graph first answers otherwise than the checkpoint: module by module, by the scopes that torch's exporter leaves on each node."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from training.export.bundle import ExportBundle
from training.export.proof.data import as_network_takes
from training.verify.kept import Kept

_SAMPLES = 4
_SCOPES = "pkg.torch.onnx.name_scopes"
_NETWORK = "model"
"""What ``formats.Deployed`` calls the network."""
Array = NDArray[Any]


def find_first_difference(bundle: ExportBundle, file: Path, kept: Kept) -> str:
    """The first place of the graph ``file`` whose output differs from the checkpoint's, for a sentence: "in 3 (Conv2d), whose output
    differs by 0.31"; "" where none of those that can be compared does. A module that the exporter made one with its neighbor has no
    output of its own and is passed over."""
    import onnx

    few = kept.first(_SAMPLES)
    model = onnx.load(file)
    places = _place_outputs(model.graph)
    found = _ask(model, sorted(set(places.values())), few)
    for name, kind, expected in _listen(bundle, next(iter(few.inputs.values()))):
        value = found.get(places.get(name, ""))
        if value is None or value.shape != expected.shape:
            continue
        apart = float(np.abs(value.astype(np.float64) - expected).max(initial=0.0))
        if not apart <= kept.relative * max(0.1, float(np.abs(expected).max(initial=0.0))):
            where = "the normalization in front of the network" if name == "" else f"{name} ({kind})"
            return f"in {where}, whose output differs by {apart:.3g}"
    return ""


def _place_outputs(graph: Any) -> dict[str, str]:
    """By the path of each module in the network what the graph calls its output, by "" what goes into the network; the network
    itself is ".": values that the last node of each scope gives."""
    places: dict[str, str] = {}
    for node in graph.node:
        scopes = next((ast.literal_eval(each.value) for each in node.metadata_props if each.key == _SCOPES), None)
        if scopes is None:
            continue
        inside = [each for each in scopes[:-1] if each == _NETWORK or each.startswith(f"{_NETWORK}.")]
        if not inside and "." not in places:
            places[""] = node.output[0]
        for each in inside:
            places[each.removeprefix(_NETWORK).removeprefix(".") or "."] = node.output[0]
    return places


def _ask(model: Any, names: list[str], few: Kept) -> dict[str, Array]:
    """What the graph computes for the samples, by the names of its values."""
    import onnx
    import onnxruntime

    known = {each.name for each in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in known)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, dict(few.inputs)), strict=True))


def _listen(bundle: ExportBundle, samples: Array) -> Iterator[tuple[str, str, Array]]:
    """The path, class and output of each module in the order in which they are done, the network's input first."""
    heard: list[tuple[str, str, Array]] = []

    def hear(name: str, module: torch.nn.Module, output: Any) -> None:
        if isinstance(output, torch.Tensor):
            heard.append((name, type(module).__name__, output.detach().cpu().numpy().astype(np.float64)))

    network = bundle.model
    hooks = [network.register_forward_pre_hook(lambda module, given: hear("", module, given[0]))]
    hooks += [
        module.register_forward_hook(lambda module, _, output, name=name: hear(name or ".", module, output))
        for name, module in network.named_modules()
    ]
    try:
        bundle.logits(as_network_takes(bundle, samples))
    finally:
        for hook in hooks:
            hook.remove()
    return iter(heard)
