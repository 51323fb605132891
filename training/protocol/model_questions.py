"""What the window asks a trained model. No torch, no Qt."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from training.protocol.message import Message


class ModelRequest(Message):
    """A question to the trained model in ``model``: a checkpoint's folder, or that of an export."""

    model: Path


class DescribeModel(ModelRequest):
    """Answered by a ``model_answers.ModelDescription``."""

    action: Literal["describe_model"] = "describe_model"


class AskFiles(ModelRequest):
    """Answered by ``model_answers.ModelAnswers``: of up to ``most`` samples in ``files`` from ``offset`` on, images with their
    pixels."""

    action: Literal["ask_files"] = "ask_files"
    files: tuple[Path, ...]
    offset: int = 0
    most: int = 24


class SaveAnswers(ModelRequest):
    """Answered by a ``model_answers.SavedAnswers``: all samples in ``files`` are asked about, and the answers are written to ``out``, a CSV,
    Parquet or JSON file, whole or, where that is interrupted, not at all."""

    action: Literal["save_answers"] = "save_answers"
    files: tuple[Path, ...]
    out: Path


class AskRow(ModelRequest):
    """Answered by ``model_answers.ModelAnswers``: of a row that gives each column's value by its name, "" where it is not known."""

    action: Literal["ask_row"] = "ask_row"
    row: dict[str, str]


class PickRow(ModelRequest):
    """Answered by a ``model_answers.PickedRow``: the row at ``place`` (any number: they go around) of the validation part of the
    checkpoint's run."""

    action: Literal["pick_row"] = "pick_row"
    place: int = 0


class ContinueText(ModelRequest):
    """Answered by a ``model_answers.Continuation``: the next ``count`` tokens of ``prompt`` followed by ``tokens``, those that came
    before; so a text is made piece by piece, and stopped by asking no more."""

    action: Literal["continue_text"] = "continue_text"
    prompt: str
    tokens: tuple[int, ...] = ()
    count: int = 16
    temperature: float = 0.8
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0


class DrawPlane(ModelRequest):
    """Answered by a ``model_answers.PlaneAnswer``: of a model of two numbers, over this part of the plane."""

    action: Literal["draw_plane"] = "draw_plane"
    x: tuple[float, float]
    y: tuple[float, float]


class ExplainImage(ModelRequest):
    """Answered by a ``model_answers.ImageAttention``: of the image at ``place`` among ``files``, or of the one with ``number`` in the data
    of the checkpoint's run (``on`` and ``name`` as in ``ReadSamples``). ``output`` is the number of a class, label or value, None for what the model
    answers."""

    action: Literal["explain_image"] = "explain_image"
    files: tuple[Path, ...] = ()
    place: int = 0
    on: str = ""
    number: int = 0
    name: str = ""
    output: int | None = None


ModelQuestion = DescribeModel | AskFiles | SaveAnswers | AskRow | PickRow | ContinueText | DrawPlane | ExplainImage
