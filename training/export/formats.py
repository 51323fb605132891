"""The formats that hold a trained model: safetensors, torch.export, ONNX and OpenVINO."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from training.catalog.onnx_packages import ONNX_PACKAGES, missing_for_onnx, missing_for_openvino, no_onnx
from training.errors import InputError, TrainingError
from training.export.bundle import ExportBundle
from training.export.choices import Settled
from training.export.model_json import GraphFacts
from training.export.openvino import convert_to_openvino
from training.export.proof.data import RealData
from training.export.proof.samples import calibration_batches
from training.export.usage import program, weights
from training.runs.export_place import SUFFIXES
from training.system.untrusted import escape_unprintable
from training.verify.answers import Answering
from training.verify.check import PLAIN
from training.verify.kept import LOGITS, PLAIN_INPUT


@dataclass(frozen=True)
class Plan:
    """What is written beside the weights themselves."""

    answering: Answering
    settled: Settled
    data: RealData | str


@dataclass(frozen=True)
class Format:
    """How a model is written; a graph is described then. ``usage()`` gives the module that reads it, and raises InputError where that
    cannot be; scores may be off by ``tolerance``, a part of the largest one. A ``graph`` computes in float32 or in int8, without
    torch."""

    suffix: str
    write: Callable[[ExportBundle, Path, Plan], GraphFacts | None]
    usage: Callable[[], ModuleType]
    tolerance: float
    is_graph: bool = False


def _write_safetensors(bundle: ExportBundle, path: Path, plan: Plan) -> None:
    # A copy of each: safetensors refuses tensors that share memory, as tied layers do. Both names are written, as in a
    # checkpoint, so that whoever loads the file finds all that the network asks for.
    state = bundle.model.state_dict()
    tensors = {name: tensor.clone(memory_format=torch.contiguous_format) for name, tensor in state.items()}
    save_file(tensors, path, metadata={"format": "pt"})
    path.chmod(
        path.parent.stat().st_mode & 0o666
    )  # safetensors makes it its owner's alone; the folder follows the umask


class Deployed(nn.Module):
    """The model with its normalization in front: takes samples as the data holds them, answers values in their own units."""

    scale: Tensor
    shift: Tensor
    mean: Tensor
    std: Tensor

    def __init__(self, bundle: ExportBundle) -> None:
        super().__init__()
        image = bundle.facts.layout == "image"
        size = (1, -1, 1, 1) if image else (-1,)
        divisor = 255.0 if image else 1.0
        mean, std = bundle.normalization.mean, bundle.normalization.std
        self.model = bundle.model
        self._tokens = bundle.facts.layout == "tokens"
        self._missing = bundle.normalization.missing
        self._spread, self._unit_length = bundle.objective.spread, bundle.objective.unit_length
        self.register_buffer("scale", torch.tensor([1 / (part * divisor) for part in std]).view(size))
        self.register_buffer("shift", torch.tensor([-m / s for m, s in zip(mean, std, strict=True)]).view(size))
        if self._spread is not None:
            self.register_buffer("mean", torch.tensor(self._spread[0]))
            self.register_buffer("std", torch.tensor(self._spread[1]))

    def forward(self, samples: Tensor) -> Tensor:
        """The model's answer to (n, *shape) samples: uint8 pixels, float32 values or int64 tokens."""
        if not self._tokens:
            samples = samples.to(torch.float32) * self.scale + self.shift
        if self._missing:
            samples = torch.where(samples.isnan(), 0.0, samples)
        outputs: Tensor = self.model(samples)
        if self._unit_length:
            return nn.functional.normalize(outputs, dim=1)
        return outputs if self._spread is None else outputs * self.std + self.mean


def _batch_of_any_size() -> dict[str, dict[int, Any]]:
    return {"samples": {0: torch.export.Dim("batch", min=1)}}


def _write_program(bundle: ExportBundle, path: Path, plan: Plan) -> None:
    deployed = Deployed(bundle).eval()
    with _silence_exporters():
        traced = torch.export.export(deployed, (bundle.samples(),), dynamic_shapes=_batch_of_any_size())
        torch.export.save(traced, path)


