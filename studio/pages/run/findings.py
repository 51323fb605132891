"""What was found in the run: what holds, the worst first, and below it what holds no more or is no problem here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QLabel, QScrollArea, QWidget

from studio.forms.messages import with_titles
from studio.panels.fix_dialog import describe_proposal, make_banner
from studio.state.runs.run_findings import RunFindings, identify_finding
from studio.theme import IconRole, Tone
from studio.widgets import Banner, IconLabel, button, empty, hbox, in_widget, label, make_breakable, vbox
from training.config import RunConfig
from training.errors import pluralize
from training.events import Finding
from training.findings import RULES, describe_evidence
from training.findings.nonfinite import can_trace
from training.prove.plan import can_prove

_MOST = 20
"""So many at once: more of them are in the log."""
PROVE, NO_PROBLEM, UNDO = "Prove …", "Not a problem here", "Undo"
TRACE, CANCEL_TRACE = "Trace this step", "Cancel trace"


class FindingList(QWidget):
    """Shows ``findings``. A banner stays the same widget for as long as its finding does.

    Signals:
        apply_asked(Finding), prove_asked(Finding): what it proposes is wanted, or is to be tried.
        trace_asked(Finding): its step is to be computed again, or, where it is under way, no longer.
        dismiss_asked(Finding, bool): it is no problem in this run, or is one after all.
        help_asked(str): the page and place of the help that tells of it.
        changed(): something else is shown.
    """

    apply_asked, prove_asked, trace_asked = Signal(object), Signal(object), Signal(object)
    dismiss_asked, help_asked = Signal(object, bool), Signal(str)
    changed = Signal()

    def __init__(self, findings: RunFindings) -> None:
        super().__init__()
        self._findings = findings
        self._shown: dict[str, tuple[Finding, RunConfig | None, Banner]] = {}
        self._proved: Mapping[str, str] = {}
        # Whose step is traced, what is said of it, whether it is under way.
        self._trace = "", "", False
        self._selected = ""
        self.said: tuple[Tone, str, str] | None = None  # of the one that matters most, or how many there are
        self.count = 0
        self._more = label("", "caption", wrap=True)
        self._quiet = QWidget()
        self._lines = vbox(parent=self._quiet, spacing=2)
        self._column = vbox(self._more, self._quiet, parent=self)
        for part in (self._more, self._quiet, self):
            part.hide()
        findings.changed.connect(self.refresh)

    def show_proofs(self, proved: Mapping[str, str]) -> None:
        """Say of findings, by their keys, what a proof of their fix came to."""
        if proved != self._proved:
            self._proved = dict(proved)
            self.refresh()

    def show_trace(self, name: str, words: str, *, on: bool) -> None:
        """Say of the finding ``name`` how its trace stands; ``on``: it is under way and can be canceled."""
        before, self._trace = self._trace, (name, words, on)
        if before != self._trace:
            for each in {before[0], name} & set(self._shown):  # its button says something else now
                self._drop(each)
            self.refresh()

    def select(self, name: str) -> None:
        """Mark one, and bring it into view where it is scrolled."""
        self._selected = name
        for each, (_finding, _config, banner) in self._shown.items():
            banner.set_marked(each == name)
        entry = self._shown.get(name)
        area = self.parent()
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parent()
        if entry is not None and area is not None:
            area.ensureWidgetVisible(entry[2])

    def captions(self) -> list[str]:
        """What stands small at each: since when, on what it rests, what was proved."""
        return [banner.accessibleDescription() for _finding, _config, banner in self._shown.values()]

    @Slot()
    def refresh(self) -> None:
        """Show what there is now."""
        standing, config = self._findings.list_standing(), self._findings.config
        self._show_standing(standing[:_MOST], config)
        left = len(standing) - _MOST
        self._more.setText(f"{pluralize(left, 'more finding')}, in the log." if left > 0 else "")
        self._more.setVisible(left > 0)
        cleared, dismissed = self._findings.list_cleared(), self._findings.list_dismissed()
        self._show_quiet(cleared[-_MOST:], dismissed[-_MOST:])
        self.count = len(standing)
        # Its place beside the tabs is for what matters: all else is counted there.
        telling = (banner.message for finding, _config, banner in self._shown.values() if finding.is_telling)
        self.said = next(telling, None) or _count_quiet(len(standing), len(cleared), len(dismissed))
        self.setVisible(self.said is not None)
        self.changed.emit()

    def _show_standing(self, standing: Sequence[Finding], config: RunConfig | None) -> None:
        names = [identify_finding(finding) for finding in standing]
        for name in [name for name in self._shown if name not in names]:
            self._drop(name)
        before, self._shown = self._shown, {}
        for place, (name, finding) in enumerate(zip(names, standing, strict=True)):
            entry = before.get(name)
            if entry is None or entry[:2] != (finding, config):
                if entry is not None:
                    _delete(entry[2])
                entry = finding, config, self._make_banner(finding, config)
                entry[2].set_marked(name == self._selected)
            self._shown[name] = entry
            entry[2].set_caption(self._describe(finding))
            if self._column.indexOf(entry[2]) != place:
                self._column.insertWidget(place, entry[2])

    def _drop(self, name: str) -> None:
        _delete(self._shown.pop(name)[2])

    def _make_banner(self, finding: Finding, config: RunConfig | None) -> Banner:
        known = finding.code in RULES
        banner = make_banner(finding, config, lambda _fix: self.apply_asked.emit(finding), closable=not known)
        banner.closed.connect(lambda: self._findings.close(finding))
        if not known:
            return banner
        if config is not None and describe_proposal(config, finding.fix) and can_prove(config, finding):
            banner.add_action(PROVE, lambda: self.prove_asked.emit(finding)).setToolTip(
                "Train a little with and without it, on the same batches, and compare"
            )
        if can_trace(finding):
            is_traced = self._trace[2] and self._trace[0] == identify_finding(finding)
            banner.add_action(CANCEL_TRACE if is_traced else TRACE, lambda: self.trace_asked.emit(finding)).setToolTip(
                "Compute it again from the checkpoint before it, and find what produced the first NaN or infinity"
            )
        if finding.level != "error":
            banner.add_action(NO_PROBLEM, lambda: self.dismiss_asked.emit(finding, True), variant="ghost").setToolTip(
                "Put it away for this run; it can be taken back below"
            )
        banner.add_action("Help", lambda: self.help_asked.emit(f"findings#{finding.code}"), variant="ghost").setToolTip(
            f"From what on {finding.code} is found, and on what that rests"
        )
        return banner

    def _describe(self, finding: Finding) -> str:
        """When it began, on what it rests, and what a proof found."""
        if finding.code not in RULES:
            return ""
        began = f"Since step {finding.since:,}" if finding.since else "" if finding.step else "Found before training"
        parts = [part for part in (began, describe_evidence(finding)) if part]
        line = ": ".join(parts) if began and len(parts) > 1 else "".join(parts)
        proof = self._proved.get(finding.key, "")
        traced = self._trace[1] if self._trace[0] == finding.key else ""
        return "\n".join(part for part in (line, f"Proof: {proof}" if proof else "", traced) if part)

    def _show_quiet(self, cleared: Sequence[Finding], dismissed: Sequence[Finding]) -> None:
        empty(self._lines)
        for finding in reversed(cleared):
            self._lines.addWidget(_quiet_line("check", "success", f"Cleared at step {finding.cleared_at:,}", finding))
        for finding in dismissed:
            undo = button(UNDO, variant="ghost", tooltip="Take it for a problem again")
            undo.clicked.connect(lambda _on=False, each=finding: self.dismiss_asked.emit(each, False))
            undo.setAccessibleName(f"{UNDO}: {finding.title}")
            self._lines.addWidget(_quiet_line("minus", "muted", NO_PROBLEM, finding, undo))
        self._quiet.setVisible(bool(cleared or dismissed))


def _count_quiet(notes: int, cleared: int, dismissed: int) -> tuple[Tone, str, str] | None:
    """How many notes there are, findings that hold no more, and such as are no problem here; None where there is nothing."""
    said = [f"{pluralize(notes, 'note')}"] * bool(notes)
    said += [f"{pluralize(cleared, 'finding')} cleared"] * bool(cleared)
    said += [f"{pluralize(dismissed, 'finding')} no problem here"] * bool(dismissed)
    return ("neutral", ", ".join(said), "") if said else None


def _quiet_line(image: str, role: IconRole, what: str, finding: Finding, *buttons: QWidget) -> QWidget:
    words: QLabel = label(
        make_breakable(f"{what}: {with_titles(finding.title)}"), "caption", wrap=True, selectable=True
    )
    return in_widget(hbox(IconLabel(image, 14, role), (words, 1), *buttons))


def _delete(banner: Banner) -> None:
    banner.setParent(None)
    banner.deleteLater()
