"""What a person says of the run that is shown: its name in place, a star, tags and notes."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QLineEdit, QMenu, QPlainTextEdit, QToolButton, QWidget

from studio.actions.files import reveal
from studio.actions.organize import rename_run, set_tags, star_runs, write_notes
from studio.actions.report import TITLE as REPORT_TITLE
from studio.actions.report import ask_and_save_report
from studio.actions.runs import delete_run
from studio.state.context import AppContext
from studio.state.runs.run_library import RunSummary
from studio.theme import SPACING, icon, set_role
from studio.widgets import STRETCH, ElidedLabel, button, hbox, icon_button, label, vbox
from training.runs.folder import AT_WORK
from training.runs.records.about import MOST_NAME, MOST_NOTES, About

_NOTES_HEIGHT = 180


class NameInPlace(QWidget):
    """A name to read; a double click, or the button beside it, makes it one to type. Enter keeps it, Escape does not.

    Signals:
        renamed(str): another name was typed.
    """

    renamed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.label = ElidedLabel("", Qt.TextElideMode.ElideRight)
        set_role(self.label, "title")
        self.label.setToolTip("Double-click to rename")
        self.edit = QLineEdit()
        self.edit.setAccessibleName("Name of the run")
        self.edit.setMaxLength(MOST_NAME)
        self.edit.hide()
        hbox((self.label, 1), (self.edit, 1), parent=self, spacing=0)
        self.is_open = False  # whether there is a run that can be renamed
        self.label.installEventFilter(self)
        self.edit.installEventFilter(self)
        self.edit.editingFinished.connect(self._keep)

    def set_text(self, name: str) -> None:
        """Show another name; what is being typed stays."""
        self.label.setText(name)

    @Slot()
    def begin(self) -> None:
        """Let the name be typed."""
        if not self.is_open:
            return
        self.edit.setText(self.label.text())
        self.label.hide()
        self.edit.show()
        self.edit.selectAll()
        self.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.label and event.type() == QEvent.Type.MouseButtonDblClick:
            self.begin()
            return True
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Escape:
            self.edit.setText(self.label.text())
            self._keep()
            return True
        return False

    @Slot()
    def _keep(self) -> None:
        if self.edit.isHidden():
            return
        name, before = self.edit.text().strip(), self.label.text()
        self.edit.hide()
        self.label.show()
        if name != before:
            self.label.setText(name or before)
            self.renamed.emit(name)


class AboutRun(QWidget):
    """Tags and notes of ``context.shown``, where the list of runs has it. ``name``, ``star`` and ``more``, a menu, stand elsewhere in the head.

    Signals:
        changed(): the list of runs tells something else of it.
    """

    changed = Signal()

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self.name = NameInPlace()
        self.star: QToolButton = icon_button("star", "Star", clicked=self._star)
        self.star.setCheckable(True)
        self.tags = button("Tags and notes", "tag", "ghost", clicked=self._edit)
        self.more = icon_button("more", "More about this run")
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.more)
        self.rename = menu.addAction("Rename", self.name.begin)
        menu.addAction(icon("tag"), "Tags and notes …", self._edit)
        menu.addAction(icon("file"), REPORT_TITLE, self._save_report)
        menu.addAction(icon("folder"), "Open folder", self._open)
        menu.addSeparator()
        self.delete = menu.addAction(icon("trash"), "Delete", self._delete)
        self.more.setMenu(menu)
        hbox(self.tags, parent=self, spacing=0)
        self.name.renamed.connect(self._rename)
        context.library.refreshed.connect(self.refresh)
        context.shown.attached.connect(self.refresh)
        self.refresh()

    def find_run(self) -> RunSummary | None:
        """The run that is shown, as the list has it."""
        folder = self._context.shown.run.folder
        return self._context.library.find(folder.id) if folder is not None else None

    def find_about(self) -> About:
        """What is said of it."""
        run = self.find_run()
        return run.about if run is not None else About()

    @Slot()
    def refresh(self) -> None:
        """Show what is said now."""
        run, about = self.find_run(), self.find_about()
        self.name.is_open = run is not None
        for part in (self.star, self.more, self.tags):
            part.setVisible(run is not None)
        self.delete.setEnabled(run is not None and run.status not in AT_WORK)
        self.star.setChecked(about.star)
        words = "Remove the star" if about.star else "Star this run"
        self.star.setToolTip(words)
        self.star.setAccessibleName(words)
        self.star.setIcon(icon("star", "warning" if about.star else "muted"))
        first = ", ".join(about.tags[:2]) + (f" +{len(about.tags) - 2}" if len(about.tags) > 2 else "")
        self.tags.setText(first or ("Notes" if about.notes else "Tags and notes"))
        self.tags.setToolTip("\n".join(filter(None, (", ".join(about.tags), about.notes))) or "Add tags and notes")
        self.changed.emit()

    @Slot()
    def _star(self) -> None:
        if run := self.find_run():
            star_runs(self._context, [run])

    @Slot()
    def _save_report(self) -> None:
        if run := self.find_run():
            ask_and_save_report(self._context, self.window(), run.folder)

    @Slot()
    def _open(self) -> None:
        if run := self.find_run():
            reveal(run.folder.path)

    @Slot()
    def _delete(self) -> None:
        if run := self.find_run():
            delete_run(self._context, run.folder)

    @Slot(str)
    def _rename(self, name: str) -> None:
        if run := self.find_run():
            rename_run(self._context, run, name)

    @Slot()
    def _edit(self) -> None:
        run = self.find_run()
        if run is None:
            return
        dialog = AboutDialog(run.about, self.window())
        wanted, tags, notes = dialog.exec(), dialog.chosen_tags(), dialog.notes.toPlainText()
        dialog.deleteLater()
        if not wanted:
            return
        if tags != run.about.tags:
            set_tags(self._context, run, tags)
        if notes.strip() != run.about.notes:
            write_notes(self._context, run, notes)


class AboutDialog(QDialog):
    """Accepted when the person wants ``chosen_tags`` and ``notes`` kept."""

    def __init__(self, about: About, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Tags and notes")
        self.setModal(True)
        self.resize(460, 340)
        self.tags = QLineEdit(", ".join(about.tags), placeholderText="baseline, pets")
        self.tags.setAccessibleName("Tags, with commas between them")
        self.notes = QPlainTextEdit(about.notes)
        self.notes.setTabChangesFocus(True)
        self.notes.setAccessibleName("Notes")
        self.notes.setPlaceholderText("What was tried, and what came of it")
        self.notes.setMinimumHeight(_NOTES_HEIGHT)
        self.save = button("Save", variant="primary", clicked=self.accept)
        self.save.setDefault(True)
        self._room = label("", "problem", wrap=True)
        self.notes.textChanged.connect(self._measure)
        vbox(
            label("Tags, with commas between them", "field"),
            self.tags,
            label("Notes", "field"),
            (self.notes, 1),
            self._room,
            hbox(STRETCH, self.save, button("Cancel", clicked=self.reject)),
            parent=self,
            spacing=SPACING.s,
            margins=SPACING.l,
        )
        self._measure()

    def chosen_tags(self) -> tuple[str, ...]:
        """Each once, in their order."""
        return About().add_tags(self.tags.text().split(","))

    @Slot()
    def _measure(self) -> None:
        over = len(self.notes.toPlainText()) - MOST_NOTES
        self._room.setVisible(over > 0)
        self._room.setText(f"{over:,} characters too many: shorten the notes.")
        self.save.setEnabled(over <= 0)
