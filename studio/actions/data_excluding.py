"""Samples of the data that Setup has chosen, put on the exclude list that the draft names, with a way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from PySide6.QtWidgets import QFileDialog, QWidget

from studio.actions.question import Answer, ask
from studio.state.context import AppContext
from studio.state.evaluations.excluding import put_on_list
from training.config import RunConfig
from training.errors import TrainingError, pluralize
from training.exclude_list import add_to_list, remove_from_list
from training.protocol.answers import SampleDigests
from training.protocol.messages import DigestSamples, Refusal
from training.runs.folder import make_slug

_SUBJECT = "exclude list"
_TITLE = "The exclude list was not changed"
_SETTING = "dataset.exclude"


class Reader(Protocol):
    """What is read again once the list is another one."""

    asked: RunConfig | None

    def ask_again(self) -> None:
        """Read the data again."""


def exclude_samples(context: AppContext, parent: QWidget, reader: Reader, numbers: Sequence[int]) -> None:
    """Put the samples with ``numbers`` (of a table the rows of its file) on the list; where it lies is asked once."""

    def put(entries: Mapping[str, str]) -> None:
        before = context.draft.settings()["dataset"].get("exclude")
        path = Path(str(before)) if before else _ask_for_list(context, parent)
        if path is None:
            return
        try:
            new = put_on_list(path, entries)
        except (TrainingError, OSError) as error:
            context.notifier.notify(str(error), "danger", title=_TITLE, subject=_SUBJECT)
            return
        _name_list(context, str(path))
        reader.ask_again()
        context.notifier.notify(
            f"{pluralize(len(new), 'sample')} excluded, by {path}. No file of the data was touched.",
            "success",
            subject=_SUBJECT,
            action_text="Undo",
            action=lambda: _take_back(context, reader, path, new, before),
        )

    _ask_digests(context, reader, numbers, put)


def include_samples(context: AppContext, reader: Reader, numbers: Sequence[int]) -> None:
    """Take the samples with ``numbers`` off the list that the draft names."""

    def take_off(entries: Mapping[str, str]) -> None:
        path = Path(str(context.draft.settings()["dataset"].get("exclude") or ""))
        try:
            count = remove_from_list(path, entries)
        except (TrainingError, OSError) as error:
            context.notifier.notify(str(error), "danger", title=_TITLE, subject=_SUBJECT)
            return
        reader.ask_again()
        context.notifier.notify(
            f"{pluralize(count, 'sample')} taken off {path.name}.",
            "success",
            subject=_SUBJECT,
            action_text="Undo",
            action=lambda: _put_back(context, reader, path, entries),
        )

    _ask_digests(context, reader, numbers, take_off)


def _ask_digests(
    context: AppContext, reader: Reader, numbers: Sequence[int], go_on: Callable[[Mapping[str, str]], None]
) -> None:
    if reader.asked is None:
        return

    def refuse(refusal: Refusal) -> None:
        context.notifier.notify(str(refusal), "danger", title=_TITLE, subject=_SUBJECT)

    request = DigestSamples(config=reader.asked.model_dump(mode="json"), numbers=tuple(numbers))
    context.engine.ask(request, SampleDigests, lambda found: go_on(found.names), refuse)


def _ask_for_list(context: AppContext, parent: QWidget) -> Path | None:
    """None where the person turned away."""
    dataset = context.draft.settings()["dataset"]
    name = Path(str(dataset.get("path") or "")).name or context.draft.kind("dataset")
    proposed = context.workspace / f"{make_slug(name)}-exclude.txt"
    here = "Add to that list" if proposed.is_file() else "Put it there"
    text = (
        f"It is a text file, a line for each sample, that runs on this data leave out. Proposed: {proposed}\n\n"
        "Setup names it from then on (Exclude list)."
    )
    answers = [Answer("here", here, "primary"), Answer("other", "Choose another place …")]
    answer = ask(parent.window(), "Where should the exclude list be?", text, answers)
    if answer == "other":
        chosen, _ = QFileDialog.getSaveFileName(
            parent, "Exclude list", str(proposed), "Text (*.txt)", options=QFileDialog.Option.DontConfirmOverwrite
        )
        return Path(chosen) if chosen else None
    return proposed if answer == "here" else None


def _name_list(context: AppContext, path: str | None) -> None:
    if context.draft.settings()["dataset"].get("exclude") != path:
        context.draft.set(_SETTING, path)
        context.draft.finish_edit()


def _take_back(
    context: AppContext, reader: Reader, path: Path, entries: Mapping[str, str], before: object | None
) -> None:
    try:
        count = remove_from_list(path, entries)
    except (TrainingError, OSError) as error:
        context.notifier.notify(str(error), "danger", title=_TITLE, subject=_SUBJECT)
        return
    if not before and context.draft.settings()["dataset"].get("exclude") == str(path):
        _name_list(context, None)
    reader.ask_again()
    context.notifier.notify(f"{pluralize(count, 'sample')} taken off {path.name} again.", "info", subject=_SUBJECT)


def _put_back(context: AppContext, reader: Reader, path: Path, entries: Mapping[str, str]) -> None:
    try:
        count = add_to_list(path, entries)
    except (TrainingError, OSError) as error:
        context.notifier.notify(str(error), "danger", title=_TITLE, subject=_SUBJECT)
        return
    reader.ask_again()
    context.notifier.notify(f"{pluralize(count, 'sample')} put on {path.name} again.", "info", subject=_SUBJECT)
