"""The packages that write ONNX and prove it: they come with Trainwright, yet a broken installation may lack them."""

from __future__ import annotations

import sys
from importlib.util import find_spec

ONNX_PACKAGES = ("onnx", "onnxscript", "onnxruntime")


def missing_for_onnx() -> str:
    """Why this Python writes no ONNX, as a sentence; "" where nothing is missing. Looks only, and loads none of the packages."""
    missing = [package for package in ONNX_PACKAGES if find_spec(package) is None]
    return no_onnx(f"has no {' and no '.join(missing)}") if missing else ""


def no_onnx(why: str) -> str:
    """The sentence, for terminal and window alike."""
    return (
        f"ONNX cannot be written: the Python that trains ({sys.executable}) {why}. Install Trainwright there once more, or choose "
        "another format."
    )


def missing_for_openvino() -> str:
    """Why this Python writes no OpenVINO, as a sentence; "" where nothing is missing."""
    if find_spec("openvino") is None:
        return (
            f"OpenVINO cannot be written: the Python that trains ({sys.executable}) has no openvino. Install it there (pip install "
            "openvino), or choose ONNX, which it reads, too."
        )
    return missing_for_onnx()