def _trace_onnx(bundle: ExportBundle, path: Path) -> None:
    deployed = Deployed(bundle).eval()
    with _silence_exporters():
        traced = torch.onnx.export(
            deployed,
            (bundle.samples(),),
            input_names=[PLAIN_INPUT],
            output_names=[LOGITS],
            dynamic_shapes=_batch_of_any_size(),
            dynamo=True,
            verbose=False,
        )
        if traced is None:
            raise TrainingError("torch.onnx gave no graph; nothing was exported.", "Choose another format.")
        traced.save(path)


def _write_plain(bundle: ExportBundle, path: Path, plan: Plan) -> None:
    """The graph that answers logits alone, in int8 where that is wanted."""
    _trace_onnx(bundle, path)
    if plan.settled.quantize:
        from training.export.quantize import quantize_graph

        batches = partial(calibration_batches, bundle, plan.data) if bundle.facts.layout == "image" else None
        with _silence_exporters():
            quantize_graph(path, batches)


def _write_onnx(bundle: ExportBundle, path: Path, plan: Plan) -> GraphFacts:
    from training.export.graph import complete_graph, describe_graph, load_graph, save_graph

    plain = path.with_name(f"{path.stem}{PLAIN}{path.suffix}")
    _write_plain(bundle, plain, plan)
    whole = complete_graph(load_graph(plain), plan.answering, bundle.facts.layout)
    save_graph(whole, path)
    return describe_graph(whole, plain.name, plan.settled.quantize)


def _write_openvino(bundle: ExportBundle, path: Path, plan: Plan) -> GraphFacts:
    """By way of ONNX; it knows no texts, so numbers of classes stand for their names."""
    from training.export.graph import complete_graph, describe_graph, load_graph, save_graph

    plain, whole = path.with_suffix(".plain.onnx"), path.with_suffix(".whole.onnx")
    _write_plain(bundle, plain, plan)
    graph = complete_graph(load_graph(plain), plan.answering, bundle.facts.layout, with_texts=False)
    save_graph(graph, whole)
    beside = path.with_name(f"{path.stem}{PLAIN}{path.suffix}")
    convert_to_openvino(plain, beside)
    convert_to_openvino(whole, path)
    for made in path.parent.glob("*.onnx*"):
        made.unlink()
    return describe_graph(graph, beside.name, plan.settled.quantize)


@contextmanager
def _silence_exporters() -> Iterator[None]:
    """torch's exporters warn their developers about their own code; what counts here is the comparison afterwards."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        yield


def _use_onnx() -> ModuleType:
    missing = missing_for_onnx()
    if missing:
        raise InputError(missing)
    for package in ONNX_PACKAGES:  # here, because they take seconds to load, which nobody else need wait for
        try:
            import_module(package)
        except (ImportError, OSError) as error:  # a library of theirs that does not fit this system
            why = f"cannot load {package}: {escape_unprintable(str(error), 200).rstrip('.')}"
            raise InputError(no_onnx(why)) from error
    from training.export.usage import graph

    return graph


def _use_openvino() -> ModuleType:
    missing = missing_for_openvino()
    if missing:
        raise InputError(missing)
    return _use_onnx()


FORMATS = {
    # The same kernels, yet batches of other sizes take other paths through them; traced ones may be fused or reordered.
    "safetensors": Format(SUFFIXES["safetensors"], _write_safetensors, lambda: weights, 1e-5),
    "torch-export": Format(SUFFIXES["torch-export"], _write_program, lambda: program, 1e-5),
    # Another library's kernels sum in another order; 1e-4 of the largest logit is some 800 float32 roundings.
    "onnx": Format(SUFFIXES["onnx"], _write_onnx, _use_onnx, 1e-4, is_graph=True),
    "openvino": Format(SUFFIXES["openvino"], _write_openvino, _use_openvino, 1e-4, is_graph=True),
}
