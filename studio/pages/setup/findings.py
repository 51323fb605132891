"""Check: the engine looks before the run, and its findings are listed above the start bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue
from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from studio.engine.asker import Asker
from studio.engine.client import Ticket
from studio.forms.messages import with_titles
from studio.pages.setup.previews.preview_model import PreviewModel
from studio.state.context import AppContext
from studio.theme import SPACING, IconRole, Tone
from studio.widgets import (
    STRETCH,
    Card,
    IconLabel,
    ProgressLine,
    StatusPill,
    button,
    empty,
    fill,
    hbox,
    icon_button,
    in_widget,
    label,
    make_breakable,
    scroll_area,
    vbox,
)
from training.events import Finding, FindingLevel
from training.findings import describe_evidence
from training.findings.data import SAMPLED
from training.protocol.answers import Findings, OneBatchFit, RunTime
from training.protocol.messages import CheckRequest, FitOneBatch, Refusal

_ICONS: dict[FindingLevel, tuple[str, IconRole]] = {
    "ok": ("check", "success"),
    "info": ("info", "accent"),
    "warning": ("warning", "warning"),
    "error": ("cross", "danger"),
}
_GROUPS: Mapping[FindingLevel, tuple[str, str]] = {
    "error": ("error", "errors"),
    "warning": ("warning", "warnings"),
    "info": ("note", "notes"),
    "ok": ("check passed", "checks passed"),
}
"""The worst first: what one and several are called."""
_MOST_HEIGHT = 210
FIT, EVERYTHING = "Fit one batch", "Check everything"
_TOP = Qt.AlignmentFlag.AlignTop
_FIT_TIP = (
    "Train the network on a few samples until it knows them by heart: one that cannot is broken (20 seconds at most)"
)


class FindingsPanel(Card):
    """Has the engine look before the run, and lists what it finds until a setting changes.

    Signals: `timed(RunTime | None)` with each list, `fields_blamed()` when it is fields that keep the engine from looking.
    """

    timed = Signal(object)
    fields_blamed = Signal()

    def __init__(self, context: AppContext, previews: PreviewModel) -> None:
        super().__init__("Check", "check")
        self._context = context
        self._previews = previews
        self._ticket: Ticket | None = None
        self._fitter = Asker(context.engine)
        self._found: tuple[Finding, ...] = ()  # by the last look at the draft as it stands
        self._fit: OneBatchFit | None = None
        self._was_replaced = False  # with all other settings
        self._pill = StatusPill()
        self.fit_button = button(FIT, variant="ghost", tooltip=_FIT_TIP, clicked=self.fit_one_batch)
        self.cancel = button("Cancel", "stop", "ghost", clicked=self._cancel)
        self._line = ProgressLine()
        self._list = QWidget()
        self._rows = vbox(parent=self._list)
        self._area = scroll_area(self._list, "Findings of the check")
        self._area.setMaximumHeight(_MOST_HEIGHT)
        close = icon_button("cross", "Put the findings away", clicked=self._withdraw)
        self.cancel.hide()
        self.add_action(self._pill, self.fit_button, self.cancel, close)
        self.add(self._line, self._area)
        self.hide()
        for signal in (context.draft.edited, context.draft.kind_changed):
            signal.connect(self._withdraw)
        context.draft.replaced.connect(self._on_replaced)

    def check(self, *, whole: bool = False) -> None:
        """Ask the engine about the draft as it stands; the files are looked at again, of very many samples all of them where ``whole``."""
        config = self._context.draft.usable_config()
        if config is None:
            return
        self._withdraw()
        self._show_busy()
        self._previews.ask_again()
        request = CheckRequest(config=config.model_dump(mode="json"), workspace=self._context.workspace, whole=whole)
        self._ticket = self._context.engine.ask(
            request,
            Findings,
            lambda result: self._on_checked(result.findings, result.run_time),
            self._on_refused,
            self._show_busy,
        )

    @Slot()
    def fit_one_batch(self) -> None:
        """Have the network learn a few samples by heart; what comes of it stands among the findings."""
        config = self._context.draft.usable_config()
        if config is None:
            return
        self._show_fitting("Building the network")
        request = FitOneBatch(config=config.model_dump(mode="json"))
        self._fitter.ask(request, OneBatchFit, self._on_fitted, self._on_unfitted, self._show_fitting)

    def _show_fitting(self, text: str = "", fraction: float | None = None) -> None:
        self._line.set_progress(fraction, text or FIT)
        self._pill.set_status("Running", "accent")
        self.fit_button.hide()
        self.cancel.show()
        self._line.show()

    @Slot()
    def _cancel(self) -> None:
        """End the check, or the fit of one batch, behind which the findings stand as before."""
        if self._ticket is not None:
            self._withdraw()
            return
        self._fitter.forget()
        self._show(self._found)

    def _on_fitted(self, fit: OneBatchFit) -> None:
        self._fit = fit
        self._show(self._found)
        for finding in fit.findings[:1]:
            self._show_row(finding)

    def _on_unfitted(self, refusal: Refusal) -> None:
        self._show(self._found)
        self._context.notifier.notify(str(refusal), "danger", title=FIT)

    def apply(self, settings: Mapping[str, JsonValue]) -> None:
        """Write what a finding proposes into the draft, and look again."""
        try:
            self._context.draft.apply(settings)
        except KeyError as error:
            self._context.notifier.notify(f"{error} is no setting of this run any more; check again.", "warning")
            return
        self.check()

    def mute(self, finding: Finding) -> None:
        """Note among the settings that it is no problem in this run, and look again."""
        self.apply({"muted_findings": [*self._context.draft.value("muted_findings"), finding.key]})

    def texts(self) -> list[str]:
        """What the rows say, for tests and screen readers."""
        return [row.accessibleName() for row in self._list.findChildren(QWidget) if row.property("finding")]

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit_height()

    @Slot()
    def follow(self) -> None:
        """Check again, where a check was put away by settings that came by themselves: what suits other data comes a moment after
        they were chosen."""
        if self._was_replaced:
            self.check()

    def _on_replaced(self) -> None:
        shown = not self.isHidden()
        self._withdraw()
        self._was_replaced = shown

    def _withdraw(self) -> None:
        self._was_replaced = False
        page = self.parentWidget()
        if page is not None and self.isAncestorOf(self.window().focusWidget()):
            page.setFocus()  # else Qt gives it to what comes next, and Ctrl+Z, for example, would reach no page
        if self._ticket is not None:
            self._context.engine.interrupt(self._ticket)
            self._ticket = None
        self._fitter.forget()
        self._found, self._fit = (), None
        self.hide()

    def _show_busy(self, text: str = "", fraction: float | None = None) -> None:
        self._pill.set_status("Running", "accent")
        self.fit_button.hide()
        self.cancel.show()
        self._line.set_progress(fraction, text or "Opening the data, building the model, trying one batch")
        self._line.show()
        self._area.hide()
        self.show()

    def _on_refused(self, refusal: Refusal) -> None:
        self._ticket = None
        draft = self._context.draft
        draft.set_engine_problems(refusal.problems)
        if draft.engine_problems():  # which say it at the fields
            self._withdraw()
            self.fields_blamed.emit()
        else:
            self._on_checked([Finding(level="error", title=refusal.message, advice=refusal.advice)])

    def _on_checked(self, findings: Sequence[Finding], run_time: RunTime | None = None) -> None:
        self._ticket = None
        self._found = tuple(findings)
        self.timed.emit(run_time)
        self._show(findings)

    def _show(self, checked: Sequence[Finding]) -> None:
        """A row for each finding, what the fit of one batch says among them, in groups, the worst first, which the pill says."""
        findings = [*(self._fit.findings if self._fit else ()), *checked]
        levels = {finding.level for finding in findings}
        tone: Tone = "danger" if "error" in levels else "warning" if "warning" in levels else "success"
        words = {"danger": "Cannot start", "warning": "Worth a look", "success": "Ready to start"}
        self._pill.set_status(words[tone], tone)
        self._area.hide()  # rows that join what is seen are shown, and measured, with the next events alone
        empty(self._rows)
        for level, (one, several) in _GROUPS.items():
            group = [finding for finding in findings if finding.level == level]
            if group:
                fill(self._rows, label(f"{len(group)} {one if len(group) == 1 else several}", "caption"))
            fill(self._rows, *(self._make_row(finding) for finding in group))
        if muted := self._context.draft.value("muted_findings"):
            told = f"Said to be no problem here: {', '.join(muted)}. Muted findings brings them back."
            fill(self._rows, label(make_breakable(told), "caption", wrap=True, selectable=True))
        fill(self._rows, STRETCH)
        self._line.hide()
        self.cancel.hide()
        self.fit_button.setVisible(self._context.draft.usable_config() is not None and "error" not in levels)
        self._area.show()
        self.show()
        self._fit_height()

    def _show_row(self, finding: Finding) -> None:
        """Scroll to it, once its place is known."""
        row = next(row for row in self._list.findChildren(QWidget) if row.property("finding") == finding.title)
        QTimer.singleShot(0, row, lambda: self._area.ensureWidgetVisible(row))

    def _make_row(self, finding: Finding) -> QWidget:
        """With settings called as the forms beside call them."""
        title, advice = (with_titles(words, self._context.draft.kind) for words in (finding.title, finding.advice))
        words = vbox(label(make_breakable(title), wrap=True, selectable=True), spacing=1)
        if advice:
            fill(words, label(make_breakable(advice), "help", wrap=True, selectable=True))
        judged = finding.level != "ok" and bool(finding.evidence or finding.level != "info")
        if judged and finding.code:
            on = describe_evidence(finding)
            fill(
                words,
                label(
                    make_breakable(" · ".join(filter(None, (on, finding.key)))), "caption", wrap=True, selectable=True
                ),
            )
        name, role = _ICONS[finding.level]
        line = hbox((IconLabel(name, 16, role), 0, _TOP), (words, 1))
        if settings := finding.fix:
            tooltip = "Set " + ", ".join(f"{path} = {value}" for path, value in settings.items())
            apply = button("Apply", tooltip=tooltip)
            apply.clicked.connect(lambda: self.apply(settings))
            fill(line, (apply, 0, _TOP))
        if finding.code == SAMPLED.code:
            everything = button(EVERYTHING, tooltip="Compare all samples with each other, which takes longer")
            everything.clicked.connect(lambda: self.check(whole=True))
            fill(line, (everything, 0, _TOP))
        if finding.level == "warning" and finding.code:
            tooltip = f"Leave {finding.key} out of the checks of this run: it goes to Muted findings, and can be undone"
            mute = button("Not a problem here", variant="ghost", tooltip=tooltip)
            mute.clicked.connect(lambda: self.mute(finding))
            fill(line, (mute, 0, _TOP))
        row = in_widget(line)
        row.setProperty("finding", finding.title)
        row.setAccessibleName(f"{finding.level}: {title} {advice}".strip())
        return row

    def _fit_height(self) -> None:
        """As high as the findings at this width, within reason; then they scroll."""
        room = max(self.width() - 2 * SPACING.l, 320)
        self._area.setFixedHeight(min(self._rows.heightForWidth(room) + 2, _MOST_HEIGHT))
