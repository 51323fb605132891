"""Taking a trained model, or the whole run as plain code, out of Trainwright; each way with proof of parity."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from training.errors import InputError
from training.export import short_script
from training.export.bundle import load_bundle
from training.export.formats import FORMATS, export_model
from training.export.script import export_script
from training.protocol.answers import ExportResult
from training.runs.folder import RunFolder

__all__ = ["export_checkpoint"]


def export_checkpoint(
    checkpoint: Path,
    to: str,
    out: Path,
    large_data: bool = False,
    tell: Callable[[str], None] = lambda words: None,
    temperature: Callable[[], float] | None = None,
) -> ExportResult:
    """Export ``checkpoint`` as ``to`` ("safetensors", "torch-export", "onnx", "script", "tutorial" or "accelerate") to ``out``.

    ``large_data`` lets a script have more than 2 GB of samples beside it; ``tell`` hears of their size before they are written.
    ``temperature`` is asked for what divides the scores of classes and labels before they become probabilities.
    Raises CheckpointError for a checkpoint that is not whole, InputError when ``out`` cannot be used; then nothing was written.
    """
    if "\0" in str(out):
        raise InputError(f"--out {out}: holds a zero byte, which no path can; choose another name.")
    if temperature is not None and (to == "script" or to in short_script.FORMATS):
        raise InputError(f"--temperature: a {to} trains a model and holds none; leave it out.")
    if to == "script":
        return export_script(lambda: load_bundle(checkpoint), out, large_data, tell)
    if to in short_script.FORMATS:
        return short_script.export_short_script(RunFolder(checkpoint.absolute().parent.parent).config(), to, out)
    if to not in FORMATS:
        raise InputError(
            f"--to {to}: unknown format; choose safetensors, onnx, torch-export, script, tutorial or accelerate."
        )
    return export_model(lambda: load_bundle(checkpoint), to, out, temperature)
