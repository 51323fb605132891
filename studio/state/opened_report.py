"""What the report of a run needs beside its settings to be that run again: its data, and of a branch the checkpoint it began with."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Slot

from studio.engine.client import Ticket
from studio.state.context import AppContext, BranchSource
from training.config import RunConfig
from training.config.paths import path_settings
from training.embedded_config import EmbeddedConfig, is_report, read_embedded
from training.errors import TrainingError
from training.protocol.answers import DataDigest
from training.protocol.messages import DigestData, Refusal
from training.runs.folder import RunFolder
from training.runs.records.manifest import list_checkpoints, read_manifest
from training.runs.report_origin import find_origin

_SUBJECT = "report data"
_REST = 400  # milliseconds after the last edit


class OpenedReport(QObject):
    """Follows the settings of a report that was opened: says so where the data are others, as soon as its place is known, and prepares a
    branch. Other settings of the data are the person's own wish, and end it."""

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self._context = context
        self._report: EmbeddedConfig | None = None
        self._asked: RunConfig | None = None
        self._data: object = None
        self._ticket: Ticket | None = None
        self._timer = QTimer(self, singleShot=True, interval=_REST)
        self._timer.timeout.connect(self._ask)
        context.file_opened.connect(self._open)
        context.draft.changed.connect(self._follow)

    @Slot(str)
    def _open(self, text: str) -> None:
        self._forget()
        path = Path(text)
        if not is_report(path):
            return
        try:
            report = read_embedded(path)
            self._branch(report)
        except (TrainingError, OSError) as error:
            self._context.notifier.notify(str(error), "warning", title=path.name)
        else:
            self._report = report
            self._follow()

    def _branch(self, report: EmbeddedConfig) -> None:
        """Let the next run begin with the checkpoint that a branch began with. Raises InputError where the workspace does not have it."""
        origin = find_origin(report, self._context.workspace)
        if origin is None:
            return
        folder = RunFolder(origin.parent.parent)
        manifest = read_manifest(origin)  # or the list would not have it
        info = next(each for each in list_checkpoints(folder) if each.path.name == origin.name)
        self._context.prepare_branch(BranchSource(folder, info, folder.config(), manifest))

    def _forget(self) -> None:
        self._timer.stop()
        if self._ticket is not None:
            self._ticket.cancel()
        self._report = self._asked = self._data = self._ticket = None

    @Slot()
    def _follow(self) -> None:
        """Compare again where the data lies elsewhere now."""
        config = self._context.draft.usable_config("dataset") if self._report is not None else None
        if config is None:
            return  # its place is not known yet
        places = set(path_settings(type(config.dataset)))
        data = config.dataset.model_dump(exclude=places), config.seed
        if self._data not in (None, data):
            self._forget()
        elif self._asked is None or (config.dataset, config.seed) != (self._asked.dataset, self._asked.seed):
            self._data, self._asked = data, config
            self._context.notifier.withdrawn.emit(_SUBJECT)
            self._timer.start()

    @Slot()
    def _ask(self) -> None:
        config, report = self._asked, self._report
        if config is None or report is None or not report.fingerprint:
            return
        if self._ticket is not None:
            self._ticket.cancel()

        def compare(found: DataDigest) -> None:
            if config is self._asked and (other := report.explain_other_data(found.fingerprint)):
                advice = "Choose the folder or file with the same content; a run of these data is another one."
                title = "Other data than the report's"
                self._context.notifier.notify(
                    f"{other} {advice}", "warning", title=title, subject=_SUBJECT, lasting=True
                )

        def pass_over(_refusal: Refusal) -> None:
            """The forms and the preview tell what is wrong with the data."""

        request = DigestData(config=config.model_dump(mode="json"))
        self._ticket = self._context.engine.ask(request, DataDigest, compare, pass_over)
