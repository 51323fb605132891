"""The seven steps in their order: what is missing is trained, and the report is brought up to date after each."""

from __future__ import annotations

import shlex
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.config import RunConfig
from training.config.sections.data.dataset import IdxDataset, ShapesDataset
from training.data.sources.idx import open_idx_folder
from training.engine.device import choose_device
from training.errors import InputError
from training.laboratory.child import Ended, Interrupt, Say, train
from training.laboratory.comparisons import COMPARISONS, Compared, compare_ways, explain_omission, plan_runs
from training.laboratory.criteria import Verdict, judge
from training.laboratory.expected_time import NAMED_SHARE, describe_expected_time
from training.laboratory.measure import Measured, measure
from training.laboratory.plan import data_overrides, describe_few_steps, device_overrides, step_config, write_share
from training.laboratory.record import KILLED_SERIES, LabRecord
from training.laboratory.report import PAGE, Findings, LabReport, write_report
from training.laboratory.sameness import Sameness, compare
from training.laboratory.short_script import ScriptNote, write_script
from training.laboratory.steps import STEPS, Step
from training.runs.folder import RunFolder, create_run, delete_run

_SHOTS = 3  # how often the last run is begun again when it ended before it could be killed
_REFUSED = 2  # the engine's exit code for input that cannot be used


@dataclass(frozen=True)
class LabRun(LabReport):
    """How it ended, and where the page lies."""

    status: str
    folder: Path
    report: Path


@dataclass(frozen=True)
class Outcome:
    """``code`` for the shell, ``lines`` for the person, ``record`` for ``--json``."""

    code: int
    lines: tuple[str, ...]
    record: LabRun


