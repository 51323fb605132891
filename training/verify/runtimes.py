"""Exported files as functions of NumPy arrays: by ONNX Runtime, by OpenVINO, or by the ``model.py`` beside them."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.errors import InputError
from training.system.untrusted import escape_unprintable

Inputs = Mapping[str, NDArray[Any]]
Outputs = dict[str, NDArray[Any]]
MODEL = "model.py"
GRAPHS = (".onnx", ".xml")
"""How files end that hold a graph, which runs nobody's code."""


class Runtime(NamedTuple):
    """``ask`` takes inputs by name, (n, ...), and answers outputs by name; ``name`` says what computes."""

    name: str
    ask: Callable[[Inputs], Outputs]


def open_runtime(file: Path) -> Runtime:
    """Load ``file``. Raises InputError where this process cannot."""
    if file.suffix == ".onnx":
        return _open_onnx(file)
    if file.suffix == ".xml":
        return _open_openvino(file)
    return _open_by_code(file)


def _open_onnx(file: Path) -> Runtime:
    try:
        import onnxruntime
    except (ImportError, OSError) as error:
        raise _cannot_load("onnxruntime", file, error) from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no common class
        raise _cannot_open(file, error) from error
    names = [each.name for each in session.get_outputs()]

    def ask(inputs: Inputs) -> Outputs:
        return dict(zip(names, session.run(names, dict(inputs)), strict=True))

    return Runtime(f"onnxruntime {onnxruntime.__version__}", ask)


def _open_openvino(file: Path) -> Runtime:
    try:
        import openvino
    except (ImportError, OSError) as error:
        raise _cannot_load("openvino", file, error) from error
    try:
        # Its default on a processor that has BF16 would be another arithmetic than the one that is proven.
        compiled = openvino.compile_model(str(file), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    except Exception as error:  # likewise
        raise _cannot_open(file, error) from error
    names = [each.get_any_name() for each in compiled.outputs]

    def ask(inputs: Inputs) -> Outputs:
        found = compiled(dict(inputs))
        return {name: np.asarray(found[name]) for name in names}

    return Runtime(f"openvino {openvino.__version__.partition('-')[0]}", ask)


def _open_by_code(file: Path) -> Runtime:
    code = file.with_name(MODEL)
    if not code.is_file():
        raise InputError(
            f"{code}: is missing; it lies beside each exported file, and loads it. Bring it along, or export again."
        )
    usage = runpy.run_path(str(code))
    model, facts = usage["load_model"]()
    channels_first = facts["input"]["layout"] == "image"

    def ask(inputs: Inputs) -> Outputs:
        samples = next(iter(inputs.values()))
        if channels_first:
            samples = np.ascontiguousarray(samples.transpose(0, 3, 1, 2))
        return {"logits": np.asarray(usage["logits"](model, facts, samples))}

    return Runtime(MODEL, ask)


def _cannot_load(package: str, file: Path, error: Exception) -> InputError:
    why = escape_unprintable(str(error), 200).rstrip(".")
    return InputError(f"{file.name}: the package {package}, which runs it, cannot be loaded ({why}); install it.")


def _cannot_open(file: Path, error: Exception) -> InputError:
    return InputError(f"{file}: cannot be loaded ({escape_unprintable(str(error), 300)}); export the model again.")
