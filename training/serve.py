"""The window's engine: requests in, replies out, one at a time.

The same loop works in a child process (JSON lines on the standard streams) and inside a thread of the window (a queue
and a callable). Watching and steering a run go through its folder, not through here.
"""

from __future__ import annotations

import gc
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from training.control import SYSTEM_ENDS, WINDOW_GONE, Control
from training.errors import InputError, TrainingError
from training.protocol.answers import (
    Answer,
    ExportResult,
    Findings,
    MaybeRunTime,
    ModelSummary,
    RunTime,
)
from training.protocol.messages import (
    BranchRequest,
    BrowseSamples,
    CheckRequest,
    DetachRequest,
    Done,
    ExportRequest,
    Finished,
    IfWindowDies,
    InspectDataset,
    MeasureRunTime,
    Progress,
    Quit,
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
    format_line,
    parse_request,
)
from training.system.process import calm_threads

if TYPE_CHECKING:
    from training.data.browse import Browser
    from training.data.prepared import PreparedData
    from training.engine.runs.run import Hooks
    from training.runs.folder import RunFolder

SendReply = Callable[[Reply], None]

_FIRST_REST_SECONDS = 0.2
_REST_SECONDS = 15.0
_LAST_WORDS_SECONDS = 2.0  # for a window to read the last replies before the process ends


class Server:
    """Answers requests; ``control`` belongs to the run in progress, None between runs."""

    def __init__(self, reply: SendReply, keeps_data: bool = False) -> None:
        """``keeps_data``: the next run finds the data of the last one still in memory where nothing about it changed."""
        self._reply = reply
        self._keeps_data = keeps_data
        self._kept: PreparedData | None = None
        self._browser: Browser | None = None
        self.control: Control | None = None
        self.ended = False
        self._end_reason = ""

    def end(self, reason: str = "") -> None:
        """Stop and keep the run under way, and begin none any more; from any thread, or a signal handler."""
        self._end_reason = reason
        self.ended = True  # before the look at the run: one that is being begun looks here after it can be stopped
        control = self.control
        if control is not None:
            control.request_stop(reason)

    def warm_up(self) -> None:
        """Load torch and the engine, so that Start begins at once; then say "ready"."""
        import torch

        from training.catalog.onnx_packages import missing_for_onnx
        from training.data.prepared import PreparedData
        from training.engine.device import list_devices

        if self._keeps_data:
            self._kept = PreparedData()
        unwritable = {"onnx": missing} if (missing := missing_for_onnx()) else {}
        self._reply(Ready(torch=torch.__version__, devices=tuple(list_devices()), unwritable=unwritable))

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
            case InspectDataset():
                return _send_back(self._find_browser().inspect(request))
            case BrowseSamples():
                return _send_back(self._find_browser().read_page(request))
            case SummarizeModel():
                return _send_back(_summarize_model(request))
            case CheckRequest():
                return _send_back(self._check(request))
            case MeasureRunTime():
                return _send_back(self._measure_run_time(request))
            case ExportRequest():
                return _send_back(_export(request))
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

    def _train(self, request: TrainRequest) -> Finished:
        """``reusable`` says that this process is fit for the next run: all went well, and it holds no GPU memory."""
        import torch

        from training.config import parse_config
        from training.engine.recovery.memory import free_memory
        from training.engine.runs.run import branch_run, resume_run, start_run

        if self._browser is not None:
            self._browser.forget()
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
        from training.engine.runs.run import Hooks

        def tell_started(folder: RunFolder) -> None:
            self._reply(Started(id=request.id, run=folder.id, folder=folder.path))

        self.control = Control()
        if self.ended:
            self.control.request_stop(self._end_reason)
        return Hooks(started=tell_started, control=self.control, kept=self._kept)

    def _check(self, request: CheckRequest) -> Findings:
        from training.config import parse_config
        from training.doctor import preflight
        from training.runs.workspace import default_workspace

        def report(text: str, fraction: float | None) -> None:
            self._reply(Progress(id=request.id, text=text, fraction=fraction))

        workspace = request.workspace or default_workspace()
        times: list[RunTime] = []
        found = preflight(parse_config(request.config), workspace, report, self._kept, times.append)
        return Findings(findings=tuple(found), run_time=times[0] if times else None)

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


def _export(request: ExportRequest) -> ExportResult:
    from training.export import export_checkpoint

    return export_checkpoint(request.checkpoint, request.to, request.out, large_data=request.large_data)


def _send_back(answer: Answer) -> Done:
    return Done(result=answer.model_dump(mode="json", exclude_unset=True))


