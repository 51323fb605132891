"""The handful of long-lived objects every page needs, and the few things that need more than one of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from studio.engine.host import EngineHost
from studio.engine.messages import EngineDeath, EngineState
from studio.services.background import Background
from studio.services.notifier import Notifier
from studio.services.settings import SettingsStore
from studio.state.drafts.draft import Draft
from studio.state.drafts.recipes import FROM_STEP
from studio.state.evaluations.evaluation_choice import EvaluationChoice
from studio.state.evaluations.labels_job import LabelsJob
from studio.state.model_to_try import ModelToTry
from studio.state.run_queue import RunQueue
from studio.state.runs.after_stop import AfterStop
from studio.state.runs.live_run import LiveRun
from studio.state.runs.proof_job import ProofJob
from studio.state.runs.run_engine import RunEngineQuery
from studio.state.runs.run_library import RunLibrary
from studio.state.runs.shared_start import SharedStart
from studio.state.runs.shown_run import ShownRun
from studio.state.runs.trace_job import TraceJob
from studio.state.studies.studies import AT_WORK, Studies
from studio.state.sweeps.sweeps import Sweeps
from studio.state.where_it_runs import WhereItRuns
from training.config import RunConfig
from training.config.files import config_data
from training.config.run import LONGEST_NAME
from training.control import Command
from training.errors import TrainingError
from training.protocol.messages import Refusal
from training.runs.cli_consent import code_to_agree
from training.runs.folder import RunFolder
from training.runs.records.forms import Manifest
from training.runs.records.manifest import CheckpointInfo, read_manifest
from training.runs.relocation import config_here, config_told

logger = logging.getLogger(__name__)

PRESET_PREFIX = "preset:"
SAMPLE = "sample"
CHARTS = "run/charts"
STUDIES, SWEEPS, QUEUE = "studies/studies", "studies/sweeps", "studies/queue"


@dataclass(frozen=True)
class BranchSource:
    """The checkpoint a new run is to start from; ``config`` is what the run it belongs to was told, ``manifest`` what
    the checkpoint says about itself."""

    folder: RunFolder
    checkpoint: CheckpointInfo
    config: RunConfig
    manifest: Manifest

    @property
    def title(self) -> str:
        """How it is called in sentences."""
        return f"step {self.checkpoint.step:,} of {self.config.name}"


class AppContext(QObject):
    """Built once in ``studio.app`` and handed to every page.

    Signals:
        page_requested(str): a page's key, or "run/TAB" for a tab of the Run page.
        find_requested(str): a setting is to be found on the Setup page: the one at this path, or by typing its words ("").
        start_problem_changed(str): why no run can start now; "" when one can.
        branch_changed(BranchSource | None)
        file_opened(str): the configuration, or the report, at this path is in the forms now.
        runs_asked(str), engines_asked(), comparison_asked(): runs that a filter finds, or engines, are to be listed; runs listed compared.
        consent_needed(list[Path], Callable): a run needs files of code that nobody agreed to; call the second when somebody did.
        engine_needed(RunEngine, Callable): a run is not of the engine in use; call the second, with ``python`` for another one.
    """

    page_requested, help_requested, runs_asked = Signal(str), Signal(str), Signal(str)
    find_requested, file_opened, start_problem_changed = Signal(str), Signal(str), Signal(str)
    branch_changed, consent_needed, comparison_asked = Signal(object), Signal(object, object), Signal()
    engine_needed, engines_asked = Signal(object, object), Signal()

    def __init__(
        self, workspace: Path, settings: SettingsStore, engine: EngineHost, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.workspace, self.settings, self.engine = workspace, settings, engine
        engine.setParent(self)
        self.background, self.notifier = Background(self), Notifier(self)
        self.draft = Draft(self, lambda: settings.get().device)
        self.where = WhereItRuns(settings, self.draft, engine, self)
        self._shared = SharedStart(engine, self.where, self.background, self.notifier, workspace, self._on_run_refused)
        self.library = RunLibrary(workspace, self.background, self)
        self.queue = RunQueue(workspace, settings, self.background, self)
        self.live, self.evaluation = LiveRun(self), EvaluationChoice(self.background, self)
        self.shown = ShownRun(self.live, self)
        self.labels, self.proofs = LabelsJob(settings, self), ProofJob(settings, self)
        self.traces, self.model_to_try = TraceJob(settings, self), ModelToTry(self)
        self.sweeps = Sweeps(workspace, settings, self.background.make_other(), partial(_tell_study, self), self)
        self.studies = Studies(workspace, settings, self.background.make_other(), partial(_name_rival, self), self)
        self.data_look: QObject | None = None  # what the pages that show the data share; made by the first of them
        self.branch: BranchSource | None = None
        self._begun: BranchSource | None = None  # what the run given to the engine starts from, if prepared here
        self._start_problem = self.held = ""  # why nothing can be started, and why the draft alone cannot
        self._run_engine = RunEngineQuery(settings, engine, self.background, self.engine_needed.emit)
        self._after_stop = AfterStop(self.live, self.start_problem, self)
        engine.run_started.connect(self._on_run_started)
        engine.run_finished.connect(self._on_run_finished)
        engine.run_refused.connect(self._on_run_refused)
        engine.engine_died.connect(self._on_engine_died)
        for changed in (engine.state_changed, self.live.state_changed, self.studies.busy_changed):
            changed.connect(self._update_start_problem)
        self.live.state_changed.connect(self.library.refresh)
        self.queue.runs_changed.connect(self.library.refresh)
        self.shown.refused.connect(lambda text: self.notifier.notify(text, "danger"))

    def is_training(self) -> bool:
        """Whether a run is being trained."""
        return self.live.live or self.engine.training

    def start_problem(self) -> str:
        """Why no run can start now, in one sentence; "" when one can."""
        if self.is_training():
            return "Another run is in progress. Stop it first, or wait for its end."
        if self.studies.is_busy:
            return AT_WORK
        if self.engine.state is EngineState.DEAD and self.engine.death is not None:
            return str(self.engine.death)
        return ""

    def start_run(self, config: RunConfig, checkpoint: Path | None = None, *, from_start: bool = False) -> None:
        """Train ``config``, from ``checkpoint`` or the one chosen for a branch, unless it is to be ``from_start``."""
        if problem := self.start_problem():
            self.notifier.notify(problem, "warning")
            return
        self.live.expect(config.name, config)
        self.shown.look_at_work()
        self._begun = None if checkpoint or from_start else self.branch
        checkpoint = checkpoint or (self._begun.checkpoint.path if self._begun else None)
        count = self._shared.count_for(config)
        if count > 1:
            self._shared.begin(config, count, checkpoint)
        else:
            begin = partial(self.engine.branch, checkpoint) if checkpoint is not None else self.engine.run
            begin(config_data(config), self.workspace)  # before the page is built, which takes as long
        self.show_page(CHARTS)

    def hold_draft(self, why: str) -> None:
        """Do not let the draft be trained for a sentence's reason that its settings do not tell; "" lets it."""
        self.held = why

    def start_draft(self) -> None:
        """Train what the forms say, once whoever chose it can see what that is."""
        if self.held and self.draft.config() is not None:
            self.notifier.notify(self.held, "info")
            self.show_page("setup")
            return
        self._train_draft()

    def _train_draft(self) -> None:
        config = self.draft.config()
        if config is not None:
            self.start_run(config)
            return
        self.notifier.notify("Some settings need attention before training can start.", "warning")
        self.show_page("setup")
        self.draft.touched.demand()

    def start_sample(self) -> None:
        """Train the built-in sample."""
        if not self.start_problem() and self.open_config(PRESET_PREFIX + SAMPLE):
            self._train_draft()

    def resume(self, target: Path, overrides: Sequence[str] = ()) -> None:
        """Continue a run: ``target`` is its folder, or one of its checkpoints. ``overrides`` ("section.key=value") that
        change results make it a branch."""
        if problem := self.start_problem():
            self.notifier.notify(problem, "warning")
            return
        folder = target.parent.parent if target.parent.name == "checkpoints" else target
        if _asks_for_consent(self, folder, overrides, lambda: self.resume(target, overrides)):
            return
        self.live.attach(folder)
        self.live.expect_again()
        self.shown.look_at_work()
        self._begun = None
        self._run_engine.go_on(RunFolder(folder), self._shared.choose_resume(RunFolder(folder), target, overrides))
        self.show_page(CHARTS)

    def branch_at_once(self, folder: RunFolder, checkpoint: CheckpointInfo) -> None:
        """Start a new run from ``checkpoint`` with the very settings of the run in ``folder``."""
        if _asks_for_consent(self, folder.path, (), lambda: self.branch_at_once(folder, checkpoint)):
            return
        try:
            self.start_run(name_branch(config_here(folder), checkpoint), checkpoint.path)
        except TrainingError as error:
            self.notifier.notify(str(error), "danger")

    def change_run(self, folder: Path, overrides: Sequence[str], begin: Callable[[], object]) -> None:
        """``begin`` to train the run shown with ``overrides``; if it is being trained, it is stopped and kept first."""
        if _asks_for_consent(self, folder, overrides, lambda: self.change_run(folder, overrides, begin)):
            return  # before the run is stopped: it may be trained by somebody else
        if not self.live.live:
            begin()
            return
        self._after_stop.expect(folder, begin)
        self.live.ask(Command.STOP)

    def open_run(self, folder: Path, tab: str = "charts", checkpoint: str = "") -> None:
        """Show any run on the Run page without touching it, or the one at work; and select a checkpoint of it."""
        self.shown.open(folder, beside=self.is_training())
        self.show_page(f"run/{tab}")
        if checkpoint:
            self.shown.checkpoint_wanted.emit(checkpoint)

    def show_work(self) -> None:
        """Bring the run at work to the front."""
        self.shown.look_at_work()
        self.show_page("run")

    def open_config(self, text: str, start: bool = False) -> bool:
        """Put a TOML file or ``preset:name`` into the forms, wrong values included; False when it is no readable file.
        ``start``: train it, unless something had to be left out, with which it would be another run than the file's."""
        try:
            if text.startswith(PRESET_PREFIX):
                self.draft.load_preset(text.removeprefix(PRESET_PREFIX))
                left_out = []
            else:
                left_out = self.draft.load_file(Path(text))
        except TrainingError as error:
            self.notifier.notify(str(error), "danger", title="The configuration cannot be used")
            return False
        self.cancel_branch()
        if not text.startswith(PRESET_PREFIX):
            self.file_opened.emit(text)  # not of a preset, whose data may have to be named first
        if left_out:
            more = " Training was not started." if start else ""
            words = f"{', '.join(left_out)}: unknown here and left out; check the spelling.{more}"
            self.notifier.notify(words, "warning", title=Path(text).name)
            if start:
                self.show_page("setup")
        elif start:
            self._train_draft()
        return True

    def branch_from(self, folder: RunFolder, checkpoint: CheckpointInfo) -> None:
        """Prepare a new run that starts from ``checkpoint``: its settings go into the forms."""
        try:
            config, here, manifest = config_told(folder), config_here(folder), read_manifest(checkpoint.path)
        except TrainingError as error:
            self.notifier.notify(str(error), "danger")
            return
        self.prepare_branch(BranchSource(folder, checkpoint, config, manifest))
        self.draft.set_config(name_branch(here, checkpoint))
        self.show_page("setup")

    def cancel_branch(self) -> None:
        """The next run starts from the beginning."""
        self.prepare_branch(None)

    def show_page(self, key: str) -> None:
        """Bring a page to the front."""
        self.page_requested.emit(key)

    def prepare_branch(self, branch: BranchSource | None) -> None:
        """Start the next run from there; None: from the beginning."""
        if branch != self.branch:
            self.branch = branch
            self.branch_changed.emit(branch)

    @Slot(object)
    def _on_run_started(self, folder: Path) -> None:
        if self._begun == self.branch:  # another run than the one prepared leaves that for later
            self.prepare_branch(None)
        self.live.attach(folder)
        self.library.refresh()
        self._update_start_problem()

    @Slot()
    def _on_run_finished(self) -> None:
        self.live.settle()
        self.library.refresh()
        self._update_start_problem()

    @Slot(object)
    def _on_run_refused(self, refusal: Refusal) -> None:
        self.live.settle()
        self.draft.set_engine_problems(refusal.problems)
        if self.live.folder is not None and not self.live.folder.path.exists():
            self.live.detach()  # a new run that could not begin leaves nothing behind
        if self.live.folder is None:
            self.show_page("setup")
        self.notifier.notify(str(refusal), "danger", title="The run was not started")
        self._update_start_problem()

    @Slot(object)
    def _on_engine_died(self, death: EngineDeath) -> None:
        if self.engine.training:
            self.live.mourn(death)
        elif death.log or self.engine.info is not None:  # else all there is to say stands above the page
            self.notifier.notify(str(death), "danger", title="No engine", details=death.log)
        self.library.refresh()
        self._update_start_problem()

    @Slot()
    def _update_start_problem(self) -> None:
        problem = self.start_problem()
        if problem != self._start_problem:
            self._start_problem = problem
            self.start_problem_changed.emit(problem)
        self._after_stop.look()


def _tell_study(context: AppContext) -> str:
    """That a study works, beside which no sweep is begun; "" for none."""
    return AT_WORK if context.studies.is_busy else ""


def _name_rival(context: AppContext) -> str:
    """What would make the timings of a study false; "" for nothing."""
    if context.is_training():
        return "A run"
    if context.sweeps.is_busy:
        return "A sweep"
    return "The queue" if context.queue.overview.list_state("at work") else ""


def name_branch(config: RunConfig, checkpoint: CheckpointInfo) -> RunConfig:
    """A name by which the branch is told from the run that it leaves."""
    stem = FROM_STEP.sub("", config.name)
    suffix = f" from step {checkpoint.step}"
    return config.model_copy(update={"name": stem[: LONGEST_NAME - len(suffix)] + suffix})


def _asks_for_consent(context: AppContext, folder: Path, overrides: Sequence[str], go_on: Callable[[], object]) -> bool:
    """Whether a person has to agree to the run's code first; then they are asked, and ``go_on`` follows a yes."""
    try:
        code = code_to_agree(RunFolder(folder), overrides)
    except (TrainingError, OSError):  # the engine says what is wrong with the run
        return False
    if code:
        context.consent_needed.emit(code, go_on)
    return bool(code)
