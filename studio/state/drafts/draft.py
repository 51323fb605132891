"""`Draft`: the configuration being edited, exactly as it was typed, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from studio.state.drafts.draft_check import check, complete
from studio.state.drafts.draft_history import DraftHistory
from studio.state.drafts.kind_change import OtherKinds, changed_settings, equal
from studio.state.drafts.recipes import name_after_change, preset_data, with_name
from studio.state.drafts.setting_specs import (
    Settings,
    copy_settings,
    default_kind,
    default_value,
    inner_value,
    is_setting,
    join_sections,
    kinds,
    spec_of,
    specs,
    split_path,
    split_sections,
    table_key,
    with_inner,
)
from studio.state.drafts.swept import Swept
from studio.state.drafts.touched import Touched
from training.config import RunConfig, load_config, save_config
from training.config.field_spec import FieldSpec, plain
from training.config.paths import with_absolute_paths
from training.errors import ConfigError, Problem
from training.system.untrusted import escape_unprintable
from training.toml_text import Toml, read_config_text, read_toml

SAMPLE = "sample"
_LONGEST_FILE = 60  # letters of its name


class Draft(QObject):
    """Starts as the built-in sample. Validated at each edit: that takes a tenth of a millisecond.

    Signals:
        changed(): anything at all; comes after all others.
        edited(path): one setting got another value.
        kind_changed(section): another kind was chosen in a section; its settings are others now.
        replaced(): everything may be different (another file, undo).
        stepped(back, changes): an edit was taken back (or, with ``back`` False, made again); old and new value by dotted path.
        problems_changed(): the list of problems is another one.
        overwritten(settings, file): others (of ``file``, or of none: "") took the place of these, which a person had changed.
        looked_again(): files and folders may be others now.
        moved(kind, settings): another optimizer than ``kind`` was chosen, and ``settings`` (`kind_change.Moved`) that the
            person or a preset had set are others now, to suit it.
    """

    changed, replaced, problems_changed, looked_again = Signal(), Signal(), Signal(), Signal()
    edited, kind_changed, overwritten = Signal(str), Signal(str), Signal(object, str)
    stepped, moved = Signal(bool, object), Signal(str, object)

    def __init__(self, parent: QObject | None = None, find_device: Callable[[], str] = lambda: "auto") -> None:
        super().__init__(parent)
        self._find_device = find_device  # on which presets are to be trained; files name their own
        self._history = DraftHistory()
        self._other_kinds = OtherKinds()
        self._engine_problems: tuple[Problem, ...] = ()
        self.touched, self.swept = Touched(self.edited, self.kind_changed, self.replaced), Swept(self)
        self._settings = preset_data(SAMPLE, find_device())
        self._loaded = self.settings()
        self._config, self._problems, self._usable = check(self._settings)

    def settings(self) -> Settings:
        """A copy of what is typed, valid or not."""
        return copy_settings(self._settings)

    def data(self) -> dict[str, Toml]:
        """The same as files have it; goes through JSON unharmed."""
        return join_sections(self.settings())

    def config(self) -> RunConfig | None:
        """What Start would run; None while anything is wrong."""
        return None if self._engine_problems else self._config

    def usable_config(self, *sections: str) -> RunConfig | None:
        """For previews: the draft with defaults in place of what is wrong; None when it is one of ``sections`` that is
        wrong."""
        if any(split_path(problem.path)[0] in sections for problem in self._problems):
            return None
        return self._usable

    def problems(self) -> Sequence[Problem]:
        """All that is wrong, each setting's faults together, in the order of the file."""
        return (*self._problems, *self._engine_problems)

    def engine_problems(self) -> tuple[Problem, ...]:
        """What was found with more knowledge than the settings alone (see `set_engine_problems`)."""
        return self._engine_problems

    def value(self, path: str) -> Any:
        """What stands in a setting, valid or not."""
        section, name = split_path(path)
        return inner_value(self._settings[section][name], path, self.spec)

    def kind(self, section: str) -> str:
        """What is chosen in ``section``; "" where there is nothing to choose."""
        return str(self._settings[section].get("kind", ""))

    def is_changed(self, path: str) -> bool:
        """Whether a setting differs from its default."""
        section, name = split_path(path)
        if name == "kind":
            return self.kind(section) != default_kind(section)
        value = self._settings[section][name]
        if isinstance(value, dict) and table_key(path):
            return table_key(path) in value
        return not equal(value, default_value(self.spec(path)))

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to take back."""
        return self._history.can_undo

    @property
    def can_redo(self) -> bool:
        """Whether there is something taken back."""
        return self._history.can_redo

    # ------------------------------------------------------------------------------------------- editing

    def set(self, path: str, value: Any) -> None:
        """Write ``value`` (or the raw text that is no value yet) into a setting. Raises KeyError for an unknown one."""
        section, name = split_path(path)
        if name not in specs(section, self.kind(section)):
            raise KeyError(path)
        values, value = self._settings[section], plain(value)
        value = with_inner(values[name], path, value, self.spec)
        if equal(values[name], value):
            return
        self._history.remember(self._settings, path)
        values[name] = value
        self._revise()
        self.edited.emit(path)
        self.changed.emit()

    def set_kind(self, section: str, kind: str) -> None:
        """Choose another kind. One chosen before comes back as it was left; in a new one, what was changed stays changed
        where the new kind has the same setting. With another optimizer all rates go to its scale."""
        if kind not in kinds(section):
            raise KeyError(f"{section}.kind: {kind}")
        old_kind = self.kind(section)
        if kind == old_kind:
            return
        self._history.close_group()
        self._history.remember(self._settings, f"{section}.kind")
        others, moved = self._other_kinds.change(self._settings, section, kind)
        self._revise()
        self.kind_changed.emit(section)
        for path in others:
            self.edited.emit(path)
        self.changed.emit()
        if moved:
            self.moved.emit(old_kind, moved)

    def apply(self, changes: Mapping[str, Toml]) -> None:
        """Write several settings as one undo step, "section.kind" among them. Raises KeyError, with nothing written, for
        an unknown one."""
        draft = Draft()
        draft.set_data(self.data())
        for path, value in changes.items():
            section, name = split_path(path)
            if name == "kind":
                draft.set_kind(section, str(value))
            else:
                draft.set(path, value)
        changed = draft.settings()
        if any(path.endswith(".kind") for path in changes):
            changed = with_name(changed, name_after_change(changed))
        self.replace(changed)

    def replace(self, settings: Settings, follows: str = "") -> None:
        """Replace everything: within the step in which something was chosen in the section that it ``follows`` from, where that
        is the last one, so that it is taken back with it."""
        if settings == self._settings:
            return
        self._history.step(self._settings, follows)
        self._other_kinds.clear(but=follows)
        self._restore(settings)

    def reset(self, path: str) -> None:
        """Put the default back."""
        section, name = split_path(path)
        if name == "kind":
            self.set_kind(section, default_kind(section))
            return
        self._history.close_group()
        self.set(path, default_value(self.spec(path)))
        self._history.close_group()

    def finish_edit(self) -> None:
        """The person left a field: the next edit is an undo step of its own."""
        self._history.close_group()

    def undo(self) -> None:
        """Take the last edit back."""
        self._step(self._history.undo(self._settings), back=True)

    def redo(self) -> None:
        """Take the last undo back."""
        self._step(self._history.redo(self._settings), back=False)

    def set_engine_problems(self, problems: Sequence[Problem]) -> None:
        """Show what the engine found beside the settings concerned, until the next edit. What names no setting of this
        draft is passed over: the person could not act on it here."""
        known = tuple(problem for problem in problems if is_setting(problem.path, self.kind))
        if known != self._engine_problems:
            self._engine_problems = known
            self.problems_changed.emit()
            self.changed.emit()

    def recheck(self) -> None:
        """Look again whether files and folders are there."""
        before = self._problems
        self._config, self._problems, self._usable = check(self._settings)
        self.looked_again.emit()
        if self._problems != before:
            self.problems_changed.emit()
            self.changed.emit()

    # ------------------------------------------------------------------------------- coming in, going out

    def set_config(self, config: RunConfig, file: str = "") -> None:
        """Replace everything by ``config`` (of ``file``)."""
        self._overwrite(split_sections(config.model_dump(mode="json")), file)

    def set_data(self, data: Mapping[str, Toml], file: str = "") -> list[str]:
        """Replace everything by ``data`` (of ``file``), right or wrong; returns the paths no form has and that were left out."""
        whole, left_out = complete(data)
        self._overwrite(whole, file)
        return left_out

    def load_preset(self, name: str = SAMPLE) -> None:
        """Replace everything by a preset, or the built-in sample. Raises InputError for an unknown one."""
        self._overwrite(preset_data(name, self._find_device()))

    def load_file(self, path: Path) -> list[str]:
        """Replace everything by a TOML file, its wrong values included, so that they can be put right here. Returns what could not be
        shown (unknown keys). Raises InputError when the file is no readable TOML."""
        try:
            self.set_config(load_config(path), path.name)
        except ConfigError:
            text = read_config_text(path)
            return self.set_data(with_absolute_paths(read_toml(text, str(path)), path.resolve().parent), path.name)
        return []

    def save_file(self, path: Path) -> None:
        """Write a TOML file. Raises ConfigError while anything is wrong, InputError when the place cannot be written."""
        if self._config is None:
            raise ConfigError(self._problems)
        save_config(self._config, path)

    def spec(self, path: str) -> FieldSpec:
        """The declaration of a setting. Raises KeyError for an unknown one."""
        section = split_path(path)[0]
        return spec_of(path, self.kind(section), self._settings[section])

    def _overwrite(self, settings: Settings, file: str = "") -> None:
        lost = None if self._settings in (self._loaded, settings) else self.settings()
        self.replace(settings)
        self._loaded = self.settings()
        if lost is not None:
            self.overwritten.emit(lost, escape_unprintable(file, _LONGEST_FILE))

    def _step(self, settings: Settings | None, *, back: bool) -> None:
        if settings is not None:
            before = self._settings
            self._restore(settings)
            self.stepped.emit(back, changed_settings(before, settings))

    def _restore(self, settings: Settings) -> None:
        self._settings = settings
        self._revise()
        self.replaced.emit()
        self.changed.emit()

    def _revise(self) -> None:
        before = self.problems()
        self._engine_problems = ()
        self._config, self._problems, self._usable = check(self._settings)
        if self.problems() != before:
            self.problems_changed.emit()
