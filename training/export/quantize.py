"""A graph in int8: weights and activations of an image network by ranges that training samples show (static, QDQ), of other networks
weights alone, and activations as they come (dynamic)."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx
from numpy.typing import NDArray
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from training.errors import InputError
from training.verify.kept import PLAIN_INPUT

_QUANTIZED = ("Conv", "MatMul", "Gemm")
_MARKS = ("QuantizeLinear", "DynamicQuantizeLinear")


class _Reader(CalibrationDataReader):
    def __init__(self, batches: Iterator[NDArray[Any]]) -> None:
        self._batches = batches

    def get_next(self) -> dict[str, NDArray[Any]] | None:
        batch = next(self._batches, None)
        return None if batch is None else {PLAIN_INPUT: batch}


def quantize_graph(path: Path, batches: Callable[[], Iterator[NDArray[Any]]] | None) -> None:
    """Put the int8 variant of the plain graph ``path`` in its place. ``batches`` of training samples calibrate an image network; None:
    dynamic. Raises InputError for a network in which there is nothing to quantize."""
    with tempfile.TemporaryDirectory() as folder, _silence():
        ready, made = Path(folder) / "ready.onnx", Path(folder) / "made.onnx"
        quant_pre_process(path, ready, skip_symbolic_shape=True)
        if batches is None:
            quantize_dynamic(ready, made, weight_type=QuantType.QInt8, op_types_to_quantize=list(_QUANTIZED))
        else:
            quantize_static(
                ready,
                made,
                _Reader(batches()),
                quant_format=QuantFormat.QDQ,
                op_types_to_quantize=list(_QUANTIZED),
                per_channel=True,
                activation_type=QuantType.QInt8,
                weight_type=QuantType.QInt8,
            )
        model = onnx.load(made)
    if not any(node.op_type in _MARKS for node in model.graph.node):
        raise InputError(
            "--quantize int8: this network has no convolution and no linear layer that could be computed in int8; leave it out."
        )
    onnx.save(model, path)


@contextmanager
def _silence() -> Iterator[None]:
    """Its advice is for those who call it by hand."""
    logger = logging.getLogger()
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
