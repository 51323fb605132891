"""Taking a trained model, or the whole run as plain code, out of Trainwright; each way with proof of parity."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from training.errors import InputError
from training.export.bundle import load_bundle
from training.export.formats import FORMATS, export_model
from training.export.script import export_script
from training.protocol.answers import ExportResult

__all__ = ["export_checkpoint"]


def export_checkpoint(
    checkpoint: Path, to: str, out: Path, large_data: bool = False, tell: Callable[[str], None] = lambda words: None
) -> ExportResult:
    """Export ``checkpoint`` as ``to`` ("safetensors", "torch-export", "onnx" or "script") to ``out``.

    ``large_data`` lets a script have more than 2 GB of samples beside it; ``tell`` hears of their size before they are written.
    Raises CheckpointError for a checkpoint that is not whole, InputError when ``out`` cannot be used; then nothing was written.
    """
    if "\0" in str(out):
        raise InputError(f"--out {out}: holds a zero byte, which no path can; choose another name.")
    if to == "script":
        return export_script(lambda: load_bundle(checkpoint), out, large_data, tell)
    if to not in FORMATS:
        raise InputError(f"--to {to}: unknown format; choose safetensors, onnx, torch-export or script.")
    return export_model(lambda: load_bundle(checkpoint), to, out)
