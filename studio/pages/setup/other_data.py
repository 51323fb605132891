"""Other data, other settings: sets up what suits it, says what became of the settings before, and puts them back if asked to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from studio.forms.messages import format_value
from studio.pages.setup.drops import find_small_side
from studio.panels.data.engine_query import EngineQuery
from studio.state.context import AppContext
from studio.state.drafts.kind_change import equal
from studio.state.drafts.recipes import (
    likely_target,
    new_name,
    place,
    recipe,
    takes,
    with_edits,
    with_kept_settings,
    with_name,
    with_recipe,
    without_recipe,
    without_strangers,
)
from studio.state.drafts.setting_specs import RUN, Settings, join_path, specs, split_path
from studio.state.formats import kind_title
from studio.widgets import Banner
from training import catalog
from training.config.rules.optimizer_scale import Moved
from training.config.run import SECTIONS
from training.facts import Target
from training.presets import preset
from training.presets.recipes import RECIPES
from training.protocol.answers import DatasetReport
from training.toml_text import Toml

_MOST_TOLD = 7
_TOLD_FIRST = ("optimizer.lr", "loop.batch_size", "loop.epochs", "checkpoints.monitor")


class OtherData(QObject):
    """Follows the draft and the preview of its data.

    Another kind of data is set up at once. What is to be learned of a table only its preview tells, so the rest follows with
    it, within the same step. A preset, a file or a step back is what somebody asked for: only what is chosen afterwards
    counts. A branch keeps the settings it begins with.

    Signal: `followed()`: settings that suit the data took the place of others.
    """

    followed = Signal()

    def __init__(self, context: AppContext, question: EngineQuery[DatasetReport], parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._draft = context.draft
        self._question = question
        self.banner = Banner("info", "")
        self.banner.add_action("Keep my settings", self.keep)
        self.banner.closed.connect(self._withdraw)
        self.banner.hide()
        self._now = self._draft.settings()  # as it stands before the next edit
        self._before: Settings | None = None  # what stood before other data was chosen
        self._made: Settings | None = None  # the recipe in its place
        self._pending = False  # other data was chosen, and no preview has told what it is
        self._edited: set[str] = set()  # what the person has set since, by dotted path
        self._known: tuple[list[Toml], Target] | None = None  # the data of the last preview, and what is learned of it
        self._other_place = False
        self._asks_task = False  # the recipe before named a task that other data may not have
        self._unplaced = False  # a preset was opened whose data nobody has named yet
        self._kept: list[Toml] = []  # place of the data for which the person keeps their settings, whatever it is
        self._writing = False
        self._draft.edited.connect(self._on_edited)
        self._draft.kind_changed.connect(self._on_kind_changed)
        self._draft.replaced.connect(self._on_replaced)
        self._draft.changed.connect(self._note)
        question.changed.connect(self._on_preview)
        self._on_replaced()

    def take(self, kind: str, place: Path, settings: Mapping[str, str | None]) -> None:
        """Data was dropped: what lies at ``place``, with other ``settings`` that were found to suit it."""
        draft, before = self._draft, self._draft.settings()
        if draft.kind("dataset") != kind:
            draft.set_kind("dataset", kind)
            data = draft.settings()
            data["dataset"]["path"] = str(place.absolute())
            self._other_place = True
        else:
            draft.finish_edit()
            draft.set("dataset.path", str(place.absolute()))
            data = draft.settings()
        data["dataset"].update(settings)
        self._edited |= {f"dataset.{name}" for name in settings}  # no recipe knows better
        name = new_name(before, with_name(data, str(before[RUN]["name"])), str(data[RUN]["name"]))
        self._write(with_name(data, name))

    def keep(self) -> None:
        """Put the settings back that stood before, but for the data."""
        if self._before is None or self._made is None:
            return
        data = with_kept_settings(self._before, self._draft.settings(), self._made)
        with self._own_writing():
            self._draft.replace(data)
        self._pending, self._kept = False, place(data)
        self._withdraw()

    # ------------------------------------------------------------------------------------ what the person does

    @Slot(str)
    def _on_kind_changed(self, section: str) -> None:
        if self._writing or self._context.branch is not None:
            return
        if section != "dataset":
            self._note_edit(f"{section}.kind")
            self._withdraw()
            return
        before, present = with_edits(self._before or self._now, self._now, self._edited), self._draft.settings()
        if self._made is not None:
            present = without_recipe(present, self._made, before)
        self._edited.clear()  # that was for the data before
        self._known = None
        self._pending, self._kept, self._unplaced = True, [], False
        self._set_up(before, present, likely_target(present, takes(before)), (), guessed=True)

    @Slot(str)
    def _on_edited(self, path: str) -> None:
        if self._writing or self._context.branch is not None:
            return
        self._note_edit(path)
        if not path.startswith("dataset."):
            self._withdraw()
            return
        if self._unplaced or self._kept == place(self._draft.settings()):
            return
        self._pending = True
        self._other_place = self._other_place or path == "dataset.path"
        self._before = self._before or self._now
        self._ask_what_it_is(path)

    def _note_edit(self, path: str) -> None:
        """What is set before the preview has told what the data is stays, whatever that is."""
        if self._pending:
            self._edited.add(path)

    def _ask_what_it_is(self, path: str) -> None:
        """A task that came with a recipe says nothing of another file or another target."""
        data, usual = self._draft.settings(), self._now
        kind, task = str(data["dataset"]["kind"]), data["dataset"].get("task")
        if path not in ("dataset.path", "dataset.targets") or task in (None, "auto", "tasks"):  # which no data tells
            return
        if task == recipe(kind, likely_target(usual, takes(usual)))["dataset"].get("task"):
            data["dataset"]["task"], self._asks_task = "auto", True
            self._write(data)

    @Slot()
    def _on_replaced(self) -> None:
        if not self._writing:
            self._pending = self._other_place = self._asks_task = False
            self._kept = []
            self._edited.clear()
            self._withdraw()
            self._unplaced = not self._draft.settings()["dataset"].get("path", "-")

    @Slot()
    def _note(self) -> None:
        self._now = self._draft.settings()

    # -------------------------------------------------------------------------------------- what the data is

    @Slot()
    def _on_preview(self) -> None:
        question = self._question
        if not question.in_step or self._context.branch is not None:
            return
        if question.answer is None:
            self._forget_strangers()
            return
        present, target = self._draft.settings(), question.answer.target
        known, self._known = self._known, (place(present), target)
        pending, self._pending = self._pending, False
        edited, self._edited = self._edited, set()
        if pending and self._other_place and _has_small_images(present, target):
            present["dataset"]["image_size"] = None
            edited.add("dataset.image_size")
        self._other_place = self._unplaced = False
        kind, before = str(present["dataset"]["kind"]), self._before or self._draft.settings()
        if not pending or (kind, target) not in RECIPES:
            return
        guessed = self._made is not None and kind != before["dataset"]["kind"]
        if self._known != known and (guessed or target not in takes(present)):
            self._set_up(before, present, target, edited)
        else:
            self._settle(before, present, target)

    def _settle(self, before: Settings, present: Settings, target: Target) -> None:
        """It is what the settings are for: they stay."""
        if self._asks_task:
            present["dataset"]["task"], self._asks_task = target, False
        present[RUN]["name"] = new_name(before, present)
        if self._made is None:
            self._before = None
        if present["dataset"].get("image_size") == self._draft.settings()["dataset"].get("image_size"):
            self._question.settle(lambda: self._write(present))
        else:  # images of another size are to be read again
            self._write(present)

    def _forget_strangers(self) -> None:
        """Columns and classes of the data before do not keep other data from being read."""
        table, classes = self._question.table, [each.name for each in self._question.classes]
        columns = (
            [] if table is None or table.column_count > len(table.columns) else [each.name for each in table.columns]
        )
        if not (self._pending and self._other_place) or not (columns or classes):
            return
        self._other_place = False
        self._write(without_strangers(self._draft.settings(), columns, classes))

    # ------------------------------------------------------------------------------------------------ doing it

    def _set_up(
        self, before: Settings, present: Settings, target: Target, edited: Collection[str], *, guessed: bool = False
    ) -> None:
        usual = with_recipe(before, present, target)
        if guessed and "task" in usual["dataset"]:
            usual["dataset"]["task"] = "auto"
        made, before = (with_edits(each, present, edited) for each in (usual, before))
        read = self._draft.settings()["dataset"]
        if {**made["dataset"], "task": None} == {**read, "task": None}:
            self._question.settle(lambda: self._write(made))
        else:
            self._write(made)
        self._before, self._made = before, usual
        self._asks_task = False
        title, told = preset(RECIPES[str(made["dataset"]["kind"]), target]).title, in_words(before, made)
        self.banner.set_message(f"Other data, other settings: {title}", f"{told}. Undo takes all of it back.")
        self.banner.setVisible(bool(told))

    def _write(self, data: Settings) -> None:
        with self._own_writing():
            self._draft.replace(data, follows="dataset")
        self.followed.emit()

    @contextmanager
    def _own_writing(self) -> Iterator[None]:
        writing, self._writing = self._writing, True
        try:
            yield
        finally:
            self._writing = writing

    @Slot()
    def _withdraw(self) -> None:
        self._made = None
        if not self._pending:  # else what stood before is asked for once the preview is there
            self._before = None
        self.banner.hide()


def _has_small_images(data: Settings, target: Target) -> bool:
    """Whether images would be scaled to what the recipe says that are small enough to be trained on as they are."""
    section, kind = data["dataset"], "image_folder"
    if section["kind"] != kind or (kind, target) not in RECIPES or not section["path"]:
        return False
    usual = recipe(kind, target)["dataset"]["image_size"]
    return equal(section["image_size"], usual) and find_small_side(Path(str(section["path"]))) > 0


def in_words(before: Settings, made: Settings) -> str:
    """What became of the settings before, the weightiest first; "" where all are as they were."""
    told, others = [], 0
    for section in ("model", "objective", "optimizer", "schedule"):
        left, chosen = (kind_title(section, str(data[section]["kind"])) for data in (before, made))
        if left != chosen:
            told.append(f"{left} → {chosen}")
    changed: dict[str, str] = {}
    for section in SECTIONS:
        kind = str(made[section].get("kind", ""))
        for name, spec in specs(section, kind).items():
            old, new = before[section].get(name), made[section][name]
            if name in before[section] and not (equal(old, new) or spec.path or spec.of_the_data):
                changed[join_path(section, name)] = (
                    f"{spec.title} {format_value(old, spec)} → {format_value(new, spec)}"
                )
    ordered = sorted(changed, key=lambda path: _TOLD_FIRST.index(path) if path in _TOLD_FIRST else len(_TOLD_FIRST))
    for path in ordered:
        if len(told) < _MOST_TOLD:
            told.append(changed[path])
        else:
            others += 1
    rest = f", and {others} more" if others else ""
    return f"{', '.join(told)}{rest}"


_SUBJECT = "the optimizer's scale"


def tell_of_move(context: AppContext, old_kind: str, moved: Moved) -> None:
    """Show what ``moved`` when the optimizer ``old_kind`` was left, and the way back."""
    draft = context.draft
    old, new = (catalog.entry("optimizer", kind).title for kind in (old_kind, draft.kind("optimizer")))
    parts = []
    for path, (before, after) in moved.items():
        section, name = split_path(path)
        spec = specs(section, draft.kind(section))[name]
        parts.append(f"{spec.title} {format_value(after, spec)} instead of {format_value(before, spec)}")
    context.notifier.notify(
        f"{'; '.join(parts)}.",
        title=f"Moved to {new}'s scale",
        action_text=f"Back to {old}",
        action=lambda: draft.set_kind("optimizer", old_kind),
        subject=_SUBJECT,
    )


def withdraw_move(context: AppContext, section: str) -> None:
    """Say nothing more of the optimizer that was left, once another kind is chosen in its ``section``."""
    if section == "optimizer":
        context.notifier.withdrawn.emit(_SUBJECT)
