"""The Try it page: a trained model is asked about images, a row, a text, a place in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QBoxLayout, QFileDialog, QStackedLayout, QWidget

from studio.pages.tryit.answer_view import AnswerView
from studio.pages.tryit.asked_files import KIND, AskedFiles
from studio.pages.tryit.asked_model import AskedModel
from studio.pages.tryit.looking import Looking
from studio.pages.tryit.model_chooser import ModelChooser
from studio.pages.tryit.plane_card import PlaneCard
from studio.pages.tryit.prompt_card import PromptCard
from studio.pages.tryit.row_form import RowForm
from studio.state.context import AppContext
from studio.theme import SPACING, theme
from studio.widgets import STRETCH, Card, EmptyState, button, hbox, in_widget, label, scroll_area, vbox
from training.protocol.model_answers import ModelAnswers, PickedRow
from training.protocol.model_questions import AskRow, PickRow

_SIDE_BY_SIDE = 960  # pixels, for text of the designed size
_NO_RUN = ("No model yet", "Train a run until it has saved a checkpoint, or open the folder of an export.")
_NO_MODEL = "No model to ask"
_OTHERWISE = "Choose another run on the Runs page, or open the folder of an export."
_LOADING = ("Loading the model …", "The engine reads the checkpoint.")
_GIVES = {
    "image": "Drop images or a folder anywhere on this page.",
    "vector": "Fill in a row, or drop a table.",
    "list": "Drop a table with the rows of one query or several.",
    "tokens": "Type a prompt, or drop a text file to see what may come after it.",
}


class TryItPage(QWidget):
    """Choose a model, give it something, read what it says."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self.model = AskedModel(context, self)
        self.chooser = ModelChooser(context)
        self.answers = AnswerView()
        self.looking = Looking(self.model, self.answers, self)
        self.files = AskedFiles(context, self.model, self.answers, self)
        self.form = RowForm()
        self.prompt = PromptCard(context, self.model)
        self.plane = PlaneCard(context, self.model)
        self.images = Card("Images", "image", subtitle=_GIVES["image"])
        self.open_images = button("Open images …", "image", "primary", clicked=self._on_open_images)
        self.open_folder = button("Open folder …", "folder", clicked=self._on_open_folder)
        self.images.add(hbox(self.open_images, self.open_folder, STRETCH))
        self.summary = label("", "subtitle", wrap=True)
        self.empty = EmptyState("eye", *_NO_RUN)
        self._waiting: tuple[Path, ...] = ()  # let go over the page before there was a model
        self._lay_out()
        self.model.changed.connect(self._follow)
        self.chooser.listed.connect(self._on_listed)
        self.empty.action_triggered.connect(self._on_try_again)
        self.form.changed.connect(self._ask_row)
        self.form.example_wanted.connect(self._pick_row)
        self.form.table_wanted.connect(self._on_open_table)
        self.plane.point_chosen.connect(self._on_point)
        self.model.load()

    def _lay_out(self) -> None:
        self._inputs = in_widget(vbox(self.images, self.form, self.prompt, STRETCH, spacing=SPACING.m))
        right = in_widget(vbox(self.answers, self.plane, STRETCH, spacing=SPACING.m))
        self._columns = hbox((self._inputs, 1), (right, 1), spacing=SPACING.m)
        self._area = scroll_area(
            in_widget(vbox(self.summary, self._columns, STRETCH, spacing=SPACING.m)), "Samples and answers"
        )
        holder = QWidget()
        self._stack = QStackedLayout(holder)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._area)
        vbox(self.chooser, (holder, 1), parent=self, spacing=SPACING.m, margins=SPACING.l)

    # ------------------------------------------------------------------------------------------- files

    def describe_files(self, paths: Sequence[Path]) -> tuple[str, str]:
        """What becomes of files that are let go over this page."""
        description = self.model.description
        if description is None:
            return "Choose a model first", f"Then it is asked about {_name_files(paths)}."
        return f"Ask the model about {_name_files(paths)}", description.title

    def take_files(self, paths: Sequence[Path]) -> None:
        """Ask the model about files and folders, as soon as there is one."""
        path = self._context.model_to_try.path
        if not paths:
            return
        if self.model.description is None or path is None:
            self._waiting = tuple(paths)
            self._show_nothing(self.model.refusal)
            return
        self.answers.show()
        self.looking.take_files(path, paths)
        self.files.take(paths)

    @Slot()
    def _on_open_images(self) -> None:
        chosen, _ = QFileDialog.getOpenFileNames(self, "Images to ask about", str(Path.home()))
        if chosen:
            self.take_files([Path(each) for each in chosen])

    @Slot()
    def _on_open_folder(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, "A folder of images", str(Path.home()))
        if chosen:
            self.take_files([Path(chosen)])

    @Slot()
    def _on_open_table(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(
            self, "A table to ask about", str(Path.home()), "Tables (*.csv *.parquet *.tsv *.txt)"
        )
        if chosen:
            self.take_files([Path(chosen)])

    # -------------------------------------------------------------------------------------------- rows

    @Slot()
    def _ask_row(self) -> None:
        path, row = self._context.model_to_try.path, self.form.row()
        if path is not None and row and self.model.description is not None:
            self.files.forget()
            self.model.ask(
                KIND, AskRow(model=path, row=row), ModelAnswers, self.answers.show_answers, self.answers.clear
            )

    @Slot(int)
    def _pick_row(self, place: int) -> None:
        path = self._context.model_to_try.path
        if path is not None and self.model.description is not None:
            request = PickRow(model=path, place=place)
            self.model.ask("example", request, PickedRow, self.form.show_example, self.answers.say)

    @Slot(float, float)
    def _on_point(self, x: float, y: float) -> None:
        description = self.model.description
        if description is not None:
            names = [column.name for column in description.columns]
            self.form.fill({names[0]: f"{x:.4g}", names[1]: f"{y:.4g}"})

    # ------------------------------------------------------------------------------------------- model

    @Slot()
    def _follow(self) -> None:
        description, refusal = self.model.description, self.model.refusal
        if description is None:
            self.prompt.clear()
            self._show_nothing(refusal)
            return
        self._stack.setCurrentWidget(self._area)
        self.files.forget()
        self.summary.setText(description.summary)
        self.answers.set_model(description)
        self.answers.clear(_GIVES[description.layout])
        self._columns.setStretch(1, 2 if description.layout == "image" else 1)
        self.images.setVisible(description.layout == "image")
        self.prompt.setVisible(description.layout == "tokens")
        self.form.setVisible(description.layout in ("vector", "list"))
        self.answers.setVisible(description.layout != "tokens")  # until a text file is dropped
        self.prompt.suggest(description.prompt)
        self.plane.set_model(description)
        self.form.show_columns(description)
        if self._waiting:
            paths, self._waiting = self._waiting, ()
            self.take_files(paths)
        else:
            self._ask_row()

    def _show_nothing(self, refusal: str) -> None:
        self._stack.setCurrentWidget(self.empty)
        self.plane.set_model(None)
        if refusal:
            self._waiting = ()
            look = "Look at the code …" if self.model.find_code() else "Try again"
            self.empty.set_content("warning", "This model cannot be asked", refusal, look)
            return
        title, text = _NO_RUN if self._context.model_to_try.path is None else _LOADING
        if title == _NO_RUN[0] and self.chooser.lack:
            title, text = _NO_MODEL, f"{self.chooser.lack} {_OTHERWISE}"
        then = f" Then it is asked about {_name_files(self._waiting)}." if self._waiting else ""
        self.empty.set_content("eye", title, text + then)

    @Slot()
    def _on_listed(self) -> None:
        if self.model.description is None:
            self._show_nothing(self.model.refusal)

    @Slot()
    def _on_try_again(self) -> None:
        code = self.model.find_code()
        if code:
            self._context.consent_needed.emit(code, self.model.load)
        else:
            self.model.load()

    # ------------------------------------------------------------------------------------------ events

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.chooser.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = event.size().width() >= _SIDE_BY_SIDE * max(theme().font_scale, 1.0)
        self._columns.setDirection(QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom)


def _name_files(paths: Sequence[Path]) -> str:
    return paths[0].name if len(paths) == 1 else f"{len(paths):,} files"
