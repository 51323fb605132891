"""``python -m training.engine.ranks.agent``: torch's launcher, quiet about what is told elsewhere."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from torch.distributed import run
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from training.launch.torchrun import PLACE, SUPERVISOR, call_when_gone, find_process, tell_lost
from training.system.process import birth


def main(words: Sequence[str]) -> int:
    """Start the processes and wait for them. Where the process that supervises this is gone before one of them trains, all ends."""
    logging.disable(logging.ERROR)  # some of torch's loggers have a level of their own
    supervisor = int(os.environ[SUPERVISOR])

    def end_early() -> None:
        if not find_process():
            os.kill(os.getpid(), signal.SIGTERM)

    call_when_gone([supervisor], end_early)
    try:
        run.main(list(words))
    except ChildFailedError as error:
        number, failure = error.get_first_failure()
        logs = Path(os.environ[PLACE], "logs").glob(f"*/attempt_0/{number}/stderr.log")
        tell_lost(number, failure.exitcode, str(next(iter(sorted(logs)), "")))
        return 1
    except SignalException:
        return 1
    finally:
        if not birth(supervisor):
            shutil.rmtree(os.environ[PLACE], ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
