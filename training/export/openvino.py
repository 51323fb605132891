"""A graph as OpenVINO keeps it, where that is installed."""

from __future__ import annotations

from pathlib import Path

from training.errors import InputError
from training.system.untrusted import escape_unprintable


def convert_to_openvino(graph: Path, out: Path) -> None:
    """Write the ONNX file ``graph`` as ``out``, an .xml with its weights in the .bin beside it. Raises InputError where OpenVINO does not
    know what is in it."""
    import openvino

    try:
        model = openvino.convert_model(str(graph))
    except Exception as error:  # its exceptions are of many kinds
        why = escape_unprintable(
            str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__, 200
        )
        raise InputError(
            f"OpenVINO cannot take over this network ({why.rstrip('.')}); choose another format."
        ) from error
    openvino.save_model(model, str(out), compress_to_fp16=False)
