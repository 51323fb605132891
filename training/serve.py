"""The window's engine: requests in, replies out, one at a time.

The same loop works in a child process (JSON lines on the standard streams) and inside a thread of the window (a queue
and a callable). Watching and steering a run go through its folder, not through here.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from training.control import Control
from training.errors import ConfigError, InputError, TrainingError
from training.process import tune_process

Request = dict[str, Any]
Reply = Callable[[dict[str, Any]], None]


class Server:
    """Answers requests; ``control`` belongs to the run in progress, None between runs."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self.control: Control | None = None

    def warm_up(self) -> None:
        """Load torch and what its first optimizer needs, so that Start begins at once; then say "ready"."""
        import torch

        from training.engine import run  # noqa: F401 - the import is the point
        from training.engine.device import list_devices

        parameter = torch.nn.Parameter(torch.zeros(1))
        torch.optim.AdamW([parameter])
        self._reply({"id": 0, "reply": "ready", "torch": torch.__version__, "devices": list_devices()})

    def answer(self, request: Request) -> None:
        """Carry out one request; whatever goes wrong becomes a "refused" reply."""
        number = request.get("id", 0)
        actions: dict[str, Callable[[Request], dict[str, Any]]] = {
            "run": self._run,
            "resume": self._resume,
            "branch": self._branch,
            "inspect_dataset": self._inspect_dataset,
            "summarise_model": self._summarise_model,
            "check": self._check,
            "export": self._export,
        }
        try:
            action = actions.get(str(request.get("action")))
            if action is None:
                raise InputError(f"The engine does not know the request {request.get('action')!r}; update both halves.")
            answer = action(request)
        except ConfigError as error:
            problems = [[problem.path, problem.message] for problem in error.problems]
            answer = {"reply": "refused", "message": str(error), "advice": "", "problems": problems}
        except TrainingError as error:
            answer = {"reply": "refused", "message": error.message, "advice": error.advice, "problems": []}
        except OSError as error:
            answer = {
                "reply": "refused",
                "message": f"{error}",
                "advice": "Check the disk and the folder.",
                "problems": [],
            }
        except Exception as error:  # noqa: BLE001 - the border of a request: the window must hear of every fault
            import traceback

            sys.stderr.write(traceback.format_exc())
            message = f"The engine failed unexpectedly: {type(error).__name__}: {error}"
            answer = {"reply": "refused", "message": message, "advice": "The log has details.", "problems": []}
        self._reply({"id": number, **answer})

    def _hooks(self, request: Request) -> Any:
        from training.engine.run import Hooks

        def started(folder: Any) -> None:
            self._reply({"id": request["id"], "reply": "started", "run": folder.id, "folder": str(folder.path)})

        self.control = Control()
        return Hooks(started=started, control=self.control)

    def _run(self, request: Request) -> dict[str, Any]:
        from training.config import parse_config
        from training.engine.run import start_run

        config = parse_config(request["config"])
        return self._finished(start_run(config, Path(request["workspace"]), self._hooks(request)))

    def _resume(self, request: Request) -> dict[str, Any]:
        from training.engine.run import resume_run

        target = str(request["target"])
        overrides = [str(item) for item in request.get("overrides", [])]
        return self._finished(resume_run(target, Path(target).parent, overrides, self._hooks(request)))

    def _branch(self, request: Request) -> dict[str, Any]:
        from training.config import parse_config
        from training.engine.run import branch_run

        config, checkpoint = parse_config(request["config"]), Path(request["checkpoint"])
        return self._finished(branch_run(checkpoint, config, Path(request["workspace"]), self._hooks(request)))

    def _finished(self, record: dict[str, Any]) -> dict[str, Any]:
        self.control = None
        return {"reply": "finished", "result": record}

    def _inspect_dataset(self, request: Request) -> dict[str, Any]:
        from training.config import parse_config
        from training.data.inspect import inspect_dataset

        return {"reply": "done", "result": inspect_dataset(parse_config(request["config"]))}

    def _summarise_model(self, request: Request) -> dict[str, Any]:
        from training.config import parse_config
        from training.data.inspect import input_facts
        from training.models import make_model, summarise

        config = parse_config(request["config"])
        shape, classes = input_facts(config)
        model = make_model(config.model, shape, classes, config.seed)
        return {"reply": "done", "result": summarise(model, shape) | {"input_shape": list(shape), "classes": classes}}

    def _check(self, request: Request) -> dict[str, Any]:
        from training.config import parse_config
        from training.doctor import preflight
        from training.runs.workspace import default_workspace

        workspace = Path(request["workspace"]) if request.get("workspace") else default_workspace()
        findings = preflight(parse_config(request["config"]), workspace, self._progress(request))
        shown = [{"level": item.level, "title": item.title, "advice": item.advice} for item in findings]
        return {"reply": "done", "result": {"findings": shown}}

    def _export(self, request: Request) -> dict[str, Any]:
        from training.export import export_checkpoint

        return {
            "reply": "done",
            "result": export_checkpoint(Path(request["checkpoint"]), str(request["to"]), Path(request["out"])),
        }

    def _progress(self, request: Request) -> Callable[[str, float | None], None]:
        def report(text: str, fraction: float | None) -> None:
            self._reply({"id": request["id"], "reply": "progress", "text": text, "fraction": fraction})

        return report


