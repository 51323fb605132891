"""Taking a trained model, or the whole run as plain code, out of Trainwright; each way with proof of parity."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from training.errors import InputError
from training.export import short_script
from training.export.bundle import load_bundle
from training.export.choices import NOTHING, Choices
from training.export.exported import ReportProgress, export_model
from training.export.formats import FORMATS
from training.export.script import export_script
from training.protocol.answers import ExportResult
from training.runs.folder import RunFolder

__all__ = ["Choices", "export_checkpoint"]


def export_checkpoint(
    checkpoint: Path,
    to: str,
    out: Path,
    large_data: bool = False,
    tell: Callable[[str], None] = lambda words: None,
    choices: Choices = NOTHING,
    report_progress: ReportProgress = lambda text, fraction: None,
) -> ExportResult:
    """Export ``checkpoint`` as ``to`` ("safetensors", "torch-export", "onnx", "openvino", "script", "tutorial" or "accelerate") to ``out``.

    ``large_data`` lets a script have more than 2 GB of samples beside it; ``tell`` hears of their size before they are written.
    ``choices`` are for models, not for scripts; ``report_progress`` hears what is being done.
    Raises CheckpointError for a checkpoint that is not whole, InputError when ``out`` cannot be used; then nothing was written.
    """
    if "\0" in str(out):
        raise InputError(f"--out {out}: holds a zero byte, which no path can; choose another name.")
    if choices.first_option and (to == "script" or to in short_script.FORMATS):
        raise InputError(f"{choices.first_option}: a {to} trains a model and holds none; leave it out.")
    if to == "script":
        return export_script(lambda: load_bundle(checkpoint), out, large_data, tell)
    if to in short_script.FORMATS:
        return short_script.export_short_script(RunFolder(checkpoint.absolute().parent.parent).config(), to, out)
    if to not in FORMATS:
        raise InputError(
            f"--to {to}: unknown format; choose safetensors, onnx, openvino, torch-export, script, tutorial or accelerate."
        )
    return export_model(lambda: load_bundle(checkpoint), to, out, choices, report_progress)