@dataclass
class Laboratory:
    """Trains the steps in ``workspace`` and keeps the report in ``folder``."""

    workspace: Path
    folder: Path
    given: Path | None  # the data
    share: float
    overrides: Sequence[str]
    command: str
    compares: bool
    say: Say
    interrupt: Interrupt

    def __post_init__(self) -> None:
        self._data = self.given
        self._record = LabRecord(self.folder, self.workspace)
        self._failures: dict[str, str] = {}
        self._device_type = ""
        self._script = ScriptNote("", "")

    def run(self) -> Outcome:
        """Everything that is missing. Raises InputError when the first step cannot even begin."""
        for step in STEPS:  # a setting that cannot be is told before anything is trained
            config = step_config(step, self._settings(step))
        self._device_type = choose_device(config.precision.device).type
        if self.given is not None and self.share < 1.0:
            self._data = write_share(self.given, self.share, self.folder)
        elif self.given is not None and isinstance(config.dataset, IdxDataset):
            open_idx_folder(self.given)  # refused here, where it is not of this form
        self._warn()
        self._script = write_script(step_config(STEPS[-1], self._settings(STEPS[-1])), self.folder)
        self._announce_time()
        for number, step in enumerate(STEPS, start=1):
            self._step(number, step)
            if self.interrupt.asked:
                break
            self._report()
        if self.compares and not self.interrupt.asked:
            self._train_comparisons()
        return self._outcome()

    def _warn(self) -> None:
        """Of a share that is too small to show anything; the whole of somebody's data is what there is."""
        config = step_config(STEPS[-1], self._settings(STEPS[-1]))
        drawn = self._data is None and isinstance(config.dataset, ShapesDataset)
        if (drawn or self._data != self.given) and (words := describe_few_steps(config)):
            self.say(words)

    def _announce_time(self) -> None:
        """Of what is still to be trained; on the page it stays."""
        configs = {step.key: step_config(step, self._settings(step)) for step in STEPS}
        missing = [step for step in STEPS if not self._is_done(step, self._record.run_of(step.key, configs[step.key]))]
        planned = [configs[step.key] for step in missing]
        for key, config in self._plan_comparisons().items():
            run = self._record.run_of(key, config)
            if run is None or run.status().status != "completed":
                planned.append(config)
        share = (
            self.share if len(missing) == len(STEPS) else 0.0
        )  # another one would train the finished steps once more
        if words := describe_expected_time(planned, share):
            self._record.note_expected(words)
            self.say(words)

    def _is_done(self, step: Step, run: RunFolder | None) -> bool:
        """Whether ``run`` has come to its end; the last step's only after its kill."""
        completed = run is not None and run.status().status == "completed"
        return completed and (step is not STEPS[-1] or self._record.kill is not None)

    def _plan_comparisons(self) -> dict[str, RunConfig]:
        """The runs beside the seven steps that were asked for and that this device can show something by."""
        if not self.compares:
            return {}
        plans = [
            plan_runs(comparison, self._settings(STEPS[0]))
            for comparison in COMPARISONS
            if not explain_omission(comparison, self._device_type)
        ]
        return {key: config for plan in plans for key, config in plan.items()}

    def _train_comparisons(self) -> None:
        for key, config in self._plan_comparisons().items():
            run = self._record.run_of(key, config)
            if run is None:
                run = create_run(self.workspace, config)
                self._record.begin(key, run)
            if run.status().status != "completed":
                self.say(f"[compare] {config.name}")
                train(run, self.say, self.interrupt)
            if self.interrupt.asked:
                return

    def _compare(self) -> tuple[Compared, ...]:
        """What the page says of each comparison."""
        runs = {key: self._record.run_of(key, config) for key, config in self._plan_comparisons().items()}
        measured = {key: measure(run).figures for key, run in runs.items() if run is not None}
        completed = {key: figures for key, figures in measured.items() if figures.status == "completed"}
        found = []
        for comparison in COMPARISONS:
            if not self.compares:
                found.append(Compared(comparison.title, "Not compared: add --compare, which trains ten runs for it."))
            elif why := explain_omission(comparison, self._device_type):
                found.append(Compared(comparison.title, why))
            else:
                found.append(compare_ways(comparison, completed))
        return tuple(found)

    def _settings(self, step: Step) -> list[str]:
        return [
            *data_overrides(self._data, self.share),
            *device_overrides(step, self._device_type),
            *self.overrides,
        ]

    def _step(self, number: int, step: Step) -> None:
        config = step_config(step, self._settings(step))
        run = self._record.run_of(step.key, config)
        head = f"[{number}/{len(STEPS)}] {step.title}"
        crash = step.key == STEPS[-1].key
        if run is not None and self._is_done(step, run):
            self.say(f"{head}: done before, as {run.id}")
        else:
            self.say(f"{head}: {step.change}")
            if run is None or (crash and self._record.kill is None):
                if crash and run is not None:
                    delete_run(run)  # nothing but what this laboratory trained up to an interruption
                run = self._new_run(step)
            ended = self._kill_and_resume(run, step) if crash else train(run, self.say, self.interrupt)
            self._note_end(number, step, ended)

    def _new_run(self, step: Step) -> RunFolder:
        run = create_run(self.workspace, step_config(step, self._settings(step)))
        self._record.begin(step.key, run)
        return run

    def _kill_and_resume(self, run: RunFolder, step: Step) -> Ended:
        """The run's process, killed at its moment, and the one that takes over."""
        killed_series = self.folder / KILLED_SERIES
        for _ in range(_SHOTS):
            if self._record.kill is not None:
                break
            killed_series.unlink(missing_ok=True)
            ended = train(run, self.say, self.interrupt, kill_it=True)
            if ended.kill is not None:
                shutil.copyfile(run.series_file, killed_series)
                self._record.note_kill(ended.kill)
                self.say(f"      killed (SIGKILL) with {ended.kill.step:,} steps on the disk; it is started again")
            elif self.interrupt.asked or ended.code not in (0, -signal.SIGKILL):  # the kill may have come too late
                return ended
            else:
                self.say("      it ended before it could be killed, and is trained once more")
                delete_run(run)
                run = self._new_run(step)
        return train(run, self.say, self.interrupt)

    def _note_end(self, number: int, step: Step, ended: Ended) -> None:
        if ended.code == 0 or self.interrupt.asked:
            return
        if number == 1 and ended.code == _REFUSED:
            run = self._record.any_run_of(step.key)
            if run is not None and not run.status().step:
                delete_run(run)  # it never began
            raise InputError("The first step was refused, for what is said above; nothing was trained.")
        self._failures[step.key] = (
            ended.words.splitlines()[-1] if ended.words else f"The process ended with code {ended.code}."
        )

    # ------------------------------------------------------------------------------------------ what came out

    def _findings(self) -> Findings:
        measured: dict[str, Measured] = {}
        kill = self._record.kill
        for step in STEPS:
            run = self._record.run_of(step.key, step_config(step, self._settings(step)))
            if run is not None:
                crash = step.key == STEPS[-1].key
                measured[step.key] = measure(run, kill.time if crash and kill else None)
        sameness: dict[str, Sameness] = {}
        completed = {key for key, item in measured.items() if item.figures.status == "completed"}
        if {"amp", "checkpoints"} <= completed:
            sameness["checkpoints"] = compare(measured["checkpoints"], measured["amp"])
        if {"checkpoints", "crash"} <= completed:
            before = self.folder / KILLED_SERIES
            sameness["crash"] = compare(measured["crash"], measured["checkpoints"], kill, before)
        begun = {key: item for key, item in measured.items() if len(item.rows)}
        verdicts: dict[str, Verdict] = {key: judge(key, begun, sameness) for key in begun}
        return Findings(
            data=self._words_for_data(begun),
            command=self.command,
            settings={
                step.key: shlex.join([word for text in self._settings(step) for word in ("--set", text)])
                for step in STEPS
            },
            measured=begun,
            verdicts=verdicts,
            sameness=sameness,
            failures=dict(self._failures),
            script=self._script,
            expected=self._record.expected,
            named_share=NAMED_SHARE,
            comparisons=self._compare(),
        )

    def _words_for_data(self, measured: Mapping[str, Measured]) -> str:
        part = "" if self.share == 1.0 else f", {self.share:g} of it"
        words = f"Data: {self.given}{part}." if self.given else f"Data: shapes drawn on the spot{part}."
        if len({item.figures.data for item in measured.values()}) > 1:
            words += " It was changed between two steps, which cannot be compared then: start from the beginning with another --out."
        return words

    def _report(self) -> tuple[Findings, LabReport]:
        findings = self._findings()
        return findings, write_report(self.folder, findings)

    def _outcome(self) -> Outcome:
        findings, figures = self._report()
        finished = [key for key, item in findings.measured.items() if item.figures.status == "completed"]
        stopped = bool(self.interrupt.asked) and len(finished) < len(STEPS)
        lines = []
        for number, step in enumerate(STEPS, start=1):
            verdict = findings.verdicts.get(step.key)
            if step.key in finished and verdict is not None:
                lines.append(f"{'met   ' if verdict.met else 'missed'}  {number} {step.title}: {verdict.found}")
            elif step.key in self._failures:
                lines.append(f"failed  {number} {step.title}: {self._failures[step.key]}")
            else:
                lines.append(f"not yet {number} {step.title}")
        if stopped:
            lines.append(f"Stopped with {len(finished)} of {len(STEPS)} steps done. Go on with: {self.command}")
        if self.compares:
            lines += [f"        {compared.title}: {compared.told}" for compared in findings.comparisons]
        lines.append(f"The report is {self.folder / PAGE}")
        if self._script.file:
            lines.append(f"All of it as one short script: {self.folder / self._script.file}")
        status = "stopped" if stopped else "completed" if len(finished) == len(STEPS) else "failed"
        record = LabRun(
            figures.data, figures.script, figures.steps, figures.comparisons, status, self.folder, self.folder / PAGE
        )
        return Outcome({"stopped": 130, "completed": 0, "failed": 1}[status], tuple(lines), record)