def serve(requests: Iterable[Request], reply: Reply) -> None:
    """Answer ``requests`` in order until they end or one says "quit"."""
    tune_process()
    server = Server(reply)
    server.warm_up()
    for request in requests:
        if request.get("action") == "quit":
            return
        server.answer(request)


def serve_standard_streams() -> int:
    """The child process: requests from stdin, replies to stdout, everything else to stderr.

    stdin is read by a thread, so that "detach" is obeyed, and the end of the window noticed, while a run works.
    """
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a run handed to the background outlives its terminal
    replies = Replies()
    server = Server(replies.send)
    requests: queue.Queue[Request | None] = queue.Queue()
    threading.Thread(target=_listen, args=(server, replies, requests), name="requests", daemon=True).start()
    server.warm_up()
    for request in _until_end(requests):
        server.answer(request)
    return 0


class Replies:
    """The child's way to the window: standard output, which nobody else may write to any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stream = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a library that prints must not garble the replies

    def send(self, answer: dict[str, Any]) -> None:
        """Write one reply; without effect once the window has gone, since the run's folder tells the rest."""
        with self._lock:
            try:
                self._stream.write(json.dumps(answer) + "\n")
                self._stream.flush()
            except (BrokenPipeError, ValueError):
                return

    def end(self) -> None:
        """Let the window's reader see the end; later replies go nowhere."""
        with self._lock:
            self._stream.close()


def _listen(server: Server, replies: Replies, requests: queue.Queue[Request | None]) -> None:
    detached = False
    for line in _lines(sys.stdin.fileno()):
        try:
            request = json.loads(line)
        except ValueError:
            sys.stderr.write("The engine received a line that is not JSON and passed over it.\n")
            continue
        if request.get("action") == "detach":
            detached = True
            replies.send({"id": request.get("id", 0), "reply": "done", "result": {}})
            replies.end()
        elif request.get("action") == "quit":
            break
        else:
            requests.put(request)
    requests.put(None)
    if not detached and server.control is not None:
        server.control.request_stop()  # the window died: stop and keep


def _lines(descriptor: int) -> Iterator[bytes]:
    """Whole lines of a pipe, read past Python's buffered stream: a thread that waits inside that aborts the interpreter
    when the main thread ends first, and the reason it ended for would be lost."""
    rest = b""
    while chunk := os.read(descriptor, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def _until_end(requests: queue.Queue[Request | None]) -> Iterator[Request]:
    while (request := requests.get()) is not None:
        yield request
