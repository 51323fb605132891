"""The formats that hold a trained model: safetensors, torch.export and ONNX, each with its ``model.json``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from training.catalog.onnx_packages import ONNX_PACKAGES, missing_for_onnx, no_onnx
from training.errors import InputError, TrainingError
from training.export.bundle import SAMPLES, ExportBundle
from training.export.facts import write_facts
from training.export.loader import FILE as LOADER
from training.export.loader import write_loader
from training.export.place import TOKENIZER, target_of, write_beside
from training.export.source import import_source
from training.export.usage import program, weights
from training.protocol.answers import ExportResult
from training.statistics.calibration import COLDEST, HOTTEST
from training.system.untrusted import escape_unprintable


@dataclass(frozen=True)
class Format:
    """How a model is written. ``usage()`` gives the module that reads it, and raises InputError where that cannot be;
    ``tolerance`` is explained in ``_prove``."""

    suffix: str
    write: Callable[[ExportBundle, Path], None]
    usage: Callable[[], ModuleType]
    tolerance: float


def export_model(
    bundle: Callable[[], ExportBundle], to: str, out: Path, temperature: Callable[[], float] | None = None
) -> ExportResult:
    """Write the model as format ``to``, load it again, compare, and only then put it where ``out`` says. ``temperature`` is asked for what
    divides the scores of classes and labels, once it is known that the model has such.

    Raises InputError when ``out`` cannot be used or a package cannot be loaded, before ``bundle`` is loaded.
    """
    form = FORMATS[to]
    folder, name = target_of(out, form.suffix)
    usage = form.usage()
    loaded = bundle()
    divisor = _find_divisor(loaded, temperature) if temperature is not None else None
    with write_beside(folder) as temporary:
        form.write(loaded, temporary / name)
        write_loader(loaded, temporary / name, usage)
        if loaded.facts.vocabulary:
            tokenizer = loaded.vocabulary.tokenizer_json()  # for ``Tokenizer.from_file`` of the tokenizers library
            (temporary / TOKENIZER).write_text(tokenizer + "\n", encoding="utf-8")
        write_facts(loaded, temporary / name, to, divisor)
        difference = _prove(loaded, temporary / LOADER, form.tolerance)
        # Large ONNX graphs keep their weights in a second file.
        names = sorted(path.name for path in temporary.iterdir())
    return ExportResult(
        format=to,
        path=str(folder / name),
        files=tuple(str(folder / each) for each in names),
        max_difference=difference,
        summary=f"Exported {to} to {folder / name}; loaded it again and compared on {SAMPLES} samples: largest difference "
        f"{difference:.3g}."
        + (f" Its scores are divided by the temperature {divisor:.4g}." if divisor is not None else ""),
    )


def _find_divisor(bundle: ExportBundle, temperature: Callable[[], float]) -> float:
    if bundle.facts.target not in ("class", "labels") or bundle.objective.is_embedding:
        kind = bundle.config.objective.kind.replace("_", " ")
        raise InputError(
            f"--temperature: is for models that answer with probabilities of classes or labels, not for {kind}; leave it out."
        )
    divisor = temperature()
    if not math.isfinite(divisor) or not COLDEST <= divisor <= HOTTEST:
        raise InputError(f"--temperature {divisor:g}: must lie between {COLDEST:g} and {HOTTEST:g}.")
    return divisor


def _prove(bundle: ExportBundle, loader: Path, tolerance: float) -> float:
    """Load what lies beside ``loader`` by that very file, and compare logits.

    Returns the largest absolute difference over ``SAMPLES`` inputs, and over the first one alone (a batch of one takes
    other paths). ``tolerance`` is relative to the largest logit; 0 demands equal bits. Raises TrainingError when they
    differ by more.
    """
    difference = 0.0
    with import_source(loader.read_text(encoding="utf-8"), "exported_model", str(loader)) as usage:
        model, facts = usage.load_model()
        answers = [torch.as_tensor(usage.logits(model, facts, bundle.samples()[:count])) for count in (SAMPLES, 1)]
    for found in answers:
        expected = bundle.logits(bundle.samples()[: len(found)])
        if not bool(torch.isfinite(expected).all()):
            raise TrainingError(
                "The model does not answer with finite numbers, so the export cannot be compared; nothing was exported.",
                "Choose an earlier checkpoint.",
            )
        if (spread := bundle.objective.spread) is not None:  # values of other units are compared in their own
            mean, std = torch.tensor(spread)
            found, expected = (found - mean) / std, (expected - mean) / std
        largest = float((found - expected).abs().max()) if found.shape == expected.shape else math.inf
        if not largest <= tolerance * max(0.1, float(expected.abs().max())):  # "not": NaN is refused, too
            raise TrainingError(
                f"The exported model was loaded again and differs by {largest:.3g} from the checkpoint's; "
                "nothing was exported.",
                "Choose another format, and tell us about it.",
            )
        difference = max(difference, largest)
    return difference


def _write_safetensors(bundle: ExportBundle, path: Path) -> None:
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


def _write_program(bundle: ExportBundle, path: Path) -> None:
    deployed = Deployed(bundle).eval()
    with _silence_exporters():
        traced = torch.export.export(deployed, (bundle.samples(),), dynamic_shapes=_batch_of_any_size())
        torch.export.save(traced, path)


def _write_onnx(bundle: ExportBundle, path: Path) -> None:
    deployed = Deployed(bundle).eval()
    with _silence_exporters():
        traced = torch.onnx.export(
            deployed,
            (bundle.samples(),),
            input_names=["samples"],
            output_names=["logits"],
            dynamic_shapes=_batch_of_any_size(),
            dynamo=True,
            verbose=False,
        )
        if traced is None:
            raise TrainingError("torch.onnx gave no graph; nothing was exported.", "Choose another format.")
        traced.save(path)


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


FORMATS = {
    "safetensors": Format(".safetensors", _write_safetensors, lambda: weights, 0.0),
    # Traced kernels are the same ones, yet a fused or reordered operation may round otherwise.
    "torch-export": Format(".pt2", _write_program, lambda: program, 1e-5),
    # Another library's kernels sum in another order; 1e-4 of the largest logit is some 800 float32 roundings.
    "onnx": Format(".onnx", _write_onnx, _use_onnx, 1e-4),
}
