"""What was found in the run that is shown: of each code and place what was told last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.state.runs.shown_run import ShownRun
from training.config import RunConfig
from training.events import AttemptStarted, Event, Finding, FindingLevel, PhaseChanged, Rewound
from training.findings import is_dismissed
from training.runs.folder import RunFolder
from training.runs.records.about import read_about

_WORST_FIRST: tuple[FindingLevel, ...] = ("error", "warning", "info")
_MOST = 5000
"""So many tellings are remembered: a damaged file may hold any number."""


def identify_finding(finding: Finding) -> str:
    """What is the same finding where it is told again."""
    return finding.key or finding.title


class RunFindings(QObject):
    """Follows ``shown``. What is over with an attempt that was cut goes with it.

    Signals:
        changed(): there are others, or they stand otherwise. Said once for all that is told in one go.
    """

    changed = Signal()

    def __init__(self, shown: ShownRun, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._shown = shown
        self._told: list[Finding] = []
        self._replayed: tuple[Finding, ...] = ()
        self._closed: set[str] = set()
        self._dismissed: tuple[str, ...] = ()
        self._timer = QTimer(self, interval=0, singleShot=True)
        self._timer.timeout.connect(self.changed)
        shown.attached.connect(self._on_attached)
        shown.event_arrived.connect(self._on_event)

    @property
    def folder(self) -> RunFolder | None:
        """Of the run they are of."""
        return self._shown.run.folder

    @property
    def config(self) -> RunConfig | None:
        """Of the run they are of."""
        return self._shown.run.config()

    def list_standing(self) -> list[Finding]:
        """What holds now, the worst first, of these what began first: a cause comes before its symptoms."""
        found = [each for each in self._fold() if each.cleared_at is None and not self.is_dismissed(each)]
        return sorted(found, key=lambda each: (_WORST_FIRST.index(_level_of(each)), _began_at(each)))

    def list_cleared(self) -> list[Finding]:
        """What holds no more, in the order in which it was cleared."""
        return [each for each in self._fold() if each.cleared_at is not None and not self.is_dismissed(each)]

    def list_dismissed(self) -> list[Finding]:
        """What the person says is no problem in this run."""
        return [each for each in self._fold() if self.is_dismissed(each)]

    def is_dismissed(self, finding: Finding) -> bool:
        """Whether the person says that it is no problem here."""
        return is_dismissed(finding, self._dismissed)

    def add(self, finding: Finding) -> None:
        """Take up what was told."""
        if finding.level != "ok" and not finding.set_aside and len(self._told) < _MOST:
            self._told.append(finding)
            self._timer.start()

    def close(self, finding: Finding) -> None:
        """The person has read it; it comes back with the next telling."""
        self._closed.add(_stamp(finding))
        self._timer.start()

    def show_replayed(self, findings: Sequence[Finding]) -> None:
        """What a replay of the run finds, beside what the run told itself."""
        self._replayed = tuple(findings)
        self._timer.start()

    @Slot()
    def read_dismissed(self) -> None:
        """Read again what the person says of the run."""
        folder = self.folder
        keys = read_about(folder).dismissed if folder is not None else ()
        if keys != self._dismissed:
            self._dismissed = keys
            self._timer.start()

    def _fold(self) -> Iterable[Finding]:
        found: dict[str, Finding] = {}
        for finding in (*self._replayed, *self._told):
            found.pop(identify_finding(finding), None)
            found[identify_finding(finding)] = finding
        return [finding for finding in found.values() if _stamp(finding) not in self._closed]

    @Slot()
    def _on_attached(self) -> None:
        self._told.clear()
        self._replayed = ()
        self._closed.clear()
        self._dismissed = ()
        self.read_dismissed()
        self._timer.start()

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        if isinstance(event, Finding):
            self.add(event)
        elif isinstance(event, PhaseChanged) and event.phase == "preparing data" and event.fraction is None:
            # An attempt begins. What it finds in its data is told before it is announced.
            self._keep([finding for finding in self._told if finding.code and finding.step])
        elif isinstance(event, AttemptStarted):
            self._keep([finding for finding in self._told if not finding.code or finding.step <= event.step])
        elif isinstance(event, Rewound):
            self._keep([finding for finding in self._told if finding.step <= event.step])

    def _keep(self, told: list[Finding]) -> None:
        if len(told) != len(self._told):
            self._told = told
            self._timer.start()


def _level_of(finding: Finding) -> FindingLevel:
    return finding.level if finding.level in _WORST_FIRST else "info"


def _began_at(finding: Finding) -> int:
    return finding.step if finding.since is None else finding.since


def _stamp(finding: Finding) -> str:
    return f"{identify_finding(finding)} {finding.step} {finding.time}"
