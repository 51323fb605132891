"""How a run ended when it did not end well, and the way on."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from studio.actions.files import copy_text
from studio.engine.messages import EngineDeath
from studio.engine.state import RunState
from studio.panels.fix_dialog import APPLY, APPLY_ANEW, describe_proposal
from studio.services.crash import system_summary
from studio.state.runs.way_on import RESUME, START_OVER, WayOn
from studio.theme import Tone
from studio.widgets import Banner, MonoText, vbox
from training.config import RunConfig
from training.events import REACHED, STOPPED_EARLY, Completed, Event, Failed, Stopped


class OutcomeBanner(QWidget):
    """Says why a run failed, was cut off, ended early or left no checkpoint; hidden while there is nothing to say.

    Signals:
        apply_asked(Mapping): go on with the settings that the failure proposes.
        delete_asked(): remove a run that left nothing to go on from.
        changed(): there is something else to say, or nothing any more.
    """

    apply_asked = Signal(object)
    delete_asked = Signal()
    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._banner: Banner | None = None
        self._way = RESUME
        self.said: tuple[Tone, str, str] | None = None  # tone, title and text
        self.proposes = False  # whether settings are proposed to go on with
        self._log = MonoText("Technical record")
        self._log.setMaximumHeight(150)
        self._log.hide()
        self._column = vbox(self._log, parent=self)
        self.hide()

    def show_outcome(
        self,
        state: RunState,
        final: Event | None,
        death: EngineDeath | None = None,
        config: RunConfig | None = None,
        way: WayOn = RESUME,
    ) -> None:
        """Say what ``state`` means; ``final`` is the run's last event, ``death`` how its engine ended, ``config``
        what a proposal is compared with, ``way`` how the run goes on."""
        self._clear()
        self._way = way
        lost = way is START_OVER
        if state is RunState.FAILED and isinstance(final, Failed):
            proposal = describe_proposal(config, final.fix)
            words = (f"{final.reason} {final.advice}".strip(), way.kept if lost else "", proposal)
            text = "\n".join(part for part in words if part)
            fix = final.fix if proposal else {}
            self._say("danger", "The run failed", text, final.log, fix)
        elif state is RunState.STOPPED and isinstance(final, Stopped) and (final.reason or lost):
            text = " ".join(part for part in (final.reason, way.kept if lost else "") if part)
            self._say("info", "The run was stopped", text)
        elif state is RunState.INTERRUPTED:
            text = (
                str(death)
                if death
                else "The training process exited unexpectedly: the computer was switched off, or it was killed."
            )
            self._say("warning", "The run was interrupted", f"{text} {way.kept}", death.log if death else "")
        elif state is RunState.COMPLETED and isinstance(final, Completed):
            if final.reason.startswith(STOPPED_EARLY):
                self._say("info", "Stopped early by its own rule", final.reason)
            elif final.reason.startswith(REACHED):
                self._say("info", "Reached its target", final.reason)
        self.changed.emit()

    def _say(
        self, tone: Tone, title: str, text: str, log: str = "", fix: Mapping[str, JsonValue] | None = None
    ) -> None:
        self._banner, self.said = Banner(tone, title, text, closable=False), (tone, title, text)
        if log:
            self._log.setPlainText(log)
            self._banner.add_action("Show log", self._toggle_log)
        if tone != "info":
            report = "\n\n".join(part for part in (f"{title}. {text}", system_summary(), log) if part)
            self._banner.add_action("Copy", lambda: copy_text(report))
        anew = self._way is START_OVER
        if anew:
            self._banner.add_action("Delete", self.delete_asked.emit)
        self.proposes = bool(fix)
        if fix:
            apply = APPLY_ANEW if anew else APPLY
            self._banner.add_action(apply, lambda: self.apply_asked.emit(fix), variant="primary")
        self._column.insertWidget(0, self._banner)
        self.show()

    def _toggle_log(self) -> None:
        self._log.setVisible(self._log.isHidden())
        self._log.verticalScrollBar().setValue(self._log.verticalScrollBar().maximum())

    def _clear(self) -> None:
        if self._banner is not None:
            self._banner.setParent(None)
            self._banner.deleteLater()
            self._banner = self.said = None
        self.proposes = False
        self._log.clear()
        self._log.hide()
        self.hide()
