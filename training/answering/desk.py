"""What the window asks of a trained model; the one that was asked last stays loaded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.answering.answers import answer_samples, encode_bytes, show_image
from training.answering.continuation import Sampling, continue_tokens, join_pieces, read_prompt
from training.answering.describe import describe_model
from training.answering.given import Given
from training.answering.grad_cam import look_at_image
from training.answering.model import UsableModel, open_model
from training.answering.plane import decide_plane
from training.answering.rows import read_row
from training.answering.samples import open_files
from training.answering.tables import refuse_table, write_table
from training.data.browse import Browser
from training.data.source import ReportProgress, throttle
from training.errors import InputError, TrainingError, pluralize
from training.protocol.answers import Answer
from training.protocol.model_answers import (
    Continuation,
    ImageAttention,
    ModelAnswer,
    ModelAnswers,
    PickedRow,
    PlaneAnswer,
    SavedAnswers,
)
from training.protocol.model_questions import (
    AskFiles,
    AskRow,
    ContinueText,
    DescribeModel,
    DrawPlane,
    ExplainImage,
    ModelRequest,
    PickRow,
    SaveAnswers,
)

_MOST_HELD = 1 << 29
"""Bytes of tables that stay read between two pages."""
_PAGE_BYTES = 1 << 24


class Desk:
    """Answers one ``ModelRequest`` after the other."""

    def __init__(self, find_browser: Callable[[], Browser]) -> None:
        self._find_browser = find_browser
        self._model: UsableModel | None = None
        self._asked: tuple[Path, int] | None = None
        self._given: tuple[object, Given] | None = None

    def answer(self, request: ModelRequest, report: ReportProgress) -> Answer:
        """Raises TrainingError for what cannot be answered. ``report(text, fraction)`` is called while it works, and may raise to end it."""
        model, report = self._open(request), throttle(report)
        match request:
            case DescribeModel():
                return describe_model(model)
            case AskFiles():
                return self._add_thumbnails(model, _ask_files(model, self._open_files(model, request), request, report))
            case SaveAnswers():
                return _save_answers(model, self._open_files(model, request), request, report)
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
            pixels = _read_file(model, self._open_files(model, request), request.place)
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
            kind=found.kind,
        )

    def _open_files(self, model: UsableModel, request: AskFiles | SaveAnswers | ExplainImage) -> Given:
        """The files of ``request``, listed and read once for all of its pages, unless they are others by now."""
        key = request.files, tuple(_stamp(each) for each in request.files)
        if self._given is not None and self._given[0] == key:
            return self._given[1]
        self._given = None  # never two at a time
        given = open_files(model, request.files)
        if given.held <= _MOST_HELD:
            self._given = key, given
        return given

    def _open(self, request: ModelRequest) -> UsableModel:
        """The model, loaded again where its folder is another one by now."""
        try:
            asked = request.model, request.model.stat().st_mtime_ns
        except OSError as error:
            raise InputError(
                f"{request.model}: cannot be read ({error.strerror or error}); choose another model."
            ) from error
        if self._model is None or asked != self._asked:
            self._model = self._given = None  # never two at a time
            self._model, self._asked = open_model(request.model), asked
        return self._model


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes with a file or with what lies in a folder; None where there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # ValueError: a zero byte in the name
        return None
    return found.st_mtime_ns, found.st_size


def _ask_files(model: UsableModel, given: Given, request: AskFiles, report: ReportProgress) -> ModelAnswers:
    offset = max(request.offset, 0)
    end = min(offset + min(request.most, _fit_page(model)), given.count)
    answers = []
    for answer in answer_samples(model, given.read(offset, end), with_images=True):
        answers.append(answer)
        report("asking the model", len(answers) / (end - offset))
    return ModelAnswers(answers=tuple(answers), left_out=max(given.count - end, 0))


def _fit_page(model: UsableModel) -> int:
    """How many samples are sent at once: images and masks weigh."""
    bytes_each = math.prod(model.record.input.shape) if model.record.input.layout == "image" else 1
    return max(_PAGE_BYTES // bytes_each, 1)


def _save_answers(model: UsableModel, given: Given, request: SaveAnswers, report: ReportProgress) -> SavedAnswers:
    refuse_table(request.out, request.files)

    def ask() -> Iterator[ModelAnswer]:
        for number, answer in enumerate(answer_samples(model, given.read_all()), 1):
            report(f"{number:,} of {given.count:,}", number / given.count)
            yield answer

    saved = write_table(request.out, ask())
    if not saved.answered:
        raise InputError(f"Not one of {pluralize(saved.samples, 'sample')} could be answered, so nothing was saved.")
    return saved


def _read_file(model: UsableModel, given: Given, place: int) -> NDArray[Any]:
    if model.record.input.layout != "image" or not 0 <= place < given.count:
        raise InputError("There is no such image among the files any more; give them again.")
    (sample,) = given.read(place, place + 1)
    if sample.values is None:
        raise InputError(f"{sample.name}: {sample.refused}; choose another image.")
    return sample.values


def _continue_text(model: UsableModel, request: ContinueText) -> Continuation:
    sampling = Sampling(request.count, request.temperature, request.top_k, request.top_p, request.seed)
    sampling.require_bounds(request.prompt, lambda name: name.replace("_", "-").capitalize())
    before = list(request.tokens)
    prompt = read_prompt(model, request.prompt, "Prompt")
    tokens, unseen = [*prompt, *before], max(len(prompt) - model.data.shape[0], 0)
    made = list(continue_tokens(model, tokens, sampling, first=len(before)))
    known = model.vocabulary
    whole = "".join(join_pieces(known, iter([*before, *made])))
    return Continuation(text=whole, tokens=tuple(made), unseen=unseen)


def _draw_plane(model: UsableModel, request: DrawPlane) -> PlaneAnswer:
    classes, certainty = decide_plane(model, request.x, request.y)
    shown = np.rint(certainty * 255)
    encoded = (encode_bytes(part) for part in (classes, shown))
    return PlaneAnswer(**dict(zip(("classes_base64", "certainty_base64"), encoded, strict=True)))
