"""The engine inside the window's own process, run by the QThread that hosts it. Slower beside a redrawing window and
unable to survive a native crash; for machines that may start no process, and for debugging."""

from __future__ import annotations

import importlib
import queue
import traceback
from collections.abc import Callable, Iterator

from studio.engine.link import EngineLink
from studio.engine.messages import EngineDeath
from training.protocol.messages import Interrupt, Reply, Request


class InPlaceLink(EngineLink):
    """A link to ``training.serve.serve`` running in the calling thread."""

    in_process = True

    def __init__(self) -> None:
        self._requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._interrupt: Callable[[int], None] = lambda number: None  # until there is an engine

    def run(self, on_reply: Callable[[Reply], None]) -> EngineDeath | None:
        """Serve until ``close``. Importing the engine loads torch into this process: that is what was chosen."""
        try:
            # By name: only this choice may load torch here, and the import contracts are to say so.
            importlib.import_module("training.serve").serve(self._receive(), on_reply, self._listen)
        except ImportError as error:
            text = traceback.format_exc()
            return EngineDeath(f"The engine could not be loaded: {error}.", "Install what is missing.", text)
        except Exception as error:  # noqa: BLE001 - the border of the engine: whatever it was, the window lives on
            return EngineDeath(
                f"The engine failed: {error}", "The technical record below names the place.", traceback.format_exc()
            )
        return None

    def send(self, request: Request) -> None:
        """Queue one request; an interruption is heard at once."""
        if isinstance(request, Interrupt):
            self._interrupt(request.target)
        else:
            self._requests.put(request)

    def close(self) -> None:
        """End of requests: a run is stopped and kept."""
        self._requests.put(None)

    def terminate(self) -> None:
        """The same as ``close``: a thread cannot be ended from outside."""
        self.close()

    def _listen(self, interrupt: Callable[[int], None]) -> None:
        self._interrupt = interrupt

    def _receive(self) -> Iterator[Request]:
        while (request := self._requests.get()) is not None:
            yield request
