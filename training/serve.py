"""The window's engine: requests in, replies out, one at a time.

The same loop works in a child process (``training.engine_process``) and inside a thread of the window (a queue and a
callable). Watching and steering a run go through its folder, not through here.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from training.control import Control
from training.errors import InputError, TrainingError
from training.protocol.answers import (
    Answer,
    EvaluationComparison,
    EvaluationResult,
    ExportResult,
    Findings,
    MaybeRunTime,
    ModelSummary,
    OneBatchFit,
    RunTime,
)
from training.protocol.messages import (
    AddIntervals,
    BranchRequest,
    BrowseSamples,
    CheckRequest,
    CompareEvaluations,
    DigestData,
    DigestSamples,
    Done,
    EvaluateRequest,
    EvaluationQuestion,
    ExportRequest,
    FindDuplicates,
    Finished,
    FitOneBatch,
    InspectDataset,
    MeasureRunTime,
    Progress,
    Quit,
    ReadSamples,
    Ready,
    Refusal,
    Reply,
    Request,
    ResumeRequest,
    RunRequest,
    Started,
    SummarizeModel,
    TrainRequest,
    UnknownRequest,
)
from training.protocol.model_questions import ModelRequest
from training.system.process import calm_threads

if TYPE_CHECKING:
    from training.answering.desk import Desk
    from training.data.browse import Browser
    from training.data.prepared import PreparedData
    from training.data.source import ReportProgress
    from training.engine.runs.run import Hooks
    from training.predictions import Evaluation
    from training.runs.folder import RunFolder

SendReply = Callable[[Reply], None]


class Server:
    """Answers requests; ``control`` belongs to the run in progress, None between runs."""

    def __init__(self, reply: SendReply, keeps_data: bool = False) -> None:
        """``keeps_data``: the next run finds the data of the last one still in memory where nothing about it changed."""
        self._reply = reply
        self._keeps_data = keeps_data
        self._kept: PreparedData | None = None
        self._browser: Browser | None = None
        self._desk: Desk | None = None
        self.control: Control | None = None
        self.ended = False
        self._end_reason = ""
        self._interrupted: int | None = None  # the last request of which that was asked
        self._is_heard = True

    def end(self, reason: str = "") -> None:
        """Stop and keep the run under way, and begin none any more; from any thread, or a signal handler."""
        self._end_reason = reason
        self.ended = True  # before the look at the run: one that is being begun looks here after it can be stopped
        control = self.control
        if control is not None:
            control.request_stop(reason)

    def interrupt(self, number: int) -> None:
        """End the evaluation that request ``number`` asked for where it is, if it is under way; from any thread."""
        self._interrupted = number

    def end_answers(self) -> None:
        """Nobody hears the answers any more: an evaluation ends where it is, for who asks again; a run goes on. From any thread."""
        self._is_heard = False

    def warm_up(self) -> None:
        """Load torch and the engine, so that Start begins at once; then say "ready"."""
        import torch

        from training.catalog.network_packages import missing_for_networks
        from training.catalog.onnx_packages import missing_for_onnx, missing_for_openvino
        from training.data.prepared import PreparedData
        from training.engine.device import list_devices

        if self._keeps_data:
            self._kept = PreparedData()
        missing = {"onnx": missing_for_onnx(), "openvino": missing_for_openvino()}
        unwritable = {name: why for name, why in missing.items() if why}
        devices = tuple(list_devices())
        networks = missing_for_networks()
        self._reply(Ready(torch=torch.__version__, devices=devices, unwritable=unwritable, without_networks=networks))

    def rest(self) -> None:
        """Nothing is asked for: what can be done beforehand is done, what is not worth its memory is let go of."""
        from sqlalchemy.dialects import sqlite  # noqa: F401 - the index loads it at its first use

        from training.engine.runs.environment import look_around

        look_around()
        gc.collect()  # what a run's own references to itself keep alive
        if self._browser is not None:
            self._browser.rest()
        if self._kept is not None:
            self._kept.rest()

    def answer(self, request: Request) -> None:
        """Carry out one request; whatever goes wrong becomes a ``Refusal``."""
        try:
            reply = self._carry_out(request)
        except TrainingError as error:
            reply = _refuse(error)
        except OSError as error:
            reply = Refusal(message=f"{error}", advice="Check the disk and the folder.")
        except Exception as error:  # noqa: BLE001 - the border of a request: the window must hear of every fault
            import traceback

            sys.stderr.write(traceback.format_exc())
            message = f"The engine failed unexpectedly: {type(error).__name__}: {error}"
            reply = Refusal(message=message, advice="The log has details.")
        self._reply(reply.model_copy(update={"id": request.id}))

    def _carry_out(self, request: Request) -> Finished | Done | Refusal:
        match request:
            case RunRequest() | ResumeRequest() | BranchRequest():
                return self._train(request)
            case InspectDataset() | BrowseSamples() | DigestSamples() | DigestData() | FindDuplicates():
                report = self._report(request, InputError("The search was canceled."))
                return _send_back(self._find_browser().answer(request, report))
            case ReadSamples():
                return _send_back(self._find_browser().read_samples(request))
            case SummarizeModel():
                return _send_back(_summarize_model(request))
            case CheckRequest():
                return _send_back(self._check(request))
            case FitOneBatch():
                return _send_back(self._fit_one_batch(request))
            case MeasureRunTime():
                return _send_back(self._measure_run_time(request))
            case ExportRequest():
                return _send_back(self._export(request))
            case EvaluateRequest() | AddIntervals() | CompareEvaluations():
                return _send_back(self._evaluate(request))
            case ModelRequest():
                return _send_back(
                    self._find_desk().answer(request, self._report(request, InputError("The question was canceled.")))
                )
            case UnknownRequest(fault=fault) if fault:
                raise InputError(
                    f"The engine cannot read the request {request.action!r} ({fault}); update both halves."
                )
        raise InputError(f"The engine does not know the request {request.action!r}; update both halves.")

    def _find_browser(self) -> Browser:
        from training.data.browse import Browser

        if self._browser is None:
            self._browser = Browser(self._keeps_data)
        return self._browser

    def _find_desk(self) -> Desk:
        from training.answering.desk import Desk

        self._desk = self._desk or Desk(self._find_browser)
        return self._desk

    def _train(self, request: TrainRequest) -> Finished:
        """``reusable`` says that this process is fit for the next run: all went well, and it holds no GPU memory."""
        import torch

        from training.config import parse_config
        from training.engine.recovery.memory import free_memory
        from training.engine.runs.run import branch_run, resume_run, start_run

        if self._browser is not None:
            self._browser.forget()
        self._desk = None  # the run has need of its memory
        if isinstance(request, ResumeRequest):
            hooks = self._make_hooks(request)
            record = resume_run(str(request.target), request.target.parent, request.overrides, hooks)
        else:
            config = parse_config(request.config, folder=Path.cwd())
            hooks = self._make_hooks(request)
            if isinstance(request, BranchRequest):
                record = branch_run(request.checkpoint, config, request.workspace, hooks)
            else:
                record = start_run(config, request.workspace, hooks)
        self.control = None
        free_memory(torch.device("cpu"))  # an engine that waits for its next run keeps none of this one's
        reusable = record.status in ("completed", "stopped") and not torch.cuda.is_initialized()
        return Finished(result=record, reusable=reusable)

    def _make_hooks(self, request: TrainRequest) -> Hooks:
        from training.doctor.quick import warn_before_start
        from training.doctor.rival import judge_beside_simple
        from training.engine.runs.run import Hooks

        def tell_started(folder: RunFolder) -> None:
            self._reply(Started(id=request.id, run=folder.id, folder=folder.path))

        self.control = Control()
        if self.ended:
            self.control.request_stop(self._end_reason)
        return Hooks(
            started=tell_started,
            control=self.control,
            kept=self._kept,
            judge=warn_before_start,
            compare=judge_beside_simple,
        )

    def _export(self, request: ExportRequest) -> ExportResult:
        from training.evaluation import evaluate_checkpoint
        from training.export import Choices, export_checkpoint
        from training.predictions.probabilities import find_temperature, find_thresholds

        def report(text: str, fraction: float | None) -> None:
            self._reply(Progress(id=request.id, text=text, fraction=fraction))

        def choose(given: Any, find: Callable[[Evaluation], Any]) -> Callable[[], Any] | None:
            if given is None:
                return None
            if given == "auto":
                return lambda: find(evaluate_checkpoint(request.checkpoint, report_progress=report, kept=self._kept))
            return lambda: given

        choices = Choices(
            choose(request.temperature, find_temperature), choose(request.threshold, find_thresholds), request.quantize
        )
        return export_checkpoint(
            request.checkpoint, request.to, request.out, request.large_data, choices=choices, report_progress=report
        )

    def _evaluate(self, request: EvaluationQuestion) -> EvaluationResult | EvaluationComparison:
        if isinstance(request, AddIntervals | CompareEvaluations):
            return _look_into_evaluations(request, self._kept)
        import torch

        from training.engine.recovery.memory import free_memory
        from training.evaluation import evaluate_checkpoint

        stopped = InputError("The evaluation was stopped.", "Ask for it again: it goes on where it was.")
        report = self._report(request, stopped)
        asked = request.checkpoint, request.on, report, request.again, self._kept
        if request.importance:
            from training.evaluation.importance import measure_importance

            found, _ = measure_importance(*asked)
        else:
            found = evaluate_checkpoint(*asked)
        free_memory(torch.device("cpu"))
        return EvaluationResult(folder=str(found.folder))

    def _report(self, request: Request, stopped: InputError) -> ReportProgress:
        """What tells the window how far ``request`` is, and raises ``stopped`` where it is not to go on."""

        def report(text: str, fraction: float | None) -> None:
            if self.ended or not self._is_heard or self._interrupted == request.id:
                raise stopped
            self._reply(Progress(id=request.id, text=text, fraction=fraction))

        return report

    def _check(self, request: CheckRequest) -> Findings:
        from training.config import parse_config
        from training.doctor import preflight
        from training.runs.workspace import default_workspace

        report = self._report(request, InputError("The check was canceled."))
        workspace = request.workspace or default_workspace()
        times: list[RunTime] = []
        found = preflight(parse_config(request.config), workspace, report, self._kept, times.append, request.whole)
        return Findings(findings=tuple(found), run_time=times[0] if times else None)

    def _fit_one_batch(self, request: FitOneBatch) -> OneBatchFit:
        from training.config import parse_config
        from training.doctor.one_batch import fit_one_batch

        stopped = InputError("Fitting one batch was canceled.")
        return fit_one_batch(parse_config(request.config), self._report(request, stopped), request.seconds, self._kept)

    def _measure_run_time(self, request: MeasureRunTime) -> MaybeRunTime:
        from training.config import parse_config
        from training.doctor.run_time import measure_run_time
        from training.engine.assemble import assemble

        session = assemble(parse_config(request.config), lambda text, fraction: None, kept=self._kept)
        try:
            return MaybeRunTime(run_time=measure_run_time(session, request.patience))
        finally:
            session.data.close()


def _summarize_model(request: SummarizeModel) -> ModelSummary:
    from training.config import parse_config
    from training.engine.model_summary import summarize_model

    return summarize_model(parse_config(request.config, about=("dataset", "model", "objective")))


def _look_into_evaluations(
    request: AddIntervals | CompareEvaluations, kept: PreparedData | None
) -> EvaluationResult | EvaluationComparison:
    from training.evaluation.compare import compare_evaluations
    from training.evaluation.kept_intervals import add_intervals

    if isinstance(request, AddIntervals):
        return EvaluationResult(folder=str(add_intervals(request.evaluation, kept).folder))
    found = compare_evaluations(add_intervals(request.first, kept), add_intervals(request.second, kept))
    sentences = {each.metric: each.sentence for each in found.differences}
    return EvaluationComparison(samples=found.samples, sentences=sentences, notes=found.notes)


def _send_back(answer: Answer) -> Done:
    return Done(result=answer.model_dump(mode="json", exclude_unset=True))


def _refuse(error: TrainingError) -> Refusal:
    """The reply that a request came to nothing, with the settings concerned: path, message, and the way out."""
    from training.config.rules.problems import problems_of

    return Refusal(message=error.message, advice=error.advice, problems=problems_of(error))


def serve(
    requests: Iterable[Request],
    reply: SendReply,
    offer_interrupt: Callable[[Callable[[int], None]], object] = lambda interrupt: None,
) -> None:
    """Answer ``requests`` in order until they end or one says "quit". ``offer_interrupt`` is given what ends an evaluation from another
    thread, by the number of its request."""
    calm_threads()  # and no more: the caller's process has other memory to care for than a run's
    server = Server(reply)
    offer_interrupt(server.interrupt)
    server.warm_up()
    for request in requests:
        if isinstance(request, Quit):
            return
        server.answer(request)
