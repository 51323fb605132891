"""What the window asks of a trained model; the one that was asked last stays loaded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.answering.answers import answer_samples, encode_bytes, show_image
from training.answering.continuation import Sampling, continue_tokens, join_pieces, read_prompt
from training.answering.describe import describe_model
from training.answering.grad_cam import look_at_image
from training.answering.model import UsableModel, open_model
from training.answering.plane import decide_plane
from training.answering.samples import list_images, read_images, read_row, read_samples
from training.data.browse import Browser
from training.errors import InputError, TrainingError
from training.protocol.answers import Answer
from training.protocol.messages import (
    AskFiles,
    AskRow,
    ContinueText,
    DescribeModel,
    DrawPlane,
    ExplainImage,
    ModelRequest,
    PickRow,
)
from training.protocol.model_answers import (
    Continuation,
    ImageAttention,
    ModelAnswer,
    ModelAnswers,
    PickedRow,
    PlaneAnswer,
)


class Desk:
    """Answers one ``ModelRequest`` after the other."""

    def __init__(self, find_browser: Callable[[], Browser]) -> None:
        self._find_browser = find_browser
        self._model: UsableModel | None = None
        self._asked: tuple[Path, int] | None = None

    def answer(self, request: ModelRequest) -> Answer:
        """Raises TrainingError for what cannot be answered."""
        model = self._open(request)
        match request:
            case DescribeModel():
                return describe_model(model)
            case AskFiles():
                return self._add_thumbnails(model, _ask_files(model, request))
            case AskRow():
                return ModelAnswers(answers=tuple(answer_samples(model, [read_row(model, request.row, "this row")])))
            case PickRow():
                return self._pick_row(model, request)
            case ContinueText():
                return _continue_text(model, request)
            case DrawPlane():
                return _draw_plane(model, request)
            case ExplainImage():
                return self._explain_image(model, request)
        raise InputError(f"The engine cannot ask a model that: {type(request).__name__}.")

    def _pick_row(self, model: UsableModel, request: PickRow) -> PickedRow:
        if model.is_export:
            raise InputError("An export knows no rows of the data; choose a checkpoint of a run.")
        features = [feature.name for feature in model.record.input.features]
        return self._find_browser().pick_row(request.model.parent.parent, features, request.place)

    def _add_thumbnails(self, model: UsableModel, found: ModelAnswers) -> ModelAnswers:
        """Of the nearest samples, as the model sees them."""
        if model.record.input.layout != "image" or not any(answer.nearest for answer in found.answers):
            return found
        return found.model_copy(update={"answers": tuple(map(partial(self._with_neighbors, model), found.answers))})

    def _with_neighbors(self, model: UsableModel, answer: ModelAnswer) -> ModelAnswer:
        shown = []
        for each in answer.nearest:
            with suppress(TrainingError):  # its file may be gone: then it has a name alone
                pixels = self._find_browser().read_pixels(model.path.parent.parent, each.on, each.number, each.name)
                each = each.model_copy(update={"image": show_image(pixels)})
            shown.append(each)
        return answer.model_copy(update={"nearest": tuple(shown)})

    def _explain_image(self, model: UsableModel, request: ExplainImage) -> ImageAttention:
        if request.files:
            pixels = _read_file(model, request)
        else:
            pixels = self._find_browser().read_pixels(
                request.model.parent.parent, request.on, request.number, request.name
            )
        found, output = look_at_image(model, pixels, request.output)
        most = float(found.heat.max())
        heat = np.rint(found.heat * (255.0 / most)) if most > 0.0 else found.heat
        rows, columns = found.grid
        return ImageAttention(
            image=show_image(pixels),
            heat_base64=encode_bytes(heat),
            output=output,
            nothing=not most > 0.0,
            rows=rows,
            columns=columns,
            layer=found.layer,
        )

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


def _read_file(model: UsableModel, request: ExplainImage) -> NDArray[Any]:
    listed = list(list_images(request.files)) if model.record.input.layout == "image" else []
    if not 0 <= request.place < len(listed):
        raise InputError("There is no such image among the files any more; give them again.")
    (sample,) = read_images(model, listed[request.place : request.place + 1])
    if sample.values is None:
        raise InputError(f"{sample.name}: {sample.refused}; choose another image.")
    return sample.values


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
    encoded = (encode_bytes(part) for part in (classes, shown))
    return PlaneAnswer(**dict(zip(("classes_base64", "certainty_base64"), encoded, strict=True)))
