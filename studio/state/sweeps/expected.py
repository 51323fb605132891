"""What a sweep will take before it begins: a few steps of its base are timed, as studies do it."""

from __future__ import annotations

import json

from PySide6.QtCore import QObject, Signal

from studio.engine.side_command import Answer, SideCommand
from studio.services.settings import SettingsStore
from training.config import RunConfig
from training.config.files import config_data
from training.errors import format_bytes, format_duration, pluralize
from training.studies.records import Cost
from training.sweeps.folder import Budget
from training.sweeps.request import SweepRequest

MEASURING = "A few steps are being timed …"


class TrialCost(QObject):
    """Signals: `changed()` when ``cost`` is known, or ``problem`` says why it is not."""

    changed = Signal()

    def __init__(self, settings: SettingsStore, parent: QObject) -> None:
        super().__init__(parent)
        self.cost: Cost | None = None
        self.problem = ""
        self._settings = settings
        self._command: SideCommand | None = None

    def measure(self, config: RunConfig) -> None:
        """Time steps of ``config`` in a process of its own."""
        self.stop()
        request = json.dumps({"what": "cost", "settings": config_data(config)})
        python = self._settings.get().engine_python
        self._command = SideCommand(self, python, ["study", "--measure"], self._take, request + "\n")

    def stop(self) -> None:
        """Nobody wants to know any more."""
        if self._command is not None:
            self._command.give_up()
            self._command.deleteLater()
            self._command = None

    def _take(self, answer: Answer) -> None:
        self._command = None
        lines = [line for line in answer.out.splitlines() if line.strip()]
        try:
            told = json.loads(lines[-1]) if lines else {"error": (answer.error.splitlines() or ["no answer"])[-1]}
            if "error" in told:
                self.problem = str(told["error"])
            else:
                self.cost = Cost.model_validate(told)
        except ValueError:
            self.problem = lines[-1][:200]
        self.changed.emit()


def describe_expected(base: RunConfig, budget: Budget, request: SweepRequest, cost: TrialCost) -> str:
    """What the sweep will take, in a few sentences."""
    trials = budget.trials
    limits = [pluralize(trials, "trial")] if trials is not None else []
    limits += [f"{format_duration(budget.hours * 3600)} of training"] if budget.hours is not None else []
    limits += [f"{format_bytes(budget.bytes)} of disk"] if budget.bytes is not None else []
    head = f"At most {', '.join(limits)}." if limits else ""
    if cost.cost is None:
        known = f"Time and disk are not known: {cost.problem.rstrip('.')}." if cost.problem else MEASURING
        return f"{head} {known}".strip()
    one = cost.cost.estimate(base).repeat(request.repeats)
    words = f"A trial like the draft takes about {format_duration(one.seconds)} and {format_bytes(one.bytes)}"
    if trials is not None:
        whole = one.repeat(trials)
        words += f", all of them about {format_duration(whole.seconds)} and {format_bytes(whole.bytes)}"
    less = "; pruned ones take less, and " if request.pruner != "none" else "; "
    return f"{head} {words}{less}other settings may take more or less."
