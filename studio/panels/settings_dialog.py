"""The settings of a run, looked at from where it is trained, and the way to take them over."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QWidget

from studio.panels.config_view import ConfigView
from studio.state.context import AppContext
from studio.state.runs.live_run import summary_of
from studio.theme import SPACING
from studio.widgets import STRETCH, button, hbox, label, scroll_area, vbox
from training.config import RunConfig
from training.runs.folder import RunFolder


class SettingsDialog(QDialog):
    """Accepted when the person wants them in the forms."""

    def __init__(self, folder: RunFolder, config: RunConfig, what: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(f"Settings of {config.name}")
        self.setModal(True)
        self.resize(560, 520)
        self.settings = ConfigView()
        self.settings.show_run(folder)
        take = button("Open in Setup", "sliders", tooltip="Put these settings into the forms; undo takes them back")
        take.clicked.connect(self.accept)
        close = button("Close", variant="primary", clicked=self.reject)
        row = hbox(STRETCH, take, close)
        vbox(
            label(what, wrap=True, selectable=True),
            (scroll_area(self.settings), 1),
            row,
            parent=self,
            spacing=SPACING.m,
            margins=SPACING.l,
        )


def show_settings(context: AppContext, parent: QWidget) -> None:
    """Those of the run on the Run page."""
    live = context.live
    config = live.config()
    if live.folder is None or config is None:
        return
    dialog = SettingsDialog(live.folder, config, summary_of(live), parent)
    wanted = dialog.exec() == QDialog.DialogCode.Accepted
    dialog.deleteLater()
    if wanted:
        context.cancel_branch()
        context.draft.set_config(config)
        context.show_page("setup")
