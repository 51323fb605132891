"""What the window asks of a trained model; the one that was asked last stays loaded."""

from __future__ import annotations

import base64
from itertools import islice
from pathlib import Path

import numpy as np

from training.answering.answers import answer_samples
from training.answering.continuation import Sampling, continue_tokens, join_pieces, read_prompt
from training.answering.describe import describe_model
from training.answering.model import UsableModel, open_model
from training.answering.plane import decide_plane
from training.answering.samples import list_images, read_images, read_row, read_samples
from training.errors import InputError
from training.protocol.answers import Answer
from training.protocol.messages import AskFiles, AskRow, ContinueText, DescribeModel, DrawPlane, ModelRequest
from training.protocol.model_answers import Continuation, ModelAnswers, PlaneAnswer


class Desk:
    """Answers one ``ModelRequest`` after the other."""

    def __init__(self) -> None:
        self._model: UsableModel | None = None
        self._asked: tuple[Path, int] | None = None

    def answer(self, request: ModelRequest) -> Answer:
        """Raises TrainingError for what cannot be answered."""
        model = self._open(request)
        match request:
            case DescribeModel():
                return describe_model(model)
            case AskFiles():
                return _ask_files(model, request)
            case AskRow():
                return ModelAnswers(answers=tuple(answer_samples(model, [read_row(model, request.row, "this row")])))
            case ContinueText():
                return _continue_text(model, request)
            case DrawPlane():
                return _draw_plane(model, request)
        raise InputError(f"The engine cannot ask a model that: {type(request).__name__}.")

    def _open(self, request: ModelRequest) -> UsableModel:
        """The model, loaded again where its folder is another one by now."""
        try:
            asked = request.model, request.model.stat().st_mtime_ns
        except OSError as error:
            raise InputError(
                f"{request.model}: cannot be read ({error.strerror or error}); choose another model."
            ) from error
        if self._model is None or asked != self._asked:
            self._model = None  # never two at a time
            self._model, self._asked = open_model(request.model), asked
        return self._model


def _ask_files(model: UsableModel, request: AskFiles) -> ModelAnswers:
    end = request.offset + request.most
    if model.record.input.layout == "image":
        listed = list(list_images(request.files))
        samples, total = read_images(model, listed[request.offset : end]), len(listed)
    else:
        found = list(read_samples(model, map(str, request.files)))
        samples, total = iter(found[request.offset : end]), len(found)
    answers = tuple(islice(answer_samples(model, samples, with_images=True), request.most))
    return ModelAnswers(answers=answers, left_out=max(total - end, 0))


def _continue_text(model: UsableModel, request: ContinueText) -> Continuation:
    sampling = Sampling(request.count, request.temperature, request.top_k, request.top_p, request.seed)
    sampling.require_bounds(request.prompt, lambda name: name.replace("_", "-").capitalize())
    before = list(request.tokens)
    tokens = [*read_prompt(model, request.prompt, "Prompt"), *before]
    made = list(continue_tokens(model, tokens, sampling, first=len(before)))
    known = model.vocabulary
    whole = "".join(join_pieces(known, iter([*before, *made])))
    return Continuation(text=whole, tokens=tuple(made))


def _draw_plane(model: UsableModel, request: DrawPlane) -> PlaneAnswer:
    classes, certainty = decide_plane(model, request.x, request.y)
    shown = np.rint(certainty * 255)
    encoded = (base64.b64encode(part.astype(np.uint8).tobytes()).decode() for part in (classes, shown))
    return PlaneAnswer(**dict(zip(("classes_base64", "certainty_base64"), encoded, strict=True)))
