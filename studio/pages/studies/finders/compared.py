"""Settings against which a configuration is compared: chosen from a list of its settings, with another value."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.forms.editor import Editor
from studio.forms.editors import make_editor
from studio.forms.field_row import TITLE_INDENT
from studio.forms.messages import KIND_TITLES, as_full_sentence, kinds_of, tell_value
from studio.state.drafts.setting_specs import kinds, specs
from studio.state.formats import kind_title
from studio.theme import SPACING
from studio.widgets import STRETCH, ComboBox, button, hbox, icon_button, label, vbox
from training.config import RunConfig
from training.config.diff import Change, diff
from training.config.field_spec import FieldSpec
from training.config.files import config_data, overrides_of
from training.config.run import SECTIONS
from training.errors import ConfigError, TrainingError
from training.studies.seeds import change

_EDITED = ("bool", "int", "float", "choice", "text", "numbers", "duration")
_OF_THE_DATA = "dataset"


def list_settings(config: RunConfig) -> list[tuple[str, FieldSpec]]:
    """(path, what is known of it) of all that can make another run of the same data, in the order of the forms."""
    data = config_data(config)
    found = []
    for section in SECTIONS:
        values = data.get(section)
        if section == _OF_THE_DATA or not isinstance(values, dict):
            continue
        kind = str(values.get("kind", ""))
        if kinds(section):
            found.append((f"{section}.kind", _kind_spec(section)))
        for spec in specs(section, kind).values():
            if spec.editor in _EDITED and spec.affects_result and not spec.of_the_data:
                found.append((f"{section}.{spec.name}", spec))
    return found


def _kind_spec(section: str) -> FieldSpec:
    every = kinds(section)
    labels = {kind: kind_title(section, kind) for kind in every}
    title = KIND_TITLES[section]
    return FieldSpec("kind", title, "", "choice", every[0], False, False, choices=every, labels=labels)


class ComparedSetting(QWidget):
    """One of them. Signals: `changed()`, `gone()` when it is taken away."""

    changed, gone = Signal(), Signal()

    def __init__(self, config: RunConfig) -> None:
        super().__init__()
        self._config, self._settings = config, dict(list_settings(config))
        self.choice = ComboBox()
        self.choice.setAccessibleName("Setting to compare with another value")
        self.choice.setPlaceholderText("Choose a setting")
        for path, spec in self._settings.items():
            section = path.partition(".")[0]
            self.choice.addItem(f"{section.capitalize()} · {spec.title}", path)
            self.choice.setItemData(
                self.choice.count() - 1, f"{path}\n{spec.help}".strip(), Qt.ItemDataRole.ToolTipRole
            )
        self.choice.setCurrentIndex(-1)
        self.choice.setMinimumContentsLength(24)
        self.editor: Editor | None = None
        self._room = hbox(spacing=SPACING.s)
        self.now = label("", "help", wrap=True)
        remove = icon_button("cross", "Compare without this setting", clicked=self.gone)
        vbox(
            hbox(self.choice, self._room, STRETCH, remove),
            self.now,
            parent=self,
            spacing=2,
            margins=(TITLE_INDENT, 0, 0, 0),
        )
        self.now.hide()
        self.choice.currentIndexChanged.connect(self._on_chosen)

    @property
    def path(self) -> str:
        """Of the setting; "" before one is chosen."""
        return str(self.choice.currentData() or "")

    @property
    def override(self) -> str:
        """As ``--set`` takes it; "" where it cannot be told yet."""
        if not self.path or self.editor is None or self.editor.problem():
            return ""
        return overrides_of({self.path: self.editor.value()})[0]

    def choose(self, path: str, value: Any) -> None:
        """Compare with ``value`` in the setting at ``path``."""
        self.choice.setCurrentIndex(self.choice.findData(path))
        assert self.editor is not None
        self.editor.set_value(value)
        self.changed.emit()

    @Slot()
    def _on_chosen(self) -> None:
        if self.editor is not None:
            self.editor.hide()
            self.editor.deleteLater()
        spec = self._settings[self.path]
        self.editor = editor = make_editor(spec)
        section, _, name = self.path.partition(".")
        value = getattr(getattr(self._config, section), name)
        editor.set_value(list(value) if isinstance(value, tuple) else value)
        editor.describe(f"Other value of {spec.title}", spec.help)
        editor.edited.connect(self.changed)
        self._room.addWidget(editor)
        told = tell_value(Change(self.path, value, value), kinds_of(self._config), value)
        self.now.setText(f"As configured: {told}")
        self.now.show()
        self.changed.emit()


class ComparedSettings(QWidget):
    """None is fine, too: then the runs of the configuration alone are told. Signals: `changed()`."""

    changed = Signal()

    def __init__(self, config: RunConfig) -> None:
        super().__init__()
        self._config = config
        self.entries: list[ComparedSetting] = []
        self.problem = ""
        self._column = vbox(spacing=SPACING.s)
        self._said = label("", "problem", wrap=True)
        self._said.hide()
        self.add_button = button("Compare with other settings …", "plus", "ghost", clicked=self.add)
        vbox(
            self._column,
            self._said,
            hbox(self.add_button, STRETCH),
            parent=self,
            spacing=SPACING.xs,
            margins=(0, SPACING.s, 0, 0),
        )

    @Slot()
    def add(self) -> ComparedSetting:
        """One more setting."""
        entry = ComparedSetting(self._config)
        entry.changed.connect(self._judge)
        entry.gone.connect(lambda: self._remove(entry))
        self.entries.append(entry)
        self._column.addWidget(entry)
        self.add_button.setText("And another setting …")
        self._judge()
        return entry

    def words(self) -> list[str]:
        """As the command line takes them."""
        return [word for entry in self.entries for word in ("--against", entry.override)]

    def _remove(self, entry: ComparedSetting) -> None:
        self.entries.remove(entry)
        entry.hide()
        entry.deleteLater()
        if not self.entries:
            self.add_button.setText("Compare with other settings …")
        self._judge()

    @Slot()
    def _judge(self) -> None:
        self.problem = self._find_problem()
        self._said.setText(self.problem)
        self._said.setVisible(bool(self.problem))
        self.changed.emit()

    def _find_problem(self) -> str:
        for entry in self.entries:
            if not entry.path:
                return "Choose the setting to compare, or take it away."
            if entry.editor is not None and entry.editor.problem():
                return entry.editor.problem()
        if not self.entries:
            return ""
        paths = [entry.path for entry in self.entries]
        if len(set(paths)) < len(paths):
            return "The same setting stands here twice; take one away."
        try:
            other = change(self._config, [entry.override for entry in self.entries])
        except ConfigError as error:
            return as_full_sentence(error.problems[0].message, kinds_of(self._config))
        except TrainingError as error:
            return as_full_sentence(error.message, kinds_of(self._config))
        return "" if diff(self._config, other) else "That is what the configuration says already; choose another value."
