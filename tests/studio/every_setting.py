"""Every setting of every kind, from the configuration itself: a new one is tested by the tests there are."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import RUN, kinds, specs
from training.config.field_spec import FieldSpec, plain
from training.config.run import SECTIONS

EVERY_KIND = [
    pytest.param(section, kind, id=f"{section or 'run'}.{kind or '-'}")
    for section in (RUN, *SECTIONS)
    for kind in kinds(section) or ("",)
    if not kind.startswith("user_")  # nothing of it is valid without a file and consent: `test_user_file`
]
"""One test for each: its settings take turns in one form, which is made once."""


_NEEDED: dict[str, dict[str, Any]] = {
    "unfreeze_epoch": {"optimizer.freeze": "all_but_head"},
    "swa_every_steps": {"loop.swa_start": 0.5},
    "swa_lr": {"loop.swa_start": 0.5},
    "label_separator": {"objective.kind": "multi_label"},
}
"""What a setting has to do with: without it any value is refused."""


def settings(section: str, kind: str) -> list[FieldSpec]:
    """Those that can be valid by themselves: nothing of a teacher in a file is, without consent."""
    return [spec for spec in specs(section, kind).values() if not spec.name.startswith("teacher_")]


def settings_of(draft: Draft, section: str, kind: str, folder: Path) -> Iterator[FieldSpec]:
    """Each setting of ``kind`` in turn, with a draft in which it may have any value, and in which all others are as they
    were."""
    _choose(draft, section, kind, folder)
    chosen = draft.data()
    for spec in settings(section, kind):
        draft.apply(_NEEDED.get(spec.name, {}))
        draft.finish_edit()
        yield spec
        draft.set_data(chosen)
        draft.finish_edit()


@contextmanager
def named(section: str, kind: str, spec: FieldSpec) -> Iterator[None]:
    """Say at which setting it was that something failed."""
    try:
        yield
    except Exception as error:
        error.add_note(f"The setting is {section or 'run'}.{spec.name}, of kind {kind or '-'}.")
        raise


def _choose(draft: Draft, section: str, kind: str, folder: Path) -> None:
    """Put ``kind`` into ``section`` of the draft, and whatever it takes to be valid."""
    if section == "loader":
        draft.set_kind("dataset", "image_folder")  # the one that every way of reading suits
    if kind:
        draft.set_kind(section, kind)
    if section in ("model", "objective"):
        _choose_data(draft, section, folder)
    _give_paths(draft, folder)
    for problem in draft.problems():
        draft.apply(problem.fix)
    if kind == "multi_task":
        draft.set("dataset.targets", ["a", "b"])  # no way out can name them


def _choose_data(draft: Draft, section: str, folder: Path) -> None:
    """Data that the chosen model or objective can be used with, as the proposed ways out tell."""
    for data in kinds("dataset"):
        draft.set_kind("dataset", data)
        _give_paths(draft, folder)
        fixes = [problem.fix for problem in draft.problems() if problem.path.endswith(".kind")]
        if not any(f"{section}.kind" in fix for fix in fixes):
            return


def _give_paths(draft: Draft, folder: Path) -> None:
    """A place for each that is asked for."""
    for section in SECTIONS:
        for name, spec in specs(section, draft.kind(section)).items():
            if spec.path and spec.required:
                draft.set(f"{section}.{name}", __file__ if spec.path == "file" else str(folder))


def other_value(spec: FieldSpec, folder: Path) -> Any:
    """A valid value that is not the default."""
    if spec.editor == "bool":
        return not spec.default
    if spec.name == "task":
        return "class"  # what the objective takes
    if spec.editor == "choice":
        return spec.choices[-1]
    if spec.editor == "path":
        return str(_another_file(folder)) if spec.path == "file" else str(folder)
    if spec.editor == "numbers":
        whole = all(isinstance(item, int) for item in spec.default)
        return [item + 3 if whole else round(item * 0.9, 6) for item in plain(spec.default)]
    if spec.editor in ("duration", "durations"):
        return "2 epochs" if spec.editor == "duration" else ["1.5 epochs", "50 %"]
    if spec.name == "muted_findings":
        return ["table.identifier:zip, code", "data.scale"]
    if spec.editor == "names":
        return ["a", "b, c"]
    if spec.name == "monitor":
        return "val/loss"  # the others are measured under some objectives only
    if spec.editor == "text":
        return spec.suggestions[-1] if spec.suggestions else f"{spec.default} ähnlich"
    return _other_number(spec)


def _another_file(folder: Path) -> Path:
    file = folder / "another file"
    file.touch()
    return file


def _other_number(spec: FieldSpec) -> float | int:
    low = spec.minimum if spec.minimum is not None else 0.0
    high = spec.maximum if spec.maximum is not None else low + 1000.0
    if spec.name in ("heads", "width"):
        return 2 * int(spec.default)  # heads share the width evenly
    if spec.editor == "int":
        start = int(low if spec.default is None else spec.default)
        return start + 1 if start + 1 <= high else start - 1
    if spec.default:  # close to it, because some settings must stay above others
        return float(f"{spec.default * (1.01 if spec.default * 1.01 < high else 0.99):.6g}")
    return low + (min(high, low + 1.0) - low) * 0.375


def wrong_value(spec: FieldSpec) -> Any:
    """Something a person might type, or a file might say, that cannot be right."""
    if spec.editor in ("int", "float", "numbers", "bool", "duration", "durations"):
        return "twelve"
    if spec.editor == "names":
        return ["a", "b" * 1001]
    if spec.editor == "text" and (spec.columns or spec.name.endswith(("_images", "_masks"))):
        return "b" * 1001
    if spec.path == "any":
        return f"{__file__}.missing"
    if spec.name == "pretrained":
        return "no name"
    if spec.name == "sample_prompt":
        return "x" * 10_001
    if spec.name == "file_ending":
        return "x" * 21
    if spec.optional and spec.path:  # empty it may be
        return str(Path(__file__).parent) if spec.path == "file" else __file__
    return "no such choice" if spec.editor == "choice" else ""