def _refuse(error: TrainingError) -> Refusal:
    """The reply that a request came to nothing, with the settings concerned: path, message, and the way out."""
    from training.config.rules.problems import problems_of

    return Refusal(message=error.message, advice=error.advice, problems=problems_of(error))


def serve(requests: Iterable[Request], reply: SendReply) -> None:
    """Answer ``requests`` in order until they end or one says "quit"."""
    calm_threads()  # and no more: the caller's process has other memory to care for than a run's
    server = Server(reply)
    server.warm_up()
    for request in requests:
        if isinstance(request, Quit):
            return
        server.answer(request)


def serve_standard_streams(_arguments: object) -> int:
    """The child process: requests from stdin, replies to stdout, everything else, a native crash included, to stderr."""
    replies = Replies()
    server = Server(replies.send, keeps_data=True)
    requests: Requests = queue.SimpleQueue()
    signals = _Signals(server, requests)
    threading.Thread(target=_listen, args=(server, replies, requests), name="requests", daemon=True).start()
    server.warm_up()
    for request in _iterate(requests, server.rest):
        if server.ended:
            break
        server.answer(request)
    replies.finish(_LAST_WORDS_SECONDS)
    signals.reraise()
    return 0


def _iterate(requests: Requests, rest: Callable[[], None]) -> Iterator[Request]:
    """The requests as they come; ``rest`` is called when there is none, soon, and then every now and then."""
    patience = _FIRST_REST_SECONDS
    while True:
        try:
            request = requests.get(timeout=patience)
        except queue.Empty:
            rest()
            patience = _REST_SECONDS
            continue
        if request is None:
            return
        yield request
        patience = _FIRST_REST_SECONDS


Requests = queue.SimpleQueue[Request | None]  # a SimpleQueue, because a signal handler puts into it


class Replies:
    """The child's way to the window: standard output, which nobody else may write to any more.

    A thread writes, so that a window that reads nothing (stopped, or hung) never holds up the run.
    """

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._descriptor = os.dup(sys.stdout.fileno())
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a library that prints must not garble the replies
        self._writer = threading.Thread(target=self._write, name="replies", daemon=True)
        self._writer.start()

    def send(self, reply: Reply) -> None:
        """Write one reply soon; without effect once the window has gone, since the run's folder tells the rest."""
        if self._writer.is_alive():
            self._lines.put(format_line(reply))

    def end(self) -> None:
        """Let the window's reader see the end after what was sent; later replies go nowhere."""
        self._lines.put(None)

    def finish(self, seconds: float) -> None:
        """End, and give a window that still reads up to ``seconds`` to take what was sent."""
        self.end()
        self._writer.join(seconds)

    def _write(self) -> None:
        """Straight to the descriptor: a thread that waits inside one of Python's streams aborts the interpreter when
        the main thread ends first."""
        with suppress(OSError):  # nobody will read any more
            while (line := self._lines.get()) is not None:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
        os.close(self._descriptor)


class _Signals:
    """SIGTERM and SIGINT stop the run, keep it and end the process; a second one ends it at once."""

    def __init__(self, server: Server, requests: Requests) -> None:
        self._server = server
        self._requests = requests
        self._received: signal.Signals | None = None
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a run handed to the background outlives its terminal
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._received = signal.Signals(number)
        signal.signal(number, signal.SIG_DFL)
        self._server.end(SYSTEM_ENDS)
        self._requests.put(None)

    def reraise(self) -> None:
        """End as the signal would have ended the process, if one came: whoever waits for it sees why."""
        if self._received is not None:
            signal.raise_signal(self._received)


def _listen(server: Server, replies: Replies, requests: Requests) -> None:
    """Hear the window, in a thread of its own: "detach" is obeyed, and the window's end noticed, while a run works.

    A window that closes says "quit"; when its pipe ends without, it has died, and "if_window_dies" said what then.
    """
    detached = keep_training = quit_said = False
    for line in _read_lines(sys.stdin.fileno()):
        match parse_request(line):
            case DetachRequest(id=number):
                detached = True
                replies.send(Done(id=number))
                replies.end()
            case IfWindowDies(keep_training=keep_training):
                pass
            case Quit():
                quit_said = True
                break
            case None:
                sys.stderr.write("The engine received a line that is no request and passed over it.\n")
            case request:
                requests.put(request)
    if quit_said and not detached:
        server.end()
    elif not detached and not keep_training:
        server.end(WINDOW_GONE)
    requests.put(None)  # a run that goes on alone is the last thing this process does


def _read_lines(descriptor: int) -> Iterator[bytes]:
    """Whole lines of a pipe, read past Python's buffered stream: a thread that waits inside that aborts the interpreter
    when the main thread ends first, and the reason it ended for would be lost."""
    rest = b""
    while chunk := os.read(descriptor, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
