"""Samples of the data that Setup has chosen, put on the exclude list that the draft names, with a way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from PySide6.QtWidgets import QWidget

from studio.actions.excluding import SUBJECT, ask_where, change_list, refuse_change, take_off
from studio.state.context import AppContext
from studio.state.evaluations.excluding import put_on_list
from training.config import RunConfig
from training.errors import pluralize
from training.exclude_list import add_to_list, remove_from_list
from training.protocol.answers import SampleDigests
from training.protocol.messages import DigestSamples
from training.runs.folder import make_slug

_SETTING = "dataset.exclude"


class Reader(Protocol):
    """What is read again once the list is another one."""

    asked: RunConfig | None

    def ask_again(self) -> None:
        """Read the data again."""


def exclude_samples(context: AppContext, parent: QWidget, reader: Reader, numbers: Sequence[int]) -> None:
    """Put the samples with ``numbers`` (of a table the rows of its file) on the list; where it lies is asked once."""

    def put(entries: Mapping[str, str]) -> None:
        before = _find_list(context)
        path = Path(str(before)) if before else _ask_for_list(context, parent)
        if path is None:
            return
        new = change_list(context, lambda: put_on_list(path, entries))
        if new is None:
            return
        _name_list(context, str(path))
        reader.ask_again()
        context.notifier.notify(
            f"{pluralize(len(new), 'sample')} excluded, by {path}. No file of the data was touched.",
            "success",
            subject=SUBJECT,
            action_text="Undo",
            action=lambda: _take_back(context, reader, path, new, before),
        )

    _ask_digests(context, reader, numbers, put)


def include_samples(context: AppContext, reader: Reader, numbers: Sequence[int]) -> None:
    """Take the samples with ``numbers`` off the list that the draft names."""

    def take_out(entries: Mapping[str, str]) -> None:
        path = Path(str(_find_list(context) or ""))
        count = change_list(context, lambda: remove_from_list(path, entries))
        if count is None:
            return
        reader.ask_again()
        context.notifier.notify(
            f"{pluralize(count, 'sample')} taken off {path.name}.",
            "success",
            subject=SUBJECT,
            action_text="Undo",
            action=lambda: _put_back(context, reader, path, entries),
        )

    _ask_digests(context, reader, numbers, take_out)


def _ask_digests(
    context: AppContext, reader: Reader, numbers: Sequence[int], go_on: Callable[[Mapping[str, str]], None]
) -> None:
    if reader.asked is None:
        return
    request = DigestSamples(config=reader.asked.model_dump(mode="json"), numbers=tuple(numbers))
    context.engine.ask(request, SampleDigests, lambda found: go_on(found.names), partial(refuse_change, context))


def _ask_for_list(context: AppContext, parent: QWidget) -> Path | None:
    """None where the person turned away."""
    dataset = context.draft.settings()["dataset"]
    name = Path(str(dataset.get("path") or "")).name or context.draft.kind("dataset")
    proposed = context.workspace / f"{make_slug(name)}-exclude.txt"
    return ask_where(parent, proposed, "runs on this data", "Setup names it from then on (Exclude list).")


def _find_list(context: AppContext) -> object:
    return context.draft.settings()["dataset"].get("exclude")


def _name_list(context: AppContext, path: str | None) -> None:
    if _find_list(context) != path:
        context.draft.set(_SETTING, path)
        context.draft.finish_edit()


def _take_back(context: AppContext, reader: Reader, path: Path, entries: Mapping[str, str], before: object) -> None:
    if not take_off(context, path, entries):
        return
    if not before and _find_list(context) == str(path):
        _name_list(context, None)
    reader.ask_again()


def _put_back(context: AppContext, reader: Reader, path: Path, entries: Mapping[str, str]) -> None:
    count = change_list(context, lambda: add_to_list(path, entries))
    if count is None:
        return
    reader.ask_again()
    context.notifier.notify(f"{pluralize(count, 'sample')} put on {path.name} again.", "info", subject=SUBJECT)
